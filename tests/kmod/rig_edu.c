// SPDX-License-Identifier: GPL-2.0
/*
 * rig_edu: a driver of QEMU's "edu" device, for what its other devices cannot show: plain MSI that
 * can be counted exactly, and DMA of a device whose address width the test chooses.
 *
 * An ordinary PCI driver: nothing in it knows of devlend, and it works the same where the device
 * is local. Attributes of the PCI device:
 *
 *   raise      write N: raise N interrupts, one after another, each awaited for up to 20 s.
 *              The first that does not come ends it: -ETIMEDOUT
 *   handled    interrupts taken in which the device had something to say
 *   spurious   those in which it had nothing to say
 *   lost       interrupts that were raised and did not come
 *   transfer   write a number: that many bytes (1 to 4096) of a pattern go from one buffer to the
 *              device and from there to another buffer; the two are compared. -EIO: they differ
 *   buffer     CPU physical address and DMA address of the first buffer
 *   stream     write a number: the same as transfer, but with pages of the kernel's choosing, each
 *              mapped for its half of the transfer only
 *   streamed   CPU physical address and DMA address of the last such page that the device read,
 *              then of the one that it wrote
 *   poke       write an address: the device writes 64 bytes of 0xa5 there, whether or not anybody
 *              mapped it, and says that it did
 *   first      the first bytes of the first buffer
 *   coherent   write a number of MiB: coherent memory is allocated in place of what there was; 0 =
 *              none. Each page begins with its index. Reads as its DMA address, and how many of its
 *              pages do not follow the one before it in physical memory
 *   memory     its bytes, read by the list of its pages (dma_get_sgtable()), or mapped
 *
 * With the parameter intx it uses INTx, else MSI.
 *
 * Used by tests/e2e/test_msi.py, test_irq_doorbell.py, test_irq_modes.py, test_irq_vectors.py,
 * test_nomsi.py, test_nomsi_lender.py, test_bounce.py, test_iommu_lender.py and
 * test_iommu_borrower.py.
 * Context: process; one mutex, which serialises writes. The interrupt handler shares with them only
 * what is atomic, and a completion.
 */
#include <linux/completion.h>
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/random.h>
#include <linux/scatterlist.h>
#include <linux/vmalloc.h>

#include <devlend/compat.h>

#define EDU_ID			0x00
#define EDU_ID_VALUE		0x010000edu
#define EDU_IRQ_STATUS		0x24
#define EDU_IRQ_RAISE		0x60
#define EDU_IRQ_ACK		0x64
#define EDU_DMA_SRC		0x80
#define EDU_DMA_DST		0x88
#define EDU_DMA_COUNT		0x90
#define EDU_DMA_CMD		0x98
#define EDU_DMA_START		BIT(0)
#define EDU_DMA_TO_HOST		BIT(1)
#define EDU_DMA_IRQ		BIT(2)
/* the device's own memory, as its DMA engine addresses it, and the status bit of its end */
#define EDU_BUFFER		0x40000
#define EDU_BUFFER_SIZE		4096
#define EDU_STATUS_DMA		BIT(8)
/* what "poke" writes, and how much of it */
#define EDU_POKE		0xa5
#define EDU_POKE_SIZE		64
#define EDU_STATUS_RAISED	BIT(0)
/* most that "coherent" allocates */
#define EDU_COHERENT_MAX_MIB	32

/* an emulator on busy cores stalls for seconds */
#define EDU_TIMEOUT_MS		20000
/* the device starts a transfer 100 ms after it is told, and a busy emulator takes long for it */
#define EDU_DMA_TIMEOUT_MS	20000

static unsigned int dma_bits = 64;
module_param(dma_bits, uint, 0444);
MODULE_PARM_DESC(dma_bits, "address bits that the driver says the device has");

static bool intx;
module_param(intx, bool, 0444);
MODULE_PARM_DESC(intx, "use INTx, a level, instead of MSI");

