// SPDX-License-Identifier: GPL-2.0
/*
 * devlend preflight, a device that is lent or may be: what the lender's module asks before it
 * lends, and what a borrower would stumble over. Nothing is touched.
 */
#include <stdio.h>
#include <string.h>

#include "bulk.h"
#include "lent.h"
#include "pcidev.h"
#include "pcipath.h"
#include "preflight.h"
#include "use.h"

#define CLASS_BRIDGE		0x06
#define CAP_MSI			0x05u
#define CAP_MSIX		0x11u
/* Interrupt Line; Interrupt Pin is the byte after it */
#define INTERRUPT_LINE		0x3c
/* vectors that a function can have by MSI, in the capability's control register */
#define MSI_VECTORS(control)	(1u << ((control) >> 1 & 7))
#define BARS			6
/* bits of the third column of a resource file: linux/ioport.h */
#define RESOURCE_MEM		0x200u
#define RESOURCE_UNSET		0x20000000u
/* address bits that an Intel IOMMU translates, in its capability register */
#define INTEL_MGAW(cap)		(((cap) >> 16 & 0x3f) + 1)

/* a device that is looked at */
struct subject_device {
	struct preflight *pf;
	const char *bdf;
	bool lent;
	struct region bar[BARS];
	size_t bars;
	int broken_bar;
	bool translated;
};

static struct probe check(const struct subject_device *dev, const char *name)
{
	return (struct probe){ &dev->pf->findings, dev->bdf, name, ROLE_LEND };
}

static void read_bars(struct subject_device *dev)
{
	unsigned long long start, end, flags;
	char text[4096], *line, *rest;
	int i = 0;

	dev->broken_bar = -1;
	sys_read(text, sizeof(text), SYS_PCI "/%s/resource", dev->bdf);
	for (line = strtok_r(text, "\n", &rest); line && i < BARS;
	     line = strtok_r(NULL, "\n", &rest), i++) {
		if (sscanf(line, "%llx %llx %llx", &start, &end, &flags) != 3 || end < start ||
		    !(flags & RESOURCE_MEM))
			continue;
		if (!start || flags & RESOURCE_UNSET)
			dev->broken_bar = i;
		else
			dev->bar[dev->bars++] = (struct region){ start, end - start + 1 };
	}
}

/* Whether it is something that can be lent at all. */
static bool look_at_kind(const struct subject_device *dev)
{
	const struct probe probe = check(dev, "kind");
	char name[256];
	struct pci_ids ids;
	size_t i;

	pcidev_ids(&ids, dev->bdf);
	pci_device_name(name, sizeof(name), &ids);
	for (i = 0; i < dev->pf->links.count; i++)
		if (!strcmp(dev->pf->links.link[i].ntb, dev->bdf)) {
			fail(&probe, TOOL_IMPOSSIBLE, "choose another device",
			     "it is the NTB, the way to the other host");
			return false;
		}
	if (ids.class >> 16 == CLASS_BRIDGE) {
		fail(&probe, TOOL_IMPOSSIBLE, "lend the functions below it", "it is a bridge");
		return false;
	}
	if (device_is_shadow(dev->bdf)) {
		fail(&probe, TOOL_IMPOSSIBLE, "lend it on its own host",
		     "it is borrowed from another host");
		return false;
	}
	if (sys_number(0, SYS_PCI "/%s/sriov_numvfs", dev->bdf) > 0)
		fail(&probe, TOOL_BUSY, "write 0 to its sriov_numvfs, or lend those",
		     "its virtual functions are enabled");
	else
		pass(&probe, "%s", name);
	return true;
}

static void look_at_use(const struct subject_device *dev)
{
	const struct probe probe = check(dev, "use");
	struct lent lent;
	struct why why;

	if (!dev->lent && use_check(dev->bdf, &why)) {
		fail_why(&probe, &why);
		return;
	}
	if (!dev->lent) {
		pass(&probe, "nothing on this host uses it");
		return;
	}
	if (lent_read(&lent, dev->bdf) && !strcmp(lent.state, "quarantined"))
		fail(&probe, TOOL_FAILED, "devlend reclaim it",
		     "quarantined: it could not be reset");
	else
		pass(&probe, "lent already, %s", lent.state);
}

