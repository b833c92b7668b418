// SPDX-License-Identifier: GPL-2.0-only
/* Reserved memory as the tools name it, and what /proc/iomem says of it. */
#include <stdio.h>
#include <string.h>

#include <evenkeel/range_format.h>

#include "ktap.h"
#include "phys.h"

#define MB	(1ULL << 20)

static bool parses(const char *text, uint64_t start, uint64_t bytes)
{
	struct phys p;

	return !phys_parse(text, &p) && p.start == start && p.bytes == bytes;
}

static const struct {
	const char *text;
	const char *wrong;	/* a part of what is said */
} refused[] = {
	{ "phys=1G", "go together" },
	{ "size=1G", "go together" },
	{ "phys=1G,phys=1G", "go together" },
	{ "phys=1G,init", "go together" },
	{ "phys=,size=64M", "number" },
	{ "phys=1G,size=64Q", "number" },
	{ "phys=1G,size=64M,init", "number" },
	{ "phys=0000000000000000000000000000000001G,size=64M", "number" },
	{ "phys=0x40001000,size=64M", "multiples of 2M" },
	{ "phys=1G,size=1M", "multiples of 2M" },
	{ "phys=0xffffffffffe00000,size=4M", "multiples of 2M" },
	{ "phys=1G,size=0", "too small" },
	{ "phys=1G,size=2M", "too small" },
};

static void names(void)
{
	struct phys p;
	size_t i;

	CHECK(phys_is_name("phys=1G,size=64M") && phys_is_name("size=64M,phys=1G"));
	CHECK(!phys_is_name("./phys=1G,size=64M") && !phys_is_name("/dev/pmem0"));
	CHECK(parses("phys=1G,size=64M", 1024 * MB, 64 * MB));
	CHECK(parses("size=67108864,phys=0x40000000", 1024 * MB, 64 * MB));
	CHECK(parses("phys=0x1p,size=2e", 1ULL << 50, 2ULL << 60));
	for (i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		const char *wrong = phys_parse(refused[i].text, &p);

		CHECK(wrong && strstr(wrong, refused[i].wrong), "%s: %s", refused[i].text, wrong ? wrong : "taken");
	}
}

/* What was made with one release is found by the next. */
static void heads(void)
{
	CHECK(scm_range_data(64 * MB, 0) == 2 * MB);
	CHECK(scm_range_data(128 * MB, 0) == 2 * MB);
	CHECK(scm_range_data(130 * MB, 0) == 4 * MB);
	CHECK(scm_range_data(128 * MB, 4096) == 4 * MB);
	CHECK(scm_range_data(16384 * MB, 0) == 256 * MB);
}

static const char map[] =
	"00000000-00000fff : Reserved\n"
	"00001000-3fffffff : System RAM\n"
	"  01000000-01ffffff : Kernel code\n"
	"40000000-43ffffff : Reserved\n"
	"44000000-47ffffff : Persistent Memory (legacy)\n"
	"  44000000-45ffffff : namespace0.0\n"
	"48000000-4fffffff : PCI Bus 0000:00\n"
	"  4a000000-4affffff : Reserved\n"
	"50000000-57ffffff : Reserved\n"
	"  50000000-53ffffff : scmfs\n"
	"    50000000-53ffffff : scmfs pages\n"
	"  54000000-55ffffff : Reserved\n"
	"58000000-5bffffff : Soft Reserved\n";

static const char *check_in(const char *iomem, uint64_t start, uint64_t bytes)
{
	struct phys p = { start, bytes };
	FILE *f = fmemopen((void *)iomem, strlen(iomem), "r");
	const char *wrong = phys_check(&p, f);

	fclose(f);
	return wrong ? wrong : "";
}

static bool refuses(uint64_t start, uint64_t bytes, const char *what)
{
	const char *wrong = check_in(map, start, bytes);

	return *wrong && strstr(wrong, what);
}

static void places(void)
{
	CHECK(!*check_in(map, 0x40000000, 64 * MB));
	CHECK(!*check_in(map, 0x42000000, 32 * MB));
	CHECK(refuses(0x40000000, 96 * MB, "in use: namespace0.0"));
	CHECK(!*check_in(map, 0x46000000, 32 * MB));
	CHECK(!*check_in(map, 0x4a000000, 16 * MB), "a bridge's window is no user of it");
	CHECK(!*check_in(map, 0x54000000, 64 * MB), "of one in another no byte counts twice");
	CHECK(!*check_in(map, 0x58000000, 64 * MB));
	CHECK(refuses(0x3fe00000, 4 * MB, "own RAM"));
	CHECK(refuses(0x01000000, 2 * MB, "own RAM"));
	CHECK(refuses(0x44000000, 64 * MB, "in use: namespace0.0"));
	CHECK(refuses(0x52000000, 64 * MB, "in use: scmfs"));
	CHECK(refuses(0x48000000, 32 * MB, "not memory that was set aside"));
	CHECK(refuses(0x58000000, 66 * MB, "not memory that was set aside"));
	CHECK(refuses(0x80000000, 2 * MB, "not memory that was set aside"));
	CHECK(strstr(check_in("00000000-00000000 : Reserved\n", 0x40000000, 64 * MB), "root"));
	CHECK(strstr(check_in("", 0x40000000, 64 * MB), "root"));
}

int main(int argc, char **argv)
{
	ktap_init(argc, argv);
	ktap_run("reserved memory is named as to mount", names);
	ktap_run("data begins where it always did", heads);
	ktap_run("what is not set aside, or somebody's, is refused", places);
	return ktap_done();
}
