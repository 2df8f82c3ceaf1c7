/* SPDX-License-Identifier: Apache-2.0
 * Making the lines of a CSV costs more than a burst of a small net on a GPU, so
 * a thread of its own does it: the run only copies words into a block. Blocks
 * are made as they are needed, up to the memory that was given; then, and where
 * there is none, the run waits for one to come back. It waits and drops
 * nothing, because what was recorded would otherwise depend on how fast the
 * machine was.
 */
#include "tools/run/run_record.h"

#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"

enum { BLOCK_ENTRIES = 4096, BLOCK_WORDS = 1 << 16, BLOCKS_MIN = 2 };

static const uint64_t tick_ns = 1000000000;
static const uint32_t is_spikes = UINT32_MAX; /* report of an entry */

/* The words of an entry follow those of the previous entry. */
typedef struct record_entry {
    uint64_t burst;
    uint32_t n;
    uint32_t report;
} record_entry;

typedef struct record_block {
    struct record_block *next;
    uint32_t *words; /* [capacity] */
    uint64_t capacity;
    uint64_t n_words;
    uint32_t n_entries;
    bool flush; /* write everything so far to the file */
    record_entry entries[BLOCK_ENTRIES];
} record_block;

struct run_record {
    run_sink sink;
    uint64_t memory_bytes;
    record_block *filling; /* the run's */
    uint64_t ticked_ns;
    run_record_load load; /* the run's */

    record_block *first; /* given to the thread: the oldest, ... */
    record_block *last;  /* ... and the newest */
    record_block *free;  /* done with */
    uint64_t n_bytes;    /* of all blocks */
    uint32_t n_blocks;
    uint64_t filled;  /* blocks given to the thread, ... */
    uint64_t written; /* ... and done with */
    uint64_t marked;  /* number of blocks after which the position in the file
                       * is reported */
    vly_spike_place place;
    bool ended;      /* no more will come */
    vly_error error; /* of the thread; status VLY_OK: success */
    pthread_t thread;
    pthread_mutex_t lock; /* of all members from first on */
    pthread_cond_t changed;
};

/* ---- the thread -------------------------------------------------------- */

static uint32_t keep_masked(const uint8_t *mask, uint32_t *ids, uint32_t n_ids)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_ids; i++)
        if (((uint32_t)mask[ids[i] / 8] >> ids[i] % 8 & 1u) != 0)
            ids[n++] = ids[i];
    return n;
}

static vly_status write_entry(const run_sink *sink, const record_entry *entry,
                              uint32_t *words, vly_error *error)
{
    uint32_t n = entry->n;
    vly_status status = VLY_OK;
    if (entry->report != is_spikes)
        return vly_stream_frame(sink->stream, entry->burst, entry->report,
                                words, error);
    if (sink->stats)
        vly_spike_stats_add(sink->stats, entry->burst, words, entry->n);
    if (sink->mask)
        n = keep_masked(sink->mask, words, n);
    if (sink->windows)
        n = run_window_keep(sink->windows, entry->burst, words, n);
    if (sink->csv)
        VLY_TRY(vly_spike_csv_add(sink->csv, entry->burst, words, n, error));
    if (sink->stream)
        status = vly_stream_spikes(sink->stream, entry->burst, words, n, error);
out:
    return status;
}

static vly_status flush(const run_sink *sink, vly_spike_place *place,
                        vly_error *error)
{
    if (sink->csv)
        return vly_spike_csv_flush(sink->csv, place, error);
    if (sink->stream)
        return vly_stream_flush(sink->stream, place, error);
    return VLY_OK;
}

static vly_status write_block(const run_sink *sink, const record_block *block,
                              vly_error *error)
{
    vly_status status = VLY_OK;
    uint32_t *words = block->words;
    for (uint32_t e = 0; e < block->n_entries; e++) {
        const record_entry *entry = &block->entries[e];
        VLY_TRY(write_entry(sink, entry, words, error));
        words += entry->n;
    }
out:
    return status;
}

static void give_back(run_record *record, record_block *block)
{
    record->first = block->next;
    if (!record->first)
        record->last = NULL;
    block->next = record->free;
    record->free = block;
    record->written++;
    pthread_cond_broadcast(&record->changed);
}

