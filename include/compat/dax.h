/* SPDX-License-Identifier: GPL-2.0-only */
/* Faults of DAX mappings: their size became an order, flags of mappings became one of files. */
#ifndef EVENKEEL_COMPAT_DAX_H
#define EVENKEEL_COMPAT_DAX_H

#include <linux/dax.h>
#include <linux/huge_mm.h>
#include <linux/mman.h>
#include <linux/mm.h>

#include "compat.h"

#ifdef HAVE_FAULT_ORDER
#define compat_fault_size	unsigned int
#define COMPAT_FAULT_PTE	0
#else
#define compat_fault_size	enum page_entry_size
#define COMPAT_FAULT_PTE	PE_SIZE_PTE
#endif

/* A member of struct file_operations: MAP_SYNC is understood. */
#ifdef HAVE_FOP_FLAGS
#define COMPAT_FOP_MMAP_SYNC	.fop_flags = FOP_MMAP_SYNC
#else
#define COMPAT_FOP_MMAP_SYNC	.mmap_supported_flags = MAP_SYNC
#endif

/*
 * Before pages could be shared with DAX a fault that only reads marked the kernel's entry of a hole
 * dirty as well.  Who finds such a one locked, as another flushes it, fails with -EIO and a WARN.
 */
#ifdef HAVE_DAX_SHARED
static inline bool compat_dax_dirty_holes(void)
{
	return false;
}
#else
static inline bool compat_dax_dirty_holes(void)
{
	return true;
}
#endif

/* Where that is so; the bit is fs/dax.c's DAX_ZERO_PAGE. */
static inline bool compat_dax_is_hole(const void *entry)
{
	return xa_is_value(entry) && xa_to_value(entry) & BIT(2);
}

#ifndef HAVE_VM_FLAGS_SET
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}
#endif

#endif
