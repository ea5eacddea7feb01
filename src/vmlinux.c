// SPDX-License-Identifier: GPL-2.0-only
/* A kernel's ELF file, mapped and read only where needed; see vmlinux.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <elfutils/libdwelf.h>
#include <gelf.h>

#include "vmlinux.h"

struct text_symbol {
	uint64_t address;
	uint32_t index; /* in .symtab */
	uint32_t rank;	/* among names of one address the lowest is the usual one */
};

struct vmlinux {
	void *map; /* the whole file; written to by nobody but vmlinux_narrow() */
	size_t map_size;
	Elf *elf;
	enum code_arch arch;
	Elf_Data *symtab;
	size_t strings; /* section index of the names */
	uint32_t symbols;
	struct text_symbol *text; /* sorted by address */
	uint32_t texts;
	struct kernel_id id;
};

/* --- sections ----------------------------------------------------------------------------------
 */

/* The section of the loaded kernel that has address; NULL when none has. */
static Elf_Scn *section_at(struct vmlinux *v, uint64_t address, GElf_Shdr *shdr)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(v->elf, scn))) {
		/* Per-CPU data and the like are linked to low addresses of their own. */
		if (gelf_getshdr(scn, shdr) && shdr->sh_flags & SHF_ALLOC && shdr->sh_addr &&
		    address - shdr->sh_addr < shdr->sh_size)
			return scn;
	}
	return NULL;
}

static int read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
	struct vmlinux *v = context;
	GElf_Shdr shdr;
	Elf_Scn *scn = section_at(v, address, &shdr);
	Elf_Data *data;
	uint64_t offset;

	if (!scn || shdr.sh_type == SHT_NOBITS)
		return -EFAULT;
	data = elf_rawdata(scn, NULL);
	offset = address - shdr.sh_addr;
	if (!data || !data->d_buf || offset > data->d_size || size > data->d_size - offset)
		return -EFAULT;
	memcpy(buffer, (const char *)data->d_buf + offset, size);
	return 0;
}

bool vmlinux_is_init(struct vmlinux *vmlinux, uint64_t address)
{
	GElf_Shdr shdr;
	size_t names;
	const char *name;

	if (!section_at(vmlinux, address, &shdr) || elf_getshdrstrndx(vmlinux->elf, &names))
		return false;
	name = elf_strptr(vmlinux->elf, names, shdr.sh_name);
	return name && !strncmp(name, ".init", 5);
}

/* --- symbols -----------------------------------------------------------------------------------
 */

static const char *symbol_name(struct vmlinux *v, uint32_t index, GElf_Sym *sym)
{
	if (!gelf_getsym(v->symtab, (int)index, sym))
		return NULL;
	return elf_strptr(v->elf, v->strings, sym->st_name);
}

