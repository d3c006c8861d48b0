// SPDX-License-Identifier: GPL-2.0
/* Guest memory; see dma.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dma.h"
#include "vfu_proto.h"

/**
 * struct dma_file - a backing file, mapped whole
 * @next: the next one of this space
 * @dev: identifies the file, together with @ino
 * @ino: see @dev
 * @base: the mapping
 * @size: its size
 * @writable: mapped for writing
 * @refs: ranges that lie in it
 */
struct dma_file {
	struct dma_file *next;
	dev_t dev;
	ino_t ino;
	uint8_t *base;
	uint64_t size;
	bool writable;
	size_t refs;
};

static struct dma_file *file_get(struct dma_space *ds, int fd, uint64_t end)
{
	struct dma_file *f;
	struct stat st;
	int fl = fcntl(fd, F_GETFL);
	bool writable = fl >= 0 && (fl & O_ACCMODE) == O_RDWR;

	if (fl < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    st.st_size <= 0 || end > (uint64_t)st.st_size)
		return NULL;

	for (f = ds->files; f; f = f->next) {
		if (f->dev == st.st_dev && f->ino == st.st_ino &&
		    f->writable == writable && end <= f->size) {
			f->refs++;
			return f;
		}
	}

	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	f->size = st.st_size;
	f->writable = writable;
	f->refs = 1;
	f->base = mmap(NULL, f->size, PROT_READ | (writable ? PROT_WRITE : 0),
		       MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (f->base == MAP_FAILED) {
		free(f);
		return NULL;
	}
	f->next = ds->files;
	ds->files = f;
	return f;
}

static void file_put(struct dma_space *ds, struct dma_file *file)
{
	struct dma_file **p = &ds->files;

	if (!file || --file->refs)
		return;
	while (*p != file)
		p = &(*p)->next;
	*p = file->next;
	munmap(file->base, file->size);
	free(file);
}

/* Index of the first range that ends behind @addr. */
static size_t first_behind(const struct dma_space *ds, uint64_t addr)
{
	size_t lo = 0, hi = ds->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct dma_range *r = &ds->ranges[mid];

		if (r->iova + (r->size - 1) < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int grow(struct dma_space *ds)
{
	size_t cap = ds->cap ? ds->cap * 2 : 64;
	struct dma_range *r;

	if (ds->n < ds->cap)
		return 0;
	r = realloc(ds->ranges, cap * sizeof(*r));
	if (!r)
		return -ENOMEM;
	ds->ranges = r;
	ds->cap = cap;
	return 0;
}

static void insert(struct dma_space *ds, size_t at, const struct dma_range *r)
{
	memmove(&ds->ranges[at + 1], &ds->ranges[at],
		(ds->n - at) * sizeof(*r));
	ds->ranges[at] = *r;
	ds->n++;
	ds->last = 0;
}

int dma_map(struct dma_space *ds, uint64_t iova, uint64_t size,
	    unsigned int prot, int fd, uint64_t offset)
{
	struct dma_range r = { .iova = iova, .size = size, .prot = prot };
	size_t at;
	int ret;

	if (!size || iova + (size - 1) < iova || offset + size < offset ||
	    !(prot & (DMA_PROT_READ | DMA_PROT_WRITE)))
		return -EINVAL;
	if (ds->n >= VFU_MAX_DMA_MAPS)
		return -ENOSPC;

	at = first_behind(ds, iova);
	if (at < ds->n && ds->ranges[at].iova <= iova + (size - 1))
		return -EEXIST;
	ret = grow(ds);
	if (ret)
		return ret;

	if (fd >= 0) {
		r.file = file_get(ds, fd, offset + size);
		if (!r.file)
			return -EINVAL;
		r.ptr = r.file->base + offset;
		if (!r.file->writable)
			r.prot &= ~DMA_PROT_WRITE;
	}
	insert(ds, at, &r);
	return 0;
}

/* Cut @r to what lies before @end (its new end) or from @start on. */
static void cut_front(struct dma_range *r, uint64_t start)
{
	uint64_t off = start - r->iova;

	r->iova = start;
	r->size -= off;
	if (r->ptr)
		r->ptr += off;
}

int dma_unmap(struct dma_space *ds, uint64_t iova, uint64_t size)
{
	uint64_t last = iova + (size - 1);
	size_t at, end, from;

	if (!size || last < iova)
		return -EINVAL;
	at = first_behind(ds, iova);
	if (at == ds->n || ds->ranges[at].iova > last)
		return -ENOENT;
	ds->last = 0;

	if (ds->ranges[at].iova < iova) {
		struct dma_range *r = &ds->ranges[at];
		struct dma_range tail = *r;

		if (r->iova + (r->size - 1) > last) {
			/* A hole in the middle: two ranges remain. */
			int ret = grow(ds);

			if (ret)
				return ret;
			r = &ds->ranges[at];
			r->size = iova - r->iova;
			cut_front(&tail, last + 1);
			if (tail.file)
				tail.file->refs++;
			insert(ds, at + 1, &tail);
			return 0;
		}
		r->size = iova - r->iova;
		at++;
	}

	from = at;
	for (end = at; end < ds->n && ds->ranges[end].iova <= last; end++) {
		struct dma_range *r = &ds->ranges[end];

		if (r->iova + (r->size - 1) > last) {
			cut_front(r, last + 1);
			break;
		}
		file_put(ds, r->file);
	}
	memmove(&ds->ranges[from], &ds->ranges[end],
		(ds->n - end) * sizeof(ds->ranges[0]));
	ds->n -= end - from;
	return 0;
}

void dma_unmap_all(struct dma_space *ds)
{
	for (size_t i = 0; i < ds->n; i++)
		file_put(ds, ds->ranges[i].file);
	free(ds->ranges);
	memset(ds, 0, sizeof(*ds));
}

void *dma_lookup(struct dma_space *ds, uint64_t addr, uint64_t len,
		 unsigned int prot)
{
	const struct dma_range *r;

	if (!ds->n)
		return NULL;
	r = &ds->ranges[ds->last];
	if (addr < r->iova || addr - r->iova >= r->size) {
		size_t at = first_behind(ds, addr);

		if (at == ds->n)
			return NULL;
		r = &ds->ranges[at];
		if (addr < r->iova)
			return NULL;
		ds->last = at;
	}
	if (len > r->size - (addr - r->iova) || !r->ptr ||
	    (r->prot & prot) != prot)
		return NULL;
	return r->ptr + (addr - r->iova);
}

static bool is_single(const void *p, size_t len)
{
	return (len == 2 || len == 4 || len == 8) && !((uintptr_t)p & (len - 1));
}

void dma_copy_to(void *guest, const void *src, size_t len)
{
	uint64_t v = 0;

	if (!is_single(guest, len)) {
		memcpy(guest, src, len);
		return;
	}
	memcpy(&v, src, len);
	if (len == 8)
		__atomic_store_n((uint64_t *)guest, v, __ATOMIC_RELEASE);
	else if (len == 4)
		__atomic_store_n((uint32_t *)guest, v, __ATOMIC_RELEASE);
	else
		__atomic_store_n((uint16_t *)guest, v, __ATOMIC_RELEASE);
}

void dma_copy_from(void *dst, const void *guest, size_t len)
{
	uint64_t v;

	if (!is_single(guest, len)) {
		memcpy(dst, guest, len);
		return;
	}
	if (len == 8)
		v = __atomic_load_n((const uint64_t *)guest, __ATOMIC_ACQUIRE);
	else if (len == 4)
		v = __atomic_load_n((const uint32_t *)guest, __ATOMIC_ACQUIRE);
	else
		v = __atomic_load_n((const uint16_t *)guest, __ATOMIC_ACQUIRE);
	memcpy(dst, &v, len);
}

static atomic_ulong sigbus_pages;

/*
 * A file shrank: put an empty page where it was. Only mmap() and sysconf-free arithmetic here: this is a
 * signal handler.
 */
static void on_sigbus(int sig, siginfo_t *si, void *ctx)
{
	void *page = (void *)((uintptr_t)si->si_addr & ~4095ul);

	(void)ctx;
	if (si->si_code != BUS_ADRERR ||
	    mmap(page, 4096, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
		signal(sig, SIG_DFL);
		return;
	}
	sigbus_pages++;
}

void dma_install_sigbus(void)
{
	struct sigaction sa = {
		.sa_sigaction = on_sigbus,
		.sa_flags = SA_SIGINFO,
	};

	sigaction(SIGBUS, &sa, NULL);
}

uint64_t dma_sigbus_count(void)
{
	return sigbus_pages;
}
