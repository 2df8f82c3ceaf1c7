/* SPDX-License-Identifier: Apache-2.0
 * What rounding does to weights and rates. Parts of one map, which lie in a
 * connectome one after the other, have one note.
 */
#include "tools/cli/weight_notes.h"

#include <stdio.h>
#include <string.h>

#include "connectome/connectome_make.h"
#include "connectome/connectome_work.h"
#include "tools/cli/learning_notes.h"
#include "tools/cli/tool.h"

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
    double mean; /* error of the mean of a map; 0: none */
    bool is_normal;
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
    if ((at->share_coarse == 0.0 && at->mean_coarse == 0.0) ||
        (p > 0 && at[-1].pair == at->pair))
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
        .mean = at->mean_coarse,
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
    double off = vly_stimulus_rounding(at, genome->dt_ms, q);
    if (off <= VLY_COARSE_CONSTANT)
        return false;
    *found = (coarse){
        .origin = &given->origin,
        .kind = "stimulus",
        .name = at->id,
        .to = genome->areas[at->area].name,
        .unit_name = unit_of(&genome->areas[at->area], at->port),
        .unit = vly_power_of_two(-q),
        .share = 1.0,
        .worst = off,
        .is_normal = at->kind == VLY_STIMULUS_NORMAL,
    };
    return true;
}

/* A piece of a list whose weight the piece before it has too. */
static bool is_repeated(const vly_connectome *connectome, uint32_t s)
{
    const vly_connectome_stimulus *at = &connectome->stimuli[s];
    return s > 0 && at->listed && strcmp(at[-1].id, at->id) == 0 &&
           at[-1].area == at->area && at[-1].weight == at->weight &&
           at[-1].mean == at->mean && at[-1].sd == at->sd;
}

/* Number i of maps and stimuli together. */
static bool coarse_at(const vly_genome *genome,
                      const vly_connectome *connectome, uint32_t i,
                      coarse *found)
{
    uint32_t n = connectome->desc.n_projections;
    if (i < n)
        return coarse_map(genome, connectome, i, found);
    return !is_repeated(connectome, i - n) &&
           coarse_stimulus(genome, connectome, i - n, found);
}

static uint32_t count_all(const vly_connectome *connectome)
{
    return connectome->desc.n_projections + connectome->n_stimuli;
}

/* 0.012: "1.2%"; 11: "a factor of 12" */
static const char *print_off(double off, char text[32])
{
    if (off < 1.0)
        snprintf(text, 32, "%.3g%%", 100.0 * off);
    else
        snprintf(text, 32, "a factor of %.3g", 1.0 + off);
    return text;
}

static void note(const vly_genome *genome, const coarse *at)
{
    char place[VLY_PLACE_BYTES];
    char off[200] = "";
    char worst[32];
    char mean[32];
    int n = 0;
    vly_place_print(genome, at->origin, place);
    print_off(at->worst, worst);
    print_off(at->mean, mean);
    if (at->is_normal)
        n = snprintf(off, sizeof off, "its mean or deviation is off by %s",
                     worst);
    else if (at->share == 1.0)
        n = snprintf(off, sizeof off, "the weight is off by %s%s", worst,
                     at->from ? " at most" : "");
    else if (at->share > 0.0)
        n = snprintf(off, sizeof off,
                     "%.3g%% of its weights may be off by more than 1%%, by %s "
                     "at most",
                     100.0 * at->share, worst);
    if (at->mean > 0.0 && (at->share != 1.0 || at->mean != at->worst))
        snprintf(off + n, sizeof off - (size_t)n, "%stheir mean is off by %s",
                 n > 0 ? "; " : "", mean);
    tool_message("note: %s%s %s (%s%s%s): %s: the unit is %.6g%s%s", place,
                 at->kind, at->name, at->from ? at->from : "",
                 at->from ? " -> " : "onto ", at->to, off, at->unit,
                 at->unit_name[0] ? " " : "", at->unit_name);
}

/* ---- rates ------------------------------------------------------------- */

/* A stimulus whose rate is off by more than 0.1%: chances of a burst are
 * multiples of 2^-32. */
typedef struct coarse_rate {
    const vly_origin *origin;
    const char *kind;
    const char *name;
    const char *to;
    double asked;
    double drawn;
    double off;
} coarse_rate;

static bool rate_at(const vly_genome *genome, const vly_connectome *connectome,
                    uint32_t s, coarse_rate *found)
{
    static const char generator[] = "generator/";
    const size_t n = sizeof generator - 1;
    const vly_connectome_stimulus *at = &connectome->stimuli[s];
    const double drawn = vly_stimulus_rate(at, genome->dt_ms);
    if (!(at->rate_hz > 0.0))
        return false;
    double off = drawn / at->rate_hz - 1.0;
    off = off < 0.0 ? -off : off;
    if (off <= VLY_COARSE_CONSTANT)
        return false;
    const bool is_area = strncmp(at->id, generator, n) == 0;
    *found = (coarse_rate){
        .origin = &genome->stimuli[s].origin,
        .kind = is_area ? "generator" : "stimulus",
        .name = is_area ? at->id + n : at->id,
        .to = genome->areas[at->area].name,
        .asked = at->rate_hz,
        .drawn = drawn,
        .off = off,
    };
    return true;
}

