/* SPDX-License-Identifier: Apache-2.0
 * The difference between two nets, word by word, and its description.
 */
#include "engine/validate_detail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "connectome/learning_layout.h"
#include "engine/engine.h"

/* ---- fired sets -------------------------------------------------------- */

typedef struct fired_set {
    const uint32_t *ids;
    const uint32_t *gains;
    uint64_t n;
} fired_set;

static fired_set last_set(const vly_snapshot *snapshot)
{
    fired_set set = {0};
    if (snapshot->n_fired_bursts == 0)
        return set;
    uint64_t first = snapshot->fired_row[snapshot->n_fired_bursts - 1];
    set.ids = snapshot->fired + first;
    set.gains = snapshot->fired_gain + first;
    set.n = snapshot->fired_row[snapshot->n_fired_bursts] - first;
    return set;
}

static void note_fired(vly_validate_result *result, uint32_t id,
                       const uint32_t *const gain[2])
{
    if (result->fired_differs)
        return;
    result->fired_differs = 1;
    result->fired_neuron = id;
    for (int i = 0; i < 2; i++) {
        result->fired_in[i] = gain[i] != NULL;
        result->fired_gain[i] = gain[i] ? *gain[i] : 0;
    }
}

static void compare_fired(const vly_snapshot snapshots[2],
                          vly_validate_result *result)
{
    fired_set a = last_set(&snapshots[0]);
    fired_set b = last_set(&snapshots[1]);
    uint64_t i = 0;
    uint64_t j = 0;
    while (i < a.n || j < b.n) {
        bool in_a = j == b.n || (i < a.n && a.ids[i] <= b.ids[j]);
        bool in_b = i == a.n || (j < b.n && b.ids[j] <= a.ids[i]);
        uint32_t id = in_a ? a.ids[i] : b.ids[j];
        const uint32_t *gain[2] = {in_a ? &a.gains[i] : NULL,
                                   in_b ? &b.gains[j] : NULL};
        if (!in_a || !in_b) {
            result->n_fired_only[in_a ? 0 : 1]++;
            note_fired(result, id, gain);
        } else if (*gain[0] != *gain[1]) {
            result->n_gains++;
            note_fired(result, id, gain);
        }
        i += in_a;
        j += in_b;
    }
    result->n_fired[0] = a.n;
    result->n_fired[1] = b.n;
}

/* ---- state ------------------------------------------------------------- */

static double word_value(uint32_t type, uint32_t word)
{
    return type == VLY_TYPE_F32 ? (double)vly_float_from_bits(word)
                                : (double)word;
}

static void note_word(const vly_connectome_area *area, uint32_t field,
                      uint32_t index, uint32_t a, uint32_t b,
                      vly_validate_result *result)
{
    const vly_field_info *info = &area->model->fields[field];
    /* the lowest neuron, and its first field */
    if (result->n_words++ != 0 && result->neuron <= area->first + index)
        return;
    result->state_differs = 1;
    result->neuron = area->first + index;
    result->area = area->name;
    result->index = index;
    result->field = info->name;
    result->unit = info->unit;
    result->word[0] = a;
    result->word[1] = b;
    result->value[0] = word_value(info->type, a);
    result->value[1] = word_value(info->type, b);
}

static void compare_state(const vly_connectome *connectome,
                          const vly_snapshot snapshots[2],
                          vly_validate_result *result)
{
    uint64_t word = 0;
    for (uint32_t a = 0; a < connectome->desc.n_areas; a++) {
        const vly_connectome_area *area = &connectome->areas[a];
        for (uint32_t f = 0; f < area->model->n_fields; f++) {
            for (uint32_t i = 0; i < area->n_neurons; i++, word++) {
                uint32_t left = snapshots[0].state[word];
                uint32_t right = snapshots[1].state[word];
                if (left != right)
                    note_word(area, f, i, left, right, result);
            }
        }
    }
}

