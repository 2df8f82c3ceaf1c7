/* SPDX-License-Identifier: Apache-2.0
 * SONATA edges (Dai et al. 2020, doi:10.1371/journal.pcbi.1007696): an HDF5
 * file with /edges/POPULATION/source_node_id and target_node_id, and in its
 * edge group (0, if it has one of several numbers: that one) syn_weight (unit
 * of the target's port), delay (ms) and nsyns where the map does not give them;
 * edge_type_id where the map names a file of edge types. Other data sets are
 * listed by name. Only this file uses HDF5 to read edges, and it runs in a
 * child process: version 1.10 crashes on some damaged files. The parent checks
 * what it reads.
 */
#include "genome/edge_hdf5.h"

#include <stdio.h>
#include <string.h>

static const char *const set_names[] = {
#define SET_NAME(NAME, name, in_group) name,
    VLY_SONATA_SET_TABLE(SET_NAME)
#undef SET_NAME
};

static const bool set_in_group[] = {
#define SET_IN_GROUP(NAME, name, in_group) in_group,
    VLY_SONATA_SET_TABLE(SET_IN_GROUP)
#undef SET_IN_GROUP
};

void vly_sonata_set_name(vly_sonata_set set, const char *group, char *out,
                         size_t n_out)
{
    snprintf(out, n_out, "%s%s%s", set_in_group[set] ? group : "",
             set_in_group[set] ? "/" : "", set_names[set]);
}

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

void vly_hdf5_about(const vly_sonata_ask *ask, int out)
{
    (void)ask;
    (void)out;
}

#else

#include <hdf5.h>

#include "base/child.h"
#include "genome/edge_list.h"

typedef struct sonata_reader {
    const vly_sonata_ask *ask;
    int out;
    char population[VLY_SONATA_POPULATION];
    hid_t edges;
    hid_t group;                   /* the population */
    char number[VLY_SONATA_GROUP]; /* of its edge group, "0" if it has none */
    hid_t sets[VLY_SONATA_SETS];
    char left[VLY_EDGE_LEFT];
    uint32_t n_left;
    uint32_t n_groups;
    uint64_t n;
    vly_sonata_block *block;
} sonata_reader;

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
    };
    for (int set = 0; set < VLY_SONATA_SENT; set++)
        frame.has[set] = reader->sets[set] >= 0;
    snprintf(frame.group, sizeof(frame.group), "%s", reader->number);
    snprintf(frame.text, sizeof(frame.text), "%s",
             kind == VLY_SONATA_LEFT ? reader->left : reader->population);
    return vly_child_send(reader->out, &frame, sizeof(frame));
}

/* Returns false, so that callers can return the call. */
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
        for (char *c = reader->population; *c; c++)
            *c = *c == '/' ? '.' : *c; /* as recordings write it */
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

/* The i-th name of a group; false: it cannot be read. */
static bool name_at(hid_t group, uint64_t i, char name[VLY_SONATA_POPULATION])
{
    return H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, name,
                              VLY_SONATA_POPULATION, H5P_DEFAULT) >= 0;
}

static uint64_t count_names(hid_t group)
{
    H5G_info_t about;
    return H5Gget_info(group, &about) >= 0 ? about.nlinks : 0;
}

static bool is_number(const char *name)
{
    size_t n = strlen(name);
    return n > 0 && n < VLY_SONATA_GROUP && strspn(name, "0123456789") == n;
}

/* Edge groups are called 0, 1, ...; one of them can be read. */
static bool find_group(sonata_reader *reader, bool one)
{
    char name[VLY_SONATA_POPULATION];
    uint64_t n = count_names(reader->group);
    reader->n_groups = 0;
    strcpy(reader->number, "0");
    for (uint64_t i = 0; i < n; i++) {
        if (!name_at(reader->group, i, name) || !is_number(name))
            continue;
        if (reader->n_groups++ == 0)
            strcpy(reader->number, name);
        else if (one)
            return fail_set(reader, name, "a second edge group, wanted one");
    }
    return true;
}

static void leave(sonata_reader *reader, const char *group, const char *name)
{
    size_t n = strlen(reader->left);
    if (reader->n_left++ < 8)
        snprintf(reader->left + n, sizeof(reader->left) - n, "%s%s%s%.40s",
                 n ? ", " : "", group, *group ? "/" : "", name);
}

/* Lists the members of the population or of its edge group that are not used.
 */
