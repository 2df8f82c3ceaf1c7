/* SPDX-License-Identifier: Apache-2.0
 * Columns of synapses: source and target (indices in their areas, from 0),
 * weight or weight_<unit of the target's port>, delay or delay_ms or
 * delay_bursts. A table of `volley connections` has both of the last.
 */
#include "genome/edge_columns.h"

#include <string.h>

/* The part that a name means; VLY_EDGE_PARTS if none. */
static vly_edge_part part_of(const char *name)
{
    if (strcmp(name, "source") == 0)
        return VLY_EDGE_SOURCE;
    if (strcmp(name, "target") == 0)
        return VLY_EDGE_TARGET;
    if (strcmp(name, "weight") == 0 || strncmp(name, "weight_", 7) == 0)
        return VLY_EDGE_WEIGHT;
    if (strcmp(name, "delay") == 0 || strncmp(name, "delay_", 6) == 0)
        return VLY_EDGE_DELAY;
    return VLY_EDGE_PARTS;
}

static bool unit_fits(const vly_edge_spec *spec, const char *name,
                      vly_edge_part part, char sentence[VLY_EDGE_SENTENCE])
{
    const char *suffix = spec->weight_suffix;
    if (part == VLY_EDGE_WEIGHT && name[6] && strcmp(name + 7, suffix) != 0) {
        snprintf(sentence, VLY_EDGE_SENTENCE, "%.40s: %s takes weight%s%s",
                 name, spec->to->model->id, *suffix ? "_" : "", suffix);
        return false;
    }
    if (part == VLY_EDGE_DELAY && name[5] && strcmp(name, "delay_ms") != 0 &&
        !vly_edge_column_bursts(name)) {
        snprintf(sentence, VLY_EDGE_SENTENCE,
                 "column %.40s, wanted delay_ms or delay_bursts", name);
        return false;
    }
    bool given = part == VLY_EDGE_WEIGHT  ? spec->map_weight
                 : part == VLY_EDGE_DELAY ? spec->map_delay
                                          : false;
    if (given)
        snprintf(sentence, VLY_EDGE_SENTENCE,
                 "column %.40s, but the map has a %s too, wanted one of them",
                 name, part == VLY_EDGE_WEIGHT ? "weight" : "delay");
    return !given;
}

/* delay_ms and delay_bursts, in any order, say the same; bursts are exact. */
static bool is_same_delay(const char *a, const char *b)
{
    return (strcmp(a, "delay_ms") == 0 && vly_edge_column_bursts(b)) ||
           (strcmp(b, "delay_ms") == 0 && vly_edge_column_bursts(a));
}

bool vly_edge_columns_find(const vly_edge_spec *spec, const char *const *names,
                           uint32_t n, uint32_t fields[VLY_EDGE_PARTS],
                           uint32_t *wrong, char sentence[VLY_EDGE_SENTENCE])
{
    static const char *const parts[] = {"source", "target", "weight", "delay"};
    for (int part = 0; part < VLY_EDGE_PARTS; part++)
        fields[part] = n;
    *sentence = 0;
    for (*wrong = 0; *wrong < n; (*wrong)++) {
        const char *name = names[*wrong];
        vly_edge_part part = part_of(name);
        if (part == VLY_EDGE_PARTS)
            return false;
        if (fields[part] < n && !is_same_delay(names[fields[part]], name)) {
            snprintf(sentence, VLY_EDGE_SENTENCE,
                     "column %.40s beside %.40s, wanted one", name,
                     names[fields[part]]);
            return false;
        }
        if (fields[part] == n || vly_edge_column_bursts(name))
            fields[part] = *wrong;
        if (!unit_fits(spec, name, part, sentence))
            return false;
    }
    for (int part = 0; part < VLY_EDGE_PARTS; part++) {
        bool needed = part < VLY_EDGE_WEIGHT ||
                      (part == VLY_EDGE_WEIGHT && !spec->map_weight);
        if (!needed || fields[part] < n)
            continue;
        snprintf(sentence, VLY_EDGE_SENTENCE, "no column %s%s", parts[part],
                 part == VLY_EDGE_WEIGHT
                     ? " and no weight in the map, wanted one of them"
                     : ", wanted it");
        return false;
    }
    return true;
}

bool vly_edge_column_bursts(const char *name)
{
    return strcmp(name, "delay_bursts") == 0;
}
