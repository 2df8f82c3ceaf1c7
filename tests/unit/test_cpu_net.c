/* SPDX-License-Identifier: Apache-2.0
 * Nets and runs for the tests of a backend plugin.
 */
#include "test_cpu_net.h"

#include <stdlib.h>

#include "kernels/models/table_hash.h"

/* ---- building ---------------------------------------------------------- */

static void *get(uint64_t count, size_t size)
{
    void *memory = calloc(count > 0 ? (size_t)count : 1, size);
    assert_non_null(memory);
    return memory;
}

uint32_t test_float(float x)
{
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    return word;
}

/* splitmix64 */
uint32_t test_random(test_net *net, uint32_t below)
{
    uint64_t x = net->random += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    return (uint32_t)(((x >> 32) * below) >> 32);
}

void test_net_init(test_net *net, uint64_t seed)
{
    memset(net, 0, sizeof *net);
    net->random = seed;
    net->desc = (vly_net_desc){
        .struct_size = sizeof(vly_net_desc),
        .area_size = sizeof(vly_area_desc),
        .projection_size = sizeof(vly_projection_desc),
        .stimulus_size = sizeof(vly_stimulus_desc),
        .areas = net->areas,
        .projections = net->projections,
        .stimuli = net->stimuli,
        .seed_input = 0x123456789abcdef0u,
        .max_delay = 1,
        .feagi_q = 8,
        .dt_ms = 1.0,
    };
}

/* table_text.h must come before the table: no sorting */
/* clang-format off */
static const char text_feagi[] =
#include "kernels/models/table_text.h"
#include "kernels/models/feagi.def"
    ;
static const char text_lif_psc_delta[] =
#include "kernels/models/table_text.h"
#include "kernels/models/lif_psc_delta.def"
    ;
static const char text_lif_psc_exp[] =
#include "kernels/models/table_text.h"
#include "kernels/models/lif_psc_exp.def"
    ;
static const char text_izhikevich[] =
#include "kernels/models/table_text.h"
#include "kernels/models/izhikevich.def"
    ;
static const char text_lif_psc_exp2[] =
#include "kernels/models/table_text.h"
#include "kernels/models/lif_psc_exp2.def"
    ;
/* clang-format on */

static const struct {
    const char *id;
    const char *text;
    uint32_t flags;
    uint32_t n_ports;
    uint32_t n_fields;
    uint32_t n_coefs;
} models[] = {
    {"feagi", text_feagi, VLY_AREA_FEAGI, 1, 3, 11},
    {"lif_psc_delta", text_lif_psc_delta, 0, 1, 2, 6},
    {"lif_psc_exp", text_lif_psc_exp, 0, 1, 3, 8},
    {"izhikevich", text_izhikevich, 0, 1, 2, 7},
    {"lif_psc_exp2", text_lif_psc_exp2, 0, 2, 4, 10},
};

uint32_t test_area(test_net *net, const char *model, uint32_t n_neurons,
                   const uint32_t *coefs, int q)
{
    uint32_t m = 0;
    while (strcmp(models[m].id, model) != 0)
        m++;
    uint32_t a = net->desc.n_areas++;
    assert_true(a < NET_AREAS);
    vly_area_desc *area = &net->areas[a];
    area->name = model;
    area->model = model;
    area->model_hash = vly_model_text_hash(models[m].text);
    area->first = net->desc.n_neurons;
    area->n_neurons = n_neurons;
    area->flags = models[m].flags;
    area->n_ports = models[m].n_ports;
    area->scale[0] = 1.0f;
    for (int i = 0; i < q; i++)
        area->scale[0] *= 0.5f;
    area->scale[1] = area->scale[0];
    area->coefs = net->columns[a];
    area->n_coefs = models[m].n_coefs;
    area->n_fields = models[m].n_fields;
    for (uint32_t i = 0; i < area->n_coefs; i++) {
        net->words[a][i] = get(1, sizeof(uint32_t));
        net->words[a][i][0] = coefs[i];
        net->columns[a][i].words = net->words[a][i];
        net->columns[a][i].uniform = 1;
    }
    net->desc.n_neurons += n_neurons;
    return a;
}

void test_area_column(test_net *net, uint32_t area, uint32_t coef,
                      const uint32_t *words)
{
    uint32_t n = net->areas[area].n_neurons;
    free(net->words[area][coef]);
    net->words[area][coef] = get(n, sizeof(uint32_t));
    memcpy(net->words[area][coef], words, n * sizeof(uint32_t));
    net->columns[area][coef].words = net->words[area][coef];
    net->columns[area][coef].uniform = 0;
}

