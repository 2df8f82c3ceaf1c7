/* SPDX-License-Identifier: Apache-2.0
 * The sinks for messages and telemetry of plugins and the engine.
 *
 * sink_lock guards both sinks and is held while one is called, so that lines of
 * several threads do not mix and a removed sink is never called again. A sink
 * must not log. The level and the flag "there is a listener" are atomic: a
 * message that is dropped takes no lock.
 */
#include "plugin/host_log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <volley/plugin.h>

#include "base/plain.h"

#define LEVEL_UNSET (-1)

static pthread_mutex_t sink_lock = PTHREAD_MUTEX_INITIALIZER;
static vly_log_fn log_sink;
static void *log_arg;
static vly_telemetry_fn telemetry_sink;
static void *telemetry_arg;
static _Atomic int32_t log_level = LEVEL_UNSET;
static _Atomic int telemetry_on;

static const char *const level_names[] = {"debug", "info", "warn", "error"};

static void write_stderr(int32_t level, const char *source, const char *message)
{
    char shown[4 * 1200]; /* text of a plugin or a file may contain any bytes */
    vly_plain(message, false, shown, sizeof(shown));
    fprintf(stderr, "volley: %s: %s: %s\n", level_names[level], source, shown);
}

static void emit(int32_t level, const char *source, const char *message)
{
    pthread_mutex_lock(&sink_lock);
    if (log_sink)
        log_sink(log_arg, level, source, message);
    else
        write_stderr(level, source, message);
    pthread_mutex_unlock(&sink_lock);
}

/* Two threads may both be first; both find the same value. */
static int32_t level_from_environment(void)
{
    int32_t expected = LEVEL_UNSET;
    const char *text = getenv("VOLLEY_LOG");
    int32_t level = LEVEL_UNSET;
    for (int32_t i = VLY_LOG_DEBUG; text && i <= VLY_LOG_ERROR; i++)
        if (strcmp(text, level_names[i]) == 0)
            level = i;
    bool unknown = text && *text && level == LEVEL_UNSET;
    if (level == LEVEL_UNSET)
        level = VLY_LOG_WARN;
    if (!atomic_compare_exchange_strong(&log_level, &expected, level))
        return expected;
    if (unknown)
        vly_log_write(
            VLY_LOG_WARN, "volley",
            "VOLLEY_LOG is \"%.40s\", wanted debug, info, warn or error", text);
    return level;
}

void vly_log_set_sink(vly_log_fn function, void *arg)
{
    pthread_mutex_lock(&sink_lock);
    log_sink = function;
    log_arg = arg;
    pthread_mutex_unlock(&sink_lock);
}

static int32_t least_level(void)
{
    const int32_t least =
        atomic_load_explicit(&log_level, memory_order_relaxed);
    return least == LEVEL_UNSET ? level_from_environment() : least;
}

int32_t vly_log_set_level(int32_t level)
{
    const int32_t before = least_level();
    if (level >= VLY_LOG_DEBUG && level <= VLY_LOG_ERROR)
        atomic_store(&log_level, level);
    return before;
}

void vly_log_write(int32_t level, const char *source, const char *format, ...)
{
    if (level < least_level())
        return;
    char message[1200]; /* a vly_error and a path */
    va_list args;
    va_start(args, format);
    int length = vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    if (length >= 0)
        emit(level > VLY_LOG_ERROR ? VLY_LOG_ERROR : level, source, message);
}

void vly_telemetry_set_sink(vly_telemetry_fn function, void *arg)
{
    pthread_mutex_lock(&sink_lock);
    telemetry_sink = function;
    telemetry_arg = arg;
    atomic_store(&telemetry_on, function != NULL);
    pthread_mutex_unlock(&sink_lock);
}

void vly_telemetry(const char *source, const char *name, double value)
{
    if (!atomic_load_explicit(&telemetry_on, memory_order_relaxed))
        return;
    pthread_mutex_lock(&sink_lock);
    if (telemetry_sink)
        telemetry_sink(telemetry_arg, source, name, value);
    pthread_mutex_unlock(&sink_lock);
}
