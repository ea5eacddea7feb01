// SPDX-License-Identifier: GPL-2.0-only
/* Closing inherited descriptors; see descriptors.h. */
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "descriptors.h"

/* By the list in /proc: close_range() is younger than the oldest kernels to run on. */
void descriptors_close_others(const int *keep, size_t count)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	size_t i;
	int fd;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		fd = atoi(entry->d_name);
		for (i = 0; i < count && keep[i] != fd; i++)
			;
		if (i == count && fd != dirfd(dir))
			close(fd);
	}
	closedir(dir);
}
