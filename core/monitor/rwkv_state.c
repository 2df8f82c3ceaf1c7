/* SPDX-License-Identifier: Apache-2.0
 * States of sequences: to zero, to bytes and back, from one to another.
 *
 * Bytes of a saved state, little endian:
 *
 *     0   8  "VLYRWKV7"          8   4  version, 1
 *    12   4  layers             16   4  width
 *    20   4  dim of a head, 64  24  16  fingerprint of the model
 *    40   8  bytes that follow  48  16  their hash
 *    64      layer by layer: last of the time mixing, last of the channel
 *            mixing [width], state [heads][64][64], all fp32
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "monitor/rwkv_parts.h"

enum { HEADER = 64, VERSION = 1 };

static const char magic[9] = "VLYRWKV7";

/* ---- parts on the device --------------------------------------------------
 */

/* What a layer has of one sequence: two vectors and the state. */
typedef struct piece {
    char *at;
    uint64_t bytes;
} piece;

enum { N_PIECES = 3 };

static void find_pieces(const vly_rwkv_context *context, uint32_t layer,
                        uint32_t sequence, piece pieces[N_PIECES])
{
    const uint64_t width = context->model->info.sizes.width;
    const uint64_t at = (uint64_t)layer * context->n + sequence;
    const uint64_t bytes[N_PIECES] = {width * sizeof(float),
                                      width * sizeof(float),
                                      width * VLY_RWKV_DIM * sizeof(float)};
    char *const base[N_PIECES] = {context->last[0], context->last[1],
                                  context->state};
    for (uint32_t i = 0; i < N_PIECES; i++)
        pieces[i] = (piece){base[i] + at * bytes[i], bytes[i]};
}

static vly_status check_sequence(const vly_rwkv_context *context,
                                 uint32_t sequence, vly_error *error)
{
    if (sequence < context->n)
        return VLY_OK;
    return vly_fail(error, VLY_E_INVALID,
                    "sequence %u of a model's context that has %u", sequence,
                    context->n);
}

static vly_status wait(const vly_rwkv_context *context, vly_error *error)
{
    return context->model->parts.memory.stream_wait(
        context->model->parts.device.index, context->stream, error);
}

vly_status vly_rwkv_context_reset(vly_rwkv_context *context, uint32_t sequence,
                                  vly_error *error)
{
    const vly_memory *memory = &context->model->parts.memory;
    const bool all = sequence == UINT32_MAX;
    piece pieces[N_PIECES];
    vly_status status = VLY_OK;
    if (!all)
        VLY_TRY(check_sequence(context, sequence, error));
    for (uint32_t s = all ? 0 : sequence; s < (all ? context->n : sequence + 1);
         s++)
        for (uint32_t l = 0; l < context->model->info.sizes.layers; l++) {
            find_pieces(context, l, s, pieces);
            for (uint32_t i = 0; i < N_PIECES; i++)
                VLY_TRY(memory->fill(context->model->parts.device.index,
                                     pieces[i].at, 0, pieces[i].bytes,
                                     context->stream, error));
        }
    status = wait(context, error);
out:
    return status;
}

/* ---- to bytes and back ----------------------------------------------------
 */

static void put(unsigned char *to, uint64_t value, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        to[i] = (unsigned char)(value >> 8 * i);
}

static size_t payload_of(const vly_rwkv_model *model)
{
    const size_t width = model->info.sizes.width;
    return (2 * width + width * VLY_RWKV_DIM) * sizeof(float) *
           model->info.sizes.layers;
}

size_t vly_rwkv_state_bytes(const vly_rwkv_model *model)
{
    return HEADER + payload_of(model);
}

static void put_header(const vly_rwkv_model *model, const void *payload,
                       unsigned char header[HEADER])
{
    const vly_hash hash =
        vly_hash_bytes((vly_hash){{0, 0}}, payload, payload_of(model));
    memset(header, 0, HEADER);
    memcpy(header, magic, 8);
    put(header + 8, VERSION, 4);
    put(header + 12, model->info.sizes.layers, 4);
    put(header + 16, model->info.sizes.width, 4);
    put(header + 20, VLY_RWKV_DIM, 4);
    put(header + 24, model->info.fingerprint.lane[0], 8);
    put(header + 32, model->info.fingerprint.lane[1], 8);
    put(header + 40, payload_of(model), 8);
    put(header + 48, hash.lane[0], 8);
    put(header + 56, hash.lane[1], 8);
}

