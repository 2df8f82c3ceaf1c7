/* SPDX-License-Identifier: Apache-2.0
 * The resident plan for a host that goes burst by burst: the launch stays on
 * the device between runs, with its state in place, and executes commands. The
 * bursts see one long launch; at the end of each command the data that others
 * read (state, log, records) is written, and when it leaves also the events in
 * flight, as at the end of any launch. linger_resident.cu has the instances of
 * nets whose weights have no shifts, linger_shifted.cu, which defines
 * RESIDENT_SHIFTED, the others.
 */
#ifndef VOLLEY_CUDA_LINGER_RESIDENT_CUH
#define VOLLEY_CUDA_LINGER_RESIDENT_CUH

#include "resident_burst.cuh"

#include "linger.cuh"

/* The instance for weights with shifts; linger_shifted.cu. */
const void *vly_cuda_linger_shifted_kernel(const vly_cuda_view *view, bool few);

/* The largest ring of a block that is stored after each command. */
#define AHEAD_WORDS 4096u

static __device__ __forceinline__ void
store_ring(const vly_cuda_resident &resident, const resident_block &block)
{
    uint32_t *ring = resident.ring + (uint64_t)blockIdx.x * block.ring_words;
    for (uint32_t i = threadIdx.x; i < block.ring_words; i += blockDim.x)
        ring[i] = block.ring[i];
}

/* Whether the spikes of the burst before are all in the list. */
static __device__ __forceinline__ bool
is_listed(const vly_cuda_resident &resident, const resident_block &block,
          const launch_state &at)
{
    return at.k > 0 && block.shared->got[(resident.tag + at.k) & 1].y == 0;
}

/* Delivers the spikes of the previous burst: this is not done at the end of a
 * command, since the launch may leave. All threads. */
static __device__ __forceinline__ void
deliver_last(const vly_cuda_view &view, const vly_cuda_resident &resident,
             const resident_block &block, uint64_t burst,
             const launch_state &at)
{
    resident_shared *shared = block.shared;
    const uint32_t last = (resident.tag + at.k) & 1;
    if (is_listed(resident, block, at)) {
        deliver_both(resident, block, shared->list[last], shared->got[last].x,
                     at.base);
        __syncthreads();
        return;
    }
    uint32_t *list = shared->list[0];
    const uint32_t count =
        burst > 0 ? block.counts[(burst - 1) % view.max_delay] : 0;
    const uint64_t start = shared->head - count;
    for (uint32_t from = 0; from < count; from += LIST) {
        const uint32_t n = count - from < LIST ? count - from : LIST;
        for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
            const uint32_t id =
                __ldcg(view.log_ids + ((start + from + i) & view.log_mask));
            list[i] = class_of(block, id) << AREA_SHIFT | id;
        }
        __syncthreads();
        deliver_both(resident, block, list, n, at.base);
        __syncthreads();
    }
}

/* The same while the host processes the results. The ring is stored before
 * that, in case the launch leaves. All threads; false: it does not pay off, or
 * the list is not complete. */
static __device__ __forceinline__ bool
deliver_ahead(const vly_cuda_view &view, const vly_cuda_resident &resident,
              const resident_block &block, uint64_t burst,
              const launch_state &at)
{
    if (block.ring_words > AHEAD_WORDS || !is_listed(resident, block, at))
        return false;
    store_ring(resident, block);
    __syncthreads();
    deliver_last(view, resident, block, burst, at);
    return true;
}

/* Inputs of burst k of the command. */
static __device__ __forceinline__ void
add_inputs(const vly_cuda_resident &resident, const vly_cuda_linger &linger,
           const linger_shared &waiting, const resident_block &block,
           uint32_t k, uint32_t tag, uint32_t base)
{
    const uint32_t *row = waiting.command + VLY_CUDA_COMMAND_ROW;
    if (row[k] == row[k + 1])
        return;
    for (uint32_t i = row[k] + threadIdx.x; i < row[k + 1]; i += blockDim.x) {
        const uint2 input = read_input(linger, i, tag);
        if (input.x % resident.n_blocks == blockIdx.x)
            atomicAdd(block.ring + base + input.x / resident.n_blocks, input.y);
    }
    __syncthreads();
}

/* Ids of the last burst in order, each by the block of its neuron: as many are
 * smaller as there are before it. n: entries of the list; the other list is
 * free. All threads. */
