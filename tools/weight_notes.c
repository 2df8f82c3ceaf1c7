/* SPDX-License-Identifier: Apache-2.0
 * What rounding does to weights. Parts of one map, which lie in a connectome
 * one behind the other, are told of once.
 */
#include "weight_notes.h"

#include <stdio.h>

#include "connectome/connectome_make.h"
#include "connectome/connectome_work.h"
#include "tool.h"

#define NOTES_MAX 20u

/* One map or stimulus whose weights may be off by more than 1%, of one weight
 * by more than 0.1%. */
typedef struct coarse {
    const vly_origin *origin;
    const char *kind;
    const char *name;
    const char *from; /* NULL: a stimulus */
    const char *to;
    const char *unit_name;
    double unit;
    double share;
    double worst;
} coarse;

static const char *unit_of(const vly_area *area, uint32_t port)
{
    const vly_model_info *model = area->model;
    return model->ports[port < model->n_ports ? port : 0].unit;
}

static bool coarse_map(const vly_genome *genome,
                       const vly_connectome *connectome, uint32_t p,
                       coarse *found)
{
    const vly_connectome_projection *at = &connectome->projections[p];
    const vly_pair *pair = &genome->pairs[at->pair];
    if (at->share_coarse == 0.0 || (p > 0 && at[-1].pair == at->pair))
        return false;
    *found = (coarse){
        .origin =
            pair->weight.origin.line ? &pair->weight.origin : &pair->origin,
        .kind = "map",
        .name = pair->map,
        .from = genome->areas[pair->from].name,
        .to = genome->areas[pair->to].name,
        .unit_name = unit_of(&genome->areas[pair->to],
                             connectome->desc.projections[p].port),
        .unit = at->unit,
        .share = at->share_coarse,
        .worst = at->worst_coarse,
    };
    return true;
}

static bool coarse_stimulus(const vly_genome *genome,
                            const vly_connectome *connectome, uint32_t s,
                            coarse *found)
{
    const vly_connectome_stimulus *at = &connectome->stimuli[s];
    const vly_stimulus *given = &genome->stimuli[s];
    int32_t q = connectome->areas[at->area].q[at->port];
    double unit = vly_power_of_two(-q);
    double off = vly_weight_scaled(at->weight, q) * unit - at->weight;
    double size = at->weight < 0.0 ? -at->weight : at->weight;
    off = off < 0.0 ? -off : off;
    if (at->kind == VLY_STIMULUS_NORMAL || at->kind == VLY_STIMULUS_DC ||
        off <= VLY_COARSE_CONSTANT * size)
        return false;
    *found = (coarse){
        .origin = &given->origin,
        .kind = "stimulus",
        .name = at->id,
        .to = genome->areas[at->area].name,
        .unit_name = unit_of(&genome->areas[at->area], at->port),
        .unit = unit,
        .share = 1.0,
        .worst = off / size,
    };
    return true;
}

/* Number i of maps and stimuli together. */
static bool coarse_at(const vly_genome *genome,
                      const vly_connectome *connectome, uint32_t i,
                      coarse *found)
{
    uint32_t n = connectome->desc.n_projections;
    return i < n ? coarse_map(genome, connectome, i, found)
                 : coarse_stimulus(genome, connectome, i - n, found);
}

static uint32_t count_all(const vly_connectome *connectome)
{
    return connectome->desc.n_projections + connectome->n_stimuli;
}

static void note(const vly_genome *genome, const coarse *at)
{
    char place[VLY_PLACE_BYTES];
    char off[96];
    vly_place_print(genome, at->origin, place);
    if (at->share < 1.0)
        snprintf(off, sizeof off,
                 "%.3g%% of its weights may be off by more than 1%%, by %.3g%% "
                 "at most",
                 100.0 * at->share, 100.0 * at->worst);
    else
        snprintf(off, sizeof off, "the weight is off by %.3g%%%s",
                 100.0 * at->worst, at->from ? " at most" : "");
    tool_message("note: %s%s %s (%s%s%s): %s: the unit is %.6g%s%s", place,
                 at->kind, at->name, at->from ? at->from : "",
                 at->from ? " -> " : "onto ", at->to, off, at->unit,
                 at->unit_name[0] ? " " : "", at->unit_name);
}

void weight_notes(const vly_genome *genome, const vly_connectome *connectome)
{
    uint32_t n = 0;
    coarse found;
    for (uint32_t i = 0; i < count_all(connectome); i++)
        if (coarse_at(genome, connectome, i, &found) && n++ < NOTES_MAX)
            note(genome, &found);
    if (n > NOTES_MAX)
        tool_message("note: %u more of the kind", n - NOTES_MAX);
}

void weight_notes_print(const vly_genome *genome,
                        const vly_connectome *connectome)
{
    uint32_t n = 0;
    coarse found;
    coarse worst = {0};
    for (uint32_t i = 0; i < count_all(connectome); i++) {
        if (!coarse_at(genome, connectome, i, &found))
            continue;
        n++;
        worst = found.worst > worst.worst ? found : worst;
    }
    if (n > 0)
        tool_print(
            "coarse weights    of %u %s, off by %.3g%% at most (%s %s)\n", n,
            n == 1 ? "map or stimulus" : "maps or stimuli", 100.0 * worst.worst,
            worst.kind, worst.name);
}

void weight_notes_json(const vly_genome *genome,
                       const vly_connectome *connectome, json_writer *json)
{
    coarse found;
    json_array(json, "coarse_weights");
    for (uint32_t i = 0; i < count_all(connectome); i++) {
        if (!coarse_at(genome, connectome, i, &found))
            continue;
        json_object(json, NULL);
        json_text(json, found.kind, found.name);
        json_text(json, "from", found.from);
        json_text(json, "to", found.to);
        json_number(json, "unit", found.unit);
        json_number(json, "share_off_1_percent",
                    found.worst > 0.01 ? found.share : 0.0);
        json_number(json, "most_off", found.worst);
        json_object_end(json);
    }
    json_array_end(json);
}

void weight_worst_print(const vly_genome *genome,
                        const vly_connectome *connectome)
{
    const vly_connectome_projection *worst = NULL;
    for (uint32_t p = 0; p < connectome->desc.n_projections; p++) {
        const vly_connectome_projection *at = &connectome->projections[p];
        if (!worst || at->worst_rounding > worst->worst_rounding)
            worst = at;
    }
    if (!worst)
        return;
    const vly_pair *pair = &genome->pairs[worst->pair];
    tool_print("rounding      at most %.2g%%, of map %s (%s -> %s): of a "
               "constant weight, a mean or a file's weight\n",
               100.0 * worst->worst_rounding, pair->map,
               genome->areas[pair->from].name, genome->areas[pair->to].name);
}
