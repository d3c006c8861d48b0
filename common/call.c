// SPDX-License-Identifier: GPL-2.0
/*
 * Calls over the sleeping lane: a request that waits for its reply, and the peer's requests.
 *
 * Who calls it: the modules above (devlend_call, process context), the link's worker (deliver,
 * cancel, hello). It owns a struct call_out per call that waits, reference counted between the
 * caller and the link's list, and a struct call_in per request of the peer that is being
 * served.
 *
 * Locks: link->lock for the list of calls that wait. Services are called from a workqueue, with
 * no lock held, several at a time, at most DEVLEND_REQUESTS_MAX per link; what the peer asks
 * beyond is told "busy". An honest peer does not ask: it has no more calls under way than that,
 * the greeting aside, which is answered without a service.
 *
 * The peer is not trusted: a reply is matched by its number and operation, its length bounded
 * by the caller's buffer; a request's text is a private copy.
 */
#define pr_fmt(fmt) "devlend: " fmt

#include <linux/crc32.h>
#include <linux/delay.h>
#include <linux/kref.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <devlend/compat.h>

#include "link.h"
#include "trace.h"

/* Pauses of who insists: the first, and the last that is followed by another try; each doubles */
#define CALL_INSIST_FIRST_MS	20
#define CALL_INSIST_LAST_MS	320

/**
 * struct call_out - a call that waits for its reply
 * @ref: one of the caller's, one of the list's
 * @list: in link->pending
 * @txid: number of the call
 * @op: operation; the reply must name the same
 * @hello: the handshake's own: nobody waits, the worker is told
 * @done: completed with @err set
 * @err: outcome
 * @reply_max: room in @reply
 * @reply_len: bytes there
 * @reply: payload of the reply; not the caller's buffer, which may be gone when a reply comes late
 */
struct call_out {
	struct kref ref;
	struct list_head list;
	u32 txid;
	u16 op;
	bool hello;
	struct completion done;
	int err;
	size_t reply_max;
	size_t reply_len;
	u8 reply[];
};

/**
 * struct call_in - a request of the peer
 * @work: serves it
 * @link: held
 * @session: that it came in; the reply is dropped in another
 * @txid: to be returned
 * @rq: as the service sees it
 * @reply: room for the longest reply, there before anything is done: a peer that does not hear
 *	the outcome takes it for a failure
 * @buf: request, then room for the reply
 */
struct call_in {
	struct work_struct work;
	struct devlend_link *link;
	u32 session;
	u32 txid;
	struct devlend_request rq;
	struct devlend_msg *reply;
	u8 buf[2][DEVLEND_MSG_PAYLOAD_MAX] __aligned(8);
};

/* Serves requests, of all links. Its works hold their links. */
static struct workqueue_struct *call_wq;

static void call_out_release(struct kref *ref)
{
	kfree(container_of(ref, struct call_out, ref));
}

/* A message with room for so much payload. */
static struct devlend_msg *call_message_new(size_t room)
{
	struct devlend_msg *msg;

	return kzalloc(struct_size(msg, data, DEVLEND_MSG_MIN + room), GFP_KERNEL);
}

static void call_message_fill(struct devlend_msg *msg, const struct devlend_wire_hdr *hdr,
			      const void *payload, size_t len)
{
	size_t total = DEVLEND_MSG_MIN + len;

	msg->len = total;
	memcpy(msg->data, hdr, sizeof(*hdr));
	if (len)
		memcpy(msg->data + sizeof(*hdr), payload, len);
	put_unaligned_le32(crc32_le(~0u, msg->data, total - 4), msg->data + total - 4);
}

static struct call_out *call_out_new(struct devlend_link *link, const struct devlend_call *call)
{
	struct call_out *out = kzalloc(struct_size(out, reply, call->reply_max), GFP_KERNEL);

	if (!out)
		return NULL;
	kref_init(&out->ref);
	INIT_LIST_HEAD(&out->list);
	init_completion(&out->done);
	out->op = call->op;
	out->reply_max = call->reply_max;
	return out;
}

