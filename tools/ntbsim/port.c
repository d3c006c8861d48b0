// SPDX-License-Identifier: GPL-2.0
/* Ports; see port.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "link.h"
#include "log.h"
#include "port.h"
#include "puppet.h"
#include "vfu_msg.h"

uint64_t port_bar_size(const struct port *port, unsigned int bar)
{
	switch (bar) {
	case 0:
		return GEN3_BAR_SIZE;
	case 2:
	case 4:
		return port->cfg->win[bar / 2 - 1].size;
	default:
		return 0;
	}
}

uint64_t port_region_size(const struct port *port, unsigned int region)
{
	if (region == VFU_REGION_CONFIG)
		return PCICFG_SIZE;
	return region <= VFU_REGION_BAR5 ? port_bar_size(port, region) : 0;
}

static void reset_registers(struct port *port)
{
	const uint64_t sizes[3] = {
		port_bar_size(port, 0),
		port_bar_size(port, 2),
		port_bar_size(port, 4),
	};

	gen3_reset(&port->regs);
	/* Disabled now, so this takes the link down. */
	link_update(port->link);
	port->regs.status = 0;
	pcicfg_reset(&port->pci, port->cfg->dsd, sizes);
}

/*
 * Which guest this is: what the configuration says, else the client's process; a puppet without a word on it is one
 * of its own. Names are hashed, with the top bits set, so that they never look like a process.
 */
static uint64_t guest_id(struct port *port)
{
	bool nameless = port->cfg->puppet && !port->cfg->guest[0];
	const char *s = nameless ? port->cfg->name : port->cfg->guest;
	uint64_t h = 14695981039346656037ull;

	if (!*s)
		return port->pid;
	while (*s)
		h = (h ^ (uint8_t)*s++) * 1099511628211ull;
	/* A port's name is not a guest's. */
	return (h & ~(3ull << 62)) | (nameless ? 3ull : 2ull) << 62;
}

int port_init(struct port *port, const struct port_config *cfg,
	      struct loop *loop)
{
	memset(port, 0, sizeof(*port));
	port->cfg = cfg;
	port->loop = loop;
	port->listen.fd = -1;
	port->memory_fd = -1;
	for (int i = 0; i < PORT_VECTORS; i++)
		port->irq_fd[i] = -1;
	port->line_fd = -1;
	dmareq_init(&port->req);
	fault_init(&port->fault, port);
	reset_registers(port);
	if (!cfg->puppet)
		return 0;
	port->guest = guest_id(port);
	port->puppet = puppet_new(port);
	return port->puppet ? 0 : -ENOMEM;
}

void port_exit(struct port *port)
{
	if (port->conn)
		port_detach(port);
	if (port->puppet) {
		puppet_free(port->puppet);
		port->puppet = NULL;
		reset_registers(port);
		flow_purge(port);
		dma_unmap_all(&port->dma);
	}
	fault_exit(&port->fault);
	if (port->listen.fd >= 0) {
		loop_del(port->loop, &port->listen);
		close(port->listen.fd);
		unlink(port->cfg->socket);
	}
	if (port->memory_fd >= 0)
		close(port->memory_fd);
}

int port_attach(struct port *port, int fd, vfu_message_fn message)
{
	struct ucred cred = { .pid = 0 };
	socklen_t len = sizeof(cred);

	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len);
	port->conn = vfu_conn_new(port->loop, fd, message, port,
				  port->cfg->name);
	if (!port->conn)
		return -ENOMEM;
	port->epoch++;
	port->pid = cred.pid;
	port->guest = guest_id(port);
	port->cnt.connects++;
	log_info("%s: client connected (process %d)", port->cfg->name,
		 port->pid);
	return 0;
}

void port_detach(struct port *port)
{
	struct vfu_conn *conn = port->conn;

	/* From here on nothing is sent to it, and the link is down. */
	port->conn = NULL;
	port->epoch++;
	reset_registers(port);
	flow_purge(port);
	dmareq_abort(port);
	for (int i = 0; i < PORT_VECTORS; i++)
		port_set_irq(port, i, -1);
	port_set_line(port, -1);
	dma_unmap_all(&port->dma);
	vfu_conn_free(conn);
	log_info("%s: client gone", port->cfg->name);
}

void port_reset(struct port *port)
{
	log_dbg("%s: reset", port->cfg->name);
	port->cnt.resets++;
	reset_registers(port);
	if (port->puppet)
		puppet_set_up(port->puppet);
	flow_purge(port);
}

