/* SPDX-License-Identifier: Apache-2.0
 * Terms of the connectome's digest other than synapses: columns of neurons, and
 * records.
 */
#include "connectome/digest_terms.h"

/* ---- columns ----------------------------------------------------------- */

/* Neurons [first, last) of the area; values as bits, those of column 0 for all
 * where it is uniform. */
static void words_add(key k, uint32_t area_first, uint32_t first, uint32_t last,
                      const uint32_t *words, bool uniform, key *sum)
{
    for (uint32_t i = first; i < last; i++)
        sum_add(sum, k, area_first + i, words[uniform ? 0 : i]);
}

static void doubles_add(key k, uint32_t area_first, uint32_t first,
                        uint32_t last, const vly_param_column *column, key *sum)
{
    for (uint32_t i = first; i < last; i++) {
        uint64_t bits;
        memcpy(&bits, &column->values[column->uniform ? 0 : i], sizeof bits);
        sum_add(sum, k, area_first + i, bits);
    }
}

static uint32_t area_columns(const vly_connectome *connectome, uint32_t area)
{
    const vly_model_info *model = connectome->areas[area].model;
    return model->n_params + model->n_fields + model->n_coefs;
}

static void columns_task(void *arg, uint32_t slot, uint64_t task)
{
    const digest_item *item = arg;
    digest_work *work = item->work;
    const vly_connectome *connectome = work->connectome;
    const vly_connectome_area *area = &connectome->areas[item->index];
    const vly_model_info *model = area->model;
    uint32_t n_columns = area_columns(connectome, item->index);
    uint32_t column = (uint32_t)(task % n_columns);
    uint64_t first = task / n_columns * TASK_TERMS;
    uint64_t last = first + TASK_TERMS;
    key sum = {{0, 0}};
    (void)slot;
    last = last < area->n_neurons ? last : area->n_neurons;
    if (area->first + first < work->first)
        first = work->first - area->first;
    if (area->first + last > work->last)
        last = work->last > area->first ? work->last - area->first : 0;
    if (first >= last)
        return;
    uint32_t from = (uint32_t)first;
    uint32_t to = (uint32_t)last;
    uint32_t f = column - model->n_params;
    uint32_t c = f - model->n_fields;
    if (column < model->n_params) {
        key k = key_add(key_of(TERM_PARAM, item->index), column);
        doubles_add(k, area->first, from, to, &area->params[column], &sum);
    } else if (f < model->n_fields) {
        key k = key_add(key_of(TERM_FIELD, item->index), f);
        words_add(k, area->first, from, to,
                  connectome->start.state + item->state_word +
                      (uint64_t)f * area->n_neurons,
                  false, &sum);
    } else {
        const vly_column *coef = &connectome->desc.areas[item->index].coefs[c];
        key k = key_add(key_of(TERM_COEF, item->index), c);
        words_add(k, area->first, from, to, coef->words, coef->uniform != 0,
                  &sum);
    }
    work_add(work, sum);
}

void vly_digest_columns(digest_work *work, digest_item *made, vly_item *item)
{
    const vly_connectome_area *area = &work->connectome->areas[made->index];
    uint64_t n_blocks = (area->n_neurons + TASK_TERMS - 1) / TASK_TERMS;
    *item = (vly_item){.body = columns_task, .arg = made};
    made->state_word = work->state_words;
    work->state_words += (uint64_t)area->n_neurons * area->model->n_fields;
    if (area->first < work->last &&
        (uint64_t)area->first + area->n_neurons > work->first)
        item->n_tasks = n_blocks * area_columns(work->connectome, made->index);
}

/* ---- records ----------------------------------------------------------- */

static key key_add_text(key k, const char *text)
{
    vly_hash hash = vly_hash_text(text);
    return key_add(key_add(k, hash.lane[0]), hash.lane[1]);
}

static key key_add_f64(key k, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return key_add(k, bits);
}

