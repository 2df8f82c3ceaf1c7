/* SPDX-License-Identifier: Apache-2.0
 * The plan for nets whose accumulators fit into shared memory: neurons are
 * dealt out to the blocks, one of which stays on every multiprocessor, and a
 * burst takes one exchange between them, by mail:
 *     deliver | stimuli, update | mail out ... mail in
 * Ids travel in the polled lines themselves, with a tag of the burst in every
 * line, so there is no flag, no fence and no second read. A block overwrites
 * its mail of two bursts ago; by then all have read it, since none sends mail
 * of a burst before it has that of the burst before from all.
 * A multiprocessor issues one instruction of a warp at a time in each of four
 * parts, so what all warps do costs six times its length: what the mail and
 * the segments need comes first, everything else while they are on their way.
 */
#include "resident_block.cuh"
#include "segment_marks.cuh"

#define MIN_THREADS 512u
#define FEW_THREADS 768u
#define MANY_THREADS VLY_CUDA_THREADS

/* All neurons of the block in one burst. KEEP: one a thread, in registers. */
template <int MODEL, bool KEEP>
static __device__ __forceinline__ void
update_block(const vly_cuda_view &view, const vly_cuda_resident &resident,
             const resident_block &block, uint64_t burst, uint32_t base,
             resident_neuron *neuron, uint64_t *n_events)
{
    if constexpr (KEEP) {
        neuron_update<MODEL, true>(view, block, burst, threadIdx.x, base,
                                   neuron);
    } else {
        for (uint32_t low = 0; low < resident.slice; low += blockDim.x) {
            const uint32_t number = low + threadIdx.x;
            uint32_t drawn[2] = {0, 0};
            neuron_load<MODEL>(view, resident, number, neuron);
            if (neuron->id != 0xffffffffu)
                draw_stimuli(view, view.areas + neuron->area, burst, neuron->id,
                             drawn);
            neuron->drawn = drawn[0];
            neuron_update<MODEL, false>(view, block, burst, number, base,
                                        neuron);
            neuron_account(view, burst, neuron);
            *n_events += neuron_events(view, neuron);
            neuron_store<MODEL>(view, neuron);
        }
    }
}

/* The warp that sends waits for those that update, which need not wait. */
static __device__ __forceinline__ void meet(const vly_cuda_resident &resident,
                                            bool sends, bool keep)
{
    const uint32_t neurons = neuron_threads(resident, keep);
    const uint32_t n = neurons < blockDim.x ? neurons + 32 : blockDim.x;
    __syncwarp();
    if (sends)
        asm volatile("bar.sync 1, %0;" ::"r"(n) : "memory");
    else
        asm volatile("bar.arrive 1, %0;" ::"r"(n) : "memory");
}

/* By one thread: the account of the burst whose spikes have come. */
static __device__ __forceinline__ void
keep_account(const vly_cuda_view &view, resident_shared *shared,
             uint32_t *counts, uint32_t tag, uint64_t burst, uint32_t slot,
             uint32_t total)
{
    const uint64_t head = shared->head;
    counts[slot] = total;
    shared->log_from = head;
    shared->head = head + total;
    shared->got[(tag + 1) & 1] = make_uint2(0, 0);
    if (blockIdx.x == 0) {
        vly_cuda_record *record =
            view.records + ((uint32_t)burst & view.record_mask);
        record->start = head;
        record->count = total;
    }
}

/* From the update of a burst to the spikes of all blocks, and what can be done
 * in between: draws for the next burst, account of this one, log and delivery
 * of the one before, which has n_before spikes in the list. */
template <bool KEEP>
static __device__ __forceinline__ void
exchange(const vly_cuda_view &view, const vly_cuda_resident &resident,
         const resident_block &block, const warp_roles &roles, uint64_t burst,
         uint32_t k, uint32_t base, uint32_t n_before, bool logs,
         resident_neuron *neuron)
{
    resident_shared *shared = block.shared;
    const uint32_t tag = resident.tag + k + 1;
    if (roles.sends) {
        uint32_t *at = send_place(resident, tag);
        meet(resident, true, KEEP);
        send_mail(resident, block, tag, at);
        if (roles.keeps)
            end_phase(shared, 1);
    } else if (roles.updates) {
        meet(resident, false, KEEP);
    }
    if (KEEP && roles.updates) {
        neuron_draw(view, shared, burst + 1, k + 1, false, neuron);
        neuron_account(view, burst, neuron);
    }
    const uint32_t *list = shared->list[(tag + 1) & 1];
    if (logs)
        log_list(view, list, n_before, {shared->log_from, true});
    if (resident.split != 0)
        deliver_list(block, VLY_CUDA_LATER, resident, list, n_before, base,
                     later_groups(resident, KEEP), NOT_READ, false);
    if (roles.waits)
        receive_mail<KEEP>(resident, block, tag, blockDim.x - 1 - threadIdx.x);
    if (roles.keeps)
        end_phase(shared, 2);
}

