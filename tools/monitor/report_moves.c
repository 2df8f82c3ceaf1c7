/* SPDX-License-Identifier: Apache-2.0
 * What bursts took before and after a net was moved, and the longest record, on
 * the page of `monitor report`. The monitor learns again after a move and
 * reports only far more work; a user who asked for a place may want to know
 * whether it is as fast as it should be.
 */
#include "tools/monitor/report.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/cli/tool.h"
#include "tools/monitor/telemetry_file.h"

/* Number of records on each side, and of moves, that are printed. */
enum { LATE = 32, SHOWN = 20 };

/* Seconds per burst of the last records on one backend. */
typedef struct times {
    double late[LATE];
    uint32_t n;
} times;

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* n > 0; sorts them. */
static double median(times *of)
{
    const uint32_t n = of->n < LATE ? of->n : LATE;
    qsort(of->late, n, sizeof *of->late, ascending);
    return (of->late[(n - 1) / 2] + of->late[n / 2]) / 2;
}

static void print_move(uint64_t burst, times *before, times *after)
{
    if (before->n == 0 || after->n == 0)
        return;
    tool_print("  moved      by burst %s: a burst took %s before and %s after "
               "(medians of %d records at most)\n",
               tool_thousands(burst), tool_seconds(median(before)),
               tool_seconds(median(after)), LATE);
}

/* Shows a hang that was too short for an alarm. */
typedef struct lengths {
    double sum;
    uint64_t n;
    double longest;
    uint64_t bursts; /* of that one, and its last */
    uint64_t burst;
} lengths;

static void add_length(lengths *of, const telemetry_entry *entry)
{
    /* without requested pauses */
    const double seconds = (double)entry->record.wall_ns * 1e-9;
    of->sum += seconds;
    of->n++;
    if (seconds <= of->longest)
        return;
    of->longest = seconds;
    of->bursts = entry->record.bursts;
    of->burst = entry->record.burst;
}

static void print_lengths(const lengths *of)
{
    if (of->n < 2)
        return;
    tool_print("  records    %s (short ones are part of the next), of %s in "
               "the mean; the longest %s for %s burst%s, by burst %s\n",
               tool_thousands(of->n), tool_seconds(of->sum / (double)of->n),
               tool_seconds(of->longest), tool_thousands(of->bursts),
               of->bursts == 1 ? "" : "s", tool_thousands(of->burst));
}

static vly_status read_moves(telemetry_file *file, vly_error *error)
{
    times before = {.n = 0};
    times now = {.n = 0};
    lengths all = {.n = 0};
    uint32_t n_moves = 0;
    uint64_t burst = 0;
    vly_status status = VLY_OK;
    for (;;) {
        telemetry_entry entry;
        bool more = false;
        VLY_TRY(telemetry_file_next(file, &more, &entry, error));
        if (!more)
            break;
        add_length(&all, &entry);
        if (entry.moved) {
            if (n_moves > 0 && n_moves <= SHOWN)
                print_move(burst, &before, &now);
            n_moves++;
            burst = entry.record.burst - entry.record.bursts;
            before = now;
            now.n = 0;
        }
        /* the last records on a backend: the first are slow */
        if (entry.record.bursts > 0)
            now.late[now.n++ % LATE] = (double)entry.record.run_ns * 1e-9 /
                                       (double)entry.record.bursts;
    }
    if (n_moves > 0 && n_moves <= SHOWN)
        print_move(burst, &before, &now);
    print_lengths(&all);
out:
    return status;
}

void report_moves_print(const report *page)
{
    vly_error error = VLY_ERROR_INIT;
    telemetry_file *file = NULL;
    tool_plain_text copy;
    char *path = vly_format("%s/telemetry.jsonl", page->folder);
    if (!path || access(path, F_OK) != 0) {
        vly_free(path);
        return;
    }
    vly_status status = telemetry_file_open(path, &file, &error);
    if (status == VLY_OK)
        status = read_moves(file, &error);
    if (status != VLY_OK)
        tool_print("  moved      not known: %s\n",
                   tool_plain(error.message, &copy));
    telemetry_file_close(file);
    vly_free(path);
}
