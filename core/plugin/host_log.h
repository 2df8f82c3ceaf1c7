/* SPDX-License-Identifier: Apache-2.0
 * The sinks for messages and telemetry of plugins and the engine.
 */
#ifndef VOLLEY_PLUGIN_HOST_LOG_H
#define VOLLEY_PLUGIN_HOST_LOG_H

#include <stdint.h>

/* source: id of the plugin, or "volley". One call at a time. */
typedef void (*vly_log_fn)(void *arg, int32_t level, const char *source,
                           const char *message);
typedef void (*vly_telemetry_fn)(void *arg, const char *source,
                                 const char *name, double value);

/* NULL: back to stderr, one line a message. [any-thread] */
void vly_log_set_sink(vly_log_fn function, void *arg);
/* Messages below level are dropped. The default is the environment variable
 * VOLLEY_LOG (debug, info, warn, error), otherwise warn. Returns the previous
 * level. [any-thread] */
int32_t vly_log_set_level(int32_t level);
/* [any-thread] */
void vly_log_write(int32_t level, const char *source, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* NULL: no listener, samples are dropped. [any-thread] */
void vly_telemetry_set_sink(vly_telemetry_fn function, void *arg);
void vly_telemetry(const char *source, const char *name, double value);

#endif