static void find_left(sonata_reader *reader, bool in_group)
{
    char name[VLY_SONATA_POPULATION];
    hid_t group = reader->group;
    if (in_group && H5Lexists(group, reader->number, H5P_DEFAULT) <= 0)
        return;
    if (in_group)
        group = H5Gopen2(reader->group, reader->number, H5P_DEFAULT);
    uint64_t n = group >= 0 ? count_names(group) : 0;
    for (uint64_t i = 0; i < n; i++) {
        if (!name_at(group, i, name))
            continue;
        bool known = !in_group && (strcmp(name, reader->number) == 0 ||
                                   strcmp(name, "indices") == 0);
        for (int set = 0; set < VLY_SONATA_SETS; set++)
            known |= set_in_group[set] == in_group &&
                     strcmp(name, set_names[set]) == 0;
        if (!known)
            leave(reader, in_group ? reader->number : "", name);
    }
    if (in_group && group >= 0)
        H5Gclose(group);
}

static bool send_left(sonata_reader *reader)
{
    find_left(reader, false);
    find_left(reader, true);
    size_t n = strlen(reader->left);
    if (reader->n_left > 8)
        snprintf(reader->left + n, sizeof(reader->left) - n, " and %u more",
                 reader->n_left - 8);
    return reader->n_left == 0 || send_frame(reader, VLY_SONATA_LEFT, 0);
}

/* reader->sets[set] stays negative if an optional one is not there. */
static bool open_set(sonata_reader *reader, vly_sonata_set set, bool needed)
{
    char name[VLY_SONATA_GROUP + 40];
    hsize_t n = 0;
    bool whole = !(set == VLY_SONATA_WEIGHT || set == VLY_SONATA_DELAY ||
                   set == VLY_SONATA_NSYNS);
    vly_sonata_set_name(set, reader->number, name, sizeof(name));
    bool there = !set_in_group[set] ||
                 H5Lexists(reader->group, reader->number, H5P_DEFAULT) > 0;
    there = there && H5Lexists(reader->group, name, H5P_DEFAULT) > 0;
    if (!there)
        return !needed ||
               fail_set(reader, name,
                        set == VLY_SONATA_WEIGHT
                            ? "no such data, wanted it, or in the map a weight "
                              "or edge_types_file with syn_weight"
                            : "no such data");
    hid_t opened = H5Dopen2(reader->group, name, H5P_DEFAULT);
    if (opened < 0)
        return fail_set(reader, name, "no data that can be read");
    hid_t type = H5Dget_type(opened);
    hid_t space = H5Dget_space(opened);
    H5T_class_t kind = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
    bool flat = space >= 0 && H5Sget_simple_extent_ndims(space) == 1 &&
                H5Sget_simple_extent_dims(space, &n, NULL) == 1;
    reader->sets[set] = opened;
    if (type >= 0)
        H5Tclose(type);
    if (space >= 0)
        H5Sclose(space);
    if (!flat || !(kind == H5T_INTEGER || (kind == H5T_FLOAT && !whole)))
        return fail_set(reader, name,
                        whole ? "wanted one row of whole numbers"
                              : "wanted one row of numbers");
    if (set == VLY_SONATA_SOURCE)
        reader->n = n;
    return n == reader->n ||
           fail_set(reader, name,
                    "another length than source_node_id, wanted the same");
}

