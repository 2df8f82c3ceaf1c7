/* SPDX-License-Identifier: Apache-2.0
 * test_golden small|large|brief|short|long|neurons [fill | SPEC...]: the
 * shipped genomes against genomes/golden.csv; brief, short and long: the small
 * ones of up to 1,000 bursts, of up to 10,000, and the others; neurons: users'
 * models. cpu:1, cpu:3 (or the backends named) and, up to 1 GB of connectome,
 * the second simulator must give the recorded digests; the saved connectome
 * that it reads must be read back the same. With `fill` it prints the rows with
 * what cpu:1 gives now instead of checking them: how golden.csv is made.
 */
#include "device_test.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "connectome/connectome.h"
#include "digest_parts.h"
#include "engine_trace.h"
#include "plugin/registry.h"
#include "rank_parts.h"
#include "saved_connectome.h"

enum { MAX_OVERRIDES = 8 };

/* It reads the whole file into memory: not the full microcircuit. */
#define SECOND_MAX_BYTES (UINT64_C(1) << 30)
/* built some ten times */
#define PARTS_MAX_BYTES (UINT64_C(1) << 24)

/* A row of golden.csv; the strings point into line. */
typedef struct row {
    char line[512];
    const char *genome;
    const char *size; /* small or large */
    const char *overrides_text;
    uint64_t bursts;
    uint64_t spikes;
    uint64_t digest;
    uint64_t state_digest;
    uint32_t n_overrides;
    vly_override overrides[MAX_OVERRIDES];
    char overrides_copy[256];
} row;

#define BRIEF_BURSTS 1000u
#define SHORT_BURSTS 10000u

static const char *wanted_size = "small";
static const char *const cpus[] = {"cpu:1", "cpu:3"};
static const char *const *specs = cpus;
static uint32_t n_specs = 2;
static bool fill;
static vly_registry *registry;
static vly_error error = {.struct_size = sizeof error};

/* "var.g=3 var.eta=2" */
static void split_overrides(row *r)
{
    snprintf(r->overrides_copy, sizeof r->overrides_copy, "%s",
             r->overrides_text);
    r->n_overrides = 0;
    char *rest = r->overrides_copy;
    while (*rest && r->n_overrides < MAX_OVERRIDES) {
        char *end = strchr(rest, ' ');
        char *equals = strchr(rest, '=');
        assert_non_null(equals);
        *equals = 0;
        if (end)
            *end = 0;
        r->overrides[r->n_overrides++] = (vly_override){rest, equals + 1};
        rest = end ? end + 1 : equals + 1 + strlen(equals + 1);
    }
}

/* False: a comment or the head line. */
static bool parse_row(row *r)
{
    char *fields[7] = {r->line};
    r->line[strcspn(r->line, "\r\n")] = 0;
    if (r->line[0] == 0 || r->line[0] == '#' ||
        strncmp(r->line, "genome,", 7) == 0)
        return false;
    for (int k = 1; k < 7; k++) {
        char *comma = strchr(fields[k - 1], ',');
        if (!comma)
            fail_msg("golden.csv: %s has %d fields, wanted 7", r->line, k);
        *comma = 0;
        fields[k] = comma + 1;
    }
    r->genome = fields[0];
    r->size = fields[1];
    r->overrides_text = fields[2];
    r->bursts = strtoull(fields[3], NULL, 10);
    r->spikes = strtoull(fields[4], NULL, 10);
    r->digest = strtoull(fields[5], NULL, 16);
    r->state_digest = strtoull(fields[6], NULL, 16);
    split_overrides(r);
    return true;
}

static void print_row(const row *r, const trace *t)
{
    printf("%s,%s,%s,%" PRIu64 ",%" PRIu64 ",%016" PRIx64 ",%016" PRIx64 "\n",
           r->genome, r->size, r->overrides_text, r->bursts, t->spikes,
           t->digest, t->state_digest);
    fflush(stdout);
}

static uint64_t check_one(const row *r, const trace *t, const char *who)
{
    if (t->spikes == r->spikes && t->digest == r->digest &&
        t->state_digest == r->state_digest)
        return 0;
    fprintf(stderr, "%s %s by %s differs from golden.csv:\n", r->genome,
            r->overrides_text, who);
    print_row(r, t);
    return 1;
}

/* Parts as ranks build them; printed: whether the genome can be built so. */
static bool check_parts(const row *r, const vly_genome *genome,
                        const vly_connectome *connectome)
{
    rank_parts parts = {0};
    const bool same =
        rank_parts_check(genome, connectome, 3, 0, r->genome, &parts) &&
        rank_parts_check(genome, connectome, 8, r->bursts, r->genome, &parts);
    if (parts.n_whole_only || parts.n_not_alone)
        printf("%s: %s\n", r->genome,
               parts.n_whole_only ? "only whole"
                                  : "in parts by ranks that exchange");
    return same;
}

static uint64_t check_second(const row *r, const vly_connectome *connectome)
{
    char path[512];
    trace t = {0};
    snprintf(path, sizeof path, "%s/golden_%ld.connectome", VLY_TEST_BINARY_DIR,
             (long)getpid());
    assert_ok(vly_connectome_save(connectome, path, &error), error);
    bool same = saved_connectome_same(connectome, path);
    int status = trace_second(path, r->bursts, &t);
    same = digest_parts_check(connectome, path, r->bursts, r->genome) && same;
    unlink(path);
    assert_int_equal(status, 0);
    assert_true(same);
    uint64_t n_failed = check_one(r, &t, "the second simulator");
    trace_free(&t);
    return n_failed;
}

