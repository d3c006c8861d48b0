/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Wire format, version 1: the messages of the sleeping lane, whose frames are in wire.h, which
 * includes this. The same rules: little-endian, 64-bit sizes and addresses, nothing but types.
 */
#ifndef DEVLEND_WIRE_MESSAGES_H
#define DEVLEND_WIRE_MESSAGES_H

#include <linux/types.h>

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/stddef.h>
#else
#include <assert.h>
#include <stddef.h>
#endif

/* Which module serves the operation: bits 15..8 of the operation. */
enum devlend_service_id {
	DEVLEND_SVC_CORE	= 0,
	DEVLEND_SVC_PROVIDER	= 1,	/* the host that owns devices */
	DEVLEND_SVC_CONSUMER	= 2,	/* the host that uses them */
	DEVLEND_SVC_COUNT	= 3,
};

#define DEVLEND_OP(service, n)	((DEVLEND_SVC_##service << 8) | (n))
#define DEVLEND_OP_SERVICE(op)	((op) >> 8)

enum devlend_op {
	DEVLEND_OP_HELLO	= DEVLEND_OP(CORE, 1),
	DEVLEND_OP_TEST		= DEVLEND_OP(CORE, 2),		/* write through a window */

	DEVLEND_OP_OFFERS	= DEVLEND_OP(PROVIDER, 1),	/* push all offers again */
	DEVLEND_OP_BORROW	= DEVLEND_OP(PROVIDER, 2),
	DEVLEND_OP_CONFIG	= DEVLEND_OP(PROVIDER, 3),	/* sparse config image */
	DEVLEND_OP_ATTACH	= DEVLEND_OP(PROVIDER, 4),	/* map list */
	DEVLEND_OP_PROBE	= DEVLEND_OP(PROVIDER, 5),	/* prove a window */
	DEVLEND_OP_RETURN	= DEVLEND_OP(PROVIDER, 6),
	DEVLEND_OP_MAP		= DEVLEND_OP(PROVIDER, 7),	/* reserved */
	DEVLEND_OP_UNMAP	= DEVLEND_OP(PROVIDER, 8),	/* reserved */
	DEVLEND_OP_SYNC		= DEVLEND_OP(PROVIDER, 9),	/* reserved */
	DEVLEND_OP_BULK_LIST	= DEVLEND_OP(PROVIDER, 10),	/* reserved */
	DEVLEND_OP_EVENTS	= DEVLEND_OP(PROVIDER, 11),	/* take the interrupts, and ring */

	DEVLEND_OP_OFFER	= DEVLEND_OP(CONSUMER, 1),	/* new or changed offer */
	DEVLEND_OP_WITHDRAW	= DEVLEND_OP(CONSUMER, 2),	/* offer is gone */
	DEVLEND_OP_REVOKE	= DEVLEND_OP(CONSUMER, 3),	/* give the device back */
	DEVLEND_OP_RESET_DONE	= DEVLEND_OP(CONSUMER, 4),	/* FLR done, or failed */
};

enum devlend_msg_kind {
	DEVLEND_MSG_REQUEST	= 0,
	DEVLEND_MSG_REPLY	= 1,
};

#define DEVLEND_MSG_PAYLOAD_MAX	2048

/**
 * struct devlend_wire_handle - names a lease
 * @epoch: epoch of the host that owns the device, when it granted the lease
 * @random: never 0; 0 in both fields means "no lease"
 */
struct devlend_wire_handle {
	__le32 epoch;
	__le32 random;
};

/**
 * struct devlend_wire_hdr - starts each message; a CRC-32 over header and payload ends it
 * @op: &enum devlend_op
 * @kind: &enum devlend_msg_kind
 * @status: &enum devlend_status of a reply, else 0
 * @txid: chosen by the requester, returned in the reply
 * @handle: the lease that is spoken of
 * @len: bytes of payload that follow, a multiple of 4, at most %DEVLEND_MSG_PAYLOAD_MAX
 * @function: function of a multi-function lease; 0
 * @asid: address space of a lease; 0
 */