/* ---- weights ------------------------------------------------------------ */

/* What word number i of a projection is. */
static void name_weight(const vly_net_desc *desc, uint32_t p,
                        const vly_learning_layout *layout, uint64_t i,
                        vly_validate_result *result)
{
    static const char *const names[12] = {"trace x0", "age of trace x0",
                                          "trace x1", "age of trace x1",
                                          "x",        "u",
                                          "y",        "age of x, u and y",
                                          "trace y0", "age of trace y0",
                                          "trace y1", "age of trace y1"};
    const uint64_t begin[12] = {
        layout->x[0],          layout->x_age[0],       layout->x[1],
        layout->x_age[1],      layout->short_term[0],  layout->short_term[1],
        layout->short_term[2], layout->short_term_age, layout->y[0],
        layout->y_age[0],      layout->y[1],           layout->y_age[1]};
    const vly_projection_desc *map = &desc->projections[p];
    result->map = map->map;
    result->weight = "weight";
    result->synapse = i;
    bool eligible = layout->e != VLY_NO_TRACE && i >= layout->e &&
                    i - layout->e < layout->n_synapses;
    if (eligible) {
        result->weight = "eligibility";
        result->synapse = i -= layout->e;
    }
    if (i < layout->n_synapses) {
        result->source = desc->areas[map->source_area].first +
                         vly_projection_source(desc, p, i);
        result->target = map->target[i];
        return;
    }
    if (layout->modulator != VLY_NO_TRACE && i >= layout->modulator) {
        result->weight =
            i == layout->modulator ? "modulator" : "age of the modulator";
        result->synapse = 0;
        result->source = desc->areas[map->source_area].first;
        result->target = desc->areas[map->target_area].first;
        return;
    }
    for (int k = 0; k < 12; k++) {
        uint32_t n = k < 8 ? layout->n_sources : layout->n_targets;
        uint32_t area = k < 8 ? map->source_area : map->target_area;
        if (begin[k] == VLY_NO_TRACE || i < begin[k] || i - begin[k] >= n)
            continue;
        result->weight = names[k];
        result->synapse = i - begin[k];
        result->source = desc->areas[area].first + (uint32_t)result->synapse;
        result->target = result->source;
    }
}

static void compare_weights(const vly_net_desc *desc,
                            const vly_snapshot snapshots[2],
                            vly_validate_result *result)
{
    const uint32_t *a = snapshots[0].weights;
    const uint32_t *b = snapshots[1].weights;
    for (uint32_t p = 0; p < desc->n_projections; p++) {
        vly_learning_layout layout;
        vly_learning_layout_of(desc, p, &layout);
        for (uint64_t i = 0; i < layout.n_words; i++) {
            if (a[i] == b[i] || result->n_weights++ != 0)
                continue;
            result->weights_differ = 1;
            result->weight_word[0] = a[i];
            result->weight_word[1] = b[i];
            name_weight(desc, p, &layout, i, result);
        }
        if (layout.n_words == 0)
            continue;
        a += layout.n_words;
        b += layout.n_words;
    }
}

static void name_fired(const vly_connectome *connectome,
                       vly_validate_result *result)
{
    for (uint32_t a = 0; a < connectome->desc.n_areas; a++) {
        const vly_connectome_area *area = &connectome->areas[a];
        if (result->fired_neuron - area->first < area->n_neurons) {
            result->fired_area = area->name;
            result->fired_index = result->fired_neuron - area->first;
        }
    }
}

