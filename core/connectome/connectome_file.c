/* SPDX-License-Identifier: Apache-2.0
 * Saving and loading a connectome. The layout is in FORMAT.md. A file that is
 * verified is read into memory; a mapped one could be truncated or overwritten
 * after the checks, which would cause SIGBUS or wrong spikes.
 */
#include "connectome/connectome_file.h"

#include <volley/host.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/temporary.h"
#include "base/thread.h"
#include "base/transfer.h"
#include "connectome/connectome_digest.h"

/* ---- save ------------------------------------------------------------- */

static bool write_all(int file, const void *data, size_t n)
{
    const unsigned char *at = data;
    while (n > 0) {
        ssize_t done = vly_transfer_write(file, at, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at += done;
        n -= (size_t)done;
    }
    return true;
}

static bool write_zeros(int file, uint64_t n)
{
    static const unsigned char zeros[64];
    return n <= sizeof(zeros) && write_all(file, zeros, (size_t)n);
}

static bool write_image(int file, const vly_image *image, void *buffer)
{
    uint64_t at = sizeof(image->header) + sizeof(image->table);
    if (!write_all(file, &image->header, sizeof(image->header)) ||
        !write_all(file, image->table, sizeof(image->table)))
        return false;
    for (uint32_t s = 0; s < VLY_SECTIONS; s++) {
        const vly_file_section *section = &image->table[s];
        if (!write_zeros(file, section->offset - at))
            return false;
        for (uint64_t done = 0; done < section->bytes;) {
            uint64_t left = section->bytes - done;
            size_t n = (size_t)(left < VLY_FILE_BLOCK ? left : VLY_FILE_BLOCK);
            if (!write_all(file, vly_image_bytes(image, s, done, n, buffer), n))
                return false;
            done += n;
        }
        at = section->offset + section->bytes;
    }
    if (image->header.learning_bytes) {
        if (!write_zeros(file, image->header.learning - at) ||
            !write_all(file, image->learning,
                       (size_t)image->header.learning_bytes))
            return false;
        at = image->header.learning + image->header.learning_bytes;
    }
    return write_zeros(file, image->header.file_bytes - at);
}

static vly_status fail_io(vly_error *error, const char *path, const char *what)
{
    return vly_fail(error, VLY_E_IO, "%s: cannot %s: %s", path, what,
                    strerror(errno));
}

static vly_status save_image(const vly_image *image, const char *path,
                             const char *target, int *lock, vly_error *error)
{
    vly_status status = VLY_OK;
    int held = -1;
    vly_temporary temporary = VLY_TEMPORARY_NONE;
    void *buffer = vly_malloc(1, VLY_FILE_BLOCK);
    if (!buffer)
        return vly_fail_nomem(error, VLY_FILE_BLOCK, "a buffer");
    VLY_TRY(vly_temporary_open(target, path, &temporary, error));
    if (!write_image(temporary.file, image, buffer))
        VLY_TRY(fail_io(error, path, "write"));
    VLY_TRY(vly_temporary_keep(&temporary, path, &held, error));
    VLY_TRY(vly_folder_sync(target, error));
    if (lock) {
        *lock = held;
        held = -1;
    }
out:
    if (held >= 0)
        close(held);
    vly_temporary_drop(&temporary);
    vly_free(buffer);
    return status;
}

/* The path of the file to write: links are followed and kept, and anything
 * other than a file (a device, a pipe) is refused. A new string. */
static vly_status save_target(const char *path, char **target, vly_error *error)
{
    struct stat info;
    *target = NULL;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return vly_fail(error, VLY_E_IO, "%s: not a file, wanted one", path);
    if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode)) {
        char *real = realpath(path, NULL);
        if (!real)
            return fail_io(error, path, "follow the link");
        *target = vly_strdup(real);
        free(real);
    } else {
        *target = vly_strdup(path);
    }
    return *target ? VLY_OK : vly_fail_nomem(error, strlen(path), "a path");
}

