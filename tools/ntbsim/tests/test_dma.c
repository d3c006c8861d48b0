// SPDX-License-Identifier: GPL-2.0
/* Guest memory: the list of ranges against a naive model, descriptors, files that shrink. */
#include "fake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES	256
#define PAGE	4096ull

static int file_of(uint64_t size)
{
	int fd = memfd_create("t", MFD_CLOEXEC);

	assert_int_equal(ftruncate(fd, size), 0);
	return fd;
}

static void test_basics(void **state)
{
	struct dma_space ds = { 0 };
	int fd = file_of(16 * PAGE);
	uint8_t *p;

	(void)state;
	assert_null(dma_lookup(&ds, 0, 1, DMA_PROT_READ));
	assert_int_equal(dma_map(&ds, 0x1000, 0, 3, fd, 0), -EINVAL);
	assert_int_equal(dma_map(&ds, ~0ull - 10, 100, 3, fd, 0), -EINVAL);
	assert_int_equal(dma_map(&ds, 0x1000, PAGE, 0, fd, 0), -EINVAL);
	assert_int_equal(dma_map(&ds, 0x1000, 17 * PAGE, 3, fd, 0), -EINVAL);
	assert_int_equal(dma_map(&ds, 0x1000, PAGE, 3, fd, 16 * PAGE), -EINVAL);
	assert_int_equal(dma_map(&ds, 0x1000, PAGE, 3, fd, ~0ull - 5), -EINVAL);
	assert_int_equal(dma_map(&ds, 0x1000, 2 * PAGE, 3, fd, PAGE), 0);
	assert_int_equal(dma_map(&ds, 0x2000, PAGE, 3, fd, 0), -EEXIST);
	assert_int_equal(dma_map(&ds, 0x0, 2 * PAGE, 3, fd, 0), -EEXIST);
	assert_int_equal(dma_map(&ds, 0x0, PAGE, 1, fd, 0), 0);
	/* The very last page there is. */
	assert_int_equal(dma_map(&ds, ~0ull - PAGE + 1, PAGE, 3, fd, 0), 0);
	assert_non_null(dma_lookup(&ds, ~0ull, 1, 3));
	assert_int_equal(dma_unmap(&ds, ~0ull - PAGE + 1, PAGE), 0);

	p = dma_lookup(&ds, 0x1ffc, 8, 3);
	assert_non_null(p);
	memcpy(p, "12345678", 8);
	assert_null(dma_lookup(&ds, 0x2ffc, 8, 1));
	assert_null(dma_lookup(&ds, 0xffc, 8, 1));	/* over two ranges */
	assert_null(dma_lookup(&ds, 0x10, 4, DMA_PROT_WRITE));
	assert_non_null(dma_lookup(&ds, 0x10, 4, DMA_PROT_READ));
	assert_int_equal(dma_unmap(&ds, 0x9000, PAGE), -ENOENT);
	assert_int_equal(dma_unmap(&ds, 0x9000, 0), -EINVAL);
	assert_int_equal(dma_unmap(&ds, 0, 3 * PAGE), 0);
	assert_int_equal(ds.n, 0);
	assert_null(ds.files);
	dma_unmap_all(&ds);
	close(fd);
}

static void test_bad_files(void **state)
{
	struct dma_space ds = { 0 };
	int pipefd[2], ro;
	char path[] = "/tmp/ntbsim-dma-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_int_equal(ftruncate(fd, PAGE), 0);
	assert_int_equal(pipe(pipefd), 0);
	assert_int_equal(dma_map(&ds, 0, PAGE, 3, pipefd[0], 0), -EINVAL);
	assert_int_equal(dma_map(&ds, 0, PAGE, 3, 9999, 0), -EINVAL);
	ro = open(path, O_RDONLY);
	assert_int_equal(dma_map(&ds, 0, PAGE, 3, ro, 0), 0);
	assert_null(dma_lookup(&ds, 0, 4, DMA_PROT_WRITE));
	assert_non_null(dma_lookup(&ds, 0, 4, DMA_PROT_READ));
	dma_unmap_all(&ds);
	close(ro);
	close(fd);
	close(pipefd[0]);
	close(pipefd[1]);
	unlink(path);
}

