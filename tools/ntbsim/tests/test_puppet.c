// SPDX-License-Identifier: GPL-2.0
/* Puppets: what they do to a guest, what they see of it, and how their batches wait. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../puppet.h"
#include "../window.h"

#define A (&b->f[0])
#define B (&b->f[1])	/* the puppet: no connection */
#define DEV 0xfebf0000ull

static const char config[] =
	"{\"ports\":["
	"{\"name\":\"a\",\"socket\":\"/nowhere/a\",\"role\":\"usd\","
	"\"windows\":[{\"bar\":2,\"size\":\"1M\"},{\"bar\":4,\"size\":\"4G\"}]},"
	"{\"name\":\"b\",\"role\":\"dsd\",\"puppet\":true,"
	"\"windows\":[{\"bar\":2,\"size\":\"1M\"},{\"bar\":4,\"size\":\"4G\"}]}],"
	"\"links\":[[\"a\",\"b\"]]}";

/* What a batch gave; the last one, as text. */
static char reply_text[1 << 16];
static int replies;

static const char *keep(struct json_object *r)
{
	struct json_object *v;

	if (json_object_object_get_ex(r, "error", &v))
		snprintf(reply_text, sizeof(reply_text), "%s",
			 json_object_get_string(v));
	else if (json_object_object_get_ex(r, "results", &v))
		snprintf(reply_text, sizeof(reply_text), "%s",
			 json_object_to_json_string_ext(v,
						JSON_C_TO_STRING_PLAIN));
	json_object_put(r);
	replies++;
	return reply_text;
}

static void later(void *arg, struct json_object *r)
{
	assert_ptr_equal(arg, reply_text);
	keep(r);
}

/* Begin a batch. Return: what it gave, or NULL if it waits. */
static const char *begin(struct bench *b, const char *text)
{
	struct json_object *ops = json_tokener_parse(text), *r;

	assert_non_null(ops);
	r = puppet_run(fake_port(B)->puppet, ops, later, reply_text);
	json_object_put(ops);
	/* As the event that brought the request would do. */
	b->s->loop.after(b->s);
	return r ? keep(r) : NULL;
}

#define gives(b, ops, what) do {				\
	const char *got_ = begin(b, ops);			\
								\
	assert_non_null(got_);					\
	assert_string_equal(got_, what);			\
} while (0)

/* Begin a batch that waits. */
static void waits(struct bench *b, const char *ops)
{
	assert_null(begin(b, ops));
	replies = 0;
	pump(b);
	assert_int_equal(replies, 0);
}

/* It has ended now. */
#define gave(b, what) do {					\
	pump(b);						\
	assert_int_equal(replies, 1);				\
	assert_string_equal(reply_text, what);			\
} while (0)

static struct bench *puppet_pair(void)
{
	struct bench *b = bench_new(config);

	fake_connect(A);
	fake_up(A);
	fake_open(A, 0, 0x200000, 0x100000);
	fake_open(A, 1, 0, 4ull << 30);
	gives(b, "[[\"link\",true]]", "[null]");
	assert_true(b->s->link[0].up);
	for (int v = 0; v < PORT_VECTORS; v++)
		fake_irqs(A, v);
	return b;
}

static void test_words(void **state)
{
	struct bench *b = puppet_pair();

	(void)state;
	fake_write32(A, 0, GEN3_PEER_SPAD + 4 * 3, 0x1234);
	gives(b, "[[\"own_read\",3],[\"own_write\",4,7,8],[\"own_read\",5],"
	      "[\"peer_write\",14,4294967295,2],[\"peer_read\",14],[\"peer_read\",15]]",
	      "[4660,null,8,null,4294967295,2]");
	assert_int_equal(fake_read32(A, 0, GEN3_SPAD + 4 * 14), 0xffffffff);
	assert_int_equal(fake_read32(A, 0, GEN3_SPAD + 4 * 15), 2);
	assert_int_equal(fake_read32(A, 0, GEN3_PEER_SPAD + 4 * 4), 7);
	gives(b, "[[\"own_read\"]]", "[[0,0,0,4660,7,8,0,0,0,0,0,0,0,0,0,0]]");
	gives(b, "[[\"peer_read\"]]",
	      "[[0,0,0,0,0,0,0,0,0,0,0,0,0,0,4294967295,2]]");
	assert_int_equal(fake_cnt(B)->spad_peer_writes, 2);
	assert_int_equal(fake_cnt(B)->spad_peer_reads, 18);
	bench_free(b);
}

