/* SPDX-License-Identifier: Apache-2.0
 * The synapses of one neuron in the layout of plan global.
 */
#include "vulkan_net.h"

static uint32_t *write_row(const vly_net_desc *desc,
                           const vly_projection_desc *p, uint32_t k,
                           uint32_t *out)
{
    const vly_common_port to = vly_common_port_of(desc, p);
    uint32_t gain = (p->flags & VLY_PROJECTION_GAIN) != 0;
    uint32_t flags = gain ? VLY_VULKAN_SYNAPSE_GAIN : 0;
    flags |= vly_common_shift(desc, p) / VLY_SHIFT_STEP
             << VLY_VULKAN_SYNAPSE_SHIFT;
    for (uint64_t j = p->row[k]; j < p->row[k + 1]; j++) {
        const int32_t own = vly_weight_at(p, j);
        uint32_t weight = (uint16_t)own;
        uint32_t delay = p->delay ? p->delay[j] : 0;
        uint32_t port =
            to.port == VLY_PORT_BY_SIGN ? (uint32_t)(own < 0) : to.port;
        uint32_t all = flags | (port != 0 ? VLY_VULKAN_SYNAPSE_PORT : 0);
        *out++ = p->target[j] + to.plane;
        *out++ = weight | delay << 16 | all << 24;
    }
    return out;
}

void vly_vulkan_row(const vly_net_desc *desc,
                    const vly_projection_desc *const *parts, uint32_t n,
                    uint32_t k, uint32_t *out)
{
    for (uint32_t i = 0; i < n; i++)
        out = write_row(desc, parts[i], k, out);
}
