// SPDX-License-Identifier: GPL-2.0
/*
 * rig_hang: a host that hangs, with interrupts off on every CPU, while its devices live on.
 *
 * "modprobe rig_hang seconds=N" returns N seconds later, with -EAGAIN, so that nothing is to be
 * unloaded and the host lives on; what its peers did meanwhile is then what they do to a dead one.
 * QEMU's "stop" is no substitute: it halts the devices, too.
 *
 * Used by tests/e2e/test_death.py. Context: stop_machine(): all CPUs, interrupts off, no lock.
 */
#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/module.h>
#include <linux/nmi.h>
#include <linux/sched/clock.h>
#include <linux/stop_machine.h>

static unsigned int seconds = 10;
module_param(seconds, uint, 0444);
MODULE_PARM_DESC(seconds, "how long");

static int hang(void *unused)
{
	u64 end = local_clock() + seconds * (u64)NSEC_PER_SEC;

	/* by the clock: each delay takes longer where this CPU does not get all of a host's CPU */
	while (local_clock() < end) {
		mdelay(1);
		touch_nmi_watchdog();
	}
	return 0;
}

static int __init rig_hang_init(void)
{
	stop_machine(hang, NULL, NULL);
	return -EAGAIN;
}

module_init(rig_hang_init);
MODULE_DESCRIPTION("Hang this host for a while, for tests");
MODULE_LICENSE("GPL");
