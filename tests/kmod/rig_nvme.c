// SPDX-License-Identifier: GPL-2.0
/*
 * rig_nvme: reads from an NVMe controller with no driver stack above it, to measure what the way
 * to the controller costs by itself.
 *
 * A bare loop: put a read command into the submission queue, ring, wait for its completion, ring
 * again, and take the time. No block layer, no file system, no user space. The buffers are
 * coherent, mapped once. An ordinary PCI driver: nothing in it knows of devlend, and it works the
 * same where the drive is local. It takes only a device whose driver_override names it. Attributes
 * of the device:
 *
 *   run        write "MS BYTES DEPTH poll|irq": for that many milliseconds, DEPTH reads of BYTES
 *              each at random places are under way. poll: the CPU looks for completions; irq: it
 *              sleeps until the controller's interrupt. One write at a time
 *
 * and in debugfs, rig_nvme/<address>/:
 *
 *   latencies  of the last run, in nanoseconds, in order of completion: u32 of this CPU's order
 *   elapsed    its length in nanoseconds
 *
 * Queue pair 1 has interrupts, queue pair 2 has none. The administrative queue is polled.
 *
 * Used by tests/bench/bare.py. Context: process; one mutex serialises runs. The interrupt handler
 * shares with them a completion only.
 */
#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/iopoll.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nvme.h>
#include <linux/pci.h>
#include <linux/prandom.h>
#include <linux/vmalloc.h>

#define BARE_ENTRIES		64	/* of each queue */
#define BARE_DEPTH_MAX		32
#define BARE_BYTES_MAX		SZ_128K
#define BARE_SAMPLES_MAX	65536
#define BARE_MS_MAX		600000
/* an emulator on busy cores stalls for seconds */
#define BARE_TIMEOUT_MS		20000
#define BARE_PAGE		SZ_4K

enum { BARE_ADMIN, BARE_IRQ, BARE_POLL, BARE_QUEUES };

/**
 * struct bare_queue - a submission queue, its completion queue, and their doorbells
 * @sq: entries of commands
 * @cq: entries of completions
 * @sq_dma: where the controller finds @sq
 * @cq_dma: where the controller finds @cq
 * @sq_db: doorbell of @sq
 * @cq_db: doorbell of @cq
 * @tail: next entry of @sq
 * @head: next entry of @cq
 * @phase: of the entries of @cq that are new
 */
struct bare_queue {
	struct nvme_command *sq;
	struct nvme_completion *cq;
	dma_addr_t sq_dma;
	dma_addr_t cq_dma;
	void __iomem *sq_db;
	void __iomem *cq_db;
	u16 tail;
	u16 head;
	u8 phase;
};

/**
 * struct bare_slot - one of the commands that may be under way
 * @data: what is read goes here
 * @list: list of the pages of @data from the second on, for the controller
 * @dma: of @data
 * @list_dma: of @list
 * @start: when the command was put together
 */
struct bare_slot {
	void *data;
	__le64 *list;
	dma_addr_t dma;
	dma_addr_t list_dma;
	u64 start;
};

struct bare {
	struct pci_dev *pdev;
	void __iomem *regs;
	struct mutex lock;	/* one run at a time */
	struct completion came;	/* an interrupt */
	struct bare_queue queue[BARE_QUEUES];
	struct bare_slot slot[BARE_DEPTH_MAX];
	u64 blocks;
	unsigned int block_shift;
	struct rnd_state random;
	struct dentry *folder;
	struct debugfs_blob_wrapper latencies;
	u64 elapsed;
};

/**
 * struct bare_run - what a run is to do, and how far it is
 * @q: queue pair
 * @irq: whether to wait for interrupts
 * @ms: how long
 * @bytes: of each read
 * @depth: reads under way
 * @busy: reads that are under way now
 * @end: when no more begin
 */
