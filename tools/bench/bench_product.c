/* SPDX-License-Identifier: Apache-2.0
 * Products of accelerators: timing and ceilings.
 */
#include "tools/bench/bench_product.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "tools/cli/tool.h"

enum {
    SAMPLES = BENCH_PRODUCT_SAMPLES,
    RUNS_MOST = 256,
};

#define SAMPLE_S                                                               \
    2e-3 /* a sample takes at least so long, if the number of runs             \
          * allows */

/* ---- sets and ceilings ------------------------------------------------ */

uint32_t bench_product_sets(const vly_accelerator *accelerator, uint64_t bytes)
{
    const bool is_host = (accelerator->memory.flags & VLY_MEMORY_HOST) != 0;
    const uint64_t wanted = (uint64_t)(is_host ? 96 : 256) << 20;
    const uint64_t sets = bytes > 0 ? (wanted + bytes - 1) / bytes : 1;
    return sets < 2 ? 2 : sets > 64 ? 64 : (uint32_t)sets;
}

/* Two blocks of *bytes; halves *bytes if memory is short, not below `least`.
 */
static vly_status two_blocks(const vly_memory *m, uint32_t device,
                             uint64_t least, uint64_t *bytes, void *blocks[2],
                             vly_error *error)
{
    for (;;) {
        vly_status status = m->alloc(device, *bytes, &blocks[0], error);
        if (status == VLY_OK)
            status = m->alloc(device, *bytes, &blocks[1], error);
        if (status != VLY_E_NOMEM || *bytes / 2 < least)
            return status;
        m->free(device, blocks[0]);
        blocks[0] = NULL;
        *bytes /= 2;
    }
}

/* Bytes read and written by copies of 512 MB, or less if memory is short, but
 * not so little that a cache holds it. */
static vly_status copy_rate(const vly_accelerator *accelerator, double *rate,
                            vly_error *error)
{
    const vly_memory *m = &accelerator->memory;
    const uint32_t device = accelerator->device.index;
    uint64_t bytes = UINT64_C(512) << 20;
    double samples[SAMPLES];
    void *blocks[2] = {NULL, NULL};
    vly_event *events[2] = {NULL, NULL};
    vly_status status = VLY_OK;
    VLY_TRY(two_blocks(m, device, UINT64_C(128) << 20, &bytes, blocks, error));
    VLY_TRY(m->event_create(device, &events[0], error));
    VLY_TRY(m->event_create(device, &events[1], error));
    VLY_TRY(m->fill(device, blocks[0], 0x5a, bytes, NULL, error));
    for (int i = -3; i < SAMPLES; i++) {
        double seconds = 0;
        VLY_TRY(m->event_record(device, events[0], NULL, error));
        VLY_TRY(m->copy(device, blocks[1], blocks[0], bytes, VLY_COPY_ON_DEVICE,
                        NULL, error));
        VLY_TRY(m->event_record(device, events[1], NULL, error));
        VLY_TRY(
            m->event_elapsed(device, events[0], events[1], &seconds, error));
        if (i >= 0)
            samples[i] = seconds;
    }
    *rate = 2.0 * (double)bytes / bench_spread_of(samples, SAMPLES).median;
out:
    m->event_destroy(device, events[0]);
    m->event_destroy(device, events[1]);
    m->free(device, blocks[0]);
    m->free(device, blocks[1]);
    return status;
}

static uint64_t data_seed; /* of this bench */

uint64_t bench_product_seed(uint64_t which)
{
    return vly_mix64(data_seed + vly_mix64(which));
}

