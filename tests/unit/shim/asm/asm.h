/* SPDX-License-Identifier: GPL-2.0-only */
/* Where to go on when a load faults: pairs of places, for a test's handler of SIGSEGV. */
#ifndef EVENKEEL_SHIM_ASM_H
#define EVENKEEL_SHIM_ASM_H

#define _ASM_EXTABLE_UA(from, to)			\
	".pushsection \"shim_extable\", \"a\"\n"	\
	".balign 4\n"					\
	".long (" #from ") - .\n"			\
	".long (" #to ") - .\n"				\
	".popsection\n"

#endif