static void rate_notes(const vly_genome *genome,
                       const vly_connectome *connectome)
{
    uint32_t n = 0;
    coarse_rate at;
    char place[VLY_PLACE_BYTES];
    char off[32];
    for (uint32_t s = 0; s < connectome->n_stimuli; s++) {
        if (!rate_at(genome, connectome, s, &at) || n++ >= NOTES_MAX)
            continue;
        vly_place_print(genome, at.origin, place);
        tool_message("note: %s%s %s (onto %s): the rate is off by %s: asked "
                     "%.6g/s, drawn %.6g/s: the unit is %.6g/s, a chance of "
                     "2^-32 a burst",
                     place, at.kind, at.name, at.to, print_off(at.off, off),
                     at.asked, at.drawn, 1000.0 / 4294967296.0 / genome->dt_ms);
    }
    if (n > NOTES_MAX)
        tool_message("note: %u more of the kind", n - NOTES_MAX);
}

static void rate_notes_print(const vly_genome *genome,
                             const vly_connectome *connectome)
{
    uint32_t n = 0;
    coarse_rate found;
    coarse_rate worst = {0};
    char off[32];
    for (uint32_t s = 0; s < connectome->n_stimuli; s++) {
        if (!rate_at(genome, connectome, s, &found))
            continue;
        n++;
        worst = found.off > worst.off ? found : worst;
    }
    if (n > 0)
        tool_print("coarse rates      of %u %s, off by %s at most (%s %s)\n", n,
                   n == 1 ? "stimulus" : "stimuli", print_off(worst.off, off),
                   worst.kind, worst.name);
}

static void rate_notes_json(const vly_genome *genome,
                            const vly_connectome *connectome, json_writer *json)
{
    coarse_rate found;
    json_array(json, "coarse_rates");
    for (uint32_t s = 0; s < connectome->n_stimuli; s++) {
        if (!rate_at(genome, connectome, s, &found))
            continue;
        json_object(json, NULL);
        json_text(json, found.kind, found.name);
        json_text(json, "to", found.to);
        json_number(json, "rate_hz", found.asked);
        json_number(json, "drawn_hz", found.drawn);
        json_number(json, "off", found.off);
        json_object_end(json);
    }
    json_array_end(json);
}

/* ---- all --------------------------------------------------------------- */

void weight_notes(const vly_genome *genome, const vly_connectome *connectome)
{
    uint32_t n = 0;
    coarse found;
    rate_notes(genome, connectome);
    for (uint32_t i = 0; i < count_all(connectome); i++)
        if (coarse_at(genome, connectome, i, &found) && n++ < NOTES_MAX)
            note(genome, &found);
    if (n > NOTES_MAX)
        tool_message("note: %u more of the kind", n - NOTES_MAX);
    learning_notes(genome, connectome);
}

void weight_notes_print(const vly_genome *genome,
                        const vly_connectome *connectome)
{
    uint32_t n = 0;
    coarse found;
    coarse worst = {0};
    char off[32];
    rate_notes_print(genome, connectome);
    for (uint32_t i = 0; i < count_all(connectome); i++) {
        if (!coarse_at(genome, connectome, i, &found))
            continue;
        n++;
        if (found.worst < found.mean)
            found.worst = found.mean;
        worst = found.worst > worst.worst ? found : worst;
    }
    if (n > 0)
        tool_print("coarse weights    of %u %s, off by %s at most (%s %s)\n", n,
                   n == 1 ? "map or stimulus" : "maps or stimuli",
                   print_off(worst.worst, off), worst.kind, worst.name);
}

void weight_notes_json(const vly_genome *genome,
                       const vly_connectome *connectome, json_writer *json)
{
    coarse found;
    rate_notes_json(genome, connectome, json);
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
        json_number(json, "mean_off", found.mean);
        json_object_end(json);
    }
    json_array_end(json);
}

void weight_worst_print(const vly_genome *genome,
                        const vly_connectome *connectome)
{
    const vly_connectome_projection *worst = NULL;
    const char *noise = NULL;
    double most = 0.0;
    for (uint32_t p = 0; p < connectome->desc.n_projections; p++) {
        const vly_connectome_projection *at = &connectome->projections[p];
        if (!worst || at->worst_rounding > most) {
            worst = at;
            most = at->worst_rounding;
        }
    }
    for (uint32_t s = 0; s < connectome->n_stimuli; s++) {
        const vly_connectome_stimulus *at = &connectome->stimuli[s];
        double off = vly_stimulus_rounding(
            at, genome->dt_ms, connectome->areas[at->area].q[at->port]);
        if (off > most) {
            noise = at->id;
            most = off;
        }
    }
    if (noise) {
        tool_print("rounding      at most %.2g%%, of stimulus %s\n",
                   100.0 * most, noise);
    } else if (worst) {
        const vly_pair *pair = &genome->pairs[worst->pair];
        tool_print("rounding      at most %.2g%%, of map %s (%s -> %s): of a "
                   "constant weight, a mean or a file's weight\n",
                   100.0 * most, pair->map, genome->areas[pair->from].name,
                   genome->areas[pair->to].name);
    }
}
