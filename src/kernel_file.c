// SPDX-License-Identifier: GPL-2.0-only
/* A kernel's ELF file, mapped and read only where needed; see kernel_file.h. */
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

#include "kernel_file.h"

struct text_symbol {
	uint64_t address;
	uint32_t index; /* in .symtab */
	uint32_t rank;	/* among names of one address the lowest is the usual one */
};

struct kernel_file {
	void *map; /* the whole file; written to by nobody but kernel_file_narrow() */
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
static Elf_Scn *section_at(struct kernel_file *f, uint64_t address, GElf_Shdr *shdr)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(f->elf, scn))) {
		/* Per-CPU data and the like are linked to low addresses of their own. */
		if (gelf_getshdr(scn, shdr) && shdr->sh_flags & SHF_ALLOC && shdr->sh_addr &&
		    address - shdr->sh_addr < shdr->sh_size)
			return scn;
	}
	return NULL;
}

static int read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
	struct kernel_file *f = context;
	GElf_Shdr shdr;
	Elf_Scn *scn = section_at(f, address, &shdr);
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

bool kernel_file_is_init(struct kernel_file *file, uint64_t address)
{
	GElf_Shdr shdr;
	size_t names;
	const char *name;

	if (!section_at(file, address, &shdr) || elf_getshdrstrndx(file->elf, &names))
		return false;
	name = elf_strptr(file->elf, names, shdr.sh_name);
	return name && !strncmp(name, ".init", 5);
}

/* --- symbols -----------------------------------------------------------------------------------
 */

static const char *symbol_name(struct kernel_file *f, uint32_t index, GElf_Sym *sym)
{
	if (!gelf_getsym(f->symtab, (int)index, sym))
		return NULL;
	return elf_strptr(f->elf, f->strings, sym->st_name);
}

static const char *symbol_at(void *context, uint64_t address, uint64_t *start, uint64_t *size)
{
	struct kernel_file *f = context;
	uint32_t low = 0, high = f->texts, end;
	GElf_Shdr shdr;
	GElf_Sym sym;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (f->text[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	end = low;
	while (low > 1 && f->text[low - 2].address == f->text[low - 1].address)
		low--;
	*start = f->text[low - 1].address;
	/* Up to the next symbol, as kallsyms has it, but not beyond the section. */
	if (!section_at(f, *start, &shdr))
		return NULL;
	*size = shdr.sh_addr + shdr.sh_size - *start;
	if (end < f->texts && f->text[end].address - *start < *size)
		*size = f->text[end].address - *start;
	return address - *start < *size ? symbol_name(f, f->text[low - 1].index, &sym) : NULL;
}

static int symbol_by_name(void *context, const char *name, uint64_t *start, uint64_t *size)
{
	struct kernel_file *f = context;
	unsigned int found = 0;
	uint32_t i;

	for (i = 0; i < f->symbols; i++) {
		GElf_Sym sym;
		const char *other = symbol_name(f, i, &sym);

		if (!other || strcmp(other, name) || sym.st_shndx == SHN_UNDEF ||
		    GELF_ST_TYPE(sym.st_info) > STT_FUNC)
			continue;
		*start = sym.st_value;
		*size = 0;
		found++;
	}
	if (found == 1) {
		uint64_t at;

		if (symbol_at(f, *start, &at, size) && at != *start)
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
static uint8_t *code_sections(struct kernel_file *f, size_t *count)
{
	Elf_Scn *scn = NULL;
	uint8_t *is_code;

	if (elf_getshdrnum(f->elf, count))
		return NULL;
	is_code = calloc(*count + 1, 1);
	while (is_code && (scn = elf_nextscn(f->elf, scn))) {
		GElf_Shdr shdr;

		if (elf_ndxscn(scn) < *count && gelf_getshdr(scn, &shdr))
			is_code[elf_ndxscn(scn)] =
				shdr.sh_flags & SHF_ALLOC && shdr.sh_flags & SHF_EXECINSTR;
	}
	return is_code;
}

static int index_text(struct kernel_file *f)
{
	size_t sections = 0;
	uint8_t *is_code = code_sections(f, &sections);
	uint32_t i;

	f->text = malloc(((size_t)f->symbols + 1) * sizeof(*f->text));
	if (!is_code || !f->text) {
		free(is_code);
		return -ENOMEM;
	}
	for (i = 0; i < f->symbols; i++) {
		GElf_Sym sym;
		const char *name;
		unsigned int type;

		if (!gelf_getsym(f->symtab, (int)i, &sym))
			continue;
		type = GELF_ST_TYPE(sym.st_info);
		if (sym.st_shndx >= sections || !is_code[sym.st_shndx] ||
		    (type != STT_FUNC && type != STT_NOTYPE))
			continue;
		name = elf_strptr(f->elf, f->strings, sym.st_name);
		/* Not the assembler's own marks. */
		if (!name || !*name || *name == '$' || *name == '.')
			continue;
		f->text[f->texts++] = (struct text_symbol){
			.address = sym.st_value,
			.index = i,
			.rank = (type != STT_FUNC) * 2U + (GELF_ST_BIND(sym.st_info) == STB_LOCAL),
		};
	}
	free(is_code);
	qsort(f->text, f->texts, sizeof(*f->text), by_address);
	return 0;
}

/* --- who it is ---------------------------------------------------------------------------------
 */

static void identify(struct kernel_file *f)
{
	static const char start[] = "Linux version ";
	char banner[sizeof(start) - 1 + RELEASE_MAX];
	uint64_t address, size;
	const void *id;
	ssize_t n;

	strcpy(f->id.machine, f->arch == CODE_X86_64 ? "x86_64" : "aarch64");
	n = dwelf_elf_gnu_build_id(f->elf, &id);
	if (n > 0 && n <= BUILD_ID_MAX) {
		memcpy(f->id.build_id, id, (size_t)n);
		f->id.build_id_size = (unsigned int)n;
	}
	if (symbol_by_name(f, "linux_banner", &address, &size) ||
	    read_memory(f, address, banner, sizeof(banner)) ||
	    memcmp(banner, start, sizeof(start) - 1))
		return;
	banner[sizeof(banner) - 1] = '\0';
	n = (ssize_t)strcspn(banner + sizeof(start) - 1, " \n");
	if (n >= RELEASE_MAX)
		return;
	memcpy(f->id.release, banner + sizeof(start) - 1, (size_t)n);
	f->id.release[n] = '\0';
}

static int open_symtab(struct kernel_file *f)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(f->elf, scn))) {
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_SYMTAB)
			continue;
		f->symtab = elf_getdata(scn, NULL);
		if (!f->symtab || f->symtab->d_size / sizeof(Elf64_Sym) > INT32_MAX)
			return -ENOEXEC;
		f->symbols = (uint32_t)(f->symtab->d_size / sizeof(Elf64_Sym));
		f->strings = shdr.sh_link;
		return 0;
	}
	return -ENOEXEC;
}

