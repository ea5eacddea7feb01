// SPDX-License-Identifier: GPL-2.0-only
/* ksmtrace: what KSM costs on a live kernel. The command word, and nothing else. */
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"

/* What was started with a standard stream closed would get its number for a file of its own, and
 * messages would end up in a recording. */
static void fill_standard_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

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

	fill_standard_streams();
	for (i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(argv[1], commands[i].word))
			return commands[i].run(argc - 1, argv + 1);
	return cmd_trace(argc, argv);
}
