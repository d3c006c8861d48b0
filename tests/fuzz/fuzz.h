/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the fuzz targets share: taking an input apart, and saying that something must hold.
 *
 * A target is one function, LLVMFuzzerTestOneInput(), as libFuzzer and AFL know it. driver.c runs
 * it where neither is at hand.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include "shim/kernel.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/* What must hold whatever the input; unlike assert() it cannot be compiled out. */
#define MUST(what) \
	do { \
		if (!(what)) { \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #what); \
			abort(); \
		} \
	} while (0)

/**
 * struct input - what is left of an input
 * @p: next byte
 * @left: bytes
 */
struct input {
	const u8 *p;
	size_t left;
};

/* Fill @to; what the input has not is zero. */
static inline void input_bytes(struct input *in, void *to, size_t n)
{
	size_t have = n < in->left ? n : in->left;

	memset(to, 0, n);
	if (have)
		memcpy(to, in->p, have);
	in->p += have;
	in->left -= have;
}

static inline u8 input_u8(struct input *in)
{
	u8 v;

	input_bytes(in, &v, sizeof(v));
	return v;
}

static inline u16 input_u16(struct input *in)
{
	u16 v;

	input_bytes(in, &v, sizeof(v));
	return v;
}

static inline u32 input_u32(struct input *in)
{
	u32 v;

	input_bytes(in, &v, sizeof(v));
	return v;
}

static inline u64 input_u64(struct input *in)
{
	u64 v;

	input_bytes(in, &v, sizeof(v));
	return v;
}

#endif /* FUZZ_H */
