/* SPDX-License-Identifier: Apache-2.0
 * Changes that earlier processes of a resumed run made, from the log of its
 * folder. Each process adds its lines there, at once, so the log also has the
 * changes of one that was killed, and those of `volley ctl`.
 */
#include "tools/run/run_change_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/cli/json_reader.h"
#include "tools/cli/options.h"

char *run_change_text(const run_change *change)
{
    return vly_format("burst %" PRIu64 ": %s = %.17g", change->burst,
                      change->path, change->value);
}

/* What run_change_text wrote. E_PARSE without a message: something else. */
static vly_status read_text(const char *text, run_change *change,
                            vly_error *error)
{
    const char *path = text ? strstr(text, ": ") : NULL;
    const char *value = path ? strrchr(path, '=') : NULL;
    if (!value || value - path < 4 ||
        !tool_read_number(value + 2, &change->value))
        return VLY_E_PARSE;
    change->path = vly_format("%.*s", (int)(value - path) - 3, path + 2);
    return change->path ? VLY_OK
                        : vly_fail_nomem(error, strlen(text), "a change");
}

void run_change_past_free(run_change_past *past)
{
    for (uint32_t k = 0; k < past->n; k++)
        vly_free(past->changes[k].path);
    vly_free(past->changes);
    *past = (run_change_past){0};
}

/* What came from this burst on did not happen: a process went on from it. */
static void drop_from(run_change_past *past, uint64_t burst)
{
    while (past->n > 0 && past->changes[past->n - 1].burst >= burst)
        vly_free(past->changes[--past->n].path);
}

static vly_status add(run_change_past *past, uint64_t burst, const char *text,
                      vly_error *error)
{
    run_change change = {.burst = burst};
    vly_status status = read_text(text, &change, error);
    if (status != VLY_OK)
        return status;
    run_change *grown =
        vly_realloc(past->changes, (size_t)past->n + 1, sizeof *grown);
    if (!grown) {
        vly_free(change.path);
        return vly_fail_nomem(error, sizeof *grown, "a change");
    }
    past->changes = grown;
    grown[past->n++] = change;
    return VLY_OK;
}

typedef struct log_reader {
    run_change_past *past;
    uint64_t until;
    bool from_start; /* all lines since a start at burst 0 were read */
    bool has_checkpoint;
} log_reader;

static vly_status take_event(log_reader *log, const json_value *line,
                             vly_error *error)
{
    const char *event = json_find_text(line, "event");
    const char *text = json_find_text(line, "text");
    const double burst = json_find_number(line, "burst", -1.0);
    char of_burst[40];
    vly_status status = VLY_OK;
    if (!event || !(burst >= 0.0 && burst <= 0x1p53))
        return VLY_E_PARSE;
    if (strcmp(event, "start") == 0) {
        drop_from(log->past, 0);
        log->from_start = burst == 0.0; /* otherwise in a folder of its own */
        log->has_checkpoint = false;
    } else if (strcmp(event, "resume") == 0) {
        drop_from(log->past, (uint64_t)burst);
    } else if (strcmp(event, "checkpoint") == 0 && text) {
        snprintf(of_burst, sizeof of_burst, "of burst %" PRIu64 ",",
                 log->until);
        if (strncmp(text, of_burst, strlen(of_burst)) == 0)
            log->has_checkpoint = true;
    } else if (strcmp(event, "change") == 0) {
        status = add(log->past, (uint64_t)burst, text, error);
    }
    return status;
}

vly_status run_change_past_read(const char *path, uint64_t burst,
                                run_change_past *past, vly_error *error)
{
    log_reader log = {.past = past, .until = burst};
    char *line = NULL;
    size_t size = 0;
    vly_status status = VLY_OK;
    *past = (run_change_past){0};
    FILE *file = fopen(path, "rbe");
    if (!file)
        return VLY_OK;
    while (status == VLY_OK && getline(&line, &size, file) >= 0) {
        vly_error why = VLY_ERROR_INIT;
        json_value event;
        status = json_parse(line, path, &event, &why);
        if (status == VLY_OK) {
            status = take_event(&log, &event, &why);
            json_free(&event);
        }
        if (status == VLY_E_PARSE) { /* cut off, or of another version */
            log.from_start = false;
            status = VLY_OK;
        }
        if (status != VLY_OK)
            *error = why;
    }
    past->is_whole =
        log.from_start && log.has_checkpoint && feof(file) && !ferror(file);
    /* one in the burst of the checkpoint came before it or after it */
    uint32_t n = past->n;
    drop_from(past, burst);
    past->is_whole = past->is_whole && past->n == n;
    free(line); /* of getline */
    fclose(file);
    if (status != VLY_OK)
        run_change_past_free(past);
    return status;
}
