// SPDX-License-Identifier: GPL-2.0-only
/* dumpscmfs: show what a file system is made of. */
#include <getopt.h>
#include <stdio.h>
#include <sys/stat.h>

#include "engine_internal.h"
#include "feature_names.h"
#include "image.h"
#include "udev.h"
#include "../common/stdio_fds.h"
#include "../common/text.h"

static const char usage[] =
	"usage: dumpscmfs [OPTION]... DEVICE|FILE|phys=START,size=SIZE\n"
	"\n"
	"Show what an scmfs file system is made of; nothing is changed.\n"
	"\n"
	"  -i, --inode NUMBER   this inode, with its extents and names\n"
	"  -a, --all            every inode\n"
	"  -w, --wear           how often the blocks of each 2 MiB were allocated\n"
	"  -u, --udev           nothing but type, UUID and label, for udev\n"
	"  -h, --help           show this\n"
	"  -V, --version        show the version\n";

static const struct option options[] = {
	{ "inode", required_argument, NULL, 'i' },
	{ "all", no_argument, NULL, 'a' },
	{ "wear", no_argument, NULL, 'w' },
	{ "udev", no_argument, NULL, 'u' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

static void put_line(const char *text, size_t len)
{
	text_put(stdout, text, len);
	putchar('\n');
}

static void show_super(const struct scmfs *fs, bool damaged)
{
	const struct scmfs_super *s = &fs->super;
	char uuid[37];

	print_uuid(s->uuid, uuid);
	printf("uuid: %s\nlabel: ", uuid);
	put_line((const char *)s->label, (strnlen)((const char *)s->label, SCMFS_LABEL_SIZE));
	printf("version: %u\n", le32_to_cpu(s->version));
	print_features(le64_to_cpu(s->incompat));
	printf("blocks: %llu\nfirst data block: %llu\ninodes: %llu\n", fs->nr_blocks,
	       fs->first_data, fs->nr_inodes - 1);
	if (fs->high_known)
		printf("highest inode: %llu\n", fs->inode_high - 1);
	else
		printf("highest inode: not known\n");
	printf("log: %u lanes at %llu\nmaps: at %llu and %llu\n",
	       le32_to_cpu(s->log_lanes), le64_to_cpu(s->log_offset),
	       le64_to_cpu(s->block_map_offset), le64_to_cpu(s->inode_map_offset));
	printf("wear: at %llu\ninode table: at %llu\n", le64_to_cpu(s->wear_offset),
	       le64_to_cpu(s->inode_offset));
	printf("clean: %s\nmounts: %llu\ndamage seen: %s\n%s",
	       scmfs_read(&fs->state->clean) ? "yes" : "no", scmfs_read(&fs->state->mounts),
	       scmfs_damage_seen(fs) ? "yes" : "no", damaged ? "super block: damaged\n" : "");
}

static void show_log(const struct scmfs *fs)
{
	const struct scmfs_super *s = &fs->super;
	struct ek_undo_stats stats;

	if (ek_undo_replay(fs->base, fs->nr_blocks << SCMFS_BLOCK_SHIFT,
			   le64_to_cpu(s->log_offset), le32_to_cpu(s->log_lanes),
			   le64_to_cpu(s->salt), true, &stats))
		printf("log: damaged\n");
	else
		printf("log: %u transactions to undo (%u words), %u done\n", stats.undone,
		       stats.words, stats.committed);
}

static void show_extents(const struct scmfs *fs, struct scmfs_inode *inode)
{
	struct scmfs_extent *place;
	struct scmfs_slots s;

	scmfs_slots(fs, inode, &s);
	while ((place = scmfs_slots_next(&s))) {
		struct scmfs_ext e = scmfs_ext_of(scmfs_read(&place->block),
						  scmfs_read(&place->second));

		if (e.count)
			printf("  extent: %llu + %llu at %llu%s\n", e.file, e.count, e.block,
			       e.unwritten ? " unwritten" : "");
	}
	if (s.error)
		printf("  extents: damaged\n");
}

static bool show_name(void *ctx, const char *name, u32 len, u64 ino, u32 type, u64 cookie)
{
	printf("  name: %llu inode %llu type %u ", cookie, ino, type);
	put_line(name, len);
	return true;
}

static void show_names(struct scmfs *fs, u64 ino)
{
	struct scmfs_node node = { .ino = ino };
	u64 cookie = 0;

	if (scmfs_readdir(fs, &node, &cookie, show_name, NULL))
		printf("  names: damaged\n");
	scmfs_node_clear(&node);
}

static int show_attribute(void *ctx, u32 index, const char *name, u32 len, u32 value_len)
{
	static const char * const prefix[] = {
		[SCMFS_XATTR_USER] = "user.",
		[SCMFS_XATTR_TRUSTED] = "trusted.",
		[SCMFS_XATTR_SECURITY] = "security.",
		[SCMFS_XATTR_ACL_ACCESS] = "system.posix_acl_access",
		[SCMFS_XATTR_ACL_DEFAULT] = "system.posix_acl_default",
	};

	printf("  attribute: %u bytes %s", value_len, prefix[index]);
	put_line(name, len);
	return 0;
}

/* Return: 0; -ESTALE: not in use; another: it is, and damaged, which is shown. */
static int show_inode(struct scmfs *fs, u64 ino)
{
	struct scmfs_attr a;
	const char *target;
	int err = scmfs_getattr(fs, ino, &a), len;

	if (err && err != -ESTALE)
		printf("inode %llu: damaged\n", ino);
	if (err)
		return err;
	printf("inode %llu: mode %o links %u owner %u:%u ", ino, a.mode, a.links, a.uid, a.gid);
	printf("size %llu blocks %llu generation %u\n", a.size, a.blocks, a.generation);
	printf("  times: atime %lld mtime %lld ctime %lld btime %lld\n", a.atime, a.mtime, a.ctime,
	       a.btime);
	show_extents(fs, scmfs_inode(fs, ino));
	if (scmfs_xattr_list(fs, ino, show_attribute, NULL))
		printf("  attributes: damaged\n");
	if (S_ISDIR(a.mode))
		show_names(fs, ino);
	len = scmfs_target(fs, ino, &target);
	if (len > 0) {
		printf("  target: ");
		put_line(target, len);
	}
	return 0;
}

static void show_wear(const struct scmfs *fs)
{
	u64 unit;

	for (unit = 0; unit < fs->nr_units; unit++)
		if (fs->wear[unit])
			printf("wear: %llu %llu\n", unit * SCMFS_UNIT_SIZE, fs->wear[unit]);
}

static int dump(const char *path, uint64_t ino, bool all, bool wear)
{
	struct scmfs_super super;
	const char *reason;
	struct image im = { .status = 1 };
	struct scmfs *fs;
	bool damaged;
	int err = 0;

	if (!image_open(&im, path, IMAGE_COPY))
		return 1;
	if (scmfs_probe(im.base, im.size, &super, &damaged, &reason) && damaged)
		memcpy(im.base, &super, sizeof(super));
	if (scmfs_open(im.base, im.size, SCMFS_OPEN_NO_SCAN, &fs, NULL, &reason)) {
		fprintf(stderr, "%s: %s\n", path, reason);
		image_close(&im);
		return 1;
	}
	if (ino) {
		err = show_inode(fs, ino);
	} else {
		show_super(fs, damaged);
		show_log(fs);
	}
	for (ino = 1; all && ino < fs->nr_inodes; ino++)
		show_inode(fs, ino);
	if (wear)
		show_wear(fs);
	if (err == -ESTALE)
		fprintf(stderr, "%s: no such inode\n", path);
	scmfs_abandon(fs);
	image_close(&im);
	return !!err;
}

int main(int argc, char **argv)
{
	bool all = false, wear = false, udev = false;
	uint64_t ino = 0;
	int c;

	keep_stdio();
	while ((c = getopt_long(argc, argv, "i:awuhV", options, NULL)) != -1) {
		switch (c) {
		case 'i':
			if (parse_size(optarg, &ino) && ino)
				break;
			fprintf(stderr, "dumpscmfs: no inode number: %s\n", optarg);
			return 1;
		case 'a':
			all = true;
			break;
		case 'w':
			wear = true;
			break;
		case 'u':
			udev = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		case 'V':
			puts("dumpscmfs " EVENKEEL_VERSION);
			return 0;
		default:
			fputs(usage, stderr);
			return 1;
		}
	}
	if (optind != argc - 1) {
		fputs(usage, stderr);
		return 1;
	}
	c = udev ? show_udev(argv[optind]) : dump(argv[optind], ino, all, wear);
	return output_is_out("dumpscmfs") ? c : 1;
}
