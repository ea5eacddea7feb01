// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes as ksm_scan_thread: the analysis ends, and what it gives are instructions of that
 * code. The first byte chooses the architecture and how much is known of the rest.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "machine_code.h"

#define BASE	0xffffffff81000000ULL
#define COLD	(BASE + 0x10000) /* the second half of the bytes, when there is a cold part */
#define OUTSIDE (BASE + 0x20000) /* from here on every 16 bytes another function */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *bytes, *cold;
	size_t size, cold_size;
	bool labels;
};

static const char *const names[] = {
	"mutex_lock",
	"mutex_unlock",
	"wait_while_offlining",
	"up_read",
	"down_read",
	"xxh64",
	"memcmp_pages",
	"stable_tree_append",
	"calc_checksum",
	"__folio_put",
	"cmp_and_merge_page",
	"mas_find",
	"__x86_return_thunk",
	"__x86_indirect_thunk_rax",
	"panic",
	"__pfx_xxh64",
};

static int read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
	struct input *in = context;
	const uint8_t *from = in->bytes;
	size_t have = in->size, at = address - BASE;

	if (address - COLD < in->cold_size) {
		from = in->cold;
		have = in->cold_size;
		at = address - COLD;
	}
	memset(buffer, 0xcc, size);
	/* Anything else, such as detours and tables, is made of the same bytes. */
	if (at >= have)
		at = have ? at % have : 0;
	if (have)
		memcpy(buffer, from + at, size < have - at ? size : have - at);
	return 0;
}

static const char *symbol_at(void *context, uint64_t address, uint64_t *start, uint64_t *size)
{
	struct input *in = context;

	if (address - BASE < in->size) {
		*start = BASE;
		*size = in->size;
		return "ksm_scan_thread";
	}
	if (address - COLD < in->cold_size) {
		*start = COLD;
		*size = in->cold_size;
		return "ksm_scan_thread.cold";
	}
	if (address < OUTSIDE || address - OUTSIDE > 0x1000000)
		return NULL;
	*start = address & ~15ULL;
	*size = 16;
	return names[(address >> 4) & 15];
}

static int symbol(void *context, const char *name, uint64_t *start, uint64_t *size)
{
	struct input *in = context;

	*size = 0;
	if (!strcmp(name, "ksm_scan_thread")) {
		*start = BASE;
		*size = in->size;
	} else if (!strcmp(name, "ksm_thread_pages_to_scan")) {
		*start = OUTSIDE;
	} else if (in->labels && !strcmp(name, "__start___jump_table")) {
		*start = BASE + 0x8000;
	} else if (in->labels && !strcmp(name, "__stop___jump_table")) {
		*start = BASE + 0x8080;
	} else {
		return -ENOENT;
	}
	return 0;
}

static void check_site(const struct code *code, const struct site *site)
{
	if (code_find(code, code_address(code, site)) < 0)
		abort();
}

static void analyze(const struct code *code)
{
	struct fn_sites sites;
	struct site moved;
	char why[200];
	unsigned int i;
	int fn;

	for (fn = 0; fn < FN_COUNT; fn++) {
		why[0] = '\0';
		if (machine_code_sites(code, (enum ksmtrace_function)fn, &sites, why,
				       sizeof(why))) {
			if (!*why || sites.entries || sites.exits)
				abort();
			continue;
		}
		if (!sites.entries || !sites.exits)
			abort();
		for (i = 0; i < sites.exits; i++)
			check_site(code, &sites.exit[i]);
		for (i = 0; i < sites.entries; i++) {
			check_site(code, &sites.entry[i]);
			if (machine_code_optimizable(code, &sites.entry[i], &moved))
				check_site(code, &moved);
		}
	}
	machine_code_hash(code, why, sizeof(why));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in;
	struct code_image image = {
		.read = read_memory,
		.symbol_at = symbol_at,
		.symbol = symbol,
		.context = &in,
	};
	struct code *code;
	char why[200];

	if (size < 8 || size > 8192)
		return 0;
	image.arch = data[0] & 1 ? CODE_ARM64 : CODE_X86_64;
	in.labels = data[0] & 2;
	in.bytes = data + 4;
	in.size = size - 4;
	in.cold_size = data[0] & 4 ? in.size / 2 : 0;
	in.size -= in.cold_size;
	in.cold = in.bytes + in.size;
	if (code_load(&image, "ksm_scan_thread", &code, why, sizeof(why)))
		return 0;
	analyze(code);
	code_free(code);
	return 0;
}
