/* SPDX-License-Identifier: Apache-2.0
 * Operations of volley.rwkv/1 that take whole rows: embed, mix, activate, add,
 * norm.
 */
#include <string.h>

#include "attention_cpu.h"
#include "element.h"
#include "rwkv_cpu.h"

typedef struct row_work {
    const vly_rwkv_plan *plan;
    const vly_rwkv_run *run;
} row_work;

#define WORK_VALUES 1e5 /* elements in about 50 us */

static uint64_t n_values(const vly_rwkv_desc *desc)
{
    return (uint64_t)desc->batch * desc->seq * desc->width;
}

static void row_needs(const vly_rwkv_desc *desc, vly_rwkv_needs *needs)
{
    needs->thread = 2ull * desc->width;
    needs->work = (double)n_values(desc) / WORK_VALUES;
}

/* The rows of a chunk. */
static uint32_t chunk_end(const vly_rwkv_plan *plan, uint64_t chunk)
{
    const uint64_t end = (chunk + 1) * VLY_RWKV_CHUNK;
    return end < plan->n_rows ? (uint32_t)end : plan->n_rows;
}

/* ---- embed -------------------------------------------------------------- */

static void embed_unit(void *arg, uint64_t unit, uint32_t thread)
{
    const row_work *work = arg;
    const vly_rwkv_desc *desc = &work->plan->desc;
    const vly_rwkv_run *run = work->run;
    const uint32_t width = desc->width;
    float *line = vly_rwkv_scratch(work->plan, thread);
    for (uint32_t i = (uint32_t)unit * VLY_RWKV_CHUNK;
         i < chunk_end(work->plan, unit); i++) {
        const uint64_t row = work->plan->rows[i];
        const uint64_t token = (uint64_t)((const int32_t *)run->token)[row];
        float *x = (float *)run->x + row * width;
        work->plan->kernels->load(
            desc->type_matrix,
            vly_rwkv_at(desc->type_matrix, run->table, token * width), width,
            1.0f, line);
        if (desc->flags & VLY_RWKV_WITH_NORM)
            work->plan->loops->norm(line, width, desc->eps, run->norm_weight,
                                    run->norm_bias, x);
        else
            memcpy(x, line, width * sizeof *x);
    }
}

static void embed_run(const vly_rwkv_plan *plan, const vly_rwkv_run *run)
{
    row_work work = {plan, run};
    vly_rwkv_chunks(plan, 1, embed_unit, &work);
}

const vly_rwkv_operation vly_rwkv_cpu_embed = {row_needs, embed_run};

/* ---- mix ---------------------------------------------------------------- */

/* `last` of all sequences is copied if one unit writes it and another one reads
 * it. */
static void mix_needs(const vly_rwkv_desc *desc, vly_rwkv_needs *needs)
{
    needs->thread = 3ull * desc->width;
    needs->shared = desc->seq > 1 ? (uint64_t)desc->batch * desc->width : 0;
    needs->work = (double)n_values(desc) * desc->n_mix / WORK_VALUES;
}

static void mix_row(const row_work *work, const float *now, const float *before,
                    uint64_t row, float *line)
{
    const vly_rwkv_desc *desc = &work->plan->desc;
    const uint32_t width = desc->width;
    const uint64_t rows = (uint64_t)desc->batch * desc->seq;
    for (uint32_t m = 0; m < desc->n_mix; m++) {
        const uint64_t at = (m * rows + row) * width;
        work->plan->loops->lerp(now, before,
                                (const float *)work->run->mix + m * width,
                                width, line);
        work->plan->loops->save(
            desc->type, line, width,
            vly_rwkv_at_out(desc->type, work->run->mixed, at));
    }
}

/* A chunk of one sequence. The norm of the token before it is computed again.
 */
static void mix_unit(void *arg, uint64_t unit, uint32_t thread)
{
    const row_work *work = arg;
    const vly_rwkv_plan *plan = work->plan;
    const vly_rwkv_desc *desc = &plan->desc;
    const vly_rwkv_run *run = work->run;
    const uint32_t width = desc->width;
    const uint32_t chunks = (desc->seq - 1) / VLY_RWKV_CHUNK + 1;
    const uint32_t batch = (uint32_t)(unit / chunks);
    const uint32_t first = (uint32_t)(unit % chunks) * VLY_RWKV_CHUNK;
    const uint32_t n = vly_rwkv_tokens(plan, run, batch);
    const uint64_t row = (uint64_t)batch * desc->seq;
    const float *x = (const float *)run->x + row * width;
    float *last = (float *)run->last + (uint64_t)batch * width;
    float *before = vly_rwkv_scratch(plan, thread);
    float *now = before + width;
    float *line = now + width;
    if (first >= n)
        return;
    if (first > 0)
        plan->loops->norm(x + (uint64_t)(first - 1) * width, width, desc->eps,
                          run->norm_weight, run->norm_bias, before);
    else
        memcpy(before,
               desc->seq > 1 ? plan->shared + (uint64_t)batch * width : last,
               width * sizeof *before);
    for (uint32_t t = first; t < n && t < first + VLY_RWKV_CHUNK; t++) {
        plan->loops->norm(x + (uint64_t)t * width, width, desc->eps,
                          run->norm_weight, run->norm_bias, now);
        mix_row(work, now, before, row + t, line);
        if (t + 1 == n)
            memcpy(last, now, width * sizeof *last);
        float *other = before;
        before = now;
        now = other;
    }
}

