/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A port: one NTB function, as one guest sees it, and the client that stands for that guest.
 *
 * Ports exist for as long as the process does; clients come and go. Whatever refers to a client (a read that
 * waits for an answer) therefore names the port and its @epoch, which changes with every client.
 *
 * Layers, from the socket inwards; each calls only those below it:
 *
 *   vfu_conn   messages and descriptors
 *   vfu_msg    what each message means
 *   port       this file: regions, interrupts, reset
 *   intel_gen3 the register BAR           pcicfg  config space
 *   flow       what crosses to the peer, in order
 *   window     translation and routing    dmareq  requests to the peer's client
 *   dma        the guest's memory         cycle   who waits for whom
 */
#ifndef NTBSIM_PORT_H
#define NTBSIM_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "counters.h"
#include "dma.h"
#include "dmareq.h"
#include "fault.h"
#include "flow.h"
#include "intel_gen3.h"
#include "loop.h"
#include "pcicfg.h"
#include "vfu_conn.h"

#define PORT_VECTORS	33

struct link;
struct puppet;

/**
 * struct port - a port
 * @cfg: from the configuration
 * @loop: the event loop
 * @listen: the listening socket, fd -1 without one
 * @conn: the client, or NULL
 * @puppet: drives the port in place of a client, or NULL
 * @epoch: changes with every client
 * @guest: which guest this is, for finding cycles
 * @pid: the client's process
 * @peer: the port at the other end of the link, or NULL
 * @link: the link, or NULL
 * @all: array of all ports
 * @nall: how many
 * @pci: config space
 * @regs: register BAR
 * @dma: what the client mapped
 * @out: what goes to the peer
 * @fault: what happens to it
 * @req: requests to this port's client
 * @irq_fd: eventfds of the vectors, or -1
 * @line_fd: eventfd of the pin, or -1
 * @line_masked: it was signalled, or the client masked it: until it unmasks it is not signalled
 * @memory_fd: the guest's memory file, or -1
 * @cnt: counters
 */
struct port {
	const struct port_config *cfg;
	struct loop *loop;
	struct loop_src listen;
	struct vfu_conn *conn;
	struct puppet *puppet;
	uint32_t epoch;
	uint64_t guest;
	int pid;

	struct port *peer;
	struct link *link;
	struct port *all;
	int nall;

	struct pcicfg pci;
	struct gen3 regs;
	struct dma_space dma;
	struct flow out;
	struct fault fault;
	struct dmareq_table req;
	int irq_fd[PORT_VECTORS];
	int line_fd;
	bool line_masked;
	int memory_fd;
	struct port_counters cnt;
};

/**
 * port_init() - make a port
 * @port: the port, zero or not
 * @cfg: what it is
 * @loop: the event loop
 *
 * Return: 0, or -ENOMEM; port_exit() is needed in either case.
 */
int port_init(struct port *port, const struct port_config *cfg,
	      struct loop *loop);
void port_exit(struct port *port);

/**
 * port_attach() - a client came
 * @port: the port, which has none
 * @fd: the connection; taken over
 * @message: handler of its messages
 *
 * Return: 0 or -ENOMEM.
 */
int port_attach(struct port *port, int fd, vfu_message_fn message);

/* The client is gone: reset, and tell the peer. */
void port_detach(struct port *port);

/* Whether there is somebody behind it: a client, or a puppet. */
bool port_present(const struct port *port);

/**
 * port_answer_read() - a read that port_region_read() or flow_read() left open has ended
 * @port: the port, which may have lost who asked
 * @msg_id: names the read
 * @region: vfio region
 * @off: offset in it
 * @data: @len bytes, or NULL for all-ones
 * @len: bytes
 */
void port_answer_read(struct port *port, uint16_t msg_id, unsigned int region,
		      uint64_t off, const void *data, uint32_t len);

/* The guest reset the function. */
void port_reset(struct port *port);

uint64_t port_bar_size(const struct port *port, unsigned int bar);
/* Size of a vfio region, 0 if there is none. */
uint64_t port_region_size(const struct port *port, unsigned int region);

/**
 * port_region_read() - the guest, or one of its devices, reads
 * @port: the port
 * @region: vfio region
 * @off: offset in it
 * @buf: where the data goes
 * @len: bytes, at least 1
 * @msg_id: names the request
 *
 * Return: 0; -EINVAL if there is no such place; -EINPROGRESS if vfu_reply_read() will be called later.
 */
int port_region_read(struct port *port, unsigned int region, uint64_t off,
		     void *buf, uint32_t len, uint16_t msg_id);
int port_region_write(struct port *port, unsigned int region, uint64_t off,
		      const void *data, uint32_t len);

/* Set the eventfd of one vector; @fd is taken over, -1 clears. */
void port_set_irq(struct port *port, unsigned int vector, int fd);
/* Raise a vector, if MSI-X is on. */
void port_raise_irq(struct port *port, unsigned int vector);

/* The same for the pin; it is not masked then. */
void port_set_line(struct port *port, int fd);
/* The client masks the pin, or, as the end of an interrupt, unmasks it: what is still asserted is signalled again. */
void port_mask_line(struct port *port, bool masked);
/* Registers or config space changed: signal the pin if it is asserted now. */
void port_update_line(struct port *port);

bool port_can_master(const struct port *port);
bool port_can_decode(const struct port *port);

#endif /* NTBSIM_PORT_H */
