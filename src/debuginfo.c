// SPDX-License-Identifier: GPL-2.0-only
/* Inlined copies from DWARF, reading one compile unit of the kernel's; see debuginfo.h. */
#include <dwarf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include "debuginfo.h"
#include "inlined.h"
#include "log.h"
#include "kernel_file.h"

#define DEPTH_MAX  64		     /* of nested blocks */
#define RANGES_MAX 4096		     /* of one copy; 81 is the most seen */
#define ORIGIN	   "ksm_scan_thread" /* a function of mm/ksm.c that is never inlined */

struct debuginfo {
	char *path;
	struct kernel_file *file;
	struct code_image image;
	Elf *elf; /* narrowed to the unit of mm/ksm.c, or the whole file */
	bool narrow;
	int fd; /* of the whole file */
	Dwarf *dwarf;
};

/* A search for one function's copies. */
struct search {
	struct debuginfo *info;
	const char *function;
	struct code *code; /* of the function that is searched */
	struct fn_sites *sites;
	unsigned int copies;
	bool out_of_line; /* a copy of its own was seen, too */
	char *why;
	size_t why_size;
};

static int __attribute__((format(printf, 4, 5)))
fail(char *why, size_t why_size, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, why_size, format, args);
	va_end(args);
	return err;
}

/* --- opening -----------------------------------------------------------------------------------
 */

static void close_dwarf(struct debuginfo *info)
{
	dwarf_end(info->dwarf);
	elf_end(info->elf);
	if (info->fd >= 0)
		close(info->fd);
	info->dwarf = NULL;
	info->elf = NULL;
	info->fd = -1;
}

/* The way that always works, and costs most: libdw looks at all units. */
static int open_wide(struct debuginfo *info)
{
	info->narrow = false;
	info->fd = open(info->path, O_RDONLY | O_CLOEXEC);
	if (info->fd >= 0)
		info->elf = elf_begin(info->fd, ELF_C_READ_MMAP, NULL);
	if (info->elf)
		info->dwarf = dwarf_begin_elf(info->elf, DWARF_C_READ, NULL);
	if (info->dwarf)
		return 0;
	close_dwarf(info);
	return -ENODATA;
}

static int open_narrow(struct debuginfo *info)
{
	uint64_t start, size;

	if (info->image.symbol(info->image.context, ORIGIN, &start, &size))
		return -ENOENT;
	info->elf = kernel_file_narrow(info->file, start);
	if (info->elf)
		info->dwarf = dwarf_begin_elf(info->elf, DWARF_C_READ, NULL);
	info->narrow = info->dwarf != NULL;
	if (info->narrow)
		return 0;
	close_dwarf(info);
	return -ENOENT;
}

void debuginfo_close(struct debuginfo *debuginfo)
{
	if (!debuginfo)
		return;
	close_dwarf(debuginfo);
	kernel_file_close(debuginfo->file);
	free(debuginfo->path);
	free(debuginfo);
}

const char *debuginfo_path(const struct debuginfo *debuginfo)
{
	return debuginfo->path;
}

const struct kernel_id *debuginfo_kernel(const struct debuginfo *debuginfo)
{
	return kernel_file_id(debuginfo->file);
}

struct code_image debuginfo_image(struct debuginfo *debuginfo)
{
	return kernel_file_image(debuginfo->file);
}

static int check_kernel(const struct debuginfo *info, const struct kernel_id *kernel, char *why,
			size_t why_size)
{
	const struct kernel_id *own = debuginfo_kernel(info);
	char have[2 * BUILD_ID_MAX + 1], want[2 * BUILD_ID_MAX + 1];

	if (!kernel || kernel_id_same(own, kernel))
		return 0;
	kernel_id_hex(own, have);
	kernel_id_hex(kernel, want);
	return fail(why, why_size, -ESTALE,
		    "%s is for another kernel: its build-id is %s, this kernel's %s", info->path,
		    *have ? have : "missing", *want ? want : "not known");
}

