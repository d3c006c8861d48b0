// SPDX-License-Identifier: GPL-2.0
/*
 * rig_nomem: allocations that devlend makes fail, each once.
 *
 * What "failslab" of the kernel lacks is a choice by who asks: most of devlend's work is done by
 * workers, so no task can be named, and a count that includes all of a host's allocations never
 * hits the same one twice. Here an allocation is known by its stack. It counts if the innermost
 * module on the stack is one of devlend's, so that what the core kernel allocates on its behalf
 * is included, and what a driver allocates that devlend had probed is not.
 *
 * In /sys/module/rig_nomem/parameters:
 *
 *   arm     written 1: the next allocation whose stack, and how often that came since then, has
 *           not failed before, fails; 0: none does. It disarms itself
 *   failed  what failed since arm was written, as a chain of callers; empty if nothing did
 *   seen    allocations that counted since then
 *   stacks  different ones so far
 *
 * Kprobes at the slab allocator's entries (of Linux 6.12), which then return NULL at once: so it
 * works on kernels without CONFIG_FAILSLAB, too. __GFP_NOFAIL is respected, and allocations inside
 * functions that take a lack of memory for a fault of the program are left alone (nomem_spared).
 *
 * Used by tests/e2e/test_failslab.py. Context: kprobe handler, interrupts off; one CPU at a time
 * (@nomem_busy), another's allocations meanwhile do not count.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/jhash.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/preempt.h>
#include <linux/stacktrace.h>
#include <linux/string.h>

#define NOMEM_DEPTH	48
#define NOMEM_STACKS	1024
/* A probe sits so near to its function's begin, bytes. */
#define NOMEM_PROLOGUE	16
/* A loop's first round and its second: the second has something to undo. */
#define NOMEM_ROUNDS	2

struct nomem_stack {
	u32 hash;
	u8 seen;	/* since armed */
	u8 failed;	/* ever */
	bool counts;
};

static struct nomem_stack nomem_stacks[NOMEM_STACKS];
static unsigned int nomem_count;
static unsigned long nomem_trace[NOMEM_DEPTH];
static unsigned long nomem_failed[NOMEM_DEPTH];
static unsigned int nomem_failed_len;
static unsigned int nomem_seen;
static bool nomem_armed, nomem_on;
static atomic_t nomem_busy = ATOMIC_INIT(0);

/*
 * Who cannot do without: the PCI core warns if it cannot add a device that it found, ACPI's
 * interpreter frees twice what it could not fill (6.12), the interrupt core warns when it removes
 * files of /proc/irq that it could not make, and debugging aids turn themselves off.
 */
static const char *const nomem_spared[] = {
	"pci_scan_root_bus_bridge", "pci_scan_child_bus", "pci_bus_add_devices", "acpi_",
	"register_irq_proc",
	"kmemleak_alloc", "__create_object", "debug_object", "__debug_object", "fill_pool",
	"__lock_acquire",
};

static bool nomem_is_spared(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(nomem_spared); i++)
		if (!strncmp(name, nomem_spared[i], strlen(nomem_spared[i])))
			return true;
	return false;
}

static bool nomem_is_module(unsigned long addr)
{
	return addr >= MODULES_VADDR && addr < MODULES_END;
}

/* Is there a module on this stack? Most have none: those are not remembered. */
static bool nomem_has_module(unsigned int len)
{
	unsigned int i;

	for (i = 0; i < len; i++)
		if (nomem_is_module(nomem_trace[i]))
			return true;
	return false;
}

/* Does an allocation with this stack count? */
static bool nomem_counts(unsigned int len)
{
	char name[KSYM_SYMBOL_LEN];	/* "function [module]" */
	bool own = false;
	unsigned int i;

	for (i = 0; i < len; i++) {
		sprint_symbol_no_offset(name, nomem_trace[i]);
		if (nomem_is_module(nomem_trace[i]) && !own) {
			own = strstr(name, "[devlend_");
			if (!own)
				return false;
		}
		if (nomem_is_spared(name))
			return false;
	}
	return own;
}

static struct nomem_stack *nomem_find(unsigned int len)
{
	u32 hash = jhash(nomem_trace, len * sizeof(nomem_trace[0]), 0);
	struct nomem_stack *s;

	for (s = nomem_stacks; s < nomem_stacks + nomem_count; s++)
		if (s->hash == hash)
			return s;
	if (nomem_count == NOMEM_STACKS)
		return NULL;
	s->hash = hash;
	s->counts = nomem_counts(len);
	nomem_count++;
	return s;
}

/* The stack from the probed function outwards, without how the probe works. */
static unsigned int nomem_unwind(struct kprobe *kp)
{
	unsigned int len = stack_trace_save(nomem_trace, NOMEM_DEPTH, 0), i;

	for (i = 0; i < len; i++)
		if (nomem_trace[i] - (unsigned long)kp->addr < NOMEM_PROLOGUE)
			break;
	memmove(nomem_trace, nomem_trace + i, (len - i) * sizeof(nomem_trace[0]));
	return len - i;
}

