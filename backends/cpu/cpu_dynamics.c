/* SPDX-License-Identifier: Apache-2.0
 * The second half of a burst: stimuli, the update of every neuron (FEAGI
 * areas: of every candidate) and the fired set of a slice, ascending.
 */
#include "cpu_learning.h"
#include "cpu_net.h"

#include <string.h>

#include "kernels/models/feagi.h"
#include "kernels/models/philox.h"

/* ---- coefficients ------------------------------------------------------ */

static vly_status set_column(vly_backend_net *net, const vly_cpu_area *area,
                             const vly_column *column, uint32_t copy,
                             vly_cpu_column *out, vly_error *error)
{
    vly_cpu_column made = {.words = column->words};
    made.uniform = column->uniform != 0;
    made.mask = made.uniform ? 0 : UINT32_MAX;
    uint64_t n = made.uniform ? 1 : area->n;
    vly_status status = VLY_OK;
    if (copy) {
        VLY_TRY(vly_common_alloc(&net->heap, n, sizeof(uint32_t), &made.own,
                                 error));
        memcpy(made.own, column->words, (size_t)n * sizeof *made.own);
        made.words = made.own;
    }
    if (made.uniform) {
        status = vly_common_alloc(&net->heap, VLY_CPU_CHUNK, sizeof(uint32_t),
                                  &made.fill, error);
        if (status != VLY_OK) {
            vly_common_release(&net->heap, made.own);
            return status;
        }
        for (uint32_t i = 0; i < VLY_CPU_CHUNK; i++)
            made.fill[i] = made.words[0];
    }
    *out = made;
out:
    return status;
}

static void note_uniform(vly_cpu_area *area)
{
    area->all_uniform = 1;
    for (uint32_t i = 0; i < area->model->n_coefs; i++)
        if (!area->coef[i].uniform)
            area->all_uniform = 0;
}

/* Blocks for the largest number that the areas need, whatever coefficients
 * become uniform later: at most one a value. */
static vly_status program_create(vly_backend_net *net, vly_cpu_area *area,
                                 vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_cpu_program_make(&net->heap, area, net->kernels->program, error));
    for (uint32_t j = 0; j < net->n_threads; j++) {
        vly_cpu_thread *thread = &net->threads[j];
        uint32_t n = area->from->n_ops;
        if (n <= thread->n_blocks)
            continue;
        vly_common_release(&net->heap, thread->blocks);
        thread->blocks = NULL;
        thread->n_blocks = 0;
        VLY_TRY(vly_common_alloc(&net->heap, (uint64_t)n * VLY_CPU_BLOCK,
                                 sizeof(uint32_t), &thread->blocks, error));
        thread->n_blocks = n;
    }
out:
    return status;
}

vly_status vly_cpu_dynamics_create(vly_backend_net *net, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t a = 0; a < net->n_areas; a++) {
        vly_cpu_area *area = &net->areas[a];
        const vly_area_desc *desc = vly_common_area_desc(net->desc, a);
        for (uint32_t i = 0; i < area->model->n_coefs; i++) {
            VLY_TRY(set_column(net, area, &desc->coefs[i], 0, &area->coef[i],
                               error));
        }
        note_uniform(area);
        if (area->from)
            VLY_TRY(program_create(net, area, error));
    }
out:
    return status;
}

vly_status vly_cpu_coef_write(vly_backend_net *net, uint32_t index,
                              uint32_t coef, const vly_column *column,
                              vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_check_coef(net->desc, index, coef, error));
    vly_cpu_area *area = &net->areas[index];
    vly_cpu_column made;
    VLY_TRY(set_column(net, area, column, 1, &made, error));
    vly_cpu_column old = area->coef[coef];
    area->coef[coef] = made;
    if (area->from) {
        status = vly_cpu_program_make(&net->heap, area, net->kernels->program,
                                      error);
        if (status != VLY_OK) {
            area->coef[coef] = old;
            old = made;
        }
    }
    vly_common_release(&net->heap, old.own);
    vly_common_release(&net->heap, old.fill);
    note_uniform(area);
out:
    return status;
}

/* ---- time-driven areas ------------------------------------------------- */

