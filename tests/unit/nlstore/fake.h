/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A device of the FTL nameless in memory, behind libnameless' own functions: what is written to
 * the virtual segment lasts when it is flushed, blocks move and old names go on working, and the
 * power goes at any call that changes something.
 */
#ifndef TEST_NLSTORE_FAKE_H
#define TEST_NLSTORE_FAKE_H

#include <stdbool.h>
#include <stdint.h>

#define FAKE_BLOCK	512u
#define FAKE_PAGES	4096u		/* addresses of the physical segment */
#define FAKE_DISK	512u		/* blocks of the virtual one */

/* How a cut leaves the write that it comes at, and those that were not flushed. */
enum fake_cut {
	FAKE_NONE,		/* nothing of them is there */
	FAKE_ALL,		/* all of them are, although the caller heard of an error */
	FAKE_SOME,		/* any */
	FAKE_KINDS,
};

enum fake_after {
	FAKE_OFF,		/* it stays off, the call fails */
	FAKE_BLINK,		/* it is back when the call has failed */
	FAKE_SILENT,		/* it went and came back before the call, which succeeds */
	FAKE_AFTERS,
};

/* Empty, with the power on. @moving: one write in @moving moves a block, 0: none does. */
void fake_reset(uint64_t seed, unsigned int moving);
/* The power goes at the @n-th change from now on, 0: never. */
void fake_cut_at(uint64_t n, enum fake_cut how, enum fake_after after);
/* The next cut is a process that is killed: nothing gets lost, but no call does anything more. */
void fake_kill_instead(void);
/* It goes and is back before the @n-th read of the virtual segment from now on. */
void fake_blink_at_read(uint64_t n);
bool fake_was_cut(void);
void fake_power_on(void);
/* The process is gone: the device is as it is. */
void fake_killed(void);
/* Changes since fake_reset(). */
uint64_t fake_changes(void);
unsigned int fake_valid(void);
unsigned int fake_waiting(void);
uint64_t fake_moved(void);
/* Blocks of another client's. */
void fake_add_foreign(unsigned int nr);
/* One of the store @id's, as far as its metadata says. */
void fake_add_named(uint64_t id, uint64_t serial);
/* What the device says that it is: how many open() there are. */
unsigned int fake_open(void);
/* One bit of the data of a valid block. */
void fake_spoil(unsigned int which);
/* Of the block of that serial. */
void fake_spoil_serial(uint64_t serial);
/* The flash of the block of that serial can't be read any more. */
void fake_wear_out_serial(uint64_t serial);
/* It can't be from the @n-th read from now on. */
void fake_fade_serial(uint64_t serial, unsigned int n);
/* A valid block is no more. */
void fake_lose(unsigned int which);
/* That of that serial is no more. */
void fake_lose_serial(uint64_t serial);
/* Blocks whose migrations wait are not listed: they moved meanwhile. */
void fake_unlisted(void);
/* One bit of a block of the virtual segment. */
void fake_spoil_disk(unsigned int block, unsigned int bit);
/* It is zeros. */
void fake_wipe_disk(unsigned int block);
/* Blocks of the virtual segment that take space. */
unsigned int fake_mapped(void);
/* So many blocks of both segments there may be, 0: any number. */
void fake_room(unsigned int blocks);
/* @nr blocks move now. */
void fake_move(unsigned int nr);
/* Half of the migrations are told only to who waits for them. */
void fake_lazy(void);
/* @per blocks move with each write to the virtual segment, @all at most. */
void fake_restless(unsigned int per, unsigned int all);

#endif
