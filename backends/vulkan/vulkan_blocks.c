/* SPDX-License-Identifier: Apache-2.0
 * Synapses of maps with plasticity on the device, in blocks of a power of two,
 * targets and weights apart, so that weights are copied as they are and an
 * array may be larger than a block of memory.
 */
#include "vulkan_blocks.h"

#define BLOCK_BYTES (UINT64_C(1) << 30)

vly_status vly_vulkan_blocks_choose(vly_backend_net *net, vly_error *error)
{
    vly_vulkan_plastic *plastic = &net->plastic;
    uint64_t most = net->device->allocation_max;
    uint64_t bytes = 4 * (uint64_t)plastic->block_wanted;
    most = most < BLOCK_BYTES ? most : BLOCK_BYTES;
    if (!vly_support_is_power(plastic->block_wanted) || bytes > most)
        return vly_support_fail(error, VLY_E_INVALID,
                                "vulkan option block=%u: wanted a power of "
                                "two up to %llu",
                                plastic->block_wanted,
                                (unsigned long long)(most / 4));
    most = bytes > 0 ? bytes : most;
    while (UINT64_C(8) << plastic->block_shift <= most)
        plastic->block_shift++;
    return VLY_OK;
}

vly_status vly_vulkan_put(vly_backend_net *net, uint64_t count, uint64_t size,
                          const void *from, vly_vulkan_buffer **made,
                          vly_error *error)
{
    vly_status status = VLY_OK;
    if (!from && count > 0)
        return VLY_OK;
    VLY_TRY(vly_vulkan_buffer_create(net, VLY_VULKAN_ON_DEVICE, count, size,
                                     made, error));
    if (count > 0)
        status = vly_vulkan_upload(net, *made, 0, from, count * size, error);
out:
    return status;
}

uint64_t vly_vulkan_address(const vly_vulkan_buffer *buffer)
{
    return buffer ? buffer->address : 0;
}

/* ---- create ------------------------------------------------------------ */

/* Words of the synapses of block number `block`; from NULL: there are none. */
static vly_status put_words(vly_backend_net *net, const vly_vulkan_blocks *b,
                            uint32_t block, const uint32_t *from,
                            vly_vulkan_buffer **made, vly_error *error)
{
    uint64_t first = (uint64_t)block << net->plastic.block_shift;
    uint64_t most = UINT64_C(1) << net->plastic.block_shift;
    uint64_t n = b->n_synapses - first;
    if (!from)
        return VLY_OK;
    return vly_vulkan_put(net, n < most ? n : most, sizeof *from, from + first,
                          made, error);
}

vly_status vly_vulkan_blocks_create(vly_backend_net *net, vly_vulkan_blocks *b,
                                    const uint32_t *targets,
                                    const uint32_t *weights,
                                    const uint32_t *eligibilities,
                                    uint64_t *table, vly_error *error)
{
    uint64_t size = UINT64_C(1) << net->plastic.block_shift;
    uint32_t n = (uint32_t)((b->n_synapses + size - 1) / size);
    vly_vulkan_block *addresses = NULL;
    vly_vulkan_buffer *made = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(&net->heap, n, sizeof(void *), (void *)&b->targets,
                             error));
    VLY_TRY(vly_common_alloc(&net->heap, n, sizeof(void *), (void *)&b->weights,
                             error));
    VLY_TRY(vly_common_alloc(&net->heap, n, sizeof(void *),
                             (void *)&b->eligibilities, error));
    VLY_TRY(
        vly_common_alloc(&net->heap, n, sizeof *addresses, &addresses, error));
    for (uint32_t i = 0; i < n; i++) {
        VLY_TRY(put_words(net, b, i, targets, &b->targets[i], error));
        VLY_TRY(put_words(net, b, i, weights, &b->weights[i], error));
        VLY_TRY(
            put_words(net, b, i, eligibilities, &b->eligibilities[i], error));
        addresses[i] = (vly_vulkan_block){
            .targets = vly_vulkan_address(b->targets[i]),
            .weights = vly_vulkan_address(b->weights[i]),
            .eligibilities = vly_vulkan_address(b->eligibilities[i])};
    }
    VLY_TRY(vly_vulkan_put(net, n, sizeof *addresses, addresses, &made, error));
    *table = made->address;
out:
    vly_common_release(&net->heap, addresses);
    return status;
}

/* ---- work groups -------------------------------------------------------- */

/* On a processor there are so many work groups that no invocation comes near
 * the driver's limit, whatever fires. An invocation has VLY_VULKAN_ITERATIONS
 * for ITEMS parts of rows, and as many again for the spikes of the whole net,
 * among which it finds these parts: such a driver enters the loops of
 * learn_rows.comp (six, counted as LOOPS) for spikes of other areas too. */
#define ITERATIONS VLY_VULKAN_ITERATIONS
#define ITEMS UINT64_C(8)
#define LOOPS UINT64_C(8)

