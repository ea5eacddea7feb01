// SPDX-License-Identifier: GPL-2.0-only
/* Capstone's view of an instruction, cut down to what the analysis asks; see decode.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <capstone/capstone.h>

#include "decode.h"

struct decoder {
	enum code_arch arch;
	csh handle;
	cs_insn *scratch;
};

int decoder_open(enum code_arch arch, struct decoder **result)
{
	struct decoder *d = calloc(1, sizeof(*d));
	cs_err err;

	if (!d)
		return -ENOMEM;
	d->arch = arch;
	err = arch == CODE_X86_64 ? cs_open(CS_ARCH_X86, CS_MODE_64, &d->handle)
				  : cs_open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, &d->handle);
	if (err) {
		free(d);
		return err == CS_ERR_MEM ? -ENOMEM : -ENOTSUP;
	}
	cs_option(d->handle, CS_OPT_DETAIL, CS_OPT_ON);
	d->scratch = cs_malloc(d->handle);
	if (!d->scratch) {
		decoder_close(d);
		return -ENOMEM;
	}
	*result = d;
	return 0;
}

void decoder_close(struct decoder *decoder)
{
	if (!decoder)
		return;
	if (decoder->scratch)
		cs_free(decoder->scratch, 1);
	cs_close(&decoder->handle);
	free(decoder);
}

/* --- x86-64 ------------------------------------------------------------------------------------
 */

/* The hardware number of the general register that reg is (a part of); -1 for all others. */
static int x86_register(unsigned int reg)
{
	static const uint16_t family[16][5] = {
		{ X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH },
		{ X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH },
		{ X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH },
		{ X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH },
		{ X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL, 0 },
		{ X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL, 0 },
		{ X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL, 0 },
		{ X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL, 0 },
		{ X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B, 0 },
		{ X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B, 0 },
		{ X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B, 0 },
		{ X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B, 0 },
		{ X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B, 0 },
		{ X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B, 0 },
		{ X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B, 0 },
		{ X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B, 0 },
	};
	int i, j;

	for (i = 0; reg && i < 16; i++)
		for (j = 0; j < 5; j++)
			if (family[i][j] == reg)
				return i;
	return -1;
}

/* The kernel's own lists (can_boost() in arch/x86/kernel/kprobes/core.c): which instructions
 * do the same from another place. Columns are the low, rows the high half of the opcode. */
static bool x86_boostable(const cs_x86 *x86, const uint8_t *bytes, size_t size)
{
	static const char two_byte[16][17] = {
		"0011001011000000", "0000000000000001", "1111000000000000", "0100000000000000",
		"1111111111111111", "0000000000000000", "1111111111110011", "0000111100000011",
		"0000000000000000", "1111111111111111", "1101110011011101", "1111111100011111",
		"1100000011111111", "0111010011011101", "0110010011011101", "0111010011101110",
	};
	uint8_t op = x86->opcode[0];
	size_t i;

	if (op == 0x0f) {
		if (x86->opcode[1] == 0x38 || x86->opcode[1] == 0x3a)
			return false;
		return two_byte[x86->opcode[1] >> 4][x86->opcode[1] & 15] == '1';
	}
	for (i = 0; i < size && bytes[i] != op; i++)
		if (bytes[i] == 0x2e || bytes[i] == 0x67)
			return false;
	switch (op) {
	case 0x62:
	case 0x70 ... 0x7f:
	case 0x9a:
	case 0xc0 ... 0xc1:
	case 0xc4 ... 0xc5:
	case 0xcc ... 0xce:
	case 0xd0 ... 0xd3:
	case 0xd6:
	case 0xd8 ... 0xdf:
	case 0xe0 ... 0xe3:
	case 0xe8 ... 0xe9:
	case 0xeb:
	case 0xf0 ... 0xf4:
	case 0xf6 ... 0xf7:
	case 0xfe ... 0xff:
		return false;
	default:
		return true;
	}
}

/* ud1, with which newer kernels mark a WARN: Capstone forgets its operand's bytes. */
static uint8_t x86_ud1_size(const cs_insn *ci, const uint8_t *bytes, size_t size)
{
	size_t length = ci->size;
	uint8_t modrm;

	if (length >= size)
		return (uint8_t)length;
	modrm = bytes[length++];
	if ((modrm >> 6) != 3) {
		if ((modrm & 7) == 4 && length < size)
			length++;
		if ((modrm >> 6) == 1)
			length += 1;
		else if ((modrm >> 6) == 2 || (modrm & 7) == 5)
			length += 4;
	}
	return (uint8_t)(length < size ? length : size);
}

