// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a fuzz target where libFuzzer is not at hand: all it needs is gcc.
 *
 *   fuzz_NAME [-runs=N] [-seconds=N] [-seed=N] [-max_len=N] [-keep=DIR] [-artifact=FILE] PATH...
 *   fuzz_NAME -merge=FILE PATH...
 *   fuzz_NAME -unpack=DIR PATH...
 *
 * A PATH is an input, a folder of inputs, or NAME.hex: a corpus with an input in each line, in
 * hexadecimal, where lines that begin with # are comments.
 *
 * First each input of the PATHs is run as it is. Then N are made of them. One that reaches new
 * code is kept among those that others are made of, and with -keep= written to DIR. The same seed,
 * paths and target give the same inputs. The one that fails is left in FILE ("crash"). -merge=
 * writes a corpus of those that reach code which no smaller one reaches, -unpack= a file for each.
 *
 * The compiler tells of each edge (-fsanitize-coverage=trace-pc), and of the operands of each
 * comparison (trace-cmp): one of them is put in the place of the other now and then, which finds
 * magic numbers.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define MAP_SIZE	16384
#define KEPT_MAX	8192
#define LEN_LIMIT	16384
#define CMP_RING	256

bool shim_irqs_off;
unsigned long shim_jiffies;
int shim_allocated;

void __sanitizer_set_death_callback(void (*callback)(void));

static u8 edges[MAP_SIZE] __aligned(8), seen[MAP_SIZE];
static uintptr_t edge_before;
static struct { u64 a, b; u8 size; } cmp_ring[CMP_RING];
static unsigned int cmp_count;

static struct { u8 *data; size_t size; } kept[KEPT_MAX];
static unsigned int kept_count;

static u8 current[LEN_LIMIT];
static size_t current_size;
static const char *artifact = "crash";
static bool merging;
static u64 random_state = 1;

/* --- what the compiler's instrumentation calls -------------------------------- */

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_cmp1(u8 a, u8 b);
void __sanitizer_cov_trace_cmp2(u16 a, u16 b);
void __sanitizer_cov_trace_cmp4(u32 a, u32 b);
void __sanitizer_cov_trace_cmp8(u64 a, u64 b);
void __sanitizer_cov_trace_const_cmp1(u8 a, u8 b);
void __sanitizer_cov_trace_const_cmp2(u16 a, u16 b);
void __sanitizer_cov_trace_const_cmp4(u32 a, u32 b);
void __sanitizer_cov_trace_const_cmp8(u64 a, u64 b);
void __sanitizer_cov_trace_switch(u64 value, void *table);

void __sanitizer_cov_trace_pc(void)
{
	uintptr_t pc = (uintptr_t)__builtin_return_address(0);

	/* addresses change from run to run, distances do not */
	pc -= (uintptr_t)LLVMFuzzerTestOneInput;
	edges[((pc * 0x9e3779b1u) ^ edge_before) % MAP_SIZE]++;
	edge_before = pc * 0x9e3779b1u >> 1;
}

static void note_cmp(u64 a, u64 b, u8 size)
{
	if (a == b)
		return;
	cmp_ring[cmp_count % CMP_RING].a = a;
	cmp_ring[cmp_count % CMP_RING].b = b;
	cmp_ring[cmp_count++ % CMP_RING].size = size;
}

void __sanitizer_cov_trace_cmp1(u8 a, u8 b) { note_cmp(a, b, 1); }
void __sanitizer_cov_trace_cmp2(u16 a, u16 b) { note_cmp(a, b, 2); }
void __sanitizer_cov_trace_cmp4(u32 a, u32 b) { note_cmp(a, b, 4); }
void __sanitizer_cov_trace_cmp8(u64 a, u64 b) { note_cmp(a, b, 8); }
void __sanitizer_cov_trace_const_cmp1(u8 a, u8 b) { note_cmp(a, b, 1); }
void __sanitizer_cov_trace_const_cmp2(u16 a, u16 b) { note_cmp(a, b, 2); }
void __sanitizer_cov_trace_const_cmp4(u32 a, u32 b) { note_cmp(a, b, 4); }
void __sanitizer_cov_trace_const_cmp8(u64 a, u64 b) { note_cmp(a, b, 8); }

void __sanitizer_cov_trace_switch(u64 value, void *table)
{
	const u64 *cases = table;

	/* cases[0] values of cases[1] bits follow */
	note_cmp(value, cases[2 + cmp_count % (cases[0] ?: 1)], cases[1] / 8);
}

/* --- running one input ------------------------------------------------------------ */

static void write_file(const char *name, const u8 *data, size_t size)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		perror(name);
	if (fd >= 0)
		close(fd);
}

static void died(void)
{
	write_file(artifact, current, current_size);
	fprintf(stderr, "the input is in %s\n", artifact);
}

