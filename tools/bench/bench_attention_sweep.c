/* SPDX-License-Identifier: Apache-2.0
 * Sweeps of suite attention: sets of plan options, each against the first.
 * "choose=own_sm90,config=*|choose=cudnn,config=0": of one with config=* there
 * are as many as the plugin has configurations.
 *
 * A candidate is timed only after it was found right twice: by the plugin,
 * which holds a plan with config=N against the reference of the processor on a
 * smaller shape, and here, where sampled rows of the whole shape are compared
 * with float64 on outputs that were poisoned before.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "tools/bench/bench_attention.h"
#include "tools/bench/bench_sweep.h"
#include "tools/cli/tool.h"

enum { CONFIGS_MOST = 64, LISTED_MOST = 16, TEXT = BENCH_ATTENTION_OPTIONS };

/* All candidates of one product. */
typedef struct contest {
    const vly_accelerator *accelerator; /* with the options of --backend */
    const char *id;
    bool backward;
    bool ready; /* base and its tensors exist */
    char base_options[BENCH_SWEEP_OPTIONS];
    bench_attention_work base;
    vly_accelerator base_accelerator; /* with the options of the first */
    char base_text[TEXT];
} contest;

static bench_sweep sweep;
static char listed[LISTED_MOST][BENCH_SWEEP_OPTIONS];
static bool has_run[LISTED_MOST]; /* accepted for at least one product */
static uint32_t n_listed;
static uint32_t n_products;
static uint32_t n_skipped; /* products for which the first candidate does not
                            * run */

/* ---- the list --------------------------------------------------------- */

static vly_status read_list(const char *text, vly_error *error)
{
    n_listed = 0;
    while (*text != '\0') {
        const size_t n = strcspn(text, "|");
        if (n == 0 || n >= BENCH_SWEEP_OPTIONS || n_listed == LISTED_MOST)
            return vly_fail(error, VLY_E_INVALID,
                            "--sweep: wanted at most %d sets of options of 1 "
                            "to %d characters with | between them",
                            LISTED_MOST, BENCH_SWEEP_OPTIONS - 1);
        memcpy(listed[n_listed], text, n);
        listed[n_listed++][n] = '\0';
        text += n + (text[n] == '|');
    }
    if (n_listed == 0)
        return vly_fail(error, VLY_E_INVALID, "--sweep: no options in it");
    return VLY_OK;
}

/* Candidate n of an item of the list; false: no more. */
static bool expand(const char *item, uint32_t n,
                   char options[BENCH_SWEEP_OPTIONS])
{
    const char *star = strstr(item, "config=*");
    if (!star) {
        (void)snprintf(options, BENCH_SWEEP_OPTIONS, "%s", item);
        return n == 0;
    }
    const int before = (int)(star - item);
    const int length = snprintf(options, BENCH_SWEEP_OPTIONS, "%.*sconfig=%u%s",
                                before, item, n, star + strlen("config=*"));
    return length < BENCH_SWEEP_OPTIONS && n < CONFIGS_MOST;
}

/* ---- one candidate ---------------------------------------------------- */

static bool is_output(const contest *c, uint32_t which)
{
    return c->backward ? which >= BENCH_GRAD_Q && which <= BENCH_GRAD_V
                       : which == BENCH_O || which == BENCH_LSE;
}

/* Runs the plan of `timed` on poisoned outputs, and checks them. */
static vly_status check(const contest *c, bench_attention_work *w, double *off,
                        vly_error *error)
{
    const vly_memory *memory = &c->accelerator->memory;
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < BENCH_N_TENSORS; i++)
        if (is_output(c, i) && w->tensors[i].device[0])
            VLY_TRY(memory->fill(c->accelerator->device.index,
                                 w->tensors[i].device[0], 0xff,
                                 w->tensors[i].bytes, NULL, error));
    VLY_TRY(bench_attention_run(w, w->timed, 0, NULL, error));
    VLY_TRY(bench_attention_compare(w, c->backward, off, error));
out:
    return status;
}