static void look_at_reset(const struct subject_device *dev)
{
	const struct probe probe = check(dev, "reset");
	char methods[128], *at;

	sys_read(methods, sizeof(methods), SYS_PCI "/%s/reset_method", dev->bdf);
	for (at = methods; (at = strchr(at, '\n'));)
		*at = ' ';
	if (methods[0] || sys_exists(SYS_PCI "/%s/reset", dev->bdf))
		pass(&probe, "can be reset between borrowers%s%s", methods[0] ? ": " : "", methods);
	else if (dev->lent)
		warn(&probe, "",
		     "cannot be reset: what one borrower leaves in it, the next one finds");
	else
		fail(&probe, TOOL_IMPOSSIBLE, "devlend lend --no-reset, if that does not matter",
		     "no way to reset it: one borrower's work could leak to the next");
}

static void look_at_vectors(const struct subject_device *dev, const struct config *config)
{
	const struct probe probe = check(dev, "interrupts");
	int msix = config_cap(config, CAP_MSIX), msi = config_cap(config, CAP_MSI);
	unsigned int vectors = 0;

	if (msix > 0)
		pass(&probe, "MSI-X, %u vectors", (config_word(config, msix + 2) & 0x7ff) + 1);
	else if (msix < 0 || msi < 0)
		unknown(&probe, "run it as root", "its capabilities cannot be read");
	else if (msi > 0)
		vectors = MSI_VECTORS(config_word(config, msi + 2));
	else if (config_word(config, INTERRUPT_LINE) >> 8)
		warn(&probe, "nothing, if that will do; else choose a device with MSI or MSI-X",
		     "INTx only: this host's CPU takes each interrupt, and tells it (mode doorbell)");
	else
		fail(&probe, TOOL_IMPOSSIBLE, "choose a device that has interrupts",
		     "it has no interrupt: neither MSI-X nor MSI nor INTx");
	if (vectors > 1)
		pass(&probe, "MSI, %u vectors; one, if its borrower does not remap interrupts",
		     vectors);
	else if (vectors)
		pass(&probe, "MSI, one vector");
}

static void look_at_bars(const struct subject_device *dev, size_t l)
{
	const struct windows *windows = &dev->pf->windows[l];
	const struct link *link = &dev->pf->links.link[l];
	const struct probe probe = check(dev, "bars");
	unsigned long long need = 0;
	char a[32], b[32];
	size_t i;

	for (i = 0; i < dev->bars; i++)
		if (dev->bar[i].size > need)
			need = dev->bar[i].size;
	bytes_text(need, a, sizeof(a));
	bytes_text(windows_largest(windows), b, sizeof(b));
	if (!windows->inbound)
		return;
	if (windows_fit(windows, dev->bar, dev->bars, false))
		pass(&probe, "fit through the windows of %s (largest BAR %s, largest window %s)",
		     link->name, a, b);
	else if (windows_fit(windows, dev->bar, dev->bars, true))
		warn(&probe, "return a lease; or load devlend_lender with unsafe=1",
		     "fit through %s only in windows that are open for others: refused without an IOMMU behind the NTB",
		     link->name);
	else
		fail(&probe, TOOL_IMPOSSIBLE,
		     "make the NTB's BARs larger in the firmware of both hosts, or return a lease",
		     "do not fit through the windows of %s as they are now (largest BAR %s at 0x%llx, largest window %s from an aligned base)",
		     link->name, a, dev->bars ? dev->bar[0].start : 0, b);
}

static void look_at_all_bars(const struct subject_device *dev)
{
	const struct probe probe = check(dev, "bars");
	size_t l;

	if (dev->broken_bar >= 0)
		fail(&probe, TOOL_IMPOSSIBLE, "boot with pci=realloc", "BAR %d has no address",
		     dev->broken_bar);
	else if (!dev->bars)
		fail(&probe, TOOL_IMPOSSIBLE, "choose a device with memory BARs",
		     "it has no memory BAR");
	else if (dev->lent && sys_exists(SYS_BUS "/lent-%s/link", dev->bdf) &&
		 sys_number(-1, SYS_BUS "/lent-%s/since", dev->bdf) > 0)
		skipped(&probe, "open for its borrower");
	else
		for (l = 0; l < dev->pf->links.count; l++)
			look_at_bars(dev, l);
}

