/* SPDX-License-Identifier: Apache-2.0
 * The trial of the ways of volley.wkv/1 on CUDA.
 */
#include "wkv_choice.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "accel_common.h"
#include "accel_cuda.h"
#include "element.h"

enum {
    DIM = 64,
    INPUTS = 6, /* r w k v a b */
    BLOCK = 1 << 15,
    COMPARED = 16 * DIM * DIM, /* floats of the state, at most */
    REPEATS = 5
};

typedef struct trial {
    const vly_wkv_desc *desc;
    uint32_t device;
    uint64_t bytes; /* of r */
    char *memory;   /* of the device: inputs, y, state */
    void *workspace;
    vly_wkv_args args;
    uint64_t n_compared;
    float *host[2]; /* states: of the first way, of this one */
} trial;

uint64_t vly_wkv_workspace(const vly_wkv_way *way, const vly_wkv_desc *desc,
                           uint32_t *chunks)
{
    const uint64_t pairs = (uint64_t)desc->batch * desc->heads;
    *chunks = 0;
    if (!way->range)
        return 0;
    *chunks = way->range(pairs, desc->seq, desc->workspace_most);
    return *chunks == 0 ? 0 : way->bytes(pairs, desc->seq, *chunks);
}

/* ---- data --------------------------------------------------------------- */

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 40) * 0x1p-23 - 1.0;
}

/* Values as in RWKV-7: decays above exp(-exp(-0.5)), a and b not longer than 1.
 * One block of random numbers for each input, repeated. */
static vly_status fill(trial *t, vly_error *error)
{
    const uint32_t size = vly_element_bits(t->desc->type) / 8;
    double *values = NULL;
    char *block = NULL;
    uint64_t seed = 7;
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_alloc(BLOCK, sizeof *values, &values, error));
    VLY_TRY(vly_accel_alloc(BLOCK, size, &block, error));
    for (uint32_t x = 0; x < INPUTS; x++) {
        for (uint32_t i = 0; i < BLOCK; i++) {
            const double u = uniform(&seed);
            values[i] = x == 1 ? 2.5 * u - 3.5 : x >= 4 ? 0.15 * u : u;
        }
        vly_element_from_f64(t->desc->type, values, block, 0, BLOCK);
        for (uint64_t at = 0; at < t->bytes; at += (uint64_t)BLOCK * size) {
            const uint64_t left = t->bytes - at;
            VLY_TRY(vly_accel_cuda_memory.copy(
                t->device, t->memory + x * t->bytes + at, block,
                left < (uint64_t)BLOCK * size ? left : (uint64_t)BLOCK * size,
                VLY_COPY_TO_DEVICE, NULL, error));
        }
        VLY_TRY(vly_accel_cuda_memory.stream_wait(t->device, NULL, error));
    }
out:
    vly_accel_free(block);
    vly_accel_free(values);
    return status;
}

static void deinit(trial *t)
{
    vly_accel_cuda_memory.free(t->device, t->memory);
    vly_accel_cuda_memory.free(t->device, t->workspace);
    vly_accel_free(t->host[0]);
    vly_accel_free(t->host[1]);
}

static vly_status init(trial *t, uint32_t device, const vly_wkv_desc *desc,
                       vly_error *error)
{
    const uint64_t pairs = (uint64_t)desc->batch * desc->heads;
    void *memory = NULL;
    memset(t, 0, sizeof *t);
    t->desc = desc;
    t->device = device;
    t->bytes = pairs * desc->seq * DIM * (vly_element_bits(desc->type) / 8);
    t->n_compared = pairs * DIM * DIM < COMPARED ? pairs * DIM * DIM : COMPARED;
    const uint64_t state = pairs * DIM * DIM * sizeof(float);
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_cuda_memory.alloc(device, (INPUTS + 1) * t->bytes + state,
                                        &memory, error));
    t->memory = memory;
    for (uint32_t i = 0; status == VLY_OK && i < 2; i++)
        status =
            vly_accel_alloc(t->n_compared, sizeof(float), &t->host[i], error);
    t->args = (vly_wkv_args){
        .r = t->memory,
        .w = t->memory + t->bytes,
        .k = t->memory + 2 * t->bytes,
        .v = t->memory + 3 * t->bytes,
        .a = t->memory + 4 * t->bytes,
        .b = t->memory + 5 * t->bytes,
        .y = t->memory + 6 * t->bytes,
        /* bytes are a multiple of 128: floats after them are aligned */
        .state_out = (float *)(void *)(t->memory + 7 * t->bytes),
        .batch = desc->batch,
        .seq = desc->seq,
        .heads = desc->heads,
        .type = desc->type,
    };
    if (status == VLY_OK)
        status = fill(t, error);
out:
    return status;
}

