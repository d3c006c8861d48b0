// SPDX-License-Identifier: GPL-2.0
/* The configuration file: what is taken, and one clear line for what is not. */
#include "fake.h"

#include <stdio.h>
#include <string.h>

#define PORT_M "{\"name\":\"a\",\"socket\":\"/s/a\",\"role\":\"usd\",\"memory\":\"/m\",\"memory_size\":\"1M\"}"
#define PORT_A "{\"name\":\"a\",\"socket\":\"/s/a\",\"role\":\"usd\"}"
#define PORT_B "{\"name\":\"b\",\"socket\":\"/s/b\",\"role\":\"dsd\"}"

static struct config cfg;

static void test_good(void **state)
{
	char err[256] = "";

	(void)state;
	assert_int_equal(config_parse(
		"{\"control\":\"/s/ctl\",\"log\":\"warn\",\"ports\":["
		"{\"name\":\"a\",\"socket\":\"/s/a\",\"role\":\"usd\",\"windows\":["
		"{\"bar\":2,\"size\":\"64M\",\"fast\":false},{\"bar\":4,\"size\":4294967296}]},"
		PORT_B "],\"links\":[[\"a\",\"b\"]]}", &cfg, err, sizeof(err)),
		0);
	assert_string_equal(cfg.control, "/s/ctl");
	assert_int_equal(cfg.nports, 2);
	assert_int_equal(cfg.nlinks, 1);
	assert_int_equal(cfg.port[0].win[0].size, 64 << 20);
	assert_int_equal(cfg.port[0].win[1].size, 4ull << 30);
	assert_int_equal(cfg.port[1].win[0].size, 64 << 20);
	assert_false(cfg.port[0].dsd);
	assert_true(cfg.port[1].dsd);
}

static void test_bad(void **state)
{
	static const struct {
		const char *json, *says;
	} t[] = {
		{ "{\"ports\":[{\"name\":\"a\",\"socket\":\"/s\",\"role\":\"usd\",\"puppet\":true}]}",
		  "port a is a puppet: it has no \"socket\"" },
		{ "{\"ports\":[{\"name\":\"a\",\"role\":\"usd\",\"puppet\":1}]}",
		  "\"puppet\" must be true or false" },
		{ "{\"ports\":[{\"name\":\"a\",\"role\":\"usd\",\"puppet\":false}]}",
		  "has no \"socket\"" },
		{ "", "not JSON" },
		{ "{", "not JSON" },
		{ "[]", "not an object" },
		{ "{}", "no \"ports\"" },
		{ "{\"prots\":[]}", "unknown key \"prots\"" },
		{ "{\"ports\":{}}", "must be a list" },
		{ "{\"ports\":[]}", "no ports" },
		{ "{\"ports\":[1]}", "must be an object" },
		{ "{\"ports\":[{\"name\":\"a\"}]}", "has no \"socket\"" },
		{ "{\"ports\":[{\"socket\":\"a\"}]}", "has no \"name\"" },
		{ "{\"ports\":[{\"name\":\"a\",\"socket\":\"/s\"}]}",
		  "has no \"role\"" },
		{ "{\"ports\":[{\"name\":\"a\",\"socket\":\"/s\",\"role\":\"x\"}]}",
		  "\"usd\" or \"dsd\"" },
		{ "{\"ports\":[" PORT_A "," PORT_A "]}", "two ports are named" },
		{ "{\"ports\":[" PORT_A ",{\"name\":\"c\",\"socket\":\"/s/a\",\"role\":\"dsd\"}]}",
		  "two ports use" },
		{ "{\"ports\":[" PORT_A "],\"links\":[[\"a\",\"b\"]]}",
		  "not there: b" },
		{ "{\"ports\":[" PORT_A "],\"links\":[[\"a\",\"a\"]]}",
		  "linked to itself" },
		{ "{\"ports\":[" PORT_A "],\"links\":[[\"a\"]]}",
		  "pair of port names" },
		{ "{\"ports\":[" PORT_A "," PORT_B "],\"links\":[[\"a\",\"b\"],[\"b\",\"a\"]]}",
		  "two links" },
		{ "{\"ports\":[" PORT_A ",{\"name\":\"c\",\"socket\":\"/s/c\",\"role\":\"usd\"}],\"links\":[[\"a\",\"c\"]]}",
		  "same role" },
		{ "{\"ports\":[{\"name\":\"a\",\"windows\":[{\"bar\":3}]}]}",
		  "2 or 4" },
		{ "{\"ports\":[{\"name\":\"a\",\"windows\":[{\"bar\":2,\"size\":\"3M\"}]}]}",
		  "power of two" },
		{ "{\"ports\":[{\"name\":\"a\",\"windows\":[{\"bar\":2,\"size\":\"1Q\"}]}]}",
		  "not a size" },
		{ "{\"ports\":[{\"name\":\"a\",\"windows\":[{\"bar\":2,\"size\":\"99999999999T\"}]}]}",
		  "too large" },
		{ "{\"ports\":[{\"name\":\"a\",\"windows\":[{\"bar\":2,\"size\":-1}]}]}",
		  "positive" },
		{ "{\"ports\":[{\"name\":\"a\",\"windows\":[{\"bar\":2,\"fast\":1}]}]}",
		  "true or false" },
		{ "{\"ports\":[{\"name\":1}]}", "must be a string" },
		{ "{\"ports\":[" PORT_A ",{\"name\":\"b\",\"socket\":\"/s/b\",\"role\":\"dsd\",\"windows\":[{\"bar\":2,\"fast\":true}]}],\"links\":[[\"a\",\"b\"]]}",
		  "port a has no \"memory\"" },
		{ "{\"ports\":[" PORT_M ",{\"name\":\"b\",\"socket\":\"/s/b\",\"role\":\"dsd\",\"windows\":[{\"bar\":2,\"fast\":true,\"fast_ram\":\"1M\"}]}],\"links\":[[\"a\",\"b\"]]}",
		  "beyond the memory of port a" },
		{ "{\"ports\":[{\"name\":\"a\",\"windows\":[{\"bar\":2,\"fast\":true,\"fast_ram\":5000}]}]}",
		  "multiples of 4K" },
		{ "{\"ports\":[{\"name\":\"a\",\"windows\":[{\"bar\":2,\"fast_size\":\"4K\"}]}]}",
		  "of a fast window" },
		{ "{\"ports\":[{\"name\":\"a\",\"socket\":\"/s\",\"memory\":\"/m\"}]}",
		  "memory_size" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		char err[256] = "";

		if (!config_parse(t[i].json, &cfg, err, sizeof(err)))
			fail_msg("taken: %s", t[i].json);
		if (!strstr(err, t[i].says))
			fail_msg("%s: says \"%s\"", t[i].json, err);
		assert_null(strchr(err, '\n'));
	}
}

static void test_no_file(void **state)
{
	char err[256] = "";

	(void)state;
	assert_int_equal(config_load("/no/such/file", &cfg, err, sizeof(err)),
			 -1);
	assert_non_null(strstr(err, "/no/such/file: No such file"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_no_file),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
