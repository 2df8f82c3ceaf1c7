/* SPDX-License-Identifier: Apache-2.0
 * Short launches, whose results the device writes to the host.
 */
#ifndef VOLLEY_CUDA_SHORT_H
#define VOLLEY_CUDA_SHORT_H

#include "cuda_base.h"

#include <stdbool.h>

/* A range of a field that the host reads after short runs. */
typedef struct vly_cuda_read {
    uint32_t area;
    uint32_t field;
    uint32_t first;
    uint32_t count;
    uint32_t at;           /* index in the published words */
    uint32_t is_published; /* 0: not before the next short run */
} vly_cuda_read;

/* Data that the device writes to the host after a short run */
typedef struct vly_cuda_host_view {
    vly_cuda_published *published; /* pinned */
    uint32_t number;               /* of the last short launch */
    uint32_t is_valid;             /* 1: the words are up to date */
    uint32_t n_reads;
    uint32_t n_words;                          /* of all ranges */
    vly_cuda_read reads[VLY_CUDA_WATCHES - 1]; /* area_spikes has one more */
    uint32_t *ids;                             /* pinned: [room] ids, gains */
    uint64_t room;
} vly_cuda_host_view;

/* Is a launch short enough for the host to poll for its results? Allocates the
 * memory for that. */
bool vly_cuda_short_fits(vly_cuda_shard *shard, const vly_run *run,
                         const vly_cuda_launch *launch);
/* Enqueues the work after the launch, waits, and stores done, records and
 * spikes by area in the places of a long launch. */
vly_status vly_cuda_short_finish(vly_cuda_shard *shard, const vly_run *run,
                                 const vly_cuda_launch *launch,
                                 vly_error *error);
/* 1: words[] were filled from published data. Otherwise the range is published
 * from the next short run on. */
bool vly_cuda_short_read(vly_cuda_shard *shard, uint32_t area, uint32_t field,
                         uint32_t first, uint32_t count, uint32_t *words);
/* Called before the state changes: marks published data as invalid. */
void vly_cuda_short_forget(vly_cuda_shard *shard);

#endif
