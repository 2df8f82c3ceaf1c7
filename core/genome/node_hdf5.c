/* SPDX-License-Identifier: Apache-2.0
 * SONATA nodes (Dai et al. 2020, doi:10.1371/journal.pcbi.1007696): an HDF5
 * file with /nodes/POPULATION/node_type_id, node_group_id, node_group_index and
 * groups 0, 1, ..., which may have a column of their own: of the model, in
 * GROUP/dynamics_params/COLUMN, or another attribute, GROUP/COLUMN. Runs in a
 * child process, as edge_hdf5.c; the parent checks what it reads.
 */
#include "genome/node_hdf5.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const set_names[] = {
#define SET_NAME(NAME, name, needed) name,
    VLY_NODES_SET_TABLE(SET_NAME)
#undef SET_NAME
};

const char *vly_nodes_set_name(vly_nodes_set set)
{
    return set_names[set];
}

#ifndef VLY_HAVE_HDF5

void vly_nodes_send(const vly_nodes_ask *ask, vly_nodes_block *block, int out)
{
    (void)ask;
    (void)block;
    (void)out;
}

#else

#include <hdf5.h>

#include "base/child.h"

static const bool set_needed[] = {
#define SET_NEEDED(NAME, name, needed) needed,
    VLY_NODES_SET_TABLE(SET_NEEDED)
#undef SET_NEEDED
};

typedef struct nodes_reader {
    const vly_nodes_ask *ask;
    vly_nodes_block *block;
    int out;
    char population[VLY_NODES_NAME];
    hid_t group; /* the population */
    hid_t sets[VLY_NODES_SETS];
    uint64_t n;
} nodes_reader;

/* ---- sending ------------------------------------------------------------ */

/* Returns false, so that callers can return the call. */
static bool fail(const nodes_reader *reader, const char *set,
                 const char *sentence)
{
    vly_nodes_frame frame = {.kind = VLY_NODES_FAILED};
    snprintf(frame.text, sizeof(frame.text), "%.200s: /nodes%s%s%s%.240s: %s",
             reader->ask->name, *reader->population ? "/" : "",
             reader->population, *set ? "/" : "", set, sentence);
    vly_child_send(reader->out, &frame, sizeof(frame));
    return false;
}

static bool send_frame(const nodes_reader *reader, vly_nodes_frame frame)
{
    return vly_child_send(reader->out, &frame, sizeof(frame));
}

/* ---- opening ------------------------------------------------------------ */

static bool is_there(hid_t group, const char *name)
{
    return H5Lexists(group, name, H5P_DEFAULT) > 0;
}

static bool find_population(nodes_reader *reader, hid_t file)
{
    H5G_info_t about;
    const char *given = reader->ask->population;
    char sentence[120];
    hid_t nodes = -1;
    if (!is_there(file, "nodes") ||
        (nodes = H5Gopen2(file, "nodes", H5P_DEFAULT)) < 0)
        return fail(reader, "", "no such group, wanted SONATA nodes");
    const bool counted = H5Gget_info(nodes, &about) >= 0;
    if (!given && (!counted || about.nlinks != 1)) {
        snprintf(sentence, sizeof(sentence),
                 "%u populations, wanted one, or population = \"NAME\"",
                 counted ? (unsigned)about.nlinks : 0);
        return fail(reader, "", sentence);
    }
    if (given) {
        snprintf(reader->population, VLY_NODES_NAME, "%s", given);
        for (char *c = reader->population; *c; c++)
            *c = *c == '/' ? '.' : *c; /* as recordings and edges write it */
    } else if (H5Lget_name_by_idx(nodes, ".", H5_INDEX_NAME, H5_ITER_INC, 0,
                                  reader->population, VLY_NODES_NAME,
                                  H5P_DEFAULT) < 0) {
        return fail(reader, "", "a population without a name");
    }
    if (!*reader->population || strchr(reader->population, '/') ||
        !is_there(nodes, reader->population) ||
        (reader->group = H5Gopen2(nodes, reader->population, H5P_DEFAULT)) < 0)
        return fail(reader, "", "no such population");
    return true;
}

/* A row of numbers; *n its length. Negative: refused, a frame says why. */
static hid_t open_row(const nodes_reader *reader, const char *name, bool whole,
                      uint64_t *n)
{
    hsize_t length = 0;
    hid_t set = H5Dopen2(reader->group, name, H5P_DEFAULT);
    if (set < 0) {
        fail(reader, name, "no data that can be read");
        return -1;
    }
    hid_t type = H5Dget_type(set);
    hid_t space = H5Dget_space(set);
    const H5T_class_t kind = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
    const bool flat = space >= 0 && H5Sget_simple_extent_ndims(space) == 1 &&
                      H5Sget_simple_extent_dims(space, &length, NULL) == 1;
    if (type >= 0)
        H5Tclose(type);
    if (space >= 0)
        H5Sclose(space);
    *n = length;
    if (flat && (kind == H5T_INTEGER || (kind == H5T_FLOAT && !whole)))
        return set;
    fail(reader, name,
         whole ? "wanted one row of whole numbers"
               : "wanted one row of numbers");
    return -1;
}

static bool open_sets(nodes_reader *reader)
{
    for (int set = 0; set < VLY_NODES_SETS; set++) {
        uint64_t n = 0;
        reader->sets[set] = -1;
        if (!is_there(reader->group, set_names[set])) {
            if (set_needed[set])
                return fail(reader, set_names[set], "no such data");
            continue;
        }
        reader->sets[set] = open_row(reader, set_names[set], true, &n);
        if (reader->sets[set] < 0)
            return false;
        if (set == VLY_NODES_TYPE)
            reader->n = n;
        if (n != reader->n)
            return fail(reader, set_names[set],
                        "another length than node_type_id, wanted the same");
    }
    return true;
}

