/* SPDX-License-Identifier: Apache-2.0
 * Suite attention on several devices. One device runs by the ways that a span
 * may take (option span=1); every other number of devices must give its bits,
 * in poisoned outputs, before it is timed. Tensors are those of the first
 * device, so the copies to the others and back are part of the time. Runs are
 * put into the stream one by one, on one device too.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "conformance/conformance_accel.h"
#include "tools/bench/bench_attention.h"
#include "tools/cli/tool.h"

/* All numbers of devices for one product. */
typedef struct spread {
    bench_attention_work base; /* of one device */
    vly_accelerator one;
    char one_options[BENCH_ATTENTION_OPTIONS];
    bool backward;
    bool is_virtual;             /* parts of one device */
    double seconds;              /* on one device */
    void *bits[BENCH_N_TENSORS]; /* its outputs */
} spread;

vly_status bench_attention_devices_read(const bench_options *options,
                                        uint32_t *devices, uint32_t *n,
                                        vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(bench_numbers(options->device_list, "--devices", 1, 16, devices,
                          BENCH_DEVICES_MOST, n, error));
    for (uint32_t i = 0; i < *n; i++)
        if (i == 0 ? devices[0] != 1 : devices[i] <= devices[i - 1])
            return vly_fail(error, VLY_E_INVALID,
                            "--devices %s: wanted numbers that ascend from 1, "
                            "as 1,2,4",
                            options->device_list);
out:
    return status;
}

/* The accelerator for n devices, without span=N of its own and without graphs:
 * graphs of several devices were not measured. */
static vly_status for_devices(const spread *s, const vly_accelerator *from,
                              uint32_t n, char *text, vly_accelerator *to,
                              vly_error *error)
{
    char old[BENCH_ATTENTION_OPTIONS] = "";
    char more[24];
    const char *at = from->device.options ? from->device.options : "";
    while (*at != '\0') {
        const size_t length = strcspn(at, ",");
        if (strncmp(at, "devices=", 8) == 0)
            return vly_fail(error, VLY_E_INVALID,
                            "--devices: --backend has several devices too; "
                            "wanted the first, as cuda:0");
        if (strncmp(at, "span=", 5) != 0)
            (void)snprintf(old + strlen(old), sizeof old - strlen(old),
                           "%s%.*s", old[0] != '\0' ? "," : "", (int)length,
                           at);
        at += length + (at[length] == ',');
    }
    vly_accelerator plain = *from;
    plain.device.options = old;
    (void)snprintf(more, sizeof more, "%s=%u",
                   n > 1 && !s->is_virtual ? "devices" : "span", n);
    bench_attention_options(&plain, more, text, to);
    to->memory.graph_begin = NULL;
    return VLY_OK;
}

/* ---- bits -----------------------------------------------------------------
 */

static bool is_output(const spread *s, uint32_t which)
{
    return s->base.tensors[which].host &&
           (s->backward ? which >= BENCH_GRAD_Q && which <= BENCH_GRAD_V
                        : which == BENCH_O || which == BENCH_LSE);
}

/* Set 0 of the outputs, from the device to their copies on the host. */
static vly_status fetch(spread *s, const vly_accelerator *accelerator,
                        uint64_t *digest, vly_error *error)
{
    vly_status status = VLY_OK;
    *digest = 0;
    for (uint32_t i = 0; i < BENCH_N_TENSORS; i++)
        if (is_output(s, i)) {
            bench_tensor *t = &s->base.tensors[i];
            VLY_TRY(bench_tensor_get(t, accelerator, error));
            *digest = vly_mix64(*digest ^ accel_digest(t->host, t->bytes));
        }
out:
    return status;
}

static vly_status keep_bits(spread *s, uint64_t *digest, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(fetch(s, &s->one, digest, error));
    for (uint32_t i = 0; i < BENCH_N_TENSORS; i++)
        if (is_output(s, i)) {
            const bench_tensor *t = &s->base.tensors[i];
            s->bits[i] = vly_malloc(1, t->bytes);
            if (!s->bits[i])
                return vly_fail_nomem(error, t->bytes, "results of one device");
            memcpy(s->bits[i], t->host, t->bytes);
        }
out:
    return status;
}

/* The first byte that differs. */
static vly_status compare_bits(const spread *s, uint32_t n, vly_error *error)
{
    static const char *const names[BENCH_N_TENSORS] = {
        [BENCH_O] = "O",
        [BENCH_LSE] = "lse",
        [BENCH_GRAD_Q] = "the gradient of Q",
        [BENCH_GRAD_K] = "the gradient of K",
        [BENCH_GRAD_V] = "the gradient of V"};
    for (uint32_t i = 0; i < BENCH_N_TENSORS; i++) {
        const bench_tensor *t = &s->base.tensors[i];
        const unsigned char *mine = t->host;
        const unsigned char *one = s->bits[i];
        uint64_t at = 0;
        if (!one || memcmp(mine, one, t->bytes) == 0)
            continue;
        while (mine[at] == one[at])
            at++;
        at = at * t->count / t->bytes;
        return vly_fail(error, VLY_E_DEVICE,
                        "%u %s give other bits of %s than one device, first "
                        "in element %" PRIu64 " of %" PRIu64,
                        n, s->is_virtual ? "parts" : "devices", names[i], at,
                        t->count);
    }
    return VLY_OK;
}

