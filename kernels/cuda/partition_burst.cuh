/* SPDX-License-Identifier: Apache-2.0
 * A burst of the partitioned plan, in the parts that a launch of many bursts
 * (burst_partition.cu) and one that stays between runs (linger_partition.cu)
 * share.
 */
#ifndef VOLLEY_CUDA_PARTITION_BURST_CUH
#define VOLLEY_CUDA_PARTITION_BURST_CUH

#include "partition_post.cuh"
#include "partition_span.cuh"
#include "partition_update.cuh"

/* As in burst_global.cu; every block computes the same answer. room: of the
 * log. */
static __device__ __forceinline__ uint32_t
has_room_of(const vly_cuda_view &view, const vly_cuda_launch &launch,
            uint64_t head, uint64_t held, uint64_t room)
{
    uint64_t tail = head - held;
    if (launch.keep != 0 && tail > launch.head)
        tail = launch.head;
    return head + view.n_neurons - tail <= room &&
           head + view.n_neurons <= launch.head_limit;
}

static __device__ __forceinline__ uint32_t
has_room(const vly_cuda_view &view, const vly_cuda_launch &launch,
         uint64_t head, uint64_t held)
{
    return has_room_of(view, launch, head, held, view.log_mask + 1);
}

/* ---- begin and end of a launch ----------------------------------------- */

static __device__ __forceinline__ partition_block
make_block(const vly_cuda_view &view, const vly_cuda_partition &partition,
           partition_shared *shared, uint32_t *dynamic)
{
    const uint32_t words = partition_words(&partition);
    const uint32_t n_groups = partition_span_groups(&partition);
    partition_area *areas = (partition_area *)(dynamic + words + SPARE_WORDS);
    partition_block block = {shared,
                             dynamic,
                             dynamic + words,
                             areas,
                             (uint32_t *)(areas + view.n_areas),
                             blockIdx.x / partition.cluster +
                                 partition.first_slice,
                             blockIdx.x % partition.cluster,
                             words,
                             0,
                             nullptr,
                             nullptr,
                             nullptr};
    block.before = block.counts + view.max_delay;
    block.sums = block.before + 32 * n_groups;
    block.firsts = block.sums + n_groups;
#if VLY_CUDA_SPLICED
    block.programs = place_programs(view, block.counts + view.max_delay +
                                              partition_span_words(&partition));
#endif
    /* tiles rank + q * cluster of those of the slice */
    const uint32_t held =
        (partition.n_tiles - block.slice - 1) / partition.n_slices + 1;
    block.n_own =
        held > block.rank ? (held - block.rank - 1) / partition.cluster + 1 : 0;
    return block;
}

template <int MODEL>
static __device__ void
block_load(const vly_cuda_view &view, const vly_cuda_launch &launch,
           const vly_cuda_partition &partition, const partition_block &block)
{
    const uint32_t *rest =
        partition.at_rest +
        (uint64_t)(block.slice - partition.first_slice) * block.ring_words;
    const bool first = block.rank == 0 && partition.ring > 1;
    for (uint32_t i = threadIdx.x; i < block.ring_words; i += THREADS)
        block.ring[i] = first ? rest[i] : 0;
    for (uint32_t i = threadIdx.x; i < view.max_delay; i += THREADS) {
        /* burst i of those since launch.burst - max_delay */
        uint64_t burst = launch.burst + i;
        uint32_t n = 0;
        if (burst >= view.max_delay) {
            burst -= view.max_delay;
            n = view.records[(uint32_t)burst & view.record_mask].count;
        }
        block.counts[(launch.burst + i) % view.max_delay] = n;
    }
    for (uint32_t i = threadIdx.x; i < view.n_areas; i += THREADS)
        load_area<MODEL>(view, i,
                         partition.narrow != 0 ? partition.divisor[i] : 1,
                         block.areas + i);
#if VLY_CUDA_SPLICED
    load_programs(view, block.programs);
#endif
    if (threadIdx.x < VLY_CUDA_PARTITION_GROUPS)
        block.shared->turns[threadIdx.x] = 0;
    if (threadIdx.x == 0) {
        block.shared->digest = 0;
        block.shared->n_mail = 0;
        block.shared->n_own = 0;
        block.shared->n_events = 0;
        block.shared->lost = 0;
        block.shared->head = launch.head;
        for (int i = 0; i < 3; i++)
            block.shared->cycles[i] = 0;
    }
    meet_init(partition, block.shared);
    cluster_sync(partition);
}

