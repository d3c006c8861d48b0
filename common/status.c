// SPDX-License-Identifier: GPL-2.0
/* Outcomes of calls: the wire's status codes and this host's errno. */
#include <linux/kernel.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/nospec.h>

#include <devlend/core.h>

static const int status_errno[] = {
	[DEVLEND_OK] = 0,
	[DEVLEND_E_INVAL] = -EINVAL,
	[DEVLEND_E_NOENT] = -ENOENT,
	[DEVLEND_E_STALE] = -ESTALE,
	[DEVLEND_E_BUSY] = -EBUSY,
	[DEVLEND_E_PERM] = -EPERM,
	[DEVLEND_E_NOSPC] = -ENOSPC,
	[DEVLEND_E_IO] = -EIO,
	[DEVLEND_E_NOTSUPP] = -EOPNOTSUPP,
	[DEVLEND_E_TIMEDOUT] = -ETIMEDOUT,
	[DEVLEND_E_NOMEM] = -ENOMEM,
	[DEVLEND_E_RANGE] = -ERANGE,
	[DEVLEND_E_GONE] = -ENODEV,
	[DEVLEND_E_NOSVC] = -ENXIO,
};

/**
 * devlend_status_to_errno() - what the peer said, as errno
 * @status: from the wire; may be anything
 *
 * Context: any. Return: 0 or a negative errno; -EPROTO for what is no status.
 */
int devlend_status_to_errno(enum devlend_status status)
{
	unsigned int i = status;

	if (i >= ARRAY_SIZE(status_errno))
		return -EPROTO;
	return status_errno[array_index_nospec(i, ARRAY_SIZE(status_errno))];
}
EXPORT_SYMBOL_GPL(devlend_status_to_errno);

/**
 * devlend_errno_to_status() - what to tell the peer
 * @err: 0 or a negative errno
 *
 * Context: any. Return: the status; %DEVLEND_E_IO where no other fits.
 */
enum devlend_status devlend_errno_to_status(int err)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(status_errno); i++)
		if (status_errno[i] == err)
			return i;
	return DEVLEND_E_IO;
}
EXPORT_SYMBOL_GPL(devlend_errno_to_status);
