/* SPDX-License-Identifier: GPL-2.0 */
/* Logging to stderr, one line a message. */
#ifndef NTBSIM_LOG_H
#define NTBSIM_LOG_H

#include <stdbool.h>

enum log_level {
	LOG_LVL_ERROR,
	LOG_LVL_WARN,
	LOG_LVL_INFO,
	LOG_LVL_DEBUG,
};

extern enum log_level log_level;

/**
 * log_level_parse() - translate a level's name
 * @name: "error", "warn", "info" or "debug"
 * @out: where the level goes
 *
 * Return: false if there is no such level.
 */
bool log_level_parse(const char *name, enum log_level *out);

void log_write(enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#define log_at(level, ...)				\
	do {						\
		if ((level) <= log_level)		\
			log_write(level, __VA_ARGS__);	\
	} while (0)

#define log_err(...)	log_at(LOG_LVL_ERROR, __VA_ARGS__)
#define log_warn(...)	log_at(LOG_LVL_WARN, __VA_ARGS__)
#define log_info(...)	log_at(LOG_LVL_INFO, __VA_ARGS__)
#define log_dbg(...)	log_at(LOG_LVL_DEBUG, __VA_ARGS__)

#endif /* NTBSIM_LOG_H */