static void test_bells(void **state)
{
	struct bench *b = puppet_pair();

	(void)state;
	gives(b, "[[\"ring\",5],[\"ring\",31]]", "[null,null]");
	assert_int_equal(fake_irqs(A, 5), 1);
	assert_int_equal(fake_irqs(A, 31), 1);
	assert_true(fake_read64(A, 0, GEN3_INT_STATUS) & 1 << 5);

	/* The link's own event, and a bell that rang before. */
	fake_write32(A, 0, GEN3_DOORBELL + 4 * 2, 1);
	gives(b, "[[\"wait_bell\",4294967296,0],[\"wait_bell\",255,1000],[\"wait_bell\",255,0]]",
	      "[4294967296,4,0]");
	/* One that is to come; another does not matter. */
	waits(b, "[[\"wait_bell\",1,60000],[\"own_read\",0]]");
	fake_write32(A, 0, GEN3_DOORBELL + 4 * 1, 1);
	pump(b);
	assert_int_equal(replies, 0);
	fake_write32(A, 0, GEN3_PEER_SPAD, 9);
	fake_write32(A, 0, GEN3_DOORBELL, 1);
	gave(b, "[1,9]");
	/* One that does not come. */
	waits(b, "[[\"wait_bell\",1,20]]");
	assert_int_equal(loop_once(&b->s->loop, 10000), 1);
	gave(b, "[0]");
	bench_free(b);
}

static void test_wait_own(void **state)
{
	struct bench *b = puppet_pair();

	(void)state;
	waits(b, "[[\"wait_own\",3,15,5,60000],[\"wait_own\",3,240,240,60000]]");
	fake_write32(A, 0, GEN3_PEER_SPAD + 4 * 3, 0xf4);
	pump(b);
	assert_int_equal(replies, 0);
	fake_write32(A, 0, GEN3_PEER_SPAD + 4 * 3, 0xf5);
	gave(b, "[245,245]");
	waits(b, "[[\"wait_own\",3,15,6,20],[\"own_read\",3]]");
	assert_int_equal(loop_once(&b->s->loop, 10000), 1);
	gave(b, "[null,245]");
	/* The batch is over where the word was needed. */
	gives(b, "[[\"need_own\",3,15,5,20]]", "[245]");
	waits(b, "[[\"need_own\",3,15,6,20],[\"own_write\",3,7]]");
	assert_int_equal(loop_once(&b->s->loop, 10000), 1);
	gave(b, "operation 0: waited in vain");
	gives(b, "[[\"own_read\",3]]", "[245]");
	bench_free(b);
}

static void test_memory(void **state)
{
	struct bench *b = puppet_pair();

	(void)state;
	memcpy(A->ram + 0x200010, "\x11\x22\x33\x44\x55", 5);
	gives(b, "[[\"mem_read\",0,16,5],[\"mem_write\",1,2097169,\"abcd\"],[\"mem_read\",0,16,5],[\"sync\",0]]",
	      "[\"1122334455\",null,\"11abcd4455\",true]");
	assert_memory_equal(A->ram + 0x200010, "\x11\xab\xcd\x44\x55", 5);
	/* Behind the opening; counted as any guest's. */
	fake_open(A, 0, 0x200000, 0x1000);
	gives(b, "[[\"mem_read\",0,4096,4]]", "[\"ffffffff\"]");
	assert_int_equal(fake_cnt(B)->win[0].dropped_limit, 1);
	bench_free(b);
}

