/* SPDX-License-Identifier: Apache-2.0
 * Nets of random programs (random_ir.c) and built-in models, for both backends
 * of test_cuda_pair.h.
 */
#ifndef VOLLEY_TESTS_PROGRAM_NETS_H
#define VOLLEY_TESTS_PROGRAM_NETS_H

#include "test_cuda_pair.h"

#include "random_ir.h"

enum { PROGRAMS = 3, RULE_FAN = 6 };

/* Areas with programs and all that they point to. */
typedef struct programs {
    random_ir ir[PROGRAMS];
    vly_column columns[PROGRAMS][VLY_PROGRAM_MAX_COEFS];
    uint32_t *words[PROGRAMS];
} programs;

/* One more area, of program k. most: its neurons; 0: at random */
void programs_add_area(test_net *net, programs *p, uint32_t k, uint32_t most);
/* Programs of one to four ports, with all that plan global runs. */
void programs_init(test_net *net, programs *p, uint64_t seed);

/* Beside programs: a built-in model; a map that learns; all maps have one
 * delay, and none has shifts. */
enum { WITH_MODEL = 1, WITH_LEARNING = 2, WITH_ONE_DELAY = 4 };

/* Programs of one port, which all plans run. n: neurons of an area at most; 0:
 * as many as elsewhere. */
void programs_init_one_port(test_net *net, programs *p, uint64_t seed,
                            uint32_t n, int with);
void programs_deinit(test_net *net, programs *p);

#endif