/* Where a launch is. */
struct launch_state {
    uint32_t k;        /* bursts done */
    uint32_t slot;     /* of the ring, for the next burst ... */
    uint32_t base;     /* ... and its first word */
    uint32_t room;     /* spikes until the log is asked again */
    uint32_t turn;     /* bursts until this block logs one */
    uint32_t n_before; /* spikes of the burst before in the list */
    bool more;         /* there is a next burst */
};

/* Whether this block logs the burst before. */
static __device__ __forceinline__ bool
is_logged(const vly_cuda_resident &resident, const launch_state &at)
{
    return at.turn == resident.n_blocks - 1;
}

static __device__ __forceinline__ launch_state
start_launch(const vly_cuda_view &view, const vly_cuda_launch &launch,
             const vly_cuda_resident &resident, const resident_block &block)
{
    launch_state at;
    at.room = log_room(view, launch, block);
    at.slot = (uint32_t)(launch.burst % view.max_delay);
    at.base = at.slot * resident.slice;
    at.k = 0;
    at.turn = blockIdx.x;
    at.n_before = 0;
    at.more = launch.n_bursts > 0 && at.room >= view.n_neurons;
    return at;
}

/* Delivers the spikes of the burst, whose mail has come, and moves on. What is
 * not needed for that comes while segments are read. */
template <bool KEEP>
static __device__ __forceinline__ void
finish_burst(const vly_cuda_view &view, const vly_cuda_launch &launch,
             const vly_cuda_resident &resident, const resident_block &block,
             const warp_roles &roles, uint64_t burst, launch_state *at)
{
    resident_shared *shared = block.shared;
    const uint32_t tag = resident.tag + at->k + 1;
    const list_groups urgent = make_groups(resident.part[VLY_CUDA_URGENT].shift,
                                           threadIdx.x, blockDim.x);
    const uint2 got = shared->got[tag & 1];
    const uint32_t *list = shared->list[tag & 1];
    segment_part part = NOT_READ;
    if (urgent.group < got.x)
        part = read_segment(block, resident.part[VLY_CUDA_URGENT],
                            VLY_CUDA_URGENT, list[urgent.group], urgent);
    uint32_t total = got.x;
    if (got.y != 0)
        total += count_over(shared, got.y);
    if (roles.keeps)
        keep_account(view, shared, block.counts, tag, burst, at->slot, total);
    at->k++;
    at->n_before = got.x;
    at->turn = at->turn == 0 ? resident.n_blocks - 1 : at->turn - 1;
    at->slot = at->slot + 1 < view.max_delay ? at->slot + 1 : 0;
    at->base = at->slot * resident.slice;
    at->room -= total;
    if (at->room < view.n_neurons)
        at->room = log_room(view, launch, block);
    at->more = at->k < launch.n_bursts && at->room >= view.n_neurons;
    if (at->more)
        deliver_list(block, VLY_CUDA_URGENT, resident, list, got.x, at->base,
                     urgent, part, true);
    __syncthreads();
    if (got.y != 0)
        take_over<KEEP>(view, resident, block, tag, at->base, got.y, at->more,
                        {shared->log_from + got.x, is_logged(resident, *at)});
    if (roles.keeps)
        end_phase(shared, 0);
}

template <int MODEL, bool KEEP, uint32_t THREADS>
static __global__ void __launch_bounds__(THREADS, 1)
    run_resident(const __grid_constant__ vly_cuda_view view,
                 const __grid_constant__ vly_cuda_launch launch,
                 const __grid_constant__ vly_cuda_resident resident)
{
    extern __shared__ uint4 dynamic[];
    const resident_block block = make_block(view, resident, dynamic);
    resident_shared *shared = block.shared;
    const warp_roles roles = assign_roles(resident, KEEP);
    block_load(view, launch, resident, block);
    if (KEEP)
        sources_load(view, launch.burst, shared);
    uint64_t n_events = 0;
    launch_state at = start_launch(view, launch, resident, block);
    if (at.more)
        deliver_log(view, launch, resident, block, at.base);
    resident_neuron neuron;
    neuron.id = 0xffffffffu;
    if (KEEP && roles.updates) {
        neuron_load<MODEL>(view, resident, threadIdx.x, &neuron);
        neuron_draw(view, shared, launch.burst, 0, true, &neuron);
    }
    if (roles.keeps)
        shared->time = (uint32_t)clock();
    while (at.more) {
        const uint64_t burst = launch.burst + at.k;
        if (launch.input_row != nullptr)
            take_inputs(launch, resident, block, at.k, at.base);
        if (roles.updates)
            update_block<MODEL, KEEP>(view, resident, block, burst, at.base,
                                      &neuron, &n_events);
        exchange<KEEP>(view, resident, block, roles, burst, at.k, at.base,
                       at.n_before, is_logged(resident, at), &neuron);
        __syncthreads();
        finish_burst<KEEP>(view, launch, resident, block, roles, burst, &at);
    }
    if (is_logged(resident, at))
        log_list(view, shared->list[(resident.tag + at.k) & 1], at.n_before,
                 {shared->log_from, true});
    if (KEEP && at.k > 0) {
        neuron_store<MODEL>(view, &neuron);
        n_events = neuron_events(view, &neuron);
    }
    if (at.k > 0)
        block_store(view, launch, resident, block, at.k, n_events, roles);
}

