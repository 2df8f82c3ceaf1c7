/* SPDX-License-Identifier: Apache-2.0
 * Sums the events of spikes for one slice of the neurons in the shared memory
 * of a work group. With SHORT a synapse has 16 bits, for nets whose groups have
 * at most two weights.
 */
#ifndef VOLLEY_VULKAN_SLICE_SUMS_GLSL
#define VOLLEY_VULKAN_SLICE_SUMS_GLSL

layout(constant_id = 1) const uint LANES = 4u; /* that share a part */
layout(constant_id = 4) const uint SUMS = 8192u;
layout(constant_id = 5) const bool SHORT = false; /* 16 bits a synapse */

/* A team has four parts in flight: each step is done for all four before the
 * next step. Written out, not as loops over arrays, which NVIDIA's compiler
 * keeps in memory: 350 us instead of 89 on an H200. */
#define EACH_AHEAD(DO) DO(0) DO(1) DO(2) DO(3)
#define AHEAD 4u

shared uint sums[SUMS]; /* [set][port][neuron] input */

uint weight0; /* SHORT: of the group at hand */
uint weight1;

void add_half(uint synapse)
{
    uint weight = (synapse & 0x8000u) != 0u ? weight1 : weight0;
    if (synapse != VLY_VULKAN_NO_SYNAPSE)
        atomicAdd(sums[synapse & 0x7fffu], weight);
}

/* One synapse, or two. */
void add_word(uint word)
{
    if (SHORT) {
        add_half(word & 0xffffu);
        add_half(word >> 16);
        return;
    }
    uint weight = uint(int(word) >> 16);
    if (weight != 0u)
        atomicAdd(sums[word & 0xffffu], weight);
}

void add_quad(uvec4 quad)
{
    add_word(quad.x);
    add_word(quad.y);
    add_word(quad.z);
    add_word(quad.w);
}

/* Which bytes of a quad of the index are lengths of parts before the slice's
 * part, and the position of its own length. */
struct part_mask {
    uvec3 before;
    uint word;
    uint shift;
};

part_mask mask_of(uint s)
{
    uint n = s % VLY_VULKAN_INDEX_PARTS + 2u; /* two bytes are of the address */
    part_mask mask;
    mask.before.x = n >= 4u ? 0xffff0000u : n == 3u ? 0x00ff0000u : 0u;
    mask.before.y = n >= 8u ? 0xffffffffu
                            : n > 4u ? (1u << (8u * (n - 4u))) - 1u : 0u;
    mask.before.z = n > 8u ? (1u << (8u * (n - 8u))) - 1u : 0u;
    mask.word = n / 4u;
    mask.shift = 8u * (n % 4u);
    return mask;
}

uint pairs_of(uint bytes)
{
    return (bytes & 0x00ff00ffu) + ((bytes >> 8) & 0x00ff00ffu);
}

/* Address of the part, and how many quads it has. */
uint64_t find_part(uvec4 entry, part_mask mask, out uint n)
{
    uint word = mask.word == 0u ? entry.y : mask.word == 1u ? entry.z : entry.w;
    uint pairs = pairs_of(entry.y & mask.before.x) +
                 pairs_of(entry.z & mask.before.y) +
                 pairs_of(entry.w & mask.before.z);
    uint64_t first = uint64_t(entry.y & 0xffffu) << 32 | uint64_t(entry.x);
    n = (word >> mask.shift) & 0xffu;
    return (first + uint64_t((pairs & 0xffffu) + (pairs >> 16))) << 4;
}

uvec4 quad_of(uint64_t part, uint i)
{
    return quad_at(part + 16ul * uint64_t(i)).v;
}

#define READ_ID(u)                                                             \
    uint at##u = i + uint(u) * n_teams;                                        \
    uint id##u = word_of(log_ids, (start + (at##u < end ? at##u : i)) &        \
                                      log_mask)                                \
                     .v;
#define READ_ENTRY(u)                                                          \
    uvec4 entry##u = quad_at(index + stride * uint64_t(id##u)).v;
