/* SPDX-License-Identifier: Apache-2.0
 * What rounding does to the changes of weights. A weight that learns is a
 * multiple of 2^-16 of its map's unit; each change is rounded to one. So a
 * change below half of that never happens, however often it is asked for.
 */
#include "tools/cli/learning_notes.h"

#include <stdio.h>
#include <string.h>

#include "connectome/connectome_work.h"
#include "kernels/rules/rule_program.h"
#include "tools/cli/columns.h"
#include "tools/cli/tool.h"

#define NOTES_MAX 20u
/* Traces this much larger show a change before it is rounded; larger changes
 * than SMALL are off by less than 1%, and those of such traces could reach the
 * bound. */
#define LARGE 4096
#define SMALL 64
/* The same of eligibilities, which begin at 0 and are up to 2^31. */
#define LARGE_ELIGIBILITY 0x1p24

void learning_print(const vly_genome *genome)
{
    if (genome->n_plasticities > 0)
        tool_print("\n%-14s %-20s %-18s %s\n", "plasticity", "rule", "weights",
                   "delay");
    for (uint32_t i = 0; i < genome->n_plasticities; i++) {
        const vly_plasticity *at = &genome->plasticities[i];
        char weights[64];
        if (at->info->short_term) {
            tool_print("%-*s %-*s %-18s %s\n", TOOL_COLUMN(at->name, 14),
                       TOOL_COLUMN(at->info->id, 20), "stay",
                       "that of the map");
            continue;
        }
        snprintf(weights, sizeof weights, "%.4g..%.4g",
                 at->w_max < 0.0 ? at->w_max : 0.0,
                 at->w_max < 0.0 ? 0.0 : at->w_max);
        tool_print("%-*s %-*s %-18s %s%s%s%s%s\n", TOOL_COLUMN(at->name, 14),
                   TOOL_COLUMN(at->info->id, 20), weights,
                   at->info->window ? "-"
                   : at->dendritic  ? "dendritic"
                                    : "axonal",
                   at->nearest ? ", nearest neighbours" : "",
                   at->frozen ? ", frozen" : "",
                   at->info->modulated ? ", modulated by " : "",
                   !at->info->modulated ? ""
                   : at->modulator == VLY_NO_MODULATOR
                       ? "the host"
                       : genome->areas[at->modulator].name);
    }
}

/* A kind of change: by `post` or `pre`, with these traces of target and source
 * (1: one spike just before). */
typedef struct change {
    const char *what;
    bool is_post;
    float x;
    float y;
} change;

static const change changes[] = {
    {"a spike of the target just after one of the source", true, 1.0f, 0.0f},
    {"a spike that arrives just after one of the target", false, 0.0f, 1.0f},
    {"a spike that arrives alone", false, 0.0f, 0.0f},
};
enum { N_CHANGES = sizeof changes / sizeof changes[0] };

typedef struct learner {
    const vly_plasticity_info *info;
    uint32_t coefs[VLY_RULE_PROGRAM_WORDS];
    /* with LARGE times the parameters in units of weights */
    uint32_t large[VLY_RULE_PROGRAM_WORDS];
    int32_t m;
    double unit; /* of m */
} learner;

static bool learner_init(const vly_genome *genome,
                         const vly_connectome *connectome, uint32_t p,
                         learner *to)
{
    const vly_learning_desc *desc = connectome->desc.projections[p].learning;
    const vly_connectome_projection *at = &connectome->projections[p];
    const vly_plasticity *of = genome->pairs[at->pair].plasticity;
    double params[64];
    if (!desc || !of || of->info->n_params > 64 ||
        of->info->n_coefs > VLY_RULE_PROGRAM_WORDS ||
        of->info->window) /* steps are whole */
        return false;
    *to = (learner){.info = of->info,
                    .m = of->info->modulated ? 0 : (int32_t)(desc->most / 2),
                    .unit = at->unit * 0x1p-16};
    for (uint32_t i = 0; i < of->info->n_params; i++)
        params[i] =
            of->params[i] * (vly_plasticity_scaled(of->info, i) ? LARGE : 1);
    vly_plasticity_input input = {.params = of->params,
                                  .w_max = vly_plasticity_size(of->w_max),
                                  .unit = at->unit,
                                  .dt_ms = genome->dt_ms};
    to->unit *= vly_plasticity_scale(of->info, &input);
    input.params = params;
    memcpy(to->coefs, desc->coefs, desc->n_coefs * sizeof *desc->coefs);
    vly_plasticity_coefs(of->info, &input, to->large);
    return true;
}

static int32_t step(const learner *of, const uint32_t *coefs,
                    const change *kind, float scale)
{
    const float x[2] = {kind->x * (kind->is_post ? scale : 1.0f), kind->x};
    const float y[2] = {kind->y * (kind->is_post ? 1.0f : scale), kind->y};
    int32_t m = kind->is_post ? of->info->post(of->m, coefs, x, y)
                              : of->info->pre(of->m, coefs, x, y);
    return m - of->m;
}

