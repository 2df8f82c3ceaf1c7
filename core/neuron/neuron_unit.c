/* SPDX-License-Identifier: Apache-2.0
 * Units of the language of models.
 */
#include "neuron/neuron_unit.h"

#include <stdio.h>
#include <string.h>

#define DECIMAL_MOST 60 /* powers of ten of one unit */

typedef struct symbol {
    const char *text;
    vly_unit unit;
    int decimal; /* of the unit without prefix */
} symbol;

static const symbol symbols[] = {
    {"V", {1, 0, 0, 0, 0}, 3},    {"A", {0, 1, 0, 0, 0}, 12},
    {"s", {0, 0, 1, 0, 0}, 3},    {"S", {-1, 1, 0, 0, 0}, 9},
    {"F", {-1, 1, 1, 0, 0}, 12},  {"Ohm", {1, -1, 0, 0, 0}, -9},
    {"Hz", {0, 0, -1, 0, 0}, -3}, {"M", {0, 0, 0, 1, 0}, 3},
    {"C", {0, 1, 1, 0, 0}, 15},
};

typedef struct prefix {
    char letter;
    int decimal;
} prefix;

static const prefix prefixes[] = {{'f', -15}, {'p', -12}, {'n', -9}, {'u', -6},
                                  {'m', -3},  {'k', 3},   {'M', 6},  {'G', 9}};

/* Names of common units without a factor, for printing. */
static const struct {
    vly_unit unit;
    const char *text;
} names[] = {
    {{0, 0, 0, 0, 0}, "1"},      {{1, 0, 0, 0, 0}, "mV"},
    {{0, 1, 0, 0, 0}, "pA"},     {{0, 0, 1, 0, 0}, "ms"},
    {{0, 0, 0, 1, 0}, "mM"},     {{-1, 1, 0, 0, 0}, "nS"},
    {{-1, 1, 1, 0, 0}, "pF"},    {{1, -1, 0, 0, 0}, "GOhm"},
    {{0, 0, -1, 0, 0}, "1/ms"},  {{1, 0, -1, 0, 0}, "mV/ms"},
    {{0, 1, -1, 0, 0}, "pA/ms"}, {{-1, 1, -1, 0, 0}, "nS/ms"},
    {{0, 0, -1, 1, 0}, "mM/ms"}, {{0, 1, 1, 0, 0}, "fC"},
};

static bool find(const char *text, size_t n, vly_unit *unit, int *decimal)
{
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++)
        if (strlen(symbols[i].text) == n &&
            memcmp(symbols[i].text, text, n) == 0) {
            *unit = symbols[i].unit;
            *decimal = symbols[i].decimal;
            return true;
        }
    return false;
}

