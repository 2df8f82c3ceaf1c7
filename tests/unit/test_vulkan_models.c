/* SPDX-License-Identifier: Apache-2.0
 * test_vulkan_models [NEURONS]
 * Every model's step on every Vulkan device against its step in C: 400 bursts
 * of 8,192 neurons (or as many as given, a multiple of 64) with random states
 * and parameters, driven by stimuli that start and stop, over the burst at
 * which the low half of its number is full. All words of the state, the spike
 * digests and the counts must be the same. Random numbers and digests in C are
 * those of core/base, which share no code with the shaders.
 */
#include "test_vulkan_device.h"

#include <stdlib.h>

#include "base/number.h"
#include "base/random.h"
#include "genome/model_info.h"
#include "kernels/models/model_lists.h"
#include "kernels/models/model_steps.h"
#include "test_vulkan_steps_spirv.h"
#include "volley_test.h"

#define BURSTS 400u
#define FIRST_BURST (UINT32_MAX - 150ull)
#define SEED 0x0123456789abcdefull
#define FEAGI_Q 12u
#define STIMULI 4u
#define THRESHOLDS 12u
#define FIELDS_MAX 8u
#define COEFS_MAX 32u

static uint32_t n_neurons = 8192;

#define N n_neurons
#define LOAD_F32(word) vly_float(word)
#define LOAD_U32(word) (word)
#define STORE_F32(x) vly_bits(x)
#define STORE_U32(x) (x)

#define VLY_MODEL_READ "tests/unit/test_vulkan_step.h"
#include "kernels/models/each_model.h"

enum {
#define VLY_EACH_MODEL(id) INDEX_##id,
#include "kernels/models/models.def"
    N_MODELS
};