static uint64_t divide_up(uint64_t n, uint64_t by)
{
    return (n + by - 1) / by;
}

static uint32_t longest_row(const uint64_t *row, uint32_t n_sources)
{
    uint64_t longest = 0;
    for (uint32_t k = 0; k < n_sources; k++) {
        uint64_t n = row[k + 1] - row[k];
        longest = n > longest ? n : longest;
    }
    return longest < UINT32_MAX ? (uint32_t)longest : UINT32_MAX;
}

/* Work groups for n invocations' work; false: more than a dispatch can have. */
static bool groups_for(const vly_backend_net *net, uint64_t n, uint32_t *groups)
{
    uint64_t wanted = divide_up(n, net->shape.size);
    *groups = wanted > net->shape.groups ? (uint32_t)wanted : net->shape.groups;
    return wanted <= 65535;
}

vly_status vly_vulkan_work_loops(const vly_backend_net *net, uint64_t loops,
                                 uint32_t *groups)
{
    *groups = net->shape.groups;
    if (!net->device->is_cpu)
        return VLY_OK;
    return groups_for(net, divide_up(loops, ITERATIONS), groups)
               ? VLY_OK
               : VLY_E_UNSUPPORTED;
}

vly_status vly_vulkan_work_rows(const vly_backend_net *net,
                                const vly_projection_desc *projection,
                                uint64_t loops, uint32_t *n_parts,
                                uint32_t *groups)
{
    uint32_t n_sources =
        vly_common_area_desc(net->desc, projection->source_area)->n_neurons;
    uint64_t lanes = net->shape.lanes;
    *n_parts = 1;
    *groups = net->shape.groups;
    if (!net->device->is_cpu)
        return VLY_OK;
    uint64_t synapses = ITERATIONS / ITEMS / loops;
    uint64_t items = synapses > 0 ? ITEMS : 1;
    synapses = synapses > 0 ? synapses : 1;
    uint64_t parts =
        divide_up(longest_row(projection->row, n_sources), lanes * synapses);
    *n_parts = parts > 1 ? (uint32_t)parts : 1;
    uint64_t rows = divide_up((uint64_t)n_sources * *n_parts * lanes, items);
    uint64_t spikes =
        divide_up(LOOPS * net->desc->n_neurons * *n_parts * lanes, ITERATIONS);
    return groups_for(net, rows > spikes ? rows : spikes, groups)
               ? VLY_OK
               : VLY_E_UNSUPPORTED;
}

vly_status vly_vulkan_work_fail(const vly_backend_net *net,
                                const vly_projection_desc *projection,
                                uint64_t ring, vly_error *error)
{
    uint32_t n_sources =
        vly_common_area_desc(net->desc, projection->source_area)->n_neurons;
    return vly_support_fail(
        error, VLY_E_UNSUPPORTED,
        "map %s: %u sources of %u neurons, rows of up to %u synapses and rings "
        "of %llu spikes are too many for the vulkan backend on a processor",
        projection->map, n_sources, net->desc->n_neurons,
        longest_row(projection->row, n_sources), (unsigned long long)ring);
}

/* ---- words of synapses -------------------------------------------------- */

/* Of words [first, first + count) those that are in one block with the first:
 * n from byte `offset` of it on. */
typedef struct piece {
    vly_vulkan_buffer *block;
    uint64_t offset;
    uint64_t n;
} piece;

static piece piece_of(const vly_backend_net *net,
                      vly_vulkan_buffer *const *blocks, uint64_t first,
                      uint64_t count)
{
    uint32_t shift = net->plastic.block_shift;
    uint64_t size = UINT64_C(1) << shift;
    uint64_t at = first & (size - 1);
    return (piece){.block = blocks[first >> shift],
                   .offset = at * sizeof(uint32_t),
                   .n = count < size - at ? count : size - at};
}

vly_status vly_vulkan_blocks_get(vly_backend_net *net,
                                 vly_vulkan_buffer *const *blocks,
                                 uint64_t first, uint64_t count, void *words,
                                 vly_error *error)
{
    uint8_t *to = words;
    vly_status status = VLY_OK;
    while (count > 0 && status == VLY_OK) {
        piece p = piece_of(net, blocks, first, count);
        uint64_t bytes = p.n * sizeof(uint32_t);
        status = vly_vulkan_download(net, to, p.block, p.offset, bytes, error);
        first += p.n;
        count -= p.n;
        to += bytes;
    }
    return status;
}

vly_status vly_vulkan_blocks_set(vly_backend_net *net,
                                 vly_vulkan_buffer *const *blocks,
                                 uint64_t first, uint64_t count,
                                 const int32_t *words, vly_error *error)
{
    vly_status status = VLY_OK;
    while (count > 0 && status == VLY_OK) {
        piece p = piece_of(net, blocks, first, count);
        status = vly_vulkan_upload(net, p.block, p.offset, words,
                                   p.n * sizeof *words, error);
        first += p.n;
        count -= p.n;
        words += p.n;
    }
    return status;
}
