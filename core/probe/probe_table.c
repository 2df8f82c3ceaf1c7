/* SPDX-License-Identifier: Apache-2.0
 * The wrapped table. Functions without a net argument (net_create and those
 * about devices) have no argument that identifies the wrapped backend. So each
 * wrapped backend of the process has a number, and its own copy of these five
 * functions.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "plugin/all_weights.h"
#include "probe/probe_parts.h"

#define N_SLOTS 16
static probe_slot slots[N_SLOTS];
static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- a measured call --------------------------------------------------- */

/* A call that is timed, checked and may be made to fail. */
typedef struct seen_call {
    probe_slot *slot;
    probe_call call;
    uint64_t burst;
    uint64_t begin_ns;
} seen_call;

static seen_call begin(probe_slot *slot, probe_call call, uint64_t burst)
{
    const bool timed = slot->probe->timed[call];
    return (seen_call){slot, call, burst, timed ? vly_clock_ns() : 0};
}

static vly_status end(const seen_call *seen, vly_status status,
                      const vly_error *error)
{
    static const char *const names[] = {
#define CALL_NAME(name) #name,
        PROBE_CALLS(CALL_NAME)
#undef CALL_NAME
    };
    vly_probe *probe = seen->slot->probe;
    const bool timed = probe->timed[seen->call];
    const uint64_t now = timed ? vly_clock_ns() : 0;
    if (!timed && !probe->check)
        return status;
    pthread_mutex_lock(&probe->lock);
    if (timed) {
        vly_probe_series *series = &seen->slot->calls[seen->call];
        vly_probe_add(series, now - seen->begin_ns, 1, seen->burst);
        series->failed += status != VLY_OK;
    }
    if (probe->check)
        vly_probe_check_failure(probe, seen->burst, status, error,
                                names[seen->call]);
    pthread_mutex_unlock(&probe->lock);
    return status;
}

/* status = the call, unless it is to fail */
#define SEEN(slot, name, burst, call)                                          \
    do {                                                                       \
        const seen_call seen = begin((slot), CALL_##name, (burst));            \
        status = vly_probe_fails((slot)->probe, CALL_##name, (burst), error);  \
        if (status == VLY_OK)                                                  \
            status = (call);                                                   \
        (void)end(&seen, status, error);                                       \
    } while (0)

static void check_range(const probe_net *net, uint32_t area, uint32_t field,
                        uint32_t first, uint32_t count, const char *call)
{
    vly_probe *probe = net->slot->probe;
    if (!probe->check)
        return;
    pthread_mutex_lock(&probe->lock);
    vly_probe_check_range(net, area, field, first, count, call);
    pthread_mutex_unlock(&probe->lock);
}

/* ---- nets -------------------------------------------------------------- */

static bool has_gains(const vly_net_desc *desc)
{
    for (uint32_t a = 0; a < desc->n_areas; a++)
        if ((probe_area(desc, a)->flags & VLY_AREA_FEAGI) != 0)
            return true;
    return false;
}

static void check_threads(const probe_net *net, const vly_device_spec *device)
{
    vly_probe *probe = net->slot->probe;
    vly_net_info info = {.struct_size = sizeof info};
    if (!probe->check || net->inner->net_info(net->net, &info, NULL) != VLY_OK)
        return;
    pthread_mutex_lock(&probe->lock);
    vly_probe_look(probe, CHECK_threads, info.n_threads > device->n_threads,
                   net->burst, "a net with %u threads, wanted at most %u",
                   info.n_threads, device->n_threads);
    pthread_mutex_unlock(&probe->lock);
}

/* The net itself, on the requested backend or on a wrong one. */
static vly_status make_inner(probe_net *made, const vly_device_spec *device,
                             const vly_snapshot *snapshot, vly_error *error)
{
    vly_device_spec other = *device;
    const vly_backend *wrong = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_probe_wrong(made->slot, made->burst, device, &other, &wrong,
                            error));
    if (wrong) {
        made->inner = wrong;
        made->counts_areas = (made->slot->inner->flags & ~wrong->flags &
                              VLY_BACKEND_AREA_SPIKES) != 0;
        VLY_TRY(wrong->supports(made->desc, error));
        VLY_TRY(vly_all_weights(wrong, made->desc, &made->own_desc, error));
    }
    VLY_TRY(made->inner->net_create(
        &other, made->own_desc ? made->own_desc : made->desc, snapshot,
        &made->net, error));
    if (!made->net)
        VLY_TRY(
            vly_fail(error, VLY_E_DEVICE, "net_create returned ok and no net"));
    check_threads(made, device);
out:
    return status;
}

static vly_status net_create(probe_slot *slot, const vly_device_spec *device,
                             const vly_net_desc *desc,
                             const vly_snapshot *snapshot,
                             vly_backend_net **net, vly_error *error)
{
    vly_status status = VLY_OK;
    probe_net *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "a probe of a net");
    made->slot = slot;
    made->inner = slot->inner;
    made->desc = desc;
    made->burst = snapshot ? snapshot->burst : 0;
    made->index = device->index;
    made->has_gains = has_gains(desc);
    VLY_TRY(vly_probe_net_watch(made, error));
    SEEN(slot, net_create, made->burst,
         make_inner(made, device, snapshot, error));
    if (status != VLY_OK)
        goto out;
    pthread_mutex_lock(&slot->probe->lock);
    slot->probe->n_nets++;
    pthread_mutex_unlock(&slot->probe->lock);
    *net = made;
    made = NULL;
out:
    vly_probe_net_free(made);
    return status;
}

