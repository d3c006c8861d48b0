/* SPDX-License-Identifier: GPL-2.0 */
/* One NTB and the peer behind it; see link.c. Private to the core. */
#ifndef DEVLEND_LINK_H
#define DEVLEND_LINK_H

#include <linux/device.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/uuid.h>
#include <linux/workqueue.h>

#include <devlend/core.h>

#include "lane_atomic.h"
#include "lane_sleep.h"
#include "link_state.h"
#include "transport.h"

struct devlend_windows;
struct ntb_dev;

/* Requests of the peer that are served at the same time; further ones are told "busy". */
#define DEVLEND_REQUESTS_MAX	8

/**
 * struct devlend_link - one NTB and the peer behind it
 * @dev: the link on the devlend bus; its reference count is the link's
 * @list: in the list of links, under its mutex
 * @ntb: the NTB; NULL when gone. Under @ntb_rwsem
 * @ntb_rwsem: held for reading while the NTB is used in process context by windows and calls of
 *	the modules above; for writing once, to take the NTB away. Outermost of the core's locks
 *	but for @notify_mutex
 * @transport: words and bell; usable until the link's work and timer were stopped
 * @wq: ordered queue of @work alone
 * @work: samples the peer, runs the state machine and the sleeping lane
 * @beat_timer: writes and samples the beat
 * @state: written by @work only
 * @epoch: our epoch; written by @work only
 * @peer_epoch: the peer's; 0 = none; written by @work only
 * @peer_hello: the hello word last seen; @work only
 * @hello_answered: the peer answered our hello; @work only
 * @hello_seen: the peer's hello came; @work only
 * @why: reason of the last loss, for link_down; @work only
 * @peer_host: the peer's identity, valid while up; under @lock
 * @session: counts sessions; what began in another one is void; under @lock
 * @lock: protects the above two and @pending
 * @pending: calls that wait for a reply
 * @next_txid: of the next call; under @lock
 * @requests: requests of the peer that are being served
 * @bells: bells heard, not yet looked at
 * @failed: a call found the peer silent; set by anyone, taken by @work
 * @beat: our beat; timer only
 * @beat_seen: the peer's beat last seen; timer only
 * @beat_changed: when it changed last, jiffies; timer and @work
 * @beat_timeout_ms: set by the operator
 * @last_news: when something new came on a lane, jiffies
 * @sent_at: when the lanes' frames were last written or answered, jiffies; @work only
 * @atomic: lane 2
 * @sleep: lane 1
 * @notify_wq: ordered queue of @notify_work
 * @notify_work: tells the services what became of the link
 * @notify_mutex: serialises the services' callbacks for this link; outermost
 * @up_session: session that is up, 0 = none; under @lock
 * @told: per service, the session that it was told is up; under @notify_mutex
 * @known: per service, whether link_gone is owed; under @notify_mutex
 * @windows: memory windows, of window.c
 * @id: number in the name
 * @calls_sent: calls made
 * @calls_received: requests served
 * @atomic_sent: atomic operations sent
 * @atomic_received: atomic operations served
 */
struct devlend_link {
	struct device dev;
	struct list_head list;
	struct ntb_dev *ntb;
	struct rw_semaphore ntb_rwsem;
	struct devlend_transport transport;
	struct workqueue_struct *wq;
	struct work_struct work;
	struct timer_list beat_timer;

	enum devlend_link_state state;
	u32 epoch;
	u32 peer_epoch;
	u32 peer_hello;
	bool hello_answered;
	bool hello_seen;
	enum devlend_down_reason why;

	spinlock_t lock;
	uuid_t peer_host;
	u32 session;
	u32 up_session;
	struct list_head pending;
	u32 next_txid;
	atomic_t requests;

	atomic_t bells;
	bool failed;
	u32 beat;
	u32 beat_seen;
	unsigned long beat_changed;
	unsigned int beat_timeout_ms;
	unsigned long last_news;

	struct devlend_lane_atomic atomic;
	struct devlend_lane_sleep sleep;

	struct workqueue_struct *notify_wq;
	struct work_struct notify_work;
	struct mutex notify_mutex;
	u32 told[DEVLEND_SVC_COUNT];
	bool known[DEVLEND_SVC_COUNT];

	struct devlend_windows *windows;
	int id;
	atomic64_t calls_sent;
	atomic64_t calls_received;
	atomic64_t atomic_sent;
	atomic64_t atomic_received;
};

#define to_devlend_link(d)	container_of(d, struct devlend_link, dev)

/* link.c */
struct devlend_link *devlend_link_create(struct ntb_dev *ntb);
void devlend_link_remove(struct devlend_link *link);
void devlend_link_for_each(void (*fn)(struct devlend_link *link, void *arg), void *arg);
struct ntb_dev *devlend_link_ntb_get(struct devlend_link *link);
void devlend_link_ntb_put(struct devlend_link *link);
void devlend_link_kick(struct devlend_link *link);
void devlend_link_fail(struct devlend_link *link);

/* link_work.c */
void devlend_link_work(struct work_struct *work);
void devlend_link_stop(struct devlend_link *link);
void devlend_link_hello_done(struct devlend_link *link, bool answered, bool seen);

/* beat.c */
void devlend_beat_init(struct devlend_link *link);
void devlend_beat_stop(struct devlend_link *link);
bool devlend_beat_is_silent(struct devlend_link *link);

/* call.c */
void devlend_call_deliver(void *ctx, const u8 *data, size_t len);
void devlend_call_cancel_all(struct devlend_link *link);
int devlend_call_hello(struct devlend_link *link);

/* service.c */
u8 devlend_service_atomic(void *ctx, u8 op, u32 d0, u32 d1);
enum devlend_status devlend_service_request(struct devlend_link *link, struct devlend_request *rq);
void devlend_service_notify(struct work_struct *work);
void devlend_service_link_gone(struct devlend_link *link);

/* link_sysfs.c */
extern const struct attribute_group *devlend_link_groups[];

#endif /* DEVLEND_LINK_H */
