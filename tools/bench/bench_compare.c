/* SPDX-License-Identifier: Apache-2.0
 * A bench beside an earlier one (--compare). Rows that only one of them has are
 * said; another suite or device is refused unless it was asked for, since then
 * "slower" says nothing about what changed in between.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/bench/bench.h"
#include "tools/bench/bench_product.h"
#include "tools/cli/json_reader.h"
#include "tools/cli/tool.h"

/* ---- same suite and device? ---------------------------------------------- */

/* The file is of `was`: prints a note, or refuses it. what: "suite" */
static vly_status differs(const bench_options *options, const char *what,
                          const char *was, const char *is, vly_error *error)
{
    if (options->compare_other) {
        tool_message("%s is of another %s: %s, this bench is of %s",
                     options->compare, what, was, is);
        return VLY_OK;
    }
    return vly_fail(error, VLY_E_INVALID,
                    "%.300s is of another %s: %.150s, this bench is of %.150s; "
                    "--compare-other compares them all the same",
                    options->compare, what, was, is);
}

/* "cuda" of "cuda:1,cache=off"; "cpu:4" of "cpu:4", which are threads. */
static bool same_plugin(const char *a, const char *b)
{
    const bool threads =
        strncmp(a, "cpu:", 4) == 0 && strncmp(b, "cpu:", 4) == 0;
    const char *ends = threads ? "," : ":,";
    const size_t n = strcspn(a, ends);
    return n == strcspn(b, ends) && strncmp(a, b, n) == 0;
}

static vly_status check_suite(const bench_options *options,
                              const json_value *before, vly_error *error)
{
    const char *suite = json_find_text(before, "suite");
    const char *failure = json_find_text(before, "failure");
    const char *backend = json_find_text(before, "backend");
    const json_value *quick = json_find(before, "quick");
    if (!json_find(before, "rows") ||
        json_find(before, "rows")->kind != JSON_ARRAY)
        return vly_fail(error, VLY_E_PARSE,
                        "%s: no rows in it; wanted a file of --save",
                        options->compare);
    if (failure)
        tool_message("%s is not complete: %s", options->compare, failure);
    if (quick && (quick->number != 0.0) != options->quick)
        tool_message("%s was measured with%s --quick, this bench is with%s",
                     options->compare, options->quick ? "out" : "",
                     options->quick ? "" : "out");
    if (!suite)
        tool_message("%s does not say of which suite it is", options->compare);
    else if (strcmp(suite, options->suite) != 0)
        return differs(options, "suite", suite, options->suite, error);
    /* check_device reports it too, but only after a net is compiled and
     * compared */
    if (backend && !options->compare_other &&
        strcmp(options->backend, "auto") != 0 &&
        !same_plugin(backend, options->backend))
        return differs(options, "backend", backend, options->backend, error);
    return VLY_OK;
}

vly_status bench_compare_check(const bench_options *options, vly_error *error)
{
    json_value before;
    if (!options->compare)
        return VLY_OK;
    vly_status status = VLY_OK;
    VLY_TRY(json_load(options->compare, &before, error));
    status = check_suite(options, &before, error);
    json_free(&before);
out:
    return status;
}

static vly_status check_device(const bench_options *options,
                               const bench_results *results,
                               const json_value *before, vly_error *error)
{
    const char *backend = json_find_text(before, "backend");
    const char *device = json_find_text(before, "device");
    const char *cpu = json_find_text(json_find(before, "machine"), "cpu");
    vly_status status = VLY_OK;
    if (!backend || !device)
        tool_message("%s does not say of which device it is", options->compare);
    if (device && strcmp(device, results->device) != 0)
        VLY_TRY(differs(options, "device", device, results->device, error));
    if (backend && !same_plugin(backend, results->backend))
        VLY_TRY(differs(options, "backend", backend, results->backend, error));
    else if (backend && strcmp(backend, results->backend) != 0)
        tool_message("%s is of %s, this bench is of %s", options->compare,
                     backend, results->backend);
    if (cpu && strcmp(cpu, results->machine.cpu) != 0)
        tool_message("%s is of another machine (%s)", options->compare, cpu);
out:
    return status;
}

vly_status bench_device_set(const bench_options *options, const char *backend,
                            const char *device, bench_results *results,
                            vly_error *error)
{
    json_value before;
    const bool again = strcmp(results->backend, backend) == 0 &&
                       strcmp(results->device, device) == 0;
    snprintf(results->backend, sizeof results->backend, "%s", backend);
    snprintf(results->device, sizeof results->device, "%s", device);
    if (!options->compare || again)
        return VLY_OK;
    vly_status status = VLY_OK;
    VLY_TRY(json_load(options->compare, &before, error));
    status = check_device(options, results, &before, error);
    json_free(&before);
out:
    return status;
}

/* ---- rows --------------------------------------------------------------- */

typedef struct compared {
    const json_value *rows; /* of the file */
    bool *seen;             /* [rows->n_items] this bench has it too */
    double threshold;
    int width;
    bool markdown;
    uint32_t n_both;
    uint32_t n_slower;
    uint32_t n_skipped; /* measured in the file, skipped now */
    uint32_t n_new;
    uint32_t n_gone;
} compared;

static const char *id_of(const json_value *row)
{
    const char *id = json_find_text(row, "id");
    return id ? id : "?";
}

/* The first row of this name that was not matched: suite rwkv times one product
 * for several models. NULL: none */
