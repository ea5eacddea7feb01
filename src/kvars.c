// SPDX-License-Identifier: GPL-2.0-only
/* The addresses of KSM's counters; see kvars.h. */
#include <stdbool.h>
#include <stdio.h>

#include "code.h"
#include "kmem.h"
#include "ksm.h"
#include "ksyms.h"
#include "kvars.h"
#include "log.h"

/* Whether the value at address is what sysfs shows. ksmd may be counting: the value read in
 * between must lie between the two shown. */
static bool proven(const char *name, uint64_t address)
{
	uint64_t before, after, value;
	struct ksm *ksm;
	bool same = false;
	int tries;

	if (ksm_open(NULL, &ksm))
		return false;
	for (tries = 0; tries < 3 && !same; tries++)
		same = !ksm_read_u64(ksm, name, &before) &&
		       !kmem_read(address, &value, sizeof(value)) &&
		       !ksm_read_u64(ksm, name, &after) &&
		       ((before <= value && value <= after) || (before >= value && value >= after));
	ksm_close(ksm);
	return same;
}

#if WITH_DEBUGINFO
/* The one fixed address that the function behind the sysfs file, NAME_show, reads: where
 * kallsyms lists code only. */
static uint64_t shown_address(const struct ksyms *ksyms, const char *name)
{
	struct code_image image = code_image_running(ksyms);
	char function[64], why[256];
	uint64_t address = 0;
	struct code *code;
	uint32_t i;

	snprintf(function, sizeof(function), "%s_show", name);
	if (code_load(&image, function, &code, why, sizeof(why))) {
		log_debug("the counter behind %s: %s", name, why);
		return 0;
	}
	for (i = 0; i < code->insns; i++) {
		if (!code->insn[i].data || code->insn[i].data == address)
			continue;
		if (address) {
			address = 0;
			break;
		}
		address = code->insn[i].data;
	}
	code_free(code);
	return address;
}
#else
static uint64_t shown_address(const struct ksyms *ksyms, const char *name)
{
	(void)ksyms;
	(void)name;
	return 0;
}
#endif

uint64_t kvars_find(const struct ksyms *ksyms, const char *name)
{
	const struct ksym *sym;
	uint64_t address;
	char symbol[64];
	size_t count;

	/* Where kallsyms lists data (CONFIG_KALLSYMS_ALL). */
	snprintf(symbol, sizeof(symbol), "ksm_%s", name);
	sym = ksyms_find(ksyms, symbol, &count);
	if (sym && count == 1 && proven(name, sym->address))
		return sym->address;
	address = shown_address(ksyms, name);
	return address && proven(name, address) ? address : 0;
}
