// SPDX-License-Identifier: GPL-2.0
/* The wait-for graph; see cycle.h. Its edges are ports with @out.waits above zero, so it needs no upkeep. */
#include <stdint.h>

#include "cycle.h"
#include "port.h"

static bool waits_for(const struct port *all, int n, uint64_t from, uint64_t to,
		      uint32_t *seen)
{
	if (from == to)
		return true;
	for (int i = 0; i < n; i++) {
		const struct port *p = &all[i];

		if (p->guest != from || !p->out.waits || *seen & 1u << i)
			continue;
		*seen |= 1u << i;
		if (waits_for(all, n, p->peer->guest, to, seen))
			return true;
	}
	return false;
}

bool cycle_would_close(const struct port *src)
{
	uint32_t seen = 0;

	static_assert(CONFIG_MAX_PORTS <= 32, "one bit a port");
	return waits_for(src->all, src->nall, src->peer->guest, src->guest,
			 &seen);
}
