/* SPDX-License-Identifier: Apache-2.0
 * volley check --ranks: the parts that ranks of a network would build, one
 * after the other, each as by a rank alone; so one of a thousand can be seen on
 * one machine.
 */
#include "tools/cli/check_ranks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "base/writer.h"
#include "connectome/connectome_digest.h"
#include "connectome/connectome_part.h"
#include "connectome/ranks_cut.h"
#include "tools/cli/json_writer.h"
#include "tools/cli/tool.h"

typedef struct built_part {
    uint32_t rank;
    uint32_t n_neurons;
    uint64_t n_synapses;
    uint64_t n_synapses_whole;
    uint64_t bytes;
    uint64_t peak_bytes; /* of the process since the build began; 0: unknown */
    double seconds;
    vly_hash digest;
} built_part;

typedef struct ranks_report {
    const vly_genome *genome;
    const check_ranks *asked;
    uint32_t *first; /* [n_ranks + 1] */
    json_writer json;
    uint64_t n_synapses; /* of the parts so far */
    vly_hash digest;
} ranks_report;

/* ---- memory -------------------------------------------------------------- */

/* Linux: the kernel's peak of the process begins again at what it uses now.
 * False: it does not. */
static bool peak_begin(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (!file)
        return false;
    const bool written = fputs("5", file) >= 0;
    return fclose(file) == 0 && written;
}

static uint64_t peak_bytes(void)
{
    char line[256];
    unsigned long long kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    if (!file)
        return 0;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %llu kB", &kilobytes) == 1)
            break;
    fclose(file);
    return kilobytes * 1024;
}

/* ---- one part ------------------------------------------------------------ */

static vly_status part_build(const ranks_report *report, uint32_t rank,
                             built_part *part, vly_error *error)
{
    vly_status status;
    vly_connectome *built = NULL;
    const check_ranks *asked = report->asked;
    const vly_ranks ranks = {.struct_size = sizeof ranks,
                             .rank = rank,
                             .n_ranks = asked->n_ranks,
                             .first = report->first};
    const bool peaks = peak_begin();
    const uint64_t begin = vly_clock_ns();
    VLY_TRY(vly_connectome_build_part(report->genome, &ranks, asked->n_threads,
                                      &built, error));
    const uint64_t end = vly_clock_ns();
    const uint64_t peak = peaks ? peak_bytes() : 0;
    *part =
        (built_part){.rank = rank,
                     .n_neurons = report->first[rank + 1] - report->first[rank],
                     .n_synapses = built->desc.n_synapses,
                     .n_synapses_whole = built->n_synapses_whole,
                     .bytes = built->n_bytes,
                     .seconds = (double)(end - begin) * 1e-9,
                     .peak_bytes = peak,
                     .digest = vly_connectome_digest(built, asked->n_threads)};
out:
    vly_connectome_destroy(built);
    return status;
}

static void part_print(ranks_report *report, const built_part *part)
{
    json_writer *json = &report->json;
    if (!report->asked->json) {
        tool_print("%6" PRIu32 " %14s %18s %12s %12s %10s  %s\n", part->rank,
                   tool_thousands(part->n_neurons),
                   tool_thousands(part->n_synapses), tool_bytes(part->bytes),
                   part->peak_bytes ? tool_bytes(part->peak_bytes) : "-",
                   tool_seconds(part->seconds),
                   tool_hash_text(part->digest.lane));
        return;
    }
    json_object(json, NULL);
    json_u64(json, "rank", part->rank);
    json_u64(json, "first", report->first[part->rank]);
    json_u64(json, "neurons", part->n_neurons);
    json_u64(json, "synapses", part->n_synapses);
    json_u64(json, "synapses_whole", part->n_synapses_whole);
    json_u64(json, "bytes", part->bytes);
    json_u64(json, "peak_bytes", part->peak_bytes);
    json_number(json, "seconds", part->seconds);
    json_text(json, "digest", tool_hash_text(part->digest.lane));
    json_object_end(json);
}

/* ---- the whole ----------------------------------------------------------- */

static void sum_print(const ranks_report *report)
{
    tool_print("%6s %14s %18s %12s %12s %10s  %s\n", "sum",
               tool_thousands(report->genome->n_neurons),
               tool_thousands(report->n_synapses), "", "", "",
               tool_hash_text(report->digest.lane));
}