struct edu {
	struct pci_dev *pdev;
	void __iomem *regs;
	struct mutex lock;	/* one writer at a time */
	struct completion came;
	atomic_t handled;
	atomic_t spurious;
	atomic_t lost;
	u8 *buffer[2];
	dma_addr_t dma[2];
	phys_addr_t page_phys[2];
	dma_addr_t page_dma[2];
	void *coherent;
	dma_addr_t coherent_dma;
	size_t coherent_size;
};

static irqreturn_t edu_irq(int irq, void *data)
{
	struct edu *edu = data;
	u32 status = readl(edu->regs + EDU_IRQ_STATUS);

	if (!status || status == ~0u) {
		atomic_inc(&edu->spurious);
		return IRQ_NONE;
	}
	writel(status, edu->regs + EDU_IRQ_ACK);
	atomic_inc(&edu->handled);
	complete(&edu->came);
	return IRQ_HANDLED;
}

static bool edu_await(struct edu *edu, unsigned int ms)
{
	if (wait_for_completion_timeout(&edu->came, msecs_to_jiffies(ms)))
		return true;
	atomic_inc(&edu->lost);
	return false;
}

static ssize_t raise_store(struct device *dev, struct device_attribute *attr, const char *buf,
			   size_t count)
{
	struct edu *edu = dev_get_drvdata(dev);
	unsigned int n;
	int err = kstrtouint(buf, 0, &n);

	if (err)
		return err;
	mutex_lock(&edu->lock);
	while (n-- && !err) {
		reinit_completion(&edu->came);
		writel(EDU_STATUS_RAISED, edu->regs + EDU_IRQ_RAISE);
		if (!edu_await(edu, EDU_TIMEOUT_MS))
			err = -ETIMEDOUT;
	}
	mutex_unlock(&edu->lock);
	return err ?: count;
}
static DEVICE_ATTR_WO(raise);

static int edu_move(struct edu *edu, u64 src, u64 dst, unsigned int bytes, u32 cmd)
{
	reinit_completion(&edu->came);
	writeq(src, edu->regs + EDU_DMA_SRC);
	writeq(dst, edu->regs + EDU_DMA_DST);
	writeq(bytes, edu->regs + EDU_DMA_COUNT);
	writeq(cmd | EDU_DMA_START | EDU_DMA_IRQ, edu->regs + EDU_DMA_CMD);
	return edu_await(edu, EDU_DMA_TIMEOUT_MS) ? 0 : -ETIMEDOUT;
}

/* How much is to be moved: 1 to %EDU_BUFFER_SIZE bytes. */
static int edu_parse_bytes(const char *buf, unsigned int *bytes)
{
	int err = kstrtouint(buf, 0, bytes);

	if (err)
		return err;
	return !*bytes || *bytes > EDU_BUFFER_SIZE ? -EINVAL : 0;
}

static ssize_t transfer_store(struct device *dev, struct device_attribute *attr, const char *buf,
			      size_t count)
{
	struct edu *edu = dev_get_drvdata(dev);
	unsigned int bytes;
	int err = edu_parse_bytes(buf, &bytes);

	if (err)
		return err;
	mutex_lock(&edu->lock);
	get_random_bytes(edu->buffer[0], bytes);
	memset(edu->buffer[1], 0, EDU_BUFFER_SIZE);
	err = edu_move(edu, edu->dma[0], EDU_BUFFER, bytes, 0);
	if (!err)
		err = edu_move(edu, EDU_BUFFER, edu->dma[1], bytes, EDU_DMA_TO_HOST);
	if (!err && (memcmp(edu->buffer[0], edu->buffer[1], bytes) ||
		     memchr_inv(edu->buffer[1] + bytes, 0, EDU_BUFFER_SIZE - bytes)))
		err = -EIO;
	mutex_unlock(&edu->lock);
	return err ?: count;
}
static DEVICE_ATTR_WO(transfer);

