/* SPDX-License-Identifier: Apache-2.0
 * test_user_models [BURSTS] [SPEC...]: the shipped genomes with each built-in
 * model replaced by the same model as a user writes it (written_model.c): the
 * digests of golden.csv on cpu:1, cpu:3 (or the backends named), when the net
 * is swapped half way, and from a saved connectome. After BURSTS at most.
 */
#include "device_test.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "connectome/connectome.h"
#include "engine_trace.h"
#include "genome/written_model.h"
#include "plugin/registry.h"

/* longer runs are cut; then the built-in models give the digests */
static uint64_t most_bursts = 2000;

static const char *const cpus[] = {"cpu:1", "cpu:3"};
static const char *const *specs = cpus;
static uint32_t n_specs = 2;
static vly_registry *registry;
static vly_error error = {.struct_size = sizeof error};

static const char *const models[] = {
    "izhikevich",   "lif_psc_delta", "lif_psc_exp",  "lif_psc_exp2",
    "lif_cond_exp", "adex",          "lif_psc_alpha"};
enum { N_MODELS = sizeof models / sizeof models[0] };

static char *file_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("cannot open %s", path);
    size_t room = 1 << 20;
    char *text = malloc(room);
    assert_non_null(text);
    size_t n = fread(text, 1, room - 1, file);
    fclose(file);
    text[n] = 0;
    return text;
}

/* All of them, as [neuron.own_NAME]. */
static char *definitions_text(void)
{
    char *all = calloc(1, 1 << 16);
    assert_non_null(all);
    for (int i = 0; i < N_MODELS; i++) {
        char name[40];
        snprintf(name, sizeof name, "own_%s", models[i]);
        char *text = vly_written_text(vly_model_find(models[i]), name, false);
        assert_non_null(text);
        assert_true(strlen(all) + strlen(text) < 1 << 16);
        strcat(all, text);
        vly_free(text);
    }
    return all;
}

/* A copy of text with "NAME" in quotes as "own_NAME", and the definitions after
 * it; *n: how many were replaced. */
static char *with_own(const char *text, const char *definitions, uint32_t *n)
{
    size_t room = 2 * strlen(text) + strlen(definitions) + 16;
    char *out = malloc(room);
    assert_non_null(out);
    size_t used = 0;
    *n = 0;
    while (*text) {
        bool found = false;
        for (int i = 0; i < N_MODELS && !found; i++) {
            char quoted[40];
            int length = snprintf(quoted, sizeof quoted, "\"%s\"", models[i]);
            if (strncmp(text, quoted, (size_t)length) != 0)
                continue;
            used += (size_t)snprintf(out + used, room - used, "\"own_%s\"",
                                     models[i]);
            text += length;
            found = true;
            ++*n;
        }
        if (!found)
            out[used++] = *text++;
    }
    snprintf(out + used, room - used, "\n%s", definitions);
    return out;
}

typedef struct row {
    char genome[128];
    char overrides[256];
    uint64_t bursts;
    uint64_t digest;
    uint64_t state_digest;
} row;

/* Vulkan's plan sliced is for maps that do not learn. */
static bool runs_rules(const vly_connectome *connectome, const char *spec)
{
    for (uint32_t p = 0; p < connectome->desc.n_projections; p++)
        if (connectome->projections[p].learning &&
            strstr(spec, "plan=sliced") != NULL)
            return false;
    return true;
}

static void check(const row *r, const vly_connectome *connectome,
                  const char *spec, const char *swap_to, const char *what)
{
    trace t = {0};
    if (trace_engine(connectome, NULL, registry, spec, r->bursts, swap_to,
                     r->bursts / 2, &t, &error))
        fail_msg("%s on %s: %s", r->genome, spec, error.message);
    if (t.digest != r->digest || t.state_digest != r->state_digest)
        fail_msg("%s on %s%s: digests %016" PRIx64 " %016" PRIx64
                 ", wanted %016" PRIx64 " %016" PRIx64,
                 r->genome, spec, what, t.digest, t.state_digest, r->digest,
                 r->state_digest);
    trace_free(&t);
}

/* The second simulator reads the drive of a user's model at burst 0 only. */
static bool dc_changes(const vly_connectome *connectome)
{
    for (uint32_t s = 0; s < connectome->n_stimuli; s++) {
        const vly_connectome_stimulus *at = &connectome->stimuli[s];
        if (at->kind == VLY_STIMULUS_DC &&
            (at->start > 0 || at->stop != UINT64_MAX))
            return true;
    }
    return false;
}

