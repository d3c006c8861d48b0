// SPDX-License-Identifier: GPL-2.0
/*
 * Sleep of this host: refused while a device is borrowed.
 *
 * A sleeping host answers no beat, so the lender would take the device back under a suspended
 * driver; and nobody could save what the device holds, since it is reset there. So whoever wants to
 * sleep returns first. The lender refuses for its part (driver.c there).
 *
 * A notifier, since it is asked before tasks are frozen: those who have to return must run for
 * that. From a "yes" until this host is awake again no borrow starts.
 *
 * Context: process, under the PM core's own locks. Calls into lease.c, which has its lock.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/notifier.h>
#include <linux/suspend.h>

#include "lease.h"

static int pm_event(struct notifier_block *nb, unsigned long event, void *unused)
{
	switch (event) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
	case PM_RESTORE_PREPARE:
		return notifier_from_errno(borrower_leases_sleep());
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		borrower_leases_wake();
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block pm_block = {
	.notifier_call = pm_event,
};

/**
 * borrower_pm_init() - have a say in this host's sleep
 *
 * Context: process. Return: 0 or an errno.
 */
int borrower_pm_init(void)
{
	return register_pm_notifier(&pm_block);
}

/* The module goes. Context: process. */
void borrower_pm_exit(void)
{
	unregister_pm_notifier(&pm_block);
}
