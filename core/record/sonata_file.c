/* SPDX-License-Identifier: Apache-2.0
 * Writes a SONATA file through calls to the writing process, then reads it
 * back, syncs and renames it. Empty in a build without HDF5.
 */
#ifdef VLY_HAVE_HDF5

#include "record/sonata_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/temporary.h"
#include "record/sonata_call.h"

enum { LIST_ROWS = 1 << 16 };

struct vly_sonata_file {
    char *path;              /* as given */
    vly_temporary temporary; /* the real path: links are followed */
    vly_child child;
    int calls; /* to the child; -1: there is none */
    int64_t root;
    vly_sonata_entry *entries;
    uint32_t n_entries;
    uint32_t n_room;
    vly_status failed; /* after the first failure nothing is called */
};

/* ---- the process that writes ------------------------------------------- */

static vly_status fail(vly_sonata_file *file, vly_status status,
                       const char *why, vly_error *error)
{
    file->failed = status;
    return vly_fail(error, status, "%.300s: cannot be written: %s%s",
                    file->path, status == VLY_E_NOMEM ? "out of memory: " : "",
                    why);
}

/* The process reads no damaged file: a crash means that malloc returned NULL,
 * SIGKILL that the system ran out of memory. */
static vly_status broke_down(vly_sonata_file *file, int end, vly_error *error)
{
    char why[120];
    const int number = WIFSIGNALED(end) ? WTERMSIG(end) : 0;
    const bool endless = number == SIGPROF || number == SIGALRM;
    snprintf(why, sizeof why, "HDF5 %s (%s %d)",
             endless             ? "found no end"
             : number == SIGKILL ? "was killed"
                                 : "crashed",
             number != 0 ? "signal" : "exit code",
             number != 0 ? number : WEXITSTATUS(end));
    return fail(file, endless ? VLY_E_IO : VLY_E_NOMEM, why, error);
}

static bool send_bytes(int out, const void *bytes, uint64_t n)
{
    const char *at = bytes;
    while (n > 0) {
        ssize_t done = send(out, at, (size_t)n, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at += done;
        n -= (uint64_t)done;
    }
    return true;
}

static int stop(vly_sonata_file *file, bool at_once)
{
    if (file->calls < 0)
        return 0;
    close(file->calls);
    file->calls = -1;
    return vly_child_stop(&file->child, at_once);
}

static vly_status judge(vly_sonata_file *file, vly_sonata_answer *answer,
                        vly_error *error)
{
    const bool memory = answer->status == VLY_E_NOMEM;
    answer->text[sizeof answer->text - 1] = '\0';
    return answer->status == VLY_OK
               ? VLY_OK
               : fail(file, memory ? VLY_E_NOMEM : VLY_E_IO, answer->text,
                      error);
}

/* call->n_bytes from two pieces. */
static vly_status ask(vly_sonata_file *file, const vly_sonata_call *call,
                      const void *first, uint64_t n_first, const void *second,
                      vly_sonata_answer *answer, vly_error *error)
{
    if (file->failed != VLY_OK)
        return fail(file, file->failed, "an earlier failure", error);
    if (!send_bytes(file->calls, call, sizeof *call) ||
        !send_bytes(file->calls, first, n_first) ||
        !send_bytes(file->calls, second, call->n_bytes - n_first) ||
        !vly_child_receive(&file->child, answer, sizeof *answer))
        return broke_down(file, stop(file, false), error);
    return judge(file, answer, error);
}

static vly_status ask_names(vly_sonata_file *file, vly_sonata_call call,
                            const char *name, const char *second,
                            vly_sonata_answer *answer, vly_error *error)
{
    const uint64_t n = strlen(name) + 1;
    call.n_bytes = n + (second ? strlen(second) + 1 : 0);
    return ask(file, &call, name, n, second, answer, error);
}

static vly_status start(vly_sonata_file *file, vly_error *error)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return fail(file, errno == ENOMEM ? VLY_E_NOMEM : VLY_E_IO,
                    strerror(errno), error);
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    vly_sonata_writer writer = {.in = ends[1], .asker = ends[0]};
    vly_status status = vly_child_start(&file->child, file->path,
                                        vly_sonata_write_calls, &writer, error);
    close(ends[1]);
    if (status != VLY_OK) {
        close(ends[0]);
        return status;
    }
    file->calls = ends[0];
    return VLY_OK;
}

