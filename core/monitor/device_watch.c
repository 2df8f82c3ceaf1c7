/* SPDX-License-Identifier: Apache-2.0
 * The thread that samples devices.
 */
#include "monitor/device_watch.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "accelerator/telemetry_source.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "record/telemetry.h"

enum { RING_SAMPLES = 64 };

_Static_assert(sizeof(double) == sizeof(uint64_t), "a value is a word");

typedef struct watched {
    vly_telemetry_device info;
    vly_telemetry_ring *ring;
    bool active;    /* under the lock, as is the next */
    char gone[200]; /* why; "" as long as it is not */
} watched;

struct vly_device_watch {
    vly_telemetry_source source;
    bool all;
    uint64_t every_ns;
    uint32_t n_devices;
    uint32_t n_metrics;
    watched *devices; /* [n_devices] */
    double *values;   /* [n_metrics] the thread's */
    uint64_t *words;  /* [n_metrics] likewise */

    pthread_t thread;
    bool runs;
    pthread_mutex_t lock; /* of the next ones */
    pthread_cond_t changed;
    bool ended;
    bool moved;         /* there is a new target */
    uint32_t on_device; /* of the one before; UINT32_MAX: none */
    char target[64];
};

/* ---- the thread ---------------------------------------------------------- */

static void put(vly_device_watch *watch, uint32_t device)
{
    vly_telemetry_sample sample = {0};
    vly_clock_both(&sample.at_ns, &sample.unix_ns);
    memcpy(watch->words, watch->values, watch->n_metrics * sizeof(double));
    vly_telemetry_put(watch->devices[device].ring, &sample, watch->words);
}

static void sample_one(vly_device_watch *watch, uint32_t device)
{
    watched *one = &watch->devices[device];
    vly_error error = VLY_ERROR_INIT;
    const bool there = vly_device_watch_active(watch, device);
    if (!there)
        return;
    if (watch->source.sample(device, watch->values, watch->n_metrics, &error) ==
        VLY_OK) {
        put(watch, device);
        return;
    }
    pthread_mutex_lock(&watch->lock);
    one->active = false;
    snprintf(one->gone, sizeof one->gone, "%.199s", error.message);
    pthread_mutex_unlock(&watch->lock);
}

/* The target's device is the active one. */
static void move(vly_device_watch *watch, const char *target)
{
    vly_error error = VLY_ERROR_INIT;
    uint32_t device = UINT32_MAX;
    if (watch->source.device_find(target, &device, &error) != VLY_OK)
        device = UINT32_MAX; /* it has none, which is not an error */
    pthread_mutex_lock(&watch->lock);
    watch->on_device = device;
    for (uint32_t i = 0; i < watch->n_devices; i++)
        watch->devices[i].active =
            (watch->all || i == device) && watch->devices[i].gone[0] == '\0';
    pthread_mutex_unlock(&watch->lock);
}

/* Until the next sample is due; a new target and the end come at once. */
static bool wait_a_while(vly_device_watch *watch, uint64_t due_ns, char *target)
{
    bool moved = false;
    pthread_mutex_lock(&watch->lock);
    for (;;) {
        const uint64_t now = vly_clock_ns();
        if (watch->ended || watch->moved || now >= due_ns)
            break;
        vly_condition_wait(&watch->changed, &watch->lock, due_ns - now);
    }
    moved = watch->moved;
    watch->moved = false;
    memcpy(target, watch->target, sizeof watch->target);
    const bool ended = watch->ended;
    pthread_mutex_unlock(&watch->lock);
    if (moved && !ended)
        move(watch, target);
    return !ended;
}

static void *sample_all(void *arg)
{
    vly_device_watch *watch = arg;
    char target[sizeof watch->target];
    uint64_t due_ns = vly_clock_ns();
    while (wait_a_while(watch, due_ns, target)) {
        if (vly_clock_ns() < due_ns)
            continue; /* only another target */
        for (uint32_t i = 0; i < watch->n_devices; i++)
            sample_one(watch, i);
        due_ns = vly_clock_ns() + watch->every_ns;
    }
    return NULL;
}

/* ---- begin and end ------------------------------------------------------- */

static vly_status make_devices(vly_device_watch *watch, vly_error *error)
{
    vly_status status = VLY_OK;
    watch->devices =
        vly_calloc((size_t)watch->n_devices + 1, sizeof *watch->devices);
    watch->values = vly_calloc((size_t)watch->n_metrics + 1, sizeof(double));
    watch->words = vly_calloc((size_t)watch->n_metrics + 1, sizeof(uint64_t));
    if (!watch->devices || !watch->values || !watch->words)
        return vly_fail_nomem(error, watch->n_devices * sizeof(watched),
                              "telemetry of devices");
    for (uint32_t i = 0; i < watch->n_devices; i++) {
        watched *one = &watch->devices[i];
        vly_error why = VLY_ERROR_INIT;
        one->info.struct_size = sizeof one->info;
        one->info.index = i;
        one->active = watch->all;
        /* if it becomes the target later, it fails and is reported then */
        if (watch->source.device_info(i, &one->info, &why) != VLY_OK &&
            watch->all)
            snprintf(one->gone, sizeof one->gone, "%.199s", why.message);
        one->active = one->active && one->gone[0] == '\0';
        VLY_TRY(vly_telemetry_create(RING_SAMPLES, watch->n_metrics, &one->ring,
                                     error));
    }
out:
    return status;
}

