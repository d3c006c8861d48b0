// SPDX-License-Identifier: GPL-2.0
/*
 * What is written into `lend` and `reclaim`: "[dddd:]bb:dd.f [force] [private]".
 *
 * Digits are hexadecimal, as lspci prints them; a domain has four to eight of them, since
 * domains of software host bridges are longer than four. Nothing may follow but one newline.
 *
 * Called by sysfs.c. Pure: no state, no locks, any context;
 * tests/kunit/lender_bdf_test.c covers it.
 */
#include <linux/ctype.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/pci.h>
#include <linux/string.h>

#include "bdf.h"

/* "dddddddd:bb:dd.f force private" and the NUL */
#define BDF_TEXT_MAX	32

static int bdf_digit(char c)
{
	if (!isxdigit(c))
		return -1;
	return isdigit(c) ? c - '0' : tolower(c) - 'a' + 10;
}

/* Read @min to @max hexadecimal digits, then @stop; NULL where they are not there. */
static const char *bdf_number(const char *p, unsigned int min, unsigned int max, char stop,
			      u32 *out)
{
	unsigned int digits;

	*out = 0;
	for (digits = 0; digits <= max; digits++) {
		int digit = bdf_digit(p[digits]);

		if (digit < 0)
			break;
		*out = *out << 4 | digit;
	}
	if (digits < min || digits > max || p[digits] != stop)
		return NULL;
	return p + digits + (stop ? 1 : 0);
}

/**
 * lender_bdf_parse() - read the name of a PCI function
 * @text: what was written; need not end with a NUL byte
 * @len: its length in bytes
 * @out: filled in on success
 *
 * Context: any. Return: 0, or -EINVAL.
 */
int lender_bdf_parse(const char *text, size_t len, struct lender_bdf *out)
{
	char buf[BDF_TEXT_MAX] = "";
	u32 bus, slot, fn;
	const char *p, *q;
	char *words = buf, *word;

	if (len && text[len - 1] == '\n')
		len--;
	if (!len || len >= sizeof(buf) || memchr(text, '\0', len))
		return -EINVAL;
	memcpy(buf, text, len);
	memset(out, 0, sizeof(*out));

	strsep(&words, " ");
	while ((word = strsep(&words, " "))) {
		bool *said = !strcmp(word, "force") ? &out->force :
			     !strcmp(word, "private") ? &out->private : NULL;

		/* in this order, once each */
		if (!said || *said || out->private)
			return -EINVAL;
		*said = true;
	}
	p = bdf_number(buf, 4, 8, ':', &out->domain);
	if (!p) {
		out->domain = 0;
		p = buf;
	}
	q = bdf_number(p, 2, 2, ':', &bus);
	if (!q)
		return -EINVAL;
	q = bdf_number(q, 2, 2, '.', &slot);
	if (!q || slot > PCI_SLOT(0xff))
		return -EINVAL;
	q = bdf_number(q, 1, 1, '\0', &fn);
	if (!q || fn > PCI_FUNC(0xff))
		return -EINVAL;
	out->bus = bus;
	out->devfn = PCI_DEVFN(slot, fn);
	return 0;
}