bool vly_unit_symbol(const char *text, size_t n, vly_unit *unit, int *decimal)
{
    if (find(text, n, unit, decimal))
        return true;
    for (size_t i = 0; n > 1 && i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (prefixes[i].letter == text[0] &&
            find(text + 1, n - 1, unit, decimal)) {
            *decimal += prefixes[i].decimal;
            return true;
        }
    return false;
}

bool vly_unit_equal(vly_unit a, vly_unit b)
{
    return a.mv == b.mv && a.pa == b.pa && a.ms == b.ms && a.mm == b.mm &&
           a.weight == b.weight;
}

bool vly_unit_none(vly_unit a)
{
    return vly_unit_equal(a, (vly_unit){0});
}

static bool sum(int8_t a, int8_t b, int power, int8_t *out)
{
    int total = a + b * power;
    if (total < -100 || total > 100)
        return false;
    *out = (int8_t)total;
    return true;
}

bool vly_unit_times(vly_unit a, vly_unit b, int power, vly_unit *out)
{
    return sum(a.mv, b.mv, power, &out->mv) &&
           sum(a.pa, b.pa, power, &out->pa) &&
           sum(a.ms, b.ms, power, &out->ms) &&
           sum(a.mm, b.mm, power, &out->mm) &&
           sum(a.weight, b.weight, power, &out->weight);
}

bool vly_unit_root(vly_unit a, vly_unit *out)
{
    if (a.mv % 2 || a.pa % 2 || a.ms % 2 || a.mm % 2 || a.weight % 2)
        return false;
    *out =
        (vly_unit){(int8_t)(a.mv / 2), (int8_t)(a.pa / 2), (int8_t)(a.ms / 2),
                   (int8_t)(a.mm / 2), (int8_t)(a.weight / 2)};
    return true;
}

/* "^2" or "^-1"; 1 without a power. False: not a power */
static bool power(const char **at, const char *end, int *out)
{
    int sign = 1;
    *out = 1;
    if (*at == end || **at != '^')
        return true;
    ++*at;
    if (*at < end && **at == '-') {
        sign = -1;
        ++*at;
    }
    if (*at == end || !vly_is_digit(**at))
        return false;
    *out = sign * (**at - '0');
    ++*at;
    return *at == end || !vly_is_digit(**at);
}

bool vly_unit_parse(const char *text, size_t n, vly_unit *unit, int *decimal)
{
    const char *end = text + n;
    const char *at = text;
    int sign = 1;
    vly_unit made = {0};
    int exponent = 0;
    while (at < end) {
        const char *from = at;
        vly_unit one = {0};
        int one_decimal = 0;
        int times = 1;
        while (at < end && vly_is_letter(*at))
            at++;
        if (at == from && *at == '1')
            at++;
        else if (!vly_unit_symbol(from, (size_t)(at - from), &one,
                                  &one_decimal) ||
                 !power(&at, end, &times))
            return false;
        if (!vly_unit_times(made, one, sign * times, &made))
            return false;
        exponent += sign * times * one_decimal;
        if (exponent < -DECIMAL_MOST || exponent > DECIMAL_MOST)
            return false;
        if (at == end) {
            *unit = made;
            *decimal = exponent;
            return true;
        }
        if (*at != '*' && *at != '/')
            return false;
        sign = *at++ == '*' ? 1 : -1;
    }
    return false;
}

static void put_power(char *out, size_t size, const char *name, int exponent)
{
    size_t used = strlen(out);
    if (exponent == 1)
        (void)snprintf(out + used, size - used, "%s%s", used ? "*" : "", name);
    else if (exponent != 0)
        (void)snprintf(out + used, size - used, "%s%s^%d", used ? "*" : "",
                       name, exponent);
}

void vly_unit_print(vly_unit unit, char out[VLY_UNIT_TEXT])
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (vly_unit_equal(names[i].unit, unit)) {
            (void)snprintf(out, VLY_UNIT_TEXT, "%s", names[i].text);
            return;
        }
    out[0] = 0;
    put_power(out, VLY_UNIT_TEXT, "mV", unit.mv);
    put_power(out, VLY_UNIT_TEXT, "pA", unit.pa);
    put_power(out, VLY_UNIT_TEXT, "ms", unit.ms);
    put_power(out, VLY_UNIT_TEXT, "mM", unit.mm);
    put_power(out, VLY_UNIT_TEXT, "weight", unit.weight);
}

void vly_unit_suffix(const char *text, char out[VLY_UNIT_TEXT])
{
    size_t used = 0;
    for (const char *at = strcmp(text, "1") == 0 ? "" : text;
         *at && used + 6 < VLY_UNIT_TEXT; at++) {
        if (*at == '/' || *at == '*') {
            const char *word = *at == '/' ? (used ? "_per_" : "per_") : "_";
            used +=
                (size_t)snprintf(out + used, VLY_UNIT_TEXT - used, "%s", word);
        } else if ((vly_is_letter(*at) || vly_is_digit(*at)) &&
                   !(*at == '1' && used == 0)) {
            bool upper = *at >= 'A' && *at <= 'Z';
            out[used++] = (char)(upper ? *at - 'A' + 'a' : *at);
        }
    }
    out[used] = 0;
}

double vly_decimal(double value, int decimal)
{
    double ten = 1.0;
    for (int i = 0; i < decimal || i < -decimal; i++)
        ten *= 10.0;
    return decimal < 0 ? value / ten : value * ten;
}
