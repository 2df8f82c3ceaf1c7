/* SPDX-License-Identifier: Apache-2.0
 * States, swaps, fail-over and files keep the memories and associations of a
 * net; states that do not fit its connectome are refused; no allocation that
 * fails loses any of it.
 */
#include "engine_fixture.h"

#include "connectome/connectome_digest.h"
#include "connectome/connectome_image.h"

#include <stdlib.h>
#include <unistd.h>

static const char *const genome_kept =
    "format = 1\n[run]\ndt_ms = 1\nbursts = 300\n"
    "[area.a]\nmodel = \"feagi\"\nneurons = 6\n"
    "[area.b]\nmodel = \"lif_psc_delta\"\nneurons = 3\n"
    "[area.m]\nmodel = \"feagi\"\nneurons = 30\npostsynaptic_current = 2\n"
    "[area.ta]\nmodel = \"feagi\"\nneurons = 6\n"
    "[area.tb]\nmodel = \"feagi\"\nneurons = 3\n"
    "[memory.m]\nfrom = [\"a\", \"b\"]\ntwins = [\"ta\", \"tb\"]\n"
    "temporal_depth = 3\nlifespan_growth_rate = 20\n"
    "longterm_mem_threshold = 22\n"
    "[association.x]\nfrom = \"a\"\nto = \"m\"\nplasticity_constant = 9\n"
    "inhibitory = true\n"
    "[[map]]\nfrom = \"m\"\nto = \"b\"\nrule = \"all_to_all\"\n"
    "weight_mv = 3\ndelay_bursts = 4\n"
    "[[stimulus]]\nkind = \"bernoulli\"\nto = \"a\"\nrate_hz = 90\n"
    "weight = 2\n"
    "[[stimulus]]\nkind = \"bernoulli\"\nto = \"b\"\nrate_hz = 60\n"
    "weight_mv = 30\n";

static void kept_by_state(void **state)
{
    char path[] = "/tmp/volley_memory_XXXXXX";
    fixture f;
    (void)state;
    fixture_init(&f, genome_kept);
    vly_net *net = fixture_net(&f, "cpu:1");
    fingerprint wanted = fixture_run(&f, net, 250);
    vly_memory_stats stats = {.struct_size = sizeof stats};
    assert_int_equal(vly_net_memory_stats(net, 0, &stats), VLY_OK);
    printf("%u known, %u long-term, %llu made, %llu seen again, %llu dropped\n",
           stats.n_known, stats.n_longterm, (unsigned long long)stats.n_made,
           (unsigned long long)stats.n_seen,
           (unsigned long long)stats.n_dropped);
    assert_true(stats.n_longterm > 0 && stats.n_forgotten > 50 &&
                stats.n_seen > 5);
    vly_net_destroy(net);
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    for (uint64_t at = 1; at < 250; at += at < 8 ? 1 : 67) {
        vly_state *kept = NULL;
        vly_state *loaded = NULL;
        vly_net *resumed = NULL;
        net = fixture_net(&f, "cpu:3");
        fixture_run(&f, net, at);
        assert_ok(vly_net_snapshot(net, &kept, &f.error), f.error);
        assert_ok(vly_net_swap(net, "cpu:2", 0, &f.error), f.error);
        fingerprint found = fixture_run(&f, net, 250 - at);
        assert_same(&found, &wanted);
        assert_ok(vly_net_restore(net, kept, &f.error), f.error);
        found = fixture_run(&f, net, 250 - at);
        assert_same(&found, &wanted);
        assert_ok(vly_state_save(kept, path, &f.error), f.error);
        assert_ok(vly_state_load(path, &loaded, &f.error), f.error);
        assert_ok(vly_net_resume(f.connectome, f.registry, "cpu:4", 0, loaded,
                                 &resumed, &f.error),
                  f.error);
        found = fixture_run(&f, resumed, 250 - at);
        assert_same(&found, &wanted);
        vly_state_destroy(kept);
        vly_state_destroy(loaded);
        vly_net_destroy(net);
        vly_net_destroy(resumed);
    }
    unlink(path);
    fixture_deinit(&f);
}

