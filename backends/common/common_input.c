/* SPDX-License-Identifier: Apache-2.0
 * Input of the host in the layout that devices read: rows by burst, then four
 * words an input.
 */
#include "backend_common.h"

const vly_area_desc *vly_common_input_area(const vly_net_desc *desc,
                                           const vly_area_desc *last,
                                           uint32_t neuron)
{
    if (last && neuron - last->first < last->n_neurons)
        return last;
    return vly_common_area_desc(desc, vly_common_area_of(desc, neuron));
}

uint64_t vly_common_inputs_find(const vly_run *run, uint64_t burst,
                                uint32_t n_bursts, uint64_t *from)
{
    uint64_t end = burst + n_bursts;
    while (*from < run->n_inputs && run->inputs[*from].burst < burst)
        (*from)++;
    uint64_t n = run->n_inputs - *from;
    if (n > 0 && run->inputs[run->n_inputs - 1].burst < end)
        return n; /* mostly */
    n = 0;
    while (*from + n < run->n_inputs && run->inputs[*from + n].burst < end)
        n++;
    return n;
}

vly_status vly_common_inputs_check(uint64_t n, vly_error *error)
{
    if (n <= UINT32_MAX)
        return VLY_OK;
    return vly_support_fail(error, VLY_E_UNSUPPORTED,
                            "run: %llu inputs at once, the %s backend takes up "
                            "to 2^32 - 1",
                            (unsigned long long)n, vly_support_plugin);
}

uint64_t vly_common_input_rows(uint32_t n_bursts)
{
    const uint64_t each = VLY_COMMON_INPUT_WORDS;
    return (n_bursts / each + 1) * each;
}

void vly_common_inputs_write(const vly_net_desc *desc, const vly_input *from,
                             uint64_t n, uint64_t burst, uint32_t n_bursts,
                             uint32_t *words)
{
    const vly_area_desc *area = NULL;
    uint32_t *to = words + vly_common_input_rows(n_bursts);
    uint32_t at = 0;
    for (uint32_t k = 0; k < n_bursts; k++) {
        words[k] = at;
        for (; at < n && from[at].burst == burst + k; at++) {
            area = vly_common_input_area(desc, area, from[at].neuron);
            *to++ = from[at].neuron;
            *to++ = from[at].port;
            *to++ = (uint32_t)from[at].value;
            *to++ = (area->flags & VLY_AREA_FEAGI) != 0;
        }
    }
    words[n_bursts] = at;
}
