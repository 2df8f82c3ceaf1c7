/* SPDX-License-Identifier: Apache-2.0
 * One net, one answer: any number of threads, any instruction set, in pieces
 * or at once, and from a snapshot of any burst.
 */
#include "test_cpu_net.h"

#include "fewer_cases.h"

#include <stdlib.h>

enum { BURSTS = 90 };

static void assert_same(const test_run *a, const test_run *b)
{
    assert_int_equal(a->run.n_spikes, b->run.n_spikes);
    assert_int_equal(a->run.n_events, b->run.n_events);
    assert_int_equal(a->run.n_candidates, b->run.n_candidates);
    size_t n = a->run.n_bursts;
    assert_memory_equal(a->digests, b->digests, n * sizeof(uint64_t));
    assert_memory_equal(a->counts, b->counts, n * sizeof(uint32_t));
    n = a->run.n_spikes * sizeof(uint32_t);
    assert_memory_equal(a->spikes, b->spikes, n);
    assert_memory_equal(a->gains, b->gains, n);
}

static void assert_same_snapshot(const vly_snapshot *a, const vly_snapshot *b)
{
    assert_int_equal(a->burst, b->burst);
    assert_int_equal(a->n_fired_bursts, b->n_fired_bursts);
    assert_int_equal(a->n_fired, b->n_fired);
    assert_memory_equal(a->state, b->state,
                        a->n_state_words * sizeof(uint32_t));
    assert_memory_equal(a->fired_row, b->fired_row,
                        (a->n_fired_bursts + 1u) * sizeof(uint64_t));
    assert_memory_equal(a->fired, b->fired, a->n_fired * sizeof(uint32_t));
    assert_memory_equal(a->fired_gain, b->fired_gain,
                        a->n_fired * sizeof(uint32_t));
}

static int has_isa(const test_net *net, const char *options)
{
    vly_device_spec device = {
        .struct_size = sizeof device, .n_threads = 1, .options = options};
    vly_backend_net *made = NULL;
    vly_error error = {.struct_size = sizeof error};
    vly_status status = test_backend->net_create(&device, &net->desc,
                                                 &net->start, &made, &error);
    test_backend->net_destroy(made);
    assert_true(status == VLY_OK || status == VLY_E_UNSUPPORTED);
    return status == VLY_OK;
}

/* Host input on some neurons of all areas. */
static uint64_t some_inputs(test_net *net, vly_input *inputs, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        inputs[i] =
            (vly_input){.burst = i * BURSTS / n,
                        .neuron = (uint32_t)(i * 7919 % net->desc.n_neurons),
                        .value = (int32_t)test_random(net, 2000) - 700};
    return n;
}

static void test_threads_and_isa(void **state)
{
    (void)state;
    test_plugin_open();
    static const uint32_t threads[] = {1, 2, 3, 7, 16};
    static const char *const options[] = {NULL, "isa=scalar", "isa=avx2",
                                          "isa=avx512"};
    for (uint64_t seed = 0; seed < fewer_cases(6, 2); seed++) {
        test_net net;
        test_random_net(&net, seed);
        vly_input inputs[300];
        uint64_t n_inputs = some_inputs(&net, inputs, 300);
        vly_backend_net *made = test_create(&net, 1, "isa=scalar", NULL);
        test_run first;
        test_run_bursts(&net, made, BURSTS, inputs, n_inputs, &first);
        vly_snapshot end;
        test_snapshot(made, &end);
        uint64_t digest = 0;
        assert_int_equal(test_backend->state_digest(made, &digest, NULL), 0);
        test_backend->net_destroy(made);
        assert_true(first.run.n_spikes > 1000);
        assert_true(first.run.n_events > 10000);
        for (uint32_t i = 0; i < 5; i++) {
            const char *option = options[(i + seed) % 4];
            if (option != NULL && !has_isa(&net, option))
                option = NULL;
            made = test_create(&net, threads[i], option, NULL);
            test_run run;
            test_run_bursts(&net, made, BURSTS, inputs, n_inputs, &run);
            assert_same(&first, &run);
            vly_snapshot snapshot;
            test_snapshot(made, &snapshot);
            assert_same_snapshot(&end, &snapshot);
            uint64_t other = 1;
            test_backend->state_digest(made, &other, NULL);
            assert_true(digest == other);
            test_snapshot_deinit(&snapshot);
            test_run_deinit(&run);
            test_backend->net_destroy(made);
        }
        test_snapshot_deinit(&end);
        test_run_deinit(&first);
        test_net_deinit(&net);
    }
}

/* Threads that are chosen while the net runs: with a clock that is drawn,
 * blocks of bursts run on 1, 2, 4, ... threads in turn. */
