/* SPDX-License-Identifier: Apache-2.0
 * Nets side by side: alike, and against a backend that flips a bit.
 */
#include "engine_fixture.h"

#include <volley/host.h>

#include <stdlib.h>

/* lif_psc_delta only: what the erring backend can run */
static const char *const genome_delta =
    "format = 1\n[run]\ndt_ms = 0.5\nbursts = 60\n"
    "[area.P]\nmodel = \"lif_psc_delta\"\nneurons = 5\n"
    "[area.D]\nmodel = \"lif_psc_delta\"\nneurons = 30\n"
    "[[map]]\nfrom = \"D\"\nto = [\"P\", \"D\"]\n"
    "rule = \"fixed_in_degree\"\nin_degree = 5\nweight_mv = 1.5\n"
    "delay_ms = { uniform = [0.5, 4] }\n"
    "[[stimulus]]\nid = \"noise\"\nkind = \"poisson\"\nto = \"D\"\n"
    "rate_hz = 2000\nweight_mv = 4\n";

static void add_plugin(fixture *f, const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s.so", VLY_TEST_PLUGINS, name);
    assert_ok(vly_registry_add(f->registry, path, &f->error), f->error);
}

static vly_status count_calls(void *arg, uint64_t done)
{
    *(uint64_t *)arg = done;
    return VLY_OK;
}

static void alike(void **state)
{
    fixture f;
    vly_validate_result result = {.struct_size = sizeof result};
    const char *names[] = {"cpu:1", "cpu:2", "cpu:3"};
    char text[2000];
    uint64_t done = 0;
    (void)state;
    fixture_init(&f, genome_mixed);
    vly_net *nets[3];
    for (int i = 0; i < 3; i++)
        nets[i] = fixture_net(&f, names[i]);
    vly_net *alone = fixture_net(&f, "cpu:1");
    fingerprint wanted = fixture_run(&f, alone, 300);
    assert_ok(
        vly_validate(nets, 3, 300, 100, count_calls, &done, &result, &f.error),
        f.error);
    assert_int_equal(result.difference, VLY_DIFFERENCE_NONE);
    assert_int_equal(result.bursts, 300);
    assert_int_equal(done, 300);
    assert_int_equal(result.spikes, wanted.spikes);
    assert_true(result.digest == wanted.digest);
    assert_true(result.state_digest == wanted.state);
    assert_non_null(strstr(vly_validate_text(&result, names, text, sizeof text),
                           "300 bursts"));
    vly_net_stop(nets[1]);
    assert_fails(vly_validate(nets, 3, 300, 1, NULL, NULL, &result, &f.error),
                 VLY_E_STOPPED, &f.error, "stopped");
    for (int i = 0; i < 3; i++)
        vly_net_destroy(nets[i]);
    vly_net_destroy(alone);
    fixture_deinit(&f);
}

/* The bit is flipped after burst `at` in word `word` of the state. */
static void find(fixture *f, uint32_t every, uint64_t at, uint32_t word,
                 const char *area, uint32_t index)
{
    char spec[64];
    char text[2000];
    const char *names[] = {"cpu:1", "erring"};
    vly_validate_result result = {.struct_size = sizeof result};
    vly_net *nets[2];
    (void)snprintf(spec, sizeof spec, "erring,at=%u,neuron=%u", (unsigned)at,
                   word);
    nets[0] = fixture_net(f, "cpu:1");
    nets[1] = fixture_net(f, spec);
    assert_ok(vly_validate(nets, 2, 400, every, NULL, NULL, &result, &f->error),
              f->error);
    assert_int_equal(result.difference, VLY_DIFFERENCE_FOUND);
    assert_int_equal(result.other, 1);
    assert_int_equal(result.burst, at);
    assert_int_equal(result.bursts, at);
    assert_true(result.state_differs);
    assert_false(result.fired_differs);
    assert_int_equal(result.n_words, 1);
    assert_string_equal(result.area, area);
    assert_int_equal(result.index, index);
    assert_string_equal(result.field, "v_mv");
    assert_int_equal(result.word[0] ^ result.word[1], 1);
    assert_true(result.value[0] != result.value[1]);
    vly_validate_text(&result, names, text, sizeof text);
    assert_non_null(strstr(text, "v_mv"));
    assert_non_null(strstr(text, "0x"));
    for (int i = 0; i < 2; i++)
        vly_net_destroy(nets[i]);
}

