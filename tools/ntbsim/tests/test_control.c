// SPDX-License-Identifier: GPL-2.0
/* The control socket, over a real socket, and the sockets of the ports. */
#include "fake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define A (&b->f[0])
#define B (&b->f[1])

static struct json_object *ask(struct bench *b, const char *line)
{
	return control_request(b->s, line, NULL);
}

/* A number somewhere in a reply: a path with dots, or a list index. */
static int64_t num(struct json_object *o, const char *path)
{
	char copy[256], *save, *tok;

	snprintf(copy, sizeof(copy), "%s", path);
	for (tok = strtok_r(copy, ".", &save); tok;
	     tok = strtok_r(NULL, ".", &save)) {
		struct json_object *v = NULL;

		if (json_object_is_type(o, json_type_array))
			v = json_object_array_get_idx(o, atoi(tok));
		else
			json_object_object_get_ex(o, tok, &v);
		if (!v)
			fail_msg("%s: there is no %s", path, tok);
		o = v;
	}
	return json_object_get_int64(o);
}

static void test_counters(void **state)
{
	struct bench *b = bench_pair();
	struct json_object *r;

	(void)state;
	fake_write32(A, 4, 0x200000, 1);
	fake_write32(A, 0, 0x180 + 4 * 7, 1);
	fake_write32(A, 0, 0x100, 1);
	r = ask(b, "{\"cmd\":\"counters\"}");
	assert_int_equal(num(r, "ok"), 1);
	assert_int_equal(num(r, "crossed_read_cycles"), 0);
	assert_int_equal(num(r, "ports.a.out.windows.bar4.writes"), 1);
	assert_int_equal(num(r, "ports.a.out.windows.bar4.bytes_written"), 4);
	assert_int_equal(num(r, "ports.a.out.windows.bar4.dropped"), 0);
	assert_int_equal(num(r, "ports.a.out.spad_peer_write.7"), 1);
	assert_int_equal(num(r, "ports.a.out.doorbells"), 1);
	assert_int_equal(num(r, "ports.b.in.windows.bar4.writes"), 1);
	assert_int_equal(num(r, "ports.b.out.windows.bar4.writes"), 0);
	assert_int_equal(num(r, "ports.a.in.windows.bar4.writes"), 0);
	json_object_put(r);
	r = ask(b, "{\"cmd\":\"counters\",\"reset\":true}");
	assert_int_equal(num(r, "ports.a.out.windows.bar4.writes"), 1);
	json_object_put(r);
	r = ask(b, "{\"cmd\":\"counters\"}");
	assert_int_equal(num(r, "ports.a.out.windows.bar4.writes"), 0);
	json_object_put(r);
	fake_write32(A, 4, 0x200000, 1);
	r = ask(b, "{\"cmd\":\"reset\"}");
	assert_int_equal(num(r, "ok"), 1);
	json_object_put(r);
	assert_int_equal(fake_cnt(A)->win[1].writes, 0);
	bench_free(b);
}

static void test_status(void **state)
{
	struct bench *b = bench_pair();
	struct json_object *r = ask(b, "{\"cmd\":\"status\"}");

	(void)state;
	assert_int_equal(num(r, "ports.0.connected"), 1);
	assert_int_equal(num(r, "ports.0.bus_master"), 1);
	assert_int_equal(num(r, "ports.1.windows.0.xbase"), 0x200000);
	assert_int_equal(num(r, "ports.1.windows.0.inbound_open"), 0x100000);
	assert_true(num(r, "ports.1.windows.1.bar_address") == FAKE_BAR4);
	assert_int_equal(num(r, "ports.1.vectors"), 33);
	assert_int_equal(num(r, "links.0.up"), 1);
	json_object_put(r);
	bench_free(b);
}

static void test_link(void **state)
{
	struct bench *b = bench_pair();
	struct json_object *r;

	(void)state;
	fake_write64(A, 0, GEN3_INT_STATUS, ~0ull);
	fake_irqs(A, 32);
	r = ask(b, "{\"cmd\":\"link\",\"link\":0,\"up\":false}");
	assert_int_equal(num(r, "ok"), 1);
	json_object_put(r);
	assert_int_equal(fake_irqs(A, 32), 1);
	assert_int_equal(fake_read32(A, 7, 0x1a0) >> 16, 1);
	fake_write32(A, 4, 0x200000, 1);
	assert_int_equal(fake_cnt(A)->win[1].dropped_link, 1);
	json_object_put(ask(b, "{\"cmd\":\"link\",\"link\":0,\"up\":true}"));
	assert_int_equal(fake_read32(A, 7, 0x1a0) >> 16, 0x2103);
	bench_free(b);
}