static int open_file(const char *path, const struct kernel_id *kernel, struct debuginfo **result,
		     char *why, size_t why_size)
{
	struct debuginfo *info = calloc(1, sizeof(*info));
	int err = -ENOMEM;

	if (info) {
		info->fd = -1;
		info->path = strdup(path);
	}
	if (!info || !info->path) {
		free(info);
		return fail(why, why_size, err, "out of memory");
	}
	err = kernel_file_open(path, &info->file, why, why_size);
	if (!err)
		err = check_kernel(info, kernel, why, why_size);
	if (!err) {
		info->image = kernel_file_image(info->file);
		if (open_narrow(info) && open_wide(info))
			err = fail(why, why_size, -ENODATA, "%s has no debug info", path);
	}
	if (err) {
		debuginfo_close(info);
		return err;
	}
	*result = info;
	return 0;
}

/* Asks debuginfod, through libdwfl, which knows how. The answer lands in the user's cache. */
static int open_debuginfod(const struct kernel_id *kernel, struct debuginfo **result, char *why,
			   size_t why_size)
{
	static const Dwfl_Callbacks callbacks = { .find_debuginfo = dwfl_standard_find_debuginfo };
	char *found = NULL, link[32], path[PATH_MAX];
	void *userdata = NULL;
	Dwfl_Module *module;
	ssize_t n;
	int fd = -1;
	Dwfl *dwfl;

	if (!getenv("DEBUGINFOD_URLS") || !*getenv("DEBUGINFOD_URLS") || !kernel->build_id_size)
		return -ENOENT;
	dwfl = dwfl_begin(&callbacks);
	if (!dwfl)
		return -ENOENT;
	log_info("asking debuginfod for the kernel's debug info (some 300 MB)");
	dwfl_report_begin(dwfl);
	module = dwfl_report_module(dwfl, "kernel", 0, 4096);
	if (module && !dwfl_module_report_build_id(module, kernel->build_id,
						   (size_t)kernel->build_id_size, 0))
		fd = dwfl_standard_find_debuginfo(module, &userdata, "kernel", 0, NULL, NULL, 0,
						  &found);
	dwfl_report_end(dwfl, NULL, NULL);
	dwfl_end(dwfl);
	free(found);
	if (fd < 0)
		return -ENOENT;
	/* The file may be opened again later, so its own name is needed. */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	close(fd);
	if (n < 0)
		return -errno;
	path[n] = '\0';
	return open_file(path, kernel, result, why, why_size);
}

static int search_files(const struct kernel_id *kernel, struct debuginfo **result, char *why,
			size_t why_size)
{
	static const char *const places[] = {
		"/usr/lib/debug/boot/vmlinux-%s",
		"/usr/lib/debug/lib/modules/%s/vmlinux",
		"/usr/lib/debug/usr/lib/modules/%s/vmlinux",
		"/usr/lib/debug/boot/vmlinux-%s.debug",
		"/usr/lib/debug/lib/modules/%s/vmlinux.debug",
		"/lib/modules/%s/build/vmlinux",
		"/lib/modules/%s/vmlinux",
		"/boot/vmlinux-%s",
	};
	char path[256], id[2 * BUILD_ID_MAX + 1], reason[512];
	int err = -ENOENT, last;
	size_t i;

	snprintf(why, why_size,
		 "there is no debug info for this kernel: Debian has it in "
		 "linux-image-%s-dbg, others in a debuginfo package",
		 kernel->release);
	for (i = 0; i < sizeof(places) / sizeof(places[0]) + 2; i++) {
		if (i < sizeof(places) / sizeof(places[0])) {
			snprintf(path, sizeof(path), places[i], kernel->release);
		} else if (i == sizeof(places) / sizeof(places[0])) {
			kernel_id_hex(kernel, id);
			snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", id,
				 *id ? id + 2 : id);
		} else {
			strcpy(path, "vmlinux");
		}
		last = open_file(path, kernel, result, reason, sizeof(reason));
		if (!last)
			return 0;
		/* One that is there but will not do is worth a word. */
		if (last != -ENOENT && last != -ENOTDIR && err == -ENOENT) {
			err = last;
			snprintf(why, why_size, "%s", reason);
		}
	}
	return err;
}

