// SPDX-License-Identifier: GPL-2.0
/*
 * map_words FILE PAGES: map so many pages of a file, and print the first word of each.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long page = sysconf(_SC_PAGESIZE), pages = argc == 3 ? atol(argv[2]) : 0, i;
	uint32_t *memory;
	int fd;

	if (pages <= 0)
		return 2;
	fd = open(argv[1], O_RDONLY);
	if (fd < 0) {
		perror(argv[1]);
		return 1;
	}
	memory = mmap(NULL, pages * page, PROT_READ, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	for (i = 0; i < pages; i++)
		printf("%u\n", memory[i * page / sizeof(*memory)]);
	return 0;
}
