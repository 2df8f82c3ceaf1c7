/* SPDX-License-Identifier: Apache-2.0
 * SONATA edges: node ids, one edge type, and one edge group with weights and
 * delays.
 */
#include <volley/record.h>

#include "base/error.h"
#include "record/export.h"

#ifndef VLY_HAVE_HDF5

vly_status vly_sonata_edges_open(const char *path, vly_sonata_edges **edges,
                                 vly_error *error)
{
    (void)edges;
    return vly_export_check(VLY_EXPORT_SONATA, path, error);
}

vly_status vly_sonata_edges_begin(vly_sonata_edges *edges,
                                  const char *population, uint64_t n,
                                  int has_delays, vly_error *error)
{
    (void)edges;
    (void)n;
    (void)has_delays;
    return vly_export_check(VLY_EXPORT_SONATA, population, error);
}

vly_status vly_sonata_edges_add(vly_sonata_edges *edges,
                                const uint32_t *sources,
                                const uint32_t *targets, const double *weights,
                                const double *delays_ms, uint64_t n,
                                vly_error *error)
{
    (void)sources;
    (void)targets;
    (void)weights;
    (void)delays_ms;
    return vly_sonata_edges_begin(edges, "edges", n, 0, error);
}

vly_status vly_sonata_edges_end(vly_sonata_edges *edges, vly_error *error)
{
    return vly_sonata_edges_begin(edges, "edges", 0, 0, error);
}

vly_status vly_sonata_edges_close(vly_sonata_edges *edges, vly_error *error)
{
    return vly_sonata_edges_begin(edges, "edges", 0, 0, error);
}

void vly_sonata_edges_abandon(vly_sonata_edges *edges)
{
    (void)edges;
}

#else

#include "base/memory.h"
#include "record/sonata_file.h"

#define BLOCK 65536u

typedef enum edge_set {
    SET_SOURCE,
    SET_TARGET,
    SET_TYPE,
    SET_GROUP,
    SET_INDEX,
    SET_WEIGHT, /* of the group, as those after it */
    SET_DELAY,
    SETS
} edge_set;

struct vly_sonata_edges {
    vly_sonata_file *file;
    vly_sonata_group population;
    vly_sonata_group group;
    vly_sonata_set sets[SETS];
    int n_sets;      /* without delays one less */
    uint64_t n;      /* added to the population */
    uint64_t *words; /* [BLOCK] */
};

static void none_open(vly_sonata_edges *edges)
{
    edges->population.id = -1;
    edges->group.id = -1;
    for (int s = 0; s < SETS; s++)
        edges->sets[s] = (vly_sonata_set){.id = -1};
}

vly_status vly_sonata_edges_open(const char *path, vly_sonata_edges **edges,
                                 vly_error *error)
{
    vly_status status = VLY_OK;
    vly_sonata_edges *made = vly_calloc(1, sizeof *made);
    if (made)
        made->words = vly_malloc(BLOCK, sizeof *made->words);
    if (!made || !made->words) {
        status = vly_fail_nomem(error, BLOCK * sizeof *made->words, "edges");
        goto out;
    }
    none_open(made);
    VLY_TRY(vly_sonata_open(path, "edges", &made->file, error));
    *edges = made;
    made = NULL;
out:
    vly_sonata_edges_abandon(made);
    return status;
}

vly_status vly_sonata_edges_begin(vly_sonata_edges *edges,
                                  const char *population, uint64_t n,
                                  int has_delays, vly_error *error)
{
    static const char *const names[] = {
        "source_node_id",   "target_node_id", "edge_type_id", "edge_group_id",
        "edge_group_index", "syn_weight",     "delay"};
    vly_status status = VLY_OK;
    none_open(edges);
    edges->n = 0;
    VLY_TRY(vly_sonata_population(edges->file, "edges", population,
                                  &edges->population, error));
    VLY_TRY(vly_sonata_group_open(edges->file, &edges->population, "0",
                                  &edges->group, error));
    edges->n_sets = has_delays ? SETS : SET_DELAY;
    for (int s = 0; s < edges->n_sets; s++)
        VLY_TRY(vly_sonata_set_open(
            edges->file, s >= SET_WEIGHT ? &edges->group : &edges->population,
            names[s], s >= SET_WEIGHT ? VLY_SONATA_F64 : VLY_SONATA_U64, n,
            &edges->sets[s], error));
out:
    return status;
}

static vly_status add_block(vly_sonata_edges *edges, const uint32_t *sources,
                            const uint32_t *targets, const double *weights,
                            const double *delays_ms, uint64_t n,
                            vly_error *error)
{
    uint64_t *words = edges->words;
    vly_status status = VLY_OK;
    for (int s = 0; s < SET_WEIGHT; s++) {
        for (uint64_t i = 0; i < n; i++)
            words[i] = s == SET_SOURCE   ? sources[i]
                       : s == SET_TARGET ? targets[i]
                       : s == SET_INDEX  ? edges->n + i
                                         : 0;
        VLY_TRY(
            vly_sonata_append(edges->file, &edges->sets[s], words, n, error));
    }
    VLY_TRY(vly_sonata_append(edges->file, &edges->sets[SET_WEIGHT], weights, n,
                              error));
    if (edges->n_sets > SET_DELAY)
        VLY_TRY(vly_sonata_append(edges->file, &edges->sets[SET_DELAY],
                                  delays_ms, n, error));
    edges->n += n;
out:
    return status;
}

vly_status vly_sonata_edges_add(vly_sonata_edges *edges,
                                const uint32_t *sources,
                                const uint32_t *targets, const double *weights,
                                const double *delays_ms, uint64_t n,
                                vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint64_t at = 0; at < n; at += BLOCK)
        VLY_TRY(add_block(edges, sources + at, targets + at, weights + at,
                          delays_ms ? delays_ms + at : NULL,
                          n - at < BLOCK ? n - at : BLOCK, error));
out:
    return status;
}

vly_status vly_sonata_edges_end(vly_sonata_edges *edges, vly_error *error)
{
    vly_status status = VLY_OK;
    for (int s = 0; s < edges->n_sets; s++)
        VLY_TRY(vly_sonata_set_close(edges->file, &edges->sets[s], error));
    VLY_TRY(vly_sonata_group_close(edges->file, &edges->group, error));
    status = vly_sonata_group_close(edges->file, &edges->population, error);
out:
    return status;
}

vly_status vly_sonata_edges_close(vly_sonata_edges *edges, vly_error *error)
{
    vly_status status = vly_sonata_close(edges->file, error);
    edges->file = NULL;
    vly_sonata_edges_abandon(edges);
    return status;
}

void vly_sonata_edges_abandon(vly_sonata_edges *edges)
{
    if (!edges)
        return;
    vly_sonata_abandon(edges->file);
    vly_free(edges->words);
    vly_free(edges);
}

#endif
