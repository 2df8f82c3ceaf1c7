/* SPDX-License-Identifier: Apache-2.0
 * Contexts: arrays on the device, and tokens fed to them in passes.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "monitor/rwkv_parts.h"

/* On a device fewer tokens than these are single steps: a pass over a chunk
 * costs the same however few of its rows are used. */
enum { FEW_TOKENS = 4 };

/* ---- arrays ---------------------------------------------------------------
 */

typedef struct array {
    void **at;
    uint64_t bytes; /* UINT64_MAX: no size */
} array;

enum { MOST_ARRAYS = 40 };

typedef struct arrays {
    array list[MOST_ARRAYS];
    uint32_t n;
} arrays;

static void want(arrays *all, void *pointer_to, uint64_t elements,
                 uint32_t type)
{
    all->list[all->n++] =
        (array){.at = pointer_to, .bytes = rwkv_bytes(elements, type)};
}

/* Everything but the workspace, whose size the plans say. */
static void list_arrays(vly_rwkv_context *context, arrays *all)
{
    const vly_rwkv_model *model = context->model;
    const vly_rwkv_sizes *s = &model->info.sizes;
    rwkv_arrays *at = &context->at;
    const uint64_t rows = (uint64_t)context->n * context->chunk;
    const uint64_t values = rows * s->width;
    const uint32_t rank[4] = {s->rank_w, s->rank_a, s->rank_v, s->rank_g};
    const uint64_t outputs =
        context->flags & VLY_RWKV_ALL_LOGITS ? rows : context->n;
    want(all, &at->token, rows, VLY_ELEMENT_I32);
    want(all, &at->length, context->n, VLY_ELEMENT_I32);
    want(all, &at->x, values, VLY_ELEMENT_F32);
    want(all, &at->mixed, 6 * values, model->type);
    want(all, &at->r, values, model->type);
    want(all, &at->k, values, model->type);
    want(all, &at->v, values, model->type);
    for (uint32_t i = 0; i < 4; i++)
        want(all, &at->lora[i], rows * rank[i], model->type);
    for (uint32_t i = 0; i < 3; i++)
        want(all, &at->gate[i], values, model->type);
    want(all, &at->g, values, model->type);
    want(all, &at->v_first, values, model->type);
    for (uint32_t i = 0; i < 6; i++)
        want(all, &at->wkv[i], values, VLY_ELEMENT_F32);
    want(all, &at->wkv_y, values, VLY_ELEMENT_F32);
    want(all, &at->y, values, model->type);
    want(all, &at->hidden, rows * s->hidden, model->type);
    want(all, &at->apart, values, model->type);
    want(all, &at->normed, outputs * s->width, model->type);
    want(all, &at->logits, outputs * s->vocabulary, VLY_ELEMENT_F32);
    want(all, &context->last[0], (uint64_t)s->layers * context->n * s->width,
         VLY_ELEMENT_F32);
    want(all, &context->last[1], (uint64_t)s->layers * context->n * s->width,
         VLY_ELEMENT_F32);
    want(all, &context->state,
         (uint64_t)s->layers * context->n * s->width * VLY_RWKV_DIM,
         VLY_ELEMENT_F32);
}

/* One block, cleared: rows after a sequence's end only ever hold values that
 * this context computed. */
static vly_status make_arrays(vly_rwkv_context *context, vly_error *error)
{
    const vly_memory *memory = &context->model->parts.memory;
    const uint32_t device = context->model->parts.device.index;
    arrays all = {.n = 0};
    uint64_t end = 0;
    vly_status status = VLY_OK;
    list_arrays(context, &all);
    want(&all, &context->at.workspace, context->workspace_bytes,
         VLY_ELEMENT_I8);
    for (uint32_t i = 0; i < all.n; i++) {
        if (all.list[i].bytes > INT64_MAX - end)
            return vly_fail_nomem(error, UINT64_MAX, "a model's context");
        end += all.list[i].bytes;
    }
    VLY_TRY(rwkv_alloc(context->model, end, "a model's context",
                       &context->arena, error));
    context->bytes = end;
    char *next = context->arena;
    for (uint32_t i = 0; i < all.n; i++) {
        memcpy(all.list[i].at, &next, sizeof next);
        next += all.list[i].bytes;
    }
    VLY_TRY(
        memory->fill(device, context->arena, 0, end, context->stream, error));
    status = memory->stream_wait(device, context->stream, error);
out:
    return status;
}

