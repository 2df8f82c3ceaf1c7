/* SPDX-License-Identifier: Apache-2.0
 * Two sums of 16 bits in a word (kernels/cuda/narrow_sums.h): whatever the
 * order of events and however they are shared out between copies, what is read
 * is what was added, up to the last value that the proof lets through, and not
 * beyond it. What the device computes is tested in test_cuda_partition.
 */
#include "volley_test.h"

#include "base/random.h"
#include "kernels/cuda/narrow_sums.h"

enum { TILE = 128, ROWS = TILE / 32, COPIES = 8, MOST = 32767 };
enum { HEAVY = VLY_NARROW_WEIGHT, LAST = VLY_NARROW_PLACES - 1 };

static uint64_t n_drawn;

static uint32_t draw(uint32_t below)
{
    return (uint32_t)((vly_mix64(++n_drawn) >> 32) * below >> 32);
}

static uint32_t event(uint32_t place, int32_t weight)
{
    return vly_narrow_event(vly_narrow_synapse(weight, place));
}

/* Up to MOST: by three synapses, since one holds HEAVY at most. */
static uint32_t sum_of(uint32_t place, int32_t sum)
{
    return 2 * event(place, sum / 2) + event(place, sum % 2);
}

/* Neurons of a tile have places of their own; those of a lane lie in words
 * that its 32 neighbours have side by side, the even row low. */
static void test_places(void **state)
{
    (void)state;
    for (uint32_t tile = 64; tile <= TILE; tile += 64) {
        uint32_t seen[TILE] = {0};
        for (uint32_t i = 0; i < tile; i++) {
            uint32_t place = vly_narrow_place(i);
            assert_true(place < tile);
            assert_int_equal(seen[place]++, 0);
            assert_int_equal(place / 2, i / 64 * 32 + i % 32);
            assert_int_equal(place % 2, i / 32 % 2);
        }
    }
}

/* Every pair of sums at the borders and around 0, in either order. */
static void test_pairs(void **state)
{
    (void)state;
    static const int32_t sums[] = {-MOST, -MOST + 1, -256, -2,  -1,       0,
                                   1,     2,         255,  256, MOST - 1, MOST};
    enum { N = sizeof sums / sizeof *sums };
    for (uint32_t i = 0; i < N; i++)
        for (uint32_t j = 0; j < N; j++) {
            const uint32_t low = sum_of(4, sums[i]);
            const uint32_t high = sum_of(5, sums[j]);
            assert_int_equal(low + high, high + low);
            assert_int_equal(vly_narrow_low(low + high), sums[i]);
            assert_int_equal(vly_narrow_high(low + high), sums[j]);
        }
    /* every weight in either half of an empty word */
    for (int32_t w = -HEAVY - 1; w <= HEAVY; w++) {
        const uint32_t low = event(LAST - 1, w);
        const uint32_t high = event(LAST, w);
        assert_int_equal(vly_narrow_low(low), w);
        assert_int_equal(vly_narrow_high(low), 0);
        assert_int_equal(vly_narrow_low(high), 0);
        assert_int_equal(vly_narrow_high(high), w);
        assert_true((low != 0) == (w != 0) && (high != 0) == (w != 0));
        assert_int_equal(vly_narrow_offset(vly_narrow_synapse(w, LAST)),
                         LAST / 2 * sizeof(uint32_t));
    }
}

/* Events of one neuron whose magnitudes sum to at most MOST, and exactly to it
 * if `full`; signs by `sign`: 1, -1, or 0 for any. */
static uint32_t make_events(int32_t *weights, uint32_t room, bool full,
                            int32_t sign)
{
    uint32_t left = MOST;
    uint32_t n = 0;
    const uint32_t largest = draw(4) == 0 ? HEAVY : 1 + draw(300);
    while (n + 3 < room && left > 0) {
        uint32_t w = draw(largest + 1);
        w = w < left ? w : left;
        left -= w;
        const bool minus = sign < 0 || (sign == 0 && draw(2) != 0);
        weights[n++] = minus ? -(int32_t)w : (int32_t)w;
        if (!full && draw(200) == 0)
            break;
    }
    for (; full && left > 0; n++) { /* there is room for three */
        const uint32_t w = left < HEAVY ? left : HEAVY;
        weights[n] = sign < 0 ? -(int32_t)w : (int32_t)w;
        left -= w;
    }
    return n;
}

enum { ROOM = 400 };

typedef struct sequence {
    uint32_t events[TILE * ROOM];
    int32_t wanted[TILE];
    uint32_t n;
} sequence;

