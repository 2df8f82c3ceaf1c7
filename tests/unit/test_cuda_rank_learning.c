/* SPDX-License-Identifier: Apache-2.0
 * Nets that learn, run by ranks of the CUDA backend and of several backends,
 * beside one process of the CPU: all kinds of rules, cuts inside areas, windows
 * of several bursts and of one, rings of spikes that fill, runs of any length,
 * weights read and written, rules changed, and swaps, in which the snapshot
 * carries all of it. TEST_PLUGIN: the kernels on the processor.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine_fixture.h"

#include "connectome/connectome.h"
#include "engine/ranks.h"
#include "thread_exchange.h"

enum {
    BURSTS = 90,
    RANKS = 3,
    WEIGHTS = 350,
    WRITTEN_FROM = 90, /* of them the test itself writes these */
    WRITTEN = 120,
    WRITTEN_END = WRITTEN_FROM + WRITTEN
};

#define POISSON(to, rate, more)                                                \
    "[[stimulus]]\nkind = \"poisson\"\nto = \"" to "\"\nrate_hz = " rate       \
    "\nweight_mv = 15\n" more

#define HEAD                                                                   \
    "format = 1\n[run]\ndt_ms = 0.5\nbursts = 90\n"                            \
    "[area.A]\nmodel = \"lif_psc_delta\"\nneurons = 70\nt_ref_ms = 0.5\n"      \
    "v_mv = { uniform = [-70, -50] }\n"                                        \
    "[area.S]\nmodel = \"lif_psc_delta\"\nneurons = 90\n" POISSON(             \
        "A", "5000", "") POISSON("S", "900", "stop_ms = 6\n")                  \
        POISSON("S", "900", "start_ms = 38\n")

#define MAP(name, from, to, map)                                               \
    "[[map]]\nid = \"" name "\"\nfrom = \"" from "\"\nto = \"" to              \
    "\"\nrule = \"fixed_in_degree\"\nin_degree = 5\n" map "\n"

#define LEARNS(name, from, to, rule, map)                                      \
    "[plasticity." name "]\n" rule                                             \
    "\n" MAP(name, from, to, "plasticity = \"" name "\"\n" map)

/* Bursts between two exchanges: 3. In the pause of S a neuron of A has more
 * spikes than its ring holds. */
#define FAR                                                                    \
    LEARNS("p", "S", "A",                                                      \
           "rule = \"stdp\"\nw_max_mv = 2\nlambda = 0.01\n"                    \
           "tau_plus_ms = 100",                                                \
           "weight_mv = { uniform = [0, 1.8] }\ndelay_ms = 1.5")               \
    LEARNS("triplets", "A", "A",                                               \
           "rule = \"stdp_triplet\"\nw_max_mv = -1\n"                          \
           "delay = \"dendritic\"",                                            \
           "weight_mv = -0.4\ndelay_ms = 2")                                   \
    LEARNS("short", "A", "S", "rule = \"tsodyks2\"",                           \
           "weight_mv = 2\ndelay_ms = { uniform = [2, 4] }")                   \
    MAP("still", "S", "A", "weight_mv = 1\ndelay_ms = 2")

/* The same with a rule of a user. */
#define OWN                                                                    \
    "[synapse.own]\nparam = { tau = \"100 ms\", fast = \"9 ms\", "             \
    "dw = \"0.02 weight\" }\npre = { x = \"tau\", r = \"fast\" }\n"            \
    "post = { y = \"fast\" }\n"                                                \
    "on_pre = \"w -= dw*(if y < 0.5 then y else exp(-r))\"\n"                  \
    "on_post = \"w += dw*x*(1 - w/w_max)*sqrt(0.1 + y)\"\n" LEARNS(            \
        "own", "S", "A",                                                       \
        "rule = \"own\"\nw_max_mv = 2\ndw_mv = 0.01\n"                         \
        "nearest = true",                                                      \
        "weight_mv = { uniform = [0, 1.8] }\ndelay_ms = 1.5")

/* Eligibilities, whose modulator is the host's: weights change within windows
 * of bursts. */
#define GIVEN                                                                  \
    LEARNS("p", "S", "A",                                                      \
           "rule = \"stdp_reward\"\nw_max_mv = 3\na_plus_mv = 0.5\n"           \
           "a_minus_mv = 0.3\ntau_c_ms = 30\ntau_n_ms = 4\n"                   \
           "interval_ms = 2",                                                  \
           "weight_mv = { uniform = [0, 3] }\ndelay_ms = 1.5")

