/* SPDX-License-Identifier: Apache-2.0
 * State by name: what is written is read, in the field's unit; what does not
 * fit the field is refused whole.
 */
#include "engine_fixture.h"

#include <math.h>

static void write_and_read(void **state)
{
    fixture f;
    double in[3] = {-60.5, -50.25, 1e-15};
    double out[30];
    (void)state;
    fixture_init(&f, genome_mixed);
    vly_net *net = fixture_net(&f, "cpu:1");
    assert_ok(vly_net_read(net, "D", "v_mv", 0, 30, out, &f.error), f.error);
    for (int i = 0; i < 30; i++)
        assert_true(out[i] == -65.0);
    assert_ok(vly_net_write(net, "D", "v_mv", 4, 3, in, &f.error), f.error);
    assert_ok(vly_net_read(net, "D", "v_mv", 3, 5, out, &f.error), f.error);
    assert_true(out[0] == -65.0);
    assert_true(out[1] == -60.5);
    assert_true(out[2] == -50.25);
    assert_true(out[3] == 0.0); /* below 2^-40 */
    assert_true(out[4] == -65.0);
    in[0] = 4294967295.0;
    assert_ok(vly_net_write(net, "D", "refractory", 29, 1, in, &f.error),
              f.error);
    assert_ok(vly_net_read(net, "D", "refractory", 29, 1, out, &f.error),
              f.error);
    assert_true(out[0] == 4294967295.0);
    assert_ok(vly_net_read(net, "D", "v_mv", 30, 0, out, &f.error), f.error);
    assert_ok(vly_net_write(net, "D", "v_mv", 30, 0, in, &f.error), f.error);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* A neuron that is put above its threshold fires in the next burst. */
static void written_state_acts(void **state)
{
    const uint32_t *ids = NULL;
    uint32_t n = 0;
    double high = 16000;
    fixture f;
    (void)state;
    fixture_init(&f, genome_three);
    vly_net *net = fixture_net(&f, "cpu:1");
    assert_ok(vly_net_write(net, "B", "v_mv", 0, 1, &high, &f.error), f.error);
    assert_ok(vly_net_run(net, 1, &f.error), f.error);
    assert_ok(vly_net_fired(net, &ids, &n, &f.error), f.error);
    assert_int_equal(n, 1);
    assert_int_equal(ids[0], 1);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static void refused(void **state)
{
    fixture f;
    double in[3] = {-60, (double)NAN, -60};
    double out[3] = {7, 7, 7};
    (void)state;
    fixture_init(&f, genome_mixed);
    vly_net *net = fixture_net(&f, "cpu:1");
    vly_error *e = &f.error;
    uint64_t before = 0;
    uint64_t after = 0;
    assert_ok(vly_net_state_digest(net, &before, e), f.error);
    assert_fails(vly_net_write(net, "D", "v_mv", 4, 3, in, e), VLY_E_INVALID, e,
                 "v_mv of neuron 5 of area D");
    in[1] = 16385;
    assert_fails(vly_net_write(net, "D", "v_mv", 4, 3, in, e), VLY_E_INVALID, e,
                 "wanted -16384 to 16384");
    in[1] = 1.5;
    assert_fails(vly_net_write(net, "D", "refractory", 4, 2, in + 1, e),
                 VLY_E_INVALID, e, "whole number");
    assert_fails(vly_net_write(net, "D", "refractory", 4, 1, in, e),
                 VLY_E_INVALID, e, "is -60, wanted 0");
    assert_fails(vly_net_write(net, "D", "v_mw", 4, 1, in, e), VLY_E_INVALID, e,
                 "did you mean v_mv");
    assert_fails(vly_net_read(net, "D", "v_mv", 28, 3, out, e), VLY_E_INVALID,
                 e, "neurons 28 to 31 of area D, which has 30");
    assert_fails(vly_net_read(net, "D", "v_mv", UINT32_MAX, 3, out, e),
                 VLY_E_INVALID, e, "which has 30");
    assert_fails(vly_net_read(net, "d", "v_mv", 0, 3, out, e), VLY_E_INVALID, e,
                 "no area d");
    assert_fails(vly_net_read(net, "D", NULL, 0, 3, out, e), VLY_E_INVALID, e,
                 "no field");
    assert_true(out[0] == 7.0);
    assert_ok(vly_net_state_digest(net, &after, e), f.error);
    assert_true(before == after);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static void weights_are_read(void **state)
{
    fixture f;
    double weight[2] = {0, 0};
    double want = 0;
    (void)state;
    fixture_init(&f, genome_three);
    vly_net *net = fixture_net(&f, "cpu:1");
    uint32_t n = vly_connectome_projection_count(f.connectome);
    assert_int_equal(n, 2);
    for (uint32_t i = 0; i < n; i++) {
        assert_ok(vly_connectome_synapses(f.connectome, i, 0, 1, NULL, NULL,
                                          &want, NULL, &f.error),
                  f.error);
        assert_ok(vly_net_weights_read(net, NULL, i, 0, 1, weight, NULL, NULL,
                                       &f.error),
                  f.error);
        assert_true(weight[0] == want && want > 0);
    }
    assert_fails(
        vly_net_weights_read(net, NULL, n, 0, 1, weight, NULL, NULL, &f.error),
        VLY_E_INVALID, &f.error, "part 2 of the net, which has 2");
    assert_fails(
        vly_net_weights_read(net, NULL, 0, 1, 1, weight, NULL, NULL, &f.error),
        VLY_E_INVALID, &f.error, "synapses 1 to 2 of map");
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(weights_are_read),
    cmocka_unit_test(write_and_read),
    cmocka_unit_test(written_state_acts),
    cmocka_unit_test(refused),
};

VLY_TEST_MAIN(tests)
