// SPDX-License-Identifier: GPL-2.0
/*
 * Handlers of vfio-user messages. A message that is well formed but wrong gets an error reply; one that shows
 * that both sides no longer agree on the stream costs the client its connection (a negative return).
 */
#include <errno.h>
#include <json.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "port.h"
#include "vfu_msg.h"

static struct vfu_hdr reply_hdr(const struct vfu_hdr *req)
{
	return (struct vfu_hdr) {
		.id = req->id,
		.cmd = req->cmd,
		.flags = VFU_F_REPLY,
	};
}

/* Answer with a copy of @payload, unless no answer is wanted. */
static void reply(struct vfu_conn *conn, const struct vfu_hdr *req,
		  const void *payload, size_t len)
{
	struct vfu_hdr hdr = reply_hdr(req);
	void *to;

	if (req->flags & VFU_F_NO_REPLY)
		return;
	to = vfu_conn_put(conn, &hdr, len);
	if (to && len)
		memcpy(to, payload, len);
}

/* Answer with the outcome: a negative errno, or 0 for success without payload. */
static void reply_status(struct vfu_conn *conn, const struct vfu_hdr *req,
			 int err)
{
	struct vfu_hdr hdr = reply_hdr(req);

	if (err)
		log_dbg("%s: message %u failed: %s", conn->name, req->cmd,
			strerror(-err));
	if (req->flags & VFU_F_NO_REPLY)
		return;
	if (err) {
		hdr.flags |= VFU_F_ERROR;
		hdr.error = -err;
	}
	vfu_conn_put(conn, &hdr, 0);
}

void vfu_reply_read(struct vfu_conn *conn, uint16_t msg_id, uint32_t region,
		    uint64_t off, const void *data, uint32_t len)
{
	struct vfu_hdr hdr = {
		.id = msg_id,
		.cmd = VFU_REGION_READ,
		.flags = VFU_F_REPLY,
	};
	struct vfu_region_rw *rw = vfu_conn_put(conn, &hdr, sizeof(*rw) + len);

	if (!rw)
		return;
	rw->offset = off;
	rw->region = region;
	rw->count = len;
	if (data)
		memcpy(rw->data, data, len);
	else
		memset(rw->data, 0xff, len);
}

static struct json_object *get(struct json_object *o, const char *key)
{
	struct json_object *v;

	if (!json_object_is_type(o, json_type_object) ||
	    !json_object_object_get_ex(o, key, &v))
		return NULL;
	return v;
}

/* Note the client's limits; say whether it writes several at once. */
static bool parse_caps(struct vfu_conn *conn, const char *text)
{
	struct json_object *root = json_tokener_parse(text);
	struct json_object *caps = get(root, "capabilities");
	struct json_object *max = get(caps, "max_data_xfer_size");
	struct json_object *multi = get(caps, "write_multiple");
	bool ret = multi && json_object_get_boolean(multi);

	if (max) {
		int64_t v = json_object_get_int64(max);

		if (v >= 8 && v < VFU_MAX_XFER)
			conn->max_xfer = v;
	}
	json_object_put(root);
	return ret;
}

static int on_version(struct vfu_conn *conn, const struct vfu_hdr *hdr,
		      const void *payload, size_t len)
{
	struct vfu_hdr rh = reply_hdr(hdr);
	const struct vfu_version *v = payload;
	struct vfu_version *out;
	bool multi = false;
	char caps[256];
	int n;

	if (len < sizeof(*v) || v->major != 0) {
		reply_status(conn, hdr, -EINVAL);
		return -EPROTO;
	}
	if (len > sizeof(*v)) {
		if (((const char *)payload)[len - 1]) {
			reply_status(conn, hdr, -EINVAL);
			return -EPROTO;
		}
		multi = parse_caps(conn, v->caps);
	}
	n = snprintf(caps, sizeof(caps),
		     "{\"capabilities\":{\"max_msg_fds\":%d,\"max_data_xfer_size\":%u,\"max_dma_maps\":%d,\"pgsizes\":4096%s}}",
		     VFU_MAX_FDS, VFU_MAX_XFER, VFU_MAX_DMA_MAPS,
		     multi ? ",\"write_multiple\":true" : "") + 1;
	out = vfu_conn_put(conn, &rh, sizeof(*out) + n);
	if (out) {
		out->major = 0;
		out->minor = 0;
		memcpy(out->caps, caps, n);
	}
	conn->version_done = true;
	return 0;
}