/* Put a call on the list, which holds it until call_forget(), and its message in the lane. */
static int call_send(struct devlend_link *link, struct call_out *out,
		     const struct devlend_call *call, u32 session)
{
	struct devlend_wire_hdr hdr = {
		.op = cpu_to_le16(call->op),
		.kind = DEVLEND_MSG_REQUEST,
		.handle.epoch = cpu_to_le32(call->handle.epoch),
		.handle.random = cpu_to_le32(call->handle.random),
		.len = cpu_to_le16(call->len),
	};
	struct devlend_msg *msg = call_message_new(call->len);
	int err;

	if (!msg)
		return -ENOMEM;
	spin_lock(&link->lock);
	out->txid = ++link->next_txid;
	kref_get(&out->ref);
	list_add_tail(&out->list, &link->pending);
	spin_unlock(&link->lock);

	hdr.txid = cpu_to_le32(out->txid);
	call_message_fill(msg, &hdr, call->data, call->len);
	err = devlend_lane_sleep_queue(&link->sleep, msg, session);
	if (!err) {
		trace_devlend_request(link->id, true, call->op, out->txid, call->len);
		atomic64_inc(&link->calls_sent);
		devlend_link_kick(link);
	}
	return err;
}

/* Take a call off the list, if it is there. */
static void call_forget(struct devlend_link *link, struct call_out *out)
{
	bool listed;

	spin_lock(&link->lock);
	listed = !list_empty(&out->list);
	list_del_init(&out->list);
	spin_unlock(&link->lock);
	if (listed)
		kref_put(&out->ref, call_out_release);
}

/* 1 = it is this call's turn, and it is counted; 0 = not yet; -ENOTCONN = never */
static int call_try_enter(struct devlend_link *link, u32 session)
{
	int ret = 0;

	spin_lock(&link->lock);
	if (link->up_session != session) {
		ret = -ENOTCONN;
	} else if (link->calls_out < DEVLEND_REQUESTS_MAX) {
		link->calls_out++;
		ret = 1;
	}
	spin_unlock(&link->lock);
	return ret;
}

/* Wait until the peer has a place for one more. Return: 0 with *@left jiffies left; or an errno. */
static int call_enter(struct devlend_link *link, u32 session, long *left)
{
	int ret = 0;

	*left = wait_event_timeout(link->calls_wait, (ret = call_try_enter(link, session)) != 0,
				   *left);
	if (!ret)
		return -ETIMEDOUT;
	return min(ret, 0);
}

static void call_leave(struct devlend_link *link)
{
	spin_lock(&link->lock);
	link->calls_out--;
	spin_unlock(&link->lock);
	wake_up(&link->calls_wait);
}

/**
 * devlend_call() - ask the peer and wait for the answer
 * @link: the link
 * @call: what is asked; see its description
 *
 * A peer serves %DEVLEND_REQUESTS_MAX at a time: who comes while so many are under way waits for
 * their end, which counts as part of the time-out.
 *
 * Context: process, sleeps until the answer, the end of the session or the time-out; never
 * under the rescan lock, since the peer's answer may need it there.
 * Return: 0; -EINVAL; -ENOMEM; -ENOTCONN: no session, or it ended; -ETIMEDOUT; -EPROTO: a reply
 * that does not fit; else the peer's status as errno.
 */
int devlend_call(struct devlend_link *link, struct devlend_call *call)
{
	long left = msecs_to_jiffies(call->timeout_ms ?: DEVLEND_CALL_TIMEOUT_MS);
	u32 session = READ_ONCE(link->up_session);
	struct call_out *out;
	int err;

	if (call->len % 4 || call->len > DEVLEND_MSG_PAYLOAD_MAX ||
	    call->reply_max > DEVLEND_MSG_PAYLOAD_MAX || (call->reply_max && !call->reply))
		return -EINVAL;
	if (!session)
		return -ENOTCONN;
	out = call_out_new(link, call);
	if (!out)
		return -ENOMEM;
	err = call_enter(link, session, &left);
	if (err)
		goto put;
	err = call_send(link, out, call, session);
	if (!err)
		err = wait_for_completion_timeout(&out->done, left) ? out->err : -ETIMEDOUT;
	/* the list's reference goes first: after that no reply touches @out */
	call_forget(link, out);
	call_leave(link);
	if (!err) {
		call->reply_len = out->reply_len;
		if (out->reply_len)
			memcpy(call->reply, out->reply, out->reply_len);
	}
	trace_devlend_call_done(link->id, call->op, out->txid, err);
put:
	kref_put(&out->ref, call_out_release);
	return err;
}
EXPORT_SYMBOL_GPL(devlend_call);

