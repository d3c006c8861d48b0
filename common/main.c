// SPDX-License-Identifier: GPL-2.0
/*
 * devlend_core: the NTB client that the lender and the borrower share.
 *
 * The NTB bus has no match function and gives each device to one client only; hence one client
 * for both. This file registers it, keeps this host's identity, and says who holds an NTB that
 * was not given to us. Context: process, in the NTB bus's probe and remove under the device's
 * lock. No locks of its own.
 */
#define pr_fmt(fmt) "devlend: " fmt

#include <linux/dmi.h>
#include <linux/module.h>
#include <linux/ntb.h>
#include <linux/uuid.h>

#include "bus.h"
#include "link.h"

static char *host;
module_param(host, charp, 0444);
MODULE_PARM_DESC(host, "identity of this host, a UUID (default: the one of its firmware)");

static uuid_t main_host;

/**
 * devlend_host_uuid() - this host's identity
 * @out: filled in
 *
 * Context: any.
 */
void devlend_host_uuid(uuid_t *out)
{
	uuid_copy(out, &main_host);
}
EXPORT_SYMBOL_GPL(devlend_host_uuid);

static int main_init_host(void)
{
	const char *dmi = dmi_get_system_info(DMI_PRODUCT_UUID);

	if (host) {
		if (uuid_parse(host, &main_host)) {
			pr_err("host=%s is not a UUID\n", host);
			return -EINVAL;
		}
		return 0;
	}
	if (dmi && !uuid_parse(dmi, &main_host) && !uuid_is_null(&main_host))
		return 0;
	uuid_gen(&main_host);
	pr_info("this host's firmware has no UUID: using %pUb until reboot; set host= to keep one\n",
		&main_host);
	return 0;
}

static int main_probe(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct devlend_link *link = devlend_link_create(ntb);

	if (IS_ERR(link))
		return PTR_ERR(link);
	dev_set_drvdata(&ntb->dev, link);
	return 0;
}

static void main_remove(struct ntb_client *client, struct ntb_dev *ntb)
{
	devlend_link_remove(dev_get_drvdata(&ntb->dev));
	dev_set_drvdata(&ntb->dev, NULL);
}

static struct ntb_client main_client = {
	.ops = {
		.probe = main_probe,
		.remove = main_remove,
	},
};

static int main_check_owner(struct device *dev, void *arg)
{
	if (dev->driver && dev->driver != &main_client.drv)
		dev_err(dev, "held by %s: unload it (and reload devlend) to lend or borrow through this NTB\n",
			dev->driver->name);
	return 0;
}

static int __init main_init(void)
{
	int err = main_init_host();

	if (err)
		return err;
	err = devlend_calls_init();
	if (err)
		return err;
	err = devlend_bus_init();
	if (err)
		goto calls;
	err = ntb_register_client(&main_client);
	if (err)
		goto bus;
	/* the bus reports no error when another client was there first */
	bus_for_each_dev(main_client.drv.bus, NULL, NULL, main_check_owner);
	return 0;
bus:
	devlend_bus_exit();
calls:
	devlend_calls_exit();
	return err;
}
module_init(main_init);

static void __exit main_exit(void)
{
	ntb_unregister_client(&main_client);
	/* the last requests hold links */
	devlend_calls_exit();
	devlend_bus_exit();
}
module_exit(main_exit);

MODULE_DESCRIPTION("Device lending over NTB: links, calls and windows");
MODULE_LICENSE("GPL");
