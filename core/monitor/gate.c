/* SPDX-License-Identifier: Apache-2.0
 * The gate. One word holds the state of the device: bit 0: a step runs, bit 1:
 * a step waits for the bursts to end, the other bits: number of bursts. A burst
 * adds itself and reads the previous value atomically, so the two sides can
 * never both assume that they are alone. A share of time is a token bucket that
 * fills with the clock, up to one second's worth, and that steps empty.
 */
#include "monitor/gate.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <volley/volley.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"

enum { STEP = 1, WAITS = 2, BURST = 4 };

/* Limit of unused share that is kept. */
static const double saved_ns = 1e9;
/* A burst loop that offers the device waits at most this long for a step. */
static const uint64_t patience_ns = 2000000;

struct vly_gate {
    uint32_t word;
    uint32_t exclusive;
    uint64_t next_ns; /* when the next burst is due, 0: not known */
    uint64_t (*clock_ns)(void *context);
    void *context;

    pthread_mutex_t lock;   /* of all below */
    pthread_cond_t changed; /* a step may ask again */
    pthread_cond_t done;    /* a step has left */
    uint64_t n_left;
    uint64_t filled_ns; /* until when the bucket was filled */
    double credit_ns;
    uint64_t typical_ns;  /* of a step, rather long */
    uint32_t n_burstable; /* that wait */
    bool closed;
    vly_gate_usage usage;
};

static uint64_t own_clock(void *context)
{
    (void)context;
    return vly_clock_ns();
}

static vly_status check_budget(double budget, vly_error *error)
{
    if (budget > 0 && budget <= 1)
        return VLY_OK;
    return vly_fail(error, VLY_E_INVALID,
                    "a budget of %g, wanted a share above 0, at most 1",
                    budget);
}

vly_status vly_gate_create(const vly_gate_options *options, vly_gate **gate,
                           vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(check_budget(options->budget, error));
    vly_gate *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "a gate");
    made->exclusive = options->exclusive;
    made->clock_ns = options->clock_ns ? options->clock_ns : own_clock;
    made->context = options->context;
    made->usage.budget = options->budget;
    made->credit_ns = options->budget * saved_ns;
    made->filled_ns = made->clock_ns(made->context);
    pthread_mutex_init(&made->lock, NULL);
    vly_condition_init(&made->changed);
    vly_condition_init(&made->done);
    *gate = made;
out:
    return status;
}

void vly_gate_destroy(vly_gate *gate)
{
    if (!gate)
        return;
    pthread_mutex_destroy(&gate->lock);
    pthread_cond_destroy(&gate->changed);
    pthread_cond_destroy(&gate->done);
    vly_free(gate);
}

static uint64_t now_of(const vly_gate *gate)
{
    return gate->clock_ns(gate->context);
}

/* Waits at most this long; the caller handles spurious wake-ups. */
static void wait_for(vly_gate *gate, pthread_cond_t *condition, uint64_t ns)
{
    if (ns == UINT64_MAX) {
        pthread_cond_wait(condition, &gate->lock);
        return;
    }
    ns = ns < 1000000000u ? ns : 1000000000u; /* the clock may be another */
    vly_condition_wait(condition, &gate->lock, ns);
}

/* ---- bursts -------------------------------------------------------------- */

static void wait_for_step(vly_gate *gate)
{
    const uint64_t begin = vly_clock_ns();
    pthread_mutex_lock(&gate->lock);
    while (__atomic_load_n(&gate->word, __ATOMIC_ACQUIRE) & STEP)
        pthread_cond_wait(&gate->done, &gate->lock);
    const uint64_t waited = vly_clock_ns() - begin;
    gate->usage.burst_waits++;
    gate->usage.burst_wait_ns += waited;
    if (waited > gate->usage.burst_wait_longest_ns)
        gate->usage.burst_wait_longest_ns = waited;
    pthread_mutex_unlock(&gate->lock);
}

void vly_gate_burst_begin(vly_gate *gate)
{
    if (!gate)
        return;
    const uint32_t before =
        __atomic_fetch_add(&gate->word, BURST, __ATOMIC_ACQ_REL);
    if (gate->exclusive && before & STEP)
        wait_for_step(gate);
}

