/* SPDX-License-Identifier: Apache-2.0
 * Delivery of the partitioned plan: for every spike the part of its row that
 * belongs to the slice is added to the block's accumulators. The warps of a
 * cluster divide the spikes into ranges; a warp reads the positions of the
 * parts of 32 spikes while it delivers the previous 32.
 */
#ifndef VOLLEY_CUDA_PARTITION_DELIVER_CUH
#define VOLLEY_CUDA_PARTITION_DELIVER_CUH

#include "partition_mail.cuh"

/* Units that a thread has in flight: those of a turn of two blocks a slice,
 * whose parts are of 4.2 units in nets that need it, come in one go. */
template <uint32_t UNIT, int KIND>
static constexpr uint32_t FLIGHT = UNIT < 4              ? 8
                                   : KIND == KIND_COPIES ? 4
                                                         : 5;

/* The part of spike first + lane, posted by the block that has it, or by the
 * index; empty from `end` on. Whole warps. */
template <bool SPAN, bool WIDE>
static __device__ __forceinline__ row_part<WIDE>
fetch_parts(const vly_cuda_view &view, const vly_cuda_partition &partition,
            const partition_block &block, const vly_cuda_partition_group &group,
            const part_finder &finder, const spike_source &from, uint32_t first,
            uint32_t end)
{
    const uint32_t i = first + threadIdx.x % 32;
    const bool has_mail = SPAN ? from.tag != 0 : from.mail != nullptr;
    spike_place at = {0, 0};
    uint32_t id;
    if (SPAN && first + 32 <= from.post) { /* of all spikes of the turn */
        const uint32_t word = mail_read(from.parts + i);
        const place_of<WIDE> row =
            (place_of<WIDE>)mail_read(span_rows_of(partition) + i);
        return {row + (word >> 8), i < end ? word & 0xffu : 0};
    }
    if (has_mail)
        at = find_spikes<SPAN>(partition, block, first, end);
    if (i >= end)
        return {0, 0};
    if (!has_mail) {
        id = read_log(view, from, i);
    } else if (SPAN) {
        id = span_mail_read(partition, block, from.tag, at.block, at.number);
        if (id == SPAN_LOST)
            return {0, 0};
    } else {
        if (at.number < from.post) {
            const uint32_t place = at.block * from.post + at.number;
            const uint32_t word = mail_read(from.parts + place);
            return {mail_read(from.rows + place) + (word >> 8), word & 0xffu};
        }
        id = mail_read(from.mail + (uint64_t)at.block * partition.mail_room +
                       at.number);
    }
    return find_part<WIDE>(partition, group, finder, id);
}

template <uint32_t UNIT> struct unit_words {
    uint32_t w[UNIT];
};

/* Read once, so it is not kept in the first-level cache, which the update
 * needs. */
template <uint32_t UNIT>
static __device__ __forceinline__ unit_words<UNIT>
read_unit(const uint32_t *synapses, uint64_t place)
{
    const uint32_t *at = synapses + place * UNIT;
    unit_words<UNIT> v;
    if constexpr (UNIT == 4)
        asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
            : "=r"(v.w[0]), "=r"(v.w[1]), "=r"(v.w[2]), "=r"(v.w[3])
            : "l"(at));
    else if constexpr (UNIT == 2)
        asm("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];"
            : "=r"(v.w[0]), "=r"(v.w[1])
            : "l"(at));
    else
        asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];"
            : "=r"(v.w[0])
            : "l"(at));
    return v;
}

/* Where a burst's accumulators begin in shared memory, and where the ring of
 * them ends; in bytes of its own window, which saves the address arithmetic
 * of pointers. */
struct ring_place {
    uint32_t base;
    uint32_t end;
    uint32_t bytes;
    uint32_t spare; /* a word of the lane's own, of which nothing is read */
    /* of a pair: the first place that only the other block has, in bytes, how
     * many of them, and where place 0 would be over there */
    uint32_t away;
    uint32_t n_away;
    uint32_t other;
    uint32_t other_high;
    bool is_first; /* this is block 0 */
};

