/* SPDX-License-Identifier: GPL-2.0-only */
/* Requests of programs to the physical segment: by ioctl, and by io_uring. */
#ifndef NAMELESS_NAMES_IO_H
#define NAMELESS_NAMES_IO_H

#include <evenkeel/nameless_client.h>

struct io_uring_cmd;
struct semaphore;

#define NL_NAMES_PLACES	4	/* requests that workers begin at once */

/**
 * nl_names_io - do a request
 * @client: whose
 * @op: what
 * @user: the program's
 *
 * Context: process context; sleeps until the flash is done, or it is killed.
 * Return: 0 or a negative error number.
 */
long nl_names_io(struct nl_client *client, enum nl_client_op op, struct nl_names_io __user *user);

/**
 * nl_names_io_async - begin a request
 * @client: whose; stays until the request is done, as its file does
 * @places: of the client's: NL_NAMES_PLACES at first
 * @op: what
 * @cmd: struct nl_names_uring is in its SQE
 * @flags: as io_uring gives them
 *
 * Context: process context; sleeps, not for the flash.
 * Return: -EIOCBQUEUED, or the result; -EAGAIN: not where one must not wait; -EINTR, it is killed.
 */
int nl_names_io_async(struct nl_client *client, struct semaphore *places, enum nl_client_op op,
		      struct io_uring_cmd *cmd, unsigned int flags);

#endif
