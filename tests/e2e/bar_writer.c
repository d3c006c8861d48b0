// SPDX-License-Identifier: GPL-2.0
/*
 * bar_writer FILE OFFSET: write a 32-bit word of what FILE maps, a device's registers, over
 * and over until standard input ends. A read follows each batch of writes, so that no more
 * than a batch is on its way. Says "writing" after the first batch, "closed" at the first
 * all-ones that it reads, and in the end how many words it wrote.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define BATCH	16
#define PAGE	4096ull

int main(int argc, char **argv)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	unsigned long long offset, count = 0;
	int fd, closed = 0;
	unsigned int *word;
	char *page;

	if (argc != 3)
		return 2;
	offset = strtoull(argv[2], NULL, 0);
	fd = open(argv[1], O_RDWR | O_SYNC);
	if (fd < 0) {
		perror(argv[1]);
		return 1;
	}
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset & ~(PAGE - 1));
	if (page == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	word = (unsigned int *)(page + (offset & (PAGE - 1)));
	setlinebuf(stdout);
	while (poll(&in, 1, 0) == 0) {
		int i;

		for (i = 0; i < BATCH; i++)
			__atomic_store_n(word, (unsigned int)count++, __ATOMIC_RELAXED);
		if (__atomic_load_n(word, __ATOMIC_RELAXED) == ~0u && !closed++)
			puts("closed");
		if (count == BATCH)
			puts("writing");
	}
	printf("%llu\n", count);
	return 0;
}