struct bare_run {
	struct bare_queue *q;
	bool irq;
	unsigned int ms;
	unsigned int bytes;
	unsigned int depth;
	unsigned int busy;
	u64 end;
};

static struct dentry *bare_root;

static irqreturn_t bare_irq(int irq, void *data)
{
	struct bare *bare = data;

	complete(&bare->came);
	return IRQ_HANDLED;
}

static void bare_submit(struct bare_queue *q, const struct nvme_command *cmd)
{
	q->sq[q->tail] = *cmd;
	q->tail = (q->tail + 1) % BARE_ENTRIES;
	/* orders the command before the doorbell */
	writel(q->tail, q->sq_db);
}

static bool bare_completed(const struct bare_queue *q)
{
	return (le16_to_cpu(READ_ONCE(q->cq[q->head].status)) & 1) == q->phase;
}

/* Take one completion, which is there: its command's id, or -EIO where the command failed. */
static int bare_take(struct bare_queue *q)
{
	const struct nvme_completion *done = &q->cq[q->head];
	u16 status, id;

	/* the rest of the entry is read after its phase */
	dma_rmb();
	status = le16_to_cpu(READ_ONCE(done->status)) >> 1;
	id = READ_ONCE(done->command_id);
	if (++q->head == BARE_ENTRIES) {
		q->head = 0;
		q->phase ^= 1;
	}
	return status ? -EIO : id;
}

/* Look for a completion with the CPU. */
static int bare_poll(const struct bare_queue *q)
{
	u64 end = ktime_get_ns() + BARE_TIMEOUT_MS * (u64)NSEC_PER_MSEC;

	while (!bare_completed(q)) {
		if (ktime_get_ns() > end)
			return -ETIMEDOUT;
		cpu_relax();
		cond_resched();
	}
	return 0;
}

static int bare_sleep(struct bare *bare, const struct bare_queue *q)
{
	/* an interrupt may be older than the completion that was taken last */
	while (!bare_completed(q))
		if (!wait_for_completion_timeout(&bare->came, msecs_to_jiffies(BARE_TIMEOUT_MS)))
			return -ETIMEDOUT;
	return 0;
}

static int bare_admin(struct bare *bare, const struct nvme_command *cmd)
{
	struct bare_queue *q = &bare->queue[BARE_ADMIN];
	int err;

	bare_submit(q, cmd);
	err = bare_poll(q);
	if (err)
		return err;
	err = bare_take(q);
	writel(q->head, q->cq_db);
	return err < 0 ? err : 0;
}

static void bare_read(struct bare *bare, const struct bare_run *run, unsigned int n)
{
	struct bare_slot *slot = &bare->slot[n];
	u64 places = (bare->blocks << bare->block_shift) / run->bytes;
	u64 place = prandom_u32_state(&bare->random) * places >> 32;
	struct nvme_command cmd = {
		.rw.opcode = nvme_cmd_read,
		.rw.command_id = n,
		.rw.nsid = cpu_to_le32(1),
		.rw.dptr.prp1 = cpu_to_le64(slot->dma),
		.rw.slba = cpu_to_le64(place * run->bytes >> bare->block_shift),
		.rw.length = cpu_to_le16((run->bytes >> bare->block_shift) - 1),
	};

	if (run->bytes > 2 * BARE_PAGE)
		cmd.rw.dptr.prp2 = cpu_to_le64(slot->list_dma);
	else if (run->bytes > BARE_PAGE)
		cmd.rw.dptr.prp2 = cpu_to_le64(slot->dma + BARE_PAGE);
	slot->start = ktime_get_ns();
	bare_submit(run->q, &cmd);
}