/* An area's modulator, and FEAGI's rule: ranks exchange after every burst. */
#define EVERY                                                                  \
    LEARNS("p", "S", "A",                                                      \
           "rule = \"stdp_reward\"\nw_max_mv = 3\na_plus_mv = 0.5\n"           \
           "a_minus_mv = 0.3\ntau_c_ms = 30\ntau_n_ms = 4\nincrement = 20\n"   \
           "interval_ms = 3.5\nmodulator = \"A\"",                             \
           "weight_mv = { uniform = [0, 3] }\ndelay_ms = 1.5")                 \
    "[area.F]\nmodel = \"feagi\"\nneurons = 80\nfiring_threshold = 4\n"        \
    "postsynaptic_current = 3\n" LEARNS(                                       \
        "window", "F", "F",                                                    \
        "rule = \"feagi_stdp\"\nw_max = 255\nplasticity_window = 2\n"          \
        "plasticity_constant = 1\nltp_multiplier = 5\nltd_multiplier = 2",     \
        "weight = 2\ndelay_bursts = 1")                                        \
        MAP("drive", "A", "F", "weight = 1\ndelay_bursts = 2")

/* What a run has found. */
typedef struct outcome {
    fingerprint print;
    double weights[2][WEIGHTS]; /* of p after 31 bursts, and at the end */
} outcome;

/* ---- a run -------------------------------------------------------------- */

static void read_weights(fixture *f, vly_net *net, double *weights)
{
    assert_ok(vly_net_weights_read(net, "p", 0, 0, WEIGHTS, weights, NULL, NULL,
                                   &f->error),
              f->error);
}

static void set(fixture *f, vly_net *net, const char *path, double value)
{
    assert_ok(vly_net_set(net, path, value, &f->error), f->error);
}

/* What happens after so many bursts. */
static void act(fixture *f, vly_net *net, uint32_t done, const char *then,
                outcome *out)
{
    static const double weights[WRITTEN] = {
        [0] = 0.25, [70] = 1.75, [WRITTEN - 1] = 1.0};
    if (done == 31) {
        read_weights(f, net, out->weights[0]);
        assert_ok(vly_net_weights_write(net, "p", 0, WRITTEN_FROM, WRITTEN,
                                        weights, &f->error),
                  f->error);
    } else if (done == 50) {
        assert_ok(vly_net_swap(net, then, 0, &f->error), f->error);
    } else if (done == 61) {
        set(f, net, "plasticity.p.frozen", 1);
    } else if (done == 70) {
        set(f, net, "plasticity.p.frozen", 0);
    }
}

static outcome run(fixture *f, const vly_connectome *connectome,
                   const char *first, const char *then, uint32_t piece,
                   bool modulates)
{
    static const uint32_t stops[] = {31, 50, 61, 70, BURSTS};
    static spike_log log;
    static outcome out;
    vly_net *net = NULL;
    uint32_t done = 0;
    out = (outcome){.print = {0}};
    log = (spike_log){.fail_at = UINT64_MAX};
    assert_ok(
        vly_net_create(connectome, f->registry, first, 0, &net, &f->error),
        f->error);
    if (piece < BURSTS) /* recorded, so windows have room of another size */
        vly_net_on_spikes(net, spike_log_add, &log);
    for (uint32_t burst = 5; modulates && burst < BURSTS; burst += 6)
        assert_ok(vly_net_modulate(net, burst, "p",
                                   burst % 4 == 1 ? 30.0 : -7.25, &f->error),
                  f->error);
    for (uint32_t k = 0; k < sizeof stops / sizeof stops[0]; k++)
        for (; done < stops[k]; act(f, net, done, then, &out)) {
            const uint32_t left = stops[k] - done;
            const uint32_t n = left < piece ? left : piece;
            out.print = fixture_run(f, net, n);
            done += n;
        }
    read_weights(f, net, out.weights[1]);
    vly_net_destroy(net);
    return out;
}

/* ---- ranks as threads --------------------------------------------------- */

typedef struct rank_job {
    fixture *f;
    vly_connectome connectome; /* arrays are shared */
    vly_rank_group *group;
    vly_error error;
    vly_status status;
    uint32_t rank;
    uint32_t n_ranks;
} rank_job;

