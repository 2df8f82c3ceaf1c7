/* SPDX-License-Identifier: Apache-2.0
 * Frames: a fixed number of elements of a section, compressed by zstd so that
 * each can be decoded alone. The boundaries of a frame, its bytes and its
 * checksum depend only on its content, so the file does not depend on the
 * number of threads, and a process that holds only some of the frames can write
 * those once the sizes of the others are known. A checksum covers stored bytes
 * and is checked before zstd reads them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <zstd.h>
#include <zstd_errors.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "base/transfer.h"
#include "checkpoint/checkpoint_format.h"

/* Level 1 against level 3: the state of a tenth of the microcircuit (94 KB) has
 * the same size in two thirds of the time; that of a stress net (0.8 MB) is 6%
 * larger in a quarter of the time (zstd 1.5.4 on one core: 262 and 390 MB/s).
 */
enum { LEVEL = 1, WORKERS_MAX = 4 };
/* Of one file, below which a second thread costs more than it saves. */
static const uint64_t workers_bytes = UINT64_C(2) << 20;

static _Atomic uint32_t threads_most;

void vly_frames_threads(uint32_t n)
{
    atomic_store(&threads_most, n);
}

/* The position of a frame: its piece, and its index in the piece. */
typedef struct frame_place {
    uint32_t piece;
    uint64_t frame;
} frame_place;

/* Frames are walked in ascending order. */
static void place_seek(const vly_checkpoint_piece *pieces, uint64_t frame,
                       frame_place *place)
{
    while (frame >= pieces[place->piece].entry.first_frame +
                        pieces[place->piece].entry.n_frames)
        place->piece++;
    place->frame = frame - pieces[place->piece].entry.first_frame;
}

/* What went wrong with a frame. Only the first frame that failed is reported.
 */
typedef struct frame_failure {
    bool failed;
    uint64_t frame;
    vly_status status;
    char text[200];
} frame_failure;

typedef struct frame_worker {
    ZSTD_CCtx *pack;
    ZSTD_DCtx *unpack;
    unsigned char *buffer;
    size_t capacity;
    size_t n_stored; /* packed, and not written: of frame `frame` */
    uint64_t frame;
    frame_place place;
    frame_failure failure;
} frame_worker;

typedef struct frame_work {
    int file;
    vly_checkpoint_piece *pieces;
    vly_checkpoint_frame *frames;
    const vly_checkpoint_frame *known; /* of a file that is read */
    uint64_t n_frames;
    uint64_t base; /* first frame of this round */
    _Atomic uint64_t next;
    frame_worker workers[WORKERS_MAX];
    uint32_t n_workers;
} frame_work;

static void fail_frame(frame_worker *worker, uint64_t frame, vly_status status,
                       const char *what, const char *why)
{
    worker->failure.failed = true;
    worker->failure.frame = frame;
    worker->failure.status = status;
    snprintf(worker->failure.text, sizeof worker->failure.text, "%s%s", what,
             why);
}

static void work_deinit(frame_work *work)
{
    for (uint32_t i = 0; i < work->n_workers; i++) {
        ZSTD_freeCCtx(work->workers[i].pack);
        ZSTD_freeDCtx(work->workers[i].unpack);
        vly_free(work->workers[i].buffer);
    }
}

/* Largest frame and sum of all, unpacked. */
static size_t measure(const vly_checkpoint_piece *pieces, uint32_t n_pieces,
                      uint64_t *n_frames, uint64_t *sum)
{
    size_t most = 0;
    *n_frames = 0;
    *sum = 0;
    for (uint32_t i = 0; i < n_pieces; i++) {
        const vly_checkpoint_entry *entry = &pieces[i].entry;
        size_t n =
            entry->n_frames > 0 ? vly_checkpoint_frame_bytes(entry, 0) : 0;
        most = n > most ? n : most;
        *n_frames += entry->n_frames;
        *sum += entry->n * entry->element_bytes;
    }
    return most;
}