static void kept_by_failover(void **state)
{
    fixture f;
    (void)state;
    fixture_init(&f, genome_kept);
    vly_net *net = fixture_net(&f, "cpu:1");
    fingerprint wanted = fixture_run(&f, net, 250);
    vly_net_destroy(net);
    net = fixture_net(&f, "cpu:1");
    fixture_run(&f, net, 101);
    assert_ok(vly_net_failover(net, "cpu:2", 0, 1000000, NULL, NULL, &f.error),
              f.error);
    fixture_run(&f, net, 50);
    net->dead.status = VLY_E_DEVICE; /* as if the device had failed */
    vly_status status = VLY_E_DEVICE;
    assert_true(vly_failover_again(net, &status, &f.error));
    assert_int_equal(vly_net_burst(net), 151);
    fingerprint found = fixture_run(&f, net, 99);
    assert_same(&found, &wanted);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* The connectome's file has no records of memories: they are read from its
 * genome. */
static void kept_by_connectome(void **state)
{
    char path[] = "/tmp/volley_memory_XXXXXX";
    fixture f;
    vly_connectome *loaded = NULL;
    vly_net *net = NULL;
    (void)state;
    fixture_init(&f, genome_kept);
    net = fixture_net(&f, "cpu:1");
    fingerprint wanted = fixture_run(&f, net, 120);
    vly_net_destroy(net);
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    assert_ok(vly_connectome_save(f.connectome, path, &f.error), f.error);
    for (int verify = 0; verify < 2; verify++) {
        assert_ok(vly_connectome_load(path, verify, &loaded, &f.error),
                  f.error);
        assert_int_equal(loaded->n_memories, 1);
        assert_int_equal(loaded->n_associations, 1);
        assert_ok(
            vly_net_create(loaded, f.registry, "cpu:2", 0, &net, &f.error),
            f.error);
        fingerprint found = fixture_run(&f, net, 120);
        assert_same(&found, &wanted);
        vly_net_destroy(net);
        vly_connectome_destroy(loaded);
    }
    unlink(path);
    fixture_deinit(&f);
}

/* Returns the version that the file had. */
static uint32_t set_version(const char *path, uint32_t version)
{
    vly_file_header header;
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fread(&header, sizeof header, 1, file), 1);
    const uint32_t was = header.version;
    header.version = version;
    header.header_checksum = vly_header_checksum(&header);
    assert_int_equal(fseek(file, 0, SEEK_SET), 0);
    assert_int_equal(fwrite(&header, sizeof header, 1, file), 1);
    assert_int_equal(fclose(file), 0);
    return was;
}

/* Engines before memories refuse version 3, which only a file with memories or
 * associations has. */
static void version_of_connectome(void **state)
{
#define PLAIN                                                                  \
    "format = 1\n[run]\ndt_ms = 1\nbursts = 9\n"                               \
    "[area.a]\nmodel = \"feagi\"\nneurons = 2\n"
    static const struct {
        const char *genome;
        uint32_t version;
        const char *fault;
    } cases[] = {{PLAIN, 2, "version 3 without memories and associations"},
                 {PLAIN
                  "[memory.a]\nfrom = \"b\"\n[area.b]\nmodel = \"feagi\"\n"
                  "neurons = 2\n",
                  3, "version 2 with memories and associations"},
                 {PLAIN "[association.x]\nfrom = \"a\"\nto = \"a\"\n", 3,
                  "version 2 with memories and associations"}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        char path[] = "/tmp/volley_memory_XXXXXX";
        vly_connectome *loaded = NULL;
        fixture f;
        fixture_init(&f, cases[k].genome);
        int file = mkstemp(path);
        assert_true(file >= 0);
        close(file);
        assert_ok(vly_connectome_save(f.connectome, path, &f.error), f.error);
        assert_int_equal(set_version(path, 5 - cases[k].version),
                         cases[k].version);
        assert_fails(vly_connectome_load(path, 1, &loaded, &f.error),
                     VLY_E_PARSE, &f.error, cases[k].fault);
        set_version(path, cases[k].version);
        assert_ok(vly_connectome_load(path, 1, &loaded, &f.error), f.error);
        vly_connectome_destroy(loaded);
        unlink(path);
        fixture_deinit(&f);
    }
}