/* ---- reading ------------------------------------------------------------ */

static bool read_block(const nodes_reader *reader, hid_t set, const char *name,
                       uint64_t first, uint32_t n, hid_t type, void *out)
{
    hsize_t start = first;
    hsize_t count = n;
    hid_t space = H5Dget_space(set);
    hid_t memory = H5Screate_simple(1, &count, NULL);
    const bool good = space >= 0 && memory >= 0 &&
                      H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL,
                                          &count, NULL) >= 0 &&
                      H5Dread(set, type, memory, space, H5P_DEFAULT, out) >= 0;
    if (space >= 0)
        H5Sclose(space);
    if (memory >= 0)
        H5Sclose(memory);
    return good || fail(reader, name, "cannot be read (damaged?)");
}

static uint32_t block_at(uint64_t first, uint64_t n)
{
    return n - first < VLY_NODES_BLOCK ? (uint32_t)(n - first)
                                       : VLY_NODES_BLOCK;
}

static bool send_nodes(const nodes_reader *reader)
{
    for (uint64_t first = 0; first < reader->n; first += VLY_NODES_BLOCK) {
        const uint32_t n = block_at(first, reader->n);
        vly_child_wind_up();
        for (int set = 0; set < VLY_NODES_SETS; set++)
            if (reader->sets[set] >= 0 &&
                !read_block(reader, reader->sets[set], set_names[set], first, n,
                            H5T_NATIVE_INT64, reader->block->whole[set]))
                return false;
        if (!send_frame(reader,
                        (vly_nodes_frame){.kind = VLY_NODES_NODES, .n = n}))
            return false;
        for (int set = 0; set < VLY_NODES_SETS; set++)
            if (reader->sets[set] >= 0 &&
                !vly_child_send(reader->out, reader->block->whole[set],
                                n * sizeof(int64_t)))
                return false;
    }
    return true;
}

/* The column of one node group, if it has it. */
static bool send_group(const nodes_reader *reader, const char *number)
{
    char name[VLY_NODES_NAME + 80];
    uint64_t total = 0;
    snprintf(name, sizeof(name), "%s/dynamics_params", number);
    const bool dynamics = is_there(reader->group, name);
    snprintf(name, sizeof(name), "%s/dynamics_params/%s", number,
             reader->ask->column);
    if (!dynamics || !is_there(reader->group, name)) {
        snprintf(name, sizeof(name), "%s/%s", number, reader->ask->column);
        if (!is_there(reader->group, name))
            return true;
    }
    hid_t set = open_row(reader, name, false, &total);
    if (set < 0)
        return false;
    if (total > reader->n)
        return fail(reader, name, "more values than the population has nodes");
    if (!send_frame(reader,
                    (vly_nodes_frame){.kind = VLY_NODES_VALUES,
                                      .group = strtoull(number, NULL, 10),
                                      .total = total}))
        return false;
    for (uint64_t first = 0; first < total; first += VLY_NODES_BLOCK) {
        const uint32_t n = block_at(first, total);
        vly_child_wind_up();
        if (!read_block(reader, set, name, first, n, H5T_NATIVE_DOUBLE,
                        reader->block->number) ||
            !send_frame(reader,
                        (vly_nodes_frame){.kind = VLY_NODES_PART, .n = n}) ||
            !vly_child_send(reader->out, reader->block->number,
                            n * sizeof(double)))
            return false;
    }
    H5Dclose(set);
    return true;
}

static bool send_groups(const nodes_reader *reader)
{
    H5G_info_t about;
    char name[VLY_NODES_NAME];
    uint32_t n_groups = 0;
    if (H5Gget_info(reader->group, &about) < 0)
        return fail(reader, "", "no group that can be read (damaged?)");
    for (hsize_t i = 0; i < about.nlinks; i++) {
        vly_child_wind_up();
        if (H5Lget_name_by_idx(reader->group, ".", H5_INDEX_NAME, H5_ITER_INC,
                               i, name, sizeof(name), H5P_DEFAULT) < 0)
            return fail(reader, "", "a name that cannot be read (damaged?)");
        /* numbers below 10^9 without leading zeros: each is one group */
        const size_t n = strlen(name);
        if (n == 0 || n > 9 || strspn(name, "0123456789") != n ||
            (n > 1 && name[0] == '0'))
            continue;
        if (n_groups++ == VLY_NODES_GROUPS)
            return fail(reader, "", "more than 256 node groups, wanted fewer");
        if (!send_group(reader, name))
            return false;
    }
    return true;
}

/* Nothing is closed: the process ends. */
void vly_nodes_send(const vly_nodes_ask *ask, vly_nodes_block *block, int out)
{
    nodes_reader reader = {.ask = ask, .block = block, .out = out, .group = -1};
    vly_nodes_frame begin = {.kind = VLY_NODES_BEGIN};
    /* turn off HDF5's own printing; errors are sent instead */
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t file = H5Fopen(ask->path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) {
        fail(&reader, "", "no HDF5 file that can be read (damaged?)");
        return;
    }
    if (!find_population(&reader, file) || !open_sets(&reader))
        return;
    begin.total = reader.n;
    for (int set = 0; set < VLY_NODES_SETS; set++)
        begin.has[set] = reader.sets[set] >= 0;
    snprintf(begin.text, sizeof(begin.text), "%s", reader.population);
    if (!send_frame(&reader, begin) || !send_nodes(&reader) ||
        !send_groups(&reader))
        return;
    send_frame(&reader, (vly_nodes_frame){.kind = VLY_NODES_END});
}

#endif