vly_status vly_connectome_save_locked(const vly_connectome *connectome,
                                      const char *path, int *lock,
                                      vly_error *error)
{
    vly_image image;
    char *target = NULL;
    vly_status status;
    if (!connectome || !path)
        return vly_fail(error, VLY_E_INVALID,
                        "vly_connectome_save: connectome or path is NULL");
    if (connectome->part)
        return vly_fail(error, VLY_E_INVALID,
                        "%s: one rank has only a part of the connectome, "
                        "wanted the whole to save it",
                        path);
    VLY_TRY(save_target(path, &target, error));
    VLY_TRY(vly_image_init(&image, connectome, vly_thread_cores(), error));
    image.header.digest = vly_connectome_digest(connectome, 0);
    image.header.header_checksum = vly_header_checksum(&image.header);
    status = save_image(&image, path, target, lock, error);
    vly_image_deinit(&image);
out:
    vly_free(target);
    return status;
}

vly_status vly_connectome_save(const vly_connectome *connectome,
                               const char *path, vly_error *error)
{
    return vly_connectome_save_locked(connectome, path, NULL, error);
}

#define COPY_BYTES (UINT64_C(8) << 20) /* read by one task */

/* ---- load ------------------------------------------------------------- */

vly_status vly_file_damaged(const vly_file_view *file, const char *format, ...)
{
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return vly_fail(file->error, VLY_E_PARSE, "%s: damaged connectome: %s",
                    file->path, text);
}

const unsigned char *vly_file_section_bytes(const vly_file_view *file,
                                            uint32_t section)
{
    return file->bytes + file->table[section].offset;
}

const void *vly_file_array(const vly_file_view *file, uint32_t section,
                           uint64_t offset, uint64_t n, uint64_t align)
{
    const vly_file_section *entry = &file->table[section];
    if (offset < entry->offset || offset % align)
        return NULL;
    uint64_t at = offset - entry->offset;
    if (at > entry->bytes ||
        n > (entry->bytes - at) / vly_section_element(section))
        return NULL;
    return file->bytes + offset;
}

static vly_status header_check(vly_file_view *file)
{
    vly_file_header *header = &file->header;
    if (file->n_bytes < VLY_FILE_HEAD_BYTES)
        return vly_file_damaged(file, "%" PRIu64 " bytes, wanted at least %d",
                                file->n_bytes, VLY_FILE_HEAD_BYTES);
    memcpy(header, file->bytes, sizeof(*header));
    if (memcmp(header->magic, VLY_FILE_MAGIC, sizeof(header->magic)))
        return vly_fail(file->error, VLY_E_PARSE,
                        "%s: not a connectome: it does not begin with %s",
                        file->path, VLY_FILE_MAGIC);
    if (header->endian != VLY_FILE_ENDIAN)
        return vly_file_damaged(file, "byte order 0x%08X, wanted 0x%08X",
                                (unsigned)header->endian,
                                (unsigned)VLY_FILE_ENDIAN);
    if (header->version < 1 || header->version > VLY_FILE_VERSION_MEMORY)
        return vly_fail(file->error, VLY_E_PARSE,
                        "%s: connectome of version %" PRIu32
                        ", this engine reads versions 1 to %u",
                        file->path, header->version, VLY_FILE_VERSION_MEMORY);
    vly_hash sum = vly_header_checksum(header);
    if (memcmp(&sum, &header->header_checksum, sizeof(sum)))
        return vly_file_damaged(file, "checksum of the header is wrong");
    if (header->file_bytes != file->n_bytes)
        return vly_file_damaged(
            file, "%" PRIu64 " bytes, wanted %" PRIu64 " (cut or grown)",
            file->n_bytes, header->file_bytes);
    if (header->n_sections != VLY_SECTIONS ||
        header->entry_bytes != sizeof(vly_file_section) ||
        header->table != sizeof(vly_file_header))
        return vly_file_damaged(file, "table of sections is not where it "
                                      "should be");
    return VLY_OK;
}

/* The bytes of a section are a multiple of this. An array begins at a multiple
 * of 64, which is not a multiple of the 24 bytes of an input: with two lists of
 * inputs only the power of two in the element size divides the bytes of the
 * section. */
static uint64_t section_grain(uint32_t section)
{
    uint64_t element = vly_section_element(section);
    return element & (~element + 1);
}