/* Number of passes in powers of two: a loop that turns 5 times is not new after one of 4. */
static u8 bucket(u8 n)
{
	return n ? 1u << (31 - __builtin_clz(n)) : 0;
}

/* Run current[]; true if it reached something new. */
static bool run_current(void)
{
	bool news = false;
	unsigned int i;
	u8 *copy = malloc(current_size ?: 1);

	/* a copy of its own size, so that a read behind its end is seen */
	memcpy(copy, current, current_size);
	memset(edges, 0, sizeof(edges));
	edge_before = 0;
	shim_jiffies = 1000;
	shim_irqs_off = false;
	LLVMFuzzerTestOneInput(copy, current_size);
	free(copy);
	for (i = 0; i < MAP_SIZE; i++) {
		u8 b;

		if (!(i % 8) && !*(u64 *)&edges[i]) {
			i += 7;
			continue;
		}
		/* a corpus is small: how often is no reason to keep one */
		b = merging ? !!edges[i] : bucket(edges[i]);
		if (b & ~seen[i]) {
			seen[i] |= b;
			news = true;
		}
	}
	return news;
}

static void keep_current(void)
{
	if (kept_count == KEPT_MAX)
		return;
	kept[kept_count].data = malloc(current_size ?: 1);
	memcpy(kept[kept_count].data, current, current_size);
	kept[kept_count++].size = current_size;
}

/* --- making inputs ------------------------------------------------------------------- */

/* xorshift64*: the same everywhere */
static u32 random_below(u32 n)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return n ? (random_state * 0x2545f4914f6cdd1dull >> 32) % n : 0;
}

static void mix_in(void)
{
	unsigned int other = random_below(kept_count);
	size_t from, n, at;

	if (!kept_count || !kept[other].size)
		return;
	from = random_below(kept[other].size);
	n = 1 + random_below(kept[other].size - from);
	at = random_below(current_size + 1);
	if (at + n > LEN_LIMIT)
		return;
	memcpy(current + at, kept[other].data + from, n);
	current_size = max(current_size, at + n);
}

static void use_comparison(void)
{
	unsigned int which = random_below(min_t(u32, cmp_count, CMP_RING)), at, tries = 64;
	u64 from = cmp_ring[which].a, to = cmp_ring[which].b;
	size_t size = cmp_ring[which].size;

	if (!size || current_size < size)
		return;
	if (random_below(2)) {
		from = cmp_ring[which].b;
		to = cmp_ring[which].a;
	}
	/* mostly where the other operand stands */
	at = random_below(current_size - size + 1);
	while (tries-- && memcmp(current + at, &from, size))
		at = at + 1 > current_size - size ? 0 : at + 1;
	memcpy(current + at, &to, size);
}

static void mutate_once(size_t max_len)
{
	static const u32 edgy[] = {
		0, 1, 2, 4, 7, 8, 0x10, 0x7f, 0x80, 0xff, 0x100, 0xfff, 0x1000, 0x7fff, 0x8000,
		0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff,
	};
	size_t at = random_below(current_size), n = 1u << random_below(4);
	u32 v = edgy[random_below(ARRAY_SIZE(edgy))];

	switch (current_size ? random_below(9) : 3) {
	case 0:
		current[at] ^= 1u << random_below(8);
		break;
	case 1:
		current[at] = random_below(256);
		break;
	case 2:
		n = min_t(size_t, min_t(size_t, n, 4), current_size - at);
		memcpy(current + at, &v, n);
		break;
	case 3:	/* insert */
		n = 1 + random_below(16);
		if (current_size + n > max_len)
			break;
		memmove(current + at + n, current + at, current_size - at);
		while (n--)
			current[at + n] = random_below(256), current_size++;
		break;
	case 4:	/* remove */
		n = min_t(size_t, 1 + random_below(16), current_size - at);
		memmove(current + at, current + at + n, current_size - at - n);
		current_size -= n;
		break;
	case 5:
		current[at] += random_below(2) ? 1 : -1;
		break;
	case 6:
		mix_in();
		break;
	default:
		use_comparison();
	}
	current_size = min(current_size, max_len);
}

static void make_input(size_t max_len)
{
	unsigned int times = 1 + random_below(5), which = random_below(kept_count);

	current_size = 0;
	if (kept_count) {
		current_size = kept[which].size;
		memcpy(current, kept[which].data, current_size);
	}
	while (times--)
		mutate_once(max_len);
}

/* --- files ----------------------------------------------------------------------------- */

static void fail(const char *name)
{
	perror(name);
	exit(2);
}

static void run_file(const char *name)
{
	int fd = open(name, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, current, LEN_LIMIT);

	if (n < 0)
		fail(name);
	close(fd);
	current_size = n;
	run_current();
	keep_current();
}