static void net_destroy(vly_backend_net *net)
{
    if (!net)
        return;
    const seen_call seen = begin(net->slot, CALL_net_destroy, net->burst);
    net->inner->net_destroy(net->net);
    (void)end(&seen, VLY_OK, NULL);
    vly_probe_net_free(net);
}

/* Leaked memory is reported as the net's. */
static vly_status net_info(const vly_backend_net *net, vly_net_info *info,
                           vly_error *error)
{
    vly_status status = VLY_OK;
    vly_probe *probe = net->slot->probe;
    SEEN(net->slot, net_info, net->burst,
         net->inner->net_info(net->net, info, error));
    if (status == VLY_OK) {
        pthread_mutex_lock(&probe->lock);
        info->host_bytes += probe->leaked_host;
        info->device_bytes += probe->leaked_device;
        pthread_mutex_unlock(&probe->lock);
    }
    return status;
}

static vly_status field_read(vly_backend_net *net, uint32_t area,
                             uint32_t field, uint32_t first, uint32_t count,
                             uint32_t *words, vly_error *error)
{
    vly_status status = VLY_OK;
    check_range(net, area, field, first, count, "field_read");
    SEEN(net->slot, field_read, net->burst,
         net->inner->field_read(net->net, area, field, first, count, words,
                                error));
    return status;
}

static vly_status field_write(vly_backend_net *net, uint32_t area,
                              uint32_t field, uint32_t first, uint32_t count,
                              const uint32_t *words, vly_error *error)
{
    vly_status status = VLY_OK;
    check_range(net, area, field, first, count, "field_write");
    SEEN(net->slot, field_write, net->burst,
         net->inner->field_write(net->net, area, field, first, count, words,
                                 error));
    return status;
}

static vly_status coef_write(vly_backend_net *net, uint32_t area, uint32_t coef,
                             const vly_column *column, vly_error *error)
{
    vly_status status = VLY_OK;
    SEEN(net->slot, coef_write, net->burst,
         net->inner->coef_write(net->net, area, coef, column, error));
    return status;
}

static vly_status stimulus_write(vly_backend_net *net, uint32_t stimulus,
                                 const vly_stimulus_desc *desc,
                                 vly_error *error)
{
    vly_status status = VLY_OK;
    SEEN(net->slot, stimulus_write, net->burst,
         net->inner->stimulus_write(net->net, stimulus, desc, error));
    return status;
}

static vly_status snapshot_read(vly_backend_net *net, vly_snapshot *snapshot,
                                vly_error *error)
{
    vly_status status = VLY_OK;
    vly_probe *probe = net->slot->probe;
    SEEN(net->slot, snapshot_read, net->burst,
         net->inner->snapshot_read(net->net, snapshot, error));
    if (status == VLY_OK && probe->check) {
        pthread_mutex_lock(&probe->lock);
        vly_probe_check_snapshot(net, snapshot);
        pthread_mutex_unlock(&probe->lock);
    }
    return status;
}

/* ---- optional ones: there only if the backend has them ------------------ */

static vly_status weights_read(vly_backend_net *net, uint32_t projection,
                               uint64_t first, uint64_t count, int16_t *words,
                               vly_error *error)
{
    vly_status status = VLY_OK;
    SEEN(net->slot, weights_read, net->burst,
         net->inner->weights_read(net->net, projection, first, count, words,
                                  error));
    return status;
}

