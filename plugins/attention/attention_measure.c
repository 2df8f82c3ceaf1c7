/* SPDX-License-Identifier: Apache-2.0
 * Checks and times a way.
 */
#include <math.h>
#include <string.h>

#include "accel_cuda.h"
#include "attention_trial.h"
#include "element.h"

/* the reference, of the processor */
extern const vly_attention vly_attention_cpu_table;

/* ---- the reference ----------------------------------------------------- */

static vly_status run_on_host(const vly_attention_desc *desc,
                              vly_attention_run *run, const char *options,
                              vly_error *error)
{
    const vly_attention *cpu = &vly_attention_cpu_table;
    const vly_device_spec spec = {.struct_size = (uint32_t)sizeof spec,
                                  .n_threads = 8,
                                  .options = options};
    vly_plan_info info = {.struct_size = (uint32_t)sizeof info};
    vly_attention_plan *plan = NULL;
    void *workspace = NULL;
    vly_attention_desc here = *desc;
    here.align = 64; /* as vly_accel_alloc gives it */
    here.workspace_most = UINT64_MAX;
    vly_status status = VLY_OK;
    VLY_TRY(cpu->plan_create(&spec, &here, &plan, error));
    status = cpu->plan_info(plan, &info, error);
    if (status == VLY_OK && info.workspace_bytes > 0)
        status = vly_accel_host_memory.alloc(0, info.workspace_bytes,
                                             &workspace, error);
    if (status == VLY_OK) {
        run->workspace = workspace;
        run->workspace_bytes = info.workspace_bytes;
        status = cpu->run(plan, run, error);
    }
    vly_accel_host_memory.free(0, workspace);
    cpu->plan_destroy(plan);
out:
    return status;
}

/* Computes O and lse for backward, then the results of the description; all on
 * the host. */
static vly_status make_reference(vly_trial *trial, vly_error *error)
{
    vly_status status = VLY_OK;
    vly_attention_run run = vly_trial_run(trial, 1, NULL);
    const char *options = "choose=reference,cache=off";
    if ((trial->desc.flags & VLY_ATTENTION_BACKWARD) != 0) {
        vly_attention_desc forward = trial->desc;
        forward.flags &=
            ~(uint32_t)(VLY_ATTENTION_BACKWARD | VLY_ATTENTION_DETERMINISTIC);
        forward.flags |= VLY_ATTENTION_LSE;
        vly_attention_run first = run;
        first.grad_o = NULL;
        first.grad_q = first.grad_k = first.grad_v = NULL;
        VLY_TRY(run_on_host(&forward, &first, options, error));
    }
    status = run_on_host(&trial->desc, &run, options, error);
out:
    return status;
}

/* ---- comparison -------------------------------------------------------- */

/* Half the distance of neighbours at 1 */
static double roundoff(uint32_t type)
{
    switch (type) {
    case VLY_ELEMENT_F16:
        return 0x1p-11;
    case VLY_ELEMENT_BF16:
        return 0x1p-8;
    case VLY_ELEMENT_E4M3:
        return 0x1p-4;
    default:
        return 0x1p-20; /* expf and sums of some hundred terms */
    }
}

/* Weights are rounded to the type of V (u of each), results to theirs, and the
 * reference's too: 3 u of a sum of |terms|, which is below the largest result
 * of unit data; 8 u leaves room for the order of sums. NaN must be where the
 * reference has NaN: there nothing was written. */
static vly_status compare(const vly_trial *trial, uint32_t which,
                          const char *name, const uint8_t *got,
                          vly_error *error)
{
    const uint32_t type = trial->type[which];
    const uint64_t n = trial->bytes[which] * 8 / vly_element_bits(type);
    const uint32_t worse =
        roundoff(type) > roundoff(trial->desc.type) ? type : trial->desc.type;
    double most = 0.0;
    float a[64], b[64];
    for (int pass = 0; pass < 2; pass++)
        for (uint64_t i = 0; i < n; i += 64) {
            const uint64_t count = n - i < 64 ? n - i : 64;
            vly_element_to_f32(type, trial->host[which], i, a, count);
            vly_element_to_f32(type, got, i, b, count);
            for (uint64_t k = 0; k < count; k++) {
                const double x = a[k];
                const double y = b[k];
                if (pass == 0 && isfinite(x) && fabs(x) > most)
                    most = fabs(x);
                const double bound = 8.0 * roundoff(worse) * (most + 1e-3);
                if (pass == 0 || (isnan(x) && isnan(y)) || x == y ||
                    fabs(x - y) <= bound)
                    continue;
                return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                        "%s[%llu] is %g, the reference has %g, "
                                        "wanted within %g",
                                        name, (unsigned long long)(i + k), y, x,
                                        bound);
            }
        }
    return VLY_OK;
}