/* A function with a driver, in the same IOMMU group: who, or "". Ports of PCIe do no DMA. */
static void find_mate(const char *bdf, char *mate, size_t size)
{
	struct names names;
	char driver[64];
	size_t i;

	mate[0] = '\0';
	sys_list(&names, "", SYS_PCI "/%s/iommu_group/devices", bdf);
	for (i = 0; i < names.count && !mate[0]; i++) {
		if (!strcmp(names.name[i], bdf))
			continue;
		pcidev_driver(driver, sizeof(driver), names.name[i]);
		if (driver[0] && strcmp(driver, "pcieport") && strcmp(driver, "pci-stub"))
			snprintf(mate, size, "%s (%s)", names.name[i], driver);
	}
	names_free(&names);
}

static int iommu_bits(const char *bdf)
{
	unsigned int high = 0, low = 0;
	char text[32];

	if (sys_read(text, sizeof(text), SYS_PCI "/%s/iommu/intel-iommu/cap", bdf) ||
	    sscanf(text, "%8x%8x", &high, &low) < 1)
		return 0;
	/* as many digits as it has: the low word's are the last eight */
	if (strlen(text) > 8)
		sscanf(text + strlen(text) - 8, "%8x", &low);
	else
		low = high;
	return INTEL_MGAW(low);
}

static void look_at_iommu(struct subject_device *dev)
{
	const struct probe probe = check(dev, "iommu");
	char mate[PCIADDR_MAX + 80];
	int bits;

	dev->translated = sys_exists(SYS_PCI "/%s/iommu_group", dev->bdf);
	if (!dev->translated) {
		warn(&probe,
		     "boot with intel_iommu=on (AMD's is on by default); or lend to hosts that you trust",
		     "no IOMMU translates for it: its borrower reaches all memory of this host");
		return;
	}
	find_mate(dev->bdf, mate, sizeof(mate));
	bits = iommu_bits(dev->bdf);
	if (dev->pf->remapping == REMAPPING_OFF)
		fail(&probe, TOOL_IMPOSSIBLE,
		     "enable interrupt remapping in firmware and kernel, or load devlend_lender with unsafe=1",
		     "this host has an IOMMU and does not remap interrupts: lend is refused");
	else if (mate[0])
		fail(&probe, TOOL_BUSY, "unbind or reclaim that one",
		     "%s of its IOMMU group is in use, and nothing isolates the two", mate);
	else if (bits)
		pass(&probe, "alone in its IOMMU group; %d address bits", bits);
	else
		pass(&probe, "alone in its IOMMU group");
}

/* What its last driver told the kernel that it can address; an IOMMU would choose low ones. */
static void look_at_width(const struct subject_device *dev)
{
	long long bits = sys_number(-1, SYS_PCI "/%s/dma_mask_bits", dev->bdf);
	const struct probe probe = check(dev, "width");
	unsigned long long end, limit;
	char driver[64];
	size_t l, w;

	pcidev_driver(driver, sizeof(driver), dev->bdf);
	if (dev->translated)
		return;
	if (dev->lent || !driver[0] || bits <= 0) {
		unknown(&probe, "",
			"how wide its addresses are is not told while its driver does not have it");
		return;
	}
	limit = bits >= 64 ? ~0ull : (1ull << bits) - 1;
	for (l = 0; l < dev->pf->links.count; l++)
		for (w = 0; w < dev->pf->windows[l].outbound; w++) {
			end = dev->pf->windows[l].out[w].cpu_phys +
			      dev->pf->windows[l].out[w].size - 1;
			if (end <= limit)
				continue;
			fail(&probe, TOOL_IMPOSSIBLE,
			     "boot with the IOMMU on, which chooses lower addresses",
			     "%s uses %lld address bits, and the NTB's BAR ends at 0x%llx: it gets no DMA",
			     driver, bits, end);
			return;
		}
	pass(&probe, "%s uses %lld address bits", driver, bits);
}

/* All that is to be known of one device. */
void preflight_device(struct preflight *pf, const char *bdf)
{
	struct subject_device dev = { .pf = pf, .bdf = bdf };
	struct config config;

	dev.lent = sys_exists(SYS_BUS "/lent-%s", bdf);
	if (!look_at_kind(&dev))
		return;
	config_read(&config, bdf);
	read_bars(&dev);
	look_at_use(&dev);
	look_at_reset(&dev);
	look_at_vectors(&dev, &config);
	look_at_all_bars(&dev);
	look_at_iommu(&dev);
	look_at_width(&dev);
	preflight_path(pf, bdf);
}
