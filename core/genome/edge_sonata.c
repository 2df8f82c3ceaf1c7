/* SPDX-License-Identifier: Apache-2.0
 * Synapses from SONATA edges (Dai et al. 2020,
 * doi:10.1371/journal.pcbi.1007696): an HDF5 file with
 * /edges/POPULATION/source_node_id and target_node_id, and in its group 0
 * syn_weight (unit of the target's port) and delay (ms) where the map does not
 * give them. The only file of the engine that knows HDF5. Values are checked
 * here; a file whose inside is damaged is in HDF5's hands, and version 1.10 is
 * known to crash on some (tests/fuzz/README.md).
 */
#include "genome/edge_list.h"

#ifndef VLY_HAVE_HDF5

vly_status vly_edges_from_sonata(const char *path, const char *name,
                                 const vly_edge_spec *spec,
                                 vly_edge_list **list, vly_error *error)
{
    (void)path;
    (void)spec;
    (void)list;
    return vly_fail(error, VLY_E_UNSUPPORTED,
                    "%.300s is an HDF5 file, and SONATA input is left out of "
                    "this build, wanted comma-separated text, or a build where "
                    "CMake finds HDF5 (libhdf5-dev)",
                    name);
}

#else

#include <hdf5.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/memory.h"

#define BLOCK 16384u /* edges read at a time */
#define POPULATION_MAX 200

/* HDF5 of most distributions allows one thread at a time. */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

typedef struct sonata_reader {
    const char *name;
    const vly_edge_spec *spec;
    vly_error *error;
    char population[POPULATION_MAX];
    hid_t file;
    hid_t edges;
    hid_t group; /* the population */
    hid_t sets[VLY_EDGE_PARTS];
    hid_t order; /* edge_group_index */
    uint64_t n;
    int64_t *ids[3]; /* source, target, order: [BLOCK] */
    double *values[2];
    vly_edge_maker maker;
} sonata_reader;

static const char *const set_names[] = {"source_node_id", "target_node_id",
                                        "0/syn_weight", "0/delay"};

/* ---- opening ------------------------------------------------------------ */

static vly_status fail(const sonata_reader *reader, const char *place,
                       const char *sentence)
{
    return vly_fail(reader->error, VLY_E_PARSE, "%.200s: %s: %s", reader->name,
                    place, sentence);
}

static vly_status fail_set(const sonata_reader *reader, const char *set,
                           const char *sentence)
{
    char place[POPULATION_MAX + 60];
    snprintf(place, sizeof(place), "/edges/%s/%s", reader->population, set);
    return fail(reader, place, sentence);
}

static vly_status find_population(sonata_reader *reader)
{
    H5G_info_t about;
    const char *given = reader->spec->population;
    char sentence[120];
    if (H5Lexists(reader->file, "edges", H5P_DEFAULT) <= 0 ||
        (reader->edges = H5Gopen2(reader->file, "edges", H5P_DEFAULT)) < 0)
        return fail(reader, "/edges", "no such group, wanted SONATA edges");
    if (given && strlen(given) < POPULATION_MAX) {
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
                               0, reader->population, POPULATION_MAX,
                               H5P_DEFAULT) < 0)
            return fail(reader, "/edges", "a population without a name");
    }
    if (!*reader->population || strchr(reader->population, '/') ||
        H5Lexists(reader->edges, reader->population, H5P_DEFAULT) <= 0 ||
        (reader->group =
             H5Gopen2(reader->edges, reader->population, H5P_DEFAULT)) < 0)
        return fail_set(reader, "", "no such population");
    return VLY_OK;
}

/* *set stays negative if an optional one is not there. */
static vly_status open_set(sonata_reader *reader, const char *name,
                           bool optional, bool whole, hid_t *set)
{
    hsize_t n = 0;
    bool in_group = strncmp(name, "0/", 2) == 0;
    bool there = (!in_group || H5Lexists(reader->group, "0", H5P_DEFAULT) > 0);
    there = there && H5Lexists(reader->group, name, H5P_DEFAULT) > 0;
    if (!there)
        return optional ? VLY_OK : fail_set(reader, name, "no such data");
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
    if (n != reader->n)
        return fail_set(reader, name,
                        "another length than source_node_id, wanted the same");
    return VLY_OK;
}