static vly_status work_init(frame_work *work, vly_checkpoint_piece *pieces,
                            uint32_t n_pieces, bool packs, vly_error *error)
{
    uint64_t sum = 0;
    uint32_t limit = atomic_load(&threads_most);
    size_t most = measure(pieces, n_pieces, &work->n_frames, &sum);
    uint32_t n = sum < workers_bytes ? 1 : vly_thread_cores();
    n = limit ? limit : n;
    n = n < WORKERS_MAX ? n : WORKERS_MAX;
    work->pieces = pieces;
    work->n_workers = work->n_frames < n ? (uint32_t)work->n_frames : n;
    for (uint32_t i = 0; i < work->n_workers; i++) {
        frame_worker *worker = &work->workers[i];
        worker->capacity = ZSTD_compressBound(most);
        worker->buffer = vly_malloc(worker->capacity, 1);
        if (packs)
            worker->pack = ZSTD_createCCtx();
        else
            worker->unpack = ZSTD_createDCtx();
        if (!worker->buffer || (!worker->pack && !worker->unpack))
            return vly_fail_nomem(error, worker->capacity, "a checkpoint");
        if (packs)
            ZSTD_CCtx_setParameter(worker->pack, ZSTD_c_compressionLevel,
                                   (int)LEVEL);
    }
    return VLY_OK;
}

/* The failure of the lowest frame, as if one thread had gone through them. */
static const frame_failure *first_failure(const frame_work *work)
{
    const frame_failure *first = NULL;
    for (uint32_t i = 0; i < work->n_workers; i++) {
        const frame_failure *failure = &work->workers[i].failure;
        if (failure->failed && (!first || failure->frame < first->frame))
            first = failure;
    }
    return first;
}

/* ---- write ------------------------------------------------------------- */

