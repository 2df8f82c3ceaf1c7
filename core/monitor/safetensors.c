/* SPDX-License-Identifier: Apache-2.0
 * A .safetensors file: checks its header and size, and reads its bytes.
 */
#include "monitor/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/transfer.h"
#include "monitor/safetensors_header.h"

enum { LENGTH_BYTES = 8 };

struct vly_safetensors {
    int fd;
    char *path;
    char *text; /* of the header; names point into it */
    safetensors_header header;
    struct stat about; /* when it was checked */
};

/* ---- bytes ----------------------------------------------------------------
 */

static bool is_as_it_was(const struct stat *was, const struct stat *is)
{
    return was->st_size == is->st_size &&
           was->st_mtim.tv_sec == is->st_mtim.tv_sec &&
           was->st_mtim.tv_nsec == is->st_mtim.tv_nsec;
}

/* Bytes [at, at + n) of the file, all of them. */
static vly_status read_bytes(const vly_safetensors *file, uint64_t at,
                             uint64_t n, void *out, vly_error *error)
{
    char *to = out;
    struct stat now;
    while (n > 0) {
        const ssize_t got = vly_transfer_read_at(file->fd, to, (size_t)n, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return vly_fail(error, VLY_E_IO, "%.300s: cannot be read: %s",
                            file->path, strerror(errno));
        if (got == 0)
            return vly_fail(
                error, VLY_E_IO,
                "%.300s: cannot be read: it was cut at byte %" PRIu64
                " since it was opened",
                file->path, at);
        to += got;
        at += (uint64_t)got;
        n -= (uint64_t)got;
    }
    /* checked after reading: detects changes before and during the read */
    if (fstat(file->fd, &now) != 0 || !is_as_it_was(&file->about, &now))
        return vly_fail(error, VLY_E_IO,
                        "%.300s: cannot be read: it was changed since it was "
                        "opened",
                        file->path);
    return VLY_OK;
}

vly_status vly_safetensors_read(const vly_safetensors *file,
                                const vly_safetensor *tensor, uint64_t first,
                                uint64_t n, void *out, vly_error *error)
{
    if (first > tensor->n_bytes || n > tensor->n_bytes - first)
        return vly_fail(error, VLY_E_INVALID,
                        "%.300s: tensor %.200s: bytes %" PRIu64 " and %" PRIu64
                        " more are wanted, it has %" PRIu64,
                        file->path, tensor->name, first, n, tensor->n_bytes);
    return read_bytes(file, tensor->begin + first, n, out, error);
}

/* ---- layout of tensors -----------------------------------------------------
 */

static int by_place(const void *a, const void *b)
{
    const vly_safetensor *s = *(const vly_safetensor *const *)a;
    const vly_safetensor *t = *(const vly_safetensor *const *)b;
    if (s->begin != t->begin)
        return s->begin < t->begin ? -1 : 1;
    if (s->n_bytes != t->n_bytes)
        return s->n_bytes < t->n_bytes ? -1 : 1;
    return strcmp(s->name, t->name);
}

/* sorted by place; data: bytes of the file after the header */
static vly_status check_gaps(const vly_safetensors *file,
                             const vly_safetensor *const *sorted, uint64_t data,
                             vly_error *error)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < file->header.n_tensors; i++) {
        const vly_safetensor *tensor = sorted[i];
        if (tensor->begin < end)
            return vly_fail(error, VLY_E_PARSE,
                            "%.300s: tensor %.200s begins at offset %" PRIu64
                            ", wanted %" PRIu64
                            ", the end of tensor %.200s, which it overlaps",
                            file->path, tensor->name, tensor->begin, end,
                            sorted[i - 1]->name);
        if (tensor->begin > end)
            return vly_fail(error, VLY_E_PARSE,
                            "%.300s: tensor %.200s begins at offset %" PRIu64
                            ", wanted %" PRIu64
                            ": the bytes between belong to no tensor",
                            file->path, tensor->name, tensor->begin, end);
        end += tensor->n_bytes; /* begin + n_bytes was an offset: it fits */
        if (end > data)
            return vly_fail(error, VLY_E_PARSE,
                            "%.300s: tensor %.200s ends at offset %" PRIu64
                            ", but the file has %" PRIu64
                            " bytes after its header: it is cut",
                            file->path, tensor->name, end, data);
    }
    if (end != data)
        return vly_fail(error, VLY_E_PARSE,
                        "%.300s: the tensors end at offset %" PRIu64
                        ", but the file has %" PRIu64
                        " bytes after its header: it is too long",
                        file->path, end, data);
    return VLY_OK;
}

static vly_status check_places(vly_safetensors *file, uint64_t first,
                               vly_error *error)
{
    const uint32_t n = file->header.n_tensors;
    const uint64_t data = (uint64_t)file->about.st_size - first;
    const vly_safetensor **sorted = vly_malloc(n, sizeof *sorted);
    if (!sorted)
        return vly_fail_nomem(error, n * sizeof *sorted, "an order of tensors");
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = &file->header.tensors[i];
    if (n > 0)
        qsort(sorted, n, sizeof *sorted, by_place);
    vly_status status = check_gaps(file, sorted, data, error);
    vly_free(sorted);
    for (uint32_t i = 0; i < n && status == VLY_OK; i++)
        file->header.tensors[i].begin += first;
    return status;
}

/* ---- open -----------------------------------------------------------------
 */