static ssize_t buffer_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct edu *edu = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%#llx %#llx\n", (u64)virt_to_phys(edu->buffer[0]),
			  (u64)edu->dma[0]);
}
static DEVICE_ATTR_RO(buffer);

/* One way of a transfer, from or to a page that is mapped for it. */
static int edu_stream_page(struct edu *edu, struct page *page, unsigned int bytes, bool to_host)
{
	enum dma_data_direction dir = to_host ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
	struct device *dev = &edu->pdev->dev;
	dma_addr_t dma = dma_map_page(dev, page, 0, EDU_BUFFER_SIZE, dir);
	int err;

	if (dma_mapping_error(dev, dma))
		return -ENOMEM;
	edu->page_phys[to_host] = page_to_phys(page);
	edu->page_dma[to_host] = dma;
	if (to_host)
		err = edu_move(edu, EDU_BUFFER, dma, bytes, EDU_DMA_TO_HOST);
	else
		err = edu_move(edu, dma, EDU_BUFFER, bytes, 0);
	dma_unmap_page(dev, dma, EDU_BUFFER_SIZE, dir);
	return err;
}

static ssize_t stream_store(struct device *dev, struct device_attribute *attr, const char *buf,
			    size_t count)
{
	struct edu *edu = dev_get_drvdata(dev);
	struct page *from, *to;
	unsigned int bytes;
	int err = edu_parse_bytes(buf, &bytes);

	if (err)
		return err;
	from = alloc_page(GFP_KERNEL);
	to = alloc_page(GFP_KERNEL | __GFP_ZERO);
	err = -ENOMEM;
	if (!from || !to)
		goto free;
	mutex_lock(&edu->lock);
	get_random_bytes(page_address(from), EDU_BUFFER_SIZE);
	err = edu_stream_page(edu, from, bytes, false);
	if (!err)
		err = edu_stream_page(edu, to, bytes, true);
	mutex_unlock(&edu->lock);
	if (!err && (memcmp(page_address(from), page_address(to), bytes) ||
		     memchr_inv(page_address(to) + bytes, 0, EDU_BUFFER_SIZE - bytes)))
		err = -EIO;
free:
	if (from)
		__free_page(from);
	if (to)
		__free_page(to);
	return err ?: count;
}
static DEVICE_ATTR_WO(stream);

static ssize_t streamed_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct edu *edu = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%#llx %#llx %#llx %#llx\n",
			  (u64)edu->page_phys[0], (u64)edu->page_dma[0],
			  (u64)edu->page_phys[1], (u64)edu->page_dma[1]);
}
static DEVICE_ATTR_RO(streamed);

static ssize_t poke_store(struct device *dev, struct device_attribute *attr, const char *buf,
			  size_t count)
{
	struct edu *edu = dev_get_drvdata(dev);
	u64 addr;
	int err = kstrtou64(buf, 0, &addr);

	if (err)
		return err;
	mutex_lock(&edu->lock);
	memset(edu->buffer[1], EDU_POKE, EDU_POKE_SIZE);
	err = edu_move(edu, edu->dma[1], EDU_BUFFER, EDU_POKE_SIZE, 0);
	if (!err)
		err = edu_move(edu, EDU_BUFFER, addr, EDU_POKE_SIZE, EDU_DMA_TO_HOST);
	mutex_unlock(&edu->lock);
	return err ?: count;
}
static DEVICE_ATTR_WO(poke);

static ssize_t first_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct edu *edu = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%*phN\n", 8, edu->buffer[0]);
}
static DEVICE_ATTR_RO(first);

static void edu_free_coherent(struct edu *edu)
{
	if (edu->coherent)
		dma_free_coherent(&edu->pdev->dev, edu->coherent_size, edu->coherent,
				  edu->coherent_dma);
	edu->coherent = NULL;
}

