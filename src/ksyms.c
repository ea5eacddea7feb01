// SPDX-License-Identifier: GPL-2.0-only
/* /proc/kallsyms, kept sorted by address; see ksyms.h. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ksyms.h"

struct ksyms {
	struct ksym *syms; /* sorted by address */
	size_t count, room;
	char *names;
	size_t names_size, names_room;
};

static int grow(void **array, size_t *room, size_t need, size_t element)
{
	size_t new_room = *room;
	void *p;

	if (need <= *room)
		return 0;
	while (new_room < need)
		new_room = new_room ? new_room + new_room / 4 : 65536;
	p = realloc(*array, new_room * element);
	if (!p)
		return -ENOMEM;
	*array = p;
	*room = new_room;
	return 0;
}

static int add(struct ksyms *k, uint64_t address, char type, const char *name)
{
	size_t length = strlen(name) + 1;

	if (grow((void **)&k->syms, &k->room, k->count + 1, sizeof(*k->syms)) ||
	    grow((void **)&k->names, &k->names_room, k->names_size + length, 1))
		return -ENOMEM;
	k->syms[k->count++] = (struct ksym){ address, (uint32_t)k->names_size, type };
	memcpy(k->names + k->names_size, name, length);
	k->names_size += length;
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct ksym *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	/* Names stand in file order: keep it among symbols of one address. */
	return x->name < y->name ? -1 : x->name > y->name;
}

static bool is_text(const struct ksym *sym)
{
	char t = (char)tolower((unsigned char)sym->type);

	return t == 't' || t == 'w';
}

int ksyms_load(const char *path, struct ksyms **result)
{
	bool seen_address = false, sorted = true;
	struct ksyms *k;
	char line[1024];
	FILE *f;
	int err = 0;

	f = fopen(path ? path : "/proc/kallsyms", "re");
	if (!f)
		return -errno;
	k = calloc(1, sizeof(*k));
	if (!k) {
		fclose(f);
		return -ENOMEM;
	}
	while (fgets(line, sizeof(line), f)) {
		char *rest, *name, *end;
		uint64_t address = strtoull(line, &rest, 16);

		/* "ADDRESS TYPE NAME[\t[MODULE]]" */
		if (rest[0] != ' ' || !rest[1] || rest[2] != ' ')
			continue;
		name = rest + 3;
		end = name + strcspn(name, "\t\n ");
		if (*end == '\t')
			break; /* modules come last */
		*end = '\0';
		if (address)
			seen_address = true;
		if (k->count && address < k->syms[k->count - 1].address)
			sorted = false;
		err = add(k, address, rest[1], name);
		if (err)
			break;
	}
	if (!err && ferror(f))
		err = -EIO;
	if (!err && !k->count)
		err = -ENOENT;
	if (!err && !seen_address)
		err = -EPERM;
	fclose(f);
	if (err) {
		ksyms_free(k);
		return err;
	}
	if (!sorted)
		qsort(k->syms, k->count, sizeof(*k->syms), by_address);
	*result = k;
	return 0;
}

void ksyms_free(struct ksyms *ksyms)
{
	if (!ksyms)
		return;
	free(ksyms->syms);
	free(ksyms->names);
	free(ksyms);
}

const char *ksym_name(const struct ksyms *ksyms, const struct ksym *sym)
{
	return ksyms->names + sym->name;
}

const struct ksym *ksyms_find(const struct ksyms *ksyms, const char *name, size_t *count)
{
	const struct ksym *found = NULL;
	size_t i, n = 0;

	for (i = 0; i < ksyms->count; i++) {
		if (strcmp(ksym_name(ksyms, &ksyms->syms[i]), name))
			continue;
		if (!found)
			found = &ksyms->syms[i];
		n++;
	}
	if (count)
		*count = n;
	return found;
}

/* Whether suffix is a sequence of ".isra.N" and ".constprop.N". */
static bool whole_function_suffix(const char *suffix)
{
	static const char *const kinds[] = { ".isra.", ".constprop." };

	if (!*suffix)
		return false;
	while (*suffix) {
		size_t i, digits = 0;

		for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
			if (!strncmp(suffix, kinds[i], strlen(kinds[i]))) {
				suffix += strlen(kinds[i]);
				digits = strspn(suffix, "0123456789");
				break;
			}
		}
		if (!digits)
			return false;
		suffix += digits;
	}
	return true;
}

const struct ksym *ksyms_find_function(const struct ksyms *ksyms, const char *function)
{
	const struct ksym *sym = ksyms_find(ksyms, function, NULL);
	size_t i, length = strlen(function);

	if (sym && is_text(sym))
		return sym;
	for (i = 0; i < ksyms->count; i++) {
		const char *name = ksym_name(ksyms, &ksyms->syms[i]);

		if (is_text(&ksyms->syms[i]) && !strncmp(name, function, length) &&
		    whole_function_suffix(name + length))
			return &ksyms->syms[i];
	}
	return NULL;
}

const struct ksym *ksyms_at(const struct ksyms *ksyms, uint64_t address, uint64_t *offset)
{
	size_t low = 0, high = ksyms->count;

	/* The first symbol above address, then back to the nearest text symbol. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ksyms->syms[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	while (low && !is_text(&ksyms->syms[low - 1]))
		low--;
	if (!low)
		return NULL;
	/* Of several names at one address the first is the usual one. */
	while (low > 1 && ksyms->syms[low - 2].address == ksyms->syms[low - 1].address &&
	       is_text(&ksyms->syms[low - 2]))
		low--;
	if (offset)
		*offset = address - ksyms->syms[low - 1].address;
	return &ksyms->syms[low - 1];
}

uint64_t ksym_size(const struct ksyms *ksyms, const struct ksym *sym)
{
	const struct ksym *next = sym, *end = ksyms->syms + ksyms->count;

	while (next < end && next->address == sym->address)
		next++;
	return next < end ? next->address - sym->address : 0;
}
