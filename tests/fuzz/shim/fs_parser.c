// SPDX-License-Identifier: GPL-2.0-only
#include <linux/fs_parser.h>

#include "words.h"

static int bad_value(struct p_log *log, const struct fs_parameter *param)
{
	return inval_plog(log, "Bad value for '%s'", param->key);
}

int fs_param_is_string(struct p_log *log, const struct fs_parameter_spec *p,
		       struct fs_parameter *param, struct fs_parse_result *result)
{
	return param->type == fs_value_is_string && *param->string ? 0 : bad_value(log, param);
}

int fs_param_is_enum(struct p_log *log, const struct fs_parameter_spec *p,
		     struct fs_parameter *param, struct fs_parse_result *result)
{
	const struct constant_table *c;

	if (param->type != fs_value_is_string)
		return bad_value(log, param);
	for (c = p->data; c->name; c++) {
		if (!strcmp(c->name, param->string)) {
			result->uint_32 = c->value;
			return 0;
		}
	}
	return bad_value(log, param);
}

int fs_param_is_u32(struct p_log *log, const struct fs_parameter_spec *p,
		    struct fs_parameter *param, struct fs_parse_result *result)
{
	if (param->type != fs_value_is_string || kstrtou32(param->string, 0, &result->uint_32))
		return bad_value(log, param);
	return 0;
}

/* One of the wanted kind, or else the last of that name. */
static const struct fs_parameter_spec *look_up(const struct fs_parameter_spec *table,
					       const struct fs_parameter *param, bool *negated)
{
	const struct fs_parameter_spec *p, *other = NULL;
	bool flag = param->type == fs_value_is_flag;

	*negated = false;
	for (p = table; p->name; p++) {
		if (strcmp(p->name, param->key))
			continue;
		if (!p->type == flag)
			return p;
		other = p;
	}
	for (p = table; flag && p->name; p++) {
		if (p->negates && !strncmp(param->key, "no", 2) && !strcmp(p->name, param->key + 2)) {
			*negated = true;
			return p;
		}
	}
	return other;
}

int __fs_parse(struct p_log *log, const struct fs_parameter_spec *table,
	       struct fs_parameter *param, struct fs_parse_result *result)
{
	const struct fs_parameter_spec *p;
	int r;

	result->uint_64 = 0;
	p = look_up(table, param, &result->negated);
	if (!p)
		return -ENOPARAM;
	if (!p->type && param->type != fs_value_is_flag)
		return inval_plog(log, "Unexpected value for '%s'", param->key);
	r = p->type ? p->type(log, p, param, result) : 0;
	return r ? r : p->opt;
}
