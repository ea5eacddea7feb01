// SPDX-License-Identifier: GPL-2.0-only
/* ksmtrace: what KSM costs on a live kernel. The command word, and nothing else. */
#include <stddef.h>
#include <string.h>

#include "cmd.h"

int main(int argc, char **argv)
{
	static const struct {
		const char *word;
		int (*run)(int argc, char **argv);
	} commands[] = {
		{ "compare", cmd_compare },
		{ "hooks", cmd_hooks },
		{ "plan", cmd_plan },
		{ "workload", cmd_workload },
	};
	size_t i;

	for (i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(argv[1], commands[i].word))
			return commands[i].run(argc - 1, argv + 1);
	return cmd_trace(argc, argv);
}
