/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DOC: nvmalloc, memory that keeps its content
 *
 * For the kernel's own use, as wu-2011 IV.B.4 has it: pieces of the region of a mounted scmfs,
 * contiguous in kernel addresses whatever they are in the memory. An area is found again by its
 * name, a path in the file system; where it lies is in the file's extents, relative to the
 * region, so an image moves between machines. Stock kernels can't map more behind a mapped range,
 * so the address may change when an area expands: it is valid from nvm_enter() to nvm_leave().
 * An area in one piece is in the direct map, which has huge pages.
 *
 *	struct nvm_area *area = nvmalloc("/mnt/table", SZ_1G, SZ_1M, true);
 *	void *p = nvm_enter(area, &bytes, &cookie);
 *
 *	nvm_write(area, offset, &entry, sizeof(entry));
 *	nvm_leave(area, cookie);
 *
 * On pmem whose host has to flush what is to last nvm_flush() and nvclose() have it do so, or the
 * work that flushes some seconds after a write; an area that writes through can't be had there, as
 * each write would wait for the host. Where it can a fence is all. Once the file system was shut
 * down, or where memory is known to be bad, nvm_write() stores nothing: what addresses of
 * nvm_enter() are used for is up to who uses them.
 *
 * While it is open nobody else can write, truncate or unlink the file, or unmount the file system.
 * nvmalloc() that fails leaves no file; until it returns nobody else is to open that name.
 */
#ifndef _EVENKEEL_NVMALLOC_H
#define _EVENKEEL_NVMALLOC_H

#include <linux/types.h>

struct nvm_area;

struct nvm_area *nvmalloc(const char *path, u64 size, u64 mapped_size, bool write_through);
struct nvm_area *nvmopen(const char *path, bool write_through);
int nvmalloc_expand(struct nvm_area *area, u64 mapped_size);
int nvmalloc_shrink(struct nvm_area *area, u64 mapped_size);
int nvclose(struct nvm_area *area);
int nvfree(struct nvm_area *area);

u64 nvm_size(const struct nvm_area *area);
u64 nvm_mapped_size(struct nvm_area *area);
void *nvm_enter(struct nvm_area *area, u64 *bytes, int *cookie);
void nvm_leave(struct nvm_area *area, int cookie);
int nvm_write(struct nvm_area *area, u64 offset, const void *src, size_t len);
int nvm_flush(struct nvm_area *area);

#endif