static vly_status compare_all(const vly_trial *trial, vly_error *error)
{
    static const struct {
        uint32_t which;
        const char *name;
    } outputs[] = {{TRIAL_O, "O"},
                   {TRIAL_LSE, "lse"},
                   {TRIAL_GRAD_Q, "grad_q"},
                   {TRIAL_GRAD_K, "grad_k"},
                   {TRIAL_GRAD_V, "grad_v"}};
    vly_status status = VLY_OK;
    for (size_t i = 0; status == VLY_OK && i < 5; i++) {
        const uint32_t which = outputs[i].which;
        uint8_t *got = NULL;
        if (!trial->there[which])
            continue;
        status = vly_accel_alloc(trial->bytes[which], 1, &got, error);
        if (status == VLY_OK)
            status = vly_accel_cuda_memory.copy(
                trial->device, got, trial->there[which], trial->bytes[which],
                VLY_COPY_FROM_DEVICE, NULL, error);
        if (status == VLY_OK)
            status =
                vly_accel_cuda_memory.stream_wait(trial->device, NULL, error);
        if (status == VLY_OK)
            status = compare(trial, which, outputs[i].name, got, error);
        vly_accel_free(got);
    }
    return status;
}

/* Backward reads O and lse of the forward run: those of the reference. */
static vly_status give_forward(const vly_trial *trial, vly_error *error)
{
    vly_status status = VLY_OK;
    if ((trial->desc.flags & VLY_ATTENTION_BACKWARD) == 0)
        return VLY_OK;
    for (uint32_t i = TRIAL_O; i <= TRIAL_LSE; i++)
        VLY_TRY(vly_accel_cuda_memory.copy(trial->device, trial->there[i],
                                           trial->host[i], trial->bytes[i],
                                           VLY_COPY_TO_DEVICE, NULL, error));
out:
    return status;
}

vly_status vly_attention_check_way(const vly_attention_device *device,
                                   const vly_attention_desc *desc,
                                   const vly_cuda_ready *ready,
                                   vly_error *error)
{
    const vly_attention_desc small = vly_trial_reduce(desc);
    vly_cuda_ready made = {
        .way = ready->way, .config = ready->config, .engine = -1};
    vly_trial *trial = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(ready->way->supports(device, &small, error));
    VLY_TRY(ready->way->prepare(device, &small, &made, error));
    status = vly_accel_alloc(1, sizeof *trial, &trial, error);
    if (status == VLY_OK) {
        status = vly_trial_init(trial, &small, device->index,
                                made.workspace_bytes, true, error);
        if (status == VLY_OK)
            status = make_reference(trial, error);
        if (status == VLY_OK)
            status = give_forward(trial, error);
        if (status == VLY_OK) {
            const vly_attention_run run = vly_trial_run(trial, 0, NULL);
            status = ready->way->run(device, &small, &made, &run, error);
        }
        if (status == VLY_OK)
            status = compare_all(trial, error);
        vly_trial_deinit(trial);
    }
    vly_accel_free(trial);
    vly_cuda_ready_release(&made);
out:
    return status;
}

/* ---- time -------------------------------------------------------------- */

enum { ROUNDS = 21, ROUNDS_LEAST = 7, WARM_ROUNDS = 50 };

/* Time until a device has lowered its clocks. */
static const double warm_s = 0.1;
/* After this time ROUNDS_LEAST rounds are enough. */
static const double enough_s = 1.0;

static double median(double *values, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t k = i; k > 0 && values[k] < values[k - 1]; k--) {
            const double swap = values[k];
            values[k] = values[k - 1];
            values[k - 1] = swap;
        }
    return values[n / 2];
}

/* Data shared by the runs of all ways. */
typedef struct clocked {
    const vly_attention_device *device;
    const vly_attention_desc *desc;
    vly_attention_run run;
    vly_event *begin;
    vly_event *end;
} clocked;

static vly_status time_one(const clocked *c, const vly_cuda_ready *ready,
                           double *seconds, vly_error *error)
{
    const vly_memory *memory = &vly_accel_cuda_memory;
    const uint32_t device = c->device->index;
    vly_status status = VLY_OK;
    VLY_TRY(memory->event_record(device, c->begin, c->run.stream, error));
    VLY_TRY(ready->way->run(c->device, c->desc, ready, &c->run, error));
    VLY_TRY(memory->event_record(device, c->end, c->run.stream, error));
    VLY_TRY(memory->event_elapsed(device, c->begin, c->end, seconds, error));
out:
    return status;
}

/* Times of ways, round by round. */
typedef struct rounds {
    double times[VLY_CUDA_MOST_WAYS][ROUNDS];
    uint32_t n;
} rounds;

/* Runs all ways in turn, forth and back: clocks and temperature change
 * meanwhile and must change equally for all. total: increased by the time
 * taken */
static vly_status time_round(const clocked *c,
                             const vly_cuda_ready *const *ready, uint32_t n,
                             uint32_t round, rounds *to, double *total,
                             vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t i = round % 2 == 0 ? k : n - 1 - k;
        double *time = &to->times[i][round % ROUNDS];
        if (!ready[i])
            continue;
        VLY_TRY(time_one(c, ready[i], time, error));
        *total += *time;
    }
out:
    return status;
}

/* The device is warmed first: on a cool H200 a configuration was the fastest
 * that was 3% slower than the best at the clocks under load. */