/* Take all completions that are there; the samples then are @count. */
static int bare_reap(struct bare *bare, struct bare_run *run, u32 *count)
{
	u32 *sample = bare->latencies.data;
	u32 first = *count;
	unsigned int i, done[BARE_DEPTH_MAX];
	u64 now;
	int id;

	while (bare_completed(run->q)) {
		id = bare_take(run->q);
		if (id < 0 || id >= run->depth || !run->busy)
			return -EIO;
		done[*count - first] = id;
		run->busy--;
		++*count;
	}
	writel(run->q->head, run->q->cq_db);
	now = ktime_get_ns();
	for (i = 0; i < *count - first; i++)
		sample[first + i] = min_t(u64, now - bare->slot[done[i]].start, U32_MAX);
	/* as many again */
	if (now >= run->end || *count + run->depth > BARE_SAMPLES_MAX)
		return 0;
	for (i = 0; i < *count - first; i++, run->busy++)
		bare_read(bare, run, done[i]);
	return 0;
}

static int bare_run(struct bare *bare, struct bare_run *run)
{
	u64 start = ktime_get_ns();
	u32 count = 0;
	int err = 0;

	run->end = start + run->ms * (u64)NSEC_PER_MSEC;
	reinit_completion(&bare->came);
	for (run->busy = 0; run->busy < run->depth; run->busy++)
		bare_read(bare, run, run->busy);
	while (run->busy && !err) {
		err = run->irq ? bare_sleep(bare, run->q) : bare_poll(run->q);
		if (!err)
			err = bare_reap(bare, run, &count);
	}
	bare->elapsed = ktime_get_ns() - start;
	bare->latencies.size = err ? 0 : count * sizeof(u32);
	return err;
}

static ssize_t run_store(struct device *dev, struct device_attribute *attr, const char *buf,
			 size_t count)
{
	struct bare *bare = dev_get_drvdata(dev);
	struct bare_run run = {};
	char how[5];
	int err;

	if (sscanf(buf, "%u %u %u %4s", &run.ms, &run.bytes, &run.depth, how) != 4)
		return -EINVAL;
	run.irq = !strcmp(how, "irq");
	if (!run.irq && strcmp(how, "poll"))
		return -EINVAL;
	if (!run.ms || run.ms > BARE_MS_MAX || !run.depth || run.depth > BARE_DEPTH_MAX ||
	    !run.bytes || run.bytes > BARE_BYTES_MAX ||
	    run.bytes & ((1U << bare->block_shift) - 1))
		return -EINVAL;
	run.q = &bare->queue[run.irq ? BARE_IRQ : BARE_POLL];
	mutex_lock(&bare->lock);
	err = bare_run(bare, &run);
	mutex_unlock(&bare->lock);
	return err ?: count;
}
static DEVICE_ATTR_WO(run);

static struct attribute *bare_attrs[] = {
	&dev_attr_run.attr,
	NULL
};
ATTRIBUTE_GROUPS(bare);

static int bare_queue_alloc(struct bare *bare, unsigned int n, unsigned int stride)
{
	struct bare_queue *q = &bare->queue[n];
	struct device *dev = &bare->pdev->dev;

	q->sq = dmam_alloc_coherent(dev, BARE_PAGE, &q->sq_dma, GFP_KERNEL);
	q->cq = dmam_alloc_coherent(dev, BARE_PAGE, &q->cq_dma, GFP_KERNEL);
	if (!q->sq || !q->cq)
		return -ENOMEM;
	q->sq_db = bare->regs + NVME_REG_DBS + 2 * n * stride;
	q->cq_db = q->sq_db + stride;
	q->phase = 1;
	return 0;
}

static int bare_slot_alloc(struct bare *bare, struct bare_slot *slot)
{
	struct device *dev = &bare->pdev->dev;
	unsigned int i;

	slot->data = dmam_alloc_coherent(dev, BARE_BYTES_MAX, &slot->dma, GFP_KERNEL);
	slot->list = dmam_alloc_coherent(dev, BARE_PAGE, &slot->list_dma, GFP_KERNEL);
	if (!slot->data || !slot->list)
		return -ENOMEM;
	for (i = 1; i < BARE_BYTES_MAX / BARE_PAGE; i++)
		slot->list[i - 1] = cpu_to_le64(slot->dma + i * BARE_PAGE);
	return 0;
}

