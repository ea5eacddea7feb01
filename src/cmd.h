/* SPDX-License-Identifier: GPL-2.0-only */
/* The commands, each in a file of its own (cmd_*.c), and what they all share. */
#ifndef KSMTRACE_CMD_H
#define KSMTRACE_CMD_H

/* Exit statuses: a contract with scripts, see docs. */
enum exit_status {
	EXIT_MEASURED = 0,
	EXIT_FAILED = 1, /* failed while running */
	EXIT_USAGE = 2,
	EXIT_CANNOT_TRACE = 3, /* privileges, kernel without BPF or KSM, lockdown */
	EXIT_NO_SCAN = 4, /* ended without seeing one scan */
};

/* Each returns an exit status. argv[0] is the command word (or the program's name). */
int cmd_trace(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_hooks(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_workload(int argc, char **argv);

#endif