/* Records of projections that learn, if there are any, come last. */
static vly_status learning_place(const vly_file_view *file, uint64_t at)
{
    const vly_file_header *header = &file->header;
    uint64_t bytes = header->learning_bytes;
    if (bytes % sizeof(vly_file_learning) || bytes > file->n_bytes - at ||
        header->learning != (bytes ? at : 0) || (bytes && header->version < 2))
        return vly_file_damaged(
            file, "%" PRIu64 " bytes at %" PRIu64 " of projections that learn",
            bytes, header->learning);
    at += (bytes + VLY_FILE_ALIGN - 1) / VLY_FILE_ALIGN * VLY_FILE_ALIGN;
    if (at != file->n_bytes)
        return vly_file_damaged(file,
                                "%" PRIu64 " bytes after the last section",
                                file->n_bytes - at);
    return VLY_OK;
}

static vly_status table_check(vly_file_view *file)
{
    memcpy(file->table, file->bytes + sizeof(vly_file_header),
           sizeof(file->table));
    vly_hash sum = vly_table_checksum(file->table);
    if (memcmp(&sum, &file->header.table_checksum, sizeof(sum)))
        return vly_file_damaged(file,
                                "checksum of the table of sections is wrong");
    for (size_t k = sizeof(vly_file_header) + sizeof(file->table);
         k < VLY_FILE_HEAD_BYTES; k++)
        if (file->bytes[k] != 0)
            return vly_file_damaged(
                file, "byte %zu, after the table of sections, is not 0", k);
    uint64_t at = VLY_FILE_HEAD_BYTES;
    for (uint32_t s = 0; s < VLY_SECTIONS; s++) {
        const vly_file_section *entry = &file->table[s];
        if (entry->id != s + 1 || entry->offset != at ||
            entry->bytes > file->n_bytes - at ||
            entry->bytes % section_grain(s))
            return vly_file_damaged(file,
                                    "section %s has id %" PRIu32
                                    ", offset %" PRIu64 ", %" PRIu64 " bytes",
                                    vly_section_name(s), entry->id,
                                    entry->offset, entry->bytes);
        uint64_t end = at + entry->bytes;
        at = (end + VLY_FILE_ALIGN - 1) / VLY_FILE_ALIGN * VLY_FILE_ALIGN;
        if (at > file->n_bytes)
            return vly_file_damaged(file, "section %s ends after the file",
                                    vly_section_name(s));
    }
    return learning_place(file, at);
}

/* *size: at least the size of a header, and at most the size of the address
 * space. */
static vly_status file_open(const char *path, int *file, uint64_t *size,
                            vly_error *error)
{
    struct stat info;
    /* opening a pipe without a writer would block */
    *file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (*file < 0)
        return fail_io(error, path, "open");
    if (fstat(*file, &info))
        return fail_io(error, path, "read");
    if (!S_ISREG(info.st_mode) || info.st_size < VLY_FILE_HEAD_BYTES)
        return vly_fail(error, VLY_E_PARSE,
                        "%s: not a connectome: %s of %lld bytes, wanted a "
                        "file of at least %d",
                        path, S_ISREG(info.st_mode) ? "file" : "not a file",
                        (long long)info.st_size, VLY_FILE_HEAD_BYTES);
    *size = (uint64_t)info.st_size;
    return VLY_OK;
}

static vly_status file_map(vly_file_view *view, int file, vly_storage *storage)
{
    void *mapped = mmap(NULL, view->n_bytes, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapped == MAP_FAILED)
        return fail_io(view->error, view->path, "map");
    view->bytes = storage->mapped = mapped;
    storage->n_mapped = view->n_bytes;
    storage->n_bytes += view->n_bytes;
    return VLY_OK;
}

typedef struct copy_work {
    int file;
    unsigned char *bytes;
    uint64_t n_bytes;
    _Atomic int reason;    /* errno of a read that failed */
    _Atomic uint64_t ends; /* where the file ended, if before n_bytes */
} copy_work;

