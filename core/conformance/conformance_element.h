/* SPDX-License-Identifier: Apache-2.0
 * A slow reference of the element types by their definitions: conformance and
 * tests compare the accelerators' conversions and results with it. Shares no
 * code with plugins/common.
 */
#ifndef VOLLEY_CONFORMANCE_ELEMENT_H
#define VOLLEY_CONFORMANCE_ELEMENT_H

#include <stdint.h>

#include <volley/accelerator.h>

/* Bits of an element; its name in the table; unit roundoff of a float type (1
 * for integers, whose results are exact); the smallest number above 0. */
uint32_t conformance_element_bits(uint32_t type);
const char *conformance_element_name(uint32_t type);
double conformance_element_roundoff(uint32_t type);
double conformance_element_least(uint32_t type);

/* What the bits of an element mean. */
double conformance_decode(uint32_t type, uint64_t bits);
/* The element nearest to x, ties to even; fp8 and integers saturate. */
uint64_t conformance_encode(uint32_t type, double x);

/* Element `index` of an array of any type. */
double conformance_element_get(uint32_t type, const void *array,
                               uint64_t index);
void conformance_element_set(uint32_t type, void *array, uint64_t index,
                             double x);

#endif
