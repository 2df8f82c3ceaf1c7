/* SPDX-License-Identifier: Apache-2.0
 * Plasticity of FEAGI's mappings. feagi-core takes a plastic rule only with
 * plasticity_constant, ltp_multiplier, ltd_multiplier and plasticity_window;
 * the files of the older engine have lists that stop before the window, or
 * after the flag. What they lack is what the older engine has.
 * Source: feagi-core 0.0.1-beta.18, crates/feagi-brain-development
 * (connectome_manager.rs) and crates/feagi-evolutionary
 * (converter_flat_full.rs); the older engine, src/mem/memory.py.
 */
#include "tools/feagi/feagi_plastic.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "tools/cli/tool.h"

enum { QUEUE_DEPTH = 3, WINDOW_MOST = 1 << 24, NUMBER_MOST = 1000000000 };

/* One of the numbers of a rule. */
typedef struct part {
    const char *name;
    const feagi_value *value; /* NULL: not given */
    int32_t init;
    int32_t lo;
    int32_t hi;
} part;

/* The window of the older engine: how many bursts its queue is long. */
static int32_t queue_depth(feagi_genome *genome, bool used)
{
    const feagi_value *physiology = feagi_json_get(genome->root, "physiology");
    const feagi_value *depth =
        physiology && physiology->kind == FEAGI_OBJECT
            ? feagi_json_get(physiology, "plasticity_queue_depth")
            : NULL;
    if (depth && depth->kind == FEAGI_NUMBER && depth->number >= 1 &&
        depth->number <= WINDOW_MOST &&
        vly_floor(depth->number) >= depth->number) {
        genome->queue_used = genome->queue_used || used;
        return (int32_t)depth->number;
    }
    return QUEUE_DEPTH;
}

/* fits: the number is one that feagi-core would take. */
static vly_status read_part(feagi_genome *genome, const char *where,
                            const char *subject, const part *of, int32_t *out,
                            bool *fits, vly_error *error)
{
    char place[FEAGI_PATH_SIZE + 160];
    *out = of->init;
    if (!of->value)
        return feagi_report_add(&genome->report, FEAGI_ASSUMED, subject, error,
                                "plastic without %s, which feagi-core refuses: "
                                "%d, as in the older engine",
                                of->name, (int)of->init);
    snprintf(place, sizeof(place), "%.260s.%.40s", where, of->name);
    if (of->value->kind != FEAGI_NUMBER)
        return feagi_wrong(genome, place, of->value, error, "a number");
    double x = of->value->number;
    if (x >= of->lo && x <= of->hi && !(vly_floor(x) < x)) {
        *out = (int32_t)x;
        return VLY_OK;
    }
    *fits = false;
    return feagi_report_add(&genome->report, FEAGI_LEFT_OUT, subject, error,
                            "%s %s: feagi-core refuses it, wanted a whole "
                            "number from %d to %d; its synapses keep their "
                            "weight",
                            of->name, tool_number_text(x), (int)of->lo,
                            (int)of->hi);
}

vly_status feagi_plastic_read(feagi_genome *genome, const char *where,
                              const char *subject,
                              const feagi_plastic_values *from,
                              feagi_plastic *out, vly_error *error)
{
    const bool is_on = from->flag && from->flag->number > 0;
    const int32_t depth = queue_depth(genome, is_on && !from->window);
    const part parts[] = {
        {"plasticity_constant", from->constant, 1, -NUMBER_MOST, NUMBER_MOST},
        {"ltp_multiplier", from->ltp, 1, -NUMBER_MOST, NUMBER_MOST},
        {"ltd_multiplier", from->ltd, 1, -NUMBER_MOST, NUMBER_MOST},
        {"plasticity_window", from->window, depth, 1, WINDOW_MOST}};
    feagi_plastic made = {.is_on = true};
    int32_t *const to[] = {&made.constant, &made.ltp, &made.ltd, &made.window};
    bool fits = true;
    vly_status status = VLY_OK;
    if (!is_on)
        return VLY_OK;
    for (int i = 0; i < 4 && status == VLY_OK; i++)
        status =
            read_part(genome, where, subject, &parts[i], to[i], &fits, error);
    if (status == VLY_OK && from->frozen && from->frozen->kind == FEAGI_BOOL)
        made.frozen = from->frozen->number > 0;
    if (status == VLY_OK && fits)
        *out = made;
    return status;
}

vly_status feagi_plastic_share(feagi_genome *genome, uint32_t first,
                               const feagi_plastic *last, const char *subject,
                               vly_error *error)
{
    bool others = false;
    if (!last->is_on)
        return VLY_OK;
    for (uint32_t i = first; i < genome->n_maps; i++) {
        feagi_plastic *own = &genome->maps[i].plastic;
        others = others || memcmp(own, last, sizeof(*own)) != 0;
        *own = *last;
    }
    if (!others)
        return VLY_OK;
    return feagi_report_add(
        &genome->report, FEAGI_ASSUMED, subject, error,
        "the last plastic rule of these two areas drives the synapses of all "
        "their rules, plastic or not, as in feagi-core");
}

/* ---- text --------------------------------------------------------------- */

/* The bound has the sign of the weights. */
static bool same_table(const feagi_map *a, const feagi_map *b)
{
    return a->plastic.is_on && b->plastic.is_on &&
           (a->weight < 0) == (b->weight < 0) &&
           memcmp(&a->plastic, &b->plastic, sizeof(a->plastic)) == 0;
}

void feagi_plastic_number(feagi_genome *genome)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < genome->n_maps; i++) {
        uint32_t k = 0;
        if (!genome->maps[i].plastic.is_on)
            continue;
        while (k < i && !same_table(&genome->maps[k], &genome->maps[i]))
            k++;
        genome->maps[i].table = k < i ? genome->maps[k].table : ++n;
    }
}

void feagi_plastic_tables(vly_text *text, const feagi_genome *genome)
{
    uint32_t number = 0;
    for (uint32_t i = 0; i < genome->n_maps; i++) {
        const feagi_map *map = &genome->maps[i];
        const feagi_plastic *plastic = &map->plastic;
        if (map->table <= number)
            continue; /* none, or written */
        vly_text_put(text,
                     "\n[plasticity.stdp_%u]\nrule = \"feagi_stdp\"\n"
                     "w_max = %d\nplasticity_window = %d\n"
                     "plasticity_constant = %d\nltp_multiplier = %d\n"
                     "ltd_multiplier = %d\n",
                     ++number, map->weight < 0 ? -255 : 255,
                     (int)plastic->window, (int)plastic->constant,
                     (int)plastic->ltp, (int)plastic->ltd);
        if (plastic->frozen)
            vly_text_put(text, "frozen = true\n");
    }
}

void feagi_plastic_key(vly_text *text, const feagi_map *map)
{
    if (map->table)
        vly_text_put(text, "plasticity = \"stdp_%u\"\n", map->table);
}
