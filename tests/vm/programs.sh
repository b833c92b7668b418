# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What is run in a machine, in its memory: each start of a program of the host's file system is messages to the host.
# Sourced by who runs suites there.

# One static program starts ten times faster than those with shared libraries.
bin=/run/evenkeel/bin
/run/evenkeel/busybox mkdir -p $bin
for applet in awk basename cat cut dirname dmesg grep head ls md5sum mkdir mkfifo mktemp mv rm sed \
	seq setsid sleep sort tail touch tr true uniq wc; do
	[ -e $bin/$applet ] || /run/evenkeel/busybox ln -s ../busybox $bin/$applet
done
/run/evenkeel/busybox cp build/tests/bin/* build/tools/hybridctl $bin
PATH=$bin:$PATH
export EVENKEEL_BUILTINS=$bin/builtins.so
