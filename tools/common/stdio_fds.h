/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Started without standard output, a program would get its number for the first device that it
 * opens, and its messages would go there, over what the device has.
 */
#ifndef COMMON_STDIO_FDS_H
#define COMMON_STDIO_FDS_H

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Before anything is opened. What is in their place can't be used: writing fails, and is told. */
static inline void keep_stdio(void)
{
	int fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			_exit(EXIT_FAILURE);
}

#endif