/* Of a user's rule, which need not be linear in its traces: before rounding. */
static double users_change(const learner *of, const change *kind)
{
    const float x[2] = {kind->x, kind->x};
    const float y[2] = {kind->y, kind->y};
    const vly_rule_program p = vly_rule_program_of(of->coefs, kind->is_post);
    const uint32_t word = vly_rule_program_value(&p, of->m, x, y);
    float dw;
    memcpy(&dw, &word, sizeof dw);
    return (double)dw * 65536.0;
}

/* The change as asked and as stored, in units of m; false: it is not small, or
 * not off by more than 1%. */
static bool is_off(const learner *of, const change *kind, double *asked,
                   int32_t *stored)
{
    *stored = step(of, of->coefs, kind, 1.0f);
    const double large = of->info->modulated ? LARGE_ELIGIBILITY : LARGE;
    if (*stored >= SMALL || *stored <= -SMALL ||
        (!of->info->modulated && of->m < SMALL * LARGE * 2))
        return false;
    /* a change is linear in the trace, beside what an arrival alone does */
    double alone = kind->is_post ? 0.0 : step(of, of->large, &changes[2], 1.0f);
    alone /= LARGE;
    *asked = alone + (step(of, of->coefs, kind, (float)large) - alone) / large;
    if (kind == &changes[2])
        *asked = alone;
    if (of->info->user)
        *asked = users_change(of, kind);
    double off = *stored - *asked;
    double size = *asked < 0.0 ? -*asked : *asked;
    return (off < 0.0 ? -off : off) > 0.01 * size;
}

static void note(const vly_genome *genome, const vly_pair *pair,
                 const learner *of, const change *kind, double asked,
                 int32_t stored)
{
    const vly_plasticity *plasticity = pair->plasticity;
    const char *unit = genome->areas[pair->to].model->ports[pair->port].unit;
    char place[VLY_PLACE_BYTES];
    char off[64];
    double size = asked < 0.0 ? -asked : asked;
    double error = (stored - asked) / asked;
    if (stored == 0)
        snprintf(off, sizeof off, "all of it is lost");
    else
        snprintf(off, sizeof off, "it is off by %.3g%%",
                 100.0 * (error < 0.0 ? -error : error));
    vly_place_print(genome, &plasticity->origin, place);
    bool modulated = plasticity->info->modulated;
    tool_message("note: %s[plasticity.%s], map %s (%s -> %s): %s changes %s "
                 "by %.3g%s%s, but %s are multiples of %.3g: %s",
                 place, plasticity->name, pair->map,
                 genome->areas[pair->from].name, genome->areas[pair->to].name,
                 kind->what, modulated ? "an eligibility" : "a weight",
                 size * of->unit, *unit ? " " : "", unit,
                 modulated ? "eligibilities" : "weights", of->unit, off);
}

/* An event is a whole number of units of its port, also after a gain: whether
 * that of the largest weight, from a source that was silent, is off by more
 * than 1%. (tsodyks2 with another start is not looked at.) */
static bool gain_note(const vly_genome *genome,
                      const vly_connectome *connectome, uint32_t p)
{
    const vly_connectome_projection *at = &connectome->projections[p];
    const vly_projection_desc *desc = &connectome->desc.projections[p];
    const vly_pair *pair = &genome->pairs[at->pair];
    const vly_area *to = &genome->areas[pair->to];
    uint32_t port = desc->port < to->model->n_ports ? desc->port : 0;
    char place[VLY_PLACE_BYTES];
    double low = at->weight_min < 0.0 ? -at->weight_min : at->weight_min;
    double high = at->weight_max < 0.0 ? -at->weight_max : at->weight_max;
    double most = low > high ? low : high;
    if (!desc->short_term || !pair->short_term)
        return false;
    double unit =
        vly_power_of_two(-connectome->areas[desc->target_area].q[port]);
    double event = most * pair->short_term->params[0]; /* U */
    if (event == 0.0 || 0.5 * unit <= 0.01 * event)
        return false;
    vly_place_print(genome, &pair->short_term->origin, place);
    tool_message("note: %s[plasticity.%s], map %s (%s -> %s): an event after a "
                 "silence is at most %.3g %s, but events are multiples of "
                 "%.3g: it may be off by %.3g%%",
                 place, pair->short_term->name, pair->map,
                 genome->areas[pair->from].name, to->name, event,
                 to->model->ports[port].unit, unit, 50.0 * unit / event);
    return true;
}

void learning_notes(const vly_genome *genome, const vly_connectome *connectome)
{
    uint32_t n = 0;
    uint32_t n_gains = 0;
    for (uint32_t p = 0; p < connectome->desc.n_projections; p++) {
        const vly_pair *pair = &genome->pairs[connectome->projections[p].pair];
        learner at;
        if (n_gains < NOTES_MAX)
            n_gains += gain_note(genome, connectome, p);
        if (!learner_init(genome, connectome, p, &at))
            continue;
        for (int k = 0; k < N_CHANGES; k++) {
            double asked = 0.0;
            int32_t stored = 0;
            if (is_off(&at, &changes[k], &asked, &stored) && n++ < NOTES_MAX)
                note(genome, pair, &at, &changes[k], asked, stored);
        }
    }
    if (n > NOTES_MAX)
        tool_message("note: %u more of the kind", n - NOTES_MAX);
}