#define READ_QUAD(u)                                                           \
    uint n##u;                                                                 \
    uint64_t part##u = find_part(entry##u, mask, n##u);                        \
    n##u = at##u < end ? n##u : 0u;                                            \
    uvec4 quad##u = uvec4(SHORT ? 0xffffffffu : 0u);                           \
    if (lane < n##u)                                                           \
        quad##u = quad_of(part##u, lane);
#define ADD_QUAD(u)                                                            \
    add_quad(quad##u);                                                         \
    for (uint j = lane + LANES; j < n##u; j += LANES)                          \
        add_quad(quad_of(part##u, j));

/* Adds slice s's parts of spikes [begin, end) of a burst; start: the burst's
 * place in the log. LANES invocations read a part, a quad each. */
void deliver_parts(uint64_t index, uint start, uint begin, uint end, uint s)
{
    uint64_t log_ids = VIEW.log_ids;
    uint log_mask = VIEW.log_mask;
    uint n_entries = (VIEW.n_slices - 1u) / VLY_VULKAN_INDEX_PARTS + 1u;
    uint64_t stride = 16ul * uint64_t(n_entries);
    uint lane = gl_LocalInvocationIndex % LANES;
    uint n_teams = gl_WorkGroupSize.x / LANES;
    part_mask mask = mask_of(s);
    index += 16ul * uint64_t(s / VLY_VULKAN_INDEX_PARTS);
    for (uint i = begin + gl_LocalInvocationIndex / LANES; i < end;
         i += AHEAD * n_teams) {
        EACH_AHEAD(READ_ID)
        EACH_AHEAD(READ_ENTRY)
        EACH_AHEAD(READ_QUAD)
        EACH_AHEAD(ADD_QUAD)
    }
}

/* Adds the inputs of the burst for the slice's neurons, from `first` on. */
void deliver_inputs(uint first, uint size)
{
    uint end = word_of(LAUNCH.input_row, push.k + 1u).v;
    uint i = word_of(LAUNCH.input_row, push.k).v + gl_LocalInvocationIndex;
    for (; i < end; i += gl_WorkGroupSize.x) {
        vly_vulkan_input given = input_at(LAUNCH.inputs + 16ul * uint64_t(i)).v;
        uint at = given.neuron - first;
        if (at < size)
            atomicAdd(sums[given.port * size + at], given.value);
    }
}

void deliver_burst(uint64_t burst, uint s, uint copy)
{
    uint n_groups = VIEW.n_groups;
    uint64_t groups = VIEW.groups;
    for (uint g = 0u; g < n_groups; g++) {
        vly_vulkan_group group = group_at(groups + 24ul * uint64_t(g)).v;
        if (burst < uint64_t(group.base_delay))
            continue;
        vly_vulkan_record record =
            record_of(burst - uint64_t(group.base_delay)).v;
        uint each = (record.count + VIEW.n_copies - 1u) / VIEW.n_copies;
        uint begin = each * copy;
        uint end = begin + each < record.count ? begin + each : record.count;
        weight0 = uint(bitfieldExtract(int(group.degree), 0, 16));
        weight1 = uint(bitfieldExtract(int(group.degree), 16, 16));
        deliver_parts(group.row, uint(record.start), begin, end, s);
    }
}

/* Adds the sets of shifts to the first set. */
void add_sets(uint n)
{
    for (uint i = gl_LocalInvocationIndex; i < n; i += gl_WorkGroupSize.x) {
        uint sum = sums[i];
        for (uint t = 1u; t < VIEW.n_sets; t++)
            sum += sums[t * n + i] << (t * VIEW.set_step);
        sums[i] = sum;
    }
    barrier();
}

/* Clears the sums, and adds the input of neurons [first, first + size), slice
 * s; all of the work group. copy: index among the work groups that share the
 * slice. */
void sum_slice(uint64_t burst, uint s, uint copy, uint first, uint size)
{
    uint n = size * VIEW.n_ports;
    for (uint i = gl_LocalInvocationIndex; i < n * VIEW.n_sets;
         i += gl_WorkGroupSize.x)
        sums[i] = 0u;
    barrier();
    if (LAUNCH.input_row != 0ul && copy == 0u)
        deliver_inputs(first, size);
    deliver_burst(burst, s, copy);
    barrier();
    if (VIEW.n_sets > 1u)
        add_sets(n);
}

uint slice_neurons(uint s)
{
    uint left = VIEW.n_neurons - s * VIEW.slice_size;
    return left < VIEW.slice_size ? left : VIEW.slice_size;
}

#endif