static __device__ __forceinline__ void
publish_ids(const vly_cuda_resident &resident, const vly_cuda_linger &linger,
            linger_shared *waiting, const uint32_t *list, uint32_t n,
            uint32_t *own, uint32_t tag)
{
    uint32_t *rank = own + PACKED_NEURONS;
    if (threadIdx.x == 0)
        waiting->n_own = 0;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
        const uint32_t id = list[i] & ID_MASK;
        if (id % resident.n_blocks != blockIdx.x)
            continue;
        const uint32_t at = atomicAdd(&waiting->n_own, 1u);
        own[at] = id;
        rank[at] = 0;
    }
    __syncthreads();
    const uint32_t n_own = waiting->n_own;
    for (uint32_t i = threadIdx.x & ~31u; n_own > 0 && i < n; i += blockDim.x) {
        const uint32_t at = i + threadIdx.x % 32;
        count_smaller(at < n ? list[at] & ID_MASK : 0xffffffffu, own, rank,
                      n_own);
    }
    __syncthreads();
    for (uint32_t q = threadIdx.x; q < n_own; q += blockDim.x)
        host_write(linger.answer->ids + rank[q], tag_word(tag, own[q]));
}

/* The ranges that the host wants, by the thread of each neuron: to store all
 * state, each word in a sector of its own, took 3 us for 758 neurons a block.
 */
static __device__ __forceinline__ void
publish_state(const vly_cuda_linger &linger, const resident_neuron &neuron,
              uint32_t tag)
{
    uint64_t *words = linger.answer->words + VLY_CUDA_ANSWER_RANGES;
    for (uint32_t r = 0; r < linger.n_ranges; r++) {
        const vly_cuda_linger_range &range = linger.ranges[r];
        const uint32_t i = neuron.id - range.id;
        uint32_t word = 0;
#pragma unroll
        for (uint32_t f = 0; f < VLY_CUDA_MAX_FIELDS; f++)
            if (f == range.field)
                word = neuron.words.s[f];
        if (i < range.n) /* there is a neuron */
            host_write(words + i, tag_word(tag, word));
        words += range.n;
    }
}

/* Writes the data that others read after a command, then the block's arrival,
 * which carries its events. All threads; waiting->is_last after the next
 * barrier. */
static __device__ __forceinline__ void
store_command(const vly_cuda_view &view, const vly_cuda_resident &resident,
              const vly_cuda_linger &linger, linger_shared *waiting,
              const resident_block &block, const launch_state &at,
              uint32_t n_commands, resident_neuron *neuron)
{
    if (is_logged(resident, at))
        log_list(view, block.shared->list[(resident.tag + at.k) & 1],
                 at.n_before, {block.shared->log_from, true, nullptr, 0});
    const uint64_t n_events = warp_sum(neuron_events(view, neuron));
    neuron->n_fired = 0;
    if (threadIdx.x % 32 == 0 && n_events != 0)
        atomicAdd(&waiting->n_events, (unsigned long long)n_events);
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    __threadfence();
    const uint64_t add = UINT64_C(1) << EVENT_BITS | waiting->n_events;
    const uint64_t sum =
        add + atomicAdd((unsigned long long *)&linger.relay->arrived,
                        (unsigned long long)add);
    waiting->n_events = 0;
    waiting->is_last =
        (uint32_t)(sum >> EVENT_BITS) == (n_commands * gridDim.x & 0xffffu);
    waiting->done.n_events = sum & ((UINT64_C(1) << EVENT_BITS) - 1);
    if (waiting->is_last != 0)
        __threadfence();
}

/* Sends the results of a finished command to the host. */
static __device__ __forceinline__ void
publish_command(const vly_cuda_view &view, const vly_cuda_linger &linger,
                linger_shared *waiting, const resident_block &block,
                const launch_state &at, uint32_t n, uint32_t n_ids,
                uint32_t tag)
{
    if (threadIdx.x == 0)
        note_done(waiting, block, at.k, n_ids);
    __syncthreads();
    publish_answer(view, linger, waiting, nullptr,
                   waiting->launch.burst + at.k - n, n, 0, tag);
}

