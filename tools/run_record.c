/* SPDX-License-Identifier: Apache-2.0
 * Spikes on their way to a file. Making the lines of a CSV costs more than a
 * burst of a small net on a GPU, so a thread of its own does it: the run only
 * copies ids into a block, and waits where the thread is BLOCKS behind.
 */
#include "run_record.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

enum { BLOCKS = 4, BLOCK_BURSTS = 4096, BLOCK_IDS = 1 << 18 };

typedef struct record_block {
    uint64_t bursts[BLOCK_BURSTS];
    uint32_t counts[BLOCK_BURSTS];
    uint32_t *ids; /* [capacity] */
    uint64_t capacity;
    uint64_t n_ids;
    uint32_t n_bursts;
} record_block;

struct run_record {
    vly_spike_csv *csv;
    record_block blocks[BLOCKS];
    uint64_t filled;  /* blocks given to the thread, ... */
    uint64_t written; /* ... and done with; one more is being filled */
    uint64_t marked;  /* behind this many blocks the file's place is told */
    vly_spike_place place;
    bool ended;      /* no more will come */
    vly_error error; /* of the thread: status VLY_OK, all went well */
    pthread_t thread;
    pthread_mutex_t lock; /* of the six above */
    pthread_cond_t changed;
};

static vly_status write_block(vly_spike_csv *csv, const record_block *block,
                              vly_error *error)
{
    const uint32_t *ids = block->ids;
    for (uint32_t b = 0; b < block->n_bursts; b++) {
        vly_status status = vly_spike_csv_add(csv, block->bursts[b], ids,
                                              block->counts[b], error);
        if (status != VLY_OK)
            return status;
        ids += block->counts[b];
    }
    return VLY_OK;
}

static void *write_all(void *arg)
{
    run_record *record = arg;
    bool failed = false;
    for (;;) {
        pthread_mutex_lock(&record->lock);
        while (record->written == record->filled && !record->ended)
            pthread_cond_wait(&record->changed, &record->lock);
        bool done = record->written == record->filled;
        bool marked = record->marked == record->written + 1;
        pthread_mutex_unlock(&record->lock);
        if (done)
            return NULL;
        vly_error error = VLY_ERROR_INIT;
        vly_spike_place place = {0};
        if (!failed)
            failed = write_block(record->csv,
                                 &record->blocks[record->written % BLOCKS],
                                 &error) != VLY_OK;
        if (!failed && marked)
            failed = vly_spike_csv_flush(record->csv, &place, &error) != VLY_OK;
        pthread_mutex_lock(&record->lock);
        if (error.status != VLY_OK)
            record->error = error;
        if (marked)
            record->place = place;
        record->written++;
        pthread_cond_broadcast(&record->changed);
        pthread_mutex_unlock(&record->lock);
    }
}

vly_status run_record_open(vly_spike_csv *csv, run_record **record,
                           vly_error *error)
{
    run_record *made = vly_calloc(1, sizeof *made);
    sigset_t all;
    sigset_t before;
    if (made == NULL)
        return vly_fail_nomem(error, sizeof *made, "recording");
    made->csv = csv;
    made->error.struct_size = sizeof made->error;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
    /* signals are the business of the thread that runs the net */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&made->thread, NULL, write_all, made);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed != 0) {
        vly_free(made);
        return vly_fail(error, VLY_E_NOMEM, "no thread for recording: %s",
                        strerror(failed));
    }
    *record = made;
    return VLY_OK;
}

/* Gives the block at hand to the thread; the next one is free then. */
static vly_status pass_on(run_record *record, bool mark, vly_error *error)
{
    pthread_mutex_lock(&record->lock);
    record->filled++;
    if (mark)
        record->marked = record->filled;
    pthread_cond_broadcast(&record->changed);
    while (record->filled - record->written >= BLOCKS)
        pthread_cond_wait(&record->changed, &record->lock);
    vly_status status = record->error.status;
    if (status != VLY_OK && error != NULL)
        *error = record->error;
    pthread_mutex_unlock(&record->lock);
    record_block *next = &record->blocks[record->filled % BLOCKS];
    next->n_bursts = 0;
    next->n_ids = 0;
    return status;
}

static vly_status reserve(record_block *block, uint32_t n, vly_error *error)
{
    uint64_t capacity = block->n_ids + n;
    if (capacity <= block->capacity)
        return VLY_OK;
    capacity = capacity > BLOCK_IDS ? capacity : BLOCK_IDS;
    uint32_t *ids = vly_realloc(block->ids, (size_t)capacity, sizeof *ids);
    if (ids == NULL)
        return vly_fail_nomem(error, capacity * sizeof *ids, "recording");
    block->ids = ids;
    block->capacity = capacity;
    return VLY_OK;
}

vly_status run_record_add(run_record *record, uint64_t burst,
                          const uint32_t *ids, uint32_t n_ids, vly_error *error)
{
    record_block *block = &record->blocks[record->filled % BLOCKS];
    vly_status status = VLY_OK;
    if (n_ids == 0)
        return VLY_OK;
    VLY_TRY(reserve(block, n_ids, error));
    memcpy(block->ids + block->n_ids, ids, n_ids * sizeof *ids);
    block->bursts[block->n_bursts] = burst;
    block->counts[block->n_bursts] = n_ids;
    block->n_bursts++;
    block->n_ids += n_ids;
    if (block->n_bursts == BLOCK_BURSTS || block->n_ids >= BLOCK_IDS)
        status = pass_on(record, false, error);
out:
    return status;
}

vly_status run_record_mark(run_record *record, vly_error *error)
{
    return pass_on(record, true, error);
}

vly_status run_record_marked(run_record *record, vly_spike_place *place,
                             vly_error *error)
{
    pthread_mutex_lock(&record->lock);
    while (record->written < record->marked)
        pthread_cond_wait(&record->changed, &record->lock);
    vly_status status = record->error.status;
    if (status == VLY_OK)
        *place = record->place;
    else if (error != NULL)
        *error = record->error;
    pthread_mutex_unlock(&record->lock);
    return status;
}

vly_status run_record_rewind(run_record *record, const vly_spike_place *place,
                             vly_error *error)
{
    record_block *block = &record->blocks[record->filled % BLOCKS];
    block->n_bursts = 0; /* what was not passed on is forgotten here */
    block->n_ids = 0;
    pthread_mutex_lock(&record->lock);
    while (record->written < record->filled)
        pthread_cond_wait(&record->changed, &record->lock);
    vly_status status = record->error.status;
    if (status != VLY_OK && error != NULL)
        *error = record->error;
    pthread_mutex_unlock(&record->lock);
    /* the thread has nothing to do until a block is passed on: csv is ours */
    return status == VLY_OK ? vly_spike_csv_rewind(record->csv, place, error)
                            : status;
}

vly_status run_record_close(run_record *record, vly_error *error)
{
    if (record == NULL)
        return VLY_OK;
    pthread_mutex_lock(&record->lock);
    record->filled += record->blocks[record->filled % BLOCKS].n_bursts != 0;
    record->ended = true;
    pthread_cond_broadcast(&record->changed);
    pthread_mutex_unlock(&record->lock);
    pthread_join(record->thread, NULL);
    vly_status status = record->error.status;
    if (status != VLY_OK && error != NULL)
        *error = record->error;
    for (int i = 0; i < BLOCKS; i++)
        vly_free(record->blocks[i].ids);
    pthread_mutex_destroy(&record->lock);
    pthread_cond_destroy(&record->changed);
    vly_free(record);
    return status;
}
