/* SPDX-License-Identifier: Apache-2.0
 * The plugin shm: volley.exchange/1 for ranks of one host, by shared memory.
 */
#define _GNU_SOURCE /* CPU_COUNT */
#include "shm_link.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "plugins/support/support_version.h"

#define SPIN_NS UINT64_C(50000)

const char vly_support_plugin[] = "shm";

static uint32_t n_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (uint32_t)CPU_COUNT(&set);
    const long n = sysconf(_SC_NPROCESSORS_ONLN); /* more than a set holds */
    return n > 0 ? (uint32_t)n : 1;
}

static void link_destroy(vly_exchange_link *link)
{
    if (!link)
        return;
    shm_file_close(link);
    vly_exchange_free(link->rooms);
    vly_exchange_free(link->pieces);
    vly_exchange_free(link);
}

/* "name" and "/name" are the same. */
static vly_status set_name(vly_exchange_link *link, const char *name,
                           vly_error *error)
{
    char own[64];
    if (!name && link->n_ranks == 1) {
        snprintf(own, sizeof own, "volley-alone-%ld-%llx", (long)getpid(),
                 (unsigned long long)vly_exchange_clock_ns());
        name = own;
    }
    if (name && name[0] == '/')
        name++;
    if (!name || name[0] == '\0' || name[0] == '.' || strlen(name) > SHM_NAME ||
        strchr(name, '/'))
        return vly_support_fail(error, VLY_E_INVALID,
                                "exchange shm: name \"%.40s\", wanted one of "
                                "at most %d characters, without a slash, for "
                                "all ranks of the job",
                                name ? name : "", SHM_NAME);
    snprintf(link->name, sizeof link->name, "/%s", name);
    return VLY_OK;
}

static vly_status exchange_open(const vly_exchange_spec *spec,
                                vly_exchange_link **link, vly_error *error)
{
    vly_exchange_link *made = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_exchange_spec_check(spec, link, true, error));
    made = vly_exchange_alloc(1, sizeof *made, error);
    if (!made)
        return VLY_E_NOMEM;
    made->file = -1;
    made->rank = spec->rank;
    made->n_ranks = spec->n_ranks;
    made->timeout_ns = (uint64_t)spec->timeout_ms * 1000000;
    made->spin_ns = n_cores() >= made->n_ranks ? SPIN_NS : 0;
    made->rooms = vly_exchange_alloc(2 * (uint64_t)made->n_ranks,
                                     sizeof *made->rooms, error);
    made->pieces = made->rooms ? vly_exchange_alloc(made->n_ranks,
                                                    sizeof *made->pieces, error)
                               : NULL;
    if (!made->pieces) {
        status = VLY_E_NOMEM;
        goto out;
    }
    VLY_TRY(set_name(made, spec->name, error));
    VLY_TRY(shm_meet(made, error));
    *link = made;
    made = NULL;
out:
    link_destroy(made);
    return status;
}

static void exchange_close(vly_exchange_link *link)
{
    if (!link)
        return;
    atomic_store(&link->ranks[link->rank].closed, 1);
    shm_wake_all(link, link->rank);
    link_destroy(link);
}

static vly_status exchange_info(const vly_exchange_link *link,
                                vly_exchange_info *info, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_exchange_info_check(link, info, error));
    const uint32_t size = info->struct_size;
    memset(info, 0, sizeof *info);
    info->struct_size = size;
    info->rank = link->rank;
    info->n_ranks = link->n_ranks;
    info->n_hosts = 1;
    info->n_gathers = link->n_gathers;
    info->n_bytes = link->n_bytes;
    info->waited_ns = link->waited_ns;
    snprintf(info->text, sizeof info->text, "shared memory");
out:
    return status;
}

static void exchange_abort(vly_exchange_link *link, const char *text)
{
    if (link)
        shm_abort(link, text);
}

static const vly_exchange exchange = {
    .struct_size = sizeof(vly_exchange),
    .open = exchange_open,
    .close = exchange_close,
    .info = exchange_info,
    .gather = shm_gather,
    .abort = exchange_abort,
};

static const void *get_interface(const char *id)
{
    return strcmp(id, VLY_EXCHANGE_INTERFACE) == 0 ? &exchange : NULL;
}

extern const vly_plugin vly_plugin_entry; /* for -Wmissing-declarations */
VLY_EXPORT const vly_plugin vly_plugin_entry = {
    .struct_size = sizeof(vly_plugin),
    .abi_version = VLY_ABI_VERSION,
    .id = "shm",
    .version = VLY_SUPPORT_VERSION,
    .build = "C11, POSIX shared memory",
    .init = vly_support_start,
    .deinit = vly_support_stop,
    .get_interface = get_interface,
};
