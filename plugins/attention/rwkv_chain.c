/* SPDX-License-Identifier: Apache-2.0
 * Chains of volley.rwkv/1 on CUDA: the operations of a token as a list on the
 * device, which one launch works through (kernels/cuda/rwkv_chain.cu).
 */
#include <string.h>

#include <cuda_runtime_api.h>

#include "accel_common.h"
#include "accel_cuda.h"
#include "element.h"
#include "rwkv_check.h"
#include "rwkv_cuda.h"

enum { TILE = 16, ALIGN = 256, UNITS_OF_A_BLOCK = 2 };

struct vly_rwkv_chain {
    vly_cuda_rwkv_chain args;
    uint32_t device;
    uint32_t blocks;
    char *memory; /* [n] links, the two words, [n_weights + 1] matrices */
};

/* ---- what can be done --------------------------------------------------- */

/* A run of plan number i that cannot be in a chain, and why. */
static vly_status refuse(const vly_rwkv_plan *plan, uint32_t i, const char *why,
                         vly_error *error)
{
    return vly_accel_fail(
        error, VLY_E_UNSUPPORTED, "%s: rwkv chain: number %u is %s %s",
        vly_accel_plugin, i, vly_rwkv_op_name(plan->desc.op), why);
}

static vly_status link_fits(const vly_rwkv_plan *plan, uint32_t i,
                            uint32_t type, vly_error *error)
{
    const vly_rwkv_desc *desc = &plan->desc;
    if (desc->op != VLY_RWKV_EMBED && desc->op != VLY_RWKV_MIX &&
        desc->op != VLY_RWKV_PRODUCTS && desc->op != VLY_RWKV_STEP &&
        desc->op != VLY_RWKV_NORM)
        return refuse(plan, i, "which is not of single tokens", error);
    if (desc->batch != 1 || desc->seq != 1 ||
        (desc->flags & VLY_RWKV_LENGTHS) != 0)
        return refuse(plan, i, "of more than a token or with lengths", error);
    if ((desc->type != VLY_ELEMENT_F16 && desc->type != VLY_ELEMENT_BF16) ||
        desc->type != type)
        return refuse(plan, i, "in fp32, or in another type than the first",
                      error);
    if (desc->op == VLY_RWKV_STEP && (desc->flags & VLY_RWKV_LORA) != 0 &&
        desc->type_matrix != type)
        return refuse(plan, i, "with matrices of another type", error);
    if (desc->op != VLY_RWKV_PRODUCTS &&
        desc->width > VLY_CUDA_RWKV_CHAIN_WIDTH)
        return refuse(plan, i, "of more than 4096 columns", error);
    for (uint32_t p = 0; desc->op == VLY_RWKV_PRODUCTS && p < desc->n_products;
         p++)
        if (desc->product[p].k > VLY_CUDA_RWKV_CHAIN_K)
            return refuse(plan, i, "of more than 16384 columns", error);
    return VLY_OK;
}

/* Blocks of a launch, one a multiprocessor. */
static vly_status count_blocks(uint32_t device, uint32_t *blocks,
                               vly_error *error)
{
    static const enum cudaDeviceAttr asked[] = {
        cudaDevAttrMultiProcessorCount, cudaDevAttrMaxSharedMemoryPerBlockOptin,
        cudaDevAttrCooperativeLaunch};
    int found[3] = {0, 0, 0};
    vly_status status = vly_accel_cuda_enter(device, error);
    for (uint32_t i = 0; status == VLY_OK && i < 3; i++)
        status = vly_accel_cuda_check(
            (int)cudaDeviceGetAttribute(&found[i], asked[i], (int)device),
            "cudaDeviceGetAttribute", error);
    if (status == VLY_OK &&
        (found[1] < (int)vly_cuda_rwkv_chain_bytes() || !found[2]))
        return vly_accel_fail(
            error, VLY_E_UNSUPPORTED,
            "%s: rwkv chain: device %u has %d bytes of shared "
            "memory a block, wanted %u",
            vly_accel_plugin, device, found[1], vly_cuda_rwkv_chain_bytes());
    *blocks = (uint32_t)found[0];
    return status;
}

static uint32_t count_weights(vly_rwkv_plan *const *plans, uint32_t n)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < n; i++)
        if (plans[i]->desc.op == VLY_RWKV_PRODUCTS)
            all += plans[i]->desc.n_products;
    return all > UINT32_MAX ? UINT32_MAX : (uint32_t)all;
}

