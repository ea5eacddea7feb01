// SPDX-License-Identifier: GPL-2.0-only
/* ksmtrace plan: finds the sites of inlined functions once and saves them for every machine
 * that runs the same kernel. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd.h"
#include "log.h"
#include "options.h"
#include "plan.h"
#if WITH_DEBUGINFO
#include "debuginfo.h"
#include "machine_code.h"
#endif

struct arguments {
	const char *vmlinux, *output;
	bool compare;
};

enum { KEY_VMLINUX = 300, KEY_COMPARE };

static const struct argp_option option_list[] = {
	{ "vmlinux", KEY_VMLINUX, "FILE", 0,
	  "Kernel file with debug info (default: this kernel's, where distributions put it)", 0 },
	{ "output", 'o', "FILE", 0,
	  "Where to write the plan; in a directory it is named after the build-id (default: "
	  "standard output)",
	  0 },
	{ "compare", KEY_COMPARE, NULL, 0,
	  "Write no plan; show what debug info and machine code say, and exit with 1 where they "
	  "differ",
	  0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_VMLINUX:
		a->vmlinux = arg;
		return 0;
	case 'o':
		a->output = arg;
		return 0;
	case KEY_COMPARE:
		a->compare = true;
		return 0;
	case ARGP_KEY_ARG:
		options_unexpected_argument(state, arg);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

#if WITH_DEBUGINFO

#define WHY_MAX	  512
#define CONTAINER "ksm_scan_thread"

/* What the two ways of finding sites say about one function. */
struct finding {
	int debuginfo_err, code_err;
	struct fn_sites debuginfo, code;
	char debuginfo_why[WHY_MAX], code_why[WHY_MAX];
};

static void find(struct debuginfo *info, const struct code *code, enum ksmtrace_function fn,
		 struct finding *f)
{
	f->debuginfo_err = debuginfo_sites(info, fn, &f->debuginfo, f->debuginfo_why,
					   sizeof(f->debuginfo_why));
	if (code)
		f->code_err =
			machine_code_sites(code, fn, &f->code, f->code_why, sizeof(f->code_why));
	else
		f->code_err = -ENOENT;
}

static bool same_sites(const struct fn_sites *a, const struct fn_sites *b)
{
	return a->entries == b->entries && a->exits == b->exits &&
	       !memcmp(a->entry, b->entry, a->entries * sizeof(a->entry[0])) &&
	       !memcmp(a->exit, b->exit, a->exits * sizeof(a->exit[0]));
}

static void print_sites(const struct fn_sites *sites, int err, const char *why)
{
	unsigned int i;

	if (err) {
		printf(" - (%s)\n", why);
		return;
	}
	for (i = 0; i < sites->entries; i++)
		printf(" %s+0x%x", sites->entry[i].symbol, sites->entry[i].offset);
	printf(" to");
	for (i = 0; i < sites->exits; i++)
		printf(" %s+0x%x", sites->exit[i].symbol, sites->exit[i].offset);
	putchar('\n');
}

/* Returns how many functions have different sites (one way alone is no difference), or 1 when
 * that cannot be written. */
static unsigned int compare(struct debuginfo *info, const struct code *code)
{
	unsigned int different = 0;
	int fn;

	printf("kernel %s\n", debuginfo_kernel(info)->release);
	for (fn = 0; fn < FN_COUNT; fn++) {
		struct finding f = { 0 };
		bool both;

		find(info, code, (enum ksmtrace_function)fn, &f);
		both = !f.debuginfo_err && !f.code_err;
		if (both && !same_sites(&f.debuginfo, &f.code))
			different++;
		printf("%s: %s\n", function_name((enum ksmtrace_function)fn),
		       !both				   ? "nothing to compare"
		       : same_sites(&f.debuginfo, &f.code) ? "same"
							   : "different");
		printf("  debug info  ");
		print_sites(&f.debuginfo, f.debuginfo_err, f.debuginfo_why);
		printf("  machine code");
		print_sites(&f.code, f.code_err, f.code_why);
	}
	if (!fflush(stdout) && !ferror(stdout))
		return different;
	log_error("cannot write to standard output: %s", strerror(errno));
	return 1;
}