static key net_key(const vly_connectome *connectome)
{
    const vly_net_desc *desc = &connectome->desc;
    key k = key_of(TERM_NET, 0);
    k = key_add(k, connectome->seed_network);
    k = key_add(k, connectome->seed_state);
    k = key_add(k, desc->seed_input);
    k = key_add_f64(k, desc->dt_ms);
    k = key_add(k, desc->n_neurons);
    k = key_add(k, desc->n_areas);
    k = key_add(k, desc->n_projections);
    k = key_add(k, connectome->n_stimuli);
    return key_add(k, desc->feagi_q);
}

static key area_key(const vly_connectome *connectome, uint32_t a)
{
    const vly_connectome_area *area = &connectome->areas[a];
    const vly_area_desc *desc = &connectome->desc.areas[a];
    key k = key_of(TERM_AREA, a);
    k = key_add_text(k, area->name);
    const char *definition = vly_model_definition(area->model);
    k = key_add_text(k, definition ? definition : area->model->id);
    k = key_add(k, area->model->table_hash);
    k = key_add(k, area->first);
    k = key_add(k, area->n_neurons);
    k = key_add(k, desc->flags);
    k = key_add(k, desc->n_ports);
    for (uint32_t port = 0; port < 2 || port < desc->n_ports; port++)
        k = key_add(k, port < desc->n_ports ? (uint64_t)(int64_t)area->q[port]
                                            : 0);
    k = key_add(k, area->has_voxels);
    for (int i = 0; i < 3; i++)
        k = key_add(k, area->voxels[i]);
    k = key_add(k, area->neurons_per_voxel);
    for (int i = 0; i < 3; i++)
        k = key_add_f64(k, area->at[i]);
    return k;
}

static key projection_key(const vly_connectome *connectome, uint32_t p)
{
    const vly_projection_desc *desc = &connectome->desc.projections[p];
    key k = key_of(TERM_PROJECTION, p);
    k = key_add_text(k, desc->map);
    k = key_add(k, desc->source_area);
    k = key_add(k, desc->target_area);
    k = key_add(k, desc->port);
    return key_add(k, desc->flags);
}

static key key_add_trace(key k, const vly_learning_trace *trace)
{
    uint32_t rate;
    memcpy(&rate, &trace->rate, sizeof rate);
    return key_add(key_add(k, rate), trace->bursts);
}

/* A rule of a user is its definition. */
static key learning_key(const vly_connectome *connectome, uint32_t p)
{
    const vly_learning_desc *learning =
        connectome->desc.projections[p].learning;
    const char *definition =
        vly_plasticity_definition(connectome->projections[p].learning->info);
    key k = key_of(TERM_LEARNING, p);
    k = key_add_text(k, definition ? definition : learning->rule);
    k = key_add(k, learning->rule_hash);
    k = key_add(k, learning->flags);
    k = key_add(k, learning->most);
    for (int i = 0; i < 2; i++)
        k = key_add_trace(k, &learning->source[i]);
    for (int i = 0; i < 2; i++)
        k = key_add_trace(k, &learning->target[i]);
    for (uint32_t c = 0; c < learning->n_coefs; c++)
        k = key_add(k, learning->coefs[c]);
    if (learning->modulator.bursts != 0) {
        k = key_add_trace(k, &learning->modulator);
        k = key_add(key_add(k, learning->interval), learning->modulator_area);
    }
    return k;
}

static key short_term_key(const vly_short_term_desc *short_term, uint32_t p)
{
    key k = key_of(TERM_LEARNING, p);
    k = key_add_text(k, short_term->rule);
    k = key_add(k, short_term->rule_hash);
    k = key_add(k, short_term->flags);
    k = key_add(k, short_term->bursts);
    for (uint32_t c = 0; c < short_term->n_coefs; c++)
        k = key_add(k, short_term->coefs[c]);
    return k;
}