static vly_status open_file(vly_safetensors *file, vly_error *error)
{
    /* a pipe is refused below instead of waited for */
    file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->fd < 0 || fstat(file->fd, &file->about) != 0)
        return vly_fail(error, VLY_E_IO, "%.300s: cannot be read: %s",
                        file->path, strerror(errno));
    if (!S_ISREG(file->about.st_mode))
        return vly_fail(
            error, S_ISDIR(file->about.st_mode) ? VLY_E_IO : VLY_E_INVALID,
            "%.300s: cannot be read: it is a %s, wanted a regular file",
            file->path,
            S_ISDIR(file->about.st_mode) ? "folder" : "pipe or device");
    return VLY_OK;
}

static vly_status read_header(vly_safetensors *file, vly_error *error)
{
    const uint64_t size = (uint64_t)file->about.st_size;
    unsigned char length[LENGTH_BYTES];
    uint64_t n = 0;
    vly_status status = VLY_OK;
    if (size < LENGTH_BYTES)
        return vly_fail(error, VLY_E_PARSE,
                        "%.300s: has %" PRIu64 " bytes, wanted a .safetensors "
                        "file, which begins with 8 of its header's length",
                        file->path, size);
    VLY_TRY(read_bytes(file, 0, LENGTH_BYTES, length, error));
    for (int i = LENGTH_BYTES - 1; i >= 0; i--)
        n = n << 8 | length[i];
    if (n > VLY_SAFETENSOR_HEADER_MAX)
        return vly_fail(error, VLY_E_PARSE,
                        "%.300s: its first 8 bytes say that the header has "
                        "%" PRIu64 " bytes, wanted at most %d: it is no "
                        ".safetensors file",
                        file->path, n, VLY_SAFETENSOR_HEADER_MAX);
    if (n > size - LENGTH_BYTES)
        return vly_fail(error, VLY_E_PARSE,
                        "%.300s: its first 8 bytes say that the header has "
                        "%" PRIu64 " bytes, but %" PRIu64 " follow: it is cut",
                        file->path, n, size - LENGTH_BYTES);
    file->text = vly_malloc((size_t)n + 1, 1);
    if (!file->text)
        return vly_fail_nomem(error, n + 1, "a header of tensors");
    VLY_TRY(read_bytes(file, LENGTH_BYTES, n, file->text, error));
    file->text[n] = '\0';
    VLY_TRY(safetensors_header_parse(file->path, file->text, (size_t)n,
                                     &file->header, error));
    VLY_TRY(check_places(file, LENGTH_BYTES + n, error));
out:
    return status;
}

vly_status vly_safetensors_open(const char *path, vly_safetensors **file,
                                vly_error *error)
{
    vly_status status = VLY_OK;
    vly_safetensors *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "a file of tensors");
    made->fd = -1;
    made->path = vly_strdup(path);
    if (!made->path) {
        status = vly_fail_nomem(error, strlen(path) + 1, "a file name");
        goto out;
    }
    VLY_TRY(open_file(made, error));
    VLY_TRY(read_header(made, error));
out:
    if (status != VLY_OK)
        vly_safetensors_close(made);
    else
        *file = made;
    return status;
}

void vly_safetensors_close(vly_safetensors *file)
{
    if (!file)
        return;
    if (file->fd >= 0)
        close(file->fd);
    safetensors_header_deinit(&file->header);
    vly_free(file->text);
    vly_free(file->path);
    vly_free(file);
}

/* ---- what is in it --------------------------------------------------------
 */

const char *vly_safetensors_path(const vly_safetensors *file)
{
    return file->path;
}

uint32_t vly_safetensors_count(const vly_safetensors *file)
{
    return file->header.n_tensors;
}

const vly_safetensor *vly_safetensors_at(const vly_safetensors *file,
                                         uint32_t i)
{
    return &file->header.tensors[i];
}

static int compare_name(const void *name, const void *tensor)
{
    return strcmp(name, ((const vly_safetensor *)tensor)->name);
}

const vly_safetensor *vly_safetensors_find(const vly_safetensors *file,
                                           const char *name)
{
    const safetensors_header *header = &file->header;
    return header->n_tensors == 0
               ? NULL
               : bsearch(name, header->tensors, header->n_tensors,
                         sizeof *header->tensors, compare_name);
}

const char *vly_safetensors_metadata(const vly_safetensors *file,
                                     const char *key)
{
    for (uint32_t k = 0; k < file->header.n_notes; k++)
        if (strcmp(file->header.notes[k].key, key) == 0)
            return file->header.notes[k].value;
    return NULL;
}

const char *vly_safetensors_metadata_at(const vly_safetensors *file, uint32_t k,
                                        const char **key)
{
    if (k >= file->header.n_notes)
        return NULL;
    *key = file->header.notes[k].key;
    return file->header.notes[k].value;
}

const char *vly_safetensor_type_name(uint32_t type)
{
#define TYPE_NAME(name, value, bits)                                           \
    if (type == (value))                                                       \
        return #name;
    VLY_SAFETENSOR_TYPES(TYPE_NAME)
#undef TYPE_NAME
    return "?";
}

uint32_t vly_safetensor_type_bits(uint32_t type)
{
#define TYPE_BITS(name, value, bits)                                           \
    if (type == (value))                                                       \
        return (bits);
    VLY_SAFETENSOR_TYPES(TYPE_BITS)
#undef TYPE_BITS
    return 0;
}