static const char *symbol_at(void *context, uint64_t address, uint64_t *start, uint64_t *size)
{
	struct vmlinux *v = context;
	uint32_t low = 0, high = v->texts, end;
	GElf_Shdr shdr;
	GElf_Sym sym;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (v->text[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	end = low;
	while (low > 1 && v->text[low - 2].address == v->text[low - 1].address)
		low--;
	*start = v->text[low - 1].address;
	/* Up to the next symbol, as kallsyms has it, but not beyond the section. */
	if (!section_at(v, *start, &shdr))
		return NULL;
	*size = shdr.sh_addr + shdr.sh_size - *start;
	if (end < v->texts && v->text[end].address - *start < *size)
		*size = v->text[end].address - *start;
	return address - *start < *size ? symbol_name(v, v->text[low - 1].index, &sym) : NULL;
}

static int symbol_by_name(void *context, const char *name, uint64_t *start, uint64_t *size)
{
	struct vmlinux *v = context;
	unsigned int found = 0;
	uint32_t i;

	for (i = 0; i < v->symbols; i++) {
		GElf_Sym sym;
		const char *other = symbol_name(v, i, &sym);

		if (!other || strcmp(other, name) || sym.st_shndx == SHN_UNDEF ||
		    GELF_ST_TYPE(sym.st_info) > STT_FUNC)
			continue;
		*start = sym.st_value;
		*size = 0;
		found++;
	}
	if (found == 1) {
		uint64_t at;

		if (symbol_at(v, *start, &at, size) && at != *start)
			*size = 0;
	}
	return !found ? -ENOENT : found > 1 ? -ENOTUNIQ : 0;
}

static int by_address(const void *a, const void *b)
{
	const struct text_symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* Which sections have code: one byte each. NULL when out of memory. */
static uint8_t *code_sections(struct vmlinux *v, size_t *count)
{
	Elf_Scn *scn = NULL;
	uint8_t *is_code;

	if (elf_getshdrnum(v->elf, count))
		return NULL;
	is_code = calloc(*count + 1, 1);
	while (is_code && (scn = elf_nextscn(v->elf, scn))) {
		GElf_Shdr shdr;

		if (elf_ndxscn(scn) < *count && gelf_getshdr(scn, &shdr))
			is_code[elf_ndxscn(scn)] =
				shdr.sh_flags & SHF_ALLOC && shdr.sh_flags & SHF_EXECINSTR;
	}
	return is_code;
}

static int index_text(struct vmlinux *v)
{
	size_t sections = 0;
	uint8_t *is_code = code_sections(v, &sections);
	uint32_t i;

	v->text = malloc(((size_t)v->symbols + 1) * sizeof(*v->text));
	if (!is_code || !v->text) {
		free(is_code);
		return -ENOMEM;
	}
	for (i = 0; i < v->symbols; i++) {
		GElf_Sym sym;
		const char *name;
		unsigned int type;

		if (!gelf_getsym(v->symtab, (int)i, &sym))
			continue;
		type = GELF_ST_TYPE(sym.st_info);
		if (sym.st_shndx >= sections || !is_code[sym.st_shndx] ||
		    (type != STT_FUNC && type != STT_NOTYPE))
			continue;
		name = elf_strptr(v->elf, v->strings, sym.st_name);
		/* Not the assembler's own marks. */
		if (!name || !*name || *name == '$' || *name == '.')
			continue;
		v->text[v->texts++] = (struct text_symbol){
			.address = sym.st_value,
			.index = i,
			.rank = (type != STT_FUNC) * 2U + (GELF_ST_BIND(sym.st_info) == STB_LOCAL),
		};
	}
	free(is_code);
	qsort(v->text, v->texts, sizeof(*v->text), by_address);
	return 0;
}

/* --- who it is ---------------------------------------------------------------------------------
 */

static void identify(struct vmlinux *v)
{
	static const char start[] = "Linux version ";
	char banner[sizeof(start) - 1 + RELEASE_MAX];
	uint64_t address, size;
	const void *id;
	ssize_t n;

	strcpy(v->id.machine, v->arch == CODE_X86_64 ? "x86_64" : "aarch64");
	n = dwelf_elf_gnu_build_id(v->elf, &id);
	if (n > 0 && n <= BUILD_ID_MAX) {
		memcpy(v->id.build_id, id, (size_t)n);
		v->id.build_id_size = (unsigned int)n;
	}
	if (symbol_by_name(v, "linux_banner", &address, &size) ||
	    read_memory(v, address, banner, sizeof(banner)) ||
	    memcmp(banner, start, sizeof(start) - 1))
		return;
	banner[sizeof(banner) - 1] = '\0';
	n = (ssize_t)strcspn(banner + sizeof(start) - 1, " \n");
	if (n >= RELEASE_MAX)
		return;
	memcpy(v->id.release, banner + sizeof(start) - 1, (size_t)n);
	v->id.release[n] = '\0';
}

static int open_symtab(struct vmlinux *v)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(v->elf, scn))) {
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_SYMTAB)
			continue;
		v->symtab = elf_getdata(scn, NULL);
		if (!v->symtab || v->symtab->d_size / sizeof(Elf64_Sym) > INT32_MAX)
			return -ENOEXEC;
		v->symbols = (uint32_t)(v->symtab->d_size / sizeof(Elf64_Sym));
		v->strings = shdr.sh_link;
		return 0;
	}
	return -ENOEXEC;
}

static int map_file(struct vmlinux *v, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(Elf64_Ehdr))
		err = -ENOEXEC;
	if (!err) {
		v->map_size = (size_t)st.st_size;
		v->map = mmap(NULL, v->map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
		if (v->map == MAP_FAILED)
			err = -errno;
	}
	close(fd);
	return err;
}