/* A device of less memory than plan global takes for the synapses alone, 8
 * bytes each; other plans begin with the same rows. lavapipe has 2 GiB whatever
 * the machine has, which is not enough for the full microcircuit. */
static bool is_too_small(const char *text, const vly_connectome *connectome)
{
    vly_backend_spec spec;
    vly_device_spec device;
    const vly_backend *backend = NULL;
    vly_device_info info = {.struct_size = sizeof info};
    if (vly_backend_spec_parse(text, &spec, NULL) != VLY_OK ||
        vly_registry_device(registry, &spec, 1, &backend, &device, NULL) !=
            VLY_OK ||
        backend->device_info(device.index, &info, NULL) != VLY_OK)
        return false; /* the run says why */
    return info.memory_bytes != 0 &&
           info.memory_bytes / 8 < connectome->desc.n_synapses;
}

/* Whether an area has a user's model. */
static bool has_program(const vly_connectome *connectome)
{
    for (uint32_t i = 0; i < connectome->desc.n_areas; i++)
        if (connectome->desc.areas[i].program)
            return true;
    return false;
}

/* Whether the net has a user's model, and the backend of spec does not run
 * such: then it must refuse the net and say so. */
static bool cannot_run(const row *r, const char *text,
                       const vly_connectome *connectome)
{
    vly_backend_spec spec;
    vly_device_spec device = {.struct_size = sizeof device};
    const vly_backend *backend = NULL;
    vly_net *net = NULL;
    if (!has_program(connectome) ||
        vly_backend_spec_parse(text, &spec, NULL) != VLY_OK ||
        vly_registry_device(registry, &spec, 1, &backend, &device, NULL) !=
            VLY_OK)
        return false;
    if ((backend->flags & VLY_BACKEND_PROGRAMS) != 0)
        return false;
    const char *why = "runs built-in models only";
    vly_status status =
        vly_net_create(connectome, registry, text, 1, &net, &error);
    if (status != VLY_E_UNSUPPORTED || !strstr(error.message, why))
        fail_msg("%s on %s: status %d: %s", r->genome, text, (int)status,
                 error.message);
    printf("%s on %s: %s\n", r->genome, text, error.message);
    return true;
}

static uint64_t check_row(const row *r)
{
    char path[512];
    vly_genome *genome = NULL;
    vly_connectome *connectome = NULL;
    uint64_t n_failed = 0;
    snprintf(path, sizeof path, "%s/genomes/%s", VLY_TEST_SOURCE_DIR,
             r->genome);
    assert_ok(
        vly_genome_load(path, r->overrides, r->n_overrides, &genome, &error),
        error);
    assert_ok(vly_connectome_build(genome, 2, &connectome, &error), error);
    for (uint32_t k = 0; k < (fill ? 1 : n_specs); k++) {
        trace t = {0};
        error.status = VLY_OK;
        if (is_too_small(specs[k], connectome)) {
            printf("skipped: %s on %s: the device has no room for %llu "
                   "synapses\n",
                   r->genome, specs[k],
                   (unsigned long long)connectome->desc.n_synapses);
            continue;
        }
        if (cannot_run(r, specs[k], connectome))
            continue;
        if (trace_engine(connectome, NULL, registry, specs[k], r->bursts, NULL,
                         0, &t, &error) &&
            device_refuses(r->genome, specs[k],
                           error.status ? error.status : VLY_E_DEVICE,
                           &error)) {
            printf("%s on %s: %s\n", r->genome, specs[k], error.message);
            continue;
        }
        if (fill)
            print_row(r, &t);
        else
            n_failed += check_one(r, &t, specs[k]);
        trace_free(&t);
    }
    if (!fill && specs == cpus && connectome->n_bytes < SECOND_MAX_BYTES)
        n_failed += check_second(r, connectome);
    if (!fill && specs == cpus && connectome->n_bytes < PARTS_MAX_BYTES)
        n_failed += !check_parts(r, genome, connectome);
    vly_connectome_destroy(connectome);
    vly_genome_destroy(genome);
    return n_failed;
}

static bool is_wanted(const row *r)
{
    const char *length = r->bursts <= SHORT_BURSTS ? "short" : "long";
    if (strcmp(wanted_size, "neurons") == 0)
        return strncmp(r->genome, "neurons/", 8) == 0;
    if (strcmp(wanted_size, "brief") == 0)
        return strcmp(r->size, "small") == 0 && r->bursts <= BRIEF_BURSTS;
    return strcmp(r->size, wanted_size) == 0 ||
           (strcmp(r->size, "small") == 0 && strcmp(length, wanted_size) == 0);
}

static void test_golden(void **state)
{
    (void)state;
    row r;
    uint64_t n_failed = 0, n_rows = 0;
    FILE *stream = fopen(VLY_TEST_SOURCE_DIR "/genomes/golden.csv", "r");
    assert_non_null(stream);
    assert_ok(vly_registry_create(&registry, &error), error);
    for (uint32_t k = 0; k < n_specs; k++)
        device_require(registry, specs[k]);
    while (fgets(r.line, sizeof r.line, stream)) {
        if (!parse_row(&r) || !is_wanted(&r))
            continue;
        n_rows++;
        n_failed += check_row(&r);
    }
    fclose(stream);
    vly_registry_destroy(registry);
    assert_int_not_equal(n_rows, 0);
    assert_int_equal(n_failed, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden)};
    if (argc > 1)
        wanted_size = argv[1];
    fill = argc > 2 && strcmp(argv[2], "fill") == 0;
    if (argc > 2 && !fill) {
        specs = (const char *const *)argv + 2;
        n_specs = (uint32_t)argc - 2;
    }
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
