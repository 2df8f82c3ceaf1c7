/* SPDX-License-Identifier: Apache-2.0
 * Genomes built in C for the connectome's tests.
 */
#include "connectome_builder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

vly_value value_number(double a)
{
    return (vly_value){
        .kind = VLY_VALUE_NUMBER, .a = a, .origin = {.kind = VLY_ORIGIN_FILE}};
}

vly_value value_normal(double mean, double sd)
{
    return (vly_value){.kind = VLY_VALUE_NORMAL,
                       .a = mean,
                       .b = sd,
                       .origin = {.kind = VLY_ORIGIN_FILE}};
}

vly_value value_lognormal(double mean, double sd)
{
    vly_value value = value_normal(mean, sd);
    value.kind = VLY_VALUE_LOGNORMAL;
    return value;
}

vly_value value_uniform(double lo, double hi)
{
    return (vly_value){.kind = VLY_VALUE_UNIFORM,
                       .a = lo,
                       .b = hi,
                       .origin = {.kind = VLY_ORIGIN_FILE}};
}

vly_value value_clip(vly_value value, double lo, double hi)
{
    value.clipped = true;
    value.clip_lo = lo;
    value.clip_hi = hi;
    return value;
}

void builder_init(builder *b)
{
    static char path[] = "test.toml";
    static char resolved[] = "# by hand\n";
    memset(b, 0, sizeof(*b));
    b->genome.path = path;
    b->genome.resolved = resolved;
    b->genome.dt_ms = 0.1;
    b->genome.n_bursts = 100;
    b->genome.seed_network = 11;
    b->genome.seed_state = 22;
    b->genome.seed_input = 33;
    b->genome.areas = b->areas;
    b->genome.pairs = b->pairs;
    b->genome.stimuli = b->stimuli;
}

static char *name_of(builder *b, uint32_t at, int which, const char *text)
{
    char *name = b->names[at][which];
    snprintf(name, sizeof(b->names[at][which]), "%s", text);
    return name;
}

uint32_t builder_area(builder *b, const char *name, const char *model,
                      uint32_t n)
{
    uint32_t a = b->genome.n_areas++;
    vly_area *area = &b->areas[a];
    area->name = name_of(b, a, 0, name);
    area->model_name = name_of(b, a, 1, model);
    area->model = vly_model_find(model);
    area->n_neurons = n;
    area->first = b->genome.n_neurons;
    area->neurons_per_voxel = 1;
    area->params = b->params[a];
    area->fields = b->fields[a];
    for (uint32_t p = 0; p < area->model->n_params; p++)
        area->params[p] = value_number(area->model->params[p].init);
    for (uint32_t f = 0; f < area->model->n_fields; f++)
        area->fields[f] = (vly_value){.kind = VLY_VALUE_NUMBER};
    b->genome.n_neurons += n;
    return a;
}

uint32_t builder_voxels(builder *b, const char *name, const char *model,
                        uint32_t x, uint32_t y, uint32_t z, uint32_t per_voxel)
{
    uint32_t a = builder_area(b, name, model, x * y * z * per_voxel);
    b->areas[a].has_voxels = true;
    b->areas[a].voxels[0] = x;
    b->areas[a].voxels[1] = y;
    b->areas[a].voxels[2] = z;
    b->areas[a].neurons_per_voxel = per_voxel;
    return a;
}

vly_pair *builder_pair(builder *b, const char *map, uint32_t from, uint32_t to,
                       vly_rule rule)
{
    uint32_t p = b->genome.n_pairs++;
    uint32_t at = BUILDER_AREAS + p;
    vly_pair *pair = &b->pairs[p];
    char stream[40];
    snprintf(stream, sizeof(stream), "%s/%s/%s", map, b->areas[from].name,
             b->areas[to].name);
    pair->map = name_of(b, at, 0, map);
    pair->stream = name_of(b, at, 1, stream);
    pair->from = from;
    pair->to = to;
    pair->rule = rule;
    pair->self = true;
    pair->multiple = true;
    pair->weight = value_number(1.0);
    pair->delay_ms = value_number(1.0);
    pair->origin.line = 10 + p;
    pair->origin.column = 1;
    return pair;
}

vly_stimulus *builder_stimulus(builder *b, const char *id, uint32_t to,
                               vly_stimulus_kind kind)
{
    uint32_t s = b->genome.n_stimuli++;
    uint32_t at = BUILDER_AREAS + BUILDER_PAIRS + s;
    vly_stimulus *stimulus = &b->stimuli[s];
    char stream[40];
    snprintf(stream, sizeof(stream), "%s/%s", id, b->areas[to].name);
    stimulus->id = name_of(b, at, 0, id);
    stimulus->stream = name_of(b, at, 1, stream);
    stimulus->kind = kind;
    stimulus->to = to;
    stimulus->n_neurons = b->areas[to].n_neurons;
    stimulus->stop = UINT64_MAX;
    return stimulus;
}

vly_value *builder_param(builder *b, uint32_t area, const char *name)
{
    const vly_model_info *model = b->areas[area].model;
    for (uint32_t p = 0; p < model->n_params; p++)
        if (!strcmp(model->params[p].name, name))
            return &b->params[area][p];
    abort();
}

vly_value *builder_field(builder *b, uint32_t area, const char *name)
{
    const vly_model_info *model = b->areas[area].model;
    for (uint32_t f = 0; f < model->n_fields; f++)
        if (!strcmp(model->fields[f].name, name))
            return &b->fields[area][f];
    abort();
}