static void join(rank_job *job)
{
    /* within A, and within S */
    const uint32_t n = job->connectome.desc.n_neurons;
    const uint32_t cut[2][RANKS + 1] = {{0, 64, n}, {0, 64, 134, n}};
    const vly_exchange_spec spec = {.struct_size = sizeof spec,
                                    .rank = job->rank,
                                    .n_ranks = job->n_ranks,
                                    .timeout_ms = 60000,
                                    .name = "2"};
    job->error.struct_size = sizeof job->error;
    job->status =
        vly_ranks_open(thread_exchange(), &spec, &job->group, &job->error);
    if (job->status == VLY_OK)
        job->status = vly_ranks_divide(job->group, &job->connectome,
                                       cut[job->n_ranks - 2], &job->error);
}

static void *serve(void *arg)
{
    rank_job *job = arg;
    join(job);
    if (job->status == VLY_OK)
        job->status = vly_ranks_serve(job->group, &job->connectome,
                                      job->f->registry, &job->error);
    vly_ranks_close(job->group);
    return NULL;
}

static outcome run_ranks(fixture *f, uint32_t n_ranks, const char *first,
                         const char *then, uint32_t piece, bool modulates)
{
    static rank_job jobs[RANKS];
    pthread_t threads[RANKS];
    for (uint32_t r = 0; r < n_ranks; r++) {
        jobs[r] = (rank_job){.f = f,
                             .connectome = *f->connectome,
                             .rank = r,
                             .n_ranks = n_ranks};
        if (r > 0)
            assert_int_equal(pthread_create(&threads[r], NULL, serve, &jobs[r]),
                             0);
    }
    join(&jobs[0]);
    assert_ok(jobs[0].status, jobs[0].error);
    outcome out = run(f, &jobs[0].connectome, first, then, piece, modulates);
    vly_ranks_close(jobs[0].group);
    for (uint32_t r = 1; r < n_ranks; r++) {
        pthread_join(threads[r], NULL);
        assert_ok(jobs[r].status, jobs[r].error);
    }
    return out;
}

/* ---- beside one process ------------------------------------------------- */

static void is_the_cpu(const char *text, bool modulates)
{
    static const struct {
        uint32_t n_ranks;
        const char *first;
        const char *then;
        uint32_t piece;
    } cases[] = {{2, "cuda:0,blocks=2", "cpu:1", BURSTS},
                 {3, "cpu:1+cuda:0,blocks=1", "cuda:0,blocks=1,launch=2", 4}};
    char path[1024];
    fixture f;
    (void)snprintf(path, sizeof path, "%s:%s/cpu.so", TEST_PLUGIN,
                   VLY_TEST_PLUGIN_DIR);
    setenv("VOLLEY_PLUGIN_PATH", path, 1);
    fixture_init(&f, text);
    const outcome wanted =
        run(&f, f.connectome, "cpu:1", "cpu:2", BURSTS, modulates);
    assert_true(wanted.print.spikes > UINT64_C(70) * BURSTS / 3);
    /* weights that the test did not write have changed by learning */
    assert_memory_not_equal(
        &wanted.weights[0][WRITTEN_END], &wanted.weights[1][WRITTEN_END],
        (WEIGHTS - WRITTEN_END) * sizeof wanted.weights[0][0]);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const outcome found =
            run_ranks(&f, cases[i].n_ranks, cases[i].first, cases[i].then,
                      cases[i].piece, modulates);
        assert_same(&found.print, &wanted.print);
        assert_memory_equal(found.weights, wanted.weights,
                            sizeof wanted.weights);
    }
    fixture_deinit(&f);
}

static void far_spikes(void **state)
{
    (void)state;
    is_the_cpu(HEAD FAR, false);
}

static void rule_of_a_user(void **state)
{
    (void)state;
    is_the_cpu(HEAD FAR OWN, false);
}

static void modulator_of_the_host(void **state)
{
    (void)state;
    is_the_cpu(HEAD GIVEN, true);
}

static void every_burst(void **state)
{
    (void)state;
    is_the_cpu(HEAD EVERY, true);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(far_spikes), cmocka_unit_test(rule_of_a_user),
    cmocka_unit_test(modulator_of_the_host), cmocka_unit_test(every_burst)};
VLY_TEST_MAIN(tests)
