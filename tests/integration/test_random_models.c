/* SPDX-License-Identifier: Apache-2.0
 * test_random_models FIRST COUNT [spread] [SPEC...]: genomes of eight random
 * models each (random_neuron.c), by seed; spread: which several devices run.
 * The backends (cpu:1, cpu:3 with scalar code, or those named), a net that is
 * swapped half way and the second simulator, which evaluates the operations one
 * by one, must give the same digests; the resolved genome must have the same
 * hash. Nine genomes of ten must fire.
 */
#include "device_test.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "connectome/connectome.h"
#include "engine_trace.h"
#include "plugin/registry.h"
#include "random_neuron.h"

enum { MODELS = 8 };

static const char *const cpus[] = {"cpu:1", "cpu:3,isa=scalar"};
static const char *const *specs = cpus;
static uint32_t n_specs = 2;
static uint64_t first = 0;
static uint64_t count = 12;
static bool spread;
static uint64_t n_firing;
static uint64_t n_refused;
static vly_registry *registry;
static vly_error error = {.struct_size = sizeof error};

static void check_resolved(uint64_t seed, const vly_genome *genome)
{
    vly_genome *again = NULL;
    assert_ok(vly_genome_parse(genome->resolved, strlen(genome->resolved),
                               "resolved.toml", NULL, 0, &again, &error),
              error);
    if (memcmp(&again->hash, &genome->hash, sizeof again->hash) != 0)
        fail_msg("seed %" PRIu64 ": the resolved genome has another hash",
                 seed);
    vly_genome_destroy(again);
}

static void same(uint64_t seed, const trace *a, const trace *b, const char *who)
{
    if (a->digest != b->digest || a->state_digest != b->state_digest)
        fail_msg("seed %" PRIu64 " by %s: digests %016" PRIx64 " %016" PRIx64
                 ", the first backend has %016" PRIx64 " %016" PRIx64,
                 seed, who, b->digest, b->state_digest, a->digest,
                 a->state_digest);
}

static void run(uint64_t seed, const vly_connectome *connectome,
                uint64_t n_bursts)
{
    char path[512];
    trace wanted = {0};
    for (uint32_t k = 0; k <= n_specs; k++) { /* the last one swaps */
        trace t = {0};
        const char *spec = specs[k < n_specs ? k : 0];
        if (trace_engine(connectome, NULL, registry, spec, n_bursts,
                         k < n_specs ? NULL : specs[n_specs - 1], n_bursts / 2,
                         &t, &error))
            fail_msg("seed %" PRIu64 " on %s: %s", seed, spec, error.message);
        if (k == 0) {
            wanted = t;
            continue;
        }
        same(seed, &wanted, &t, k < n_specs ? spec : "a swap");
        trace_free(&t);
    }
    n_firing += wanted.spikes > 0;
    snprintf(path, sizeof path, "%s/random_models_%ld.connectome",
             VLY_TEST_BINARY_DIR, (long)getpid());
    assert_ok(vly_connectome_save(connectome, path, &error), error);
    trace second = {0};
    assert_int_equal(trace_second(path, n_bursts, &second), 0);
    unlink(path);
    same(seed, &wanted, &second, "the second simulator");
    trace_free(&second);
    trace_free(&wanted);
}

static void random_models(void **state)
{
    (void)state;
    assert_ok(vly_registry_create(&registry, &error), error);
    for (uint32_t k = 0; k < n_specs; k++)
        device_require(registry, specs[k]);
    for (uint64_t seed = first; seed < first + count; seed++) {
        vly_genome *genome = NULL;
        vly_connectome *connectome = NULL;
        char *text = random_neuron_genome(seed, MODELS, spread);
        vly_status status = vly_genome_parse(text, strlen(text), "random.toml",
                                             NULL, 0, &genome, &error);
        if (status == VLY_OK) {
            check_resolved(seed, genome);
            status = vly_connectome_build(genome, 2, &connectome, &error);
        }
        /* random parameters may not fit, or the model may be too large */
        if (status == VLY_E_PARSE &&
            (strstr(error.message, "division by 0") ||
             strstr(error.message, "not a finite number") ||
             strstr(error.message, "more than 1024 in all") ||
             strstr(error.message, "would fire again at once"))) {
            n_refused++;
            vly_genome_destroy(genome);
            free(text);
            continue;
        }
        if (status != VLY_OK)
            fail_msg("seed %" PRIu64 ": %s\n%s", seed, error.message, text);
        free(text);
        uint64_t n_bursts = genome->n_bursts;
        vly_genome_destroy(genome);
        run(seed, connectome, n_bursts);
        vly_connectome_destroy(connectome);
    }
    vly_registry_destroy(registry);
    printf("%" PRIu64 " genomes of %d models: %" PRIu64 " with spikes, %" PRIu64
           " refused\n",
           count, MODELS, n_firing, n_refused);
    assert_true(10 * n_firing >= 9 * (count - n_refused));
    assert_true(4 * n_refused <= count);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_models)};
    if (argc > 2) {
        first = strtoull(argv[1], NULL, 10);
        count = strtoull(argv[2], NULL, 10);
    }
    const int at = argc > 3 && strcmp(argv[3], "spread") == 0 ? 4 : 3;
    spread = at == 4;
    if (argc > at) {
        specs = (const char *const *)argv + at;
        n_specs = (uint32_t)(argc - at);
    }
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
