/* SPDX-License-Identifier: Apache-2.0
 * What maps that learn and maps with short-term plasticity share: their rows on
 * the device, and how many work groups visit them.
 */
#ifndef VOLLEY_VULKAN_BLOCKS_H
#define VOLLEY_VULKAN_BLOCKS_H

#include "vulkan_net.h"

/* net->plastic.block_shift, by option block=N. */
vly_status vly_vulkan_blocks_choose(vly_backend_net *net, vly_error *error);
/* count elements on the device, filled from the host. If from is NULL and count
 * is not 0, nothing is made and *made is untouched. */
vly_status vly_vulkan_put(vly_backend_net *net, uint64_t count, uint64_t size,
                          const void *from, vly_vulkan_buffer **made,
                          vly_error *error);
/* 0: NULL */
uint64_t vly_vulkan_address(const vly_vulkan_buffer *buffer);
/* Blocks of b->n_synapses synapses, from arrays of a word each; eligibilities
 * may be NULL. *table: address of the list of vly_vulkan_block. */
vly_status vly_vulkan_blocks_create(vly_backend_net *net, vly_vulkan_blocks *b,
                                    const uint32_t *targets,
                                    const uint32_t *weights,
                                    const uint32_t *eligibilities,
                                    uint64_t *table, vly_error *error);
/* Words of synapses [first, first + count); blocks: b->weights or
 * b->eligibilities. */
vly_status vly_vulkan_blocks_get(vly_backend_net *net,
                                 vly_vulkan_buffer *const *blocks,
                                 uint64_t first, uint64_t count, void *words,
                                 vly_error *error);
vly_status vly_vulkan_blocks_set(vly_backend_net *net,
                                 vly_vulkan_buffer *const *blocks,
                                 uint64_t first, uint64_t count,
                                 const int32_t *words, vly_error *error);

/* Work groups of a dispatch, which limit the iterations of an invocation on a
 * processor and nothing elsewhere. work_loops: the invocations share `loops`
 * iterations. work_rows: they visit the rows of a map, with at most `loops`
 * iterations a synapse, each row in n_parts parts or more.
 * Errors E_UNSUPPORTED without a message: more than a dispatch can have */
vly_status vly_vulkan_work_loops(const vly_backend_net *net, uint64_t loops,
                                 uint32_t *groups);
vly_status vly_vulkan_work_rows(const vly_backend_net *net,
                                const vly_projection_desc *projection,
                                uint64_t loops, uint32_t *n_parts,
                                uint32_t *groups);
/* The message for this error. ring: spikes that a target keeps, 0 or more */
vly_status vly_vulkan_work_fail(const vly_backend_net *net,
                                const vly_projection_desc *projection,
                                uint64_t ring, vly_error *error);

#endif
