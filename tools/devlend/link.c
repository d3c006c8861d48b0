// SPDX-License-Identifier: GPL-2.0
/* Links: the NTBs of this host, and who is behind them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jsonout.h"
#include "link.h"

static void link_read(struct link *link, const char *name)
{
	char dir[PATH_MAX], path[PATH_MAX], *part, *rest, *real;

	snprintf(dir, sizeof(dir), SYS_BUS "/%s", name);
	*link = (struct link){ 0 };
	snprintf(link->name, sizeof(link->name), "%s", name);
	sys_read(link->state, sizeof(link->state), "%s/state", dir);
	sys_read(link->peer, sizeof(link->peer), "%s/peer_host", dir);
	link->words = sys_number(-1, "%s/words", dir);
	link->beat_timeout_ms = sys_number(-1, "%s/beat_timeout_ms", dir);
	link->atomic_timeout_ms = sys_number(-1, "%s/atomic_timeout_ms", dir);
	link->calls_sent = sys_number(-1, "%s/calls_sent", dir);
	link->calls_received = sys_number(-1, "%s/calls_received", dir);
	link->atomic_sent = sys_number(-1, "%s/atomic_sent", dir);
	link->atomic_received = sys_number(-1, "%s/atomic_received", dir);
	link->frames_rejected = sys_number(-1, "%s/frames_rejected", dir);
	/* the NTB is the last PCI function on the way to the link */
	sys_path(path, "%s", dir);
	real = realpath(path, NULL);
	for (part = strtok_r(real, "/", &rest); real && part; part = strtok_r(NULL, "/", &rest))
		if (strlen(part) >= 12)
			pciaddr_parse(part, link->ntb);
	free(real);
}

/* All links of this host. */
void links_read(struct links *links)
{
	struct names names;
	size_t i;

	sys_list(&names, "link", SYS_BUS);
	links->count = names.count;
	links->link = calloc(names.count + 1, sizeof(*links->link));
	if (!links->link)
		abort();
	for (i = 0; i < names.count; i++)
		link_read(&links->link[i], names.name[i]);
	names_free(&names);
}

void links_free(struct links *links)
{
	free(links->link);
}

/* The name of whoever has an NTB that devlend_core does not have; false = nobody. */
static bool ntb_taken(char *driver, size_t size)
{
	struct names names;
	bool taken = false;
	size_t i;

	sys_list(&names, "", "/sys/bus/ntb/devices");
	for (i = 0; i < names.count && !taken; i++)
		taken = !sys_link_name(driver, size, "/sys/bus/ntb/devices/%s/driver",
				       names.name[i]) && strcmp(driver, "devlend_core");
	names_free(&names);
	return taken;
}

/* Whether any of the modules is there. */
int devlend_loaded(struct why *why)
{
	if (sys_exists("/sys/bus/devlend"))
		return TOOL_OK;
	return why_not(why, TOOL_MODULES,
		       "not loaded: modprobe -a devlend_lender devlend_borrower");
}

/* Why no link can be used, and what to do: TOOL_OK if one can. */
int links_usable(struct why *why)
{
	struct links links;
	char taken[64];
	int code = TOOL_OK;
	size_t i;

	links_read(&links);
	for (i = 0; i < links.count; i++)
		if (!strcmp(links.link[i].state, "up"))
			goto out;
	if (!links.count && ntb_taken(taken, sizeof(taken)))
		code = why_not(why, TOOL_LINK,
			       "no link: %s has the NTB; rmmod %s, modprobe -r devlend, modprobe devlend",
			       taken, taken);
	else if (!links.count)
		code = why_not(why, TOOL_LINK,
			       "no link: no NTB is there; load its driver, such as ntb_hw_intel");
	else if (!strcmp(links.link[0].state, "incompatible"))
		code = why_not(why, TOOL_LINK,
			       "%s: the peer speaks another version of the protocol; install one version of devlend on both hosts",
			       links.link[0].name);
	else if (!strcmp(links.link[0].state, "hello"))
		code = why_not(why, TOOL_LINK,
			       "%s: the peer does not answer; load devlend_core on it",
			       links.link[0].name);
	else
		code = why_not(why, TOOL_LINK,
			       "%s is %s: is the other host on, its NTB cabled and its NTB driver loaded?",
			       links.link[0].name, links.link[0].state);
out:
	links_free(&links);
	return code;
}

struct json_object *link_json(const struct link *link)
{
	struct json_object *o = json_object_new_object();

	json_text(o, "name", link->name);
	json_text(o, "state", link->state);
	json_text(o, "peer", link->peer);
	json_text(o, "ntb", link->ntb);
	json_number(o, "words", link->words);
	json_number(o, "beat_timeout_ms", link->beat_timeout_ms);
	json_number(o, "atomic_timeout_ms", link->atomic_timeout_ms);
	json_number(o, "calls_sent", link->calls_sent);
	json_number(o, "calls_received", link->calls_received);
	json_number(o, "atomic_sent", link->atomic_sent);
	json_number(o, "atomic_received", link->atomic_received);
	json_number(o, "frames_rejected", link->frames_rejected);
	return o;
}
