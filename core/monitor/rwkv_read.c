/* SPDX-License-Identifier: Apache-2.0
 * Rows of a tensor as fp32, by pieces: a file of any size needs a buffer of
 * 128 KiB, of 384 where rows become columns, or of what one row has.
 */
#include "monitor/rwkv_weights.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "monitor/rwkv_table.h"
#include "monitor/small_float.h"

enum { PIECE_ELEMENTS = 1 << 16 };

/* fp16 or bf16 */
static void widen(uint32_t type, const uint16_t *in, uint64_t n, float *out)
{
    if (type == VLY_SAFETENSOR_F16)
        for (uint64_t i = 0; i < n; i++)
            out[i] = vly_float_from_half(in[i]);
    else
        for (uint64_t i = 0; i < n; i++)
            out[i] = vly_float_from_bfloat(in[i]);
}

static bool is_finite(float x)
{
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    return (word & 0x7f800000u) != 0x7f800000u;
}

/* The first that is NaN or infinite; n: none. The first loop has no early exit,
 * so the compiler can vectorise it: billions of weights are checked here. */
static uint64_t find_not_finite(const float *x, uint64_t n)
{
    bool all = true;
    uint64_t i = 0;
    for (uint64_t k = 0; k < n; k++)
        all &= is_finite(x[k]);
    if (all)
        return n;
    while (is_finite(x[i]))
        i++;
    return i;
}

/* Elements [first, first + n) in the order of the file. buffer: as many of 2
 * bytes */
static vly_status read_elements(const vly_rwkv_weights *weights,
                                const vly_safetensor *tensor, uint64_t first,
                                uint64_t n, uint16_t *buffer, float *out,
                                vly_error *error)
{
    const uint64_t n_bytes = vly_safetensor_type_bits(tensor->type) / 8;
    const bool is_wide = tensor->type == VLY_SAFETENSOR_F32;
    vly_status status = VLY_OK;
    VLY_TRY(vly_safetensors_read(weights->file, tensor, first * n_bytes,
                                 n * n_bytes, is_wide ? (void *)out : buffer,
                                 error));
    if (!is_wide)
        widen(tensor->type, buffer, n, out);
    const uint64_t i = find_not_finite(out, n);
    if (i < n)
        return vly_fail(
            error, VLY_E_PARSE,
            "%.300s: tensor %.100s: element %" PRIu64 " is NaN or infinite",
            vly_safetensors_path(weights->file), tensor->name, first + i);
out:
    return status;
}

/* Rows of the file are columns of the result: whole rows of the file are read,
 * and the requested part of each goes to its column. */
static vly_status read_turned(const vly_rwkv_weights *weights,
                              const vly_safetensor *tensor, uint64_t first,
                              uint64_t n_rows, uint16_t *buffer, float *piece,
                              uint64_t n_piece, float *out, vly_error *error)
{
    vly_status status = VLY_OK;
    const uint64_t columns = tensor->dims[0];
    const uint64_t rows = tensor->dims[1];
    const uint64_t n_most = n_piece / rows;
    for (uint64_t c = 0; c < columns; c += n_most) {
        const uint64_t n = columns - c < n_most ? columns - c : n_most;
        VLY_TRY(read_elements(weights, tensor, c * rows, n * rows, buffer,
                              piece, error));
        for (uint64_t r = 0; r < n_rows; r++)
            for (uint64_t i = 0; i < n; i++)
                out[r * columns + c + i] = piece[i * rows + first + r];
    }
out:
    return status;
}

vly_status vly_rwkv_weights_read(const vly_rwkv_weights *weights,
                                 vly_rwkv_tensor id, uint32_t layer,
                                 uint64_t first, uint64_t n_rows, float *out,
                                 vly_error *error)
{
    uint64_t rows = 0;
    uint64_t columns = 0;
    if (!vly_rwkv_weights_has(weights, id, layer))
        return vly_fail(error, VLY_E_INVALID,
                        "%.300s: layer %u has no such tensor",
                        vly_safetensors_path(weights->file), layer);
    const vly_safetensor *tensor = rwkv_table_slot(weights, id, layer);
    const bool turned = rwkv_table_is_turned(weights, id);
    vly_rwkv_weights_shape(weights, id, &rows, &columns);
    if (first > rows || n_rows > rows - first)
        return vly_fail(error, VLY_E_INVALID,
                        "%.300s: tensor %.100s: rows %" PRIu64 " and %" PRIu64
                        " more are wanted, it has %" PRIu64,
                        vly_safetensors_path(weights->file), tensor->name,
                        first, n_rows, rows);
    uint64_t n_piece = PIECE_ELEMENTS;
    if (turned && rows > n_piece)
        n_piece = rows;
    vly_status status = VLY_OK;
    uint16_t *buffer = vly_malloc(n_piece, sizeof *buffer);
    float *piece = turned ? vly_malloc(n_piece, sizeof(float)) : NULL;
    if (!buffer || (turned && !piece)) {
        status = vly_fail_nomem(error, n_piece * sizeof(float), "weights");
        goto out;
    }
    if (turned)
        VLY_TRY(read_turned(weights, tensor, first, n_rows, buffer, piece,
                            n_piece, out, error));
    for (uint64_t at = 0; at < n_rows * columns && !turned; at += n_piece) {
        const uint64_t left = n_rows * columns - at;
        VLY_TRY(read_elements(weights, tensor, first * columns + at,
                              left < n_piece ? left : n_piece, buffer, out + at,
                              error));
    }
out:
    vly_free(piece);
    vly_free(buffer);
    return status;
}
