/* SPDX-License-Identifier: Apache-2.0
 * The ring of telemetry: what comes out is what went in, whole and in order,
 * whatever a reader misses.
 */
#include "record/telemetry.h"

#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "volley_test.h"

#define AREAS 5u

/* Every word is a function of the sample's number. */
static void fill(uint64_t number, vly_telemetry_sample *sample, uint64_t *areas)
{
    uint64_t words[sizeof *sample / sizeof(uint64_t)];
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        words[i] = number * 1000 + i;
    memcpy(sample, words, sizeof words);
    for (uint32_t a = 0; a < AREAS; a++)
        areas[a] = number * 1000 + 500 + a;
}

static bool is_whole(uint64_t number, const vly_telemetry_sample *sample,
                     const uint64_t *areas)
{
    vly_telemetry_sample wanted;
    uint64_t wanted_areas[AREAS];
    fill(number, &wanted, wanted_areas);
    return memcmp(sample, &wanted, sizeof wanted) == 0 &&
           memcmp(areas, wanted_areas, sizeof wanted_areas) == 0;
}

static void put(vly_telemetry_ring *ring, uint64_t number)
{
    vly_telemetry_sample sample;
    uint64_t areas[AREAS];
    fill(number, &sample, areas);
    vly_telemetry_put(ring, &sample, areas);
}

static void test_in_order(void **state)
{
    (void)state;
    vly_telemetry_ring *ring = NULL;
    vly_telemetry_sample sample;
    uint64_t areas[AREAS];
    uint64_t next = 0;
    uint64_t lost = 0;
    assert_int_equal(vly_telemetry_create(8, AREAS, &ring, NULL), VLY_OK);
    assert_int_equal(vly_telemetry_areas(ring), AREAS);
    assert_int_equal(vly_telemetry_length(ring), 8);
    assert_false(vly_telemetry_take(ring, &next, &lost, &sample, areas));
    assert_false(vly_telemetry_last(ring, &sample, areas));
    for (uint64_t n = 0; n < 5; n++)
        put(ring, n);
    assert_true(vly_telemetry_last(ring, &sample, areas));
    assert_true(is_whole(4, &sample, areas));
    for (uint64_t n = 0; n < 5; n++) {
        assert_true(vly_telemetry_take(ring, &next, &lost, &sample, areas));
        assert_true(is_whole(n, &sample, areas));
    }
    assert_false(vly_telemetry_take(ring, &next, &lost, &sample, areas));
    assert_int_equal(lost, 0);
    /* 12 more into 8 slots: the first 4 of them are gone */
    for (uint64_t n = 5; n < 17; n++)
        put(ring, n);
    for (uint64_t n = 9; n < 17; n++) {
        assert_true(vly_telemetry_take(ring, &next, &lost, &sample, areas));
        assert_true(is_whole(n, &sample, areas));
    }
    assert_false(vly_telemetry_take(ring, &next, &lost, &sample, areas));
    assert_int_equal(lost, 4);
    vly_telemetry_destroy(ring);
    vly_telemetry_destroy(NULL);
}

static void test_refused(void **state)
{
    (void)state;
    vly_telemetry_ring *ring = NULL;
    vly_error error = VLY_ERROR_INIT;
    assert_int_equal(vly_telemetry_create(0, 1, &ring, &error), VLY_E_INVALID);
    assert_int_equal(vly_telemetry_create(12, 1, &ring, &error), VLY_E_INVALID);
    assert_non_null(strstr(error.message, "12 samples"));
    assert_null(ring);
    /* no areas is legal */
    assert_int_equal(vly_telemetry_create(2, 0, &ring, &error), VLY_OK);
    vly_telemetry_destroy(ring);
}

enum { SAMPLES = 200000, READERS = 3 };

typedef struct reader {
    const vly_telemetry_ring *ring;
    uint64_t n_read;
    uint64_t n_lost;
    bool wrong;
} reader;

static void *read_all(void *arg)
{
    reader *me = arg;
    uint64_t next = 0;
    while (next < SAMPLES) {
        vly_telemetry_sample sample;
        uint64_t areas[AREAS];
        if (!vly_telemetry_take(me->ring, &next, &me->n_lost, &sample, areas))
            continue;
        me->n_read++;
        me->wrong = me->wrong || !is_whole(next - 1, &sample, areas);
        if (me->n_read % 64 == 0 &&
            vly_telemetry_last(me->ring, &sample, areas))
            me->wrong =
                me->wrong || !is_whole(sample.at_ns / 1000, &sample, areas);
    }
    return NULL;
}

static void test_readers_beside_the_writer(void **state)
{
    (void)state;
    vly_telemetry_ring *ring = NULL;
    pthread_t threads[READERS];
    reader readers[READERS];
    memset(readers, 0, sizeof readers);
    assert_int_equal(vly_telemetry_create(16, AREAS, &ring, NULL), VLY_OK);
    for (int r = 0; r < READERS; r++) {
        readers[r].ring = ring;
        assert_int_equal(
            pthread_create(&threads[r], NULL, read_all, &readers[r]), 0);
    }
    for (uint64_t n = 0; n < SAMPLES; n++)
        put(ring, n);
    for (int r = 0; r < READERS; r++) {
        pthread_join(threads[r], NULL);
        assert_false(readers[r].wrong);
        assert_true(readers[r].n_read > 0);
        assert_int_equal(readers[r].n_read + readers[r].n_lost, SAMPLES);
    }
    vly_telemetry_destroy(ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_order),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_readers_beside_the_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