/* By the first warp: spikes that the log has to keep. */
static __device__ void sum_counts(const vly_cuda_view &view,
                                  const partition_block &block)
{
    uint64_t sum = 0;
    for (uint32_t i = threadIdx.x % 32; i < view.max_delay; i += 32)
        sum += block.counts[i];
    sum = warp_sum(sum);
    if (threadIdx.x == 0) {
        block.shared->held = sum;
        block.shared->time = (uint32_t)clock();
    }
}

static __device__ void block_store(const vly_cuda_view &view,
                                   const vly_cuda_launch &launch,
                                   const vly_cuda_partition &partition,
                                   const partition_block &block, uint32_t k,
                                   uint64_t head)
{
    const partition_shared *shared = block.shared;
    cluster_sync(partition);
    if (partition.ring > 1) {
        uint32_t *rest =
            partition.at_rest +
            (uint64_t)(block.slice - partition.first_slice) * block.ring_words;
        for (uint32_t i = block.rank * THREADS + threadIdx.x;
             i < block.ring_words; i += partition.cluster * THREADS) {
            uint32_t sum[VLY_CUDA_TILE_ROWS];
            read_slice<VLY_CUDA_TILE_ROWS>(partition, block, block.ring + i, 1,
                                           sum);
            rest[i] = sum[0];
        }
    }
    if (threadIdx.x == 0 && shared->n_events != 0)
        atomicAdd((unsigned long long *)&launch.done->n_events,
                  shared->n_events);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        launch.done->n_candidates = (uint64_t)k * view.n_own;
        launch.done->head = head;
        launch.done->n_bursts = k;
        for (int i = 0; i < 3; i++)
            launch.done->cycles[i] = shared->cycles[i];
    }
    cluster_sync(partition); /* no block ends while another reads its memory */
}

/* ---- delivery ---------------------------------------------------------- */

/* Everything that arrives in the burst; k: bursts of this launch before it. In
 * a span the parts of the first `posted` spikes have been posted. */
template <uint32_t UNIT, int KIND, bool SPAN = false>
static __device__ __forceinline__ void
deliver_burst(const vly_cuda_view &view, const vly_cuda_launch &launch,
              const vly_cuda_partition &partition, const partition_block &block,
              uint64_t burst, uint32_t k, uint32_t total, uint32_t base,
              uint32_t posted = 0)
{
    take_inputs<KIND>(view, launch, partition, block, k, base);
    for (uint32_t g = 0; g < partition.n_groups; g++) {
        const vly_cuda_partition_group group = partition.groups[g];
        if (burst < group.base_delay)
            continue;
        spike_source from = {};
        if (group.base_delay == 1 && k > 0) {
            from.mail = SPAN ? nullptr : mail_of(partition, k);
            from.tag = SPAN ? k : 0;
            from.count = total;
            if (SPAN) {
                from.parts = span_parts_of(partition, block.slice);
                from.post = (posted + 31) / 32 * 32; /* whole turns */
            } else if (partition.post != 0) {
                from.parts = parts_of(partition, k, block.slice);
                from.rows = rows_of(partition, k);
                from.post = partition.post;
            }
        } else {
            const vly_cuda_record *record =
                view.records +
                ((uint32_t)(burst - group.base_delay) & view.record_mask);
            from.start = __ldcg(&record->start);
            from.count = __ldcg(&record->count);
        }
        deliver_spikes<UNIT, KIND, SPAN>(view, partition, block, group, g, from,
                                         base);
    }
}

/* The block's own spikes of the burst before, from its mail to the log: the
 * first one of each thread is read early, before other work. */
