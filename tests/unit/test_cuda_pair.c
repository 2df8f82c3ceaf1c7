/* SPDX-License-Identifier: Apache-2.0
 * The CUDA backend beside the reference.
 */
#include "test_cuda_pair.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

/* Another plugin may take the place of cuda. */
#ifndef PAIR_DEVICE
#define PAIR_DEVICE "cuda"
#define PAIR_REQUIRED "VOLLEY_REQUIRE_GPU"
#endif

const vly_backend *pair_cpu;
const vly_backend *pair_cuda;
const vly_backend *test_backend; /* in place of test_cpu_host.c */

void test_plugin_open(void)
{
    assert_non_null(test_backend);
}

/* ---- host -------------------------------------------------------------- */

static void *host_alloc(void *context, uint64_t bytes, uint64_t align)
{
    (void)context;
    return aligned_alloc((size_t)align,
                         (size_t)((bytes + align - 1) / align * align));
}

static void host_free(void *context, void *memory)
{
    (void)context;
    free(memory);
}

static void host_log(void *context, int32_t level, const char *message)
{
    (void)context;
    (void)level;
    (void)message;
}

/* Nets of this file have one thread. */
static vly_status host_parallel_for(void *context, uint32_t n_tasks,
                                    void (*body)(void *arg, uint32_t task),
                                    void *arg)
{
    (void)context;
    if (n_tasks != 1)
        return VLY_E_NOMEM;
    body(arg, 0);
    return VLY_OK;
}

static uint64_t host_clock_ns(void *context)
{
    (void)context;
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void host_telemetry(void *context, const char *name, double value)
{
    (void)context;
    (void)name;
    (void)value;
}

static const vly_host host = {
    .struct_size = sizeof(vly_host),
    .abi_version = VLY_ABI_VERSION,
    .alloc = host_alloc,
    .free = host_free,
    .log = host_log,
    .parallel_for = host_parallel_for,
    .clock_ns = host_clock_ns,
    .telemetry = host_telemetry,
};

/* ---- plugins ----------------------------------------------------------- */

static const vly_backend *open_plugin(const char *name, vly_error *error)
{
    const char *folder = getenv("VOLLEY_PLUGIN_PATH");
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.so",
             folder != NULL ? folder : VLY_TEST_PLUGIN_DIR, name);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        fail_msg("%s", dlerror());
    const vly_plugin *plugin = dlsym(handle, VLY_PLUGIN_SYMBOL);
    assert_non_null(plugin);
    if (plugin->init(&host, error) != VLY_OK)
        return NULL;
    assert_null(plugin->get_interface("volley.nothing/1"));
    return plugin->get_interface(VLY_BACKEND_INTERFACE);
}

void pair_open(void)
{
    if (pair_cuda != NULL)
        return;
    vly_error error = {.struct_size = sizeof error};
    pair_cpu = open_plugin("cpu", &error);
    assert_non_null(pair_cpu);
    pair_cuda = open_plugin(PAIR_DEVICE, &error);
    if (pair_cuda != NULL)
        return;
    assert_int_equal(error.status, VLY_E_DEVICE);
    assert_true(strlen(error.message) > 20);
    const char *required = getenv(PAIR_REQUIRED);
    if (required != NULL && strcmp(required, "1") == 0)
        fail_msg("%s", error.message);
    print_message("skipped: %s\n", error.message);
    skip();
}

/* ---- running ----------------------------------------------------------- */

vly_backend_net *pair_create(const vly_backend *backend, const test_net *net,
                             const char *options, const vly_snapshot *snapshot)
{
    test_backend = backend;
    return test_create(net, 1, options, snapshot);
}

void pair_run(const vly_backend *backend, const test_net *net,
              vly_backend_net *made, uint64_t n, const vly_input *inputs,
              uint64_t n_inputs, test_run *run)
{
    test_backend = backend;
    test_run_bursts(net, made, n, inputs, n_inputs, run);
}

void pair_snapshot(const vly_backend *backend, vly_backend_net *made,
                   vly_snapshot *snapshot)
{
    test_backend = backend;
    test_snapshot(made, snapshot);
}

/* ---- nets -------------------------------------------------------------- */

static uint32_t plain_area(test_net *net, uint32_t kind)
{
    static const char *const models[] = {"lif_psc_delta", "lif_psc_exp",
                                         "izhikevich"};
    static const float values[3][7] = {
        {0.9f, 0, 0, 1.0f, 0, 0, 0},
        {0.8f, 0.9f, 0.1f, 0.01f, 0, 1.0f, 0},
        {0.5f, 0.02f, 0.2f, -65.0f, 8.0f, 30.0f, 5.0f}};
    uint32_t coefs[NET_COEFS] = {0};
    for (uint32_t i = 0; i < 7; i++)
        coefs[i] = test_float(values[kind][i]);
    if (kind == 0)
        coefs[5] = test_random(net, 4);
    if (kind == 1)
        coefs[7] = 2;
    uint32_t n = 300 + test_random(net, 700);
    uint32_t area = test_area(net, models[kind], n, coefs, kind == 2 ? 5 : 9);
    uint32_t column = kind == 0 ? 3 : kind == 1 ? 5 : 4;
    float low = kind == 2 ? 2.0f : 0.6f;
    uint32_t *words = calloc(n, sizeof *words);
    assert_non_null(words);
    for (uint32_t i = 0; i < n; i++)
        words[i] = test_float(low + (float)test_random(net, 512) *
                                        (kind == 2 ? 0.01f : 0.001f));
    if (test_random(net, 2))
        test_area_column(net, area, column, words);
    free(words);
    return area;
}

