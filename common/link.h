/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One NTB and the peer behind it. Private to the core.
 *
 * link.c makes and unmakes links, link_work.c watches the peer, link_session.c begins and ends
 * sessions, beat.c is the timer, call.c and atomic.c carry calls, service.c tells the modules
 * above. Documentation/locking.rst has the locks of all of them in one table.
 */
#ifndef DEVLEND_LINK_H
#define DEVLEND_LINK_H

#include <linux/completion.h>
#include <linux/device.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/uuid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <devlend/core.h>

#include "lane_atomic.h"
#include "lane_sleep.h"
#include "link_state.h"
#include "transport.h"

struct devlend_windows;
struct ntb_dev;

/*
 * Requests of the peer that are served at the same time; further ones are told "busy". So this host
 * makes no more calls than that at a time, and is not.
 */
#define DEVLEND_REQUESTS_MAX	8

/**
 * struct devlend_told - what one service was told of one link
 * @link: the link that contains this
 * @id: &enum devlend_service_id
 * @work: compares what is with what was told, and tells
 * @mutex: serialises the service's link_up, link_down and link_gone; outermost of the core's locks
 * @known: link_gone is owed; under @mutex
 * @session: the session that it was told is up; 0 = none. Written under @mutex and the link's @lock
 * @running: its requests that are being served, under the link's @lock
 * @wait: woken when @session or @running changes
 */
struct devlend_told {
	struct devlend_link *link;
	unsigned int id;
	struct work_struct work;
	struct mutex mutex;	/* protects @known; callbacks are made under it */
	bool known;
	u32 session;
	unsigned int running;
	wait_queue_head_t wait;
};

/**
 * struct devlend_link - one NTB and the peer behind it
 * @dev: the link on the devlend bus; its reference count is the link's
 * @id: number in the name
 * @ntb: the NTB; NULL when gone. Under @ntb_rwsem
 * @ntb_rwsem: held for reading while the NTB is used in process context, by windows and on
 *	behalf of the modules above (devlend_link_ntb_get()); for writing once, to take the NTB away
 * @transport: words and bell; usable until the link is gone
 * @stopping: the worker is to end the link
 * @wq: ordered queue of @work alone
 * @work: samples the peer, runs the state machine and the sleeping lane
 * @beat_timer: writes and samples the beat
 *
 * @state: written by @work only, as all up to @why
 * @epoch: our epoch
 * @peer_epoch: the peer's; 0 = no session
 * @peer_hello: the peer's hello word in this session, or the one that does not fit
 * @used_epoch: epoch of the peer that our present one had a session with; 0 = none
 * @unfit_epoch: epoch of the peer while the link is incompatible
 * @shun_epoch: epoch of a peer that fell silent, and is not listened to ...
 * @shun_beat: ... until its beat is not this any more; @shun_epoch 0 = none
 * @announce_due: the peer's scratchpads did not take our hello
 * @announce_failed: ... and that was said
 * @adopted_at: when the session began, jiffies
 * @hello_answered: the peer answered our hello
 * @hello_seen: the peer's hello came
 * @hello_refused: the peer, or we, found the other's features unfit
 * @refused_seen: operations of the atomic lane that were refused, when last looked
 * @why: reason of the last loss, for link_down; written by @work, read by anyone
 *
 * @lock: protects the following, up to @calls_out, and &devlend_told.session and .running
 * @peer_host: the peer's identity, valid while up
 * @session: number of the present session, or of the next one; never 0. What began in
 *	another is void
 * @up_session: session that is up, 0 = none; also read without the lock
 * @pending: calls that wait for a reply
 * @next_txid: of the next call
 * @calls_out: calls whose turn it is
 *
 * @calls_wait: woken when @calls_out falls, and at the end of a session
 * @requests: requests of the peer that are being served
 * @bells: bells heard, not yet looked at
 * @beat: our beat; timer only
 * @beat_seen: the peer's beat last seen; timer only
 * @beat_changed: when it changed last, jiffies; timer and @work
 * @beat_timeout_ms: set by the operator
 * @atomic: lane 2
 * @sleep: lane 1
 * @tell_wq: queue of the works in @told
 * @told: what each service was told
 * @windows: memory windows, of window.c
 * @test_vector: doorbell vector whose interrupt a test waits for; -1 = none
 * @test_seen: completed by it
 * @calls_sent: calls made
 * @calls_received: requests served
 * @atomic_sent: atomic operations sent
 * @atomic_received: atomic operations served
 */
