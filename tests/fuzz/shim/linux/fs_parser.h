/* SPDX-License-Identifier: GPL-2.0-only */
/* Options of a mount, as the kernel hands them on and reads those that a table describes. */
#ifndef _FUZZ_FS_PARSER_H
#define _FUZZ_FS_PARSER_H

#include <shim.h>

#define ENOPARAM	519

enum fs_value_type { fs_value_is_flag, fs_value_is_string, fs_value_is_blob };

struct fs_parameter {
	const char *key;
	enum fs_value_type type;
	char *string;
};

struct p_log {
	const char *prefix;
	char text[512];		/* the last line */
};

struct constant_table {
	const char *name;
	int value;
};

struct fs_parse_result {
	bool negated;
	union {
		bool boolean;
		unsigned int uint_32;
		u64 uint_64;
	};
};

struct fs_parameter_spec;
typedef int fs_param_type(struct p_log *log, const struct fs_parameter_spec *p,
			  struct fs_parameter *param, struct fs_parse_result *result);

struct fs_parameter_spec {
	const char *name;
	fs_param_type *type;
	u8 opt;
	bool negates;
	const void *data;
};

fs_param_type fs_param_is_string, fs_param_is_enum, fs_param_is_u32;
#define fsparam_flag(n, o)	{ .name = (n), .opt = (o) }
#define fsparam_flag_no(n, o)	{ .name = (n), .opt = (o), .negates = true }
#define fsparam_string(n, o)	{ .name = (n), .opt = (o), .type = fs_param_is_string }
#define fsparam_u32(n, o)	{ .name = (n), .opt = (o), .type = fs_param_is_u32 }
#define fsparam_enum(n, o, t)	{ .name = (n), .opt = (o), .type = fs_param_is_enum, .data = (t) }

int __fs_parse(struct p_log *log, const struct fs_parameter_spec *table,
	       struct fs_parameter *param, struct fs_parse_result *result);

#define inval_plog(log, fmt, ...)						\
	(snprintf((log)->text, sizeof((log)->text), "%s: " fmt, (log)->prefix, ##__VA_ARGS__), -EINVAL)

#endif
