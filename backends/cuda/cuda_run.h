/* SPDX-License-Identifier: Apache-2.0
 * Runs of a net.
 */
#ifndef VOLLEY_CUDA_RUN_H
#define VOLLEY_CUDA_RUN_H

#include "cuda_base.h"

vly_status vly_cuda_net_run(vly_backend_net *net, vly_run *run,
                            vly_error *error);

#endif
