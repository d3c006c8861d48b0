// SPDX-License-Identifier: GPL-2.0
/*
 * devlend_lender: lend this host's PCI Express devices to other hosts.
 *
 * This file is the module: its service at the core, and the order in which things come and
 * go. lend.c takes devices and gives them back, driver.c holds them, lent.c is the object and
 * its worker, lease.c ends leases, grant.c serves requests, atomic.c the atomic lane, offer.c
 * tells peers.
 *
 * Lock order, outermost first: rescan lock, upstream bridge's lock, device's own lock,
 * lender_dev.lock, the core's locks for windows, lists; atomic.c's raw lock innermost.
 * Documentation/lender.rst has the whole story.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/pci.h>

#include <devlend/core.h>

#include "atomic.h"
#include "grant.h"
#include "lent.h"
#include "offer.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

static void main_link_up(struct devlend_link *link)
{
	lender_offers_link_up(link);
}

static void main_link_down(struct devlend_link *link, enum devlend_down_reason reason)
{
	lender_leases_link_lost(link, false);
	lender_offers_link_down(link);
}

static void main_link_gone(struct devlend_link *link)
{
	lender_leases_link_lost(link, true);
	lender_offers_link_gone(link);
}

static const struct devlend_service main_service = {
	.id = DEVLEND_SVC_PROVIDER,
	.name = KBUILD_MODNAME,
	.link_up = main_link_up,
	.link_down = main_link_down,
	.link_gone = main_link_gone,
	.request = lender_request,
	.atomic = lender_atomic_serve,
};

static int __init main_init(void)
{
	int err = lender_offers_init();

	if (err)
		return err;
	err = lender_lents_init();
	if (err)
		goto offers;
	lender_debugfs_init();
	err = devlend_service_register(&main_service);
	if (err)
		goto lents;
	/* last: from here on devices are lent */
	err = pci_register_driver(&lender_pci_driver);
	if (err)
		goto service;
	return 0;
service:
	devlend_service_unregister(&main_service);
lents:
	lender_debugfs_exit();
	lender_lents_exit();
offers:
	lender_offers_exit();
	return err;
}

static void __exit main_exit(void)
{
	lender_lends_stop();
	lender_reclaim_all(DEVLEND_REVOKE_UNLOAD);
	devlend_service_unregister(&main_service);
	pci_unregister_driver(&lender_pci_driver);
	lender_debugfs_exit();
	lender_lents_exit();
	lender_offers_exit();
}

module_init(main_init);
module_exit(main_exit);
MODULE_DESCRIPTION("Lend PCI Express devices to other hosts through a non-transparent bridge");
MODULE_LICENSE("GPL");
/* "modprobe devlend" loads both */
MODULE_ALIAS("devlend");