void pair_plain_net(test_net *net, uint64_t seed)
{
    static const uint32_t poisson[] = {0xc0000000u, 0xf0000000u, 0xfff00000u};
    static const uint32_t normal[] = {0x10000000u, 0x40000000u, 0x80000000u,
                                      0xc0000000u, 0xf0000000u};
    test_net_init(net, seed);
    for (uint32_t kind = 0; kind < 3; kind++)
        plain_area(net, (kind + (uint32_t)seed) % 3);
    for (uint32_t i = 0; i < 12; i++) {
        uint32_t base = 1 + test_random(net, 6);
        uint32_t extra = test_random(net, 2) * test_random(net, 8);
        test_random_projection(net, i % 3, test_random(net, 3),
                               1 + test_random(net, 60), -150, 300, base,
                               extra);
    }
    test_stimulus(net, 0, poisson, 3, 0, 200, 0);
    test_stimulus(net, 1, normal, 5, -400, 200, VLY_STIMULUS_ALWAYS);
    test_stimulus(net, 2, poisson, 3, 0, 150, 0);
    test_stimulus(net, 2, poisson, 2, 20, 50, 0);
    net->stimuli[3].start = 7;
    net->stimuli[3].stop = 50;
    test_net_finish(net);
    for (uint64_t i = 0; i < net->start.n_state_words; i++)
        net->start.state[i] = 0;
}

/* A map of about its strength by what the unit is divided by, 2^12: as it is
 * and shifted by 12, or times 2^6 and shifted by 6; without a shift weaker. */
static void shift_map(vly_projection_desc *map, uint64_t n, uint32_t shift,
                      int32_t times)
{
    int16_t *weights = NULL;
    memcpy(&weights, &map->weight, sizeof weights); /* the test's own */
    const int32_t factor = shift == 12 ? times : shift == 6 ? 64 : 100;
    for (uint64_t i = 0; i < n; i++)
        weights[i] = (int16_t)(weights[i] * factor);
    map->shift = shift;
}

void pair_shifted_net(test_net *net, uint64_t seed)
{
    pair_plain_net(net, seed);
    pair_shift_maps(net, seed);
}

void pair_shift_maps(test_net *net, uint64_t seed)
{
    for (uint32_t i = 0; i < net->desc.n_projections; i++) {
        vly_projection_desc *map = &net->projections[i];
        const uint32_t only = (uint32_t)(seed % 3) * 6;
        const uint32_t shift = i % 4 % 3 * 6;
        shift_map(map, map->row[net->areas[map->source_area].n_neurons],
                  only == 0 || shift == 0 ? shift : only, i % 5 == 0 ? 100 : 1);
    }
    for (uint32_t a = 0; a < net->desc.n_areas; a++)
        net->areas[a].scale[0] /= 4096.0f;
    for (uint32_t i = 0; i < net->desc.n_stimuli; i++) {
        net->stimuli[i].base *= 4096;
        net->stimuli[i].step *= 4096;
    }
}

/* ---- comparing --------------------------------------------------------- */

void pair_assert_run(const test_run *a, const test_run *b)
{
    assert_int_equal(a->run.n_bursts_done, b->run.n_bursts_done);
    for (uint64_t t = 0; t < a->run.n_bursts_done; t++)
        if (a->digests[t] != b->digests[t] || a->counts[t] != b->counts[t])
            fail_msg("burst %llu of the run: %u spikes, digest %016llx; %u, "
                     "%016llx",
                     (unsigned long long)t, a->counts[t],
                     (unsigned long long)a->digests[t], b->counts[t],
                     (unsigned long long)b->digests[t]);
    assert_int_equal(a->run.n_spikes, b->run.n_spikes);
    assert_int_equal(a->run.n_events, b->run.n_events);
    assert_int_equal(a->run.n_candidates, b->run.n_candidates);
    size_t bytes = a->run.n_spikes * sizeof(uint32_t);
    assert_memory_equal(a->spikes, b->spikes, bytes);
    assert_memory_equal(a->gains, b->gains, bytes);
}

void pair_assert_snapshot(const vly_snapshot *a, const vly_snapshot *b)
{
    assert_int_equal(a->burst, b->burst);
    assert_int_equal(a->n_fired_bursts, b->n_fired_bursts);
    assert_int_equal(a->n_fired, b->n_fired);
    assert_int_equal(a->n_state_words, b->n_state_words);
    assert_memory_equal(a->state, b->state,
                        a->n_state_words * sizeof(uint32_t));
    assert_memory_equal(a->fired_row, b->fired_row,
                        (a->n_fired_bursts + 1u) * sizeof(uint64_t));
    assert_memory_equal(a->fired, b->fired, a->n_fired * sizeof(uint32_t));
    assert_memory_equal(a->fired_gain, b->fired_gain,
                        a->n_fired * sizeof(uint32_t));
}

void pair_inputs(test_net *net, vly_input *inputs, uint64_t n,
                 uint64_t n_bursts)
{
    for (uint64_t i = 0; i < n; i++)
        inputs[i] =
            (vly_input){.burst = i * n_bursts / n,
                        .neuron = (uint32_t)(i * 7919 % net->desc.n_neurons),
                        .value = (int32_t)test_random(net, 2000) - 700};
}
