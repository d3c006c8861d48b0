/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vfio-user on the wire: a stream of messages, each a header and a payload, in host byte order (both ends are
 * on one machine). Region, interrupt and DMA structures are those of <linux/vfio.h> without their data.
 */
#ifndef NTBSIM_VFU_PROTO_H
#define NTBSIM_VFU_PROTO_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* Messages follow each other in a stream without padding, so nothing in them is aligned. */
#define VFU_WIRE __attribute__((packed))

enum vfu_cmd {
	VFU_VERSION			= 1,
	VFU_DMA_MAP			= 2,
	VFU_DMA_UNMAP			= 3,
	VFU_DEVICE_GET_INFO		= 4,
	VFU_DEVICE_GET_REGION_INFO	= 5,
	VFU_DEVICE_GET_REGION_IO_FDS	= 6,
	VFU_DEVICE_GET_IRQ_INFO		= 7,
	VFU_DEVICE_SET_IRQS		= 8,
	VFU_REGION_READ			= 9,
	VFU_REGION_WRITE		= 10,
	VFU_DMA_READ			= 11,
	VFU_DMA_WRITE			= 12,
	VFU_DEVICE_RESET		= 13,
	VFU_DIRTY_PAGES			= 14,
	VFU_REGION_WRITE_MULTI		= 15,
};

#define VFU_F_TYPE_MASK		0x0f
#define VFU_F_REPLY		0x01
#define VFU_F_NO_REPLY		0x10
#define VFU_F_ERROR		0x20

/* The largest data part of one region or DMA message, in bytes. */
#define VFU_MAX_XFER		(1024u * 1024u)
/* The largest message: the data, and more than any header needs. */
#define VFU_MAX_MSG		(VFU_MAX_XFER + 4096u)
#define VFU_MAX_FDS		16
#define VFU_MAX_DMA_MAPS	65535

struct vfu_hdr {
	uint16_t id;
	uint16_t cmd;
	uint32_t size;		/* header included */
	uint32_t flags;
	uint32_t error;
} VFU_WIRE;
static_assert(sizeof(struct vfu_hdr) == 16, "header");

struct vfu_version {
	uint16_t major;
	uint16_t minor;
	char caps[];
} VFU_WIRE;

struct vfu_dma_map {
	uint32_t argsz;
	uint32_t flags;
	uint64_t offset;
	uint64_t iova;
	uint64_t size;
} VFU_WIRE;
static_assert(sizeof(struct vfu_dma_map) == 32, "dma map");

#define VFU_DMA_MAP_READ	1
#define VFU_DMA_MAP_WRITE	2
#define VFU_DMA_UNMAP_DIRTY	1
#define VFU_DMA_UNMAP_ALL	2

struct vfu_dma_unmap {
	uint32_t argsz;
	uint32_t flags;
	uint64_t iova;
	uint64_t size;
} VFU_WIRE;
static_assert(sizeof(struct vfu_dma_unmap) == 24, "dma unmap");

struct vfu_device_info {
	uint32_t argsz;
	uint32_t flags;
	uint32_t num_regions;
	uint32_t num_irqs;
} VFU_WIRE;

#define VFU_DEVICE_F_RESET	1
#define VFU_DEVICE_F_PCI	2

struct vfu_region_info {
	uint32_t argsz;
	uint32_t flags;
	uint32_t index;
	uint32_t cap_offset;
	uint64_t size;
	uint64_t offset;
} VFU_WIRE;
static_assert(sizeof(struct vfu_region_info) == 32, "region info");

#define VFU_REGION_F_READ	1
#define VFU_REGION_F_WRITE	2
#define VFU_REGION_F_MMAP	4
#define VFU_REGION_F_CAPS	8

/* The sparse-mmap capability with a single area. */
struct vfu_sparse_one {
	uint16_t id;
	uint16_t version;
	uint32_t next;
	uint32_t nr_areas;
	uint32_t reserved;
	uint64_t offset;
	uint64_t size;
} VFU_WIRE;
static_assert(sizeof(struct vfu_sparse_one) == 32, "sparse");

struct vfu_irq_info {
	uint32_t argsz;
	uint32_t flags;
	uint32_t index;
	uint32_t count;
} VFU_WIRE;

#define VFU_IRQ_INFO_EVENTFD	1
#define VFU_IRQ_INFO_MASKABLE	2
#define VFU_IRQ_INFO_AUTOMASKED	4
#define VFU_IRQ_INFO_NORESIZE	8

struct vfu_irq_set {
	uint32_t argsz;
	uint32_t flags;
	uint32_t index;
	uint32_t start;
	uint32_t count;
} VFU_WIRE;
static_assert(sizeof(struct vfu_irq_set) == 20, "irq set");

#define VFU_IRQ_SET_DATA_NONE		0x01
#define VFU_IRQ_SET_DATA_BOOL		0x02
#define VFU_IRQ_SET_DATA_EVENTFD	0x04
#define VFU_IRQ_SET_ACTION_MASK		0x08
#define VFU_IRQ_SET_ACTION_UNMASK	0x10
#define VFU_IRQ_SET_ACTION_TRIGGER	0x20

struct vfu_region_rw {
	uint64_t offset;
	uint32_t region;
	uint32_t count;
	uint8_t data[];
} VFU_WIRE;
static_assert(sizeof(struct vfu_region_rw) == 16, "region rw");

struct vfu_write_one {
	uint64_t offset;
	uint32_t region;
	uint32_t count;
	uint8_t data[8];
} VFU_WIRE;
static_assert(sizeof(struct vfu_write_one) == 24, "write multi");

/* DMA requests go from server to client. Mind @count: it is wider here than in a region access. */
struct vfu_dma_rw {
	uint64_t offset;
	uint64_t count;
	uint8_t data[];
} VFU_WIRE;
static_assert(sizeof(struct vfu_dma_rw) == 16, "dma rw");

enum vfu_region {
	VFU_REGION_BAR0		= 0,
	VFU_REGION_BAR5		= 5,
	VFU_REGION_ROM		= 6,
	VFU_REGION_CONFIG	= 7,
	VFU_REGION_VGA		= 8,
	VFU_NUM_REGIONS		= 9,
};

enum vfu_irq {
	VFU_IRQ_INTX	= 0,
	VFU_IRQ_MSI	= 1,
	VFU_IRQ_MSIX	= 2,
	VFU_IRQ_ERR	= 3,
	VFU_IRQ_REQ	= 4,
	VFU_NUM_IRQS	= 5,
};

#endif /* NTBSIM_VFU_PROTO_H */
