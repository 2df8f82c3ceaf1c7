/* SPDX-License-Identifier: Apache-2.0
 * Lines of PTX, registers, and the operations of kernels/models/program.h that
 * are more than one instruction. Registers are numbers: %vb of 32 bits, %vp of
 * truths, %vd of 64 bits.
 */
#ifndef VOLLEY_CUDA_PTX_FUNCTIONS_H
#define VOLLEY_CUDA_PTX_FUNCTIONS_H

#include "cuda_ptx.h"

#define VLY_CUDA_PTX_NUMBERS 256u

typedef struct vly_cuda_ptx {
    vly_cuda_text *to;
    uint32_t n_words;
    uint32_t n_truths;
    uint32_t n_addresses;
    uint32_t n_numbers; /* words that are in a register already */
    uint32_t number[VLY_CUDA_PTX_NUMBERS];
    uint32_t number_in[VLY_CUDA_PTX_NUMBERS];
} vly_cuda_ptx;

void vly_cuda_text_copy(vly_cuda_text *to, const char *from, size_t n);
void vly_cuda_text_add(vly_cuda_text *to, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* One instruction, without its semicolon. */
void vly_cuda_ptx_line(vly_cuda_ptx *ptx, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* New registers. */
uint32_t vly_cuda_ptx_register(vly_cuda_ptx *ptx);
uint32_t vly_cuda_ptx_predicate(vly_cuda_ptx *ptx);
uint32_t vly_cuda_ptx_address(vly_cuda_ptx *ptx);
/* The register of a word that is known. */
uint32_t vly_cuda_ptx_bits(vly_cuda_ptx *ptx, uint32_t word);
/* Instructions with two sources, and with a truth as the result. */
uint32_t vly_cuda_ptx_two(vly_cuda_ptx *ptx, const char *name, uint32_t a,
                          uint32_t b);
uint32_t vly_cuda_ptx_compare(vly_cuda_ptx *ptx, const char *name, uint32_t a,
                              uint32_t b);
/* a where truth p holds, otherwise b */
uint32_t vly_cuda_ptx_select(vly_cuda_ptx *ptx, uint32_t p, uint32_t a,
                             uint32_t b);
/* A truth as 0 or 1; whether a word is not 0. */
uint32_t vly_cuda_ptx_word(vly_cuda_ptx *ptx, uint32_t p);
uint32_t vly_cuda_ptx_truth(vly_cuda_ptx *ptx, uint32_t a);

/* The functions of kernels/models, operation by operation. */
uint32_t vly_cuda_ptx_inverse(vly_cuda_ptx *ptx, uint32_t x);
uint32_t vly_cuda_ptx_root(vly_cuda_ptx *ptx, uint32_t x);
uint32_t vly_cuda_ptx_exp(vly_cuda_ptx *ptx, uint32_t x);
uint32_t vly_cuda_ptx_decay_mean(vly_cuda_ptx *ptx, uint32_t x);
uint32_t vly_cuda_ptx_store(vly_cuda_ptx *ptx, uint32_t x, uint32_t lo,
                            uint32_t hi);
uint32_t vly_cuda_ptx_count_down(vly_cuda_ptx *ptx, uint32_t a);
/* key, burst: low and high word */
uint32_t vly_cuda_ptx_uniform(vly_cuda_ptx *ptx, const uint32_t key[2],
                              const uint32_t burst[2], uint32_t neuron,
                              uint32_t stream);

#endif
