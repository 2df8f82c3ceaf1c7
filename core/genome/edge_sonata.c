/* SPDX-License-Identifier: Apache-2.0
 * Synapses from SONATA edges: a child process reads the file with HDF5
 * (edge_hdf5.c) and sends the data; this file checks it and makes a list. So a
 * damaged file on which HDF5 crashes or does not end is refused with a message
 * like any other. If the host has many threads, only the calling thread exists
 * in the child; it waits up to 10 minutes for a lock of HDF5 that another
 * thread held. 5 million synapses took 1.2 s, in one process 0.9 s.
 */
#include "genome/edge_list.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/number.h"
#include "genome/edge_hdf5.h"
#include "genome/edge_types.h"

typedef struct sonata_list {
    const char *name;
    const vly_edge_spec *spec;
    vly_error *error;
    char population[VLY_SONATA_POPULATION];
    char group[VLY_SONATA_GROUP];
    vly_child child;
    bool ended;                /* the last frame was there */
    bool has[VLY_SONATA_SENT]; /* sets that are sent */
    uint64_t n;                /* that were announced */
    vly_sonata_block *block;
    vly_edge_maker maker;
} sonata_list;

typedef struct sonata_work {
    const vly_sonata_ask *ask;
    vly_sonata_block *block;
} sonata_work;

#define NSYNS_MAX 65535.0

/* ---- edges -------------------------------------------------------------- */

static vly_status fail_edge(const sonata_list *list, vly_sonata_set set,
                            uint64_t index, const char *sentence)
{
    char name[VLY_SONATA_GROUP + 40];
    vly_sonata_set_name(set, list->group, name, sizeof(name));
    return vly_fail(list->error, VLY_E_PARSE,
                    "%.200s: /edges/%s/%s[%" PRIu64 "]: %s", list->name,
                    list->population, name, index, sentence);
}

/* Where a part of an edge was found. */
static vly_sonata_set set_of(const sonata_list *list, vly_edge_part part)
{
    static const vly_sonata_set sets[] = {VLY_SONATA_SOURCE, VLY_SONATA_TARGET,
                                          VLY_SONATA_WEIGHT, VLY_SONATA_DELAY};
    bool sent = list->has[sets[part]];
    return sent ? sets[part] : VLY_SONATA_TYPE;
}

/* A value of edge i: its own, otherwise that of its type. *out is unchanged if
 * neither has one and none is needed. */
static vly_status take_value(sonata_list *list, uint64_t index, uint32_t i,
                             vly_sonata_set set, bool needed, double *out)
{
    static const vly_edge_type_value values[] = {
        [VLY_SONATA_WEIGHT] = VLY_EDGE_TYPE_WEIGHT,
        [VLY_SONATA_DELAY] = VLY_EDGE_TYPE_DELAY,
        [VLY_SONATA_NSYNS] = VLY_EDGE_TYPE_NSYNS};
    const vly_edge_types *types = list->spec->types;
    char sentence[VLY_EDGE_SENTENCE];
    char name[40];
    if (list->has[set]) {
        *out = list->block->sets[set].number[i];
        return isfinite(*out) ? VLY_OK
                              : fail_edge(list, set, index,
                                          "is not finite, wanted a finite "
                                          "number");
    }
    if (!types || !types->has[values[set]])
        return VLY_OK;
    int64_t id = list->block->sets[VLY_SONATA_TYPE].whole[i];
    const vly_edge_type *type = vly_edge_types_find(types, id);
    if (type && type->has[values[set]]) {
        *out = type->value[values[set]];
        return VLY_OK;
    }
    if (type && !needed)
        return VLY_OK;
    vly_sonata_set_name(set, "", name, sizeof(name));
    snprintf(sentence, sizeof(sentence), "is %" PRId64 ", a type %s %.150s%s%s",
             id, type ? "that has in" : "that is not in", types->name,
             type ? " no " : "", type ? name + 1 : "");
    return fail_edge(list, VLY_SONATA_TYPE, index, sentence);
}

/* n parallel synapses (nsyns). */
static vly_status add_synapses(sonata_list *list, const vly_edge *edge,
                               double n)
{
    uint64_t index = edge->place - 1;
    vly_sonata_set set =
        list->has[VLY_SONATA_NSYNS] ? VLY_SONATA_NSYNS : VLY_SONATA_TYPE;
    vly_edge_part wrong = VLY_EDGE_PARTS;
    char sentence[VLY_EDGE_SENTENCE];
    vly_status status = VLY_OK;
    if (!(n >= 0 && n <= NSYNS_MAX) || vly_floor(n) != n) {
        snprintf(sentence, sizeof(sentence),
                 "nsyns is %.9g, wanted a whole number from 0 to %.0f", n,
                 NSYNS_MAX);
        return fail_edge(list, set, index, sentence);
    }
    if (n > 1 && !list->spec->multiple) {
        snprintf(sentence, sizeof(sentence),
                 "nsyns is %.0f, as many synapses from a source to a target, "
                 "wanted one, or multiple = true in the map",
                 n);
        return fail_edge(list, set, index, sentence);
    }
    for (uint32_t k = 0; k < (uint32_t)n; k++) {
        VLY_TRY(vly_edges_add(&list->maker, edge, &wrong, sentence));
        if (wrong != VLY_EDGE_PARTS)
            VLY_TRY(fail_edge(list, set_of(list, wrong), index, sentence));
    }
out:
    return status;
}

