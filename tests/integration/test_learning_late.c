/* SPDX-License-Identifier: Apache-2.0
 * test_learning_late [OTHER]: nets with plasticity that are billions of bursts
 * old. Backends count the bursts of spikes modulo 2^32 and make old ones
 * younger at times; a snapshot of a young net, with another burst, crosses
 * those bursts on cpu:1 and on another backend (cpu:3). Spikes, state, weights
 * and traces are the same.
 */
#include <stdlib.h>

#include "../unit/engine_fixture.h"
#include "device_test.h"
#include "learning_genomes.h"
#include "plugin/registry.h"

#define YOUNG 60u  /* bursts before the snapshot */
#define BURSTS 70u /* after it */
#define AHEAD 20u  /* of the burst that is crossed */

static const char *other = "cpu:3";
static vly_registry *registry; /* to ask whether there is one */

/* ---- a net of a backend ------------------------------------------------- */

typedef struct net {
    const vly_backend *backend;
    vly_backend_net *made;
} net;

static net make(fixture *f, const char *text, const vly_snapshot *from)
{
    net n = {.backend = NULL};
    vly_backend_spec spec;
    vly_device_spec device = {.struct_size = sizeof device};
    assert_ok(vly_backend_spec_parse(text, &spec, &f->error), f->error);
    assert_ok(vly_registry_device(f->registry, &spec, 1, &n.backend, &device,
                                  &f->error),
              f->error);
    assert_ok(n.backend->net_create(&device, &f->connectome->desc, from,
                                    &n.made, &f->error),
              f->error);
    return n;
}

static void run(fixture *f, const net *n, uint64_t burst, uint64_t *digests,
                uint64_t n_bursts)
{
    /* values for the modulators of projections that have one */
    vly_input given[16];
    uint64_t n_given = 0;
    for (uint64_t b = 5; b < n_bursts; b += 19)
        for (uint32_t p = 0; p < f->connectome->desc.n_projections; p++) {
            const vly_learning_desc *l =
                f->connectome->desc.projections[p].learning;
            if (l && l->modulator.bursts != 0 && n_given < 16)
                given[n_given++] = (vly_input){
                    .burst = burst + b, .neuron = p, .value = 0x3000001};
        }
    vly_run all = {.struct_size = sizeof all,
                   .n_bursts = n_bursts,
                   .digests = digests,
                   .modulations = given,
                   .n_modulations = n_given};
    assert_ok(n->backend->net_run(n->made, &all, &f->error), f->error);
    assert_int_equal(all.n_bursts_done, n_bursts);
}

/* ---- snapshots ---------------------------------------------------------- */

static vly_snapshot take(fixture *f, const net *n)
{
    vly_snapshot s = {.struct_size = sizeof s};
    assert_ok(n->backend->snapshot_read(n->made, &s, &f->error), f->error);
    s.state = calloc(s.n_state_words + 1, sizeof *s.state);
    s.fired_row = calloc(s.n_fired_bursts + (size_t)1, sizeof *s.fired_row);
    s.fired = calloc(s.n_fired + 1, sizeof *s.fired);
    s.fired_gain = calloc(s.n_fired + 1, sizeof *s.fired_gain);
    s.weights = calloc(s.n_weight_bytes + 1, 1);
    assert_true(s.state && s.fired_row && s.fired && s.fired_gain && s.weights);
    assert_ok(n->backend->snapshot_read(n->made, &s, &f->error), f->error);
    return s;
}

static void release(vly_snapshot *s)
{
    free(s->state);
    free(s->fired_row);
    free(s->fired);
    free(s->fired_gain);
    free(s->weights);
}

static void assert_same_snapshot(const vly_snapshot *a, const vly_snapshot *b)
{
    assert_true(a->burst == b->burst && a->n_fired == b->n_fired);
    assert_int_equal(a->n_weight_bytes, b->n_weight_bytes);
    assert_memory_equal(a->state, b->state,
                        a->n_state_words * sizeof *a->state);
    assert_memory_equal(a->fired, b->fired, a->n_fired * sizeof *a->fired);
    assert_memory_equal(a->weights, b->weights, a->n_weight_bytes);
}

/* ---- tests ------------------------------------------------------------- */

/* What it is BURSTS after `start`; digests: of each of these. */
static vly_snapshot grow(fixture *f, const char *spec,
                         const vly_snapshot *start, uint64_t *digests)
{
    net n = make(f, spec, start);
    run(f, &n, start->burst, digests, BURSTS);
    vly_snapshot end = take(f, &n);
    n.backend->net_destroy(n.made);
    return end;
}

static void check(const char *genome)
{
    static const uint64_t crossed[] = {UINT64_C(1) << 29, UINT64_C(1) << 31,
                                       UINT64_C(1) << 32, UINT64_C(1) << 52};
    fixture f;
    uint64_t wanted[BURSTS];
    uint64_t found[BURSTS];
    uint64_t seen = 0;
    device_require(registry, other);
    fixture_init(&f, genome);
    net young = make(&f, "cpu:1", &f.connectome->start);
    run(&f, &young, 0, wanted, YOUNG);
    vly_snapshot start = take(&f, &young);
    young.backend->net_destroy(young.made);
    for (size_t i = 0; i < sizeof crossed / sizeof crossed[0]; i++) {
        start.burst = crossed[i] - AHEAD;
        vly_snapshot a = grow(&f, "cpu:1", &start, wanted);
        vly_snapshot b = grow(&f, other, &start, found);
        assert_memory_equal(found, wanted, sizeof wanted);
        assert_same_snapshot(&b, &a);
        assert_memory_not_equal(a.weights, start.weights, a.n_weight_bytes);
        seen += wanted[0] != wanted[BURSTS - 1];
        release(&a);
        release(&b);
    }
    assert_true(seen > 0); /* it fires */
    release(&start);
    fixture_deinit(&f);
}

static void test_stdp(void **state)
{
    (void)state;
    check(genome_stdp);
}

static void test_other_rules(void **state)
{
    (void)state;
    check(genome_other_rules);
}

static int group_setup(void **state)
{
    (void)state;
    return vly_registry_create(&registry, NULL) == VLY_OK ? 0 : 1;
}

static int group_teardown(void **state)
{
    (void)state;
    vly_registry_destroy(registry);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stdp),
        cmocka_unit_test(test_other_rules),
    };
    if (argc > 1)
        other = argv[1];
    return cmocka_run_group_tests(tests, group_setup, group_teardown) ? 1 : 0;
}
