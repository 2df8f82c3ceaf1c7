/* SPDX-License-Identifier: Apache-2.0
 * A plugin as one is built with ABI 1.3: the template with the header of that
 * version (abi_1_3, never to be changed), which it finds first, and with what
 * 1.3 brought: each net has a block of a device by the host's policy, and one
 * that may go.
 */
#include <stdlib.h>

#define vly_plugin_entry template_entry
#include "../../plugins/template/template.c"
#undef vly_plugin_entry

_Static_assert(VLY_ABI_MINOR == 3, "the header of 1.3 is found first");
_Static_assert(sizeof(vly_host) == 96, "vly_host as it was in 1.3");
_Static_assert(sizeof(vly_device_memory) == 120, "as it was in 1.3");

enum { BLOCK_BYTES = 1000, KIND = 7, N_NETS = 64 };

static const vly_device_memory *memory;
static vly_device_client *client;
/* blocks of nets; NULL: a free place. Nets come and go on one thread. */
static struct {
    const vly_backend_net *net;
    void *blocks[2];
    uint64_t token;
} owned[N_NETS];

static vly_status raw_alloc(void *context, uint32_t kind, uint64_t bytes,
                            void **made, vly_error *error)
{
    (void)context;
    void *block = kind == KIND ? malloc((size_t)bytes) : NULL;
    if (!block)
        return fail(error, VLY_E_NOMEM, "no memory");
    *made = block;
    return VLY_OK;
}

static void raw_free(void *context, uint32_t kind, void *block)
{
    (void)context;
    (void)kind;
    free(block);
}

static uint64_t raw_total(void *context)
{
    (void)context;
    return UINT64_C(1) << 30;
}

static void dropped(void *arg)
{
    void **block = arg;
    *block = NULL;
}

static void blocks_free(size_t i)
{
    memory->free(client, owned[i].blocks[0]);
    memory->free(client, owned[i].blocks[1]);
    memset(&owned[i], 0, sizeof owned[i]);
}

static vly_status blocks_alloc(size_t i, vly_error *error)
{
    for (uint32_t k = 0; k < 2; k++) {
        vly_status status =
            memory->alloc(client, KIND, BLOCK_BYTES,
                          k == 0 ? VLY_QOS_GUARANTEED : VLY_QOS_BEST_EFFORT,
                          &owned[i].blocks[k], error);
        if (status != VLY_OK)
            return status;
        memset(owned[i].blocks[k], (int)k, BLOCK_BYTES);
    }
    return memory->reloadable(client, owned[i].blocks[1], dropped,
                              &owned[i].blocks[1], &owned[i].token, error);
}

static vly_status owning_create(const vly_device_spec *device,
                                const vly_net_desc *desc,
                                const vly_snapshot *snapshot,
                                vly_backend_net **net, vly_error *error)
{
    size_t i = 0;
    while (i < N_NETS && owned[i].net)
        i++;
    if (i == N_NETS)
        return fail(error, VLY_E_DEVICE, "too many nets");
    vly_status status = blocks_alloc(i, error);
    if (status == VLY_OK &&
        !memory->hold(client, owned[i].blocks[1], owned[i].token))
        status = fail(error, VLY_E_DEVICE, "the block was not held");
    if (status == VLY_OK)
        memory->release(client, owned[i].blocks[1], owned[i].token);
    if (status == VLY_OK)
        status = net_create(device, desc, snapshot, net, error);
    if (status != VLY_OK)
        blocks_free(i);
    else
        owned[i].net = *net;
    return status;
}

static void owning_destroy(vly_backend_net *net)
{
    for (size_t i = 0; i < N_NETS && net; i++)
        if (owned[i].net == net)
            blocks_free(i);
    net_destroy(net);
}

static vly_backend owning_backend;

static vly_status owning_init(const vly_host *given, vly_error *error)
{
    const vly_device_allocator raw = {.struct_size = sizeof raw,
                                      .device = "minor_3:0",
                                      .alloc = raw_alloc,
                                      .free = raw_free,
                                      .total = raw_total};
    memory = given->device_memory;
    if (!memory || memory->struct_size < sizeof *memory)
        return fail(error, VLY_E_ABI, "the host has no device memory");
    vly_status status = memory->open(given->context, &raw, &client, error);
    if (status != VLY_OK)
        return status;
    owning_backend = backend;
    owning_backend.net_create = owning_create;
    owning_backend.net_destroy = owning_destroy;
    return init(given, error);
}

static void owning_deinit(void)
{
    memory->close(client);
    client = NULL;
    deinit();
}

static const void *owning_interface(const char *id)
{
    return strcmp(id, VLY_BACKEND_INTERFACE) == 0 ? &owning_backend : NULL;
}

extern const vly_plugin vly_plugin_entry;
VLY_EXPORT const vly_plugin vly_plugin_entry = {
    .struct_size = sizeof(vly_plugin),
    .abi_version = VLY_ABI_VERSION,
    .id = "minor_3",
    .version = "1.3",
    .build = "test",
    .init = owning_init,
    .deinit = owning_deinit,
    .get_interface = owning_interface,
};
