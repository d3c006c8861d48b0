// SPDX-License-Identifier: GPL-2.0
/* devlend preflight, the host: modules, what its kernel was built with, memory, interrupts. */
#include <stdio.h>
#include <string.h>

#include "preflight.h"

#define GIB4		0x100000000ull
#define CONFIG_TEXT	(512 * 1024)

/* An option of the kernel, and what is missing without it. */
static const struct {
	const char *name, *other;	/* either will do */
	unsigned int roles;
	bool needed;
	const char *without;
} options_wanted[] = {
	{ "X86_64", NULL, ROLE_BOTH, true, "devlend is for x86-64" },
	{ "PCI_MSI", NULL, ROLE_BOTH, true, "interrupts of lent devices are MSI" },
	{ "SWIOTLB", NULL, ROLE_BORROW, false, "memory beyond a window cannot be bounced" },
	{ "INTEL_IOMMU", "AMD_IOMMU", ROLE_LEND, false,
	  "a borrower reaches all memory of this host" },
	{ "IRQ_REMAP", NULL, ROLE_LEND, false, "a borrower can send this host any interrupt" },
};

static bool config_has(const char *text, const char *name)
{
	char want[64];

	if (!name)
		return false;
	snprintf(want, sizeof(want), "\nCONFIG_%s=", name);
	return strstr(text, want);
}

static bool config_text(char *text, size_t size)
{
	static const char * const files[] = {
		"/boot/config-%s", "/usr/lib/modules/%s/config", "/lib/modules/%s/config",
		"/lib/modules/%s/build/.config", "/usr/src/linux-headers-%s/.config",
	};
	char release[128], path[PATH_MAX];
	size_t i;

	sys_read(release, sizeof(release), "/proc/sys/kernel/osrelease");
	text[0] = '\n';
	for (i = 0; release[0] && i < sizeof(files) / sizeof(*files); i++) {
		const char *at = strstr(files[i], "%s");

		snprintf(path, sizeof(path), "%.*s%s%s", (int)(at - files[i]), files[i], release,
			 at + 2);
		if (!sys_read(text + 1, size - 1, "%s", path) && text[1])
			return true;
	}
	return false;
}

static void look_at_config(struct preflight *pf)
{
	struct probe probe = { &pf->findings, "host", "kernel", ROLE_BOTH & pf->roles };
	static char text[CONFIG_TEXT];
	size_t i, count = pf->findings.count;
	char name[64];

	if (!sys_exists("/sys/bus/ntb"))
		fail(&probe, TOOL_MODULES,
		     "modprobe the NTB's driver, such as ntb_hw_intel; where there is none, quick-start.rst, step 4, says how to build it",
		     "the kernel has no NTB bus now");
	if (!config_text(text, sizeof(text))) {
		unknown(&probe, "put the kernel's .config to /boot/config-$(uname -r)",
			"what the kernel was built with cannot be read");
		return;
	}
	for (i = 0; i < sizeof(options_wanted) / sizeof(*options_wanted); i++) {
		if (config_has(text, options_wanted[i].name) ||
		    config_has(text, options_wanted[i].other) ||
		    !(options_wanted[i].roles & pf->roles))
			continue;
		probe.roles = options_wanted[i].roles & pf->roles;
		snprintf(name, sizeof(name), "build a kernel with CONFIG_%s",
			 options_wanted[i].name);
		if (options_wanted[i].needed)
			fail(&probe, TOOL_IMPOSSIBLE, name, "without CONFIG_%s: %s",
			     options_wanted[i].name, options_wanted[i].without);
		else
			warn(&probe, name, "without CONFIG_%s: %s", options_wanted[i].name,
			     options_wanted[i].without);
	}
	if (pf->findings.count == count)
		pass(&probe, "has what is needed");
}

static void look_at_modules(struct preflight *pf)
{
	struct probe probe = { &pf->findings, "host", "modules", ROLE_BOTH };
	bool core = sys_exists("/sys/module/devlend_core");
	bool lender = sys_exists(SYS_DRIVER);
	bool borrower = sys_exists("/sys/module/devlend_borrower");

	pf->roles = (lender ? ROLE_LEND : 0) | (borrower ? ROLE_BORROW : 0);
	if (!pf->roles) {
		pf->roles = ROLE_BOTH;
		fail(&probe, TOOL_MODULES, "modprobe -a devlend_lender devlend_borrower",
		     "%s", core ? "devlend_core alone does nothing" : "not loaded");
		return;
	}
	probe.roles = pf->roles;
	pass(&probe, "loaded, so this host can %s", pf->roles == ROLE_BOTH ? "lend and borrow" :
	     lender ? "lend, and not borrow" : "borrow, and not lend");
}

