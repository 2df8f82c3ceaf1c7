/* SPDX-License-Identifier: Apache-2.0
 * test_random_genomes FIRST COUNT: random genomes by seed. For each one: its
 * resolved text parses to the same hash; 1 and 3 threads build the same
 * connectome; the second simulator on the saved connectome, cpu:1, cpu:4 and a
 * run that swaps halfway give the same digests burst by burst. At least 90%
 * must fire, and everything of RANDOM_COVERAGE_TABLE come up ten times.
 */
#include "volley_test.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "connectome/connectome.h"
#include "engine_trace.h"
#include "genome/genome.h"
#include "random_genome.h"

static uint64_t first_seed = 0;
static uint64_t n_genomes = 300;

static random_coverage coverage;
static uint64_t n_fired;
static uint64_t n_failed;
static uint64_t n_spikes;
static uint64_t n_events;

typedef struct candidate {
    uint64_t seed;
    char *text;
    vly_genome *genome;
    vly_connectome *connectome;
    char path[512];
} candidate;

static bool complain(const candidate *c, const char *what,
                     const vly_error *error)
{
    fprintf(stderr, "random genome %" PRIu64 ": %s: %s\n", c->seed, what,
            error->message);
    return false;
}

static bool check_resolved(const candidate *c, vly_error *error)
{
    vly_genome *again = NULL;
    if (vly_genome_parse(c->genome->resolved, strlen(c->genome->resolved),
                         "resolved", NULL, 0, &again, error))
        return complain(c, "its resolved text", error);
    bool same = again->hash.lane[0] == c->genome->hash.lane[0] &&
                again->hash.lane[1] == c->genome->hash.lane[1];
    vly_genome_destroy(again);
    if (!same)
        fprintf(stderr,
                "random genome %" PRIu64
                ": the resolved text parses to something else\n",
                c->seed);
    return same;
}

static bool build(candidate *c, vly_error *error)
{
    vly_connectome *other = NULL;
    if (vly_genome_parse(c->text, strlen(c->text), "random.toml", NULL, 0,
                         &c->genome, error))
        return complain(c, "parse", error);
    if (!check_resolved(c, error))
        return false;
    if (vly_connectome_build(c->genome, 1, &c->connectome, error))
        return complain(c, "build", error);
    if (vly_connectome_build(c->genome, 3, &other, error))
        return complain(c, "build with 3 threads", error);
    bool same =
        memcmp(&other->hash, &c->connectome->hash, sizeof other->hash) == 0;
    vly_connectome_destroy(other);
    if (!same) {
        fprintf(stderr,
                "random genome %" PRIu64 ": 1 and 3 threads build different "
                "connectomes\n",
                c->seed);
        return false;
    }
    if (vly_connectome_save(c->connectome, c->path, error))
        return complain(c, "save", error);
    return true;
}

static bool compare(const candidate *c, vly_registry *registry,
                    vly_error *error)
{
    static const struct {
        const char *backend, *swap_to;
    } runs[] = {{"cpu:1", NULL}, {"cpu:4", NULL}, {"cpu:3", "cpu:2"}};
    uint64_t n = c->genome->n_bursts;
    trace second = {0};
    bool equal = true;
    if (trace_second(c->path, n, &second))
        return complain(c, "second simulator", error);
    for (size_t k = 0; equal && k < sizeof runs / sizeof runs[0]; k++) {
        trace engine = {0};
        if (trace_engine(c->connectome, registry, runs[k].backend, n,
                         runs[k].swap_to, n / 2, &engine, error)) {
            trace_free(&second);
            return complain(c, runs[k].backend, error);
        }
        equal = trace_equal(&second, "the second simulator", &engine,
                            runs[k].swap_to ? "cpu:3, then cpu:2"
                                            : runs[k].backend);
        trace_free(&engine);
    }
    n_fired += second.spikes > 0;
    n_spikes += second.spikes;
    n_events += second.events;
    trace_free(&second);
    return equal;
}

static void keep(const candidate *c)
{
    char path[600];
    snprintf(path, sizeof path, "%s/random_%" PRIu64 ".toml",
             VLY_TEST_BINARY_DIR, c->seed);
    FILE *stream = fopen(path, "w");
    if (!stream)
        return;
    fputs(c->text, stream);
    fclose(stream);
    fprintf(stderr, "random genome %" PRIu64 ": kept as %s\n", c->seed, path);
}

static bool one_genome(uint64_t seed, vly_registry *registry)
{
    vly_error error = {.struct_size = sizeof error};
    candidate c = {.seed = seed};
    c.text = random_genome(seed, &coverage);
    if (!c.text)
        return false;
    snprintf(c.path, sizeof c.path, "%s/random_%ld.connectome",
             VLY_TEST_BINARY_DIR, (long)getpid());
    bool good = build(&c, &error) && compare(&c, registry, &error);
    if (!good)
        keep(&c);
    unlink(c.path);
    vly_connectome_destroy(c.connectome);
    vly_genome_destroy(c.genome);
    free(c.text);
    return good;
}

static void test_random_genomes(void **state)
{
    (void)state;
    vly_error error = {.struct_size = sizeof error};
    vly_registry *registry = NULL;
    assert_ok(vly_registry_create(&registry, &error), error);
    for (uint64_t k = 0; k < n_genomes && n_failed < 10; k++)
        n_failed += !one_genome(first_seed + k, registry);
    vly_registry_destroy(registry);
    printf("%" PRIu64 " genomes, %" PRIu64 " fire, %" PRIu64 " spikes, %" PRIu64
           " synaptic events\n",
           n_genomes, n_fired, n_spikes, n_events);
    assert_int_equal(n_failed, 0);
    assert_true(n_fired * 10 >= n_genomes * 9);
}

/* Everything at least ten times in 300 genomes; fewer in a shorter run. */
static void test_coverage(void **state)
{
    (void)state;
    uint32_t wanted = n_genomes >= 300 ? 10 : n_genomes >= 100 ? 3 : 0;
    uint32_t n_missing = 0;
    for (int k = 0; k < COVER_COUNT; k++) {
        printf("%-26s %u\n", random_coverage_names[k],
               (unsigned)coverage.count[k]);
        n_missing += coverage.count[k] < wanted;
    }
    assert_int_equal(n_missing, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_genomes),
        cmocka_unit_test(test_coverage),
    };
    if (argc > 1)
        first_seed = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        n_genomes = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
