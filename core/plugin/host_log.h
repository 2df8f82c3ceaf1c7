/* SPDX-License-Identifier: Apache-2.0
 * The sinks for messages and telemetry of plugins and the engine.
 */
#ifndef VOLLEY_PLUGIN_HOST_LOG_H
#define VOLLEY_PLUGIN_HOST_LOG_H

#include <stdint.h>

#include <volley/host.h>

typedef void (*vly_telemetry_fn)(void *arg, const char *source,
                                 const char *name, double value);

/* [any-thread] */
void vly_log_write(int32_t level, const char *source, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* NULL: no listener, samples are dropped. [any-thread] */
void vly_telemetry_set_sink(vly_telemetry_fn function, void *arg);
void vly_telemetry(const char *source, const char *name, double value);

#endif
