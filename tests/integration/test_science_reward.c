/* SPDX-License-Identifier: Apache-2.0
 * genomes/reward.toml with its host: the synapse from neuron 0 to its first
 * target is rewarded 1 to 3 s after both have fired within 20 ms. Izhikevich
 * 2007, doi:10.1093/cercor/bhl152.
 *
 * test_science_reward short                6 s: the same on one thread and on
 *                                          three, and other without reward
 * test_science_reward hour SEED...         3,600 s each; the rewarded synapse
 *                                          reaches 3.9 of 4
 * test_science_reward unrewarded SEED...   3,600 s each; it stays below 0.2
 */
#include "volley_test.h"

#include <stdlib.h>

#include "genome/genome.h"

#define WINDOW 20u  /* bursts of 1 ms */
#define REWARD 50.0 /* 1/s */
#define CHUNK 1000u /* bursts: no reward comes earlier */
#define REWARDS_MAX 100u

/* The host: watches two neurons, and remembers when to give a reward. */
typedef struct host {
    vly_net *net;
    uint32_t target; /* of the synapse; its source is neuron 0 */
    uint32_t window; /* bursts from source to target */
    double size;     /* of a reward; 0: none */
    uint64_t last;   /* burst of the source's last spike + 1 */
    uint64_t due[REWARDS_MAX];
    uint32_t n_due;
    uint32_t n_pairs;
    uint64_t random; /* state of a generator */
} host;

/* 1 to 3 s */
static uint64_t draw_delay(host *h)
{
    h->random = h->random * UINT64_C(6364136223846793005) +
                UINT64_C(1442695040888963407);
    return 1001 + (h->random >> 33) % 2000;
}

static vly_status watch(void *arg, uint64_t burst, const uint32_t *ids,
                        uint32_t n_ids, uint64_t digest)
{
    host *h = arg;
    (void)digest;
    for (uint32_t i = 0; i < n_ids; i++) {
        if (ids[i] == h->target && h->last != 0 && burst >= h->last &&
            burst + 1 - h->last < h->window && h->n_due < REWARDS_MAX) {
            h->due[h->n_due++] = burst + draw_delay(h);
            h->n_pairs++;
            h->last = 0; /* one reward a pair */
        }
        if (ids[i] == 0)
            h->last = burst + 1;
    }
    return VLY_OK;
}

/* Runs a second and gives the rewards that have been earned in it. */
static vly_status run_second(host *h, vly_error *error)
{
    vly_status status = vly_net_run(h->net, CHUNK, error);
    for (uint32_t i = 0; status == VLY_OK && i < h->n_due; i++)
        status =
            vly_net_modulate(h->net, h->due[i], "dopamine", h->size, error);
    h->n_due = 0;
    return status;
}

/* ---- a run --------------------------------------------------------------- */

typedef struct result {
    double end;         /* weight of the synapse */
    double most;        /* largest of all seconds */
    uint32_t seconds;   /* until then, or all of them */
    uint32_t reached_s; /* first second at 3.9; 0: never */
    uint32_t n_pairs;
    vly_weights_stats stats;
    double rate_hz;
    uint64_t state_digest;
} result;

static void begin(host *h, vly_genome **genome, vly_connectome **connectome,
                  vly_registry **registry, uint32_t seed, const char *backend,
                  vly_error *error)
{
    static char number[16];
    const vly_override seeds[] = {{.path = "run.seed_network", .value = number},
                                  {.path = "run.seed_input", .value = number}};
    double zero = 0;
    snprintf(number, sizeof number, "%u", seed);
    assert_ok(vly_registry_create(registry, error), *error);
    assert_ok(vly_genome_load(VLY_TEST_SOURCE_DIR "/genomes/reward.toml", seeds,
                              2, genome, error),
              *error);
    assert_ok(vly_connectome_build(*genome, 1, connectome, error), *error);
    assert_ok(
        vly_net_create(*connectome, *registry, backend, 0, &h->net, error),
        *error);
    assert_ok(vly_net_weights_read(h->net, "excitation", 0, 0, 1, NULL, NULL,
                                   &h->target, error),
              *error);
    assert_ok(
        vly_net_weights_write(h->net, "excitation", 0, 0, 1, &zero, error),
        *error);
    vly_net_on_spikes(h->net, watch, h);
    h->random = seed;
}