static bool open_sets(sonata_reader *reader)
{
    const vly_sonata_ask *ask = reader->ask;
    /* a value in the map takes precedence: files often have both */
    for (int set = 0; set < VLY_SONATA_SENT; set++)
        if (!ask->skip[set] &&
            !open_set(reader, (vly_sonata_set)set, ask->needed[set]))
            return false;
    bool grouped = false;
    for (int set = 0; set < VLY_SONATA_SENT; set++)
        grouped |= set_in_group[set] && reader->sets[set] >= 0;
    if (grouped && (!open_set(reader, VLY_SONATA_ORDER, false) ||
                    !open_set(reader, VLY_SONATA_GROUP_ID, false)))
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

static bool check_group(sonata_reader *reader, uint64_t first, uint32_t n)
{
    const vly_sonata_column *sets = reader->block->sets;
    char group[VLY_SONATA_GROUP + 1];
    for (uint32_t i = 0; reader->sets[VLY_SONATA_ORDER] >= 0 && i < n; i++)
        if (sets[VLY_SONATA_ORDER].whole[i] != (int64_t)(first + i))
            return fail_set(reader, set_names[VLY_SONATA_ORDER],
                            "not 0, 1, 2 and so on, wanted that order");
    for (uint32_t i = 0; reader->sets[VLY_SONATA_GROUP_ID] >= 0 && i < n; i++) {
        snprintf(group, sizeof(group), "%lld",
                 (long long)sets[VLY_SONATA_GROUP_ID].whole[i]);
        if (strcmp(group, reader->number) != 0)
            return fail_set(reader, set_names[VLY_SONATA_GROUP_ID],
                            "names another edge group than the one that is "
                            "there, wanted one group");
    }
    return true;
}

static bool read_and_send(sonata_reader *reader, uint64_t first, uint32_t n)
{
    /* ids as signed: a conversion to unsigned would make -1 a 0 */
    vly_sonata_block *block = reader->block;
    vly_child_wind_up();
    for (int set = 0; set < VLY_SONATA_SETS; set++) {
        bool number = set == VLY_SONATA_WEIGHT || set == VLY_SONATA_DELAY ||
                      set == VLY_SONATA_NSYNS;
        if (!read_block(reader, reader->sets[set], first, n,
                        number ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64,
                        &block->sets[set]))
            return false;
    }
    if (!check_group(reader, first, n) ||
        !send_frame(reader, VLY_SONATA_EDGES, n))
        return false;
    for (int set = 0; set < VLY_SONATA_SENT; set++)
        if (reader->sets[set] >= 0 &&
            !vly_child_send(reader->out, &block->sets[set],
                            n * sizeof(block->sets[set].whole[0])))
            return false;
    return true;
}

/* Nothing is closed: the process ends. */
void vly_hdf5_send(const vly_sonata_ask *ask, vly_sonata_block *block, int out)
{
    sonata_reader reader = {
        .ask = ask, .out = out, .edges = -1, .group = -1, .block = block};
    for (int set = 0; set < VLY_SONATA_SETS; set++)
        reader.sets[set] = -1;
    /* turn off HDF5's own printing; errors are sent instead */
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t file = H5Fopen(ask->path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) {
        fail(&reader, "", "no HDF5 file that can be read (damaged?)");
        return;
    }
    if (!find_population(&reader, file) || !find_group(&reader, true) ||
        !open_sets(&reader) || !send_frame(&reader, VLY_SONATA_BEGIN, 0) ||
        !send_left(&reader))
        return;
    for (uint64_t first = 0; first < reader.n; first += VLY_SONATA_BLOCK) {
        uint64_t rest = reader.n - first;
        uint32_t n =
            rest < VLY_SONATA_BLOCK ? (uint32_t)rest : VLY_SONATA_BLOCK;
        if (!read_and_send(&reader, first, n))
            return;
    }
    send_frame(&reader, VLY_SONATA_END, 0);
}

/* ---- what is in a file -------------------------------------------------- */

static bool send_about(sonata_reader *reader)
{
    for (int set = 0; set < VLY_SONATA_SETS; set++)
        reader->sets[set] = -1;
    bool good = find_group(reader, false);
    for (int set = 0; good && set < VLY_SONATA_SENT; set++)
        good = open_set(reader, (vly_sonata_set)set, set <= VLY_SONATA_TARGET);
    good = good && send_frame(reader, VLY_SONATA_ABOUT, reader->n_groups);
    for (int set = 0; set < VLY_SONATA_SETS; set++)
        if (reader->sets[set] >= 0)
            H5Dclose(reader->sets[set]);
    return good;
}

static bool send_populations(sonata_reader *reader, hid_t file)
{
    if ((reader->edges = H5Gopen2(file, "edges", H5P_DEFAULT)) < 0)
        return fail(reader, "/edges", "no group that can be read (damaged?)");
    uint64_t n = count_names(reader->edges);
    for (uint64_t i = 0; i < n; i++) {
        vly_child_wind_up();
        if (!name_at(reader->edges, i, reader->population) ||
            (reader->group =
                 H5Gopen2(reader->edges, reader->population, H5P_DEFAULT)) < 0)
            return fail(reader, "/edges", "a population that is not a group");
        if (!send_about(reader))
            return false;
        H5Gclose(reader->group);
    }
    return true;
}

void vly_hdf5_about(const vly_sonata_ask *ask, int out)
{
    static const char *const tops[] = {"spikes", "report", "edges", "mean",
                                       "nodes"};
    sonata_reader reader = {.ask = ask, .out = out, .edges = -1, .group = -1};
    vly_sonata_frame frame = {.kind = VLY_SONATA_TOP};
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t file = H5Fopen(ask->path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) {
        fail(&reader, "", "no HDF5 file that can be read (damaged?)");
        return;
    }
    for (int i = 0; i < 5; i++)
        frame.top[i] = H5Lexists(file, tops[i], H5P_DEFAULT) > 0;
    /* older reports */
    frame.top[1] |= H5Lexists(file, "data", H5P_DEFAULT) > 0 &&
                    H5Lexists(file, "mapping", H5P_DEFAULT) > 0;
    if (!vly_child_send(out, &frame, sizeof(frame)) ||
        (frame.top[2] && !send_populations(&reader, file)))
        return;
    send_frame(&reader, VLY_SONATA_END, 0);
}

#endif