static const json_value *take_row(compared *c, const char *id)
{
    for (uint32_t i = 0; i < c->rows->n_items; i++)
        if (!c->seen[i] && strcmp(id_of(&c->rows->items[i]), id) == 0) {
            c->seen[i] = true;
            return &c->rows->items[i];
        }
    return NULL;
}

static void print_line(const compared *c, const char *id, const char *was,
                       const char *now, const char *text)
{
    if (c->markdown)
        tool_print("| %s | %s | %s | %s |\n", id, was, now,
                   text + strspn(text, " "));
    else
        tool_print("%-*s %10s -> %10s  %s\n", c->width, id, was, now, text);
}

/* reason "": it was measured in this bench */
static void compare_row(compared *c, const char *id, double seconds,
                        const char *reason)
{
    const json_value *row = take_row(c, id);
    const double old = json_find_number(row, "median_s", 0.0);
    const bool skipped = reason[0] != '\0';
    char was[24];
    (void)snprintf(was, sizeof was, "%s",
                   !row        ? "not there"
                   : old > 0.0 ? tool_seconds(old)
                               : "skipped");
    if (skipped) {
        print_line(c, id, was, "skipped", reason);
        c->n_skipped += old > 0.0;
        return;
    }
    char now[24];
    (void)snprintf(now, sizeof now, "%s", tool_seconds(seconds));
    if (!(old > 0.0)) {
        print_line(c, id, was, now, "new");
        c->n_new++;
        return;
    }
    const double change = seconds / old - 1.0;
    const bool worse = !(change <= c->threshold);
    char text[48];
    (void)snprintf(text, sizeof text, "%+6.1f%%%s", 100.0 * change,
                   worse ? "  slower" : "");
    print_line(c, id, was, now, text);
    c->n_both++;
    c->n_slower += worse;
}

static void compare_gone(compared *c)
{
    for (uint32_t i = 0; i < c->rows->n_items; i++) {
        const json_value *row = &c->rows->items[i];
        const double old = json_find_number(row, "median_s", 0.0);
        if (c->seen[i] || !(old > 0.0))
            continue;
        tool_plain_text plain;
        print_line(c, tool_plain(id_of(row), &plain), tool_seconds(old), "",
                   "not in this bench");
        c->n_gone++;
    }
}

static void compare_all(compared *c, const bench_results *results)
{
    const bench_products *products = results->products;
    for (uint32_t i = 0; i < results->n_rows; i++)
        compare_row(c, results->rows[i].id, results->rows[i].seconds.median,
                    results->rows[i].reason);
    for (uint32_t i = 0; i < results->n_cases; i++) {
        const bench_case *one = &results->cases[i];
        compare_row(c, one->id, one->device.seconds.median,
                    one->skipped ? one->reason : "");
    }
    for (uint32_t i = 0; products && i < products->n_rows; i++)
        compare_row(c, products->rows[i].id, products->rows[i].seconds.median,
                    products->rows[i].reason);
    compare_gone(c);
}

static int longest(const json_value *rows, const bench_results *results)
{
    const bench_products *products = results->products;
    size_t most = 22;
    for (uint32_t i = 0; i < rows->n_items; i++) {
        const size_t n = strlen(id_of(&rows->items[i]));
        most = n > most && n < BENCH_PRODUCT_ID_BYTES ? n : most;
    }
    for (uint32_t i = 0; products && i < products->n_rows; i++) {
        const size_t n = strlen(products->rows[i].id);
        most = n > most ? n : most;
    }
    return (int)most;
}

static void print_before(const json_value *before, const char *path,
                         double threshold)
{
    const char *const keys[] = {"version", "commit", "time"};
    const char *texts[3];
    tool_plain_text plain[3];
    for (uint32_t i = 0; i < 3; i++) {
        texts[i] = json_find_text(before, keys[i]);
        texts[i] = tool_plain(texts[i] ? texts[i] : "?", &plain[i]);
    }
    tool_print("\ncompared with %s (volley %s, %s, %s), threshold %g%%\n", path,
               texts[0], texts[1], texts[2], 100.0 * threshold);
}

vly_status bench_compare(const bench_options *options,
                         const bench_results *results, double threshold,
                         uint32_t *n_worse, vly_error *error)
{
    json_value before;
    compared c = {.threshold = threshold, .markdown = options->markdown};
    vly_status status = json_load(options->compare, &before, error);
    if (status != VLY_OK)
        return status;
    c.rows = json_find(&before, "rows");
    if (!c.rows || c.rows->kind != JSON_ARRAY) {
        status = vly_fail(error, VLY_E_PARSE, "%s: no rows in it any more",
                          options->compare);
        goto out;
    }
    c.seen = vly_calloc(c.rows->n_items + 1u, sizeof *c.seen);
    if (!c.seen) {
        status = vly_fail_nomem(error, c.rows->n_items, "a comparison");
        goto out;
    }
    c.width = longest(c.rows, results);
    print_before(&before, options->compare, threshold);
    if (c.markdown)
        tool_print("\n| row | before | now | change |\n|---|---|---|---|\n");
    compare_all(&c, results);
    tool_print(
        "%s%u compared, %u slower, %u skipped now, %u new, %u not in this "
        "bench\n",
        c.markdown ? "\n" : "", c.n_both, c.n_slower, c.n_skipped, c.n_new,
        c.n_gone);
    if (c.n_both == 0)
        status = vly_fail(error, VLY_E_PARSE,
                          "%s: no row of this bench in it, nothing was "
                          "compared; wanted a file of --save",
                          options->compare);
    else
        *n_worse = c.n_slower + c.n_skipped;
out:
    vly_free(c.seen);
    json_free(&before);
    return status;
}