struct devlend_wire_hdr {
	__le16 op;
	__u8 kind;
	__u8 status;
	__le32 txid;
	struct devlend_wire_handle handle;
	__le16 len;
	__u8 function;
	__u8 asid;
};

#define DEVLEND_MSG_MIN	(sizeof(struct devlend_wire_hdr) + 4)
#define DEVLEND_MSG_MAX	(DEVLEND_MSG_MIN + DEVLEND_MSG_PAYLOAD_MAX)

struct devlend_wire_uuid {
	__u8 b[16];
};

/**
 * struct devlend_wire_hello - request and reply of %DEVLEND_OP_HELLO
 * @minor: minor version that the sender speaks; the smaller one is used
 * @peers: number of hosts that the sender's NTB reaches; 1
 * @your_epoch: the receiver's epoch, as the sender read it
 * @host: identity of the sending host (set by the operator, else from DMI)
 * @features_must: features without which the sender cannot work
 * @features_may: features that the sender understands
 * @max_payload: longest payload that the sender accepts, in bytes
 * @services: bit mask of &enum devlend_service_id that are loaded now
 * @reserved: 0
 */
struct devlend_wire_hello {
	__le16 minor;
	__le16 peers;
	__le32 your_epoch;
	struct devlend_wire_uuid host;
	__le64 features_must;
	__le64 features_may;
	__le32 max_payload;
	__le32 services;
	__le32 reserved[2];
};

enum devlend_test_kind {
	DEVLEND_TEST_PATTERN	= 1,	/* dword n is devlend_test_dword(@value, n) */
	DEVLEND_TEST_MESSAGE	= 2,	/* one dword, @value */
};

#define DEVLEND_TEST_DWORDS_MAX	1024

/**
 * struct devlend_wire_test - request of %DEVLEND_OP_TEST; the reply is empty
 * @kind: &enum devlend_test_kind
 * @window: memory window index, the receiver's numbering of its outbound windows
 * @offset: where to write, bytes from the start of the window, a multiple of 4
 * @dwords: how many, at most %DEVLEND_TEST_DWORDS_MAX
 * @value: seed of the pattern, or the message
 *
 * The receiver's CPU writes, and reads nothing. The sender opened the window for this, and
 * closes it afterwards.
 */
struct devlend_wire_test {
	__le32 kind;
	__le32 window;
	__le64 offset;
	__le32 dwords;
	__le32 value;
};

/* Dwords of one pattern differ, and so do patterns. */
static inline __u32 devlend_test_dword(__u32 seed, __u32 n)
{
	return (seed ^ n) * 0x9e3779b1u;
}

/**
 * struct devlend_wire_offer_id - names an offer, whichever link it is seen through
 * @host: identity of the host that owns the device
 * @domain: PCI domain there
 * @bdf: bus (15..8), device (7..3), function (2..0) there
 * @generation: counts how often this device was lent since that host booted, from 1
 * @reserved: 0
 */
struct devlend_wire_offer_id {
	struct devlend_wire_uuid host;
	__le32 domain;
	__le16 bdf;
	__le16 reserved;
	__le32 generation;
};

/* bits of &devlend_wire_bar.flags and of devlend_wire_grant_bar */
#define DEVLEND_BAR_IO		(1u << 0)	/* present, but I/O ports: not exported */
#define DEVLEND_BAR_64		(1u << 1)
#define DEVLEND_BAR_PREFETCH	(1u << 2)
#define DEVLEND_BAR_ROM		(1u << 3)

#define DEVLEND_BARS		6

/**
 * struct devlend_wire_bar - one BAR of an offer
 * @size: bytes; 0 where there is none, or it is the upper half of a 64-bit one
 * @flags: %DEVLEND_BAR_IO and following
 * @reserved: 0
 */
struct devlend_wire_bar {
	__le64 size;
	__le32 flags;
	__le32 reserved;
};

