/* SPDX-License-Identifier: Apache-2.0
 * What the folder of a run tells of its end.
 */
#include "tools/run/folder_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/reading.h"
#include "tools/cli/json_reader.h"

/* A file system with less free space counts as full: a line of a run may be as
 * long. */
static const double least_bytes = 65536;

bool folder_is_locked(const char *folder)
{
    char *path = vly_format("%s/log.jsonl", folder);
    const int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    vly_free(path);
    if (fd < 0)
        return false;
    const bool locked =
        flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    return locked;
}

bool folder_is_full(const char *folder)
{
    struct statvfs disk;
    return statvfs(folder, &disk) == 0 &&
           (double)disk.f_bavail * (double)disk.f_frsize < least_bytes;
}

bool folder_likely(const folder_end *end, char *text, size_t capacity)
{
    if (end->message[0])
        (void)snprintf(text, capacity, "an error, its last message: %s",
                       end->message);
    else if (end->full)
        (void)snprintf(text, capacity,
                       "its disk was full, as it is now: it could not write "
                       "how it ended");
    else if (end->cut[0])
        (void)snprintf(text, capacity,
                       "killed while it wrote, or its disk was full: the last "
                       "line of %s is cut",
                       end->cut);
    else
        text[0] = '\0';
    return text[0] != '\0';
}

static void copy(const json_value *line, const char *key, char *to,
                 size_t capacity)
{
    const char *text = json_find_text(line, key);
    (void)snprintf(to, capacity, "%s", text ? text : "");
}

static void read_line(const char *text, folder_last *last)
{
    json_value line = {0};
    if (json_parse(text, "a line", &line, NULL) != VLY_OK)
        return;
    const double burst = json_find_number(&line, "burst", -1);
    if (burst >= 0 && burst < 0x1p63) {
        const uint64_t at = (uint64_t)burst;
        last->any = true;
        last->burst = at > last->burst ? at : last->burst;
        copy(&line, "time", last->time, sizeof last->time);
    }
    copy(&line, "event", last->event, sizeof last->event);
    copy(&line, "text", last->text, sizeof last->text);
    json_free(&line);
}

void folder_last_read(const char *path, folder_last *last)
{
    vly_lines lines = {.path = path};
    *last = (folder_last){.any = false};
    if (vly_reading_open(path, VLY_READ_FILE, &lines.file, NULL) != VLY_OK)
        return;
    while (vly_lines_next(&lines, NULL) == VLY_OK && lines.n > 0) {
        last->cut = lines.line[lines.n - 1] != '\n';
        if (!last->cut)
            read_line(lines.line, last);
    }
    vly_lines_deinit(&lines);
    (void)fclose(lines.file);
}

static void look_at(folder_end *end, const char *path, const char *name)
{
    folder_last last;
    folder_last_read(path, &last);
    if (last.cut)
        (void)snprintf(end->cut, sizeof end->cut, "%s", name);
    if (strcmp(name, "log.jsonl") == 0 && strcmp(last.event, "error") == 0)
        (void)snprintf(end->message, sizeof end->message, "%s", last.text);
    /* at the same burst the later file wins */
    if (!last.any || last.burst < end->burst)
        return;
    end->burst = last.burst;
    (void)snprintf(end->time, sizeof end->time, "%s", last.time);
    (void)snprintf(end->by, sizeof end->by, "%s", name);
}

vly_status folder_end_read(const char *folder, folder_end *end,
                           vly_error *error)
{
    static const char *const names[] = {"log.jsonl", "monitor.jsonl",
                                        "telemetry.jsonl"};
    *end = (folder_end){.full = folder_is_full(folder)};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = vly_format("%s/%s", folder, names[i]);
        if (!path)
            return vly_fail_nomem(error, strlen(folder), "a path");
        look_at(end, path, names[i]);
        vly_free(path);
    }
    return VLY_OK;
}