static void projection_add(const vly_connectome *connectome, uint32_t p,
                           key *sum)
{
    sum_add_key(sum, projection_key(connectome, p));
    if (connectome->desc.projections[p].learning)
        sum_add_key(sum, learning_key(connectome, p));
    if (connectome->desc.projections[p].short_term)
        sum_add_key(
            sum, short_term_key(connectome->desc.projections[p].short_term, p));
}

static key stimulus_key(const vly_connectome *connectome, uint32_t s)
{
    static const vly_stimulus_desc none = {0};
    const vly_connectome_stimulus *at = &connectome->stimuli[s];
    const vly_stimulus_desc *drawn =
        at->desc_index < connectome->desc.n_stimuli
            ? &connectome->desc.stimuli[at->desc_index]
            : &none;
    key k = key_of(TERM_STIMULUS, s);
    k = key_add_text(k, at->id);
    k = key_add(k, (uint64_t)at->kind);
    k = key_add(k, at->area);
    k = key_add(k, at->first);
    k = key_add(k, at->n_neurons);
    k = key_add(k, at->port);
    k = key_add_f64(k, at->rate_hz);
    k = key_add_f64(k, at->weight);
    k = key_add_f64(k, at->mean);
    k = key_add_f64(k, at->sd);
    k = key_add(k, at->start);
    k = key_add(k, at->stop);
    k = key_add(k, drawn->stream);
    k = key_add(k, (uint64_t)(int64_t)drawn->base);
    k = key_add(k, (uint64_t)(int64_t)drawn->step);
    return key_add(k, drawn->flags);
}

static void thresholds_add(const vly_connectome *connectome, uint32_t s,
                           key *sum)
{
    uint32_t index = connectome->stimuli[s].desc_index;
    if (index >= connectome->desc.n_stimuli)
        return;
    const vly_stimulus_desc *drawn = &connectome->desc.stimuli[index];
    key k = key_of(TERM_THRESHOLD, s);
    for (uint32_t i = 0; i < drawn->n_thresholds; i++)
        sum_add(sum, k, i, drawn->thresholds[i]);
}

/* Sorted by burst and neuron: nth counts earlier inputs of the same burst and
 * neuron. */
static void inputs_add(const digest_work *work, uint32_t s, key *sum)
{
    const vly_connectome_stimulus *at = &work->connectome->stimuli[s];
    key stimulus = key_of(TERM_INPUT, s);
    key burst = {{0, 0}};
    uint64_t nth = 0;
    for (uint64_t i = 0; i < at->n_inputs; i++) {
        const vly_input *input = &at->inputs[i];
        bool again = i > 0 && input->burst == input[-1].burst;
        if (!again)
            burst = key_add(stimulus, input->burst);
        nth = again && input->neuron == input[-1].neuron ? nth + 1 : 0;
        if (holds(work, input->neuron))
            sum_add(sum, burst, input->neuron, value_of(input->value, nth));
    }
}

void vly_digest_records(digest_work *work)
{
    const vly_connectome *connectome = work->connectome;
    const vly_net_desc *desc = &connectome->desc;
    key sum = {{0, 0}};
    if (holds(work, 0))
        sum_add_key(&sum, net_key(connectome));
    for (uint32_t a = 0; a < desc->n_areas; a++)
        if (holds(work, desc->areas[a].first))
            sum_add_key(&sum, area_key(connectome, a));
    for (uint32_t p = 0; p < desc->n_projections; p++)
        if (holds(work, desc->areas[desc->projections[p].target_area].first))
            projection_add(connectome, p, &sum);
    for (uint32_t s = 0; s < connectome->n_stimuli; s++) {
        if (holds(work, desc->areas[connectome->stimuli[s].area].first)) {
            sum_add_key(&sum, stimulus_key(connectome, s));
            thresholds_add(connectome, s, &sum);
        }
        inputs_add(work, s, &sum);
    }
    work_add(work, sum);
}
