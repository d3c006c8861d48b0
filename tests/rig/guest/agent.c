// SPDX-License-Identifier: GPL-2.0
/*
 * The guest agent: runs shell commands for the harness over a virtio-serial port.
 *
 * Frames go both ways: a 12 byte header {u32 length, u32 id, u32 type}, little endian,
 * then length bytes. Each command has an id of the host's choosing; any number run at
 * once.
 *
 *   host to guest   RUN     a command for /bin/sh -c, in a session of its own
 *                   STDIN   bytes for its standard input; none: end of file
 *                   KILL    one byte: the signal for its whole session
 *   guest to host   HELLO   the agent has started (id 0)
 *                   OUT ERR bytes from the command
 *                   EXIT    u32: wait status. Sent after the last OUT and ERR, when both
 *                           pipes are closed, or 200 ms after the end of the command if a
 *                           background child still holds them.
 *
 * One thread, one poll loop. It never blocks on a command; it does block on the port, which
 * the host always reads.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum frame { HELLO, RUN, STDIN, KILL, OUT, ERR, EXIT };

#define MAX_FRAME	(1u << 20)
#define MAX_JOBS	64
#define LINGER_MS	200

struct header {
	uint32_t length, id, type;
};

struct job {
	int used;
	uint32_t id;
	pid_t pid;
	int out, err, in;	/* -1: closed */
	int ended, status;
	long ended_at;		/* ms */
	char *pending;		/* standard input that the pipe had no room for */
	size_t pending_len;
	int close_in;
};

static struct job jobs[MAX_JOBS];
static int port;

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000L + ts.tv_nsec / 1000000;
}

static void put(const void *buf, size_t len)
{
	const char *p = buf;

	while (len) {
		ssize_t n = write(port, p, len);

		if (n < 0 && errno != EINTR && errno != EAGAIN)
			exit(1);
		if (n < 0) {
			struct pollfd pfd = { .fd = port, .events = POLLOUT };

			poll(&pfd, 1, 100);
			continue;
		}
		p += n;
		len -= n;
	}
}

static void send_frame(uint32_t id, enum frame type, const void *buf, uint32_t len)
{
	struct header h = { .length = len, .id = id, .type = type };

	put(&h, sizeof(h));
	put(buf, len);
}

