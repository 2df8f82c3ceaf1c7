/* SPDX-License-Identifier: Apache-2.0
 * Options that a caller may add to the name of the device.
 */
#include "cuda_options.h"

#include <assert.h>
#include <string.h>

#include "cuda_plans.h"

static_assert(VLY_CUDA_MAIL_LINES == 7, "a message names the most lines");

/* of a wait for another device of a span: no burst takes so long, and no host
 * takes so long from one launch to the next */
#define WAIT_MS 10000u
/* Virtual devices: each has a stream, and with more streams than queues (8) a
 * launch could wait for one that waits for it. */
#define SPAN_VIRTUAL 4u

vly_status vly_cuda_options_read(const char *text, vly_cuda_options *made,
                                 vly_error *error)
{
    const char *plans[VLY_CUDA_N_PLANS + 2] = {"auto"};
    static const char *const devices[] = {"best", "all", NULL};
    static const char *const threads[] = {"auto", "512", "256", "128", NULL};
    static const char *const caches[] = {"on", "off", "all", NULL};
    for (uint32_t i = 0; i < VLY_CUDA_N_PLANS; i++)
        plans[i + 1] = vly_cuda_plan_at(i)->name;
    memset(made, 0, sizeof *made);
    made->split = VLY_CUDA_AUTO;
    made->linger = VLY_CUDA_AUTO;
    made->once = VLY_CUDA_AUTO;
    made->post = VLY_CUDA_AUTO;
    made->deal = VLY_CUDA_AUTO;
    made->narrow = VLY_CUDA_AUTO;
    made->jit = 1;
    made->wait_ms = WAIT_MS;
    const vly_support_option options[] = {
        {.name = "plan", .value = &made->plan, .words = plans},
        {.name = "blocks", .value = &made->n_blocks},
        {.name = "launch", .value = &made->n_bursts},
        {.name = "fault", .value = &made->fault, .most = 2},
        {.name = "span", .value = &made->span, .most = SPAN_VIRTUAL},
        {.name = "devices", .value = &made->devices, .words = devices},
        {.name = "wait", .value = &made->wait_ms},
        {.name = "change", .value = &made->change, .most = 1},
        {.name = "linger", .value = &made->linger, .most = 2},
        {.name = "lines", .value = &made->lines, .most = VLY_CUDA_MAIL_LINES},
        {.name = "threads", .value = &made->threads, .words = threads},
        {.name = "split", .value = &made->split, .most = 1},
        {.name = "quads", .value = &made->quads},
        {.name = "cluster", .value = &made->cluster, .most = VLY_CUDA_CLUSTER},
        {.name = "unit", .value = &made->unit, .most = 4, .is_power = 1},
        {.name = "once", .value = &made->once, .most = 100},
        {.name = "post", .value = &made->post},
        {.name = "deal", .value = &made->deal},
        {.name = "cache", .value = &made->cache, .words = caches},
        {.name = "jit", .value = &made->jit, .most = 3},
        {.name = "narrow", .value = &made->narrow, .most = 1},
    };
    size_t n;
    const char *bad = vly_support_read_options(
        text, options, sizeof options / sizeof options[0], &n);
    if (!bad)
        return VLY_OK;
    return vly_cuda_fail(
        error, VLY_E_INVALID,
        "cuda option '%.*s', wanted plan=auto, "
        "plan=global, plan=resident, "
        "plan=partitioned, blocks=N, launch=N, "
        "lines=1 to 7, threads=auto|512|256|128, split=0|1, "
        "quads=N, cluster=1 to 8, "
        "unit=1|2|4, once=0 to 100, post=N, deal=N, "
        "narrow=0|1, jit=0 to 3, cache=on|off|all, linger=0|1|2, "
        "devices=best|all, span=0 to 4, "
        "wait=MILLISECONDS, change=1 or "
        "fault=1|2",
        (int)n, bad);
}