static int make_plan(struct debuginfo *info, const struct code *code, struct plan *plan)
{
	unsigned int known = 0;
	int fn;

	memset(plan, 0, sizeof(*plan));
	plan->kernel = *debuginfo_kernel(info);
	if (!plan->kernel.build_id_size) {
		log_error("%s has no build-id, without which a plan cannot be found again",
			  debuginfo_path(info));
		return -ENODATA;
	}
	for (fn = 0; fn < FN_COUNT; fn++) {
		const char *name = function_name((enum ksmtrace_function)fn);
		struct finding f = { 0 };

		find(info, code, (enum ksmtrace_function)fn, &f);
		if (f.debuginfo_err == -ENOENT) {
			log_debug("%s", f.debuginfo_why);
			continue;
		}
		if (f.debuginfo_err) {
			log_warn("%s is left out: %s", name, f.debuginfo_why);
			continue;
		}
		if (!f.code_err && !same_sites(&f.debuginfo, &f.code))
			log_warn("%s: the machine code suggests other sites than debug info; see "
				 "--compare",
				 name);
		plan->fn[fn] = f.debuginfo;
		plan->fn[fn].source = SITE_PLAN;
		known++;
	}
	if (known)
		return 0;
	log_error("%s: no function is inlined into the code that ksmd runs: no plan is needed",
		  debuginfo_path(info));
	return -ENOENT;
}

static int write_plan(const struct plan *plan, const char *output)
{
	char hex[2 * BUILD_ID_MAX + 1], path[PATH_MAX];
	const char *slash;
	struct stat st;
	int err;

	if (!stat(output, &st) && S_ISDIR(st.st_mode)) {
		kernel_id_hex(&plan->kernel, hex);
		slash = output[strlen(output) - 1] == '/' ? "" : "/";
		if (snprintf(path, sizeof(path), "%s%s%s.plan", output, slash, hex) >=
		    (int)sizeof(path)) {
			log_error("%s: %s", output, strerror(ENAMETOOLONG));
			return -ENAMETOOLONG;
		}
		output = path;
	}
	err = plan_save(plan, output);
	if (!err && strcmp(output, "-"))
		log_info("plan for %s written to %s", plan->kernel.release, output);
	return err;
}

static int run(const struct arguments *a)
{
	struct kernel_id kernel;
	struct debuginfo *info;
	struct code *code = NULL;
	struct code_image image;
	struct plan plan;
	char why[WHY_MAX];
	int status = EXIT_FAILED;

	if (!a->vmlinux && kernel_id_running(&kernel)) {
		log_error("this kernel does not tell its build-id (/sys/kernel/notes): name its "
			  "file with --vmlinux");
		return EXIT_FAILED;
	}
	if (debuginfo_open(a->vmlinux, a->vmlinux ? NULL : &kernel, &info, why, sizeof(why))) {
		log_error("%s", why);
		return EXIT_FAILED;
	}
	image = debuginfo_image(info);
	if (code_load(&image, CONTAINER, &code, why, sizeof(why)))
		log_debug("%s", why);
	if (a->compare)
		status = compare(info, code) ? EXIT_FAILED : EXIT_MEASURED;
	else if (!make_plan(info, code, &plan) && !write_plan(&plan, a->output))
		status = EXIT_MEASURED;
	code_free(code);
	debuginfo_close(info);
	return status;
}

#else

static int run(const struct arguments *a)
{
	(void)a;
	log_error("this program was built without the libraries that find inlined functions "
		  "(WITH_DEBUGINFO=0)");
	return EXIT_FAILED;
}

#endif

int cmd_plan(int argc, char **argv)
{
	const struct argp argp = {
		.options = option_list,
		.parser = parse,
		.doc = "Finds where inlined functions begin and end, from a kernel's debug info, "
		       "and "
		       "saves it. The plan serves every machine that runs the very same kernel and "
		       "is found there in /etc/ksmtrace/plans."
		       "\vExamples:\n"
		       "  ksmtrace plan -o /etc/ksmtrace/plans/\n"
		       "  ksmtrace plan --vmlinux /usr/lib/debug/boot/vmlinux-$(uname -r) "
		       "-o host.plan",
		.children = options_common_children,
	};
	struct arguments a = { .output = "-" };

	options_parse(&argp, "ksmtrace plan", argc, argv, &a);
	return run(&a);
}