enum devlend_offer_state {
	DEVLEND_OFFER_AVAILABLE	= 1,
	DEVLEND_OFFER_LENT	= 2,	/* taken, by this peer or another */
	DEVLEND_OFFER_BUSY	= 3,	/* being reset; will change by itself */
	DEVLEND_OFFER_QUARANTINED = 4,	/* could not be reset */
	DEVLEND_OFFER_FORBIDDEN	= 5,	/* this peer may see it, and not have it */
};

/**
 * struct devlend_wire_offer - request of %DEVLEND_OP_OFFER; the reply is empty
 * @id: which device
 * @state: &enum devlend_offer_state
 * @vendor: and the four following, as in config space
 * @device: see @vendor
 * @subsystem_vendor: see @vendor
 * @subsystem_device: see @vendor
 * @class_rev: class code in bits 31..8, revision in 7..0
 * @bar: the device's BARs
 * @msi_vectors: that the MSI capability can do; 0 = none
 * @msix_vectors: that the MSI-X capability can do; 0 = none
 * @mps: maximum payload size in force for the device, bytes
 * @iommu_width: address bits of the owner's IOMMU for the device; 0 = no IOMMU
 * @iommu_pgsizes: page sizes of the same, as a bit mask
 * @isolation_group: the number of its group there, plus 1; 0 = none
 * @p2p_clique: devices with the same non-zero number reach each other
 * @reserved: 0
 */
struct devlend_wire_offer {
	struct devlend_wire_offer_id id;
	__le32 state;
	__le32 class_rev;
	__le16 vendor;
	__le16 device;
	__le16 subsystem_vendor;
	__le16 subsystem_device;
	struct devlend_wire_bar bar[DEVLEND_BARS];
	__le16 msi_vectors;
	__le16 msix_vectors;
	__le16 mps;
	__le16 iommu_width;
	__le64 iommu_pgsizes;
	__le32 isolation_group;
	__le32 p2p_clique;
	__le32 reserved[4];
};

/**
 * struct devlend_wire_withdraw - request of %DEVLEND_OP_WITHDRAW; the reply is empty
 * @id: which device
 */
struct devlend_wire_withdraw {
	struct devlend_wire_offer_id id;
};

/**
 * struct devlend_wire_borrow - request of %DEVLEND_OP_BORROW
 * @id: which offer
 * @mps: largest payload that the borrowing host's NTB function completes, bytes
 * @flags: 0
 * @borrower_host: who borrows; must be the peer's own
 */
struct devlend_wire_borrow {
	struct devlend_wire_offer_id id;
	__le32 mps;
	__le32 flags;
	struct devlend_wire_uuid borrower_host;
};

/**
 * struct devlend_wire_grant_bar - where one BAR is to be found
 * @lender_bus: address that the device's own BAR holds
 * @size: bytes; 0 = not exported
 * @offset: of the BAR's first byte from the start of the memory window
 * @window: memory window index, the borrower's numbering of its outbound windows
 * @flags: %DEVLEND_BAR_IO and following
 */
struct devlend_wire_grant_bar {
	__le64 lender_bus;
	__le64 size;
	__le64 offset;
	__le32 window;
	__le32 flags;
};

/**
 * struct devlend_wire_grant - reply of %DEVLEND_OP_BORROW
 * @handle: names the lease from now on
 * @bar: the BARs
 * @rom_size: 0: the expansion ROM is not exported
 * @msix_bar: BAR that holds the MSI-X table; 0xff = none
 * @reserved8: 0
 * @msix_offset: of the table in that BAR
 * @mrrs: maximum read request size in force for the device, bytes
 * @mps: maximum payload size in force, bytes
 * @reserved: 0
 */
struct devlend_wire_grant {
	struct devlend_wire_handle handle;
	struct devlend_wire_grant_bar bar[DEVLEND_BARS];
	__le32 rom_size;
	__u8 msix_bar;
	__u8 reserved8[3];
	__le32 msix_offset;
	__le16 mrrs;
	__le16 mps;
	__le32 reserved[4];
};

