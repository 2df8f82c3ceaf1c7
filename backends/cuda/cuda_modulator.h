/* SPDX-License-Identifier: Apache-2.0
 * Projections whose synapses have an eligibility, and their modulators, between
 * launches (kernels/cuda/modulator.cu).
 */
#ifndef VOLLEY_CUDA_MODULATOR_H
#define VOLLEY_CUDA_MODULATOR_H

#include "cuda_base.h"
#include "cuda_own_rows.h"
#include "kernels/cuda/learning_kernels.h"

/* Eligibilities and modulator of a projection, from its words of a snapshot;
 * traces_end: after those of the traces. Nothing for other rules. */
vly_status vly_cuda_modulator_create(vly_cuda_shard *shard, uint32_t projection,
                                     const vly_cuda_own_rows *rows,
                                     const uint32_t *words,
                                     const uint32_t *traces_end,
                                     vly_cuda_learning *l, vly_error *error);
/* Whether any projection has a modulator. */
bool vly_cuda_modulates(const vly_cuda_shard *shard);
/* A launch of n bursts, cut before the next burst in which weights change. */
uint32_t vly_cuda_modulator_bursts(const vly_cuda_shard *shard, uint32_t n);
/* Before a launch: weights change if this is such a burst. */
vly_status vly_cuda_modulator_begin(vly_cuda_shard *shard, vly_error *error);
/* After a launch was enqueued: its spikes and the values of the run. Where
 * vly_cuda_ranks_wait, after the spikes of all ranks are in the log. */
vly_status vly_cuda_modulator_end(vly_cuda_shard *shard, const vly_run *run,
                                  const vly_cuda_launch *launch,
                                  vly_error *error);

#endif