static void run_hex(const char *name)
{
	static char line[2 * LEN_LIMIT + 2];
	FILE *file = fopen(name, "r");
	unsigned int byte;

	if (!file)
		fail(name);
	while (fgets(line, sizeof(line), file)) {
		if (line[0] == '#')
			continue;
		for (current_size = 0; sscanf(line + 2 * current_size, "%2x", &byte) == 1;)
			current[current_size++] = byte;
		run_current();
		keep_current();
	}
	fclose(file);
}

static void keep_in(const char *dir)
{
	u64 hash = 0xcbf29ce484222325ull;
	char name[4096];
	size_t i;

	for (i = 0; i < current_size; i++)
		hash = (hash ^ current[i]) * 0x100000001b3ull;
	snprintf(name, sizeof(name), "%s/%016llx", dir, (unsigned long long)hash);
	write_file(name, current, current_size);
}

static void unpack_kept(const char *dir)
{
	unsigned int i;

	for (i = 0; i < kept_count; i++) {
		memcpy(current, kept[i].data, kept[i].size);
		current_size = kept[i].size;
		keep_in(dir);
	}
}

static void write_hex(FILE *file)
{
	size_t i;

	for (i = 0; i < current_size; i++)
		fprintf(file, "%02x", current[i]);
	fputc('\n', file);
}

/* Those of the kept inputs, smallest first, that reach something new. */
static void merge_kept(const char *name)
{
	__typeof__(kept[0]) swap;
	unsigned int i, k, best;
	FILE *file = fopen(name, "w");

	if (!file)
		fail(name);
	fprintf(file, "# SPDX-License-Identifier: GPL-2.0\n");
	memset(seen, 0, sizeof(seen));
	merging = true;
	for (i = 0; i < kept_count; i++) {
		for (best = i, k = i + 1; k < kept_count; k++)
			if (kept[k].size < kept[best].size)
				best = k;
		swap = kept[best];
		kept[best] = kept[i];
		kept[i] = swap;
		memcpy(current, swap.data, swap.size);
		current_size = swap.size;
		if (run_current())
			write_hex(file);
	}
	fclose(file);
}

static int visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static void run_path(const char *path)
{
	struct dirent **entry;
	size_t len = strlen(path);
	struct stat st;
	char name[4096];
	int n, i;

	if (!stat(path, &st) && !S_ISDIR(st.st_mode)) {
		if (len > 4 && !strcmp(path + len - 4, ".hex"))
			run_hex(path);
		else
			run_file(path);
		return;
	}
	/* in order of names, or runs would differ */
	n = scandir(path, &entry, visible, alphasort);
	if (n < 0)
		fail(path);
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s/%s", path, entry[i]->d_name);
		run_file(name);
		free(entry[i]);
	}
	free(entry);
}

/* --- the command line ------------------------------------------------------------------- */

static const char *option(int argc, char **argv, const char *name, const char *value)
{
	size_t n = strlen(name);
	int i;

	for (i = 1; i < argc; i++)
		if (!strncmp(argv[i], name, n))
			value = argv[i] + n;
	return value;
}

static u64 number(int argc, char **argv, const char *name, const char *value)
{
	return strtoull(option(argc, argv, name, value), NULL, 0);
}

/* Make and run inputs. Return: how many. */
static u64 fuzz(u64 runs, u64 seconds, size_t max_len, const char *keep)
{
	time_t end = time(NULL) + seconds;
	u64 done = 0;

	while (done < runs || (seconds && time(NULL) < end)) {
		make_input(max_len);
		done++;
		if (!run_current())
			continue;
		keep_current();
		if (keep)
			keep_in(keep);
	}
	return done;
}

int main(int argc, char **argv)
{
	u64 max_len = min_t(u64, number(argc, argv, "-max_len=", "8192"), LEN_LIMIT), done;
	const char *merge = option(argc, argv, "-merge=", NULL);
	const char *unpack = option(argc, argv, "-unpack=", NULL);
	unsigned int files, i, edge_count = 0;

	artifact = option(argc, argv, "-artifact=", artifact);
	random_state = number(argc, argv, "-seed=", "1") * 0x9e3779b97f4a7c15ull + 1;
	__sanitizer_set_death_callback(died);
	for (i = 1; i < (unsigned int)argc; i++)
		if (argv[i][0] != '-')
			run_path(argv[i]);
	files = kept_count;
	if (merge)
		merge_kept(merge);
	if (unpack)
		unpack_kept(unpack);
	if (merge || unpack)
		return 0;
	done = fuzz(number(argc, argv, "-runs=", "0"), number(argc, argv, "-seconds=", "0"), max_len,
		    option(argc, argv, "-keep=", NULL));
	for (i = 0; i < MAP_SIZE; i++)
		edge_count += !!seen[i];
	printf("%u inputs of the corpus, %llu made, %u edges, %u inputs that reached new code\n", files,
	       (unsigned long long)done, edge_count, kept_count - files);
	return 0;
}