/* ---- creation -------------------------------------------------------------
 */

static vly_status make_passes(vly_rwkv_context *context, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < (context->chunk > 1 ? 2u : 1u); i++) {
        rwkv_pass *pass = &context->pass[i];
        pass->seq = i == 0 ? 1 : context->chunk;
        pass->rows = context->n * pass->seq;
        pass->flags = pass->rows > 1 ? VLY_RWKV_LENGTHS : 0;
        VLY_TRY(rwkv_pass_init(context, pass, error));
    }
out:
    return status;
}

/* The chunk's buffers hold any pass; 2^28 rows are beyond every device. */
static vly_status check_shape(uint32_t n, uint32_t chunk, uint32_t flags,
                              vly_error *error)
{
    if (n == 0 || chunk == 0 || (uint64_t)n * chunk > 1u << 28)
        return vly_fail(error, VLY_E_INVALID,
                        "a model's context of %u sequences and %u tokens at "
                        "once, wanted 1 to 2^28 of both together",
                        n, chunk);
    if (flags & ~(uint32_t)(VLY_RWKV_ALL_LOGITS | VLY_RWKV_BESIDE))
        return vly_fail(error, VLY_E_INVALID,
                        "a model's context with flags 0x%x, of which none is "
                        "known but 1 and 2",
                        flags);
    return VLY_OK;
}

vly_status vly_rwkv_context_create(const vly_rwkv_model *model,
                                   uint32_t n_sequences, uint32_t chunk,
                                   uint32_t flags, vly_rwkv_context **context,
                                   vly_error *error)
{
    vly_rwkv_context *made = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(check_shape(n_sequences, chunk, flags, error));
    made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "a model's context");
    made->model = model;
    made->n = n_sequences;
    made->chunk = chunk;
    made->flags = flags;
    made->host = vly_calloc((size_t)n_sequences * chunk + n_sequences,
                            sizeof *made->host);
    if (!made->host) {
        status = vly_fail_nomem(error, 0, "a model's context");
        goto out;
    }
    VLY_TRY(model->parts.memory.stream_create(model->parts.device.index,
                                              &made->stream, error));
    VLY_TRY(make_passes(made, error));
    VLY_TRY(make_arrays(made, error));
    *context = made;
out:
    if (status != VLY_OK)
        vly_rwkv_context_destroy(made);
    return status;
}

void vly_rwkv_context_destroy(vly_rwkv_context *context)
{
    if (!context)
        return;
    const vly_memory *memory = &context->model->parts.memory;
    const uint32_t device = context->model->parts.device.index;
    if (context->stream)
        memory->stream_wait(device, context->stream, NULL);
    rwkv_pass_deinit(context->model, &context->pass[0]);
    rwkv_pass_deinit(context->model, &context->pass[1]);
    if (context->arena)
        memory->free(device, context->arena);
    rwkv_own_free(context);
    if (context->stream)
        memory->stream_destroy(device, context->stream);
    vly_free(context->host);
    vly_free(context);
}

uint64_t vly_rwkv_context_bytes(const vly_rwkv_context *context)
{
    return context->bytes;
}

const char *vly_rwkv_context_how(const vly_rwkv_context *context)
{
    return context->how;
}

/* ---- feeding ---------------------------------------------------------------
 */

typedef struct feed {
    const uint32_t *tokens;
    const uint32_t *lengths;
    uint32_t n;
    float *logits;
} feed;

static uint32_t length_of(const feed *f, uint32_t sequence)
{
    return f->lengths ? f->lengths[sequence] : f->n;
}

