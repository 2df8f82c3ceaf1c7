/* SPDX-License-Identifier: Apache-2.0
 * From the program of a user's model to the text of straight-line PTX: one
 * burst of one neuron, for a kernel whose text has a line
 *     //VLY_STEP OPERANDS
 * where the step belongs. No other tool than the driver is needed to compile
 * it. A thread that updates several neurons, its rows, has before that
 *     //VLY_READ OPERANDS
 * for each of them, in the order of the rows, so that all reads are in flight
 * before the first step. A thread that keeps its neuron from burst to burst has
 * VLY_READ with VLY_CUDA_KEPT_ROW before all steps, and after them
 *     //VLY_WRITE OPERANDS
 * which are those of VLY_READ. Where the code begins that only some nets need,
 * there is
 *     //VLY_NEEDS PART
 */
#ifndef VOLLEY_CUDA_PTX_H
#define VOLLEY_CUDA_PTX_H

#include <stddef.h>

#include <volley/plugin.h>

#include "kernels/cuda/program_kernels.h"

#define VLY_CUDA_PTX_MARK "//VLY_STEP"
#define VLY_CUDA_PTX_READ "//VLY_READ"
#define VLY_CUDA_PTX_WRITE "//VLY_WRITE"
#define VLY_CUDA_PTX_NEEDS "//VLY_NEEDS"
#define VLY_CUDA_PTX_NAME 24u /* longest name of a register, with its end */

/* Operands of VLY_STEP, in their order: fired, row, and the inputs.
 * X(name, what it is) */
#define VLY_CUDA_PTX_TABLE(X)                                                  \
    X(fired, "32 bits, written: 1 if the neuron fired")                        \
    X(row, "a number: VLY_CUDA_NO_ROW without a VLY_READ")                     \
    VLY_CUDA_PTX_INPUTS(X)
#define VLY_CUDA_PTX_INPUTS(X)                                                 \
    X(model, "32 bits: number of the program, from 0 on")                      \
    X(state, "64 bits: generic address of field 0 of the neuron")              \
    X(stride, "64 bits: bytes from one field to the next")                     \
    X(coefs, "64 bits: generic address of vly_cuda_column[]")                  \
    X(words,                                                                   \
      "64 bits: without a row, generic address of the inputs of ports 2 and "  \
      "3; with a row, address of words in shared memory, used instead ...")    \
    X(vary, "32 bits: ... if this is 0")                                       \
    X(place, "32 bits: of the neuron in its area")                             \
    X(neuron, "32 bits: its global id")                                        \
    X(in0, "float: input of port 0")                                           \
    X(in1, "float: input of port 1")                                           \
    X(key_low, "32 bits: of seed_input")                                       \
    X(key_high, "")                                                            \
    X(burst_low, "32 bits")                                                    \
    X(burst_high, "")

/* Of VLY_READ and VLY_WRITE. */
#define VLY_CUDA_PTX_READ_TABLE(X)                                             \
    X(row, "")                                                                 \
    X(model, "")                                                               \
    X(state, "")                                                               \
    X(stride, "")

typedef struct vly_cuda_ptx_names {
#define VLY_CUDA_PTX_MEMBER(name, text) char name[VLY_CUDA_PTX_NAME];
    VLY_CUDA_PTX_TABLE(VLY_CUDA_PTX_MEMBER)
#undef VLY_CUDA_PTX_MEMBER
} vly_cuda_ptx_names;

/* Text in memory of the caller. length: as much as there would be with room for
 * all of it, without the 0 at its end. */
typedef struct vly_cuda_text {
    char *text; /* NULL: only counted */
    size_t room;
    size_t length;
} vly_cuda_text;

/* Appends a copy of a text of several kernels without those whose names do not
 * begin like this. */
void vly_cuda_ptx_keep(const char *kernels, const char *begin,
                       vly_cuda_text *to);

/* Appends a copy of a kernel's text with the steps of n programs, chosen by the
 * operand `model`, in place of each mark, within braces and with registers of
 * their own. They were checked (vly_common_check_program). Only add, sub and
 * mul with .rn, which are never fused, and no .ftz. needs: a bit for each part
 * that is needed; others end with an error where they begin, so that nothing is
 * compiled of them. The number of VLY_STEP, or -1 if a mark has other operands
 * than its table. */
int vly_cuda_ptx_splice(const char *kernel, const vly_program *const *programs,
                        uint32_t n, uint32_t needs, vly_cuda_text *to);

#endif
