/* SPDX-License-Identifier: Apache-2.0
 * Streams: what is in them, and making them into other files.
 */
#include "inspect_stream.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "record/export.h"
#include "tool.h"

static const char *const states[] = {
    [VLY_STREAM_WHOLE] = "whole",
    [VLY_STREAM_OPEN] = "without its end: the run was killed",
    [VLY_STREAM_CUT] = "without its end: the run was killed",
    [VLY_STREAM_DAMAGED] = "damaged"};

static void print_tail(const vly_stream_tail *tail)
{
    tool_print("state    %s\n", states[tail->state]);
    if (tail->n_left > 0)
        tool_print("left out the last %s bytes, from byte %s on\n",
                   tool_thousands(tail->n_left), tool_thousands(tail->n_bytes));
    tool_print("bursts   done: %s\nspikes   %s\n",
               tool_thousands(tail->n_bursts), tool_thousands(tail->n_spikes));
    if (tail->n_frames > 0)
        tool_print("samples  %s\n", tool_thousands(tail->n_frames));
}

/* Not an error where a run was killed: that is what a stream is for. */
static vly_status judge(const char *path, const vly_stream_tail *tail,
                        vly_error *error)
{
    if (tail->state != VLY_STREAM_DAMAGED)
        return VLY_OK;
    return vly_fail(error, VLY_E_PARSE,
                    "%s: damaged at byte %" PRIu64 ", after burst %" PRIu64
                    ": what was written there and behind it, %" PRIu64
                    " bytes, is lost",
                    path, tail->n_bytes, tail->n_bursts, tail->n_left);
}

static void print_head(const vly_stream_head *head)
{
    tool_print("recording (stream)\ngenome   %s\ndt_ms    %g\nfrom     burst "
               "%s\n",
               tool_hash_text(&head->genome_hash), head->dt_ms,
               tool_thousands(head->first_burst));
    for (uint32_t r = 0; r < head->n_reports; r++) {
        const vly_stream_report *report = &head->reports[r];
        tool_plain_text area;
        tool_plain_text field;
        tool_print("field    %s of %s neurons of %s, every %s bursts\n",
                   tool_plain(report->field, &field),
                   tool_thousands(report->n_neurons),
                   tool_plain(head->areas[report->area].name, &area),
                   tool_thousands(report->interval));
    }
}

vly_status inspect_stream(const char *path, vly_error *error)
{
    vly_stream_reader *reader = NULL;
    vly_export_counts counts = {0};
    vly_status status = VLY_OK;
    VLY_TRY(vly_stream_reader_open(path, &reader, error));
    VLY_TRY(vly_export_count(reader, &counts, error));
    const vly_stream_head *head = vly_stream_reader_head(reader);
    print_head(head);
    print_tail(&counts.tail);
    for (uint32_t a = 0; a < head->n_areas; a++) {
        tool_plain_text name;
        if (head->areas[a].recorded)
            tool_print("area     %s: %s spikes\n",
                       tool_plain(head->areas[a].name, &name),
                       tool_thousands(counts.area_spikes[a]));
    }
    status = judge(path, &counts.tail, error);
out:
    vly_export_counts_deinit(&counts);
    vly_stream_reader_close(reader);
    return status;
}

/* ---- repair ------------------------------------------------------------ */

static bool has_suffix(const char *path)
{
    size_t n = strlen(path);
    size_t n_suffix = strlen(VLY_STREAM_SUFFIX);
    return n > n_suffix && strcmp(path + n - n_suffix, VLY_STREAM_SUFFIX) == 0;
}

/* "run.h5.vls" is to become "run.h5". NULL without memory. */
static char *target_of(const char *path, const vly_stream_head *head)
{
    size_t n = strlen(path);
    if (head->purpose == VLY_EXPORT_NONE)
        return vly_strdup(path);
    if (has_suffix(path))
        n -= strlen(VLY_STREAM_SUFFIX);
    else /* renamed: beside it */
        return vly_format("%s.%s", path,
                          head->purpose == VLY_EXPORT_SONATA ? "h5" : "csv");
    return vly_format("%.*s", (int)n, path);
}

static void tell_file(void *arg, const char *path)
{
    tool_plain_text text;
    (void)arg;
    tool_print("made     %s\n", tool_plain(path, &text));
}

static vly_status repair_stream(const char *path, const char *to,
                                vly_error *error)
{
    vly_stream_reader *reader = NULL;
    vly_export_counts counts = {0};
    vly_status status = VLY_OK;
    tool_plain_text text;
    char *target = NULL;
    tool_print("stream   %s\n", tool_plain(path, &text));
    VLY_TRY(vly_stream_reader_open(path, &reader, error));
    const vly_stream_head *head = vly_stream_reader_head(reader);
    vly_export_format format = to != NULL ? vly_export_format_of(to)
                                          : (vly_export_format)head->purpose;
    target = to != NULL ? vly_strdup(to) : target_of(path, head);
    if (target == NULL) {
        status = vly_fail_nomem(error, strlen(path), "a file name");
        goto out;
    }
    VLY_TRY(
        vly_export(reader, format, target, &counts, tell_file, NULL, error));
    print_tail(&counts.tail);
    status = judge(path, &counts.tail, error);
out:
    vly_export_counts_deinit(&counts);
    vly_stream_reader_close(reader);
    vly_free(target);
    return status;
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_stream(const struct dirent *entry)
{
    return has_suffix(entry->d_name);
}

static vly_status repair_folder(const char *folder, vly_error *error)
{
    struct dirent **entries = NULL;
    vly_status first = VLY_OK;
    int n = scandir(folder, &entries, is_stream, compare_names);
    if (n < 0)
        return vly_fail(error, VLY_E_IO, "%s: cannot be read: %s", folder,
                        strerror(errno));
    for (int i = 0; i < n; i++) {
        char *path = vly_format("%s/%s", folder, entries[i]->d_name);
        vly_error why = VLY_ERROR_INIT;
        vly_status status = path != NULL
                                ? repair_stream(path, NULL, &why)
                                : vly_fail_nomem(&why, 4096, "a file name");
        vly_free(path);
        /* the others may be good */
        if (status != VLY_OK && first == VLY_OK) {
            first = status;
            if (error != NULL)
                *error = why;
        } else if (status != VLY_OK) {
            tool_message("%s", why.message);
        }
        free(entries[i]);
    }
    free(entries);
    if (n > 0)
        return first;
    return vly_fail(error, VLY_E_INVALID,
                    "%s: no stream (*" VLY_STREAM_SUFFIX
                    ") in the folder: nothing to repair",
                    folder);
}

vly_status inspect_repair(const char *path, const char *to, vly_error *error)
{
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        return repair_stream(path, to, error);
    if (to != NULL)
        return vly_fail(error, VLY_E_INVALID,
                        "--to: %s is a folder, wanted one stream", path);
    return repair_folder(path, error);
}
