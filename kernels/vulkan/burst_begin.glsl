/* SPDX-License-Identifier: Apache-2.0
 * Whether a burst of a submission may begin. Every work group finds the same
 * answer in the records of bursts before it, so nobody has to be asked.
 */
#ifndef VOLLEY_VULKAN_BURST_BEGIN_GLSL
#define VOLLEY_VULKAN_BURST_BEGIN_GLSL

#include "kernels/vulkan/burst_view.glsl"

/* Whether burst LAUNCH.burst + push.k runs: the one before it did, and even if
 * every neuron fires, no spike is overwritten that is still needed. head: log
 * position of its first spike. */
bool begin_burst(uint64_t burst, out uint64_t head)
{
    head = LAUNCH.head;
    if (push.k > 0u) {
        record_at before = record_of(burst - 1ul);
        head = before.v.start + uint64_t(before.v.count);
        if (before.v.ran == 0u)
            return false;
    }
    /* No difference that is cut off at 0 and then compared: where burst <= delay
     * NVIDIA's compiler (driver 580.159) took (burst > delay ? burst - delay :
     * 0) < burst for false, so that a full log was overwritten. */
    uint ago = burst < uint64_t(VIEW.max_delay) ? uint(burst) : VIEW.max_delay;
    uint64_t tail = head;
    if (ago > 0u)
        tail = record_of(burst - uint64_t(ago)).v.start;
    if (LAUNCH.keep != 0u && tail > LAUNCH.head)
        tail = LAUNCH.head;
    uint64_t end = head + uint64_t(VIEW.n_neurons);
    return end - tail <= VIEW.log_mask + 1ul && end <= LAUNCH.head_limit;
}

#endif
