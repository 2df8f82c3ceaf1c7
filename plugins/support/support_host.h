/* SPDX-License-Identifier: Apache-2.0
 * The host of a plugin, messages and sizes. Compiled into each plugin with
 * hidden symbols, so it is no ABI between them.
 */
#ifndef VOLLEY_SUPPORT_HOST_H
#define VOLLEY_SUPPORT_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Id of the plugin, for messages and for the names of its devices. Each plugin
 * defines it. */
extern const char vly_support_plugin[];

extern const vly_host *vly_support_host; /* NULL before start and after stop */

/* For a plugin's init and deinit.
 * Errors  E_ABI the host's table is shorter than that of version 1.0 */
vly_status vly_support_start(const vly_host *host, vly_error *error);
void vly_support_stop(void);

/* Fills error, if it is not NULL, and returns status. [any-thread] */
vly_status vly_support_fail(vly_error *error, vly_status status,
                            const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for memory: E_NOMEM. where: "", " on the device", ... */
vly_status vly_support_fail_memory(uint64_t requested, uint64_t available,
                                   const char *where, vly_error *error);

/* Checks the argument of device_info.
 * Errors  E_INVALID it is NULL or shorter than in version 1.0 */
vly_status vly_support_check_info(const vly_device_info *info,
                                  vly_error *error);

/* status = expression; on failure goes to the label out. status must be a local
 * variable. As in the engine's core, which plugins do not see. */
#define VLY_TRY(expression)                                                    \
    do {                                                                       \
        status = (expression);                                                 \
        if (status != VLY_OK)                                                  \
            goto out;                                                          \
    } while (0)

/* Bytes of the machine's memory that are free, and all of them; 0 if unknown.
 */
uint64_t vly_support_available(void);
uint64_t vly_support_total(void);

/* *out = a * b, a + b; false on overflow, *out untouched */
bool vly_support_mul(uint64_t a, uint64_t b, uint64_t *out);
bool vly_support_add(uint64_t a, uint64_t b, uint64_t *out);

#ifdef __cplusplus
}
#endif
#endif
