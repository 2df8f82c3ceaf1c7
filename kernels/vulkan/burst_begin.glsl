/* SPDX-License-Identifier: Apache-2.0
 * Whether a burst of a submission may begin. Every work group computes the same
 * answer from the records of earlier bursts, so no communication is needed.
 */
#ifndef VOLLEY_VULKAN_BURST_BEGIN_GLSL
#define VOLLEY_VULKAN_BURST_BEGIN_GLSL

#include "kernels/vulkan/burst_view.glsl"

/* Whether burst LAUNCH.burst + push.k runs: the one before it did, and even if
 * every neuron fires, no spike is overwritten that is still needed. head: log
 * position of its first spike. All values are read before the decision, so that
 * their latencies overlap. */
bool begin_burst(uint64_t burst, out uint64_t head)
{
    /* Do not compare a difference that is clamped at 0: for burst <= delay,
     * NVIDIA's compiler (driver 580.159) evaluated (burst > delay ? burst -
     * delay : 0) < burst as false, so that a full log was overwritten. */
    uint delay = VIEW.max_delay;
    uint ago = burst < uint64_t(delay) ? uint(burst) : delay;
    vly_vulkan_record before = record_of(burst - 1ul).v;
    uint64_t tail = record_of(burst - uint64_t(ago > 0u ? ago : 1u)).v.start;
    uint64_t first = LAUNCH.head;
    bool runs = true;
    head = first;
    if (push.k > 0u) {
        head = before.start + uint64_t(before.count);
        runs = before.ran != 0u;
    }
    if (ago == 0u)
        tail = head;
    if (LAUNCH.keep != 0u && tail > first)
        tail = first;
    uint64_t used = head - tail;
    return runs && used <= uint64_t(VIEW.log_room) && head <= LAUNCH.head_limit;
}

#endif