int debuginfo_open(const char *path, const struct kernel_id *kernel, struct debuginfo **result,
		   char *why, size_t why_size)
{
	char reason[512];
	int err;

	if (path)
		return open_file(path, kernel, result, why, why_size);
	err = search_files(kernel, result, why, why_size);
	if (err && !open_debuginfod(kernel, result, reason, sizeof(reason)))
		err = 0;
	return err;
}

/* --- copies ------------------------------------------------------------------------------------
 */

/* The name that a DIE has, if need be by the chain of its abstract origins. */
static const char *origin_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;

	return dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attr));
}

static int collect_ranges(struct search *s, Dwarf_Die *die, struct range **result, size_t *count)
{
	struct range *ranges = NULL;
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;
	size_t n = 0, room = 0;

	while ((offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
		if (start == end)
			continue;
		if (n == RANGES_MAX || start > end) {
			free(ranges);
			return fail(s->why, s->why_size, -EBADMSG, "%s: damaged address ranges",
				    s->info->path);
		}
		if (n == room) {
			struct range *more;

			room = room ? 2 * room : 64;
			more = realloc(ranges, room * sizeof(*ranges));
			if (!more) {
				free(ranges);
				return fail(s->why, s->why_size, -ENOMEM, "out of memory");
			}
			ranges = more;
		}
		ranges[n++] = (struct range){ start, end };
	}
	if (offset < 0) {
		free(ranges);
		return fail(s->why, s->why_size, -EBADMSG, "%s: %s", s->info->path,
			    dwarf_errmsg(-1));
	}
	*result = ranges;
	*count = n;
	return 0;
}

/* DW_AT_entry_pc is an address or, since DWARF 5, a distance from the lowest one; a copy that
 * lies in one piece is entered at its start. -ENOENT: it does not say. */
static int entry_address(Dwarf_Die *die, const struct range *ranges, size_t count, uint64_t *entry)
{
	Dwarf_Attribute attr;
	Dwarf_Word distance;
	Dwarf_Addr low;

	if (!dwarf_attr(die, DW_AT_entry_pc, &attr)) {
		*entry = ranges[0].start;
		return count == 1 ? 0 : -ENOENT;
	}
	if (!dwarf_formaddr(&attr, entry))
		return 0;
	if (dwarf_formudata(&attr, &distance))
		return -EBADMSG;
	*entry = (dwarf_lowpc(die, &low) ? ranges[0].start : low) + distance;
	return 0;
}

/* Loads the code of the function that address is in, in which its .cold part is included. */
static int load_code_at(struct search *s, uint64_t address)
{
	const struct code_image *image = &s->info->image;
	char function[SITE_SYMBOL_MAX];
	uint64_t start, size;
	const char *symbol = image->symbol_at(image->context, address, &start, &size), *cold;

	if (!symbol)
		return fail(s->why, s->why_size, -EBADMSG, "%s: %s is inlined outside all code",
			    s->info->path, s->function);
	cold = strstr(symbol, ".cold");
	snprintf(function, sizeof(function), "%.*s",
		 cold ? (int)(cold - symbol) : (int)strlen(symbol), symbol);
	if (s->code && !strcmp(s->code->chunk[0].symbol, function))
		return 0;
	code_free(s->code);
	s->code = NULL;
	return code_load(image, function, &s->code, s->why, s->why_size);
}

static int add_copy(struct search *s, Dwarf_Die *die)
{
	struct range *ranges = NULL;
	size_t count = 0;
	uint64_t entry;
	int err, known;

	err = collect_ranges(s, die, &ranges, &count);
	if (err || !count)
		return err; /* without ranges it was optimized away */
	ranges_sort(ranges, count);
	known = entry_address(die, ranges, count, &entry);
	if (known)
		entry = ranges[0].start;
	if (kernel_file_is_init(s->info->file, entry))
		goto out;
	err = load_code_at(s, entry);
	if (err)
		goto out;
	if (known == -ENOENT)
		known = inlined_entry(s->code, ranges, count, &entry);
	if (known) {
		err = fail(s->why, s->why_size, known, "%s: where a copy of %s starts is not told",
			   s->info->path, s->function);
		goto out;
	}
	s->copies++;
	err = inlined_sites(s->code, ranges, count, entry, s->sites, s->why, s->why_size);
out:
	free(ranges);
	return err;
}

/* Whether the DIE leans on another unit, which a narrowed file does not have. */
static bool is_foreign(Dwarf_Die *die)
{
	Dwarf_Attribute attr;

	return dwarf_tag(die) == DW_TAG_imported_unit ||
	       (dwarf_attr(die, DW_AT_abstract_origin, &attr) &&
		dwarf_whatform(&attr) == DW_FORM_ref_addr);
}

static int search_children(struct search *s, Dwarf_Die *parent, int depth)
{
	Dwarf_Die die;
	int err = dwarf_child(parent, &die);

	if (err > 0)
		return 0;
	for (; !err; err = dwarf_siblingof(&die, &die)) {
		int tag = dwarf_tag(&die), failed = 0;
		const char *name;

		if (s->info->narrow && is_foreign(&die))
			return -EXDEV;
		if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine &&
		    tag != DW_TAG_lexical_block && tag != DW_TAG_try_block)
			continue;
		name = tag == DW_TAG_lexical_block ? NULL : origin_name(&die);
		if (name && !strcmp(name, s->function)) {
			if (tag == DW_TAG_inlined_subroutine)
				failed = add_copy(s, &die);
			else if (dwarf_hasattr(&die, DW_AT_low_pc) ||
				 dwarf_hasattr(&die, DW_AT_ranges))
				s->out_of_line = true;
		}
		if (!failed && depth < DEPTH_MAX)
			failed = search_children(s, &die, depth + 1);
		if (failed)
			return failed;
	}
	return err > 0 ? 0
		       : fail(s->why, s->why_size, -EBADMSG, "%s: %s", s->info->path,
			      dwarf_errmsg(-1));
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

/* The unit of mm/ksm.c: by the address of one of its functions, or (clang writes no
 * .debug_aranges) by its name, which takes longer. */
static int find_unit(struct debuginfo *info, Dwarf_Die *unit)
{
	uint64_t start, size;
	Dwarf_CU *cu = NULL;

	if (!info->narrow && !info->image.symbol(info->image.context, ORIGIN, &start, &size) &&
	    dwarf_addrdie(info->dwarf, start, unit))
		return 0;
	while (!dwarf_get_units(info->dwarf, cu, &cu, NULL, NULL, unit, NULL)) {
		const char *name = dwarf_diename(unit);

		if (name && ends_with(name, "mm/ksm.c"))
			return 0;
	}
	return -ENODATA;
}

static int search_unit(struct search *s)
{
	Dwarf_Die unit;

	memset(s->sites, 0, sizeof(*s->sites));
	s->copies = 0;
	if (find_unit(s->info, &unit))
		return s->info->narrow ? -EXDEV
				       : fail(s->why, s->why_size, -ENODATA,
					      "%s has no debug info for mm/ksm.c", s->info->path);
	return search_children(s, &unit, 0);
}

int debuginfo_sites(struct debuginfo *debuginfo, enum ksmtrace_function fn, struct fn_sites *sites,
		    char *why, size_t why_size)
{
	struct search s = { .info = debuginfo,
			    .function = function_name(fn),
			    .sites = sites,
			    .why = why,
			    .why_size = why_size };
	int err;

	err = search_unit(&s);
	if (err == -EXDEV) {
		close_dwarf(debuginfo);
		err = open_wide(debuginfo) ? fail(why, why_size, -ENODATA, "%s has no debug info",
						  debuginfo->path)
					   : search_unit(&s);
	}
	code_free(s.code);
	if (!err && !s.copies)
		err = fail(why, why_size, -ENOENT, "no copy of %s is inlined%s", s.function,
			   s.out_of_line ? ": it is out of line" : "");
	if (err)
		memset(sites, 0, sizeof(*sites));
	else
		sites->source = SITE_DEBUGINFO;
	return err;
}