static void everything_areas(builder *b)
{
    static char draw[] = "r";
    static double array[20];
    builder_area(b, "E", "lif_psc_exp", 200);
    builder_area(b, "I", "lif_psc_delta", 50);
    builder_area(b, "Z", "izhikevich", 20);
    builder_voxels(b, "F", "feagi", 4, 3, 2, 2);
    builder_voxels(b, "G", "feagi", 3, 3, 3, 1);
    *builder_field(b, 0, "v_mv") = value_normal(-58.0, 10.0);
    *builder_param(b, 0, "v_th_mv") = value_uniform(-51.0, -49.0);
    *builder_param(b, 2, "c") = (vly_value){.kind = VLY_VALUE_DRAW,
                                            .base = -65.0,
                                            .scale = 15.0,
                                            .power = 2.0,
                                            .draw = draw};
    *builder_param(b, 2, "d") = (vly_value){.kind = VLY_VALUE_DRAW,
                                            .base = 8.0,
                                            .scale = -6.0,
                                            .power = 2.0,
                                            .draw = draw};
    for (int i = 0; i < 20; i++)
        array[i] = 0.2 + 0.001 * i;
    *builder_param(b, 2, "b") =
        (vly_value){.kind = VLY_VALUE_ARRAY, .array = array, .n_array = 20};
    *builder_param(b, 3, "postsynaptic_current") = value_number(3.0);
    *builder_param(b, 3, "psp_uniform_distribution") = value_number(0.0);
    *builder_param(b, 3, "firing_threshold_increment_x") = value_number(0.5);
    *builder_param(b, 4, "mp_driven_psp") = value_number(1.0);
}

static void everything_maps(builder *b)
{
    static int32_t vectors[][3] = {{0, 0, 0}, {1, 0, 0}, {-1, 1, 0},
                                   {0, 0, 1}, {1, 0, 0}, {9, 0, 0}};
    vly_pair *pair =
        builder_pair(b, "total", 0, 0, VLY_RULE_FIXED_TOTAL_NUMBER);
    pair->count = 5000;
    pair->weight = value_clip(value_normal(87.8, 8.78), 0.0, HUGE_VAL);
    pair->delay_ms = value_normal(1.5, 0.75);
    pair = builder_pair(b, "once", 0, 0, VLY_RULE_FIXED_TOTAL_NUMBER);
    pair->count = 3000;
    pair->self = false;
    pair->multiple = false;
    pair = builder_pair(b, "degree", 0, 1, VLY_RULE_FIXED_IN_DEGREE);
    pair->in_degree = 30;
    pair->weight = value_uniform(0.1, 0.2);
    pair = builder_pair(b, "floyd", 1, 1, VLY_RULE_FIXED_IN_DEGREE);
    pair->in_degree = 20;
    pair->multiple = false;
    pair->self = false;
    pair->weight = value_number(-0.4);
    pair->delay_ms = value_uniform(0.5, 2.0);
    pair = builder_pair(b, "bernoulli", 1, 0, VLY_RULE_PAIRWISE_BERNOULLI);
    pair->p = 0.1;
    pair->weight = (vly_value){.kind = VLY_VALUE_LOGNORMAL, .a = 2.0, .b = 0.5};
    pair->delay_ms =
        (vly_value){.kind = VLY_VALUE_EXPONENTIAL, .a = 1.0, .b = 0.0};
    builder_pair(b, "all", 2, 2, VLY_RULE_ALL_TO_ALL)->self = false;
    builder_pair(b, "one", 2, 2, VLY_RULE_ONE_TO_ONE)->weight =
        value_number(0.3);
    pair = builder_pair(b, "vectors", 3, 4, VLY_RULE_VECTORS);
    pair->vectors = vectors;
    pair->n_vectors = 6;
    pair->weight = value_number(40.0);
    pair = builder_pair(b, "back", 4, 3, VLY_RULE_PAIRWISE_BERNOULLI);
    pair->p = 0.3;
    pair->weight = value_uniform(-255.0, 255.0);
    pair = builder_pair(b, "mixed", 0, 3, VLY_RULE_FIXED_IN_DEGREE);
    pair->in_degree = 5;
}

static void everything_stimuli(builder *b)
{
    static uint64_t bursts[] = {3, 3, 7};
    static uint32_t neurons[] = {9, 4, 4};
    vly_stimulus *stimulus =
        builder_stimulus(b, "poisson", 0, VLY_STIMULUS_POISSON);
    stimulus->rate_hz = 12800.0;
    stimulus->weight = 87.8;
    stimulus = builder_stimulus(b, "noise", 2, VLY_STIMULUS_NORMAL);
    stimulus->sd = 5.0;
    stimulus = builder_stimulus(b, "dc", 1, VLY_STIMULUS_DC);
    stimulus->mean = 300.0;
    stimulus->n_neurons = 25;
    stimulus = builder_stimulus(b, "list", 4, VLY_STIMULUS_SPIKES);
    stimulus->weight = 2.5;
    stimulus->bursts = bursts;
    stimulus->neurons = neurons;
    stimulus->n_spikes = 3;
}

void builder_everything(builder *b)
{
    builder_init(b);
    everything_areas(b);
    everything_maps(b);
    everything_stimuli(b);
}

double chi2_limit(double n)
{
    double z = 3.719; /* upper 1e-4 of the normal distribution */
    double t = 1.0 - 2.0 / (9.0 * n) + z * sqrt(2.0 / (9.0 * n));
    return n * t * t * t;
}
