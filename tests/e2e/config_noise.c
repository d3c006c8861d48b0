// SPDX-License-Identifier: GPL-2.0
/*
 * Writes to a config space that are too many for one process each.
 *
 *   config_noise FILE noise ones|zeroes|random SEED SIZE SKIP
 *	a write of SIZE bytes (1, 2 or 4) to each place but the one that holds byte SKIP; prints
 *	how many
 *   config_noise FILE poke WHERE SIZE VALUE
 *	one write; then waits until the device answers, should that have reset it
 *   config_noise FILE sizing ONES0 ... ONES5
 *	all ones to the six base registers; ONESn is what register n then reads. In each order of
 *	those that the device has (where that is not 0), the others last. After each write all six
 *	are read: those not written must be as before. Prints how many orders
 *
 * FILE is the config file in sysfs. Numbers are in C's notation. Status 1: something was not as
 * it should be, and standard error says what.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BARS		6
#define BAR_BASE	0x10
#define ANSWER_MS	70000
#define LOOK_EVERY	64

static int space;

static void die(const char *what, unsigned int where, uint32_t is, uint32_t want)
{
	fprintf(stderr, "%s at %#x: is %#x, should be %#x\n", what, where, is, want);
	exit(1);
}

static uint32_t get(unsigned int where, unsigned int size)
{
	uint32_t value = 0;

	if (pread(space, &value, size, where) != (ssize_t)size)
		die("read", where, 0, size);
	return value;
}

static void put(unsigned int where, unsigned int size, uint32_t value)
{
	if (pwrite(space, &value, size, where) != (ssize_t)size)
		die("write", where, 0, size);
}

/* A function that is being reset reads all ones. */
static void wait_answer(void)
{
	unsigned int ms;

	for (ms = 0; get(0, 2) == 0xffff; ms++) {
		if (ms == ANSWER_MS)
			die("no answer after a write", 0, 0xffff, 0);
		usleep(1000);
	}
}

static uint32_t noise(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state >> 16;
}

static int make_noise(char **arg)
{
	unsigned int size = strtoul(arg[2], NULL, 0), skip = strtoul(arg[3], NULL, 0);
	uint64_t state = strtoull(arg[1], NULL, 0) * 2 + 1;
	unsigned int where, written = 0;
	struct stat st;

	if (fstat(space, &st))
		return 1;
	for (where = 0; where < st.st_size; where += size) {
		uint32_t value = noise(&state);

		if (skip - where < size)
			continue;
		put(where, size, *arg[0] == 'r' ? value : *arg[0] == 'o' ? ~0u : 0);
		if (++written % LOOK_EVERY == 0 && get(0, 2) == 0xffff)
			die("a reset nobody asked for", where, 0xffff, 0);
	}
	if (get(0, 2) == 0xffff)
		die("a reset nobody asked for", where, 0xffff, 0);
	printf("%u\n", written);
	return 0;
}

static void expect(const uint32_t *want)
{
	unsigned int i;

	for (i = 0; i < BARS; i++)
		if (get(BAR_BASE + 4 * i, 4) != want[i])
			die("base register", BAR_BASE + 4 * i, get(BAR_BASE + 4 * i, 4), want[i]);
}

/* One order: all to ones, with a look at all of them after each; then all back. */
static void size_in_order(const unsigned int *order, const uint32_t *before, const uint32_t *ones)
{
	uint32_t want[BARS];
	unsigned int i;

	memcpy(want, before, sizeof(want));
	for (i = 0; i < BARS; i++) {
		put(BAR_BASE + 4 * order[i], 4, ~0u);
		want[order[i]] = ones[order[i]];
		expect(want);
	}
	for (i = 0; i < BARS; i++)
		put(BAR_BASE + 4 * order[i], 4, before[order[i]]);
	expect(before);
}

/* Each order of order[n] up to order[have - 1]. */
static unsigned int size_in_orders(unsigned int *order, unsigned int n, unsigned int have,
				   const uint32_t *before, const uint32_t *ones)
{
	unsigned int i, swap, count = 0;

	if (n == have) {
		size_in_order(order, before, ones);
		return 1;
	}
	for (i = n; i < have; i++) {
		swap = order[n];
		order[n] = order[i];
		order[i] = swap;
		count += size_in_orders(order, n + 1, have, before, ones);
		order[i] = order[n];
		order[n] = swap;
	}
	return count;
}

static int size_bars(char **arg)
{
	unsigned int order[BARS], have = 0, n, i;
	uint32_t before[BARS], ones[BARS];

	for (i = 0; i < BARS; i++) {
		ones[i] = strtoul(arg[i], NULL, 0);
		before[i] = get(BAR_BASE + 4 * i, 4);
		if (ones[i])
			order[have++] = i;
	}
	for (i = 0, n = have; i < BARS; i++)
		if (!ones[i])
			order[n++] = i;
	printf("%u\n", size_in_orders(order, 0, have, before, ones));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 6)
		return 2;
	space = open(argv[1], O_RDWR);
	if (space < 0) {
		perror(argv[1]);
		return 1;
	}
	if (!strcmp(argv[2], "noise") && argc == 7)
		return make_noise(argv + 3);
	if (!strcmp(argv[2], "sizing") && argc == 3 + BARS)
		return size_bars(argv + 3);
	if (strcmp(argv[2], "poke"))
		return 2;
	put(strtoul(argv[3], NULL, 0), strtoul(argv[4], NULL, 0), strtoul(argv[5], NULL, 0));
	wait_answer();
	return 0;
}
