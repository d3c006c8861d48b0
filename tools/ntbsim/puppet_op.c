// SPDX-License-Identifier: GPL-2.0
/* The operations of puppets; see puppet.h, and README.md for what they take and give. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "link.h"
#include "port.h"
#include "puppet.h"
#include "window.h"

typedef struct json_object jobj;
typedef enum puppet_op_state op_state;

static op_state __attribute__((format(printf, 2, 3)))
bad(struct puppet *pp, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(pp->err, sizeof(pp->err), fmt, ap);
	va_end(ap);
	return PUPPET_OP_BAD;
}

/* Argument @i, counted from 1, a number up to @max. */
static bool number(struct puppet *pp, jobj *op, size_t i, uint64_t max,
		   uint64_t *out)
{
	jobj *v = json_object_array_get_idx(op, i);

	if (json_object_is_type(v, json_type_int) &&
	    (json_object_get_int64(v) >= 0)) {
		*out = json_object_get_uint64(v);
		if (*out <= max)
			return true;
	}
	bad(pp, "argument %zu must be a number from 0 to %#llx", i,
	    (unsigned long long)max);
	return false;
}

static bool flag(struct puppet *pp, jobj *op, size_t i, bool *out)
{
	jobj *v = json_object_array_get_idx(op, i);

	*out = json_object_get_boolean(v);
	if (json_object_is_type(v, json_type_boolean))
		return true;
	bad(pp, "argument %zu must be true or false", i);
	return false;
}