static vly_status add_edge(sonata_list *list, uint64_t index, uint32_t i)
{
    const vly_edge_spec *spec = list->spec;
    const vly_sonata_column *sets = list->block->sets;
    const uint32_t limits[] = {spec->from->n_neurons, spec->to->n_neurons};
    const int64_t ids[] = {sets[VLY_SONATA_SOURCE].whole[i],
                           sets[VLY_SONATA_TARGET].whole[i]};
    vly_edge edge = {.place = index + 1};
    double n = 1;
    vly_status status;
    for (int part = 0; part < 2; part++) {
        char sentence[VLY_EDGE_SENTENCE];
        if (ids[part] >= 0 && ids[part] < (int64_t)limits[part])
            continue;
        snprintf(sentence, sizeof(sentence),
                 "is %" PRId64 ", wanted a whole number from 0 to %u",
                 ids[part], limits[part] - 1);
        return fail_edge(list, set_of(list, (vly_edge_part)part), index,
                         sentence);
    }
    if (list->maker.has_weight)
        VLY_TRY(
            take_value(list, index, i, VLY_SONATA_WEIGHT, true, &edge.weight));
    if (list->maker.has_delay)
        VLY_TRY(
            take_value(list, index, i, VLY_SONATA_DELAY, true, &edge.delay));
    VLY_TRY(take_value(list, index, i, VLY_SONATA_NSYNS, false, &n));
    edge.source = (uint32_t)ids[0];
    edge.target = (uint32_t)ids[1];
    edge.weight += 0.0; /* -0 becomes 0 */
    VLY_TRY(add_synapses(list, &edge, n));
out:
    return status;
}

/* ---- frames ------------------------------------------------------------- */

/* HDF5 may have overwritten anything before it crashed. */
static bool frame_good(const sonata_list *list, const vly_sonata_frame *frame,
                       uint64_t so_far)
{
    switch (frame->kind) {
    case VLY_SONATA_FAILED:
        return true;
    case VLY_SONATA_BEGIN:
        return frame->total <= VLY_EDGES_MAX && !*list->population &&
               frame->text[0] != 0 && frame->has[VLY_SONATA_SOURCE] &&
               frame->has[VLY_SONATA_TARGET];
    case VLY_SONATA_LEFT:
        return *list->population != 0;
    case VLY_SONATA_EDGES:
        return *list->population && frame->n > 0 &&
               frame->n <= VLY_SONATA_BLOCK && frame->n <= list->n - so_far;
    default:
        return frame->kind == VLY_SONATA_END && *list->population &&
               so_far == list->n;
    }
}

/* Chooses the columns of the list: data sets of the file, otherwise values of
 * its types. Types are looked up, so the data set of type ids must exist. */
static bool begin(sonata_list *list, const vly_sonata_frame *frame)
{
    const vly_edge_spec *spec = list->spec;
    const vly_edge_types *types = spec->types;
    snprintf(list->population, sizeof(list->population), "%.*s",
             VLY_SONATA_POPULATION - 1, frame->text);
    snprintf(list->group, sizeof(list->group), "%.*s", VLY_SONATA_GROUP - 1,
             frame->group);
    list->n = frame->total;
    for (int set = 0; set < VLY_SONATA_SENT; set++)
        list->has[set] = frame->has[set] != 0;
    list->maker.has_weight =
        list->has[VLY_SONATA_WEIGHT] ||
        (types && !spec->map_weight && types->has[VLY_EDGE_TYPE_WEIGHT]);
    list->maker.has_delay =
        list->has[VLY_SONATA_DELAY] ||
        (types && !spec->map_delay && types->has[VLY_EDGE_TYPE_DELAY]);
    return !types || list->has[VLY_SONATA_TYPE];
}

