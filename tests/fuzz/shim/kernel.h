/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the codec needs of the kernel, for user space: types, arithmetic, lists, bitmaps, and locks
 * that do nothing, since a fuzz target has one thread.
 *
 * The Makefile makes a header for each name that the sources include (linux/list.h and so on),
 * and each includes this one. Only what the sources use is here; a new need shows as an error of
 * the compiler. Time stands still but for shim_jiffies, which the target moves.
 */
#ifndef FUZZ_SHIM_KERNEL_H
#define FUZZ_SHIM_KERNEL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/types.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the shim swaps no bytes");

/* --- types ------------------------------------------------------------------ */

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef u64 phys_addr_t;
typedef u64 resource_size_t;
typedef s64 ktime_t;
typedef struct { u8 b[16]; } uuid_t;

struct device;
struct dentry;

#define U32_MAX		UINT32_MAX
#define U64_MAX		UINT64_MAX

/* --- the compiler ------------------------------------------------------------ */

#define __aligned(n)	__attribute__((aligned(n)))
#define READ_ONCE(x)	(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))
#define EXPORT_SYMBOL_GPL(name) extern int shim_export_##name
#define container_of(p, type, member) \
	((type *)((char *)(p) - offsetof(type, member)))
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* --- arithmetic --------------------------------------------------------------- */

#define BIT(n)		(1ul << (n))
#define BIT_ULL(n)	(1ull << (n))
#define GENMASK(h, l)	((~0ul << (l)) & (~0ul >> (63 - (h))))
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#define SZ_64K		0x10000

#define min_t(t, a, b) \
	({ t a__ = (a); t b__ = (b); a__ < b__ ? a__ : b__; })
#define max_t(t, a, b) \
	({ t a__ = (a); t b__ = (b); a__ > b__ ? a__ : b__; })
#define min(a, b)	min_t(__typeof__((a) + 0), a, b)
#define max(a, b)	max_t(__typeof__((a) + 0), a, b)
#define clamp_t(t, v, lo, hi) min_t(t, max_t(t, v, lo), hi)

#define round_down(x, y) ((x) & ~((__typeof__(x))((y) - 1)))
#define round_up(x, y)	((((x) - 1) | ((__typeof__(x))((y) - 1))) + 1)
#define upper_32_bits(n) ((u32)((u64)(n) >> 32))
#define lower_32_bits(n) ((u32)(n))

static inline int ilog2(unsigned long n)
{
	return 63 - __builtin_clzl(n);
}

static inline bool is_power_of_2(unsigned long n)
{
	return n && !(n & (n - 1));
}

static inline unsigned int hweight8(unsigned int w)
{
	return __builtin_popcount(w & 0xff);
}

static inline size_t array_index_nospec(size_t index, size_t size)
{
	return index < size ? index : 0;
}

/* --- byte order ------------------------------------------------------------------ */

#define cpu_to_le16(x)	((__le16)(x))
#define cpu_to_le32(x)	((__le32)(x))
#define cpu_to_le64(x)	((__le64)(x))
#define le16_to_cpu(x)	((u16)(x))
#define le32_to_cpu(x)	((u32)(x))
#define le64_to_cpu(x)	((u64)(x))