static vly_status check(const vly_device_spec *device,
                        vly_rwkv_plan *const *plans, const vly_rwkv_run *runs,
                        uint32_t n, uint32_t *blocks, vly_error *error)
{
    vly_accel_options options;
    vly_status status = vly_accel_check_device(device, error);
    if (status == VLY_OK && (plans == NULL || runs == NULL || n == 0))
        return vly_accel_fail(error, VLY_E_INVALID,
                              "%s: rwkv chain of no operations",
                              vly_accel_plugin);
    if (status == VLY_OK)
        status =
            vly_accel_options_parse(device->options, NULL, &options, error);
    if (status == VLY_OK && !options.chain)
        return vly_accel_fail(error, VLY_E_UNSUPPORTED,
                              "%s: rwkv chain: only with chain=1",
                              vly_accel_plugin);
    if (status == VLY_OK)
        status = count_blocks(device->index, blocks, error);
    for (uint32_t i = 0; status == VLY_OK && i < n; i++) {
        if (plans[i] == NULL || plans[i]->device != device->index)
            return vly_accel_fail(error, VLY_E_INVALID,
                                  "%s: rwkv chain: plan number %u is not of "
                                  "device %u",
                                  vly_accel_plugin, i, device->index);
        status = link_fits(plans[i], i, plans[0]->desc.type, error);
        if (status == VLY_OK)
            status = vly_rwkv_check_run(&plans[i]->desc, &runs[i],
                                        vly_accel_plugin, error);
    }
    if (status == VLY_OK &&
        count_weights(plans, n) > VLY_CUDA_RWKV_CHAIN_WEIGHTS)
        return vly_accel_fail(error, VLY_E_UNSUPPORTED,
                              "%s: rwkv chain of %u products, there are up to "
                              "%d",
                              vly_accel_plugin, count_weights(plans, n),
                              VLY_CUDA_RWKV_CHAIN_WEIGHTS);
    return status;
}

/* ---- links -------------------------------------------------------------- */

static void add_soon(vly_cuda_rwkv_link *link, const void *at, uint64_t bytes)
{
    if (at != NULL && bytes > 0 && link->n_soon < VLY_CUDA_RWKV_SOON)
        link->soon[link->n_soon++] = (vly_cuda_rwkv_range){at, bytes};
}

/* The small weights of the operation after the next one, and the state, which
 * nobody else writes. (Large matrices are fetched ahead by themselves.) */
static void list_soon(vly_cuda_rwkv_link *link, const vly_cuda_rwkv_link *then)
{
    if (then->op == VLY_CUDA_RWKV_STEP) {
        const vly_cuda_rwkv_heads *h = &then->args.heads;
        const uint64_t row = (uint64_t)h->width * sizeof(float);
        for (uint32_t i = 0; i < 4 && h->is_lora; i++)
            if (i != 2 || !h->is_first)
                add_soon(link, h->matrix[i],
                         (uint64_t)h->width * h->rank[i] * 2);
        for (uint32_t i = 0; i < (h->is_first ? 2u : 3u); i++)
            add_soon(link, h->bias[i], row);
        add_soon(link, h->k_k, row);
        add_soon(link, h->k_a, row);
        add_soon(link, h->r_k, row);
        add_soon(link, h->group_weight, row);
        add_soon(link, h->group_bias, row);
        add_soon(link, h->state_in, row * VLY_CUDA_RWKV_DIM);
    } else if (then->op != VLY_CUDA_RWKV_MULTIPLY) {
        const vly_cuda_rwkv_rows *r = &then->args.rows;
        const uint64_t row = (uint64_t)r->width * sizeof(float);
        add_soon(link, r->norm_weight, row);
        add_soon(link, r->norm_bias, row);
        if (then->op == VLY_CUDA_RWKV_MIX) {
            add_soon(link, r->mix, row * r->n_mix);
            add_soon(link, r->last, row);
        }
    }
}

static void set_tiles(vly_cuda_rwkv_link *link)
{
    for (uint32_t i = 0; i < link->args.products.n_products; i++) {
        link->args.products.product[i].first = link->n_tiles;
        link->n_tiles += (link->args.products.product[i].n - 1) / TILE + 1;
    }
}

/* Tiles go round the units from one link to the next, so that none of them has
 * more than one tile more than another one in all. */
static void make_links(vly_cuda_rwkv_link *links, vly_rwkv_plan *const *plans,
                       const vly_rwkv_run *runs, uint32_t n, uint32_t units)
{
    static const uint32_t ops[VLY_RWKV_N_OPS] = {
        [VLY_RWKV_EMBED] = VLY_CUDA_RWKV_EMBED,
        [VLY_RWKV_MIX] = VLY_CUDA_RWKV_MIX,
        [VLY_RWKV_PRODUCTS] = VLY_CUDA_RWKV_MULTIPLY,
        [VLY_RWKV_STEP] = VLY_CUDA_RWKV_STEP,
        [VLY_RWKV_NORM] = VLY_CUDA_RWKV_NORM};
    uint32_t shift = 0;
    for (uint32_t i = 0; i < n; i++) {
        vly_cuda_rwkv_link *link = &links[i];
        memset(link, 0, sizeof *link);
        link->op = ops[plans[i]->desc.op];
        link->shift = shift;
        if (link->op == VLY_CUDA_RWKV_MULTIPLY) {
            link->args.products = vly_rwkv_cuda_products(plans[i], &runs[i]);
            set_tiles(link);
            shift = (shift + link->n_tiles) % units;
        } else if (link->op == VLY_CUDA_RWKV_STEP) {
            link->args.heads = vly_rwkv_cuda_heads(plans[i], &runs[i]);
        } else {
            link->args.rows = vly_rwkv_cuda_rows(plans[i], &runs[i]);
        }
    }
    for (uint32_t i = 0; i + 2 < n; i++)
        list_soon(&links[i], &links[i + 2]);
}