/* Reads and writes of what the guest's devices hold take a message, and the batch waits for it. */
static void test_device(void **state)
{
	struct bench *b = puppet_pair();
	struct vfu_hdr req;
	char ops[128];

	(void)state;
	snprintf(ops, sizeof(ops), "[[\"mem_read\",1,%llu,4],[\"own_read\",0]]",
		 DEV);
	waits(b, ops);
	req = fake_expect_dma(A, VFU_DMA_READ, DEV, 4)->hdr;
	fake_answer_read(A, &req, DEV, "\x01\x02\x03\x04", 4);
	gave(b, "[\"01020304\",0]");

	snprintf(ops, sizeof(ops), "[[\"mem_write\",1,%llu,\"99\"],[\"sync\",60000]]",
		 DEV);
	waits(b, ops);
	req = fake_expect_dma(A, VFU_DMA_WRITE, DEV, 1)->hdr;
	fake_answer_write(A, &req, 0);
	gave(b, "[null,true]");

	/* A guest that goes away answers nothing. */
	snprintf(ops, sizeof(ops), "[[\"mem_read\",1,%llu,4]]", DEV);
	waits(b, ops);
	fake_disconnect(A);
	gave(b, "[\"ffffffff\"]");
	bench_free(b);
}

/* An answer to a batch that was forgotten is not taken for another's. */
static void test_cancel(void **state)
{
	struct bench *b = puppet_pair();
	struct vfu_hdr req[2];
	char ops[128];

	(void)state;
	snprintf(ops, sizeof(ops), "[[\"mem_read\",1,%llu,4]]", DEV);
	waits(b, ops);
	req[0] = fake_expect_dma(A, VFU_DMA_READ, DEV, 4)->hdr;
	puppet_cancel(fake_port(B)->puppet);
	waits(b, ops);
	req[1] = fake_expect_dma(A, VFU_DMA_READ, DEV, 4)->hdr;
	fake_answer_read(A, &req[0], DEV, "\x01\x02\x03\x04", 4);
	pump(b);
	assert_int_equal(replies, 0);
	fake_answer_read(A, &req[1], DEV, "\x05\x06\x07\x08", 4);
	gave(b, "[\"05060708\"]");
	/* Nothing waits when the server ends. */
	waits(b, "[[\"wait_bell\",1,60000]]");
	bench_free(b);
}

static void test_ram(void **state)
{
	struct bench *b = puppet_pair();

	(void)state;
	gives(b, "[[\"ram\",4294967296,65536],[\"ram\",4276092928,4096],[\"window\",0,4294967296,65536],"
	      "[\"ram_write\",4294967312,\"0102030405060708\"],[\"window\",1,0,4294967296]]",
	      "[null,null,null,null,null]");
	assert_true(fake_read64(A, 2, 16) == 0x0807060504030201ull);
	fake_write32(A, 2, 16, 0xaabbccdd);
	/* Also where a guest's interrupt controller is. */
	fake_write32(A, 4, MSI_FIRST, 0x41);
	gives(b, "[[\"ram_read\",4294967312,8],[\"ram_read\",4276092928,4]]",
	      "[\"ddccbbaa05060708\",\"41000000\"]");
	/* No memory there, and no client to ask. */
	fake_write32(A, 4, 0x1000, 1);
	assert_int_equal(fake_read32(A, 4, 0x1000), 0xffffffff);
	assert_int_equal(fake_cnt(A)->win[1].errors, 2);
	gives(b, "[[\"window\",0,4294967296,0]]", "[null]");
	assert_int_equal(fake_read32(A, 2, 16), 0xffffffff);
	assert_int_equal(fake_cnt(A)->win[0].dropped_closed, 1);
	bench_free(b);
}