uint32_t test_projection(test_net *net, uint32_t source, uint32_t target,
                         uint32_t base_delay, uint64_t n, const uint32_t *from,
                         const uint32_t *to, const int16_t *weight,
                         const uint8_t *delay)
{
    uint32_t p = net->desc.n_projections++;
    assert_true(p < NET_PROJECTIONS);
    uint32_t n_sources = net->areas[source].n_neurons;
    uint64_t *row = get(n_sources + 1u, sizeof *row);
    uint32_t *targets = get(n, sizeof *targets);
    int16_t *weights = get(n, sizeof *weights);
    uint8_t *delays = delay != NULL ? get(n, 1) : NULL;
    vly_projection_desc *desc = &net->projections[p];
    *desc = (vly_projection_desc){.map = "map",
                                  .source_area = source,
                                  .target_area = target,
                                  .row = row,
                                  .target = targets,
                                  .weight = weights,
                                  .delay = delays,
                                  .base_delay = base_delay};
    for (uint64_t i = 0; i < n; i++)
        row[from[i] + 1]++;
    for (uint32_t k = 0; k < n_sources; k++)
        row[k + 1] += row[k];
    /* insertion keeps each row in the order of its targets */
    uint64_t *end = get(n_sources, sizeof *end);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t j = row[from[i]] + end[from[i]]++;
        uint32_t id = net->areas[target].first + to[i];
        for (; j > row[from[i]] && targets[j - 1] > id; j--) {
            targets[j] = targets[j - 1];
            weights[j] = weights[j - 1];
            if (delays != NULL)
                delays[j] = delays[j - 1];
        }
        targets[j] = id;
        weights[j] = weight[i];
        if (delays != NULL) {
            delays[j] = delay[i];
            if (delay[i] > desc->delay_max)
                desc->delay_max = delay[i];
        }
    }
    free(end);
    if ((net->areas[target].flags & VLY_AREA_FEAGI) != 0)
        desc->flags |= VLY_PROJECTION_GAIN;
    if (base_delay + desc->delay_max > net->desc.max_delay)
        net->desc.max_delay = base_delay + desc->delay_max;
    return p;
}

void test_synapse(test_net *net, uint32_t source, uint32_t from,
                  uint32_t target, uint32_t to, int16_t weight,
                  uint32_t base_delay)
{
    test_projection(net, source, target, base_delay, 1, &from, &to, &weight,
                    NULL);
}

void test_random_projection(test_net *net, uint32_t source, uint32_t target,
                            uint32_t fan, int32_t low, int32_t high,
                            uint32_t base_delay, uint32_t delay_max)
{
    uint64_t n = (uint64_t)net->areas[source].n_neurons * fan;
    uint32_t *from = get(n, sizeof *from);
    uint32_t *to = get(n, sizeof *to);
    int16_t *weight = get(n, sizeof *weight);
    uint8_t *delay = delay_max > 0 ? get(n, 1) : NULL;
    for (uint64_t i = 0; i < n; i++) {
        from[i] = (uint32_t)(i / fan);
        to[i] = test_random(net, net->areas[target].n_neurons);
        int32_t draw = (int32_t)test_random(net, (uint32_t)(high - low + 1));
        weight[i] = (int16_t)(low + draw);
        if (delay != NULL)
            delay[i] = (uint8_t)test_random(net, delay_max + 1);
    }
    test_projection(net, source, target, base_delay, n, from, to, weight,
                    delay);
    free(from);
    free(to);
    free(weight);
    free(delay);
}

void test_stimulus(test_net *net, uint32_t area, const uint32_t *thresholds,
                   uint32_t n, int32_t base, int32_t step, uint32_t flags)
{
    uint32_t i = net->desc.n_stimuli++;
    assert_true(i < NET_STIMULI);
    net->stimuli[i] = (vly_stimulus_desc){
        .thresholds = thresholds,
        .n_thresholds = n,
        .first = net->areas[area].first,
        .n_neurons = net->areas[area].n_neurons,
        .stream = 100 + i,
        .stop = UINT64_MAX,
        .base = base,
        .step = step,
        .flags = flags,
    };
}

void test_net_finish(test_net *net)
{
    vly_net_desc *desc = &net->desc;
    net->out_degree = get(desc->n_neurons, sizeof(uint32_t));
    desc->out_degree = net->out_degree;
    for (uint32_t p = 0; p < desc->n_projections; p++) {
        const vly_projection_desc *map = &net->projections[p];
        const vly_area_desc *source = &net->areas[map->source_area];
        for (uint32_t k = 0; k < source->n_neurons; k++)
            net->out_degree[source->first + k] +=
                (uint32_t)(map->row[k + 1] - map->row[k]);
        desc->n_synapses += map->row[source->n_neurons];
    }
    vly_snapshot *start = &net->start;
    start->struct_size = sizeof *start;
    for (uint32_t a = 0; a < desc->n_areas; a++)
        start->n_state_words +=
            (uint64_t)net->areas[a].n_fields * net->areas[a].n_neurons;
    start->state = get(start->n_state_words, sizeof(uint32_t));
    start->fired_row = get(1, sizeof(uint64_t));
}