/* For the largest need of the ways: a run has one plan's. */
static vly_status add_workspace(trial *t, const vly_wkv_way *const *ways,
                                uint32_t n, vly_error *error)
{
    uint64_t most = 0;
    uint32_t chunks = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t bytes = vly_wkv_workspace(ways[i], t->desc, &chunks);
        most = bytes > most ? bytes : most;
    }
    if (most == 0)
        return VLY_OK;
    vly_status status =
        vly_accel_cuda_memory.alloc(t->device, most, &t->workspace, error);
    t->args.workspace = t->workspace;
    return status;
}

/* ---- runs --------------------------------------------------------------- */

static vly_status run_once(const trial *t, const vly_wkv_way *way,
                           vly_error *error)
{
    vly_wkv_args args = t->args;
    (void)vly_wkv_workspace(way, t->desc, &args.chunks);
    return vly_accel_cuda_check(way->launch(&args, NULL), way->name, error);
}

/* Compares the state of one run. States of all ways were seen to differ by less
 * than 1e-5 of their size; one per mille means a wrong kernel, or a defective
 * device. */
static vly_status is_right(trial *t, const vly_wkv_way *way, uint32_t first,
                           bool *right, vly_error *error)
{
    float *to = t->host[first ? 0 : 1];
    vly_status status = VLY_OK;
    VLY_TRY(run_once(t, way, error));
    VLY_TRY(vly_accel_cuda_memory.copy(t->device, to, t->args.state_out,
                                       t->n_compared * sizeof *to,
                                       VLY_COPY_FROM_DEVICE, NULL, error));
    VLY_TRY(vly_accel_cuda_memory.stream_wait(t->device, NULL, error));
out:
    *right = true;
    for (uint64_t i = 0; status == VLY_OK && !first && i < t->n_compared; i++)
        if (!(fabsf(t->host[1][i] - t->host[0][i]) <=
              1e-3f * (1.0f + fabsf(t->host[0][i]))))
            *right = false;
    return status;
}

static double median(double *values)
{
    for (int i = 1; i < REPEATS; i++)
        for (int k = i; k > 0 && values[k] < values[k - 1]; k--) {
            const double swap = values[k];
            values[k] = values[k - 1];
            values[k - 1] = swap;
        }
    return values[REPEATS / 2];
}

static vly_status time_way(const trial *t, const vly_wkv_way *way,
                           double *seconds, vly_error *error)
{
    const vly_memory *memory = &vly_accel_cuda_memory;
    vly_event *begin = NULL;
    vly_event *end = NULL;
    double times[REPEATS];
    vly_status status = VLY_OK;
    VLY_TRY(memory->event_create(t->device, &begin, error));
    VLY_TRY(memory->event_create(t->device, &end, error));
    for (int i = 0; i < REPEATS; i++) {
        VLY_TRY(memory->event_record(t->device, begin, NULL, error));
        VLY_TRY(run_once(t, way, error));
        VLY_TRY(memory->event_record(t->device, end, NULL, error));
        VLY_TRY(memory->event_elapsed(t->device, begin, end, &times[i], error));
    }
out:
    memory->event_destroy(t->device, begin);
    memory->event_destroy(t->device, end);
    if (status == VLY_OK)
        *seconds = median(times);
    return status;
}

static void log_way(const vly_wkv_way *way, int32_t level, const char *text)
{
    char message[200];
    snprintf(message, sizeof message, "%s: %s: %s", vly_support_plugin,
             way->name, text);
    if (vly_support_host)
        vly_support_host->log(vly_support_host->context, level, message);
}

vly_status vly_wkv_measure(uint32_t device, const vly_wkv_desc *desc,
                           const vly_wkv_way *const *ways, uint32_t n,
                           uint32_t *best, double *seconds, vly_error *error)
{
    trial t;
    uint32_t found = 0;
    double fastest = 0.0;
    vly_status status = VLY_OK;
    VLY_TRY(init(&t, device, desc, error));
    VLY_TRY(add_workspace(&t, ways, n, error));
    for (uint32_t i = 0; i < n; i++) {
        char text[48];
        double s = 0.0;
        bool right = false;
        VLY_TRY(is_right(&t, ways[i], i == 0, &right, error));
        if (!right) {
            log_way(ways[i], VLY_LOG_WARN,
                    "its state is not that of the recurrence: not used");
            seconds[i] = -1.0;
            continue;
        }
        VLY_TRY(time_way(&t, ways[i], &s, error));
        snprintf(text, sizeof text, "%.3f us", s * 1e6);
        log_way(ways[i], VLY_LOG_DEBUG, text);
        seconds[i] = s;
        if (i == 0 || s < fastest) {
            found = i;
            fastest = s;
        }
    }
out:
    deinit(&t);
    if (status == VLY_OK)
        *best = found;
    return status;
}
