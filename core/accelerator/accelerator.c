/* SPDX-License-Identifier: Apache-2.0
 * Accelerators: checks of their tables, and search by the name of a device.
 */
#include "accelerator/accelerator.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/thread.h"
#include "plugin/plugin_check.h"

/* Sizes of the first revision: they never change, those of the headers grow. */
#define MEMORY_BYTES 200u
#define PRODUCT_BYTES 112u

typedef struct slot {
    const char *name;
    size_t offset;
} slot;

/* Whether a function pointer, given as bytes, is NULL. */
static bool is_missing(const void *table, size_t offset)
{
    static const unsigned char none[sizeof(void (*)(void))];
    return memcmp((const unsigned char *)table + offset, none, sizeof none) ==
           0;
}

/* Copies the table into copy[size] and checks that the required functions
 * exist. */
static vly_status take(const void *table, size_t least, const char *what,
                       const slot *slots, void *copy, size_t size,
                       vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_table_copy(copy, size, least, table, what, error));
    for (; slots->name; slots++)
        if (is_missing(copy, slots->offset))
            return vly_fail(error, VLY_E_ABI,
                            "%s: required function %s is missing", what,
                            slots->name);
out:
    return status;
}

vly_status vly_memory_check(const void *table, vly_memory *out,
                            vly_error *error)
{
#define SLOT(name)                                                             \
    {                                                                          \
#name, offsetof(vly_memory, name)                                      \
    }
    static const slot slots[] = {
        SLOT(device_count), SLOT(device_info),   SLOT(available),
        SLOT(alloc),        SLOT(free),          SLOT(copy),
        SLOT(fill),         SLOT(stream_create), SLOT(stream_destroy),
        SLOT(stream_wait),  SLOT(event_create),  SLOT(event_destroy),
        SLOT(event_record), SLOT(event_elapsed), {NULL, 0}};
#undef SLOT
    vly_memory copy;
    vly_status status = take(table, MEMORY_BYTES, VLY_MEMORY_INTERFACE, slots,
                             &copy, sizeof copy, error);
    /* a graph needs all of them */
    if (status == VLY_OK && (!copy.graph_begin || !copy.graph_end ||
                             !copy.graph_run || !copy.graph_destroy)) {
        copy.graph_begin = NULL;
        copy.graph_end = NULL;
        copy.graph_run = NULL;
        copy.graph_destroy = NULL;
    }
    if (status == VLY_OK)
        *out = copy;
    return status;
}

/* All kinds of plans have the same functions. */
#define PRODUCT_CHECK(type, interface_id)                                      \
    vly_status type##_check(const void *table, type *out, vly_error *error)    \
    {                                                                          \
        static const slot slots[] = {                                          \
            {"supports", offsetof(type, supports)},                            \
            {"plan_create", offsetof(type, plan_create)},                      \
            {"plan_destroy", offsetof(type, plan_destroy)},                    \
            {"plan_info", offsetof(type, plan_info)},                          \
            {"run", offsetof(type, run)},                                      \
            {NULL, 0}};                                                        \
        type copy;                                                             \
        vly_status status = take(table, PRODUCT_BYTES, interface_id, slots,    \
                                 &copy, sizeof copy, error);                   \
        if (status == VLY_OK)                                                  \
            *out = copy;                                                       \
        return status;                                                         \
    }

PRODUCT_CHECK(vly_gemm, VLY_GEMM_INTERFACE)
PRODUCT_CHECK(vly_attention, VLY_ATTENTION_INTERFACE)
PRODUCT_CHECK(vly_wkv, VLY_WKV_INTERFACE)
PRODUCT_CHECK(vly_rwkv, VLY_RWKV_INTERFACE)

/* ---- by the name of a device ------------------------------------------ */

/* "gemm" of volley.gemm/1; wkv and rwkv live in the plugins of attention. */
static const char *family_of(const char *interface_id)
{
    if (strcmp(interface_id, VLY_GEMM_INTERFACE) == 0)
        return "gemm";
    if (strcmp(interface_id, VLY_ATTENTION_INTERFACE) == 0 ||
        strcmp(interface_id, VLY_WKV_INTERFACE) == 0 ||
        strcmp(interface_id, VLY_RWKV_INTERFACE) == 0)
        return "attention";
    return NULL;
}

/* Whether there is a plugin with this id, usable or not. Starts no plugin. */
static bool is_listed(const vly_registry *registry, const char *id)
{
    for (uint32_t i = 0; i < vly_registry_count(registry); i++)
        if (strcmp(vly_registry_id(registry, i), id) == 0)
            return true;
    return false;
}

/* NULL if the plugin does not offer it; that is not an error. */
static const void *table_of(const vly_registry *registry, const char *id,
                            const char *interface_id)
{
    const void *table = NULL;
    if (vly_registry_interface(registry, id, interface_id, &table, NULL) !=
        VLY_OK)
        return NULL;
    return table;
}

