/* SPDX-License-Identifier: Apache-2.0
 * What was asked for by name and did not run: one rule for all suites.
 *
 * A suite's own table is measured as far as a device goes: rows that it cannot
 * hold, or that its plugin does not offer, are skipped with their reason. What
 * somebody named is different: --case names every row that has it, --set every
 * row of the set, and lists name the rows all of whose parts they give. Such a
 * row must run, and of every value of a list at least one row must.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "tools/bench/bench_product.h"

/* Common form of rows and cases. */
typedef struct asked_row {
    const char *id;
    const char *reason; /* "": it was measured */
    const bench_product *product;
} asked_row;

static bool row_at(const bench_results *results, uint32_t i, asked_row *row)
{
    const bench_products *products = results->products;
    *row = (asked_row){.reason = ""};
    if (i < results->n_rows) {
        row->id = results->rows[i].id;
        row->reason = results->rows[i].reason;
        return true;
    }
    i -= results->n_rows;
    if (i < results->n_cases) {
        row->id = results->cases[i].id;
        if (results->cases[i].skipped)
            row->reason = results->cases[i].reason;
        return true;
    }
    i -= results->n_cases;
    if (!products || i >= products->n_rows)
        return false;
    row->product = &products->rows[i];
    row->id = row->product->id;
    row->reason = row->product->reason;
    return true;
}

static bool is_named(const bench_options *options, const asked_row *row)
{
    const bench_product *product = row->product;
    if (!product || options->pattern)
        return options->pattern != NULL;
    return !product->own && (product->n_given > 0 || options->set);
}

/* Was a row with this value measured? */
static bool any_has(const bench_products *products, const char *value)
{
    for (uint32_t i = 0; i < products->n_rows; i++) {
        const bench_product *row = &products->rows[i];
        for (uint32_t k = 0; k < row->n_given; k++)
            if (row->reason[0] == '\0' && strcmp(row->given[k], value) == 0)
                return true;
    }
    return false;
}

/* A value of a list without a measured row; NULL: none. */
static const char *value_without(const bench_products *products,
                                 const bench_product *row)
{
    for (uint32_t k = 0; row && k < row->n_given; k++)
        if (!any_has(products, row->given[k]))
            return row->given[k];
    return NULL;
}

vly_status bench_asked(const bench_options *options,
                       const bench_results *results, vly_error *error)
{
    const char *value = NULL;
    asked_row missing = {.id = NULL};
    asked_row skipped = {.id = NULL};
    asked_row row;
    uint32_t n_missing = 0;
    bool any = results->scale != NULL; /* predictions */
    for (uint32_t i = 0; row_at(results, i, &row); i++) {
        if (row.reason[0] == '\0') {
            any = true;
            continue;
        }
        skipped = !skipped.id ? row : skipped;
        const char *without = value_without(results->products, row.product);
        if (!is_named(options, &row) && !without)
            continue;
        if (n_missing++ == 0) {
            missing = row;
            value = without;
        }
    }
    if (!any)
        return vly_fail(
            error, VLY_E_UNSUPPORTED, "nothing was measured: %.900s",
            skipped.id ? skipped.reason : "the suite has no such row");
    if (n_missing == 0)
        return VLY_OK;
    char more[32] = "";
    if (n_missing > 1)
        (void)snprintf(more, sizeof more, " and %u more", n_missing - 1);
    if (value)
        return vly_fail(error, VLY_E_UNSUPPORTED,
                        "asked for and not measured: %s: %s%s: %.800s", value,
                        missing.id, more, missing.reason);
    return vly_fail(error, VLY_E_UNSUPPORTED,
                    "asked for and not measured: %s%s: %.800s", missing.id,
                    more, missing.reason);
}

void bench_product_part(bench_product *row, const char *option,
                        const char *value, bool given)
{
    if (!given)
        row->own = true;
    else if (row->n_given < BENCH_PARTS_MAX)
        (void)snprintf(row->given[row->n_given++], sizeof row->given[0],
                       "%s %.44s", option, value);
}
