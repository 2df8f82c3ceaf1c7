/* SPDX-License-Identifier: Apache-2.0
 * Delivery of the partitioned plan: for every spike the part of its row that
 * belongs to the slice is added to the block's accumulators. The warps of a
 * cluster divide the spikes into ranges; a warp reads the positions of the
 * parts of 32 spikes while it delivers the previous 32.
 */
#ifndef VOLLEY_CUDA_PARTITION_DELIVER_CUH
#define VOLLEY_CUDA_PARTITION_DELIVER_CUH

#include "partition_index.cuh"

/* Units that a thread has in flight: those of a turn of two blocks a slice,
 * whose parts are of 4.2 units in nets that need it, come in one go. */
template <uint32_t UNIT, int KIND>
static constexpr uint32_t FLIGHT = UNIT < 4              ? 8
                                   : KIND == KIND_COPIES ? 4
                                                         : 5;

/* Where ids come from: the mail of the last burst, or the log. */
struct spike_source {
    const uint32_t *mail;  /* [n_blocks][mail_room], or NULL: the log */
    const uint32_t *parts; /* [n_blocks][post] of the slice */
    const uint32_t *rows;  /* [n_blocks][post] */
    uint32_t post;         /* 0: no parts are posted */
    uint32_t tag;          /* of a span's mail, or 0: the log */
    uint64_t start;        /* in the log */
    uint32_t count;
};

/* Read from the second-level cache, which holds the data after the gate. */
static __device__ __forceinline__ uint32_t mail_read(const uint32_t *at)
{
    uint32_t v;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(at));
    return v;
}

#define SPAN_LOST 0xffffffffu

/* Waits for a word of the mail that has not come yet. */
static __device__ __noinline__ uint32_t span_mail_wait(const uint64_t *at,
                                                       uint32_t number,
                                                       uint64_t limit_ns)
{
    const uint64_t begin = time_ns();
    for (;;) {
        for (uint32_t spins = 0; spins < 1024; spins++) {
            uint64_t v;
            asm volatile("ld.relaxed.sys.global.u64 %0, [%1];"
                         : "=l"(v)
                         : "l"(at)
                         : "memory");
            if ((uint32_t)(v >> 32) == number)
                return (uint32_t)v;
        }
        if (time_ns() - begin > limit_ns)
            return SPAN_LOST;
    }
}

/* A spike of the last burst: the block that has it, and its number there. */
struct spike_place {
    uint32_t block;
    uint32_t number;
};

static __device__ __forceinline__ const uint64_t *
span_mail_place(const vly_cuda_partition &partition, uint32_t tag,
                const spike_place &at)
{
    return partition.span.mail[partition.span.device] +
           span_mail_at(partition, tag, at.block) + at.number;
}

static __device__ __forceinline__ uint64_t span_mail_word(
    const vly_cuda_partition &partition, uint32_t tag, const spike_place &at)
{
    uint64_t v;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];"
                 : "=l"(v)
                 : "l"(span_mail_place(partition, tag, at)));
    return v;
}

/* The id of a word that had not come; SPAN_LOST, and shared->lost, if it does
 * not come. */
static __device__ __forceinline__ uint32_t span_mail_late(
    const vly_cuda_partition &partition, const partition_block &block,
    uint32_t tag, const spike_place &at)
{
    const uint32_t id =
        span_mail_wait(span_mail_place(partition, tag, at),
                       span_number(partition, tag), partition.span.limit_ns);
    if (id == SPAN_LOST)
        block.shared->lost = at.block + 1;
    return id;
}

static __device__ __forceinline__ uint32_t span_mail_read(
    const vly_cuda_partition &partition, const partition_block &block,
    uint32_t tag, const spike_place &at)
{
    const uint64_t v = span_mail_word(partition, tag, at);
    return (uint32_t)(v >> 32) == span_number(partition, tag)
               ? (uint32_t)v
               : span_mail_late(partition, block, tag, at);
}

/* The same of a span, which has more groups: the last one that begins at or
 * before i, then the block. */
static __device__ __forceinline__ spike_place
find_span_spike(const vly_cuda_partition &partition,
                const partition_block &block, uint32_t i)
{
    const uint32_t n_groups = partition_span_groups(&partition);
    uint32_t group = 0;
    for (uint32_t step = 32; step > 0; step /= 2)
        if (group + step < n_groups && block.firsts[group + step] <= i)
            group += step;
    i -= block.firsts[group];
    uint32_t low = 32 * group;
    for (uint32_t step = 16; step > 0; step /= 2)
        if (low + step < partition.n_blocks && block.before[low + step] <= i)
            low += step;
    return {low, i - block.before[low]};
}

/* Blocks with so many spikes: a turn then has those of two or three. */
#define WALK_SPIKES 12u

/* The same for spikes first to first + 31, one a lane: the warp finds the block
 * of the first one together, then walks over the blocks that begin in the turn.
 * All lanes. */
