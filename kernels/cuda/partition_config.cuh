/* SPDX-License-Identifier: Apache-2.0
 * How the kernels of the partitioned plan are launched: cooperative, with a
 * cluster of blocks a slice where it has more than one.
 */
#ifndef VOLLEY_CUDA_PARTITION_CONFIG_CUH
#define VOLLEY_CUDA_PARTITION_CONFIG_CUH

#include "allow_shared.cuh"
#include "partition_burst.cuh"

static cudaLaunchConfig_t make_config(uint32_t n_blocks, uint32_t cluster,
                                      uint64_t bytes, cudaStream_t stream,
                                      cudaLaunchAttribute attributes[2])
{
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(n_blocks);
    config.blockDim = dim3(THREADS);
    config.dynamicSmemBytes = (size_t)bytes;
    config.stream = stream;
    attributes[0].id = cudaLaunchAttributeCooperative;
    attributes[0].val.cooperative = 1;
    attributes[1].id = cudaLaunchAttributeClusterDimension;
    attributes[1].val.clusterDim.x = cluster;
    attributes[1].val.clusterDim.y = 1;
    attributes[1].val.clusterDim.z = 1;
    config.attrs = attributes;
    config.numAttrs = cluster > 1 ? 2 : 1;
    return config;
}

#endif
