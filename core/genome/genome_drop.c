/* SPDX-License-Identifier: Apache-2.0
 * Areas of 0 neurons, which a sweep may come to: they are read like any other
 * and written into the resolved text, and then left out with what belongs to
 * them, so that nothing later knows of an area without neurons. The genome is
 * then that without them: the same hash, the same draws.
 */
#include "base/memory.h"
#include "genome/genome_area.h"
#include "genome/genome_reader.h"

/* to, here and below: [n_areas] the index of each area after the others are
 * left out, VLY_NO_AREA: it is left out itself. */
static void drop_areas(vly_genome *genome, const uint32_t *to)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < genome->n_areas; i++) {
        if (to[i] == VLY_NO_AREA)
            vly_area_deinit(&genome->areas[i]);
        else
            genome->areas[n++] = genome->areas[i];
    }
    genome->n_areas = n;
}

/* No pair, pool or empty pair has such an area: only numbers change. */
static void renumber_maps(vly_genome *genome, const uint32_t *to)
{
    for (uint32_t i = 0; i < genome->n_pairs; i++) {
        genome->pairs[i].from = to[genome->pairs[i].from];
        genome->pairs[i].to = to[genome->pairs[i].to];
    }
    for (uint32_t i = 0; i < genome->n_empty; i++) {
        genome->empty[i].from = to[genome->empty[i].from];
        genome->empty[i].to = to[genome->empty[i].to];
    }
    for (uint32_t i = 0; i < genome->n_pools; i++) {
        vly_end *ends[] = {&genome->pools[i]->from, &genome->pools[i]->to};
        for (int end = 0; end < 2; end++)
            for (uint32_t k = 0; k < ends[end]->n_parts; k++)
                ends[end]->parts[k].area = to[ends[end]->parts[k].area];
    }
}

static void drop_stimuli(vly_genome *genome, const uint32_t *to)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < genome->n_stimuli; i++) {
        vly_stimulus *stimulus = &genome->stimuli[i];
        stimulus->to = to[stimulus->to];
        if (stimulus->to != VLY_NO_AREA) {
            genome->stimuli[n++] = *stimulus;
            continue;
        }
        vly_free(stimulus->id);
        vly_free(stimulus->stream);
    }
    genome->n_stimuli = n;
}

static void drop_records(vly_genome *genome, const uint32_t *to)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < genome->n_records; i++) {
        vly_record *record = &genome->records[i];
        record->area = to[record->area];
        if (record->area != VLY_NO_AREA)
            genome->records[n++] = *record;
        else
            vly_free(record->neurons);
    }
    genome->n_records = n;
}

/* They refuse such areas when they are read. */
static void renumber_memories(vly_genome *genome, const uint32_t *to)
{
    for (uint32_t i = 0; i < genome->n_memories; i++) {
        vly_memory_rule *memory = &genome->memories[i];
        memory->area = to[memory->area];
        for (uint32_t k = 0; k < memory->n_sources; k++) {
            vly_memory_source *source = &memory->sources[k];
            source->area = to[source->area];
            if (source->twin != VLY_NO_AREA)
                source->twin = to[source->twin];
        }
    }
    for (uint32_t i = 0; i < genome->n_associations; i++) {
        genome->associations[i].from = to[genome->associations[i].from];
        genome->associations[i].to = to[genome->associations[i].to];
    }
    for (uint32_t i = 0; i < genome->n_plasticities; i++) {
        vly_plasticity *plasticity = &genome->plasticities[i];
        if (plasticity->modulator != VLY_NO_MODULATOR)
            plasticity->modulator = to[plasticity->modulator];
    }
}

vly_status vly_areas_drop(vly_reader *reader)
{
    vly_genome *genome = reader->genome;
    uint32_t *to = NULL;
    uint32_t n = 0;
    vly_status status;
    VLY_TRY(vly_reader_alloc(reader, genome->n_areas, sizeof(*to), &to));
    for (uint32_t i = 0; i < genome->n_areas; i++)
        to[i] = genome->areas[i].n_neurons ? n++ : VLY_NO_AREA;
    if (n == 0)
        return vly_reader_fail(
            reader,
            vly_toml_get(&vly_toml_get(&reader->root, "area")->u.children[0],
                         "neurons"),
            "no area has a neuron, wanted one at least");
    if (n == genome->n_areas)
        return VLY_OK;
    renumber_maps(genome, to);
    drop_stimuli(genome, to);
    drop_records(genome, to);
    renumber_memories(genome, to);
    drop_areas(genome, to);
out:
    return status;
}
