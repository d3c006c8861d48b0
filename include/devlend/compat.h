/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The one place for differences between kernels. The newest spelling is used
 * everywhere; what an older kernel lacks is emulated here, decided by the feature probes in
 * Kbuild.features, never by a version number.
 */
#ifndef DEVLEND_COMPAT_H
#define DEVLEND_COMPAT_H

#ifdef DEVLEND_HAVE_LINUX_UNALIGNED
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#endif /* DEVLEND_COMPAT_H */
