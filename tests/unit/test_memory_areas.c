/* SPDX-License-Identifier: Apache-2.0
 * Memory areas and associations, burst by burst, beside what FEAGI's rules say
 * by hand; what they know is kept by states, swaps and files; states that no
 * run can have made are refused.
 */
#include "engine_fixture.h"

#include "connectome/connectome_digest.h"

#include <stdlib.h>
#include <unistd.h>

/* Neurons: a 0 to 2, m 3 to 6, t 7 to 9. Lists of spikes are appended. */
#define AREAS                                                                  \
    "format = 1\n[run]\ndt_ms = 1\nbursts = 100\n"                             \
    "[area.a]\nmodel = \"feagi\"\nneurons = 3\n"                               \
    "[area.m]\nmodel = \"feagi\"\nneurons = 4\n"                               \
    "[area.t]\nmodel = \"feagi\"\nneurons = 3\nfiring_threshold = 5.3\n"
#define SPIKES(to, lists)                                                      \
    "[[stimulus]]\nkind = \"spikes\"\nto = \"" to "\"\nweight = 9\n"           \
    "bursts = " lists "\n"

/* "4:3 5:7" of the spikes of areas other than a, which is given. */
static void spikes_are(const char *text, uint64_t bursts, const char *wanted)
{
    static spike_log log;
    static char found[4096];
    fixture f;
    size_t n = 0;
    fixture_init(&f, text);
    vly_net *net = fixture_net(&f, "cpu:2");
    memset(&log, 0, sizeof log);
    log.fail_at = UINT64_MAX;
    vly_net_on_spikes(net, spike_log_add, &log);
    fixture_run(&f, net, bursts);
    found[0] = 0;
    for (uint32_t i = 0; i < log.n; i++)
        if (log.ids[i] >= 3)
            n += (size_t)snprintf(found + n, sizeof found - n, "%s%d:%u",
                                  n ? " " : "", (int)log.bursts[i],
                                  (unsigned)log.ids[i]);
    assert_string_equal(found, wanted);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static vly_memory_stats stats_of(const char *text, uint64_t bursts)
{
    fixture f;
    vly_memory_stats stats = {.struct_size = sizeof stats};
    fixture_init(&f, text);
    vly_net *net = fixture_net(&f, "cpu:1");
    fixture_run(&f, net, bursts);
    assert_int_equal(vly_net_memory_stats(net, 0, &stats), VLY_OK);
    assert_int_equal(vly_net_memory_stats(net, 1, &stats), VLY_E_INVALID);
    assert_string_equal(stats.area, "m");
    stats.area = NULL;
    vly_net_destroy(net);
    fixture_deinit(&f);
    return stats;
}

/* A neuron fires one burst after its pattern is seen; the same one again. */
static void recognises(void **state)
{
    (void)state;
    spikes_are(
        AREAS "[memory.m]\nfrom = \"a\"\n" SPIKES("a", "[[2, 5], [3, 5], [8]]"),
        12, "3:3 4:4 6:5 9:6");
    spikes_are(AREAS "[memory.m]\nfrom = \"a\"\n" SPIKES(
                   "a", "[[2, 4, 6], [3, 5], [6]]"),
               9, "3:3 4:4 5:3 6:4 7:5");
}

/* One lone volley is two patterns of two bursts; nothing before the window is
 * full. */
static void slides(void **state)
{
    (void)state;
    spikes_are(AREAS "[memory.m]\nfrom = \"a\"\ntemporal_depth = 2\n" SPIKES(
                   "a", "[[0, 5], [], [9]]"),
               14, "2:3 6:4 7:3 10:5 11:6");
}

/* init 2: made after burst 2, gone after burst 4; its neuron is free then, and
 * the lowest free one is taken. */
static void forgets(void **state)
{
    (void)state;
    const char *text =
        AREAS "[memory.m]\nfrom = \"a\"\ninit_lifespan = 2\n"
              "lifespan_growth_rate = 3\n" SPIKES("a", "[[2, 6, 7], [4], [5]]");
    /* after 4: that of 2 is forgotten before that of 4 is made */
    spikes_are(text, 9, "3:3 5:3 6:4 7:3 8:3");
    vly_memory_stats stats = stats_of(text, 9);
    assert_int_equal(stats.n_made, 4);
    assert_int_equal(stats.n_seen, 1);
    assert_int_equal(stats.n_forgotten, 3);
    /* that of 6 had 2, 1 and 3 more at 7, 3 after 8 */
    assert_int_equal(stats.n_known, 1);
    stats = stats_of(text, 11);
    assert_int_equal(stats.n_known, 1);
    stats = stats_of(text, 12);
    assert_int_equal(stats.n_known, 0);
}

/* 5 and 4 more are 8 after one burst: long-term in the next, before it ages. */
static void becomes_longterm(void **state)
{
    (void)state;
    const char *text =
        AREAS "[memory.m]\nfrom = \"a\"\ninit_lifespan = 5\n"
              "lifespan_growth_rate = 4\n"
              "longterm_mem_threshold = 8\n" SPIKES("a", "[[1, 2], [4], []]");
    vly_memory_stats stats = stats_of(text, 3);
    assert_int_equal(stats.n_longterm, 0);
    stats = stats_of(text, 4);
    assert_int_equal(stats.n_longterm, 1);
    stats = stats_of(text, 50);
    assert_int_equal(stats.n_known, 1);
    assert_int_equal(stats.n_longterm, 1);
    /* FEAGI's order: before it ages, so init at the threshold is enough */
    stats = stats_of(
        AREAS "[memory.m]\nfrom = \"a\"\ninit_lifespan = 8\n"
              "longterm_mem_threshold = 8\n" SPIKES("a", "[[1], [4], []]"),
        50);
    assert_int_equal(stats.n_longterm, 2);
}

static void drops_when_full(void **state)
{
    (void)state;
    const char *text = AREAS "[memory.m]\nfrom = \"a\"\n" SPIKES(
        "a", "[[1, 4, 5, 6], [2, 4, 6], [3, 5, 6, 7]]");
    /* 1: {0}, 2: {1}, 3: {2}, 4: {0 1}, 5: {0 2} and 6: {0 1 2} have no room */
    spikes_are(text, 9, "2:3 3:4 4:5 5:6 8:5");
    vly_memory_stats stats = stats_of(text, 9);
    assert_int_equal(stats.n_neurons, 4);
    assert_int_equal(stats.n_known, 4);
    assert_int_equal(stats.n_dropped, 2);
    assert_int_equal(stats.n_seen, 1);
}

/* The memory's neuron fires at b, frame f of its pattern at b + f + 1. Also
 * when it fires for another reason. */
static void replays(void **state)
{
    (void)state;
    spikes_are(AREAS "[memory.m]\nfrom = \"a\"\ntwins = \"t\"\n"
                     "temporal_depth = 2\ninit_lifespan = 99\n" SPIKES(
                         "a", "[[3], [4], []]")
                         SPIKES("m", "[[], [20], [], []]"),
               24,
               /* {} {0} at 3, {0} {1} at 4, {1} {} at 5 */
               "4:3 5:4 6:5 6:7 7:8 20:4 21:7 22:8");
}

/* Two sources in the order of the areas, whatever the table says. */
static void two_sources(void **state)
{
    (void)state;
    const char *const froms[] = {"[\"a\", \"b\"]", "[\"b\", \"a\"]"};
    fingerprint found[2];
    for (int i = 0; i < 2; i++) {
        char text[1024];
        fixture f;
        snprintf(
            text, sizeof text,
            AREAS
            "[area.b]\nmodel = \"lif_psc_delta\"\nneurons = 2\n"
            "[memory.m]\nfrom = %s\n" SPIKES(
                "a",
                "[[2, 3], [], []]") "[[stimulus]]\nkind = \"spikes\"\nto = "
                                    "\"b\"\n"
                                    "weight_mv = 99\nbursts = [[3], [4]]\n",
            froms[i]);
        fixture_init(&f, text);
        vly_net *net = fixture_net(&f, "cpu:1");
        found[i] = fixture_run(&f, net, 9);
        vly_memory_stats stats = {.struct_size = sizeof stats};
        assert_int_equal(vly_net_memory_stats(net, 0, &stats), VLY_OK);
        assert_int_equal(stats.n_made, 3);
        vly_net_destroy(net);
        fixture_deinit(&f);
    }
    assert_same(&found[0], &found[1]);
}

/* ---- associations ------------------------------------------------------- */

/* "1>0:6 ..." of an association after so many bursts. */
static void synapses_are(const char *text, uint64_t bursts, const char *wanted)
{
    fixture f;
    uint32_t from[8], to[8];
    double weights[8];
    char found[256] = "";
    size_t n = 0;
    vly_association_stats stats = {.struct_size = sizeof stats};
    fixture_init(&f, text);
    vly_net *net = fixture_net(&f, "cpu:1");
    fixture_run(&f, net, bursts);
    assert_int_equal(vly_net_association_stats(net, 0, &stats), VLY_OK);
    assert_true(stats.n_synapses <= 8);
    for (uint64_t i = 0; i < stats.n_synapses; i++)
        assert_ok(vly_net_association_read(net, 0, i, 1, from + i, to + i,
                                           weights + i, &f.error),
                  f.error);
    for (uint64_t i = 0; i < stats.n_synapses; i++)
        n += (size_t)snprintf(found + n, sizeof found - n, "%s%u>%u:%g",
                              i ? " " : "", from[i], to[i], weights[i]);
    assert_string_equal(found, wanted);
    assert_fails(vly_net_association_read(net, 0, stats.n_synapses, 1, NULL,
                                          NULL, NULL, &f.error),
                 VLY_E_INVALID, &f.error, "of association x, which has ");
    assert_fails(
        vly_net_association_read(net, 1, 0, 0, NULL, NULL, NULL, &f.error),
        VLY_E_INVALID, &f.error, "association 1 of the net, which has 1");
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static uint64_t synapses_after(const char *text, uint64_t bursts)
{
    fixture f;
    vly_association_stats stats = {.struct_size = sizeof stats};
    fixture_init(&f, text);
    vly_net *net = fixture_net(&f, "cpu:1");
    fixture_run(&f, net, bursts);
    assert_int_equal(vly_net_association_stats(net, 0, &stats), VLY_OK);
    assert_string_equal(stats.from, "a");
    assert_string_equal(stats.name, "x");
    vly_net_destroy(net);
    fixture_deinit(&f);
    return stats.n_synapses;
}

/* FEAGI's numbers (test_stdp_plasticity.rs): a window of 2 and a step of 5:
 * both fire twice, and there is a synapse of 5. */
static void connects(void **state)
{
    (void)state;
    const char *text =
        AREAS "[association.x]\nfrom = \"a\"\nto = \"t\"\n"
              "plasticity_window = 2\nplasticity_constant = 1\n"
              "ltp_multiplier = 6\nltd_multiplier = 1\n" SPIKES(
                  "a", "[[1, 2, 9], [1], []]") SPIKES("t", "[[1, 2], [2], []]");
    synapses_are(text, 2, "");
    synapses_are(text, 3, "0>0:6");
    /* w 9, step 3, one end fires: 6; 0 is the least; saturates at 255. Events
     * go both ways: a[0] has -9 and does not fire at 3, t[1] has -18 and fires
     * from 7 on */
    const char *lone =
        AREAS "[association.x]\nfrom = \"a\"\nto = \"t\"\ninhibitory = true\n"
              "plasticity_constant = 3\nltp_multiplier = 3\n" SPIKES(
                  "a", "[[1, 3], [1], []]")
                  SPIKES("t", "[[], [1, 5, 6, 7, 8, 9, 10], []]");
    synapses_are(lone, 2, "0>1:-9 1>1:-9");
    synapses_are(lone, 7, "0>1:-9 1>1:-9");
    synapses_are(lone, 8, "0>1:-6 1>1:-6");
    synapses_are(lone, 9, "0>1:-3 1>1:-3");
    synapses_are(lone, 11, "0>1:-0 1>1:-0");
    synapses_are(AREAS "[association.x]\nfrom = \"a\"\nto = \"a\"\n"
                       "plasticity_constant = 50\nltp_multiplier = 3\n" SPIKES(
                           "a", "[[1, 2], [], []]"),
                 3, "0>0:255");
    /* 6 reaches t at 3, above 5.3; each then excites the other */
    spikes_are(text, 5, "1:7 2:7 2:8 3:7 4:7");
    /* with a window of 3 and other neurons in each burst: no synapse */
    assert_int_equal(
        synapses_after(AREAS
                       "[association.x]\nfrom = \"a\"\nto = \"t\"\n"
                       "plasticity_window = 3\n" SPIKES("a", "[[1], [2], [3]]")
                           SPIKES("t", "[[1], [2], [3]]"),
                       9),
        0);
}

/* A synapse that does not exist makes no candidate: the potential of t stays,
 * with a leak of a half it would be less. One of weight 0 does. */
static void no_candidate(void **state)
{
    (void)state;
#define LEAKS                                                                  \
    "format = 1\n[run]\ndt_ms = 1\nbursts = 50\n"                              \
    "[area.a]\nmodel = \"feagi\"\nneurons = 3\n"                               \
    "[area.t]\nmodel = \"feagi\"\nneurons = 1\nfiring_threshold = 10\n"        \
    "leak_coefficient = 0.5\n"                                                 \
    "[association.x]\nfrom = \"a\"\nto = \"t\"\nltd_multiplier = 99\n"         \
    "[[stimulus]]\nkind = \"spikes\"\nto = \"a\"\nweight = 1\n"
#define POTENTIALS                                                             \
    "[[stimulus]]\nkind = \"spikes\"\nto = \"t\"\nweight = 8\n"                \
    "bursts = [[10, 20]]\n"
    /* 8 / 2 is kept to 20, and 4 + 8 is above 10 */
    spikes_are(LEAKS "bursts = [[12, 13, 14], [], []]\n" POTENTIALS, 25,
               "20:3");
    /* both fire at 2: a synapse of 1, of 0 when a fires alone at 5; its events
     * leak 4 to 2 and 1 */
    spikes_are(LEAKS
               "bursts = [[2, 5, 12, 13], [], []]\n" POTENTIALS
               "[[stimulus]]\nkind = \"spikes\"\nto = \"t\"\nweight = 20\n"
               "bursts = [[2]]\n",
               25, "2:3");
}

/* The pattern that a neuron stands for is forgotten, and with it its synapses.
 */
static void forgets_synapses(void **state)
{
    (void)state;
    const char *text =
        AREAS "[memory.m]\nfrom = \"a\"\ninit_lifespan = 3\n"
              "[association.x]\nfrom = \"a\"\nto = \"m\"\nltd_multiplier = 0\n"
              "inhibitory = true\n" SPIKES("a", "[[2, 3], [], []]");
    /* made after 2, seen after 3, where it fires with a; 3, 2, 1 bursts left
     * after 3, 4, 5. An event of -1 makes it fire as any other. */
    spikes_are(text, 9, "3:3 4:3");
    assert_int_equal(synapses_after(text, 4), 1);
    assert_int_equal(synapses_after(text, 6), 1);
    assert_int_equal(synapses_after(text, 7), 0);
}

/* ---- feagi-core's own tests (tests/test_memory_plasticity.rs) ----------- */

/* longterm_memory_converts_and_never_dies; memory_neuron_count_stalls_with_
 * limited_unique_patterns; insufficient_history_blocks_pattern_detection. */
static void of_feagi_core(void **state)
{
    (void)state;
    vly_memory_stats stats = stats_of(
        AREAS "[memory.m]\nfrom = \"a\"\ninit_lifespan = 5\n"
              "longterm_mem_threshold = 5\n" SPIKES("a", "[[0], [], []]"),
        12);
    assert_int_equal(stats.n_known, 1);
    assert_int_equal(stats.n_longterm, 1);
    stats = stats_of(AREAS "[memory.m]\nfrom = \"a\"\ninit_lifespan = 9\n"
                           "lifespan_growth_rate = 9\n"
                           "longterm_mem_threshold = 9\n" SPIKES(
                               "a", "[[0, 3, 6, 9], [1, 4, 7], [2, 5, 8]]"),
                     10);
    assert_int_equal(stats.n_known, 3);
    assert_int_equal(stats.n_made, 3);
    assert_int_equal(stats.n_seen, 7);
    const char *depth =
        AREAS "[memory.m]\nfrom = \"a\"\ntemporal_depth = 2\n" SPIKES(
            "a", "[[0, 1], [], []]");
    stats = stats_of(depth, 1);
    assert_int_equal(stats.n_made, 0);
    stats = stats_of(depth, 2);
    assert_int_equal(stats.n_made, 1);
}

/* associative_mem_genome_creates_memory_synapse_between_m1_m2: l and l2 are
 * driven, m1 and m2 fire and are connected, and the twin of l2 repeats it; so
 * does m2 after m1. The two excite each other; here until the pattern of m1 is
 * forgotten after burst 4, whose spikes still arrive. */
static void associates(void **state)
{
    (void)state;
    spikes_are("format = 1\n[run]\ndt_ms = 1\nbursts = 9\n"
               "[area.l]\nmodel = \"feagi\"\nneurons = 3\n"
               "[area.l2]\nmodel = \"feagi\"\nneurons = 1\n"
               "[area.m1]\nmodel = \"feagi\"\nneurons = 1\n"
               "[area.m2]\nmodel = \"feagi\"\nneurons = 1\n"
               "[area.t2]\nmodel = \"feagi\"\nneurons = 1\n"
               "[memory.m1]\nfrom = \"l\"\ninit_lifespan = 4\n"
               "[memory.m2]\nfrom = \"l2\"\ntwins = \"t2\"\n"
               "[association.x]\nfrom = \"m1\"\nto = \"m2\"\n" SPIKES(
                   "l", "[[0], [], []]") SPIKES("l2", "[[0]]"),
               9,
               "0:3 1:4 1:5 2:4 2:5 2:6 3:4 3:5 3:6 4:4 4:5 4:6 5:4 5:5 5:6 "
               "6:6");
}

/* ---- states ------------------------------------------------------------- */

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

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(recognises),       cmocka_unit_test(slides),
    cmocka_unit_test(forgets),          cmocka_unit_test(becomes_longterm),
    cmocka_unit_test(drops_when_full),  cmocka_unit_test(replays),
    cmocka_unit_test(two_sources),      cmocka_unit_test(connects),
    cmocka_unit_test(no_candidate),     cmocka_unit_test(forgets_synapses),
    cmocka_unit_test(kept_by_state),    cmocka_unit_test(kept_by_connectome),
    cmocka_unit_test(kept_by_failover), cmocka_unit_test(damaged_states),
    cmocka_unit_test(of_feagi_core),    cmocka_unit_test(associates),
    cmocka_unit_test(every_allocation),
};

VLY_TEST_MAIN(tests)
