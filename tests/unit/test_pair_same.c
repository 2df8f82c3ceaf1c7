/* SPDX-License-Identifier: Apache-2.0
 * A device beside the reference: random nets with every option of it, in pieces
 * of any length, from snapshots of either backend, and with everything written
 * between bursts.
 */
#include "test_pair_same.h"

#include <stdbool.h>
#include <stdlib.h>

enum { INPUTS = 300 };

/* ---- both --------------------------------------------------------------- */

void pair_create_both(const test_net *net, const char *option,
                      vly_backend_net *nets[2])
{
    nets[0] = pair_create(pair_cpu, net, NULL, NULL);
    nets[1] = pair_create(pair_cuda, net, option, NULL);
}

void pair_destroy_both(vly_backend_net *const nets[2])
{
    pair_cpu->net_destroy(nets[0]);
    pair_cuda->net_destroy(nets[1]);
}

uint64_t pair_run_both(const test_net *net, vly_backend_net *const nets[2],
                       uint64_t n, const vly_input *inputs, uint64_t n_inputs)
{
    test_run runs[2];
    pair_run(pair_cpu, net, nets[0], n, inputs, n_inputs, &runs[0]);
    pair_run(pair_cuda, net, nets[1], n, inputs, n_inputs, &runs[1]);
    pair_assert_run(&runs[0], &runs[1]);
    uint64_t spikes = runs[0].run.n_spikes;
    test_run_deinit(&runs[0]);
    test_run_deinit(&runs[1]);
    return spikes;
}

/* Not every backend has a state digest of its own. */
static void assert_digest(vly_backend_net *const nets[2])
{
    uint64_t digests[2] = {0, 1};
    vly_error error = {.struct_size = sizeof error};
    if (pair_cuda->state_digest == NULL)
        return;
    assert_ok(pair_cpu->state_digest(nets[0], &digests[0], &error), error);
    assert_ok(pair_cuda->state_digest(nets[1], &digests[1], &error), error);
    assert_true(digests[0] == digests[1]);
}

void pair_assert_state(vly_backend_net *const nets[2])
{
    vly_snapshot snapshots[2];
    pair_snapshot(pair_cpu, nets[0], &snapshots[0]);
    pair_snapshot(pair_cuda, nets[1], &snapshots[1]);
    pair_assert_snapshot(&snapshots[0], &snapshots[1]);
    assert_digest(nets);
    test_snapshot_deinit(&snapshots[0]);
    test_snapshot_deinit(&snapshots[1]);
}

/* ---- tests -------------------------------------------------------------- */

/* A device that is a processor runs fewer networks, and a full log for fewer
 * bursts; all of it with label slow. */
static bool runs_less(void)
{
    return pair_same.on_processor && !getenv("VOLLEY_TEST_WHOLE");
}

/* Every how many of the networks are run; of two, each option is run once, in
 * one call or changed on the way. The validation layer, to which a network more
 * is nothing new, sees fewer: the nets are compared without it. */
static uint32_t every_net(void)
{
    if (!runs_less())
        return 1;
    return getenv("VOLLEY_VULKAN_VALIDATION") ? 4 : 2;
}

/* The device's net, made anew with another option. */
static void change_option(const test_net *net, const char *option,
                          vly_backend_net *nets[2])
{
    vly_snapshot snapshot;
    pair_snapshot(pair_cuda, nets[1], &snapshot);
    pair_cuda->net_destroy(nets[1]);
    nets[1] = pair_create(pair_cuda, net, option, &snapshot);
    test_snapshot_deinit(&snapshot);
}

/* In every second round of options in one call, else with another option from
 * burst 21 on. */
