// SPDX-License-Identifier: GPL-2.0-only
/* What a device lies on, through whatever layers, and whether one of them forgets. */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../bdev.h"
#include "../dm.h"
#include "../msg.h"
#include "../udev_db.h"
#include "ktap.h"
#include "wrapped.h"

/* --- a machine of one's own: what begins with /sys or /proc is in a directory --- */

static char root[KTAP_NAME];

static const char *moved(char *buf, const char *path)
{
	bool is = !strcmp(path, "/proc") || !strncmp(path, "/sys/", 5) ||
		  !strncmp(path, "/proc/", 6);

	snprintf(buf, 512, "%s%s", is ? root : "", path);
	return buf;
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
	char buf[512];

	return __real_fopen(moved(buf, path), mode);
}

DIR *__wrap_opendir(const char *path)
{
	char buf[512];

	return __real_opendir(moved(buf, path));
}

ssize_t __wrap_readlink(const char *path, char *buf, size_t len)
{
	char from[512];

	return __real_readlink(moved(from, path), buf, len);
}

int __wrap_scandir(const char *path, struct dirent ***list, int (*filter)(const struct dirent *),
		   int (*compare)(const struct dirent **, const struct dirent **))
{
	char buf[512];

	return __real_scandir(moved(buf, path), list, filter, compare);
}

static bool waits_for_ever;	/* who asks for a file of another machine */

/* A node is named by its number, also where a process has it open. */
int __wrap_stat(const char *path, struct stat *st)
{
	char target[256], from[512];
	unsigned int ma, mi;
	ssize_t n;

	memset(st, 0, sizeof(*st));
	if (!strncmp(path, "/proc/", 6)) {
		n = __real_readlink(moved(from, path), target, sizeof(target) - 1);
		target[n < 0 ? 0 : n] = 0;
		path = target;
		waits_for_ever |= !strncmp(path, "/net/", 5);
	}
	if (sscanf(path, "/dev/%u:%u", &ma, &mi) == 2) {
		st->st_mode = S_IFBLK;
		st->st_rdev = makedev(ma, mi);
		return 0;
	}
	st->st_mode = S_IFREG;
	return strstr(path, "(deleted)") ? -1 : 0;
}

bool dm_has_path(dev_t rdev)
{
	return true;
}

bool dm_is_snapshot(dev_t rdev)
{
	return false;
}

bool udev_db_is(dev_t rdev, const char *key, const char *value)
{
	return false;
}

