// SPDX-License-Identifier: GPL-2.0-only
/* The devices by name. Sources: Documentation/admin-guide/emudisk.rst. */
#include "model.h"

#define US 1000ULL
#define MS 1000000ULL
#define MB 1000000ULL			/* of rates */
#define KIB 1024ULL
#define MIB (1024 * KIB)

const struct emu_preset emu_presets[] = {
	{ "null", "no latency: completes inside submit_bio", EMU_KIND_NULL, { 0 } },
	{ "mem", "10 us whatever is asked, 16 at once", EMU_KIND_SSD, {
		[EMU_P_CHANNELS] = 16,
		[EMU_P_READ_LAT] = 10 * US, [EMU_P_WRITE_LAT] = 10 * US,
		[EMU_P_FLUSH] = 10 * US, [EMU_P_DISCARD] = 10 * US,
		[EMU_P_CHUNK] = 1024 * MIB } },	/* a request, whatever it asks for, is one */
	{ "nvme", "data-centre TLC NVMe drive, PCIe 3.0 x4", EMU_KIND_SSD, {
		[EMU_P_CMD] = 1500, [EMU_P_LINK_BW] = 3400 * MB, [EMU_P_CHANNELS] = 64,
		[EMU_P_CHUNK] = 16 * KIB, [EMU_P_READ_LAT] = 75 * US, [EMU_P_WRITE_LAT] = 20 * US,
		[EMU_P_READ_BW] = 32000 * MB, [EMU_P_WRITE_BW] = 2000 * MB, [EMU_P_WBUF] = 1 * MIB,
		[EMU_P_FLUSH] = 30 * US, [EMU_P_DISCARD] = 50 * US, [EMU_P_JITTER] = 10 } },
	{ "sata-ssd", "TLC SATA drive, 6 Gbit/s", EMU_KIND_SSD, {
		[EMU_P_CMD] = 10 * US, [EMU_P_LINK_BW] = 550 * MB, [EMU_P_CHANNELS] = 16,
		[EMU_P_CHUNK] = 16 * KIB, [EMU_P_READ_LAT] = 90 * US, [EMU_P_WRITE_LAT] = 40 * US,
		[EMU_P_READ_BW] = 4000 * MB, [EMU_P_WRITE_BW] = 1500 * MB,
		[EMU_P_WCACHE] = 512 * MIB, [EMU_P_WBUF] = 1 * MIB,
		[EMU_P_FLUSH] = 1 * MS, [EMU_P_DISCARD] = 200 * US, [EMU_P_JITTER] = 10 } },
	{ "qlc", "QLC NVMe drive past its SLC cache", EMU_KIND_SSD, {
		[EMU_P_CMD] = 2 * US, [EMU_P_LINK_BW] = 3400 * MB, [EMU_P_CHANNELS] = 32,
		[EMU_P_CHUNK] = 16 * KIB, [EMU_P_READ_LAT] = 130 * US, [EMU_P_WRITE_LAT] = 600 * US,
		[EMU_P_READ_BW] = 8000 * MB, [EMU_P_WRITE_BW] = 250 * MB, [EMU_P_WCACHE] = 64 * MIB,
		[EMU_P_RW_PENALTY] = 30 * US, [EMU_P_RW_SIZE] = 16 * KIB,
		[EMU_P_FLUSH] = 2 * MS, [EMU_P_DISCARD] = 200 * US, [EMU_P_JITTER] = 20 } },
	{ "x25m", "Intel X25-M 80 GB (SSDSA2MH080G1)", EMU_KIND_SSD, {
		[EMU_P_CMD] = 20 * US, [EMU_P_LINK_BW] = 250 * MB, [EMU_P_CHANNELS] = 10,
		[EMU_P_CHUNK] = 4 * KIB, [EMU_P_READ_LAT] = 35 * US, [EMU_P_WRITE_LAT] = 75 * US,
		[EMU_P_READ_BW] = 2000 * MB, [EMU_P_WRITE_BW] = 75 * MB, [EMU_P_WCACHE] = 16 * MIB,
		[EMU_P_WBUF] = 256 * KIB, [EMU_P_RW_PENALTY] = 3 * MS, [EMU_P_RW_SIZE] = 256 * KIB,
		[EMU_P_FLUSH] = 500 * US, [EMU_P_DISCARD] = 200 * US } },
	{ "transcend16", "Transcend TS16GSSD25S-S 16 GB, SLC", EMU_KIND_SSD, {
		[EMU_P_CMD] = 80 * US, [EMU_P_LINK_BW] = 150 * MB, [EMU_P_CHANNELS] = 2,
		[EMU_P_CHUNK] = 4 * KIB, [EMU_P_READ_LAT] = 150 * US, [EMU_P_WRITE_LAT] = 300 * US,
		[EMU_P_READ_BW] = 40 * MB, [EMU_P_WRITE_BW] = 28 * MB,
		[EMU_P_RW_PENALTY] = 12 * MS, [EMU_P_RW_SIZE] = 8 * MIB,
		[EMU_P_FLUSH] = 100 * US, [EMU_P_DISCARD] = 100 * US } },
	{ "memoright32", "MemoRight GT 32 GB (MR25.2-032S), SLC", EMU_KIND_SSD, {
		[EMU_P_CMD] = 40 * US, [EMU_P_LINK_BW] = 150 * MB, [EMU_P_CHANNELS] = 4,
		[EMU_P_CHUNK] = 4 * KIB, [EMU_P_READ_LAT] = 60 * US, [EMU_P_WRITE_LAT] = 60 * US,
		[EMU_P_READ_BW] = 52 * MB, [EMU_P_WRITE_BW] = 42 * MB, [EMU_P_WCACHE] = 16 * MIB,
		[EMU_P_RW_PENALTY] = 9 * MS, [EMU_P_RW_SIZE] = 4 * MIB,
		[EMU_P_FLUSH] = 100 * US, [EMU_P_DISCARD] = 100 * US } },
	{ "mba3073", "Fujitsu MBA3073NP 73 GB, 15000 rpm, Ultra320 SCSI", EMU_KIND_HDD, {
		[EMU_P_CMD] = 100 * US, [EMU_P_LINK_BW] = 320 * MB, [EMU_P_RPM] = 15000,
		[EMU_P_SEEK_TRACK] = 200 * US, [EMU_P_SEEK_AVG] = 3400 * US,
		[EMU_P_SEEK_FULL] = 8 * MS, [EMU_P_SETTLE] = 500 * US,
		[EMU_P_OUTER_BW] = 125 * MB, [EMU_P_INNER_BW] = 85 * MB,
		[EMU_P_BUFFER] = 2 * MIB, [EMU_P_QD] = 64, [EMU_P_ELEVATOR] = EMU_SPTF,
		[EMU_P_STARVE] = 500 * MS, [EMU_P_FLUSH] = 100 * US } },
	{ "sp2504c", "Samsung SP2504C 250 GB, 7200 rpm, SATA", EMU_KIND_HDD, {
		[EMU_P_CMD] = 100 * US, [EMU_P_LINK_BW] = 300 * MB, [EMU_P_RPM] = 7200,
		[EMU_P_SEEK_TRACK] = 800 * US, [EMU_P_SEEK_AVG] = 8900 * US,
		[EMU_P_SEEK_FULL] = 18 * MS, [EMU_P_SETTLE] = 500 * US,
		[EMU_P_OUTER_BW] = 72 * MB, [EMU_P_INNER_BW] = 38 * MB,
		[EMU_P_BUFFER] = 1 * MIB, [EMU_P_QD] = 32, [EMU_P_ELEVATOR] = EMU_SPTF,
		[EMU_P_STARVE] = 1000 * MS, [EMU_P_FLUSH] = 100 * US } },
	{ "hdd7200", "present 7200 rpm nearline drive, 8 TB class", EMU_KIND_HDD, {
		[EMU_P_CMD] = 50 * US, [EMU_P_LINK_BW] = 550 * MB, [EMU_P_RPM] = 7200,
		[EMU_P_SEEK_TRACK] = 500 * US, [EMU_P_SEEK_AVG] = 8000 * US,
		[EMU_P_SEEK_FULL] = 16 * MS, [EMU_P_SETTLE] = 500 * US,
		[EMU_P_OUTER_BW] = 250 * MB, [EMU_P_INNER_BW] = 120 * MB,
		[EMU_P_BUFFER] = 4 * MIB, [EMU_P_WCACHE] = 64 * MIB, [EMU_P_QD] = 32,
		[EMU_P_ELEVATOR] = EMU_SPTF, [EMU_P_STARVE] = 1000 * MS,
		[EMU_P_FLUSH] = 200 * US } },
};

const unsigned int emu_nr_presets = ARRAY_SIZE(emu_presets);

/**
 * emu_preset_find - look a device up
 * @name: as typed
 *
 * Return: the preset, or NULL.
 */
const struct emu_preset *emu_preset_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < emu_nr_presets; i++)
		if (!strcmp(emu_presets[i].name, name))
			return &emu_presets[i];
	return NULL;
}