static void run_random(const pair_kind *kind, uint32_t i)
{
    uint32_t n_bursts = pair_same.n_bursts;
    test_net net;
    vly_backend_net *nets[2];
    vly_input inputs[INPUTS];
    uint64_t spikes = 0;
    kind->make(&net, i);
    pair_inputs(&net, inputs, INPUTS, n_bursts);
    pair_create_both(&net, kind->options[i % kind->n_options], nets);
    pair_assert_state(nets);
    if (i / kind->n_options % 2 == 1) {
        spikes += pair_run_both(&net, nets, 20, inputs, INPUTS);
        spikes += pair_run_both(&net, nets, 1, inputs, INPUTS);
        change_option(&net, kind->options[(i + 1) % kind->n_options], nets);
        n_bursts -= 21;
    }
    spikes += pair_run_both(&net, nets, n_bursts, inputs, INPUTS);
    assert_true(spikes > 8 * pair_same.n_bursts);
    pair_assert_state(nets);
    pair_destroy_both(nets);
    test_net_deinit(&net);
}

void pair_test_random_nets(void **state)
{
    (void)state;
    const uint32_t every = every_net();
    pair_open();
    for (uint32_t k = 0; k < 2; k++) {
        const pair_kind *kind = &pair_same.kinds[k];
        for (uint32_t i = 0; i < kind->n_nets; i++)
            if ((i + i / kind->n_options) % every == 0)
                run_random(kind, i);
    }
}

static void run_pieces(const pair_kind *kind, uint64_t seed)
{
    uint64_t n_bursts = pair_same.n_bursts;
    test_net net;
    vly_backend_net *nets[2];
    vly_input inputs[INPUTS];
    kind->make(&net, seed);
    pair_inputs(&net, inputs, INPUTS, n_bursts);
    pair_create_both(&net, kind->usual, nets);
    for (uint64_t at = 0, n = 1; at < n_bursts; n = 1 + (n * 5 + 2) % 13) {
        n = n < n_bursts - at ? n : n_bursts - at;
        pair_run_both(&net, nets, n, inputs, INPUTS);
        at += n;
    }
    pair_assert_state(nets);
    pair_destroy_both(nets);
    test_net_deinit(&net);
}

void pair_test_pieces(void **state)
{
    (void)state;
    pair_open();
    for (uint32_t k = 0; k < 2; k++)
        for (uint32_t i = 0; i < pair_same.kinds[k].n_few; i++)
            run_pieces(&pair_same.kinds[k], 60 + i);
}

/* Every few bursts each backend goes on from the other's snapshot. */
static void run_swaps(const pair_kind *kind, uint64_t seed)
{
    test_net net;
    vly_backend_net *nets[2];
    kind->make(&net, seed);
    pair_create_both(&net, kind->usual, nets);
    for (uint64_t at = 0; at < pair_same.n_bursts; at += 6) {
        vly_snapshot snapshots[2];
        pair_run_both(&net, nets, 6, NULL, 0);
        pair_assert_state(nets);
        pair_snapshot(pair_cpu, nets[0], &snapshots[0]);
        pair_snapshot(pair_cuda, nets[1], &snapshots[1]);
        pair_destroy_both(nets);
        nets[0] = pair_create(pair_cpu, &net, NULL, &snapshots[1]);
        nets[1] = pair_create(pair_cuda, &net, kind->usual, &snapshots[0]);
        pair_assert_state(nets);
        test_snapshot_deinit(&snapshots[0]);
        test_snapshot_deinit(&snapshots[1]);
    }
    pair_destroy_both(nets);
    test_net_deinit(&net);
}

void pair_test_swap(void **state)
{
    (void)state;
    pair_open();
    for (uint32_t k = 0; k < 2; k++)
        for (uint32_t i = 0; i < pair_same.kinds[k].n_few; i++)
            run_swaps(&pair_same.kinds[k], 80 + i);
}

/* Many spikes and a long delay: the log on the device has to grow, and ids are
 * put in order in several windows. */
