/* SPDX-License-Identifier: Apache-2.0
 * Loads weights from a source to a device: piece by piece, packed and hashed,
 * row by row, on the model's threads.
 */
#include <stdatomic.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "monitor/rwkv_pack.h"
#include "monitor/rwkv_parts.h"

/* Elements of a piece, or one row. */
enum { PIECE = 1 << 20, PIECE_ROWS = PIECE / 8 };

typedef struct loader {
    vly_rwkv_model *model;
    const vly_rwkv_source *source;
    float *rows; /* what the source gave */
    char *packed;
    char *scales;
    vly_hash *hashes; /* [PIECE_ROWS], of rows */
} loader;

static vly_status copy_in(const loader *l, uint64_t to, const void *from,
                          uint64_t bytes, vly_error *error)
{
    const vly_memory *memory = &l->model->parts.memory;
    const uint32_t device = l->model->parts.device.index;
    vly_status status = VLY_OK;
    VLY_TRY(memory->copy(device, l->model->arena + to, from, bytes,
                         VLY_COPY_TO_DEVICE, NULL, error));
    VLY_TRY(memory->stream_wait(device, NULL, error));
out:
    return status;
}

/* Rows are packed by as many threads as the model has. */
typedef struct packing {
    const loader *loader;
    const rwkv_slot *slot;
    uint64_t n;
    uint64_t columns;
    uint64_t each;        /* rows of a task */
    _Atomic uint64_t bad; /* the first element that overflows */
} packing;

static void pack_task(void *arg, uint64_t task)
{
    packing *p = arg;
    const loader *l = p->loader;
    const uint64_t columns = p->columns;
    const uint64_t first = task * p->each;
    const uint64_t n = p->n - first < p->each ? p->n - first : p->each;
    const uint64_t scales =
        p->slot->type == VLY_ELEMENT_I4 ? first * columns / RWKV_GROUP : first;
    const uint64_t bad = rwkv_pack(
        p->slot->type, l->model->type, l->rows + first * columns, n, columns,
        l->packed + first * columns * rwkv_bits(p->slot->type) / 8,
        l->scales + scales * (rwkv_bits(l->model->type) / 8));
    for (uint64_t r = first; r < first + n; r++)
        l->hashes[r] = vly_hash_bytes((vly_hash){{0, 0}}, l->rows + r * columns,
                                      (size_t)columns * sizeof *l->rows);
    uint64_t seen = atomic_load(&p->bad);
    if (bad == n * columns)
        return;
    while (first * columns + bad < seen &&
           !atomic_compare_exchange_weak(&p->bad, &seen, first * columns + bad))
        continue;
}

/* Number of the first element that overflows; n * columns: none does. */
static uint64_t pack_rows(const loader *l, const rwkv_slot *slot, uint64_t n,
                          uint64_t columns)
{
    packing p = {.loader = l,
                 .slot = slot,
                 .n = n,
                 .columns = columns,
                 .each = 1 + PIECE / 16 / columns};
    atomic_init(&p.bad, n * columns);
    vly_thread_loop(l->model->parts.device.n_threads, (n + p.each - 1) / p.each,
                    pack_task, &p);
    return atomic_load(&p.bad);
}

static vly_status load_rows(loader *l, vly_rwkv_tensor id, uint32_t layer,
                            uint64_t first, uint64_t n, uint64_t columns,
                            vly_error *error)
{
    const rwkv_slot *slot = rwkv_slot_of(l->model, id, layer);
    const uint32_t bits = rwkv_bits(slot->type);
    const uint32_t scale = rwkv_bits(l->model->type) / 8;
    char name[VLY_RWKV_NAME_BYTES];
    vly_status status = VLY_OK;
    VLY_TRY(l->source->read(l->source->context, id, layer, first, n, l->rows,
                            error));
    const uint64_t bad = pack_rows(l, slot, n, columns);
    for (uint64_t r = 0; r < n; r++)
        l->model->info.fingerprint = vly_hash_bytes(
            l->model->info.fingerprint, &l->hashes[r], sizeof l->hashes[r]);
    if (bad < n * columns)
        return vly_fail(error, VLY_E_INVALID,
                        "%.300s: tensor %s has a weight of %g, which is too "
                        "large for weights of %s: choose bf16 or fp32",
                        l->source->name, vly_rwkv_native_name(id, layer, name),
                        (double)l->rows[bad],
                        vly_rwkv_format_name(l->model->info.format));
    VLY_TRY(copy_in(l, slot->w + first * columns * bits / 8, l->packed,
                    n * columns * bits / 8, error));
    if (slot->type == VLY_ELEMENT_I8)
        VLY_TRY(copy_in(l, slot->scale + first * scale, l->scales, n * scale,
                        error));
    if (slot->type == VLY_ELEMENT_I4)
        VLY_TRY(copy_in(l, slot->scale + first * columns / RWKV_GROUP * scale,
                        l->scales, n * columns / RWKV_GROUP * scale, error));
out:
    return status;
}

static vly_status load_tensor(loader *l, vly_rwkv_tensor id, uint32_t layer,
                              vly_error *error)
{
    vly_status status = VLY_OK;
    uint64_t rows = 0;
    uint64_t columns = 0;
    rwkv_shape(&l->model->info.sizes, id, &rows, &columns);
    const uint64_t whole = columns < PIECE ? PIECE / columns : 1;
    const uint64_t most = whole < PIECE_ROWS ? whole : PIECE_ROWS;
    for (uint64_t first = 0; first < rows; first += most) {
        const uint64_t n = rows - first < most ? rows - first : most;
        VLY_TRY(load_rows(l, id, layer, first, n, columns, error));
    }
out:
    return status;
}

/* Field by field, since padding between them is undefined. */
static vly_hash hash_sizes(const vly_rwkv_sizes *s)
{
    const uint32_t words[] = {s->layers, s->width,      s->heads,
                              s->hidden, s->vocabulary, s->rank_w,
                              s->rank_a, s->rank_v,     s->rank_g};
    return vly_hash_bytes((vly_hash){{0, 0}}, words, sizeof words);
}

vly_status rwkv_load(vly_rwkv_model *model, const vly_rwkv_source *source,
                     vly_error *error)
{
    const uint64_t widest = model->info.sizes.hidden > model->info.sizes.width
                                ? model->info.sizes.hidden
                                : model->info.sizes.width;
    const size_t most = PIECE + (size_t)widest;
    loader l = {.model = model,
                .source = source,
                .rows = vly_malloc(most, sizeof(float)),
                .packed = vly_malloc(most, sizeof(float)),
                .scales = vly_malloc(most, sizeof(float)),
                .hashes = vly_malloc(PIECE_ROWS, sizeof(vly_hash))};
    vly_status status = VLY_OK;
    if (!l.rows || !l.packed || !l.scales || !l.hashes) {
        status = vly_fail_nomem(
            error, 3 * most * sizeof(float) + PIECE_ROWS * sizeof(vly_hash),
            "loading a model");
        goto out;
    }
    model->info.fingerprint = hash_sizes(&model->info.sizes);
    for (size_t i = 0;
         i < (size_t)model->info.sizes.layers * VLY_RWKV_N_TENSORS; i++)
        if (model->slots[i].there)
            VLY_TRY(load_tensor(&l, (vly_rwkv_tensor)(i % VLY_RWKV_N_TENSORS),
                                (uint32_t)(i / VLY_RWKV_N_TENSORS), error));
out:
    vly_free(l.rows);
    vly_free(l.packed);
    vly_free(l.scales);
    vly_free(l.hashes);
    return status;
}