/* Which of eight flags of a byte each is the first one set; not all are 0. */
static uint32_t lowest_flag(uint64_t flags)
{
#if defined(__GNUC__)
    return (uint32_t)__builtin_ctzll(flags) / 8;
#else
    uint32_t k = 0;
    while ((flags >> (8 * k) & 1) == 0)
        k++;
    return k;
#endif
}

/* Appends the neurons of a chunk that fired: a line of flags at a time, since
 * in most no flag is set. */
static void collect(vly_cpu_thread *thread, uint32_t first, uint32_t n)
{
    uint32_t n_fired = thread->n_fired;
    memset(thread->flags + n, 0, (0u - n) % VLY_CPU_SLICE);
    for (uint32_t i = 0; i < n; i += VLY_CPU_SLICE) {
        uint64_t word[8];
        memcpy(word, thread->flags + i, sizeof word);
        if ((word[0] | word[1] | word[2] | word[3] | word[4] | word[5] |
             word[6] | word[7]) == 0)
            continue;
        for (uint32_t k = i; k < i + VLY_CPU_SLICE; k += 8)
            for (uint64_t left = word[(k - i) / 8]; left != 0; left &= left - 1)
                thread->fired[n_fired++] = first + k + lowest_flag(left);
    }
    thread->n_fired = n_fired;
}

static void finish(const vly_backend_net *net, vly_cpu_thread *thread,
                   uint32_t begin, uint32_t n)
{
    uint32_t gain = 1u << net->desc->feagi_q;
    for (uint32_t i = begin; i < thread->n_fired; i++)
        thread->gains[i] = gain;
    thread->n_candidates += n;
}

/* Of a user's model. */
static void update_program(vly_backend_net *net, vly_cpu_thread *thread,
                           vly_cpu_area *area, uint32_t low, uint32_t high)
{
    uint32_t begin = thread->n_fired;
    for (uint32_t at = low; at < high; at += VLY_CPU_BLOCK) {
        uint32_t n = high - at < VLY_CPU_BLOCK ? high - at : VLY_CPU_BLOCK;
        if (area->n_stimuli > 0)
            vly_cpu_stimulus_add(net, area, at, at + n);
        vly_cpu_program_step_block(net, area, thread->blocks, at, n,
                                   thread->flags);
        collect(thread, area->first + at, n);
    }
    finish(net, thread, begin, high - low);
}

static void update_all(vly_backend_net *net, vly_cpu_thread *thread,
                       vly_cpu_area *area, uint32_t low, uint32_t high)
{
    const vly_common_model *model = area->model;
    vly_cpu_step *step = area->all_uniform
                             ? net->kernels->step_uniform[model->index]
                             : net->kernels->step_each[model->index];
    uint32_t begin = thread->n_fired;
    vly_cpu_chunk chunk = {.scale = {area->scale[0], area->scale[1]},
                           .fired = thread->flags};
    for (uint32_t at = low; at < high; at += VLY_CPU_CHUNK) {
        chunk.n = high - at < VLY_CPU_CHUNK ? high - at : VLY_CPU_CHUNK;
        if (area->n_stimuli > 0)
            vly_cpu_stimulus_add(net, area, at, at + chunk.n);
        for (uint32_t i = 0; i < model->n_ports; i++)
            chunk.input[i] = area->slot[area->now] + i * area->stride + at;
        for (uint32_t i = 0; i < model->n_fields; i++)
            chunk.field[i] = area->field[i] + at;
        for (uint32_t i = 0; i < model->n_coefs; i++)
            chunk.coef[i] = area->coef[i].uniform ? area->coef[i].fill
                                                  : area->coef[i].words + at;
        step(&chunk);
        collect(thread, area->first + at, chunk.n);
    }
    finish(net, thread, begin, high - low);
}

/* ---- FEAGI areas ------------------------------------------------------- */

static float word_f32(uint32_t word)
{
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
}

static uint32_t word_u32(uint32_t word)
{
    return word;
}

#define LOAD_F32(word) word_f32(word)
#define LOAD_U32(word) word_u32(word)
#define STORE_F32(x) vly_bits(x)
#define STORE_U32(x) word_u32(x)