static __device__ __forceinline__ ring_place
make_ring(const vly_cuda_partition &partition, const partition_block &block,
          uint32_t base)
{
    const uint32_t first = (uint32_t)__cvta_generic_to_shared(block.ring);
    const uint32_t spare = (uint32_t)__cvta_generic_to_shared(block.spare);
    const uint32_t once = partition.once * 4;
    const uint32_t place = once != 0 ? VLY_CUDA_PAIR_PLACE * 4 : 0;
    ring_place ring = {first + base * 4 - block.rank * once - place,
                       first + block.ring_words * 4,
                       block.ring_words * 4,
                       spare + threadIdx.x % 32 * 4,
                       0,
                       once,
                       0,
                       0,
                       block.rank == 0};
    if (once != 0) {
        const uint64_t other =
            (uint64_t)(uintptr_t)at_rank(block.ring, 1 - block.rank);
        ring.away = place + (block.rank == 0 ? partition.slice * 4 - once : 0);
        ring.other = (uint32_t)other - (1 - block.rank) * once - place;
        ring.other_high = (uint32_t)(other >> 32);
    }
    return ring;
}

/* Adds to the other block of a pair if that block has the place. A predicate,
 * not a branch, which most warps would take for one or two lanes. */
static __device__ __forceinline__ void add_away(const ring_place &ring,
                                                uint32_t place, int32_t weight)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 ".reg .b64 to;\n"
                 "setp.lt.u32 p, %0, %1;\n"
                 "mov.b64 to, {%2, %3};\n"
                 "@p red.relaxed.cluster.add.u32 [to], %4;\n"
                 "}" ::"r"(place - ring.away),
                 "r"(ring.n_away), "r"(ring.other + place),
                 "r"(ring.other_high), "r"(weight)
                 : "memory");
#else
    (void)ring;
    (void)place;
    (void)weight;
#endif
}

/* Padding words have a weight of 0. All lanes would add it to the same place,
 * serialised, so each lane has its own word for it, in its own bank: a
 * predicate would become a branch. */
template <int KIND>
static __device__ __forceinline__ void
add_synapse(const ring_place &ring, uint32_t word, bool may_be_away)
{
    if constexpr (KIND == KIND_NARROW) {
        const uint32_t value = vly_narrow_event(word);
        const uint32_t to = ring.base + vly_narrow_offset(word);
        asm volatile(
            "red.shared.add.u32 [%0], %1;" ::"r"(value != 0 ? to : ring.spare),
            "r"(value)
            : "memory");
        return;
    }
    const int32_t weight = (int32_t)word >> 16;
    const uint32_t place = (word & 0xffffu) << 2;
    uint32_t at = ring.base + place;
    bool here = weight != 0;
    if (KIND == KIND_PAIR && may_be_away) {
        here = here && place - ring.away >= ring.n_away;
        add_away(ring, place, weight);
    }
    if (KIND != KIND_PAIR) { /* a pair has one burst: nothing to wrap */
        at = at >= ring.end ? at - ring.bytes : at;
    }
    at = here ? at : ring.spare;
    asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(at), "r"(weight)
                 : "memory");
}

/* Of a pair: what only block 0 has is in the first word, what only block 1 has
 * in the last, so each has one to look at, which comes last. */
template <uint32_t UNIT, int KIND>
static __device__ __forceinline__ void add_unit(const ring_place &ring,
                                                const unit_words<UNIT> &unit)
{
    const bool first = KIND == KIND_PAIR && ring.is_first;
#pragma unroll
    for (uint32_t i = 1; i < UNIT; i++)
        add_synapse<KIND>(ring, first ? unit.w[i - 1] : unit.w[i], false);
    add_synapse<KIND>(ring, first ? unit.w[UNIT - 1] : unit.w[0], true);
}

/* The parts of the lanes as one sequence of units: lane r has the r-th part
 * that is not empty. */