/* [n_weights + 1] */
static void list_weights(const vly_cuda_rwkv_link *links, uint32_t n,
                         vly_cuda_rwkv_weights *to)
{
    uint32_t tiles = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (links[i].op != VLY_CUDA_RWKV_MULTIPLY)
            continue;
        const vly_cuda_rwkv_products *all = &links[i].args.products;
        for (uint32_t p = 0; p < all->n_products; p++)
            *to++ = (vly_cuda_rwkv_weights){
                .w = all->product[p].w,
                .n = all->product[p].n,
                .bytes =
                    (uint32_t)((uint64_t)all->product[p].k *
                               vly_element_bits(all->product[p].type_w) / 8),
                .first = tiles + all->product[p].first};
        tiles += links[i].n_tiles;
    }
    *to = (vly_cuda_rwkv_weights){.first = tiles};
}

/* ---- chains ------------------------------------------------------------- */

void vly_rwkv_cuda_chain_destroy(vly_rwkv_chain *chain)
{
    if (chain == NULL)
        return;
    vly_accel_cuda_memory.free(chain->device, chain->memory);
    vly_accel_free(chain);
}

/* To the device; the words are zeros. */
static vly_status put(vly_rwkv_chain *chain, const vly_cuda_rwkv_link *links,
                      const vly_cuda_rwkv_weights *weights, vly_error *error)
{
    const vly_memory *m = &vly_accel_cuda_memory;
    const uint64_t link_bytes = (uint64_t)chain->args.n * sizeof *links;
    const uint64_t words = (link_bytes + ALIGN - 1) / ALIGN * ALIGN;
    const uint64_t bytes =
        (chain->args.n_weights + UINT64_C(1)) * sizeof *weights;
    void *memory = NULL;
    vly_status status =
        m->alloc(chain->device, words + ALIGN + bytes, &memory, error);
    if (status != VLY_OK)
        return status;
    chain->memory = memory;
    chain->args.link = memory;
    chain->args.words = (uint32_t *)(void *)(chain->memory + words);
    chain->args.weights =
        (vly_cuda_rwkv_weights *)(void *)(chain->memory + words + ALIGN);
    status = m->fill(chain->device, chain->args.words, 0, ALIGN, NULL, error);
    if (status == VLY_OK)
        status = m->copy(chain->device, chain->memory, links, link_bytes,
                         VLY_COPY_TO_DEVICE, NULL, error);
    if (status == VLY_OK)
        status = m->copy(chain->device, chain->memory + words + ALIGN, weights,
                         bytes, VLY_COPY_TO_DEVICE, NULL, error);
    if (status == VLY_OK)
        status = m->stream_wait(chain->device, NULL, error);
    return status;
}

/* Lists of a chain whose number of weights is known. */
static vly_status fill_chain(vly_rwkv_chain *chain, vly_rwkv_plan *const *plans,
                             const vly_rwkv_run *runs, vly_error *error)
{
    vly_cuda_rwkv_link *links = NULL;
    vly_cuda_rwkv_weights *weights = NULL;
    const uint32_t n = chain->args.n;
    vly_status status = vly_accel_alloc(n, sizeof *links, &links, error);
    if (status == VLY_OK)
        status = vly_accel_alloc(chain->args.n_weights + UINT64_C(1),
                                 sizeof *weights, &weights, error);
    if (status == VLY_OK) {
        make_links(links, plans, runs, n, chain->blocks * UNITS_OF_A_BLOCK);
        list_weights(links, n, weights);
        status = put(chain, links, weights, error);
    }
    vly_accel_free(links);
    vly_accel_free(weights);
    return status;
}

vly_status vly_rwkv_cuda_chain_create(const vly_device_spec *device,
                                      vly_rwkv_plan *const *plans,
                                      const vly_rwkv_run *runs, uint32_t n,
                                      vly_rwkv_chain **chain, vly_error *error)
{
    uint32_t blocks = 0;
    vly_rwkv_chain *made = NULL;
    vly_status status = check(device, plans, runs, n, &blocks, error);
    if (status == VLY_OK)
        status = vly_accel_alloc(1, sizeof *made, &made, error);
    if (status != VLY_OK)
        return status;
    memset(made, 0, sizeof *made);
    made->device = device->index;
    made->blocks = blocks;
    made->args.n = n;
    made->args.n_weights = count_weights(plans, n);
    made->args.type = plans[0]->desc.type;
    status = fill_chain(made, plans, runs, error);
    if (status == VLY_OK)
        *chain = made;
    else
        vly_rwkv_cuda_chain_destroy(made);
    return status;
}

vly_status vly_rwkv_cuda_chain_run(vly_rwkv_chain *chain, void *stream,
                                   vly_error *error)
{
    vly_status status = vly_accel_cuda_enter(chain->device, error);
    if (status != VLY_OK)
        return status;
    return vly_accel_cuda_check(
        vly_cuda_rwkv_chain_run(&chain->args, chain->blocks, stream),
        "rwkv chain", error);
}
