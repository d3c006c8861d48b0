/* SPDX-License-Identifier: GPL-2.0 */
#ifndef LENDER_DOORBELL_H
#define LENDER_DOORBELL_H

#include <devlend/core.h>

struct lender_dev;
struct lender_doorbell;
struct seq_file;

enum devlend_status lender_serve_events(struct lender_dev *lent, struct devlend_request *rq);
enum devlend_status lender_doorbell_prove(struct lender_dev *lent, u32 event);
unsigned int lender_doorbell_message(const struct lender_doorbell *db, u64 *addr, u32 *data);
u32 lender_doorbell_flags(const struct lender_doorbell *db);
void lender_doorbell_intx(struct lender_doorbell *db, bool masked);
void lender_doorbell_gate(struct lender_dev *lent);
void lender_doorbell_shut(struct lender_dev *lent);
void lender_doorbell_free(struct lender_dev *lent);
void lender_doorbell_show(struct seq_file *m, const struct lender_dev *lent);

#endif /* LENDER_DOORBELL_H */
