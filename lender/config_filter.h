/* SPDX-License-Identifier: GPL-2.0 */
#ifndef LENDER_CONFIG_FILTER_H
#define LENDER_CONFIG_FILTER_H

#include <linux/types.h>

#include <devlend/wire.h>

int lender_config_filter(const u32 *real, unsigned int size, bool resettable, u32 *told);
int lender_config_encode(const u32 *image, __le32 *out, unsigned int max);

#endif /* LENDER_CONFIG_FILTER_H */