static int on_dma_map(struct port *port, const void *payload, size_t len,
		      struct vfu_fds *fds)
{
	struct vfu_dma_map m;
	unsigned int prot = 0;

	if (len < sizeof(m) || fds->n > 1)
		return -EINVAL;
	memcpy(&m, payload, sizeof(m));
	if (m.flags & VFU_DMA_MAP_READ)
		prot |= DMA_PROT_READ;
	if (m.flags & VFU_DMA_MAP_WRITE)
		prot |= DMA_PROT_WRITE;
	return dma_map(&port->dma, m.iova, m.size, prot,
		       fds->n ? fds->fd[0] : -1, m.offset);
}

static int on_dma_unmap(struct port *port, const void *payload, size_t len)
{
	struct vfu_dma_unmap u;

	if (len < sizeof(u))
		return -EINVAL;
	memcpy(&u, payload, sizeof(u));
	if (u.flags & ~VFU_DMA_UNMAP_ALL)
		return -EOPNOTSUPP;
	if (u.flags & VFU_DMA_UNMAP_ALL) {
		dma_unmap_all(&port->dma);
		return 0;
	}
	return dma_unmap(&port->dma, u.iova, u.size);
}

static void on_device_info(struct vfu_conn *conn, const struct vfu_hdr *hdr,
			   size_t len)
{
	struct vfu_device_info info = {
		.argsz = sizeof(info),
		.flags = VFU_DEVICE_F_RESET | VFU_DEVICE_F_PCI,
		.num_regions = VFU_NUM_REGIONS,
		.num_irqs = VFU_NUM_IRQS,
	};

	if (len < sizeof(info.argsz))
		reply_status(conn, hdr, -EINVAL);
	else
		reply(conn, hdr, &info, sizeof(info));
}

/* How much of a region's front a client may map, the file and where in it; 0 if it may not. */
static uint64_t fast_area(const struct port *port, unsigned int region, int *fd,
			  uint64_t *at)
{
	const struct window_config *w;
	uint64_t size, left;

	if (region != 2 && region != 4)
		return 0;
	w = &port->cfg->win[region / 2 - 1];
	if (!w->fast || !port->peer || port->peer->memory_fd < 0)
		return 0;
	*fd = port->peer->memory_fd;
	*at = w->fast_ram;
	left = port->peer->cfg->memory_size - w->fast_ram;
	size = w->size;
	if (w->fast_size && w->fast_size < size)
		size = w->fast_size;
	return size < left ? size : left;
}

static void on_region_info(struct vfu_conn *conn, const struct vfu_hdr *hdr,
			   const void *payload, size_t len)
{
	struct port *port = conn->owner;
	struct {
		struct vfu_region_info info;
		struct vfu_sparse_one sparse;
	} out = { 0 };
	uint32_t argsz, room = sizeof(out.info);
	uint64_t area, at = 0;
	int fd = -1;

	if (len < sizeof(out.info))
		goto inval;
	memcpy(&out.info, payload, sizeof(out.info));
	argsz = out.info.argsz;
	if (argsz < sizeof(out.info) || out.info.index >= VFU_NUM_REGIONS)
		goto inval;

	out.info.argsz = sizeof(out.info);
	out.info.flags = 0;
	out.info.cap_offset = 0;
	out.info.offset = 0;
	out.info.size = port_region_size(port, out.info.index);
	if (out.info.size)
		out.info.flags = VFU_REGION_F_READ | VFU_REGION_F_WRITE;
	area = fast_area(port, out.info.index, &fd, &at);
	if (area) {
		out.info.offset = at;
		out.info.flags |= VFU_REGION_F_MMAP | VFU_REGION_F_CAPS;
		/* Set even when the capability does not fit: the client checks it. */
		out.info.cap_offset = sizeof(out.info);
		out.info.argsz = sizeof(out);
		out.sparse.id = 1;
		out.sparse.version = 1;
		out.sparse.nr_areas = 1;
		out.sparse.size = area;
		if (argsz >= sizeof(out))
			room = sizeof(out);
	}
	reply(conn, hdr, &out, room);
	if (area && !(hdr->flags & VFU_F_NO_REPLY))
		vfu_conn_put_fd(conn, fd, sizeof(*hdr) + room);
	return;
inval:
	reply_status(conn, hdr, -EINVAL);
}

