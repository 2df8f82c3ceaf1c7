/* SPDX-License-Identifier: Apache-2.0
 * Synapses of a map in buckets of neighbouring rows, before they are sorted.
 */
#ifndef VOLLEY_CONNECTOME_ROW_BUCKETS_H
#define VOLLEY_CONNECTOME_ROW_BUCKETS_H

#include "connectome/synapse_rules.h"

typedef struct vly_bucket_plan {
    uint32_t row_bits; /* a bucket is 2^row_bits rows */
    uint32_t target_bits;
    uint32_t n_buckets;
} vly_bucket_plan;

typedef struct vly_bucket_work {
    const vly_rule_job *job;
    vly_bucket_plan plan;
    uint64_t n;
    uint64_t part_size; /* a multiple of VLY_WORDS */
    uint64_t n_parts;
    bool ascending;  /* targets, in each bucket */
    uint64_t *at;    /* [n_parts][n_buckets] counts, then where to write */
    uint64_t *first; /* [n_buckets + 1] */
    uint64_t *row;
    uint32_t *targets;
    uint32_t skew; /* of targets in its line of the cache, in words */
    struct vly_bucket_line *lines; /* [slots][n_lines] */
    uint32_t *next;                /* [slots][n_lines] */
    size_t n_lines;
    uint32_t *scratch; /* [slots][n_scratch] */
    size_t n_scratch;
} vly_bucket_work;

/* bucket_sort.c: sorts a bucket and writes where its rows begin; a task of
 * vly_items_loop, arg: the vly_bucket_work. */
void vly_bucket_sort(void *arg, uint32_t slot, uint64_t bucket);

#endif