static void update_candidate(vly_backend_net *net, vly_cpu_thread *thread,
                             vly_cpu_area *area, uint32_t i)
{
    vly_feagi_state s;
    vly_feagi_coef c;
    uint32_t index = 0;
#define VLY_FIELD(name, type, unit, lo, hi, init, text)                        \
    s.name = LOAD_##type(area->field[index++][i]);
#include "kernels/models/feagi.def"
    index = 0;
#define VLY_COEF(name, type, expression)                                       \
    c.name = LOAD_##type(area->coef[index].words[i & area->coef[index].mask]); \
    index++;
#include "kernels/models/feagi.def"
    uint32_t neuron = area->first + i;
    uint32_t *input = area->slot[area->now] + i;
    uint32_t u = 0;
    if (c.excitability != UINT32_MAX && s.refractory_countdown == 0)
        u = vly_philox_burst((uint32_t)net->desc->seed_input,
                             (uint32_t)(net->desc->seed_input >> 32),
                             (uint32_t)net->burst, (uint32_t)(net->burst >> 32),
                             neuron, VLY_FEAGI_STREAM);
    vly_feagi_out o =
        vly_feagi_step(s, c, (float)(int32_t)*input * area->scale[0], u);
    *input = 0;
    index = 0;
#define VLY_FIELD(name, type, unit, lo, hi, init, text)                        \
    area->field[index++][i] = STORE_##type(o.s.name);
#include "kernels/models/feagi.def"
    thread->n_candidates++;
    if (o.fired == 0)
        return;
    thread->fired[thread->n_fired] = neuron;
    thread->gains[thread->n_fired] =
        vly_feagi_gain(o.psp, c.uniform_psp, net->desc->feagi_q,
                       net->desc->out_degree[neuron]);
    thread->n_fired++;
}

/* Candidates of [low, high), ascending. A block without marks costs a look at
 * one byte, or an eighth of a word. */
static void update_candidates(vly_backend_net *net, vly_cpu_thread *thread,
                              vly_cpu_area *area, uint32_t low, uint32_t high)
{
    if (area->n_stimuli > 0)
        vly_cpu_stimulus_add(net, area, low, high);
    uint8_t *mark = area->mark[area->now];
    uint8_t *blocks = mark + area->block_offset;
    uint32_t end = (high + VLY_CPU_SLICE - 1) / VLY_CPU_SLICE;
    for (uint32_t b = low / VLY_CPU_SLICE; b < end; b++) {
        uint64_t word = 1;
        if (b % 8 == 0 && b + 8 <= end)
            memcpy(&word, blocks + b, sizeof word);
        if (word == 0) {
            b += 7;
            continue;
        }
        if (blocks[b] == 0)
            continue;
        blocks[b] = 0;
        uint32_t stop = (b + 1) * VLY_CPU_SLICE;
        stop = stop < high ? stop : high;
        for (uint32_t i = b * VLY_CPU_SLICE; i < stop; i++) {
            if (mark[i] == 0)
                continue;
            mark[i] = 0;
            update_candidate(net, thread, area, i);
        }
    }
}

/* ---- all areas --------------------------------------------------------- */

void vly_cpu_dynamics(vly_backend_net *net, vly_cpu_thread *thread)
{
    thread->n_fired = 0;
    for (uint32_t a = 0; a < net->n_areas; a++) {
        vly_cpu_area *area = &net->areas[a];
        uint32_t low = thread->low[a];
        uint32_t high = thread->high[a];
        if (low < high) {
            vly_cpu_stimulus_draw(net, thread, area);
            if (area->mark)
                update_candidates(net, thread, area, low, high);
            else if (area->from)
                update_program(net, thread, area, low, high);
            else
                update_all(net, thread, area, low, high);
        }
        thread->area_end[a] = thread->n_fired;
    }
    thread->digest = net->kernels->digest(thread->fired, thread->gains,
                                          thread->n_fired, net->burst);
    vly_cpu_learning_fired(net, thread, net->burst);
    for (uint32_t i = 0; i < thread->n_fired; i++)
        thread->n_events += net->desc->out_degree[thread->fired[i]];
}
