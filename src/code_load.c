// SPDX-License-Identifier: GPL-2.0-only
/* From an image's bytes to decoded code, with what a running kernel changed in them taken into
 * account; see code.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code.h"
#include "decode.h"

#define CHUNK_MAX  (64 * 1024)	     /* ksm_scan_thread has some 10 KiB */
#define SLOT_MAX   512		     /* an optimized kprobe's detour has some 250 bytes */
#define LABELS_MAX (4 * 1024 * 1024) /* bytes of jump labels; a kernel has some 200 KiB */
#define NO_NAME	   UINT32_MAX

/* What is needed while loading only. */
struct loader {
	const struct code_image *image;
	struct code *code;
	struct decoder *decoder;
	uint32_t room; /* for instructions */
	size_t names_size, names_room;
	uint32_t *name; /* of each instruction's callee: offset in code->names */
	char *why;
	size_t why_size;
};

static int __attribute__((format(printf, 3, 4)))
fail(struct loader *l, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(l->why, l->why_size, format, args);
	va_end(args);
	return err;
}

/* --- names -------------------------------------------------------------------------------------
 */

/*
 * The function that starts at target, or NULL. With call depth tracking the kernel makes calls
 * go to the padding in front of the function, which has a symbol of its own.
 */
static const char *function_at(const struct code_image *image, uint64_t target)
{
	uint64_t start, size;
	const char *name = image->symbol_at(image->context, target, &start, &size);

	if (!name)
		return NULL;
	if (!strncmp(name, "__pfx_", 6))
		return name + 6;
	if (start != target)
		return NULL;
	/* Names that start-up code has for the same function. */
	return strncmp(name, "__pi_", 5) ? name : name + 5;
}

