// SPDX-License-Identifier: GPL-2.0
/*
 * vfio_hold GROUP BDF: open a device as a user of vfio does, say "held", and keep it
 * until standard input ends.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/vfio.h>

static int fail(const char *what)
{
	perror(what);
	return 1;
}

int main(int argc, char **argv)
{
	char path[64], byte;
	int container, group;

	if (argc != 3)
		return 2;
	container = open("/dev/vfio/vfio", O_RDWR);
	if (container < 0)
		return fail("/dev/vfio/vfio");
	snprintf(path, sizeof(path), "/dev/vfio/%s", argv[1]);
	group = open(path, O_RDWR);
	if (group < 0)
		return fail(path);
	if (ioctl(group, VFIO_GROUP_SET_CONTAINER, &container))
		return fail("VFIO_GROUP_SET_CONTAINER");
	if (ioctl(container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU))
		return fail("VFIO_SET_IOMMU");
	if (ioctl(group, VFIO_GROUP_GET_DEVICE_FD, argv[2]) < 0)
		return fail("VFIO_GROUP_GET_DEVICE_FD");
	puts("held");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
