/* SPDX-License-Identifier: Apache-2.0
 * Runs the straight-line PTX of users' models (backends/cuda/cuda_ptx.h) on the
 * processor: a line at a time, with addresses of the host. NaN that an
 * instruction makes is that of the devices, 0x7fffffff. What it does not know,
 * registers that were not declared and registers that are read before they are
 * written are errors.
 */
#ifndef VOLLEY_PTX_MACHINE_H
#define VOLLEY_PTX_MACHINE_H

#include <stddef.h>
#include <stdint.h>

enum { PTX_OUTER = 16, PTX_NAME = 24 };

/* A register from outside of the text. */
typedef struct ptx_outer {
    char name[PTX_NAME];
    uint64_t value;
} ptx_outer;

typedef struct ptx_machine ptx_machine;

/* NULL: the sentence is in why [size]. */
ptx_machine *ptx_machine_read(const char *text, const ptx_outer *outer,
                              uint32_t n_outer, char *why, size_t size);
/* From the first line to the last; outer as in ptx_machine_read, in and out.
 * 0, or -1 with the sentence in why. */
int ptx_machine_run(ptx_machine *machine, ptx_outer *outer, char *why,
                    size_t size);
uint32_t ptx_machine_lines(const ptx_machine *machine);
void ptx_machine_free(ptx_machine *machine);

#endif