vly_status bench_products_open(const bench_options *options,
                               const char *interface_id,
                               vly_accelerator *accelerator,
                               bench_results *results, vly_error *error)
{
    char device[128];
    bench_products *made = vly_calloc(1, sizeof *made);
    vly_status status = VLY_OK;
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "the results");
    results->products = made;
    made->seed = data_seed = options->seed;
    made->device.struct_size = sizeof made->device;
    VLY_TRY(vly_accelerator_find(options->registry, interface_id,
                                 options->backend, options->n_threads,
                                 accelerator, error));
    VLY_TRY(accelerator->memory.device_info(accelerator->device.index,
                                            &made->device, error));
    snprintf(made->plugin, sizeof made->plugin, "%s", accelerator->id);
    made->is_host = (accelerator->memory.flags & VLY_MEMORY_HOST) != 0;
    snprintf(device, sizeof device, "%.100s", made->device.name);
    if (made->is_host)
        snprintf(device, sizeof device, "%.100s, %u thread%s",
                 made->device.name, accelerator->device.n_threads,
                 accelerator->device.n_threads == 1 ? "" : "s");
    VLY_TRY(
        bench_device_set(options, options->backend, device, results, error));
    if (!made->is_host) {
        status = copy_rate(accelerator, &made->bytes_per_s, error);
        if (status == VLY_E_NOMEM) { /* rows may still fit */
            tool_message("the ceiling of bytes is not measured: %s",
                         error->message);
            status = VLY_OK;
        }
    }
    made->n_threads = accelerator->device.n_threads;
out:
    return status;
}

bool bench_product_is_of_bytes(const bench_product *row)
{
    return row->bandwidth || row->flops == 0;
}

vly_status bench_products_ceiling(bench_results *results, vly_error *error)
{
    bench_products *made = results->products;
    bool is_needed = false;
    vly_status status = VLY_OK;
    if (!made || !made->is_host)
        return VLY_OK;
    for (uint32_t i = 0; i < made->n_rows; i++)
        is_needed |= made->rows[i].seconds.n > 0 &&
                     bench_product_is_of_bytes(&made->rows[i]);
    if (is_needed)
        VLY_TRY(bench_probe(made->n_threads, &results->probes, error));
    made->bytes_per_s = results->probes.read_bytes_per_s;
out:
    return status;
}

void bench_products_free(bench_results *results)
{
    vly_free(results->products);
    results->products = NULL;
}

bench_product *bench_product_add(bench_products *products, const char *id,
                                 const char *group)
{
    if (products->n_rows == BENCH_PRODUCTS_MAX)
        return NULL;
    bench_product *row = &products->rows[products->n_rows++];
    memset(row, 0, sizeof *row);
    snprintf(row->id, sizeof row->id, "%s", id);
    snprintf(row->group, sizeof row->group, "%s", group);
    row->error = -1.0;
    row->plan.struct_size = sizeof row->plan;
    return row;
}

vly_status bench_product_begin(const char *id, vly_error *error)
{
    if (tool_signals_stopped())
        return vly_fail(error, VLY_E_STOPPED, "stopped by a signal");
    tool_message("%s", id);
    return VLY_OK;
}

/* ---- timing ----------------------------------------------------------- */

typedef struct timing {
    const bench_subject *subject;
    vly_event *begin;
    vly_event *end;
    void *stream;
    vly_graph *graph; /* of `runs` runs; NULL: runs one by one */
    uint32_t runs;
    uint32_t next; /* set */
} timing;

static vly_status put_runs(timing *t, uint32_t n, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < n && status == VLY_OK; i++) {
        status = t->subject->run(t->subject->arg, t->next, t->stream, error);
        t->next = (t->next + 1) % t->subject->sets;
    }
    return status;
}

/* Seconds of one run, from `runs` of them. */
static vly_status sample(timing *t, double *seconds, vly_error *error)
{
    const vly_memory *m = &t->subject->accelerator->memory;
    const uint32_t device = t->subject->accelerator->device.index;
    vly_status status = VLY_OK;
    VLY_TRY(m->event_record(device, t->begin, t->stream, error));
    if (t->graph)
        VLY_TRY(m->graph_run(device, t->graph, t->stream, error));
    else
        VLY_TRY(put_runs(t, t->runs, error));
    VLY_TRY(m->event_record(device, t->end, t->stream, error));
    VLY_TRY(m->event_elapsed(device, t->begin, t->end, seconds, error));
    *seconds /= t->runs;
out:
    return status;
}

/* So many runs that a sample takes long enough, and every set is used equally
 * often. */
