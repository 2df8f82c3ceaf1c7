/* SPDX-License-Identifier: Apache-2.0
 * SONATA edges (Dai et al. 2020, doi:10.1371/journal.pcbi.1007696): an HDF5
 * file with /edges/POPULATION/source_node_id and target_node_id, and in its
 * group 0 syn_weight (unit of the target's port) and delay (ms) where the map
 * does not give them. The only file of the engine that knows HDF5, and it runs
 * in a process of its own: version 1.10 crashes on some damaged files. What it
 * reads is checked by who asked.
 */
#include "genome/edge_hdf5.h"

#ifndef VLY_HAVE_HDF5

bool vly_hdf5_built(void)
{
    return false;
}

void vly_hdf5_send(const vly_sonata_ask *ask, vly_sonata_block *block, int out)
{
    (void)ask;
    (void)block;
    (void)out;
}

#else

#include <hdf5.h>
#include <stdio.h>
#include <string.h>

#include "base/child.h"
#include "genome/edge_list.h"

typedef struct sonata_reader {
    const vly_sonata_ask *ask;
    int out;
    char population[VLY_SONATA_POPULATION];
    hid_t edges;
    hid_t group; /* the population */
    hid_t sets[VLY_EDGE_PARTS];
    hid_t order; /* edge_group_index */
    uint64_t n;
    vly_sonata_block *block;
} sonata_reader;

static const char *const set_names[] = {"source_node_id", "target_node_id",
                                        "0/syn_weight", "0/delay"};

bool vly_hdf5_built(void)
{
    return true;
}

/* ---- sending ------------------------------------------------------------ */

static bool send_frame(const sonata_reader *reader, vly_sonata_kind kind,
                       uint32_t n)
{
    vly_sonata_frame frame = {
        .kind = kind,
        .n = n,
        .total = reader->n,
        .has_weight = reader->sets[VLY_EDGE_WEIGHT] >= 0,
        .has_delay = reader->sets[VLY_EDGE_DELAY] >= 0,
    };
    snprintf(frame.text, sizeof(frame.text), "%s", reader->population);
    return vly_child_send(reader->out, &frame, sizeof(frame));
}

/* False, for its callers to return. */
static bool fail(const sonata_reader *reader, const char *place,
                 const char *sentence)
{
    vly_sonata_frame frame = {.kind = VLY_SONATA_FAILED};
    snprintf(frame.text, sizeof(frame.text), "%.200s: %s%s%s",
             reader->ask->name, place, *place ? ": " : "", sentence);
    vly_child_send(reader->out, &frame, sizeof(frame));
    return false;
}

static bool fail_set(const sonata_reader *reader, const char *set,
                     const char *sentence)
{
    char place[VLY_SONATA_POPULATION + 60];
    snprintf(place, sizeof(place), "/edges/%s/%s", reader->population, set);
    return fail(reader, place, sentence);
}

/* ---- opening ------------------------------------------------------------ */

static bool find_population(sonata_reader *reader, hid_t file)
{
    H5G_info_t about;
    const char *given = reader->ask->population;
    char sentence[120];
    if (H5Lexists(file, "edges", H5P_DEFAULT) <= 0 ||
        (reader->edges = H5Gopen2(file, "edges", H5P_DEFAULT)) < 0)
        return fail(reader, "/edges", "no such group, wanted SONATA edges");
    if (given && strlen(given) < VLY_SONATA_POPULATION) {
        strcpy(reader->population, given);
    } else {
        bool counted = H5Gget_info(reader->edges, &about) >= 0;
        if (!counted || about.nlinks != 1) {
            snprintf(sentence, sizeof(sentence),
                     "%u populations, wanted one, or population = \"NAME\" in "
                     "the map",
                     counted ? (unsigned)about.nlinks : 0);
            return fail(reader, "/edges", sentence);
        }
        if (H5Lget_name_by_idx(reader->edges, ".", H5_INDEX_NAME, H5_ITER_INC,
                               0, reader->population, VLY_SONATA_POPULATION,
                               H5P_DEFAULT) < 0)
            return fail(reader, "/edges", "a population without a name");
    }
    if (!*reader->population || strchr(reader->population, '/') ||
        H5Lexists(reader->edges, reader->population, H5P_DEFAULT) <= 0 ||
        (reader->group =
             H5Gopen2(reader->edges, reader->population, H5P_DEFAULT)) < 0)
        return fail_set(reader, "", "no such population");
    return true;
}

/* *set stays negative if an optional one is not there. */
static bool open_set(sonata_reader *reader, const char *name, bool optional,
                     bool whole, hid_t *set)
{
    hsize_t n = 0;
    bool in_group = strncmp(name, "0/", 2) == 0;
    bool there = (!in_group || H5Lexists(reader->group, "0", H5P_DEFAULT) > 0);
    there = there && H5Lexists(reader->group, name, H5P_DEFAULT) > 0;
    if (!there)
        return optional || fail_set(reader, name, "no such data");
    *set = H5Dopen2(reader->group, name, H5P_DEFAULT);
    if (*set < 0)
        return fail_set(reader, name, "no data that can be read");
    hid_t type = H5Dget_type(*set);
    hid_t space = H5Dget_space(*set);
    H5T_class_t kind = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
    bool flat = space >= 0 && H5Sget_simple_extent_ndims(space) == 1 &&
                H5Sget_simple_extent_dims(space, &n, NULL) == 1;
    if (type >= 0)
        H5Tclose(type);
    if (space >= 0)
        H5Sclose(space);
    if (!flat || !(kind == H5T_INTEGER || (kind == H5T_FLOAT && !whole)))
        return fail_set(reader, name,
                        whole ? "wanted one row of whole numbers"
                              : "wanted one row of numbers");
    if (strcmp(name, set_names[0]) == 0)
        reader->n = n;
    return n == reader->n ||
           fail_set(reader, name,
                    "another length than source_node_id, wanted the same");
}

