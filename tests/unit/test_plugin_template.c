/* SPDX-License-Identifier: Apache-2.0
 * The template on nets made by hand: spikes that can be counted on paper,
 * pieces and snapshots against one run, and the backends that err on purpose.
 */
#include "plugin/registry.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "kernels/models/table_hash.h"
#include "volley_test.h"

static const char model_text[] =
#include "kernels/models/table_text.h"

#include "kernels/models/lif_psc_delta.def"
    ;

enum { N = 40, OUT = 12, BURSTS = 120, WORDS = 2 * N };

/* A random net: half of the weights negative, delays 1 to 5, Poisson input. */
typedef struct net_case {
    uint32_t coef_words[6];
    vly_column coefs[6];
    uint64_t row[N + 1];
    uint32_t target[N * OUT];
    int16_t weight[N * OUT];
    uint8_t delay[N * OUT];
    uint32_t out_degree[N];
    uint32_t thresholds[3];
    vly_area_desc area;
    vly_projection_desc projection;
    vly_stimulus_desc stimulus;
    vly_net_desc desc;
    uint32_t state[WORDS];
    uint64_t fired_row[1];
    vly_snapshot start;
} net_case;

static void case_coefs(net_case *c)
{
    static const float values[5] = {0.5f, 0.0f, 0.0f, 1.0f, 0.0f};
    for (int i = 0; i < 5; i++)
        c->coef_words[i] = vly_float_bits(values[i]);
    c->coef_words[5] = 1; /* t_ref */
    for (int i = 0; i < 6; i++)
        c->coefs[i] = (vly_column){&c->coef_words[i], 1,
                                   i < 5 ? VLY_TYPE_F32 : VLY_TYPE_U32};
}

static void case_desc(net_case *c, uint32_t n, uint64_t n_synapses)
{
    case_coefs(c);
    c->area = (vly_area_desc){
        .name = "A",
        .model = "lif_psc_delta",
        .model_hash = vly_model_text_hash(model_text),
        .n_neurons = n,
        .n_ports = 1,
        .scale = {0.0625f, 0},
        .coefs = c->coefs,
        .n_coefs = 6,
        .n_fields = 2,
    };
    c->projection = (vly_projection_desc){
        .map = "m",
        .row = c->row,
        .target = c->target,
        .weight = c->weight,
        .delay = c->delay,
        .base_delay = 1,
        .delay_max = 4,
    };
    c->desc = (vly_net_desc){
        .struct_size = sizeof(c->desc),
        .area_size = sizeof(vly_area_desc),
        .projection_size = sizeof(vly_projection_desc),
        .stimulus_size = sizeof(vly_stimulus_desc),
        .n_neurons = n,
        .n_areas = 1,
        .n_projections = 1,
        .areas = &c->area,
        .projections = &c->projection,
        .stimuli = &c->stimulus,
        .out_degree = c->out_degree,
        .n_synapses = n_synapses,
        .seed_input = 99,
        .max_delay = 5,
        .feagi_q = 16,
        .dt_ms = 1.0,
    };
    c->start = (vly_snapshot){
        .struct_size = sizeof(c->start),
        .n_state_words = (uint64_t)2 * n,
        .state = c->state,
        .fired_row = c->fired_row,
    };
}

/* 0 -> 1 after 1 burst, 1 -> 2 after 3; a spike is worth two thresholds. */
static void case_chain(net_case *c)
{
    memset(c, 0, sizeof(*c));
    case_desc(c, 3, 2);
    c->row[1] = 1;
    c->row[2] = c->row[3] = 2;
    c->target[0] = 1;
    c->target[1] = 2;
    c->weight[0] = c->weight[1] = 32;
    c->delay[1] = 2;
    c->out_degree[0] = c->out_degree[1] = 1;
}

