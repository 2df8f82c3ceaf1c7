/* SPDX-License-Identifier: Apache-2.0
 * Turns the table that is included next into one string literal: see
 * table_hash.h.
 */
#define VLY_MODEL(id, flags, text, source) "M " #id " " #flags
#define VLY_PORT(index, suffix, unit, text) " P " suffix " " unit
#define VLY_FIELD(name, type, unit, lo, hi, init, text)                        \
    " F " #name " " #type " " #lo " " #hi
#define VLY_COEF(name, type, expression) " C " #name " " #type " " #expression
