// SPDX-License-Identifier: GPL-2.0-only
/* KSM's directory in sysfs, reading it; see ksm.h. Changing it is in ksm_set.c. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ksm_private.h"
#include "log.h"
#include "parse.h"

#define LOCK_PATH "/run/ksmtrace-ksm.lock"

int ksm_open(const char *root, struct ksm **ksm)
{
	char lock[PATH_MAX];
	struct ksm *new;
	struct stat st;
	int err;

	if (stat(root ? root : KSM_ROOT, &st))
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOENT;
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	new->root = strdup(root ? root : KSM_ROOT);
	new->journal = mmap(NULL, sizeof(*new->journal), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!new->root || new->journal == MAP_FAILED) {
		if (new->journal != MAP_FAILED)
			munmap(new->journal, sizeof(*new->journal));
		free(new->root);
		free(new);
		return -ENOMEM;
	}
	snprintf(lock, sizeof(lock), "%s%s", root ? root : LOCK_PATH, root ? ".lock" : "");
	err = lease_open(lock, &new->lease);
	if (err)
		log_debug("%s: %s; other runs of this tool are not looked at", lock,
			  strerror(-err));
	*ksm = new;
	return 0;
}

void ksm_close(struct ksm *ksm)
{
	if (!ksm)
		return;
	lease_close(ksm->lease);
	munmap(ksm->journal, sizeof(*ksm->journal));
	free(ksm->root);
	free(ksm);
}

int ksm_fd(const struct ksm *ksm)
{
	return ksm->lease ? lease_fd(ksm->lease) : -1;
}

int ksm_path(const struct ksm *ksm, const char *name, char *path)
{
	if (!*name || *name == '.' || strchr(name, '/') || strlen(name) >= KSM_TEXT_MAX)
		return -EINVAL;
	return snprintf(path, PATH_MAX, "%s/%s", ksm->root, name) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int ksm_kind_of(const struct ksm *ksm, const char *name, enum ksm_kind *kind)
{
	char path[PATH_MAX];
	struct stat st;
	int err = ksm_path(ksm, name, path);

	if (err)
		return err;
	if (stat(path, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOENT;
	/* The mode, not access(): root may open everything for writing. */
	*kind = st.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH) ? KSM_SETTINGS : KSM_STATISTICS;
	return 0;
}

bool ksm_has(const struct ksm *ksm, const char *name)
{
	enum ksm_kind kind;

	return !ksm_kind_of(ksm, name, &kind);
}

int ksm_read_raw(const struct ksm *ksm, const char *name, char *text, size_t size)
{
	char path[PATH_MAX];
	int err = ksm_path(ksm, name, path);
	ssize_t n;
	int fd;

	if (err)
		return err;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, size);
	err = n < 0 ? -errno : (size_t)n == size ? -EOVERFLOW : 0;
	close(fd);
	if (err)
		return err;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return 0;
}

int ksm_read_text(const struct ksm *ksm, const char *name, char *text, size_t size)
{
	char raw[KSM_RAW_MAX], *chosen = raw, *end;
	int err = ksm_read_raw(ksm, name, raw, sizeof(raw));

	if (err)
		return err;
	if (strchr(raw, '[')) {
		chosen = strchr(raw, '[') + 1;
		end = strchr(chosen, ']');
		if (end)
			*end = '\0';
	}
	if (strlen(chosen) >= size)
		return -EOVERFLOW;
	memcpy(text, chosen, strlen(chosen) + 1);
	return 0;
}

int ksm_read_u64(const struct ksm *ksm, const char *name, uint64_t *value)
{
	char text[KSM_TEXT_MAX];
	int err = ksm_read_text(ksm, name, text, sizeof(text));

	return err ? err : parse_u64(text, 0, UINT64_MAX, value);
}

int ksm_read_s64(const struct ksm *ksm, const char *name, int64_t *value)
{
	char text[KSM_TEXT_MAX];
	uint64_t magnitude;
	int err = ksm_read_text(ksm, name, text, sizeof(text));

	if (err)
		return err;
	if (text[0] != '-') {
		err = parse_u64(text, 0, INT64_MAX, &magnitude);
		if (!err)
			*value = (int64_t)magnitude;
		return err;
	}
	err = parse_u64(text + 1, 0, (uint64_t)INT64_MAX + 1, &magnitude);
	if (!err)
		*value = (int64_t)(0 - magnitude);
	return err;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct ksm_value *)a)->name, ((const struct ksm_value *)b)->name);
}

int ksm_list(const struct ksm *ksm, enum ksm_kind kind, struct ksm_value **values, size_t *count)
{
	struct ksm_value *list = NULL, *grown;
	struct dirent *entry;
	enum ksm_kind found;
	size_t n = 0;
	DIR *dir;

	dir = opendir(ksm->root);
	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		if (ksm_kind_of(ksm, entry->d_name, &found) || found != kind)
			continue;
		grown = realloc(list, (n + 1) * sizeof(*list));
		if (!grown) {
			free(list);
			closedir(dir);
			return -ENOMEM;
		}
		list = grown;
		strcpy(list[n].name, entry->d_name);
		if (!ksm_read_text(ksm, entry->d_name, list[n].text, sizeof(list[n].text)))
			n++;
	}
	closedir(dir);
	if (n)
		qsort(list, n, sizeof(*list), by_name);
	*values = list;
	*count = n;
	return 0;
}
