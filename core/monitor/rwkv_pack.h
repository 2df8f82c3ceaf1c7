/* SPDX-License-Identifier: Apache-2.0
 * Rows of weights as a device stores them.
 */
#ifndef VOLLEY_MONITOR_RWKV_PACK_H
#define VOLLEY_MONITOR_RWKV_PACK_H

#include <stdint.h>

#include <volley/plugin.h>

enum { RWKV_GROUP = 128 };

/* x [n_rows][n_columns] into out, in a type of VLY_ELEMENT_*; int8 and int4
 * also make scales of type_scale: the largest magnitude of the row (int4: of
 * each 128) over 127 (7), rounded up where rounding to nearest would cut that
 * weight off, so that a weight is never more than half a scale away. Weights
 * are rounded to nearest, ties to even.
 * scales  int8 [n_rows], int4 [n_rows][n_columns / 128]
 * returns the number of the first element that overflows (n_rows * n_columns:
 * none does) */
uint64_t rwkv_pack(uint32_t type, uint32_t type_scale, const float *x,
                   uint64_t n_rows, uint64_t n_columns, void *out,
                   void *scales);

#endif