static vly_status check_feed(const vly_rwkv_context *context, const feed *f,
                             vly_error *error)
{
    const uint32_t vocabulary = context->model->info.sizes.vocabulary;
    for (uint32_t s = 0; s < context->n; s++) {
        const uint32_t n = length_of(f, s);
        if (n > f->n)
            return vly_fail(error, VLY_E_INVALID,
                            "sequence %u has %u tokens, wanted at most %u", s,
                            n, f->n);
        for (uint32_t t = 0; t < n; t++)
            if (f->tokens[(size_t)s * f->n + t] >= vocabulary)
                return vly_fail(error, VLY_E_INVALID,
                                "token %u of sequence %u is %u, wanted 0 to %u",
                                t, s, f->tokens[(size_t)s * f->n + t],
                                vocabulary - 1);
    }
    return VLY_OK;
}

/* Tokens [done, done + seq) of each sequence to the device. */
static vly_status put_tokens(vly_rwkv_context *context, const rwkv_pass *pass,
                             const feed *f, uint32_t done, vly_error *error)
{
    const vly_memory *memory = &context->model->parts.memory;
    const uint32_t device = context->model->parts.device.index;
    int32_t *tokens = context->host;
    int32_t *lengths = tokens + (size_t)context->n * context->chunk;
    vly_status status = VLY_OK;
    for (uint32_t s = 0; s < context->n; s++) {
        const uint32_t whole = length_of(f, s);
        uint32_t n = whole > done ? whole - done : 0;
        n = n < pass->seq ? n : pass->seq;
        lengths[s] = (int32_t)n;
        for (uint32_t t = 0; t < pass->seq; t++)
            tokens[(size_t)s * pass->seq + t] =
                t < n ? (int32_t)f->tokens[(size_t)s * f->n + done + t] : 0;
    }
    if (pass->chain) {
        *rwkv_own_token(context) = tokens[0];
        return VLY_OK;
    }
    VLY_TRY(memory->copy(device, context->at.token, tokens,
                         (uint64_t)pass->rows * sizeof *tokens,
                         VLY_COPY_TO_DEVICE, context->stream, error));
    /* without lengths the only row has its token: one copy less a token */
    if (pass->flags & VLY_RWKV_LENGTHS)
        VLY_TRY(memory->copy(device, context->at.length, lengths,
                             (uint64_t)context->n * sizeof *lengths,
                             VLY_COPY_TO_DEVICE, context->stream, error));
out:
    return status;
}

static vly_status get_rows(vly_rwkv_context *context, float *to, uint64_t row,
                           uint64_t n, vly_error *error)
{
    const uint64_t bytes =
        (uint64_t)context->model->info.sizes.vocabulary * sizeof(float);
    return context->model->parts.memory.copy(
        context->model->parts.device.index, to,
        (const char *)context->at.logits + row * bytes, n * bytes,
        VLY_COPY_FROM_DEVICE, context->stream, error);
}

/* Copies the logits of a chain from host memory. */
static vly_status get_own(vly_rwkv_context *context, float *to,
                          vly_error *error)
{
    const float *own = rwkv_own_logits(context);
    const size_t bytes =
        (size_t)context->model->info.sizes.vocabulary * sizeof *own;
    vly_status status = VLY_OK;
    VLY_TRY(context->model->parts.memory.stream_wait(
        context->model->parts.device.index, context->stream, error));
    if (to && to != own)
        memcpy(to, own, bytes);
out:
    return status;
}

