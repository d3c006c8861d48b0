// SPDX-License-Identifier: GPL-2.0
/*
 * Lists of hosts, as an operator writes them into `allow` and `visible` of a lent device, and
 * what they mean.
 *
 *   any                    whoever is the peer of a link
 *   none                   nobody
 *   UUID [UUID ...]        these hosts, no others
 *
 * Words are separated by white space; a write is a whole list, so that two operators never end up
 * with a mixture. "force" as the last word: who loses the device gets no time to return it.
 *
 * Called by sysfs.c and access.c. Pure: no state, no locks, any context;
 * tests/kunit/lender_access_test.c covers it.
 */
#include <linux/ctype.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include <devlend/wire.h>

#include "access.h"

static bool access_word_is(const char *word, size_t len, const char *want)
{
	return len == strlen(want) && !memcmp(word, want, len);
}

/* Take the next word off a text: its start, its length in @word_len, 0 = there is none. */
static const char *access_word(const char **text, size_t *len, size_t *word_len)
{
	const char *word;

	while (*len && isspace(**text)) {
		++*text;
		--*len;
	}
	word = *text;
	while (*len && !isspace(**text)) {
		++*text;
		--*len;
	}
	*word_len = *text - word;
	return word;
}

static int access_add(struct lender_access *list, const char *word, size_t len)
{
	char text[UUID_STRING_LEN + 1] = "";
	uuid_t host;

	if (len != UUID_STRING_LEN)
		return -EINVAL;
	memcpy(text, word, len);
	/* nil is what a peer that is not there has */
	if (uuid_parse(text, &host) || uuid_is_null(&host))
		return -EINVAL;
	if (lender_access_has(list, &host))
		return 0;
	if (list->hosts == LENDER_ACCESS_HOSTS)
		return -E2BIG;
	list->host[list->hosts++] = host;
	return 0;
}

/**
 * lender_access_parse() - read a list
 * @text: what was written; need not end with a NUL byte
 * @len: its length in bytes
 * @list: filled in on success
 * @force: the last word was "force"; NULL: that word is not understood here
 *
 * Context: any. Return: 0; -EINVAL; -E2BIG for more than %LENDER_ACCESS_HOSTS hosts.
 */
int lender_access_parse(const char *text, size_t len, struct lender_access *list, bool *force)
{
	/* "any" and "none" stand alone */
	bool alone = false, last = false;
	unsigned int words = 0;
	const char *word;
	size_t n;
	int err;

	memset(list, 0, sizeof(*list));
	if (force)
		*force = false;
	for (;;) {
		word = access_word(&text, &len, &n);
		if (!n)
			break;
		if (last)
			return -EINVAL;
		if (force && words && access_word_is(word, n, "force")) {
			*force = true;
			last = true;
			continue;
		}
		if (alone)
			return -EINVAL;
		if (!words && (access_word_is(word, n, "any") || access_word_is(word, n, "none"))) {
			alone = true;
			list->any = *word == 'a';
		} else {
			err = access_add(list, word, n);
			if (err)
				return err;
		}
		words++;
	}
	return words ? 0 : -EINVAL;
}

/**
 * lender_access_print() - write a list, in the form in which it is read
 * @list: the list
 * @buf: where to, ends with newline and NUL
 * @size: room there, bytes
 *
 * Context: any. Return: bytes without the NUL.
 */
int lender_access_print(const struct lender_access *list, char *buf, size_t size)
{
	unsigned int i;
	int n = 0;

	if (list->any || !list->hosts)
		return scnprintf(buf, size, "%s\n", list->any ? "any" : "none");
	for (i = 0; i < list->hosts; i++)
		n += scnprintf(buf + n, size - n, "%pUb%c", &list->host[i],
			       i + 1 == list->hosts ? '\n' : ' ');
	return n;
}

/**
 * lender_access_has() - is a host on a list?
 * @list: the list
 * @host: the host; nil is on none
 *
 * Context: any.
 */
bool lender_access_has(const struct lender_access *list, const uuid_t *host)
{
	unsigned int i;

	if (uuid_is_null(host))
		return false;
	if (list->any)
		return true;
	for (i = 0; i < list->hosts; i++)
		if (uuid_equal(&list->host[i], host))
			return true;
	return false;
}

/**
 * lender_access_right() - what a host may do with a device
 * @allow: hosts that may borrow it
 * @visible: hosts that may see it besides
 * @host: the host
 *
 * Context: any.
 */
enum lender_right lender_access_right(const struct lender_access *allow,
				      const struct lender_access *visible, const uuid_t *host)
{
	if (lender_access_has(allow, host))
		return LENDER_RIGHT_BORROW;
	return lender_access_has(visible, host) ? LENDER_RIGHT_SEE : LENDER_RIGHT_NONE;
}

/**
 * lender_access_offer() - what a host is told of a device
 * @right: of that host
 * @offer: &enum devlend_offer_state that one is told who may borrow it; 0 = nothing
 *
 * Context: any. Return: &enum devlend_offer_state; 0: it is not to know of it.
 */
u32 lender_access_offer(enum lender_right right, u32 offer)
{
	if (right == LENDER_RIGHT_BORROW || !offer)
		return offer;
	return right == LENDER_RIGHT_SEE ? DEVLEND_OFFER_FORBIDDEN : 0;
}