static void check_saved(const row *r, const vly_connectome *connectome)
{
    char path[512];
    vly_connectome *again = NULL;
    snprintf(path, sizeof path, "%s/user_models_%ld.connectome",
             VLY_TEST_BINARY_DIR, (long)getpid());
    assert_ok(vly_connectome_save(connectome, path, &error), error);
    assert_ok(vly_connectome_load(path, 1, &again, &error), error);
    trace t = {.digest = r->digest, .state_digest = r->state_digest};
    if (!dc_changes(connectome))
        assert_int_equal(trace_second(path, r->bursts, &t), 0);
    unlink(path);
    if (t.digest != r->digest || t.state_digest != r->state_digest)
        fail_msg("%s by the second simulator: digests %016" PRIx64
                 " %016" PRIx64,
                 r->genome, t.digest, t.state_digest);
    trace_free(&t);
    if (runs_rules(connectome, specs[0]))
        check(r, again, specs[0], NULL, " from a file");
    vly_connectome_destroy(again);
}

/* The digests of the built-in models after fewer bursts. */
static void cut(row *r, const char *path, const vly_override *overrides,
                uint32_t n_overrides)
{
    vly_genome *genome = NULL;
    vly_connectome *connectome = NULL;
    trace t = {0};
    r->bursts = most_bursts;
    assert_ok(vly_genome_load(path, overrides, n_overrides, &genome, &error),
              error);
    assert_ok(vly_connectome_build(genome, 2, &connectome, &error), error);
    vly_genome_destroy(genome);
    assert_int_equal(trace_engine(connectome, NULL, registry, "cpu:1",
                                  r->bursts, NULL, 0, &t, &error),
                     0);
    r->digest = t.digest;
    r->state_digest = t.state_digest;
    trace_free(&t);
    vly_connectome_destroy(connectome);
}

static bool check_row(row *r, const char *definitions)
{
    char path[512];
    char settings[256];
    vly_override overrides[8];
    uint32_t n_overrides = 0;
    uint32_t n_replaced = 0;
    vly_genome *genome = NULL;
    vly_connectome *connectome = NULL;
    snprintf(path, sizeof path, "%s/genomes/%s", VLY_TEST_SOURCE_DIR,
             r->genome);
    char *text = file_text(path);
    char *own = with_own(text, definitions, &n_replaced);
    free(text);
    if (n_replaced == 0) {
        free(own);
        return false;
    }
    snprintf(settings, sizeof settings, "%s", r->overrides);
    for (char *at = strtok(settings, " "); at && n_overrides < 8;
         at = strtok(NULL, " ")) {
        char *equals = strchr(at, '=');
        assert_non_null(equals);
        *equals = 0;
        overrides[n_overrides++] = (vly_override){at, equals + 1};
    }
    if (r->bursts > most_bursts)
        cut(r, path, overrides, n_overrides);
    assert_ok(vly_genome_parse(own, strlen(own), path, overrides, n_overrides,
                               &genome, &error),
              error);
    free(own);
    assert_ok(vly_connectome_build(genome, 2, &connectome, &error), error);
    vly_genome_destroy(genome); /* the connectome holds the models */
    for (uint32_t k = 0; k < n_specs; k++)
        if (runs_rules(connectome, specs[k]))
            check(r, connectome, specs[k], NULL, "");
    if (n_specs > 1 && runs_rules(connectome, specs[0]) &&
        runs_rules(connectome, specs[1]))
        check(r, connectome, specs[0], specs[1], " swapped half way");
    check_saved(r, connectome);
    vly_connectome_destroy(connectome);
    return true;
}

static void golden_digests(void **state)
{
    (void)state;
    char line[512];
    uint32_t n_rows = 0;
    char *definitions = definitions_text();
    FILE *stream = fopen(VLY_TEST_SOURCE_DIR "/genomes/golden.csv", "r");
    assert_non_null(stream);
    assert_ok(vly_registry_create(&registry, &error), error);
    for (uint32_t k = 0; k < n_specs; k++)
        device_require(registry, specs[k]);
    while (fgets(line, sizeof line, stream)) {
        row r = {{0}, {0}, 0, 0, 0};
        char size[16];
        int n = 0;
        if (sscanf(line, "%127[^,],%15[^,],%n", r.genome, size, &n) != 2 ||
            strcmp(size, "small") != 0)
            continue;
        if (sscanf(line + n, "%255[^,],%" SCNu64 ",%*u,%" SCNx64 ",%" SCNx64,
                   r.overrides, &r.bursts, &r.digest, &r.state_digest) != 4) {
            r.overrides[0] = 0;
            assert_int_equal(sscanf(line + n,
                                    ",%" SCNu64 ",%*u,%" SCNx64 ",%" SCNx64,
                                    &r.bursts, &r.digest, &r.state_digest),
                             3);
        }
        n_rows += check_row(&r, definitions);
    }
    fclose(stream);
    free(definitions);
    vly_registry_destroy(registry);
    assert_true(n_rows >= 8);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(golden_digests)};
    char **names = argv + 1;
    uint32_t n_names = argc > 1 ? (uint32_t)argc - 1 : 0;
    if (n_names > 0 && names[0][0] >= '0' && names[0][0] <= '9') {
        most_bursts = strtoull(*names++, NULL, 10);
        n_names--;
    }
    if (n_names > 0) {
        specs = (const char *const *)names;
        n_specs = n_names;
    }
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
