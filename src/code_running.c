// SPDX-License-Identifier: GPL-2.0-only
/* The running kernel as a source of code: /proc/kallsyms and kmem_read(); see code.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/btf.h>

#include "code.h"
#include "kmem.h"
#include "ksyms.h"

#define PROBE_BUCKETS 64 /* KPROBE_TABLE_SIZE in kernel/kprobes.c */
#define PROBES_MAX    4096
#define PROBE_SIZE    512 /* of it up to the opcode; some 110 bytes */

static int read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
	(void)context;
	return kmem_read(address, buffer, size);
}

static const char *symbol_at(void *context, uint64_t address, uint64_t *start, uint64_t *size)
{
	const struct ksyms *ksyms = context;
	const struct ksym *sym = ksyms_at(ksyms, address, NULL);

	if (!sym)
		return NULL;
	*start = sym->address;
	*size = ksym_size(ksyms, sym);
	return address - *start < *size ? ksym_name(ksyms, sym) : NULL;
}

static int symbol_by_name(void *context, const char *name, uint64_t *start, uint64_t *size)
{
	const struct ksyms *ksyms = context;
	size_t count;
	const struct ksym *sym = ksyms_find(ksyms, name, &count);

	if (!sym)
		return -ENOENT;
	if (count > 1)
		return -ENOTUNIQ;
	*start = sym->address;
	*size = ksym_size(ksyms, sym);
	return 0;
}

/* Where the fields of struct kprobe are in this kernel, in bytes. */
struct probe_layout {
	uint32_t hlist, addr, opcode;
	uint32_t size; /* up to behind the last of them */
};

static int probe_layout(struct probe_layout *layout)
{
	static const char *const names[] = { "hlist", "addr", "opcode" };
	uint32_t *const offsets[] = { &layout->hlist, &layout->addr, &layout->opcode };
	struct btf *btf = btf__load_vmlinux_btf();
	const struct btf_type *type;
	unsigned int i, k, found = 0;
	int id;

	*layout = (struct probe_layout){ 0 };
	if (!btf)
		return -ENOENT;
	id = btf__find_by_name_kind(btf, "kprobe", BTF_KIND_STRUCT);
	type = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;
	for (i = 0; type && i < btf_vlen(type); i++) {
		const char *name = btf__name_by_offset(btf, btf_members(type)[i].name_off);
		uint32_t offset = btf_member_bit_offset(type, i) / 8;

		for (k = 0; k < 3; k++)
			if (name && !strcmp(name, names[k]) && offset <= PROBE_SIZE - 8) {
				*offsets[k] = offset;
				found |= 1U << k;
			}
	}
	btf__free(btf);
	layout->size = layout->hlist;
	for (k = 1; k < 3; k++)
		if (*offsets[k] > layout->size)
			layout->size = *offsets[k];
	layout->size += 8;
	return found == 7 ? 0 : -ENOENT;
}

/* One kprobe: when its breakpoint is among the bytes, its opcode takes that place again. */
static void restore_probe(const struct probe_layout *layout, const uint8_t *probe, uint64_t address,
			  uint8_t *bytes, size_t size)
{
	uint64_t at;

	memcpy(&at, probe + layout->addr, sizeof(at));
	at -= address;
#ifdef __aarch64__
	if (at < size && size - at >= 4)
		memcpy(bytes + at, probe + layout->opcode, 4);
#else
	/* A jump that stands there instead is undone by whoever decodes it. */
	if (at < size && bytes[at] == 0xcc)
		bytes[at] = probe[layout->opcode];
#endif
}

/* The kernel's own table of all kprobes has what their breakpoints hide. */
static void restore(void *context, uint64_t address, uint8_t *bytes, size_t size)
{
	uint64_t heads[PROBE_BUCKETS], table, ignored, node, any = 0;
	struct probe_layout layout;
	uint8_t probe[PROBE_SIZE];
	unsigned int i, n = 0;

	if (symbol_by_name(context, "kprobe_table", &table, &ignored) ||
	    kmem_read(table, heads, sizeof(heads)))
		return;
	for (i = 0; i < PROBE_BUCKETS; i++)
		any |= heads[i];
	if (!any || probe_layout(&layout))
		return;
	for (i = 0; i < PROBE_BUCKETS; i++)
		for (node = heads[i]; node && n < PROBES_MAX; n++) {
			if (kmem_read(node - layout.hlist, probe, layout.size))
				break;
			restore_probe(&layout, probe, address, bytes, size);
			memcpy(&node, probe + layout.hlist, sizeof(node));
		}
}

struct code_image code_image_running(const struct ksyms *ksyms)
{
	return (struct code_image){
#ifdef __aarch64__
		.arch = CODE_ARM64,
#else
		.arch = CODE_X86_64,
#endif
		.read = read_memory,
		.symbol_at = symbol_at,
		.symbol = symbol_by_name,
		.restore = restore,
		.context = (void *)(uintptr_t)ksyms,
	};
}
