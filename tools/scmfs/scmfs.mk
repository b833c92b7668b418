# SPDX-License-Identifier: GPL-2.0-only
# For tools that work on scmfs: the module's own engine, built for userspace by the shim that its tests use.
# After it SRCS can be added to; it includes common.mk.
REPO := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))/../..)
vpath %.c $(REPO)/drivers/scmfs $(REPO)/drivers/lib $(REPO)/tests/unit/shim
ENGINE := alloc.c bad.c maps.c numbers.c op.c extent.c index.c inode.c dir.c names.c map.c write.c size.c room.c shift.c xattr.c \
	format.c open.c undo.c scm.c checksum.c shim.c
SRCS := $(wildcard *.c) $(addprefix ../scmfs/,$(COMMON)) $(addprefix ../common/,$(SHARED)) $(ENGINE)
EXTRA_CFLAGS := -I$(REPO)/tests/unit/shim -I$(REPO)/include -I$(REPO)/drivers/scmfs \
	-I$(REPO)/drivers/lib -I$(REPO)/tools/scmfs -fno-strict-aliasing -pthread \
	-Wno-unused-parameter -Wno-sign-compare -Wno-unused-function -Wno-shadow
include $(REPO)/tools/common.mk
