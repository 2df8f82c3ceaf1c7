/* SPDX-License-Identifier: Apache-2.0
 * Classes of shifts, on the host: what a synapse of 32 bits and its places say
 * sums to what a weight with a shift is worth, and which nets the resident plan
 * of the CUDA backend takes with them. No spike is computed here.
 */
#include "volley_test.h"

#include <stdlib.h>

#include "backends/cuda/cuda_net.h"
#include "backends/cuda/cuda_shifts.h"
#include "kernels/cuda/shift_classes.h"

static void test_words(void **state)
{
    (void)state;
    static const int32_t weights[] = {0,   1,     -1,     2,      511,
                                      512, -512,  32767,  -32767, -32768,
                                      600, 12345, -12345, 31000,  -8};
    for (uint32_t w = 0; w < sizeof weights / sizeof *weights; w++)
        for (uint32_t rest = 0; rest <= 12; rest += 6) {
            const uint32_t n = vly_shift_words(weights[w], rest);
            int64_t sum = 0;
            for (uint32_t i = 0; i < n; i++) {
                const int32_t part = vly_shift_word(weights[w], rest, i);
                assert_true(part != 0); /* words of 0 end a segment */
                assert_true(part >= INT16_MIN && part <= INT16_MAX);
                sum += part;
            }
            assert_true(sum == (int64_t)weights[w] * (1 << rest));
            assert_true(rest > 0 || n == (weights[w] != 0));
            assert_true(n <= 1u << rest || weights[w] == INT16_MIN);
        }
}

/* As the device reads a place: the class, then the place in the ring. */
static void test_classes(void **state)
{
    (void)state;
    /* the microcircuit on 132 multiprocessors; small ones; nearly full */
    static const uint32_t sizes[][2] = {{585, 59},  {95, 15},   {1, 1},
                                        {1024, 64}, {1000, 33}, {910, 72}};
    uint64_t n_of[3] = {0, 0, 0};
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint32_t step = 0; step <= 12; step += 6)
            for (uint32_t later = 0; later < sizes[i][1]; later++) {
                const uint32_t slice = sizes[i][0];
                const uint32_t ring = sizes[i][1] * slice;
                const uint32_t c =
                    vly_shift_class(12, step, later, sizes[i][1], slice);
                const uint32_t place = c * ring + (later + 1) * slice - 1;
                assert_true(place < VLY_SHIFT_PLACES);
                assert_true(c * step <= 12);
                assert_int_equal(place / ring, c);
                assert_int_equal(place % ring / slice, later);
                /* one class more would not do */
                assert_true((c + 1) * step > 12 || step == 0 ||
                            place + ring >= VLY_SHIFT_PLACES);
                n_of[c]++;
            }
    assert_true(n_of[0] > 0 && n_of[1] > 0 && n_of[2] > 0);
    assert_int_equal(vly_shift_class(6, 12, 0, 1, 1), 0);
    assert_int_equal(vly_shift_class(0, 6, 0, 1, 1), 0);
}

/* ---- which nets fit ---------------------------------------------------- */

enum { SOURCES = 100, FAN = 1000, MAPS = 3 };

/* A net of three maps with the shifts 0, 6 and 12, as much of it as is looked
 * at: `n` synapses of each, of one weight. */
typedef struct shift_net {
    vly_area_desc area;
    vly_projection_desc maps[MAPS];
    uint64_t row[MAPS][SOURCES + 1];
    vly_net_desc desc;
    vly_backend_net net;
    vly_cuda_shard shard;
    vly_cuda_resident made;
} shift_net;

static void make_net(shift_net *of, int16_t *weights, uint8_t *delays,
                     const uint64_t n[MAPS], uint32_t slice, uint32_t max_delay)
{
    memset(of, 0, sizeof *of);
    of->area = (vly_area_desc){.n_neurons = SOURCES};
    of->desc = (vly_net_desc){.areas = &of->area,
                              .area_size = sizeof of->area,
                              .n_areas = 1,
                              .projections = of->maps,
                              .projection_size = sizeof *of->maps,
                              .n_projections = MAPS,
                              .n_neurons = SOURCES};
    for (uint32_t m = 0; m < MAPS; m++) {
        for (uint32_t s = 0; s <= SOURCES; s++)
            of->row[m][s] = n[m] * s / SOURCES;
        of->maps[m] = (vly_projection_desc){.row = of->row[m],
                                            .weight = weights,
                                            .delay = delays,
                                            .base_delay = 1,
                                            .delay_max = max_delay - 1,
                                            .shift = 6 * m};
        of->desc.n_synapses += n[m];
    }
    of->shard.net = &of->net;
    of->shard.store.fixed = &of->desc;
    of->net.desc = &of->desc;
    of->shard.view.max_delay = max_delay;
    of->made.slice = slice;
}