static void test_chosen_threads(void **state)
{
    (void)state;
    static const uint32_t threads[] = {2, 3, 7, 16};
    for (uint64_t seed = 40; seed < 40 + fewer_cases(4, 1); seed++) {
        test_net net;
        test_random_net(&net, seed);
        vly_input inputs[300];
        uint64_t n_inputs = some_inputs(&net, inputs, 300);
        vly_backend_net *made = test_create(&net, 1, NULL, NULL);
        test_run first;
        test_run_bursts(&net, made, BURSTS, inputs, n_inputs, &first);
        test_backend->net_destroy(made);
        for (uint32_t i = 0; i < 4; i++) {
            vly_net_info info = {.struct_size = sizeof info};
            test_host_clock(seed * 100 + i);
            made = test_create(
                &net, threads[i],
                i % 2 == 0 ? "threads=auto" : "isa=scalar,threads=auto", NULL);
            test_run run;
            test_run_bursts(&net, made, BURSTS, inputs, n_inputs, &run);
            assert_same(&first, &run);
            assert_int_equal(test_backend->net_info(made, &info, NULL), 0);
            assert_non_null(strstr(info.plan, " threads (a burst takes "));
            test_run_deinit(&run);
            test_backend->net_destroy(made);
        }
        test_host_clock(0);
        test_run_deinit(&first);
        test_net_deinit(&net);
    }
}

/* Threads that cannot be started any more: one thread runs the rest, and a
 * warning says so. */
static void test_no_threads(void **state)
{
    (void)state;
    const char *last = NULL;
    const uint64_t before = test_host_warnings(&last);
    test_net net;
    test_run runs[2];
    test_random_net(&net, 44);
    vly_backend_net *made = test_create(&net, 1, NULL, NULL);
    test_run_bursts(&net, made, BURSTS, NULL, 0, &runs[0]);
    test_backend->net_destroy(made);
    made = test_create(&net, 3, "threads=auto", NULL);
    test_host_clock(45); /* so that more threads are tried */
    test_host_no_threads(true);
    test_run_bursts(&net, made, BURSTS, NULL, 0, &runs[1]);
    test_host_no_threads(false);
    test_host_clock(0);
    assert_same(&runs[0], &runs[1]);
    assert_int_equal(test_host_warnings(&last), before + 1);
    assert_string_equal(last, "2 threads could not be started, the net "
                              "goes on with one");
    for (int i = 0; i < 2; i++)
        test_run_deinit(&runs[i]);
    test_backend->net_destroy(made);
    test_net_deinit(&net);
}

/* `fired` of a program is a field here: any number but 0 is one spike. */
static void test_number_fires(void **state)
{
    (void)state;
    enum { N = 300 };
    static const uint32_t numbers[] = {0, 1, 5, 256, UINT32_MAX};
    static const vly_program_op ops[] = {{VLY_PROGRAM_FIELD, 0, 0, 0}};
    static const uint32_t out[] = {0};
    static const uint32_t types[] = {VLY_TYPE_U32};
    const vly_program program = {.struct_size = sizeof program,
                                 .n_ops = 1,
                                 .n_fields = 1,
                                 .ops = ops,
                                 .out = out,
                                 .types = types};
    uint32_t coefs[NET_COEFS] = {0};
    test_net net;
    test_run run;
    test_net_init(&net, 1);
    test_delta_coefs(coefs, 1.0f, 0);
    test_area(&net, "lif_psc_delta", N, coefs, 6);
    net.areas[0].n_fields = 1;
    net.areas[0].program = &program;
    test_net_finish(&net);
    for (uint32_t i = 0; i < N; i++)
        net.start.state[i] = numbers[i % 5];
    vly_backend_net *made = test_create(&net, 1, NULL, NULL);
    test_run_bursts(&net, made, 1, NULL, 0, &run);
    assert_int_equal(run.run.n_spikes, N / 5 * 4);
    for (uint32_t i = 0; i < run.run.n_spikes; i++)
        assert_int_equal(run.spikes[i], i / 4 * 5 + i % 4 + 1);
    test_run_deinit(&run);
    test_backend->net_destroy(made);
    test_net_deinit(&net);
}

/* Compares bursts [at, at + piece) of a whole run with a run of their own. */
static void assert_piece(const test_run *whole, const test_run *piece,
                         uint64_t at, uint64_t spikes_before)
{
    uint64_t n = piece->run.n_bursts_done;
    assert_memory_equal(whole->digests + at, piece->digests,
                        n * sizeof(uint64_t));
    assert_memory_equal(whole->spikes + spikes_before, piece->spikes,
                        piece->run.n_spikes * sizeof(uint32_t));
    assert_memory_equal(whole->gains + spikes_before, piece->gains,
                        piece->run.n_spikes * sizeof(uint32_t));
}

