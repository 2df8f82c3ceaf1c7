/* SPDX-License-Identifier: Apache-2.0
 * The mapping graph of a FEAGI genome: see feagi_graph.h.
 */
#include "feagi_graph.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "tools/cli/json_reader.h"

uint32_t feagi_graph_area(const feagi_graph *graph, const char *id)
{
    uint32_t i = 0;
    while (i < graph->n_areas && strcmp(graph->areas[i], id) != 0)
        i++;
    return i;
}

/* "_____10c-ABCDEF-cx-...": the six characters; false: another key */
static bool area_of(const char *key, char id[FEAGI_GRAPH_ID])
{
    if (strncmp(key, "_____10c-", 9) != 0 || strlen(key) < 16)
        return false;
    memcpy(id, key + 9, 6);
    id[6] = 0;
    return true;
}

static void read_areas(const json_value *blueprint, feagi_graph *graph)
{
    for (uint32_t i = 0; i < blueprint->n_items; i++) {
        char id[FEAGI_GRAPH_ID];
        if (area_of(blueprint->items[i].key, id) &&
            feagi_graph_area(graph, id) == graph->n_areas &&
            graph->n_areas < FEAGI_GRAPH_AREAS)
            memcpy(graph->areas[graph->n_areas++], id, sizeof id);
    }
}

static void read_maps(const json_value *blueprint, feagi_graph *graph)
{
    for (uint32_t i = 0; i < blueprint->n_items; i++) {
        const json_value *item = &blueprint->items[i];
        char id[FEAGI_GRAPH_ID];
        if (!area_of(item->key, id) || !strstr(item->key, "dstmap"))
            continue;
        uint32_t from = feagi_graph_area(graph, id);
        for (uint32_t k = 0; k < item->n_items; k++) {
            uint32_t to = feagi_graph_area(graph, item->items[k].key);
            if (to < graph->n_areas && item->items[k].n_items > 0)
                graph->maps[from][to] = true;
        }
    }
}

int feagi_graph_read(const char *path, feagi_graph *graph)
{
    json_value root = {0};
    vly_error error = VLY_ERROR_INIT;
    *graph = (feagi_graph){0};
    if (json_load(path, &root, &error) != VLY_OK) {
        fprintf(stderr, "%s\n", error.message);
        return -1;
    }
    const json_value *blueprint = json_find(&root, "blueprint");
    if (blueprint) {
        read_areas(blueprint, graph);
        read_maps(blueprint, graph);
    }
    json_free(&root);
    return blueprint ? 0 : -1;
}

void feagi_graph_reach(const feagi_graph *graph, uint32_t from, bool *reached)
{
    if (from >= graph->n_areas || reached[from])
        return;
    reached[from] = true;
    for (uint32_t to = 0; to < graph->n_areas; to++)
        if (graph->maps[from][to])
            feagi_graph_reach(graph, to, reached);
}