static __device__ __forceinline__ uint32_t
read_own(const vly_cuda_partition &partition, const partition_block &block,
         uint32_t k)
{
    return threadIdx.x < block.shared->n_own
               ? mail_read(own_mail(partition, k) + threadIdx.x)
               : 0;
}

/* COUNTS: and their synaptic events. */
template <bool COUNTS>
static __device__ __forceinline__ void
write_own(const vly_cuda_view &view, const vly_cuda_partition &partition,
          const partition_block &block, uint32_t k, uint64_t start, uint32_t id)
{
    partition_shared *shared = block.shared;
    const uint32_t n = shared->n_own;
    if ((threadIdx.x & ~31u) >= n)
        return;
    start += shared->before[blockIdx.x];
    for (uint32_t g = 0; g < blockIdx.x / 32; g++)
        start += shared->group_sum[g];
    uint64_t n_events = 0;
    for (uint32_t i = threadIdx.x; i < n; i += THREADS) {
        if (i >= THREADS)
            id = mail_read(own_mail(partition, k) + i);
        const uint64_t at = (start + i) & view.log_mask;
        view.log_ids[at] = id;
        view.log_gains[at] = 1u << view.feagi_q;
        if (COUNTS)
            n_events += view.out_degree[id];
    }
    if (!COUNTS)
        return;
    n_events = warp_sum(n_events);
    if (threadIdx.x % 32 == 0)
        atomicAdd(&shared->n_events, (unsigned long long)n_events);
}

/* ---- exchange ---------------------------------------------------------- */

static __device__ __forceinline__ void gate_write(uint32_t *word,
                                                  uint32_t value)
{
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(value)
                 : "memory");
}

/* Relaxed, since an acquire would invalidate the first-level cache, with its
 * constant data, in every burst. Data of other blocks (mail, log, records) is
 * read after the gate from the second-level cache. */
static __device__ __forceinline__ uint32_t gate_read(const uint32_t *word,
                                                     uint32_t tag)
{
    uint32_t v;
    do {
        asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
                     : "=r"(v)
                     : "l"(word)
                     : "memory");
    } while (v >> 16 != tag);
    return v & 0xffffu;
}

/* Waits for all blocks; returns the spikes of the burst. All threads. */
static __device__ __forceinline__ uint32_t
pass_gate(const vly_cuda_partition &partition, const partition_block &block,
          uint32_t tag)
{
    partition_shared *shared = block.shared;
    const uint32_t t = threadIdx.x;
    const uint32_t *gate = partition.gate + (tag & 1) * gridDim.x;
    if (t < VLY_CUDA_PARTITION_BLOCKS) {
        const uint32_t n = t < gridDim.x ? gate_read(gate + t, tag) : 0;
        uint32_t sum = n;
        for (uint32_t d = 1; d < 32; d *= 2) {
            const uint32_t other = __shfl_up_sync(0xffffffffu, sum, d);
            sum += t % 32 >= d ? other : 0;
        }
        shared->before[t] = sum - n;
        if (t % 32 == 31)
            shared->group_sum[t / 32] = sum;
    }
    __syncthreads();
    uint32_t total = 0;
#pragma unroll
    for (uint32_t g = 0; g < GATE_WARPS; g++)
        total += shared->group_sum[g];
    return total;
}

/* Clears the accumulators of a burst that all blocks of the cluster have, 16
 * bytes at a time: they are full tiles. */
static __device__ __forceinline__ void
clear_inputs(const vly_cuda_partition &partition, const partition_block &block,
             uint32_t base)
{
    uint4 *at =
        (uint4 *)(block.ring + base + (block.rank == 0 ? partition.once : 0));
    const uint32_t words =
        partition.narrow != 0 ? partition.slice / 2 : partition.slice;
    const uint32_t n = (words - 2 * partition.once) / 4;
    for (uint32_t i = threadIdx.x; i < n; i += THREADS)
        at[i] = make_uint4(0, 0, 0, 0);
}

