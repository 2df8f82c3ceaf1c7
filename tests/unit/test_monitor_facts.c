/* SPDX-License-Identifier: Apache-2.0
 * Facts: which there are, that each is told once an episode of its own, what is
 * said of them.
 */
#include "monitor/facts.h"

#include <string.h>

#include "volley_test.h"

static void test_which(void **state)
{
    (void)state;
    const vly_record none = {
        .bursts = 1, .clock_ms = 499, .lost = 3, .host_growth = 1 << 30};
    assert_int_equal(vly_facts_of(&none), 0);
    assert_int_equal(vly_fact_first(0), VLY_FACTS);
    const vly_record all = {
        .wrong_place = 1, .missing = 2, .failures = 3, .clock_ms = -500};
    assert_int_equal(vly_facts_of(&all), (1u << VLY_FACTS) - 1);
    assert_int_equal(vly_fact_first(vly_facts_of(&all)), VLY_FACT_PLACE);
    const vly_record clock = {.clock_ms = 500};
    assert_int_equal(vly_fact_first(vly_facts_of(&clock)), VLY_FACT_CLOCK);
    const vly_record device = {.failures = 1};
    assert_int_equal(vly_facts_of(&device), 1u << VLY_FACT_DEVICE);
}

/* One that goes on hides no other, and is told again after a pause only. */
static void test_episodes(void **state)
{
    (void)state;
    vly_facts facts = {{0}};
    const vly_record sound = {.bursts = 1};
    const vly_record missing = {.missing = 1};
    const vly_record both = {.missing = 1, .clock_ms = 900};
    assert_int_equal(vly_facts_judge(&facts, &sound), 0);
    assert_int_equal(vly_facts_judge(&facts, &missing), 1u << VLY_FACT_SPIKES);
    for (int i = 0; i < 100; i++)
        assert_int_equal(vly_facts_judge(&facts, &missing), 0);
    assert_int_equal(vly_facts_judge(&facts, &both), 1u << VLY_FACT_CLOCK);
    for (uint32_t i = 1; i < VLY_FACT_QUIET; i++)
        assert_int_equal(vly_facts_judge(&facts, &sound), 0);
    assert_int_equal(vly_facts_judge(&facts, &missing), 0);
    for (uint32_t i = 0; i < VLY_FACT_QUIET; i++)
        assert_int_equal(vly_facts_judge(&facts, &sound), 0);
    assert_int_equal(vly_facts_judge(&facts, &both),
                     1u << VLY_FACT_SPIKES | 1u << VLY_FACT_CLOCK);
}

static void test_words(void **state)
{
    (void)state;
    static const char *const words[VLY_FACTS] = {
        "not the one asked for", "12 spikes are in no area",
        "devices failed 2 times", "-700 ms apart"};
    static const char *const causes[VLY_FACTS] = {
        "another backend", "dropped", "went on elsewhere", "set back"};
    const vly_record record = {.burst = 77,
                               .missing = 12,
                               .failures = 2,
                               .failed_at = 77,
                               .clock_ms = -700};
    char text[128];
    for (uint32_t k = 0; k < VLY_FACTS; k++) {
        vly_fact_text((vly_fact)k, &record, text, sizeof text);
        assert_int_equal(strncmp(text, "burst 77: ", 10), 0);
        assert_non_null(strstr(text, words[k]));
        assert_non_null(
            strstr(vly_fact_cause((vly_fact)k, &record), causes[k]));
        assert_true(vly_fact_metric((vly_fact)k) < VLY_METRICS);
        vly_fact_text((vly_fact)k, &record, text, 8);
        assert_int_equal(strlen(text), 7);
    }
    /* by their own burst, and one of each in one word */
    const vly_record one = {.burst = 77,
                            .wrong_place = 1,
                            .wrong_bursts = 1,
                            .wrong_from = 40,
                            .missing = 1,
                            .failures = 1,
                            .failed_at = 41};
    static const char *const ones[3] = {
        "burst 40: the backend is not the one asked for, for 1 burst",
        "burst 77: 1 spike is in no area", "burst 41: a device failed"};
    for (uint32_t k = 0; k < 3; k++) {
        vly_fact_text((vly_fact)k, &one, text, sizeof text);
        assert_string_equal(text, ones[k]);
    }
    assert_null(vly_fact_cause(VLY_FACTS, &record));
    assert_int_equal(vly_fact_metric(VLY_FACTS), VLY_METRICS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_which),
                                       cmocka_unit_test(test_episodes),
                                       cmocka_unit_test(test_words)};
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
