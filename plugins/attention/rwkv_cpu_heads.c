/* SPDX-License-Identifier: Apache-2.0
 * Operations of volley.rwkv/1 that take heads: prepare, finish, step. A unit is
 * one head of up to 16 rows, so that the second products of the gates read
 * their matrices once for all of them.
 */
#include <stdbool.h>
#include <string.h>

#include "element.h"
#include "rwkv_cpu.h"

enum { DIM = VLY_RWKV_DIM, PANEL = VLY_RWKV_PANEL, CHUNK = VLY_RWKV_CHUNK };

typedef struct head_work {
    const vly_rwkv_plan *plan;
    const vly_rwkv_run *run;
} head_work;

static uint32_t largest_rank(const vly_rwkv_desc *desc)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < 4 && (desc->flags & VLY_RWKV_LORA); i++)
        most = desc->rank[i] > most ? desc->rank[i] : most;
    return most;
}

/* gates of 16 rows; inputs and matrix of one gate as fp32, results of a panel
 */
static void head_needs(const vly_rwkv_desc *desc, vly_rwkv_needs *needs)
{
    const uint64_t rank = largest_rank(desc);
    const double rows = (double)desc->batch * desc->seq;
    needs->thread = 4 * CHUNK * DIM + (CHUNK + PANEL) * rank + CHUNK * PANEL;
    needs->work = rows * desc->width * (double)(40 + 2 * rank) / 1e6;
}

/* ---- the second products ----------------------------------------------- */

typedef struct gates {
    float (*of[4])[DIM]; /* [rows][64] of w, a, v, g */
} gates;

static void gate_products(const head_work *work, uint32_t gate, uint64_t head,
                          const uint32_t *rows, uint32_t n_rows, float *scratch,
                          float (*to)[DIM])
{
    const vly_rwkv_plan *plan = work->plan;
    const vly_rwkv_desc *desc = &plan->desc;
    const vly_rwkv_run *run = work->run;
    const void *const lora[4] = {run->lora_w, run->lora_a, run->lora_v,
                                 run->lora_g};
    const void *const matrix[4] = {run->matrix_w, run->matrix_a, run->matrix_v,
                                   run->matrix_g};
    const uint32_t rank = desc->rank[gate];
    float *panel = scratch + (uint64_t)CHUNK * rank;
    float *out = panel + (uint64_t)PANEL * rank;
    const float *x[CHUNK];
    for (uint32_t i = 0; i < n_rows; i++) {
        x[i] = scratch + (uint64_t)i * rank;
        plan->kernels->load(
            desc->type,
            vly_rwkv_at(desc->type, lora[gate], (uint64_t)rows[i] * rank), rank,
            1.0f, scratch + (uint64_t)i * rank);
    }
    for (uint32_t j = 0; j < DIM; j += PANEL) {
        vly_rwkv_dots dots = {.x = x,
                              .w = matrix[gate],
                              .out = out,
                              .first = head * DIM + j,
                              .type = desc->type_matrix,
                              .n_x = n_rows,
                              .n_w = PANEL,
                              .k = rank};
        if (n_rows > 1 && desc->type_matrix != VLY_ELEMENT_F32) {
            plan->loops->unpack(desc->type_matrix, matrix[gate],
                                dots.first * rank, PANEL * rank, NULL, panel);
            dots.w = panel;
            dots.first = 0;
            dots.type = VLY_ELEMENT_F32;
        }
        plan->loops->dots(&dots);
        for (uint32_t i = 0; i < n_rows; i++)
            memcpy(to[i] + j, out + i * PANEL, PANEL * sizeof *out);
    }
}

/* With LORA all gates, otherwise the given ones. */
static void load_gates(const head_work *work, uint64_t head,
                       const uint32_t *rows, uint32_t n_rows, float *scratch,
                       const gates *to)
{
    const vly_rwkv_plan *plan = work->plan;
    const vly_rwkv_desc *desc = &plan->desc;
    const vly_rwkv_run *run = work->run;
    const bool has_g =
        (desc->flags & VLY_RWKV_LORA) || desc->op == VLY_RWKV_STEP;
    const void *const given[4] = {run->lora_w, run->lora_a, run->lora_v,
                                  run->g};
    for (uint32_t gate = 0; gate < (has_g ? 4u : 3u); gate++) {
        if (gate == 2 && (desc->flags & VLY_RWKV_FIRST))
            continue;
        if (desc->flags & VLY_RWKV_LORA) {
            gate_products(work, gate, head, rows, n_rows, scratch,
                          to->of[gate]);
            continue;
        }
        for (uint32_t i = 0; i < n_rows; i++)
            plan->kernels->load(
                desc->type,
                vly_rwkv_at(desc->type, given[gate],
                            (uint64_t)rows[i] * desc->width + head * DIM),
                DIM, 1.0f, to->of[gate][i]);
    }
}

