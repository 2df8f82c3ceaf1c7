/* SPDX-License-Identifier: Apache-2.0
 * The spikes of a tile, which a work group collects in shared memory until it
 * knows how many there are. The shader says where the list is:
 *
 *   ID_OF(at)    id of spike `at` of it
 *   GAIN_OF(at)  what it carries
 */
#ifndef VOLLEY_VULKAN_TILE_SPIKES_GLSL
#define VOLLEY_VULKAN_TILE_SPIKES_GLSL

shared uint n_spikes;
shared uint base; /* of the spikes in the burst's part of the log */
shared uint digest[2];
shared uint events[2];

/* No spikes yet; all of the work group. */
void start_spikes()
{
    if (gl_LocalInvocationIndex == 0u) {
        n_spikes = 0u;
        digest[0] = digest[1] = events[0] = events[1] = 0u;
    }
    barrier();
}

/* Writes the list to the log of the burst, whose first spike has position
 * start; all of the work group, after a barrier. The contributions of spikes to
 * sums are read only here: during the update, one neuron that fires would delay
 * its subgroup. */
void write_spikes(uint64_t burst, uint64_t mixed, uint area, uint64_t start)
{
    record_at record = record_of(burst);
    uint lane = gl_LocalInvocationIndex;
    uint n = n_spikes;
    if (n == 0u)
        return;
    if (lane == 0u)
        base = atomicAdd(record.v.count, n);
    barrier();
    for (uint i = lane; i < n; i += gl_WorkGroupSize.x) {
        uint id = ID_OF(i);
        uint gain = GAIN_OF(i);
        uint64_t hash = vly_digest_pair(mixed, id, gain);
        uint64_t degree = uint64_t(word_of(VIEW.out_degree, id).v);
        ADD_LONG(digest[0], digest[1], hash);
        ADD_LONG(events[0], events[1], degree);
        write_spike(start, base + i, id, gain);
    }
    barrier();
    if (lane == 0u)
        add_sums(record, area, n,
                 (uint64_t(digest[1]) << 32) | uint64_t(digest[0]),
                 (uint64_t(events[1]) << 32) | uint64_t(events[0]));
}

#endif