/**
 * devlend_call_insist() - as devlend_call(), for what the peer has to hear
 * @link: the link
 * @call: what is said: once more does no harm
 *
 * A host that has no memory for the message, or is too busy for it, has some in a moment: it is
 * said again, a few times, with a little more patience each time.
 * Context: process, sleeps. Return: as devlend_call().
 */
int devlend_call_insist(struct devlend_link *link, struct devlend_call *call)
{
	unsigned int ms;
	int err;

	for (ms = CALL_INSIST_FIRST_MS; ; ms *= 2) {
		err = devlend_call(link, call);
		if ((err != -ENOMEM && err != -EBUSY) || ms > CALL_INSIST_LAST_MS)
			return err;
		msleep(ms);
	}
}
EXPORT_SYMBOL_GPL(devlend_call_insist);

static void call_hello_fill(struct devlend_link *link, struct devlend_wire_hello *hello)
{
	uuid_t host;

	memset(hello, 0, sizeof(*hello));
	devlend_host_uuid(&host);
	hello->minor = cpu_to_le16(DEVLEND_WIRE_MINOR);
	hello->peers = cpu_to_le16(1);
	hello->your_epoch = cpu_to_le32(link->peer_epoch);
	export_uuid(hello->host.b, &host);
	hello->max_payload = cpu_to_le32(DEVLEND_MSG_PAYLOAD_MAX);
}

/* A session is with one host: what was offered or lent in it belongs to that one. */
static bool call_hello_same_host(struct devlend_link *link, const uuid_t *host)
{
	return (!link->hello_answered && !link->hello_seen) ||
	       uuid_equal(host, &link->peer_host);
}

/* A hello of the peer, as request or reply. Return: a status. */
static enum devlend_status call_hello_take(struct devlend_link *link, const void *data, size_t len)
{
	const struct devlend_wire_hello *hello = data;
	uuid_t host;

	if (len != sizeof(*hello) || le32_to_cpu(hello->your_epoch) != link->epoch)
		return DEVLEND_E_INVAL;
	if (hello->features_must) {
		dev_err_ratelimited(&link->dev, "the peer needs features 0x%llx, which this version has not: install the same version on both\n",
				    le64_to_cpu(hello->features_must));
		return DEVLEND_E_NOTSUPP;
	}
	if (le32_to_cpu(hello->max_payload) < DEVLEND_MSG_PAYLOAD_MAX)
		return DEVLEND_E_NOTSUPP;
	import_uuid(&host, hello->host.b);
	if (!call_hello_same_host(link, &host)) {
		dev_err_ratelimited(&link->dev, "the peer says that it is host %pUb, and said %pUb before: not believed\n",
				    &host, &link->peer_host);
		return DEVLEND_E_PERM;
	}
	spin_lock(&link->lock);
	uuid_copy(&link->peer_host, &host);
	spin_unlock(&link->lock);
	return DEVLEND_OK;
}

/**
 * devlend_call_hello() - greet the peer
 * @link: the link; a session was just begun
 *
 * Nobody waits: the worker is told when the answer comes.
 * Context: the link's worker. Return: 0 or a negative errno.
 */