template <bool WIDE> struct part_sequence {
    uint32_t begin; /* in the sequence; out of range where there is none */
    place_of<WIDE> shift; /* from a place in the sequence to one in the rows */
    uint32_t total;
};

template <bool WIDE>
static __device__ __forceinline__ part_sequence<WIDE>
make_sequence(const row_part<WIDE> &part)
{
    const uint32_t lane = threadIdx.x % 32;
    uint32_t sum = part.n;
    for (uint32_t d = 1; d < 32; d *= 2) {
        const uint32_t other = __shfl_up_sync(0xffffffffu, sum, d);
        sum += lane >= d ? other : 0;
    }
    part_sequence<WIDE> s = {sum - part.n, part.at - (sum - part.n),
                             __shfl_sync(0xffffffffu, sum, 31)};
    const uint32_t full = __ballot_sync(0xffffffffu, part.n != 0);
    if ((full & (full + 1)) != 0) { /* an empty part before one that is not */
        const uint32_t from = __fns(full, 0, (int)lane + 1);
        s.begin = __shfl_sync(0xffffffffu, s.begin, (int)(from & 31));
        s.shift = __shfl_sync(0xffffffffu, s.shift, (int)(from & 31));
    }
    if (lane >= (uint32_t)__popc(full))
        s.begin = 0xffffffffu;
    return s;
}

/* The parts of up to 32 spikes, which the lanes hold. In every round the 32
 * lanes take the next 32 units, of whatever part: a bit for each place where
 * a part begins says which. */
template <uint32_t UNIT, int KIND, bool SPAN, bool WIDE>
static __device__ __forceinline__ void deliver_parts(const ring_place &ring,
                                                     const uint32_t *synapses,
                                                     const row_part<WIDE> &part)
{
    const uint32_t lane = threadIdx.x % 32;
    const part_sequence<WIDE> s = make_sequence<WIDE>(part);
    const uint32_t upto = (2u << lane) - 1; /* bits 0 to lane */
    uint32_t seen = 0;
    for (uint32_t low = 0; low < s.total; low += 32 * FLIGHT<UNIT, KIND>) {
        unit_words<UNIT> unit[FLIGHT<UNIT, KIND>];
#pragma unroll
        for (uint32_t f = 0; f < FLIGHT<UNIT, KIND>; f++) {
            const uint32_t place = low + 32 * f;
            unit[f] = {};
            if (KIND == KIND_PAIR && f > 0 && place >= s.total)
                continue;
            const uint32_t first = s.begin - place;
            const uint32_t starts =
                __reduce_or_sync(0xffffffffu, first < 32 ? 1u << first : 0);
            const uint32_t rank = seen + (uint32_t)__popc(starts & upto) - 1;
            const place_of<WIDE> shift =
                __shfl_sync(0xffffffffu, s.shift, (int)(rank & 31));
            seen += (uint32_t)__popc(starts);
            if (place + lane < s.total)
                unit[f] = read_unit<UNIT>(synapses, shift + (place + lane));
        }
        /* Waits for no one, since all lanes take part; but the compiler does
         * not know that and moves nothing across it. Without it the addition
         * of the first unit, which waits for that unit, came before the other
         * reads. On one device it lost 2 to 4% (bench/results/cuda.csv). */
        if constexpr (SPAN)
            __syncwarp(__ballot_sync(0xffffffffu, seen != 0));
#pragma unroll
        for (uint32_t f = 0; f < FLIGHT<UNIT, KIND>; f++) {
            if (f > 0 && low + 32 * f >= s.total)
                continue;
            add_unit<UNIT, KIND>(ring, unit[f]);
        }
    }
}

/* Of many spikes, the warps of a block take 32 at a time from a counter; of few
 * spikes, a range each, which is more even. Pairs always use ranges: the
 * counter made them slower (bench/README.md). */

