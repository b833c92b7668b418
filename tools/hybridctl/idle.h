/* SPDX-License-Identifier: GPL-2.0-only */
/* How long a member takes when nobody else asks it for anything. */
#ifndef HYBRIDCTL_IDLE_H
#define HYBRIDCTL_IDLE_H

/*
 * The shortest of a few small reads at places that are drawn, ns: with others at it now and then
 * one has not to wait.  0: it can't be read.
 */
double idle_probe(const char *path);

#endif
