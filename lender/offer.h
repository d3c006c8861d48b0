/* SPDX-License-Identifier: GPL-2.0 */
#ifndef LENDER_OFFER_H
#define LENDER_OFFER_H

struct devlend_link;

int lender_offers_init(void);
void lender_offers_exit(void);
void lender_offers_push(void);
void lender_offers_flush(void);
void lender_offers_link_up(struct devlend_link *link);
void lender_offers_link_down(struct devlend_link *link);
void lender_offers_link_gone(struct devlend_link *link);
void lender_offers_again(struct devlend_link *link);

#endif /* LENDER_OFFER_H */