int devlend_call_hello(struct devlend_link *link)
{
	struct devlend_wire_hello hello;
	struct devlend_call call = {
		.op = DEVLEND_OP_HELLO,
		.data = &hello,
		.len = sizeof(hello),
		.reply_max = sizeof(hello),
	};
	struct call_out *out = call_out_new(link, &call);
	int err;

	if (!out)
		return -ENOMEM;
	out->hello = true;
	call_hello_fill(link, &hello);
	err = call_send(link, out, &call, link->session);
	if (err)
		call_forget(link, out);
	kref_put(&out->ref, call_out_release);
	return err;
}

static void call_hello_answered(struct devlend_link *link, const struct call_out *out)
{
	bool ok = !out->err && call_hello_take(link, out->reply, out->reply_len) == DEVLEND_OK;

	if (!ok)
		dev_err_ratelimited(&link->dev, "the handshake failed (%d): install the same version on both hosts\n",
				    out->err);
	devlend_link_hello_done(link, ok, false, !ok);
}

static void call_take_reply(struct devlend_link *link, const struct devlend_wire_hdr *hdr,
			    const u8 *payload, size_t len)
{
	struct call_out *out, *found = NULL;
	u32 txid = le32_to_cpu(hdr->txid);

	spin_lock(&link->lock);
	list_for_each_entry(out, &link->pending, list) {
		if (out->txid == txid && out->op == le16_to_cpu(hdr->op)) {
			found = out;
			list_del_init(&out->list);
			break;
		}
	}
	spin_unlock(&link->lock);
	if (!found)
		return;		/* came after its time-out */
	found->err = devlend_status_to_errno(hdr->status);
	if (!found->err && len > found->reply_max) {
		found->err = -EPROTO;
	} else if (!found->err) {
		memcpy(found->reply, payload, len);
		found->reply_len = len;
	}
	if (found->hello)
		call_hello_answered(link, found);
	complete(&found->done);
	kref_put(&found->ref, call_out_release);
}

/* @msg, with room for the reply, is used up; NULL: no memory, and the peer's call times out. */
static void call_reply(struct devlend_link *link, const struct devlend_request *rq, u32 txid,
		       u32 session, enum devlend_status status, struct devlend_msg *msg)
{
	struct devlend_wire_hdr hdr = {
		.op = cpu_to_le16(rq->op),
		.kind = DEVLEND_MSG_REPLY,
		.status = status,
		.txid = cpu_to_le32(txid),
		.handle.epoch = cpu_to_le32(rq->handle.epoch),
		.handle.random = cpu_to_le32(rq->handle.random),
		.len = cpu_to_le16(rq->reply_len),
	};

	if (msg) {
		call_message_fill(msg, &hdr, rq->reply, rq->reply_len);
		/* another session: nobody waits for it */
		if (!devlend_lane_sleep_queue(&link->sleep, msg, session))
			devlend_link_kick(link);
	}
	trace_devlend_reply(link->id, rq->op, txid, status, rq->reply_len);
}

static void call_serve(struct work_struct *work)
{
	struct call_in *in = container_of(work, struct call_in, work);
	enum devlend_status status = devlend_service_request(in->link, in->session, &in->rq);

	if (status != DEVLEND_OK)
		in->rq.reply_len = 0;
	if (in->rq.reply_len % 4 || in->rq.reply_len > in->rq.reply_max) {
		dev_err_ratelimited(&in->link->dev, "the answer to operation 0x%04x has %zu bytes: not sent\n",
				    in->rq.op, in->rq.reply_len);
		in->rq.reply_len = 0;
		status = DEVLEND_E_IO;
	}
	call_reply(in->link, &in->rq, in->txid, in->session, status, in->reply);
	atomic_dec(&in->link->requests);
	devlend_link_put(in->link);
	kfree(in);
}

static void call_take_hello(struct devlend_link *link, const struct devlend_wire_hdr *hdr,
			    const u8 *payload, size_t len)
{
	struct devlend_wire_hello hello;
	struct devlend_request rq = { .op = DEVLEND_OP_HELLO, .reply = &hello };
	enum devlend_status status = call_hello_take(link, payload, len);

	if (status == DEVLEND_OK) {
		call_hello_fill(link, &hello);
		rq.reply_len = sizeof(hello);
	}
	call_reply(link, &rq, le32_to_cpu(hdr->txid), link->session, status,
		   call_message_new(rq.reply_len));
	devlend_link_hello_done(link, false, status == DEVLEND_OK, status != DEVLEND_OK);
}

