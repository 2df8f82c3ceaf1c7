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

/* Clusters of so many blocks of the kernel that run at once. */
static inline cudaError_t count_clusters(const void *kernel, uint32_t cluster,
                                         uint64_t bytes, uint32_t *n_clusters)
{
    int device = 0;
    int units = 0;
    int major = 0;
    int n = 0;
    *n_clusters = 0;
    cudaError_t code = cudaGetDevice(&device);
    if (code == cudaSuccess)
        code = cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount,
                                      device);
    if (code == cudaSuccess)
        code = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor,
                                      device);
    if (code == cudaSuccess)
        code = allow_shared(kernel);
    const uint64_t dynamic = bytes - partition_static();
    if (code != cudaSuccess)
        return code;
    if (cluster == 1) {
        code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &n, kernel, (int)THREADS, (size_t)dynamic);
        *n_clusters = n > 0 ? (uint32_t)units : 0;
        return code;
    }
    if (major < 9)
        return cudaSuccess;
    cudaLaunchAttribute attributes[2];
    cudaLaunchConfig_t config =
        make_config((uint32_t)units / cluster * cluster, cluster, dynamic,
                    nullptr, attributes);
    config.attrs = attributes + 1; /* the count is the same for both kinds */
    config.numAttrs = 1;
    code = cudaOccupancyMaxActiveClusters(&n, kernel, &config);
    *n_clusters = n > 0 ? (uint32_t)n : 0;
    return code;
}

#endif