static vly_status receive_edges(sonata_list *list, uint32_t n, uint64_t *so_far)
{
    vly_sonata_block *block = list->block;
    vly_status status = VLY_OK;
    for (int set = 0; set < VLY_SONATA_SENT; set++)
        if (list->has[set] &&
            !vly_child_receive(&list->child, &block->sets[set],
                               n * sizeof(block->sets[set].whole[0])))
            return VLY_E_PARSE; /* its exit status gives the reason */
    for (uint32_t i = 0; i < n; i++)
        VLY_TRY(add_edge(list, *so_far + i, i));
out:
    *so_far += n;
    list->ended = status != VLY_OK;
    return status;
}

/* Names in a file may be anything: the message stays one line. */
static void keep_left(const sonata_list *list, const char *text)
{
    char *left = list->spec->left;
    if (!left)
        return;
    snprintf(left, VLY_EDGE_LEFT, "%.*s", VLY_EDGE_LEFT - 1, text);
    for (; *left; left++)
        if ((unsigned char)*left < 0x20 || *left == 0x7f)
            *left = '?';
}

/* Reads until the last frame; `ended` is then true, also if an edge is refused.
 * If it is false, the process ended too early. */
static vly_status receive_all(sonata_list *list)
{
    vly_sonata_frame frame;
    uint64_t so_far = 0;
    vly_status status = VLY_OK;
    while (!list->ended) {
        if (!vly_child_receive(&list->child, &frame, sizeof(frame)) ||
            !frame_good(list, &frame, so_far))
            return VLY_E_PARSE;
        frame.text[sizeof(frame.text) - 1] = 0;
        frame.group[sizeof(frame.group) - 1] = 0;
        if (frame.kind == VLY_SONATA_BEGIN) {
            if (!begin(list, &frame))
                return VLY_E_PARSE;
        } else if (frame.kind == VLY_SONATA_LEFT) {
            keep_left(list, frame.text);
        } else if (frame.kind == VLY_SONATA_EDGES) {
            VLY_TRY(receive_edges(list, frame.n, &so_far));
        } else {
            list->ended = true;
            if (frame.kind == VLY_SONATA_FAILED)
                VLY_TRY(vly_fail(list->error, VLY_E_PARSE, "%s", frame.text));
        }
    }
out:
    return status;
}

/* ---- the process -------------------------------------------------------- */

static void work(void *context, int out)
{
    const sonata_work *of = context;
    vly_hdf5_send(of->ask, of->block, out);
}

static vly_status read_file(sonata_list *list, const vly_sonata_ask *ask,
                            vly_edge_list **out)
{
    sonata_work child_work = {ask, NULL};
    uint64_t twice = 0;
    vly_status status;
    list->block = vly_malloc(1, sizeof(*list->block));
    if (!list->block)
        return vly_fail_nomem(list->error, sizeof(*list->block),
                              "SONATA edges");
    memset(list->block, 0, sizeof(*list->block));
    child_work.block = list->block;
    VLY_TRY(vly_child_start(&list->child, list->name, work, &child_work,
                            list->error));
    status = receive_all(list);
    int end = vly_child_stop(&list->child, list->ended);
    if (status != VLY_OK && !list->ended)
        VLY_TRY(vly_child_broke_down(list->name, end, list->error));
    VLY_TRY(status);
    VLY_TRY(vly_edges_finish(&list->maker, &twice, out));
    if (twice)
        status = fail_edge(list, VLY_SONATA_TARGET, twice - 1,
                           "the second synapse from its source to this target, "
                           "wanted one, or multiple = true in the map");
out:
    return status;
}

vly_status vly_edges_from_sonata(const char *path, const char *name,
                                 const vly_edge_spec *spec,
                                 vly_edge_list **list, vly_error *error)
{
    const vly_edge_types *types = spec->types;
    vly_sonata_ask ask = {
        .path = path, .name = name, .population = spec->population};
    ask.needed[VLY_SONATA_SOURCE] = ask.needed[VLY_SONATA_TARGET] = true;
    ask.skip[VLY_SONATA_WEIGHT] = spec->map_weight;
    ask.skip[VLY_SONATA_DELAY] = spec->map_delay;
    ask.skip[VLY_SONATA_TYPE] = !types;
    ask.needed[VLY_SONATA_TYPE] = types != NULL;
    ask.needed[VLY_SONATA_WEIGHT] = !types || !types->has[VLY_EDGE_TYPE_WEIGHT];
    sonata_list made = {.name = name, .spec = spec, .error = error};
    if (!vly_hdf5_built())
        return vly_fail(error, VLY_E_UNSUPPORTED,
                        "%.300s is an HDF5 file, and SONATA input is left out "
                        "of this build, wanted comma-separated text, or a "
                        "build where CMake finds HDF5 (libhdf5-dev)",
                        name);
    vly_edges_init(&made.maker, spec, error);
    vly_status status = read_file(&made, &ask, list);
    vly_free(made.block);
    vly_edges_deinit(&made.maker);
    return status;
}
