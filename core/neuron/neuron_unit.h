/* SPDX-License-Identifier: Apache-2.0
 * Units of the language of models: products of powers of mV, pA, ms and mM.
 * nS, pF, GOhm and kHz are products of these, so that quantities in them need
 * no factor; other units are these times a power of ten.
 */
#ifndef VOLLEY_NEURON_NEURON_UNIT_H
#define VOLLEY_NEURON_NEURON_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VLY_UNIT_TEXT = 64 };

/* Letters and digits of ASCII, whatever the locale. */
static inline bool vly_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool vly_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Of a name, after its first letter. */
static inline bool vly_is_word(char c)
{
    return vly_is_letter(c) || vly_is_digit(c) || c == '_';
}

typedef struct vly_unit {
    int8_t mv;
    int8_t pa;
    int8_t ms;
    int8_t mm;     /* mM */
    int8_t weight; /* what a synapse's weight is in */
} vly_unit;

/* Reads n characters such as "pA/ms", "1/mV^2", "nS" or "1". One of the unit is
 * 10^*decimal in mV, pA, ms and mM. False: not a unit. */
bool vly_unit_parse(const char *text, size_t n, vly_unit *unit, int *decimal);
/* Of one symbol without power, such as "mV". */
bool vly_unit_symbol(const char *text, size_t n, vly_unit *unit, int *decimal);

bool vly_unit_equal(vly_unit a, vly_unit b);
bool vly_unit_none(vly_unit a);
/* a * b^power. False: a power beyond 100 */
bool vly_unit_times(vly_unit a, vly_unit b, int power, vly_unit *out);
/* The square root; false if a power is odd. */
bool vly_unit_root(vly_unit a, vly_unit *out);
/* "pA/ms"; "1" without a unit */
void vly_unit_print(vly_unit unit, char out[VLY_UNIT_TEXT]);
/* What a key ends with: "pa_per_ms" of "pA/ms", "" of "1". */
void vly_unit_suffix(const char *text, char out[VLY_UNIT_TEXT]);
/* value * 10^decimal, with one rounding */
double vly_decimal(double value, int decimal);

#endif
