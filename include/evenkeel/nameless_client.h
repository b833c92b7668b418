/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DOC: blocks without names, for other drivers
 *
 * A device of the nameless FTL gives blocks their addresses (zhang-2013 table 4.1). One client has
 * it at a time:
 *
 *	struct nl_client *client = nl_client_register("a", &my_ops, me);
 *
 *	io->op = NL_CLIENT_WRITE;
 *	err = nl_client_submit(client, io);	and io->end() gets the addresses in io->name
 *
 * Virtual reads and writes are those of the block device.
 */
#ifndef _EVENKEEL_NAMELESS_CLIENT_H
#define _EVENKEEL_NAMELESS_CLIENT_H

#include <evenkeel/nameless.h>

struct nl_client;

/**
 * struct nl_client_ops - what a client is told, from a workqueue, with no lock held
 * @moved: blocks got other addresses; how many of these it takes. It acknowledges each by
 *	nl_client_acknowledge(), at any time. What it does not take is told again after
 *	nl_client_kick().
 * @restarted: the power is back after a cut: nl_client_list() says what there is, when no request
 *	is under way any more. What was told and is not acknowledged is to be forgotten; when it is,
 *	nl_client_heard() has it told again. Until then @moved does not come, acknowledgements
 *	fail, and old addresses stay as they are
 * @gone: the device was removed: nothing comes any more, and all requests fail; may be NULL
 *
 * @moved may come before the end() of the write that gave the old name, and while an overwrite, a
 * read or a free by the old name is on its way. So a migration is looked at, and acknowledged, when
 * nothing of its block is under way. If the block has the old name then, it is the one that moved,
 * and gets the new one; if not, there is nothing to do. The old address is no other block's with
 * this metadata until it is acknowledged.
 */
struct nl_client_ops {
	unsigned int (*moved)(void *ctx, const struct nl_move *moves, unsigned int nr);
	void (*restarted)(void *ctx);
	void (*gone)(void *ctx);
};

enum nl_client_op { NL_CLIENT_READ, NL_CLIENT_WRITE, NL_CLIENT_FREE };

/**
 * struct nl_client_io - a request
 * @op: what
 * @nr: blocks, one at least
 * @name: @nr names; a write takes the metadata out of these, and puts the addresses in
 * @old: of a write: names that are overwritten; NULL: new blocks
 * @data: @nr blocks of nl_client_block_bytes(); none for NL_CLIENT_FREE
 * @end: told when it is done, maybe in hard interrupt context
 * @ctx: the client's
 * @done: so many blocks were done; an error is about the next one
 * @error: the device's, till @end
 */
struct nl_client_io {
	enum nl_client_op op;
	unsigned int nr;
	struct nl_name *name;
	const struct nl_name *old;
	void *data;
	void (*end)(struct nl_client_io *io, int err);
	void *ctx;
	unsigned int done;
	int error;
};

struct nl_client *nl_client_register(const char *device, const struct nl_client_ops *ops,
				     void *ctx);
void nl_client_unregister(struct nl_client *client);
int nl_client_submit(struct nl_client *client, struct nl_client_io *io);
int nl_client_acknowledge(struct nl_client *client, const struct nl_move *moves, unsigned int nr);
int nl_client_list(struct nl_client *client, u32 *from, struct nl_name *names, unsigned int max);
unsigned int nl_client_block_bytes(const struct nl_client *client);
int nl_client_info(struct nl_client *client, struct nl_names_info *info);
void nl_client_kick(struct nl_client *client);
void nl_client_heard(struct nl_client *client, u64 cuts);
bool nl_client_is_behind(struct nl_client *client);

#endif
