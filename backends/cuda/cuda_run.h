/* SPDX-License-Identifier: Apache-2.0
 * Runs of a net.
 */
#ifndef VOLLEY_CUDA_RUN_H
#define VOLLEY_CUDA_RUN_H

#include "cuda_base.h"

/* A run whose arguments have been checked; of ranks, with the neurons of this
 * one only. */
vly_status vly_cuda_run_bursts(vly_backend_net *net, vly_run *run,
                               vly_error *error);

#endif
