/* SPDX-License-Identifier: Apache-2.0
 * A plugin that does nothing and is right, but for what a broken_*.c defines
 * before it includes this: every failure of the loader has one such file.
 */
#ifndef VOLLEY_BROKEN_PLUGIN_H
#define VOLLEY_BROKEN_PLUGIN_H

#include <string.h>

#include <volley/plugin.h>

#ifndef BROKEN_PLUGIN_SIZE
#define BROKEN_PLUGIN_SIZE sizeof(vly_plugin)
#endif
#ifndef BROKEN_ABI
#define BROKEN_ABI VLY_ABI_VERSION
#endif
#ifndef BROKEN_ID
#define BROKEN_ID "broken"
#endif
#ifndef BROKEN_INIT
#define BROKEN_INIT broken_init
#endif
#ifndef BROKEN_RANK
#define BROKEN_RANK 0
#endif
#ifndef BROKEN_ALIASES
#define BROKEN_ALIASES NULL
#endif
#ifndef BROKEN_DEINIT
#define BROKEN_DEINIT broken_deinit
#endif
#ifndef BROKEN_GET_INTERFACE
#define BROKEN_GET_INTERFACE broken_get_interface
#endif
#ifndef BROKEN_BACKEND_SIZE
#define BROKEN_BACKEND_SIZE sizeof(vly_backend)
#endif
#ifndef BROKEN_NET_RUN
#define BROKEN_NET_RUN broken_net_run
#endif

#define BROKEN_UNUSED __attribute__((unused))

static vly_status BROKEN_UNUSED broken_init(const vly_host *host,
                                            vly_error *error)
{
    (void)host;
    (void)error;
    return VLY_OK;
}

static void BROKEN_UNUSED broken_deinit(void)
{
}

static uint32_t broken_device_count(void)
{
    return 0;
}

static vly_status broken_device_info(uint32_t index, vly_device_info *info,
                                     vly_error *error)
{
    (void)index;
    (void)info;
    (void)error;
    return VLY_E_DEVICE;
}

static vly_status broken_supports(const vly_net_desc *desc, vly_error *error)
{
    (void)desc;
    (void)error;
    return VLY_E_UNSUPPORTED;
}

static vly_status broken_net_create(const vly_device_spec *device,
                                    const vly_net_desc *desc,
                                    const vly_snapshot *snapshot,
                                    vly_backend_net **net, vly_error *error)
{
    (void)device;
    (void)desc;
    (void)snapshot;
    (void)net;
    (void)error;
    return VLY_E_UNSUPPORTED;
}

static void broken_net_destroy(vly_backend_net *net)
{
    (void)net;
}

static vly_status broken_net_info(const vly_backend_net *net,
                                  vly_net_info *info, vly_error *error)
{
    (void)net;
    (void)info;
    (void)error;
    return VLY_E_INVALID;
}

static vly_status BROKEN_UNUSED broken_net_run(vly_backend_net *net,
                                               vly_run *run, vly_error *error)
{
    (void)net;
    (void)run;
    (void)error;
    return VLY_E_INVALID;
}

static vly_status broken_field_read(vly_backend_net *net, uint32_t area,
                                    uint32_t field, uint32_t first,
                                    uint32_t count, uint32_t *words,
                                    vly_error *error)
{
    (void)net;
    (void)area;
    (void)field;
    (void)first;
    (void)count;
    (void)words;
    (void)error;
    return VLY_E_INVALID;
}

static vly_status broken_field_write(vly_backend_net *net, uint32_t area,
                                     uint32_t field, uint32_t first,
                                     uint32_t count, const uint32_t *words,
                                     vly_error *error)
{
    (void)net;
    (void)area;
    (void)field;
    (void)first;
    (void)count;
    (void)words;
    (void)error;
    return VLY_E_INVALID;
}

static vly_status broken_coef_write(vly_backend_net *net, uint32_t area,
                                    uint32_t coef, const vly_column *column,
                                    vly_error *error)
{
    (void)net;
    (void)area;
    (void)coef;
    (void)column;
    (void)error;
    return VLY_E_INVALID;
}

static vly_status broken_stimulus_write(vly_backend_net *net, uint32_t stimulus,
                                        const vly_stimulus_desc *desc,
                                        vly_error *error)
{
    (void)net;
    (void)stimulus;
    (void)desc;
    (void)error;
    return VLY_E_INVALID;
}

static vly_status broken_snapshot_read(vly_backend_net *net,
                                       vly_snapshot *snapshot, vly_error *error)
{
    (void)net;
    (void)snapshot;
    (void)error;
    return VLY_E_INVALID;
}

/* Room after both tables, as in a newer minor: an engine that copies more than
 * its own size would read the marks. */
static const struct {
    vly_backend table;
    uint64_t newer[4];
} broken_backend BROKEN_UNUSED = {
    .table =
        {
            .struct_size = (uint32_t)(BROKEN_BACKEND_SIZE),
            .device_count = broken_device_count,
            .device_info = broken_device_info,
            .supports = broken_supports,
            .net_create = broken_net_create,
            .net_destroy = broken_net_destroy,
            .net_info = broken_net_info,
            .net_run = BROKEN_NET_RUN,
            .field_read = broken_field_read,
            .field_write = broken_field_write,
            .coef_write = broken_coef_write,
            .stimulus_write = broken_stimulus_write,
            .snapshot_read = broken_snapshot_read,
        },
    .newer = {~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0)},
};

static BROKEN_UNUSED const void *broken_get_interface(const char *id)
{
    return strcmp(id, VLY_BACKEND_INTERFACE) == 0 ? &broken_backend.table
                                                  : NULL;
}

typedef struct broken_entry {
    vly_plugin plugin;
    uint64_t newer[4];
} broken_entry;

#ifndef BROKEN_NO_ENTRY
extern const broken_entry vly_plugin_entry;
VLY_EXPORT const broken_entry vly_plugin_entry = {
    .plugin =
        {
            .struct_size = (uint32_t)(BROKEN_PLUGIN_SIZE),
            .abi_version = (BROKEN_ABI),
            .id = BROKEN_ID,
            .version = "1",
            .build = "test",
            .init = BROKEN_INIT,
            .deinit = BROKEN_DEINIT,
            .get_interface = BROKEN_GET_INTERFACE,
            .auto_rank = (BROKEN_RANK),
            .aliases = (BROKEN_ALIASES),
        },
    .newer = {~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0)},
};
#endif

#endif
