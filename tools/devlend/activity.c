// SPDX-License-Identifier: GPL-2.0
/* What a borrowed device does, as this host's kernel counts it: I/O, packets, interrupts. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "activity.h"
#include "jsonout.h"

/* of /sys/block/NAME/stat, whatever the drive's own sectors are */
#define SECTOR_BYTES	512

static void read_disk(const char *name, struct activity *activity)
{
	long long reads, read_sectors, writes, written_sectors;
	char text[512];

	sys_read(text, sizeof(text), "/sys/class/block/%s/stat", name);
	if (sscanf(text, "%lld %*d %lld %*d %lld %*d %lld", &reads, &read_sectors, &writes,
		   &written_sectors) != 4)
		return;
	activity->reads += reads;
	activity->read_bytes += read_sectors * SECTOR_BYTES;
	activity->writes += writes;
	activity->written_bytes += written_sectors * SECTOR_BYTES;
}

static long long statistic(const char *interface, const char *name)
{
	return sys_number(0, "/sys/class/net/%s/statistics/%s", interface, name);
}

static void read_net(const char *name, struct activity *activity)
{
	activity->rx_packets += statistic(name, "rx_packets");
	activity->rx_bytes += statistic(name, "rx_bytes");
	activity->tx_packets += statistic(name, "tx_packets");
	activity->tx_bytes += statistic(name, "tx_bytes");
}

/* " 24:   12   0  IR-PCI-MSIX ...": a number, and a count for each CPU */
static void count_line(const char *line, struct activity *activity)
{
	unsigned int irq;
	char *at, *end;
	long long one;
	size_t i;

	irq = strtoul(line, &at, 10);
	if (at == line || *at != ':')
		return;
	for (i = 0; i < activity->vectors && activity->vector[i].irq != irq; i++)
		;
	if (i == activity->vectors)
		return;
	for (at++;; at = end) {
		one = strtoll(at, &end, 10);
		if (end == at || !isspace((unsigned char)*end))
			break;
		activity->vector[i].count += one;
		activity->interrupts += one;
	}
}

static void read_vectors(const struct lease *lease, struct activity *activity)
{
	char path[PATH_MAX], *line = NULL;
	struct names names;
	size_t i, room = 0;
	FILE *file;

	sys_list(&names, "", SYS_PCI "/%s/msi_irqs", lease->pci);
	activity->vector = calloc(names.count + 1, sizeof(*activity->vector));
	if (!activity->vector)
		abort();
	activity->vectors = names.count;
	for (i = 0; i < names.count; i++)
		activity->vector[i].irq = atoi(names.name[i]);
	names_free(&names);
	sys_path(path, "/proc/interrupts");
	file = fopen(path, "re");
	if (!file)
		return;
	while (getline(&line, &room, file) > 0)
		count_line(line, activity);
	free(line);
	fclose(file);
}

/* All of it, to be freed; zeros while there is no shadow. */
void activity_read(const struct lease *lease, struct activity *activity)
{
	size_t i;

	*activity = (struct activity){ 0 };
	for (i = 0; i < lease->disks.count; i++)
		read_disk(lease->disks.name[i], activity);
	for (i = 0; i < lease->nets.count; i++)
		read_net(lease->nets.name[i], activity);
	if (lease->pci[0])
		read_vectors(lease, activity);
}

void activity_free(struct activity *activity)
{
	free(activity->vector);
}

struct json_object *activity_json(const struct activity *activity)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array(), *one;
	size_t i;

	json_number(o, "reads", activity->reads);
	json_number(o, "read_bytes", activity->read_bytes);
	json_number(o, "writes", activity->writes);
	json_number(o, "written_bytes", activity->written_bytes);
	json_number(o, "rx_packets", activity->rx_packets);
	json_number(o, "rx_bytes", activity->rx_bytes);
	json_number(o, "tx_packets", activity->tx_packets);
	json_number(o, "tx_bytes", activity->tx_bytes);
	json_number(o, "interrupts", activity->interrupts);
	for (i = 0; i < activity->vectors; i++) {
		one = json_object_new_object();
		json_number(one, "irq", activity->vector[i].irq);
		json_number(one, "count", activity->vector[i].count);
		json_object_array_add(list, one);
	}
	json_object_object_add(o, "vectors", list);
	return o;
}