static vly_status open_sets(sonata_reader *reader)
{
    const vly_edge_spec *spec = reader->spec;
    vly_status status = VLY_OK;
    if (H5Lexists(reader->group, "1", H5P_DEFAULT) > 0)
        return fail_set(reader, "1", "a second edge group, wanted one");
    for (int part = 0; part < 2; part++)
        VLY_TRY(open_set(reader, set_names[part], false, true,
                         &reader->sets[part]));
    /* what the map gives counts: files often carry both */
    if (!spec->map_weight)
        VLY_TRY(open_set(reader, set_names[VLY_EDGE_WEIGHT], false, false,
                         &reader->sets[VLY_EDGE_WEIGHT]));
    if (!spec->map_delay)
        VLY_TRY(open_set(reader, set_names[VLY_EDGE_DELAY], true, false,
                         &reader->sets[VLY_EDGE_DELAY]));
    VLY_TRY(open_set(reader, "edge_group_index", true, true, &reader->order));
    if (reader->n > VLY_EDGES_MAX)
        status = fail_set(reader, set_names[0],
                          "more than 2147483647 synapses, wanted fewer");
    reader->maker.has_weight = reader->sets[VLY_EDGE_WEIGHT] >= 0;
    reader->maker.has_delay = reader->sets[VLY_EDGE_DELAY] >= 0;
out:
    return status;
}

/* ---- reading ------------------------------------------------------------ */

static vly_status read_block(sonata_reader *reader, hid_t set, uint64_t first,
                             uint32_t n, hid_t type, void *out)
{
    hsize_t start = first;
    hsize_t count = n;
    herr_t failed = 0;
    if (set < 0)
        return VLY_OK;
    hid_t space = H5Dget_space(set);
    hid_t memory = H5Screate_simple(1, &count, NULL);
    failed = space < 0 || memory < 0 ||
             H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count,
                                 NULL) < 0 ||
             H5Dread(set, type, memory, space, H5P_DEFAULT, out) < 0;
    if (space >= 0)
        H5Sclose(space);
    if (memory >= 0)
        H5Sclose(memory);
    return failed ? fail_set(reader, "", "data that cannot be read (damaged?)")
                  : VLY_OK;
}

static vly_status fail_edge(sonata_reader *reader, vly_edge_part part,
                            uint64_t index, const char *sentence)
{
    char place[60];
    snprintf(place, sizeof(place), "%s[%" PRIu64 "]", set_names[part], index);
    return fail_set(reader, place, sentence);
}

static vly_status add_edge(sonata_reader *reader, uint64_t first, uint32_t i)
{
    const vly_edge_spec *spec = reader->spec;
    const uint32_t limits[] = {spec->from->n_neurons, spec->to->n_neurons};
    char sentence[VLY_EDGE_SENTENCE];
    vly_edge_part wrong = VLY_EDGE_PARTS;
    for (int part = 0; part < 2; part++) {
        int64_t id = reader->ids[part][i];
        if (id >= 0 && id < (int64_t)limits[part])
            continue;
        snprintf(sentence, sizeof(sentence),
                 "is %" PRId64 ", wanted a whole number from 0 to %u", id,
                 limits[part] - 1);
        return fail_edge(reader, (vly_edge_part)part, first + i, sentence);
    }
    for (int part = VLY_EDGE_WEIGHT; part < VLY_EDGE_PARTS; part++)
        if (reader->sets[part] >= 0 &&
            !isfinite(reader->values[part - VLY_EDGE_WEIGHT][i]))
            return fail_edge(reader, (vly_edge_part)part, first + i,
                             "is not finite, wanted a finite number");
    if (reader->order >= 0 && reader->ids[2][i] != (int64_t)(first + i))
        return fail_set(reader, "edge_group_index",
                        "not 0, 1, 2 and so on, wanted that order");
    vly_edge edge = {.source = (uint32_t)reader->ids[0][i],
                     .target = (uint32_t)reader->ids[1][i],
                     .weight = reader->values[0][i] + 0.0,
                     .delay = reader->values[1][i],
                     .place = first + i + 1};
    vly_status status = vly_edges_add(&reader->maker, &edge, &wrong, sentence);
    if (status == VLY_OK && wrong != VLY_EDGE_PARTS)
        status = fail_edge(reader, wrong, first + i, sentence);
    return status;
}

