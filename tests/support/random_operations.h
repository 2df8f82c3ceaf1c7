/* SPDX-License-Identifier: Apache-2.0
 * Random programs of users' models, operation by operation: every operation,
 * fields and coefficients of both types, infinities and NaN on the way to what
 * is stored.
 */
#ifndef VOLLEY_TEST_RANDOM_OPERATIONS_H
#define VOLLEY_TEST_RANDOM_OPERATIONS_H

#include <stdint.h>

#include <volley/plugin.h>

/* A program and what an area must have for it. */
typedef struct random_operations {
    vly_program program;
    uint32_t n_ports;
    uint32_t n_coefs;
    uint32_t coef_types[VLY_PROGRAM_MAX_COEFS];
    uint32_t field_types[VLY_PROGRAM_MAX_FIELDS];
    vly_program_op ops[VLY_PROGRAM_MAX_OPS];
    uint32_t types[VLY_PROGRAM_MAX_OPS];
    uint32_t out[VLY_PROGRAM_MAX_FIELDS];
    int least[VLY_PROGRAM_MAX_OPS]; /* what is not 0 has a size of 2^this */
    uint8_t stored[VLY_PROGRAM_MAX_OPS]; /* neither NaN nor infinite */
    uint64_t random;
} random_operations;

/* Of so many operations, at least 100, or some more. */
void random_operations_make(random_operations *r, uint64_t seed, uint32_t n_ops,
                            uint32_t n_fields, uint32_t n_coefs,
                            uint32_t n_ports);
/* A word for a field or a coefficient of that type. */
uint32_t random_operations_word(random_operations *r, uint32_t type);
uint32_t random_operations_below(random_operations *r, uint32_t n);
/* Replaces some numbers of the program by others: mostly nonsense. */
void random_operations_damage(random_operations *r);

#endif
