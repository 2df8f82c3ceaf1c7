/* SPDX-License-Identifier: Apache-2.0
 * Classes of the shifts of a net's weights (kernels/cuda/shift_classes.h) in
 * the resident plan: how many more synapses there would be where 16 bits do not
 * reach to the places of all of them.
 */
#include "cuda_shifts.h"

#include "kernels/cuda/shift_classes.h"

#include "cuda_shard.h"

/* Number of additional synapses made from those of one projection. */
static uint64_t words_of(const vly_cuda_shard *shard,
                         const vly_projection_desc *p,
                         const vly_cuda_resident *resident, uint64_t limit)
{
    uint32_t shift = vly_common_shift(shard->store.fixed, p);
    uint32_t step = resident->step;
    uint32_t max_delay = shard->view.max_delay;
    uint32_t longest = p->base_delay + (p->delay ? p->delay_max : 0);
    uint64_t n = p->row[vly_cuda_area_desc(shard->store.fixed, p->source_area)
                            ->n_neurons];
    uint64_t sum = 0;
    if (step * vly_shift_class(shift, step, longest - 1, max_delay,
                               resident->slice) ==
        shift)
        return 0;
    for (uint64_t i = 0; i < n && sum <= limit; i++) {
        uint32_t later = p->base_delay - 1 + (p->delay ? p->delay[i] : 0);
        uint32_t rest =
            shift - step * vly_shift_class(shift, step, later, max_delay,
                                           resident->slice);
        uint32_t words = vly_shift_words(vly_weight_at(p, i), rest);
        sum += words > 1 ? words - 1 : 0;
    }
    return sum;
}

static uint64_t count_words(const vly_cuda_shard *shard,
                            const vly_cuda_resident *resident, uint64_t limit)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < shard->store.fixed->n_projections && sum <= limit;
         i++)
        sum += words_of(shard, vly_cuda_projection_desc(shard->store.fixed, i),
                        resident, limit - sum);
    return sum;
}

bool vly_cuda_shifts_fit(const vly_cuda_shard *shard,
                         vly_cuda_resident *resident)
{
    uint64_t most = shard->store.fixed->n_synapses / VLY_CUDA_SHIFT_SHARE;
    vly_cuda_resident other = *resident;
    uint32_t n = vly_common_shift_sets(shard->store.fixed, &resident->step);
    if (n == 1)
        return true;
    uint64_t words = count_words(shard, resident, most);
    other.step = VLY_SHIFT_MAX; /* in that case the smaller shift has no
                                 * class */
    if (n == 3 && words > 0) {
        uint64_t less = count_words(shard, &other, words < most ? words : most);
        if (less < words) {
            resident->step = other.step;
            words = less;
        }
    }
    return words <= most;
}