static void the_flipped_bit(void **state)
{
    fixture f;
    (void)state;
    fixture_init(&f, genome_delta);
    add_plugin(&f, "erring");
    find(&f, 1, 0, 0, "P", 0);
    find(&f, 1, 50, 3, "P", 3);
    find(&f, 1, 127, 4, "P", 4);
    find(&f, 1, 300, 12, "D", 7);
    /* in pieces: at the end of one, before the bit has decayed */
    find(&f, 128, 127, 4, "P", 4);
    find(&f, 10, 9, 12, "D", 7);
    find(&f, 7, 209, 1, "P", 1);
    fixture_deinit(&f);
}

static void not_comparable(void **state)
{
    fixture f;
    fixture g;
    vly_validate_result result = {.struct_size = sizeof result};
    double value = -60;
    (void)state;
    fixture_init(&f, genome_delta);
    fixture_init(&g, genome_mixed);
    vly_net *nets[2] = {fixture_net(&f, "cpu:1"), fixture_net(&g, "cpu:1")};
    assert_fails(vly_validate(nets, 1, 5, 1, NULL, NULL, &result, &f.error),
                 VLY_E_INVALID, &f.error, "wanted 2 to 16");
    assert_fails(vly_validate(nets, 2, 5, 1, NULL, NULL, &result, &f.error),
                 VLY_E_INVALID, &f.error, "another connectome");
    vly_net_destroy(nets[1]);
    nets[1] = fixture_net(&f, "cpu:1");
    assert_ok(vly_net_write(nets[1], "P", "v_mv", 0, 1, &value, &f.error),
              f.error);
    assert_fails(vly_validate(nets, 2, 5, 1, NULL, NULL, &result, &f.error),
                 VLY_E_INVALID, &f.error, "before the first burst");
    assert_ok(vly_net_run(nets[1], 1, &f.error), f.error);
    assert_fails(vly_validate(nets, 2, 5, 1, NULL, NULL, &result, &f.error),
                 VLY_E_INVALID, &f.error, "net 1 has done 1 bursts");
    vly_net_destroy(nets[0]);
    vly_net_destroy(nets[1]);
    fixture_deinit(&f);
    fixture_deinit(&g);
}

/* Nets that look alike but hold other parameters part at the next burst, and
 * agree when both start from the state of the first. */
static void parameters_that_differ(void **state)
{
    fixture f;
    vly_validate_result result = {.struct_size = sizeof result};
    (void)state;
    fixture_init(&f, genome_delta);
    vly_net *nets[2] = {fixture_net(&f, "cpu:1"), fixture_net(&f, "cpu:1")};
    assert_ok(vly_net_set(nets[1], "stimulus.noise.weight", 8, &f.error),
              f.error);
    assert_ok(vly_validate(nets, 2, 50, 50, NULL, NULL, &result, &f.error),
              f.error);
    assert_int_equal(result.difference, VLY_DIFFERENCE_ONCE);
    vly_net_destroy(nets[1]);
    nets[1] = fixture_net(&f, "cpu:1");
    vly_net_destroy(nets[0]);
    nets[0] = fixture_net(&f, "cpu:1");
    assert_ok(vly_net_set(nets[1], "stimulus.noise.weight", 8, &f.error),
              f.error);
    assert_ok(vly_validate(nets, 2, 50, 1, NULL, NULL, &result, &f.error),
              f.error);
    assert_int_equal(result.difference, VLY_DIFFERENCE_FOUND);
    assert_true(result.state_differs || result.fired_differs);
    assert_fails(vly_validate(nets, 2, 5, 0, NULL, NULL, &result, &f.error),
                 VLY_E_INVALID, &f.error, "differ before");
    vly_net_destroy(nets[0]);
    vly_net_destroy(nets[1]);
    fixture_deinit(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(alike),
    cmocka_unit_test(the_flipped_bit),
    cmocka_unit_test(not_comparable),
    cmocka_unit_test(parameters_that_differ),
};

VLY_TEST_MAIN(tests)