static vly_status weights_write(vly_backend_net *net, uint32_t projection,
                                uint64_t first, uint64_t count,
                                const int16_t *words, vly_error *error)
{
    vly_status status = VLY_OK;
    SEEN(net->slot, weights_write, net->burst,
         net->inner->weights_write(net->net, projection, first, count, words,
                                   error));
    return status;
}

static vly_status reverse_index(vly_backend_net *net, uint32_t projection,
                                vly_error *error)
{
    vly_status status = VLY_OK;
    SEEN(net->slot, reverse_index, net->burst,
         net->inner->reverse_index(net->net, projection, error));
    return status;
}

static vly_status learning_read(vly_backend_net *net, uint32_t projection,
                                uint64_t first, uint64_t count,
                                int32_t *masters, vly_error *error)
{
    vly_status status = VLY_OK;
    SEEN(net->slot, learning_read, net->burst,
         net->inner->learning_read(net->net, projection, first, count, masters,
                                   error));
    return status;
}

static vly_status learning_write(vly_backend_net *net, uint32_t projection,
                                 uint64_t first, uint64_t count,
                                 const int32_t *masters, vly_error *error)
{
    vly_status status = VLY_OK;
    SEEN(net->slot, learning_write, net->burst,
         net->inner->learning_write(net->net, projection, first, count, masters,
                                    error));
    return status;
}

#define RULE_SET(name, type)                                                   \
    static vly_status name(vly_backend_net *net, uint32_t projection,          \
                           const type *rule, vly_error *error)                 \
    {                                                                          \
        vly_status status = VLY_OK;                                            \
        SEEN(net->slot, name, net->burst,                                      \
             net->inner->name(net->net, projection, rule, error));             \
        return status;                                                         \
    }
RULE_SET(learning_set, vly_learning_desc)
RULE_SET(short_term_set, vly_short_term_desc)

static vly_status state_digest(vly_backend_net *net, uint64_t *digest,
                               vly_error *error)
{
    vly_status status = VLY_OK;
    SEEN(net->slot, state_digest, net->burst,
         net->inner->state_digest(net->net, digest, error));
    return status;
}

/* ---- without a net ------------------------------------------------------ */

static uint32_t device_count(probe_slot *slot)
{
    const seen_call seen = begin(slot, CALL_device_count, 0);
    const uint32_t n = slot->inner->device_count();
    (void)end(&seen, VLY_OK, NULL);
    return n;
}

static vly_status device_info(probe_slot *slot, uint32_t index,
                              vly_device_info *info, vly_error *error)
{
    vly_status status = VLY_OK;
    SEEN(slot, device_info, 0, slot->inner->device_info(index, info, error));
    return status;
}

static vly_status supports(probe_slot *slot, const vly_net_desc *desc,
                           vly_error *error)
{
    vly_status status = VLY_OK;
    SEEN(slot, supports, 0, slot->inner->supports(desc, error));
    return status;
}

#define SLOTS(X)                                                               \
    X(0)                                                                       \
    X(1)                                                                       \
    X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)

#define SLOT_FUNCTIONS(k)                                                      \
    static uint32_t device_count_##k(void)                                     \
    {                                                                          \
        return device_count(&slots[k]);                                        \
    }                                                                          \
    static vly_status device_info_##k(uint32_t index, vly_device_info *info,   \
                                      vly_error *error)                        \
    {                                                                          \
        return device_info(&slots[k], index, info, error);                     \
    }                                                                          \
    static vly_status supports_##k(const vly_net_desc *desc, vly_error *error) \
    {                                                                          \
        return supports(&slots[k], desc, error);                               \
    }                                                                          \
    static vly_status net_create_##k(                                          \
        const vly_device_spec *device, const vly_net_desc *desc,               \
        const vly_snapshot *snapshot, vly_backend_net **net, vly_error *error) \
    {                                                                          \
        return net_create(&slots[k], device, desc, snapshot, net, error);      \
    }
SLOTS(SLOT_FUNCTIONS)