static vly_status take_tables(const vly_registry *registry,
                              vly_accelerator *made, vly_error *error)
{
    const void *memory = table_of(registry, made->id, VLY_MEMORY_INTERFACE);
    const void *gemm = table_of(registry, made->id, VLY_GEMM_INTERFACE);
    const void *attention =
        table_of(registry, made->id, VLY_ATTENTION_INTERFACE);
    const void *wkv = table_of(registry, made->id, VLY_WKV_INTERFACE);
    const void *rwkv = table_of(registry, made->id, VLY_RWKV_INTERFACE);
    vly_status status = VLY_OK;
    if (!memory)
        return vly_fail(error, VLY_E_ABI,
                        "plugin %s: does not offer %s, which every accelerator "
                        "must",
                        made->id, VLY_MEMORY_INTERFACE);
    VLY_TRY(vly_memory_check(memory, &made->memory, error));
    if (gemm)
        VLY_TRY(vly_gemm_check(gemm, &made->gemm, error));
    if (attention)
        VLY_TRY(vly_attention_check(attention, &made->attention, error));
    if (wkv)
        VLY_TRY(vly_wkv_check(wkv, &made->wkv, error));
    if (rwkv)
        VLY_TRY(vly_rwkv_check(rwkv, &made->rwkv, error));
out:
    return status;
}

/* Of "cuda:0-3": the first, and the option devices=4, as plans have it. */
static vly_status set_span(vly_accelerator *made, const char *interface_id,
                           vly_backend_spec *spec, vly_error *error)
{
    const uint32_t there = made->memory.device_count();
    const uint32_t n = spec->all ? there : spec->last - spec->number + 1;
    const size_t used = strlen(made->spec.options);
    const size_t left = sizeof made->spec.options - used;
    if (strcmp(interface_id, VLY_ATTENTION_INTERFACE) != 0)
        return vly_fail(error, VLY_E_UNSUPPORTED,
                        "plugin %s: several devices, but %s runs on one",
                        made->id, interface_id);
    if (!spec->all && spec->last >= there)
        return vly_fail(error, VLY_E_DEVICE,
                        "plugin %s: devices %u to %u, but there %s %u",
                        made->id, spec->number, spec->last,
                        there == 1 ? "is only" : "are", there);
    spec->all = false;
    spec->last = spec->number;
    if (n < 2)
        return VLY_OK;
    const int more = snprintf(made->spec.options + used, left, "%sdevices=%u",
                              used > 0 ? "," : "", n);
    if (more < 0 || (size_t)more >= left)
        return vly_fail(error, VLY_E_INVALID,
                        "plugin %s: options of %zu characters, which leave no "
                        "room for devices=%u",
                        made->id, used, n);
    return VLY_OK;
}

static vly_status set_device(vly_accelerator *made, const char *interface_id,
                             uint32_t n_threads, vly_error *error)
{
    const bool is_host = (made->memory.flags & VLY_MEMORY_HOST) != 0;
    vly_backend_spec spec = made->spec;
    vly_status status = VLY_OK;
    if (vly_backend_spec_is_span(&spec) && !is_host)
        VLY_TRY(set_span(made, interface_id, &spec, error));
    /* device 0 of a plugin that emulates one on the host counts no threads */
    if (is_host && spec.number == 0)
        spec.has_number = false;
    VLY_TRY(vly_backend_spec_device(&spec, is_host, n_threads, &made->device,
                                    error));
    made->device.options =
        made->spec.options[0] != 0 ? made->spec.options : NULL;
out:
    return status;
}

static vly_status check_device(const vly_accelerator *made, vly_error *error)
{
    const uint32_t n = made->memory.device_count();
    if (made->device.index < n)
        return VLY_OK;
    return vly_fail(error, VLY_E_DEVICE,
                    "plugin %s: device %u, but there %s %u", made->id,
                    made->device.index, n == 1 ? "is only" : "are", n);
}

vly_status vly_accelerator_find(const vly_registry *registry,
                                const char *interface_id, const char *device,
                                uint32_t n_threads,
                                vly_accelerator *accelerator, vly_error *error)
{
    const void *table = NULL;
    vly_status status = VLY_OK;
    vly_accelerator *made = accelerator;
    const char *family = interface_id ? family_of(interface_id) : NULL;
    if (!registry || !family)
        return vly_fail(error, VLY_E_INVALID,
                        "accelerator: %s, wanted a registry and %s, %s, %s "
                        "or %s",
                        !registry ? "no registry" : "no such interface",
                        VLY_GEMM_INTERFACE, VLY_ATTENTION_INTERFACE,
                        VLY_WKV_INTERFACE, VLY_RWKV_INTERFACE);
    memset(made, 0, sizeof *made);
    VLY_TRY(vly_backend_spec_parse(device, &made->spec, error));
    if (strcmp(made->spec.id, "auto") == 0)
        return vly_fail(error, VLY_E_INVALID,
                        "device \"auto\": wanted one by name, as in cpu or "
                        "cuda:0");
    snprintf(made->id, sizeof made->id, "%s_%s", family, made->spec.id);
    if (!is_listed(registry, made->id) && is_listed(registry, made->spec.id))
        snprintf(made->id, sizeof made->id, "%s", made->spec.id);
    VLY_TRY(vly_registry_interface(registry, made->id, interface_id, &table,
                                   error));
    VLY_TRY(take_tables(registry, made, error));
    VLY_TRY(set_device(made, interface_id, n_threads, error));
    VLY_TRY(check_device(made, error));
out:
    return status;
}