/* ---- one head of one row ------------------------------------------------ */

static void load_head(const head_work *work, uint64_t at, uint64_t head,
                      const gates *from, uint32_t i, vly_rwkv_head *h)
{
    const vly_rwkv_plan *plan = work->plan;
    const vly_rwkv_run *run = work->run;
    const uint32_t type = plan->desc.type;
    const uint64_t first = head * DIM;
    h->is_first = (plan->desc.flags & VLY_RWKV_FIRST) != 0;
    plan->kernels->load(type, vly_rwkv_at(type, run->r, at), DIM, 1.0f, h->r);
    plan->kernels->load(type, vly_rwkv_at(type, run->k, at), DIM, 1.0f, h->k);
    plan->kernels->load(type, vly_rwkv_at(type, run->v, at), DIM, 1.0f, h->v);
    memcpy(h->w, from->of[0][i], sizeof h->w);
    memcpy(h->a, from->of[1][i], sizeof h->a);
    h->bias_w = (const float *)run->bias_w + first;
    h->bias_a = (const float *)run->bias_a + first;
    h->k_k = (const float *)run->k_k + first;
    h->k_a = (const float *)run->k_a + first;
    if (h->is_first) {
        plan->loops->save(type, h->v, DIM,
                          vly_rwkv_at_out(type, run->v_first, at));
        return;
    }
    memcpy(h->mixed_v, from->of[2][i], sizeof h->mixed_v);
    h->bias_v = (const float *)run->bias_v + first;
    plan->kernels->load(type, vly_rwkv_at(type, run->v_first, at), DIM, 1.0f,
                        h->v_first);
}

static void set_finish(const head_work *work, uint64_t head, vly_rwkv_head *h)
{
    const uint64_t first = head * DIM;
    h->eps = work->plan->desc.eps;
    h->r_k = (const float *)work->run->r_k + first;
    h->group_weight = (const float *)work->run->group_weight + first;
    h->group_bias = (const float *)work->run->group_bias + first;
}

static void save_wkv(const head_work *work, uint64_t at, const vly_rwkv_head *h)
{
    const vly_rwkv_run *run = work->run;
    const uint32_t type = work->plan->desc.type_wkv;
    const float *const from[6] = {h->r, h->w, h->k, h->v, h->a, h->b};
    void *const to[6] = {run->wkv_r, run->wkv_w, run->wkv_k,
                         run->wkv_v, run->wkv_a, run->wkv_b};
    for (uint32_t i = 0; i < 6; i++)
        work->plan->loops->save(type, from[i], DIM,
                                vly_rwkv_at_out(type, to[i], at));
}

/* The recurrence, as volley.wkv/1 computes it. */
static void recur(const head_work *work, uint64_t unit, vly_rwkv_head *h)
{
    const vly_rwkv_run *run = work->run;
    float *state = (float *)run->state_out + unit * DIM * DIM;
    if (!run->state_in)
        memset(state, 0, DIM * DIM * sizeof *state);
    else if (run->state_in != run->state_out)
        memcpy(state, (const float *)run->state_in + unit * DIM * DIM,
               DIM * DIM * sizeof *state);
    const vly_wkv_head wkv = {.type = VLY_ELEMENT_F32,
                              .n_tokens = 1,
                              .stride = DIM,
                              .r = h->r,
                              .w = h->w,
                              .k = h->k,
                              .v = h->v,
                              .a = h->a,
                              .b = h->b,
                              .y = h->y,
                              .state = state};
    work->plan->kernels->wkv(&wkv);
}

/* A gate is stored in `type` by PREPARE; STEP rounds it likewise. */
static void round_to(const vly_rwkv_plan *plan, float *x)
{
    float halves[DIM];
    if (plan->desc.type == VLY_ELEMENT_F32)
        return;
    plan->loops->save(plan->desc.type, x, DIM, halves);
    plan->kernels->load(plan->desc.type, halves, DIM, 1.0f, x);
}

