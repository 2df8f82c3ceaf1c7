/* SPDX-License-Identifier: Apache-2.0
 * Options after a device, read by a table of known options.
 */
#ifndef VOLLEY_SUPPORT_OPTIONS_H
#define VOLLEY_SUPPORT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An option that may follow a device: NAME=NUMBER or NAME=WORD. */
typedef struct vly_support_option {
    const char *name;
    uint32_t *value;          /* the number, or which word; untouched if none */
    const char *const *words; /* and NULL; NULL: a number of up to 6 digits */
    uint32_t most;            /* 0: any */
    bool is_power;            /* of two, or 0 */
} vly_support_option;

bool vly_support_is_power(uint32_t n); /* of two, or 0 */
/* Reads "a=1,b=word"; NULL and "" hold no option. Returns NULL, or the first
 * option that is unknown or has a bad value, and its length. */
const char *vly_support_read_options(const char *text,
                                     const vly_support_option *options,
                                     size_t n_options, size_t *length);

#endif