void vly_gate_burst_end(vly_gate *gate, uint64_t next_ns)
{
    if (!gate)
        return;
    __atomic_store_n(&gate->next_ns, next_ns, __ATOMIC_RELAXED);
    const uint32_t before =
        __atomic_fetch_sub(&gate->word, BURST, __ATOMIC_ACQ_REL);
    if (!(before & WAITS) || before / BURST > 1)
        return;
    pthread_mutex_lock(&gate->lock);
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

/* Up to now. [lock] */
static void fill(vly_gate *gate, uint64_t now)
{
    const double most = gate->usage.budget * saved_ns;
    if (now > gate->filled_ns)
        gate->credit_ns += gate->usage.budget * (double)(now - gate->filled_ns);
    if (gate->credit_ns > most)
        gate->credit_ns = most;
    gate->filled_ns = now;
}

bool vly_gate_offer(vly_gate *gate)
{
    if (!gate || !gate->exclusive ||
        !(__atomic_load_n(&gate->word, __ATOMIC_RELAXED) & WAITS))
        return false;
    const uint64_t end = vly_clock_ns() + patience_ns;
    pthread_mutex_lock(&gate->lock);
    const uint64_t left = gate->n_left;
    fill(gate, now_of(gate));
    const bool may =
        gate->n_burstable > 0 || (!gate->usage.paused && gate->credit_ns > 0);
    __atomic_store_n(&gate->next_ns, 0, __ATOMIC_RELAXED);
    if (may && !gate->closed)
        pthread_cond_broadcast(&gate->changed);
    while (may && !gate->closed && gate->n_left == left) {
        const bool inside =
            __atomic_load_n(&gate->word, __ATOMIC_ACQUIRE) & STEP;
        const uint64_t now = vly_clock_ns();
        if (!inside && now >= end)
            break;
        wait_for(gate, &gate->done, inside ? UINT64_MAX : end - now);
    }
    const bool any = gate->n_left != left;
    pthread_mutex_unlock(&gate->lock);
    return any;
}

/* ---- steps --------------------------------------------------------------- */

/* Takes the device for a step. false: bursts have it and will signal. [lock] */
static bool take(vly_gate *gate)
{
    uint32_t before = __atomic_load_n(&gate->word, __ATOMIC_RELAXED);
    for (;;) {
        const bool mine = !gate->exclusive || before < BURST;
        const uint32_t after =
            mine ? (before | STEP) & ~(uint32_t)WAITS : before | WAITS;
        if (__atomic_compare_exchange_n(&gate->word, &before, after, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return mine;
    }
}

static vly_gate_answer ask(vly_gate *gate, uint32_t qos, uint64_t *wait_ns)
{
    const bool best_effort = qos == VLY_QOS_BEST_EFFORT;
    const uint64_t now = now_of(gate);
    const uint64_t due = __atomic_load_n(&gate->next_ns, __ATOMIC_RELAXED);
    *wait_ns = UINT64_MAX;
    if (gate->closed)
        return VLY_GATE_CLOSED;
    if (best_effort && gate->usage.paused)
        return VLY_GATE_PAUSED;
    if (__atomic_load_n(&gate->word, __ATOMIC_RELAXED) & STEP ||
        (best_effort && gate->n_burstable > 0))
        return VLY_GATE_STEP;
    fill(gate, now);
    if (best_effort && !(gate->credit_ns > 0)) {
        *wait_ns = 1 + (uint64_t)(-gate->credit_ns / gate->usage.budget);
        return VLY_GATE_BUDGET;
    }
    /* the burst is late, so waiting for it does not help */
    if (gate->exclusive && due > now && due - now < gate->typical_ns) {
        *wait_ns = due - now;
        return VLY_GATE_BURST;
    }
    return take(gate) ? VLY_GATE_GO : VLY_GATE_BURST;
}

static vly_gate_answer ask_and_count(vly_gate *gate, uint32_t qos,
                                     uint64_t *wait_ns)
{
    const vly_gate_answer answer = ask(gate, qos, wait_ns);
    if (answer != VLY_GATE_GO)
        gate->usage.denied[answer]++;
    return answer;
}

vly_gate_answer vly_gate_try(vly_gate *gate, uint32_t qos, uint64_t *wait_ns)
{
    pthread_mutex_lock(&gate->lock);
    const vly_gate_answer answer = ask_and_count(gate, qos, wait_ns);
    pthread_mutex_unlock(&gate->lock);
    return answer;
}

bool vly_gate_enter(vly_gate *gate, uint32_t qos)
{
    return vly_gate_enter_for(gate, qos, UINT64_MAX) == VLY_GATE_GO;
}

vly_gate_answer vly_gate_enter_for(vly_gate *gate, uint32_t qos,
                                   uint64_t most_ns)
{
    const uint64_t begin = vly_clock_ns();
    uint64_t wait_ns = 0;
    uint64_t gone_ns = 0;
    vly_gate_answer answer;
    pthread_mutex_lock(&gate->lock);
    if (qos == VLY_QOS_BURSTABLE)
        gate->n_burstable++;
    while ((answer = ask_and_count(gate, qos, &wait_ns)) != VLY_GATE_GO &&
           answer != VLY_GATE_CLOSED && gone_ns < most_ns) {
        const uint64_t left =
            most_ns == UINT64_MAX ? UINT64_MAX : most_ns - gone_ns;
        wait_for(gate, &gate->changed, wait_ns < left ? wait_ns : left);
        gone_ns = vly_clock_ns() - begin;
    }
    if (qos == VLY_QOS_BURSTABLE)
        gate->n_burstable--;
    pthread_mutex_unlock(&gate->lock);
    return answer;
}

void vly_gate_leave(vly_gate *gate, uint32_t qos, uint64_t spent_ns)
{
    pthread_mutex_lock(&gate->lock);
    (void)__atomic_fetch_and(&gate->word, ~(uint32_t)STEP, __ATOMIC_ACQ_REL);
    fill(gate, now_of(gate));
    if (qos == VLY_QOS_BEST_EFFORT)
        gate->credit_ns -= (double)spent_ns;
    gate->n_left++;
    gate->usage.steps++;
    gate->usage.spent_ns += spent_ns;
    if (spent_ns > gate->usage.longest_ns)
        gate->usage.longest_ns = spent_ns;
    /* follows long ones at once and short ones slowly */
    gate->typical_ns =
        spent_ns > gate->typical_ns
            ? spent_ns
            : gate->typical_ns - (gate->typical_ns - spent_ns) / 8;
    pthread_cond_broadcast(&gate->done);
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

void vly_gate_pause(vly_gate *gate, bool paused)
{
    pthread_mutex_lock(&gate->lock);
    gate->usage.paused = paused;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

vly_status vly_gate_budget(vly_gate *gate, double budget, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(check_budget(budget, error));
    pthread_mutex_lock(&gate->lock);
    fill(gate, now_of(gate));
    gate->usage.budget = budget;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
out:
    return status;
}

void vly_gate_close(vly_gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->closed = true;
    pthread_cond_broadcast(&gate->changed);
    pthread_cond_broadcast(&gate->done);
    pthread_mutex_unlock(&gate->lock);
}

void vly_gate_usage_get(vly_gate *gate, vly_gate_usage *usage)
{
    pthread_mutex_lock(&gate->lock);
    *usage = gate->usage;
    pthread_mutex_unlock(&gate->lock);
}

/* ---- memory -------------------------------------------------------------- */

/* The rest of seven eighths of the account's quota. */
static uint64_t below_quota(const char *account)
{
    for (uint32_t i = 0; account && i < vly_device_memory_count(); i++) {
        vly_device_usage usage = {.struct_size = sizeof usage};
        if (vly_device_memory_usage(i, &usage) != VLY_OK ||
            strcmp(usage.device, account) != 0 ||
            usage.quota_bytes == UINT64_MAX)
            continue;
        const uint64_t most = usage.quota_bytes - usage.quota_bytes / 8;
        return most > usage.used_bytes ? most - usage.used_bytes : 0;
    }
    return UINT64_MAX;
}

vly_status vly_gate_admit(const vly_memory *memory, uint32_t device,
                          const char *account, uint64_t bytes, vly_error *error)
{
    uint64_t unused = 0;
    uint64_t total = 0;
    vly_status status = VLY_OK;
    VLY_TRY(memory->available(device, &unused, &total, error));
    const uint64_t quota = below_quota(account);
    uint64_t room = unused > total / 8 ? unused - total / 8 : 0;
    room = room < quota ? room : quota;
    if (bytes <= room)
        return VLY_OK;
    vly_fail(error, VLY_E_NOMEM,
             "the monitor needs %llu bytes%s%s, %llu available to it (an "
             "eighth stays for bursts)",
             (unsigned long long)bytes, account ? " of " : "",
             account ? account : "", (unsigned long long)room);
    if (error) {
        error->bytes_requested = bytes;
        error->bytes_available = room;
    }
    status = VLY_E_NOMEM;
out:
    return status;
}
