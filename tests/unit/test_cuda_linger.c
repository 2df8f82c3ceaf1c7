/* SPDX-License-Identifier: Apache-2.0
 * Launches that stay on the device between runs: whatever a host does, and
 * however long it takes, it sees what the reference gives.
 *
 *     test_cuda_linger [STEPS]     fewer, as under compute-sanitizer
 */
#include "test_cuda_pair.h"

#include <stdlib.h>
#include <time.h>

enum { PLAYED = 2000, MOST_SPIKES = 1 << 16, READ = 40 };

static uint64_t n_steps = PLAYED;

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

static void sleep_us(long us)
{
    struct timespec nap = {.tv_nsec = us * 1000};
    nanosleep(&nap, NULL);
}

/* A host that runs burst by burst and sometimes does other work, which depends
 * only on its seed and the step. Each step gives a word that depends on all
 * results so far. */
typedef struct player {
    const vly_backend *backend;
    vly_backend_net *made;
    const test_net *net;
    uint64_t seed;
    uint64_t burst;
    uint64_t spikes;
    uint64_t seen;
    uint64_t log[PLAYED];
} player;

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

static void see(player *p, const uint32_t *words, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        p->seen = mix(p->seen, words[i]);
}

static uint64_t fill_inputs(const player *p, uint64_t n_bursts, uint64_t chance,
                            vly_input *inputs)
{
    uint64_t n = 0;
    for (uint64_t b = 0; b < n_bursts; b++)
        for (uint64_t i = 0; i < chance % 50; i++, n++)
            inputs[n] =
                (vly_input){.burst = p->burst + b,
                            .neuron = (uint32_t)((i * 131 + chance + b) %
                                                 p->net->desc.n_neurons),
                            .value = (int32_t)(chance % 400) - 50};
    return n;
}

static void play_run(player *p, uint64_t n_bursts, uint64_t chance)
{
    static uint32_t ids[MOST_SPIKES];
    static uint32_t gains[MOST_SPIKES];
    vly_input inputs[50 * 20];
    uint64_t digests[20];
    uint32_t spikes[20];
    vly_error error = {.struct_size = sizeof error};
    vly_run run = {.struct_size = sizeof run,
                   .n_bursts = n_bursts,
                   .digests = digests,
                   .spike_counts = spikes,
                   .inputs = inputs,
                   .n_inputs = fill_inputs(p, n_bursts, chance, inputs)};
    if (p->seed % 2 == 1 || chance % 64 == 5) {
        run.flags = VLY_RUN_RECORD;
        run.spikes = ids;
        run.spike_gains = chance % 3 == 0 ? gains : NULL;
        run.spikes_capacity = MOST_SPIKES;
    }
    assert_ok(p->backend->net_run(p->made, &run, &error), error);
    assert_int_equal(run.n_bursts_done, n_bursts);
    p->burst += n_bursts;
    p->seen = mix(p->seen, run.n_events);
    for (uint64_t b = 0; b < n_bursts; b++) {
        p->seen = mix(mix(p->seen, digests[b]), spikes[b]);
        p->spikes += spikes[b];
    }
    see(p, ids, run.n_spikes);
    if (run.spike_gains != NULL)
        see(p, gains, run.n_spikes);
}

static void play_read(player *p, uint32_t area, uint32_t field, uint32_t first,
                      uint32_t count)
{
    uint32_t words[READ];
    vly_error error = {.struct_size = sizeof error};
    assert_ok(p->backend->field_read(p->made, area, field, first, count, words,
                                     &error),
              error);
    see(p, words, count);
}

/* Occasional actions. */
static void play_else(player *p, uint64_t chance)
{
    vly_error error = {.struct_size = sizeof error};
    uint32_t word = test_float((float)(chance % 7) * 0.1f);
    vly_column column = {.words = &word, .uniform = 1};
    uint64_t digest = 0;
    switch (chance % 400) {
    case 0:
        play_read(p, 2, 0, (uint32_t)(chance % 11), 3);
        break;
    case 1:
        assert_ok(p->backend->field_write(p->made, 0, 0, 5, 1, &word, &error),
                  error);
        break;
    case 2:
        assert_ok(p->backend->coef_write(p->made, 0, 0, &column, &error),
                  error);
        break;
    case 3: {
        vly_snapshot snapshot;
        pair_snapshot(p->backend, p->made, &snapshot);
        see(p, snapshot.state, snapshot.n_state_words);
        see(p, snapshot.fired, snapshot.n_fired);
        test_snapshot_deinit(&snapshot);
        break;
    }
    case 4:
        assert_ok(p->backend->state_digest(p->made, &digest, &error), error);
        p->seen = mix(p->seen, digest);
        break;
    case 5:
        play_run(p, 20, chance / 400);
        break;
    default:
        if (chance % 400 < 20) /* some longer than a launch waits */
            sleep_us((long)(chance / 400 % 200));
    }
}

static void play_step(player *p, uint64_t step)
{
    uint64_t chance = mix(mix(p->seed, step), 1) >> 20;
    play_else(p, chance);
    play_run(p, chance % 16 == 3 ? 1 + chance / 16 % 8 : 1, chance / 128);
    play_read(p, 0, 0, 0, READ);
    if (p->seed % 4 < 2)
        play_read(p, 1, 0, 2, 5);
    p->log[step] = p->seen;
}

static void assert_played(const player *a, const player *b)
{
    for (uint64_t step = 0; step < n_steps; step++)
        if (a->log[step] != b->log[step])
            fail_msg("seed %llu: step %llu of %llu differs",
                     (unsigned long long)a->seed, (unsigned long long)step,
                     (unsigned long long)n_steps);
    assert_int_equal(a->spikes, b->spikes);
    assert_true(a->spikes > n_steps);
}