/* ---- reading back ------------------------------------------------------ */

static vly_status add_entry(vly_sonata_file *file, const char *place,
                            vly_sonata_entry entry, vly_error *error)
{
    if (file->n_entries == file->n_room) {
        const uint32_t room = file->n_room + 64;
        void *grown = vly_realloc(file->entries, room, sizeof *file->entries);
        if (!grown)
            return vly_fail_nomem(error, room * sizeof *file->entries,
                                  "what a SONATA file has");
        file->entries = grown;
        file->n_room = room;
    }
    entry.place = vly_strdup(place);
    if (!entry.place)
        return vly_fail_nomem(error, strlen(place) + 1,
                              "what a SONATA file has");
    file->entries[file->n_entries++] = entry;
    return VLY_OK;
}

/* In a separate process: this one and the writer may have data in memory that
 * is not in the file. */
static vly_status read_back(vly_sonata_file *file, vly_error *error)
{
    vly_sonata_check check = {file->temporary.path, file->entries,
                              file->n_entries};
    vly_sonata_answer answer;
    vly_child child;
    vly_status status = VLY_OK;
    VLY_TRY(vly_child_start(&child, file->path, vly_sonata_check_file, &check,
                            error));
    const bool got = vly_child_receive(&child, &answer, sizeof answer);
    const int end = vly_child_stop(&child, got);
    if (!got)
        return broke_down(file, end, error);
    status = judge(file, &answer, error);
out:
    return status;
}

/* ---- the file ---------------------------------------------------------- */

static void free_file(vly_sonata_file *file)
{
    stop(file, true);
    vly_temporary_drop(&file->temporary);
    for (uint32_t i = 0; i < file->n_entries; i++)
        vly_free(file->entries[i].place);
    vly_free(file->entries);
    vly_free(file->path);
    vly_free(file);
}

static vly_status name_file(vly_sonata_file *file, const char *path,
                            vly_error *error)
{
    file->path = vly_strdup(path);
    if (!file->path)
        return vly_fail_nomem(error, strlen(path), "a file name");
    char *real = realpath(path, NULL);
    vly_status status =
        vly_temporary_open(real ? real : path, path, &file->temporary, error);
    free(real);
    return status;
}

static vly_status put_attribute(vly_sonata_file *file, int64_t object,
                                const char *name, vly_sonata_type type,
                                const void *values, uint64_t n,
                                vly_error *error)
{
    const uint64_t n_name = strlen(name) + 1;
    const uint32_t size = vly_sonata_size(type);
    const vly_sonata_call call = {.verb = VLY_SONATA_ATTRIBUTE,
                                  .type = type,
                                  .id = object,
                                  .n_rows = n,
                                  .n_bytes = n_name + n * size +
                                             (type == VLY_SONATA_TEXT ? 1 : 0)};
    const vly_sonata_entry entry = {.attribute = name,
                                    .type = type,
                                    .n_rows = n,
                                    .sum = vly_sonata_sum(0, values, n, size)};
    vly_sonata_answer answer;
    vly_status status = VLY_OK;
    VLY_TRY(ask(file, &call, name, n_name, values, &answer, error));
    status = add_entry(file, answer.text, entry, error);
out:
    return status;
}

vly_status vly_sonata_open(const char *path, const char *top,
                           vly_sonata_file **file, vly_error *error)
{
    static const uint32_t magic = 0x0A7A; /* of the developer guide */
    static const uint32_t version[2] = {0, 1};
    vly_sonata_file *made = vly_calloc(1, sizeof *made);
    vly_sonata_group group = {-1};
    vly_sonata_answer answer;
    vly_status status = VLY_OK;
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "a SONATA file");
    made->calls = -1;
    made->temporary = (vly_temporary)VLY_TEMPORARY_NONE;
    VLY_TRY(name_file(made, path, error));
    VLY_TRY(start(made, error));
    VLY_TRY(ask_names(made, (vly_sonata_call){.verb = VLY_SONATA_CREATE},
                      made->temporary.path, NULL, &answer, error));
    made->root = answer.id;
    VLY_TRY(put_attribute(made, made->root, "magic", VLY_SONATA_U32, &magic, 1,
                          error));
    VLY_TRY(put_attribute(made, made->root, "version", VLY_SONATA_U32, version,
                          2, error));
    vly_sonata_group root = {made->root};
    VLY_TRY(vly_sonata_group_open(made, &root, top, &group, error));
    VLY_TRY(vly_sonata_group_close(made, &group, error));
    *file = made;
    made = NULL;
