/* SPDX-License-Identifier: Apache-2.0
 * The plan for nets whose accumulators fit into shared memory: neurons are
 * dealt out to the blocks, one of which stays on every multiprocessor, and a
 * burst takes one exchange between them, by mail:
 *     deliver | stimuli, update | mail out ... mail in
 * Ids travel in the polled words themselves, with a tag of the burst in every
 * word, so there is no flag, no fence and no second read. A block overwrites
 * its mail of two bursts ago; by then all have read it, since none sends mail
 * of a burst before it has that of the burst before from all.
 */
#include "resident_deliver.cuh"
#include "resident_update.cuh"

#define FEW_THREADS 768u
#define MANY_THREADS VLY_CUDA_THREADS

/* Cycles of the phases, as thread 0 of a block sees them: 32 bits are enough
 * for one launch of some milliseconds. */
struct phase_clock {
    uint32_t cycles[3]; /* delivery, update, exchange */
    uint32_t time;
};

static __device__ __forceinline__ void end_phase(phase_clock *phases, int phase)
{
    const uint32_t now = (uint32_t)clock();
    phases->cycles[phase] += now - phases->time;
    phases->time = now;
}

/* As in burst_global.cu; every block comes to the same answer. */
static __device__ __forceinline__ uint32_t
has_room(const vly_cuda_view &view, const vly_cuda_launch &launch,
         uint64_t head, uint64_t held)
{
    uint64_t tail = head - held;
    if (launch.keep != 0 && tail > launch.head)
        tail = launch.head;
    return head + view.n_neurons - tail <= view.log_mask + 1 &&
           head + view.n_neurons <= launch.head_limit;
}

static __device__ void block_load(const vly_cuda_view &view,
                                  const vly_cuda_launch &launch,
                                  const vly_cuda_resident &resident,
                                  const resident_block &block)
{
    resident_shared *shared = block.shared;
    const uint32_t *ring =
        resident.ring + (uint64_t)blockIdx.x * block.ring_words;
    for (uint32_t i = threadIdx.x; i < block.ring_words; i += blockDim.x)
        block.ring[i] = ring[i];
    for (uint32_t i = threadIdx.x; i < view.max_delay; i += blockDim.x) {
        /* burst i of those since launch.burst - max_delay */
        uint64_t burst = launch.burst + i;
        uint32_t n = 0;
        if (burst >= view.max_delay) {
            burst -= view.max_delay;
            n = view.records[(uint32_t)burst & view.record_mask].count;
        }
        block.counts[(launch.burst + i) % view.max_delay] = n;
    }
    for (uint32_t i = threadIdx.x; i < view.n_areas; i += blockDim.x) {
        for (int p = 0; p < VLY_CUDA_N_PARTS; p++)
            shared->classes[p][i] = resident.part[p].classes[i];
    }
    if (threadIdx.x == 0) {
        shared->n_list = 0;
        shared->n_total = 0;
        shared->n_over = 0;
        shared->n_fired = 0;
    }
    __syncthreads();
}

/* Sum of the counts: spikes that the log has to keep. */
static __device__ uint64_t sum_counts(const vly_cuda_view &view,
                                      const resident_block &block)
{
    uint64_t sum = 0;
    for (uint32_t i = threadIdx.x % 32; i < view.max_delay; i += 32)
        sum += block.counts[i];
    return warp_sum(sum);
}

static __device__ void block_store(const vly_cuda_view &view,
                                   const vly_cuda_launch &launch,
                                   const vly_cuda_resident &resident,
                                   const resident_block &block, uint32_t k,
                                   uint64_t head, uint64_t n_events,
                                   const phase_clock &phases)
{
    uint32_t *ring = resident.ring + (uint64_t)blockIdx.x * block.ring_words;
    for (uint32_t i = threadIdx.x; i < block.ring_words; i += blockDim.x)
        ring[i] = block.ring[i];
    n_events = warp_sum(n_events);
    if (threadIdx.x % 32 == 0 && n_events != 0)
        atomicAdd((unsigned long long *)&launch.done->n_events,
                  (unsigned long long)n_events);
    if (blockIdx.x != 0 || threadIdx.x != 0)
        return;
    launch.done->n_candidates = (uint64_t)k * view.n_neurons;
    launch.done->head = head;
    launch.done->n_bursts = k;
    for (int i = 0; i < 3; i++)
        launch.done->cycles[i] = phases.cycles[i];
}