static void test_fit(void **state)
{
    (void)state;
    int16_t *weights = malloc(FAN * SOURCES * sizeof *weights);
    uint8_t *delays = malloc(FAN * SOURCES);
    shift_net *of = malloc(sizeof *of);
    assert_true(weights != NULL && delays != NULL && of != NULL);
    for (uint32_t i = 0; i < FAN * SOURCES; i++) {
        weights[i] = i % 2 == 0 ? 20000 : -20000;
        delays[i] = (uint8_t)(i % 15);
    }
    const uint64_t few[MAPS] = {90000, 9950, 50};
    const uint64_t swapped[MAPS] = {90000, 50, 9950};
    const uint64_t many[MAPS] = {50000, 50000, 50000};
    const uint64_t none[MAPS] = {100000, 50000, 50000};
    /* all classes have places */
    make_net(of, weights, delays, many, 95, 15);
    assert_true(vly_cuda_shifts_fit(&of->shard, &of->made));
    assert_int_equal(of->made.step, 6);
    /* two of three: the rarer shift becomes several synapses */
    make_net(of, weights, delays, few, 2000, 15);
    assert_true(vly_cuda_shifts_fit(&of->shard, &of->made));
    assert_int_equal(of->made.step, 6);
    make_net(of, weights, delays, swapped, 2000, 15);
    assert_true(vly_cuda_shifts_fit(&of->shard, &of->made));
    assert_int_equal(of->made.step, 12);
    /* too many of both */
    make_net(of, weights, delays, many, 2000, 15);
    assert_false(vly_cuda_shifts_fit(&of->shard, &of->made));
    /* a map that is not fixed is not counted */
    vly_net_desc fixed = of->desc;
    fixed.n_projections = 1;
    of->shard.store.fixed = &fixed;
    assert_true(vly_cuda_shifts_fit(&of->shard, &of->made));
    assert_int_equal(of->made.step, 0);
    /* one class has places only: all shifts become several synapses */
    make_net(of, weights, delays, few, 4096, 16);
    assert_false(vly_cuda_shifts_fit(&of->shard, &of->made));
    /* without shifts there is nothing to fit */
    make_net(of, weights, delays, none, 4096, 16);
    for (uint32_t m = 0; m < MAPS; m++)
        of->maps[m].shift = 0;
    assert_true(vly_cuda_shifts_fit(&of->shard, &of->made));
    assert_int_equal(of->made.step, 0);
    free(of);
    free(delays);
    free(weights);
}

static void test_sets(void **state)
{
    (void)state;
    static const struct {
        uint32_t shifts[MAPS];
        uint32_t n;
        uint32_t step;
    } cases[] = {{{0, 0, 0}, 1, 0},     {{0, 6, 0}, 2, 6},  {{12, 0, 0}, 2, 12},
                 {{12, 12, 12}, 2, 12}, {{12, 6, 0}, 3, 6}, {{6, 6, 12}, 3, 6}};
    vly_projection_desc maps[MAPS];
    vly_net_desc desc = {.projections = maps,
                         .projection_size = sizeof *maps,
                         .n_projections = MAPS};
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t step = 99;
        for (uint32_t m = 0; m < MAPS; m++)
            maps[m] = (vly_projection_desc){.shift = cases[i].shifts[m]};
        assert_int_equal(vly_common_shift_sets(&desc, &step), cases[i].n);
        assert_int_equal(step, cases[i].step);
    }
    /* a host before ABI 1.4 */
    desc.projection_size = VLY_PROJECTION_BYTES_1_0;
    uint32_t step = 99;
    assert_int_equal(vly_common_shift_sets(&desc, &step), 1);
    assert_int_equal(step, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_fit),
        cmocka_unit_test(test_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
