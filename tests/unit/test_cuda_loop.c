/* SPDX-License-Identifier: Apache-2.0
 * Hosts that go burst by burst, and spikes counted by area on the device: both
 * give what the reference gives, on every plan, whatever is done in between.
 */
#include "test_cuda_pair.h"

#include <stdlib.h>
#include <time.h>

enum { N_OPTIONS = 5, BURSTS = 150, INPUTS = 400, READ = 40 };
static const char *const options[N_OPTIONS] = {
    NULL, "plan=global", "plan=resident", "plan=resident,blocks=7,lines=1",
    "plan=partitioned"};

static uint32_t wants_plain(uint32_t i)
{
    return i >= 2;
}

/* Plans that this device or build does not have are left out. */
static int create_both(const test_net *net, const char *option,
                       vly_backend_net *nets[2])
{
    vly_device_spec device = {
        .struct_size = sizeof device, .n_threads = 1, .options = option};
    vly_error error = {.struct_size = sizeof error};
    nets[1] = NULL;
    vly_status status = pair_cuda->net_create(&device, &net->desc, &net->start,
                                              &nets[1], &error);
    if (status == VLY_E_UNSUPPORTED || status == VLY_E_INVALID) {
        print_message("left out: %s\n", error.message);
        return 0;
    }
    assert_ok(status, error);
    nets[0] = pair_create(pair_cpu, net, NULL, NULL);
    return 1;
}

static void read_both(vly_backend_net *const nets[2], uint32_t area,
                      uint32_t field, uint32_t first, uint32_t count)
{
    uint32_t words[2][READ];
    vly_error error = {.struct_size = sizeof error};
    for (int twice = 0; twice < 2; twice++) {
        memset(words, twice, sizeof words);
        assert_ok(pair_cpu->field_read(nets[0], area, field, first, count,
                                       words[0], &error),
                  error);
        assert_ok(pair_cuda->field_read(nets[1], area, field, first, count,
                                        words[1], &error),
                  error);
        assert_memory_equal(words[0], words[1], sizeof words[0]);
    }
}

static void write_both(vly_backend_net *const nets[2], uint32_t area,
                       uint32_t first, uint32_t word)
{
    vly_error error = {.struct_size = sizeof error};
    assert_ok(pair_cpu->field_write(nets[0], area, 0, first, 1, &word, &error),
              error);
    assert_ok(pair_cuda->field_write(nets[1], area, 0, first, 1, &word, &error),
              error);
}

/* A loop with everything a host may do: more ranges than are kept, ranges
 * within ranges, writes between a run and a read, longer runs in between. */
static void loop_both(test_net *net, vly_backend_net *const nets[2])
{
    vly_input inputs[INPUTS];
    pair_inputs(net, inputs, INPUTS, BURSTS);
    for (uint64_t t = 0; t < BURSTS;) {
        test_run runs[2];
        uint64_t n = t % 29 == 17 ? 20 : t % 11 == 3 ? 5 : 1;
        pair_run(pair_cpu, net, nets[0], n, inputs, INPUTS, &runs[0]);
        pair_run(pair_cuda, net, nets[1], n, inputs, INPUTS, &runs[1]);
        pair_assert_run(&runs[0], &runs[1]);
        test_run_deinit(&runs[0]);
        test_run_deinit(&runs[1]);
        read_both(nets, 0, 0, 0, READ);
        read_both(nets, 0, 0, 10, 20);
        read_both(nets, 1, 1, 3, 1);
        if (t % 5 == 1)
            read_both(nets, 2, 0, (uint32_t)t % 7, 8);
        if (t % 7 == 2)
            read_both(nets, 0, 0, 5, READ);
        if (t % 9 == 4) {
            write_both(nets, 0, 12, test_float(0.25f));
            read_both(nets, 0, 0, 0, READ);
        }
        t += n;
    }
}

static void test_burst_by_burst(void **state)
{
    (void)state;
    pair_open();
    for (uint32_t i = 0; i < 2 * N_OPTIONS; i++) {
        test_net net;
        vly_backend_net *nets[2];
        if (wants_plain(i % N_OPTIONS))
            pair_plain_net(&net, 200 + i);
        else
            test_random_net(&net, 200 + i);
        if (create_both(&net, options[i % N_OPTIONS], nets)) {
            loop_both(&net, nets);
            pair_cpu->net_destroy(nets[0]);
            pair_cuda->net_destroy(nets[1]);
        }
        test_net_deinit(&net);
    }
}

/* ---- without ids -------------------------------------------------------- */

enum { STEPS = 12, EACH = 40 };

typedef struct steps {
    uint64_t digests[STEPS];
    uint32_t spikes[STEPS];
    uint64_t events[STEPS];
    uint32_t words[STEPS][READ];
    uint32_t few[STEPS][10];
} steps;