static inline u16 get_unaligned_le16(const void *p)
{
	u16 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline u32 get_unaligned_le32(const void *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline void put_unaligned_le16(u16 v, void *p)
{
	memcpy(p, &v, sizeof(v));
}

static inline void put_unaligned_le32(u32 v, void *p)
{
	memcpy(p, &v, sizeof(v));
}

static inline u32 crc32_le(u32 crc, const u8 *p, size_t len)
{
	static u32 table[256];
	unsigned int i, bit;

	for (i = table[1] ? 256 : 0; i < 256; i++)
		for (table[i] = i, bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
	while (len--)
		crc = crc >> 8 ^ table[(crc ^ *p++) & 0xff];
	return crc;
}

/* --- bitmaps ------------------------------------------------------------------------ */

#define DECLARE_BITMAP(name, bits) unsigned long name[DIV_ROUND_UP(bits, 64)]

static inline bool test_bit(unsigned int n, const unsigned long *map)
{
	return map[n / 64] >> (n % 64) & 1;
}

static inline void __set_bit(unsigned int n, unsigned long *map)
{
	map[n / 64] |= 1ul << (n % 64);
}

static inline void bitmap_set(unsigned long *map, unsigned int start, unsigned int n)
{
	while (n--)
		__set_bit(start++, map);
}

static inline unsigned int find_next_bit(const unsigned long *map, unsigned int size,
					 unsigned int from)
{
	while (from < size && !test_bit(from, map))
		from++;
	return from < size ? from : size;
}

/* --- lists ---------------------------------------------------------------------------- */

struct list_head {
	struct list_head *next, *prev;
};

#define LIST_HEAD(name)	struct list_head name = { &name, &name }

static inline void INIT_LIST_HEAD(struct list_head *head)
{
	head->next = head;
	head->prev = head;
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

static inline void list_add_tail(struct list_head *entry, struct list_head *head)
{
	entry->prev = head->prev;
	entry->next = head;
	head->prev->next = entry;
	head->prev = entry;
}

static inline void list_del(struct list_head *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
}

static inline void list_splice_init(struct list_head *from, struct list_head *to)
{
	while (!list_empty(from)) {
		struct list_head *entry = from->prev;

		list_del(entry);
		entry->next = to->next;
		entry->prev = to;
		to->next->prev = entry;
		to->next = entry;
	}
}

#define list_entry(p, type, member) container_of(p, type, member)
#define list_first_entry_or_null(head, type, member) \
	(list_empty(head) ? NULL : list_entry((head)->next, type, member))
#define list_for_each_entry_safe(pos, n, head, member) \
	for (pos = list_entry((head)->next, __typeof__(*pos), member), \
	     n = list_entry(pos->member.next, __typeof__(*pos), member); \
	     &pos->member != (head); \
	     pos = n, n = list_entry(n->member.next, __typeof__(*n), member))

/* --- memory ------------------------------------------------------------------------------ */

#define GFP_KERNEL	0

/* what was allocated and not freed; the targets compare it */
extern int shim_allocated;

static inline void *kzalloc(size_t n, int gfp)
{
	(void)gfp;
	shim_allocated++;
	return calloc(1, n);
}

static inline void kfree(const void *p)
{
	shim_allocated -= !!p;
	free((void *)p);
}

/* --- locks and time: one thread ------------------------------------------------------------ */

typedef struct { bool held; } raw_spinlock_t;
typedef raw_spinlock_t spinlock_t;

static inline void shim_lock(raw_spinlock_t *lock)
{
	if (lock->held)
		abort();	/* taken twice: a dead-lock in the kernel */
	lock->held = true;
}

static inline void shim_unlock(raw_spinlock_t *lock)
{
	if (!lock->held)
		abort();
	lock->held = false;
}

#define raw_spin_lock_init(l)	((l)->held = false)
#define spin_lock_init(l)	((l)->held = false)
#define spin_lock(l)		shim_lock(l)
#define spin_unlock(l)		shim_unlock(l)
#define raw_spin_lock_irqsave(l, flags)	((flags) = 0, shim_lock(l))
#define raw_spin_unlock_irqrestore(l, flags) ((void)(flags), shim_unlock(l))
#define lockdep_assert_held(l)	do { if (!(l)->held) abort(); } while (0)
#define irqs_disabled()		shim_irqs_off

extern bool shim_irqs_off;
extern unsigned long shim_jiffies;	/* one a millisecond */

#define jiffies			shim_jiffies
#define msecs_to_jiffies(ms)	((unsigned long)(ms))
#define time_after(a, b)	((long)((b) - (a)) < 0)
#define ktime_get()		((ktime_t)shim_jiffies)
#define ktime_add_ms(t, ms)	((t) + (ms))
#define ktime_after(a, b)	((a) > (b))
#define udelay(us)		((void)(shim_jiffies += 1))

struct work_struct {
	int unused;
};

struct delayed_work {
	int unused;
};

#endif /* FUZZ_SHIM_KERNEL_H */