/* By thread 0: the digest of the block's spikes to the record. */
static __device__ __forceinline__ void add_digest(const vly_cuda_view &view,
                                                  partition_shared *shared,
                                                  uint64_t burst, uint32_t n)
{
    vly_cuda_record *record =
        view.records + ((uint32_t)burst & view.record_mask);
    if (n != 0)
        atomicAdd((unsigned long long *)&record->digest, shared->digest);
    shared->digest = 0;
}

/* After the update: the count to the gate, own accumulators cleared. events:
 * NULL, or where the burst's synaptic events are added up; then all sums are
 * complete after the gate, otherwise at the end of the launch. */
template <bool SPAN = false>
static __device__ __forceinline__ void
send_spikes(const vly_cuda_view &view, const vly_cuda_partition &partition,
            const partition_block &block, uint64_t burst, uint32_t tag,
            uint32_t base, uint64_t *events)
{
    partition_shared *shared = block.shared;
    __syncthreads(); /* mail, its count and the digest are complete */
    if (threadIdx.x < VLY_CUDA_PARTITION_GROUPS)
        shared->turns[threadIdx.x] = 0;
    if (SPAN && threadIdx.x == 0)
        shared->drawn = 0;
    if (!SPAN && partition.post != 0) {
        post_parts(partition, block, tag);
        __syncthreads();
    }
    if constexpr (SPAN)
        send_count(partition, tag, shared->n_mail, view.max_delay > 1);
    if (threadIdx.x == 0) {
        const uint32_t n = shared->n_mail;
        if (events != nullptr) {
            add_digest(view, shared, burst, n);
            if (n != 0)
                atomicAdd((unsigned long long *)events, shared->n_events);
            shared->n_events = 0;
        }
        if constexpr (!SPAN)
            gate_write(partition.gate + (tag & 1) * gridDim.x + blockIdx.x,
                       tag << 16 | n);
        if (events == nullptr)
            add_digest(view, shared, burst, n);
        shared->n_own = n;
    }
    if (partition.cluster > 1) {
        meet_arrive(partition, shared, MEET_READ);
        meet_wait<SPAN>(partition, shared, MEET_READ, tag - 1);
    }
    clear_inputs(partition, block, base);
}

/* Adds the block's sets of shifts to the first set, which the update reads;
 * clear_inputs clears all. */
static __device__ void add_sets(const vly_cuda_partition &partition,
                                const partition_block &block, uint32_t base)
{
    const uint32_t n = partition_set(&partition);
    uint32_t *at = block.ring + base;
    __syncthreads(); /* all warps of the block have delivered */
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < n; i += THREADS) {
        uint32_t sum = at[i];
#pragma unroll 1
        for (uint32_t s = 1; s < partition.sets; s++)
            sum += at[s * n + i] << s * partition.step;
        at[i] = sum;
    }
}

/* Everything has been delivered to the slice. */
template <int KIND, bool SPAN = false>
static __device__ __forceinline__ void
meet_delivered(const vly_cuda_partition &partition,
               const partition_block &block, uint32_t k, uint32_t base)
{
    if (KIND == KIND_COPIES && partition.sets > 1)
        add_sets(partition, block, base);
    if (threadIdx.x == 0)
        block.shared->n_mail = 0;
    __syncthreads();
    if (partition.cluster > 1) {
        meet_arrive(partition, block.shared, MEET_DELIVERED);
        meet_wait<SPAN>(partition, block.shared, MEET_DELIVERED, k);
    }
}

/* ---- the burst loop ---------------------------------------------------- */

/* Stores values that are known after the gate, by thread 0 at a time when no
 * thread reads them. */
static __device__ __forceinline__ void
keep_account(const vly_cuda_view &view, const partition_block &block,
             uint64_t burst, uint32_t total)
{
    partition_shared *shared = block.shared;
    uint32_t *count = block.counts + burst % view.max_delay;
    shared->held += (uint64_t)total - *count;
    *count = total;
    if (blockIdx.x == 0) {
        vly_cuda_record *record =
            view.records + ((uint32_t)burst & view.record_mask);
        record->start = shared->head;
        record->count = total;
    }
    shared->head += total;
}

#endif