void test_net_deinit(test_net *net)
{
    for (uint32_t a = 0; a < net->desc.n_areas; a++)
        for (uint32_t i = 0; i < net->areas[a].n_coefs; i++)
            free(net->words[a][i]);
    for (uint32_t p = 0; p < net->desc.n_projections; p++) {
        free((void *)(uintptr_t)net->projections[p].row);
        free((void *)(uintptr_t)net->projections[p].target);
        free((void *)(uintptr_t)net->projections[p].weight);
        free((void *)(uintptr_t)net->projections[p].delay);
    }
    free(net->out_degree);
    test_snapshot_deinit(&net->start);
}

void test_delta_coefs(uint32_t coefs[6], float p22, uint32_t t_ref)
{
    coefs[0] = test_float(p22);
    coefs[1] = 0;
    coefs[2] = 0;
    coefs[3] = test_float(1.0f);
    coefs[4] = 0;
    coefs[5] = t_ref;
}

void test_feagi_coefs(uint32_t coefs[FEAGI_COEFS])
{
    memset(coefs, 0, FEAGI_COEFS * sizeof *coefs);
    coefs[FEAGI_THRESHOLD] = test_float(1.0f);
    coefs[FEAGI_LIMIT] = test_float(1099511627776.0f);
    coefs[FEAGI_KEEP] = test_float(1.0f);
    coefs[FEAGI_FIRE_LIMIT] = 65535;
    coefs[FEAGI_EXCITABILITY] = UINT32_MAX;
    coefs[FEAGI_ACCUMULATE] = 1;
    coefs[FEAGI_PSP] = 1;
    coefs[FEAGI_UNIFORM] = 1;
}

/* ---- a random net ------------------------------------------------------ */

static const uint32_t poisson[] = {0xc0000000u, 0xf0000000u, 0xfff00000u};
static const uint32_t normal[] = {0x10000000u, 0x40000000u, 0x80000000u,
                                  0xc0000000u, 0xf0000000u};

static void random_column(test_net *net, uint32_t area, uint32_t coef,
                          float low, float high)
{
    uint32_t n = net->areas[area].n_neurons;
    uint32_t *words = get(n, sizeof *words);
    for (uint32_t i = 0; i < n; i++) {
        float share = (float)test_random(net, 1024) * (1.0f / 1024.0f);
        words[i] = test_float(low + (high - low) * share);
    }
    test_area_column(net, area, coef, words);
    free(words);
}

static uint32_t random_area(test_net *net, uint32_t kind)
{
    uint32_t n = 300 + test_random(net, 700);
    uint32_t coefs[NET_COEFS] = {0};
    uint32_t area;
    if (kind == 0) {
        test_feagi_coefs(coefs);
        coefs[FEAGI_KEEP] = test_float(0.9f);
        coefs[FEAGI_REFRACTORY] = test_random(net, 3);
        coefs[FEAGI_FIRE_LIMIT] = test_random(net, 2) ? 65535 : 3;
        coefs[FEAGI_SNOOZE] = 2;
        coefs[FEAGI_EXCITABILITY] =
            test_random(net, 2) ? UINT32_MAX : 0xc0000000u;
        coefs[FEAGI_ACCUMULATE] = test_random(net, 2);
        coefs[FEAGI_PSP] = 3;
        coefs[FEAGI_DRIVEN] = test_random(net, 2);
        coefs[FEAGI_UNIFORM] = test_random(net, 2);
        area = test_area(net, "feagi", n, coefs, 8);
        random_column(net, area, FEAGI_THRESHOLD, 0.5f, 5.0f);
    } else if (kind == 1) {
        test_delta_coefs(coefs, 0.9f, test_random(net, 4));
        area = test_area(net, "lif_psc_delta", n, coefs, 10);
        if (test_random(net, 2))
            random_column(net, area, 3, 0.5f, 2.0f);
    } else if (kind == 2) {
        const float values[7] = {0.8f, 0.9f, 0.1f, 0.01f, 0, 1.0f, 0};
        for (uint32_t i = 0; i < 7; i++)
            coefs[i] = test_float(values[i]);
        coefs[7] = 2;
        area = test_area(net, "lif_psc_exp", n, coefs, 8);
    } else {
        const float values[7] = {0.5f, 0.02f, 0.2f, -65.0f, 8.0f, 30.0f, 5.0f};
        for (uint32_t i = 0; i < 7; i++)
            coefs[i] = test_float(values[i]);
        area = test_area(net, "izhikevich", n, coefs, 5);
        random_column(net, area, 3, -65.0f, -50.0f);
        random_column(net, area, 4, 2.0f, 8.0f);
    }
    return area;
}

