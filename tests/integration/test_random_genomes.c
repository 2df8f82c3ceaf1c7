/* SPDX-License-Identifier: Apache-2.0
 * test_random_genomes FIRST COUNT [BACKENDS]: random genomes by seed. For each
 * one: its resolved text parses to the same hash; 1 and 3 threads build the
 * same connectome, and every map has the synapses that the second rules say;
 * the saved connectome is read back the same;
 * its digest is the second reader's and the sum of its parts;
 * the second simulator on the saved connectome, cpu:1, cpu:4
 * and a run that swaps halfway give the same digests burst by burst and the
 * same state. At least 90% must fire, and everything of RANDOM_COVERAGE_TABLE
 * come up ten times.
 * With HDF5, every odd genome that names a file of synapses has it as SONATA
 * edges: the same synapses as in the text. Ranks build the same parts of a
 * connectome, with each other and alone.
 * BACKENDS, as in cpu,cuda:1, are taken instead of cpu:1 and cpu:4; the run
 * that swaps goes from the last to the first. With ranks, as in cpu:1@3, delays
 * of every odd genome are longer, so that ranks exchange spikes less often than
 * every burst. At least a fifth of the runs must do so, and a fifth must have a
 * part of the connectome on each rank. Where one of them has no device
 * the test is skipped with the reason, or fails where it is required.
 */
#include "device_test.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "connectome/connectome.h"
#include "digest_parts.h"
#include "engine_trace.h"
#include "genome/genome.h"
#include "random_genome.h"
#include "rank_parts.h"
#ifdef VLY_TEST_SONATA
#include "random_sonata.h"
#endif
#include "saved_connectome.h"
#include "second_rules.h"

enum { BACKENDS_MAX = 8 };

typedef struct test_run {
    const char *backend;
    const char *swap_to; /* NULL: stays */
} test_run;

static uint64_t first_seed = 0;
static uint64_t n_genomes = 300;
static test_run runs[BACKENDS_MAX + 1] = {
    {"cpu:1", NULL}, {"cpu:4", NULL}, {"cpu:3", "cpu:2"}};
static uint32_t n_runs = 3;
/* Maps that all backends can run: RANDOM_*. */
static unsigned more = RANDOM_ALL;

static char own_folder[512]; /* for the files of one genome */
static random_coverage coverage;
static rank_parts parts;
static uint64_t n_fired;
static uint64_t n_failed;
static uint64_t n_spikes;
static uint64_t n_events;
static uint64_t n_ranked;   /* runs by ranks */
static uint64_t n_parted;   /* of these, with a part on each rank */
static uint64_t n_windowed; /* of these, with windows of several bursts */

