/* SPDX-License-Identifier: Apache-2.0
 * Random genomes: memory areas, their twins, and maps from them.
 */
#include "random_maker.h"

#include <stdio.h>

/* An area of the same size that repeats the patterns of another. */
static void put_twin(maker *m, uint32_t memory, uint32_t of)
{
    const area *a = &m->areas[of];
    put(m, "\n[area.t%u_%u]\nmodel = \"feagi\"\n", (unsigned)memory,
        (unsigned)of);
    if (a->has_voxels)
        put(m, "voxels = [%u, %u, %u]\nneurons_per_voxel = %u\n",
            (unsigned)a->voxels[0], (unsigned)a->voxels[1],
            (unsigned)a->voxels[2], (unsigned)a->per_voxel);
    else
        put(m, "neurons = %u\n", (unsigned)a->n);
    put(m, "firing_threshold = %.4g\n",
        chance(m, 50) ? 1.0 : between(m, 0.1, 5.0));
    if (chance(m, 30))
        put(m, "refractory_period = %u\n", (unsigned)whole(m, 1, 3));
}

static void put_numbers(maker *m)
{
    put(m, "temporal_depth = %u\n",
        (unsigned)(chance(m, 50) ? 1 : whole(m, 2, chance(m, 80) ? 5 : 60)));
    put(m, "init_lifespan = %u\n",
        (unsigned)(chance(m, 10) ? 0 : whole(m, 1, 12)));
    put(m, "lifespan_growth_rate = %u\n", (unsigned)whole(m, 0, 8));
    put(m, "longterm_mem_threshold = %u\n",
        (unsigned)whole(m, 0, chance(m, 50) ? 20 : 400));
}

/* Weights of the map are those of the target's model. */
static void put_map_of(maker *m, uint32_t index)
{
    uint32_t to = whole(m, 0, m->n_areas - 1);
    const area *target = &m->areas[to];
    put(m, "\n[[map]]\nfrom = \"m%u\"\nto = \"a%u\"\n", (unsigned)index,
        (unsigned)to);
    put(m, "rule = \"pairwise_bernoulli\"\np = %.3g\n",
        target->n > 400 ? 0.01 : 0.2);
    put_weight(m, target->model, false);
    put_delay(m);
}

static void put_memory(maker *m, uint32_t index)
{
    uint32_t n = whole(m, 1, m->n_areas < 3 ? m->n_areas : 3);
    uint32_t first = whole(m, 0, m->n_areas - n);
    bool replays = chance(m, 60);
    put(m, "\n[area.m%u]\nmodel = \"feagi\"\n", (unsigned)index);
    if (chance(m, 50))
        put(m, "neurons = %u\n", (unsigned)whole(m, 1, chance(m, 50) ? 6 : 90));
    else
        put(m, "voxels = [1, 1, 1]\nneurons_per_voxel = %u\n",
            (unsigned)whole(m, 1, 60));
    if (chance(m, 50))
        put(m, "postsynaptic_current = %u\n", (unsigned)whole(m, 1, 40));
    if (chance(m, 30))
        put(m, "mp_driven_psp = true\n");
    for (uint32_t s = 0; replays && s < n; s++)
        put_twin(m, index, first + s);
    put(m, "\n[memory.m%u]\nfrom = [", (unsigned)index);
    for (uint32_t s = n; s-- > 0;)
        put(m, "\"a%u\"%s", (unsigned)(first + s), s ? ", " : "]\n");
    for (uint32_t s = n; replays && s-- > 0;)
        put(m, "%s\"t%u_%u\"%s", s + 1 == n ? "twins = [" : "", (unsigned)index,
            (unsigned)(first + s), s ? ", " : "]\n");
    put_numbers(m);
    put_map_of(m, index);
    cover(m, COVER_memory);
    if (replays)
        cover(m, COVER_memory_twins);
}

static bool is_feagi(const maker *m, uint32_t index)
{
    return m->areas[index].model == FEAGI && m->areas[index].n <= 100;
}

/* Between a FEAGI area or a memory and another or the same one. */
static void put_association(maker *m, uint32_t index, uint32_t n_memories)
{
    char names[2][16];
    for (int s = 0; s < 2; s++) {
        uint32_t a = whole(m, 0, m->n_areas - 1);
        bool memory = chance(m, 50) && n_memories > 0;
        uint32_t k = n_memories ? whole(m, 0, n_memories - 1) : 0;
        if (!memory && !is_feagi(m, a))
            memory = n_memories > 0;
        if (!memory && !is_feagi(m, a))
            return;
        snprintf(names[s], sizeof names[s], "%c%u", memory ? 'm' : 'a',
                 (unsigned)(memory ? k : a));
    }
    put(m, "\n[association.s%u]\nfrom = \"%s\"\nto = \"%s\"\n", (unsigned)index,
        names[0], names[1]);
    put(m, "plasticity_window = %u\n",
        (unsigned)(chance(m, 50) ? 1 : whole(m, 2, 5)));
    put(m, "plasticity_constant = %u\nltp_multiplier = %u\n",
        (unsigned)whole(m, 1, 3), (unsigned)whole(m, 0, 60));
    put(m, "ltd_multiplier = %u\n", (unsigned)whole(m, 0, 9));
    if (chance(m, 20))
        put(m, "inhibitory = true\n");
    cover(m, COVER_association);
}

void put_memories(maker *m)
{
    uint32_t n = chance(m, 25) ? whole(m, 1, 2) : 0;
    for (uint32_t k = 0; k < n; k++)
        put_memory(m, k);
    uint32_t n_more = chance(m, 25) ? whole(m, 1, 2) : 0;
    for (uint32_t k = 0; k < n_more; k++)
        put_association(m, k, n);
}
