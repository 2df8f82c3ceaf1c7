/* SPDX-License-Identifier: Apache-2.0
 * Rows of weights as a device stores them.
 */
#ifndef VOLLEY_MONITOR_RWKV_PACK_H
#define VOLLEY_MONITOR_RWKV_PACK_H

#include <stdint.h>

#include <volley/plugin.h>

enum { RWKV_GROUP = 128 };

/* Stores x [n_rows][n_columns] in out as a type of VLY_ELEMENT_*. int8 and int4
 * also get scales of type_scale: the largest magnitude of a row / 127 (int4: of
 * 128 weights / 7), rounded up if rounding to nearest would clip that weight:
 * no weight is off by more than half a scale. Weights are rounded to nearest,
 * ties to even.
 * scales  int8 [n_rows], int4 [n_rows][n_columns / 128]
 * returns the first element that overflows (int8, int4: of its row or 128);
 *         n_rows * n_columns: none */
uint64_t rwkv_pack(uint32_t type, uint32_t type_scale, const float *x,
                   uint64_t n_rows, uint64_t n_columns, void *out,
                   void *scales);

#endif