vly_status vly_rwkv_state_save(vly_rwkv_context *context, uint32_t sequence,
                               void *bytes, size_t size, vly_error *error)
{
    const vly_rwkv_model *model = context->model;
    unsigned char *to = bytes;
    piece pieces[N_PIECES];
    size_t at = HEADER;
    vly_status status = VLY_OK;
    VLY_TRY(check_sequence(context, sequence, error));
    if (size != vly_rwkv_state_bytes(model))
        return vly_fail(error, VLY_E_INVALID,
                        "%zu bytes for a state, wanted %zu", size,
                        vly_rwkv_state_bytes(model));
    for (uint32_t l = 0; l < model->info.sizes.layers; l++) {
        find_pieces(context, l, sequence, pieces);
        for (uint32_t i = 0; i < N_PIECES; i++) {
            VLY_TRY(model->parts.memory.copy(
                model->parts.device.index, to + at, pieces[i].at,
                pieces[i].bytes, VLY_COPY_FROM_DEVICE, context->stream, error));
            at += (size_t)pieces[i].bytes;
        }
    }
    VLY_TRY(wait(context, error));
    put_header(model, to + HEADER, to);
out:
    return status;
}

static vly_status check_state(const vly_rwkv_model *model, const void *bytes,
                              size_t size, vly_error *error)
{
    const unsigned char *from = bytes;
    unsigned char wanted[HEADER];
    if (size < HEADER || memcmp(from, magic, 8) != 0)
        return vly_fail(error, VLY_E_PARSE,
                        "%zu bytes are not a saved state of a model", size);
    if (from[8] != VERSION || from[9] != 0 || from[10] != 0 || from[11] != 0)
        return vly_fail(error, VLY_E_PARSE, "a state of version %u, wanted %d",
                        from[8] | (uint32_t)from[9] << 8, VERSION);
    if (size != vly_rwkv_state_bytes(model))
        return vly_fail(error, VLY_E_PARSE,
                        "a state of %zu bytes, wanted %zu: it is cut off or of "
                        "another model",
                        size, vly_rwkv_state_bytes(model));
    put_header(model, from + HEADER, wanted);
    if (memcmp(from + 12, wanted + 12, 28) != 0)
        return vly_fail(error, VLY_E_PARSE,
                        "a state of another model: sizes or weights differ");
    if (memcmp(from, wanted, HEADER) != 0)
        return vly_fail(error, VLY_E_PARSE,
                        "a damaged state: its bytes do not match their hash");
    return VLY_OK;
}

vly_status vly_rwkv_state_restore(vly_rwkv_context *context, uint32_t sequence,
                                  const void *bytes, size_t size,
                                  vly_error *error)
{
    const vly_rwkv_model *model = context->model;
    const unsigned char *from = bytes;
    piece pieces[N_PIECES];
    size_t at = HEADER;
    vly_status status = VLY_OK;
    VLY_TRY(check_sequence(context, sequence, error));
    VLY_TRY(check_state(model, bytes, size, error));
    for (uint32_t l = 0; l < model->info.sizes.layers; l++) {
        find_pieces(context, l, sequence, pieces);
        for (uint32_t i = 0; i < N_PIECES; i++) {
            VLY_TRY(model->parts.memory.copy(
                model->parts.device.index, pieces[i].at, from + at,
                pieces[i].bytes, VLY_COPY_TO_DEVICE, context->stream, error));
            at += (size_t)pieces[i].bytes;
        }
    }
    status = wait(context, error);
out:
    return status;
}

vly_status vly_rwkv_state_fork(const vly_rwkv_context *from,
                               uint32_t from_sequence, vly_rwkv_context *to,
                               uint32_t to_sequence, vly_error *error)
{
    const vly_rwkv_model *model = to->model;
    piece source[N_PIECES];
    piece target[N_PIECES];
    vly_status status = VLY_OK;
    VLY_TRY(check_sequence(from, from_sequence, error));
    VLY_TRY(check_sequence(to, to_sequence, error));
    if (from->model != model)
        return vly_fail(error, VLY_E_INVALID,
                        "a state of another model cannot be taken over");
    VLY_TRY(wait(from, error));
    for (uint32_t l = 0; l < model->info.sizes.layers; l++) {
        find_pieces(from, l, from_sequence, source);
        find_pieces(to, l, to_sequence, target);
        for (uint32_t i = 0; i < N_PIECES; i++)
            VLY_TRY(model->parts.memory.copy(
                model->parts.device.index, target[i].at, source[i].at,
                source[i].bytes, VLY_COPY_ON_DEVICE, to->stream, error));
    }
    status = wait(to, error);
out:
    return status;
}
