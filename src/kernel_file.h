/* SPDX-License-Identifier: GPL-2.0-only */
/* A kernel's ELF file: its code and symbols, who it is, and its debug info for debuginfo.c. */
#ifndef KSMTRACE_KERNEL_FILE_H
#define KSMTRACE_KERNEL_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "code.h"
#include "plan.h"

struct kernel_file; /* released with kernel_file_close() */

/*
 * Opens the ELF file at path. Returns 0, or on error a negative errno with one sentence in
 * why: -ENOENT and others from opening it, -ENOEXEC when it is no x86-64 or arm64 kernel,
 * -ENOMEM.
 */
int kernel_file_open(const char *path, struct kernel_file **result, char *why, size_t why_size);
void kernel_file_close(struct kernel_file *file);

/* The file's code and symbols. file must outlive it. */
struct code_image kernel_file_image(struct kernel_file *file);

/* Whose kernel it is. The release is empty when the file does not tell. Owned by file. */
const struct kernel_id *kernel_file_id(const struct kernel_file *file);

/* Whether address is in code that is thrown away after start-up. */
bool kernel_file_is_init(struct kernel_file *file, uint64_t address);

/*
 * The same file as an Elf handle of its own (libelf's, for elf_end()), in which .debug_info is
 * only the unit with the code at address: libdw would else look at the head of every unit,
 * which costs more memory than all the rest. NULL when that unit cannot be told, as with
 * compressed debug info or without .debug_aranges. To be called once at most.
 */
void *kernel_file_narrow(struct kernel_file *file, uint64_t address);

#endif