static bool write_at(int file, const unsigned char *bytes, size_t n,
                     uint64_t offset)
{
    while (n > 0) {
        ssize_t done = vly_transfer_write_at(file, bytes, n, offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        bytes += done;
        offset += (uint64_t)done;
        n -= (size_t)done;
    }
    return true;
}

static void pack_frame(frame_work *work, frame_worker *worker, uint64_t frame)
{
    place_seek(work->pieces, frame, &worker->place);
    uint32_t p = worker->place.piece;
    const vly_checkpoint_entry *entry = &work->pieces[p].entry;
    const unsigned char *from = work->pieces[p].bytes;
    from += worker->place.frame * entry->frame_elements * entry->element_bytes;
    size_t n =
        ZSTD_compress2(worker->pack, worker->buffer, worker->capacity, from,
                       vly_checkpoint_frame_bytes(entry, worker->place.frame));
    if (ZSTD_isError(n)) {
        bool memory = ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation;
        fail_frame(worker, frame, memory ? VLY_E_NOMEM : VLY_E_IO,
                   "zstd: ", ZSTD_getErrorName(n));
        return;
    }
    worker->n_stored = n;
    worker->frame = frame;
    work->frames[frame].stored_bytes = n;
    work->frames[frame].checksum =
        vly_checkpoint_frame_sum(p, worker->place.frame, worker->buffer, n);
}

/* A round: the frames of the previous round are written, since their positions
 * are known now; then the next frame is packed. */
static void write_task(void *arg, uint64_t i)
{
    frame_work *work = arg;
    frame_worker *worker = &work->workers[i];
    uint64_t frame = work->base + i;
    if (worker->failure.failed)
        return;
    if (worker->n_stored > 0 &&
        !write_at(work->file, worker->buffer, worker->n_stored,
                  work->frames[worker->frame].offset)) {
        fail_frame(worker, worker->frame, VLY_E_IO, strerror(errno), "");
        return;
    }
    worker->n_stored = 0;
    if (frame < work->n_frames)
        pack_frame(work, worker, frame);
}

static vly_status write_rounds(frame_work *work, const char *path, uint64_t *at,
                               vly_error *error)
{
    const frame_failure *failure = NULL;
    uint64_t last = work->n_frames + work->n_workers; /* one round to write */
    for (work->base = 0; work->base < last; work->base += work->n_workers) {
        vly_thread_loop(work->n_workers, work->n_workers, write_task, work);
        failure = first_failure(work);
        if (failure && failure->status == VLY_E_NOMEM)
            return vly_fail_nomem(error, VLY_CHECKPOINT_FRAME_BYTES, "zstd");
        if (failure)
            return vly_fail(error, failure->status, "%s: cannot be written: %s",
                            path, failure->text);
        for (uint32_t i = 0; i < work->n_workers; i++) {
            const frame_worker *worker = &work->workers[i];
            if (worker->n_stored == 0)
                continue;
            work->frames[worker->frame].offset = *at;
            *at += worker->n_stored;
            work->pieces[worker->place.piece].stored_bytes += worker->n_stored;
        }
    }
    return VLY_OK;
}

vly_status vly_frames_write(int file, const char *path,
                            vly_checkpoint_piece *pieces, uint32_t n_pieces,
                            vly_checkpoint_frame *frames, uint64_t *at,
                            vly_error *error)
{
    frame_work work = {.file = file, .frames = frames};
    vly_status status = VLY_OK;
    VLY_TRY(work_init(&work, pieces, n_pieces, true, error));
    status = write_rounds(&work, path, at, error);
out:
    work_deinit(&work);
    return status;
}

/* ---- read -------------------------------------------------------------- */

static bool read_frame(const frame_work *work, frame_worker *worker,
                       uint64_t frame)
{
    const vly_checkpoint_frame *known = &work->known[frame];
    unsigned char *to = worker->buffer;
    for (size_t at = 0; at < known->stored_bytes;) {
        ssize_t done = vly_transfer_read_at(work->file, to + at,
                                            (size_t)known->stored_bytes - at,
                                            known->offset + at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            fail_frame(worker, frame, VLY_E_IO,
                       "cannot be read: ", strerror(errno));
        if (done == 0)
            fail_frame(worker, frame, VLY_E_PARSE, "",
                       "cut while it was being read");
        if (done <= 0)
            return false;
        at += (size_t)done;
    }
    return true;
}

static void unpack_frame(const frame_work *work, frame_worker *worker,
                         uint64_t frame)
{
    const vly_checkpoint_frame *known = &work->known[frame];
    place_seek(work->pieces, frame, &worker->place);
    uint32_t p = worker->place.piece;
    uint64_t k = worker->place.frame;
    const vly_checkpoint_entry *entry = &work->pieces[p].entry;
    size_t n = vly_checkpoint_frame_bytes(entry, k);
    size_t n_stored = (size_t)known->stored_bytes;
    char name[64];
    char text[120];
    vly_checkpoint_entry_name(entry, name);
    vly_hash sum = vly_checkpoint_frame_sum(p, k, worker->buffer, n_stored);
    if (memcmp(&sum, &known->checksum, sizeof sum) != 0) {
        snprintf(text, sizeof text, "%s is wrong (frame %" PRIu64 ")", name, k);
        fail_frame(worker, frame, VLY_E_PARSE, "checksum of section ", text);
        return;
    }
    unsigned char *to = work->pieces[p].owned;
    to += k * entry->frame_elements * entry->element_bytes;
    size_t got =
        ZSTD_decompressDCtx(worker->unpack, to, n, worker->buffer, n_stored);
    if (ZSTD_isError(got)) {
        snprintf(text, sizeof text, "%.63s: zstd: ", name);
        fail_frame(worker, frame, VLY_E_PARSE, "section ", text);
        size_t used = strlen(worker->failure.text);
        snprintf(worker->failure.text + used,
                 sizeof worker->failure.text - used, "%s",
                 ZSTD_getErrorName(got));
    } else if (got != n) {
        snprintf(text, sizeof text,
                 "%.63s: frame %" PRIu64 " does not unpack to %zu bytes", name,
                 k, n);
        fail_frame(worker, frame, VLY_E_PARSE, "section ", text);
    }
}

static void read_task(void *arg, uint64_t i)
{
    frame_work *work = arg;
    frame_worker *worker = &work->workers[i];
    while (!worker->failure.failed) {
        uint64_t frame = atomic_fetch_add(&work->next, 1);
        if (frame >= work->n_frames)
            return;
        if (read_frame(work, worker, frame))
            unpack_frame(work, worker, frame);
    }
}

vly_status vly_frames_read(int file, const char *path,
                           vly_checkpoint_piece *pieces, uint32_t n_pieces,
                           const vly_checkpoint_frame *frames, vly_error *error)
{
    frame_work work = {.file = file, .known = frames};
    vly_status status = VLY_OK;
    atomic_init(&work.next, 0);
    VLY_TRY(work_init(&work, pieces, n_pieces, false, error));
    if (work.n_workers > 0)
        vly_thread_loop(work.n_workers, work.n_workers, read_task, &work);
    const frame_failure *failure = first_failure(&work);
    if (failure && failure->status == VLY_E_PARSE)
        status = vly_checkpoint_damaged(error, path, "%s", failure->text);
    else if (failure)
        status =
            vly_fail(error, failure->status, "%s: %s", path, failure->text);
out:
    work_deinit(&work);
    return status;
}