static void *write_all(void *arg)
{
    run_record *record = arg;
    bool failed = false;
    for (;;) {
        pthread_mutex_lock(&record->lock);
        while (!record->first && !record->ended)
            pthread_cond_wait(&record->changed, &record->lock);
        record_block *block = record->first;
        bool marked = record->marked == record->written + 1;
        pthread_mutex_unlock(&record->lock);
        if (!block)
            return NULL;
        vly_error error = VLY_ERROR_INIT;
        vly_spike_place place = {0};
        if (!failed)
            failed = write_block(&record->sink, block, &error) != VLY_OK;
        if (!failed && (marked || block->flush))
            failed = flush(&record->sink, &place, &error) != VLY_OK;
        pthread_mutex_lock(&record->lock);
        if (error.status != VLY_OK)
            record->error = error;
        if (marked)
            record->place = place;
        give_back(record, block);
        pthread_mutex_unlock(&record->lock);
    }
}

/* ---- blocks ------------------------------------------------------------ */

static void free_block(record_block *block)
{
    if (block)
        vly_free(block->words);
    vly_free(block);
}

static void free_blocks(record_block *block)
{
    while (block) {
        record_block *next = block->next;
        free_block(block);
        block = next;
    }
}

/* NULL if memory ran out */
static record_block *make_block(void)
{
    record_block *block = vly_malloc(1, sizeof *block);
    if (!block)
        return NULL;
    block->words = vly_malloc(BLOCK_WORDS, sizeof *block->words);
    if (!block->words) {
        free_block(block);
        return NULL;
    }
    block->capacity = BLOCK_WORDS;
    return block;
}

static uint64_t block_bytes(const record_block *block)
{
    return sizeof *block + block->capacity * sizeof *block->words;
}

/* With the lock held: allocates another block, if the limit and the memory
 * allow it. */
static record_block *grow(run_record *record)
{
    uint64_t bytes = sizeof(record_block) + BLOCK_WORDS * sizeof(uint32_t);
    if (record->n_blocks >= BLOCKS_MIN &&
        record->n_bytes + bytes > record->memory_bytes)
        return NULL;
    record_block *made = make_block();
    if (!made)
        return NULL;
    record->n_blocks++;
    record->n_bytes += bytes;
    if (record->load.bytes_most < record->n_bytes)
        record->load.bytes_most = record->n_bytes;
    return made;
}

/* With the lock held: an empty block; waits for one if necessary. */
static record_block *take_block(run_record *record)
{
    record_block *block = record->free;
    if (!block)
        block = grow(record);
    if (!block) {
        uint64_t begin = vly_clock_ns();
        while (!record->free)
            pthread_cond_wait(&record->changed, &record->lock);
        record->load.n_waits++;
        record->load.waited_ns += vly_clock_ns() - begin;
        block = record->free;
    }
    if (block == record->free)
        record->free = block->next;
    block->next = NULL;
    block->n_words = 0;
    block->n_entries = 0;
    block->flush = false;
    return block;
}

/* Passes the current block to the thread and takes another one. */
static vly_status pass_on(run_record *record, bool mark, vly_error *error)
{
    record_block *block = record->filling;
    pthread_mutex_lock(&record->lock);
    if (record->last)
        record->last->next = block;
    else
        record->first = block;
    record->last = block;
    record->filled++;
    if (mark)
        record->marked = record->filled;
    pthread_cond_broadcast(&record->changed);
    record->filling = take_block(record);
    vly_status status = record->error.status;
    if (status != VLY_OK && error)
        *error = record->error;
    pthread_mutex_unlock(&record->lock);
    return status;
}

/* Room for n words in the current block. More words than a block holds are
 * allowed only if one burst needs them. */
static vly_status reserve(run_record *record, uint32_t n, vly_error *error)
{
    record_block *block = record->filling;
    vly_status status = VLY_OK;
    if (n <= block->capacity - block->n_words &&
        block->n_entries < BLOCK_ENTRIES)
        return VLY_OK;
    if (block->n_entries > 0)
        VLY_TRY(pass_on(record, false, error));
    block = record->filling;
    if (n <= block->capacity)
        return VLY_OK;
    uint64_t before = block_bytes(block);
    uint32_t *words = vly_realloc(block->words, n, sizeof *words);
    if (!words)
        return vly_fail_nomem(error, n * sizeof *words, "recording");
    block->words = words;
    block->capacity = n;
    pthread_mutex_lock(&record->lock);
    record->n_bytes += block_bytes(block) - before;
    if (record->load.bytes_most < record->n_bytes)
        record->load.bytes_most = record->n_bytes;
    pthread_mutex_unlock(&record->lock);
out:
    return status;
}

/* ---- the run ----------------------------------------------------------- */

static vly_status start_thread(run_record *record, vly_error *error)
{
    return vly_thread_start(&record->thread, write_all, record, "recording",
                            error);
}