static int bare_wait_ready(struct bare *bare, u32 ready)
{
	u32 csts;

	return read_poll_timeout(readl, csts, (csts & NVME_CSTS_RDY) == ready, 1000,
				 BARE_TIMEOUT_MS * USEC_PER_MSEC, false,
				 bare->regs + NVME_REG_CSTS);
}

/* Take the controller down, whoever had it before, and up again with the administrative queue. */
static int bare_enable(struct bare *bare)
{
	const struct bare_queue *q = &bare->queue[BARE_ADMIN];
	int err;

	writel(0, bare->regs + NVME_REG_CC);
	err = bare_wait_ready(bare, 0);
	if (err)
		return err;
	writel((BARE_ENTRIES - 1) << 16 | (BARE_ENTRIES - 1), bare->regs + NVME_REG_AQA);
	writeq(q->sq_dma, bare->regs + NVME_REG_ASQ);
	writeq(q->cq_dma, bare->regs + NVME_REG_ACQ);
	writel(NVME_CC_ENABLE | NVME_CC_CSS_NVM | NVME_CC_AMS_RR | NVME_CC_SHN_NONE |
	       NVME_CC_IOSQES | NVME_CC_IOCQES, bare->regs + NVME_REG_CC);
	return bare_wait_ready(bare, NVME_CSTS_RDY);
}

static int bare_queue_create(struct bare *bare, unsigned int n, u16 flags)
{
	struct nvme_command cq = {
		.create_cq.opcode = nvme_admin_create_cq,
		.create_cq.prp1 = cpu_to_le64(bare->queue[n].cq_dma),
		.create_cq.cqid = cpu_to_le16(n),
		.create_cq.qsize = cpu_to_le16(BARE_ENTRIES - 1),
		.create_cq.cq_flags = cpu_to_le16(NVME_QUEUE_PHYS_CONTIG | flags),
	};
	struct nvme_command sq = {
		.create_sq.opcode = nvme_admin_create_sq,
		.create_sq.prp1 = cpu_to_le64(bare->queue[n].sq_dma),
		.create_sq.sqid = cpu_to_le16(n),
		.create_sq.qsize = cpu_to_le16(BARE_ENTRIES - 1),
		.create_sq.sq_flags = cpu_to_le16(NVME_QUEUE_PHYS_CONTIG),
		.create_sq.cqid = cpu_to_le16(n),
	};

	return bare_admin(bare, &cq) ?: bare_admin(bare, &sq);
}

/* How large the first namespace is, in blocks of which size. */
static int bare_identify(struct bare *bare)
{
	const struct nvme_id_ns *ns = bare->slot[0].data;
	struct nvme_command cmd = {
		.identify.opcode = nvme_admin_identify,
		.identify.nsid = cpu_to_le32(1),
		.identify.dptr.prp1 = cpu_to_le64(bare->slot[0].dma),
		.identify.cns = NVME_ID_CNS_NS,
	};
	int err = bare_admin(bare, &cmd);

	if (err)
		return err;
	bare->blocks = le64_to_cpu(ns->nsze);
	bare->block_shift = ns->lbaf[ns->flbas & NVME_NS_FLBAS_LBA_MASK].ds;
	if (bare->block_shift < 9 || bare->block_shift > 12 ||
	    bare->blocks < BARE_BYTES_MAX >> bare->block_shift)
		return -EINVAL;
	return 0;
}

static int bare_alloc(struct bare *bare)
{
	unsigned int stride = 4 << NVME_CAP_STRIDE(readq(bare->regs + NVME_REG_CAP));
	unsigned int i;
	int err = 0;

	for (i = 0; i < BARE_QUEUES && !err; i++)
		err = bare_queue_alloc(bare, i, stride);
	for (i = 0; i < BARE_DEPTH_MAX && !err; i++)
		err = bare_slot_alloc(bare, &bare->slot[i]);
	return err;
}