static vly_status start(vly_device_watch *watch, vly_error *error)
{
    vly_status status = vly_thread_start(&watch->thread, sample_all, watch,
                                         "telemetry of devices", error);
    watch->runs = status == VLY_OK;
    return status;
}

vly_status vly_device_watch_create(const vly_telemetry_source *source, bool all,
                                   uint64_t every_ns, vly_device_watch **watch,
                                   vly_error *error)
{
    const vly_telemetry_metric *metrics = NULL;
    vly_status status = VLY_OK;
    vly_device_watch *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "telemetry of devices");
    made->source = *source;
    made->all = all;
    made->every_ns = every_ns;
    made->n_devices = source->device_count();
    made->n_metrics = source->metrics(&metrics);
    made->on_device = UINT32_MAX;
    pthread_mutex_init(&made->lock, NULL);
    vly_condition_init(&made->changed);
    VLY_TRY(make_devices(made, error));
    VLY_TRY(start(made, error));
    *watch = made;
    made = NULL;
out:
    vly_device_watch_destroy(made);
    return status;
}

void vly_device_watch_destroy(vly_device_watch *watch)
{
    if (!watch)
        return;
    if (watch->runs) {
        pthread_mutex_lock(&watch->lock);
        watch->ended = true;
        pthread_cond_broadcast(&watch->changed);
        pthread_mutex_unlock(&watch->lock);
        pthread_join(watch->thread, NULL);
    }
    for (uint32_t i = 0; watch->devices && i < watch->n_devices; i++)
        vly_telemetry_destroy(watch->devices[i].ring);
    vly_free(watch->devices);
    vly_free(watch->values);
    vly_free(watch->words);
    pthread_mutex_destroy(&watch->lock);
    pthread_cond_destroy(&watch->changed);
    vly_free(watch);
}

/* ---- readers --------------------------------------------------------------
 */

void vly_device_watch_target(vly_device_watch *watch, const char *backend)
{
    pthread_mutex_lock(&watch->lock);
    snprintf(watch->target, sizeof watch->target, "%s", backend);
    watch->moved = true;
    pthread_cond_broadcast(&watch->changed);
    pthread_mutex_unlock(&watch->lock);
}

uint32_t vly_device_watch_devices(const vly_device_watch *watch)
{
    return watch->n_devices;
}

uint32_t vly_device_watch_metrics(const vly_device_watch *watch)
{
    return watch->n_metrics;
}

const vly_telemetry_metric *
vly_device_watch_metric(const vly_device_watch *watch, uint32_t metric)
{
    return vly_telemetry_metric_at(&watch->source, metric);
}

const vly_telemetry_device *
vly_device_watch_device(const vly_device_watch *watch, uint32_t device)
{
    return &watch->devices[device].info;
}

bool vly_device_watch_active(vly_device_watch *watch, uint32_t device)
{
    pthread_mutex_lock(&watch->lock);
    const bool active = watch->devices[device].active;
    pthread_mutex_unlock(&watch->lock);
    return active;
}

bool vly_device_watch_is_target(vly_device_watch *watch, uint32_t device)
{
    pthread_mutex_lock(&watch->lock);
    const bool is = watch->on_device == device;
    pthread_mutex_unlock(&watch->lock);
    return is;
}

bool vly_device_watch_failure(vly_device_watch *watch, uint32_t device,
                              char *text, size_t capacity)
{
    pthread_mutex_lock(&watch->lock);
    const bool gone = watch->devices[device].gone[0] != '\0';
    if (gone)
        snprintf(text, capacity, "%s", watch->devices[device].gone);
    pthread_mutex_unlock(&watch->lock);
    return gone;
}

bool vly_device_watch_newest(const vly_device_watch *watch, uint32_t device,
                             uint64_t *next, vly_device_sample *sample,
                             double *values)
{
    vly_telemetry_sample taken;
    uint64_t words[VLY_TELEMETRY_METRICS_MAX];
    uint64_t lost = 0;
    bool any = false;
    while (vly_telemetry_take(watch->devices[device].ring, next, &lost, &taken,
                              words)) {
        /* the next try may store half a sample */
        memcpy(values, words, watch->n_metrics * sizeof(double));
        *sample = (vly_device_sample){taken.at_ns, taken.unix_ns};
        any = true;
    }
    return any;
}