static struct job *find_job(uint32_t id)
{
	for (int i = 0; i < MAX_JOBS; i++)
		if (jobs[i].used && jobs[i].id == id)
			return &jobs[i];
	return NULL;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void send_exit(uint32_t id, uint32_t status)
{
	send_frame(id, EXIT, &status, sizeof(status));
}

static void start_job(uint32_t id, const char *cmd)
{
	int in[2], out[2], err[2];
	struct job *j = NULL;

	for (int i = 0; i < MAX_JOBS && !j; i++)
		if (!jobs[i].used)
			j = &jobs[i];
	if (!j || pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC)) {
		send_exit(id, 126 << 8);
		return;
	}
	memset(j, 0, sizeof(*j));
	j->used = 1;
	j->id = id;
	j->pid = fork();
	if (!j->pid) {
		setsid();
		dup2(in[0], 0);
		dup2(out[1], 1);
		dup2(err[1], 2);
		signal(SIGPIPE, SIG_DFL);
		execl("/bin/sh", "sh", "-c", cmd, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	close(err[1]);
	j->in = in[1];
	j->out = out[0];
	j->err = err[0];
	fcntl(j->in, F_SETFL, O_NONBLOCK);
	fcntl(j->out, F_SETFL, O_NONBLOCK);
	fcntl(j->err, F_SETFL, O_NONBLOCK);
}

static void feed_job(struct job *j)
{
	while (j->pending_len) {
		ssize_t n = write(j->in, j->pending, j->pending_len);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0) {
			j->pending_len = 0;
			j->close_in = 1;
			break;
		}
		memmove(j->pending, j->pending + n, j->pending_len - n);
		j->pending_len -= n;
	}
	if (j->close_in)
		close_fd(&j->in);
}

static void stdin_frame(struct job *j, const char *buf, uint32_t len)
{
	if (!j || j->in < 0)
		return;
	if (!len) {
		j->close_in = 1;
	} else {
		j->pending = realloc(j->pending, j->pending_len + len);
		if (!j->pending)
			exit(1);
		memcpy(j->pending + j->pending_len, buf, len);
		j->pending_len += len;
	}
	feed_job(j);
}

static void one_frame(const struct header *h, char *body)
{
	struct job *j = find_job(h->id);

	switch (h->type) {
	case RUN:
		start_job(h->id, body);
		break;
	case STDIN:
		stdin_frame(j, body, h->length);
		break;
	case KILL:
		if (j && !j->ended && h->length)
			kill(-j->pid, body[0]);
		break;
	}
}

/* Takes what the port has; frames that are whole are carried out. */
static void read_port(void)
{
	static char buf[sizeof(struct header) + MAX_FRAME + 1];
	static size_t have;
	struct header h;
	ssize_t n = read(port, buf + have, sizeof(buf) - 1 - have);

	if (n <= 0) {
		/* The host is gone, or never there: try again, slowly. */
		if (n == 0)
			usleep(20000);
		return;
	}
	have += n;
	while (have >= sizeof(h)) {
		char *body = buf + sizeof(h), keep;
		size_t whole;

		memcpy(&h, buf, sizeof(h));
		if (h.length > MAX_FRAME)
			exit(1);
		whole = sizeof(h) + h.length;
		if (have < whole)
			return;
		keep = body[h.length];
		body[h.length] = 0;
		one_frame(&h, body);
		body[h.length] = keep;
		memmove(buf, buf + whole, have - whole);
		have -= whole;
	}
}

static void drain(struct job *j, int *fd, enum frame type)
{
	static char buf[65536];
	ssize_t n = read(*fd, buf, sizeof(buf));

	if (n > 0)
		send_frame(j->id, type, buf, n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		close_fd(fd);
}

static void reap(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (int i = 0; i < MAX_JOBS; i++)
			if (jobs[i].used && jobs[i].pid == pid) {
				jobs[i].ended = 1;
				jobs[i].status = status;
				jobs[i].ended_at = now_ms();
			}
}

static void finish_jobs(void)
{
	for (int i = 0; i < MAX_JOBS; i++) {
		struct job *j = &jobs[i];

		if (!j->used || !j->ended)
			continue;
		if ((j->out >= 0 || j->err >= 0) && now_ms() - j->ended_at < LINGER_MS)
			continue;
		close_fd(&j->in);
		close_fd(&j->out);
		close_fd(&j->err);
		free(j->pending);
		j->used = 0;
		send_exit(j->id, j->status);
	}
}

static int child_pipe[2];

static void on_child(int sig)
{
	(void)sig;
	if (write(child_pipe[1], "", 1) < 0)
		return;
}

static void loop(void)
{
	struct pollfd p[2 + 3 * MAX_JOBS];
	struct job *owner[2 + 3 * MAX_JOBS];
	int n = 2, linger = 0;
	char junk[64];

	p[0] = (struct pollfd){ .fd = port, .events = POLLIN };
	p[1] = (struct pollfd){ .fd = child_pipe[0], .events = POLLIN };
	for (int i = 0; i < MAX_JOBS; i++) {
		struct job *j = &jobs[i];

		if (!j->used)
			continue;
		linger |= j->ended;
		for (int k = 0; k < 3; k++) {
			int fd = k == 0 ? j->out : k == 1 ? j->err : j->in;

			if (fd < 0 || (k == 2 && !j->pending_len))
				continue;
			owner[n] = j;
			p[n++] = (struct pollfd){ .fd = fd, .events = k == 2 ? POLLOUT : POLLIN };
		}
	}
	if (poll(p, n, linger ? 20 : -1) < 0)
		return;
	if (p[1].revents)
		while (read(child_pipe[0], junk, sizeof(junk)) > 0)
			;
	for (int i = 2; i < n; i++) {
		struct job *j = owner[i];

		if (!p[i].revents)
			continue;
		if (p[i].fd == j->out)
			drain(j, &j->out, OUT);
		else if (p[i].fd == j->err)
			drain(j, &j->err, ERR);
		else if (p[i].fd == j->in)
			feed_job(j);
	}
	reap();
	finish_jobs();
	/* POLLHUP alone: the host side is closed. */
	if (p[0].revents & POLLIN)
		read_port();
	else if (p[0].revents & POLLHUP)
		usleep(20000);
}

int main(int argc, char **argv)
{
	if (argc != 2 || pipe2(child_pipe, O_CLOEXEC | O_NONBLOCK))
		return 2;
	port = open(argv[1], O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (port < 0) {
		perror(argv[1]);
		return 1;
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, on_child);
	send_frame(0, HELLO, "", 0);
	for (;;)
		loop();
}