/* All neurons of the block in one burst. KEEP: one a thread, in registers. */
template <int MODEL, bool KEEP>
static __device__ __forceinline__ void
update_block(const vly_cuda_view &view, const vly_cuda_resident &resident,
             const resident_block &block, uint64_t burst, uint32_t base,
             resident_neuron *neuron, uint64_t *n_events)
{
    if constexpr (KEEP) {
        neuron_update<MODEL>(view, block, burst, threadIdx.x, base, neuron);
    } else {
        for (uint32_t low = 0; low < resident.slice; low += blockDim.x) {
            const uint32_t number = low + threadIdx.x;
            neuron_load<MODEL>(view, resident, number, neuron);
            neuron_draw(view, burst, 1, neuron);
            neuron_update<MODEL>(view, block, burst, number, base, neuron);
            neuron_account(view, burst, neuron, n_events);
            if (neuron->id != 0xffffffffu)
                store_state<MODEL>(neuron->area,
                                   neuron->id - neuron->area->first,
                                   &neuron->words);
        }
    }
}

static __device__ __forceinline__ resident_block
make_block(const vly_cuda_view &view, const vly_cuda_resident &resident,
           resident_shared *shared, uint32_t *dynamic)
{
    const uint32_t words = view.max_delay * resident.slice;
    resident_block block = {shared,
                            dynamic,
                            dynamic + words,
                            dynamic + words + view.max_delay,
                            shared->list[0],
                            words,
                            view.n_areas,
                            {nullptr, nullptr},
                            {resident.part[0].wide, resident.part[1].wide}};
    for (int p = 0; p < VLY_CUDA_N_PARTS; p++)
        block.segments[p] = (const uint4 *)resident.part[p].synapses +
                            blockIdx.x * resident.part[p].block_quads;
    return block;
}

/* What a thread does during the exchange. */
struct thread_roles {
    uint32_t from; /* block whose mail it waits for ... */
    uint32_t line; /* ... and the line, none if too large */
    uint32_t first_deliver;
    uint32_t n_deliver; /* threads that deliver what is not urgent */
};

static __device__ __forceinline__ thread_roles
assign_roles(const vly_cuda_resident &resident, bool keep)
{
    /* the last threads have the least to update */
    const uint32_t back = blockDim.x - 1 - threadIdx.x;
    thread_roles roles = {back % resident.n_blocks, back / resident.n_blocks, 0,
                          blockDim.x};
    /* few lines: their warps wait for mail, the others deliver meanwhile */
    const uint32_t waiting = resident.lines * resident.n_blocks;
    if (waiting <= blockDim.x / 2)
        roles.n_deliver -= (waiting + 31) / 32 * 32;
    const uint32_t neurons = (resident.slice + 31) / 32 * 32;
    if (keep && roles.n_deliver >= neurons + 8 * WIDE) {
        roles.first_deliver = neurons; /* nor do those that draw */
        roles.n_deliver -= neurons;
    }
    return roles;
}

/* Mail out, mail in, and what can be done in between: the account of this
 * burst, the draws of the next, log and delivery of the last. */