/* Where RAM ends, and RAM below 4 GiB; other users than root see zeroes. */
static void look_at_memory(struct preflight *pf)
{
	struct probe probe = { &pf->findings, "host", "memory", ROLE_BORROW & pf->roles };
	unsigned long long first, last;
	static char text[256 * 1024];
	char *line, *rest, a[32], b[32];

	sys_read(text, sizeof(text), "/proc/iomem");
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		/* what is indented lies within; what ends so is all of the line */
		if (line[0] == ' ' || !strstr(line, " : System RAM") ||
		    sscanf(line, "%llx-%llx", &first, &last) != 2 || last <= first)
			continue;
		last = (last + 1) & ~0xfffull;
		if (last > pf->ram_end)
			pf->ram_end = last;
		if (first < GIB4)
			pf->low_end = last < GIB4 ? last : GIB4;
	}
	if (!probe.roles)
		return;
	if (!pf->ram_end)
		unknown(&probe, "run it as root", "where this host's RAM lies is not told");
	else if (pf->low_end == pf->ram_end)
		pass(&probe, "RAM ends at %s", bytes_text(pf->ram_end, a, sizeof(a)));
	else
		pass(&probe, "RAM ends at %s, and that below 4 GiB at %s",
		     bytes_text(pf->ram_end, a, sizeof(a)),
		     bytes_text(pf->low_end, b, sizeof(b)));
}

/* AMD's, on by the command line, or by a kernel that was built so. */
static bool is_encrypted(const char *cmdline, bool able)
{
	static char text[CONFIG_TEXT];

	if (strstr(cmdline, "mem_encrypt=on"))
		return true;
	return able && !strstr(cmdline, "mem_encrypt=off") && config_text(text, sizeof(text)) &&
	       config_has(text, "AMD_MEM_ENCRYPT_ACTIVE_BY_DEFAULT");
}

static void look_at_encryption(struct preflight *pf)
{
	struct probe probe = { &pf->findings, "host", "encryption", ROLE_BORROW & pf->roles };
	static char text[64 * 1024];
	bool guest, able;

	if (!probe.roles)
		return;
	/* flags of the first CPU will do */
	sys_read(text, sizeof(text), "/proc/cpuinfo");
	guest = strstr(text, " tdx_guest");
	able = strstr(text, " sme");
	sys_read(text, sizeof(text), "/proc/cmdline");
	if (guest)
		fail(&probe, TOOL_IMPOSSIBLE, "borrow on a host that is no TDX guest",
		     "memory is encrypted: a lent device would read ciphertext");
	else if (is_encrypted(text, able))
		fail(&probe, TOOL_IMPOSSIBLE, "boot with mem_encrypt=off",
		     "memory is encrypted: a lent device would read ciphertext");
	else
		pass(&probe, "memory encryption was not asked for");
}

/* With pci=nomsi, also among other words of that option, no driver is given a message. */
static void look_at_messages(struct preflight *pf)
{
	struct probe probe = { &pf->findings, "host", "messages", ROLE_BORROW & pf->roles };
	char *word, *rest, *option;
	static char text[4096];

	if (!probe.roles)
		return;
	sys_read(text, sizeof(text), "/proc/cmdline");
	for (word = strtok_r(text, "\n ", &rest); word; word = strtok_r(NULL, "\n ", &rest)) {
		if (strncmp(word, "pci=", 4))
			continue;
		for (option = strtok(word + 4, ","); option; option = strtok(NULL, ",")) {
			if (strcmp(option, "nomsi"))
				continue;
			warn(&probe, "boot without pci=nomsi",
			     "MSI is off: what is borrowed has INTx only, by way of its lender's CPU");
			return;
		}
	}
	pass(&probe, "MSI was not switched off");
}

/* The chips of the interrupts that are in use say by their names what they are built on. */
static void look_at_interrupts(struct preflight *pf)
{
	struct probe probe = { &pf->findings, "host", "remapping", pf->roles };
	struct names irqs;
	char chip[64];
	size_t i;

	sys_list(&irqs, "", "/sys/kernel/irq");
	for (i = 0; i < irqs.count && pf->remapping != REMAPPING_ON; i++) {
		if (sys_read(chip, sizeof(chip), "/sys/kernel/irq/%s/chip_name", irqs.name[i]))
			continue;
		if (!strncmp(chip, "IR-", 3) || !strncmp(chip, "AMD-IR", 6))
			pf->remapping = REMAPPING_ON;
		else if (strstr(chip, "APIC") || strstr(chip, "PCI-MSI"))
			pf->remapping = REMAPPING_OFF;
	}
	names_free(&irqs);
	if (pf->remapping == REMAPPING_ON)
		pass(&probe, "interrupts are remapped");
	else if (pf->remapping == REMAPPING_OFF)
		warn(&probe,
		     "enable VT-d or AMD-Vi with interrupt remapping in the firmware, and boot with intel_iommu=on",
		     "interrupts are not remapped: the other host can send this one any");
	else
		unknown(&probe, "", "whether interrupts are remapped cannot be seen");
}

/* The host as a whole. */
void preflight_host(struct preflight *pf)
{
	look_at_modules(pf);
	look_at_config(pf);
	look_at_memory(pf);
	look_at_encryption(pf);
	look_at_messages(pf);
	look_at_interrupts(pf);
}
