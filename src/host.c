// SPDX-License-Identifier: GPL-2.0-only
/* What the machine says about itself; see host.h. */
#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "host.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF	    39
#endif
#define PF_KTHREAD 0x00200000

/* Up to size - 1 bytes of a file, and a NUL. Returns how many, or a negative errno. */
static ssize_t read_file(const char *root, const char *path, char *buffer, size_t size)
{
	char full[PATH_MAX];
	size_t used = 0;
	ssize_t n = 0;
	int fd, err;

	if (snprintf(full, sizeof(full), "%s%s", root ? root : "", path) >= (int)sizeof(full))
		return -ENAMETOOLONG;
	fd = open(full, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (used < size - 1 && (n = read(fd, buffer + used, size - 1 - used)) > 0)
		used += (size_t)n;
	err = n < 0 ? -errno : 0;
	close(fd);
	if (err)
		return err;
	buffer[used] = '\0';
	return (ssize_t)used;
}

ssize_t host_find_build_id(const void *notes, size_t size, unsigned char *id)
{
	const unsigned char *p = notes;
	Elf64_Nhdr head; /* the 32-bit one is the same */
	uint64_t name, desc; /* padded sizes: cannot overflow in 64 bits */

	while (size >= sizeof(head)) {
		memcpy(&head, p, sizeof(head));
		name = ((uint64_t)head.n_namesz + 3) & ~3ULL;
		desc = ((uint64_t)head.n_descsz + 3) & ~3ULL;
		p += sizeof(head);
		size -= sizeof(head);
		if (name > size || head.n_descsz > size - name)
			return -ENOENT;
		if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == sizeof(ELF_NOTE_GNU) &&
		    !memcmp(p, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) && head.n_descsz &&
		    head.n_descsz <= HOST_BUILD_ID_MAX) {
			memcpy(id, p + name, head.n_descsz);
			return head.n_descsz;
		}
		if (desc > size - name)
			return -ENOENT;
		p += name + desc;
		size -= name + desc;
	}
	return -ENOENT;
}

static void read_build_id(const char *root, struct host *host)
{
	char notes[65536];
	ssize_t size = read_file(root, "/sys/kernel/notes", notes, sizeof(notes));
	size_t i;

	if (size > 0)
		size = host_find_build_id(notes, (size_t)size, host->build_id);
	if (size <= 0)
		return;
	host->build_id_size = (size_t)size;
	for (i = 0; i < host->build_id_size; i++)
		sprintf(host->build_id_hex + 2 * i, "%02x", host->build_id[i]);
}

/* The value of the first "key : value" line; *value is cut at the end of the line. */
static bool find_key(const char *text, const char *key, char *value, size_t size)
{
	const char *line = text, *next, *end;
	size_t length = strlen(key);

	for (; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			next++;
		if (strncmp(line, key, length))
			continue;
		end = line + length;
		end += strspn(end, " \t");
		if (*end != ':')
			continue;
		end++;
		end += strspn(end, " \t");
		length = strcspn(end, "\n");
		snprintf(value, size, "%.*s", (int)length, end);
		return true;
	}
	return false;
}

/* x86 and others have a model name; arm64 only numbers, and the board's name elsewhere. */
static void read_cpu(const char *root, struct host *host)
{
	char text[16384], implementer[16], part[16];

	if (read_file(root, "/proc/cpuinfo", text, sizeof(text)) > 0) {
		if (find_key(text, "model name", host->cpu, sizeof(host->cpu)) && host->cpu[0])
			return;
		if (find_key(text, "CPU implementer", implementer, sizeof(implementer)) &&
		    find_key(text, "CPU part", part, sizeof(part)))
			snprintf(host->cpu, sizeof(host->cpu), "implementer %s part %s",
				 implementer, part);
	}
	if (read_file(root, "/sys/firmware/devicetree/base/model", text, sizeof(host->cpu)) > 0) {
		size_t used = strlen(host->cpu);

		text[strcspn(text, "\n")] = '\0';
		snprintf(host->cpu + used, sizeof(host->cpu) - used, "%s%s", used ? ", " : "",
			 text);
	}
}