#define SLOT_TABLE(k)                                                          \
    {.device_count = device_count_##k,                                         \
     .device_info = device_info_##k,                                           \
     .supports = supports_##k,                                                 \
     .net_create = net_create_##k},
static const vly_backend numbered[N_SLOTS] = {SLOTS(SLOT_TABLE)};

/* ---- wrapping ----------------------------------------------------------- */

/* With fault wrong, a net may go to a backend that lacks optional functions of
 * this one, and the host must know that before: so optional functions are
 * removed. */
static bool may_go_elsewhere(const vly_probe *probe)
{
    for (uint32_t k = 0; k < probe->n_faults; k++)
        if (probe->faults[k].kind == FAULT_WRONG && !probe->faults[k].own)
            return true;
    return false;
}

static void fill_table(probe_slot *slot, const vly_backend *inner)
{
    slot->table = numbered[slot - slots];
    slot->table.struct_size = inner->struct_size;
    slot->table.flags = inner->flags;
    slot->table.net_destroy = net_destroy;
    slot->table.net_info = net_info;
    slot->table.net_run = vly_probe_net_run;
    slot->table.field_read = field_read;
    slot->table.field_write = field_write;
    slot->table.coef_write = coef_write;
    slot->table.stimulus_write = stimulus_write;
    slot->table.snapshot_read = snapshot_read;
    /* of a backend that learns they are not optional */
    slot->table.learning_read = inner->learning_read ? learning_read : NULL;
    slot->table.learning_write = inner->learning_write ? learning_write : NULL;
    slot->table.learning_set = inner->learning_set ? learning_set : NULL;
    slot->table.short_term_set = inner->short_term_set ? short_term_set : NULL;
    if (!may_go_elsewhere(slot->probe)) {
        slot->table.weights_read = inner->weights_read ? weights_read : NULL;
        slot->table.weights_write = inner->weights_write ? weights_write : NULL;
        slot->table.reverse_index = inner->reverse_index ? reverse_index : NULL;
        slot->table.state_digest = inner->state_digest ? state_digest : NULL;
    }
    /* reserved: never called, so it cannot be wrapped */
    slot->table.net_create_span = NULL;
}

/* slots_lock is held. NULL: there is none left. */
static probe_slot *free_slot(vly_probe *probe, const char *id,
                             const vly_backend *inner)
{
    for (uint32_t k = 0; k < N_SLOTS; k++) {
        probe_slot *slot = &slots[k];
        if (slot->probe)
            continue;
        *slot = (probe_slot){.probe = probe, .inner = inner};
        strncpy(slot->id, id, sizeof slot->id - 1);
        fill_table(slot, inner);
        probe->slots[probe->n_slots++] = slot;
        return slot;
    }
    return NULL;
}

/* For vly_registry_wrap. */
static vly_status wrap(void *arg, const char *id, const vly_backend *table,
                       const vly_backend **wrapped, vly_error *error)
{
    vly_probe *probe = arg;
    probe_slot *slot = NULL;
    if (probe->only && strcmp(probe->only, id) != 0)
        return VLY_OK;
    pthread_mutex_lock(&slots_lock);
    for (uint32_t k = 0; k < probe->n_slots && !slot; k++)
        if (probe->slots[k]->inner == table)
            slot = probe->slots[k];
    if (!slot)
        slot = free_slot(probe, id, table);
    pthread_mutex_unlock(&slots_lock);
    if (!slot)
        return vly_fail(error, VLY_E_UNSUPPORTED,
                        "%s: probes sit at %d backends already, the most that "
                        "a process can have",
                        id, N_SLOTS);
    *wrapped = &slot->table;
    return VLY_OK;
}

const vly_backend *vly_probe_inner(const vly_backend *table)
{
    for (uint32_t k = 0; k < N_SLOTS; k++)
        if (table == &slots[k].table)
            return slots[k].inner;
    return table;
}

void vly_probe_slots_free(vly_probe *probe)
{
    pthread_mutex_lock(&slots_lock);
    for (uint32_t k = 0; k < probe->n_slots; k++)
        *probe->slots[k] = (probe_slot){0};
    probe->n_slots = 0;
    pthread_mutex_unlock(&slots_lock);
}

vly_status vly_probe_attach(vly_probe *probe, vly_registry *registry,
                            vly_error *error)
{
    const vly_backend *table = NULL;
    vly_backend_spec spec;
    vly_status status = VLY_OK;
    if (probe->only)
        VLY_TRY(vly_registry_backend(registry, probe->only, &table, error));
    for (uint32_t k = 0; k < probe->n_faults; k++)
        if (probe->faults[k].kind == FAULT_WRONG) {
            VLY_TRY(vly_backend_spec_parse(probe->faults[k].to, &spec, error));
            VLY_TRY(vly_registry_backend(registry, spec.id, &table, error));
        }
    probe->registry = registry;
    vly_registry_wrap(registry, wrap, probe);
out:
    return status;
}