static __device__ __forceinline__ spike_place
walk_span_spikes(const vly_cuda_partition &partition,
                 const partition_block &block, uint32_t first)
{
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t n_groups = partition_span_groups(&partition);
    uint32_t n = 0; /* groups that begin at or before the first spike */
#pragma unroll 1
    for (uint32_t g = 0; g < n_groups; g += 32)
        n += (uint32_t)__popc(
            __ballot_sync(0xffffffffu, g + lane < n_groups &&
                                           block.firsts[g + lane] <= first));
    uint32_t at = 32 * (n - 1);
    uint32_t start = block.firsts[n - 1];
    at += (uint32_t)__popc(__ballot_sync(
              0xffffffffu, at + lane < partition.n_blocks &&
                               block.before[at + lane] <= first - start)) -
          1;
    start += block.before[at];
    const uint32_t i = first + lane;
    spike_place found = {at, i - start};
#pragma unroll 1
    while (++at < partition.n_blocks) {
        start = block.firsts[at / 32] + block.before[at];
        if (start > first + 31)
            break;
        if (start <= i)
            found = {at, i - start};
    }
    return found;
}

static __device__ __forceinline__ spike_place
find_spike(const partition_shared *shared, uint32_t i)
{
    uint32_t low = 0; /* the group of 32 blocks, then the block */
    while (low + 32 < gridDim.x && i >= shared->group_sum[low / 32]) {
        i -= shared->group_sum[low / 32];
        low += 32;
    }
    for (uint32_t step = 16; step > 0; step /= 2)
        if (low + step < gridDim.x && shared->before[low + step] <= i)
            low += step;
    return {low, i - shared->before[low]};
}

static __device__ __forceinline__ uint32_t read_log(const vly_cuda_view &view,
                                                    const spike_source &from,
                                                    uint32_t i)
{
    return __ldcg(view.log_ids + ((from.start + i) & view.log_mask));
}

static __device__ __forceinline__ uint32_t
fetch_id(const vly_cuda_view &view, const vly_cuda_partition &partition,
         const partition_block &block, const spike_source &from, uint32_t i)
{
    if (from.mail == nullptr)
        return read_log(view, from, i);
    const spike_place at = find_spike(block.shared, i);
    return mail_read(from.mail + (uint64_t)at.block * partition.mail_room +
                     at.number);
}

/* The part of spike i, posted by the block that has it, or by the index. */
static __device__ __forceinline__ row_part<false>
fetch_part(const vly_cuda_view &view, const vly_cuda_partition &partition,
           const partition_block &block, const vly_cuda_partition_group &group,
           const part_finder &finder, const spike_source &from, uint32_t i)
{
    uint32_t id;
    if (from.mail != nullptr) {
        const spike_place at = find_spike(block.shared, i);
        if (at.number < from.post) {
            const uint32_t place = at.block * from.post + at.number;
            const uint32_t word = mail_read(from.parts + place);
            return {mail_read(from.rows + place) + (word >> 8), word & 0xffu};
        }
        id = mail_read(from.mail + (uint64_t)at.block * partition.mail_room +
                       at.number);
    } else {
        id = read_log(view, from, i);
    }
    return find_part<false>(partition, group, finder, id);
}

/* The words of spikes first to first + 31 of a span, one a lane, of those below
 * end: id, and above it in mail the number of its burst. All lanes. */
static __device__ __forceinline__ uint64_t
ask_span_spikes(const vly_cuda_view &view, const vly_cuda_partition &partition,
                const partition_block &block, const spike_source &from,
                uint32_t first, uint32_t end)
{
    const uint32_t i = first + threadIdx.x % 32;
    spike_place at = {0, 0};
    if (from.tag == 0)
        return i < end ? read_log(view, from, i) : 0;
    if (from.count >= WALK_SPIKES * partition.n_blocks)
        at = walk_span_spikes(partition, block, first);
    else if (i < end)
        at = find_span_spike(partition, block, i);
    return i < end ? span_mail_word(partition, from.tag, at) : 0;
}

/* The part of the spike of a word; an empty one, and shared->lost, if its id
 * does not come. */