static ssize_t coherent_store(struct device *dev, struct device_attribute *attr, const char *buf,
			      size_t count)
{
	struct edu *edu = dev_get_drvdata(dev);
	unsigned int mib;
	size_t i;
	int err = kstrtouint(buf, 0, &mib);

	if (err || mib > EDU_COHERENT_MAX_MIB)
		return err ?: -EINVAL;
	mutex_lock(&edu->lock);
	edu_free_coherent(edu);
	edu->coherent_size = (size_t)mib << 20;
	if (mib)
		edu->coherent = dma_alloc_coherent(dev, edu->coherent_size, &edu->coherent_dma,
						   GFP_KERNEL);
	if (mib && !edu->coherent)
		err = -ENOMEM;
	for (i = 0; edu->coherent && i < edu->coherent_size >> PAGE_SHIFT; i++)
		*(u32 *)(edu->coherent + (i << PAGE_SHIFT)) = i;
	mutex_unlock(&edu->lock);
	return err ?: count;
}

/* Memory that was remapped for the CPU too lies in the vmalloc area. */
static unsigned long edu_coherent_pfn(const struct edu *edu, size_t offset)
{
	void *at = edu->coherent + offset;

	return is_vmalloc_addr(at) ? vmalloc_to_pfn(at) : PHYS_PFN(virt_to_phys(at));
}

static ssize_t coherent_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct edu *edu = dev_get_drvdata(dev);
	unsigned int breaks = 0;
	ssize_t len = -ENODATA;
	size_t at;

	mutex_lock(&edu->lock);
	if (edu->coherent) {
		for (at = PAGE_SIZE; at < edu->coherent_size; at += PAGE_SIZE)
			breaks += edu_coherent_pfn(edu, at) !=
				  edu_coherent_pfn(edu, at - PAGE_SIZE) + 1;
		len = sysfs_emit(buf, "%#llx %u\n", (u64)edu->coherent_dma, breaks);
	}
	mutex_unlock(&edu->lock);
	return len;
}
static DEVICE_ATTR_RW(coherent);

static ssize_t memory_read(struct file *file, struct kobject *kobj,
			   DEVLEND_BIN_ATTR_CONST struct bin_attribute *attr, char *buf,
			   loff_t off, size_t count)
{
	struct edu *edu = dev_get_drvdata(kobj_to_dev(kobj));
	struct sg_table sgt;
	ssize_t got = -ENODATA;

	mutex_lock(&edu->lock);
	if (edu->coherent)
		got = dma_get_sgtable(&edu->pdev->dev, &sgt, edu->coherent, edu->coherent_dma,
				      edu->coherent_size);
	if (!got) {
		got = sg_pcopy_to_buffer(sgt.sgl, sgt.orig_nents, buf, count, off);
		sg_free_table(&sgt);
	}
	mutex_unlock(&edu->lock);
	return got;
}

static int memory_mmap(struct file *file, struct kobject *kobj,
		       DEVLEND_BIN_ATTR_CONST struct bin_attribute *attr,
		       struct vm_area_struct *vma)
{
	struct edu *edu = dev_get_drvdata(kobj_to_dev(kobj));
	int err = -ENODATA;

	mutex_lock(&edu->lock);
	if (edu->coherent)
		err = dma_mmap_coherent(&edu->pdev->dev, vma, edu->coherent, edu->coherent_dma,
					edu->coherent_size);
	mutex_unlock(&edu->lock);
	return err;
}

static DEVLEND_BIN_ATTR_CONST struct bin_attribute bin_attr_memory = {
	.attr = { .name = "memory", .mode = 0400 },
	.read = memory_read,
	.mmap = memory_mmap,
};

static ssize_t handled_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct edu *edu = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%d\n", atomic_read(&edu->handled));
}
static DEVICE_ATTR_RO(handled);

static ssize_t spurious_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct edu *edu = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%d\n", atomic_read(&edu->spurious));
}
static DEVICE_ATTR_RO(spurious);

static ssize_t lost_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct edu *edu = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%d\n", atomic_read(&edu->lost));
}
static DEVICE_ATTR_RO(lost);