static void fill_state(test_net *net)
{
    uint32_t *words = net->start.state;
    for (uint32_t a = 0; a < net->desc.n_areas; a++) {
        const vly_area_desc *area = &net->areas[a];
        if (strcmp(area->model, "izhikevich") == 0)
            for (uint32_t i = 0; i < area->n_neurons; i++) {
                words[i] = test_float(-65.0f);
                words[area->n_neurons + i] = test_float(-13.0f);
            }
        words += (uint64_t)area->n_fields * area->n_neurons;
    }
}

void test_random_net(test_net *net, uint64_t seed)
{
    test_net_init(net, seed);
    for (uint32_t i = 0; i < 5; i++)
        random_area(net, i % 4);
    for (uint32_t i = 0; i < 16; i++) {
        uint32_t source = i < 5 ? i : test_random(net, 5);
        uint32_t target = i < 5 ? (i + 1) % 5 : test_random(net, 5);
        uint32_t base = 1 + test_random(net, test_random(net, 2) ? 3 : 40);
        uint32_t extra = test_random(net, 3) * test_random(net, 20);
        int32_t high = (net->areas[target].flags != 0) ? 3 : 300;
        test_random_projection(net, source, target, 1 + test_random(net, 20),
                               -high / 2, high, base, extra);
    }
    for (uint32_t a = 0; a < 5; a++) {
        int32_t unit = a == 3 ? 32 : 256;
        if (a == 1)
            test_stimulus(net, a, normal, 5, -2 * unit, unit,
                          VLY_STIMULUS_ALWAYS);
        else
            test_stimulus(net, a, poisson, 3, 0, unit, 0);
    }
    net->stimuli[2].start = 7;
    net->stimuli[2].stop = 50;
    net->stimuli[4].first += 13;
    net->stimuli[4].n_neurons -= 40;
    test_net_finish(net);
    fill_state(net);
}

/* ---- running ----------------------------------------------------------- */

vly_backend_net *test_create(const test_net *net, uint32_t n_threads,
                             const char *options, const vly_snapshot *snapshot)
{
    test_plugin_open();
    vly_error error = {.struct_size = sizeof error};
    vly_device_spec device = {.struct_size = sizeof device,
                              .n_threads = n_threads,
                              .options = options};
    vly_backend_net *made = NULL;
    assert_ok(test_backend->net_create(
                  &device, &net->desc,
                  snapshot != NULL ? snapshot : &net->start, &made, &error),
              error);
    return made;
}

void test_run_bursts(const test_net *net, vly_backend_net *made, uint64_t n,
                     const vly_input *inputs, uint64_t n_inputs, test_run *run)
{
    memset(run, 0, sizeof *run);
    uint64_t capacity = (n + 1) * net->desc.n_neurons;
    run->digests = get(n, sizeof(uint64_t));
    run->counts = get(n, sizeof(uint32_t));
    run->spikes = get(capacity, sizeof(uint32_t));
    run->gains = get(capacity, sizeof(uint32_t));
    run->run = (vly_run){.struct_size = sizeof(vly_run),
                         .flags = VLY_RUN_RECORD,
                         .n_bursts = n,
                         .inputs = inputs,
                         .n_inputs = n_inputs,
                         .digests = run->digests,
                         .spike_counts = run->counts,
                         .spikes = run->spikes,
                         .spike_gains = run->gains,
                         .spikes_capacity = capacity};
    vly_error error = {.struct_size = sizeof error};
    assert_ok(test_backend->net_run(made, &run->run, &error), error);
}

void test_run_deinit(test_run *run)
{
    free(run->digests);
    free(run->counts);
    free(run->spikes);
    free(run->gains);
}

void test_snapshot(vly_backend_net *made, vly_snapshot *snapshot)
{
    vly_error error = {.struct_size = sizeof error};
    memset(snapshot, 0, sizeof *snapshot);
    snapshot->struct_size = sizeof *snapshot;
    assert_ok(test_backend->snapshot_read(made, snapshot, &error), error);
    snapshot->state = get(snapshot->n_state_words, sizeof(uint32_t));
    snapshot->fired_row = get(snapshot->n_fired_bursts + 1u, sizeof(uint64_t));
    snapshot->fired = get(snapshot->n_fired, sizeof(uint32_t));
    snapshot->fired_gain = get(snapshot->n_fired, sizeof(uint32_t));
    assert_ok(test_backend->snapshot_read(made, snapshot, &error), error);
}

void test_snapshot_deinit(vly_snapshot *snapshot)
{
    free(snapshot->state);
    free(snapshot->fired_row);
    free(snapshot->fired);
    free(snapshot->fired_gain);
}