static int nibble(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* Bytes written as hexadecimal digits. The caller frees them; NULL if they are wrong. */
static uint8_t *bytes(struct puppet *pp, jobj *op, size_t i, uint32_t *len)
{
	jobj *v = json_object_array_get_idx(op, i);
	const char *s = json_object_get_string(v);
	size_t n = json_object_is_type(v, json_type_string) ? strlen(s) : 0;
	uint8_t *data;

	if (!n || n & 1 || n / 2 > VFU_MAX_XFER)
		goto wrong;
	data = malloc(n / 2);
	if (!data)
		goto wrong;
	for (size_t k = 0; k < n / 2; k++) {
		int hi = nibble(s[2 * k]), lo = nibble(s[2 * k + 1]);

		if (hi < 0 || lo < 0) {
			free(data);
			goto wrong;
		}
		data[k] = hi << 4 | lo;
	}
	*len = n / 2;
	return data;
wrong:
	bad(pp, "argument %zu must be up to 1 MiB as hexadecimal digits", i);
	return NULL;
}

/* @data is NULL for all-ones. */
static jobj *hex(const uint8_t *data, uint32_t len)
{
	static const char digit[] = "0123456789abcdef";
	char *s = malloc(2 * (size_t)len);
	jobj *o;

	if (!s)
		return NULL;
	for (uint32_t i = 0; i < len; i++) {
		s[2 * i] = digit[data ? data[i] >> 4 : 15];
		s[2 * i + 1] = digit[data ? data[i] & 15 : 15];
	}
	o = json_object_new_string_len(s, 2 * len);
	free(s);
	return o;
}

/* A condition with a time-out, in argument @i. */
static op_state wait_for(struct puppet *pp, jobj *op, size_t i, bool met)
{
	uint64_t ms;
	int ret;

	if (met || pp->timed_out)
		return PUPPET_OP_DONE;
	if (pp->waiting)
		return PUPPET_OP_WAIT;
	if (!number(pp, op, i, PUPPET_WAIT_MAX_MS, &ms))
		return PUPPET_OP_BAD;
	if (!ms)
		return PUPPET_OP_DONE;
	ret = timer_set(&pp->timeout, ms * 1000);
	return ret ? bad(pp, "timer: %s", strerror(-ret)) : PUPPET_OP_WAIT;
}

/* --- scratchpads ---------------------------------------------------------------- */

static uint32_t own_word(struct puppet *pp, unsigned int i)
{
	pp->port->cnt.spad_local_reads++;
	return pp->port->regs.spad[i];
}

static uint32_t peer_word(struct puppet *pp, unsigned int i)
{
	return flow_spad_read(pp->port, i);
}

static op_state read_words(struct puppet *pp, jobj *op, jobj **result,
			   uint32_t (*read)(struct puppet *, unsigned int))
{
	uint64_t i;

	if (json_object_array_length(op) == 1) {
		*result = json_object_new_array();
		for (i = 0; i < NUM_SPADS; i++)
			json_object_array_add(*result,
				json_object_new_int64(read(pp, i)));
		return PUPPET_OP_DONE;
	}
	if (!number(pp, op, 1, NUM_SPADS - 1, &i))
		return PUPPET_OP_BAD;
	*result = json_object_new_int64(read(pp, i));
	return PUPPET_OP_DONE;
}

static op_state op_own_read(struct puppet *pp, jobj *op, jobj **result)
{
	return read_words(pp, op, result, own_word);
}

static op_state op_peer_read(struct puppet *pp, jobj *op, jobj **result)
{
	return read_words(pp, op, result, peer_word);
}

static void write_own(struct puppet *pp, unsigned int i, uint32_t v)
{
	pp->port->cnt.spad_local_writes++;
	pp->port->regs.spad[i] = v;
}

static void write_peer(struct puppet *pp, unsigned int i, uint32_t v)
{
	flow_spad_write(pp->port, i, v, ~0u);
}

/* Consecutive words, from the lowest on. */
static op_state write_words(struct puppet *pp, jobj *op,
			    void (*write)(struct puppet *, unsigned int,
					  uint32_t))
{
	size_t n = json_object_array_length(op);
	uint64_t first, v;

	if (!number(pp, op, 1, NUM_SPADS - 1, &first))
		return PUPPET_OP_BAD;
	if (n < 3 || n - 2 > NUM_SPADS - first)
		return bad(pp, "there are %d words", NUM_SPADS);
	for (size_t i = 2; i < n; i++) {
		if (!number(pp, op, i, UINT32_MAX, &v))
			return PUPPET_OP_BAD;
		write(pp, first + (i - 2), v);
	}
	return PUPPET_OP_DONE;
}

static op_state op_own_write(struct puppet *pp, jobj *op, jobj **result)
{
	(void)result;
	return write_words(pp, op, write_own);
}

static op_state op_peer_write(struct puppet *pp, jobj *op, jobj **result)
{
	(void)result;
	return write_words(pp, op, write_peer);
}

static op_state op_wait_own(struct puppet *pp, jobj *op, jobj **result)
{
	uint64_t i, mask, value;
	op_state state;
	uint32_t v;

	if (!number(pp, op, 1, NUM_SPADS - 1, &i) ||
	    !number(pp, op, 2, UINT32_MAX, &mask) ||
	    !number(pp, op, 3, UINT32_MAX, &value))
		return PUPPET_OP_BAD;
	v = pp->port->regs.spad[i];
	state = wait_for(pp, op, 4, (v & mask) == value);
	if (state == PUPPET_OP_DONE && (v & mask) == value)
		*result = json_object_new_int64(v);
	return state;
}

/* The same; but what follows makes no sense without it. */
static op_state op_need_own(struct puppet *pp, jobj *op, jobj **result)
{
	op_state state = op_wait_own(pp, op, result);

	if (state == PUPPET_OP_DONE && !*result)
		return bad(pp, "waited in vain");
	return state;
}

static op_state op_count(struct puppet *pp, jobj *op, jobj **result)
{
	uint64_t i, ms;
	int ret = 0;

	(void)result;
	if (!number(pp, op, 1, NUM_SPADS - 1, &i) ||
	    !number(pp, op, 2, PUPPET_WAIT_MAX_MS, &ms))
		return PUPPET_OP_BAD;
	pp->count_word = i;
	pp->count_us = ms * 1000;
	if (ms)
		ret = timer_set(&pp->count, pp->count_us);
	return ret ? bad(pp, "timer: %s", strerror(-ret)) : PUPPET_OP_DONE;
}

/* --- doorbells, link, reset ----------------------------------------------------- */

static op_state op_ring(struct puppet *pp, jobj *op, jobj **result)
{
	uint64_t bit;

	(void)result;
	if (!number(pp, op, 1, NUM_DOORBELLS - 1, &bit))
		return PUPPET_OP_BAD;
	flow_doorbell(pp->port, bit);
	return PUPPET_OP_DONE;
}

static op_state op_wait_bell(struct puppet *pp, jobj *op, jobj **result)
{
	struct gen3 *regs = &pp->port->regs;
	op_state state;
	uint64_t mask;

	if (!number(pp, op, 1, (1ull << GEN3_INT_BITS) - 1, &mask))
		return PUPPET_OP_BAD;
	state = wait_for(pp, op, 2, regs->status & mask);
	if (state == PUPPET_OP_DONE) {
		*result = json_object_new_int64(regs->status & mask);
		regs->status &= ~mask;
	}
	return state;
}

static op_state op_link(struct puppet *pp, jobj *op, jobj **result)
{
	uint32_t *cntl = &pp->port->regs.cntl;
	bool up;

	(void)result;
	if (!flag(pp, op, 1, &up))
		return PUPPET_OP_BAD;
	*cntl = up ? *cntl & ~GEN3_CNTL_DISABLE : *cntl | GEN3_CNTL_DISABLE;
	link_update(pp->port->link);
	return PUPPET_OP_DONE;
}

static op_state op_reset(struct puppet *pp, jobj *op, jobj **result)
{
	(void)op;
	(void)result;
	port_reset(pp->port);
	return PUPPET_OP_DONE;
}

/* --- memory --------------------------------------------------------------------- */

static bool place(struct puppet *pp, jobj *op, uint64_t *win, uint64_t *off)
{
	if (!number(pp, op, 1, NUM_WINDOWS - 1, win))
		return false;
	return number(pp, op, 2, pp->port->cfg->win[*win].size - 1, off);
}

static bool fits(struct puppet *pp, uint64_t win, uint64_t off, uint64_t len)
{
	if (len <= pp->port->cfg->win[win].size - off)
		return true;
	bad(pp, "it ends behind the window");
	return false;
}

static op_state op_mem_write(struct puppet *pp, jobj *op, jobj **result)
{
	uint64_t win, off;
	uint8_t *data;
	uint32_t len;

	(void)result;
	if (!place(pp, op, &win, &off))
		return PUPPET_OP_BAD;
	data = bytes(pp, op, 3, &len);
	if (!data)
		return PUPPET_OP_BAD;
	if (fits(pp, win, off, len)) {
		flow_write(pp->port, win, off, data, len);
		free(data);
		return PUPPET_OP_DONE;
	}
	free(data);
	return PUPPET_OP_BAD;
}

static op_state op_mem_read(struct puppet *pp, jobj *op, jobj **result)
{
	static uint8_t buf[VFU_MAX_XFER];
	uint64_t win, off, len;

	if (pp->waiting) {
		if (!pp->answered)
			return PUPPET_OP_WAIT;
		*result = hex(pp->answer, pp->answer_len);
		return PUPPET_OP_DONE;
	}
	if (!place(pp, op, &win, &off) ||
	    !number(pp, op, 3, sizeof(buf), &len) || !fits(pp, win, off, len))
		return PUPPET_OP_BAD;
	if (!len)
		return bad(pp, "nothing to read");
	if (!flow_read(pp->port, win, off, buf, len, ++pp->read_id))
		return PUPPET_OP_WAIT;
	*result = hex(buf, len);
	return PUPPET_OP_DONE;
}

/* All that was sent before has happened. */
static op_state op_sync(struct puppet *pp, jobj *op, jobj **result)
{
	bool idle = !pp->port->out.n && !pp->port->out.inflight;
	op_state state = wait_for(pp, op, 1, idle);

	if (state == PUPPET_OP_DONE)
		*result = json_object_new_boolean(idle);
	return state;
}

static op_state op_window(struct puppet *pp, jobj *op, jobj **result)
{
	struct port *port = pp->port;
	uint64_t win, base, size;

	(void)result;
	if (!number(pp, op, 1, NUM_WINDOWS - 1, &win) ||
	    !number(pp, op, 2, INT64_MAX, &base) ||
	    !number(pp, op, 3, port->cfg->win[win].size, &size))
		return PUPPET_OP_BAD;
	port->regs.xbase[win] = base;
	port->regs.xlmt[win] = pcicfg_bar(&port->pci, 2 + 2 * win) + size;
	return PUPPET_OP_DONE;
}

static op_state op_ram(struct puppet *pp, jobj *op, jobj **result)
{
	uint64_t addr, size;
	int fd, ret;

	(void)result;
	if (!number(pp, op, 1, INT64_MAX, &addr) ||
	    !number(pp, op, 2, PUPPET_RAM_MAX, &size))
		return PUPPET_OP_BAD;
	fd = memfd_create("puppet", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, size)) {
		ret = -errno;
		if (fd >= 0)
			close(fd);
		return bad(pp, "memory: %s", strerror(-ret));
	}
	ret = dma_map(&pp->port->dma, addr, size,
		      DMA_PROT_READ | DMA_PROT_WRITE, fd, 0);
	close(fd);
	return ret ? bad(pp, "memory: %s", strerror(-ret)) : PUPPET_OP_DONE;
}