vly_status vly_validate_detail(vly_net *const pair[2],
                               vly_validate_result *result, vly_error *error)
{
    const vly_connectome *connectome = pair[0]->connectome;
    vly_state *states[2] = {NULL, NULL};
    vly_status status = VLY_OK;
    VLY_TRY(vly_net_snapshot(pair[0], &states[0], error));
    VLY_TRY(vly_net_snapshot(pair[1], &states[1], error));
    if (states[0]->snapshot.n_state_words !=
        states[1]->snapshot.n_state_words) {
        status =
            vly_fail(error, VLY_E_DEVICE,
                     "snapshots of %llu and %llu words of one connectome",
                     (unsigned long long)states[0]->snapshot.n_state_words,
                     (unsigned long long)states[1]->snapshot.n_state_words);
        goto out;
    }
    const vly_snapshot both[2] = {states[0]->snapshot, states[1]->snapshot};
    compare_fired(both, result);
    compare_state(connectome, both, result);
    if (result->fired_differs)
        name_fired(connectome, result);
    compare_weights(&connectome->desc, both, result);
    result->difference =
        result->fired_differs || result->state_differs || result->weights_differ
            ? VLY_DIFFERENCE_FOUND
            : VLY_DIFFERENCE_DIGEST;
out:
    vly_state_destroy(states[0]);
    vly_state_destroy(states[1]);
    return status;
}

/* ---- in words ---------------------------------------------------------- */

static void append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void append(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

static void fired_text(const vly_validate_result *result,
                       const char *const names[2], char *text, size_t size)
{
    append(text, size,
           "\nfired: %llu on %s, %llu on %s; %llu only on the first, %llu only "
           "on the second, %llu with other gains",
           (unsigned long long)result->n_fired[0], names[0],
           (unsigned long long)result->n_fired[1], names[1],
           (unsigned long long)result->n_fired_only[0],
           (unsigned long long)result->n_fired_only[1],
           (unsigned long long)result->n_gains);
    append(text, size, "\nfirst: neuron %u (%s[%u])", result->fired_neuron,
           result->fired_area, result->fired_index);
    for (int i = 0; i < 2; i++) {
        append(text, size, "%s %s", i == 0 ? "" : ",", names[i]);
        if (result->fired_in[i])
            append(text, size, " fired, gain 0x%08x", result->fired_gain[i]);
        else
            append(text, size, " did not fire");
    }
}

const char *vly_validate_text(const vly_validate_result *result,
                              const char *const *names, char *text, size_t size)
{
    const char *const two[2] = {names[0], names[result->other]};
    text[0] = 0;
    if (result->difference == VLY_DIFFERENCE_NONE) {
        append(text, size, "identical: %llu bursts, %llu spikes compared",
               (unsigned long long)result->bursts,
               (unsigned long long)result->spikes);
        return text;
    }
    append(text, size,
           "differs: %s and %s at burst %llu (digests %016llx and %016llx)",
           two[0], two[1], (unsigned long long)result->burst,
           (unsigned long long)result->burst_digest[0],
           (unsigned long long)result->burst_digest[1]);
    if (result->difference == VLY_DIFFERENCE_ONCE)
        append(text, size,
               "\nrun again from the state before, they were alike: one of "
               "them does not repeat itself");
    if (result->difference == VLY_DIFFERENCE_DIGEST)
        append(
            text, size,
            "\nfired sets and state are alike: a digest is computed wrongly");
    if (result->fired_differs)
        fired_text(result, two, text, size);
    if (result->state_differs)
        append(text, size,
               "\nstate: %llu words; first: neuron %u (%s[%u]) field %s: "
               "0x%08x (%.9g) on %s, 0x%08x (%.9g) on %s, %s",
               (unsigned long long)result->n_words, result->neuron,
               result->area, result->index, result->field, result->word[0],
               result->value[0], two[0], result->word[1], result->value[1],
               two[1], result->unit);
    if (result->weights_differ)
        append(text, size,
               "\nlearning: %llu words; first: map %s, %s %llu (neuron %u to "
               "%u): 0x%08x on %s, 0x%08x on %s",
               (unsigned long long)result->n_weights, result->map,
               result->weight, (unsigned long long)result->synapse,
               result->source, result->target, result->weight_word[0], two[0],
               result->weight_word[1], two[1]);
    return text;
}
