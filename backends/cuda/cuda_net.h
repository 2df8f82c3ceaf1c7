/* SPDX-License-Identifier: Apache-2.0
 * A net of the CUDA backend: data that is the same on all its devices. A shard
 * is its part on one device: one shard has the whole net, several are a span
 * (cuda_span.h).
 */
#ifndef VOLLEY_CUDA_NET_H
#define VOLLEY_CUDA_NET_H

#include "backends/common/common_ranks.h"
#include "cuda_options.h"
#include "cuda_shard.h"

/* A net that ranks run together (cuda_ranks.h). */
typedef struct vly_cuda_rank_net {
    vly_common_rank_net all;
    uint64_t *starts;    /* [mask + 1] positions in the log, by burst */
    uint64_t *digests;   /* [all.most] of this rank's part of a window ... */
    uint32_t *counts;    /* ... and its spikes */
    uint64_t input_from; /* of the run: the first one of the window */
    vly_input *inputs;   /* [input_room] of a window, of own neurons */
    uint64_t input_room;
    uint32_t mask;
    uint32_t reserved;
    vly_cuda_record *records; /* pinned, [all.most] of all ranks */
    uint32_t *spikes[2];      /* pinned, [room] ids and gains of all ranks */
    uint64_t room;
} vly_cuda_rank_net;

struct vly_backend_net {
    vly_common_heap heap; /* this struct and the shards */
    const vly_net_desc *desc;
    vly_cuda_options wanted;
    vly_cuda_shard *shards; /* [n_shards] */
    uint32_t n_shards;
    uint32_t is_shared;     /* 1: all shards divide one device, for tests */
    uint32_t n_offered;     /* devices that were offered */
    char note[120];         /* why not all are used, or "" */
    int32_t failed;         /* status of a failed run, or VLY_OK */
    uint64_t burst;         /* number of bursts done */
    uint32_t launch_bursts; /* limit for the next launch */
    float mean_spikes;      /* of a burst, in the last launch */
    vly_cuda_rank_net ranks;
};

/* Whether modulators change after the exchange of ranks instead of with the
 * launch: an area's spikes may be those of other ranks. Then a window is one
 * burst (kernels/rules/rank_window.h). */
static inline bool vly_cuda_ranks_wait(const vly_backend_net *net)
{
    return net->ranks.all.to && net->ranks.all.most == 1;
}

vly_status vly_cuda_net_create(const vly_device_spec *device,
                               const vly_net_desc *desc,
                               const vly_snapshot *snapshot,
                               vly_backend_net **net, vly_error *error);
/* On several devices, or on one of them and with a note if that is as good. */
vly_status vly_cuda_net_create_span(const vly_device_spec *devices,
                                    uint32_t n_devices,
                                    const vly_net_desc *desc,
                                    const vly_snapshot *snapshot,
                                    vly_backend_net **net, vly_error *error);
void vly_cuda_net_destroy(vly_backend_net *net);
vly_status vly_cuda_net_info(const vly_backend_net *net, vly_net_info *info,
                             vly_error *error);

#endif
