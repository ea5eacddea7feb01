/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A ksm_scan_thread of the kernel's shape, for fuzz_machine_code to start from: all its calls go
 * to where that finds functions of those names. Linked to run at 0xffffffff81000000.
 */
	.set outside, 0xffffffff81020000
	.set mutex_lock, outside
	.set mutex_unlock, outside + 0x10
	.set wait_while_offlining, outside + 0x20
	.set up_read, outside + 0x30
	.set down_read, outside + 0x40
	.set xxh64, outside + 0x50
	.set memcmp_pages, outside + 0x60
	.set stable_tree_append, outside + 0x70
	.set folio_put, outside + 0x90
	.set mas_find, outside + 0xb0
	.set return_thunk, outside + 0xc0
	.set pages_to_scan, outside

	.text
	.globl _start
_start:
	push %rbx
0:	call down_read
	test %al, %al
	jne 9f
	mov $1, %edi
	call mutex_lock
	call wait_while_offlining
	testb $1, outside + 0x100
	je 6f
	mov outside + 0x110, %rcx
	test %rcx, %rcx
	je 6f
	mov pages_to_scan, %eax
	lea -1(%rax), %r12d
	test %eax, %eax
	je 6f
	mov %rcx, 8(%rsp)
1:	nopl 0(%rax,%rax,1)
2:	call down_read
	call mas_find
	test %rax, %rax
	je 6f
	testb $1, (%rax)
	je 2b
	mov %r9, (%rsp)
	call up_read
	mov (%rsp), %r9
	test %r9, %r9
	je 6f
	mov 8(%r9), %rax
	test $1, %al
	jne 4f
	mov (%r9), %rdi
	call memcmp_pages
	test %eax, %eax
	jne 3f
	mov %rbx, %rdi
	xor %edx, %edx
	mov $0x1000, %esi
	sub outside + 0x120, %rdi
	call xxh64
	cmp %eax, 0x20(%r9)
	jne 3f
	call memcmp_pages
	test %eax, %eax
	je 3f
	call stable_tree_append
3:	mov %eax, 0x20(%r9)
4:	lock decl 0x34(%rbx)
	je 8f
5:	sub $1, %r12d
	cmp $-1, %r12d
	jne 1b
6:	mov $1, %edi
	call mutex_unlock
	call down_read
	jmp 0b
8:	call folio_put
	jmp 5b
9:	pop %rbx
	jmp return_thunk
	.balign 16, 0xcc
