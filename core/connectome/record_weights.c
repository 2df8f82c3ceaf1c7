/* SPDX-License-Identifier: Apache-2.0
 * Projections of a file whose weights are all one: they become one_weight, and
 * the memory of the file's weights goes back to the system.
 */
#define _DEFAULT_SOURCE /* madvise */

#include "connectome/record_reader.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/thread.h"

#define BLOCK 64u /* weights compared without a branch */

static bool all_one(const int16_t *weight, uint64_t n)
{
    for (uint64_t j = 0; j < n; j += BLOCK) {
        const uint64_t stop = j + BLOCK < n ? j + BLOCK : n;
        uint32_t differ = 0;
        for (uint64_t i = j; i < stop; i++)
            differ |= weight[i] != weight[0];
        if (differ != 0)
            return false;
    }
    return true;
}

/* The whole pages in these bytes, which nothing reads any more. */
static uint64_t give_back(const void *bytes, uint64_t n)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t at = (uintptr_t)bytes;
    const uintptr_t first = (at + page - 1) / page * page;
    const uintptr_t last = (at + n) / page * page;
    if (last <= first || madvise((void *)first, last - first, MADV_DONTNEED))
        return 0;
    return last - first;
}

/* Whether each array is after that of the projection before, as the engine
 * writes them: no other one shares its pages then. */
static bool are_apart(const vly_record_reader *reader)
{
    const int16_t *end = NULL;
    for (uint32_t p = 0; p < reader->file->header.n_projections; p++) {
        const int16_t *weight = reader->projection_descs[p].weight;
        if (end && weight < end)
            return false;
        end = weight + reader->projections[p].n_synapses;
    }
    return true;
}

typedef struct weights_work {
    vly_record_reader *reader;
    bool apart;
    _Atomic uint64_t given_back;
} weights_work;

/* The record's extremes say which are worth a look. */
static void weights_task(void *arg, uint64_t p)
{
    weights_work *work = arg;
    const vly_connectome_projection *of = &work->reader->projections[p];
    vly_projection_desc *desc = &work->reader->projection_descs[p];
    const int16_t *weight = desc->weight;
    if (of->n_synapses == 0 || of->weight_min != of->weight_max ||
        desc->learning || !all_one(weight, of->n_synapses))
        return;
    desc->one_weight = weight[0];
    desc->weight = NULL;
    if (work->apart)
        work->given_back += give_back(weight, of->n_synapses * sizeof *weight);
}

void vly_record_weights(vly_record_reader *reader)
{
    weights_work work = {.reader = reader, .apart = are_apart(reader)};
    vly_thread_loop(vly_thread_cores(), reader->file->header.n_projections,
                    weights_task, &work);
    reader->storage->n_bytes -= work.given_back;
}