bool port_present(const struct port *port)
{
	return port->conn || port->puppet;
}

void port_answer_read(struct port *port, uint16_t msg_id, unsigned int region,
		      uint64_t off, const void *data, uint32_t len)
{
	if (port->puppet)
		puppet_answer(port->puppet, msg_id, data, len);
	else if (port->conn)
		vfu_reply_read(port->conn, msg_id, region, off, data, len);
}

bool port_can_master(const struct port *port)
{
	return pcicfg_command(&port->pci) & PCICFG_CMD_MASTER;
}

bool port_can_decode(const struct port *port)
{
	return pcicfg_command(&port->pci) & PCICFG_CMD_MEMORY;
}

int port_region_read(struct port *port, unsigned int region, uint64_t off,
		     void *buf, uint32_t len, uint16_t msg_id)
{
	uint64_t size = port_region_size(port, region);

	if (off + len < off || off + len > size)
		return -EINVAL;
	if (region == VFU_REGION_CONFIG) {
		port->cnt.config_reads++;
		memcpy(buf, port->pci.b + off, len);
		return 0;
	}
	if (!port_can_decode(port)) {
		if (region)
			port->cnt.win[region / 2 - 1].dropped_decode++;
		memset(buf, 0xff, len);
		return 0;
	}
	if (!region) {
		port->cnt.register_reads++;
		gen3_read(port, off, buf, len);
		return 0;
	}
	return flow_read(port, region / 2 - 1, off, buf, len, msg_id) ?
	       0 : -EINPROGRESS;
}

static void config_write(struct port *port, uint64_t off, const void *data,
			 uint32_t len)
{
	port->cnt.config_writes++;
	if (pcicfg_write(&port->pci, off, data, len))
		port_reset(port);
	else
		port_update_line(port);
}

int port_region_write(struct port *port, unsigned int region, uint64_t off,
		      const void *data, uint32_t len)
{
	uint64_t size = port_region_size(port, region);

	if (off + len < off || off + len > size)
		return -EINVAL;
	if (region == VFU_REGION_CONFIG) {
		config_write(port, off, data, len);
		return 0;
	}
	if (!port_can_decode(port)) {
		if (region)
			port->cnt.win[region / 2 - 1].dropped_decode++;
		return 0;
	}
	if (!region) {
		port->cnt.register_writes++;
		gen3_write(port, off, data, len);
	} else {
		flow_write(port, region / 2 - 1, off, data, len);
	}
	return 0;
}

/* Put an eventfd in the place of another. */
static void set_fd(int *place, int fd)
{
	if (*place >= 0)
		close(*place);
	*place = fd;
	/* Whatever the client passed, signalling it must not block. */
	if (fd >= 0)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static void signal_fd(struct port *port, int fd)
{
	uint64_t one = 1;

	port->cnt.irqs++;
	/* A full counter is raised already; other failures are the client's. */
	if (write(fd, &one, sizeof(one)) < 0)
		return;
}

void port_set_irq(struct port *port, unsigned int vector, int fd)
{
	set_fd(&port->irq_fd[vector], fd);
}

void port_raise_irq(struct port *port, unsigned int vector)
{
	if (port->puppet) {
		/* It looks at the status. */
		port->cnt.irqs++;
		return;
	}
	/* The pin, then. */
	if (!pcicfg_msix(&port->pci))
		return;
	if (vector >= PORT_VECTORS || port->irq_fd[vector] < 0 ||
	    !port_can_master(port)) {
		port->cnt.irqs_lost++;
		return;
	}
	signal_fd(port, port->irq_fd[vector]);
}

void port_set_line(struct port *port, int fd)
{
	set_fd(&port->line_fd, fd);
	port_mask_line(port, false);
}

void port_mask_line(struct port *port, bool masked)
{
	port->line_masked = masked;
	port_update_line(port);
}

void port_update_line(struct port *port)
{
	bool pending = gen3_pending(&port->regs) && !pcicfg_msix(&port->pci);

	pcicfg_set_pending(&port->pci, pending);
	if (!pending || port->line_fd < 0 || port->line_masked ||
	    pcicfg_command(&port->pci) & PCICFG_CMD_INTX_OFF)
		return;
	port->line_masked = true;
	signal_fd(port, port->line_fd);
}
