/* SPDX-License-Identifier: Apache-2.0
 * Projections that learn, where ranks run the net. The device has the synapses
 * onto this rank's neurons. The host has room for those of all ranks, which get
 * there when something reads them (cuda_ranks.h); traces are those of all
 * neurons on every rank.
 */
#include "cuda_learning.h"

#include <string.h>

#include "backends/common/common_modulator.h"
#include "cuda_memory.h"
#include "cuda_net.h"

static vly_status create_copy(vly_cuda_shard *shard, uint64_t n,
                              const uint32_t *words, int32_t **out,
                              vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_alloc(shard, n, sizeof **out, out, error));
    if (n > 0)
        memcpy(*out, words, n * sizeof **out);
out:
    return status;
}

vly_status vly_cuda_rank_map_create(vly_cuda_shard *shard,
                                    const vly_cuda_own_rows *rows,
                                    const uint32_t *words, bool modulated,
                                    vly_cuda_rank_map *map, vly_error *error)
{
    const uint64_t n = rows->map->row[rows->n_sources];
    vly_status status = VLY_OK;
    map->rows = *rows;
    VLY_TRY(create_copy(shard, n, words, &map->master, error));
    if (modulated)
        VLY_TRY(create_copy(shard, n, words + n, &map->eligibility, error));
out:
    return status;
}

vly_status vly_cuda_learning_fetch(vly_cuda_shard *shard, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < shard->plastic.view.n; i++) {
        const vly_cuda_rank_map *map = &shard->plastic.ranks[i];
        const vly_cuda_learning *l = &shard->plastic.list[i];
        VLY_TRY(
            vly_cuda_own_get(shard, &map->rows, l->master, map->master, error));
        if (map->eligibility)
            VLY_TRY(vly_cuda_own_get(shard, &map->rows, l->eligibility,
                                     map->eligibility, error));
    }
out:
    return status;
}

void vly_cuda_learning_move(const vly_cuda_shard *shard, uint32_t rank,
                            vly_common_words *w)
{
    const vly_ranks *to = vly_common_ranks(shard->net->desc);
    for (uint32_t i = 0; i < shard->plastic.view.n; i++) {
        const vly_cuda_rank_map *map = &shard->plastic.ranks[i];
        vly_common_move_synapses(map->rows.map, map->rows.n_sources,
                                 to->first[rank], to->first[rank + 1],
                                 map->master, map->eligibility, w);
    }
}