static void case_random(net_case *c)
{
    memset(c, 0, sizeof(*c));
    case_desc(c, N, N * OUT);
    for (uint32_t i = 0; i < N * OUT; i++) {
        uint32_t word = vly_philox_word(1, i, 0, 0);
        c->target[i] = vly_below(word, N);
        c->weight[i] = (int16_t)((word & 31) - 15);
        c->delay[i] = (uint8_t)((word >> 5) % 5);
    }
    for (uint32_t i = 0; i <= N; i++)
        c->row[i] = (uint64_t)i * OUT;
    for (uint32_t i = 0; i < N; i++)
        c->out_degree[i] = OUT;
    c->thresholds[0] = 0xa0000000u;
    c->thresholds[1] = 0xd0000000u;
    c->thresholds[2] = 0xf0000000u;
    c->desc.n_stimuli = 1;
    c->stimulus = (vly_stimulus_desc){.thresholds = c->thresholds,
                                      .n_thresholds = 3,
                                      .n_neurons = N,
                                      .stream = 7,
                                      .stop = UINT64_MAX,
                                      .step = 6};
}

static vly_registry *registry;
static const vly_device_spec device = {.struct_size = sizeof(device),
                                       .n_threads = 1};

static const vly_backend *backend_of(const char *id)
{
    vly_error error = VLY_ERROR_INIT;
    const vly_backend *backend = NULL;
    assert_ok(vly_registry_backend(registry, id, &backend, &error), error);
    return backend;
}

static int group_setup(void **state)
{
    (void)state;
    setenv("VOLLEY_PLUGIN_PATH",
           VLY_TEST_PLUGIN_DIR "/template.so:" VLY_TEST_PLUGINS
                               "/erring.so:" VLY_TEST_PLUGINS "/failing.so",
           1);
    return vly_registry_create(&registry, NULL);
}

static int group_teardown(void **state)
{
    (void)state;
    vly_registry_destroy(registry);
    return 0;
}

/* What a net did and where it ended. */
typedef struct outcome {
    uint64_t digests[BURSTS];
    uint32_t counts[BURSTS];
    uint32_t spikes[BURSTS * N];
    uint32_t state[WORDS];
    uint64_t n_spikes;
    uint64_t n_events;
} outcome;

/* Adds n bursts to o, of which `done` are there. */
static vly_status run_some(const vly_backend *backend, vly_backend_net *net,
                           uint64_t n, uint64_t *done, outcome *o)
{
    vly_error error = VLY_ERROR_INIT;
    vly_run run = {.struct_size = sizeof(run),
                   .flags = VLY_RUN_RECORD,
                   .n_bursts = n,
                   .digests = o->digests + *done,
                   .spike_counts = o->counts + *done,
                   .spikes = o->spikes + o->n_spikes,
                   .spikes_capacity = N + N / 2};
    vly_status status = backend->net_run(net, &run, &error);
    *done += run.n_bursts_done;
    o->n_spikes += run.n_spikes;
    o->n_events += run.n_events;
    return status;
}

static void run_to(const vly_backend *backend, vly_backend_net *net,
                   uint64_t *done, uint64_t end, outcome *o)
{
    while (*done < end) {
        uint64_t before = *done;
        assert_int_equal(run_some(backend, net, end - *done, done, o), VLY_OK);
        assert_true(*done > before);
    }
}

static void run_case(const char *id, const char *options, const net_case *c,
                     outcome *o)
{
    const vly_backend *backend = backend_of(id);
    vly_device_spec spec = device;
    vly_error error = VLY_ERROR_INIT;
    vly_backend_net *net = NULL;
    uint64_t done = 0;
    memset(o, 0, sizeof(*o));
    spec.options = options;
    assert_ok(backend->supports(&c->desc, &error), error);
    assert_ok(backend->net_create(&spec, &c->desc, &c->start, &net, &error),
              error);
    run_to(backend, net, &done, BURSTS, o);
    for (uint32_t f = 0; f < 2; f++)
        assert_ok(backend->field_read(net, 0, f, 0, c->desc.n_neurons,
                                      o->state + f * c->desc.n_neurons, &error),
                  error);
    backend->net_destroy(net);
}

