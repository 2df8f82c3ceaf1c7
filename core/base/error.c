/* SPDX-License-Identifier: Apache-2.0
 * Status codes in words and filling of vly_error.
 */
#include "base/error.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

typedef struct status_row {
    vly_status status;
    int exit_code;
    const char *name;
    const char *text;
} status_row;

static const status_row status_rows[] = {
#define STATUS_ROW(name, value, exit_code, text)                               \
    {(value), (exit_code), "VLY_" #name, (text)},
    VLY_STATUS_TABLE(STATUS_ROW)
#undef STATUS_ROW
};

static const status_row *status_find(vly_status status)
{
    for (size_t i = 0; i < sizeof(status_rows) / sizeof(status_rows[0]); i++)
        if (status_rows[i].status == status)
            return &status_rows[i];
    return NULL;
}

const char *vly_status_name(vly_status status)
{
    const status_row *row = status_find(status);
    return row ? row->name : "VLY_E_UNKNOWN";
}

const char *vly_status_text(vly_status status)
{
    const status_row *row = status_find(status);
    return row ? row->text : "unknown status";
}

int vly_status_exit_code(vly_status status)
{
    const status_row *row = status_find(status);
    return row ? row->exit_code : 3; /* only a plugin can invent one */
}

/* vsnprintf cuts anywhere: takes back a UTF-8 character cut in the middle and
 * ends the text in "...". */
static void mark_cut(char *message, size_t capacity)
{
    static const char dots[] = "...";
    size_t end = capacity - sizeof(dots);
    while (end > 0 && ((unsigned char)message[end] & 0xC0) == 0x80)
        end--;
    memcpy(message + end, dots, sizeof(dots));
}

/* A plugin of an older minor may hold a shorter struct: members beyond its
 * struct_size are not written. */
static void error_fill(vly_error *error, vly_status status, uint64_t requested,
                       uint64_t available, const char *format, va_list args)
{
    const size_t head = offsetof(vly_error, message);
    if (error->struct_size < head + 8)
        return;
    size_t capacity = error->struct_size - head;
    if (capacity > sizeof(error->message))
        capacity = sizeof(error->message);
    /* formatted into a buffer: an argument may be error->message itself */
    char message[sizeof(error->message)];
    int length = vsnprintf(message, capacity, format, args);
    if (length < 0)
        snprintf(message, capacity, "%s", vly_status_text(status));
    else if ((size_t)length >= capacity)
        mark_cut(message, capacity);
    error->status = status;
    error->bytes_requested = requested;
    error->bytes_available = available;
    memcpy(error->message, message, strlen(message) + 1);
}

vly_status vly_fail(vly_error *error, vly_status status, const char *format,
                    ...)
{
    if (error) {
        va_list args;
        va_start(args, format);
        error_fill(error, status, 0, 0, format, args);
        va_end(args);
    }
    return status;
}

static void __attribute__((format(printf, 4, 5)))
fill_nomem(vly_error *error, uint64_t requested, uint64_t available,
           const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_fill(error, VLY_E_NOMEM, requested, available, format, args);
    va_end(args);
}

vly_status vly_fail_nomem(vly_error *error, uint64_t bytes, const char *what)
{
    if (!error)
        return VLY_E_NOMEM;
    uint64_t available = vly_memory_available();
    if (bytes == 0)
        bytes = vly_memory_refused();
    if (available)
        fill_nomem(error, bytes, available,
                   "out of memory: %s needs %" PRIu64 " bytes, %" PRIu64
                   " available",
                   what, bytes, available);
    else
        fill_nomem(error, bytes, 0, "out of memory: %s needs %" PRIu64 " bytes",
                   what, bytes);
    return VLY_E_NOMEM;
}

/* 0: there is none. */
static uint32_t struct_size(const void *to)
{
    uint32_t size = 0;
    if (to)
        memcpy(&size, to, sizeof size);
    return size < sizeof size ? 0 : size;
}

vly_status vly_struct_check(const void *to, size_t size, const char *name,
                            vly_error *error)
{
    if (struct_size(to) > 0)
        return VLY_OK;
    return vly_fail(error, VLY_E_INVALID,
                    "%s->struct_size is not set, wanted %zu", name, size);
}

vly_status vly_struct_fill(void *to, const void *from, size_t size)
{
    const uint32_t theirs = struct_size(to);
    if (theirs == 0)
        return VLY_E_INVALID;
    memcpy(to, from, theirs < size ? theirs : size);
    memcpy(to, &theirs, sizeof theirs);
    return VLY_OK;
}
