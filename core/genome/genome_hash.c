/* SPDX-License-Identifier: Apache-2.0
 * The hash of a genome: over a canonical byte sequence of everything that can
 * change a spike. It does not include title, origins, formatting, names of
 * models, recordings and the length of the run. It includes ids and names,
 * because they are keys of the random streams.
 */
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "genome/genome_resolve.h"
#include "genome/spike_source.h"

static void put_u64(vly_text *text, uint64_t word)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(word >> (8 * i));
    vly_text_bytes(text, bytes, sizeof(bytes));
}

static uint64_t word_of(double number)
{
    uint64_t word;
    number = number + 0.0; /* -0 and 0 are the same value */
    memcpy(&word, &number, sizeof(word));
    return word;
}

static void put_double(vly_text *text, double number)
{
    put_u64(text, word_of(number));
}

static void put_string(vly_text *text, const char *string)
{
    size_t n = strlen(string);
    put_u64(text, n);
    vly_text_bytes(text, string, n);
}

static void put_value(vly_text *text, const vly_value *value)
{
    put_u64(text, (uint64_t)value->kind);
    put_double(text, value->a);
    put_double(text, value->b);
    put_u64(text, value->clipped);
    put_double(text, value->clipped ? value->clip_lo : 0);
    put_double(text, value->clipped ? value->clip_hi : 0);
    if (value->kind == VLY_VALUE_DRAW) {
        put_double(text, value->base);
        put_double(text, value->scale);
        put_double(text, value->power);
        put_string(text, value->draw);
    }
    put_u64(text, value->n_array);
    for (uint32_t i = 0; i < value->n_array; i++)
        put_double(text, value->array[i]);
    if (value->kind == VLY_VALUE_MIXTURE)
        put_u64(text, value->n_parts);
    for (uint32_t i = 0; i < value->n_parts; i++) {
        put_value(text, &value->parts[i]);
        put_double(text, value->shares[i]);
    }
}

static void put_area(vly_text *text, const vly_area *area)
{
    const vly_model_info *model = area->model;
    put_string(text, area->name);
    put_string(text, model->id);
    if (model->user)
        put_string(text, vly_model_definition(model));
    put_u64(text, area->n_neurons);
    put_u64(text, area->has_voxels);
    for (int i = 0; i < 3; i++)
        put_u64(text, area->voxels[i]);
    put_u64(text, area->neurons_per_voxel);
    for (int i = 0; i < 3; i++)
        put_double(text, area->at[i]);
    for (int i = 0; i < 3 && area->has_positions; i++)
        put_value(text, &area->positions[i]);
    for (uint32_t i = 0; i < model->n_params; i++)
        put_value(text, &area->params[i]);
    for (uint32_t i = 0; i < model->n_fields; i++) {
        bool given = area->fields[i].origin.kind != VLY_ORIGIN_DEFAULT;
        put_u64(text, given);
        if (given)
            put_value(text, &area->fields[i]);
    }
}

/* Members that came with later rules: pairs of earlier rules keep their bytes.
 */
static void put_shape(vly_text *text, const vly_pair *pair)
{
    if (vly_rules[pair->rule].size == VLY_SIZE_OUT_DEGREE)
        put_u64(text, pair->out_degree);
    if (pair->degree.kind != VLY_VALUE_NUMBER)
        put_value(text, &pair->degree);
    if (pair->rule == VLY_RULE_COMPOSITE) {
        put_u64(text, (uint64_t)pair->mapper);
        for (int i = 0; i < 3; i++) {
            put_u64(text, pair->tiles.seed[i]);
            put_u64(text, pair->tiles.choose[i]);
            put_u64(text, pair->tiles.skip[i]);
        }
    }
    if (pair->n_patterns)
        put_u64(text, pair->n_patterns);
    for (uint32_t i = 0; i < pair->n_patterns; i++)
        for (int j = 0; j < 3; j++) {
            put_u64(text, (uint64_t)(int64_t)pair->patterns[i].from[j]);
            put_u64(text, (uint64_t)(int64_t)pair->patterns[i].to[j]);
        }
}

