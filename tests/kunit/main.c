// SPDX-License-Identifier: GPL-2.0
/*
 * The unit tests' module: the suites are in the other objects.
 *
 * Loading it runs all suites; results are in the kernel log and in debugfs (kunit/). It
 * contains the code under test itself, so it needs none of the project's modules, and no NTB; of
 * the kernel's NTB modules only the bus.
 */
#include <linux/module.h>

MODULE_DESCRIPTION("PCIe device lending: unit tests");
MODULE_LICENSE("GPL");
