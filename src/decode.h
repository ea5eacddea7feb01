/* SPDX-License-Identifier: GPL-2.0-only */
/* One instruction at a time: bytes to struct insn, on top of Capstone. Used by code.c. */
#ifndef KSMTRACE_DECODE_H
#define KSMTRACE_DECODE_H

#include "code.h"

struct decoder; /* released with decoder_close() */

/* Returns 0; -ENOMEM, or -ENOTSUP when the Capstone library lacks the architecture. */
int decoder_open(enum code_arch arch, struct decoder **result);
void decoder_close(struct decoder *decoder);

/*
 * Decodes the instruction at the start of bytes (size of them, at least 1), which runs at
 * address. Always fills *insn, with a size of at least 1 and at most size: bytes that do not
 * decode become INSN_UNKNOWN. What only other parts of the code tell is left to the caller:
 * jumps are INSN_JUMP wherever they go, calls INSN_CALL, breakpoints INSN_PADDING, callee
 * NULL.
 */
void decoder_next(struct decoder *decoder, const uint8_t *bytes, size_t size, uint64_t address,
		  struct insn *insn);

#endif
