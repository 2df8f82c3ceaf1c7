/* SPDX-License-Identifier: Apache-2.0
 * Calls that read and change weights of a net that learns: the same checks and
 * sentences in every backend.
 */
#ifndef VOLLEY_BACKENDS_COMMON_WEIGHTS_H
#define VOLLEY_BACKENDS_COMMON_WEIGHTS_H

#include "backends/common/backend_common.h"

/* Words of the traces and of the modulator of a projection in the weights of a
 * snapshot, after the weights and eligibilities of its synapses; and the most
 * of all projections. */
uint64_t vly_common_trace_words(const vly_net_desc *desc, uint32_t projection);
uint64_t vly_common_trace_words_most(const vly_net_desc *desc);

/* Whether there are `count` weights from `first` on.
 * Errors  E_INVALID the projection does not learn, or has fewer synapses */
vly_status vly_common_check_range(const vly_net_desc *desc, uint32_t projection,
                                  uint64_t first, uint64_t count,
                                  vly_error *error);
/* The same, and whether the weights are 0 to `most`.
 * masters [count] */
vly_status vly_common_check_masters(const vly_net_desc *desc,
                                    uint32_t projection, uint64_t first,
                                    uint64_t count, const int32_t *masters,
                                    vly_error *error);
/* Whether learning may take the place of the projection's rule.
 * Errors  E_INVALID the projection does not learn; more or fewer coefficients;
 *         other operations of a user's rule */
vly_status vly_common_check_learning_set(const vly_net_desc *desc,
                                         uint32_t projection,
                                         const vly_learning_desc *learning,
                                         vly_error *error);

#endif
