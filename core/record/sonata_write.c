/* SPDX-License-Identifier: Apache-2.0
 * Writes with HDF5, in a child process that executes calls. The result of every
 * HDF5 function is checked, also when closing, which writes. Empty in a build
 * without HDF5.
 */
#ifdef VLY_HAVE_HDF5

#include "record/sonata_call.h"

#include <errno.h>
#include <hdf5.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/child.h"

typedef struct writing {
    hid_t file;
    hid_t set_plan; /* without times: the same stream, the same bytes */
    hid_t group_plan;
    hid_t access_plan;
    hid_t text_type;
    hid_t sorting_type;
    char *bytes; /* data after the call */
    uint64_t capacity;
    vly_sonata_answer answer;
} writing;

/* ---- why HDF5 failed --------------------------------------------------- */

typedef struct reason {
    char text[200];
    bool system; /* it is errno's */
    bool memory;
} reason;

/* The first error: HDF5 walks its stack from the bottom. */
static herr_t keep_reason(unsigned n, const H5E_error2_t *entry, void *arg)
{
    static const char marker[] = "error message = '";
    reason *why = arg;
    const char *found = strstr(entry->desc, marker);
    if (found) {
        /* "file write failed: ... errno = 28, error message = 'No space ..." */
        snprintf(why->text, sizeof why->text, "%s", found + strlen(marker));
        why->text[strcspn(why->text, "'")] = '\0';
        why->system = true;
    } else if (n == 0 || why->text[0] == '\0') {
        snprintf(why->text, sizeof why->text, "%.190s", entry->desc);
    }
    why->memory = why->memory || entry->min_num == H5E_NOSPACE ||
                  strstr(entry->desc, "alloc");
    return found != NULL;
}

void vly_sonata_begin(void)
{
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

int64_t vly_sonata_access_plan(void)
{
    hid_t plan = H5Pcreate(H5P_FILE_ACCESS);
    if (plan < 0 || H5Pset_file_locking(plan, 0, 1) < 0)
        return -1;
    return plan;
}

/* An empty stack means that there was no memory for the message. */
vly_status vly_sonata_reason(char *text, uint32_t n)
{
    reason why = {"", false, false};
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_reason, &why);
    H5Eclear2(H5E_DEFAULT);
    snprintf(text, n, "%s",
             why.text[0] != '\0' ? why.text : "HDF5 gave no reason");
    return !why.system && (why.memory || why.text[0] == '\0') ? VLY_E_NOMEM
                                                              : VLY_E_IO;
}

static bool fail(writing *w)
{
    w->answer.status = vly_sonata_reason(w->answer.text, sizeof w->answer.text);
    return false;
}

/* Stores the first failure of a call before another function of HDF5 clears its
 * stack: otherwise a full disk would be reported as lack of memory. Returns
 * good.
 */
static bool keep(writing *w, bool good)
{
    if (!good && w->answer.status == VLY_OK)
        (void)fail(w);
    return good;
}

/* ---- calls ------------------------------------------------------------- */

static hid_t stored_type(const writing *w, uint32_t type)
{
    switch (type) {
    case VLY_SONATA_F64:
        return H5T_IEEE_F64LE;
    case VLY_SONATA_F32:
        return H5T_IEEE_F32LE;
    case VLY_SONATA_U64:
        return H5T_STD_U64LE;
    case VLY_SONATA_U32:
        return H5T_STD_U32LE;
    case VLY_SONATA_U8:
        return H5T_STD_U8LE;
    case VLY_SONATA_TEXT:
        return w->text_type;
    default:
        return w->sorting_type;
    }
}

static hid_t given_type(const writing *w, uint32_t type)
{
    switch (type) {
    case VLY_SONATA_F64:
        return H5T_NATIVE_DOUBLE;
    case VLY_SONATA_F32:
        return H5T_NATIVE_FLOAT;
    case VLY_SONATA_U64:
        return H5T_NATIVE_UINT64;
    case VLY_SONATA_U32:
        return H5T_NATIVE_UINT32;
    case VLY_SONATA_U8:
        return H5T_NATIVE_UINT8;
    default:
        return stored_type(w, type);
    }
}

