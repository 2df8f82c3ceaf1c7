/* SPDX-License-Identifier: Apache-2.0
 * Kernels that compute nothing: see fake_cuda.c.
 */
#include <stdlib.h>
#include <string.h>

#include "fake_cuda.h"
#include "kernels/cuda/learner_kernels.h"
#include "kernels/cuda/partition_layout.h"
#include "kernels/cuda/program_kernels.h"

/* most of them use few of their arguments */
#pragma GCC diagnostic ignored "-Wunused-parameter"

enum { BLOCK_BYTES = 4096 };

/* All bursts done, no spike. */
static void pass(const vly_cuda_launch *launch)
{
    launch->done->n_bursts = launch->n_bursts;
    launch->done->head = launch->head;
}

cudaError_t vly_cuda_global_occupancy(const vly_cuda_view *view, int *blocks)
{
    *blocks = 1;
    return cudaSuccess;
}

cudaError_t vly_cuda_launch_global(const vly_cuda_view *view,
                                   const vly_cuda_launch *launch,
                                   uint32_t n_blocks, cudaStream_t stream)
{
    if (view->groups == NULL || view->input == NULL)
        return cudaErrorInvalidValue;
    pass(launch);
    return cudaSuccess;
}

cudaError_t vly_cuda_launch_learning(const vly_cuda_view *view,
                                     const vly_cuda_launch *launch,
                                     const vly_cuda_learnings *learnings,
                                     uint32_t n_blocks, cudaStream_t stream)
{
    if (view->input == NULL ||
        (learnings->list == NULL && learnings->short_term == NULL))
        return cudaErrorInvalidValue;
    pass(launch);
    return cudaSuccess;
}

cudaError_t vly_cuda_programs_slots(uint32_t *n_slots)
{
    *n_slots = FAKE_CUDA_SHARED / BLOCK_BYTES;
    return cudaSuccess;
}

cudaError_t vly_cuda_programs_learning_slots(uint32_t *n_slots)
{
    return vly_cuda_programs_slots(n_slots);
}

cudaError_t vly_cuda_launch_programs(const vly_cuda_view *view,
                                     const vly_cuda_launch *launch,
                                     const vly_cuda_programs *programs,
                                     uint32_t n_blocks, cudaStream_t stream)
{
    if (view->input == NULL || programs->list == NULL)
        return cudaErrorInvalidValue;
    pass(launch);
    return cudaSuccess;
}

cudaError_t vly_cuda_launch_programs_learning(
    const vly_cuda_view *view, const vly_cuda_launch *launch,
    const vly_cuda_learnings *learnings, const vly_cuda_programs *programs,
    uint32_t n_blocks, cudaStream_t stream)
{
    if (learnings->list == NULL && learnings->short_term == NULL)
        return cudaErrorInvalidValue;
    return vly_cuda_launch_programs(view, launch, programs, n_blocks, stream);
}

cudaError_t vly_cuda_launch_spliced(const void *kernel,
                                    const vly_cuda_view *view,
                                    const vly_cuda_launch *launch,
                                    const vly_cuda_learnings *learnings,
                                    const vly_cuda_programs *programs,
                                    uint32_t n_blocks, cudaStream_t stream)
{
    if (kernel == NULL || programs->values != NULL)
        return cudaErrorInvalidValue;
    return learnings != NULL
               ? vly_cuda_launch_programs_learning(view, launch, learnings,
                                                   programs, n_blocks, stream)
               : vly_cuda_launch_programs(view, launch, programs, n_blocks,
                                          stream);
}

cudaError_t vly_cuda_ports_slots(uint32_t *n_slots)
{
    return vly_cuda_programs_slots(n_slots);
}

cudaError_t vly_cuda_ports_learning_slots(uint32_t *n_slots)
{
    return vly_cuda_programs_slots(n_slots);
}

cudaError_t vly_cuda_launch_ports(const vly_cuda_view *view,
                                  const vly_cuda_launch *launch,
                                  const vly_cuda_programs *programs,
                                  uint32_t n_blocks, cudaStream_t stream)
{
    return vly_cuda_launch_programs(view, launch, programs, n_blocks, stream);
}