/* Every word of a state changed: refused, or a state that can run. */
static void damaged_states(void **state)
{
    fixture f;
    vly_state *kept = NULL;
    uint32_t n_refused = 0;
    (void)state;
    fixture_init(&f, genome_kept);
    vly_net *net = fixture_net(&f, "cpu:1");
    fixture_run(&f, net, 60);
    assert_ok(vly_net_snapshot(net, &kept, &f.error), f.error);
    vly_memory_words *words = &kept->memory;
    assert_true(words->n_words > 100);
    for (uint64_t i = 0; i < words->n_words; i++) {
        static const uint32_t to[] = {0, 1, 7, 4000000000u};
        const uint32_t was = words->words[i];
        for (int k = 0; k < 4; k++) {
            vly_memory_net *made = NULL;
            words->words[i] = to[k];
            vly_status status =
                vly_memory_net_read(f.connectome, words, &made, &f.error);
            assert_true(status == VLY_OK || status == VLY_E_INVALID);
            n_refused += status != VLY_OK;
            vly_memory_net_destroy(made);
        }
        words->words[i] = was;
    }
    const uint64_t n = words->n_words;
    for (words->n_words = 0; words->n_words < n; words->n_words++)
        assert_int_equal(vly_memory_words_fit(f.connectome, words, &f.error),
                         VLY_E_INVALID);
    assert_ok(vly_memory_words_fit(f.connectome, words, &f.error), f.error);
    printf("%u of %u refused\n", n_refused, (unsigned)(4 * n));
    assert_true(n_refused > n);
    vly_state_destroy(kept);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* The n-th allocation fails. A snapshot fails and the net goes on; a run that
 * cannot finish what follows from a burst ends the net. No block is lost. */
static void every_allocation(void **state)
{
    fixture f;
    bool done = false;
    uint32_t n_dead = 0;
    (void)state;
    fixture_init(&f, genome_kept);
    vly_connectome_digest(f.connectome, 0);
    vly_net *net = fixture_net(&f, "cpu:1");
    fingerprint wanted = fixture_run(&f, net, 70);
    vly_net_destroy(net);
    uint64_t live = vly_memory_live();
    for (uint64_t n = 1; !done; n++) {
        vly_state *kept = NULL;
        net = fixture_net(&f, "cpu:1");
        fixture_run(&f, net, 30);
        vly_memory_fail_at(n);
        vly_status status = vly_net_snapshot(net, &kept, &f.error);
        if (status == VLY_OK)
            status = vly_net_restore(net, kept, &f.error);
        if (status == VLY_OK)
            status = vly_net_run(net, 40, &f.error);
        done = vly_memory_fail_at(0) != 0;
        assert_int_equal(status, done ? VLY_OK : VLY_E_NOMEM);
        if (net->dead.status == VLY_OK) {
            fingerprint found = fixture_run(&f, net, 70 - vly_net_burst(net));
            assert_same(&found, &wanted);
        } else {
            n_dead++;
            assert_fails(vly_net_run(net, 1, &f.error), VLY_E_NOMEM, &f.error,
                         "out of memory");
        }
        vly_state_destroy(kept);
        vly_net_destroy(net);
        assert_int_equal(vly_memory_live(), live);
    }
    assert_true(n_dead > 10);
    fixture_deinit(&f);
}

/* The same with fail-over: the burst after which memory ran out is done again,
 * and the run is as long as it should be. */
static void allocations_with_failover(void **state)
{
    fixture f;
    bool done = false;
    uint32_t n_again = 0;
    (void)state;
    fixture_init(&f, genome_kept);
    vly_net *net = fixture_net(&f, "cpu:1");
    fingerprint wanted = fixture_run(&f, net, 70);
    vly_net_destroy(net);
    for (uint64_t n = 1; !done; n++) {
        net = fixture_net(&f, "cpu:1");
        fixture_run(&f, net, 30);
        assert_ok(
            vly_net_failover(net, "cpu:2", 0, 1000000, NULL, NULL, &f.error),
            f.error);
        vly_memory_fail_at(n);
        vly_status status = vly_net_run(net, 40, &f.error);
        done = vly_memory_fail_at(0) != 0;
        if (status == VLY_OK) {
            n_again += !done;
            assert_int_equal(vly_net_burst(net), 70);
        }
        fingerprint found = fixture_run(&f, net, 70 - vly_net_burst(net));
        assert_same(&found, &wanted);
        vly_net_destroy(net);
    }
    assert_true(n_again > 10);
    fixture_deinit(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(kept_by_state),
    cmocka_unit_test(kept_by_connectome),
    cmocka_unit_test(version_of_connectome),
    cmocka_unit_test(kept_by_failover),
    cmocka_unit_test(damaged_states),
    cmocka_unit_test(every_allocation),
    cmocka_unit_test(allocations_with_failover),
};

VLY_TEST_MAIN(tests)