static void make_sequence(sequence *s, uint32_t round)
{
    s->n = 0;
    for (uint32_t i = 0; i < TILE; i++) {
        int32_t weights[ROOM];
        const int32_t sign = round % 4 == 0 ? -1 : round % 4 == 1 ? 1 : 0;
        const uint32_t n =
            make_events(weights, ROOM, round % 2 == 0 || i % 3 == 0,
                        round % 8 == 7 ? (i % 64 < 32 ? -1 : 1) : sign);
        s->wanted[i] = 0;
        for (uint32_t k = 0; k < n; k++) {
            s->wanted[i] += weights[k];
            s->events[s->n++] =
                vly_narrow_synapse(weights[k], vly_narrow_place(i));
        }
    }
    for (uint32_t k = s->n; k > 1; k--) { /* in any order */
        const uint32_t other = draw(k);
        const uint32_t event = s->events[other];
        s->events[other] = s->events[k - 1];
        s->events[k - 1] = event;
    }
}

static void test_sequences(void **state)
{
    (void)state;
    static sequence s;
    uint32_t n_borders = 0;
    uint32_t n_negative = 0;
    uint64_t n_events = 0;
    for (uint32_t round = 0; round < 64; round++) {
        uint32_t words[COPIES][TILE / 2] = {{0}};
        const uint32_t n_copies = 1u << draw(4);
        make_sequence(&s, round);
        n_events += s.n;
        for (uint32_t k = 0; k < s.n; k++)
            words[draw(n_copies)][vly_narrow_offset(s.events[k]) / 4] +=
                vly_narrow_event(s.events[k]);
        for (uint32_t c = 1; c < n_copies; c++)
            for (uint32_t i = 0; i < TILE / 2; i++)
                words[0][i] += words[c][i];
        for (uint32_t lane = 0; lane < 32; lane++)
            for (uint32_t j = 0; j < ROWS; j++) {
                const uint32_t word = words[0][32 * (j / 2) + lane];
                const int32_t sum =
                    j % 2 == 0 ? vly_narrow_low(word) : vly_narrow_high(word);
                const int32_t wanted = s.wanted[32 * j + lane];
                assert_int_equal(sum, wanted);
                n_borders += wanted == MOST || wanted == -MOST;
                n_negative += j % 2 == 0 && wanted < 0;
            }
    }
    print_message("%u events, %u sums at the borders, %u negative low halves\n",
                  (unsigned)n_events, n_borders, n_negative);
    assert_true(n_borders > 500 && n_negative > 500);
}

/* One more than the proof allows is read as something else. */
static void test_limit_is_needed(void **state)
{
    (void)state;
    const uint32_t low = sum_of(0, MOST) + event(0, 1);
    assert_int_not_equal(vly_narrow_low(low), MOST + 1);
    const uint32_t high = sum_of(1, MOST) + event(1, 1);
    assert_int_not_equal(vly_narrow_high(high), MOST + 1);
}

static void test_proof(void **state)
{
    (void)state;
    assert_int_equal(vly_narrow_divisor(0, 0), 0);
    assert_int_equal(vly_narrow_divisor(0, 20972), 20972);
    assert_int_equal(vly_narrow_divisor(20972, 0), 20972);
    assert_int_equal(vly_narrow_divisor(20972, 20972), 20972);
    assert_int_equal(vly_narrow_divisor(6553, 5 * 6553), 6553);
    assert_int_equal(vly_narrow_divisor(32768, 24576), 8192);
    assert_int_equal(vly_narrow_divisor(32767, 32768), 1);
    for (uint32_t g = 1; g <= 32768; g += g < 9 ? 1 : 4093) {
        assert_true(vly_narrow_fits(g * MOST, g));
        assert_false(vly_narrow_fits(g * (MOST + 1u), g));
        assert_true(vly_narrow_fits(0, g));
        assert_true(vly_narrow_holds(g * HEAVY, g));
        assert_false(vly_narrow_holds(g * (HEAVY + 1u), g));
    }
    assert_true(vly_narrow_fits(0, 0)); /* nothing arrives */
    assert_false(vly_narrow_fits(1, 0));
    assert_true(vly_narrow_holds(0, 0));
    /* one more than a synapse holds is read as something else */
    assert_int_not_equal(vly_narrow_low(event(0, HEAVY + 1)), HEAVY + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_sequences),
        cmocka_unit_test(test_limit_is_needed),
        cmocka_unit_test(test_proof),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
