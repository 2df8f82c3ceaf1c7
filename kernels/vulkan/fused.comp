/* SPDX-License-Identifier: Apache-2.0
 * A whole burst by slices in one dispatch, for nets whose areas all have one
 * model (MODEL_<id>) and whose events all arrive base_delay bursts after their
 * spike: a work group sums the input of its slice in shared memory and updates
 * the neurons of the slice from there. Sums do not pass through global memory,
 * and a burst has one barrier between dispatches instead of two.
 *
 * Work groups add to the record of the burst from its beginning, so the
 * previous burst clears it; each work group computes where the burst begins in
 * the log. The list of spikes reuses the memory of sums of updated neurons.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "kernels/vulkan/contract.glsl"

#include "kernels/vulkan/burst_begin.glsl"

layout(local_size_x_id = 0) in;

#include "kernels/vulkan/slice_sums.glsl"

uint list_first; /* of the tile at hand, in sums */
#define ID_OF(at) sums[list_first + (at)]
#define GAIN_OF(at) (1u << VIEW.feagi_q)
#include "kernels/vulkan/burst_update.glsl"
#include "kernels/vulkan/tile_spikes.glsl"

#if MODEL_PORTS > 1
#define SUM_OF_PORT1(u) sums[list_first + size + n##u]
#else
#define SUM_OF_PORT1(u) 0u
#endif
#if MODEL_PORTS > 3
#define SUM_OF_PORT3(u) sums[list_first + 3u * size + n##u]
#else
#define SUM_OF_PORT3(u) 0u
#endif
#if MODEL_PORTS > 2
#define READ_MORE(u)                                                           \
    uint sum2##u = sums[list_first + 2u * size + n##u];                        \
    uint sum3##u = SUM_OF_PORT3(u);
#define TAKE_MORE(u)                                                           \
    sum2 = sum2##u;                                                            \
    sum3 = sum3##u;
#else
#define READ_MORE(u)
#define TAKE_MORE(u)
#endif

#define EACH_OF_FOUR(DO) DO(0) DO(1) DO(2) DO(3)
/* one that is not there is read as the last */
#define READ_NEURON(u)                                                         \
    uint at##u = at + uint(u) * gl_WorkGroupSize.x;                            \
    uint n##u = at##u < tile.n ? at##u : tile.n - 1u;                          \
    uint i##u = tile.first + n##u;                                             \
    MODEL_PART(_state) state##u = vly_load_state(i##u);                        \
    uint kept##u = read_kept(area_first + i##u);                               \
    uint sum0##u = sums[list_first + n##u];                                    \
    uint sum1##u = SUM_OF_PORT1(u);                                            \
    READ_MORE(u)
#define STEP_NEURON(u)                                                         \
    if (at##u < tile.n) {                                                      \
        uint neuron = area_first + i##u;                                       \
        uint gain;                                                             \
        MODEL_PART(_coef) own = c;                                             \
        if (coefs_vary != 0u)                                                  \
            own = vly_load_coefs(i##u);                                        \
        TAKE_MORE(u)                                                           \
        draw_stimuli(burst, neuron, kept##u, sum0##u, sum1##u);                \
        if (vly_step_neuron(burst, i##u, neuron, sum0##u, sum1##u,             \
                            area_scale0, area_scale1, state##u, own,           \
                            gain) != 0u)                                       \
            ID_OF(atomicAdd(n_spikes, 1u)) = neuron;                           \
    }

/* Neurons of a tile, of which the first is neuron slice_at of the slice, which
 * has `size`; all of the work group. */
void update_tile(vly_burst burst, uint64_t mixed, uint64_t start,
                 vly_vulkan_tile tile, uint first, uint size)
{
    load_area(tile.area, burst.t);
    list_first = area_first + tile.first - first;
    MODEL_PART(_coef) c = uniform_coefs();
    start_spikes();
    for (uint from = 0u; from < tile.n; from += 4u * gl_WorkGroupSize.x) {
        uint at = from + gl_LocalInvocationIndex;
        EACH_OF_FOUR(READ_NEURON)
        barrier(); /* the list may overwrite sums that were read */
        EACH_OF_FOUR(STEP_NEURON)
    }
    barrier();
    write_spikes(burst.t, mixed, tile.area, start);
}

/* Writes the record of this burst, except for its sums, and clears the next
 * one's. */
void begin_records(uint64_t burst, uint64_t head, bool runs)
{
    record_at record = record_of(burst);
    record.v.start = head;
    record.v.ran = runs ? 1u : 0u;
    if (runs)
        record_of(burst + 1ul).v = vly_vulkan_record(
            0ul, 0u, 0u, uint[2](0u, 0u), uint[2](0u, 0u), 0u, 0u);
}

void main()
{
    if (push.k >= LAUNCH.n_bursts)
        return;
    uint64_t t = LAUNCH.burst + uint64_t(push.k);
    uint64_t head;
    bool runs = begin_burst(t, head);
    if (gl_GlobalInvocationID.x == 0u)
        begin_records(t, head, runs);
    if (!runs)
        return;
    uint s = gl_WorkGroupID.x;
    uint first = s * VIEW.slice_size;
    uint size = slice_neurons(s);
    sum_slice(t, s, 0u, first, size);
    vly_burst burst =
        vly_burst(t, VIEW.key_low, VIEW.key_high, VIEW.feagi_q);
    uint64_t mixed = vly_digest_mix(t);
    uint end = word_of(VIEW.slice_tiles, s + 1u).v;
    for (uint i = word_of(VIEW.slice_tiles, s).v; i < end; i++)
        update_tile(burst, mixed, head,
                    tile_at(VIEW.tiles + 12ul * uint64_t(i)).v, first, size);
}