static void free_record(run_record *record)
{
    free_blocks(record->free);
    free_blocks(record->first);
    free_block(record->filling);
    pthread_mutex_destroy(&record->lock);
    pthread_cond_destroy(&record->changed);
    vly_free(record);
}

vly_status run_record_open(const run_sink *sink, uint64_t memory_bytes,
                           run_record **record, vly_error *error)
{
    run_record *made = vly_calloc(1, sizeof *made);
    vly_status status = VLY_OK;
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "recording");
    made->sink = *sink;
    made->memory_bytes = memory_bytes;
    made->error.struct_size = sizeof made->error;
    made->ticked_ns = vly_clock_ns();
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
    made->free = grow(made);
    if (made->free)
        made->free->next = NULL;
    record_block *second = made->free ? grow(made) : NULL;
    if (!second) {
        status =
            vly_fail_nomem(error, BLOCK_WORDS * sizeof(uint32_t), "recording");
        goto out;
    }
    second->next = made->free;
    made->free = second;
    made->filling = take_block(made);
    VLY_TRY(start_thread(made, error));
    *record = made;
    return VLY_OK;
out:
    free_record(made);
    return status;
}

static vly_status add(run_record *record, uint64_t burst, uint32_t report,
                      const uint32_t *words, uint32_t n, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(reserve(record, n, error));
    record_block *block = record->filling;
    if (n > 0)
        memcpy(block->words + block->n_words, words, n * sizeof *words);
    block->n_words += n;
    block->entries[block->n_entries++] = (record_entry){burst, n, report};
out:
    return status;
}

vly_status run_record_add(run_record *record, uint64_t burst,
                          const uint32_t *ids, uint32_t n_ids, vly_error *error)
{
    if (n_ids == 0)
        return VLY_OK;
    return add(record, burst, is_spikes, ids, n_ids, error);
}

vly_status run_record_frame(run_record *record, uint64_t n_bursts,
                            uint32_t report, const uint32_t *words, uint32_t n,
                            vly_error *error)
{
    return add(record, n_bursts, report, words, n, error);
}

vly_status run_record_tick(run_record *record, vly_error *error)
{
    uint64_t now = vly_clock_ns();
    if (now - record->ticked_ns < tick_ns)
        return VLY_OK;
    record->ticked_ns = now;
    if (record->filling->n_entries == 0)
        return VLY_OK;
    record->filling->flush = true;
    return pass_on(record, false, error);
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
    else if (error)
        *error = record->error;
    pthread_mutex_unlock(&record->lock);
    return status;
}

vly_status run_record_drain(run_record *record, vly_error *error)
{
    pthread_mutex_lock(&record->lock);
    while (record->written < record->filled)
        pthread_cond_wait(&record->changed, &record->lock);
    vly_status status = record->error.status;
    if (status != VLY_OK && error)
        *error = record->error;
    pthread_mutex_unlock(&record->lock);
    return status;
}

vly_status run_record_rewind(run_record *record, const vly_spike_place *place,
                             uint64_t burst, vly_error *error)
{
    const run_sink *sink = &record->sink;
    vly_status status = VLY_OK;
    /* entries not yet passed to the thread are dropped */
    record->filling->n_entries = 0;
    record->filling->n_words = 0;
    VLY_TRY(run_record_drain(record, error));
    if (sink->stats)
        vly_spike_stats_restart(sink->stats, burst);
    if (sink->csv)
        VLY_TRY(vly_spike_csv_rewind(sink->csv, place, error));
    if (sink->stream)
        VLY_TRY(vly_stream_rewind(sink->stream, place, error));
out:
    return status;
}

void run_record_get_load(run_record *record, run_record_load *load)
{
    pthread_mutex_lock(&record->lock);
    *load = record->load;
    pthread_mutex_unlock(&record->lock);
}

vly_status run_record_close(run_record *record, uint64_t n_bursts,
                            vly_error *error)
{
    if (!record)
        return VLY_OK;
    vly_error found = VLY_ERROR_INIT;
    vly_status status = VLY_OK;
    if (record->filling->n_entries > 0)
        pass_on(record, false, NULL);
    (void)run_record_drain(record, NULL);
    pthread_mutex_lock(&record->lock);
    record->ended = true;
    pthread_cond_broadcast(&record->changed);
    pthread_mutex_unlock(&record->lock);
    pthread_join(record->thread, NULL);
    status = record->error.status;
    found = record->error;
    if (status == VLY_OK && record->sink.stream)
        status = vly_stream_end(record->sink.stream, n_bursts, &found);
    if (status != VLY_OK && error)
        *error = found;
    free_record(record);
    return status;
}