static result run_for(uint32_t seconds, uint32_t seed, const char *backend,
                      double size)
{
    /* a short run has hardly a pair of the usual kind */
    host h = {.size = size, .window = seconds > 60 ? WINDOW : 60 * WINDOW};
    vly_genome *genome = NULL;
    vly_connectome *connectome = NULL;
    vly_registry *registry = NULL;
    vly_error error = {.struct_size = sizeof error};
    vly_stats stats = {.struct_size = sizeof stats};
    result r = {.stats = {.struct_size = sizeof r.stats}};
    begin(&h, &genome, &connectome, &registry, seed, backend, &error);
    for (uint32_t s = 1; s <= seconds && r.reached_s == 0; s++) {
        r.seconds = s;
        assert_ok(run_second(&h, &error), error);
        assert_ok(vly_net_weights_read(h.net, "excitation", 0, 0, 1, &r.end,
                                       NULL, NULL, &error),
                  error);
        r.most = r.end > r.most ? r.end : r.most;
        if (r.reached_s == 0 && r.end >= 3.9)
            r.reached_s = s;
    }
    r.n_pairs = h.n_pairs;
    assert_ok(vly_net_weights_stats(h.net, "excitation", 0, &r.stats, &error),
              error);
    assert_ok(vly_net_stats(h.net, &stats, &error), error);
    r.rate_hz = (double)stats.spikes / (double)stats.neurons / r.seconds;
    assert_ok(vly_net_state_digest(h.net, &r.state_digest, &error), error);
    vly_net_destroy(h.net);
    vly_connectome_destroy(connectome);
    vly_genome_destroy(genome);
    vly_registry_destroy(registry);
    printf("%s, seed %u, %u s: weight %.3f (most %.3f), 3.9 after %u s; %u "
           "pairs; mean of all %.3f, %.2f%% at 4; %.2f Hz\n",
           size != 0 ? "rewarded" : "unrewarded", seed, r.seconds, r.end,
           r.most, r.reached_s, r.n_pairs, r.stats.mean,
           100.0 * (double)r.stats.n_at_most / (double)r.stats.n, r.rate_hz);
    (void)fflush(stdout);
    return r;
}

/* ---- tests --------------------------------------------------------------- */

/* A few seconds of the same host on one thread and on three, and without
 * reward: that makes the weights differ, and the number of threads does not. */
static void test_short(void **state)
{
    (void)state;
    result with = run_for(6, 1, "cpu:1", REWARD);
    result same = run_for(6, 1, "cpu:3", REWARD);
    result without = run_for(6, 1, "cpu:1", 0.0);
    assert_true(with.state_digest == same.state_digest);
    assert_true(with.n_pairs > 0);
    assert_true(with.state_digest != without.state_digest);
}

static uint32_t seeds_of_test[16];
static int n_seeds;

static void test_hour(void **state)
{
    uint32_t n_failed = 0;
    (void)state;
    for (int i = 0; i < n_seeds; i++)
        n_failed +=
            !(run_for(3600, seeds_of_test[i], "cpu:1", REWARD).most >= 3.9);
    assert_int_equal(n_failed, 0);
}

static void test_unrewarded(void **state)
{
    uint32_t n_failed = 0;
    (void)state;
    for (int i = 0; i < n_seeds; i++)
        n_failed +=
            !(run_for(3600, seeds_of_test[i], "cpu:1", 0.0).most <= 0.2);
    assert_int_equal(n_failed, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest shorts[] = {cmocka_unit_test(test_short)};
    const struct CMUnitTest hour[] = {cmocka_unit_test(test_hour)};
    const struct CMUnitTest unrewarded[] = {cmocka_unit_test(test_unrewarded)};
    const char *name = argc > 1 ? argv[1] : "";
    for (int i = 2; i < argc && n_seeds < 16; i++)
        seeds_of_test[n_seeds++] = (uint32_t)strtoul(argv[i], NULL, 10);
    if (strcmp(name, "short") == 0)
        return cmocka_run_group_tests(shorts, NULL, NULL) ? 1 : 0;
    if (strcmp(name, "hour") == 0 && n_seeds > 0)
        return cmocka_run_group_tests(hour, NULL, NULL) ? 1 : 0;
    if (strcmp(name, "unrewarded") == 0 && n_seeds > 0)
        return cmocka_run_group_tests(unrewarded, NULL, NULL) ? 1 : 0;
    fprintf(stderr, "wanted short, hour SEED... or unrewarded SEED...\n");
    return 2;
}