static void test_chain(void **state)
{
    (void)state;
    static net_case c;
    case_chain(&c);
    const vly_backend *backend = backend_of("template");
    vly_error error = VLY_ERROR_INIT;
    vly_backend_net *net = NULL;
    uint64_t digests[8];
    uint32_t counts[8], spikes[8], gains[8];
    const vly_input input = {.burst = 1, .value = 32};
    assert_ok(backend->net_create(&device, &c.desc, &c.start, &net, &error),
              error);
    vly_run run = {.struct_size = sizeof(run),
                   .flags = VLY_RUN_RECORD,
                   .n_bursts = 8,
                   .inputs = &input,
                   .n_inputs = 1,
                   .digests = digests,
                   .spike_counts = counts,
                   .spikes = spikes,
                   .spike_gains = gains,
                   .spikes_capacity = 8};
    assert_ok(backend->net_run(net, &run, &error), error);
    assert_int_equal(run.n_bursts_done, 8);
    static const uint32_t when[3] = {1, 2, 5}; /* 1, 1 + 1, 2 + 3 */
    assert_int_equal(run.n_spikes, 3);
    assert_int_equal(run.n_events, 2);
    assert_int_equal(run.n_candidates, 24);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(spikes[i], i);
        assert_int_equal(gains[i], 1u << 16);
        assert_int_equal(counts[when[i]], 1);
        assert_true(digests[when[i]] == vly_spike_hash(i, 1u << 16, when[i]));
    }
    assert_true(digests[0] == 0 && digests[3] == 0);
    backend->net_destroy(net);
}

static void test_snapshot(void **state)
{
    (void)state;
    static net_case c;
    static outcome whole, pieces;
    case_random(&c);
    run_case("template", NULL, &c, &whole);
    assert_true(whole.n_spikes > BURSTS); /* a silent net proves nothing */
    const vly_backend *backend = backend_of("template");
    vly_error error = VLY_ERROR_INIT;
    vly_backend_net *net = NULL;
    uint64_t done = 0;
    uint64_t live = vly_memory_live();
    static uint32_t fired[5 * N], gains[5 * N], words[WORDS];
    uint64_t rows[6];
    assert_ok(backend->net_create(&device, &c.desc, &c.start, &net, &error),
              error);
    for (uint64_t end = 1; end <= BURSTS; end += end < 8 ? 1 : 16) {
        run_to(backend, net, &done, end, &pieces);
        vly_snapshot s = {.struct_size = sizeof(s)};
        assert_ok(backend->snapshot_read(net, &s, &error), error);
        assert_int_equal(s.burst, end);
        assert_int_equal(s.n_fired_bursts, end < 5 ? end : 5);
        assert_int_equal(s.n_state_words, WORDS);
        assert_true(s.n_fired <= sizeof(fired) / sizeof(fired[0]));
        s.state = words;
        s.fired_row = rows;
        s.fired = fired;
        s.fired_gain = gains;
        assert_ok(backend->snapshot_read(net, &s, &error), error);
        backend->net_destroy(net);
        assert_ok(backend->net_create(&device, &c.desc, &s, &net, &error),
                  error);
    }
    run_to(backend, net, &done, BURSTS, &pieces);
    assert_memory_equal(pieces.digests, whole.digests, sizeof(whole.digests));
    assert_memory_equal(pieces.counts, whole.counts, sizeof(whole.counts));
    assert_memory_equal(pieces.spikes, whole.spikes, sizeof(whole.spikes));
    assert_int_equal(pieces.n_events, whole.n_events);
    assert_int_equal(whole.n_events, whole.n_spikes * OUT);
    backend->net_destroy(net);
    assert_int_equal(vly_memory_live(), live);
}

static void test_erring(void **state)
{
    (void)state;
    static net_case c;
    static outcome right, wrong;
    case_random(&c);
    run_case("template", NULL, &c, &right);
    run_case("erring", NULL, &c, &wrong);
    assert_memory_equal(&wrong, &right, sizeof(right));
    /* in the last burst: the state has one wrong bit, the spikes are right */
    run_case("erring", "at=119,neuron=17", &c, &wrong);
    assert_int_equal(wrong.state[17], right.state[17] ^ 1u);
    wrong.state[17] ^= 1u;
    assert_memory_equal(&wrong, &right, sizeof(right));
    setenv("VOLLEY_ERRING_BURST", "119", 1);
    run_case("erring", NULL, &c, &wrong);
    unsetenv("VOLLEY_ERRING_BURST");
    assert_int_equal(wrong.state[0], right.state[0] ^ 1u);
    /* in the middle: all that is counted is still there */
    run_case("erring", "at=60,neuron=3", &c, &wrong);
    assert_memory_equal(wrong.digests, right.digests, 61 * sizeof(uint64_t));
    assert_int_equal(wrong.n_events, wrong.n_spikes * OUT);
}

