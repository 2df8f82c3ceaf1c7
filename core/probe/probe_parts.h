/* SPDX-License-Identifier: Apache-2.0
 * Declarations shared by the files of the probe. One lock guards data that nets
 * of several threads write: series, checks and the state of faults; no backend
 * is called under it.
 */
#ifndef VOLLEY_PROBE_PROBE_PARTS_H
#define VOLLEY_PROBE_PROBE_PARTS_H

#include <pthread.h>

#include <volley/accelerator.h>

#include "probe/probe.h"

/* Calls of a backend, in the order of their table. net_create_span is reserved
 * and not wrapped. */
#define PROBE_CALLS(X)                                                         \
    X(device_count)                                                            \
    X(device_info)                                                             \
    X(supports)                                                                \
    X(net_create)                                                              \
    X(net_destroy)                                                             \
    X(net_info)                                                                \
    X(net_run)                                                                 \
    X(field_read)                                                              \
    X(field_write)                                                             \
    X(coef_write)                                                              \
    X(stimulus_write)                                                          \
    X(snapshot_read)                                                           \
    X(weights_read)                                                            \
    X(weights_write)                                                           \
    X(reverse_index)                                                           \
    X(learning_read)                                                           \
    X(learning_write)                                                          \
    X(learning_set)                                                            \
    X(short_term_set)                                                          \
    X(state_digest)

typedef enum probe_call {
#define PROBE_ENUM(name) CALL_##name,
    PROBE_CALLS(PROBE_ENUM)
#undef PROBE_ENUM
        CALL_burst, /* time of a call of net_run by its bursts */
    N_CALLS
} probe_call;

/* name, what must hold */
#define PROBE_CHECKS(X)                                                        \
    X(arguments) /* the host: areas, fields, ranges within the net */          \
    X(inputs)    /* the host: sorted, within the call, below 2^30 */           \
    X(counts)    /* bursts done and spikes within what was asked for */        \
    X(ids)       /* recorded spikes ascend and are of the net */               \
    X(digests)   /* are those of the recorded spikes */                        \
    X(areas)     /* spikes by area sum up to spikes */                         \
    X(events)    /* are the synapses of the recorded spikes */                 \
    X(times)     /* of phases never run backwards */                           \
    X(snapshots) /* counts, rows and ids of a state */                         \
    X(threads)   /* a net has no more than it was given */                     \
    X(failures)  /* a known status, and a sentence */

typedef enum probe_check {
#define PROBE_ENUM(name) CHECK_##name,
    PROBE_CHECKS(PROBE_ENUM)
#undef PROBE_ENUM
        N_CHECKS
} probe_check;

typedef enum probe_fault_kind {
    FAULT_SLOW,
    FAULT_STUCK,
    FAULT_DROP,
    FAULT_CLOCK,
    FAULT_LEAK,
    FAULT_WRONG,
    FAULT_ERROR,
    N_FAULTS
} probe_fault_kind;

/* The request, then its results. */
typedef struct probe_fault {
    char *text;
    probe_fault_kind kind;
    uint64_t at;      /* bursts done when it begins */
    uint64_t length;  /* bursts; UINT64_MAX: to the end */
    double factor;    /* slow: time of a call, times this */
    double us;        /* slow: and so much a burst */
    double ms;        /* stuck, clock */
    double share;     /* drop: of the spikes */
    uint64_t bytes;   /* leak: a burst */
    uint64_t n_times; /* error: so often */
    uint32_t counter; /* stuck: 1: no burst is done, instead of waiting */
    uint32_t both;    /* clock: 1: the steady one too */
    uint32_t device;  /* leak: 1: of the device */
    uint32_t own;     /* wrong: 1: the host sees the real backend of the net */
    uint32_t nomem;   /* error: 1: E_NOMEM */
    uint32_t in;      /* error: probe_call */
    char to[32];      /* wrong: backend */
    uint64_t times;
    uint64_t began;
    uint64_t last;
    uint64_t amount; /* spikes lost, bytes leaked, ns slept */
} probe_fault;

/* text of one fault. Errors  E_INVALID with the column; E_NOMEM */
vly_status vly_probe_fault_read(const char *text, probe_fault *fault,
                                vly_error *error);

typedef struct probe_series {
    vly_probe_series seen;
    char *name;
    uint64_t pending; /* of the burst at hand */
} probe_series;

/* Memory that a leak took. */
typedef struct probe_leak {
    struct probe_leak *next;
    void *memory;
    bool on_device;
    uint32_t index;
    vly_memory table; /* of the device */
} probe_leak;

/* A wrapped backend. Functions without a net argument find it by number. */
typedef struct probe_slot {
    vly_probe *probe; /* NULL: the slot is free */
    char id[32];
    const vly_backend *inner;
    vly_backend table;
    vly_probe_series calls[N_CALLS];
} probe_slot;

