// SPDX-License-Identifier: GPL-2.0
/*
 * rig_half: a mapping of a borrowed device's memory fails in the middle.
 *
 * What devlend asks of this host's IOMMU driver is done for half of the pages, and then is an
 * error: as where memory for page tables ends. In /sys/module/rig_half/parameters:
 *
 *   arm     write N: the Nth call from now on fails; 0: none does. It disarms itself
 *   done    pages that were mapped by the call that failed; -1: none has failed since arm was
 *           written
 *
 * A kretprobe at Intel's map_pages (of Linux 6.12) that looks who called. Used by
 * tests/e2e/test_map_fails.py. Context: kprobe handlers, any.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/string.h>

#define HALF_CALLER	"borrower_io_map "

static atomic_t half_left = ATOMIC_INIT(0);
static int done = -1;
module_param(done, int, 0400);
MODULE_PARM_DESC(done, "pages that were mapped by the call that failed");

/* 0: this call is to fail */
static int half_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	char name[KSYM_SYMBOL_LEN];	/* "function [module]" */

	if (!atomic_read(&half_left))
		return 1;
	/* at a function's begin that is where it returns to */
	sprint_symbol_no_offset(name, regs_get_kernel_stack_nth(regs, 0));
	if (strncmp(name, HALF_CALLER, strlen(HALF_CALLER)) || atomic_dec_return(&half_left))
		return 1;
	/* map_pages(domain, iova, paddr, pgsize, pgcount, ...) */
	regs->r8 /= 2;
	WRITE_ONCE(done, regs->r8);
	return 0;
}

static int half_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	regs->ax = -ENOMEM;
	return 0;
}

static struct kretprobe half_probe = {
	.kp.symbol_name = "intel_iommu_map_pages",
	.entry_handler = half_entry,
	.handler = half_return,
};

static int half_arm(const char *value, const struct kernel_param *kp)
{
	unsigned int n;
	int err = kstrtouint(value, 0, &n);

	if (err)
		return err;
	WRITE_ONCE(done, -1);
	atomic_set(&half_left, n);
	return 0;
}

static const struct kernel_param_ops half_arm_ops = {
	.set = half_arm,
};
module_param_cb(arm, &half_arm_ops, NULL, 0200);
MODULE_PARM_DESC(arm, "which call from now on fails; 0 = none");

static int __init half_init(void)
{
	return register_kretprobe(&half_probe);
}
module_init(half_init);

static void __exit half_exit(void)
{
	unregister_kretprobe(&half_probe);
}
module_exit(half_exit);

MODULE_DESCRIPTION("Mappings that fail in the middle, for tests");
MODULE_LICENSE("GPL");
