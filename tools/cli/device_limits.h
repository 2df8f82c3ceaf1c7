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
            "take no more of any device: 8GiB; of one: cuda:1=512MiB; of "     \
            "what they share with the host and accelerators take there: "      \
            "host=1GiB",                                                       \
            0, 0                                                               \
    }

/* "8GiB", "500MB", "65536": whole bytes, at least one and below 2^63. false: no
 * such text, *bytes is unchanged. */
bool device_limits_bytes(const char *text, uint64_t *bytes);
/* Sets the limits of all --device-memory, or none.
 * Errors  E_INVALID one is none: which, and what was wanted */
vly_status device_limits_read(const tool_args *args, vly_error *error);

/* Whether there are the devices that were named. One whose plugin cannot be
 * used here is told, so that a call may be the same on every machine.
 * Errors  E_INVALID no plugin has devices of this name, or not so many */
vly_status device_limits_check(const vly_registry *registry, vly_error *error);

/* Figures of the account of this name. false: there is none. */
bool device_limits_usage(const char *device, vly_device_usage *usage);
/* Lines of a summary: devices on which something was allocated, and limits
 * below which nothing was. */
void device_limits_print(void);
/* The latter alone, on stderr. */
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
