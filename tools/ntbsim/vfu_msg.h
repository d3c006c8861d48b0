/* SPDX-License-Identifier: GPL-2.0 */
/* What each vfio-user message means. */
#ifndef NTBSIM_VFU_MSG_H
#define NTBSIM_VFU_MSG_H

#include "vfu_conn.h"

/* Handler of a port's connection; conn->owner is the port. */
int vfu_message(struct vfu_conn *conn, const struct vfu_hdr *hdr,
		const void *payload, size_t len, struct vfu_fds *fds);

/**
 * vfu_reply_read() - answer a region read
 * @conn: who asked
 * @msg_id: its message
 * @region: as in the request
 * @off: likewise
 * @data: @len bytes, or NULL for all-ones
 * @len: bytes
 */
void vfu_reply_read(struct vfu_conn *conn, uint16_t msg_id, uint32_t region,
		    uint64_t off, const void *data, uint32_t len);

#endif /* NTBSIM_VFU_MSG_H */
