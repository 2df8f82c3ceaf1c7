/* SPDX-License-Identifier: Apache-2.0
 * The resident plan with other barriers before mail is sent, for blocks of few
 * threads, whose bursts are short: to be timed beside the plain one.
 */
#include "resident_run.cuh"

const void *vly_cuda_gate_kernel(uint32_t model, uint32_t gate)
{
    return gate == GATE_AHEAD
               ? pick_resident<true, FEW_THREADS, GATE_AHEAD>(model)
               : pick_resident<true, FEW_THREADS, GATE_BRANCHES>(model);
}