static void call_take_request(struct devlend_link *link, const struct devlend_wire_hdr *hdr,
			      const u8 *payload, size_t len)
{
	struct devlend_request refused = { .op = le16_to_cpu(hdr->op) };
	struct call_in *in;

	if (atomic_inc_return(&link->requests) > DEVLEND_REQUESTS_MAX)
		goto busy;
	in = kzalloc(sizeof(*in), GFP_KERNEL);
	if (!in)
		goto busy;
	in->reply = call_message_new(DEVLEND_MSG_PAYLOAD_MAX);
	if (!in->reply) {
		kfree(in);
		goto busy;
	}
	in->link = devlend_link_get(link);	/* put by call_serve() */
	in->session = link->session;
	in->txid = le32_to_cpu(hdr->txid);
	in->rq.op = le16_to_cpu(hdr->op);
	in->rq.handle.epoch = le32_to_cpu(hdr->handle.epoch);
	in->rq.handle.random = le32_to_cpu(hdr->handle.random);
	in->rq.function = hdr->function;
	in->rq.len = len;
	memcpy(in->buf[0], payload, len);
	in->rq.data = in->buf[0];
	in->rq.reply = in->buf[1];
	in->rq.reply_max = sizeof(in->buf[1]);
	INIT_WORK(&in->work, call_serve);
	atomic64_inc(&link->calls_received);
	queue_work(call_wq, &in->work);
	return;
busy:
	atomic_dec(&link->requests);
	call_reply(link, &refused, le32_to_cpu(hdr->txid), link->session, DEVLEND_E_BUSY,
		   call_message_new(0));
}

/**
 * devlend_call_deliver() - a whole message came
 * @ctx: the link
 * @data: header, payload, CRC; framing was checked
 * @len: bytes
 *
 * Context: the link's worker.
 */
void devlend_call_deliver(void *ctx, const u8 *data, size_t len)
{
	const struct devlend_wire_hdr *hdr = (const void *)data;
	const u8 *payload = data + sizeof(*hdr);
	struct devlend_link *link = ctx;

	len -= DEVLEND_MSG_MIN;
	trace_devlend_request(link->id, false, le16_to_cpu(hdr->op), le32_to_cpu(hdr->txid), len);
	if (hdr->kind == DEVLEND_MSG_REPLY)
		call_take_reply(link, hdr, payload, len);
	else if (hdr->kind != DEVLEND_MSG_REQUEST)
		return;
	else if (le16_to_cpu(hdr->op) == DEVLEND_OP_HELLO)
		call_take_hello(link, hdr, payload, len);
	else
		call_take_request(link, hdr, payload, len);
}

/**
 * devlend_call_cancel_all() - the session ended: nobody waits any longer
 * @link: the link
 *
 * Context: the link's worker, or after it was stopped.
 */
void devlend_call_cancel_all(struct devlend_link *link)
{
	struct call_out *out, *next;

	spin_lock(&link->lock);
	list_for_each_entry_safe(out, next, &link->pending, list) {
		list_del_init(&out->list);
		out->err = -ENOTCONN;
		complete(&out->done);
		/* the waiter, if any, holds one of its own */
		kref_put(&out->ref, call_out_release);
	}
	spin_unlock(&link->lock);
	wake_up_all(&link->calls_wait);
}

/**
 * devlend_calls_init() - make what serves requests
 *
 * Context: process. Return: 0 or -ENOMEM.
 */
int devlend_calls_init(void)
{
	call_wq = alloc_workqueue("devlend-serve", WQ_UNBOUND, 0);
	return call_wq ? 0 : -ENOMEM;
}

/**
 * devlend_calls_exit() - the reverse; all links are gone
 *
 * Context: process; waits for requests that are being served, whose services are gone.
 */
void devlend_calls_exit(void)
{
	destroy_workqueue(call_wq);
}
