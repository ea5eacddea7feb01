/* SPDX-License-Identifier: GPL-2.0-only */
/* A kernel's ELF file: its code and symbols, who it is, and its debug info for debuginfo.c. */
#ifndef KSMTRACE_VMLINUX_H
#define KSMTRACE_VMLINUX_H

#include <stddef.h>
#include <stdint.h>

#include "code.h"
#include "plan.h"

struct vmlinux; /* released with vmlinux_close() */

/*
 * Opens the ELF file at path. Returns 0, or on error a negative errno with one sentence in
 * why: -ENOENT and others from opening it, -ENOEXEC when it is no x86-64 or arm64 kernel,
 * -ENOMEM.
 */
int vmlinux_open(const char *path, struct vmlinux **result, char *why, size_t why_size);
void vmlinux_close(struct vmlinux *vmlinux);

/* The file's code and symbols. vmlinux must outlive it. */
struct code_image vmlinux_image(struct vmlinux *vmlinux);

/* Whose kernel it is. The release is empty when the file does not tell. Owned by vmlinux. */
const struct kernel_id *vmlinux_id(const struct vmlinux *vmlinux);

/* Whether address is in code that is thrown away after start-up. */
bool vmlinux_is_init(struct vmlinux *vmlinux, uint64_t address);

/*
 * The same file as an Elf handle of its own (libelf's, for elf_end()), in which .debug_info is
 * only the unit with the code at address: libdw would else look at the head of every unit,
 * which costs more memory than all the rest. NULL when that unit cannot be told, as with
 * compressed debug info or without .debug_aranges. To be called once at most.
 */
void *vmlinux_narrow(struct vmlinux *vmlinux, uint64_t address);

#endif
