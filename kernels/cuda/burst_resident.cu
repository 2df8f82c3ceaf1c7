/* SPDX-License-Identifier: Apache-2.0
 * The plan for nets whose accumulators fit into shared memory: neurons are
 * distributed to the blocks, one of which stays on every multiprocessor, and a
 * burst has one exchange between them, by mail:
 *     deliver | stimuli, update | mail out ... mail in
 * Ids travel in the polled lines themselves, with a tag of the burst in every
 * line, so there is no flag, no fence and no second read. A block overwrites
 * its mail of two bursts ago; by then all have read it, since none sends mail
 * of a burst before it has that of the burst before from all. A multiprocessor
 * issues one instruction of a warp at a time in each of four parts, so work of
 * all warps costs six times its length: work that the mail and the segments
 * need comes first, all other work while they are in flight.
 */
#include "learner_kernels.h"
#include "program_kernels.h"
#include "resident_run.cuh"
#include "segment_marks.cuh"

/* By a warp. base: word of the ring for a delay of 1. */
static __device__ void restore_words(const vly_cuda_resident &resident,
                                     uint32_t age, const uint32_t *synapses,
                                     uint32_t n, uint32_t base, uint32_t *ring,
                                     uint32_t ring_words)
{
    for (uint32_t i = threadIdx.x % 32; i < n; i += 32) {
        const uint32_t word = synapses[i];
        const uint32_t place = (word & 0xffffu) % ring_words;
        const uint32_t shift = (word & 0xffffu) / ring_words * resident.step;
        if (word >> 16 == 0 || place / resident.slice + 1 < age)
            continue; /* empty, or it arrived before this burst */
        uint32_t at = base + place;
        at = at >= ring_words ? at - ring_words : at;
        atomicAdd(ring + at, (uint32_t)((int32_t)word >> 16) << shift);
    }
}

static __global__ void __launch_bounds__(VLY_CUDA_THREADS, 1)
    restore_ring(const __grid_constant__ vly_cuda_view view,
                 const __grid_constant__ vly_cuda_resident resident,
                 uint64_t burst, uint32_t age)
{
    const vly_cuda_record record =
        view.records[(uint32_t)(burst - age) & view.record_mask];
    const uint32_t words = view.max_delay * resident.slice;
    uint32_t *ring = resident.ring + (uint64_t)blockIdx.x * words;
    const uint32_t base =
        (uint32_t)((burst - age + 1) % view.max_delay) * resident.slice;
    const vly_cuda_segments part =
        resident.part[resident.split != 0 ? VLY_CUDA_LATER : VLY_CUDA_URGENT];
    const vly_cuda_class *classes = part.classes + blockIdx.x * view.n_areas;
    const vly_cuda_marks *marks = part.marks;
    if (marks != nullptr)
        marks += (uint64_t)blockIdx.x * VLY_CUDA_MARKS(view.n_neurons);
    for (uint32_t s = threadIdx.x / 32; s < record.count;
         s += blockDim.x / 32) {
        uint32_t id = view.log_ids[(record.start + s) & view.log_mask];
        uint32_t a = 0;
        while (a + 1 < view.n_areas && classes[a + 1].first <= id)
            a++;
        const vly_cuda_class c = classes[a];
        restore_words(resident, age,
                      part.synapses +
                          4 * (c.at + (uint64_t)(id - c.first) * c.quads),
                      4 * c.quads, base, ring, words);
        if (marks == nullptr || (marks[id / 32].bits >> id % 32 & 1) == 0)
            continue;
        const uint32_t rank = marked_before(marks, id) - c.rest_first;
        restore_words(resident, age,
                      part.synapses +
                          4 * (c.rest_at + (uint64_t)rank * c.rest_quads),
                      4 * c.rest_quads, base, ring, words);
    }
}

/* ---- launchers --------------------------------------------------------- */

static const void *pick(const vly_cuda_view *view,
                        const vly_cuda_resident *resident)
{
    if (resident->n_newest != 0)
        return vly_cuda_learners_kernel(view, resident);
    return resident->step != 0 ? vly_cuda_shifted_kernel(view, resident)
                               : pick_run(view, resident);
}

uint64_t vly_cuda_resident_bytes(const vly_cuda_view *view,
                                 const vly_cuda_resident *resident)
{
    const uint32_t ring = view->max_delay * resident->slice;
    const uint64_t block = resident->n_factors * sizeof(float) +
                           fired_lines(*resident) * sizeof(uint4) +
                           sizeof(resident_shared) +
                           resident->n_marks * sizeof(vly_cuda_marks);
    if (resident->n_newest == 0)
        return block + ((uint64_t)ring + view->max_delay) * sizeof(uint32_t) +
               vly_cuda_block_programs_bytes(view);
    return block + learner_bytes(*resident, ring, view->max_delay) +
           vly_cuda_block_programs_bytes(view);
}

cudaError_t vly_cuda_resident_prepare(const vly_cuda_view *view,
                                      const vly_cuda_resident *resident)
{
    /* a launch may choose either number of threads */
    vly_cuda_resident few = *resident;
    vly_cuda_resident many = *resident;
    few.lines = 0;
    many.lines = VLY_CUDA_MAIL_LINES * VLY_CUDA_THREADS;
    cudaError_t code = allow_shared(pick(view, &few));
    return code == cudaSuccess ? allow_shared(pick(view, &many)) : code;
}

cudaError_t vly_cuda_spliced_prepare(const void *kernel)
{
    return allow_shared(kernel);
}

uint32_t vly_cuda_resident_threads(const vly_cuda_view *view,
                                   const vly_cuda_resident *resident)
{
    return most_threads(view, resident);
}

cudaError_t vly_cuda_launch_resident(const vly_cuda_view *view,
                                     const vly_cuda_launch *launch,
                                     const vly_cuda_resident *resident,
                                     const void *spliced, cudaStream_t stream)
{
    void *arguments[3] = {(void *)view, (void *)launch, (void *)resident};
    return cudaLaunchCooperativeKernel(
        spliced != nullptr ? spliced : pick(view, resident),
        dim3(resident->n_blocks),
        dim3(is_kept(view, resident) ? n_threads(resident) : MANY_THREADS),
        arguments, (size_t)vly_cuda_resident_bytes(view, resident), stream);
}

cudaError_t vly_cuda_launch_resident_restore(const vly_cuda_view *view,
                                             const vly_cuda_resident *resident,
                                             uint64_t burst, uint32_t age,
                                             cudaStream_t stream)
{
    restore_ring<<<resident->n_blocks, MANY_THREADS, 0, stream>>>(
        *view, *resident, burst, age);
    return cudaGetLastError();
}