static void x86_operands(const cs_insn *ci, struct insn *insn)
{
	const cs_x86 *x86 = &ci->detail->x86;
	int i;

	for (i = 0; i < x86->op_count; i++) {
		const cs_x86_op *op = &x86->operands[i];

		if (op->type != X86_OP_MEM)
			continue;
		if (op->access & CS_AC_WRITE)
			insn->stores = true;
		if (ci->id == X86_INS_XCHG)
			insn->barrier = true;
		if (op->mem.index != X86_REG_INVALID || op->mem.segment != X86_REG_INVALID)
			continue;
		if (op->mem.base == X86_REG_RIP)
			insn->data = ci->address + ci->size + (uint64_t)op->mem.disp;
		else if (op->mem.base == X86_REG_INVALID)
			insn->data = (uint64_t)op->mem.disp;
	}
}

static void x86_kind(csh handle, const cs_insn *ci, const uint8_t *bytes, size_t size,
		     struct insn *insn)
{
	const cs_x86 *x86 = &ci->detail->x86;
	bool direct = x86->op_count == 1 && x86->operands[0].type == X86_OP_IMM;

	switch (ci->id) {
	case X86_INS_INT3:
		insn->kind = INSN_PADDING;
		return;
	case X86_INS_UD2B:
		insn->size = x86_ud1_size(ci, bytes, size);
		/* fall through */
	case X86_INS_UD2:
	case X86_INS_UD0:
	case X86_INS_HLT:
		insn->kind = INSN_TRAP;
		return;
	case X86_INS_CALL:
	case X86_INS_LCALL:
		insn->kind = INSN_CALL;
		break;
	case X86_INS_JMP:
	case X86_INS_LJMP:
		insn->kind = direct ? INSN_JUMP : INSN_INDIRECT;
		break;
	case X86_INS_XBEGIN:
		insn->kind = INSN_UNKNOWN; /* an abort may go anywhere */
		return;
	case X86_INS_LOOP:
	case X86_INS_LOOPE:
	case X86_INS_LOOPNE:
		insn->kind = INSN_BRANCH;
		break;
	default:
		if (cs_insn_group(handle, ci, CS_GRP_JUMP))
			insn->kind = INSN_BRANCH;
		else if (cs_insn_group(handle, ci, CS_GRP_RET) ||
			 cs_insn_group(handle, ci, CS_GRP_IRET))
			insn->kind = INSN_RETURN;
		break;
	}
	if (direct && insn->kind != INSN_PLAIN && insn->kind != INSN_RETURN)
		insn->target = (uint64_t)x86->operands[0].imm;
	if (insn->kind == INSN_BRANCH && !insn->target)
		insn->kind = INSN_UNKNOWN;
}

static void x86_fill(struct decoder *d, const cs_insn *ci, const uint8_t *bytes, size_t size,
		     struct insn *insn)
{
	const cs_x86 *x86 = &ci->detail->x86;
	cs_regs read, written;
	uint8_t reads = 0, writes = 0, i;
	int reg;

	x86_kind(d->handle, ci, bytes, size, insn);
	x86_operands(ci, insn);
	if (!cs_regs_access(d->handle, ci, read, &reads, written, &writes))
		for (i = 0; i < writes; i++) {
			reg = x86_register(written[i]);
			if (reg >= 0)
				insn->writes |= 1U << reg;
		}
	if (x86->prefix[0] == X86_PREFIX_LOCK || ci->id == X86_INS_MFENCE ||
	    ci->id == X86_INS_LFENCE || ci->id == X86_INS_SFENCE || ci->id == X86_INS_CPUID)
		insn->barrier = true;
	if (x86->prefix[0] == X86_PREFIX_REP && ci->id >= X86_INS_STOSB && ci->id <= X86_INS_STOSW)
		insn->stores = true;
	insn->boostable = insn->kind == INSN_PLAIN && x86_boostable(x86, bytes, insn->size);
}

/* --- arm64 -------------------------------------------------------------------------------------
 */

static int64_t sign_extend(uint32_t value, unsigned int bits)
{
	uint64_t sign = 1ULL << (bits - 1);

	return (int64_t)((value ^ sign) - sign);
}

static uint64_t arm64_target(uint64_t address, uint32_t word, unsigned int low, unsigned int bits)
{
	uint32_t field = (word >> low) & ((1U << bits) - 1);

	return address + (uint64_t)(sign_extend(field, bits) * 4);
}

/* Where control goes, from the encoding itself: Capstone 4 does not know the newer forms
 * (pointer authentication, memory tagging), but no instruction is left out here. */