static bool make_types(writing *w)
{
    static const char *const names[] = {"none", "by_id", "by_time"};
    /* of variable length, as h5py writes them and readers expect */
    w->text_type = H5Tcopy(H5T_C_S1);
    w->sorting_type = H5Tenum_create(H5T_STD_U8LE);
    if (w->text_type < 0 || w->sorting_type < 0 ||
        H5Tset_size(w->text_type, H5T_VARIABLE) < 0 ||
        H5Tset_cset(w->text_type, H5T_CSET_UTF8) < 0)
        return fail(w);
    for (uint8_t value = 0; value < 3; value++)
        if (H5Tenum_insert(w->sorting_type, names[value], &value) < 0)
            return fail(w);
    return true;
}

static bool create(writing *w)
{
    w->set_plan = H5Pcreate(H5P_DATASET_CREATE);
    w->group_plan = H5Pcreate(H5P_GROUP_CREATE);
    w->access_plan = vly_sonata_access_plan();
    if (w->set_plan < 0 || w->group_plan < 0 || w->access_plan < 0 ||
        H5Pset_obj_track_times(w->set_plan, 0) < 0 ||
        H5Pset_fill_time(w->set_plan, H5D_FILL_TIME_NEVER) < 0 ||
        H5Pset_obj_track_times(w->group_plan, 0) < 0)
        return fail(w);
    if (!make_types(w))
        return false;
    w->file = H5Fcreate(w->bytes, H5F_ACC_TRUNC, H5P_DEFAULT, w->access_plan);
    w->answer.id = w->file;
    return w->file >= 0 || fail(w);
}

static bool make_group(writing *w, const vly_sonata_call *call)
{
    w->answer.id =
        H5Gcreate2(call->id, w->bytes, H5P_DEFAULT, w->group_plan, H5P_DEFAULT);
    return w->answer.id >= 0 || fail(w);
}

static bool tell_place(writing *w, hid_t object)
{
    const ssize_t n =
        H5Iget_name(object, w->answer.text, sizeof w->answer.text);
    return (n > 0 && (size_t)n < sizeof w->answer.text) || fail(w);
}

/* A table without rows or columns has no chunk. */
static bool make_set(writing *w, const vly_sonata_call *call)
{
    hsize_t dims[2] = {call->n_rows, call->n_columns};
    hsize_t chunk[2] = {call->chunk_rows < dims[0] ? call->chunk_rows : dims[0],
                        call->chunk_columns < dims[1] ? call->chunk_columns
                                                      : dims[1]};
    const bool table = call->chunk_rows > 0;
    const bool chunked = table && dims[0] > 0 && dims[1] > 0;
    hid_t plan = H5Pcopy(w->set_plan);
    hid_t space = H5Screate_simple(table ? 2 : 1, dims, NULL);
    bool good = plan >= 0 && space >= 0 &&
                (!chunked || H5Pset_chunk(plan, 2, chunk) >= 0);
    if (good)
        w->answer.id =
            H5Dcreate2(call->id, w->bytes, stored_type(w, call->type), space,
                       H5P_DEFAULT, plan, H5P_DEFAULT);
    good = keep(w, good && w->answer.id >= 0);
    good = keep(w, space < 0 || H5Sclose(space) >= 0) && good;
    good = keep(w, plan < 0 || H5Pclose(plan) >= 0) && good;
    return good && tell_place(w, w->answer.id);
}

static bool put_values(writing *w, const vly_sonata_call *call)
{
    const hsize_t start[2] = {call->first, 0};
    const hsize_t count[2] = {call->n_rows, call->n_columns};
    hid_t space = H5Dget_space(call->id);
    hid_t memory = H5Screate_simple(call->chunk_rows > 0 ? 2 : 1, count, NULL);
    bool good = space >= 0 && memory >= 0 &&
                H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count,
                                    NULL) >= 0 &&
                H5Dwrite(call->id, given_type(w, call->type), memory, space,
                         H5P_DEFAULT, w->bytes) >= 0;
    good = keep(w, good);
    good = keep(w, space < 0 || H5Sclose(space) >= 0) && good;
    return keep(w, memory < 0 || H5Sclose(memory) >= 0) && good;
}

static bool put_attribute(writing *w, const vly_sonata_call *call)
{
    const hsize_t n = call->n_rows;
    const char *text = w->bytes + strlen(w->bytes) + 1;
    uint32_t numbers[4] = {0};
    const bool is_text = call->type == VLY_SONATA_TEXT;
    const size_t n_bytes = (size_t)n * vly_sonata_size(call->type);
    if (!is_text && n_bytes <= sizeof numbers)
        memcpy(numbers, text, n_bytes);
    hid_t space = is_text || n == 1 ? H5Screate(H5S_SCALAR)
                                    : H5Screate_simple(1, &n, NULL);
    hid_t attribute =
        space < 0 ? -1
                  : H5Acreate2(call->id, w->bytes, stored_type(w, call->type),
                               space, H5P_DEFAULT, H5P_DEFAULT);
    bool good = attribute >= 0 &&
                H5Awrite(attribute, given_type(w, call->type),
                         is_text ? (const void *)&text : numbers) >= 0;
    good = keep(w, good);
    good = keep(w, attribute < 0 || H5Aclose(attribute) >= 0) && good;
    good = keep(w, space < 0 || H5Sclose(space) >= 0) && good;
    return good && tell_place(w, call->id);
}

