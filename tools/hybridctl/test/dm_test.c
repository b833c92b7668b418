// SPDX-License-Identifier: GPL-2.0-only
/* In which order a volume gets another table, and the one before again. */
#include <errno.h>
#include <libdevmapper.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../dm.h"
#include "../klog.h"
#include "../msg.h"
#include "ktap.h"
#include "wrapped.h"

struct dm_task {
	int type;
	bool failed;
};

static struct {
	char said[64];			/* what was done: a letter each */
	unsigned int resumes_fail;	/* so many */
	bool old_fails;			/* the table before can't be loaded again */
	bool suspended;
	int error;			/* of what fails */
} now;

static void note_it(char what)
{
	size_t n = strlen(now.said);

	if (n + 1 < sizeof(now.said))
		now.said[n] = what;
}

/* --- libdevmapper's --- */

void dm_log_with_errno_init(dm_log_with_errno_fn fn)
{
}

struct dm_task *dm_task_create(int type)
{
	struct dm_task *task = xcalloc(1, sizeof(*task));

	task->type = type;
	return task;
}

void dm_task_destroy(struct dm_task *task)
{
	free(task);
}

int dm_task_set_name(struct dm_task *task, const char *name)
{
	return 1;
}

int dm_task_set_cookie(struct dm_task *task, uint32_t *cookie, uint16_t flags)
{
	return 1;
}

int dm_task_skip_lockfs(struct dm_task *task)
{
	return 1;
}

int dm_task_no_flush(struct dm_task *task)
{
	return 1;
}

int dm_task_add_target(struct dm_task *task, uint64_t start, uint64_t size, const char *type,
		       const char *params)
{
	return 1;
}

void dm_task_update_nodes(void)
{
	note_it('u');
}

static bool reload_fails(void)
{
	return now.suspended && now.old_fails;
}

static bool resume_fails(void)
{
	now.suspended = now.resumes_fail > 0;
	now.resumes_fail -= now.suspended;
	return now.suspended;
}

int dm_task_run(struct dm_task *task)
{
	switch (task->type) {
	case DM_DEVICE_RELOAD:
		note_it('l');
		task->failed = reload_fails();
		break;
	case DM_DEVICE_RESUME:
		note_it('r');
		task->failed = resume_fails();
		break;
	}
	return !task->failed;
}

int dm_task_get_errno(struct dm_task *task)
{
	return now.error;
}

int dm_task_get_info(struct dm_task *task, struct dm_info *info)
{
	*info = (struct dm_info){ .exists = 1, .live_table = 1, .suspended = now.suspended };
	return 1;
}

void *dm_get_next_target(struct dm_task *task, void *next, uint64_t *start, uint64_t *length,
			 char **type, char **params)
{
	*start = 0;
	*length = 8;
	*type = "hybrid";
	*params = "before";
	return NULL;
}

/* --- what else is asked --- */

int klog_mark(void)
{
	return 7;
}

void klog_move(int mark)
{
	note_it('m');
}

char *klog_reason(int mark)
{
	return klog_reason_until(mark, -1);
}

char *klog_reason_until(int mark, int end)
{
	note_it('k');
	return xstrdup("reason");
}

int __wrap_mlockall(int flags)
{
	note_it('[');
	return -1;	/* which is no reason not to go on */
}

int __wrap_munlockall(void)
{
	note_it(']');
	return 0;
}

/* --- the tests --- */

static void reload(const char *title, unsigned int resumes_fail, bool old_fails, int wanted,
		   const char *order)
{
	char *why = NULL;
	bool tried = false;
	int err;

	memset(&now, 0, sizeof(now));
	now.error = EINVAL;
	now.resumes_fail = resumes_fail;
	now.old_fails = old_fails;
	err = dm_reload("vol", 8, "after", &tried, &why);
	ktap_ok(!err == !wanted && tried && !strcmp(now.said, order), "%s: %d, %s", title, err,
		now.said);
	ktap_ok(!err || (why && !strcmp(why, "reason")), "%s: %s", title, why ? why : "");
	free(why);
}

int main(void)
{
	ktap_begin();
	/* Between a suspension and a resume nothing is asked for that is not in memory. */
	reload("another table", 0, false, 0, "l[r]k");
	reload("it can't be resumed: the one before goes on", 1, false, -EINVAL, "l[rmlr]ku");
	reload("nor can that be had: the new one goes on", 1, true, 0, "l[rmlr]ku");
	reload("nothing goes on", 2, false, -EINVAL, "l[rmlr]ku");
	return ktap_end();
}