static void test_failing(void **state)
{
    (void)state;
    static net_case c;
    static outcome o;
    case_random(&c);
    const vly_backend *backend = backend_of("failing");
    vly_device_spec spec = device;
    vly_error error = VLY_ERROR_INIT;
    vly_backend_net *net = NULL;
    uint64_t done = 0;
    spec.options = "at=7";
    assert_ok(backend->net_create(&spec, &c.desc, &c.start, &net, &error),
              error);
    vly_status status = VLY_OK;
    while (status == VLY_OK && done < 20)
        status = run_some(backend, net, 20 - done, &done, &o);
    assert_int_equal(status, VLY_E_DEVICE);
    assert_int_equal(done, 7);
    backend->net_destroy(net);
}

static void test_supports(void **state)
{
    (void)state;
    static net_case c;
    const vly_backend *backend = backend_of("template");
    vly_error error = VLY_ERROR_INIT;
    vly_backend_net *net = NULL;
    case_random(&c);
    c.area.model = "izhikevich";
    assert_int_equal(backend->supports(&c.desc, &error), VLY_E_UNSUPPORTED);
    assert_string_equal(error.message,
                        "template runs only areas of lif_psc_delta");
    case_random(&c);
    c.area.model_hash++;
    assert_int_equal(
        backend->net_create(&device, &c.desc, &c.start, &net, &error),
        VLY_E_UNSUPPORTED);
    assert_null(net);
    case_random(&c);
    vly_memory_fail_at(1);
    assert_int_equal(
        backend->net_create(&device, &c.desc, &c.start, &net, &error),
        VLY_E_NOMEM);
    vly_device_spec second = device;
    second.index = 1;
    assert_int_equal(
        backend->net_create(&second, &c.desc, &c.start, &net, &error),
        VLY_E_DEVICE);
    assert_null(net);
}

/* Coefficients, stimuli and fields as changed between bursts; stop. */
static void test_writes(void **state)
{
    (void)state;
    static net_case c;
    static outcome o;
    case_random(&c);
    const vly_backend *backend = backend_of("template");
    vly_error error = VLY_ERROR_INIT;
    vly_backend_net *net = NULL;
    uint64_t done = 0;
    assert_ok(backend->net_create(&device, &c.desc, &c.start, &net, &error),
              error);
    vly_stimulus_desc quiet = c.stimulus;
    quiet.stop = 0;
    assert_ok(backend->stimulus_write(net, 0, &quiet, &error), error);
    run_to(backend, net, &done, 5, &o);
    assert_int_equal(o.n_spikes, 0);
    const uint32_t low = vly_float_bits(-1.0f), high = vly_float_bits(0.25f);
    const vly_column v_th = {&low, 1, VLY_TYPE_F32};
    assert_ok(backend->coef_write(net, 0, 3, &v_th, &error), error);
    assert_ok(backend->field_write(net, 0, 0, 2, 1, &high, &error), error);
    uint32_t back = 0;
    assert_ok(backend->field_read(net, 0, 0, 2, 1, &back, &error), error);
    assert_int_equal(back, high);
    run_to(backend, net, &done, 6, &o);
    assert_int_equal(o.n_spikes, N);
    const uint32_t stop = 1;
    vly_run run = {.struct_size = sizeof(run), .n_bursts = 9, .stop = &stop};
    assert_ok(backend->net_run(net, &run, &error), error);
    assert_int_equal(run.n_bursts_done, 1); /* the first is always run */
    backend->net_destroy(net);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_chain),    cmocka_unit_test(test_snapshot),
    cmocka_unit_test(test_erring),   cmocka_unit_test(test_failing),
    cmocka_unit_test(test_supports), cmocka_unit_test(test_writes),
};

int main(void)
{
    return cmocka_run_group_tests(tests, group_setup, group_teardown) ? 1 : 0;
}
