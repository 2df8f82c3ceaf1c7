/* SPDX-License-Identifier: Apache-2.0
 * One section: compressed by zstd into blocks of 1 MiB, each of which goes into
 * the checksum and the file; and back. The checksum is of the stored bytes and
 * is looked at before zstd sees any of them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <zstd.h>
#include <zstd_errors.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "checkpoint/checkpoint_format.h"

/* The state of the microcircuit (a tenth, 94 KB) becomes as small at level 1 as
 * at level 3, that of a stress net (0.8 MB) 6% larger, in two thirds and a
 * quarter of the time (zstd 1.5.4 on one core: 262 and 390 MB/s). */
enum { LEVEL = 1, WORKERS_MAX = 4 };
/* Below this a thread of zstd costs more than it saves: its jobs are of 512 KB
 * at least. */
static const uint64_t workers_bytes = UINT64_C(8) << 20;

struct vly_pack {
    int file;
    const char *path;
    ZSTD_CCtx *zstd;
    unsigned char *block; /* [VLY_CHECKPOINT_BLOCK] */
    size_t n_block;
    uint64_t left; /* bytes that are still to come */
    uint64_t stored_bytes;
    vly_hash sum;
};

vly_hash vly_checkpoint_block_sum(vly_hash sum, const void *bytes, size_t n)
{
    return vly_hash_bytes(sum, bytes, n);
}

vly_status vly_checkpoint_damaged(vly_error *error, const char *path,
                                  const char *format, ...)
{
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return vly_fail(error, VLY_E_PARSE, "%s: damaged checkpoint: %s", path,
                    text);
}

/* ---- pack -------------------------------------------------------------- */

vly_status vly_pack_create(int file, const char *path, vly_pack **pack,
                           vly_error *error)
{
    vly_pack *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "a checkpoint");
    made->file = file;
    made->path = path;
    made->block = vly_malloc(1, VLY_CHECKPOINT_BLOCK);
    made->zstd = ZSTD_createCCtx();
    if (!made->block || !made->zstd) {
        vly_pack_destroy(made);
        return vly_fail_nomem(error, VLY_CHECKPOINT_BLOCK, "a checkpoint");
    }
    *pack = made;
    return VLY_OK;
}

void vly_pack_destroy(vly_pack *pack)
{
    if (!pack)
        return;
    ZSTD_freeCCtx(pack->zstd);
    vly_free(pack->block);
    vly_free(pack);
}

static vly_status zstd_failed(const vly_pack *pack, size_t result,
                              vly_error *error)
{
    if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation)
        return vly_fail_nomem(error, pack->left, "zstd");
    return vly_fail(error, VLY_E_IO, "%s: cannot be written: zstd: %s",
                    pack->path, ZSTD_getErrorName(result));
}

vly_status vly_pack_begin(vly_pack *pack, uint32_t id, uint64_t n_bytes,
                          vly_error *error)
{
    pack->left = n_bytes;
    pack->n_block = 0;
    pack->stored_bytes = 0;
    pack->sum = (vly_hash){{id, 0}};
    size_t result =
        ZSTD_CCtx_reset(pack->zstd, ZSTD_reset_session_and_parameters);
    if (!ZSTD_isError(result))
        result = ZSTD_CCtx_setParameter(pack->zstd, ZSTD_c_compressionLevel,
                                        (int)LEVEL);
    if (!ZSTD_isError(result))
        result = ZSTD_CCtx_setPledgedSrcSize(pack->zstd, n_bytes);
    if (ZSTD_isError(result))
        return zstd_failed(pack, result, error);
    uint32_t cores = vly_thread_cores();
    int workers = (int)(cores < WORKERS_MAX ? cores : WORKERS_MAX);
    /* refused by a libzstd that was built without threads: then without */
    if (n_bytes >= workers_bytes && workers > 1)
        ZSTD_CCtx_setParameter(pack->zstd, ZSTD_c_nbWorkers, workers);
    return VLY_OK;
}

static vly_status put_block(vly_pack *pack, vly_error *error)
{
    pack->sum = vly_checkpoint_block_sum(pack->sum, pack->block, pack->n_block);
    if (!vly_checkpoint_write(pack->file, pack->block, pack->n_block))
        return vly_fail(error, VLY_E_IO, "%s: cannot be written: %s",
                        pack->path, strerror(errno));
    pack->stored_bytes += pack->n_block;
    pack->n_block = 0;
    return VLY_OK;
}

/* Until the input is taken, or, at the end, until all is out. */
static vly_status feed(vly_pack *pack, const void *bytes, size_t n, bool end,
                       vly_error *error)
{
    ZSTD_inBuffer in = {bytes, n, 0};
    for (;;) {
        ZSTD_outBuffer out = {pack->block, VLY_CHECKPOINT_BLOCK, pack->n_block};
        size_t left = ZSTD_compressStream2(pack->zstd, &out, &in,
                                           end ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left))
            return zstd_failed(pack, left, error);
        pack->n_block = out.pos;
        if (pack->n_block == VLY_CHECKPOINT_BLOCK) {
            vly_status status = put_block(pack, error);
            if (status != VLY_OK)
                return status;
        }
        if (end ? left == 0 : in.pos == in.size)
            return VLY_OK;
    }
}

