/* SPDX-License-Identifier: Apache-2.0
 * The log of spikes on the device.
 */
#ifndef VOLLEY_CUDA_HISTORY_H
#define VOLLEY_CUDA_HISTORY_H

#include <stdbool.h>

#include "cuda_base.h"

vly_status vly_cuda_history_create(vly_cuda_shard *shard, vly_error *error);
/* Makes room for n more spikes in addition to those from burst `oldest` on. */
vly_status vly_cuda_history_reserve(vly_cuda_shard *shard, uint64_t oldest,
                                    uint64_t n, vly_error *error);
/* The same where the first of those spikes is known by its position. */
vly_status vly_cuda_history_move(vly_cuda_shard *shard, uint64_t from,
                                 uint64_t n, vly_error *error);
/* The n_spikes spikes of n_bursts bursts, in order; gains may be NULL. */
vly_status vly_cuda_history_read(vly_cuda_shard *shard, uint64_t burst,
                                 uint32_t n_bursts, uint64_t n_spikes,
                                 uint32_t *ids, uint32_t *gains,
                                 vly_error *error);
/* Enqueues sorting of a launch's spikes for the host: of up to n_bursts bursts,
 * at most `room` spikes. */
vly_status vly_cuda_history_sort(vly_cuda_shard *shard, uint64_t burst,
                                 uint32_t n_bursts, uint64_t room, bool gains,
                                 vly_error *error);
/* Enqueues the copy of these n_spikes spikes, concurrent with later work in the
 * net's stream. They are in ids and gains (NULL: not wanted) after receive,
 * which must be called before the next sort. One copy at a time. */
vly_status vly_cuda_history_send(vly_cuda_shard *shard, uint64_t n_spikes,
                                 uint32_t *ids, uint32_t *gains,
                                 vly_error *error);
vly_status vly_cuda_history_receive(vly_cuda_shard *shard, vly_error *error);
/* Enqueues zeros for the records of n_bursts bursts from the next one on. */
vly_status vly_cuda_history_clear(vly_cuda_shard *shard, uint32_t n_bursts,
                                  vly_error *error);
/* Makes room in the log after a launch that filled it. */
vly_status vly_cuda_history_grow(vly_cuda_shard *shard, vly_error *error);
/* Enqueues the copy of the records of n_bursts bursts; a cudaError_t. */
int vly_cuda_history_fetch(vly_cuda_shard *shard, uint64_t burst,
                           uint32_t n_bursts, vly_cuda_record *records);
/* Copies the records of n_bursts bursts into records[]. */
vly_status vly_cuda_history_records(vly_cuda_shard *shard, uint64_t burst,
                                    uint32_t n_bursts, vly_cuda_record *records,
                                    vly_error *error);
vly_status vly_cuda_history_load(vly_cuda_shard *shard,
                                 const vly_snapshot *snapshot,
                                 vly_error *error);

#endif
