// SPDX-License-Identifier: GPL-2.0-only
/* Shared changes of system-wide values; see lease.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lease.h"

/*
 * The file is a table of slots. Open-file-description locks on single bytes say who is alive:
 * they belong to the open file, so a forked process shares them, and the kernel ends them
 * with its last descriptor. Byte 0 serializes all changes of the table; byte 1 + i is held
 * shared by every run that takes part in slot i. What a killed run has left in a slot counts
 * for nothing: the next run that takes the name finds no holder and writes it anew.
 */
#define SLOTS	     64
#define LOCK_WAIT_MS 500
#define LOCK_STEP_MS 5

struct slot {
	char name[LEASE_TEXT_MAX];
	char original[LEASE_TEXT_MAX];
};

struct lease {
	int fd;
};

int lease_open(const char *path, struct lease **lease)
{
	struct lease *new = malloc(sizeof(*new));

	if (!new)
		return -ENOMEM;
	new->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (new->fd < 0) {
		int err = -errno;

		free(new);
		return err;
	}
	*lease = new;
	return 0;
}

void lease_close(struct lease *lease)
{
	if (!lease)
		return;
	close(lease->fd);
	free(lease);
}

int lease_fd(const struct lease *lease)
{
	return lease->fd;
}

static int lock_byte(struct lease *lease, off_t byte, short type)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };

	return fcntl(lease->fd, F_OFD_SETLK, &lock) ? -errno : 0;
}

/* 1 when another open of the file holds the byte, 0 when none does. */
static int held_by_others(struct lease *lease, off_t byte)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte,
			      .l_len = 1 };

	if (fcntl(lease->fd, F_OFD_GETLK, &lock))
		return -errno;
	return lock.l_type != F_UNLCK;
}

int lease_lock(struct lease *lease)
{
	const struct timespec step = { .tv_nsec = LOCK_STEP_MS * 1000000L };
	int waited, err;

	for (waited = 0; waited < LOCK_WAIT_MS; waited += LOCK_STEP_MS) {
		err = lock_byte(lease, 0, F_WRLCK);
		if (err != -EAGAIN && err != -EACCES)
			return err;
		nanosleep(&step, NULL);
	}
	return -ETIMEDOUT;
}

void lease_unlock(struct lease *lease)
{
	lock_byte(lease, 0, F_UNLCK);
}

/* Reads slot i; one beyond the end of the file or cut short is empty. */
static int read_slot(struct lease *lease, int i, struct slot *slot)
{
	ssize_t n = pread(lease->fd, slot, sizeof(*slot), (off_t)sizeof(*slot) * i);

	if (n < 0)
		return -errno;
	if (n < (ssize_t)sizeof(*slot))
		memset(slot, 0, sizeof(*slot));
	slot->name[LEASE_TEXT_MAX - 1] = '\0';
	slot->original[LEASE_TEXT_MAX - 1] = '\0';
	return 0;
}

static int write_slot(struct lease *lease, int i, const struct slot *slot)
{
	ssize_t n = pwrite(lease->fd, slot, sizeof(*slot), (off_t)sizeof(*slot) * i);

	if (n < 0)
		return -errno;
	return n == (ssize_t)sizeof(*slot) ? 0 : -EIO;
}

/* The slot of name, or -ENOENT. *free_slot (may be NULL) is one without a name, or -1. */
static int find_slot(struct lease *lease, const char *name, struct slot *slot, int *free_slot)
{
	int i, err;

	if (free_slot)
		*free_slot = -1;
	for (i = 0; i < SLOTS; i++) {
		err = read_slot(lease, i, slot);
		if (err)
			return err;
		if (!strcmp(slot->name, name))
			return i;
		if (free_slot && *free_slot < 0 && !slot->name[0])
			*free_slot = i;
	}
	return -ENOENT;
}

int lease_take(struct lease *lease, const char *name, const char *found, char *original)
{
	struct slot slot;
	int i, others = 0, spare, err;

	if (strlen(name) >= LEASE_TEXT_MAX || strlen(found) >= LEASE_TEXT_MAX)
		return -ENAMETOOLONG;
	i = find_slot(lease, name, &slot, &spare);
	if (i < 0 && i != -ENOENT)
		return i;
	if (i < 0)
		i = spare;
	else
		others = held_by_others(lease, 1 + i);
	if (i < 0)
		return -ENOSPC;
	if (others < 0)
		return others;
	if (!others) {
		memset(&slot, 0, sizeof(slot));
		strcpy(slot.name, name);
		strcpy(slot.original, found);
		err = write_slot(lease, i, &slot);
		if (err)
			return err;
	}
	err = lock_byte(lease, 1 + i, F_RDLCK);
	if (err)
		return err;
	strcpy(original, slot.original);
	return others;
}

int lease_drop(struct lease *lease, const char *name)
{
	struct slot slot;
	int i = find_slot(lease, name, &slot, NULL);
	int others;

	if (i == -ENOENT)
		return 0;
	if (i < 0)
		return i;
	others = held_by_others(lease, 1 + i);
	lock_byte(lease, 1 + i, F_UNLCK);
	if (others)
		return others;
	memset(&slot, 0, sizeof(slot));
	return write_slot(lease, i, &slot);
}