static bool nomem_fails(struct kprobe *kp)
{
	unsigned int len = nomem_unwind(kp);
	struct nomem_stack *s;

	if (!nomem_has_module(len))
		return false;
	s = nomem_find(len);
	if (!s || !s->counts)
		return false;
	nomem_seen++;
	if (s->seen < U8_MAX)
		s->seen++;
	if (!nomem_armed || s->seen <= s->failed || s->seen > NOMEM_ROUNDS)
		return false;
	s->failed = s->seen;
	nomem_armed = false;
	memcpy(nomem_failed, nomem_trace, sizeof(nomem_failed));
	nomem_failed_len = len;
	return true;
}

/* In a task? A breakpoint looks like an NMI itself. The interrupts of a task are not devlend's. */
static bool nomem_in_task(void)
{
	unsigned int count = preempt_count();

	if (in_nmi())
		count -= NMI_OFFSET + HARDIRQ_OFFSET;
	return !(count & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET));
}

/* Where an allocation that fails goes on: straight back to who asked. */
static noinline void nomem_return(void)
{
}

struct nomem_entry {
	struct kprobe kp;
	bool gfp_third;		/* argument, not the second */
};

static int nomem_pre(struct kprobe *kp, struct pt_regs *regs)
{
	struct nomem_entry *entry = container_of(kp, struct nomem_entry, kp);
	gfp_t gfp = (__force gfp_t)(entry->gfp_third ? regs->dx : regs->si);
	bool fails = false;

	if (!nomem_on || gfp & __GFP_NOFAIL || !nomem_in_task())
		return 0;
	if (!atomic_cmpxchg(&nomem_busy, 0, 1)) {
		fails = nomem_fails(kp);
		atomic_set(&nomem_busy, 0);
	}
	if (!fails)
		return 0;
	regs->ax = 0;
	regs->ip = (unsigned long)nomem_return;
	return 1;
}

/* That there is one keeps the probe from being optimised to what cannot be overridden. */
static void nomem_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
}

#define NOMEM_ENTRY(name, third) {			\
	.kp = {						\
		.symbol_name = name,			\
		.pre_handler = nomem_pre,		\
		.post_handler = nomem_post,		\
	},						\
	.gfp_third = third,				\
}

static struct nomem_entry nomem_entries[] = {
	NOMEM_ENTRY("__kmalloc_noprof", false),
	NOMEM_ENTRY("__kmalloc_cache_noprof", false),
	NOMEM_ENTRY("__kmalloc_cache_node_noprof", false),
	NOMEM_ENTRY("__kmalloc_node_noprof", IS_ENABLED(CONFIG_SLAB_BUCKETS)),
	NOMEM_ENTRY("__kmalloc_node_track_caller_noprof", IS_ENABLED(CONFIG_SLAB_BUCKETS)),
	NOMEM_ENTRY("kmem_cache_alloc_noprof", false),
	NOMEM_ENTRY("kmem_cache_alloc_node_noprof", false),
	NOMEM_ENTRY("kmem_cache_alloc_lru_noprof", true),
};

static int nomem_arm(const char *value, const struct kernel_param *kp)
{
	unsigned int i;
	bool arm;
	int err = kstrtobool(value, &arm);

	if (err)
		return err;
	nomem_on = false;
	while (atomic_cmpxchg(&nomem_busy, 0, 1))
		cpu_relax();
	for (i = 0; i < nomem_count; i++)
		nomem_stacks[i].seen = 0;
	if (arm) {
		nomem_seen = 0;
		nomem_failed_len = 0;
	}
	nomem_armed = arm;
	atomic_set(&nomem_busy, 0);
	nomem_on = arm;
	return 0;
}

static int nomem_show_arm(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%d\n", nomem_armed);
}

/* The functions from the allocator out to the last that is a module's. */
static int nomem_show_failed(char *buf, const struct kernel_param *kp)
{
	unsigned int i, last = 0, len = 0;

	for (i = 0; i < nomem_failed_len; i++)
		if (nomem_is_module(nomem_failed[i]))
			last = i;
	for (i = 0; i <= last && nomem_failed_len; i++)
		len += sysfs_emit_at(buf, len, "%ps ", (void *)nomem_failed[i]);
	return len + sysfs_emit_at(buf, len, "\n");
}

static const struct kernel_param_ops nomem_arm_ops = {
	.set = nomem_arm,
	.get = nomem_show_arm,
};

static const struct kernel_param_ops nomem_failed_ops = {
	.get = nomem_show_failed,
};

module_param_cb(arm, &nomem_arm_ops, NULL, 0644);
module_param_cb(failed, &nomem_failed_ops, NULL, 0444);
module_param_named(seen, nomem_seen, uint, 0444);
module_param_named(stacks, nomem_count, uint, 0444);

static void nomem_unregister(unsigned int count)
{
	while (count)
		unregister_kprobe(&nomem_entries[--count].kp);
}

static int __init nomem_init(void)
{
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(nomem_entries); i++) {
		err = register_kprobe(&nomem_entries[i].kp);
		if (!err)
			continue;
		pr_err("no probe at %s (%d)\n", nomem_entries[i].kp.symbol_name, err);
		nomem_unregister(i);
		return err;
	}
	return 0;
}
module_init(nomem_init);

static void __exit nomem_exit(void)
{
	nomem_unregister(ARRAY_SIZE(nomem_entries));
}
module_exit(nomem_exit);

MODULE_DESCRIPTION("Fail allocations of devlend, for tests");
MODULE_LICENSE("GPL");