static void test_bad_requests(void **state)
{
	static const char * const t[] = {
		"", "{", "[]", "1", "null", "{}", "{\"cmd\":1}",
		"{\"cmd\":\"nonsense\"}", "{\"cmd\":\"link\"}",
		"{\"cmd\":\"link\",\"link\":1,\"up\":true}",
		"{\"cmd\":\"link\",\"link\":-1,\"up\":true}",
		"{\"cmd\":\"link\",\"link\":\"0\",\"up\":true}",
		"{\"cmd\":\"link\",\"link\":0,\"up\":1}",
	};
	struct bench *b = bench_pair();

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct json_object *r = ask(b, t[i]), *v;

		assert_int_equal(num(r, "ok"), 0);
		assert_true(json_object_object_get_ex(r, "error", &v));
		json_object_put(r);
	}
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

static void test_sockets(void **state)
{
	static char json[1024], buf[65536], huge[100000];
	char dir[] = "/tmp/ntbsim-ctl-XXXXXX", err[256], ctl[64], sock[64];
	struct bench *b, *second;
	struct stat st;
	int fd, fd2;
	ssize_t n;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(ctl, sizeof(ctl), "%s/ctl", dir);
	snprintf(sock, sizeof(sock), "%s/a", dir);
	snprintf(json, sizeof(json),
		 "{\"control\":\"%s\",\"ports\":[{\"name\":\"a\",\"socket\":\"%s\",\"role\":\"usd\"}]}",
		 ctl, sock);
	b = bench_new(json);
	if (server_listen(b->s, err, sizeof(err)))
		fail_msg("%s", err);
	/* A second one on the same sockets says so, and does not unlink them. */
	second = bench_new(json);
	assert_int_equal(server_listen(second->s, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "in use"));
	bench_free(second);
	assert_int_equal(lstat(sock, &st), 0);

	/* A request in two halves, two in one piece. */
	fd = dial(ctl);
	assert_int_equal(write(fd, "{\"cmd\":", 7), 7);
	pump(b);
	assert_true(read(fd, buf, sizeof(buf)) < 0);
	assert_int_equal(write(fd, "\"status\"}\n", 10), 10);
	pump(b);
	n = read(fd, buf, sizeof(buf));
	assert_true(n > 0 && buf[n - 1] == '\n');
	assert_non_null(strstr(buf, "\"ok\":true"));
	assert_int_equal(write(fd, "{}\n{}\n", 6), 6);
	pump(b);
	n = read(fd, buf, sizeof(buf) - 1);
	buf[n] = '\0';
	assert_non_null(strchr(strchr(buf, '\n') + 1, '\n'));
	/* A line without an end. */
	fd2 = dial(ctl);
	memset(huge, 'x', sizeof(huge));
	for (size_t i = 0; i < 2 * CONTROL_LINE_MAX / sizeof(huge); i++) {
		(void)!send(fd2, huge, sizeof(huge), MSG_NOSIGNAL);
		pump(b);
	}
	assert_true(read(fd2, buf, 1) == 0 || errno == ECONNRESET);
	close(fd2);
	close(fd);
	pump(b);

	/* A client through the port's socket. */
	fd = dial(sock);
	pump(b);
	assert_non_null(b->s->port[0].conn);
	close(fd);
	pump(b);
	assert_null(b->s->port[0].conn);
	bench_free(b);
	assert_int_equal(lstat(sock, &st), -1);
	assert_int_equal(lstat(ctl, &st), -1);

	/* What a process that died left behind does not matter; another file does. */
	fd = open(sock, O_CREAT | O_WRONLY, 0600);
	close(fd);
	b = bench_new(json);
	assert_int_equal(server_listen(b->s, err, sizeof(err)), -1);
	bench_free(b);
	unlink(sock);
	unlink(ctl);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_link),
		cmocka_unit_test(test_bad_requests),
		cmocka_unit_test(test_sockets),
	};

	return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