static void copy_task(void *arg, uint64_t task)
{
    copy_work *work = arg;
    uint64_t at = task * COPY_BYTES;
    uint64_t last = at + COPY_BYTES;
    if (last > work->n_bytes)
        last = work->n_bytes;
    while (at < last) {
        ssize_t n = vly_transfer_read_at(work->file, work->bytes + at,
                                         (size_t)(last - at), at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            atomic_store(&work->reason, errno);
        if (n == 0)
            atomic_store(&work->ends, at);
        if (n <= 0)
            return;
        at += (uint64_t)n;
    }
}

/* Reads the file into memory: after the checks no other process can change or
 * truncate it. */
static vly_status file_copy(vly_file_view *view, int file, vly_storage *storage,
                            uint32_t n_threads)
{
    copy_work work = {.file = file, .n_bytes = view->n_bytes};
    work.bytes = vly_storage_alloc(storage, view->n_bytes, 1, false);
    if (!work.bytes)
        return vly_fail_nomem(view->error, view->n_bytes, "a connectome");
    atomic_init(&work.reason, 0);
    atomic_init(&work.ends, view->n_bytes);
    vly_thread_loop(n_threads, (view->n_bytes + COPY_BYTES - 1) / COPY_BYTES,
                    copy_task, &work);
    errno = atomic_load(&work.reason);
    if (errno != 0)
        return fail_io(view->error, view->path, "read");
    if (atomic_load(&work.ends) < view->n_bytes)
        return vly_file_damaged(view,
                                "%" PRIu64 " bytes, and no more than %" PRIu64
                                " could be read: cut meanwhile",
                                view->n_bytes, atomic_load(&work.ends));
    view->bytes = work.bytes;
    return VLY_OK;
}

static vly_status digest_verify(const vly_file_view *view,
                                const vly_connectome *connectome)
{
    vly_hash digest = vly_connectome_digest(connectome, 0);
    if (memcmp(&digest, &view->header.digest, sizeof digest))
        return vly_file_damaged(view, "digest of the content is wrong");
    return VLY_OK;
}

static vly_status file_read(const char *path, int verify,
                            vly_connectome *connectome, vly_error *error)
{
    vly_status status;
    vly_storage *storage = connectome->storage;
    vly_file_view view = {.path = path, .error = error};
    uint32_t n_threads = vly_thread_cores();
    int file = -1;
    VLY_TRY(file_open(path, &file, &view.n_bytes, error));
    VLY_TRY(verify ? file_copy(&view, file, storage, n_threads)
                   : file_map(&view, file, storage));
    VLY_TRY(header_check(&view));
    VLY_TRY(table_check(&view));
    if (verify)
        VLY_TRY(vly_checksums_verify(&view, n_threads));
    VLY_TRY(vly_file_records_read(&view, connectome));
    if (verify)
        VLY_TRY(vly_content_verify(&view, connectome, n_threads));
    if (verify && view.header.version > 1)
        VLY_TRY(digest_verify(&view, connectome));
    connectome->n_bytes = storage->n_bytes;
out:
    if (file >= 0)
        close(file);
    return status;
}

/* Names of a damaged file may hold any bytes: escape them, so that the message
 * stays one line. */
static void make_plain(vly_error *error)
{
    for (char *c = error ? error->message : NULL; c && *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
}

vly_status vly_connectome_load(const char *path, int verify,
                               vly_connectome **connectome, vly_error *error)
{
    if (!path || !connectome)
        return vly_fail(error, VLY_E_INVALID,
                        "vly_connectome_load: path or connectome is NULL");
    vly_connectome *made = vly_calloc(1, sizeof(*made));
    vly_storage *storage = vly_calloc(1, sizeof(*storage));
    if (!made || !storage) {
        vly_free(made);
        vly_free(storage);
        return vly_fail_nomem(error, sizeof(*made), "a connectome");
    }
    made->storage = storage;
    vly_status status = file_read(path, verify, made, error);
    if (status == VLY_OK) {
        *connectome = made;
    } else {
        vly_connectome_destroy(made);
        make_plain(error);
    }
    return status;
}

void vly_connectome_destroy(vly_connectome *connectome)
{
    if (!connectome)
        return;
    vly_storage_deinit(connectome->storage);
    vly_free(connectome->storage);
    vly_free(connectome);
}
