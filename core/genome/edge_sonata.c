/* SPDX-License-Identifier: Apache-2.0
 * Synapses from SONATA edges: a process of its own reads the file by HDF5
 * (edge_hdf5.c) and sends what it finds; here it is checked and made into a
 * list. A damaged file on which HDF5 crashes, or finds no end, is so refused
 * with a sentence like any other. Of a host with many threads only the one that
 * asks goes on in that process; a lock of HDF5 that another one holds is waited
 * for 10 minutes. 5 million synapses took 1.2 s, in one process 0.9 s.
 */
#include "genome/edge_list.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/child.h"
#include "base/memory.h"
#include "genome/edge_hdf5.h"

typedef struct sonata_list {
    const char *name;
    const vly_edge_spec *spec;
    vly_error *error;
    char population[VLY_SONATA_POPULATION];
    vly_child child;
    bool ended; /* the last frame was there */
    uint64_t n; /* that were announced */
    vly_sonata_block *block;
    vly_edge_maker maker;
} sonata_list;

typedef struct sonata_work {
    const vly_sonata_ask *ask;
    vly_sonata_block *block;
} sonata_work;

static const char *const set_names[] = {"source_node_id", "target_node_id",
                                        "0/syn_weight", "0/delay"};

/* ---- edges -------------------------------------------------------------- */

static vly_status fail_edge(const sonata_list *list, vly_edge_part part,
                            uint64_t index, const char *sentence)
{
    return vly_fail(list->error, VLY_E_PARSE,
                    "%.200s: /edges/%s/%s[%" PRIu64 "]: %s", list->name,
                    list->population, set_names[part], index, sentence);
}

static vly_status add_edge(sonata_list *list, uint64_t index, uint32_t i)
{
    const vly_edge_spec *spec = list->spec;
    const uint32_t limits[] = {spec->from->n_neurons, spec->to->n_neurons};
    const int64_t ids[] = {list->block->source[i], list->block->target[i]};
    char sentence[VLY_EDGE_SENTENCE];
    vly_edge_part wrong = VLY_EDGE_PARTS;
    for (int part = 0; part < 2; part++) {
        if (ids[part] >= 0 && ids[part] < (int64_t)limits[part])
            continue;
        snprintf(sentence, sizeof(sentence),
                 "is %" PRId64 ", wanted a whole number from 0 to %u",
                 ids[part], limits[part] - 1);
        return fail_edge(list, (vly_edge_part)part, index, sentence);
    }
    if (list->maker.has_weight && !isfinite(list->block->weight[i]))
        wrong = VLY_EDGE_WEIGHT;
    else if (list->maker.has_delay && !isfinite(list->block->delay[i]))
        wrong = VLY_EDGE_DELAY;
    if (wrong != VLY_EDGE_PARTS)
        return fail_edge(list, wrong, index,
                         "is not finite, wanted a finite number");
    vly_edge edge = {.source = (uint32_t)ids[0],
                     .target = (uint32_t)ids[1],
                     .weight = list->block->weight[i] + 0.0,
                     .delay = list->block->delay[i],
                     .place = index + 1};
    vly_status status = vly_edges_add(&list->maker, &edge, &wrong, sentence);
    if (status == VLY_OK && wrong != VLY_EDGE_PARTS)
        status = fail_edge(list, wrong, index, sentence);
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
               frame->text[0] != 0;
    case VLY_SONATA_EDGES:
        return *list->population && frame->n > 0 &&
               frame->n <= VLY_SONATA_BLOCK && frame->n <= list->n - so_far;
    default:
        return frame->kind == VLY_SONATA_END && *list->population &&
               so_far == list->n;
    }
}

static vly_status receive_edges(sonata_list *list, uint32_t n, uint64_t *so_far)
{
    vly_sonata_block *block = list->block;
    size_t bytes = n * sizeof(*block->source);
    vly_status status = VLY_OK;
    if (!vly_child_receive(&list->child, block->source, bytes) ||
        !vly_child_receive(&list->child, block->target, bytes) ||
        (list->maker.has_weight &&
         !vly_child_receive(&list->child, block->weight, bytes)) ||
        (list->maker.has_delay &&
         !vly_child_receive(&list->child, block->delay, bytes)))
        return VLY_E_PARSE; /* its end says why */
    for (uint32_t i = 0; i < n && status == VLY_OK; i++)
        status = add_edge(list, *so_far + i, i);
    *so_far += n;
    list->ended = status != VLY_OK;
    return status;
}

/* Until the last frame: ended is then true, also where an edge is refused. If
 * it is not, the process did not come to its end. */
static vly_status receive_all(sonata_list *list)
{
    vly_sonata_frame frame;
    uint64_t so_far = 0;
    vly_status status = VLY_OK;
    while (status == VLY_OK && !list->ended) {
        if (!vly_child_receive(&list->child, &frame, sizeof(frame)) ||
            !frame_good(list, &frame, so_far))
            return VLY_E_PARSE;
        frame.text[sizeof(frame.text) - 1] = 0;
        if (frame.kind == VLY_SONATA_BEGIN) {
            snprintf(list->population, sizeof(list->population), "%.*s",
                     VLY_SONATA_POPULATION - 1, frame.text);
            list->n = frame.total;
            list->maker.has_weight = frame.has_weight != 0;
            list->maker.has_delay = frame.has_delay != 0;
        } else if (frame.kind == VLY_SONATA_EDGES) {
            status = receive_edges(list, frame.n, &so_far);
        } else {
            list->ended = true;
            if (frame.kind == VLY_SONATA_FAILED)
                status = vly_fail(list->error, VLY_E_PARSE, "%s", frame.text);
        }
    }
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
        status = fail_edge(list, VLY_EDGE_TARGET, twice - 1,
                           "the second synapse from its source to this target, "
                           "wanted one, or multiple = true in the map");
out:
    return status;
}

vly_status vly_edges_from_sonata(const char *path, const char *name,
                                 const vly_edge_spec *spec,
                                 vly_edge_list **list, vly_error *error)
{
    const vly_sonata_ask ask = {.path = path,
                                .name = name,
                                .population = spec->population,
                                .map_weight = spec->map_weight,
                                .map_delay = spec->map_delay};
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