struct vly_probe {
    pthread_mutex_t lock;
    vly_registry *registry;
    char *points; /* patterns, each ended by 0 */
    uint32_t n_points;
    char *only;
    bool timed[N_CALLS];
    bool check;
    bool watch; /* areas or maps are asked for */
    vly_probe_checked checks[N_CHECKS];
    probe_fault *faults;
    uint32_t n_faults;
    bool drops;            /* one of them is drop */
    probe_series **series; /* [n_series] areas and maps, by name */
    uint32_t n_series;
    probe_slot *slots[16]; /* [n_slots] in the order they came */
    uint32_t n_slots;
    uint64_t n_nets; /* made so far */
    int64_t wall_ns; /* fault clock */
    int64_t steady_ns;
    vly_device_client *client; /* of leaks on the host */
    probe_leak *leaks;
    uint64_t leaked_host;
    uint64_t leaked_device;
};

/* The k-th pattern. */
const char *vly_probe_pattern(const vly_probe *probe, uint32_t k);

/* A net and the probe's data for it. */
typedef struct vly_backend_net probe_net;
struct vly_backend_net {
    probe_slot *slot;         /* of the requested backend */
    const vly_backend *inner; /* of the actual backend */
    vly_backend_net *net;
    const vly_net_desc *desc;
    vly_net_desc *own_desc; /* all_weights.h: of a wrong backend; or NULL */
    uint64_t burst;         /* done */
    uint32_t index;         /* of the device */
    bool has_gains;
    bool counts_areas;    /* of fault wrong: for a backend without it in place
                           * of one with it */
    uint64_t area_sum;    /* spikes by area before a call that is checked */
    probe_series **areas; /* [n_areas] NULL: not asked for */
    probe_series **maps;  /* [n_projections] */
    uint32_t *spikes;     /* [capacity] where the host wants none */
    uint32_t *gains;      /* [capacity] NULL: has_gains is false */
    uint64_t capacity;
};

/* Members that a host of 1.0 does not have. */
static inline uint64_t *probe_area_spikes(const vly_run *run)
{
    return run->struct_size >= sizeof *run ? run->area_spikes : NULL;
}
/* A host may request neither digests nor counts; then spikes cannot be checked.
 */
static inline bool probe_has_lists(const vly_run *run)
{
    return run->digests && run->spike_counts;
}

/* Of a host of any minor: its structs may be longer. */
static inline const vly_area_desc *probe_area(const vly_net_desc *desc,
                                              uint32_t index)
{
    const char *first = (const char *)desc->areas;
    return (const void *)(first + (size_t)index * desc->area_size);
}
static inline const vly_projection_desc *
probe_projection(const vly_net_desc *desc, uint32_t index)
{
    const char *first = (const char *)desc->projections;
    return (const void *)(first + (size_t)index * desc->projection_size);
}

/* One value, `times` times. The lock is held. */
void vly_probe_add(vly_probe_series *series, uint64_t value, uint64_t times,
                   uint64_t burst);

/* ---- probe_check.c: the lock is held in all of them --------------------- */

/* The check `which` was made; bad: it failed, what says how. */
void vly_probe_look(vly_probe *probe, probe_check which, bool bad,
                    uint64_t burst, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void vly_probe_check_inputs(probe_net *net, const vly_run *run);
/* before: as it was passed to the backend */
void vly_probe_check_run(const probe_net *net, const vly_run *before,
                         const vly_run *run);
void vly_probe_check_snapshot(const probe_net *net,
                              const vly_snapshot *snapshot);
void vly_probe_check_range(const probe_net *net, uint32_t area, uint32_t field,
                           uint32_t first, uint32_t count, const char *call);
void vly_probe_check_failure(vly_probe *probe, uint64_t burst,
                             vly_status status, const vly_error *error,
                             const char *call);

/* ---- probe_inject.c ----------------------------------------------------- */

/* Before a call of net_run: shortens it to where the next fault begins or ends;
 * waits; *skip: do not call the backend. Errors the requested ones */
vly_status vly_probe_before(probe_net *net, vly_run *run, bool *skip,
                            vly_error *error);
/* After it: waits, loses spikes, leaks. ns: time of the backend.
 * Errors  E_NOMEM the leak cannot allocate */
vly_status vly_probe_after(probe_net *net, const vly_run *before, vly_run *run,
                           uint64_t ns, vly_error *error);
/* Whether this call must fail now. */
vly_status vly_probe_fails(vly_probe *probe, probe_call call, uint64_t burst,
                           vly_error *error);
/* The backend for a net instead of slot's; NULL: slot's.
 * Errors  there is none */
vly_status vly_probe_wrong(probe_slot *slot, uint64_t burst,
                           const vly_device_spec *device,
                           vly_device_spec *other, const vly_backend **inner,
                           vly_error *error);
void vly_probe_leaks_free(vly_probe *probe);

/* ---- probe_table.c ------------------------------------------------------ */

/* The backend within a wrapped table, or the table itself. */
const vly_backend *vly_probe_inner(const vly_backend *table);
void vly_probe_slots_free(vly_probe *probe);

/* ---- probe_net.c -------------------------------------------------------- */

vly_status vly_probe_net_run(vly_backend_net *net, vly_run *run,
                             vly_error *error);
/* probe.c: series of areas and maps that are asked for.
 * Errors  E_NOMEM */
vly_status vly_probe_net_watch(probe_net *net, vly_error *error);
void vly_probe_net_free(probe_net *net);

#endif