static void on_irq_info(struct vfu_conn *conn, const struct vfu_hdr *hdr,
			const void *payload, size_t len)
{
	struct vfu_irq_info info;

	if (len < sizeof(info))
		goto inval;
	memcpy(&info, payload, sizeof(info));
	if (info.index >= VFU_NUM_IRQS)
		goto inval;
	info.argsz = sizeof(info);
	info.flags = VFU_IRQ_INFO_EVENTFD;
	info.count = 0;
	if (info.index == VFU_IRQ_INTX) {
		info.flags |= VFU_IRQ_INFO_MASKABLE | VFU_IRQ_INFO_AUTOMASKED;
		info.count = 1;
	} else {
		info.flags |= VFU_IRQ_INFO_NORESIZE;
	}
	if (info.index == VFU_IRQ_MSIX)
		info.count = PORT_VECTORS;
	reply(conn, hdr, &info, sizeof(info));
	return;
inval:
	reply_status(conn, hdr, -EINVAL);
}

/* The pin: an eventfd, and a mask that the client has to lift after each time that it was signalled. */
static int set_line(struct port *port, const struct vfu_irq_set *s,
		    struct vfu_fds *fds)
{
	if (s->start || s->count > 1 || (uint32_t)fds->n > s->count)
		return -EINVAL;
	switch (s->flags) {
	case VFU_IRQ_SET_ACTION_TRIGGER | VFU_IRQ_SET_DATA_EVENTFD:
		if (!s->count)
			return -EINVAL;
		port_set_line(port, fds->n ? fds->fd[0] : -1);
		if (fds->n)
			fds->fd[0] = -1;
		return 0;
	case VFU_IRQ_SET_ACTION_TRIGGER | VFU_IRQ_SET_DATA_NONE:
		/* Off. Nobody but the function asserts its pin. */
		if (s->count)
			return -EINVAL;
		port_set_line(port, -1);
		return 0;
	case VFU_IRQ_SET_ACTION_MASK | VFU_IRQ_SET_DATA_NONE:
	case VFU_IRQ_SET_ACTION_UNMASK | VFU_IRQ_SET_DATA_NONE:
		if (s->count)
			port_mask_line(port, s->flags & VFU_IRQ_SET_ACTION_MASK);
		return 0;
	default:
		return -EINVAL;
	}
}

static int on_set_irqs(struct port *port, const void *payload, size_t len,
		       struct vfu_fds *fds)
{
	struct vfu_irq_set s;

	if (len < sizeof(s))
		return -EINVAL;
	memcpy(&s, payload, sizeof(s));
	if (s.index >= VFU_NUM_IRQS)
		return -EINVAL;
	if (s.index == VFU_IRQ_INTX)
		return set_line(port, &s, fds);
	/* The other kinds have no vectors; switching them off is all that can be asked. */
	if (s.index != VFU_IRQ_MSIX)
		return s.count ? -EINVAL : 0;
	if (s.start > PORT_VECTORS || s.count > PORT_VECTORS - s.start)
		return -EINVAL;
	/* The client masks in its own table. */
	if (!(s.flags & VFU_IRQ_SET_ACTION_TRIGGER))
		return 0;

	if (s.flags & VFU_IRQ_SET_DATA_EVENTFD) {
		if (fds->n && (uint32_t)fds->n != s.count)
			return -EINVAL;
		for (uint32_t i = 0; i < s.count; i++) {
			port_set_irq(port, s.start + i,
				     fds->n ? fds->fd[i] : -1);
			if (fds->n)
				fds->fd[i] = -1;
		}
		return 0;
	}
	if (!(s.flags & VFU_IRQ_SET_DATA_NONE))
		return -EINVAL;
	/* No data: without vectors it means off, with some it triggers them. */
	if (!s.count) {
		for (uint32_t i = 0; i < PORT_VECTORS; i++)
			port_set_irq(port, i, -1);
	}
	for (uint32_t i = 0; i < s.count; i++)
		port_raise_irq(port, s.start + i);
	return 0;
}

static void on_region_read(struct vfu_conn *conn, const struct vfu_hdr *hdr,
			   const void *payload, size_t len)
{
	static uint8_t buf[VFU_MAX_XFER];
	struct vfu_region_rw rw;
	int ret;

	if (len < sizeof(rw)) {
		reply_status(conn, hdr, -EINVAL);
		return;
	}
	memcpy(&rw, payload, sizeof(rw));
	if (!rw.count || rw.count > conn->max_xfer) {
		reply_status(conn, hdr, -EINVAL);
		return;
	}
	ret = port_region_read(conn->owner, rw.region, rw.offset, buf, rw.count,
			       hdr->id);
	if (ret == -EINPROGRESS)
		return;
	if (ret)
		reply_status(conn, hdr, ret);
	else
		vfu_reply_read(conn, hdr->id, rw.region, rw.offset, buf,
			       rw.count);
}