/* The first candidate, its tensors and, for gradients, O and lse. */
static vly_status make_base(contest *c, vly_error *error)
{
    bench_attention_work *w = &c->base;
    double off = 0.0;
    vly_status status = VLY_OK;
    if (c->ready)
        return VLY_OK;
    bench_attention_options(c->accelerator, c->base_options, c->base_text,
                            &c->base_accelerator);
    if (c->backward)
        VLY_TRY(bench_attention_plan_make(w, 0, &w->plans[0], error));
    w->accelerator = &c->base_accelerator;
    VLY_TRY(bench_attention_plan_make(w,
                                      c->backward ? VLY_ATTENTION_BACKWARD : 0u,
                                      &w->plans[c->backward], error));
    w->timed = &w->plans[c->backward];
    VLY_TRY(bench_attention_tensors(w, c->backward, error));
    for (uint32_t set = 0; c->backward && set < w->sets; set++)
        VLY_TRY(bench_attention_run(w, &w->plans[0], set, NULL, error));
    VLY_TRY(check(c, w, &off, error));
    c->ready = true;
out:
    return status;
}

static vly_status race(contest *c, bench_attention_work *candidate,
                       bench_sweep_row *row, vly_error *error)
{
    double of_base[BENCH_SWEEP_ROUNDS];
    double of_other[BENCH_SWEEP_ROUNDS];
    const bench_subject base = {.accelerator = c->accelerator,
                                .run = bench_attention_run_timed,
                                .arg = &c->base,
                                .sets = c->base.sets};
    bench_subject other = base;
    other.arg = candidate;
    vly_status status = bench_product_race(&base, &other, BENCH_SWEEP_ROUNDS,
                                           of_base, of_other, error);
    if (status == VLY_OK) {
        bench_sweep_interval(of_base, of_other, BENCH_SWEEP_ROUNDS, row);
        row->state = BENCH_SWEEP_TIMED;
    }
    return status;
}

/* Fills the row. A wrong candidate is recorded in the row and is not an
 * error. */
static vly_status measure(contest *c, bench_sweep_row *row, vly_error *error)
{
    static bench_attention_work candidate;
    static vly_accelerator accelerator;
    static char text[TEXT];
    bench_attention_plan plan = {.plan = NULL};
    vly_error other = VLY_ERROR_INIT;
    bench_attention_options(c->accelerator, row->options, text, &accelerator);
    candidate = c->base;
    candidate.accelerator = &accelerator;
    candidate.timed = &plan;
    vly_status status = bench_attention_plan_make(
        &candidate, c->backward ? VLY_ATTENTION_BACKWARD : 0u, &plan, error);
    (void)snprintf(row->choice, sizeof row->choice, "%s", plan.info.choice);
    if (status == VLY_OK)
        status = check(c, &candidate, &row->error, error);
    if (status == VLY_E_UNSUPPORTED || status == VLY_E_DEVICE) {
        row->state =
            status == VLY_E_DEVICE ? BENCH_SWEEP_WRONG : BENCH_SWEEP_REFUSED;
        (void)snprintf(row->reason, sizeof row->reason, "%.399s",
                       error->message);
        /* if the device no longer responds, the next candidates are not
         * tried */
        status = bench_attention_run(&c->base, c->base.timed, 0, NULL, &other);
        if (status == VLY_OK)
            status = c->accelerator->memory.stream_wait(
                c->accelerator->device.index, NULL, &other);
        if (status != VLY_OK)
            status = vly_fail(error, status, "after %s: %.600s", row->options,
                              other.message);
    } else if (status == VLY_OK) {
        status = race(c, &candidate, row, error);
    }
    bench_attention_plan_free(&candidate, &plan);
    return status;
}