/* In blocks, so that the hash stays in registers. */
static void hash_edges(vly_hasher *hasher, const vly_edge_list *edges)
{
    enum { MOST = 3, ROOM = 256 * MOST }; /* words of an edge, of a block */
    uint64_t words[ROOM];
    size_t n = 0;
    vly_hasher_word(hasher, edges->n);
    vly_hasher_word(hasher, edges->weight ? 1 : 0);
    vly_hasher_word(hasher, edges->delay ? 1 : 0);
    for (uint64_t i = 0; i < edges->n; i++) {
        words[n++] = (uint64_t)edges->source[i] << 32 | edges->target[i];
        if (edges->weight)
            words[n++] = word_of(edges->weight[i]);
        if (edges->delay)
            words[n++] = edges->delay[i];
        if (n + MOST > ROOM) {
            vly_hasher_words(hasher, words, n);
            n = 0;
        }
    }
    vly_hasher_words(hasher, words, n);
}

static void put_space(vly_text *text, const vly_space *space)
{
    const double numbers[] = {
        space->length,        space->amplitude, space->cutoff,
        space->lo[0],         space->lo[1],     space->lo[2],
        space->hi[0],         space->hi[1],     space->hi[2],
        space->inner,         space->outer,     space->weight_slope,
        space->period[0],     space->period[1], space->period[2],
        space->delay_slope_ms};
    put_u64(text, (uint64_t)space->draw);
    put_u64(text, space->degree);
    put_u64(text, (uint64_t)space->kernel);
    put_u64(text, (uint64_t)space->mask);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        put_double(text, numbers[i]);
}

/* Only for pairs that learn: all others keep their bytes. */
static void put_plasticity(vly_text *text, const vly_plasticity *plasticity)
{
    put_string(text, "plasticity");
    put_string(text, plasticity->info->id);
    if (plasticity->info->user)
        put_string(text, vly_plasticity_definition(plasticity->info));
    put_double(text, plasticity->w_max);
    for (uint32_t i = 0; i < plasticity->info->n_params; i++)
        put_double(text, plasticity->params[i]);
    put_u64(text, plasticity->dendritic);
    put_u64(text, plasticity->nearest);
    put_u64(text, plasticity->frozen);
    if (plasticity->info->modulated)
        put_u64(text, plasticity->modulator);
}

static void put_end(vly_text *text, const vly_end *end)
{
    put_u64(text, end->n_parts);
    for (uint32_t i = 0; i < end->n_parts; i++) {
        put_u64(text, end->parts[i].area);
        put_u64(text, end->parts[i].first);
        put_u64(text, end->parts[i].n);
    }
}

/* Only for pairs of pools: all others keep their bytes. */
static void put_pool(vly_text *text, const vly_pair *pair)
{
    put_string(text, "pool");
    put_end(text, &pair->pool->from);
    put_end(text, &pair->pool->to);
    put_u64(text, pair->from_part);
    put_u64(text, pair->to_part);
}

static void put_pair(vly_text *text, const vly_pair *pair)
{
    put_string(text, pair->stream);
    put_u64(text, pair->from);
    put_u64(text, pair->to);
    put_u64(text, (uint64_t)pair->rule);
    put_double(text, vly_rules[pair->rule].size == VLY_SIZE_P ? pair->p : 0);
    put_u64(text, pair->count);
    put_u64(text, pair->in_degree);
    put_u64(text, pair->self);
    put_u64(text, pair->multiple);
    put_u64(text, pair->n_vectors);
    for (uint32_t i = 0; i < pair->n_vectors; i++)
        for (int j = 0; j < 3; j++)
            put_u64(text, (uint64_t)(int64_t)pair->vectors[i][j]);
    put_shape(text, pair);
    put_value(text, &pair->weight);
    put_value(text, &pair->delay_ms);
    put_u64(text, pair->port);
    if (pair->rule == VLY_RULE_DISTANCE)
        put_space(text, &pair->space);
    if (pair->plasticity)
        put_plasticity(text, pair->plasticity);
    if (pair->short_term)
        put_plasticity(text, pair->short_term);
    if (pair->pool)
        put_pool(text, pair);
}