static const struct {
    const uint32_t *words;
    size_t bytes;
} shaders[N_MODELS] = {
#define VLY_EACH_MODEL(id)                                                     \
    {test_vulkan_steps_##id##_spirv, sizeof test_vulkan_steps_##id##_spirv},
#include "kernels/models/models.def"
};

/* Of neuron_types.glsl. */
typedef struct stimulus {
    uint64_t start;
    uint64_t stop;
    uint32_t first;
    uint32_t n;
    uint32_t stream;
    uint32_t thresholds;
    uint32_t n_thresholds;
    int32_t base;
    int32_t step;
    uint32_t port;
    uint32_t always;
    uint32_t reserved;
} stimulus;
_Static_assert(sizeof(stimulus) == 56, "as in neuron_types.glsl");

/* Of test_vulkan_steps.comp. */
typedef struct push {
    uint64_t burst;
    uint32_t key_low;
    uint32_t key_high;
    uint32_t feagi_q;
    uint32_t reserved;
    uint32_t n;
    uint32_t n_bursts;
    uint32_t n_stimuli;
    float scale[2];
    uint32_t end;
} push;

typedef struct case_data {
    const vly_model_info *model;
    uint32_t index;
    uint32_t *state; /* [n_fields][N] */
    uint32_t *coefs; /* [n_coefs][N] */
    stimulus stimuli[STIMULI];
    uint32_t thresholds[THRESHOLDS];
    uint32_t *out_degree; /* [N] */
    uint64_t *digests;    /* [N] */
    uint32_t *counts;     /* [N] */
    push push;
} case_data;

/* ---- random neurons ---------------------------------------------------- */

static uint64_t drawn; /* every number of a case is the next one */

static uint32_t word(void)
{
    return vly_philox_word(0x5eed, drawn++, 0, 0);
}

static double unit(void)
{
    return word() * (1.0 / 4294967296.0);
}

/* Mostly near the default, some anywhere in the range, some at its ends: what
 * a genome may say at most. */
static double random_param(const vly_param_info *p)
{
    uint32_t kind = word() % 64;
    double x = p->init * (0.5 + unit());
    if (kind == 0)
        x = p->lo;
    else if (kind == 1)
        x = p->hi;
    else if (kind < 8)
        x = p->lo + (p->hi - p->lo) * unit() * unit() * unit();
    if (strcmp(p->unit, "bool") == 0)
        x = word() & 1u;
    else if (strcmp(p->unit, "int") == 0 || strcmp(p->unit, "bursts") == 0)
        x = word() % 4;
    return x < p->lo ? p->lo : x > p->hi ? p->hi : x;
}

static uint32_t random_field(const vly_field_info *f, double init)
{
    uint32_t kind = word() % 64;
    if (f->type == VLY_TYPE_U32)
        return kind < 48 ? 0 : word() % 8;
    double x = init + (unit() - 0.5) * (1.0 + init * init) / 64.0;
    if (kind == 0)
        x = f->lo;
    else if (kind == 1)
        x = f->hi;
    else if (kind == 2)
        x = f->lo + (f->hi - f->lo) * unit();
    else if (kind == 3) /* just above and below 2^-40 */
        x = (0.5 + unit()) / 1099511627776.0;
    return vly_float_bits(vly_float_store(x, (float)f->lo, (float)f->hi));
}

/* Until the parameters go together, as a genome's must. */
static void random_neuron(case_data *c, uint32_t i)
{
    const vly_model_info *model = c->model;
    double params[64];
    uint32_t coefs[COEFS_MAX];
    double init[FIELDS_MAX];
    vly_model_input input = {.params = params, .dt_ms = 0.1};
    if (word() % 4 == 0)
        input.dt_ms = 1.0;
    input.dc = strcmp(model->id, "izhikevich") == 0 ? 10.0 * unit() : 0.0;
    do {
        for (uint32_t k = 0; k < model->n_params; k++)
            params[k] = random_param(&model->params[k]);
    } while (model->check_of(&input) != NULL);
    model->coefs_of(&input, coefs);
    model->fields_of(&input, NULL, init);
    for (uint32_t k = 0; k < model->n_coefs; k++)
        c->coefs[(size_t)N * k + i] = coefs[k];
    for (uint32_t k = 0; k < model->n_fields; k++)
        c->state[(size_t)N * k + i] = random_field(&model->fields[k], init[k]);
}

/* One integer of an input is 1/256 of a port's unit; what makes a share of the
 * neurons fire, in whole units. */
static int32_t strength(const vly_model_info *model)
{
    const char *suffix = model->ports[0].suffix;
    return strcmp(suffix, "pa") == 0   ? 1500
           : strcmp(suffix, "ns") == 0 ? 20
           : strcmp(suffix, "mv") == 0 ? 6
           : model->flags != 0         ? 1
                                       : 4;
}

/* Four stimuli: all neurons, a part of them for a part of the time, one that
 * is an event in every burst, and one of the second port. */
static void random_stimuli(case_data *c)
{
    uint32_t last = 0x30000000u + word() % 0x10000000u;
    for (uint32_t k = 0; k < THRESHOLDS; k++) {
        c->thresholds[k] = last;
        last += (UINT32_MAX - last) / 2;
    }
    const uint32_t last_port = c->model->n_ports - 1;
    for (uint32_t j = 0; j < STIMULI; j++)
        c->stimuli[j] = (stimulus){
            .stop = UINT64_MAX,
            .n = N,
            .stream = word(),
            .n_thresholds = THRESHOLDS,
            .step = 256 * strength(c->model),
        };
    c->stimuli[1].start = FIRST_BURST + 40;
    c->stimuli[1].stop = FIRST_BURST + 300;
    c->stimuli[1].first = 1000;
    c->stimuli[1].n = N / 2 + 7;
    c->stimuli[1].thresholds = 3;
    c->stimuli[1].n_thresholds = THRESHOLDS - 3;
    c->stimuli[1].base = -37;
    c->stimuli[2].first = 3 * (N / 4);
    c->stimuli[2].n = N / 8;
    c->stimuli[2].always = 1;
    c->stimuli[2].n_thresholds = 0;
    c->stimuli[2].base = 100;
    c->stimuli[3].port = last_port;
    c->stimuli[3].step = -c->stimuli[3].step / (last_port == 0 ? 8 : 2);
}

static void *zeroed(size_t n, size_t bytes)
{
    void *made = calloc(n, bytes);
    assert_non_null(made);
    return made;
}

static void case_init(case_data *c, uint32_t index)
{
    memset(c, 0, sizeof *c);
    drawn = (uint64_t)index << 40;
    c->index = index;
    c->model = vly_model_at(index);
    assert_true(c->model->n_fields <= FIELDS_MAX);
    assert_true(c->model->n_coefs <= COEFS_MAX && c->model->n_params <= 64);
    c->state = zeroed((size_t)N * c->model->n_fields, sizeof(uint32_t));
    c->coefs = zeroed((size_t)N * c->model->n_coefs, sizeof(uint32_t));
    c->out_degree = zeroed(N, sizeof(uint32_t));
    c->digests = zeroed(N, sizeof(uint64_t));
    c->counts = zeroed(N, sizeof(uint32_t));
    for (uint32_t i = 0; i < N; i++) {
        random_neuron(c, i);
        c->out_degree[i] = word() % 1000;
    }
    random_stimuli(c);
    c->push = (push){
        .burst = FIRST_BURST,
        .key_low = (uint32_t)SEED,
        .key_high = (uint32_t)(SEED >> 32),
        .feagi_q = FEAGI_Q,
        .n = N,
        .n_bursts = BURSTS,
        .n_stimuli = STIMULI,
        .scale = {1.0f / 256, 1.0f / 256},
    };
}

static void case_deinit(case_data *c)
{
    free(c->state);
    free(c->coefs);
    free(c->out_degree);
    free(c->digests);
    free(c->counts);
}

/* ---- the same in C ----------------------------------------------------- */

/* The words of four bursts come together; the shader draws them four times. */
static uint32_t random_word(vly_philox *block, uint64_t t, uint32_t i,
                            uint32_t stream)
{
    if ((t & 3) == 0 || t == FIRST_BURST)
        *block = vly_philox_block(SEED, (uint32_t)(t >> 2), (uint32_t)(t >> 34),
                                  i, stream);
    return block->w[t & 3];
}

static uint32_t draw(const case_data *c, const stimulus *s, uint64_t t,
                     uint32_t i, uint32_t u, uint32_t *sum)
{
    uint32_t k = 0;
    if (t < s->start || t >= s->stop || i < s->first || i - s->first >= s->n)
        return 0;
    while (k < s->n_thresholds && c->thresholds[s->thresholds + k] <= u)
        k++;
    if (k == 0 && s->always == 0)
        return 0;
    sum[s->port] += (uint32_t)s->base + k * (uint32_t)s->step;
    return 1;
}

static uint32_t step(const case_data *c, uint32_t i, const uint32_t *sum,
                     uint32_t u, uint32_t *gain)
{
    uint32_t *s = c->state + i;
    const uint32_t *k = c->coefs + i;
    float in0 = (float)(int32_t)sum[0] * c->push.scale[0];
    float in1 = (float)(int32_t)sum[1] * c->push.scale[1];
    *gain = 1u << FEAGI_Q;
    switch (c->index) {
#define CASE(id)                                                               \
    case INDEX_##id:                                                           \
        return step_##id(s, k, in0, in1, 0).fired;
        VLY_ONE_PORT_MODELS(CASE)
        VLY_TWO_PORT_MODELS(CASE)
    default:
        break;
    }
    assert_int_equal(c->index, INDEX_feagi);
    vly_feagi_out o = step_feagi(s, k, in0, in1, u);
    if (o.fired != 0)
        *gain =
            vly_feagi_gain(o.psp, k[(size_t)N * 10], FEAGI_Q, c->out_degree[i]);
    return o.fired;
}

static void run_neuron(const case_data *c, uint32_t i)
{
    vly_philox blocks[STIMULI + 1];
    for (uint64_t t = FIRST_BURST; t < FIRST_BURST + BURSTS; t++) {
        uint32_t sum[2] = {0, 0};
        uint32_t any = c->model->flags == 0;
        uint32_t gain;
        for (uint32_t j = 0; j < STIMULI; j++) {
            const stimulus *s = &c->stimuli[j];
            uint32_t u = random_word(&blocks[j], t, i, s->stream);
            any |= draw(c, s, t, i, u, sum);
        }
        uint32_t u = random_word(&blocks[STIMULI], t, i, VLY_FEAGI_STREAM);
        if (any != 0 && step(c, i, sum, u, &gain) != 0) {
            c->digests[i] += vly_spike_hash(i, gain, t);
            c->counts[i]++;
        }
    }
}

/* ---- both -------------------------------------------------------------- */

static void *copy_of(const void *from, size_t bytes)
{
    void *made = zeroed(bytes, 1);
    memcpy(made, from, bytes);
    return made;
}

/* The first word that differs, with its neuron, and how many there are. */
static void compare(const case_data *c, uint32_t device, const char *what,
                    const uint32_t *found, const uint32_t *wanted, size_t n)
{
    size_t n_bad = 0;
    size_t first = 0;
    for (size_t i = n; i-- > 0;) {
        if (found[i] == wanted[i])
            continue;
        n_bad++;
        first = i;
    }
    if (n_bad > 0)
        fail_msg("%s on %s: %zu words of %s differ, the first is %zu: 0x%08x, "
                 "wanted 0x%08x",
                 c->model->id, test_vulkan_name(device), n_bad, what, first,
                 found[first], wanted[first]);
}

/* A case in which nothing or everything fires shows little. */
static void check_activity(const case_data *c)
{
    uint64_t n_spikes = 0;
    uint32_t n_fired = 0;
    uint32_t n_changing = 0;
    for (uint32_t i = 0; i < N; i++) {
        n_spikes += c->counts[i];
        n_fired += c->counts[i] > 0;
        n_changing += c->counts[i] > 0 && c->counts[i] < BURSTS / 2;
    }
    print_message("%s: %u of %u neurons fired, %llu spikes\n", c->model->id,
                  n_fired, N, (unsigned long long)n_spikes);
    assert_true(n_changing > N / 4);
}

static void run_model(uint32_t index)
{
    case_data c;
    case_init(&c, index);
    const size_t state_n = (size_t)N * c.model->n_fields;
    uint32_t *start = copy_of(c.state, state_n * sizeof(uint32_t));
    for (uint32_t i = 0; i < N; i++)
        run_neuron(&c, i);
    check_activity(&c);
    for (uint32_t device = 0; device < test_vulkan_count(); device++) {
        uint32_t *state = copy_of(start, state_n * sizeof(uint32_t));
        uint64_t *digests = zeroed(N, sizeof(uint64_t));
        uint32_t *counts = zeroed(N, sizeof(uint32_t));
        test_vulkan_job job = {
            .spirv = shaders[index].words,
            .spirv_bytes = shaders[index].bytes,
            .buffers = {{state, state_n * sizeof(uint32_t)},
                        {c.coefs, (size_t)N * c.model->n_coefs * 4},
                        {c.stimuli, sizeof c.stimuli},
                        {c.thresholds, sizeof c.thresholds},
                        {c.out_degree, N * sizeof(uint32_t)},
                        {digests, N * sizeof(uint64_t)},
                        {counts, N * sizeof(uint32_t)}},
            .n_buffers = 7,
            .push = &c.push,
            .push_bytes = offsetof(push, end),
            .n_groups = N / 64,
        };
        test_vulkan_run(device, &job);
        compare(&c, device, "the state", state, c.state, state_n);
        compare(&c, device, "the counts", counts, c.counts, N);
        compare(&c, device, "the digests", (uint32_t *)digests,
                (uint32_t *)c.digests, 2 * (size_t)N);
        free(counts);
        free(digests);
        free(state);
    }
    free(start);
    case_deinit(&c);
}

#define VLY_EACH_MODEL(id)                                                     \
    static void test_##id(void **state)                                        \
    {                                                                          \
        (void)state;                                                           \
        test_vulkan_open();                                                    \
        run_model(INDEX_##id);                                                 \
    }
#include "kernels/models/models.def"

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
#define VLY_EACH_MODEL(id) cmocka_unit_test(test_##id),
#include "kernels/models/models.def"
    };
    if (argc > 1)
        n_neurons = (uint32_t)strtoul(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
