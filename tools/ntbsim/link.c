// SPDX-License-Identifier: GPL-2.0
/* Link state; see link.h. */
#include "link.h"
#include "log.h"
#include "port.h"

void link_init(struct link *link, struct port *a, struct port *b)
{
	link->end[0] = a;
	link->end[1] = b;
	link->allowed = true;
	link->up = false;
	a->link = b->link = link;
	a->peer = b;
	b->peer = a;
	flap_init(&link->flap, link);
}

static bool should_be_up(const struct link *link)
{
	for (int i = 0; i < 2; i++) {
		const struct port *p = link->end[i];

		if (!port_present(p) || !gen3_link_enabled(&p->regs))
			return false;
	}
	return link->allowed;
}

void link_update(struct link *link)
{
	bool up;

	if (!link)
		return;
	up = should_be_up(link);
	if (up == link->up)
		return;
	link->up = up;
	link->changed_us = fault_now();
	log_info("link %s-%s is %s", link->end[0]->cfg->name,
		 link->end[1]->cfg->name, up ? "up" : "down");
	for (int i = 0; i < 2; i++) {
		struct port *p = link->end[i];

		pcicfg_set_link(&p->pci, up);
		if (!port_present(p))
			continue;
		p->cnt.link_events++;
		gen3_set_status(p, GEN3_LINK_BIT);
	}
}