/* By a warp. base: word of the ring for a delay of 1. */
static __device__ void restore_words(const vly_cuda_resident &resident,
                                     uint32_t age, const uint32_t *synapses,
                                     uint32_t n, uint32_t base, uint32_t *ring,
                                     uint32_t ring_words)
{
    for (uint32_t i = threadIdx.x % 32; i < n; i += 32) {
        const uint32_t word = synapses[i];
        const uint32_t later = (word & 0xffffu) / resident.slice;
        if (word >> 16 == 0 || later + 1 < age)
            continue; /* empty, or it arrived before this burst */
        uint32_t at = base + (word & 0xffffu);
        at = at >= ring_words ? at - ring_words : at;
        atomicAdd(ring + at, (uint32_t)((int32_t)word >> 16));
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

template <bool KEEP, uint32_t THREADS>
static const void *pick_resident(uint32_t model)
{
    switch (model) {
    case VLY_CUDA_MODEL_lif_psc_delta:
        return (const void *)
            run_resident<VLY_CUDA_MODEL_lif_psc_delta, KEEP, THREADS>;
    case VLY_CUDA_MODEL_lif_psc_exp:
        return (const void *)
            run_resident<VLY_CUDA_MODEL_lif_psc_exp, KEEP, THREADS>;
    case VLY_CUDA_MODEL_izhikevich:
        return (
            const void *)run_resident<VLY_CUDA_MODEL_izhikevich, KEEP, THREADS>;
    default:
        return (const void *)run_resident<VLY_CUDA_N_MODELS, KEEP, THREADS>;
    }
}

/* Threads of a block: as many as there are neurons and lines of mail, so that
 * no warp has both. Fewer have more registers, and fewer warps that share an
 * issue slot. */
static uint32_t n_threads(const vly_cuda_resident *resident)
{
    const uint64_t neurons = ((uint64_t)resident->slice + 31) / 32 * 32;
    const uint64_t waiting =
        ((uint64_t)resident->lines * resident->n_blocks + 31) / 32 * 32;
    if (neurons + waiting <= MIN_THREADS)
        return MIN_THREADS;
    return neurons + waiting <= FEW_THREADS ? FEW_THREADS : MANY_THREADS;
}

static bool is_kept(const vly_cuda_view *view,
                    const vly_cuda_resident *resident)
{
    return resident->slice <= PACKED_NEURONS && view->n_areas <= PACKED_AREAS;
}

static const void *pick(const vly_cuda_view *view,
                        const vly_cuda_resident *resident)
{
    if (!is_kept(view, resident))
        return pick_resident<false, MANY_THREADS>(view->model);
    return n_threads(resident) <= FEW_THREADS
               ? pick_resident<true, FEW_THREADS>(view->model)
               : pick_resident<true, MANY_THREADS>(view->model);
}

uint64_t vly_cuda_resident_bytes(const vly_cuda_view *view,
                                 const vly_cuda_resident *resident)
{
    return fired_lines(*resident) * sizeof(uint4) + sizeof(resident_shared) +
           resident->n_marks * sizeof(vly_cuda_marks) +
           ((uint64_t)view->max_delay * resident->slice + view->max_delay) *
               sizeof(uint32_t);
}

/* All that the device has: the limit is the kernel's, not the net's, and a
 * smaller one set for another net would stop this one. */
static cudaError_t allow_shared(const void *kernel)
{
    int device = 0;
    int most = 0;
    cudaFuncAttributes own;
    cudaError_t code = cudaGetDevice(&device);
    if (code == cudaSuccess)
        code = cudaDeviceGetAttribute(
            &most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (code == cudaSuccess)
        code = cudaFuncGetAttributes(&own, kernel);
    if (code == cudaSuccess)
        code = cudaFuncSetAttribute(kernel,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    most - (int)own.sharedSizeBytes);
    return code;
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

cudaError_t vly_cuda_launch_resident(const vly_cuda_view *view,
                                     const vly_cuda_launch *launch,
                                     const vly_cuda_resident *resident,
                                     cudaStream_t stream)
{
    void *arguments[3] = {(void *)view, (void *)launch, (void *)resident};
    return cudaLaunchCooperativeKernel(
        pick(view, resident), dim3(resident->n_blocks),
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
