/* SPDX-License-Identifier: Apache-2.0
 * A net that ranks run together. This rank runs its part on one device, by plan
 * partitioned or global, with tiles of its own neurons only. Ranks exchange
 * spikes at the end of a window of bursts, by the host
 * (backends/common/common_ranks.h).
 *
 * The bursts of a window are launched as those of a whole net, so the log has
 * this rank's spikes. Then the host sends them, and writes the spikes of all
 * ranks over them in the log and in its records: so deliveries, snapshots and
 * restored events are those of the whole net.
 *
 * State of other ranks' neurons and weights of the synapses onto them are out
 * of date between bursts. vly_cuda_ranks_refresh gets them before anything
 * reads them.
 */
#ifndef VOLLEY_CUDA_RANKS_H
#define VOLLEY_CUDA_RANKS_H

#include "cuda_net.h"

/* After the net's shard was made. */
vly_status vly_cuda_ranks_create(vly_backend_net *net,
                                 const vly_snapshot *snapshot,
                                 vly_error *error);
/* net_run, with ranks or without. */
vly_status vly_cuda_net_run(vly_backend_net *net, vly_run *run,
                            vly_error *error);
/* Between two runs. Without ranks: nothing. */
vly_status vly_cuda_ranks_refresh(vly_backend_net *net, vly_error *error);

#endif