struct devlend_link {
	struct device dev;
	int id;
	struct ntb_dev *ntb;
	struct rw_semaphore ntb_rwsem;
	struct devlend_transport transport;
	bool stopping;
	struct workqueue_struct *wq;
	struct work_struct work;
	struct timer_list beat_timer;

	enum devlend_link_state state;
	u32 epoch;
	u32 peer_epoch;
	u32 peer_hello;
	u32 used_epoch;
	u32 unfit_epoch;
	u32 shun_epoch;
	u32 shun_beat;
	bool announce_due;
	bool announce_failed;
	unsigned long adopted_at;
	bool hello_answered;
	bool hello_seen;
	bool hello_refused;
	u64 refused_seen;
	enum devlend_down_reason why;

	spinlock_t lock;	/* protects the following, up to @calls_out, and @told's */
	uuid_t peer_host;
	u32 session;
	u32 up_session;
	struct list_head pending;
	u32 next_txid;
	unsigned int calls_out;

	wait_queue_head_t calls_wait;
	atomic_t requests;
	atomic_t bells;
	u32 beat;
	u32 beat_seen;
	unsigned long beat_changed;
	unsigned int beat_timeout_ms;

	struct devlend_lane_atomic atomic;
	struct devlend_lane_sleep sleep;

	struct workqueue_struct *tell_wq;
	struct devlend_told told[DEVLEND_SVC_COUNT];

	struct devlend_windows *windows;
	int test_vector;
	struct completion test_seen;
	atomic64_t calls_sent;
	atomic64_t calls_received;
	atomic64_t atomic_sent;
	atomic64_t atomic_received;
};

#define to_devlend_link(d)	container_of(d, struct devlend_link, dev)

/* link.c */
struct devlend_link *devlend_link_create(struct ntb_dev *ntb);
void devlend_link_remove(struct devlend_link *link);
void devlend_link_shutdown(struct device *dev);
void devlend_link_for_each(void (*fn)(struct devlend_link *link, void *arg), void *arg);
struct ntb_dev *devlend_link_ntb_get(struct devlend_link *link);
void devlend_link_ntb_put(struct devlend_link *link);
void devlend_link_kick(struct devlend_link *link);

/* link_session.c: in the link's worker */
void devlend_link_event(struct devlend_link *link, enum devlend_link_event event, u32 epoch,
			enum devlend_down_reason why);
void devlend_link_hello_done(struct devlend_link *link, bool answered, bool seen, bool refused);
void devlend_link_announce(struct devlend_link *link);
void devlend_link_restate(struct devlend_link *link);
void devlend_link_farewell(struct devlend_link *link);

/* link_work.c */
void devlend_link_work(struct work_struct *work);

/* beat.c */
void devlend_beat_init(struct devlend_link *link);
void devlend_beat_stop(struct devlend_link *link);
bool devlend_beat_is_silent(struct devlend_link *link);

/* call.c */
int devlend_calls_init(void);
void devlend_calls_exit(void);
void devlend_call_deliver(void *ctx, const u8 *data, size_t len);
void devlend_call_cancel_all(struct devlend_link *link);
int devlend_call_hello(struct devlend_link *link);

/* service.c */
u8 devlend_service_atomic(void *ctx, u8 op, u32 d0, u32 d1);
void devlend_service_event(struct devlend_link *link, bool rung);
enum devlend_status devlend_service_request(struct devlend_link *link, u32 session,
					    struct devlend_request *rq);
void devlend_service_link_init(struct devlend_link *link);
void devlend_service_link_changed(struct devlend_link *link);
void devlend_service_link_gone(struct devlend_link *link);
void devlend_service_link_wait_down(struct devlend_link *link);

/* link_sysfs.c */
extern const struct attribute_group *devlend_link_groups[];

static inline u32 devlend_link_read(struct devlend_link *link, unsigned int word)
{
	return link->transport.ops->read(&link->transport, word);
}

static inline void devlend_link_write(struct devlend_link *link, unsigned int word, u32 value)
{
	link->transport.ops->write(&link->transport, word, value);
}

#endif /* DEVLEND_LINK_H */