static vly_status time_rounds(const clocked *c,
                              const vly_cuda_ready *const *ready, uint32_t n,
                              rounds *to, vly_error *error)
{
    double total = 0.0;
    vly_status status = VLY_OK;
    for (uint32_t k = 0;
         status == VLY_OK && k < WARM_ROUNDS && (k == 0 || total < warm_s); k++)
        status = time_round(c, ready, n, k, to, &total, error);
    total = 0.0;
    for (to->n = 0; status == VLY_OK && to->n < ROUNDS &&
                    (to->n < ROUNDS_LEAST || total < enough_s);
         to->n++)
        status = time_round(c, ready, n, to->n, to, &total, error);
    return status;
}

/* Is way a faster than b? Of the rounds' ratios the median must be below 1 by
 * three times its standard error (1.25 / sqrt(n) of the deviation, 1.48 times
 * the median of the absolute ones), and by 0.2% at least. */
static bool is_faster(const rounds *r, uint32_t a, uint32_t b)
{
    double ratio[ROUNDS];
    for (uint32_t k = 0; k < r->n; k++)
        ratio[k] = r->times[a][k] / r->times[b][k];
    const double middle = median(ratio, r->n);
    for (uint32_t k = 0; k < r->n; k++)
        ratio[k] = fabs(ratio[k] - middle);
    const double error = 1.25 * 1.48 * median(ratio, r->n) / sqrt((double)r->n);
    return middle < 1.0 - fmax(3.0 * error, 0.002);
}

/* The first way that no later way beats; ways that were not timed are NULL. */
static uint32_t find_best(const rounds *r, const vly_cuda_ready *const *ready,
                          uint32_t n)
{
    uint32_t best = n;
    for (uint32_t i = 0; i < n; i++)
        if (ready[i] && (best == n || is_faster(r, i, best)))
            best = i;
    return best == n ? 0 : best;
}

static vly_status time_all(clocked *c, vly_trial *trial,
                           const vly_cuda_ready *const *ready, uint32_t n,
                           double *seconds, uint32_t *best, vly_error *error)
{
    const vly_memory *memory = &vly_accel_cuda_memory;
    const uint32_t device = c->device->index;
    void *stream = NULL;
    rounds found;
    vly_status status = memory->stream_create(device, &stream, error);
    if (status == VLY_OK)
        status = memory->event_create(device, &c->begin, error);
    if (status == VLY_OK)
        status = memory->event_create(device, &c->end, error);
    if (status == VLY_OK) /* work of the trial in the other stream */
        status = memory->stream_wait(device, NULL, error);
    c->run = vly_trial_run(trial, 0, stream);
    if (status == VLY_OK)
        status = time_rounds(c, ready, n, &found, error);
    if (status == VLY_OK) {
        *best = find_best(&found, ready, n);
        for (uint32_t i = 0; i < n; i++)
            seconds[i] = ready[i] ? median(found.times[i], found.n) : 0.0;
    }
    memory->event_destroy(device, c->begin);
    memory->event_destroy(device, c->end);
    memory->stream_destroy(device, stream);
    return status;
}

/* The trial of the whole shape with the largest workspace that fits; ways that
 * need more become NULL. */
static vly_status make_room(vly_trial *trial, const vly_attention_desc *desc,
                            uint32_t device, const vly_cuda_ready **ready,
                            uint32_t n, vly_error *error)
{
    for (;;) {
        uint64_t bytes = 0;
        uint32_t left = 0;
        for (uint32_t i = 0; i < n; i++)
            if (ready[i] && ++left > 0 && ready[i]->workspace_bytes > bytes)
                bytes = ready[i]->workspace_bytes;
        vly_status status =
            vly_trial_init(trial, desc, device, bytes, false, error);
        if (status != VLY_E_NOMEM)
            return status;
        vly_trial_deinit(trial);
        for (uint32_t i = 0; i < n; i++)
            if (ready[i] && ready[i]->workspace_bytes == bytes) {
                ready[i] = NULL;
                left--;
            }
        if (left == 0)
            return status;
    }
}

vly_status vly_attention_time_ways(const vly_attention_device *device,
                                   const vly_attention_desc *desc,
                                   const vly_cuda_ready *const *ready,
                                   uint32_t n, double *seconds, uint32_t *best,
                                   vly_error *error)
{
    const vly_cuda_ready *some[VLY_CUDA_MOST_WAYS];
    clocked c = {.device = device, .desc = desc};
    vly_trial *trial = NULL;
    if (n > VLY_CUDA_MOST_WAYS)
        return vly_support_fail(error, VLY_E_INVALID, "%u ways to be timed", n);
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_alloc(1, sizeof *trial, &trial, error));
    for (uint32_t i = 0; i < n; i++)
        some[i] = ready[i];
    status = make_room(trial, desc, device->index, some, n, error);
    if (status == VLY_OK)
        status = time_all(&c, trial, some, n, seconds, best, error);
    vly_trial_deinit(trial);
    vly_accel_free(trial);
out:
    return status;
}
