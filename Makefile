# SPDX-License-Identifier: GPL-2.0-only
# The sources are mirrored into build/KVER and built there, so that kernels do not fight over objects.


TOP     := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
VERSION := $(shell cat $(TOP)/VERSION)

ifneq ($(KDIR),)
KDIR    := $(abspath $(KDIR))
KVER    := $(or $(KVER),$(shell cat $(KDIR)/include/config/kernel.release))
else
# "RELEASE DIRECTORY" for a release or one of the short names 6.1, 6.12, debug; empty: the running kernel
_kernel := $(shell $(TOP)/scripts/kernel-dir $(KVER))
override KVER := $(word 1,$(_kernel))
KDIR    := $(word 2,$(_kernel))
endif

B       := $(TOP)/build/$(KVER)
PREFIX  ?= /usr/local
DESTDIR ?=
MODULES := $(addsuffix .ko,$(basename $(shell sed -n 's/^obj-m += *//p' $(TOP)/drivers/*/Kbuild)))
# faults on purpose, a measuring device and examples: built for the tests, never installed
NEVER   := evenkeel_gate\|evenkeel_areas\|evenkeel_version\|evenkeel_raw\|evenkeel_record\|evenkeel_biogen\|evenkeel_biogen_names\|mem2m_example\|nvmalloc_example
# what DKMS builds the modules from; it has no use for the tests' own
SOURCES := $(DESTDIR)/usr/src/evenkeel-$(VERSION)
MODDIR  := $(DESTDIR)/lib/modules/$(KVER)/updates

all: modules tools

modules:
	@$(TOP)/scripts/build-modules '$(KVER)' '$(KDIR)' $(KBUILD_ARGS)

tools:
	$(MAKE) -C $(TOP)/tools

install: modules_install tools_install

modules_install: modules
	install -d $(MODDIR)
	sed 's/\.k\?o$$/.ko/; /\/\($(NEVER)\)\.ko$$/d' $(B)/modules.order | xargs -r install -m 644 -t $(MODDIR)
	$(if $(DESTDIR),,depmod $(KVER))

tools_install: tools
	$(MAKE) -C $(TOP)/tools install

dkms_source:
	install -d $(SOURCES)/scripts
	rsync -a --delete --exclude=/drivers/gate --exclude=/drivers/biogen $(addprefix $(TOP)/,Kbuild Makefile VERSION \
		COPYING drivers include) $(SOURCES)
	install -t $(SOURCES)/scripts $(addprefix $(TOP)/scripts/,build-modules compat-config)
	$(TOP)/scripts/dkms-conf $(SOURCES) >$(SOURCES)/dkms.conf

uninstall:
	@$(if $(DESTDIR)$(FORCE),:,$(TOP)/scripts/may-uninstall)
	rm -f $(addprefix $(MODDIR)/,$(MODULES))
	-$(if $(DESTDIR),,depmod $(KVER))
	$(MAKE) -C $(TOP)/tools uninstall

clean:
	rm -rf $(TOP)/build

help:
	@echo 'make [all]        modules for the running kernel (or KVER=, KDIR=) and the tools'
	@echo 'make modules      the modules alone; KVER= takes a release, 6.1, 6.12 or debug'
	@echo 'make tools        the userspace tools, into build/tools'
	@echo 'make install      modules to /lib/modules/KVER/updates, tools and manual pages to PREFIX'
	@echo '                  (PREFIX=/usr/local; with DESTDIR= depmod is left to the package)'
	@echo 'make dkms_source  what DKMS needs to /usr/src/evenkeel-VERSION; then: dkms install evenkeel/VERSION'
	@echo '                  (scripts/package makes Debian packages of all this)'
	@echo 'make uninstall    the reverse, with the same variables; not with the root file system on a volume,'
	@echo '                  but for FORCE=y'
	@echo 'make clean        remove build/'
	@echo 'scripts/vm --help, scripts/lint --help: run a command in a VM, check the sources'

export PREFIX DESTDIR
.PHONY: all modules tools install modules_install tools_install dkms_source uninstall clean help