static void mix_run(const vly_rwkv_plan *plan, const vly_rwkv_run *run)
{
    row_work work = {plan, run};
    const uint64_t chunks = (plan->desc.seq - 1) / VLY_RWKV_CHUNK + 1;
    if (plan->desc.seq > 1)
        memcpy(plan->shared, run->last,
               (size_t)plan->desc.batch * plan->desc.width *
                   sizeof *plan->shared);
    vly_attention_units(plan->n_threads, plan->desc.batch * chunks, mix_unit,
                        &work);
}

const vly_rwkv_operation vly_rwkv_cpu_mix = {mix_needs, mix_run};

/* ---- activate ----------------------------------------------------------- */

static uint32_t padded(uint32_t n)
{
    return (n + 15u) & ~15u;
}

static void activate_needs(const vly_rwkv_desc *desc, vly_rwkv_needs *needs)
{
    const uint32_t most =
        desc->rank[0] > desc->rank[3] ? desc->rank[0] : desc->rank[3];
    needs->thread = padded(most);
    needs->work = (double)desc->batch * desc->seq * most / WORK_VALUES;
}

static void activate_unit(void *arg, uint64_t unit, uint32_t thread)
{
    const row_work *work = arg;
    const vly_rwkv_desc *desc = &work->plan->desc;
    void *const of[2] = {work->run->lora_w, work->run->lora_g};
    const uint32_t rank[2] = {desc->rank[0], desc->rank[3]};
    const uint32_t function[2] = {VLY_RWKV_TANH, VLY_RWKV_SIGMOID};
    float *line = vly_rwkv_scratch(work->plan, thread);
    for (uint32_t i = (uint32_t)unit * VLY_RWKV_CHUNK;
         i < chunk_end(work->plan, unit); i++)
        for (uint32_t j = 0; j < 2; j++) {
            const uint64_t at = (uint64_t)work->plan->rows[i] * rank[j];
            memset(line, 0, padded(rank[j]) * sizeof *line);
            work->plan->kernels->load(desc->type,
                                      vly_rwkv_at(desc->type, of[j], at),
                                      rank[j], 1.0f, line);
            work->plan->loops->activate(function[j], line, padded(rank[j]));
            work->plan->loops->save(desc->type, line, rank[j],
                                    vly_rwkv_at_out(desc->type, of[j], at));
        }
}

static void activate_run(const vly_rwkv_plan *plan, const vly_rwkv_run *run)
{
    row_work work = {plan, run};
    vly_rwkv_chunks(plan, 1, activate_unit, &work);
}

const vly_rwkv_operation vly_rwkv_cpu_activate = {activate_needs, activate_run};

/* ---- add, norm ---------------------------------------------------------- */

static void add_unit(void *arg, uint64_t unit, uint32_t thread)
{
    const row_work *work = arg;
    const vly_rwkv_desc *desc = &work->plan->desc;
    float *line = vly_rwkv_scratch(work->plan, thread);
    for (uint32_t i = (uint32_t)unit * VLY_RWKV_CHUNK;
         i < chunk_end(work->plan, unit); i++) {
        const uint64_t at = (uint64_t)work->plan->rows[i] * desc->width;
        float *x = (float *)work->run->x + at;
        work->plan->kernels->load(desc->type,
                                  vly_rwkv_at(desc->type, work->run->y, at),
                                  desc->width, 1.0f, line);
        for (uint32_t j = 0; j < desc->width; j++)
            x[j] += line[j];
    }
}

static void add_run(const vly_rwkv_plan *plan, const vly_rwkv_run *run)
{
    row_work work = {plan, run};
    vly_rwkv_chunks(plan, 1, add_unit, &work);
}

const vly_rwkv_operation vly_rwkv_cpu_add = {row_needs, add_run};

static void norm_unit(void *arg, uint64_t unit, uint32_t thread)
{
    const row_work *work = arg;
    const vly_rwkv_desc *desc = &work->plan->desc;
    const bool is_last = (desc->flags & VLY_RWKV_LAST) != 0;
    float *line = vly_rwkv_scratch(work->plan, thread);
    for (uint32_t i = (uint32_t)unit * VLY_RWKV_CHUNK;
         i < chunk_end(work->plan, unit); i++) {
        const uint64_t row = work->plan->rows[i];
        const uint64_t to = is_last ? row / desc->seq : row;
        work->plan->loops->norm((const float *)work->run->x + row * desc->width,
                                desc->width, desc->eps, work->run->norm_weight,
                                work->run->norm_bias, line);
        work->plan->loops->save(
            desc->type, line, desc->width,
            vly_rwkv_at_out(desc->type, work->run->y, to * desc->width));
    }
}

static void norm_run(const vly_rwkv_plan *plan, const vly_rwkv_run *run)
{
    row_work work = {plan, run};
    vly_rwkv_chunks(plan, 1, norm_unit, &work);
}

const vly_rwkv_operation vly_rwkv_cpu_norm = {row_needs, norm_run};