/*
 * Reply of %DEVLEND_OP_CONFIG (the request is empty but for the header's handle): 4096 bytes
 * of config space, sparse. Runs follow each other: one __le32 holding the first dword's index
 * (15..0) and the number of dwords (31..16), then the dwords. What is in no run is 0.
 */
#define DEVLEND_CONFIG_DWORDS	1024
#define DEVLEND_CONFIG_RUN(first, count)	(((count) << 16) | (first))

enum devlend_map_kind {
	DEVLEND_MAP_MEMORY	= 1,	/* borrower's memory window */
	DEVLEND_MAP_MSI		= 2,	/* borrower's interrupt range */
	DEVLEND_MAP_LEASE_BAR	= 3,	/* reserved: a BAR of another lease */
	DEVLEND_MAP_THIRD_HOST	= 4,	/* reserved */
};

#define DEVLEND_PROT_READ	(1u << 0)
#define DEVLEND_PROT_WRITE	(1u << 1)

#define DEVLEND_MAP_ENTRIES_MAX	16

/**
 * struct devlend_wire_map - one entry of the map list of a lease
 * @device_addr: address that the device uses for the first byte; set in the reply
 * @offset: of the first byte from the start of the memory window
 * @length: bytes
 * @kind: &enum devlend_map_kind
 * @window: memory window index, the lender's numbering of its outbound windows
 * @prot: %DEVLEND_PROT_READ, %DEVLEND_PROT_WRITE
 * @reserved: 0
 */
struct devlend_wire_map {
	__le64 device_addr;
	__le64 offset;
	__le64 length;
	__le16 kind;
	__le16 window;
	__le32 prot;
	__le32 reserved[2];
};

/**
 * struct devlend_wire_attach - request and reply of %DEVLEND_OP_ATTACH
 * @count: entries that follow, at most %DEVLEND_MAP_ENTRIES_MAX
 * @dma_bits: reply: address bits that the lender's path to the window can carry; 64 where
 *	unknown
 * @map: the entries; the reply has @device_addr filled in
 */
struct devlend_wire_attach {
	__le32 count;
	__le32 dma_bits;
	struct devlend_wire_map map[];
};

enum devlend_probe_kind {
	DEVLEND_PROBE_MEMORY	= 1,	/* lender's CPU writes @value at @offset of the map entry */
	DEVLEND_PROBE_BAR	= 2,	/* lender's CPU reads the dword at @offset of BAR @index */
	DEVLEND_PROBE_MSI	= 3,	/* lender's CPU writes the message @value to the entry */
	DEVLEND_PROBE_EVENT	= 4,	/* lender's CPU counts event @index, and rings */
};

/**
 * struct devlend_wire_probe - request and reply of %DEVLEND_OP_PROBE
 * @kind: &enum devlend_probe_kind
 * @index: entry of the map list, BAR number, or event
 * @offset: bytes from the start of that entry or BAR, a multiple of 4
 * @value: to be written; in the reply of %DEVLEND_PROBE_BAR: what was read
 * @reserved: 0
 *
 * %DEVLEND_PROBE_BAR is only allowed for the message data of the first MSI-X table entry,
 * while MSI-X is disabled: a register without side effects in all devices.
 */
struct devlend_wire_probe {
	__le32 kind;
	__le32 index;
	__le64 offset;
	__le32 value;
	__le32 reserved;
};

#define DEVLEND_EVENTS_INTX	(1u << 0)	/* event 0 is the device's INTx */
#define DEVLEND_EVENTS_MSI	(1u << 1)	/* the others are messages of MSI */
#define DEVLEND_EVENTS_MSIX	(1u << 2)	/* the others are messages of MSI-X */

#define DEVLEND_EVENT_INTX	0u
#define DEVLEND_EVENT_MESSAGE	1u		/* of message 0, and so on */
/* messages that can be events: as many as plain MSI can have */
#define DEVLEND_EVENT_MESSAGES_MAX	32