static const char *const staying[] = {
    "plan=resident",
    "plan=resident,lines=1",
    "plan=resident,blocks=7,lines=1",
    "plan=resident,split=1,threads=128",
    "plan=partitioned",
    "plan=partitioned,cluster=1",
    "plan=partitioned,cluster=2,unit=1",
    "plan=partitioned,blocks=6",
    "plan=resident,linger=2",
    "plan=partitioned,narrow=1,linger=1",
    "plan=partitioned,narrow=1,cluster=2,unit=2,linger=2",
    "plan=partitioned,linger=2",
};
enum { N_STAYING = sizeof staying / sizeof staying[0] };

/* Areas of odd sizes, one delay, sums that 16 bits hold. */
static void one_delay_net(test_net *net, uint64_t seed)
{
    static const uint32_t poisson[] = {0xc0000000u, 0xf0000000u};
    uint32_t coefs[NET_COEFS];
    test_net_init(net, seed);
    test_delta_coefs(coefs, 0.9f, 3);
    for (uint32_t a = 0; a < 3; a++) {
        test_area(net, "lif_psc_delta", a == 0 ? 3001 : 77 * a, coefs, 8);
        test_stimulus(net, a, poisson, 2, 0, 200, 0);
    }
    test_random_projection(net, 0, 0, 40, -100, 120, 1, 0);
    test_random_projection(net, 0, 1, 3, -100, 120, 1, 0);
    test_random_projection(net, 1, 0, 900, -100, 120, 1, 0);
    test_random_projection(net, 2, 2, 9, -100, 120, 1, 0);
    test_net_finish(net);
}

static void assert_narrow(const vly_backend_net *made)
{
    vly_net_info info = {.struct_size = sizeof info};
    vly_error error = {.struct_size = sizeof error};
    assert_ok(pair_cuda->net_info(made, &info, &error), error);
    assert_non_null(strstr(info.plan, " by 16 bits"));
}

/* The device first and alone, as quick as a host is; then the reference. */
static void play_both(const test_net *net, vly_backend_net *const nets[2],
                      uint64_t seed)
{
    static player players[2];
    for (int b = 1; b >= 0; b--) {
        players[b] = (player){.backend = b ? pair_cuda : pair_cpu,
                              .made = nets[b],
                              .net = net,
                              .seed = seed};
        for (uint64_t step = 0; step < n_steps; step++)
            play_step(&players[b], step);
        players[b].backend->net_destroy(nets[b]); /* while it stays */
    }
    assert_played(&players[0], &players[1]);
}

static void test_stays(void **state)
{
    (void)state;
    pair_open();
    for (uint32_t i = 0; i < 2 * N_STAYING; i++) {
        test_net net;
        vly_backend_net *nets[2];
        const char *option = staying[i % N_STAYING];
        const bool is_narrow = strstr(option, "narrow=1") != NULL;
        (is_narrow ? one_delay_net : pair_plain_net)(&net, 500 + i);
        if (create_both(&net, option, nets)) {
            if (is_narrow)
                assert_narrow(nets[1]);
            play_both(&net, nets, 4 * i + i / N_STAYING);
        }
        test_net_deinit(&net);
    }
}

/* The same where weights have shifts. */
static void test_shifted_stays(void **state)
{
    static const char *const options[] = {
        "plan=resident", "plan=resident,split=1,lines=1,linger=2",
        "plan=partitioned,cluster=1", "plan=partitioned,cluster=2,linger=2"};
    (void)state;
    pair_open();
    for (uint32_t i = 0; i < sizeof options / sizeof *options; i++) {
        test_net net;
        vly_backend_net *nets[2];
        pair_shifted_net(&net, 600 + i);
        if (create_both(&net, options[i], nets))
            play_both(&net, nets, 300 + i);
        test_net_deinit(&net);
    }
}

/* Nets that take turns, some steps each. */
static void test_turns(void **state)
{
    enum { NETS = 3 };
    static player players[2][NETS];
    static const char *const plans[NETS] = {"plan=resident", "plan=partitioned",
                                            NULL};
    test_net nets[NETS];
    (void)state;
    pair_open();
    for (uint32_t i = 0; i < NETS; i++) {
        vly_backend_net *made[2];
        pair_plain_net(&nets[i], 700 + i);
        assert_true(create_both(&nets[i], plans[i], made));
        for (int b = 0; b < 2; b++)
            players[b][i] = (player){.backend = b ? pair_cuda : pair_cpu,
                                     .made = made[b],
                                     .net = &nets[i],
                                     .seed = 900 + i};
    }
    for (int b = 1; b >= 0; b--)
        for (uint64_t step = 0; step < n_steps;) {
            uint64_t n = 1 + step * 7 % 13;
            n = n < n_steps - step ? n : n_steps - step;
            for (uint32_t i = 0; i < NETS; i++)
                for (uint64_t k = 0; k < n; k++)
                    play_step(&players[b][i], step + k);
            step += n;
        }
    for (uint32_t i = 0; i < NETS; i++) {
        assert_played(&players[0][i], &players[1][i]);
        for (int b = 0; b < 2; b++)
            players[b][i].backend->net_destroy(players[b][i].made);
        test_net_deinit(&nets[i]);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1)
        n_steps = strtoull(argv[1], NULL, 10);
    if (argc > 2 || n_steps == 0 || n_steps > PLAYED) {
        fprintf(stderr, "test_cuda_linger [STEPS]: 1 to %d\n", PLAYED);
        return 2;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stays),
        cmocka_unit_test(test_shifted_stays),
        cmocka_unit_test(test_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