cudaError_t vly_cuda_launch_ports_learning(const vly_cuda_view *view,
                                           const vly_cuda_launch *launch,
                                           const vly_cuda_learnings *learnings,
                                           const vly_cuda_programs *programs,
                                           uint32_t n_blocks,
                                           cudaStream_t stream)
{
    return vly_cuda_launch_programs_learning(view, launch, learnings, programs,
                                             n_blocks, stream);
}

cudaError_t vly_cuda_launch_learning_flush(const vly_cuda_learnings *learnings,
                                           uint64_t burst, uint32_t n_blocks,
                                           cudaStream_t stream)
{
    return learnings->list != NULL ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t vly_cuda_launch_rules(const vly_cuda_view *view,
                                  const vly_cuda_launch *launch,
                                  const vly_cuda_learnings *learnings,
                                  uint32_t n_blocks, cudaStream_t stream)
{
    return vly_cuda_launch_learning(view, launch, learnings, n_blocks, stream);
}

cudaError_t vly_cuda_launch_rules_flush(const vly_cuda_learnings *learnings,
                                        uint64_t burst, uint32_t n_blocks,
                                        cudaStream_t stream)
{
    return vly_cuda_launch_learning_flush(learnings, burst, n_blocks, stream);
}

cudaError_t vly_cuda_ports_rules_slots(uint32_t *n_slots)
{
    return vly_cuda_programs_slots(n_slots);
}

cudaError_t vly_cuda_launch_ports_rules(const vly_cuda_view *view,
                                        const vly_cuda_launch *launch,
                                        const vly_cuda_learnings *learnings,
                                        const vly_cuda_programs *programs,
                                        uint32_t n_blocks, cudaStream_t stream)
{
    return vly_cuda_launch_programs_learning(view, launch, learnings, programs,
                                             n_blocks, stream);
}

cudaError_t vly_cuda_launch_sweep(const vly_cuda_learnings *learnings,
                                  uint64_t burst, uint32_t n_blocks,
                                  cudaStream_t stream)
{
    return learnings->list != NULL ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t vly_cuda_launch_modulators(const vly_cuda_view *view,
                                       const vly_cuda_learnings *learnings,
                                       const vly_cuda_launch *launch,
                                       const vly_cuda_given *given,
                                       uint32_t n_given, cudaStream_t stream)
{
    return n_given == 0 || given != NULL ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t vly_cuda_launch_taken(const vly_cuda_view *view,
                                  const vly_cuda_learnings *learnings,
                                  uint64_t burst, uint32_t n_bursts,
                                  cudaStream_t stream)
{
    return view->log_ids != NULL && learnings->list != NULL
               ? cudaSuccess
               : cudaErrorInvalidValue;
}

cudaError_t vly_cuda_launch_short_term_reset(const vly_cuda_short_term *s,
                                             cudaStream_t stream)
{
    return s->head != NULL ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t vly_cuda_launch_short_term_again(const vly_cuda_view *view,
                                             const vly_cuda_short_term *s,
                                             uint64_t burst, uint64_t fired,
                                             uint32_t sign, cudaStream_t stream)
{
    return view->input != NULL && fired < burst ? cudaSuccess
                                                : cudaErrorInvalidValue;
}

cudaError_t vly_cuda_launch_short_term_renew(const vly_cuda_short_term *s,
                                             uint64_t burst,
                                             cudaStream_t stream)
{
    return s->tail != NULL ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t vly_cuda_launch_weights_digest(const uint32_t *words, uint64_t n,
                                           uint64_t at, uint64_t *sum,
                                           cudaStream_t stream)
{
    return cudaSuccess;
}

cudaError_t vly_cuda_launch_restore(const vly_cuda_view *view, uint64_t burst,
                                    uint32_t group, uint32_t ago,
                                    cudaStream_t stream)
{
    return view->groups != NULL ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t vly_cuda_launch_learners(const vly_cuda_view *view,
                                     const vly_cuda_launch *launch,
                                     const vly_cuda_resident *resident,
                                     const vly_cuda_learners *learners,
                                     const void *spliced, cudaStream_t stream)
{
    if ((spliced != NULL) != (view->programs != NULL))
        return cudaErrorInvalidValue;
    if (learners->n == 0 || learners->log == NULL)
        return cudaErrorInvalidValue;
    pass(launch);
    return cudaSuccess;
}

cudaError_t vly_cuda_launch_learner_rules(const vly_cuda_view *view,
                                          const vly_cuda_launch *launch,
                                          const vly_cuda_resident *resident,
                                          const vly_cuda_learners *learners,
                                          cudaStream_t stream)
{
    return vly_cuda_launch_learners(view, launch, resident, learners, NULL,
                                    stream);
}

cudaError_t vly_cuda_launch_learner_rules_flush(
    const vly_cuda_view *view, const vly_cuda_resident *resident,
    const vly_cuda_learners *learners, uint64_t burst, cudaStream_t stream)
{
    return vly_cuda_launch_learners_flush(view, resident, learners, burst,
                                          stream);
}

cudaError_t vly_cuda_launch_learners_flush(const vly_cuda_view *view,
                                           const vly_cuda_resident *resident,
                                           const vly_cuda_learners *learners,
                                           uint64_t burst, cudaStream_t stream)
{
    return learners->log != NULL ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t vly_cuda_launch_learner_make(const vly_cuda_learning *learning,
                                         const vly_cuda_learner *learner,
                                         uint32_t n_blocks,
                                         const vly_cuda_learner_work *work,
                                         cudaStream_t stream)
{
    return learning->target != NULL && learner->number != NULL
               ? cudaSuccess
               : cudaErrorInvalidValue;
}

cudaError_t vly_cuda_launch_learner_move(const vly_cuda_learning *learning,
                                         const vly_cuda_learner *learner,
                                         const vly_cuda_learner_work *work,
                                         uint32_t outwards, cudaStream_t stream)
{
    return work->words != NULL ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t vly_cuda_launch_learner_states(const vly_cuda_learning *learning,
                                           const vly_cuda_learner *learner,
                                           uint32_t n_blocks, uint32_t burst,
                                           uint32_t outwards,
                                           cudaStream_t stream)
{
    return learner->source != NULL ? cudaSuccess : cudaErrorInvalidValue;
}

uint64_t vly_cuda_resident_bytes(const vly_cuda_view *view,
                                 const vly_cuda_resident *resident)
{
    return BLOCK_BYTES;
}

cudaError_t vly_cuda_resident_prepare(const vly_cuda_view *view,
                                      const vly_cuda_resident *resident)
{
    return cudaSuccess;
}

cudaError_t vly_cuda_spliced_prepare(const void *kernel)
{
    const char *text = getenv("FAKE_CUDA_PREPARE");
    int device = 0;
    (void)cudaGetDevice(&device);
    if (text != NULL && device == atoi(text))
        return cudaErrorNoKernelImageForDevice;
    return kernel != NULL ? cudaSuccess : cudaErrorInvalidValue;
}

uint32_t vly_cuda_resident_threads(const vly_cuda_view *view,
                                   const vly_cuda_resident *resident)
{
    const char *text = getenv("FAKE_CUDA_THREADS");
    return text != NULL ? (uint32_t)atoi(text) : VLY_CUDA_THREADS;
}

cudaError_t vly_cuda_launch_resident(const vly_cuda_view *view,
                                     const vly_cuda_launch *launch,
                                     const vly_cuda_resident *resident,
                                     const void *spliced, cudaStream_t stream)
{
    if ((spliced != NULL) != (view->programs != NULL))
        return cudaErrorInvalidValue;
    if (resident->ring == NULL || resident->part[0].classes == NULL)
        return cudaErrorInvalidValue;
    pass(launch);
    return cudaSuccess;
}

cudaError_t vly_cuda_launch_resident_restore(const vly_cuda_view *view,
                                             const vly_cuda_resident *resident,
                                             uint64_t burst, uint32_t age,
                                             cudaStream_t stream)
{
    return cudaSuccess;
}

cudaError_t vly_cuda_launch_segment_count(const vly_cuda_view *view,
                                          const vly_cuda_group *group,
                                          const vly_cuda_resident *resident,
                                          uint32_t *count, cudaStream_t stream)
{
    return cudaSuccess;
}

cudaError_t vly_cuda_launch_segment_sizes(const uint32_t *count,
                                          uint32_t n_sources, uint32_t n_blocks,
                                          vly_cuda_sizes *sizes,
                                          cudaStream_t stream)
{
    return cudaSuccess;
}

cudaError_t vly_cuda_launch_segment_marks(const vly_cuda_view *view,
                                          uint32_t n_blocks,
                                          const vly_cuda_segments *part,
                                          const uint32_t *count,
                                          vly_cuda_marks *marks,
                                          uint32_t *ranks, cudaStream_t stream)
{
    return cudaSuccess;
}

cudaError_t vly_cuda_launch_segment_fill(const vly_cuda_view *view,
                                         const vly_cuda_group *group,
                                         const vly_cuda_resident *resident,
                                         uint32_t *const segments[2],
                                         uint32_t *count, cudaStream_t stream)
{
    return cudaSuccess;
}

/* as burst_partition.cu has it */
uint64_t vly_cuda_partition_bytes(const vly_cuda_view *view,
                                  const vly_cuda_partition *partition)
{
    return partition_dynamic(view, partition) + partition_static();
}

cudaError_t vly_cuda_partition_clusters(const vly_cuda_view *view,
                                        const vly_cuda_partition *partition,
                                        uint64_t bytes, uint32_t *n_clusters)
{
    *n_clusters =
        bytes <= FAKE_CUDA_SHARED ? fake_cuda_units / partition->cluster : 0;
    return cudaSuccess;
}

uint32_t vly_cuda_partition_kind(const vly_cuda_partition *partition)
{
    return 0;
}

cudaError_t vly_cuda_launch_partition(const vly_cuda_view *view,
                                      const vly_cuda_launch *launch,
                                      const vly_cuda_partition *partition,
                                      const void *spliced, cudaStream_t stream)
{
    if ((spliced != NULL) != (view->programs != NULL))
        return cudaErrorInvalidValue;
    if ((partition->narrow != 0 && partition->extra == NULL) ||
        partition->groups == NULL || partition->mail == NULL)
        return cudaErrorInvalidValue;
    pass(launch);
    return cudaSuccess;
}

cudaError_t vly_cuda_span_clusters(const vly_cuda_view *view,
                                   const vly_cuda_partition *partition,
                                   uint64_t bytes, uint32_t *n_clusters)
{
    return vly_cuda_partition_clusters(view, partition, bytes, n_clusters);
}

cudaError_t vly_cuda_launch_span(const vly_cuda_view *view,
                                 const vly_cuda_launch *launch,
                                 const vly_cuda_partition *partition,
                                 const void *spliced, cudaStream_t stream)
{
    for (uint32_t i = 0; i < partition->span.n; i++)
        if (partition->span.gate[i] == NULL || partition->span.mail[i] == NULL)
            return cudaErrorInvalidValue;
    return vly_cuda_launch_partition(view, launch, partition, spliced, stream);
}

cudaError_t vly_cuda_launch_span_count(const vly_cuda_view *view,
                                       const vly_cuda_part *part,
                                       const vly_cuda_partition *partition,
                                       uint32_t from_delay, uint32_t base_delay,
                                       uint32_t *offset, cudaStream_t stream)
{
    return offset != NULL ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t vly_cuda_launch_span_fill(const vly_cuda_view *view,
                                      const vly_cuda_part *part,
                                      const vly_cuda_partition *partition,
                                      uint32_t from_delay, uint32_t base_delay,
                                      const uint64_t *row, uint32_t *offset,
                                      uint32_t *synapses, cudaStream_t stream)
{
    return row != NULL && synapses != NULL ? cudaSuccess
                                           : cudaErrorInvalidValue;
}

cudaError_t vly_cuda_launch_partition_restore(
    const vly_cuda_view *view, const vly_cuda_partition *partition,
    uint64_t burst, uint32_t group, uint32_t ago, cudaStream_t stream)
{
    return cudaSuccess;
}

cudaError_t vly_cuda_launch_partition_count(const vly_cuda_view *view,
                                            const vly_cuda_group *from,
                                            const vly_cuda_partition *partition,
                                            uint32_t base_delay,
                                            uint32_t *offset, uint32_t *away,
                                            cudaStream_t stream)
{
    return cudaSuccess;
}

cudaError_t vly_cuda_launch_partition_scan(uint32_t n_neurons,
                                           const vly_cuda_partition *partition,
                                           const uint32_t *away,
                                           uint32_t *offset, uint64_t *length,
                                           uint32_t *longest,
                                           cudaStream_t stream)
{
    return cudaSuccess;
}

cudaError_t vly_cuda_launch_partition_fill(const vly_cuda_view *view,
                                           const vly_cuda_group *from,
                                           const vly_cuda_partition *partition,
                                           uint32_t base_delay,
                                           const uint64_t *row,
                                           uint32_t *offset, uint32_t *synapses,
                                           cudaStream_t stream)
{
    if (partition->narrow != 0 && partition->divisor == NULL)
        return cudaErrorInvalidValue; /* weights are divided here */
    return cudaSuccess;
}

cudaError_t vly_cuda_launch_partition_order(
    uint32_t n_neurons, const vly_cuda_partition *partition,
    const uint64_t *row, const uint32_t *away, uint32_t *offset,
    uint32_t *synapses, cudaStream_t stream)
{
    return cudaSuccess;
}

cudaError_t vly_cuda_launch_partition_ends(uint32_t n_neurons,
                                           const vly_cuda_partition *partition,
                                           const uint64_t *row,
                                           uint32_t *offset,
                                           cudaStream_t stream)
{
    return cudaSuccess;
}

cudaError_t vly_cuda_launch_partition_index(
    uint32_t n_neurons, const vly_cuda_partition *partition,
    const uint64_t *row, const uint32_t *offset, uint32_t n_words,
    vly_cuda_index_word *index, uint64_t *carry, cudaStream_t stream)
{
    return cudaSuccess;
}

cudaError_t vly_cuda_launch_sort(const vly_cuda_view *view, uint64_t burst,
                                 uint32_t n_bursts, uint32_t *ids,
                                 uint32_t *gains, cudaStream_t stream)
{
    return cudaSuccess;
}

cudaError_t vly_cuda_launch_count_areas(const vly_cuda_view *view,
                                        const vly_cuda_launch *launch,
                                        uint64_t *counts, cudaStream_t stream)
{
    return cudaSuccess;
}

cudaError_t vly_cuda_launch_state_digest(const uint32_t *words, uint32_t first,
                                         uint32_t n, uint32_t field,
                                         uint64_t *digest, cudaStream_t stream)
{
    return cudaSuccess;
}

cudaError_t vly_cuda_launch_take(const vly_cuda_view *view, uint64_t burst,
                                 uint32_t n_bursts,
                                 const vly_cuda_record *records, uint64_t head,
                                 uint64_t n, const uint32_t *ids,
                                 const uint32_t *gains, cudaStream_t stream)
{
    return cudaSuccess;
}

cudaError_t vly_cuda_launch_log_move(const vly_cuda_view *view, uint64_t from,
                                     uint64_t to, uint32_t *ids,
                                     uint32_t *gains, uint64_t mask,
                                     cudaStream_t stream)
{
    return cudaSuccess;
}

cudaError_t vly_cuda_launch_publish(const vly_cuda_view *view,
                                    const vly_cuda_launch *launch,
                                    const vly_cuda_watches *watches,
                                    vly_cuda_published *published,
                                    cudaStream_t stream)
{
    published->done = *launch->done;
    memset(published->records, 0, sizeof published->records);
    memset(published->words, 0, sizeof published->words);
    published->flag = watches->number;
    return cudaSuccess;
}

cudaError_t vly_cuda_launch_row_lengths(const vly_cuda_part *part,
                                        uint64_t *length, cudaStream_t stream)
{
    return cudaSuccess;
}

cudaError_t vly_cuda_launch_row_sums(uint64_t *row, uint32_t n,
                                     cudaStream_t stream)
{
    return cudaSuccess;
}

cudaError_t vly_cuda_launch_row_fill(const vly_cuda_part *part,
                                     uint64_t *cursor, uint64_t *synapses,
                                     cudaStream_t stream)
{
    return cudaSuccess;
}