void host_read(const char *root, struct host *host)
{
	struct utsname uts;

	memset(host, 0, sizeof(*host));
	if (!uname(&uts)) {
		snprintf(host->release, sizeof(host->release), "%s", uts.release);
		snprintf(host->arch, sizeof(host->arch), "%s", uts.machine);
	}
	read_build_id(root, host);
	read_cpu(root, host);
}

/* Whether /proc/PID/stat is that of the kernel thread ksmd. A name may hold spaces and
 * parentheses, so that the last ')' ends it. */
static bool is_ksmd(const char *stat, char *state)
{
	const char *name = strchr(stat, '('), *end = strrchr(stat, ')');
	unsigned long flags;

	if (!name || !end || end - name != 5 || strncmp(name, "(ksmd", 5))
		return false;
	/* state ppid pgrp session tty_nr tpgid flags */
	if (sscanf(end + 1, " %c %*d %*d %*d %*d %*d %lu", state, &flags) != 2)
		return false;
	return flags & PF_KTHREAD;
}

int host_find_ksmd(const char *root, struct ksmd *ksmd)
{
	char path[PATH_MAX], stat[512];
	struct dirent *entry;
	int err = -ESRCH;
	DIR *dir;

	if (snprintf(path, sizeof(path), "%s/proc", root ? root : "") >= (int)sizeof(path))
		return -ENAMETOOLONG;
	dir = opendir(path);
	if (!dir)
		return -errno;
	while (err && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
		if (read_file(root, path, stat, sizeof(stat)) <= 0 ||
		    !is_ksmd(stat, &ksmd->state))
			continue;
		ksmd->pid = atoi(entry->d_name);
		err = 0;
	}
	closedir(dir);
	return err;
}

int host_missing_capabilities(char *text, size_t size)
{
	static const struct {
		cap_value_t capability;
		const char *name;
		bool admin_will_do;
	} needed[] = {
		{ CAP_BPF, "CAP_BPF", true },
		{ CAP_PERFMON, "CAP_PERFMON", true },
		{ CAP_SYSLOG, "CAP_SYSLOG", false },
	};
	cap_flag_value_t admin = CAP_CLEAR, has;
	bool before_5_8 = prctl(PR_CAPBSET_READ, CAP_BPF, 0, 0, 0) < 0;
	cap_t caps = cap_get_proc();
	size_t used = 0, i;
	int missing = 0;

	if (size)
		text[0] = '\0';
	if (!caps)
		return -errno;
	cap_get_flag(caps, CAP_SYS_ADMIN, CAP_EFFECTIVE, &admin);
	for (i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		const char *name = needed[i].name;

		has = CAP_CLEAR;
		if (needed[i].admin_will_do && before_5_8) {
			if (i) /* named once for the two that it stands for */
				continue;
			name = "CAP_SYS_ADMIN";
		} else {
			cap_get_flag(caps, needed[i].capability, CAP_EFFECTIVE, &has);
		}
		if (has == CAP_SET || (needed[i].admin_will_do && admin == CAP_SET))
			continue;
		if (used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%s",
						 missing ? ", " : "", name);
		missing++;
	}
	cap_free(caps);
	return missing;
}

bool host_in_user_namespace(const char *root)
{
	unsigned long inside, outside, count;
	char map[256];

	if (read_file(root, "/proc/self/uid_map", map, sizeof(map)) <= 0)
		return false;
	if (sscanf(map, "%lu %lu %lu", &inside, &outside, &count) != 3)
		return true;
	return inside || outside || count != 4294967295UL;
}

int host_lockdown(const char *root, char *mode, size_t size)
{
	char text[128], *start, *end;
	ssize_t n = read_file(root, "/sys/kernel/security/lockdown", text, sizeof(text));

	if (n < 0)
		return (int)n;
	start = strchr(text, '[');
	end = start ? strchr(start, ']') : NULL;
	if (!end)
		return -EINVAL;
	*end = '\0';
	if ((size_t)snprintf(mode, size, "%s", start + 1) >= size)
		return -EOVERFLOW;
	return 0;
}

uint64_t host_memory_available(const char *root)
{
	unsigned long long kib;
	char text[8192], value[64];

	if (read_file(root, "/proc/meminfo", text, sizeof(text)) <= 0 ||
	    !find_key(text, "MemAvailable", value, sizeof(value)) ||
	    sscanf(value, "%llu kB", &kib) != 1)
		return UINT64_MAX;
	return kib * 1024;
}