static bool make_link(writing *w, const vly_sonata_call *call)
{
    const char *second = w->bytes + strlen(w->bytes) + 1;
    if (H5Lcreate_hard(call->id, w->bytes, call->id, second, H5P_DEFAULT,
                       H5P_DEFAULT) < 0)
        return fail(w);
    return tell_place(w, call->id);
}

/* A file with an object that could not be closed stays open, its last bytes in
 * memory. */
static bool end(writing *w)
{
    if (H5Pclose(w->set_plan) < 0 || H5Pclose(w->group_plan) < 0 ||
        H5Pclose(w->access_plan) < 0 || H5Tclose(w->text_type) < 0 ||
        H5Tclose(w->sorting_type) < 0 ||
        H5Fflush(w->file, H5F_SCOPE_GLOBAL) < 0)
        return fail(w);
    if (H5Fget_obj_count(w->file, H5F_OBJ_ALL) != 1) {
        w->answer.status = VLY_E_IO;
        snprintf(w->answer.text, sizeof w->answer.text,
                 "a part of it could not be closed");
        return false;
    }
    return H5Fclose(w->file) >= 0 || fail(w);
}

static bool serve(writing *w, const vly_sonata_call *call)
{
    switch (call->verb) {
    case VLY_SONATA_CREATE:
        return create(w);
    case VLY_SONATA_GROUP:
        return make_group(w, call);
    case VLY_SONATA_GROUP_END:
        return H5Gclose(call->id) >= 0 || fail(w);
    case VLY_SONATA_SET:
        return make_set(w, call);
    case VLY_SONATA_VALUES:
        return put_values(w, call);
    case VLY_SONATA_SET_END:
        return H5Dclose(call->id) >= 0 || fail(w);
    case VLY_SONATA_ATTRIBUTE:
        return put_attribute(w, call);
    case VLY_SONATA_LINK:
        return make_link(w, call);
    default:
        return end(w);
    }
}

/* ---- the process ------------------------------------------------------- */

/* NULL: there is no memory; the answer reports it and the data is discarded. */
static bool take_bytes(writing *w, const vly_child *asker, uint64_t n)
{
    char skipped[4096];
    if (n > w->capacity) {
        char *grown = realloc(w->bytes, (size_t)n);
        if (grown) {
            w->bytes = grown;
            w->capacity = n;
        }
    }
    if (n <= w->capacity)
        return vly_child_receive(asker, w->bytes, (size_t)n);
    w->answer.status = VLY_E_NOMEM;
    snprintf(w->answer.text, sizeof w->answer.text, "%llu bytes for values",
             (unsigned long long)n);
    while (n > 0) {
        const size_t part = n < sizeof skipped ? (size_t)n : sizeof skipped;
        if (!vly_child_receive(asker, skipped, part))
            return false;
        n -= part;
    }
    return true;
}

/* There is no time limit here: a disk may be slow. The parent handles signals.
 */
static void take_time(void)
{
    static const struct itimerval none = {.it_value = {0}};
    setitimer(ITIMER_PROF, &none, NULL);
    alarm(0);
    signal(SIGTERM, SIG_IGN);
}

void vly_sonata_write_calls(void *context, int out)
{
    const vly_sonata_writer *ends = context;
    const vly_child asker = {.in = ends->in};
    writing w = {.file = -1};
    vly_sonata_call call;
    take_time();
    close(ends->asker);
    vly_sonata_begin();
    while (vly_child_receive(&asker, &call, sizeof call)) {
        w.answer = (vly_sonata_answer){.status = VLY_OK, .id = -1};
        if (!take_bytes(&w, &asker, call.n_bytes))
            return;
        if (w.answer.status == VLY_OK)
            serve(&w, &call);
        if (!vly_child_send(out, &w.answer, sizeof w.answer))
            return;
    }
}

#else

/* ISO C wants a declaration in every file. */
typedef int vly_sonata_write_none;

#endif