static int set_callee(struct loader *l, uint32_t i, const char *name)
{
	size_t length = strlen(name) + 1;
	char *names;

	if (l->names_size + length > l->names_room) {
		size_t room = 2 * (l->names_room + length);

		names = realloc(l->code->names, room);
		if (!names)
			return fail(l, -ENOMEM, "out of memory");
		l->code->names = names;
		l->names_room = room;
	}
	memcpy(l->code->names + l->names_size, name, length);
	l->name[i] = (uint32_t)l->names_size;
	l->names_size += length;
	return 0;
}

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static bool never_returns(const char *name)
{
	static const char *const names[] = {
		"__stack_chk_fail",
		"panic",
		"do_exit",
		"make_task_dead",
		"fortify_panic",
		"__fortify_panic",
		"kthread_exit",
		"kthread_complete_and_exit",
		"__kthread_complete_and_exit",
		"do_group_exit",
		"do_task_dead",
		"rewind_stack_and_make_dead",
		"__ubsan_handle_builtin_unreachable",
		"__reiserfs_panic",
		"xen_start_kernel",
		"nmi_panic",
		"machine_restart",
		"vpanic",
		"do_unexpected_bp",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* --- instructions ------------------------------------------------------------------------------
 */

static int push(struct loader *l, const struct insn *insn)
{
	struct code *code = l->code;
	uint32_t room = l->room ? 2 * l->room : 4096;
	void *p;

	if (code->insns == l->room) {
		p = realloc(code->insn, room * sizeof(*code->insn));
		if (!p)
			return fail(l, -ENOMEM, "out of memory");
		code->insn = p;
		p = realloc(l->name, room * sizeof(*l->name));
		if (!p)
			return fail(l, -ENOMEM, "out of memory");
		l->name = p;
		l->room = room;
	}
	l->name[code->insns] = NO_NAME;
	code->insn[code->insns++] = *insn;
	return 0;
}

static uint64_t rel32(const uint8_t *bytes, uint64_t next)
{
	int32_t distance;

	memcpy(&distance, bytes, sizeof(distance));
	return next + (uint64_t)(int64_t)distance;
}

/*
 * An optimized kprobe: the jump at address leads to a detour that nothing else uses. Its last
 * instructions are copies of those that the jump replaced, and a jump behind them. Puts the
 * copies back into bytes and appends them. Returns how many bytes they have, 0 when this is no
 * such detour, or a negative errno.
 */
static int undo_optimized(struct loader *l, struct chunk *chunk, uint64_t address, uint64_t detour)
{
	uint8_t *bytes = chunk->bytes + (address - chunk->start);
	size_t at = 0, left = chunk->size - (address - chunk->start), length, copy;
	uint8_t slot[SLOT_MAX];
	struct insn insn;
	int err;

	if (l->image->read(l->image->context, detour, slot, sizeof(slot)))
		return 0;
	for (;;) {
		decoder_next(l->decoder, slot + at, sizeof(slot) - at, detour + at, &insn);
		if (insn.kind == INSN_JUMP)
			break;
		at += insn.size;
		if (!insn_falls_through(&insn) || at >= sizeof(slot))
			return 0;
	}
	length = insn.target - address;
	if (length < 5 || length > 20 || length > left || length > at)
		return 0;
	copy = at - length;
	memcpy(bytes, slot + copy, length);
	for (at = copy; at < copy + length; at += insn.size) {
		/* Decoded where they are, so that addresses relative to them come out right. */
		decoder_next(l->decoder, slot + at, copy + length - at, detour + at, &insn);
		if (insn.kind != INSN_PLAIN)
			return fail(l, -EILSEQ,
				    "%s+0x%llx: a jump to code that is not the kernel's",
				    chunk->symbol, (unsigned long long)(address - chunk->start));
		insn.address = address + (at - copy);
		err = push(l, &insn);
		if (err)
			return err;
	}
	return (int)length;
}

/* Whether nothing but breakpoints follows, up to the end of the function. */
static bool only_padding(const struct chunk *chunk, size_t at)
{
	while (at < chunk->size && chunk->bytes[at] == 0xcc)
		at++;
	return at == chunk->size;
}

static bool goes_on(const struct code *code, const struct chunk *chunk)
{
	return code->insns == chunk->first || insn_falls_through(&code->insn[code->insns - 1]);
}

/*
 * A breakpoint that the kernel does not tell about. On x86 it covers only the first byte: when
 * the four behind it are the distance to a function's start, it was a call, for four bytes are
 * not that by chance, and no compiler puts a jump to another function in the middle of this
 * one. Else the instruction is hidden, unless the one before it does not go on either: padding.
 */
static void undo_breakpoint(struct loader *l, const struct chunk *chunk, struct insn *insn)
{
	size_t at = insn->address - chunk->start;
	const char *name;
	uint64_t target;

	insn->kind = goes_on(l->code, chunk) ? INSN_HIDDEN : INSN_PADDING;
	if (l->image->arch != CODE_X86_64 || insn->size != 1 || chunk->size - at < 5)
		return;
	target = rel32(chunk->bytes + at + 1, insn->address + 5);
	name = function_at(l->image, target);
	if (!name || code_chunk(l->code, target))
		return;
	insn->kind = strstr(name, "return_thunk") ? INSN_RETURN : INSN_CALL;
	insn->size = 5;
	insn->target = target;
}

/* What the decoder cannot know about a call or a jump: who is called, and what is outside. */
static int place(struct loader *l, const struct chunk *chunk, uint32_t i)
{
	struct insn *insn = &l->code->insn[i];
	const char *name;

	if (!insn->target || (insn->kind != INSN_CALL && insn->kind != INSN_JUMP) ||
	    (insn->kind == INSN_JUMP && insn->target - chunk->start < chunk->size))
		return 0;
	name = function_at(l->image, insn->target);
	if (!name)
		return 0;
	if (insn->kind == INSN_CALL && never_returns(name))
		insn->kind = INSN_CALL_NORETURN;
	if (insn->kind == INSN_JUMP && (starts_with(name, "__x86_indirect_thunk_") ||
					starts_with(name, "__x86_indirect_jump_thunk_")))
		insn->kind = INSN_INDIRECT;
	return set_callee(l, i, name);
}

static int decode_chunk(struct loader *l, struct chunk *chunk)
{
	struct code *code = l->code;
	size_t at = 0;
	int err, n;

	chunk->first = code->insns;
	while (at < chunk->size) {
		struct insn insn;

		decoder_next(l->decoder, chunk->bytes + at, chunk->size - at, chunk->start + at,
			     &insn);
		if (insn.kind == INSN_PADDING && !only_padding(chunk, at))
			undo_breakpoint(l, chunk, &insn);
		if (insn.kind == INSN_JUMP && insn.size == 5 && l->image->arch == CODE_X86_64 &&
		    insn.target - chunk->start >= chunk->size) {
			uint64_t start, size;

			if (!l->image->symbol_at(l->image->context, insn.target, &start, &size)) {
				n = undo_optimized(l, chunk, insn.address, insn.target);
				if (n < 0)
					return n;
				at += (size_t)n;
				if (n)
					continue;
			}
		}
		err = push(l, &insn);
		if (!err)
			err = place(l, chunk, code->insns - 1);
		if (err)
			return err;
		at += insn.size;
	}
	chunk->count = code->insns - chunk->first;
	return 0;
}

static int add_chunk(struct loader *l, const char *symbol, uint64_t start, uint64_t size)
{
	struct chunk *chunk = &l->code->chunk[l->code->chunks];
	int err;

	if (strlen(symbol) >= sizeof(chunk->symbol))
		return fail(l, -E2BIG, "%s: the name is too long", symbol);
	if (!size || size > CHUNK_MAX || start + size < start)
		return fail(l, -E2BIG, "%s: a size of %llu bytes is not credible", symbol,
			    (unsigned long long)size);
	chunk->bytes = malloc(size);
	if (!chunk->bytes)
		return fail(l, -ENOMEM, "out of memory");
	l->code->chunks++;
	strcpy(chunk->symbol, symbol);
	chunk->start = start;
	chunk->size = size;
	err = l->image->read(l->image->context, start, chunk->bytes, size);
	if (err)
		return fail(l, err, "%s: its code cannot be read: %s", symbol,
			    err == -EPERM ? "not permitted (lockdown)" : strerror(-err));
	if (l->image->restore)
		l->image->restore(l->image->context, start, chunk->bytes, size);
	return decode_chunk(l, chunk);
}

/* The parts of the function that the compiler put elsewhere, found by the jumps to them. */
static int add_cold(struct loader *l)
{
	struct code *code = l->code;
	const char *function = code->chunk[0].symbol;
	uint32_t i;
	int err;

	for (i = 0; i < code->insns; i++) {
		const struct insn *insn = &code->insn[i];
		uint64_t start, size;
		const char *name;

		if ((insn->kind != INSN_JUMP && insn->kind != INSN_BRANCH) ||
		    code_chunk(code, insn->target))
			continue;
		name = l->image->symbol_at(l->image->context, insn->target, &start, &size);
		if (!name || !starts_with(name, function) ||
		    !starts_with(name + strlen(function), ".cold"))
			continue;
		if (code->chunks == CODE_CHUNKS)
			return fail(l, -E2BIG, "%s is in too many pieces", function);
		err = add_chunk(l, name, start, size);
		if (err)
			return err;
	}
	return 0;
}

/* --- jump labels -------------------------------------------------------------------------------
 */

/* An entry of the kernel's __jump_table: distances from the fields themselves. */
struct label {
	int32_t code, target;
	int64_t key;
};

static void add_label(struct code *code, const struct label *label, uint64_t address)
{
	uint64_t at = address + (uint64_t)(int64_t)label->code;
	uint64_t target =
		address + offsetof(struct label, target) + (uint64_t)(int64_t)label->target;
	int64_t i = code_find(code, at);
	struct insn *insn;

	if (i < 0)
		return;
	insn = &code->insn[i];
	if (insn->kind != INSN_PLAIN && (insn->kind != INSN_JUMP || insn->target != target))
		return;
	insn->kind = INSN_BRANCH;
	insn->target = target;
	insn->patched = true;
}

/*
 * A jump label is a no-op or a jump, and the kernel may turn the one into the other at any
 * time. Where the table of all labels can be read, each counts as a branch, so that what is
 * found holds in both states; where it cannot, the state of this moment has to do.
 */
static int add_labels(struct loader *l)
{
	const struct code_image *image = l->image;
	uint64_t start, stop, size;
	struct label *labels;
	size_t i, count;

	if (image->symbol(image->context, "__start___jump_table", &start, &size) ||
	    image->symbol(image->context, "__stop___jump_table", &stop, &size) || stop <= start ||
	    stop - start > LABELS_MAX)
		return 0;
	count = (stop - start) / sizeof(*labels);
	labels = malloc(count * sizeof(*labels) + 1);
	if (!labels)
		return fail(l, -ENOMEM, "out of memory");
	if (!image->read(image->context, start, labels, count * sizeof(*labels)))
		for (i = 0; i < count; i++)
			add_label(l->code, &labels[i], start + i * sizeof(*labels));
	free(labels);
	return 0;
}

/* Jumps that leave the code end the function; those inside must hit an instruction, and what
 * they hit is no padding. */
static void settle_targets(struct loader *l)
{
	struct code *code = l->code;
	uint32_t i;

	for (i = 0; i < code->insns; i++) {
		struct insn *insn = &code->insn[i];
		int64_t to;

		if (l->name[i] != NO_NAME)
			insn->callee = code->names + l->name[i];
		if (insn->kind != INSN_JUMP && insn->kind != INSN_BRANCH)
			continue;
		if (!code_chunk(code, insn->target)) {
			if (insn->kind == INSN_JUMP)
				insn->kind = INSN_RETURN;
			continue;
		}
		to = code_find(code, insn->target);
		if (to < 0)
			insn->kind = INSN_UNKNOWN;
		else if (code->insn[to].kind == INSN_PADDING)
			code->insn[to].kind = INSN_HIDDEN;
	}
}

int code_load(const struct code_image *image, const char *function, struct code **result, char *why,
	      size_t why_size)
{
	struct loader l = { .image = image, .why = why, .why_size = why_size };
	uint64_t start, size, ignored;
	int err;

	err = image->symbol(image->context, function, &start, &size);
	if (err == -ENOTUNIQ)
		return fail(&l, err, "there are several functions named %s", function);
	if (err)
		return fail(&l, err, "there is no function %s", function);
	l.code = calloc(1, sizeof(*l.code));
	if (!l.code)
		return fail(&l, -ENOMEM, "out of memory");
	l.code->arch = image->arch;
	err = decoder_open(image->arch, &l.decoder);
	if (err)
		fail(&l, err, "Capstone does not decode this architecture");
	if (!err)
		err = add_chunk(&l, function, start, size);
	if (!err)
		err = add_cold(&l);
	if (!err)
		err = add_labels(&l);
	if (!err) {
		settle_targets(&l);
		err = code_build_graph(l.code);
		if (err)
			fail(&l, err, "out of memory");
	}
	decoder_close(l.decoder);
	free(l.name);
	if (err) {
		code_free(l.code);
		return err;
	}
	if (image->symbol(image->context, "ksm_thread_pages_to_scan", &l.code->pages_to_scan,
			  &ignored))
		l.code->pages_to_scan = 0;
	*result = l.code;
	return 0;
}