static int bare_start(struct bare *bare)
{
	int err;

	pci_set_master(bare->pdev);
	err = bare_enable(bare);
	if (!err)
		err = bare_identify(bare);
	if (!err)
		err = bare_queue_create(bare, BARE_IRQ, NVME_CQ_IRQ_ENABLED);
	if (!err)
		err = bare_queue_create(bare, BARE_POLL, 0);
	return err;
}

static void bare_stop(void *data)
{
	struct bare *bare = data;

	writel(0, bare->regs + NVME_REG_CC);
	if (bare_wait_ready(bare, 0))
		pci_warn(bare->pdev, "the controller does not stop\n");
	pci_clear_master(bare->pdev);
}

static void bare_free_vectors(void *pdev)
{
	pci_free_irq_vectors(pdev);
}

static void bare_debugfs_remove(void *data)
{
	struct bare *bare = data;

	debugfs_remove_recursive(bare->folder);
	vfree(bare->latencies.data);
}

static int bare_debugfs(struct bare *bare)
{
	bare->latencies.data = vzalloc(BARE_SAMPLES_MAX * sizeof(u32));
	if (!bare->latencies.data)
		return -ENOMEM;
	bare->folder = debugfs_create_dir(pci_name(bare->pdev), bare_root);
	debugfs_create_blob("latencies", 0400, bare->folder, &bare->latencies);
	debugfs_create_u64("elapsed", 0400, bare->folder, &bare->elapsed);
	return devm_add_action_or_reset(&bare->pdev->dev, bare_debugfs_remove, bare);
}

static int bare_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct device *dev = &pdev->dev;
	struct bare *bare;
	int err;

	bare = devm_kzalloc(dev, sizeof(*bare), GFP_KERNEL);
	if (!bare)
		return -ENOMEM;
	bare->pdev = pdev;
	mutex_init(&bare->lock);
	init_completion(&bare->came);
	prandom_seed_state(&bare->random, 1);
	pci_set_drvdata(pdev, bare);
	err = pcim_enable_device(pdev);
	if (err)
		return err;
	err = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(64));
	if (err)
		return err;
	bare->regs = pcim_iomap(pdev, 0, 0);
	if (!bare->regs)
		return -ENOMEM;
	err = bare_debugfs(bare);
	if (err)
		return err;
	err = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSIX | PCI_IRQ_MSI);
	if (err < 0)
		return dev_err_probe(dev, err, "no interrupt\n");
	err = devm_add_action_or_reset(dev, bare_free_vectors, pdev);
	if (!err)
		err = devm_request_irq(dev, pci_irq_vector(pdev, 0), bare_irq, 0, "rig_nvme", bare);
	if (err)
		return err;
	err = bare_alloc(bare);
	/* now: nothing is freed before the controller has stopped, be it half way up only */
	if (!err)
		err = devm_add_action_or_reset(dev, bare_stop, bare);
	if (!err)
		err = bare_start(bare);
	return err ? dev_err_probe(dev, err, "no controller\n") : 0;
}

/* No ids: it takes what is told to use it. */
static struct pci_driver bare_driver = {
	.name = "rig_nvme",
	.probe = bare_probe,
	.dev_groups = bare_groups,
};

static int __init bare_init(void)
{
	int err;

	bare_root = debugfs_create_dir("rig_nvme", NULL);
	err = pci_register_driver(&bare_driver);
	if (err)
		debugfs_remove_recursive(bare_root);
	return err;
}

static void __exit bare_exit(void)
{
	pci_unregister_driver(&bare_driver);
	debugfs_remove_recursive(bare_root);
}

module_init(bare_init);
module_exit(bare_exit);
MODULE_DESCRIPTION("Bare reads from an NVMe controller, for measurements");
MODULE_LICENSE("GPL");
