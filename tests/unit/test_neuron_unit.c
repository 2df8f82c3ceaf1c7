/* SPDX-License-Identifier: Apache-2.0
 * Units: read, printed, multiplied; what a key ends with.
 */
#include "volley_test.h"

#include "base/random.h"
#include "neuron/neuron_unit.h"

static bool parse(const char *text, vly_unit *unit, int *decimal)
{
    return vly_unit_parse(text, strlen(text), unit, decimal);
}

static void read_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        vly_unit unit;
        int decimal;
    } cases[] = {
        {"1", {0, 0, 0, 0, 0}, 0},         {"mV", {1, 0, 0, 0, 0}, 0},
        {"V", {1, 0, 0, 0, 0}, 3},         {"uV", {1, 0, 0, 0, 0}, -3},
        {"pA", {0, 1, 0, 0, 0}, 0},        {"nA", {0, 1, 0, 0, 0}, 3},
        {"ms", {0, 0, 1, 0, 0}, 0},        {"s", {0, 0, 1, 0, 0}, 3},
        {"us", {0, 0, 1, 0, 0}, -3},       {"mM", {0, 0, 0, 1, 0}, 0},
        {"uM", {0, 0, 0, 1, 0}, -3},       {"M", {0, 0, 0, 1, 0}, 3},
        {"nS", {-1, 1, 0, 0, 0}, 0},       {"S", {-1, 1, 0, 0, 0}, 9},
        {"pF", {-1, 1, 1, 0, 0}, 0},       {"uF", {-1, 1, 1, 0, 0}, 6},
        {"GOhm", {1, -1, 0, 0, 0}, 0},     {"MOhm", {1, -1, 0, 0, 0}, -3},
        {"kHz", {0, 0, -1, 0, 0}, 0},      {"Hz", {0, 0, -1, 0, 0}, -3},
        {"fC", {0, 1, 1, 0, 0}, 0},        {"pA/ms", {0, 1, -1, 0, 0}, 0},
        {"1/mV^2", {-2, 0, 0, 0, 0}, 0},   {"mV^-2", {-2, 0, 0, 0, 0}, 0},
        {"1/s", {0, 0, -1, 0, 0}, -3},     {"nS*mV", {0, 1, 0, 0, 0}, 0},
        {"V/nA/ms", {1, -1, -1, 0, 0}, 0}, {"kV^2", {2, 0, 0, 0, 0}, 12},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        vly_unit unit = {9, 9, 9, 9, 9};
        int decimal = 99;
        if (!parse(cases[i].text, &unit, &decimal) ||
            !vly_unit_equal(unit, cases[i].unit) || decimal != cases[i].decimal)
            fail_msg("%s: %d %d %d %d, 10^%d", cases[i].text, unit.mv, unit.pa,
                     unit.ms, unit.mm, decimal);
    }
}

static void refused_units(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",      "m",    "mv",    "PA",     "2",   "12",       "pA//ms",
        "/ms",   "mV^",  "mV^10", "mV ms",  "mV/", "mV^-",     "1x",
        "mV*",   "volt", "mmV",   "1/1/1x", "^2",  "kk",       "mV^1.5",
        "Ohm m", "h",    "min",   "pX",     "%",   "\xc2\xb5V"};
    char many[2048] = "fF^9";
    vly_unit unit;
    int decimal;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (parse(cases[i], &unit, &decimal))
            fail_msg("\"%s\" was read", cases[i]);
    /* a unit beyond the 100th power, and one without units but 10^300 */
    for (int i = 0; i < 40; i++)
        strcat(many, "*mV^9");
    assert_false(parse(many, &unit, &decimal));
    strcpy(many, "V/mV");
    for (int i = 0; i < 99; i++)
        strcat(many, "*V/mV");
    assert_false(parse(many, &unit, &decimal));
    many[5 * 20 - 1] = 0;
    assert_true(parse(many, &unit, &decimal) && decimal == 60);
}

