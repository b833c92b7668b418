// SPDX-License-Identifier: GPL-2.0-only
/* A mounted file system, and what its module tells. */
#include <errno.h>
#include <evenkeel/scmfs_format.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "scmfsctl.h"

bool place_refused(const struct place *p)
{
	const char *why = strerror(errno);

	switch (errno) {
	case EIO:
		why = "the file system was shut down: unmount it and mount it again";
		break;
	case EPERM:
		why = "not permitted: this takes root's CAP_SYS_ADMIN";
		break;
	case ENOTTY:
		why = "the module doesn't know this: it is older than this program";
		break;
	}
	complain("%s: %s", p->path, why);
	return false;
}

static bool wrong(int fd, const char *path, const char *what)
{
	complain("%s: %s", path, what);
	close(fd);
	return false;
}

/* Looked at before it is opened: to open a device or a pipe may do something. */
static bool is_there(struct place *p, const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	struct statfs fs;

	if (fd < 0 || fstatfs(fd, &fs) || fstat(fd, &p->st)) {
		place_refused(p);
		if (fd >= 0)
			close(fd);
		return false;
	}
	if (fs.f_type != SCMFS_STATFS_MAGIC)
		return wrong(fd, path, "not on an scmfs that is mounted");
	if (!S_ISREG(p->st.st_mode) && !S_ISDIR(p->st.st_mode))
		return wrong(fd, path, "neither a file nor a directory");
	close(fd);
	return true;
}

bool place_open(struct place *p, const char *path)
{
	struct stat st;

	p->path = path;
	p->fd = -1;
	if (!is_there(p, path))
		return false;
	p->fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (p->fd < 0 || fstat(p->fd, &st))
		return place_refused(p);
	if (st.st_dev != p->st.st_dev || st.st_ino != p->st.st_ino)
		return wrong(p->fd, path, "another one by now");
	return true;
}

bool ask_info(const struct place *p, struct scmfs_info *info)
{
	*info = (struct scmfs_info){ .size = sizeof(*info) };
	return !ioctl(p->fd, SCMFS_IOC_INFO, info) || place_refused(p);
}

bool ask_file(const struct place *p, struct scmfs_file_info *info)
{
	*info = (struct scmfs_file_info){ .size = sizeof(*info) };
	return !ioctl(p->fd, SCMFS_IOC_FILE_INFO, info) || place_refused(p);
}

bool ask_room(const struct place *p, uint64_t *bytes, uint64_t *files)
{
	struct scmfs_room room = { .size = sizeof(room) };

	*bytes = 0;
	*files = 0;
	do {
		room.size = sizeof(room);
		if (ioctl(p->fd, SCMFS_IOC_ROOM, &room))
			return place_refused(p);
		*bytes += room.bytes;
		*files += room.files;
	} while (room.from);
	return true;
}

bool ask_words(const struct place *p, unsigned long cmd, uint64_t from, __u64 *word,
	       struct scmfs_words *w)
{
	*w = (struct scmfs_words){
		.size = sizeof(*w),
		.from = from,
		.words = (uintptr_t)word,
		.nr = SCMFS_LOOK_MAX,
	};
	return !ioctl(p->fd, cmd, w) || place_refused(p);
}