static void test_link_and_reset(void **state)
{
	struct bench *b = puppet_pair();

	(void)state;
	fake_write64(A, 0, GEN3_INT_STATUS, ~0ull);
	gives(b, "[[\"own_write\",0,5],[\"wait_bell\",4294967296,0],[\"link\",false],[\"wait_bell\",4294967296,0]]",
	      "[null,4294967296,null,4294967296]");
	assert_false(b->s->link[0].up);
	assert_int_equal(fake_irqs(A, 32), 1);
	gives(b, "[[\"peer_read\",0]]", "[4294967295]");
	gives(b, "[[\"link\",true],[\"own_read\",0]]", "[null,5]");
	assert_true(b->s->link[0].up);
	/* A reset takes the link down, and the words with it; then it is as new. */
	gives(b, "[[\"reset\"],[\"own_read\",0]]", "[null,0]");
	assert_false(b->s->link[0].up);
	gives(b, "[[\"link\",true],[\"mem_write\",0,0,\"77\"]]", "[null,null]");
	assert_int_equal(A->ram[0x200000], 0x77);
	bench_free(b);
}

static void test_count(void **state)
{
	struct bench *b = puppet_pair();
	uint32_t seen;

	(void)state;
	gives(b, "[[\"count\",2,1]]", "[null]");
	for (int i = 0; i < 5; i++)
		assert_int_equal(loop_once(&b->s->loop, 10000), 1);
	seen = fake_port(A)->regs.spad[2];
	assert_true(seen >= 5);
	gives(b, "[[\"count\",2,0]]", "[null]");
	loop_once(&b->s->loop, 5);
	assert_int_equal(fake_port(A)->regs.spad[2], seen);
	bench_free(b);
}

static void test_bad_operations(void **state)
{
	static const struct {
		const char *ops, *error;
	} t[] = {
		{ "[1]", "operation 0: not an array" },
		{ "[[]]", "operation 0: it has no name" },
		{ "[[\"dance\"]]", "operation 0: there is no \"dance\"" },
		{ "[[\"own_read\",0],[\"own_read\",16]]",
		  "operation 1: argument 1 must be a number from 0 to 0xf" },
		{ "[[\"own_read\",-1]]",
		  "operation 0: argument 1 must be a number from 0 to 0xf" },
		{ "[[\"own_read\",\"x\"]]",
		  "operation 0: argument 1 must be a number from 0 to 0xf" },
		{ "[[\"peer_write\",15,1,2]]", "operation 0: there are 16 words" },
		{ "[[\"peer_write\",15]]", "operation 0: there are 16 words" },
		{ "[[\"peer_write\",0,4294967296]]",
		  "operation 0: argument 2 must be a number from 0 to 0xffffffff" },
		{ "[[\"link\",1]]", "operation 0: argument 1 must be true or false" },
		{ "[[\"wait_bell\",1]]",
		  "operation 0: argument 2 must be a number from 0 to 0x927c0" },
		{ "[[\"mem_write\",0,0,\"0\"]]",
		  "operation 0: argument 3 must be up to 1 MiB as hexadecimal digits" },
		{ "[[\"mem_write\",0,0,\"0g\"]]",
		  "operation 0: argument 3 must be up to 1 MiB as hexadecimal digits" },
		{ "[[\"mem_write\",0,1048575,\"0011\"]]",
		  "operation 0: it ends behind the window" },
		{ "[[\"mem_read\",0,1048575,2]]",
		  "operation 0: it ends behind the window" },
		{ "[[\"mem_read\",0,0,0]]", "operation 0: nothing to read" },
		{ "[[\"ram\",0,4096],[\"ram\",0,4096]]",
		  "operation 1: memory: File exists" },
		{ "[[\"ram_read\",4096,4]]",
		  "operation 0: there is no such memory" },
		{ "[[\"ram_write\",4095,\"0011\"]]",
		  "operation 0: there is no such memory" },
	};
	struct bench *b = puppet_pair();

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		gives(b, t[i].ops, t[i].error);
	bench_free(b);
}

