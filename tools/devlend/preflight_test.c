// SPDX-License-Identifier: GPL-2.0
/*
 * devlend preflight --test: the other host writes through windows that nobody uses, and an
 * interrupt message of the NTB's own. The kernel does it when it is told to by debugfs, and tells
 * there what came of it; it is looked at here.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "debug.h"
#include "preflight.h"

/* As the kernel tells an outcome. */
struct outcome_line {
	char result[32];
	int err;
	unsigned int offset, want, is;
};

static void tell(const struct probe *probe, const char *what, const struct outcome_line *line)
{
	static const char way[] =
		"lspci -vv of both NTBs: BusMaster+; in this host's log no DMAR or AMD-Vi fault";

	if (!strcmp(line->result, "passed"))
		pass(probe, "%s: what the other host writes arrives", what);
	else if (!strcmp(line->result, "in-use"))
		skipped(probe, "%s: in use", what);
	else if (!strcmp(line->result, "too-small"))
		unknown(probe, "make the NTB's BARs larger in the other host's firmware",
			"%s: nothing to try it with is in its reach", what);
	else if (!strcmp(line->result, "nothing-arrived"))
		fail(probe, TOOL_FAILED, way, "%s: nothing of what the other host wrote arrived",
		     what);
	else if (!strcmp(line->result, "corrupt"))
		fail(probe, TOOL_FAILED,
		     "lspci -vv of both NTBs: errors of the PCIe link (UESta, CESta)",
		     "%s: 0x%x instead of 0x%x at 0x%x", what, line->is, line->want, line->offset);
	else if (!strcmp(line->result, "not-possible"))
		unknown(probe, "", "%s: cannot be tested with this NTB", what);
	else if (!strcmp(line->result, "peer-cannot"))
		unknown(probe, "install one version of devlend on both hosts",
			"%s: the other host does not know this test", what);
	else
		fail(probe, TOOL_FAILED, "try again; the kernel logs of both hosts may say more",
		     "%s: the test failed: %s", what, strerror(-line->err));
}

static void look_at_outcome(struct preflight *pf, const struct link *link)
{
	struct probe probe = { &pf->findings, link->name, "pattern", pf->roles };
	struct outcome_line outcome;
	bool message = false;
	unsigned int number;
	struct names lines;
	char what[64];
	size_t i;
	int skip;

	snprintf(what, sizeof(what), "%s/test", link->name);
	debug_lines(&lines, what);
	for (i = 0; i < lines.count; i++) {
		const char *line = lines.name[i];

		if (strchr(line, ':')) {
			message = !strncmp(line, "message:", 8);
			continue;
		}
		skip = 0;
		if (message)
			snprintf(what, sizeof(what), "interrupt message");
		else if (sscanf(line, "%u%n", &number, &skip) == 1)
			snprintf(what, sizeof(what), "window %u", number);
		if (sscanf(line + skip, "%31s %d %x %x %x", outcome.result, &outcome.err,
			   &outcome.offset, &outcome.want, &outcome.is) != 5)
			continue;
		probe.check = message ? "message" : "pattern";
		tell(&probe, what, &outcome);
	}
	names_free(&lines);
}

/* Test each link that is up. */
void preflight_test(struct preflight *pf)
{
	size_t i;
	int err;

	for (i = 0; i < pf->links.count; i++) {
		const struct link *link = &pf->links.link[i];
		struct probe probe = { &pf->findings, link->name, "pattern", pf->roles };
		char path[PATH_MAX];

		if (strcmp(link->state, "up")) {
			unknown(&probe, "bring the link up first", "no test without a link");
			continue;
		}
		sys_path(path, SYS_DEBUG "/%s/test", link->name);
		err = -sys_write("1", path);
		if (!err)
			look_at_outcome(pf, link);
		else if (err == ENOENT)
			unknown(&probe, "run it as root, with debugfs mounted",
				"the kernel's part of the test is not there");
		else if (err == EACCES || err == EPERM)
			unknown(&probe, "run it as root", "only root may test");
		else
			fail(&probe, err == ENOTCONN ? TOOL_LINK : TOOL_FAILED,
			     "try again; devlend status says whether the link is up",
			     "the test could not be made: %s", strerror(err));
	}
}
