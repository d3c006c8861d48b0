/* SPDX-License-Identifier: GPL-2.0 */
/* Memory windows of a link; see window.c. */
#ifndef DEVLEND_WINDOW_H
#define DEVLEND_WINDOW_H

struct devlend_link;

int devlend_windows_init(struct devlend_link *link);
void devlend_windows_gone(struct devlend_link *link);
void devlend_windows_release(struct devlend_link *link);

#endif /* DEVLEND_WINDOW_H */
