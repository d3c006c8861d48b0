// SPDX-License-Identifier: GPL-2.0
/*
 * Memory windows of a link, from debugfs, and what would fit into them.
 *
 * Whether it fits is decided as common/plan.c does: a base is aligned down, a window holds all
 * regions between its base and its end, what lies in reach of an open window goes there, the rest
 * into closed ones.
 */
#include <stdio.h>
#include <string.h>

#include "debug.h"
#include "windows.h"

/* What the kernel programs at least, whatever the NTB says. */
#define GRAIN	4096

static void read_line(struct windows *windows, const char *part, const char *line)
{
	struct window *in = &windows->in[windows->inbound];
	struct aperture *out = &windows->out[windows->outbound];
	unsigned long long end;
	char state[16];

	if (!strncmp(part, "inbound:", 8) && windows->inbound < WINDOWS_MAX &&
	    sscanf(line, "%*u %15s %llx %*x %llu %llx %llx %llx", state, &in->base, &in->users,
		   &in->size_max, &in->addr_align, &in->size_align) == 6) {
		in->open = !strcmp(state, "open");
		windows->inbound++;
	} else if (!strncmp(part, "outbound:", 9) && windows->outbound < WINDOWS_MAX &&
		   sscanf(line, "%*u %llx %llx", &out->cpu_phys, &out->size) == 2) {
		windows->outbound++;
	} else if (!strncmp(part, "bounce:", 7) && sscanf(line, "%*x %llx", &end) == 1) {
		windows->bounce_end = end;
	}
}

/* All windows of a link. */
void windows_read(struct windows *windows, const char *link)
{
	const char *part = "";
	struct names lines;
	char file[64];
	size_t i;

	*windows = (struct windows){ 0 };
	snprintf(file, sizeof(file), "%s/windows", link);
	debug_lines(&lines, file);
	for (i = 0; i < lines.count; i++) {
		const char *line = lines.name[i];

		if (strchr(line, ':')) {
			part = line;
			windows->bounce_told |= !strncmp(line, "bounce:", 7);
		} else {
			read_line(windows, part, line);
		}
	}
	windows->told = lines.count > 0;
	names_free(&lines);
}

static unsigned long long align_down(unsigned long long value, unsigned long long to)
{
	return to > 1 ? value - value % to : value;
}

/* Whether a window reaches from a base to the end of a region. */
static bool reaches(const struct window *window, unsigned long long base,
		    const struct region *region)
{
	unsigned long long align = window->size_align > GRAIN ? window->size_align : GRAIN;
	unsigned long long size = region->start - base + region->size;

	if (region->start < base || size > window->size_max)
		return false;
	return align_down(size + align - 1, align) <= window->size_max;
}

/* Whether the regions that are left fit into the closed windows that are left. */
static bool fit_closed(const struct windows *windows, unsigned int used,
		       const struct region *region, size_t count, unsigned int placed)
{
	size_t first = count, i, w;

	for (i = 0; i < count; i++)
		if (!(placed & 1u << i) &&
		    (first == count || region[i].start < region[first].start))
			first = i;
	if (first == count)
		return true;
	/* the lowest one decides the base of the window that it goes into */
	for (w = 0; w < windows->inbound; w++) {
		const struct window *window = &windows->in[w];
		unsigned long long base = align_down(region[first].start, window->addr_align);
		unsigned int now = placed;

		if (used & 1u << w || window->open || !reaches(window, base, &region[first]))
			continue;
		for (i = 0; i < count; i++)
			if (reaches(window, base, &region[i]))
				now |= 1u << i;
		if (fit_closed(windows, used | 1u << w, region, count, now))
			return true;
	}
	return false;
}

/* Whether regions find a place now; in reach of open windows, too, where they may share. */
bool windows_fit(const struct windows *windows, const struct region *region, size_t count,
		 bool share)
{
	unsigned int placed = 0;
	size_t i, w;

	for (i = 0; i < count; i++)
		for (w = 0; w < windows->inbound && share; w++)
			if (windows->in[w].open &&
			    reaches(&windows->in[w], windows->in[w].base, &region[i]))
				placed |= 1u << i;
	return fit_closed(windows, 0, region, count, placed);
}

/* The longest that an inbound window can be. */
unsigned long long windows_largest(const struct windows *windows)
{
	unsigned long long largest = 0;
	size_t i;

	for (i = 0; i < windows->inbound; i++)
		if (windows->in[i].size_max > largest)
			largest = windows->in[i].size_max;
	return largest;
}

/* The longest outbound window. */
unsigned long long apertures_largest(const struct windows *windows)
{
	unsigned long long largest = 0;
	size_t i;

	for (i = 0; i < windows->outbound; i++)
		if (windows->out[i].size > largest)
			largest = windows->out[i].size;
	return largest;
}

/* A size for people: "16 KiB", "4 GiB". */
const char *bytes_text(unsigned long long bytes, char *buf, size_t size)
{
	static const char * const unit[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
	size_t i = 0;

	while (i < 4 && bytes && bytes % 1024 == 0) {
		bytes /= 1024;
		i++;
	}
	snprintf(buf, size, "%llu %s", bytes, unit[i]);
	return buf;
}
