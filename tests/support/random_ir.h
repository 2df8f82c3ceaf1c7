/* SPDX-License-Identifier: Apache-2.0
 * Random programs of users' models, with every operation and beyond what the
 * compiler of the language writes: fields that become each other, values that
 * nothing reads, infinities and NaN on the way.
 */
#ifndef VOLLEY_RANDOM_IR_H
#define VOLLEY_RANDOM_IR_H

#include <stdint.h>

#include <volley/plugin.h>

typedef struct random_ir {
    vly_program program;
    vly_program_op ops[VLY_PROGRAM_MAX_OPS];
    uint32_t types[VLY_PROGRAM_MAX_OPS];
    uint32_t out[VLY_PROGRAM_MAX_FIELDS];
    uint32_t field_types[VLY_PROGRAM_MAX_FIELDS];
    uint32_t coef_types[VLY_PROGRAM_MAX_COEFS];
    uint32_t n_coefs;
    uint32_t n_ports;
    uint64_t random;                    /* state of the generator */
    uint8_t truth[VLY_PROGRAM_MAX_OPS]; /* a word that is 0 or 1 */
} random_ir;

/* A function of the seed. Every 16th program is as large as may be. */
void random_ir_make(random_ir *ir, uint64_t seed);
/* Inputs of so many ports in place of those that it has. */
void random_ir_ports(random_ir *ir, uint32_t n_ports);
/* The sum of n draws, the last one first: all values live at once. One field,
 * no coefficient; about half of the neurons fire. */
void random_ir_wide(random_ir *ir, uint32_t n);
/* A word that a field or coefficient of this type may have. */
uint32_t random_ir_word(random_ir *ir, uint32_t type);
uint32_t random_ir_below(random_ir *ir, uint32_t n);

#endif
