/* SPDX-License-Identifier: Apache-2.0
 * Device memory as the command shows and limits it: --device-memory, and what
 * plugins have of each device (volley.h, device memory).
 */
#ifndef VOLLEY_TOOLS_DEVICE_LIMITS_H
#define VOLLEY_TOOLS_DEVICE_LIMITS_H

#include <volley/volley.h>

#include "tools/cli/json_writer.h"
#include "tools/cli/options.h"

/* For tables of options. */
#define DEVICE_LIMITS_OPTION                                                   \
    {                                                                          \
        "device-memory", 0, true, TOOL_TEXT, "[DEVICE=]BYTES",                 \
            "memory limit of each device: 8GiB; of one device: "               \
            "cuda:1=512MiB; of pinned memory and accelerators on the "         \
            "host: host=1GiB",                                                 \
            0, 0                                                               \
    }

/* "8GiB", "500MB", "65536": whole bytes, at least one and below 2^63. false:
 * another text; *bytes is unchanged. */
bool device_limits_bytes(const char *text, uint64_t *bytes);
/* Sets the limits of all --device-memory options, or none.
 * Errors  E_INVALID one cannot be read: the message has its text and the wanted
 * form */
vly_status device_limits_read(const tool_args *args, vly_error *error);

/* Checks that the named devices exist. If the plugin cannot be used here, a
 * note is printed and the limit has no effect, so that the same call works on
 * every machine.
 * Errors  E_INVALID no plugin has devices of this name, or not so many */
vly_status device_limits_check(const vly_registry *registry, vly_error *error);

/* Figures of the account of this name; false if there is none. */
bool device_limits_usage(const char *device, vly_device_usage *usage);
/* Lines of a summary: devices on which memory was allocated, and limits of
 * devices on which none was. */
void device_limits_print(void);
/* Only the limits without allocations, on stderr. */
void device_limits_tell(void);
/* The same as the array "device_memory" of an object. */
void device_limits_json(json_writer *json);
/* "1.2 GB in use, 0 B kept, at most 1.3 GB"; valid as tool_bytes' */
const char *device_limits_text(const vly_device_usage *usage);
/* As an object; key NULL: an element of an array */
void device_limits_put(const char *key, const vly_device_usage *usage,
                       json_writer *json);
/* Metrics of Prometheus. NULL: no memory. The caller frees it (vly_free). */
char *device_limits_metrics(void);

#endif