static void put_stimulus(vly_text *text, const vly_stimulus *stimulus)
{
    put_string(text, stimulus->stream);
    put_u64(text, (uint64_t)stimulus->kind);
    put_u64(text, stimulus->to);
    put_u64(text, stimulus->first);
    put_u64(text, stimulus->n_neurons);
    put_u64(text, stimulus->port);
    put_double(text, stimulus->rate_hz);
    put_double(text, stimulus->weight);
    put_double(text, stimulus->mean);
    put_double(text, stimulus->sd);
    put_u64(text, stimulus->start);
    put_u64(text, stimulus->stop);
    put_u64(text, stimulus->n_spikes);
}

static void put_memory(vly_text *text, const vly_memory_rule *memory)
{
    put_string(text, "memory");
    put_u64(text, memory->area);
    put_u64(text, memory->n_sources);
    for (uint32_t i = 0; i < memory->n_sources; i++) {
        put_u64(text, memory->sources[i].area);
        put_u64(text, memory->sources[i].twin);
    }
    put_u64(text, memory->temporal_depth);
    put_u64(text, memory->init_lifespan);
    put_u64(text, memory->lifespan_growth_rate);
    put_u64(text, memory->longterm_mem_threshold);
}

static void put_association(vly_text *text, const vly_association *of)
{
    put_string(text, "association");
    put_u64(text, of->from);
    put_u64(text, of->to);
    put_u64(text, of->window);
    put_u64(text, of->up);
    put_u64(text, of->down);
    put_u64(text, of->inhibitory);
}

static bool put_spike(void *context, uint64_t burst, uint32_t neuron)
{
    vly_hasher_word(context, burst);
    vly_hasher_word(context, neuron);
    return true;
}

/* One entry at a time, chained. */
static void chain(vly_genome *genome, vly_text *text)
{
    genome->hash = vly_hash_bytes(genome->hash, text->data, text->n);
    text->n = 0;
}

/* The same for a pair: its edges are not written one by one. */
static void chain_pair(vly_genome *genome, const vly_pair *pair, vly_text *text)
{
    vly_hasher hasher = {.hash = genome->hash};
    vly_hasher_bytes(&hasher, text->data, text->n);
    if (pair->edges)
        hash_edges(&hasher, pair->edges);
    genome->hash = vly_hasher_end(&hasher);
    text->n = 0;
}

/* The same for a stimulus: its spikes are not written one by one. */
static void chain_spikes(vly_genome *genome, const vly_stimulus *stimulus,
                         vly_text *text)
{
    vly_hasher hasher = {.hash = genome->hash};
    vly_hasher_bytes(&hasher, text->data, text->n);
    (void)vly_spikes_walk(genome, stimulus, put_spike, &hasher);
    genome->hash = vly_hasher_end(&hasher);
    text->n = 0;
}

vly_status vly_genome_make_hash(vly_genome *genome)
{
    vly_text text = {0};
    memset(&genome->hash, 0, sizeof(genome->hash));
    put_string(&text, "volley genome 1");
    put_double(&text, genome->dt_ms);
    put_u64(&text, genome->seed_network);
    put_u64(&text, genome->seed_state);
    put_u64(&text, genome->seed_input);
    put_u64(&text, genome->n_areas);
    put_u64(&text, genome->n_pairs);
    put_u64(&text, genome->n_stimuli);
    chain(genome, &text);
    for (uint32_t i = 0; i < genome->n_areas; i++) {
        put_area(&text, &genome->areas[i]);
        chain(genome, &text);
    }
    for (uint32_t i = 0; i < genome->n_pairs; i++) {
        put_pair(&text, &genome->pairs[i]);
        chain_pair(genome, &genome->pairs[i], &text);
    }
    for (uint32_t i = 0; i < genome->n_stimuli; i++) {
        put_stimulus(&text, &genome->stimuli[i]);
        chain_spikes(genome, &genome->stimuli[i], &text);
    }
    for (uint32_t i = 0; i < genome->n_memories; i++) {
        put_memory(&text, &genome->memories[i]);
        chain(genome, &text);
    }
    for (uint32_t i = 0; i < genome->n_associations; i++) {
        put_association(&text, &genome->associations[i]);
        chain(genome, &text);
    }
    vly_free(text.data);
    return text.failed ? VLY_E_NOMEM : VLY_OK;
}