/* STEPS bursts, one a call, as fast as a host can. */
static void run_steps(const test_net *net, const vly_backend *backend,
                      vly_backend_net *made, uint64_t burst, uint64_t seed,
                      steps *done)
{
    for (uint32_t k = 0; k < STEPS; k++) {
        vly_input inputs[EACH];
        uint64_t t = burst + k;
        uint64_t n = (t + seed) % 3 == 0 ? 0 : t * 7 % EACH;
        for (uint64_t i = 0; i < n; i++)
            inputs[i] = (vly_input){
                .burst = t,
                .neuron = (uint32_t)((i * 131 + t) % net->desc.n_neurons),
                .value = (int32_t)(t * 37 % 300)};
        vly_run run = {.struct_size = sizeof run,
                       .n_bursts = 1,
                       .digests = &done->digests[k],
                       .spike_counts = &done->spikes[k],
                       .inputs = inputs,
                       .n_inputs = n};
        vly_error error = {.struct_size = sizeof error};
        assert_ok(backend->net_run(made, &run, &error), error);
        assert_int_equal(run.n_bursts_done, 1);
        done->events[k] = run.n_events;
        if (k % 2 == 0)
            assert_ok(backend->field_read(made, 0, 0, 0, READ, done->words[k],
                                          &error),
                      error);
        assert_ok(backend->field_read(made, 1, 0,
                                      3 + (uint32_t)((seed + t / 64) % 3), 10,
                                      done->few[k], &error),
                  error);
    }
}

static void sleep_us(long us)
{
    struct timespec nap = {.tv_nsec = us * 1000};
    nanosleep(&nap, NULL);
}

/* Actions of a host between two bursts; most are rare. */
static void meddle_both(const test_net *net, vly_backend_net *const nets[2],
                        uint64_t t)
{
    vly_error error = {.struct_size = sizeof error};
    uint32_t word = test_float(0.7f);
    vly_column column = {.words = &word, .uniform = 1};
    if (t % 97 == 50)
        sleep_us(300);
    if (t % 61 == 30)
        write_both(nets, 0, (uint32_t)t % 50, test_float(0.5f));
    if (t % 71 == 40) {
        assert_ok(pair_cpu->coef_write(nets[0], 0, 0, &column, &error), error);
        assert_ok(pair_cuda->coef_write(nets[1], 0, 0, &column, &error), error);
    }
    if (t % 83 == 60 && net->desc.n_stimuli > 0) {
        vly_stimulus_desc changed = net->stimuli[0];
        changed.step += (int32_t)(t % 5);
        assert_ok(pair_cpu->stimulus_write(nets[0], 0, &changed, &error),
                  error);
        assert_ok(pair_cuda->stimulus_write(nets[1], 0, &changed, &error),
                  error);
    }
    if (t % 101 == 70) {
        vly_snapshot snapshots[2];
        pair_snapshot(pair_cpu, nets[0], &snapshots[0]);
        pair_snapshot(pair_cuda, nets[1], &snapshots[1]);
        pair_assert_snapshot(&snapshots[0], &snapshots[1]);
        test_snapshot_deinit(&snapshots[0]);
        test_snapshot_deinit(&snapshots[1]);
    }
    if (t % 89 == 80) {
        test_run runs[2];
        pair_run(pair_cpu, net, nets[0], 11, NULL, 0, &runs[0]);
        pair_run(pair_cuda, net, nets[1], 11, NULL, 0, &runs[1]);
        pair_assert_run(&runs[0], &runs[1]);
        test_run_deinit(&runs[0]);
        test_run_deinit(&runs[1]);
    }
}

static void step_both(test_net *net, vly_backend_net *const nets[2],
                      uint64_t seed)
{
    static steps done[2];
    uint64_t burst = 0;
    for (uint64_t t = 0; t < 1200; t++) {
        memset(done, 0, sizeof done);
        run_steps(net, pair_cuda, nets[1], burst, seed, &done[1]);
        run_steps(net, pair_cpu, nets[0], burst, seed, &done[0]);
        assert_memory_equal(&done[0], &done[1], sizeof done[0]);
        burst += STEPS;
        if (t % 89 == 80)
            burst += 11;
        meddle_both(net, nets, t);
    }
}

static void test_without_ids(void **state)
{
    (void)state;
    pair_open();
    for (uint32_t i = 0; i < N_OPTIONS; i++) {
        test_net net;
        vly_backend_net *nets[2];
        if (wants_plain(i))
            pair_plain_net(&net, 400 + i);
        else
            test_random_net(&net, 400 + i);
        if (create_both(&net, options[i], nets)) {
            step_both(&net, nets, i);
            pair_cpu->net_destroy(nets[0]);
            pair_cuda->net_destroy(nets[1]);
        }
        test_net_deinit(&net);
    }
}