static struct attribute *edu_attrs[] = {
	&dev_attr_raise.attr,
	&dev_attr_transfer.attr,
	&dev_attr_buffer.attr,
	&dev_attr_stream.attr,
	&dev_attr_streamed.attr,
	&dev_attr_poke.attr,
	&dev_attr_first.attr,
	&dev_attr_coherent.attr,
	&dev_attr_handled.attr,
	&dev_attr_spurious.attr,
	&dev_attr_lost.attr,
	NULL
};

static DEVLEND_BIN_ATTR_CONST struct bin_attribute *DEVLEND_BIN_ATTR_CONST edu_bin_attrs[] = {
	&bin_attr_memory,
	NULL
};

static const struct attribute_group edu_group = {
	.attrs = edu_attrs,
	.bin_attrs = edu_bin_attrs,
};
__ATTRIBUTE_GROUPS(edu);

static int edu_alloc(struct edu *edu)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(edu->buffer); i++) {
		edu->buffer[i] = dmam_alloc_coherent(&edu->pdev->dev, EDU_BUFFER_SIZE,
						     &edu->dma[i], GFP_KERNEL);
		if (!edu->buffer[i])
			return -ENOMEM;
	}
	return 0;
}

static void edu_free_all_coherent(void *edu)
{
	edu_free_coherent(edu);
}

static void edu_rest(void *pdev)
{
	pci_clear_master(pdev);
}

static void edu_free_vectors(void *pdev)
{
	pci_clear_master(pdev);
	pci_free_irq_vectors(pdev);
}

static int edu_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct device *dev = &pdev->dev;
	struct edu *edu;
	int err;

	edu = devm_kzalloc(dev, sizeof(*edu), GFP_KERNEL);
	if (!edu)
		return -ENOMEM;
	edu->pdev = pdev;
	mutex_init(&edu->lock);
	init_completion(&edu->came);
	pci_set_drvdata(pdev, edu);
	err = pcim_enable_device(pdev);
	if (err)
		return err;
	err = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(dma_bits));
	if (err)
		return dev_err_probe(dev, err, "no DMA with %u address bits\n", dma_bits);
	edu->regs = pcim_iomap(pdev, 0, 0);
	if (!edu->regs || readl(edu->regs + EDU_ID) != EDU_ID_VALUE)
		return dev_err_probe(dev, -ENODEV, "no registers\n");
	err = devm_add_action_or_reset(dev, edu_free_all_coherent, edu);
	if (err)
		return err;
	err = edu_alloc(edu);
	if (err)
		return dev_err_probe(dev, err, "no buffer within %u address bits\n", dma_bits);
	pci_set_master(pdev);
	if (intx) {
		if (!pdev->irq)
			return dev_err_probe(dev, -ENOTCONN, "no INTx\n");
		err = devm_add_action_or_reset(dev, edu_rest, pdev);
		if (err)
			return err;
		pci_intx(pdev, 1);
		return devm_request_irq(dev, pdev->irq, edu_irq, IRQF_SHARED, "rig_edu", edu);
	}
	err = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSI);
	if (err < 0)
		return dev_err_probe(dev, err, "no MSI\n");
	err = devm_add_action_or_reset(dev, edu_free_vectors, pdev);
	if (err)
		return err;
	return devm_request_irq(dev, pci_irq_vector(pdev, 0), edu_irq, 0, "rig_edu", edu);
}

static const struct pci_device_id edu_ids[] = {
	{ PCI_DEVICE(0x1234, 0x11e8) },
	{}
};
MODULE_DEVICE_TABLE(pci, edu_ids);

static struct pci_driver edu_driver = {
	.name = "rig_edu",
	.id_table = edu_ids,
	.probe = edu_probe,
	.dev_groups = edu_groups,
};
module_pci_driver(edu_driver);

MODULE_DESCRIPTION("Driver of QEMU's edu device, for tests");
MODULE_LICENSE("GPL");
