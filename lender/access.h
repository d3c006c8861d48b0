/* SPDX-License-Identifier: GPL-2.0 */
#ifndef LENDER_ACCESS_H
#define LENDER_ACCESS_H

#include <linux/types.h>
#include <linux/uuid.h>

struct devlend_link;
struct lender_dev;

/* hosts that one list can name */
#define LENDER_ACCESS_HOSTS	16

/**
 * struct lender_access - a list of hosts
 * @any: whoever is the peer of one of this host's links; then @host is not used
 * @hosts: entries of @host that are used
 * @host: identities, none of them nil or twice
 */
struct lender_access {
	bool any;
	unsigned int hosts;
	uuid_t host[LENDER_ACCESS_HOSTS];
};

/**
 * enum lender_right - what a host may do with a lent device
 * @LENDER_RIGHT_NONE: it does not hear of it
 * @LENDER_RIGHT_SEE: it hears of it
 * @LENDER_RIGHT_BORROW: it may borrow it
 */
enum lender_right {
	LENDER_RIGHT_NONE,
	LENDER_RIGHT_SEE,
	LENDER_RIGHT_BORROW,
};

/* access_list.c */
int lender_access_parse(const char *text, size_t len, struct lender_access *list, bool *force);
int lender_access_print(const struct lender_access *list, char *buf, size_t size);
bool lender_access_has(const struct lender_access *list, const uuid_t *host);
enum lender_right lender_access_right(const struct lender_access *allow,
				      const struct lender_access *visible, const uuid_t *host);
u32 lender_access_offer(enum lender_right right, u32 offer);

/* access.c */
int lender_access_allow(struct lender_dev *lent, const struct lender_access *list, bool force);
void lender_access_show(struct lender_dev *lent, const struct lender_access *list);
bool lender_access_granted(struct lender_dev *lent, const uuid_t *peer);
u32 lender_access_told(const struct lender_dev *lent, struct devlend_link *link, u32 offer);
void lender_access_evict(struct lender_dev *lent);

#endif /* LENDER_ACCESS_H */
