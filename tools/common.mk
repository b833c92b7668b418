# SPDX-License-Identifier: GPL-2.0-only
# What a tool's Makefile includes, after it has set:
#   PROG        the program's name
#   SRCS        its C files (default: every *.c in the folder), ../ allowed
#   SCRIPTS     programs that need no compiling, instead of or beside PROG
#   PKGS        pkg-config packages
#   MAN         manual pages (default: *.8), MAN5 of what is no program (default: *.5)
#   COMPLETION  bash completion file (default: *.bash), installed under the name without .bash
# Results go to build/tools, objects to build/tools/obj/<folder>.

TOP     := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))..)
NAME    := $(notdir $(CURDIR))
OUT     := $(TOP)/build/tools
OBJ     := $(OUT)/obj/$(NAME)
SRCS    ?= $(wildcard *.c)
MAN     ?= $(wildcard *.8)
MAN5    ?= $(wildcard *.5)
COMPLETION ?= $(wildcard *.bash)
VERSION := $(shell cat $(TOP)/VERSION)
PREFIX  ?= /usr/local
SBINDIR ?= $(PREFIX)/sbin
MANDIR  ?= $(PREFIX)/share/man
COMPDIR ?= $(PREFIX)/share/bash-completion/completions

CFLAGS  ?= -O2 -g
ALL_CFLAGS := -std=gnu11 -Wall -Wextra -Wmissing-prototypes -Wstrict-prototypes -Wshadow \
	-D_GNU_SOURCE -DEVENKEEL_VERSION='"$(VERSION)"' -I$(TOP)/include/uapi $(EXTRA_CFLAGS) $(CFLAGS)
ifneq ($(PKGS),)
ALL_CFLAGS += $(shell pkg-config --cflags $(PKGS))
LIBS    += $(shell pkg-config --libs $(PKGS))
endif

OBJS := $(patsubst %.c,$(OBJ)/%.o,$(subst ../,__/,$(SRCS)))
BINS := $(addprefix $(OUT)/,$(PROG) $(SCRIPTS))

all: $(BINS)

ifneq ($(PROG),)
$(OUT)/$(PROG): $(OBJS)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)
endif

$(OBJ)/__/%.o: ../%.c Makefile $(TOP)/tools/common.mk
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(OBJ)/%.o: %.c Makefile $(TOP)/tools/common.mk
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(addprefix $(OUT)/,$(SCRIPTS)): $(OUT)/%: %
	@mkdir -p $(@D)
	install -m 755 $< $@

install: all
	$(if $(BINS),install -d $(DESTDIR)$(SBINDIR))
	$(if $(BINS),install -m 755 -t $(DESTDIR)$(SBINDIR) $(BINS))
	$(if $(MAN),install -D -m 644 -t $(DESTDIR)$(MANDIR)/man8 $(MAN))
	$(if $(MAN5),install -D -m 644 -t $(DESTDIR)$(MANDIR)/man5 $(MAN5))
	$(foreach c,$(COMPLETION),install -D -m 644 $(c) $(DESTDIR)$(COMPDIR)/$(notdir $(c:.bash=)) &&) :

uninstall:
	rm -f $(addprefix $(DESTDIR)$(SBINDIR)/,$(notdir $(BINS)))
	rm -f $(addprefix $(DESTDIR)$(MANDIR)/man8/,$(notdir $(MAN))) $(addprefix $(DESTDIR)$(MANDIR)/man5/,$(notdir $(MAN5)))
	rm -f $(addprefix $(DESTDIR)$(COMPDIR)/,$(notdir $(COMPLETION:.bash=)))

-include $(OBJS:.o=.d)
.PHONY: all install uninstall
