// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel memory through a BPF program of a few instructions, run on demand by
 * BPF_PROG_TEST_RUN (raw tracepoint programs, since Linux 5.10); see kmem.h.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <bpf/bpf.h>

#include "host.h"
#include "kmem.h"

#define CHUNK 4096 /* reads never cross a page: the next one may not be mapped */

/* Loads: return bpf_probe_read_kernel(the map's value, ctx[1], (void *)ctx[0]). */
static int load_reader(int map)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = -E2BIG },
		{ .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_3, .src_reg = BPF_REG_1 },
		{ .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_2, .src_reg = BPF_REG_1,
		  .off = 8 },
		{ .code = BPF_JMP | BPF_JGT | BPF_K, .dst_reg = BPF_REG_2, .off = 3, .imm = CHUNK },
		{ .code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = BPF_REG_1,
		  .src_reg = BPF_PSEUDO_MAP_VALUE, .imm = map },
		{ 0 }, /* the second half of the one above */
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_probe_read_kernel },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "ksmtrace_kmem", "GPL", insns,
			     sizeof(insns) / sizeof(insns[0]), NULL);
}

static int read_chunk(int prog, int map, uint64_t address, void *buffer, size_t size)
{
	__u64 context[2] = { address, size };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = context, .ctx_size_in = sizeof(context));
	char page[CHUNK];
	int zero = 0, err;

	err = bpf_prog_test_run_opts(prog, &opts);
	if (err)
		return err;
	if ((int)opts.retval)
		return (int)opts.retval;
	err = bpf_map_lookup_elem(map, &zero, page);
	if (err)
		return err;
	memcpy(buffer, page, size);
	return 0;
}

/* Where the kernel is locked down for confidentiality the helper that reads is unknown to it. */
static int explain(int err)
{
	char mode[32];

	if (err == -EINVAL && !host_lockdown(NULL, mode, sizeof(mode)) && strcmp(mode, "none") != 0)
		return -EPERM;
	return err;
}

int kmem_read(uint64_t address, void *buffer, size_t size)
{
	int map, prog, err = 0;

	map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ksmtrace_kmem", sizeof(int), CHUNK, 1, NULL);
	if (map < 0)
		return map;
	prog = load_reader(map);
	if (prog < 0) {
		close(map);
		return explain(prog);
	}
	while (size && !err) {
		size_t n = CHUNK - address % CHUNK;

		if (n > size)
			n = size;
		err = read_chunk(prog, map, address, buffer, n);
		address += n;
		buffer = (char *)buffer + n;
		size -= n;
	}
	close(prog);
	close(map);
	return err;
}
