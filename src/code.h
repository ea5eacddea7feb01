/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The machine code of one kernel function, decoded: its instructions, where control goes from
 * each, and what it calls. x86-64 and arm64.
 *
 * The code may be that of a running kernel, which differs from the file it was loaded from:
 * static calls and jump labels are patched, return thunks may have become returns, and other
 * tools may have put kprobes there.
 */
#ifndef KSMTRACE_CODE_H
#define KSMTRACE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sites.h"

struct ksyms;

enum code_arch { CODE_X86_64, CODE_ARM64 };

/*
 * Where code and symbols come from. Every function gets context; those that return int give
 * 0 or a negative errno.
 */
struct code_image {
	enum code_arch arch;
	/* Copies size bytes at address. */
	int (*read)(void *context, uint64_t address, void *buffer, size_t size);
	/* The symbol that address lies in, with its bounds; NULL when there is none. The name
	 * must stay valid until the next call only. */
	const char *(*symbol_at)(void *context, uint64_t address, uint64_t *start, uint64_t *size);
	/* The one symbol of that name, code or data (size 0 for data: not known). -ENOENT when
	 * there is none, -ENOTUNIQ when there are several. */
	int (*symbol)(void *context, const char *name, uint64_t *start, uint64_t *size);
	/* May be NULL. Puts back into bytes, read from address, what kprobes' breakpoints hide, as
	 * far as the kernel tells. */
	void (*restore)(void *context, uint64_t address, uint8_t *bytes, size_t size);
	void *context;
};

enum insn_kind {
	INSN_PLAIN,
	INSN_CALL,	    /* returns to the next instruction */
	INSN_CALL_NORETURN, /* never comes back (panic and the like) */
	INSN_BRANCH,	    /* conditional: to target or to the next instruction */
	INSN_JUMP,	    /* to target, inside this code */
	INSN_RETURN,	    /* leaves the function: a return, or a jump out of it (tail call) */
	INSN_INDIRECT,	    /* a jump to an address that only the running code knows */
	INSN_TRAP,	    /* ud2, brk: a BUG() never goes on, a WARN() does */
	INSN_PADDING,	    /* int3 behind a jump or return: never executed */
	INSN_UNKNOWN,	    /* bytes that do not decode */
	INSN_HIDDEN,	    /* another tool's breakpoint: the instruction cannot be known */
};

struct insn {
	uint64_t address;
	uint64_t target;    /* of a direct call, jump or branch */
	uint64_t data;	    /* the fixed address of the memory operand; 0: none, or not fixed */
	const char *callee; /* the symbol that target is the start of, or NULL */
	uint32_t writes;    /* general registers written, one bit each, in hardware numbering */
	uint8_t size;
	uint8_t kind;	/* enum insn_kind */
	bool stores;	/* writes memory */
	bool barrier;	/* locked, or a fence: it orders memory accesses */
	bool patched;	/* a jump label: the kernel may change it, and allows no kprobe there */
	bool boostable; /* the kernel can run a copy of it elsewhere (x86) */
};

/* A run of instructions that is entered only at its start and left only at its end. Calls
 * do not end a block unless they never return. */
struct block {
	uint32_t first, count; /* instructions */
	int32_t next[2];       /* where control goes on; -1: nowhere (in this code) */
	uint32_t *from;	       /* blocks that lead here, in no order */
	uint32_t from_count;
	bool reached; /* from the start of the function */
	bool live;    /* reached, and a way leads on to where the function returns */
};

/* A stretch of code under one symbol: the function, and its .cold part when it has one. */
struct chunk {
	char symbol[SITE_SYMBOL_MAX];
	uint64_t start, size;
	uint8_t *bytes;
	uint32_t first, count; /* its instructions */
};

#define CODE_CHUNKS 4

struct code {
	enum code_arch arch;
	struct chunk chunk[CODE_CHUNKS]; /* [0] is the function itself */
	unsigned int chunks;
	struct insn *insn;
	uint32_t insns;
	struct block *block; /* [0] is where the function starts */
	uint32_t blocks;
	uint32_t *block_of;	/* of each instruction */
	bool traps_go_on;	/* control goes on behind INSN_TRAP */
	uint64_t pages_to_scan; /* address of ksm_thread_pages_to_scan; 0: not known */
	char *names;		/* what callee points into */
	uint32_t *edges;	/* what block.from points into */
};

/*
 * Decodes function (a symbol of image) and its .cold part into *result, to be released with
 * code_free(). Returns 0, or on error a negative errno with one sentence in why: -ENOENT no
 * such symbol, -ENOTUNIQ several, -EFAULT and -EPERM when it cannot be read, -EILSEQ when the
 * bytes are no code that this understands, -E2BIG, -ENOMEM.
 */
int code_load(const struct code_image *image, const char *function, struct code **result, char *why,
	      size_t why_size);
void code_free(struct code *code);

/* An image of the running kernel. ksyms must outlive it; where the code can be read is up to
 * kmem_read(). Nothing to release. */
struct code_image code_image_running(const struct ksyms *ksyms);

/* For code_load(): fills block, block_of and edges from insn. Returns 0 or -ENOMEM. */
int code_build_graph(struct code *code);

/* Whether control can go on behind the instruction. */
bool insn_falls_through(const struct insn *insn);

/* The chunk that address lies in, or NULL. */
const struct chunk *code_chunk(const struct code *code, uint64_t address);

/* The instruction that starts at address; -1 when none does. */
int64_t code_find(const struct code *code, uint64_t address);

/* Where control may go on from instruction i: up to two instructions in next[]. Returns how
 * many. Calls count as going on behind them. */
unsigned int code_next(const struct code *code, uint32_t i, uint32_t next[2]);

/*
 * Where to put kprobes so that whatever passes instruction i passes exactly one of them right
 * then: at i itself or, when the kernel may patch that and so allows none, at all that it leads
 * to. Returns how many at[] has; 0 when there is no such way.
 */
unsigned int code_probe(const struct code *code, uint32_t i, uint32_t at[2]);

/* Whether the function may be left at the end of that block. */
bool code_leaves(const struct code *code, uint32_t block);

/* Whether a BUG or WARN can be reached. And a copy of the code, to be released with
 * code_free() before code is, in which control goes on behind each as it does behind a WARN:
 * 0 or -ENOMEM. */
bool code_has_traps(const struct code *code);
int code_with_traps(const struct code *code, struct code **result);

/* The bytes of instruction i. */
const uint8_t *code_bytes(const struct code *code, uint32_t i);

/* Symbol and offset of address, which must lie in the code (else -ERANGE). */
int code_site(const struct code *code, uint64_t address, struct site *site);

/* The address of a site; 0 when its symbol is none of this code's or the offset is outside. */
uint64_t code_address(const struct code *code, const struct site *site);

/* The calls to callee that can be reached: returns how many and, in *call, the last one. */
unsigned int code_calls(const struct code *code, const char *callee, uint32_t *call);

#endif