static int dial(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path);
	assert_int_equal(connect(fd, (void *)&sa, sizeof(sa)), 0);
	return fd;
}

static const char *said(struct bench *b, int fd)
{
	static char buf[1 << 20];
	ssize_t n;

	pump(b);
	n = read(fd, buf, sizeof(buf) - 1);
	if (n < 0)
		return "";
	buf[n] = '\0';
	return buf;
}

static void say(struct bench *b, int fd, const char *text)
{
	size_t len = strlen(text);

	while (len) {
		ssize_t n = write(fd, text, len);

		if (n > 0) {
			text += n;
			len -= n;
		}
		pump(b);
	}
}

/* Over the socket: a batch that waits keeps its client's further requests, and nobody else's. */
static void test_socket(void **state)
{
	static char json[1024], big[400000];
	char dir[] = "/tmp/ntbsim-pup-XXXXXX", err[256], sock[64];
	struct bench *b;
	int one, two;
	size_t n;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(sock, sizeof(sock), "%s/ctl", dir);
	snprintf(json, sizeof(json),
		 "{\"control\":\"%s\",\"ports\":["
		 "{\"name\":\"a\",\"role\":\"usd\",\"puppet\":true},"
		 "{\"name\":\"b\",\"role\":\"dsd\",\"puppet\":true}],"
		 "\"links\":[[\"a\",\"b\"]]}", sock);
	b = bench_new(json);
	if (server_listen(b->s, err, sizeof(err)))
		fail_msg("%s", err);
	one = dial(sock);
	two = dial(sock);
	say(b, one, "{\"cmd\":\"puppet\",\"port\":\"a\",\"ops\":[[\"link\",true],[\"wait_bell\",1,60000]]}\n{}\n");
	assert_string_equal(said(b, one), "");
	say(b, two, "{\"cmd\":\"puppet\",\"port\":\"a\",\"ops\":[]}\n");
	assert_non_null(strstr(said(b, two), "has a batch"));
	say(b, two, "{\"cmd\":\"puppet\",\"port\":\"b\",\"ops\":[[\"link\",true],[\"ring\",0]]}\n");
	assert_non_null(strstr(said(b, two), "\"ok\":true"));
	assert_string_equal(said(b, one),
			    "{\"ok\":true,\"results\":[null,1]}\n{\"ok\":false,\"error\":\"a request has a \\\"cmd\\\"\"}\n");
	/* Who asked is gone: the puppet is free again. */
	say(b, one, "{\"cmd\":\"puppet\",\"port\":\"a\",\"ops\":[[\"wait_bell\",1,60000]]}\n");
	close(one);
	pump(b);
	assert_null(b->s->port[0].puppet->ops);
	/* A large batch. */
	n = sprintf(big, "{\"cmd\":\"puppet\",\"port\":\"a\",\"ops\":[");
	for (int i = 0; i < 10000; i++)
		n += sprintf(big + n, "[\"peer_write\",%d,%d],", i & 15, i);
	sprintf(big + n, "[\"peer_read\",15]]}\n");
	say(b, two, big);
	assert_non_null(strstr(said(b, two), "null,9999]}"));
	assert_int_equal(b->s->port[0].cnt.spad_peer_writes, 10000);
	say(b, two, "{\"cmd\":\"puppet\",\"port\":\"c\",\"ops\":[]}\n");
	assert_non_null(strstr(said(b, two), "must name a puppet"));
	say(b, two, "{\"cmd\":\"puppet\",\"port\":\"a\",\"ops\":1}\n");
	assert_non_null(strstr(said(b, two), "must be a list"));
	close(two);
	bench_free(b);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_bells),
		cmocka_unit_test(test_wait_own),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_device),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_ram),
		cmocka_unit_test(test_link_and_reset),
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_bad_operations),
		cmocka_unit_test(test_socket),
	};

	return cmocka_run_group_tests_name("puppet", tests, NULL, NULL);
}