static uint32_t runs_for(const bench_subject *subject, double seconds)
{
    const double wanted = seconds > 0 ? SAMPLE_S / seconds : RUNS_MOST;
    uint32_t runs = wanted < 1 ? 1 : (uint32_t)wanted;
    runs = runs > RUNS_MOST ? RUNS_MOST : runs;
    if (runs > subject->sets)
        runs = runs / subject->sets * subject->sets;
    return runs;
}

/* A graph must change only the cost of a launch, not the measured work; a
 * plugin may have no graphs. */
static vly_status capture(timing *t, vly_error *error)
{
    const vly_memory *m = &t->subject->accelerator->memory;
    const uint32_t device = t->subject->accelerator->device.index;
    if (!m->graph_begin)
        return VLY_OK;
    vly_status status = VLY_OK;
    VLY_TRY(m->graph_begin(device, t->stream, error));
    status = put_runs(t, t->runs, error);
    vly_error other = VLY_ERROR_INIT;
    vly_status ended = m->graph_end(device, t->stream, &t->graph,
                                    status == VLY_OK ? error : &other);
    return status != VLY_OK ? status : ended;
out:
    return status;
}

static vly_status timing_init(timing *t, const bench_subject *subject,
                              vly_error *error)
{
    const vly_memory *m = &subject->accelerator->memory;
    const uint32_t device = subject->accelerator->device.index;
    double seconds = 0;
    vly_status status = VLY_OK;
    memset(t, 0, sizeof *t);
    t->subject = subject;
    t->runs = subject->sets < 4 ? subject->sets : 4;
    VLY_TRY(m->stream_create(device, &t->stream, error));
    VLY_TRY(m->event_create(device, &t->begin, error));
    VLY_TRY(m->event_create(device, &t->end, error));
    /* every set once, to warm pages, clocks and caches */
    VLY_TRY(put_runs(t, subject->sets, error));
    VLY_TRY(sample(t, &seconds, error));
    t->runs = runs_for(subject, seconds);
    VLY_TRY(capture(t, error));
    VLY_TRY(sample(t, &seconds, error));
out:
    return status;
}

static void timing_deinit(timing *t)
{
    const vly_memory *m = &t->subject->accelerator->memory;
    const uint32_t device = t->subject->accelerator->device.index;
    if (t->graph)
        m->graph_destroy(device, t->graph);
    m->event_destroy(device, t->begin);
    m->event_destroy(device, t->end);
    m->stream_destroy(device, t->stream);
}

vly_status bench_product_time(const bench_subject *subject, bench_product *row,
                              vly_error *error)
{
    double samples[SAMPLES];
    timing t;
    vly_status status = timing_init(&t, subject, error);
    for (uint32_t i = 0; i < SAMPLES && status == VLY_OK; i++) {
        status = tool_signals_stopped()
                     ? vly_fail(error, VLY_E_STOPPED, "stopped by a signal")
                     : sample(&t, &samples[i], error);
    }
    if (status == VLY_OK) {
        row->seconds = bench_spread_of(samples, SAMPLES); /* sorts */
        row->min = samples[0];
        row->max = samples[SAMPLES - 1];
        row->sets = subject->sets;
        row->runs = t.runs;
        row->graph = t.graph != NULL;
        tool_signals_defer(true); /* what is there took minutes */
    }
    timing_deinit(&t);
    return status;
}

vly_status bench_product_race(const bench_subject *a, const bench_subject *b,
                              uint32_t n, double *of_a, double *of_b,
                              vly_error *error)
{
    timing ta = {.subject = a};
    timing tb = {.subject = b};
    vly_status status = timing_init(&ta, a, error);
    if (status == VLY_OK)
        status = timing_init(&tb, b, error);
    for (uint32_t i = 0; i < 2 * n && status == VLY_OK; i++) {
        const bool of_first = i % 4 == 0 || i % 4 == 3;
        status = tool_signals_stopped()
                     ? vly_fail(error, VLY_E_STOPPED, "stopped by a signal")
                     : sample(of_first ? &ta : &tb,
                              of_first ? &of_a[i / 2] : &of_b[i / 2], error);
    }
    timing_deinit(&tb);
    timing_deinit(&ta);
    return status;
}