static op_state op_ram_read(struct puppet *pp, jobj *op, jobj **result)
{
	uint64_t addr, len;
	void *ptr;

	if (!number(pp, op, 1, INT64_MAX, &addr) ||
	    !number(pp, op, 2, VFU_MAX_XFER, &len))
		return PUPPET_OP_BAD;
	ptr = len ? dma_lookup(&pp->port->dma, addr, len, DMA_PROT_READ) : NULL;
	if (!ptr)
		return bad(pp, "there is no such memory");
	*result = hex(ptr, len);
	return PUPPET_OP_DONE;
}

static op_state op_ram_write(struct puppet *pp, jobj *op, jobj **result)
{
	uint64_t addr;
	uint8_t *data;
	uint32_t len;
	void *ptr;

	(void)result;
	if (!number(pp, op, 1, INT64_MAX, &addr))
		return PUPPET_OP_BAD;
	data = bytes(pp, op, 2, &len);
	if (!data)
		return PUPPET_OP_BAD;
	ptr = dma_lookup(&pp->port->dma, addr, len, DMA_PROT_WRITE);
	if (ptr)
		dma_copy_to(ptr, data, len);
	free(data);
	return ptr ? PUPPET_OP_DONE : bad(pp, "there is no such memory");
}

static const struct {
	const char *name;
	op_state (*fn)(struct puppet *pp, jobj *op, jobj **result);
} table[] = {
	{ "own_read", op_own_read },
	{ "own_write", op_own_write },
	{ "peer_read", op_peer_read },
	{ "peer_write", op_peer_write },
	{ "wait_own", op_wait_own },
	{ "need_own", op_need_own },
	{ "count", op_count },
	{ "ring", op_ring },
	{ "wait_bell", op_wait_bell },
	{ "link", op_link },
	{ "reset", op_reset },
	{ "mem_read", op_mem_read },
	{ "mem_write", op_mem_write },
	{ "sync", op_sync },
	{ "window", op_window },
	{ "ram", op_ram },
	{ "ram_read", op_ram_read },
	{ "ram_write", op_ram_write },
};

op_state puppet_op(struct puppet *pp, jobj *op, jobj **result)
{
	const char *name;
	jobj *first;

	if (!json_object_is_type(op, json_type_array))
		return bad(pp, "not an array");
	first = json_object_array_get_idx(op, 0);
	if (!json_object_is_type(first, json_type_string))
		return bad(pp, "it has no name");
	name = json_object_get_string(first);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (!strcmp(table[i].name, name))
			return table[i].fn(pp, op, result);
	}
	return bad(pp, "there is no \"%s\"", name);
}