template <bool KEEP>
static __device__ __forceinline__ void
exchange(const vly_cuda_view &view, const vly_cuda_resident &resident,
         resident_block *block, const thread_roles &roles, uint64_t burst,
         uint32_t tag, uint32_t base, uint64_t log_start, uint32_t n_log,
         uint32_t n_later, resident_neuron *neuron, uint64_t *n_events)
{
    resident_shared *shared = block->shared;
    const uint32_t *sent = block->list;
    send_mail(resident, *block, tag);
    if (KEEP) {
        neuron_account(view, burst, neuron, n_events);
        neuron_draw(view, burst + 1, 0, neuron);
    }
    block->list = sent == shared->list[0] ? shared->list[1] : shared->list[0];
    write_log(view, sent, log_start, n_log);
    if (resident.split != 0)
        deliver_part(*block, VLY_CUDA_LATER, sent, n_later, base,
                     roles.first_deliver, roles.n_deliver);
    if (roles.line < resident.lines)
        receive_mail(resident, *block, tag, roles.from, roles.line);
}

/* By one thread of the block that logs a burst. */
static __device__ __forceinline__ void write_record(const vly_cuda_view &view,
                                                    uint64_t burst,
                                                    uint64_t start,
                                                    uint32_t count)
{
    vly_cuda_record *record =
        view.records + ((uint32_t)burst & view.record_mask);
    record->start = start;
    record->count = count;
}

