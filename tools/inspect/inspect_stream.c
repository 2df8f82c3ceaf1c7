/* SPDX-License-Identifier: Apache-2.0
 * Streams: what is in them, and making them into other files.
 */
#include "tools/inspect/inspect_stream.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/reading.h"
#include "base/writer.h"
#include "record/export.h"
#include "tools/cli/json_reader.h"
#include "tools/cli/output_apart.h"
#include "tools/cli/setup.h"
#include "tools/cli/tool.h"

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

/* A missing end of a killed run is not an error: streams are made for that. */
static vly_status judge(const char *path, const vly_stream_tail *tail,
                        vly_error *error)
{
    if (tail->state != VLY_STREAM_DAMAGED)
        return VLY_OK;
    return vly_fail(error, VLY_E_PARSE,
                    "%s: damaged at byte %" PRIu64 ", after burst %" PRIu64
                    ": what was written there and after it, %" PRIu64
                    " bytes, is lost",
                    path, tail->n_bytes, tail->n_bursts, tail->n_left);
}

static void print_head(const vly_stream_head *head)
{
    tool_print("recording (stream)\ngenome   %s\ndt_ms    %g\nfrom     burst "
               "%s\n",
               tool_hash_text(head->genome_hash.lane), head->dt_ms,
               tool_thousands(head->first_burst));
    if (head->connectome_digest.lane[0] != 0 ||
        head->connectome_digest.lane[1] != 0)
        tool_print("connectome digest %s\n",
                   tool_hash_text(head->connectome_digest.lane));
    for (uint32_t r = 0; r < head->n_reports; r++) {
        const vly_stream_report *report = &head->reports[r];
        tool_plain_text area;
        tool_plain_text field;
        tool_print("field    %s of %s neurons of %s%s, every %s bursts\n",
                   tool_plain(report->field, &field),
                   tool_thousands(report->n_neurons),
                   tool_plain(head->areas[report->area].name, &area),
                   report->mean ? ", their mean" : "",
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

/* "run.h5.vls" becomes "run.h5". NULL if memory ran out. */
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
    vly_export_format format =
        to ? vly_export_format_of(to) : (vly_export_format)head->purpose;
    target = to ? vly_strdup(to) : target_of(path, head);
    if (!target) {
        status = vly_fail_nomem(error, strlen(path), "a file name");
        goto out;
    }
    VLY_TRY(vly_export(reader, format, target, false, &counts, tell_file, NULL,
                       error));
    print_tail(&counts.tail);
    status = judge(path, &counts.tail, error);
out:
    vly_export_counts_deinit(&counts);
    vly_stream_reader_close(reader);
    vly_free(target);
    return status;
}

/* ---- CSV ----------------------------------------------------------------- */

static bool is_csv(const char *path)
{
    char head[sizeof VLY_SPIKE_CSV_HEADER - 1];
    FILE *file = NULL;
    (void)vly_reading_open(path, VLY_READ_FILE, &file, NULL);
    size_t n = file ? fread(head, 1, sizeof head, file) : 0;
    if (file)
        fclose(file);
    return n == sizeof head && memcmp(head, VLY_SPIKE_CSV_HEADER, n) == 0;
}

/* Bytes up to the end of the last complete line, the number of lines, and the
 * bytes after them. */
static vly_status whole_lines(const char *path, uint64_t *n_bytes,
                              uint64_t *n_lines, uint64_t *n_left,
                              vly_error *error)
{
    FILE *file = NULL;
    char buffer[16384];
    uint64_t at = 0;
    size_t n = 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_reading_open(path, VLY_READ_FILE, &file, error));
    *n_bytes = 0;
    *n_lines = 0;
    while ((n = fread(buffer, 1, sizeof buffer, file)) > 0) {
        for (size_t i = 0; i < n; i++) {
            if (buffer[i] != '\n')
                continue;
            *n_bytes = at + i + 1;
            ++*n_lines;
        }
        at += n;
    }
    *n_left = at - *n_bytes;
    bool failed = ferror(file) != 0;
    fclose(file);
    if (failed)
        return vly_fail(error, VLY_E_IO, "%s: cannot be read", path);
out:
    return status;
}

/* A CSV of a killed run may end in a cut line, which is removed. Other damage
 * cannot be found without a checksum. The file is locked first, as for
 * resuming. */
static vly_status repair_csv(const char *path, vly_error *error)
{
    uint64_t n_bytes = 0;
    uint64_t n_lines = 0;
    uint64_t n_left = 0;
    vly_writer *writer = NULL;
    tool_plain_text text;
    vly_status status = VLY_OK;
    VLY_TRY(whole_lines(path, &n_bytes, &n_lines, &n_left, error));
    VLY_TRY(vly_writer_resume(path, n_bytes, &writer, error));
    VLY_TRY(vly_writer_close(writer, error));
    tool_print("CSV      %s\nspikes   %s\n", tool_plain(path, &text),
               tool_thousands(n_lines > 0 ? n_lines - 1 : 0));
    if (n_left > 0)
        tool_print("cut off  the last %s bytes, a line without its end\n",
                   tool_thousands(n_left));
out:
    return status;
}

static vly_status repair_file(const char *path, const char *to,
                              vly_error *error)
{
    return !to && is_csv(path) ? repair_csv(path, error)
                               : repair_stream(path, to, error);
}

/* ---- a folder ------------------------------------------------------------ */

static int compare_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Streams, and the CSV of -o. */
static int is_recording(const struct dirent *entry)
{
    return has_suffix(entry->d_name) ||
           strcmp(entry->d_name, "spikes.csv") == 0;
}

/* One of several files: the others may be intact, so the first error is
 * kept. */
static void repair_one(const char *path, vly_status *first, vly_error *error)
{
    vly_error why = VLY_ERROR_INIT;
    vly_status status = path ? repair_file(path, NULL, &why)
                             : vly_fail_nomem(&why, 4096, "a file name");
    if (status != VLY_OK && *first == VLY_OK) {
        *first = status;
        if (error)
            *error = why;
    } else if (status != VLY_OK) {
        tool_message("%s", why.message);
    }
}

static bool is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* The stream of a recording, or the CSV of a killed run; the CSV of a run that
 * ended is complete. NULL: no such file. */
static char *unfinished(const char *recording, bool running)
{
    char *path = vly_format("%s" VLY_STREAM_SUFFIX, recording);
    if (path && is_file(path))
        return path;
    vly_free(path);
    return is_file(recording) &&
                   (has_suffix(recording) || (running && is_csv(recording)))
               ? vly_strdup(recording)
               : NULL;
}

/* The recording that --record has put elsewhere; NULL: none, or it is complete.
 * The path relative to the folder is tried first; the other path is relative to
 * the place where the run began. */
static char *find_elsewhere(const char *folder)
{
    json_value manifest = {0};
    char *path = vly_format("%s/manifest.json", folder);
    char *seen = NULL;
    char *found = NULL;
    if (!path || !is_file(path) || json_load(path, &manifest, NULL) != VLY_OK)
        goto out;
    const char *reason = json_find_text(&manifest, "exit_reason");
    const bool running = reason && strcmp(reason, "running") == 0;
    const char *named = json_find_text(&manifest, "recording");
    const char *from = json_find_text(&manifest, "recording_from_folder");
    if (from && (seen = vly_format("%s/%s", folder, from)) != NULL)
        found = unfinished(seen, running);
    if (!found && named && (!from || named[0] == '/'))
        found = unfinished(named, running);
out:
    json_free(&manifest);
    vly_free(path);
    vly_free(seen);
    return found;
}

static vly_status repair_folder(const char *folder, vly_error *error)
{
    struct dirent **entries = NULL;
    vly_status first = VLY_OK;
    int n = scandir(folder, &entries, is_recording, compare_names);
    if (n < 0)
        return vly_fail(error, VLY_E_IO, "%s: cannot be read: %s", folder,
                        strerror(errno));
    char *elsewhere = find_elsewhere(folder);
    bool any = n > 0 || elsewhere;
    for (int i = 0; i < n; i++) {
        char *path = vly_format("%s/%s", folder, entries[i]->d_name);
        if (tool_is_same_file(path, elsewhere)) {
            vly_free(elsewhere);
            elsewhere = NULL;
        }
        repair_one(path, &first, error);
        vly_free(path);
        free(entries[i]);
    }
    free(entries);
    if (elsewhere)
        repair_one(elsewhere, &first, error);
    vly_free(elsewhere);
    if (any)
        return first;
    return vly_fail(error, VLY_E_INVALID,
                    "%s: neither a stream (*" VLY_STREAM_SUFFIX
                    ") nor spikes.csv in the folder, and none that its "
                    "manifest.json names: nothing to repair; volley inspect "
                    "--repair FILE" VLY_STREAM_SUFFIX " takes one stream",
                    folder);
}

vly_status inspect_repair(const char *path, const char *to, vly_error *error)
{
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) {
        vly_status status = output_apart(to, path, "what is repaired", error);
        return status == VLY_OK ? repair_file(path, to, error) : status;
    }
    if (to)
        return vly_fail(error, VLY_E_INVALID,
                        "--to: %s is a folder, wanted one stream", path);
    return repair_folder(path, error);
}
