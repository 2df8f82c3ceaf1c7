/* SPDX-License-Identifier: Apache-2.0
 * The memories and associations of a connectome. A file of one has no records
 * of them: its resolved genome has their tables, and the hash of the genome
 * covers them.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "connectome/connectome_work.h"
#include "genome/genome_association.h"
#include "genome/genome_memory.h"

static vly_status view_memories(vly_storage *storage, const vly_genome *genome,
                                vly_connectome *connectome, vly_error *error)
{
    const uint32_t n = genome->n_memories;
    vly_memory_rule *memories = NULL;
    if (n == 0)
        return VLY_OK;
    memories = vly_storage_alloc(storage, n, sizeof(*memories), true);
    if (!memories)
        return vly_fail_nomem(error, n * sizeof(*memories), "the memories");
    for (uint32_t m = 0; m < n; m++) {
        const vly_memory_rule *from = &genome->memories[m];
        vly_memory_source *sources =
            vly_storage_alloc(storage, from->n_sources, sizeof(*sources), true);
        if (!sources)
            return vly_fail_nomem(error, from->n_sources * sizeof(*sources),
                                  "the memories");
        memcpy(sources, from->sources, from->n_sources * sizeof(*sources));
        memories[m] = *from;
        memories[m].sources = sources;
    }
    connectome->memories = memories;
    connectome->n_memories = n;
    return VLY_OK;
}

static vly_status view_associations(vly_storage *storage,
                                    const vly_genome *genome,
                                    vly_connectome *connectome,
                                    vly_error *error)
{
    const uint32_t n = genome->n_associations;
    vly_association *made = NULL;
    if (n == 0)
        return VLY_OK;
    made = vly_storage_alloc(storage, n, sizeof(*made), true);
    if (!made)
        return vly_fail_nomem(error, n * sizeof(*made), "the associations");
    for (uint32_t a = 0; a < n; a++) {
        made[a] = genome->associations[a];
        made[a].name = vly_storage_text(storage, made[a].name);
        if (!made[a].name)
            return vly_fail_nomem(error, 64, "a name");
    }
    connectome->associations = made;
    connectome->n_associations = n;
    return VLY_OK;
}

vly_status vly_memories_view(vly_storage *storage, const vly_genome *genome,
                             vly_connectome *connectome, vly_error *error)
{
    vly_status status;
    VLY_TRY(view_memories(storage, genome, connectome, error));
    VLY_TRY(view_associations(storage, genome, connectome, error));
out:
    return status;
}

/* The areas as a genome has them, as far as a [memory] looks at them. */
static vly_status areas_of(const vly_connectome *connectome, vly_genome *genome,
                           vly_error *error)
{
    const uint32_t n = connectome->desc.n_areas;
    genome->areas = vly_calloc(n, sizeof(*genome->areas));
    if (!genome->areas)
        return vly_fail_nomem(error, n * sizeof(*genome->areas), "the areas");
    genome->n_areas = n;
    for (uint32_t a = 0; a < n; a++) {
        const vly_connectome_area *from = &connectome->areas[a];
        vly_area *to = &genome->areas[a];
        to->model = from->model;
        to->n_neurons = from->n_neurons;
        to->has_voxels = from->has_voxels;
        to->neurons_per_voxel = from->neurons_per_voxel;
        memcpy(to->voxels, from->voxels, sizeof(to->voxels));
        to->name = vly_strdup(from->name);
        if (!to->name)
            return vly_fail_nomem(error, strlen(from->name) + 1, "a name");
    }
    return VLY_OK;
}

vly_status vly_memories_load(vly_storage *storage, const char *path,
                             vly_connectome *connectome, vly_error *error)
{
    vly_genome genome = {0};
    vly_status status;
    if (!strstr(connectome->resolved, "\n[memory.") &&
        !strstr(connectome->resolved, "\n[association."))
        return VLY_OK;
    VLY_TRY(areas_of(connectome, &genome, error));
    VLY_TRY(vly_memories_parse(&genome, connectome->resolved, path, error));
    VLY_TRY(vly_memories_view(storage, &genome, connectome, error));
out:
    vly_memories_free(&genome);
    vly_associations_free(&genome);
    for (uint32_t a = 0; a < genome.n_areas; a++)
        vly_free(genome.areas[a].name);
    vly_free(genome.areas);
    return status;
}