/* *more: the item may have another candidate */
static vly_status try_candidate(contest *c, const char *options, bool *more,
                                vly_error *error)
{
    bench_sweep_row row = {.state = BENCH_SWEEP_BEGUN, .error = -1.0};
    (void)snprintf(row.id, sizeof row.id, "%s", c->id);
    (void)snprintf(row.options, sizeof row.options, "%s", options);
    (void)snprintf(row.base, sizeof row.base, "%s", c->base_options);
    const bench_sweep_row *known = bench_sweep_find(&sweep, &row);
    if (known) {
        *more = known->state != BENCH_SWEEP_REFUSED;
        return VLY_OK;
    }
    vly_status status = make_base(c, error);
    if (status != VLY_OK)
        return status;
    tool_message("%s: %s", c->id, options);
    VLY_TRY(bench_sweep_add(&sweep, &row, error));
    status = measure(c, &row, error);
    *more = row.state != BENCH_SWEEP_REFUSED;
    if (status != VLY_OK) {
        vly_error ignored = VLY_ERROR_INIT;
        row.state = BENCH_SWEEP_LEFT;
        (void)snprintf(row.reason, sizeof row.reason, "%.399s", error->message);
        (void)bench_sweep_add(&sweep, &row, &ignored);
        return status;
    }
    status = bench_sweep_add(&sweep, &row, error);
out:
    return status;
}

/* ---- the suite -------------------------------------------------------- */

vly_status bench_attention_sweep_begin(const bench_options *options,
                                       const bench_results *results,
                                       vly_error *error)
{
    vly_status status = read_list(options->sweep, error);
    n_products = 0;
    n_skipped = 0;
    memset(has_run, 0, sizeof has_run);
    return status == VLY_OK
               ? bench_sweep_open(&sweep, options->log, results->device, error)
               : status;
}

vly_status bench_attention_sweep(const bench_options *options,
                                 const vly_accelerator *accelerator,
                                 const vly_attention_desc *desc, bool backward,
                                 const char *id, vly_error *error)
{
    static contest c;
    char candidate[BENCH_SWEEP_OPTIONS];
    vly_status status = VLY_OK;
    c = (contest){.accelerator = accelerator, .id = id, .backward = backward};
    c.base = (bench_attention_work){.accelerator = accelerator, .desc = *desc};
    (void)expand(listed[0], 0, c.base_options);
    n_products++;
    for (uint32_t i = 0; i < n_listed && status == VLY_OK; i++) {
        bool more = true;
        for (uint32_t n = 0;
             more && expand(listed[i], n, candidate) && status == VLY_OK; n++) {
            status = try_candidate(&c, candidate, &more, error);
            has_run[i] = has_run[i] || (status == VLY_OK && more);
        }
    }
    bench_attention_work_deinit(&c.base);
    if (!c.ready && (status == VLY_E_UNSUPPORTED || status == VLY_E_NOMEM)) {
        tool_message("%s: skipped: %s", id, error->message);
        n_skipped++;
        return VLY_OK;
    }
    if (status != VLY_OK) /* results so far took minutes */
        bench_sweep_print(&sweep, options->markdown);
    if (status != VLY_OK && status != VLY_E_STOPPED) {
        char why[700];
        (void)snprintf(why, sizeof why, "%.699s", error->message);
        return vly_fail(error, status, "%s: %s", id, why);
    }
    return status;
}

vly_status bench_attention_sweep_end(const bench_options *options,
                                     vly_error *error)
{
    if (n_products == 0)
        return vly_fail(error, VLY_E_INVALID,
                        "no product of the suite has \"%s\" in its name",
                        options->pattern);
    bench_sweep_print(&sweep, options->markdown);
    /* as bench_asked.c has it of rows */
    if (n_skipped == n_products || (n_skipped > 0 && options->pattern))
        return vly_fail(error, VLY_E_UNSUPPORTED,
                        "asked for and not measured: %u of %u products; the "
                        "reasons are above",
                        n_skipped, n_products);
    for (uint32_t i = 0; i < n_listed; i++)
        if (!has_run[i])
            return vly_fail(error, VLY_E_UNSUPPORTED,
                            "asked for and not measured: %s: refused of every "
                            "product; the reasons are above",
                            listed[i]);
    return VLY_OK;
}