static void finish_load(const head_work *work, uint64_t at, vly_rwkv_head *h)
{
    const vly_rwkv_plan *plan = work->plan;
    const vly_rwkv_run *run = work->run;
    const uint32_t type = plan->desc.type_wkv;
    plan->kernels->load(type, vly_rwkv_at(type, run->wkv_r, at), DIM, 1.0f,
                        h->r);
    plan->kernels->load(type, vly_rwkv_at(type, run->wkv_k, at), DIM, 1.0f,
                        h->k);
    plan->kernels->load(type, vly_rwkv_at(type, run->wkv_v, at), DIM, 1.0f,
                        h->v);
    plan->kernels->load(type, vly_rwkv_at(type, run->wkv_y, at), DIM, 1.0f,
                        h->y);
    plan->kernels->load(plan->desc.type,
                        vly_rwkv_at(plan->desc.type, run->g, at), DIM, 1.0f,
                        h->g);
}

static void head_row(const head_work *work, uint64_t row, uint64_t head,
                     const gates *all, uint32_t i, vly_rwkv_head *h)
{
    const vly_rwkv_plan *plan = work->plan;
    const vly_rwkv_desc *desc = &plan->desc;
    const uint64_t at = row * desc->width + head * DIM;
    if (desc->op == VLY_RWKV_FINISH) {
        finish_load(work, at, h);
    } else {
        load_head(work, at, head, all, i, h);
        plan->loops->prepare(h);
    }
    if (desc->op == VLY_RWKV_PREPARE) {
        save_wkv(work, at, h);
        if (desc->flags & VLY_RWKV_LORA)
            plan->loops->save(desc->type, all->of[3][i], DIM,
                              vly_rwkv_at_out(desc->type, work->run->g, at));
        return;
    }
    if (desc->op == VLY_RWKV_STEP) {
        memcpy(h->g, all->of[3][i], sizeof h->g);
        round_to(plan, h->g);
        recur(work, row * (desc->width / DIM) + head, h);
    }
    set_finish(work, head, h);
    plan->loops->finish(h);
    plan->loops->save(desc->type, h->y, DIM,
                      vly_rwkv_at_out(desc->type, work->run->y, at));
}

static void head_unit(void *arg, uint64_t unit, uint32_t thread)
{
    const head_work *work = arg;
    const vly_rwkv_plan *plan = work->plan;
    const uint64_t heads = plan->desc.width / DIM;
    const uint64_t head = unit % heads;
    const uint32_t first = (uint32_t)(unit / heads) * CHUNK;
    const uint32_t n =
        plan->n_rows - first < CHUNK ? plan->n_rows - first : (uint32_t)CHUNK;
    float *scratch = vly_rwkv_scratch(plan, thread);
    vly_rwkv_head h;
    gates all;
    for (uint32_t gate = 0; gate < 4; gate++)
        all.of[gate] = (float(*)[DIM])(void *)(scratch + gate * CHUNK * DIM);
    if (plan->desc.op != VLY_RWKV_FINISH)
        load_gates(work, head, plan->rows + first, n, scratch + 4 * CHUNK * DIM,
                   &all);
    for (uint32_t i = 0; i < n; i++)
        head_row(work, plan->rows[first + i], head, &all, i, &h);
}

/* A sequence without a token keeps its state. */
static void keep_states(const vly_rwkv_plan *plan, const vly_rwkv_run *run)
{
    const uint64_t size = (uint64_t)plan->desc.width * DIM;
    if (plan->desc.op != VLY_RWKV_STEP || run->state_in == run->state_out)
        return;
    for (uint32_t b = 0; b < plan->desc.batch; b++) {
        float *to = (float *)run->state_out + b * size;
        if (vly_rwkv_tokens(plan, run, b) > 0)
            continue;
        if (!run->state_in)
            memset(to, 0, size * sizeof *to);
        else
            memcpy(to, (const float *)run->state_in + b * size,
                   size * sizeof *to);
    }
}

static void head_run(const vly_rwkv_plan *plan, const vly_rwkv_run *run)
{
    head_work work = {plan, run};
    keep_states(plan, run);
    vly_rwkv_chunks(plan, plan->desc.width / DIM, head_unit, &work);
}

const vly_rwkv_operation vly_rwkv_cpu_heads = {head_needs, head_run};