struct spike_turns {
    uint32_t i;        /* first spike of the turn */
    uint32_t end;      /* of the warp's spikes */
    uint32_t *counter; /* or NULL: a range */
    uint32_t rank;
    uint32_t cluster;
};

static __device__ __forceinline__ void next_turn(spike_turns *turns)
{
    if (turns->counter == nullptr) {
        turns->i += 32;
        return;
    }
    uint32_t turn = 0;
    if (threadIdx.x % 32 == 0)
        turn = atomicAdd(turns->counter, 1u);
    turn = __shfl_sync(0xffffffffu, turn, 0);
    turns->i = (turn * turns->cluster + turns->rank) * 32;
}

template <int KIND>
static __device__ __forceinline__ spike_turns
first_turn(const vly_cuda_partition &partition, const partition_block &block,
           uint32_t count, uint32_t group)
{
    const uint32_t n_warps = partition.cluster * WARPS;
    const uint32_t warp = block.rank * WARPS + threadIdx.x / 32;
    spike_turns turns = {(uint32_t)((uint64_t)count * warp / n_warps),
                         (uint32_t)((uint64_t)count * (warp + 1) / n_warps),
                         nullptr, block.rank, partition.cluster};
    if (KIND == KIND_PAIR || partition.deal == 0 ||
        count < (uint64_t)partition.deal * 32 * n_warps)
        return turns;
    turns.end = count;
    turns.counter = block.shared->turns + group;
    next_turn(&turns);
    return turns;
}

/* The spikes of one burst along group `index`; base: word of the ring for its
 * shortest delay. */
template <uint32_t UNIT, int KIND, bool SPAN = false>
static __device__ __forceinline__ void
deliver_spikes(const vly_cuda_view &view, const vly_cuda_partition &partition,
               const partition_block &block,
               const vly_cuda_partition_group &group, uint32_t index,
               const spike_source &from, uint32_t base)
{
    uint32_t slice; /* volatile: not in registers throughout the launch */
    asm volatile(
        "mov.u32 %0, %1;"
        : "=r"(slice)
        : "r"(SPAN ? block.slice - partition.first_slice : block.slice));
    const part_finder finder = make_finder(slice);
    const ring_place ring = make_ring(partition, block, base);
    spike_turns turns = first_turn<KIND>(partition, block, from.count, index);
    constexpr bool WIDE = SPAN && UNIT == 1;
    row_part<WIDE> part = {0, 0};
    bool any = false; /* there is a turn to deliver */
    bool more = turns.i < turns.end;
    while (any || more) {
        row_part<WIDE> next = {0, 0};
        if (more)
            next = fetch_parts<SPAN, WIDE>(view, partition, block, group,
                                           finder, from, turns.i, turns.end);
        if (KIND == KIND_PAIR || any)
            deliver_parts<UNIT, KIND, SPAN, WIDE>(ring, group.synapses, part);
        part = next;
        any = more;
        if (more)
            next_turn(&turns);
        more = turns.i < turns.end;
    }
}

/* Whether burst k of the launch has input of the host. */
static __device__ __forceinline__ bool has_inputs(const vly_cuda_launch &launch,
                                                  uint32_t k)
{
    return launch.input_row != nullptr &&
           launch.input_row[k] != launch.input_row[k + 1];
}

/* Input of the host, by one block of a cluster. */
template <int KIND>
static __device__ void
take_inputs(const vly_cuda_view &view, const vly_cuda_launch &launch,
            const vly_cuda_partition &partition, const partition_block &block,
            uint32_t k, uint32_t base)
{
    if (launch.input_row == nullptr)
        return;
    if (KIND == KIND_COPIES && block.rank != 0)
        return;
    const uint32_t end = launch.input_row[k + 1];
    for (uint32_t j = launch.input_row[k] + threadIdx.x; j < end;
         j += THREADS) {
        const vly_cuda_input input = launch.inputs[j];
        const neuron_place to = find_place(view, partition, input.neuron);
        add_input<KIND>(partition, block, base, to, (uint32_t)input.value);
    }
}

#endif