template <bool WIDE>
static __device__ __forceinline__ row_part<WIDE> take_span_spike(
    const vly_cuda_partition &partition, const partition_block &block,
    const vly_cuda_partition_group &group, const part_finder &finder,
    const spike_source &from, uint32_t i, uint64_t word)
{
    uint32_t id = (uint32_t)word;
    if (from.tag != 0 &&
        (uint32_t)(word >> 32) != span_number(partition, from.tag))
        id = span_mail_late(partition, block, from.tag,
                            find_span_spike(partition, block, i));
    if (id == SPAN_LOST)
        return {0, 0};
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

/* N rounds from place `low` of the sequence on: in each, the 32 lanes take the
 * next 32 units, of whatever part. A bit for each place where a part begins
 * says which; seen: parts that began before. */
template <uint32_t N, uint32_t UNIT, int KIND, bool WIDE>
static __device__ __forceinline__ uint32_t
deliver_rounds(const ring_place &ring, const uint32_t *synapses,
               const part_sequence<WIDE> &s, uint32_t low, uint32_t seen)
{
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t upto = (2u << lane) - 1; /* bits 0 to lane */
    unit_words<UNIT> unit[N];
#pragma unroll
    for (uint32_t f = 0; f < N; f++) {
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
#pragma unroll
    for (uint32_t f = 0; f < N; f++) {
        if (f > 0 && low + 32 * f >= s.total)
            continue;
        add_unit<UNIT, KIND>(ring, unit[f]);
    }
    return seen;
}

/* The parts of up to 32 spikes, which the lanes hold. A span has short parts:
 * there a turn has no more rounds than it needs, since a round takes some 20
 * instructions even if it is empty. */
template <uint32_t UNIT, int KIND, bool SPAN, bool WIDE>
static __device__ __forceinline__ void deliver_parts(const ring_place &ring,
                                                     const uint32_t *synapses,
                                                     const row_part<WIDE> &part)
{
    constexpr uint32_t MOST = FLIGHT<UNIT, KIND>;
    const part_sequence<WIDE> s = make_sequence<WIDE>(part);
    uint32_t seen = 0;
    for (uint32_t low = 0; low < s.total; low += 32 * MOST) {
        const uint32_t left = s.total - low;
        if (SPAN && left <= 64)
            deliver_rounds<2, UNIT, KIND>(ring, synapses, s, low, seen);
        else if (SPAN && left <= 96)
            deliver_rounds<3, UNIT, KIND>(ring, synapses, s, low, seen);
        else if (SPAN && MOST > 4 && left <= 128)
            deliver_rounds<4, UNIT, KIND>(ring, synapses, s, low, seen);
        else if (SPAN && MOST > 6 && left <= 192)
            deliver_rounds<6, UNIT, KIND>(ring, synapses, s, low, seen);
        else
            seen =
                deliver_rounds<MOST, UNIT, KIND>(ring, synapses, s, low, seen);
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
template <uint32_t UNIT, int KIND>
static __device__ __forceinline__ void
deliver_spikes(const vly_cuda_view &view, const vly_cuda_partition &partition,
               const partition_block &block,
               const vly_cuda_partition_group &group, uint32_t index,
               const spike_source &from, uint32_t base)
{
    uint32_t slice; /* volatile: not in registers throughout the launch */
    asm volatile("mov.u32 %0, %1;" : "=r"(slice) : "r"(block.slice));
    const part_finder finder = make_finder(slice);
    const uint32_t lane = threadIdx.x % 32;
    const ring_place ring = make_ring(partition, block, base);
    spike_turns turns = first_turn<KIND>(partition, block, from.count, index);
    row_part<false> part = {0, 0};
    bool any = false; /* there is a turn to deliver */
    bool more = turns.i < turns.end;
    while (any || more) {
        row_part<false> next = {0, 0};
        if (turns.i + lane < turns.end)
            next = fetch_part(view, partition, block, group, finder, from,
                              turns.i + lane);
        if (KIND == KIND_PAIR || any)
            deliver_parts<UNIT, KIND, false, false>(ring, group.synapses, part);
        part = next;
        any = more;
        if (more)
            next_turn(&turns);
        more = turns.i < turns.end;
    }
}

/* The same on a device of a span. A row has few synapses there, so what takes
 * the time are the reads that depend on each other: a warp asks for the ids of
 * a turn while it finds the parts of the turn before and delivers those of the
 * one before that. */
template <uint32_t UNIT, int KIND>
static __device__ __forceinline__ void deliver_span_spikes(
    const vly_cuda_view &view, const vly_cuda_partition &partition,
    const partition_block &block, const vly_cuda_partition_group &group,
    uint32_t index, const spike_source &from, uint32_t base)
{
    uint32_t slice; /* volatile: as above */
    asm volatile("mov.u32 %0, %1;"
                 : "=r"(slice)
                 : "r"(block.slice - partition.first_slice));
    const part_finder finder = make_finder(slice);
    const ring_place ring = make_ring(partition, block, base);
    spike_turns turns = first_turn<KIND>(partition, block, from.count, index);
    constexpr bool WIDE = UNIT == 1;
    row_part<WIDE> part = {0, 0};
    uint64_t word = 0;
    uint32_t asked = turns.end; /* first spike of the turn that was asked for */
    bool any = false;           /* there is a turn to deliver */
    bool more = turns.i < turns.end;
    while (any || more || asked < turns.end) {
        row_part<WIDE> next = {0, 0};
        const bool has_next = asked < turns.end;
        const uint32_t i = asked + threadIdx.x % 32;
        if (i < turns.end)
            next = take_span_spike<WIDE>(partition, block, group, finder, from,
                                         i, word);
        asked = turns.end;
        if (more) {
            asked = turns.i;
            word =
                ask_span_spikes(view, partition, block, from, asked, turns.end);
            next_turn(&turns);
            more = turns.i < turns.end;
        }
        if (any)
            deliver_parts<UNIT, KIND, true, WIDE>(ring, group.synapses, part);
        part = next;
        any = has_next;
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