/* ---- spikes by area ---------------------------------------------------- */

static void count_both(const test_net *net, vly_backend_net *const nets[2])
{
    const vly_backend *backends[2] = {pair_cpu, pair_cuda};
    uint64_t counts[2][NET_AREAS] = {{0}};
    uint64_t sum = 0;
    for (uint64_t t = 0, n = 1; t < 4 * BURSTS; t += n) {
        uint64_t digests[2][4 * BURSTS];
        uint32_t spikes[2][4 * BURSTS];
        n = t % 13 == 5 ? 60 : t % 7 == 2 ? 9 : 1;
        for (int b = 0; b < 2; b++) {
            vly_run run = {.struct_size = sizeof run,
                           .n_bursts = n,
                           .digests = digests[b],
                           .spike_counts = spikes[b],
                           /* not wanted in every third run */
                           .area_spikes = t % 3 == 1 ? NULL : counts[b]};
            vly_error error = {.struct_size = sizeof error};
            assert_ok(backends[b]->net_run(nets[b], &run, &error), error);
            assert_int_equal(run.n_bursts_done, n);
        }
        assert_memory_equal(digests[0], digests[1], n * sizeof digests[0][0]);
        assert_memory_equal(counts[0], counts[1], sizeof counts[0]);
    }
    for (uint32_t a = 0; a < net->desc.n_areas; a++)
        sum += counts[0][a];
    assert_true(sum > 1000);
}

static void test_areas(void **state)
{
    (void)state;
    pair_open();
    for (uint32_t i = 0; i < 2 * N_OPTIONS; i++) {
        test_net net;
        vly_backend_net *nets[2];
        if (wants_plain(i % N_OPTIONS))
            pair_plain_net(&net, 300 + i);
        else
            test_random_net(&net, 300 + i);
        if (create_both(&net, options[i % N_OPTIONS], nets)) {
            count_both(&net, nets);
            pair_cpu->net_destroy(nets[0]);
            pair_cuda->net_destroy(nets[1]);
        }
        test_net_deinit(&net);
    }
}

/* More areas than are counted at a time, some of them empty, and more spikes
 * than the log first holds: launches end early and the log grows. */
static void test_many_areas(void **state)
{
    enum { N = 5001, MOST = 20 };
    (void)state;
    pair_open();
    static const uint32_t thresholds[] = {0x40000000u};
    uint32_t coefs[6];
    test_net net;
    test_net_init(&net, 9);
    test_delta_coefs(coefs, 0.5f, 0);
    test_area(&net, "lif_psc_delta", N * MOST / 2, coefs, 8);
    test_stimulus(&net, 0, thresholds, 1, 0, 512, 0);
    test_net_finish(&net);
    vly_area_desc *areas = calloc(N, sizeof *areas);
    vly_stimulus_desc *stimuli = calloc(N, sizeof *stimuli);
    uint64_t *counts[2] = {calloc(N, 8), calloc(N, 8)};
    assert_true(areas && stimuli && counts[0] && counts[1]);
    uint32_t at = 0;
    for (uint32_t a = 0; a < N; a++) {
        areas[a] = net.areas[0];
        stimuli[a] = net.stimuli[0];
        stimuli[a].first = areas[a].first = at;
        stimuli[a].n_neurons = areas[a].n_neurons = a % 3 == 1 ? 0
                                                    : a + 1 < N
                                                        ? a % MOST
                                                        : N * MOST / 2 - at;
        at += areas[a].n_neurons;
    }
    net.desc.areas = areas;
    net.desc.n_areas = N;
    net.desc.stimuli = stimuli;
    net.desc.n_stimuli = N;
    const vly_backend *backends[2] = {pair_cpu, pair_cuda};
    for (int b = 0; b < 2; b++) {
        vly_backend_net *made = pair_create(backends[b], &net, NULL, NULL);
        for (uint64_t n = 1; n <= 100; n += 33) {
            vly_run run = {.struct_size = sizeof run,
                           .n_bursts = n,
                           .area_spikes = counts[b]};
            vly_error error = {.struct_size = sizeof error};
            assert_ok(backends[b]->net_run(made, &run, &error), error);
            assert_int_equal(run.n_bursts_done, n);
        }
        backends[b]->net_destroy(made);
    }
    assert_memory_equal(counts[0], counts[1], N * sizeof *counts[0]);
    net.desc.n_areas = 1; /* as the fixture frees them */
    net.desc.n_stimuli = 1;
    free(counts[0]);
    free(counts[1]);
    free(areas);
    free(stimuli);
    test_net_deinit(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_burst_by_burst),
        cmocka_unit_test(test_without_ids),
        cmocka_unit_test(test_areas),
        cmocka_unit_test(test_many_areas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