static void test_pieces(void **state)
{
    (void)state;
    for (uint64_t seed = 20; seed < 23; seed++) {
        test_net net;
        test_random_net(&net, seed);
        vly_input inputs[100];
        uint64_t n_inputs = some_inputs(&net, inputs, 100);
        vly_backend_net *made = test_create(&net, 2, NULL, NULL);
        test_run whole;
        test_run_bursts(&net, made, BURSTS, inputs, n_inputs, &whole);
        test_backend->net_destroy(made);
        made = test_create(&net, 2, NULL, NULL);
        uint64_t spikes = 0;
        for (uint64_t at = 0, n = 1; at < BURSTS; n = 1 + (n * 5 + 2) % 13) {
            n = n < BURSTS - at ? n : BURSTS - at;
            test_run run;
            test_run_bursts(&net, made, n, inputs, n_inputs, &run);
            assert_int_equal(run.run.n_bursts_done, n);
            assert_piece(&whole, &run, at, spikes);
            spikes += run.run.n_spikes;
            at += n;
            test_run_deinit(&run);
        }
        assert_int_equal(spikes, whole.run.n_spikes);
        test_backend->net_destroy(made);
        test_run_deinit(&whole);
        test_net_deinit(&net);
    }
}

static void test_snapshots(void **state)
{
    (void)state;
    for (uint64_t seed = 40; seed < 40 + fewer_cases(3, 1); seed++) {
        test_net net;
        test_random_net(&net, seed);
        vly_backend_net *made = test_create(&net, 1, NULL, NULL);
        test_run whole;
        test_run_bursts(&net, made, BURSTS, NULL, 0, &whole);
        test_backend->net_destroy(made);
        made = test_create(&net, 2, NULL, NULL);
        uint64_t spikes = 0;
        for (uint64_t at = 0; at < BURSTS; at++) {
            /* the net of every burst is a new one, on other threads */
            vly_snapshot snapshot;
            test_snapshot(made, &snapshot);
            assert_int_equal(snapshot.burst, at);
            test_backend->net_destroy(made);
            made = test_create(&net, 1 + (uint32_t)(at % 5), NULL, &snapshot);
            vly_snapshot again;
            test_snapshot(made, &again);
            assert_same_snapshot(&snapshot, &again);
            test_snapshot_deinit(&snapshot);
            test_snapshot_deinit(&again);
            test_run run;
            test_run_bursts(&net, made, 1, NULL, 0, &run);
            assert_piece(&whole, &run, at, spikes);
            spikes += run.run.n_spikes;
            test_run_deinit(&run);
        }
        assert_int_equal(spikes, whole.run.n_spikes);
        test_backend->net_destroy(made);
        test_run_deinit(&whole);
        test_net_deinit(&net);
    }
}

/* A base delay of thousands of bursts holds what fired, no more. */
static void test_long_delay(void **state)
{
    (void)state;
    test_net net;
    test_net_init(&net, 1);
    uint32_t coefs[6];
    test_delta_coefs(coefs, 1.0f, 0);
    test_area(&net, "lif_psc_delta", 2000, coefs, 8);
    test_synapse(&net, 0, 5, 0, 1999, 256, 5000);
    test_net_finish(&net);
    vly_backend_net *made = test_create(&net, 2, NULL, NULL);
    vly_net_info info = {.struct_size = sizeof info};
    assert_int_equal(test_backend->net_info(made, &info, NULL), VLY_OK);
    assert_true(info.host_bytes < 1000000);
    const vly_input inputs[] = {{.burst = 3, .neuron = 5, .value = 256},
                                {.burst = 4, .neuron = 5, .value = 256}};
    test_run run;
    test_run_bursts(&net, made, 4000, inputs, 2, &run);
    assert_int_equal(run.run.n_spikes, 2);
    test_run_deinit(&run);
    vly_snapshot snapshot;
    test_snapshot(made, &snapshot);
    test_backend->net_destroy(made);
    made = test_create(&net, 1, NULL, &snapshot);
    test_run_bursts(&net, made, 2000, NULL, 0, &run);
    assert_int_equal(run.run.n_spikes, 2);
    assert_int_equal(run.counts[1003], 1);
    assert_int_equal(run.counts[1004], 1);
    assert_int_equal(run.spikes[0], 1999);
    test_run_deinit(&run);
    test_snapshot_deinit(&snapshot);
    test_backend->net_destroy(made);
    test_net_deinit(&net);
}

/* Gives each map one weight, of each synapse or of all. Returns how many have
 * one delay. */