static void on_region_write(struct vfu_conn *conn, const struct vfu_hdr *hdr,
			    const void *payload, size_t len)
{
	struct port *port = conn->owner;
	const uint8_t *data = payload;
	struct vfu_region_rw rw;

	if (len < sizeof(rw))
		goto inval;
	memcpy(&rw, payload, sizeof(rw));
	if (!rw.count || rw.count > len - sizeof(rw) ||
	    rw.offset + rw.count < rw.offset ||
	    rw.offset + rw.count > port_region_size(port, rw.region))
		goto inval;
	/* Answer first: what the write causes may need this client to be free. */
	reply(conn, hdr, &rw, sizeof(rw));
	port_region_write(port, rw.region, rw.offset, data + sizeof(rw),
			  rw.count);
	return;
inval:
	reply_status(conn, hdr, -EINVAL);
}

static void on_write_multi(struct vfu_conn *conn, const struct vfu_hdr *hdr,
			   const void *payload, size_t len)
{
	const uint8_t *p = payload;
	uint64_t n;
	int ret = 0;

	if (len < sizeof(n)) {
		reply_status(conn, hdr, -EINVAL);
		return;
	}
	memcpy(&n, p, sizeof(n));
	p += sizeof(n);
	if (n > (len - sizeof(n)) / sizeof(struct vfu_write_one)) {
		reply_status(conn, hdr, -EINVAL);
		return;
	}
	for (; n; n--, p += sizeof(struct vfu_write_one)) {
		struct vfu_write_one w;

		memcpy(&w, p, sizeof(w));
		if (!w.count || w.count > sizeof(w.data) ||
		    port_region_write(conn->owner, w.region, w.offset, w.data,
				      w.count))
			ret = -EINVAL;
	}
	if (ret)
		reply_status(conn, hdr, ret);
	else
		reply(conn, hdr, payload, sizeof(n));
}

static void on_request(struct vfu_conn *conn, const struct vfu_hdr *hdr,
		       const void *payload, size_t len, struct vfu_fds *fds)
{
	struct port *port = conn->owner;

	switch (hdr->cmd) {
	case VFU_REGION_WRITE:
		on_region_write(conn, hdr, payload, len);
		break;
	case VFU_REGION_READ:
		on_region_read(conn, hdr, payload, len);
		break;
	case VFU_REGION_WRITE_MULTI:
		on_write_multi(conn, hdr, payload, len);
		break;
	case VFU_DMA_MAP:
		reply_status(conn, hdr, on_dma_map(port, payload, len, fds));
		break;
	case VFU_DMA_UNMAP: {
		int ret = on_dma_unmap(port, payload, len);

		if (ret || len < sizeof(struct vfu_dma_unmap))
			reply_status(conn, hdr, ret);
		else
			reply(conn, hdr, payload, sizeof(struct vfu_dma_unmap));
		break;
	}
	case VFU_DEVICE_GET_INFO:
		on_device_info(conn, hdr, len);
		break;
	case VFU_DEVICE_GET_REGION_INFO:
		on_region_info(conn, hdr, payload, len);
		break;
	case VFU_DEVICE_GET_IRQ_INFO:
		on_irq_info(conn, hdr, payload, len);
		break;
	case VFU_DEVICE_SET_IRQS:
		reply_status(conn, hdr, on_set_irqs(port, payload, len, fds));
		break;
	case VFU_DEVICE_RESET:
		port_reset(port);
		reply_status(conn, hdr, 0);
		break;
	default:
		reply_status(conn, hdr, -EOPNOTSUPP);
	}
}

int vfu_message(struct vfu_conn *conn, const struct vfu_hdr *hdr,
		const void *payload, size_t len, struct vfu_fds *fds)
{
	unsigned int type = hdr->flags & VFU_F_TYPE_MASK;

	if (type == VFU_F_REPLY)
		return dmareq_reply(conn->owner, hdr, payload, len);
	if (type)
		return -EPROTO;
	if (hdr->cmd == VFU_VERSION)
		return conn->version_done ? -EPROTO :
		       on_version(conn, hdr, payload, len);
	if (!conn->version_done)
		return -EPROTO;
	on_request(conn, hdr, payload, len, fds);
	return 0;
}