/* Map and unmap at random, and compare with one entry a page. */
static void test_churn(void **state)
{
	struct dma_space ds = { 0 };
	int model[PAGES];	/* page of the file, -1 none, -2 no file */
	int fd = file_of(PAGES * PAGE);
	uint8_t *base = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			     MAP_SHARED, fd, 0);
	unsigned int seed = 1;

	(void)state;
	for (int i = 0; i < PAGES; i++) {
		model[i] = -1;
		base[i * PAGE] = i;
	}
	for (int round = 0; round < 20000; round++) {
		int at = rand_r(&seed) % PAGES;
		int n = 1 + rand_r(&seed) % 16;
		int off = rand_r(&seed) % (PAGES - 16);
		bool any = false;
		int ret;

		if (at + n > PAGES)
			n = PAGES - at;
		for (int i = at; i < at + n; i++)
			any |= model[i] != -1;
		if (rand_r(&seed) % 2) {
			bool file = rand_r(&seed) % 4;

			ret = dma_map(&ds, at * PAGE, n * PAGE, 3,
				      file ? fd : -1, off * PAGE);
			assert_int_equal(ret, any ? -EEXIST : 0);
			for (int i = 0; !ret && i < n; i++)
				model[at + i] = file ? off + i : -2;
		} else {
			ret = dma_unmap(&ds, at * PAGE, n * PAGE);
			assert_int_equal(ret, any ? 0 : -ENOENT);
			for (int i = at; i < at + n; i++)
				model[i] = -1;
		}
		for (int k = 0; k < 4; k++) {
			int i = rand_r(&seed) % PAGES;
			uint8_t *p = dma_lookup(&ds, i * PAGE, PAGE, 3);

			if (model[i] < 0)
				assert_null(p);
			else
				assert_int_equal(*p, (uint8_t)model[i]);
		}
	}
	dma_unmap_all(&ds);
	munmap(base, PAGES * PAGE);
	close(fd);
}

static void test_many(void **state)
{
	struct dma_space ds = { 0 };
	int fd = file_of(PAGE);

	(void)state;
	for (uint64_t i = 0; i < VFU_MAX_DMA_MAPS; i++)
		assert_int_equal(dma_map(&ds, 2 * i * PAGE, PAGE, 3, fd, 0), 0);
	assert_int_equal(dma_map(&ds, ~0ull - PAGE + 1, PAGE, 3, fd, 0),
			 -ENOSPC);
	assert_non_null(dma_lookup(&ds, 2 * 40000 * PAGE + 5, 8, 3));
	assert_null(dma_lookup(&ds, (2 * 40000 + 1) * PAGE + 5, 8, 3));
	dma_unmap_all(&ds);
	close(fd);
}

static void test_shrunk(void **state)
{
	struct dma_space ds = { 0 };
	int fd = file_of(4 * PAGE);
	uint32_t v = 5;
	void *p;

	(void)state;
	dma_install_sigbus();
	assert_int_equal(dma_map(&ds, 0, 4 * PAGE, 3, fd, 0), 0);
	assert_int_equal(ftruncate(fd, PAGE), 0);
	p = dma_lookup(&ds, 2 * PAGE, 4, 3);
	dma_copy_to(p, &v, 4);
	dma_copy_from(&v, dma_lookup(&ds, 3 * PAGE, 4, 3), 4);
	assert_int_equal(v, 0);
	assert_int_equal(dma_sigbus_count(), 2);
	dma_unmap_all(&ds);
	close(fd);
}

/* Maps sent in one go, every second one with a descriptor: each keeps its own. */
static void test_pipelined(void **state)
{
	struct bench *b = bench_pair_closed();
	struct fake *f = &b->f[0];
	int fd[4];

	(void)state;
	for (int i = 0; i < 4; i++) {
		fd[i] = file_of(PAGE);
		assert_int_equal(pwrite(fd[i], &i, sizeof(i), 0), sizeof(i));
	}
	for (int i = 0; i < 8; i++) {
		struct vfu_dma_map m = {
			.argsz = sizeof(m), .flags = 3,
			.iova = 0x10000000 + i * PAGE, .size = PAGE,
		};

		fake_send_fds(f, VFU_DMA_MAP, 0, &m, sizeof(m), &fd[i / 2],
			      i & 1);
	}
	pump(b);
	for (int i = 0; i < 8; i++) {
		struct msg *m = fake_recv(f);
		int *p = dma_lookup(&fake_port(f)->dma, 0x10000000 + i * PAGE,
				    4, 3);

		assert_non_null(m);
		assert_int_equal(m->hdr.flags, VFU_F_REPLY);
		if (i & 1)
			assert_int_equal(*p, i / 2);
		else
			assert_null(p);
	}
	for (int i = 0; i < 4; i++)
		close(fd[i]);
	/* Two descriptors with one map: refused, both closed. */
	{
		struct vfu_dma_map m = {
			.argsz = sizeof(m), .flags = 3, .iova = 1ull << 40,
			.size = PAGE,
		};
		int two[2] = { f->ram_fd, f->ram_fd };
		struct msg *r;

		fake_send_fds(f, VFU_DMA_MAP, 0, &m, sizeof(m), two, 2);
		pump(b);
		r = fake_recv(f);
		assert_true(r->hdr.flags & VFU_F_ERROR);
		assert_int_equal(r->hdr.error, EINVAL);
	}
	bench_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_basics),
		cmocka_unit_test(test_bad_files),
		cmocka_unit_test(test_churn),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_shrunk),
		cmocka_unit_test(test_pipelined),
	};

	return cmocka_run_group_tests_name("dma", tests, NULL, NULL);
}