static bool open_sets(sonata_reader *reader)
{
    const vly_sonata_ask *ask = reader->ask;
    hid_t *sets = reader->sets;
    if (H5Lexists(reader->group, "1", H5P_DEFAULT) > 0)
        return fail_set(reader, "1", "a second edge group, wanted one");
    for (int part = 0; part < 2; part++)
        if (!open_set(reader, set_names[part], false, true, &sets[part]))
            return false;
    /* what the map gives counts: files often carry both */
    if (!ask->map_weight && !open_set(reader, set_names[VLY_EDGE_WEIGHT], false,
                                      false, &sets[VLY_EDGE_WEIGHT]))
        return false;
    if (!ask->map_delay && !open_set(reader, set_names[VLY_EDGE_DELAY], true,
                                     false, &sets[VLY_EDGE_DELAY]))
        return false;
    if (!open_set(reader, "edge_group_index", true, true, &reader->order))
        return false;
    return reader->n <= VLY_EDGES_MAX ||
           fail_set(reader, set_names[0],
                    "more than 2147483647 synapses, wanted fewer");
}

/* ---- reading ------------------------------------------------------------ */

static bool read_block(sonata_reader *reader, hid_t set, uint64_t first,
                       uint32_t n, hid_t type, void *out)
{
    hsize_t start = first;
    hsize_t count = n;
    if (set < 0)
        return true;
    hid_t space = H5Dget_space(set);
    hid_t memory = H5Screate_simple(1, &count, NULL);
    bool good = space >= 0 && memory >= 0 &&
                H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count,
                                    NULL) >= 0 &&
                H5Dread(set, type, memory, space, H5P_DEFAULT, out) >= 0;
    if (space >= 0)
        H5Sclose(space);
    if (memory >= 0)
        H5Sclose(memory);
    return good || fail_set(reader, "", "data that cannot be read (damaged?)");
}

static bool read_and_send(sonata_reader *reader, uint64_t first, uint32_t n)
{
    /* ids as signed: a conversion to unsigned would make -1 a 0 */
    vly_sonata_block *block = reader->block;
    const hid_t *sets = reader->sets;
    vly_child_wind_up();
    if (!read_block(reader, sets[VLY_EDGE_SOURCE], first, n, H5T_NATIVE_INT64,
                    block->source) ||
        !read_block(reader, sets[VLY_EDGE_TARGET], first, n, H5T_NATIVE_INT64,
                    block->target) ||
        !read_block(reader, reader->order, first, n, H5T_NATIVE_INT64,
                    block->order) ||
        !read_block(reader, sets[VLY_EDGE_WEIGHT], first, n, H5T_NATIVE_DOUBLE,
                    block->weight) ||
        !read_block(reader, sets[VLY_EDGE_DELAY], first, n, H5T_NATIVE_DOUBLE,
                    block->delay))
        return false;
    for (uint32_t i = 0; reader->order >= 0 && i < n; i++)
        if (block->order[i] != (int64_t)(first + i))
            return fail_set(reader, "edge_group_index",
                            "not 0, 1, 2 and so on, wanted that order");
    return send_frame(reader, VLY_SONATA_EDGES, n) &&
           vly_child_send(reader->out, block->source,
                          n * sizeof(*block->source)) &&
           vly_child_send(reader->out, block->target,
                          n * sizeof(*block->target)) &&
           (sets[VLY_EDGE_WEIGHT] < 0 ||
            vly_child_send(reader->out, block->weight,
                           n * sizeof(*block->weight))) &&
           (sets[VLY_EDGE_DELAY] < 0 ||
            vly_child_send(reader->out, block->delay,
                           n * sizeof(*block->delay)));
}

/* Nothing is closed: the process ends. */
void vly_hdf5_send(const vly_sonata_ask *ask, vly_sonata_block *block, int out)
{
    sonata_reader reader = {.ask = ask,
                            .out = out,
                            .edges = -1,
                            .group = -1,
                            .sets = {-1, -1, -1, -1},
                            .order = -1,
                            .block = block};
    /* HDF5 prints its failures unless told not to; they are sent instead */
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t file = H5Fopen(ask->path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) {
        fail(&reader, "", "no HDF5 file that can be read (damaged?)");
        return;
    }
    if (!find_population(&reader, file) || !open_sets(&reader) ||
        !send_frame(&reader, VLY_SONATA_BEGIN, 0))
        return;
    for (uint64_t first = 0; first < reader.n; first += VLY_SONATA_BLOCK) {
        uint64_t left = reader.n - first;
        uint32_t n =
            left < VLY_SONATA_BLOCK ? (uint32_t)left : VLY_SONATA_BLOCK;
        if (!read_and_send(&reader, first, n))
            return;
    }
    send_frame(&reader, VLY_SONATA_END, 0);
}

#endif