static void printed_units(void **state)
{
    (void)state;
    static const char *const same[] = {
        "1",    "mV",   "pA",    "ms",    "mM",    "nS",    "pF",
        "GOhm", "1/ms", "mV/ms", "pA/ms", "nS/ms", "mM/ms", "fC"};
    char text[VLY_UNIT_TEXT];
    vly_unit unit;
    int decimal;
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        assert_true(parse(same[i], &unit, &decimal));
        assert_int_equal(decimal, 0);
        vly_unit_print(unit, text);
        assert_string_equal(text, same[i]);
    }
    uint64_t seed = 7;
    for (int i = 0; i < 4000; i++) {
        vly_unit again;
        seed = vly_mix64(seed + 1);
        unit = (vly_unit){(int8_t)((int)(seed % 19) - 9),
                          (int8_t)((int)(seed / 19 % 19) - 9),
                          (int8_t)((int)(seed / 361 % 19) - 9),
                          (int8_t)((int)(seed / 6859 % 19) - 9), 0};
        vly_unit_print(unit, text);
        if (!parse(text, &again, &decimal) || !vly_unit_equal(unit, again) ||
            decimal != 0)
            fail_msg("%s is read as another unit", text);
    }
    vly_unit_print((vly_unit){-100, -100, -100, -100, -100}, text);
    assert_string_equal(text, "mV^-100*pA^-100*ms^-100*mM^-100*weight^-100");
}

static void suffixes(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"1", ""},
                                           {"mV", "mv"},
                                           {"pF", "pf"},
                                           {"GOhm", "gohm"},
                                           {"pA/ms", "pa_per_ms"},
                                           {"1/ms", "per_ms"},
                                           {"mV^2", "mv2"},
                                           {"nS*mV", "ns_mv"},
                                           {"1/mV/ms", "per_mv_per_ms"},
                                           {"1/mV^2", "per_mv2"}};
    char out[VLY_UNIT_TEXT];
    char many[400] = "mV";
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        vly_unit_suffix(cases[i][0], out);
        assert_string_equal(out, cases[i][1]);
    }
    for (int i = 0; i < 60; i++)
        strcat(many, "/mV");
    vly_unit_suffix(many, out); /* cut, not written beyond its end */
    assert_true(strlen(out) < VLY_UNIT_TEXT);
}

static void calculated_units(void **state)
{
    (void)state;
    vly_unit out;
    assert_true(vly_unit_times((vly_unit){1, 2, 3, 4, 0},
                               (vly_unit){1, 1, 1, 1, 0}, -2, &out));
    assert_true(vly_unit_equal(out, (vly_unit){-1, 0, 1, 2, 0}));
    assert_false(vly_unit_times((vly_unit){100, 0, 0, 0, 0},
                                (vly_unit){1, 0, 0, 0, 0}, 1, &out));
    assert_true(vly_unit_root((vly_unit){2, -4, 0, 6, 0}, &out));
    assert_true(vly_unit_equal(out, (vly_unit){1, -2, 0, 3, 0}));
    assert_false(vly_unit_root((vly_unit){2, 0, 1, 0, 0}, &out));
    assert_true(vly_unit_none((vly_unit){0}));
    assert_false(vly_unit_none((vly_unit){0, 0, 0, 1, 0}));
    /* one rounding: the double nearest to the decimal number */
    assert_true(vly_decimal(3, -3) == 0.003);
    assert_true(vly_decimal(0.1, 3) == 100.0);
    assert_true(vly_decimal(7, 22) == 7e22);
    assert_true(vly_decimal(5.5, 0) == 5.5);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(read_units),       cmocka_unit_test(refused_units),
    cmocka_unit_test(printed_units),    cmocka_unit_test(suffixes),
    cmocka_unit_test(calculated_units),
};
VLY_TEST_MAIN(tests)
