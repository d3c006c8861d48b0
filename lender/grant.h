/* SPDX-License-Identifier: GPL-2.0 */
#ifndef LENDER_GRANT_H
#define LENDER_GRANT_H

#include <devlend/core.h>

struct lender_dev;

/* grant.c */
enum devlend_status lender_request(struct devlend_link *link, struct devlend_request *rq);

/* config.c, with lender_dev.lock held */
int lender_config_told(struct lender_dev *lent, u32 *told);

/* config.c, aperture.c, probe.c: all with the lease valid and lender_dev.lock held */
enum devlend_status lender_serve_config(struct lender_dev *lent, struct devlend_request *rq);
enum devlend_status lender_serve_attach(struct lender_dev *lent, struct devlend_request *rq);
enum devlend_status lender_serve_probe(struct lender_dev *lent, struct devlend_request *rq);

#endif /* LENDER_GRANT_H */