/* ---- rows -----------------------------------------------------------------
 */

static vly_status time_row(const vly_accelerator *accelerator,
                           bench_attention_work *w, bench_product *row,
                           vly_error *error)
{
    const bench_subject subject = {.accelerator = accelerator,
                                   .run = bench_attention_run_timed,
                                   .arg = w,
                                   .sets = w->sets};
    row->plan = w->timed->info;
    return bench_product_time(&subject, row, error);
}

static vly_status measure_one(spread *s, bench_product *row, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(bench_attention_prepare(&s->base, s->backward, error));
    VLY_TRY(bench_attention_compare(&s->base, s->backward, &row->error, error));
    VLY_TRY(keep_bits(s, &row->digest, error));
    VLY_TRY(time_row(&s->one, &s->base, row, error));
    s->seconds = row->seconds.median;
out:
    return status;
}

static vly_status check_count(const spread *s, uint32_t n, vly_error *error)
{
    const uint32_t first = s->one.device.index;
    const uint32_t there = s->one.memory.device_count();
    if (s->is_virtual || n <= there - first)
        return VLY_OK;
    return vly_fail(error, VLY_E_UNSUPPORTED,
                    "%u devices from %u on, but there %s %u", n, first,
                    there == 1 ? "is" : "are", there);
}

static vly_status measure_more(spread *s, const vly_accelerator *from,
                               uint32_t n, bench_product *row, vly_error *error)
{
    static bench_attention_work w;
    static vly_accelerator accelerator;
    static char text[BENCH_ATTENTION_OPTIONS];
    bench_attention_plan plan = {.plan = NULL};
    vly_status status = VLY_OK;
    VLY_TRY(check_count(s, n, error));
    VLY_TRY(for_devices(s, from, n, text, &accelerator, error));
    w = s->base;
    w.accelerator = &accelerator;
    w.timed = &plan;
    VLY_TRY(bench_attention_plan_make(
        &w, s->backward ? VLY_ATTENTION_BACKWARD : 0u, &plan, error));
    for (uint32_t i = 0; i < BENCH_N_TENSORS; i++)
        if (is_output(s, i))
            VLY_TRY(accelerator.memory.fill(accelerator.device.index,
                                            w.tensors[i].device[0], 0xff,
                                            w.tensors[i].bytes, NULL, error));
    VLY_TRY(bench_attention_run(&w, &plan, 0, NULL, error));
    VLY_TRY(fetch(s, &accelerator, &row->digest, error));
    VLY_TRY(compare_bits(s, n, error));
    VLY_TRY(time_row(&accelerator, &w, row, error));
out:
    bench_attention_plan_free(&s->base, &plan);
    return status;
}

static vly_status add_row(const bench_options *options,
                          const vly_accelerator *from, spread *s, uint32_t n,
                          const char *id, bench_products *products,
                          vly_error *error)
{
    char name[BENCH_PRODUCT_ID_BYTES];
    char number[16];
    bench_product *row = NULL;
    vly_status status = VLY_OK;
    (void)snprintf(name, sizeof name, "%.60s on %u", id, n);
    (void)snprintf(number, sizeof number, "%u", n);
    VLY_TRY(bench_attention_row_add(options, &s->base.desc, s->backward, name,
                                    products, &row, error));
    bench_product_part(row, "--devices", number, true);
    /* rates of other numbers of devices are no ceiling */
    (void)snprintf(row->group + strlen(row->group),
                   sizeof row->group - strlen(row->group), " on %u", n);
    row->bandwidth = row->bandwidth && n == 1;
    row->devices = n;
    VLY_TRY(bench_product_begin(row->id, error));
    if (n > 1 && s->seconds == 0.0)
        status = vly_fail(error, VLY_E_UNSUPPORTED, "not run on one device");
    else
        status = n == 1 ? measure_one(s, row, error)
                        : measure_more(s, from, n, row, error);
    if (status == VLY_OK)
        row->speedup = s->seconds / row->seconds.median;
    status = bench_attention_row_end(status, row, products, error);
out:
    return status;
}

vly_status bench_attention_devices(const bench_options *options,
                                   const vly_accelerator *accelerator,
                                   const vly_attention_desc *desc,
                                   bool backward, const char *id,
                                   bench_products *products, vly_error *error)
{
    static spread s; /* large; one at a time */
    uint32_t devices[BENCH_DEVICES_MOST];
    uint32_t n = 0;
    const char *text = accelerator->device.options;
    vly_status status = VLY_OK;
    s = (spread){.backward = backward,
                 .is_virtual = text && strstr(text, "span=")};
    s.base = (bench_attention_work){.accelerator = accelerator, .desc = *desc};
    VLY_TRY(bench_attention_devices_read(options, devices, &n, error));
    VLY_TRY(for_devices(&s, accelerator, 1, s.one_options, &s.one, error));
    s.base.accelerator = &s.one;
    for (uint32_t i = 0; i < n; i++)
        VLY_TRY(
            add_row(options, accelerator, &s, devices[i], id, products, error));
out:
    bench_attention_work_deinit(&s.base);
    for (uint32_t i = 0; i < BENCH_N_TENSORS; i++)
        vly_free(s.bits[i]);
    return status;
}
