/* SPDX-License-Identifier: Apache-2.0
 * Products of accelerators: table and JSON.
 */
#include "tools/bench/bench_product.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/cli/tool.h"

/* ---- table ------------------------------------------------------------ */

/* The best rate among the rows of a group in this run.
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

/* Share of the ceiling that limits the row. */
static double fraction_of(const bench_products *products,
                          const bench_product *row)
{
    const double s = row->seconds.median;
    if (bench_product_is_of_bytes(row))
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

/* "-" for a figure that was not counted */
static void put_rate(char *text, size_t size, double rate)
{
    if (rate > 0)
        (void)snprintf(text, size, "%.4g", rate);
    else
        (void)snprintf(text, size, "-");
}

/* The choice; of several devices also what they gained, and their bits. */
static const char *choice_of(const bench_product *row, char *text, size_t size)
{
    if (row->devices == 0)
        return row->plan.choice;
    (void)snprintf(text, size, "%.2f times one device, bits %016" PRIx64 "; %s",
                   row->speedup, row->digest, row->plan.choice);
    return text;
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
    char part[16] = "-";
    char choice[400];
    const double fraction = fraction_of(products, row);
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
    if (fraction > 0)
        (void)snprintf(part, sizeof part, "%.0f%%", 100.0 * fraction);
    put_rate(flops, sizeof flops, row->flops / s * 1e-12);
    put_rate(bytes, sizeof bytes, row->bytes / s * 1e-9);
    if (markdown)
        tool_print("| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", row->id,
                   tool_seconds(s), spread, flops, bytes, part, error, gain,
                   choice_of(row, choice, sizeof choice));
    else
        tool_print("%-*s %10s %20s %9s %9s %6s %9s %8s  %s\n", width, row->id,
                   tool_seconds(s), spread, flops, bytes, part, error, gain,
                   choice_of(row, choice, sizeof choice));
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

static void print_head(const bench_products *products, const char *begin)
{
    tool_print("%s%s on device %u: %s, %s\n", begin, products->plugin,
               products->device.index, products->device.name,
               products->device.capability);
    tool_print("%srandom data of --seed %llu\n", begin,
               (unsigned long long)products->seed);
    if (products->bytes_per_s > 0)
        tool_print("%sceiling of bytes, measured in this run: %.4g GB/s "
                   "(%s)\n\n",
                   begin, products->bytes_per_s * 1e-9,
                   products->is_host
                       ? "reads in order, all threads"
                       : "copies on the device, read and written");
    else
        tool_print("%sceiling of bytes: not measured, %s\n\n", begin,
                   products->is_host
                       ? "no row was compared with it"
                       : "there is no memory for two blocks of 128 MiB");
}

/* Is there a row whose rate exceeds that of memory? */
static bool any_above(const bench_products *products)
{
    for (uint32_t i = 0; i < products->n_rows; i++)
        if (products->rows[i].reason[0] == '\0' &&
            products->rows[i].bandwidth &&
            fraction_of(products, &products->rows[i]) > 1.0)
            return true;
    return false;
}

void bench_products_print(const bench_products *products, bool markdown)
{
    if (!products || products->n_rows == 0)
        return;
    const int width = id_width(products);
    print_head(products, markdown ? "- " : "");
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
    if (any_above(products))
        tool_print("\nAbove 100%%: buffers that a cache holds, used in turn as "
                   "they are; the ceiling is of memory.\n");
    tool_print("\nMedian of up to %d samples on random data, buffers used in "
               "turn. ceil.: of the measured\nbytes a second where bytes are "
               "the limit (m = 1, decoding, single steps), otherwise of the\n"
               "fastest product of its type in this run. error: relative, %s.\n"
               "default: time of the first candidate over that of the chosen "
               "one.\n",
               BENCH_PRODUCT_SAMPLES,
               products->error_is ? products->error_is
                                  : "of sampled elements against float64");
}

/* ---- JSON ------------------------------------------------------------- */

static void put_plan(const bench_product *row, json_writer *json)
{
    json_text(json, "choice", row->plan.choice);
    json_u64(json, "candidates", row->plan.n_candidates);
    json_u64(json, "workspace_bytes", row->plan.workspace_bytes);
    json_bool(json, "cached", row->plan.cached != 0);
    if (row->devices > 0) {
        char digest[20];
        (void)snprintf(digest, sizeof digest, "%016" PRIx64, row->digest);
        json_u64(json, "devices", row->devices);
        json_number(json, "of_one_device", row->speedup);
        json_text(json, "digest", digest);
    }
}

void bench_products_json(const bench_products *products, json_writer *json)
{
    for (uint32_t i = 0; products && i < products->n_rows; i++) {
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
        if (fraction_of(products, row) > 0)
            json_number(json, "of_ceiling", fraction_of(products, row));
        if (row->error >= 0)
            json_number(json, "relative_error", row->error);
        if (row->default_s > 0)
            json_number(json, "default_s", row->default_s);
        put_plan(row, json);
        json_object_end(json);
    }
}
