/* SPDX-License-Identifier: Apache-2.0
 * Drawn delays are rounded to whole bursts, and their distribution is cut at
 * half a burst. Both matter only if the distribution is narrow compared with a
 * burst; then a note gives mean and deviation as written and as drawn. A clip
 * in the genome counts as written.
 */
#include "tools/cli/delay_notes.h"

#include <stdio.h>

#include "base/number.h"
#include "connectome/connectome_work.h"
#include "connectome/value_law.h"
#include "tools/cli/tool.h"

#define NOTES_MAX 20u
#define MEAN_OFF 0.01
#define DEVIATION_OFF 0.2  /* reached by deviations below 0.4 bursts */
#define ASKED_STEPS 4096.0 /* of the distribution that was asked */

typedef struct moments {
    double mean;
    double deviation;
} moments;

/* Moments of a law that is rounded to multiples of unit, at least `least` of
 * them. */
static bool moments_of(const vly_law *law, double unit, double least,
                       moments *found)
{
    vly_discrete table;
    double below = 0.0;
    double squares = 0.0;
    const vly_integers range =
        vly_law_integers(law, unit, VLY_ROUND_VALUES, least);
    if (vly_discrete_init(&table, law, unit, range) != VLY_OK)
        return false;
    const double mean = vly_discrete_mean(&table);
    for (uint32_t k = 0; k <= table.n_thresholds; k++) {
        const double upto =
            k < table.n_thresholds ? (double)table.thresholds[k] : 0x1p32;
        const double from_mean = (double)table.first + (double)k - mean;
        squares += (upto - below) * 0x1p-32 * from_mean * from_mean;
        below = upto;
    }
    vly_discrete_deinit(&table);
    *found = (moments){mean * unit, vly_sqrt(squares) * unit};
    return true;
}

/* uniform = [0.5, 4.5] bursts means 1 to 4, which is what is drawn. */
static bool is_of_bursts(const vly_law *law, double dt_ms)
{
    const double lo = law->lo / dt_ms - 0.5;
    const double hi = law->hi / dt_ms - 0.5;
    const double off_lo = lo - vly_floor(lo + 0.5);
    const double off_hi = hi - vly_floor(hi + 0.5);
    return law->kind == VLY_VALUE_UNIFORM && off_lo * off_lo < 1e-12 &&
           off_hi * off_hi < 1e-12;
}

static bool is_off(double drawn, double asked, double share)
{
    const double off = drawn > asked ? drawn - asked : asked - drawn;
    return off > share * asked;
}

/* Whether the delays are worth a note, and what it has to say. */
static bool delay_coarse(const vly_value *value, double dt_ms, moments *asked,
                         moments *drawn)
{
    const char *reason = NULL;
    vly_value whole = *value;
    vly_law law, given;
    if (value->cut && value->kind == VLY_VALUE_UNIFORM)
        whole.a = value->cut_lo;
    else if (value->cut)
        whole.clip_lo = value->cut_lo;
    if (!vly_law_init(&law, value, &reason) ||
        !vly_law_init(&given, &whole, &reason) ||
        law.kind == VLY_VALUE_NUMBER || given.kind == VLY_VALUE_NUMBER ||
        !moments_of(&law, dt_ms, 1.0, drawn) ||
        !moments_of(&given, (given.hi - given.lo) / ASKED_STEPS, -1e9, asked))
        return false; /* a constant; the rest is refused when it is compiled */
    return is_off(drawn->mean, asked->mean, MEAN_OFF) ||
           (is_off(drawn->deviation, asked->deviation, DEVIATION_OFF) &&
            !is_of_bursts(&given, dt_ms));
}

static bool is_same_place(const vly_origin *a, const vly_origin *b)
{
    return a->file == b->file && a->line == b->line && a->column == b->column;
}

void delay_notes(const vly_genome *genome)
{
    const vly_origin *before = NULL;
    uint32_t n = 0;
    for (uint32_t p = 0; p < genome->n_pairs; p++) {
        const vly_value *value = &genome->pairs[p].delay_ms;
        moments asked, drawn;
        char place[VLY_PLACE_BYTES];
        if ((before && is_same_place(before, &value->origin)) ||
            !delay_coarse(value, genome->dt_ms, &asked, &drawn))
            continue;
        before = &value->origin;
        if (n++ >= NOTES_MAX)
            continue;
        vly_place_print(genome, &value->origin, place);
        tool_message("note: %sdelays of map %s: mean %.4g ms, deviation %.3g "
                     "ms as written, %.4g and %.3g ms as drawn: whole bursts "
                     "of dt_ms = %.6g, at least one",
                     place, genome->pairs[p].map, asked.mean, asked.deviation,
                     drawn.mean, drawn.deviation, genome->dt_ms);
    }
    if (n > NOTES_MAX)
        tool_message("note: %u more of the kind", n - NOTES_MAX);
}
