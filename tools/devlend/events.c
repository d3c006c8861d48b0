// SPDX-License-Identifier: GPL-2.0
/*
 * Events: every change of a state on the devlend bus, and every device that comes or goes, is a
 * uevent; every mount and unmount wakes a poll of mountinfo. What gives none (a process that closes
 * a drive) is found by looking again at least every second.
 */
#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sysfs.h"
#include "wait.h"

#define EVENTS_LOOK_MS		1000
/* where nothing tells */
#define EVENTS_BLIND_MS		100

/* Listen, from now on. Nothing can be heard below another root. */
void events_open(struct events *events)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK, .nl_groups = 1 };

	*events = (struct events){ -1, -1 };
	if (sys_root()[0])
		return;
	events->uevents = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
				 NETLINK_KOBJECT_UEVENT);
	if (events->uevents >= 0 &&
	    bind(events->uevents, (struct sockaddr *)&kernel, sizeof(kernel))) {
		close(events->uevents);
		events->uevents = -1;
	}
	events->mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
}

/*
 * Until something changed that may matter, or it is time to look again, or so many ms are over;
 * whether something was heard.
 */
bool events_wait(struct events *events, int ms)
{
	struct pollfd fds[] = {
		{ .fd = events->uevents, .events = POLLIN },
		{ .fd = events->mounts, .events = POLLPRI },
	};
	int look = events->uevents < 0 ? EVENTS_BLIND_MS : EVENTS_LOOK_MS;
	char buf[8192];

	if (poll(fds, 2, ms < look ? ms : look) <= 0)
		return false;
	while (events->uevents >= 0 && recv(events->uevents, buf, sizeof(buf), 0) > 0)
		;
	return true;
}

void events_close(struct events *events)
{
	if (events->uevents >= 0)
		close(events->uevents);
	if (events->mounts >= 0)
		close(events->mounts);
}
