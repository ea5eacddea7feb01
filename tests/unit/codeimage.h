/* SPDX-License-Identifier: GPL-2.0-only */
/* For the unit tests: code and symbols made up in memory, standing in for a kernel. */
#ifndef CODEIMAGE_H
#define CODEIMAGE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code.h"

#define UNUSED	    __attribute__((unused))
#define SYMBOLS_MAX 96
#define BASE	    0xffffffff81000000ULL

struct fake_symbol {
	const char *name;
	uint64_t start, size;
};

struct fake {
	enum code_arch arch;
	struct {
		uint64_t start;
		size_t size;
		uint8_t *bytes;
	} memory[8];
	unsigned int memories;
	struct fake_symbol symbol[SYMBOLS_MAX];
	unsigned int symbols;
	uint64_t hidden; /* address of a breakpoint that the kernel knows the original of */
	uint8_t original;
};

static int fake_read(void *context, uint64_t address, void *buffer, size_t size)
{
	struct fake *fake = context;
	unsigned int i;

	for (i = 0; i < fake->memories; i++)
		if (address - fake->memory[i].start < fake->memory[i].size) {
			size_t at = address - fake->memory[i].start;
			size_t have = fake->memory[i].size - at;

			memset(buffer, 0, size);
			memcpy(buffer, fake->memory[i].bytes + at, size < have ? size : have);
			return 0;
		}
	return -EFAULT;
}

static const char *fake_symbol_at(void *context, uint64_t address, uint64_t *start, uint64_t *size)
{
	struct fake *fake = context;
	unsigned int i;

	for (i = 0; i < fake->symbols; i++)
		if (address - fake->symbol[i].start < fake->symbol[i].size) {
			*start = fake->symbol[i].start;
			*size = fake->symbol[i].size;
			return fake->symbol[i].name;
		}
	return NULL;
}

static int fake_symbol(void *context, const char *name, uint64_t *start, uint64_t *size)
{
	struct fake *fake = context;
	unsigned int i, found = 0;

	for (i = 0; i < fake->symbols; i++)
		if (!strcmp(fake->symbol[i].name, name)) {
			*start = fake->symbol[i].start;
			*size = fake->symbol[i].size;
			found++;
		}
	return !found ? -ENOENT : found > 1 ? -ENOTUNIQ : 0;
}

static void fake_restore(void *context, uint64_t address, uint8_t *bytes, size_t size)
{
	struct fake *fake = context;

	if (fake->hidden - address < size)
		bytes[fake->hidden - address] = fake->original;
}

UNUSED static struct code_image fake_image(struct fake *fake)
{
	return (struct code_image){
		.arch = fake->arch,
		.read = fake_read,
		.symbol_at = fake_symbol_at,
		.symbol = fake_symbol,
		.restore = fake_restore,
		.context = fake,
	};
}

UNUSED static void fake_add_symbol(struct fake *fake, const char *name, uint64_t start,
				   uint64_t size)
{
	assert_true(fake->symbols < SYMBOLS_MAX);
	fake->symbol[fake->symbols++] = (struct fake_symbol){ name, start, size };
}

/* Adds a copy of bytes, and returns the copy: changes to it are what is read later. */
UNUSED static uint8_t *fake_add_memory(struct fake *fake, uint64_t start, const void *bytes,
				       size_t size)
{
	uint8_t *copy = malloc(size);

	assert_non_null(copy);
	memcpy(copy, bytes, size);
	fake->memory[fake->memories].start = start;
	fake->memory[fake->memories].size = size;
	fake->memory[fake->memories++].bytes = copy;
	return copy;
}

UNUSED static void fake_free(struct fake *fake)
{
	while (fake->memories)
		free(fake->memory[--fake->memories].bytes);
}

UNUSED static struct code *fake_load(struct fake *fake, const char *function)
{
	struct code_image image = fake_image(fake);
	struct code *code = NULL;
	char why[256] = "";

	if (code_load(&image, function, &code, why, sizeof(why)))
		fail_msg("%s: %s", function, why);
	return code;
}

#endif