static vly_status read_edges(sonata_reader *reader, vly_edge_list **list)
{
    vly_status status = VLY_OK;
    uint64_t twice = 0;
    for (uint64_t first = 0; first < reader->n; first += BLOCK) {
        uint32_t n =
            reader->n - first < BLOCK ? (uint32_t)(reader->n - first) : BLOCK;
        /* as signed: a conversion to unsigned would make -1 a 0 */
        for (int k = 0; k < 3; k++)
            VLY_TRY(read_block(reader, k < 2 ? reader->sets[k] : reader->order,
                               first, n, H5T_NATIVE_INT64, reader->ids[k]));
        for (int k = 0; k < 2; k++)
            VLY_TRY(read_block(reader, reader->sets[VLY_EDGE_WEIGHT + k], first,
                               n, H5T_NATIVE_DOUBLE, reader->values[k]));
        for (uint32_t i = 0; i < n; i++)
            VLY_TRY(add_edge(reader, first, i));
    }
    VLY_TRY(vly_edges_finish(&reader->maker, &twice, list));
    if (twice)
        status = fail_edge(reader, VLY_EDGE_TARGET, twice - 1,
                           "the second synapse from its source to this target, "
                           "wanted one, or multiple = true in the map");
out:
    return status;
}

static vly_status read_file(sonata_reader *reader, const char *path,
                            vly_edge_list **list)
{
    vly_status status;
    for (int k = 0; k < 3; k++)
        reader->ids[k] = vly_calloc(BLOCK, sizeof(*reader->ids[k]));
    for (int k = 0; k < 2; k++)
        reader->values[k] = vly_calloc(BLOCK, sizeof(*reader->values[k]));
    if (!reader->ids[0] || !reader->ids[1] || !reader->ids[2] ||
        !reader->values[0] || !reader->values[1])
        return vly_fail_nomem(reader->error, BLOCK * 8, "SONATA edges");
    reader->file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (reader->file < 0)
        return vly_fail(reader->error, VLY_E_PARSE,
                        "%.300s: no HDF5 file that can be read (damaged?)",
                        reader->name);
    VLY_TRY(find_population(reader));
    VLY_TRY(open_sets(reader));
    VLY_TRY(read_edges(reader, list));
out:
    return status;
}

static void reader_close(sonata_reader *reader)
{
    for (int part = 0; part < VLY_EDGE_PARTS; part++)
        if (reader->sets[part] >= 0)
            H5Dclose(reader->sets[part]);
    if (reader->order >= 0)
        H5Dclose(reader->order);
    if (reader->group >= 0)
        H5Gclose(reader->group);
    if (reader->edges >= 0)
        H5Gclose(reader->edges);
    if (reader->file >= 0)
        H5Fclose(reader->file);
    for (int k = 0; k < 3; k++)
        vly_free(reader->ids[k]);
    for (int k = 0; k < 2; k++)
        vly_free(reader->values[k]);
    vly_edges_deinit(&reader->maker);
}

vly_status vly_edges_from_sonata(const char *path, const char *name,
                                 const vly_edge_spec *spec,
                                 vly_edge_list **list, vly_error *error)
{
    H5E_auto2_t printer = NULL;
    void *its_data = NULL;
    sonata_reader reader = {.name = name,
                            .spec = spec,
                            .error = error,
                            .file = -1,
                            .edges = -1,
                            .group = -1,
                            .sets = {-1, -1, -1, -1},
                            .order = -1};
    vly_edges_init(&reader.maker, spec, error);
    pthread_mutex_lock(&one_at_a_time);
    /* HDF5 prints its failures unless told not to; they are reported here */
    H5Eget_auto2(H5E_DEFAULT, &printer, &its_data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    vly_status status = read_file(&reader, path, list);
    reader_close(&reader);
    H5Eset_auto2(H5E_DEFAULT, printer, its_data);
    pthread_mutex_unlock(&one_at_a_time);
    return status;
}

#endif
