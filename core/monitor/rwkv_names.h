/* SPDX-License-Identifier: Apache-2.0
 * Names of tensors in a file to the table of rwkv_weights.h and back.
 */
#ifndef VOLLEY_MONITOR_RWKV_NAMES_H
#define VOLLEY_MONITOR_RWKV_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "monitor/rwkv_weights.h"

enum { RWKV_SCHEME_NATIVE, RWKV_SCHEME_FLA, RWKV_N_SCHEMES };

/* Symbols of sizes in the table. */
typedef enum rwkv_size {
    RWKV_SIZE_1,
    RWKV_SIZE_D,
    RWKV_SIZE_F,
    RWKV_SIZE_N,
    RWKV_SIZE_RW,
    RWKV_SIZE_RA,
    RWKV_SIZE_RV,
    RWKV_SIZE_RG,
    RWKV_N_SIZES
} rwkv_size;

typedef struct rwkv_row {
    char scope; /* 'M', 'L' or 'V' */
    rwkv_size rows;
    rwkv_size columns;
    const char *names[RWKV_N_SCHEMES];
} rwkv_row;

const rwkv_row *rwkv_names_row(vly_rwkv_tensor id);
/* A matrix of a low-rank product. */
bool rwkv_names_is_lora(vly_rwkv_tensor id);
/* False: no tensor of RWKV-7 has this name in this scheme. */
bool rwkv_names_find(uint32_t scheme, const char *name, vly_rwkv_tensor *id,
                     uint32_t *layer);
/* The whole name, "blocks.3.att.w1". */
const char *rwkv_names_print(uint32_t scheme, vly_rwkv_tensor id,
                             uint32_t layer, char name[VLY_RWKV_NAME_BYTES]);

#endif
