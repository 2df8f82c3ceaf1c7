/* SPDX-License-Identifier: Apache-2.0
 * Products of accelerators: timing, ceilings, table and JSON.
 */
#include "bench_product.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "tool.h"

enum {
    SAMPLES = 31,
    RUNS_MOST = 256,
};

#define SAMPLE_S 2e-3 /* a sample takes at least so long, if runs allow */

/* ---- sets and ceilings ------------------------------------------------ */

uint32_t bench_product_sets(const vly_accelerator *accelerator, uint64_t bytes)
{
    const bool is_host = (accelerator->memory.flags & VLY_MEMORY_HOST) != 0;
    const uint64_t wanted = (uint64_t)(is_host ? 96 : 256) << 20;
    const uint64_t sets = bytes > 0 ? (wanted + bytes - 1) / bytes : 1;
    return sets < 2 ? 2 : sets > 64 ? 64 : (uint32_t)sets;
}

/* Bytes read and written by copies of 512 MB (less where there is less). */
static vly_status copy_rate(const vly_accelerator *accelerator, double *rate,
                            vly_error *error)
{
    const vly_memory *m = &accelerator->memory;
    const uint32_t device = accelerator->device.index;
    uint64_t bytes = UINT64_C(512) << 20;
    uint64_t free_bytes = 0;
    uint64_t total = 0;
    double samples[SAMPLES];
    void *from = NULL;
    void *to = NULL;
    vly_event *events[2] = {NULL, NULL};
    vly_status status = VLY_OK;
    VLY_TRY(m->available(device, &free_bytes, &total, error));
    while (bytes > free_bytes / 8 && bytes > 1u << 20)
        bytes /= 2;
    VLY_TRY(m->alloc(device, bytes, &from, error));
    VLY_TRY(m->alloc(device, bytes, &to, error));
    VLY_TRY(m->event_create(device, &events[0], error));
    VLY_TRY(m->event_create(device, &events[1], error));
    VLY_TRY(m->fill(device, from, 0x5a, bytes, NULL, error));
    for (int i = -3; i < SAMPLES; i++) {
        double seconds = 0;
        VLY_TRY(m->event_record(device, events[0], NULL, error));
        VLY_TRY(
            m->copy(device, to, from, bytes, VLY_COPY_ON_DEVICE, NULL, error));
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
    m->free(device, from);
    m->free(device, to);
    return status;
}

vly_status bench_products_open(const bench_options *options,
                               const char *interface_id,
                               vly_accelerator *accelerator,
                               bench_results *results, vly_error *error)
{
    char device[128];
    bench_products *made = vly_calloc(1, sizeof *made);
    vly_status status = VLY_OK;
    if (made == NULL)
        return vly_fail_nomem(error, sizeof *made, "the results");
    results->products = made;
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
        VLY_TRY(copy_rate(accelerator, &made->bytes_per_s, error));
    } else {
        VLY_TRY(bench_probe(accelerator->device.n_threads, &results->probes,
                            error));
        made->bytes_per_s = results->probes.read_bytes_per_s;
    }
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
    if (t->graph != NULL)
        VLY_TRY(m->graph_run(device, t->graph, t->stream, error));
    else
        VLY_TRY(put_runs(t, t->runs, error));
    VLY_TRY(m->event_record(device, t->end, t->stream, error));
    VLY_TRY(m->event_elapsed(device, t->begin, t->end, seconds, error));
    *seconds /= t->runs;
out:
    return status;
}

/* So many runs that a sample takes a while, and every set is used as often. */
static uint32_t runs_for(const bench_subject *subject, double seconds)
{
    const double wanted = seconds > 0 ? SAMPLE_S / seconds : RUNS_MOST;
    uint32_t runs = wanted < 1 ? 1 : (uint32_t)wanted;
    runs = runs > RUNS_MOST ? RUNS_MOST : runs;
    if (runs > subject->sets)
        runs = runs / subject->sets * subject->sets;
    return runs;
}