out:
    vly_sonata_abandon(made);
    return status;
}

vly_status vly_sonata_close(vly_sonata_file *file, vly_error *error)
{
    const vly_sonata_call call = {.verb = VLY_SONATA_END};
    vly_sonata_answer answer;
    vly_status status = VLY_OK;
    VLY_TRY(ask(file, &call, NULL, 0, NULL, &answer, error));
    stop(file, false);
    VLY_TRY(read_back(file, error));
    status = vly_temporary_keep(&file->temporary, file->path, NULL, error);
out:
    free_file(file);
    return status;
}

void vly_sonata_abandon(vly_sonata_file *file)
{
    if (file)
        free_file(file);
}

/* ---- groups ------------------------------------------------------------ */

vly_status vly_sonata_group_open(vly_sonata_file *file,
                                 const vly_sonata_group *parent,
                                 const char *name, vly_sonata_group *group,
                                 vly_error *error)
{
    const vly_sonata_call call = {.verb = VLY_SONATA_GROUP, .id = parent->id};
    vly_sonata_answer answer;
    vly_status status = VLY_OK;
    VLY_TRY(ask_names(file, call, name, NULL, &answer, error));
    group->id = answer.id;
out:
    return status;
}

vly_status vly_sonata_population(vly_sonata_file *file, const char *top,
                                 const char *area, vly_sonata_group *group,
                                 vly_error *error)
{
    vly_sonata_group root = {file->root};
    char *name = vly_format("%s/%s", top, area);
    if (!name)
        return vly_fail_nomem(error, strlen(area), "a population");
    for (char *c = name + strlen(top) + 1; *c != '\0'; c++)
        *c = *c == '/' ? '.' : *c;
    vly_status status = vly_sonata_group_open(file, &root, name, group, error);
    vly_free(name);
    return status;
}

static vly_status end_object(vly_sonata_file *file, uint32_t verb, int64_t *id,
                             vly_error *error)
{
    const vly_sonata_call call = {.verb = verb, .id = *id};
    vly_sonata_answer answer;
    if (*id < 0)
        return VLY_OK;
    *id = -1;
    return ask(file, &call, NULL, 0, NULL, &answer, error);
}

vly_status vly_sonata_group_close(vly_sonata_file *file,
                                  vly_sonata_group *group, vly_error *error)
{
    return end_object(file, VLY_SONATA_GROUP_END, &group->id, error);
}

/* ---- sets -------------------------------------------------------------- */

static vly_status open_set(vly_sonata_file *file, const vly_sonata_group *group,
                           const char *name, vly_sonata_call call,
                           vly_sonata_set *set, vly_error *error)
{
    const vly_sonata_entry entry = {
        .type = (vly_sonata_type)call.type,
        .n_rows = call.n_rows,
        .n_columns = call.n_columns,
        .block_rows = call.chunk_rows > 0 ? call.chunk_rows : LIST_ROWS,
        .table = call.chunk_rows > 0};
    vly_sonata_answer answer;
    vly_status status = VLY_OK;
    call.verb = VLY_SONATA_SET;
    call.id = group->id;
    VLY_TRY(ask_names(file, call, name, NULL, &answer, error));
    VLY_TRY(add_entry(file, answer.text, entry, error));
    *set = (vly_sonata_set){.id = answer.id, .entry = file->n_entries - 1};
out:
    return status;
}

vly_status vly_sonata_set_open(vly_sonata_file *file,
                               const vly_sonata_group *group, const char *name,
                               vly_sonata_type type, uint64_t n,
                               vly_sonata_set *set, vly_error *error)
{
    return open_set(file, group, name,
                    (vly_sonata_call){.type = type, .n_rows = n}, set, error);
}

