// SPDX-License-Identifier: GPL-2.0
/*
 * devlend lspci: the config space of a device that is lent or borrowed, as lspci decodes it.
 *
 * Of a lent device there are two: the real one, and what its borrower is told, which the lender's
 * module filters. Of a borrowed one there is the shadow's. Of an offer nobody here has one before
 * it is borrowed. The bytes go to lspci as a dump, which it reads with -F.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bulk.h"
#include "jsonout.h"
#include "lease.h"
#include "lent.h"
#include "link.h"
#include "offer.h"

#define CONFIG_MAX	4096

/* A config space, and whose it is: @lent is filled in where it is lent. */
struct config {
	char bdf[PCIADDR_MAX];
	const char *view;
	struct lent lent;
	char path[PATH_MAX];
	unsigned char byte[CONFIG_MAX];
	ssize_t len;
};

static bool of_lease(const char *word, struct config *config)
{
	struct leases leases;
	bool found = false;
	size_t i;

	leases_read(&leases);
	for (i = 0; i < leases.count && !found; i++) {
		found = lease_is(&leases.lease[i], word) && leases.lease[i].pci[0];
		if (found)
			snprintf(config->bdf, sizeof(config->bdf), "%s", leases.lease[i].pci);
	}
	leases_free(&leases);
	return found;
}

static bool is_offer(const char *word)
{
	struct offers offers;
	bool found = false;
	size_t i;

	offers_read(&offers);
	for (i = 0; i < offers.count && !found; i++)
		found = offer_is(&offers.offer[i], word);
	offers_free(&offers);
	return found;
}

/* Where the config space is that is meant. */
static int find(const char *word, const struct options *opt, struct config *config, struct why *why)
{
	if (pciaddr_parse(word, config->bdf) && lent_read(&config->lent, config->bdf)) {
		config->view = opt->raw ? "raw" : "borrower";
		if (opt->raw)
			snprintf(config->path, sizeof(config->path), SYS_PCI "/%s/config",
				 config->bdf);
		else
			snprintf(config->path, sizeof(config->path), SYS_BUS "/lent-%s/config",
				 config->bdf);
		return TOOL_OK;
	}
	config->lent.isolated = -1;
	if (of_lease(word, config)) {
		if (opt->raw)
			return why_not(why, TOOL_IMPOSSIBLE,
				       "%s: the real config space is its lender's: devlend lspci --raw there",
				       word);
		config->view = "shadow";
		snprintf(config->path, sizeof(config->path), SYS_PCI "/%s/config", config->bdf);
		return TOOL_OK;
	}
	if (is_offer(word))
		return why_not(why, TOOL_IMPOSSIBLE,
			       "%s: its lender tells it when it is borrowed; until then, devlend lspci there, or devlend show here",
			       word);
	return why_not(why, TOOL_NOT_FOUND, "%s: neither lent nor borrowed; see devlend list",
		       word);
}

static int read_config(struct config *config, struct why *why)
{
	config->len = sys_bytes(config->byte, sizeof(config->byte), config->path);
	if (config->len > 0)
		return TOOL_OK;
	if (config->len == -EACCES || config->len == -EPERM)
		return why_not(why, TOOL_RIGHTS, "only root may see that: use sudo");
	if (config->len == -EBUSY)
		return why_not(why, TOOL_BUSY, "%s: being reset at the moment; try again",
			       config->bdf);
	if (config->len == -ENOENT)
		return why_not(why, TOOL_FAILED,
			       "%s: the modules do not tell; are they and the tool of one version?",
			       config->bdf);
	return why_not(why, TOOL_FAILED, "%s: cannot be read: %s", config->bdf,
		       strerror(-config->len));
}

static void print_json(const struct verb *verb, const struct config *config)
{
	struct json_object *o = json_document(verb->name);
	char hex[2 * CONFIG_MAX + 1];
	ssize_t i;

	for (i = 0; i < config->len; i++)
		sprintf(hex + 2 * i, "%02x", config->byte[i]);
	json_text(o, "device", config->bdf);
	json_text(o, "view", config->view);
	json_object_object_add(o, "isolated", lent_isolated_json(&config->lent));
	json_text(o, "config", hex);
	json_print(o);
}

/* A dump as "lspci -x" makes it, in a file without a name: its descriptor, which outlives exec. */
static int dump(const struct config *config)
{
	int fd = memfd_create("config", 0);
	ssize_t i;

	if (fd < 0)
		return -1;
	dprintf(fd, "%s device", config->bdf);
	for (i = 0; i < config->len; i++) {
		if (i % 16 == 0)
			dprintf(fd, "\n%02zx:", (size_t)i);
		dprintf(fd, " %02x", config->byte[i]);
	}
	dprintf(fd, "\n\n");
	return fd;
}

/* Becomes lspci; returns only if that fails. */
static int become_lspci(const struct config *config, const struct options *opt, struct why *why)
{
	static const char * const verbosity[] = { "-k", "-v", "-vv", "-vvv" };
	char file[32];
	int fd = dump(config);

	if (fd < 0)
		return why_not(why, TOOL_FAILED, "cannot make a file: %s", strerror(errno));
	snprintf(file, sizeof(file), "/proc/self/fd/%d", fd);
	execlp("lspci", "lspci", "-D", verbosity[opt->verbose > 3 ? 3 : opt->verbose], "-F", file,
	       NULL);
	return why_not(why, TOOL_FAILED, "cannot run lspci: %s; install pciutils", strerror(errno));
}

static int run(const struct verb *verb, struct options *opt)
{
	static struct config config;
	struct why why;

	if (devlend_loaded(&why))
		return verb_failed(verb, opt, &why);
	if (opt->devices != 1) {
		why_not(&why, TOOL_USAGE, "lspci of what? Give one device; see devlend list");
		return verb_failed(verb, opt, &why);
	}
	if (find(opt->device[0], opt, &config, &why) || read_config(&config, &why))
		return verb_failed(verb, opt, &why);
	if (opt->json) {
		print_json(verb, &config);
		return TOOL_OK;
	}
	become_lspci(&config, opt, &why);
	return verb_failed(verb, opt, &why);
}

const struct verb verb_lspci = {
	.name = "lspci",
	.args = "DEVICE",
	.doc = "Show a lent device's config space as its borrower is told it.\v"
		"By lspci. DEVICE is a lent device, or a lease, of which the shadow's is shown.",
	.take = TAKE_DEVICES | TAKE_VIEW,
	.run = run,
};