void pair_test_log_grows(void **state)
{
    (void)state;
    pair_open();
    uint32_t coefs[6];
    test_net net;
    vly_backend_net *nets[2];
    static const uint32_t thresholds[] = {0x10000000u};
    /* the delay passes in the second */
    const uint32_t pieces[3] = {40, runs_less() ? 30 : 100,
                                runs_less() ? 10 : 40};
    test_net_init(&net, 5);
    test_delta_coefs(coefs, 0.5f, 0);
    test_area(&net, "lif_psc_delta", 20000, coefs, 8);
    test_random_projection(&net, 0, 0, 2, 10, 20, 60, pair_same.log_delays);
    test_stimulus(&net, 0, thresholds, 1, 0, 400, 0);
    test_net_finish(&net);
    for (int i = 0; i < 2; i++) {
        pair_create_both(&net, pair_same.log_options[i], nets);
        for (int piece = 0; piece < 3; piece++) {
            const uint32_t n = pieces[piece];
            const uint64_t spikes = pair_run_both(&net, nets, n, NULL, 0);
            assert_true(spikes > 12500 * (uint64_t)n);
            /* before the longest delay has passed once, and at the end */
            if (piece != 1)
                pair_assert_state(nets);
        }
        pair_destroy_both(nets);
    }
    test_net_deinit(&net);
}

/* Spikes by area, added to, also where the log ends a launch early. */
void pair_test_area_spikes(void **state)
{
    (void)state;
    pair_open();
    test_net net;
    vly_backend_net *nets[2];
    uint64_t counts[2][NET_AREAS] = {{7, 8}, {7, 8}};
    test_random_net(&net, 31);
    pair_create_both(&net, "launch=9", nets);
    for (int piece = 0; piece < 3; piece++)
        for (int b = 0; b < 2; b++) {
            const vly_backend *backend = b == 0 ? pair_cpu : pair_cuda;
            vly_error error = {.struct_size = sizeof error};
            vly_run run = {.struct_size = sizeof run,
                           .n_bursts = 20,
                           .area_spikes = piece == 1 ? NULL : counts[b]};
            assert_ok(backend->net_run(nets[b], &run, &error), error);
            assert_int_equal(run.n_bursts_done, 20);
        }
    assert_memory_equal(counts[0], counts[1], sizeof counts[0]);
    assert_true(counts[0][0] > 7);
    pair_destroy_both(nets);
    test_net_deinit(&net);
}

/* Fields, coefficients and stimuli that change between bursts. */
static void write_both(const test_net *net, vly_backend_net *const nets[2],
                       uint64_t at)
{
    const vly_backend *backends[2] = {pair_cpu, pair_cuda};
    uint32_t area = (uint32_t)(at / 10 % net->desc.n_areas);
    uint32_t n = net->areas[area].n_neurons;
    assert_true(n > 16);
    vly_stimulus_desc stimulus = net->stimuli[area];
    static const uint32_t thresholds[] = {0x20000000u, 0xe0000000u};
    stimulus.thresholds = thresholds;
    stimulus.n_thresholds = 2;
    uint32_t *words = calloc(n, sizeof *words);
    assert_non_null(words);
    for (uint32_t i = 0; i < n; i++)
        words[i] = test_float(0.25f + 0.001f * (float)(i % 512));
    const vly_column each = {.words = words, .uniform = 0};
    const vly_column uniform = {.words = words, .uniform = 1};
    for (int b = 0; b < 2; b++) {
        vly_error error = {.struct_size = sizeof error};
        assert_ok(
            backends[b]->field_write(nets[b], area, 0, 5, n - 9, words, &error),
            error);
        assert_ok(backends[b]->coef_write(nets[b], area, 2,
                                          at % 20 == 0 ? &each : &uniform,
                                          &error),
                  error);
        assert_ok(backends[b]->stimulus_write(nets[b], area, &stimulus, &error),
                  error);
        uint32_t back[4] = {0};
        assert_ok(backends[b]->field_read(nets[b], area, 0, 7, 4, back, &error),
                  error);
        assert_memory_equal(back, words + 2, sizeof back);
    }
    free(words);
}

void pair_test_writes(void **state)
{
    (void)state;
    pair_open();
    for (uint32_t k = 0; k < 2; k++) {
        const pair_kind *kind = &pair_same.kinds[k];
        test_net net;
        vly_backend_net *nets[2];
        kind->make(&net, 99);
        pair_create_both(&net, kind->usual, nets);
        for (uint64_t at = 0; at < 120; at += 10) {
            pair_run_both(&net, nets, 10, NULL, 0);
            write_both(&net, nets, at);
            pair_assert_state(nets);
        }
        pair_destroy_both(nets);
        test_net_deinit(&net);
    }
}