static int map_file(struct kernel_file *f, const char *path)
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
		f->map_size = (size_t)st.st_size;
		f->map = mmap(NULL, f->map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
		if (f->map == MAP_FAILED)
			err = -errno;
	}
	close(fd);
	return err;
}

int kernel_file_open(const char *path, struct kernel_file **result, char *why, size_t why_size)
{
	struct kernel_file *f = calloc(1, sizeof(*f));
	GElf_Ehdr ehdr;
	int err;

	if (!f) {
		snprintf(why, why_size, "out of memory");
		return -ENOMEM;
	}
	err = map_file(f, path);
	if (err) {
		snprintf(why, why_size, "%s: %s", path, strerror(-err));
		free(f);
		return err;
	}
	elf_version(EV_CURRENT);
	f->elf = elf_memory(f->map, f->map_size);
	err = -ENOEXEC;
	if (!f->elf || !gelf_getehdr(f->elf, &ehdr) || gelf_getclass(f->elf) != ELFCLASS64 ||
	    ehdr.e_ident[EI_DATA] != ELFDATA2LSB ||
	    (ehdr.e_machine != EM_X86_64 && ehdr.e_machine != EM_AARCH64)) {
		snprintf(why, why_size, "%s: not an ELF file for x86-64 or arm64", path);
		goto fail;
	}
	f->arch = ehdr.e_machine == EM_X86_64 ? CODE_X86_64 : CODE_ARM64;
	err = open_symtab(f);
	if (err) {
		snprintf(why, why_size, "%s: it has no symbol table", path);
		goto fail;
	}
	err = index_text(f);
	if (err) {
		snprintf(why, why_size, "%s: out of memory", path);
		goto fail;
	}
	identify(f);
	*result = f;
	return 0;
fail:
	kernel_file_close(f);
	return err;
}

void kernel_file_close(struct kernel_file *file)
{
	if (!file)
		return;
	free(file->text);
	elf_end(file->elf);
	munmap(file->map, file->map_size);
	free(file);
}

struct code_image kernel_file_image(struct kernel_file *file)
{
	return (struct code_image){
		.arch = file->arch,
		.read = read_memory,
		.symbol_at = symbol_at,
		.symbol = symbol_by_name,
		.context = file,
	};
}

const struct kernel_id *kernel_file_id(const struct kernel_file *file)
{
	return &file->id;
}

/* --- debug info --------------------------------------------------------------------------------
 */

static Elf_Scn *section_by_name(struct kernel_file *f, const char *name, Elf_Data **data)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(f->elf, &names))
		return NULL;
	while ((scn = elf_nextscn(f->elf, scn))) {
		GElf_Shdr shdr;
		const char *other;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_flags & SHF_COMPRESSED)
			continue;
		other = elf_strptr(f->elf, names, shdr.sh_name);
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

void *kernel_file_narrow(struct kernel_file *file, uint64_t address)
{
	Elf_Data *aranges, *info;
	Elf_Scn *scn = section_by_name(file, ".debug_info", &info);
	uint64_t unit, length;
	Elf64_Ehdr ehdr;
	Elf64_Shdr shdr;
	size_t at;

	if (!scn || !section_by_name(file, ".debug_aranges", &aranges) ||
	    find_unit(aranges->d_buf, aranges->d_size, address, &unit) || unit > info->d_size ||
	    info->d_size - unit < 4)
		return NULL;
	length = 4 + (uint64_t)get32((const uint8_t *)info->d_buf + unit);
	memcpy(&ehdr, file->map, sizeof(ehdr));
	at = ehdr.e_shoff + elf_ndxscn(scn) * sizeof(shdr);
	if (length > info->d_size - unit || ehdr.e_shentsize != sizeof(shdr) ||
	    at > file->map_size || file->map_size - at < sizeof(shdr))
		return NULL;
	memcpy(&shdr, (char *)file->map + at, sizeof(shdr));
	shdr.sh_offset += unit;
	shdr.sh_size = length;
	memcpy((char *)file->map + at, &shdr, sizeof(shdr));
	return elf_memory(file->map, file->map_size);
}
