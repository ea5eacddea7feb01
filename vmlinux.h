/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's types as far as ksmtrace.bpf.c uses them, written by hand: it builds on a
 * machine without BTF, and whoever reads it sees what ksmtrace looks at. The field offsets are
 * those of the running kernel, filled in when the program is loaded (CO-RE).
 */
#ifndef KSMTRACE_VMLINUX_H
#define KSMTRACE_VMLINUX_H

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
#define true 1
#define false 0

enum bpf_map_type {
	BPF_MAP_TYPE_RINGBUF = 27,
};

enum {
	BPF_RB_NO_WAKEUP = 1,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sched_entity {
	__u64 sum_exec_runtime;
};

struct task_struct {
	unsigned int __state; /* since 5.14 */
	unsigned int flags;
	struct sched_entity se;
	char comm[16];
};

/* Before 5.14 __state was called state. */
struct task_struct___before_5_14 {
	long state;
};

#pragma clang attribute pop

#define PF_KTHREAD	     0x00200000
#define TASK_INTERRUPTIBLE   0x0001
#define TASK_UNINTERRUPTIBLE 0x0002

/* What a kprobe program is given: never looked into, only passed along. */
struct pt_regs;

#endif
