/* SPDX-License-Identifier: Apache-2.0
 * What the folder of a run tells of its end.
 */
#include "folder_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/memory.h"
#include "json_reader.h"

/* Below that a file system counts as full: a line of a run may be as long. */
static const double least_bytes = 65536;

bool folder_is_locked(const char *folder)
{
    char *path = vly_format("%s/log.jsonl", folder);
    const int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
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

bool folder_likely(const char *message, bool full, const char *cut, char *text,
                   size_t capacity)
{
    if (message[0])
        (void)snprintf(text, capacity, "an error, which is its last word: %s",
                       message);
    else if (full)
        (void)snprintf(text, capacity,
                       "its disk was full, as it is now: it could not write "
                       "how it ended");
    else if (cut[0])
        (void)snprintf(text, capacity,
                       "killed while it wrote, or its disk was full: the last "
                       "line of %s is cut",
                       cut);
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
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n = 0;
    *last = (folder_last){.any = false};
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    while ((n = getline(&line, &capacity, file)) > 0) {
        last->cut = line[n - 1] != '\n';
        if (!last->cut)
            read_line(line, last);
    }
    free(line); /* of getline */
    (void)fclose(file);
}