/**
 * struct devlend_wire_events - request of %DEVLEND_OP_EVENTS
 * @index: entry of the map list, of kind %DEVLEND_MAP_MEMORY, that holds the words
 * @messages: how many there is room for, at most %DEVLEND_EVENT_MESSAGES_MAX
 * @offset: of the word of event 0 from the start of the entry, a multiple of 4; a word for each
 *	message follows
 * @reserved: 0
 *
 * The lender's CPU takes the device's interrupts from now on. For each it adds 1 to the event's
 * word, which lies in the borrower's memory, and rings the event bell.
 */
struct devlend_wire_events {
	__le32 index;
	__le32 messages;
	__le64 offset;
	__le32 reserved[2];
};

/**
 * struct devlend_wire_message - what the device has to be told for one of its messages
 * @address: lender bus address
 * @data: what to write there
 * @reserved: 0
 */
struct devlend_wire_message {
	__le64 address;
	__le32 data;
	__le32 reserved;
};

/**
 * struct devlend_wire_taken - reply of %DEVLEND_OP_EVENTS
 * @flags: %DEVLEND_EVENTS_INTX and following: what is taken
 * @count: messages, at most as many as there was room for
 * @message: for the device, in the order of its vectors
 */
struct devlend_wire_taken {
	__le32 flags;
	__le32 count;
	struct devlend_wire_message message[];
};

enum devlend_revoke_reason {
	DEVLEND_REVOKE_RECLAIM	= 1,
	DEVLEND_REVOKE_UNLOAD	= 2,
	DEVLEND_REVOKE_SHUTDOWN	= 3,
	DEVLEND_REVOKE_ERROR	= 4,	/* the device failed */
	DEVLEND_REVOKE_REMOVED	= 5,	/* the device, or the NTB, is being removed */
	DEVLEND_REVOKE_ACCESS	= 6,	/* this peer may not have it any more */
};

/**
 * struct devlend_wire_revoke - request of %DEVLEND_OP_REVOKE; the reply is empty, at once
 * @reason: &enum devlend_revoke_reason
 * @grace_ms: time after which the lender takes the device back in any case; 0: it has, and the
 *	lease is over
 */
struct devlend_wire_revoke {
	__le32 reason;
	__le32 grace_ms;
};

/**
 * struct devlend_wire_reset_done - request of %DEVLEND_OP_RESET_DONE; the reply is empty
 * @status: &enum devlend_status
 */
struct devlend_wire_reset_done {
	__le32 status;
};

static_assert(sizeof(struct devlend_wire_handle) == 8);
static_assert(sizeof(struct devlend_wire_hdr) == 20);
static_assert(sizeof(struct devlend_wire_hello) == 56);
static_assert(offsetof(struct devlend_wire_hello, features_must) == 24);
static_assert(sizeof(struct devlend_wire_test) == 24);
static_assert(sizeof(struct devlend_wire_offer_id) == 28);
static_assert(sizeof(struct devlend_wire_bar) == 16);
static_assert(sizeof(struct devlend_wire_offer) == 184);
static_assert(offsetof(struct devlend_wire_offer, bar) == 48);
static_assert(offsetof(struct devlend_wire_offer, iommu_pgsizes) == 152);
static_assert(sizeof(struct devlend_wire_withdraw) == 28);
static_assert(sizeof(struct devlend_wire_borrow) == 52);
static_assert(sizeof(struct devlend_wire_grant_bar) == 32);
static_assert(sizeof(struct devlend_wire_grant) == 232);
static_assert(offsetof(struct devlend_wire_grant, rom_size) == 200);
static_assert(sizeof(struct devlend_wire_map) == 40);
static_assert(sizeof(struct devlend_wire_attach) == 8);
static_assert(sizeof(struct devlend_wire_probe) == 24);
static_assert(sizeof(struct devlend_wire_events) == 24);
static_assert(sizeof(struct devlend_wire_message) == 16);
static_assert(sizeof(struct devlend_wire_taken) == 8);
static_assert(sizeof(struct devlend_wire_revoke) == 8);
static_assert(sizeof(struct devlend_wire_reset_done) == 4);

#endif /* DEVLEND_WIRE_MESSAGES_H */
