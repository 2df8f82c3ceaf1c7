/* SPDX-License-Identifier: Apache-2.0
 * The host's services for plugins, and the plugins that run in this process.
 *
 * A shared object is loaded once in a process, for any number of registries,
 * and it keeps the pointer to its host table. So the tables are slots of a
 * fixed array: they live as long as the process, and a leak check does not find
 * them on the heap. slot_lock guards everything in a slot but its counter of
 * blocks.
 */
#include "plugin/host_table.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "plugin/device_memory.h"
#include "plugin/host_log.h"

#define N_SLOTS 128
#define MAX_ALIGN 4096u
#define MAX_TASKS 1024u

typedef struct host_slot {
    const void *entry; /* NULL: free */
    vly_host table;
    char id[32];
    _Atomic int64_t live;
    uint32_t users; /* registries; init is done while it is not 0 */
} host_slot;

static pthread_mutex_t slot_lock = PTHREAD_MUTEX_INITIALIZER;
static host_slot slots[N_SLOTS];

/* ---- functions of the table ------------------------------------------- */

static void *host_alloc(void *context, uint64_t bytes, uint64_t align)
{
    host_slot *slot = context;
    if (align == 0 || align > MAX_ALIGN || (align & (align - 1)) != 0 ||
        bytes > SIZE_MAX)
        return NULL;
    void *memory = vly_aligned((size_t)bytes, (size_t)align);
    if (memory)
        atomic_fetch_add_explicit(&slot->live, 1, memory_order_relaxed);
    return memory;
}

static void host_free(void *context, void *memory)
{
    host_slot *slot = context;
    if (!memory)
        return;
    atomic_fetch_sub_explicit(&slot->live, 1, memory_order_relaxed);
    vly_free(memory);
}

static void host_log(void *context, int32_t level, const char *message)
{
    host_slot *slot = context;
    vly_log_write(level, slot->id, "%s", message ? message : "");
}

static vly_status host_parallel_for(void *context, uint32_t n_tasks,
                                    void (*body)(void *arg, uint32_t task),
                                    void *arg)
{
    (void)context;
    if (n_tasks == 0 || n_tasks > MAX_TASKS || !body)
        return VLY_E_INVALID;
    return vly_thread_gang(n_tasks, body, arg);
}

static uint64_t host_clock_ns(void *context)
{
    (void)context;
    return vly_clock_ns();
}

static void host_telemetry(void *context, const char *name, double value)
{
    host_slot *slot = context;
    vly_telemetry(slot->id, name, value);
}

static vly_status host_device_open(void *context,
                                   const vly_device_allocator *allocator,
                                   vly_device_client **client, vly_error *error)
{
    const host_slot *slot = context;
    return vly_account_open(slot->id, allocator, client, error);
}

static const vly_device_memory device_memory = {
    .struct_size = sizeof(device_memory),
    .open = host_device_open,
    .close = vly_account_close,
    .alloc = vly_account_alloc,
    .free = vly_account_free,
    .reloadable = vly_account_reloadable,
    .hold = vly_account_hold,
    .release = vly_account_release,
};

static void slot_init(host_slot *slot, const void *entry, const char *id)
{
    slot->entry = entry;
    strncpy(slot->id, id, sizeof(slot->id) - 1);
    slot->table = (vly_host){
        .struct_size = sizeof(slot->table),
        .abi_version = VLY_ABI_VERSION,
        .context = slot,
        .alloc = host_alloc,
        .free = host_free,
        .log = host_log,
        .parallel_for = host_parallel_for,
        .clock_ns = host_clock_ns,
        .telemetry = host_telemetry,
        .device_memory = &device_memory,
    };
}

/* ---- slots ------------------------------------------------------------ */

/* slot_lock is held. NULL if there is none and id is NULL, or no room. */
static host_slot *slot_get(const void *entry, const char *id)
{
    for (int i = 0; i < N_SLOTS; i++) {
        if (slots[i].entry == entry)
            return &slots[i];
        if (!slots[i].entry) {
            if (id)
                slot_init(&slots[i], entry, id);
            return id ? &slots[i] : NULL;
        }
    }
    return NULL;
}

const vly_host *vly_host_table(void)
{
    static const char own; /* its address is the entry */
    static host_slot *_Atomic own_slot;
    host_slot *slot = atomic_load(&own_slot);
    if (!slot) {
        static host_slot engine;
        pthread_mutex_lock(&slot_lock);
        if (!engine.entry)
            slot_init(&engine, &own, "volley");
        pthread_mutex_unlock(&slot_lock);
        slot = &engine;
        atomic_store(&own_slot, slot);
    }
    return &slot->table;
}

/* A plugin may return any number: only known codes are passed on. */
static vly_status init_failed(vly_status status, vly_error *said,
                              vly_error *error)
{
    said->message[sizeof(said->message) - 1] = 0;
    if (status > 0 || status < VLY_E_STOPPED)
        return vly_fail(error, VLY_E_ABI, "init failed with unknown status %d",
                        (int)status);
    if (!said->message[0])
        return vly_fail(error, status, "init failed: %s",
                        vly_status_text(status));
    return vly_fail(error, status, "%s", said->message);
}

vly_status vly_plugin_start(const vly_plugin *plugin, const void *entry,
                            vly_error *error)
{
    vly_status status = VLY_OK;
    pthread_mutex_lock(&slot_lock);
    host_slot *slot = slot_get(entry, plugin->id);
    if (!slot) {
        status = vly_fail(error, VLY_E_ABI,
                          "more than %d plugins in one process", N_SLOTS);
    } else if (slot->users > 0) {
        slot->users++;
    } else {
        vly_error said = VLY_ERROR_INIT;
        vly_status init_status = plugin->init(&slot->table, &said);
        if (init_status == VLY_OK)
            slot->users = 1;
        else
            status = init_failed(init_status, &said, error);
    }
    pthread_mutex_unlock(&slot_lock);
    return status;
}

void vly_plugin_stop(const vly_plugin *plugin, const void *entry)
{
    pthread_mutex_lock(&slot_lock);
    host_slot *slot = slot_get(entry, NULL);
    if (slot && slot->users > 0 && --slot->users == 0) {
        plugin->deinit();
        int64_t live = atomic_load(&slot->live);
        if (live != 0)
            vly_log_write(VLY_LOG_WARN, slot->id,
                          "%" PRId64 " blocks of memory were not freed", live);
    }
    pthread_mutex_unlock(&slot_lock);
}

uint64_t vly_plugin_live_blocks(const void *entry)
{
    if (!entry) {
        const host_slot *own = vly_host_table()->context;
        return (uint64_t)atomic_load(&own->live);
    }
    pthread_mutex_lock(&slot_lock);
    host_slot *slot = slot_get(entry, NULL);
    int64_t live = slot ? atomic_load(&slot->live) : 0;
    pthread_mutex_unlock(&slot_lock);
    return (uint64_t)live;
}