typedef struct candidate {
    uint64_t seed;
    char *text;
    char *edges; /* of its file; NULL: it names none */
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

static bool put_file(const char *in, const char *name, const char *text)
{
    char path[600];
    snprintf(path, sizeof path, "%.500s/%.80s", in, name);
    FILE *stream = fopen(path, "w");
    if (!stream)
        return false;
    bool good = fputs(text, stream) >= 0;
    return fclose(stream) == 0 && good;
}

#ifdef VLY_TEST_SONATA
static const vly_edge_list *edges_of(const vly_genome *genome)
{
    for (uint32_t i = 0; i < genome->n_pairs; i++)
        if (genome->pairs[i].edges)
            return genome->pairs[i].edges;
    return NULL;
}

/* The same genome with the same file in the other form. */
static bool take_sonata(candidate *c, const char *name, vly_error *error)
{
    char path[600];
    vly_genome *other = NULL;
    if (!c->edges || c->seed % 2 == 0)
        return true;
    snprintf(path, sizeof path, "%.500s/%s", own_folder, RANDOM_EDGES_FILE);
    if (!random_sonata_write(c->edges, c->genome->dt_ms, path))
        return complain(c, "its file as SONATA edges", error);
    if (vly_genome_parse(c->text, strlen(c->text), name, NULL, 0, &other,
                         error))
        return complain(c, "parse with SONATA edges", error);
    const vly_edge_list *text = edges_of(c->genome);
    bool same =
        text ? random_sonata_same(text, edges_of(other)) : !edges_of(other);
    vly_genome_destroy(c->genome);
    c->genome = other;
    coverage.count[COVER_file_sonata] += text != NULL;
    if (!same)
        fprintf(stderr,
                "random genome %" PRIu64 ": SONATA edges say other synapses "
                "than the text\n",
                c->seed);
    return same;
}
#endif

static bool build(candidate *c, vly_error *error)
{
    vly_connectome *other = NULL;
    char name[512];
    snprintf(name, sizeof name, "%.400s/random.toml", own_folder);
    if (c->edges && !put_file(own_folder, RANDOM_EDGES_FILE, c->edges))
        return complain(c, "its file of synapses", error);
    if (vly_genome_parse(c->text, strlen(c->text), name, NULL, 0, &c->genome,
                         error))
        return complain(c, "parse", error);
#ifdef VLY_TEST_SONATA
    if (!take_sonata(c, name, error))
        return false;
#endif
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
    if (second_rules_check(c->genome, c->connectome) > 0) {
        fprintf(stderr,
                "random genome %" PRIu64 ": synapses that no rule says\n",
                c->seed);
        return false;
    }
    if (vly_connectome_save(c->connectome, c->path, error))
        return complain(c, "save", error);
    return saved_connectome_same(c->connectome, c->path) &&
           digest_parts_check(c->connectome, c->path, c->seed, name);
}

/* A record of input changes no spike, and the second simulator has added up
 * what arrived. */
static bool check_record(const candidate *c, vly_registry *registry,
                         const trace *recorded, vly_error *error)
{
    const char *record = strstr(c->text, RANDOM_RECORD);
    vly_genome *genome = NULL;
    vly_connectome *connectome = NULL;
    trace without = {0};
    char name[512];
    if (!record)
        return true;
    if (recorded->n_sums == 0) {
        fprintf(stderr,
                "random genome %" PRIu64 ": input is recorded, and no sum of "
                "it was compared\n",
                c->seed);
        return false;
    }
    snprintf(name, sizeof name, "%.400s/random.toml", own_folder);
    vly_status status = vly_genome_parse(c->text, (size_t)(record - c->text),
                                         name, NULL, 0, &genome, error);
    if (status == VLY_OK)
        status = vly_connectome_build(genome, 1, &connectome, error);
    if (status == VLY_OK &&
        trace_engine(connectome, genome, registry, "cpu:1", c->genome->n_bursts,
                     NULL, 0, &without, error))
        status = VLY_E_INVALID;
    vly_connectome_destroy(connectome);
    vly_genome_destroy(genome);
    if (status != VLY_OK)
        return complain(c, "without its record of input", error);
    const bool same = without.digest == recorded->digest;
    trace_free(&without);
    if (!same)
        fprintf(stderr,
                "random genome %" PRIu64 ": a record of input changes spikes\n",
                c->seed);
    return same;
}

static bool compare(const candidate *c, vly_registry *registry,
                    vly_error *error)
{
    uint64_t n = c->genome->n_bursts;
    trace second = {0};
    bool equal = true;
    if (trace_second(c->path, n, &second))
        return complain(c, "second simulator", error);
    equal = check_record(c, registry, &second, error);
    for (uint32_t k = 0; equal && k < n_runs; k++) {
        trace engine = {0};
        char name[160];
        snprintf(name, sizeof name, "%.70s%s%.70s", runs[k].backend,
                 runs[k].swap_to ? ", then " : "",
                 runs[k].swap_to ? runs[k].swap_to : "");
        if (trace_engine(c->connectome, c->genome, registry, runs[k].backend, n,
                         runs[k].swap_to, n / 2, &engine, error)) {
            trace_free(&second);
            return complain(c, name, error);
        }
        equal = trace_equal(&second, "the second simulator", &engine, name);
        n_ranked += strchr(runs[k].backend, '@') != NULL;
        n_parted += engine.parted;
        n_windowed += engine.exchanges > 0 && 2 * engine.exchanges < n;
        trace_free(&engine);
    }
    n_fired += second.spikes > 0;
    n_spikes += second.spikes;
    n_events += second.events;
    trace_free(&second);
    return equal;
}

/* The folder it was built in, or a temporary one where that is not: the program
 * may have been carried to a machine with a device. */
static const char *folder(void)
{
    const char *temporary = getenv("TMPDIR");
    if (access(VLY_TEST_BINARY_DIR, W_OK) == 0)
        return VLY_TEST_BINARY_DIR;
    return temporary && temporary[0] ? temporary : "/tmp";
}

static void keep(const candidate *c)
{
    char name[80];
    snprintf(name, sizeof name, "random_%" PRIu64 ".toml", c->seed);
    if (!put_file(folder(), name, c->text))
        return;
    fprintf(stderr, "random genome %" PRIu64 ": kept as %s/%s\n", c->seed,
            folder(), name);
    snprintf(name, sizeof name, "random_%" PRIu64 ".csv", c->seed);
    if (c->edges && put_file(folder(), name, c->edges))
        fprintf(stderr, "its file %s as %s beside it\n", RANDOM_EDGES_FILE,
                name);
}

/* Maps with units of their own, and maps that are several projections. */
static void count_units(const vly_connectome *connectome)
{
    const vly_net_desc *desc = &connectome->desc;
    bool units = false;
    bool parted = false;
    for (uint32_t p = 0; p < desc->n_projections; p++) {
        units |= desc->projections[p].shift != 0;
        parted |= p > 0 && connectome->projections[p].pair ==
                               connectome->projections[p - 1].pair;
    }
    coverage.count[COVER_weight_units] += units;
    coverage.count[COVER_weight_parted] += parted;
}

static bool one_genome(uint64_t seed, vly_registry *registry)
{
    vly_error error = {.struct_size = sizeof error};
    candidate c = {.seed = seed};
    const bool ranked = strchr(runs[0].backend, '@') != NULL;
    unsigned maps = more;
    if (ranked && seed % 4 >= 2) /* what learns is not built in parts */
        maps = 0;
    if (ranked && seed % 2)
        maps |= RANDOM_LATE;
    if (ranked && seed % 4 == 1) /* they need all spikes after each burst */
        maps &= ~(unsigned)(RANDOM_WINDOWS | RANDOM_MODULATED);
    c.text = random_genome(seed, maps, &coverage, &c.edges);
    if (!c.text)
        return false;
    snprintf(c.path, sizeof c.path, "%.400s/random.connectome", own_folder);
    bool good = build(&c, &error) && compare(&c, registry, &error);
    if (c.connectome)
        count_units(c.connectome);
    if (!good)
        keep(&c);
    unlink(c.path);
    vly_connectome_destroy(c.connectome);
    vly_genome_destroy(c.genome);
    free(c.text);
    free(c.edges);
    return good;
}

static void remove_folder(void)
{
    char path[600];
    snprintf(path, sizeof path, "%.500s/%s", own_folder, RANDOM_EDGES_FILE);
    unlink(path);
    rmdir(own_folder);
}

/* Skips the test if a backend has no device. */
static void need_devices(vly_registry *registry)
{
    for (uint32_t k = 0; k < n_runs; k++) {
        char id[32];
        const void *table = NULL;
        vly_error error = {.struct_size = sizeof error};
        snprintf(id, sizeof id, "%.*s", (int)strcspn(runs[k].backend, ":,"),
                 runs[k].backend);
        if (vly_registry_interface(registry, id, VLY_BACKEND_INTERFACE, &table,
                                   &error) == VLY_OK) {
            const vly_backend *backend = table;
            if ((backend->flags & VLY_BACKEND_LEARNS) == 0)
                more &= ~(unsigned)(RANDOM_PLASTIC | RANDOM_MODULATED);
            if ((backend->flags & VLY_BACKEND_SHORT_TERM) == 0)
                more &= ~(unsigned)RANDOM_SHORT_TERM;
            if ((backend->flags & VLY_BACKEND_MODULATES) == 0)
                more &= ~(unsigned)RANDOM_MODULATED;
            continue;
        }
        if (device_is_required(id))
            fail_msg("%s", error.message);
        printf("skipped: %s\n", error.message);
        n_genomes = 0;
        vly_registry_destroy(registry);
        skip();
    }
}

static void test_random_genomes(void **state)
{
    (void)state;
    vly_error error = {.struct_size = sizeof error};
    vly_registry *registry = NULL;
    assert_ok(vly_registry_create(&registry, &error), error);
    need_devices(registry);
    snprintf(own_folder, sizeof own_folder, "%.400s/random_XXXXXX", folder());
    assert_non_null(mkdtemp(own_folder));
    for (uint64_t k = 0; k < n_genomes && n_failed < 10; k++)
        n_failed += !one_genome(first_seed + k, registry);
    vly_registry_destroy(registry);
    remove_folder();
    printf("%" PRIu64 " genomes, %" PRIu64 " fire, %" PRIu64 " spikes, %" PRIu64
           " synaptic events\n",
           n_genomes, n_fired, n_spikes, n_events);
    if (n_ranked > 0)
        printf("%" PRIu64 " runs by ranks, %" PRIu64 " of them with windows of "
               "several bursts, %" PRIu64 " with a part on each rank\n",
               n_ranked, n_windowed, n_parted);
    assert_int_equal(n_failed, 0);
    assert_true(n_windowed * 5 >= n_ranked);
    assert_true(n_parted * 5 >= n_ranked);
    assert_true(n_fired * 10 >= n_genomes * 9);
}

/* Numbers of ranks in turn, a third of them cut by cost; 48 are more than most
 * have blocks of neurons. */
static bool parts_of(candidate *c, vly_error *error)
{
    static const uint32_t ranks[] = {2, 3, 5, 8, 1, 48};
    char name[512];
    snprintf(name, sizeof name, "%.400s/random.toml", own_folder);
    if (c->edges && !put_file(own_folder, RANDOM_EDGES_FILE, c->edges))
        return complain(c, "its file of synapses", error);
    if (vly_genome_parse(c->text, strlen(c->text), name, NULL, 0, &c->genome,
                         error))
        return complain(c, "parse", error);
    if (vly_connectome_build(c->genome, 1, &c->connectome, error))
        return complain(c, "build", error);
    return rank_parts_check(c->genome, c->connectome, ranks[c->seed % 6],
                            c->seed % 4 ? c->seed : 0, name, &parts);
}

/* Ranks build their parts with each other and alone; of a quarter of the
 * genomes, without what learns, since that is not built in parts. */
static void test_parts(void **state)
{
    (void)state;
    static random_coverage unused;
    vly_error error = {.struct_size = sizeof error};
    uint64_t n_wrong = 0;
    snprintf(own_folder, sizeof own_folder, "%.400s/parts_XXXXXX", folder());
    assert_non_null(mkdtemp(own_folder));
    for (uint64_t k = 0; 4 * k < n_genomes && n_wrong < 10; k++) {
        candidate c = {.seed = first_seed + k};
        c.text = random_genome(c.seed, 0, &unused, &c.edges);
        assert_non_null(c.text);
        const bool good = parts_of(&c, &error);
        if (!good)
            keep(&c);
        n_wrong += !good;
        vly_connectome_destroy(c.connectome);
        vly_genome_destroy(c.genome);
        free(c.text);
        free(c.edges);
    }
    remove_folder();
    printf("in parts: %" PRIu64 " genomes, %" PRIu64 " only whole, %" PRIu64
           " only by ranks that exchange\n",
           parts.n_cases, parts.n_whole_only, parts.n_not_alone);
    assert_int_equal(n_wrong, 0);
    /* of few genomes, most may be of the kinds that are built whole */
    const uint64_t wanted = n_genomes >= 100 ? parts.n_cases / 2 : 1;
    assert_true(parts.n_cases - parts.n_whole_only >= wanted);
    assert_true(parts.n_cases - parts.n_not_alone >= wanted);
}

/* Everything at least ten times in 300 genomes, once in 100. */
static void test_coverage(void **state)
{
    (void)state;
    uint32_t wanted = n_genomes >= 300 ? 10 : n_genomes >= 100 ? 1 : 0;
    if (n_ranked > 0) /* half of these genomes have no map that learns */
        wanted = n_genomes >= 300;
    uint32_t n_missing = 0;
    for (int k = 0; k < COVER_COUNT; k++) {
        printf("%-26s %u\n", random_coverage_names[k],
               (unsigned)coverage.count[k]);
#ifndef VLY_TEST_SONATA
        if (k == COVER_file_sonata)
            continue;
#endif
        unsigned wanted_of = k < COVER_plasticity_stdp ? 0
                             : k >= COVER_short_term_tsodyks2
                                 ? RANDOM_SHORT_TERM
                             : k == COVER_plasticity_stdp_reward ||
                                     k == COVER_plasticity_modulator
                                 ? RANDOM_MODULATED
                             : k == COVER_plasticity_feagi_stdp ? RANDOM_WINDOWS
                             : k == COVER_plasticity_users      ? RANDOM_RULES
                                                           : RANDOM_PLASTIC;
        if ((more & wanted_of) != wanted_of)
            continue;
        n_missing += coverage.count[k] < wanted;
    }
    assert_int_equal(n_missing, 0);
}

/* Cuts "cpu,cuda:0,plan=global,x=1" before "cuda": what has a '=' belongs to
 * the backend before it. NULL at the end. */
static char *next_backend(char **list)
{
    char *first = *list;
    char *comma = first ? strchr(first, ',') : NULL;
    while (comma && comma[1 + strcspn(comma + 1, ",=")] == '=')
        comma = strchr(comma + 1, ',');
    *list = comma ? comma + 1 : NULL;
    if (comma)
        *comma = '\0';
    return first && first[0] ? first : NULL;
}

/* Each of them, then from the last to the first. */
static void set_backends(char *list)
{
    char *name;
    n_runs = 0;
    while (n_runs < BACKENDS_MAX && (name = next_backend(&list)))
        runs[n_runs++] = (test_run){name, NULL};
    if (n_runs > 0) {
        runs[n_runs] = (test_run){runs[n_runs - 1].backend, runs[0].backend};
        n_runs++;
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_genomes),
        cmocka_unit_test(test_coverage),
    };
    const struct CMUnitTest of_host[] = {cmocka_unit_test(test_parts)};
    if (argc > 1)
        first_seed = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        n_genomes = strtoull(argv[2], NULL, 10);
    if (argc > 3)
        set_backends(argv[3]);
    int n_bad = cmocka_run_group_tests(tests, NULL, NULL);
    if (argc <= 3) /* they have nothing to do with backends */
        n_bad += cmocka_run_group_tests(of_host, NULL, NULL);
    return n_bad ? 1 : 0;
}