/* Capturing must not change what is measured, only the cost of putting it
 * there; a plugin without graphs has none. */
static vly_status capture(timing *t, vly_error *error)
{
    const vly_memory *m = &t->subject->accelerator->memory;
    const uint32_t device = t->subject->accelerator->device.index;
    if (m->graph_begin == NULL)
        return VLY_OK;
    vly_status status = m->graph_begin(device, t->stream, error);
    if (status != VLY_OK)
        return status;
    status = put_runs(t, t->runs, error);
    vly_error other = VLY_ERROR_INIT;
    vly_status ended = m->graph_end(device, t->stream, &t->graph,
                                    status == VLY_OK ? error : &other);
    return status != VLY_OK ? status : ended;
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
    /* every set once: pages, clocks and caches are warm after */
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
    if (t->graph != NULL)
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

/* ---- table ------------------------------------------------------------ */

/* The best rate of the rows of a group: what this device reached in this run.
 */
static double best_rate(const bench_products *products, const char *group)
{
    double best = 0;
    for (uint32_t i = 0; i < products->n_rows; i++) {
        const bench_product *row = &products->rows[i];
        if (strcmp(row->group, group) == 0 && row->seconds.median > 0 &&
            row->flops / row->seconds.median > best)
            best = row->flops / row->seconds.median;
    }
    return best;
}

/* Of the ceiling that limits it. */
static double fraction_of(const bench_products *products,
                          const bench_product *row)
{
    const double s = row->seconds.median;
    if (row->bandwidth || row->flops == 0)
        return products->bytes_per_s > 0
                   ? row->bytes / s / products->bytes_per_s
                   : 0;
    const double best = best_rate(products, row->group);
    return best > 0 ? row->flops / s / best : 0;
}

/* Geometric mean of default over chosen; 0 if none was measured. */
static double mean_gain(const bench_products *products, uint32_t *n)
{
    double sum = 0;
    *n = 0;
    for (uint32_t i = 0; i < products->n_rows; i++) {
        const bench_product *row = &products->rows[i];
        if (row->default_s > 0 && row->seconds.median > 0) {
            sum += log(row->default_s / row->seconds.median);
            *n += 1;
        }
    }
    return *n > 0 ? exp(sum / *n) : 0;
}

/* "-" for what was not counted */
static void put_rate(char *text, size_t size, double rate)
{
    if (rate > 0)
        (void)snprintf(text, size, "%.4g", rate);
    else
        (void)snprintf(text, size, "-");
}

static void print_row(const bench_products *products, const bench_product *row,
                      int width, bool markdown)
{
    const double s = row->seconds.median;
    char error[24] = "-";
    char gain[24] = "-";
    char spread[48];
    char flops[24];
    char bytes[24];
    if (row->reason[0] != '\0') {
        tool_print(markdown ? "| %-*s | skipped: %s | | | | | | | |\n"
                            : "%-*s skipped: %s\n",
                   width, row->id, row->reason);
        return;
    }
    if (row->error >= 0)
        snprintf(error, sizeof error, "%.2g", row->error);
    if (row->default_s > 0)
        snprintf(gain, sizeof gain, "%.3fx", row->default_s / s);
    snprintf(spread, sizeof spread, "%s..%s", tool_seconds(row->min),
             tool_seconds(row->max));
    put_rate(flops, sizeof flops, row->flops / s * 1e-12);
    put_rate(bytes, sizeof bytes, row->bytes / s * 1e-9);
    if (markdown)
        tool_print("| %s | %s | %s | %s | %s | %.0f%% | %s | %s | %s |\n",
                   row->id, tool_seconds(s), spread, flops, bytes,
                   100.0 * fraction_of(products, row), error, gain,
                   row->plan.choice);
    else
        tool_print("%-*s %10s %20s %9s %9s %5.0f%% %9s %8s  %s\n", width,
                   row->id, tool_seconds(s), spread, flops, bytes,
                   100.0 * fraction_of(products, row), error, gain,
                   row->plan.choice);
}

static int id_width(const bench_products *products)
{
    size_t width = 34;
    for (uint32_t i = 0; i < products->n_rows; i++) {
        const size_t n = strlen(products->rows[i].id);
        width = n > width ? n : width;
    }
    return (int)width;
}

void bench_products_print(const bench_products *products, bool markdown)
{
    if (products == NULL || products->n_rows == 0)
        return;
    const int width = id_width(products);
    tool_print("%s%s on device %u: %s, %s\n%sceiling of bytes, measured in "
               "this run: %.4g GB/s (%s)\n\n",
               markdown ? "- " : "", products->plugin, products->device.index,
               products->device.name, products->device.capability,
               markdown ? "- " : "", products->bytes_per_s * 1e-9,
               products->is_host ? "reads in order, all threads"
                                 : "copies on the device, read and written");
    if (markdown)
        tool_print("| product | median | min..max | TFLOP/s | GB/s | of "
                   "ceiling | error | default/chosen | choice |\n"
                   "|---|---|---|---|---|---|---|---|---|\n");
    else
        tool_print("%-*s %10s %20s %9s %9s %6s %9s %8s  %s\n", width, "product",
                   "median", "min..max", "TFLOP/s", "GB/s", "ceil.", "error",
                   "default", "choice");
    for (uint32_t i = 0; i < products->n_rows; i++)
        print_row(products, &products->rows[i], width, markdown);
    uint32_t n = 0;
    const double gain = mean_gain(products, &n);
    if (n > 0)
        tool_print("\n%u shapes: the choice is %.4f times as fast as the "
                   "default (geometric mean)\n",
                   n, gain);
    tool_print("\nMedian of up to %d samples on random data, buffers used in "
               "turn. ceil.: of the measured\nbytes a second where bytes are "
               "the limit (m = 1, decoding, single steps), else of the\n"
               "fastest product of its type in this run. error: relative, %s.\n"
               "default: time of the first candidate over that of the chosen "
               "one.\n",
               SAMPLES,
               products->error_is != NULL
                   ? products->error_is
                   : "of sampled elements against float64");
}

/* ---- JSON ------------------------------------------------------------- */

static void put_plan(const bench_product *row, json_writer *json)
{
    json_text(json, "choice", row->plan.choice);
    json_u64(json, "candidates", row->plan.n_candidates);
    json_u64(json, "workspace_bytes", row->plan.workspace_bytes);
    json_bool(json, "cached", row->plan.cached != 0);
}

void bench_products_json(const bench_products *products, json_writer *json)
{
    for (uint32_t i = 0; products != NULL && i < products->n_rows; i++) {
        const bench_product *row = &products->rows[i];
        const double s = row->seconds.median;
        json_object(json, NULL);
        json_text(json, "id", row->id);
        json_text(json, "unit", "run");
        if (row->reason[0] != '\0') {
            json_text(json, "reason", row->reason);
            json_object_end(json);
            continue;
        }
        json_number(json, "median_s", s);
        json_number(json, "p10_s", row->seconds.low);
        json_number(json, "p90_s", row->seconds.high);
        json_number(json, "min_s", row->min);
        json_number(json, "max_s", row->max);
        json_u64(json, "samples", row->seconds.n);
        json_u64(json, "runs", row->runs);
        json_u64(json, "sets", row->sets);
        json_bool(json, "graph", row->graph);
        json_number(json, "flops", row->flops);
        json_number(json, "bytes", row->bytes);
        json_number(json, "tflops_per_s", row->flops / s * 1e-12);
        json_number(json, "gb_per_s", row->bytes / s * 1e-9);
        json_number(json, "of_ceiling", fraction_of(products, row));
        if (row->error >= 0)
            json_number(json, "relative_error", row->error);
        if (row->default_s > 0)
            json_number(json, "default_s", row->default_s);
        put_plan(row, json);
        json_object_end(json);
    }
}