static uint32_t set_weights(test_net *net, bool each)
{
    static const int32_t weights[4] = {-40, 150, 0, 150};
    uint32_t changed = 0;
    for (uint32_t p = 0; p < net->desc.n_projections; p++) {
        vly_projection_desc *map = &net->projections[p];
        const uint64_t n = map->row[net->areas[map->source_area].n_neurons];
        const bool gain = (map->flags & VLY_PROJECTION_GAIN) != 0;
        const uint32_t shift = gain ? 0 : p % 2 * VLY_SHIFT_STEP;
        const int32_t one = gain ? weights[p % 4] / 50 : weights[p % 4];
        int16_t *weight = (int16_t *)(uintptr_t)map->weight;
        map->shift = shift;
        changed += !map->delay;
        for (uint64_t j = 0; j < n; j++)
            weight[j] = (int16_t)(one >> shift);
        if (each)
            continue;
        free(weight);
        map->weight = NULL;
        map->one_weight = one >> shift;
    }
    return changed;
}

/* The plan says that n projections are read as their targets only. */
static void assert_of_one_weight(const test_net *net,
                                 const vly_backend_net *made, uint32_t n)
{
    vly_net_info info = {.struct_size = sizeof info};
    char wanted[60];
    snprintf(wanted, sizeof wanted, ", of %u of %u projections only targets;",
             n, net->desc.n_projections);
    assert_int_equal(test_backend->net_info(made, &info, NULL), VLY_OK);
    assert_non_null(strstr(info.plan, wanted));
}

static void test_one_weight(void **state)
{
    (void)state;
    for (uint64_t seed = 50; seed < 52; seed++) {
        test_net net[2];
        test_run run[2];
        for (uint32_t i = 0; i < 2; i++) {
            test_random_net(&net[i], seed);
            const uint32_t changed = set_weights(&net[i], i == 1);
            assert_true(changed >= 3);
            assert_true(changed < net[i].desc.n_projections);
            vly_backend_net *made = test_create(&net[i], 3, NULL, NULL);
            assert_of_one_weight(&net[i], made, i == 0 ? changed : 0);
            test_run_bursts(&net[i], made, BURSTS, NULL, 0, &run[i]);
            test_backend->net_destroy(made);
        }
        assert_true(run[0].run.n_spikes > 1000);
        assert_same(&run[0], &run[1]);
        for (uint32_t i = 0; i < 2; i++) {
            test_run_deinit(&run[i]);
            test_net_deinit(&net[i]);
        }
    }
}

/* Rows without synapses, a projection whose weights are all 0, and one without
 * synapses. */
static void test_one_weight_rows(void **state)
{
    (void)state;
    enum { N = 200 };
    static const uint32_t from[] = {5, 5, 5};
    static const uint32_t to[] = {0, 70, 199};
    static const int16_t weight[] = {256, 256, 256};
    static const int16_t none[N] = {0};
    static const uint32_t fired[] = {5, 0, 70, 199};
    uint32_t each[N];
    uint32_t next[N];
    uint32_t coefs[6];
    test_net net;
    test_run run;
    test_net_init(&net, 1);
    test_delta_coefs(coefs, 1.0f, 0);
    test_area(&net, "lif_psc_delta", N, coefs, 8);
    for (uint32_t i = 0; i < N; i++) {
        each[i] = i;
        next[i] = (i + 1) % N;
    }
    test_projection(&net, 0, 0, 2, 3, from, to, weight, NULL);
    test_projection(&net, 0, 0, 1, N, each, next, none, NULL);
    test_projection(&net, 0, 0, 1, 0, from, to, weight, NULL);
    test_net_finish(&net);
    for (uint32_t p = 0; p < net.desc.n_projections; p++) {
        free((void *)(uintptr_t)net.projections[p].weight);
        net.projections[p].weight = NULL;
        net.projections[p].one_weight = p == 0 ? 256 : 0;
    }
    vly_backend_net *made = test_create(&net, 3, NULL, NULL);
    assert_of_one_weight(&net, made, 3);
    const vly_input input = {.burst = 3, .neuron = 5, .value = 256};
    test_run_bursts(&net, made, 12, &input, 1, &run);
    assert_int_equal(run.run.n_spikes, 4);
    assert_int_equal(run.counts[3], 1);
    assert_int_equal(run.counts[5], 3);
    assert_memory_equal(run.spikes, fired, sizeof fired);
    assert_int_equal(run.run.n_events, 3 + 4);
    test_run_deinit(&run);
    test_backend->net_destroy(made);
    test_net_deinit(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_and_isa),
        cmocka_unit_test(test_chosen_threads),
        cmocka_unit_test(test_no_threads),
        cmocka_unit_test(test_number_fires),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_snapshots),
        cmocka_unit_test(test_long_delay),
        cmocka_unit_test(test_one_weight),
        cmocka_unit_test(test_one_weight_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