static void arm64_kind(uint32_t w, struct insn *insn)
{
	if ((w & 0x7c000000) == 0x14000000) { /* b, bl */
		insn->kind = w >> 31 ? INSN_CALL : INSN_JUMP;
		insn->target = arm64_target(insn->address, w, 0, 26);
	} else if ((w & 0xff000000) == 0x54000000) { /* b.cond, bc.cond */
		/* Conditions 14 and 15 both mean "always". */
		insn->kind = (w & 15) >= 14 ? INSN_JUMP : INSN_BRANCH;
		insn->target = arm64_target(insn->address, w, 5, 19);
	} else if ((w & 0x7e000000) == 0x34000000) { /* cbz, cbnz */
		insn->kind = INSN_BRANCH;
		insn->target = arm64_target(insn->address, w, 5, 19);
	} else if ((w & 0x7e000000) == 0x36000000) { /* tbz, tbnz */
		insn->kind = INSN_BRANCH;
		insn->target = arm64_target(insn->address, w, 5, 14);
	} else if ((w & 0xfe000000) == 0xd6000000) { /* branch to register */
		switch ((w >> 21) & 7) {
		case 0:
			insn->kind = INSN_INDIRECT;
			break;
		case 1:
			insn->kind = INSN_CALL;
			break;
		default: /* ret, eret */
			insn->kind = INSN_RETURN;
			break;
		}
	} else if ((w & 0xffe0001f) == 0xd4200000) { /* brk */
		/* Kprobes use 4 and 6 (include/asm/brk-imm.h); BUG and WARN 0x800. */
		insn->kind = ((w >> 5) & 0xffff) <= 6 ? INSN_PADDING : INSN_TRAP;
	} else if (!(w >> 16)) { /* udf */
		insn->kind = INSN_TRAP;
	}
}

/* Barriers, exclusives and the atomics of ARMv8.1: what orders accesses. */
static bool arm64_barrier(uint32_t w)
{
	return (w & 0xfffff000) == 0xd5033000 || /* dmb, dsb, isb, clrex */
	       (w & 0x3f000000) == 0x08000000 || /* exclusive, acquire, release, cas */
	       (w & 0x3b200c00) == 0x38200000;	 /* ldadd, swp and their kind */
}

static void arm64_fill(struct decoder *d, const uint8_t *bytes, struct insn *insn)
{
	const uint8_t *code = bytes;
	size_t left = 4;
	uint64_t at = insn->address;
	cs_regs read, written;
	uint8_t reads = 0, writes = 0, i;
	uint32_t w;

	w = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	    (uint32_t)bytes[3] << 24;
	arm64_kind(w, insn);
	insn->barrier = arm64_barrier(w);
	if (insn->kind != INSN_PLAIN)
		return;
	if (!cs_disasm_iter(d->handle, &code, &left, &at, d->scratch) ||
	    cs_regs_access(d->handle, d->scratch, read, &reads, written, &writes)) {
		insn->writes = UINT32_MAX; /* not known: any */
		insn->stores = true;
		return;
	}
	for (i = 0; i < writes; i++) {
		unsigned int reg = written[i];

		if (reg >= ARM64_REG_X0 && reg <= ARM64_REG_X28)
			insn->writes |= 1U << (reg - ARM64_REG_X0);
		else if (reg >= ARM64_REG_W0 && reg <= ARM64_REG_W30)
			insn->writes |= 1U << (reg - ARM64_REG_W0);
		else if (reg == ARM64_REG_X29 || reg == ARM64_REG_X30)
			insn->writes |= 1U << (reg == ARM64_REG_X29 ? 29 : 30);
		else if (reg == ARM64_REG_SP)
			insn->writes |= 1U << 31;
	}
	for (i = 0; i < d->scratch->detail->arm64.op_count; i++)
		if (d->scratch->detail->arm64.operands[i].type == ARM64_OP_MEM &&
		    d->scratch->detail->arm64.operands[i].access & CS_AC_WRITE)
			insn->stores = true;
}

void decoder_next(struct decoder *decoder, const uint8_t *bytes, size_t size, uint64_t address,
		  struct insn *insn)
{
	const uint8_t *code = bytes;
	size_t left = size < 16 ? size : 16;
	uint64_t at = address;

	*insn = (struct insn){ .address = address, .kind = INSN_PLAIN };
	if (decoder->arch == CODE_ARM64) {
		insn->size = size < 4 ? (uint8_t)size : 4;
		if (size < 4)
			insn->kind = INSN_UNKNOWN;
		else
			arm64_fill(decoder, bytes, insn);
		return;
	}
	if (!cs_disasm_iter(decoder->handle, &code, &left, &at, decoder->scratch)) {
		insn->size = 1;
		insn->kind = INSN_UNKNOWN;
		return;
	}
	insn->size = (uint8_t)decoder->scratch->size;
	x86_fill(decoder, decoder->scratch, bytes, size, insn);
}