/* same NULL: there are no parts to compare with. */
static void whole_print(ranks_report *report, const vly_connectome *whole,
                        vly_hash digest, const bool *same)
{
    json_writer *json = &report->json;
    if (!report->asked->json) {
        tool_print("%6s %14s %18s %12s %12s %10s  %s\n", "whole",
                   tool_thousands(report->genome->n_neurons),
                   tool_thousands(whole->desc.n_synapses),
                   tool_bytes(whole->n_bytes), "", "",
                   tool_hash_text(digest.lane));
        if (same)
            tool_print("the parts %s the whole\n", *same ? "are" : "are not");
        return;
    }
    json_object(json, "whole");
    json_u64(json, "synapses", whole->desc.n_synapses);
    json_u64(json, "bytes", whole->n_bytes);
    json_text(json, "digest", tool_hash_text(digest.lane));
    if (same)
        json_bool(json, "same", *same);
    json_object_end(json);
}

static vly_status whole_compare(ranks_report *report, bool *differs,
                                vly_error *error)
{
    vly_status status;
    vly_connectome *whole = NULL;
    const uint32_t n_threads = report->asked->n_threads;
    VLY_TRY(vly_connectome_build(report->genome, n_threads, &whole, error));
    const vly_hash digest = vly_connectome_digest(whole, n_threads);
    const bool same = whole->desc.n_synapses == report->n_synapses &&
                      memcmp(&digest, &report->digest, sizeof digest) == 0;
    *differs = !same;
    if (!report->asked->json)
        sum_print(report);
    whole_print(report, whole, digest, &same);
out:
    vly_connectome_destroy(whole);
    return status;
}

/* A part cannot be built, why: the whole is shown instead. */
static vly_status whole_show(ranks_report *report, const vly_error *why,
                             vly_error *error)
{
    vly_status status;
    vly_connectome *whole = NULL;
    const uint32_t n_threads = report->asked->n_threads;
    VLY_TRY(vly_connectome_build(report->genome, n_threads, &whole, error));
    if (report->asked->json)
        json_text(&report->json, "no_part", why->message);
    whole_print(report, whole, vly_connectome_digest(whole, n_threads), NULL);
    tool_message("note: %s", why->message);
out:
    vly_connectome_destroy(whole);
    return status;
}

/* ---- all ----------------------------------------------------------------- */

static void report_begin(ranks_report *report)
{
    const check_ranks *asked = report->asked;
    if (!asked->json) {
        tool_print("%6s %14s %18s %12s %12s %10s  %s\n", "rank", "neurons",
                   "synapses", "bytes", "peak", "time", "digest");
        return;
    }
    json_object(&report->json, NULL);
    json_text(&report->json, "genome", report->genome->path);
    json_u64(&report->json, "ranks", asked->n_ranks);
    json_array(&report->json, "parts");
}

static vly_status report_end(ranks_report *report, vly_error *error)
{
    size_t n_text;
    const char *path = report->asked->json;
    if (!path)
        return VLY_OK;
    json_object_end(&report->json);
    const char *text = json_finish(&report->json, &n_text);
    if (!text)
        return vly_fail_nomem(error, report->json.capacity, "JSON");
    return vly_writer_save(path, text, n_text, error);
}

/* The parts asked for, up to one that a rank alone cannot build: *why has the
 * reason then, and the status is E_UNSUPPORTED. */
static vly_status parts_build(ranks_report *report, vly_error *why)
{
    vly_status status = VLY_OK;
    const check_ranks *asked = report->asked;
    const bool all = asked->rank == asked->n_ranks;
    const uint32_t end = all ? asked->n_ranks : asked->rank + 1;
    for (uint32_t r = all ? 0 : asked->rank; r < end; r++) {
        built_part part;
        VLY_TRY(part_build(report, r, &part, why));
        part_print(report, &part);
        report->n_synapses += part.n_synapses;
        report->digest = vly_digest_add(report->digest, part.digest);
    }
out:
    if (asked->json)
        json_array_end(&report->json);
    return status;
}

vly_status check_ranks_run(const vly_genome *genome, const check_ranks *asked,
                           bool *differs, vly_error *error)
{
    vly_status status;
    ranks_report report = {.genome = genome, .asked = asked};
    const bool all = asked->rank == asked->n_ranks;
    vly_error why = VLY_ERROR_INIT;
    *differs = false;
    json_init(&report.json, true);
    report.first = vly_malloc(asked->n_ranks + (size_t)1, sizeof *report.first);
    if (!report.first)
        VLY_TRY(vly_fail_nomem(error, asked->n_ranks * UINT64_C(4), "ranks"));
    VLY_TRY(vly_ranks_cut_genome(genome, asked->n_ranks, report.first, error));
    report_begin(&report);
    status = parts_build(&report, &why);
    if (status == VLY_E_UNSUPPORTED)
        VLY_TRY(whole_show(&report, &why, error));
    else if (status != VLY_OK)
        VLY_TRY(vly_fail(error, status, "%s", why.message));
    else if (all)
        VLY_TRY(whole_compare(&report, differs, error));
    VLY_TRY(report_end(&report, error));
out:
    vly_free(report.first);
    json_deinit(&report.json);
    return status;
}