static vly_status get_logits(vly_rwkv_context *context, const rwkv_pass *pass,
                             const feed *f, uint32_t done, vly_error *error)
{
    const size_t vocabulary = context->model->info.sizes.vocabulary;
    const int32_t *lengths =
        context->host + (size_t)context->n * context->chunk;
    vly_status status = VLY_OK;
    if (pass->chain) {
        const bool all = (context->flags & VLY_RWKV_ALL_LOGITS) != 0;
        const bool wanted = f->logits && (all || done + 1 == length_of(f, 0));
        return get_own(
            context, wanted ? f->logits + (all ? done * vocabulary : 0) : NULL,
            error);
    }
    for (uint32_t s = 0; s < context->n && f->logits; s++) {
        const uint32_t n = (uint32_t)lengths[s];
        if (n == 0)
            continue;
        if (context->flags & VLY_RWKV_ALL_LOGITS)
            VLY_TRY(get_rows(context,
                             f->logits + ((size_t)s * f->n + done) * vocabulary,
                             (uint64_t)s * pass->seq, n, error));
        else if (done + n == length_of(f, s))
            VLY_TRY(get_rows(context, f->logits + s * vocabulary, s, 1, error));
    }
    /* host memory of the copies above and of the tokens is free again */
    status = context->model->parts.memory.stream_wait(
        context->model->parts.device.index, context->stream, error);
out:
    return status;
}

static uint32_t most_left(const vly_rwkv_context *context, const feed *f,
                          uint32_t done)
{
    uint32_t most = 0;
    for (uint32_t s = 0; s < context->n; s++) {
        const uint32_t n = length_of(f, s);
        const uint32_t left = n > done ? n - done : 0;
        most = left > most ? left : most;
    }
    return most;
}

vly_status rwkv_own(vly_rwkv_context *context, vly_error *error)
{
    const vly_memory *memory = &context->model->parts.memory;
    const uint64_t bytes =
        rwkv_bytes(context->model->info.sizes.vocabulary, VLY_ELEMENT_F32) +
        RWKV_ALIGN;
    void *made = NULL;
    vly_status status = VLY_OK;
    if (context->own)
        return VLY_OK;
    if (memory->alloc_host && memory->free_host)
        VLY_TRY(memory->alloc_host(context->model->parts.device.index, bytes,
                                   &made, error));
    else if (!(made = vly_malloc(bytes, 1)))
        VLY_TRY(vly_fail_nomem(error, bytes, "a model's context"));
    context->own = made;
out:
    return status;
}

void rwkv_own_free(vly_rwkv_context *context)
{
    const vly_memory *memory = &context->model->parts.memory;
    if (memory->free_host && memory->alloc_host)
        memory->free_host(context->model->parts.device.index, context->own);
    else
        vly_free(context->own);
    context->own = NULL;
}

int32_t *rwkv_own_token(const vly_rwkv_context *context)
{
    return (int32_t *)(void *)context->own;
}

float *rwkv_own_logits(const vly_rwkv_context *context)
{
    return (float *)(void *)(context->own + RWKV_ALIGN);
}

vly_status vly_rwkv_context_step(vly_rwkv_context *context, uint32_t token,
                                 float **logits, vly_error *error)
{
    vly_status status = VLY_OK;
    if (context->n != 1)
        return vly_fail(error, VLY_E_INVALID,
                        "a step of %u sequences, wanted one", context->n);
    VLY_TRY(rwkv_own(context, error));
    VLY_TRY(vly_rwkv_context_feed(context, &token, NULL, 1,
                                  rwkv_own_logits(context), error));
    *logits = rwkv_own_logits(context);
out:
    return status;
}

vly_status vly_rwkv_context_feed(vly_rwkv_context *context,
                                 const uint32_t *tokens,
                                 const uint32_t *lengths, uint32_t n,
                                 float *logits, vly_error *error)
{
    const feed f = {tokens, lengths, n, logits};
    const uint32_t few =
        rwkv_is_host(context->model) ? 1 : (uint32_t)FEW_TOKENS;
    uint32_t done = 0;
    uint32_t left = 0;
    vly_status status = VLY_OK;
    VLY_TRY(check_feed(context, &f, error));
    while ((left = most_left(context, &f, done)) > 0) {
        const bool is_step = left <= few || context->chunk == 1;
        rwkv_pass *pass = &context->pass[is_step ? 0 : 1];
        VLY_TRY(put_tokens(context, pass, &f, done, error));
        VLY_TRY(rwkv_pass_run(context, pass, error));
        VLY_TRY(get_logits(context, pass, &f, done, error));
        done += pass->seq < left ? pass->seq : left;
    }
out:
    return status;
}