/* The bursts of a command. */
template <int MODEL>
static __device__ __forceinline__ void
run_command(const vly_cuda_view &view, const vly_cuda_resident &resident,
            const vly_cuda_linger &linger, const linger_shared &waiting,
            const resident_block &block, const warp_roles &roles, uint32_t tag,
            bool is_delivered, resident_neuron *neuron, launch_state *at)
{
    const vly_cuda_launch &launch = waiting.launch;
    const uint32_t first = at->k;
    uint64_t n_events = 0;
    at->room = log_room(view, launch, block);
    at->more = at->room >= view.n_neurons;
    at->n_before = 0;
    if (at->more && !is_delivered)
        deliver_last(view, resident, block, launch.burst + at->k, *at);
    if (roles.keeps)
        block.shared->time = (uint32_t)clock();
    while (at->more) {
        const uint64_t burst = launch.burst + at->k;
        add_inputs(resident, linger, waiting, block, at->k - first, tag,
                   at->base);
        if (roles.updates)
            update_block<MODEL, true>(view, resident, block, {}, burst, at->k,
                                      at->base, neuron, &n_events);
        exchange<true>(view, resident, block, {}, roles, burst, at->k, at->base,
                       at->n_before, is_logged(resident, *at), NOTHING_LEARNS,
                       neuron);
        __syncthreads();
        finish_burst<true>(view, launch, resident, block, {}, roles, burst, at);
    }
}

template <int MODEL, uint32_t N_THREADS>
static __global__ void __launch_bounds__(N_THREADS, 1)
    linger_resident(const __grid_constant__ vly_cuda_view view,
                    const __grid_constant__ vly_cuda_launch launch,
                    const __grid_constant__ vly_cuda_resident resident,
                    const __grid_constant__ vly_cuda_linger linger)
{
    extern __shared__ uint4 dynamic[];
    __shared__ linger_shared waiting;
    const resident_block block = make_block(view, resident, dynamic);
    const warp_roles roles = assign_roles(resident, true);
    start_linger(launch, &waiting);
    block_load(view, launch, resident, block);
    sources_load(view, launch.burst, block.shared);
    launch_state at = start_launch(view, launch, resident, block);
    resident_neuron neuron;
    neuron.id = 0xffffffffu;
    if (roles.updates) {
        neuron_load<MODEL>(view, resident, block, threadIdx.x, &neuron);
        neuron_draw(view, block.shared, launch.burst, 0, true, &neuron);
    }
    uint32_t n_commands = 0;
    bool is_delivered = false; /* to the burst that comes next */
    while (next_command(linger, &waiting, linger.number + n_commands + 1,
                        block.shared->head)) {
        const uint32_t tag = linger.number + ++n_commands;
        const uint32_t first = at.k;
        run_command<MODEL>(view, resident, linger, waiting, block, roles, tag,
                           is_delivered, &neuron, &at);
        is_delivered = is_delivered && at.k == first;
        publish_state(linger, neuron, tag);
        store_command(view, resident, linger, &waiting, block, at, n_commands,
                      &neuron);
        const uint32_t last = (resident.tag + at.k) & 1;
        const uint32_t n_ids = block.shared->got[last].x;
        const bool has_ids = at.k > first && wants_ids(waiting) &&
                             is_listed(resident, block, at) &&
                             n_ids <= VLY_CUDA_LINGER_IDS;
        if (has_ids)
            publish_ids(resident, linger, &waiting, block.shared->list[last],
                        n_ids, block.shared->list[last ^ 1], tag);
        __syncthreads();
        if (waiting.is_last != 0)
            publish_command(view, linger, &waiting, block, at, at.k - first,
                            has_ids ? n_ids : VLY_CUDA_NO_IDS, tag);
        __syncthreads();
        if (!is_delivered)
            is_delivered =
                deliver_ahead(view, resident, block, launch.burst + at.k, at);
    }
    if (!is_delivered)
        store_ring(resident, block);
    if (at.k > 0)
        neuron_store<MODEL>(view, block, &neuron);
}

/* ---- instances --------------------------------------------------------- */

/* Of this file alone: another one has kernels by the same names. */
namespace
{
template <uint32_t N_THREADS> struct linger_kernels {
    template <int MODEL> static const void *of()
    {
        return (const void *)linger_resident<MODEL, N_THREADS>;
    }
};
} // namespace

static const void *pick_linger(const vly_cuda_view *view, bool few)
{
    return few ? pick_model<linger_kernels<FEW_THREADS>>(view->model)
               : pick_model<linger_kernels<MANY_THREADS>>(view->model);
}

#endif