vly_status vly_sonata_table_open(vly_sonata_file *file,
                                 const vly_sonata_group *group,
                                 const char *name, vly_sonata_type type,
                                 uint64_t n_rows, uint64_t n_columns,
                                 uint64_t chunk_rows, uint64_t chunk_columns,
                                 vly_sonata_set *set, vly_error *error)
{
    return open_set(file, group, name,
                    (vly_sonata_call){.type = type,
                                      .n_rows = n_rows,
                                      .n_columns = n_columns,
                                      .chunk_rows = chunk_rows,
                                      .chunk_columns = chunk_columns},
                    set, error);
}

vly_status vly_sonata_append(vly_sonata_file *file, vly_sonata_set *set,
                             const void *values, uint64_t n, vly_error *error)
{
    vly_sonata_entry *entry = &file->entries[set->entry];
    const uint64_t columns = entry->table ? entry->n_columns : 1;
    const uint32_t size = vly_sonata_size(entry->type);
    const vly_sonata_call call = {.verb = VLY_SONATA_VALUES,
                                  .type = entry->type,
                                  .id = set->id,
                                  .first = set->n_rows,
                                  .n_rows = n,
                                  .n_columns = columns,
                                  .chunk_rows = entry->table,
                                  .n_bytes = n * columns * size};
    vly_sonata_answer answer;
    if (call.n_bytes == 0)
        return VLY_OK;
    vly_status status = VLY_OK;
    VLY_TRY(ask(file, &call, values, call.n_bytes, NULL, &answer, error));
    entry->sum +=
        vly_sonata_sum(set->n_rows * columns, values, n * columns, size);
    set->n_rows += n;
out:
    return status;
}

vly_status vly_sonata_set_close(vly_sonata_file *file, vly_sonata_set *set,
                                vly_error *error)
{
    return end_object(file, VLY_SONATA_SET_END, &set->id, error);
}

/* ---- attributes -------------------------------------------------------- */

vly_status vly_sonata_units(vly_sonata_file *file, const vly_sonata_set *set,
                            const char *units, vly_error *error)
{
    return put_attribute(file, set->id, "units", VLY_SONATA_TEXT, units,
                         strlen(units), error);
}

vly_status vly_sonata_sorted(vly_sonata_file *file, const vly_sonata_set *set,
                             vly_error *error)
{
    static const uint8_t yes = 1;
    return put_attribute(file, set->id, "sorted", VLY_SONATA_U8, &yes, 1,
                         error);
}

vly_status vly_sonata_sorting(vly_sonata_file *file,
                              const vly_sonata_group *group, vly_error *error)
{
    static const uint8_t by_time = 2;
    return put_attribute(file, group->id, "sorting", VLY_SONATA_SORTING,
                         &by_time, 1, error);
}

static const vly_sonata_entry *find_entry(const vly_sonata_file *file,
                                          const char *group, const char *name)
{
    const size_t n = strlen(group);
    for (uint32_t i = file->n_entries; i-- > 0;) {
        const vly_sonata_entry *entry = &file->entries[i];
        if (!entry->attribute && strncmp(entry->place, group, n) == 0 &&
            entry->place[n] == '/' && strcmp(entry->place + n + 1, name) == 0)
            return entry;
    }
    return NULL;
}

/* The second name must lead to the same values. */
vly_status vly_sonata_alias(vly_sonata_file *file,
                            const vly_sonata_group *group, const char *name,
                            const char *alias, vly_error *error)
{
    const vly_sonata_call call = {.verb = VLY_SONATA_LINK, .id = group->id};
    vly_sonata_answer answer;
    vly_status status = VLY_OK;
    VLY_TRY(ask_names(file, call, name, alias, &answer, error));
    const vly_sonata_entry *entry = find_entry(file, answer.text, name);
    char *place = vly_format("%s/%s", answer.text, alias);
    if (!place)
        return vly_fail_nomem(error, strlen(alias), "a place");
    if (entry)
        status = add_entry(file, place, *entry, error);
    vly_free(place);
out:
    return status;
}
#else
typedef int vly_sonata_none; /* ISO C wants a declaration in every file */

#endif