template <int MODEL, bool KEEP, uint32_t THREADS>
static __global__ void __launch_bounds__(THREADS, 1)
    run_resident(const __grid_constant__ vly_cuda_view view,
                 const __grid_constant__ vly_cuda_launch launch,
                 const __grid_constant__ vly_cuda_resident resident)
{
    __shared__ resident_shared shared;
    extern __shared__ uint32_t dynamic[];
    resident_block block = make_block(view, resident, &shared, dynamic);
    const thread_roles roles = assign_roles(resident, KEEP);
    block_load(view, launch, resident, block);
    uint64_t held = sum_counts(view, block);
    uint64_t head = launch.head;
    uint64_t n_events = 0;
    uint32_t k = 0;
    uint32_t slot = (uint32_t)(launch.burst % view.max_delay);
    uint32_t before = 0; /* slot, spikes and list of the burst before */
    uint32_t total = 0;
    uint32_t n_later = 0;
    uint32_t turn = 0; /* block that writes the log */
    uint32_t logs = 0; /* 1: it was this one's turn */
    uint32_t more = launch.n_bursts > 0 && has_room(view, launch, head, held);
    resident_neuron neuron;
    if (KEEP) {
        neuron_load<MODEL>(view, resident, threadIdx.x, &neuron);
        neuron_draw(view, launch.burst, 1, &neuron);
    }
    if (more)
        deliver_log(view, launch, block, slot * resident.slice);
    phase_clock phases = {{0, 0, 0}, (uint32_t)clock()};
    while (more) {
        const uint64_t burst = launch.burst + k;
        const uint32_t base = slot * resident.slice;
        take_inputs(launch, resident, block, k, base);
        __syncthreads();
        if (threadIdx.x == 0) {
            end_phase(&phases, 0);
            shared.n_list = 0;
            shared.n_total = 0;
            shared.n_over = 0;
            if (k > 0)
                block.counts[before] = total;
        }
        update_block<MODEL, KEEP>(view, resident, block, burst, base, &neuron,
                                  &n_events);
        __syncthreads();
        if (threadIdx.x == 0)
            end_phase(&phases, 1);
        k++;
        exchange<KEEP>(view, resident, &block, roles, burst, k, base,
                       head - n_later, logs ? n_later : 0, n_later, &neuron,
                       &n_events);
        __syncthreads();
        total = shared.n_total;
        held += (uint64_t)total - block.counts[slot];
        more =
            k < launch.n_bursts && has_room(view, launch, head + total, held);
        logs = turn == blockIdx.x;
        turn = turn + 1 < resident.n_blocks ? turn + 1 : 0;
        before = slot;
        slot = slot + 1 < view.max_delay ? slot + 1 : 0;
        if (threadIdx.x == 0) {
            end_phase(&phases, 2);
            shared.n_fired = 0;
            if (logs)
                write_record(view, burst, head, total);
        }
        n_later = take_spikes(view, resident, block, k, head,
                              slot * resident.slice, more, logs);
        head += total;
    }
    __syncthreads();
    if (KEEP && k > 0 && neuron.id != 0xffffffffu)
        store_state<MODEL>(neuron.area, neuron.id - neuron.area->first,
                           &neuron.words);
    if (k > 0)
        block_store(view, launch, resident, block, k, head, n_events, phases);
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
    const uint32_t first = (uint32_t)((burst - age + 1) % view.max_delay);
    const vly_cuda_segments part =
        resident.part[resident.split != 0 ? VLY_CUDA_LATER : VLY_CUDA_URGENT];
    for (uint32_t s = threadIdx.x / 32; s < record.count;
         s += blockDim.x / 32) {
        uint32_t id = view.log_ids[(record.start + s) & view.log_mask];
        uint32_t a = 0;
        while (a + 1 < view.n_areas && part.classes[a + 1].first <= id)
            a++;
        const vly_cuda_class c = part.classes[a];
        const uint32_t *segment =
            part.synapses + 4 * (blockIdx.x * part.block_quads + c.at +
                                 (uint64_t)(id - c.first) * c.quads);
        for (uint32_t i = threadIdx.x % 32; i < 4 * c.quads; i += 32) {
            uint32_t word = segment[i];
            uint32_t later = (word & 0xffffu) / resident.slice;
            if (word >> 16 == 0 || later + 1 < age)
                continue; /* empty, or it arrived before this burst */
            uint32_t at = first * resident.slice + (word & 0xffffu);
            at = at >= words ? at - words : at;
            atomicAdd(ring + at, (uint32_t)((int32_t)word >> 16));
        }
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

/* Fewer threads have more registers, and fewer warps that share an issue
 * slot; more have more mail and rows in flight. */
static uint32_t n_threads(const vly_cuda_resident *resident)
{
    return resident->slice <= FEW_THREADS &&
                   resident->lines * resident->n_blocks <= FEW_THREADS / 2
               ? FEW_THREADS
               : MANY_THREADS;
}

static const void *pick(const vly_cuda_view *view,
                        const vly_cuda_resident *resident)
{
    if (n_threads(resident) == FEW_THREADS)
        return pick_resident<true, FEW_THREADS>(view->model);
    return resident->slice <= MANY_THREADS
               ? pick_resident<true, MANY_THREADS>(view->model)
               : pick_resident<false, MANY_THREADS>(view->model);
}

static uint64_t dynamic_bytes(const vly_cuda_view *view,
                              const vly_cuda_resident *resident)
{
    return ((uint64_t)view->max_delay * resident->slice + view->max_delay +
            resident->slice) *
           sizeof(uint32_t);
}

uint64_t vly_cuda_resident_bytes(const vly_cuda_view *view,
                                 const vly_cuda_resident *resident)
{
    return dynamic_bytes(view, resident) + sizeof(resident_shared);
}

cudaError_t vly_cuda_resident_prepare(const vly_cuda_view *view,
                                      const vly_cuda_resident *resident)
{
    /* a launch may choose either number of threads */
    vly_cuda_resident few = *resident;
    vly_cuda_resident many = *resident;
    few.lines = 0;
    many.lines = VLY_CUDA_MAIL_LINES * VLY_CUDA_THREADS;
    cudaError_t code = cudaFuncSetAttribute(
        pick(view, &few), cudaFuncAttributeMaxDynamicSharedMemorySize,
        (int)dynamic_bytes(view, resident));
    if (code != cudaSuccess)
        return code;
    return cudaFuncSetAttribute(pick(view, &many),
                                cudaFuncAttributeMaxDynamicSharedMemorySize,
                                (int)dynamic_bytes(view, resident));
}

cudaError_t vly_cuda_launch_resident(const vly_cuda_view *view,
                                     const vly_cuda_launch *launch,
                                     const vly_cuda_resident *resident,
                                     cudaStream_t stream)
{
    void *arguments[3] = {(void *)view, (void *)launch, (void *)resident};
    return cudaLaunchCooperativeKernel(
        pick(view, resident), dim3(resident->n_blocks),
        dim3(n_threads(resident)), arguments,
        (size_t)dynamic_bytes(view, resident), stream);
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
