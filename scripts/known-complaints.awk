# SPDX-License-Identifier: GPL-2.0-only
# A kernel log without what stock kernels are known to complain of themselves; one line says that something was left out.
#
# When memory runs out while device-mapper registers the queue of a new table 6.1 frees the queue with its reference
# counter still alive: a warning of __percpu_ref_exit() out of blk_free_queue_rcu(). Anybody else's is left.
/unable to set up device queue for new table/ { dm = 1 }
/-+\[ cut here \]-+/ {
	printf "%s", block
	block = ""
	inside = 1
}
inside {
	block = block $0 "\n"
	if ($0 ~ /---\[ end trace/) {
		if (dm && block ~ /WARNING:[^\n]* __percpu_ref_exit\+/ && block ~ /blk_free_queue_rcu\+/)
			print "(the kernel's known warning about a queue that could not be registered)"
		else
			printf "%s", block
		block = ""
		inside = 0
	}
	next
}
{ print }
END { printf "%s", block }