vly_status vly_pack_bytes(vly_pack *pack, const void *bytes, uint64_t n,
                          vly_error *error)
{
    vly_status status = VLY_OK;
    if (n > 0)
        status = feed(pack, bytes, (size_t)n, false, error);
    if (status == VLY_OK)
        pack->left -= n;
    return status;
}

vly_status vly_pack_end(vly_pack *pack, vly_checkpoint_entry *entry,
                        vly_error *error)
{
    vly_status status = VLY_OK;
    if (entry->n > 0)
        VLY_TRY(feed(pack, NULL, 0, true, error));
    if (pack->n_block > 0)
        VLY_TRY(put_block(pack, error));
    entry->stored_bytes = pack->stored_bytes;
    entry->checksum = pack->sum;
out:
    return status;
}

/* ---- unpack ------------------------------------------------------------ */

static vly_status read_block(int file, const char *path, void *block, size_t n,
                             uint64_t offset, vly_error *error)
{
    unsigned char *to = block;
    while (n > 0) {
        ssize_t done = pread(file, to, n, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return vly_fail(error, VLY_E_IO, "%s: cannot be read: %s", path,
                            strerror(errno));
        if (done == 0)
            return vly_checkpoint_damaged(error, path,
                                          "cut while it was being read");
        to += done;
        offset += (uint64_t)done;
        n -= (size_t)done;
    }
    return VLY_OK;
}

static size_t block_of(const vly_checkpoint_entry *entry, uint64_t at)
{
    uint64_t left = entry->stored_bytes - at;
    return (size_t)(left < VLY_CHECKPOINT_BLOCK ? left : VLY_CHECKPOINT_BLOCK);
}

static vly_status verify(int file, const char *path,
                         const vly_checkpoint_entry *entry,
                         unsigned char *block, vly_error *error)
{
    vly_hash sum = {{entry->id, 0}};
    for (uint64_t at = 0; at < entry->stored_bytes;) {
        size_t n = block_of(entry, at);
        vly_status status =
            read_block(file, path, block, n, entry->offset + at, error);
        if (status != VLY_OK)
            return status;
        sum = vly_checkpoint_block_sum(sum, block, n);
        at += n;
    }
    if (memcmp(&sum, &entry->checksum, sizeof sum) != 0)
        return vly_checkpoint_damaged(error, path,
                                      "checksum of section %s is wrong",
                                      vly_checkpoint_part_name(entry->id - 1));
    return VLY_OK;
}

static vly_status not_so_long(const char *path,
                              const vly_checkpoint_entry *entry,
                              vly_error *error)
{
    return vly_checkpoint_damaged(
        error, path, "section %s does not unpack to %" PRIu64 " bytes",
        vly_checkpoint_part_name(entry->id - 1),
        entry->n * entry->element_bytes);
}

static vly_status inflate(int file, const char *path,
                          const vly_checkpoint_entry *entry, ZSTD_DCtx *zstd,
                          unsigned char *block, void *to, vly_error *error)
{
    ZSTD_outBuffer out = {to, (size_t)(entry->n * entry->element_bytes), 0};
    size_t left = 1;
    for (uint64_t at = 0; at < entry->stored_bytes;) {
        size_t n = block_of(entry, at);
        vly_status status =
            read_block(file, path, block, n, entry->offset + at, error);
        if (status != VLY_OK)
            return status;
        at += n;
        ZSTD_inBuffer in = {block, n, 0};
        while (in.pos < in.size) {
            size_t before = in.pos + out.pos;
            left = ZSTD_decompressStream(zstd, &out, &in);
            if (ZSTD_isError(left))
                return vly_checkpoint_damaged(
                    error, path, "section %s: zstd: %s",
                    vly_checkpoint_part_name(entry->id - 1),
                    ZSTD_getErrorName(left));
            /* another frame, or bytes behind the last one that has room */
            if (in.pos < in.size && (left == 0 || in.pos + out.pos == before))
                return not_so_long(path, entry, error);
        }
    }
    if (left != 0 || out.pos != out.size)
        return not_so_long(path, entry, error);
    return VLY_OK;
}

vly_status vly_unpack(int file, const char *path,
                      const vly_checkpoint_entry *entry, void *to,
                      vly_error *error)
{
    ZSTD_DCtx *zstd = NULL;
    unsigned char *block = vly_malloc(1, VLY_CHECKPOINT_BLOCK);
    vly_status status = VLY_OK;
    if (!block) {
        status = vly_fail_nomem(error, VLY_CHECKPOINT_BLOCK, "a checkpoint");
        goto out;
    }
    VLY_TRY(verify(file, path, entry, block, error));
    if (entry->n == 0)
        goto out;
    zstd = ZSTD_createDCtx();
    if (!zstd) {
        status = vly_fail_nomem(error, ZSTD_DStreamInSize(), "zstd");
        goto out;
    }
    status = inflate(file, path, entry, zstd, block, to, error);
out:
    ZSTD_freeDCtx(zstd);
    vly_free(block);
    return status;
}