int vmlinux_open(const char *path, struct vmlinux **result, char *why, size_t why_size)
{
	struct vmlinux *v = calloc(1, sizeof(*v));
	GElf_Ehdr ehdr;
	int err;

	if (!v) {
		snprintf(why, why_size, "out of memory");
		return -ENOMEM;
	}
	err = map_file(v, path);
	if (err) {
		snprintf(why, why_size, "%s: %s", path, strerror(-err));
		free(v);
		return err;
	}
	elf_version(EV_CURRENT);
	v->elf = elf_memory(v->map, v->map_size);
	err = -ENOEXEC;
	if (!v->elf || !gelf_getehdr(v->elf, &ehdr) || gelf_getclass(v->elf) != ELFCLASS64 ||
	    ehdr.e_ident[EI_DATA] != ELFDATA2LSB ||
	    (ehdr.e_machine != EM_X86_64 && ehdr.e_machine != EM_AARCH64)) {
		snprintf(why, why_size, "%s: not an ELF file for x86-64 or arm64", path);
		goto fail;
	}
	v->arch = ehdr.e_machine == EM_X86_64 ? CODE_X86_64 : CODE_ARM64;
	err = open_symtab(v);
	if (err) {
		snprintf(why, why_size, "%s: it has no symbol table", path);
		goto fail;
	}
	err = index_text(v);
	if (err) {
		snprintf(why, why_size, "%s: out of memory", path);
		goto fail;
	}
	identify(v);
	*result = v;
	return 0;
fail:
	vmlinux_close(v);
	return err;
}

void vmlinux_close(struct vmlinux *vmlinux)
{
	if (!vmlinux)
		return;
	free(vmlinux->text);
	elf_end(vmlinux->elf);
	munmap(vmlinux->map, vmlinux->map_size);
	free(vmlinux);
}

struct code_image vmlinux_image(struct vmlinux *vmlinux)
{
	return (struct code_image){
		.arch = vmlinux->arch,
		.read = read_memory,
		.symbol_at = symbol_at,
		.symbol = symbol_by_name,
		.context = vmlinux,
	};
}

const struct kernel_id *vmlinux_id(const struct vmlinux *vmlinux)
{
	return &vmlinux->id;
}

/* --- debug info --------------------------------------------------------------------------------
 */

static Elf_Scn *section_by_name(struct vmlinux *v, const char *name, Elf_Data **data)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(v->elf, &names))
		return NULL;
	while ((scn = elf_nextscn(v->elf, scn))) {
		GElf_Shdr shdr;
		const char *other;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_flags & SHF_COMPRESSED)
			continue;
		other = elf_strptr(v->elf, names, shdr.sh_name);
		if (other && !strcmp(other, name)) {
			*data = elf_rawdata(scn, NULL);
			return *data && (*data)->d_buf ? scn : NULL;
		}
	}
	return NULL;
}

static uint32_t get32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static uint64_t get64(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* Where in .debug_info the unit with the code at address starts, by .debug_aranges: sets of
 * length, version, unit, sizes, and pairs of address and length up to a pair of zeros. */
static int find_unit(const uint8_t *aranges, size_t size, uint64_t address, uint64_t *unit)
{
	size_t at = 0;

	while (size - at >= 12) {
		size_t length = get32(aranges + at), pair = at + 16, end;

		if (length > size - at - 4 || length < 8)
			return -EBADMSG;
		end = at + 4 + length;
		if (aranges[at + 4] == 2 && aranges[at + 10] == 8 && !aranges[at + 11])
			for (; pair + 16 <= end; pair += 16)
				if (address - get64(aranges + pair) < get64(aranges + pair + 8)) {
					*unit = get32(aranges + at + 6);
					return 0;
				}
		at = end;
	}
	return -ENOENT;
}

void *vmlinux_narrow(struct vmlinux *vmlinux, uint64_t address)
{
	Elf_Data *aranges, *info;
	Elf_Scn *scn = section_by_name(vmlinux, ".debug_info", &info);
	uint64_t unit, length;
	Elf64_Ehdr ehdr;
	Elf64_Shdr shdr;
	size_t at;

	if (!scn || !section_by_name(vmlinux, ".debug_aranges", &aranges) ||
	    find_unit(aranges->d_buf, aranges->d_size, address, &unit) || unit > info->d_size ||
	    info->d_size - unit < 4)
		return NULL;
	length = 4 + (uint64_t)get32((const uint8_t *)info->d_buf + unit);
	memcpy(&ehdr, vmlinux->map, sizeof(ehdr));
	at = ehdr.e_shoff + elf_ndxscn(scn) * sizeof(shdr);
	if (length > info->d_size - unit || ehdr.e_shentsize != sizeof(shdr) ||
	    at > vmlinux->map_size || vmlinux->map_size - at < sizeof(shdr))
		return NULL;
	memcpy(&shdr, (char *)vmlinux->map + at, sizeof(shdr));
	shdr.sh_offset += unit;
	shdr.sh_size = length;
	memcpy((char *)vmlinux->map + at, &shdr, sizeof(shdr));
	return elf_memory(vmlinux->map, vmlinux->map_size);
}