static void put(const char *path, const char *text)
{
	char buf[512];
	FILE *f;

	snprintf(buf, sizeof(buf), "%s/%s", root, path);
	f = __real_fopen(buf, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		ktap_ok(false, "%s", path);
}

__attribute__((format(printf, 1, 2)))
static void make_dir(const char *fmt, ...)
{
	char buf[512], part[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(part, sizeof(part), fmt, ap);
	va_end(ap);
	snprintf(buf, sizeof(buf), "%s/%s", root, part);
	mkdir(buf, 0700);
}

/* "ram0" 1:0; "ram0/ram0p1" is a partition of it. */
static void disk(const char *name, const char *number)
{
	char buf[512], target[256], path[256];

	make_dir("sys/devices/%s", name);
	make_dir("sys/devices/%s/slaves", name);
	snprintf(path, sizeof(path), "sys/devices/%s/dev", name);
	put(path, number);
	if (strchr(name, '/')) {
		snprintf(path, sizeof(path), "sys/devices/%s/partition", name);
		put(path, "1\n");
	}
	snprintf(target, sizeof(target), "../../devices/%s", name);
	snprintf(buf, sizeof(buf), "%s/sys/dev/block/%s", root, number);
	if (symlink(target, buf))
		ktap_ok(false, "%s", name);
}

static void looped(const char *name, const char *number, const char *file)
{
	char path[256];

	disk(name, number);
	make_dir("sys/devices/%s/loop", name);
	snprintf(path, sizeof(path), "sys/devices/%s/loop/backing_file", name);
	put(path, file);
}

/* @upper is made of @lower, a partition or not. */
static void slave(const char *upper, const char *lower)
{
	const char *base = strrchr(lower, '/') ? strrchr(lower, '/') + 1 : lower;
	char buf[512], target[256];

	snprintf(buf, sizeof(buf), "%s/sys/devices/%s/slaves/%s", root, upper, base);
	snprintf(target, sizeof(target), "../../%s", lower);
	if (symlink(target, buf))
		ktap_ok(false, "%s", upper);
}

/* What mem2m says of one is in configfs. */
static void memory_device(const char *name, const char *number, const char *info)
{
	char path[256];

	snprintf(path, sizeof(path), "mem2m!%s", name);
	disk(path, number);
	make_dir("sys/kernel");
	make_dir("sys/kernel/config");
	make_dir("sys/kernel/config/mem2m");
	make_dir("sys/kernel/config/mem2m/%s", name);
	snprintf(path, sizeof(path), "sys/kernel/config/mem2m/%s/info", name);
	put(path, info);
}

static void make_machine(void)
{
	static const char * const dirs[] = { "sys", "sys/dev", "sys/dev/block", "sys/devices",
					     "proc", "proc/self" };
	unsigned int i;

	for (i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		make_dir("%s", dirs[i]);
	put("proc/self/mountinfo",
	    "20 1 8:1 / / rw - ext4 /dev/8:1 rw\n"
	    "21 20 0:5 / /dev rw shared:2 - devtmpfs udev rw\n"
	    "22 20 0:30 / /tmp\\040x rw shared:3 - tmpfs none rw\n"
	    "23 20 0:31 /@ /butter rw - btrfs /dev/254:0 rw\n"
	    "24 20 7:2 / /over rw - xfs /dev/7:2 rw\n"
	    "25 20 0:40 / /net rw - nfs server:/x rw\n"
	    "26 20 254:4 / /slow rw - ext4 /dev/254:4 rw\n");
	disk("sda", "8:0");
	disk("sda/sda1", "8:1");
	disk("ram0", "1:0");
	disk("ram0/ram0p1", "259:0");
	disk("zram0", "253:0");
	disk("dm-0", "254:0");		/* on sda1 */
	slave("dm-0", "sda/sda1");
	disk("dm-1", "254:1");		/* on a partition of ram0 */
	slave("dm-1", "ram0/ram0p1");
	looped("loop0", "7:0", "/tmp x/file\n");
	disk("loop0/loop0p1", "259:1");
	looped("loop1", "7:1", "/tmp x/file (deleted)\n");
	looped("loop2", "7:2", "/butter/file\n");
	looped("loop3", "7:3", "/over/file\n");
	looped("loop4", "7:4", "/dev/1:0\n");
	looped("loop5", "7:5", "/dev/8:0\n");
	looped("loop6", "7:6", "/dev/file\n");
	looped("loop7", "7:7", "/net/file\n");
	looped("loop8", "7:8", "/tmp/file\n");
	disk("dm-2", "254:2");		/* on loop0p1 */
	slave("dm-2", "loop0/loop0p1");
	disk("dm-3", "254:3");		/* on loop3 */
	slave("dm-3", "loop3");
	looped("loop9", "7:9", "/dev/7:9\n");	/* can't be: not for ever */
	disk("dm-4", "254:4");		/* suspended, on sda1 */
	slave("dm-4", "sda/sda1");
	make_dir("sys/devices/dm-4/dm");
	put("sys/devices/dm-4/dm/suspended", "1\n");
	disk("dm-4/dm-4p1", "259:2");
	looped("loop10", "7:10", "/slow/file\n");
	disk("loop10/loop10p1", "259:3");
	disk("dm-5", "254:5");		/* on loop10p1 */
	slave("dm-5", "loop10/loop10p1");
	make_dir("sys/devices/dm-5/dm");
	put("sys/devices/dm-5/dm/suspended", "0\n");
	memory_device("ram", "251:0", "survives 0\npower 0\n");
	memory_device("set-aside", "251:1", "survives 1\npower 0\n");
	memory_device("pmem", "251:2", "survives 1\npower 1\n");
	memory_device("older-pmem", "251:4", "survives 1\nbeneath /dev/pmem0\n");
	memory_device("older-set-aside", "251:5", "survives 1\nphys 0x40000000\n");
	memory_device("told", "251:6", "survives 1\npower 0\nbeneath /dev/pmem0\n");
	disk("mem2m!set-aside/mem2m!set-aside1", "259:4");
	disk("mem2m!unknown", "251:3");
	disk("dm-6", "254:6");		/* on what is set aside, and a disk */
	slave("dm-6", "sda/sda1");
	slave("dm-6", "mem2m!set-aside");
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *at)
{
	return remove(path);
}

/* --- the tests --- */

static void forgets(unsigned int ma, unsigned int mi, const char *what, const char *title)
{
	char *found = bdev_volatile(makedev(ma, mi));

	ktap_ok(what ? found && !strcmp(found, what) : !found, "%s: %s", title,
		found ? found : "stays");
	free(found);
}

static void stands(unsigned int ma, unsigned int mi, unsigned int on_ma, unsigned int on_mi,
		   bool is, const char *title)
{
	ktap_ok(bdev_lies_on(makedev(ma, mi), makedev(on_ma, on_mi)) == is, "%s: %s", title,
		is ? "lies on it" : "does not");
}

static void opened(unsigned int ma, unsigned int mi, const char *by, const char *title)
{
	char *user = bdev_users(makedev(ma, mi));

	ktap_ok(by ? user && !strcmp(user, by) : !user, "%s: %s", title, user ? user : "nobody");
	free(user);
}

static void note_name(void *ctx, dev_t rdev)
{
	char *names = ctx;

	sprintf(names + strlen(names), "%u:%u ", major(rdev), minor(rdev));
}

/* A process has a file of another machine open, then a disk. */
static void make_process(void)
{
	static const char * const links[][2] = {
		{ "3", "/net/file" }, { "4", "/dev/null" }, { "5", "/d" }, { "6", "/dev/259:0" },
	};
	char path[512];
	unsigned int i;

	make_dir("proc/99999999");
	make_dir("proc/99999999/fd");
	put("proc/99999999/comm", "fio\n");
	for (i = 0; i < sizeof(links) / sizeof(*links); i++) {
		snprintf(path, sizeof(path), "%s/proc/99999999/fd/%s", root, links[i][0]);
		if (symlink(links[i][1], path))
			ktap_ok(false, "%s", path);
	}
}

static void make_class(void)
{
	static const char * const names[][2] = {
		{ "sr0", "11:0\n" }, { "fd0", "2:0\n" }, { "sda", "8:0\n" }, { "sdf", "8:80\n" },
	};
	char path[64];
	unsigned int i;

	make_dir("sys/class");
	make_dir("sys/class/block");
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		make_dir("sys/class/block/%s", names[i][0]);
		snprintf(path, sizeof(path), "sys/class/block/%s/dev", names[i][0]);
		put(path, names[i][1]);
	}
}

static void waits(unsigned int ma, unsigned int mi, bool is, const char *title)
{
	const char *why = bdev_stalled(makedev(ma, mi));

	ktap_ok(!why == !is, "%s: %s", title, why ? why : "answers");
}

int main(void)
{
	char names[256] = "";

	if (!mkdtemp(ktap_name(root, "/tmp")))
		return 1;
	ktap_begin();
	make_machine();
	make_process();
	make_class();
	forgets(8, 0, NULL, "a disk");
	forgets(8, 1, NULL, "a partition");
	forgets(1, 0, "/dev/ram0", "a RAM disk");
	forgets(259, 0, "/dev/ram0", "a partition of a RAM disk");
	forgets(254, 0, NULL, "device-mapper on a partition");
	forgets(254, 1, "/dev/ram0", "device-mapper on a RAM disk's");
	forgets(253, 0, "/dev/zram0", "zram");
	forgets(7, 0, "/dev/loop0", "a file in a tmpfs");
	forgets(7, 1, "/dev/loop1", "one that was unlinked");
	forgets(259, 1, "/dev/loop0", "a partition of a file in a tmpfs");
	forgets(254, 2, "/dev/loop0", "device-mapper on that");
	forgets(7, 2, NULL, "a file in a btrfs on a disk");
	forgets(7, 4, "/dev/ram0", "a loop device on a RAM disk");
	forgets(7, 5, NULL, "a loop device on a disk");
	forgets(7, 6, "/dev/loop6", "a file among the nodes");
	forgets(7, 7, NULL, "a file of another machine");
	forgets(7, 8, NULL, "a file beside a tmpfs with a like name");
	forgets(7, 9, NULL, "a device on itself");
	forgets(251, 0, "/dev/mem2m/ram", "a memory device of ordinary RAM");
	forgets(251, 1, "/dev/mem2m/set-aside", "one of RAM that was set aside");
	forgets(259, 4, "/dev/mem2m/set-aside1", "a partition of that");
	forgets(254, 6, "/dev/mem2m/set-aside", "device-mapper on that and a disk");
	forgets(251, 2, NULL, "a memory device of pmem");
	forgets(251, 4, NULL, "one of pmem, of a module that doesn't say so");
	forgets(251, 5, "/dev/mem2m/older-set-aside", "one that was set aside, of such a module");
	forgets(251, 6, "/dev/mem2m/told", "one of what is called pmem and is told to forget");
	forgets(251, 3, "/dev/mem2m/unknown", "one of which nobody says anything");
	stands(8, 1, 8, 0, true, "a partition");
	stands(254, 0, 8, 0, true, "device-mapper on a partition");
	stands(254, 0, 1, 0, false, "device-mapper and another disk");
	stands(7, 8, 8, 0, true, "a file");
	stands(7, 2, 254, 0, true, "a file in a btrfs");
	stands(7, 3, 8, 0, true, "a file in a file");
	stands(254, 3, 254, 0, true, "device-mapper on a file in a file");
	stands(7, 5, 8, 0, true, "a loop device without a file");
	stands(7, 0, 8, 0, false, "a file in a tmpfs");
	stands(8, 0, 8, 1, false, "a disk and its partition");
	waits(254, 4, true, "a device that is suspended");
	waits(259, 2, true, "a partition of it");
	waits(7, 10, true, "a loop device of a file that lies there");
	waits(254, 5, true, "device-mapper on a partition of that");
	waits(8, 1, false, "what is below it");
	waits(254, 3, false, "a loop device of a file elsewhere");
	waits(7, 7, false, "a file of another machine");
	opened(259, 0, "opened by process 99999999 (fio)", "a partition that a process has open");
	opened(1, 0, "partition ram0p1 is opened by process 99999999 (fio)", "the disk of that");
	opened(253, 0, NULL, "another disk");
	ktap_ok(!waits_for_ever, "nobody asks for a file of another machine");
	bdev_for_each(note_name, names);
	ktap_ok(!strcmp(names, "8:0 8:80 "), "all devices but CD drives and floppies: %s", names);
	nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return ktap_end();
}
