/* SPDX-License-Identifier: Apache-2.0
 * The next token from logits: penalties, temperature, the likeliest k, the
 * likeliest that together have probability p, then a draw. A function of
 * logits, options, the tokens so far and the number of the draw alone: double
 * arithmetic of base/number in a fixed order and Philox, so the token is the
 * same on every machine.
 */
#ifndef VOLLEY_MONITOR_SAMPLER_H
#define VOLLEY_MONITOR_SAMPLER_H

#include <stdint.h>

#include <volley/plugin.h>

/* In the order in which they act. A token that was seen n > 0 times loses
 * presence + n * frequency, after its logit was divided by repetition (above 0)
 * or multiplied by it (below 0). */
typedef struct vly_sampler_options {
    double repetition;  /* 1: none; 0.01 to 100 */
    double presence;    /* 0: none; -100 to 100 */
    double frequency;   /* 0: none; -100 to 100 */
    double temperature; /* 0: the likeliest token, the first of equals; or
                           0.001 to 100 */
    uint32_t top_k;     /* 0: all */
    double top_p; /* 1: all; above 0: the fewest likeliest that reach it */
    uint64_t seed;
} vly_sampler_options;

#define VLY_SAMPLER_OPTIONS_INIT                                               \
    {                                                                          \
        .repetition = 1.0, .temperature = 1.0, .top_p = 1.0, .seed = 1         \
    }

typedef struct vly_sampler vly_sampler; /* one text's; one thread at a time */

/* Errors  E_INVALID an option beyond its range, or not finite: named */
vly_status vly_sampler_create(uint32_t vocabulary,
                              const vly_sampler_options *options,
                              vly_sampler **sampler, vly_error *error);
void vly_sampler_destroy(vly_sampler *sampler); /* NULL is legal */

/* A token of the prompt: the penalties count it. Errors  E_INVALID no such */
vly_status vly_sampler_see(vly_sampler *sampler, uint32_t token,
                           vly_error *error);
/* Draws, and counts what it drew.
 * logits  [vocabulary]; -inf: never
 * Errors  E_INVALID a NaN or +inf, named by its token, or all -inf: nothing
 *         was drawn or counted
 * Cost    O(vocabulary), with top_k or top_p O(log) more a token that is kept
 */
vly_status vly_sampler_next(vly_sampler *sampler, const float *logits,
                            uint32_t *token, vly_error *error);

#endif
