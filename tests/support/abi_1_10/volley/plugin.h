/* SPDX-License-Identifier: Apache-2.0
 * The plugin ABI: the only header a plugin sees.
 *
 * A plugin is a shared object that exports one data symbol, `vly_plugin_entry`
 * (a const vly_plugin). Interfaces are found by string id with a revision.
 * Rules of every struct here: struct_size first (where a struct is passed by
 * pointer), fixed-width members, no hidden padding, grown only at the end,
 * sealed by a static assertion. A different minor version is never refused; a
 * breaking change is a new interface id or a new major version.
 *
 * Changelog
 *   1.0  first version: volley.backend/1
 *   1.1  vly_run.area_spikes, which backends with VLY_BACKEND_AREA_SPIKES in
 *        vly_backend.flags (reserved, 0, before) fill
 *   1.2  VLY_BACKEND_EMULATED in vly_backend.flags
 *   1.3  vly_host.device_memory in place of a reserved pointer, which is NULL
 *        in older hosts; with it vly_device_memory and vly_device_allocator
 *   1.4  vly_projection_desc.shift. A host never gives a net with a nonzero
 *        shift to a plugin that was built with an older minor. VLY_BACKEND_HOST
 *        in vly_backend.flags; vly_plugin.auto_rank and aliases in place of
 *        reserved pointers, which are NULL in older plugins
 *   1.5  plasticity: vly_projection_desc.learning with vly_learning_desc;
 *        vly_snapshot.weights; learning_read, learning_write and learning_set
 *        in place of reserved pointers of vly_backend. A host gives a net that
 *        learns only to a backend with VLY_BACKEND_LEARNS
 *   1.6  short-term plasticity: vly_projection_desc.short_term with
 *        vly_short_term_desc; short_term_set in place of a reserved pointer of
 *        vly_backend. A host gives a net with it only to a backend with
 *        VLY_BACKEND_SHORT_TERM
 *        rules with an eligibility: vly_learning_desc.modulator, interval and
 *        modulator_area; eligibilities and modulators in vly_snapshot.weights;
 *        vly_run.modulations. A host gives a net with such a rule only to a
 *        backend with VLY_BACKEND_MODULATES
 *        rules of windows: VLY_LEARNING_WINDOW, at FEAGI targets too. A host
 *        never gives a net with them to a plugin that was built with an older
 *        minor
 *   1.7  models of users: vly_area_desc.program with vly_program. A host gives
 *        a net with one only to a backend with VLY_BACKEND_PROGRAMS
 *   1.8  ranks: vly_net_desc.ranks with vly_ranks and vly_piece. A host gives a
 *        net with them only to a backend with VLY_BACKEND_RANKS
 *   1.9  vly_backend.prepare in place of a reserved pointer, which is NULL in
 *        older plugins
 *   1.10 vly_projection_desc.one_weight in place of a reserved word; weight may
 *        be NULL. A host gives a plugin that was built with an older minor
 *        every weight
 */
#ifndef VOLLEY_PLUGIN_H
#define VOLLEY_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define VLY_SEAL(type, bytes)                                                  \
    static_assert(sizeof(type) == (bytes), #type " changed its size")
#else
#define VLY_SEAL(type, bytes)                                                  \
    _Static_assert(sizeof(type) == (bytes), #type " changed its size")
#endif

#define VLY_ABI_MAJOR 1u
#define VLY_ABI_MINOR 10u
/* version word: major in the high half, minor in the low half */
#define VLY_ABI_VERSION (VLY_ABI_MAJOR << 16 | VLY_ABI_MINOR)

/* ---- status codes: who can act ---------------------------------------- */

/* X(name, value, exit code of the command, text) */
#define VLY_STATUS_TABLE(X)                                                    \
    X(OK, 0, 0, "ok")                                                          \
    X(E_INVALID, -1, 2, "invalid argument")                                    \
    X(E_PARSE, -2, 2, "invalid input file")                                    \
    X(E_IO, -3, 4, "input or output failed")                                   \
    X(E_NOMEM, -4, 5, "out of memory")                                         \
    X(E_UNSUPPORTED, -5, 3, "not supported by this backend")                   \
    X(E_DEVICE, -6, 3, "device not available or failed")                       \
    X(E_ABI, -7, 3, "plugin does not fit this engine")                         \
    X(E_STOPPED, -8, 6, "stopped by a signal")

typedef int32_t vly_status;
enum {
#define VLY_STATUS_ENUM(name, value, exit_code, text) VLY_##name = (value),
    VLY_STATUS_TABLE(VLY_STATUS_ENUM)
#undef VLY_STATUS_ENUM
};

/* Description of a failure. The caller sets struct_size; NULL is accepted
 * wherever a vly_error * is taken. Messages state the place, what was found and
 * what was wanted.
 */
typedef struct vly_error {
    uint32_t struct_size;
    int32_t status;
    uint64_t bytes_requested; /* E_NOMEM only, otherwise 0 */
    uint64_t bytes_available; /* E_NOMEM only, 0 if unknown */
    char message[1000];
} vly_error;
VLY_SEAL(vly_error, 1024);

/* ---- services of the host --------------------------------------------- */

enum {
    VLY_LOG_DEBUG = 0,
    VLY_LOG_INFO = 1,
    VLY_LOG_WARN = 2,
    VLY_LOG_ERROR = 3
};

/* Classes of service for device memory, most important first. */
enum {
    VLY_QOS_GUARANTEED = 0,  /* bursts */
    VLY_QOS_BURSTABLE = 1,   /* may fill 15/16 of a device */
    VLY_QOS_BEST_EFFORT = 2, /* the monitor; may fill 7/8 */
};

/* The plugin's own allocator on one device, as the host calls it: from any
 * thread, with no lock held. It calls nothing of vly_device_memory. kind is
 * defined by the plugin (a type of memory): freed memory is reused for the same
 * kind only. memory is defined by the plugin, for example a device pointer; two
 * blocks never have the same value at the same time. */
typedef struct vly_device_allocator {
    uint32_t struct_size;
    uint32_t reserved;
    /* "cuda:0", "vulkan:1", "host": plugins with the same name share the
     * device's account. At most 31 characters, copied */
    const char *device;
    void *context; /* first argument of every function below */
    /* Not cleared. Errors  E_NOMEM with bytes requested and available */
    vly_status (*alloc)(void *context, uint32_t kind, uint64_t bytes,
                        void **memory, vly_error *error);
    void (*free)(void *context, uint32_t kind, void *memory);
    /* [optional] bytes of the device, called once at the first allocation; 0:
     * unknown */
    uint64_t (*total)(void *context);
} vly_device_allocator;
VLY_SEAL(vly_device_allocator, 48);

typedef struct vly_device_client vly_device_client; /* the host's own */

/* Device memory by the host's policy: freed memory is kept for reuse, up to a
 * limit; a device has a quota; memory that was declared reloadable is dropped,
 * least recently used first, when a client of the same or a more important
 * class needs it. All functions are [any-thread]. alloc may call drop of any
 * plugin, so a caller of alloc or free must not hold a lock that a drop takes.
 */
typedef struct vly_device_memory {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    /* context: of vly_host. The allocator is copied, its context lives until
     * close.
     * Errors  E_INVALID; E_NOMEM */
    vly_status (*open)(void *context, const vly_device_allocator *allocator,
                       vly_device_client **client, vly_error *error);
    /* Frees the memory that is kept for the client. Memory that the client has
     * not freed is logged and stays allocated. No other call of the client may
     * be running. NULL is legal. */
    void (*close)(vly_device_client *client);
    /* At least this many bytes, not cleared: may hold old data of another net.
     * qos: VLY_QOS_*
     * Errors  E_NOMEM with bytes requested and available, after all reloadable
     *         memory has been dropped; E_INVALID; those of the allocator
     */
    vly_status (*alloc)(vly_device_client *client, uint32_t kind,
                        uint64_t bytes, uint32_t qos, void **memory,
                        vly_error *error);
    /* No work that uses the memory may be running: its next user may work in
     * another stream. NULL is legal; a pointer that does not belong to the
     * client is logged and ignored. If the memory is being dropped, waits for
     * the end of drop. */
    void (*free)(vly_device_client *client, void *memory);
    /* From now on the host may drop the memory: it calls drop(arg), and the
     * memory must not be used afterwards. drop may call free for this memory
     * (otherwise the host frees it) and release, but no other function of this
     * table. token distinguishes the memory from later memory with the same
     * pointer.
     * Errors  E_INVALID not memory of the client, or already reloadable */
    vly_status (*reloadable)(vly_device_client *client, void *memory,
                             void (*drop)(void *arg), void *arg,
                             uint64_t *token, vly_error *error);
    /* 1: the memory exists and stays until release (one release for each hold);
     * 0: it has been dropped or is being dropped: load the data again. */
    uint32_t (*hold)(vly_device_client *client, void *memory, uint64_t token);
    /* Marks it as the most recently used. */
    void (*release)(vly_device_client *client, void *memory, uint64_t token);
    void *reserved[7]; /* NULL */
} vly_device_memory;
VLY_SEAL(vly_device_memory, 120);

/* Lives longer than the plugin. Every function is [any-thread]. */
typedef struct vly_host {
    uint32_t struct_size;
    uint32_t abi_version;
    void *context; /* first argument of every function below */
    /* NULL on failure; align is a power of two, at most 4096; not cleared */
    void *(*alloc)(void *context, uint64_t bytes, uint64_t align);
    void (*free)(void *context, void *memory); /* NULL is legal */
    void (*log)(void *context, int32_t level, const char *message);
    /* Runs body(arg, 0) ... body(arg, n_tasks - 1), each task on its own thread
     * and all at the same time, so tasks may wait for each other;
     * returns when all are done. 1 <= n_tasks <= 1024.
     * Errors  E_NOMEM no thread could be made; then no task has run */
    vly_status (*parallel_for)(void *context, uint32_t n_tasks,
                               void (*body)(void *arg, uint32_t task),
                               void *arg);
    uint64_t (*clock_ns)(void *context); /* monotonic */
    /* one named sample; name is a literal; dropped if there is no listener */
    void (*telemetry)(void *context, const char *name, double value);
    /* 1.3: NULL in older hosts: then a plugin allocates by itself */
    const vly_device_memory *device_memory;
    void *reserved[3]; /* NULL */
} vly_host;
VLY_SEAL(vly_host, 96);

typedef struct vly_plugin {
    uint32_t struct_size;
    uint32_t abi_version; /* VLY_ABI_VERSION the plugin was built with */
    const char *id;       /* "cpu", "cuda": [a-z][a-z0-9_]*, at most 31 */
    const char *version;  /* version of the plugin, for display */
    const char *build;    /* compiler and options, for display */
    /* Called once, before all other functions, when the plugin is first
     * requested or listed. May fail with a message: the plugin stays listed
     * with that reason. [main-thread], or the thread of a net that is moved to
     * it, or that of prepare */
    vly_status (*init)(const vly_host *host, vly_error *error);
    void (*deinit)(void); /* only after an init that returned VLY_OK */
    /* NULL if the interface is not offered; valid until deinit */
    const void *(*get_interface)(const char *id);
    /* 1.4: the backend "auto" tries plugins by descending rank, and those of
     * the same rank in the order of their list; 0: only if asked for by its id
     */
    uint32_t auto_rank;
    uint32_t reserved; /* 0 */
    /* 1.4: other names for the id, separated by spaces ("gpu nvidia"): a
     * message proposes the id. NULL: none */
    const char *aliases;
} vly_plugin;
VLY_SEAL(vly_plugin, 72);

#if defined(_WIN32)
#define VLY_EXPORT __declspec(dllexport)
#else
#define VLY_EXPORT __attribute__((visibility("default")))
#endif
#define VLY_PLUGIN_SYMBOL "vly_plugin_entry"

/* ---- volley.backend/1: description of a net --------------------------- */

#define VLY_BACKEND_INTERFACE "volley.backend/1"

/* Element types of a column. Every element is one 32-bit word. */
enum { VLY_TYPE_F32 = 0, VLY_TYPE_U32 = 1 };

/* Values of one field or coefficient over the neurons of one area. */
typedef struct vly_column {
    const uint32_t *words; /* [1] if uniform, or [n_neurons of the area] */
    uint32_t uniform;      /* 1: one word for all neurons */
    uint32_t type;         /* VLY_TYPE_* */
} vly_column;
VLY_SEAL(vly_column, 16);

enum {
    VLY_AREA_FEAGI = 1u, /* updates candidates only; synapses use gains */
};

/* 1.7: operations of a program. UNIFORM takes the draw u of vly_stimulus_desc
 * with stream a: (u >> 8) 2^-24. X(name, operands that are values, meaning).
 * Floats are single precision, each + - * rounded once to nearest even, no
 * operation fused with another; a truth is 0 or 1. kernels/models/program.h has
 * those that are more than one operation. */
#define VLY_PROGRAM_TABLE(X)                                                   \
    X(NUMBER, 0, "the float with bits a")                                      \
    X(FIELD, 0, "state field a at the start of the burst")                     \
    X(COEF, 0, "coefficient a")                                                \
    X(INPUT, 0, "input of port a in this burst, times its scale")              \
    X(UNIFORM, 0, "in [0, 1): the word of this burst and neuron of stream a")  \
    X(ADD, 2, "a + b")                                                         \
    X(SUBTRACT, 2, "a - b")                                                    \
    X(MULTIPLY, 2, "a * b")                                                    \
    X(NEGATE, 1, "a with its sign changed")                                    \
    X(ABSOLUTE, 1, "a without its sign")                                       \
    X(INVERSE, 1, "1 / a: vly_inverse_f32")                                    \
    X(ROOT, 1, "square root of a: vly_root_f32")                               \
    X(EXP, 1, "e^a: vly_exp_f32")                                              \
    X(DECAY_MEAN, 1, "(1 - e^-a) / a: vly_decay_mean_f32")                     \
    X(STORE, 1, "vly_store(a, float with bits b, float with bits c)")          \
    X(LESS, 2, "whether a < b; of NaN: not")                                   \
    X(AT_MOST, 2, "whether a <= b; of NaN: not")                               \
    X(AND, 2, "both truths")                                                   \
    X(OR, 2, "one of two truths")                                              \
    X(NOT, 1, "not truth a")                                                   \
    X(IS_ZERO, 1, "whether the whole number a is 0")                           \
    X(COUNT_DOWN, 1, "the whole number a less 1, 0 of 0")                      \
    X(SELECT, 3, "b where truth a holds, otherwise c; any type")

typedef enum vly_program_code {
#define VLY_PROGRAM_ENUM(name, reads, text) VLY_PROGRAM_##name,
    VLY_PROGRAM_TABLE(VLY_PROGRAM_ENUM)
#undef VLY_PROGRAM_ENUM
        VLY_PROGRAM_CODES
} vly_program_code;

#define VLY_PROGRAM_MAX_OPS 1024u
#define VLY_PROGRAM_MAX_FIELDS 24u
#define VLY_PROGRAM_MAX_COEFS 160u

/* Operation i makes value i of values before it. */
typedef struct vly_program_op {
    uint32_t code; /* vly_program_code */
    uint32_t a;
    uint32_t b;
    uint32_t c;
} vly_program_op;
VLY_SEAL(vly_program_op, 16);

/* One burst of one neuron of a user's model. */
typedef struct vly_program {
    uint32_t struct_size;
    uint32_t n_ops;
    uint32_t n_fields; /* those of the area */
    uint32_t fired;    /* value: the truth whether the neuron fires */
    const vly_program_op *ops;
    const uint32_t *out; /* [n_fields] values that the fields become */
    /* of every value, in the order of ops: VLY_TYPE_* */
    const uint32_t *types;
} vly_program;
VLY_SEAL(vly_program, 40);

/* Neurons of one area have consecutive global ids; areas follow each other
 * without gaps, from id 0. The host has checked every value it passes:
 * coefficients and fields are within the bounds of the model's table. */
typedef struct vly_area_desc {
    const char *name;
    const char *model;   /* id in kernels/models */
    uint64_t model_hash; /* of the model's table; a mismatch is refused */
    uint32_t first;      /* global id of the first neuron */
    uint32_t n_neurons;
    uint32_t flags;   /* VLY_AREA_* */
    uint32_t n_ports; /* 1 or 2; 1.7: up to 4 with a program */
    float scale[2];   /* input = (float)accumulator * scale[port]; 2^-q */
    const vly_column *coefs; /* [n_coefs] in the order of the model's table */
    uint32_t n_coefs;
    uint32_t n_fields; /* state fields, in the order of the model's table */
    /* 1.7, valid only if area_size covers it: the step of a user's model; then
     * model is the user's name for it. NULL: a model of kernels/models */
    const vly_program *program;
    float scale_more[2]; /* 1.7, as program: of ports 2 and 3 */
} vly_area_desc;
VLY_SEAL(vly_area_desc, 80);
#define VLY_AREA_BYTES_1_0 64u
#define VLY_AREA_BYTES_1_7 80u
#define VLY_PORTS_MAX 4u

enum {
    /* of an area of two ports: weight >= 0: port 0, weight < 0: port 1. Of
     * three ports and more 2 is a port (1.7). */
    VLY_PORT_BY_SIGN = 2,
};
enum {
    VLY_PROJECTION_GAIN = 1u,    /* FEAGI target: an event adds weight * gain */
    VLY_PROJECTION_PLASTIC = 2u, /* weights may change while the net runs */
    /* 1.6: an event adds weight * the gain of its spike; not with one of the
     * others */
    VLY_PROJECTION_SHORT_TERM = 4u,
};

enum {
    VLY_LEARNING_NEGATIVE = 1u,  /* weights are at most 0 */
    VLY_LEARNING_DENDRITIC = 2u, /* the delay is on the target's side */
    VLY_LEARNING_NEAREST = 4u,   /* a spike sets a trace to 1 instead of adding
                                    1: nearest neighbours only */
    VLY_LEARNING_FROZEN = 8u,    /* traces go on, weights stay as they are */
    VLY_LEARNING_WINDOW = 16u,   /* 1.6: a rule of windows */
};

/* A trace that was x at its last spike is x * exp(-k * rate) k bursts later
 * (vly_trace_at of kernels/rules/rule.h), and 0 from `bursts` on. */
typedef struct vly_learning_trace {
    float rate;      /* dt / tau */
    uint32_t bursts; /* 0: the rule does not have it; at most 2^24 */
} vly_learning_trace;
VLY_SEAL(vly_learning_trace, 8);

/* 1.5: how the synapses of a projection learn: a rule of kernels/rules.
 *
 * The size |w| of a weight is an int32 m in [0, most], in units of 2^-16 of the
 * unit of `weight`; m starts as |weight| << 16. An event adds (m + 2^15) >> 16,
 * with the sign of the projection, in place of |weight|.
 *
 * A spike of the source in burst s arrives in burst b = s + base_delay. For the
 * synapse, a spike of the target in burst t happens in burst t + lag, where lag
 * is 0, or 2 * base_delay if DENDRITIC: with both times less base_delay that is
 * s and t + base_delay. Of all events of a synapse, in the order of their
 * bursts, each changes m by the rule's function: `pre` at an arrival (before it
 * is delivered), `post` at a spike of the target. In the same burst the arrival
 * comes first, or the spike of the target if DENDRITIC. Traces x of the source
 * and y of the target are those before this burst, so that of two events of the
 * same burst neither sees the other. A rule's `post` changes nothing if all x
 * are 0.
 *
 * The result depends on spike trains only. A backend may evaluate a synapse
 * when an event arrives and not before.
 *
 * 1.6: a rule with an eligibility (kernels/rules/eligibility.h) changes an
 * int32 e of each synapse, at first 0, where others change m. In every burst
 * that is a multiple of `interval`, before the arrivals and after all events of
 * earlier bursts, each m and e change by the rule's functions `weight` and
 * `fade`, with the modulator d of that burst. d is a trace, at first 0, that
 * the rule's function `modulator` changes at the end of a burst in which
 * neurons of modulator_area fired or a value was given (vly_run.modulations).
 * FROZEN: e stays too, and d goes on.
 *
 * With WINDOW (never with DENDRITIC or NEAREST; every rate is 0) the bursts of
 * arrivals do not matter. The trace of a neuron is its run: the number of
 * bursts in a row with a spike, up to its last spike, at most D = `bursts`.
 * After the spikes of burst t, from t = D - 1 on, and before the arrivals of
 * burst t + 1 are delivered, the rule's `post` changes each m: x0 and y0 are
 * those of vly_window_state (kernels/rules/rule.h), x1 and y1 are 0. At FEAGI
 * targets an event adds m as above times its gain. */
typedef struct vly_learning_desc {
    uint32_t struct_size;
    uint32_t flags;        /* VLY_LEARNING_* */
    const char *rule;      /* id in kernels/rules */
    uint64_t rule_hash;    /* of the rule's table; a mismatch is refused */
    const uint32_t *coefs; /* [n_coefs] in the order of the rule's table */
    uint32_t n_coefs;
    uint32_t most;                /* at most 32767 << 16 */
    vly_learning_trace source[2]; /* x0, x1 */
    vly_learning_trace target[2]; /* y0, y1 */
    /* 1.6, valid only if struct_size covers it, otherwise 0 */
    vly_learning_trace modulator; /* bursts 0: no eligibility, no modulator */
    uint32_t interval;            /* bursts, at least 1 with a modulator */
    uint32_t modulator_area;      /* UINT32_MAX: none */
} vly_learning_desc;
VLY_SEAL(vly_learning_desc, 88);
/* Size that a backend of any minor may rely on. */
#define VLY_LEARNING_BYTES_1_5 72u

/* 1.6: gains of the spikes of a projection's sources: a rule of short-term
 * plasticity of kernels/rules.
 *
 * Each source has a state (vly_short_term of kernels/rules/short_term.h). Each
 * of its spikes, in the order of their bursts, replaces the state by that of
 * the rule's function, with h the bursts since the spike before (from burst
 * `bursts` on, and without one, the function gets vly_short_term_rest), and
 * has the gain of the new state: 0 to 2^16. Its event at a synapse of weight w
 * adds vly_short_term_event(w, gain, shift), which is (w * gain + (2^15 >>
 * shift)) >> (16 - shift), an arithmetic shift, in place of w << shift. With
 * VLY_PORT_BY_SIGN w chooses the port, also where 0 is added.
 *
 * The gains are those of a spike train, so it makes no difference whether they
 * are computed when a spike is fired or when it arrives. */
typedef struct vly_short_term_desc {
    uint32_t struct_size;
    uint32_t flags;        /* 0 */
    const char *rule;      /* id in kernels/rules */
    uint64_t rule_hash;    /* of the rule's table; a mismatch is refused */
    const uint32_t *coefs; /* [n_coefs] in the order of the rule's table */
    uint32_t n_coefs;
    uint32_t bursts; /* at most 2^26 */
} vly_short_term_desc;
VLY_SEAL(vly_short_term_desc, 40);

/* Synapses of one map from one area to one area, in rows by source. The rows
 * of source k are [row[k], row[k + 1]); targets ascend within a row. An event
 * of a spike in burst t arrives in burst t + base_delay + delay[i]. */
typedef struct vly_projection_desc {
    const char *map; /* name of the map it came from */
    uint32_t source_area;
    uint32_t target_area;
    const uint64_t *row;    /* [n_neurons of the source area + 1], row[0] = 0 */
    const uint32_t *target; /* [row[n]] global neuron ids */
    const int16_t *weight;  /* [row[n]] in units of the target port's 2^-q,
                               times 2^shift. 1.10: may be NULL if the
                               projection does not learn; then each weight is
                               one_weight. It may be NULL on one rank and not
                               on another. */
    const uint8_t *delay;   /* [row[n]] bursts added to base_delay; NULL: 0 */
    uint32_t base_delay;    /* bursts, at least 1 */
    uint32_t delay_max;     /* largest of delay[], 0 if NULL */
    uint32_t port;          /* of the target area, or VLY_PORT_BY_SIGN */
    uint32_t flags;         /* VLY_PROJECTION_* */
    /* 1.4, valid only if projection_size covers it, otherwise 0: an event adds
     * weight * 2^shift to the port; 0, 6 or 12; 0 at FEAGI targets */
    uint32_t shift;
    /* 1.10, valid only if weight is NULL, otherwise 0 */
    int32_t one_weight;
    /* 1.5, valid only if projection_size covers it; NULL unless
     * VLY_PROJECTION_PLASTIC is set; then delay is NULL. */
    const vly_learning_desc *learning;
    /* 1.6, valid only if projection_size covers it; NULL unless
     * VLY_PROJECTION_SHORT_TERM is set. */
    const vly_short_term_desc *short_term;
} vly_projection_desc;
VLY_SEAL(vly_projection_desc, 88);
/* Size that a backend of any minor may rely on, the size with a shift, with
 * learning, and with short-term plasticity. */
#define VLY_PROJECTION_BYTES_1_0 64u
#define VLY_PROJECTION_BYTES_1_4 72u
#define VLY_PROJECTION_BYTES_1_5 80u
#define VLY_PROJECTION_BYTES_1_6 88u
/* The shifts are multiples of this one. */
#define VLY_SHIFT_STEP 6u
#define VLY_SHIFT_MAX 12u

/* The weight of synapse i, in the units of weight. */
static inline int32_t vly_weight_at(const vly_projection_desc *projection,
                                    uint64_t i)
{
    return projection->weight ? projection->weight[i] : projection->one_weight;
}

enum {
    VLY_STIMULUS_ALWAYS = 1u, /* k = 0 is an event too (normal, not poisson) */
};

/* Random input that depends only on its own draw: in every burst t of [start,
 * stop), neuron id draws u = word (t & 3) of Philox4x32-10 with key seed_input
 * and counter ((t >> 2) low, (t >> 2) high, id, stream); k = number of
 * thresholds not above u; base + k * step is added to its port. With k = 0
 * nothing arrives, unless VLY_STIMULUS_ALWAYS is set. All neurons are in one
 * area. */
typedef struct vly_stimulus_desc {
    const uint32_t *thresholds; /* [n_thresholds] ascending */
    uint32_t n_thresholds;      /* at most 256 */
    uint32_t first;             /* global id of the first neuron */
    uint32_t n_neurons;
    uint32_t stream;
    uint64_t start; /* first burst */
    uint64_t stop;  /* first burst after; UINT64_MAX: never */
    int32_t base;
    int32_t step;
    uint32_t port;
    uint32_t flags; /* VLY_STIMULUS_* */
} vly_stimulus_desc;
VLY_SEAL(vly_stimulus_desc, 56);

/* The whole net. Everything it points to stays valid and unchanged until
 * net_destroy, so a backend may read the synapses in place. */
/* 1.8: what one rank gave. data is aligned to 16 bytes. */
typedef struct vly_piece {
    const void *data;
    uint64_t n_bytes;
} vly_piece;
VLY_SEAL(vly_piece, 16);

/* 1.8: ranks, usually processes, that run one net together: each updates its
 * own neurons and delivers to them. The description is the same on all ranks,
 * except that a rank may have only the synapses onto its own neurons. The
 * results of a run, snapshots and fields are those of the whole net on every
 * rank. So net_create, net_run, snapshot_read, state_digest, field_read and
 * learning_read wait for the other ranks, which make the same calls in the same
 * order with the same arguments; all other functions are called alike too. */
typedef struct vly_ranks {
    uint32_t struct_size;
    uint32_t rank;
    uint32_t n_ranks;
    uint32_t reserved;
    /* [n_ranks + 1] ascending; those of rank r are first[r] to first[r + 1] -
     * 1, maybe none. Within an area they begin at a multiple of 64. */
    const uint32_t *first;
    void *context;
    /* [burst-thread] Every rank gives n_bytes and gets pieces[n_ranks], which
     * stay until the next call. tag: the same on all ranks, below 2^61. After
     * an error the net has failed. */
    vly_status (*gather)(void *context, uint64_t tag, const void *mine,
                         uint64_t n_bytes, const vly_piece **pieces,
                         vly_error *error);
} vly_ranks;
VLY_SEAL(vly_ranks, 40);

typedef struct vly_net_desc {
    uint32_t struct_size;
    uint32_t area_size;       /* sizeof(vly_area_desc) of the host: stride */
    uint32_t projection_size; /* the same for projections */
    uint32_t stimulus_size;   /* the same for stimuli */
    uint32_t n_neurons;
    uint32_t n_areas;
    uint32_t n_projections;
    uint32_t n_stimuli;
    const vly_area_desc *areas;
    const vly_projection_desc *projections;
    const vly_stimulus_desc *stimuli;
    /* [n_neurons] outgoing synapses of each neuron over all projections */
    const uint32_t *out_degree;
    uint64_t n_synapses;
    uint64_t seed_input; /* key of all draws at run time */
    uint32_t max_delay;  /* largest base_delay + delay_max, and 2 * base_delay
                            of what learns DENDRITIC; at least 1 */
    uint32_t feagi_q;    /* Q: gains are psp << Q; other sources have 1 << Q */
    double dt_ms;
    uint64_t genome_hash[2];
    const vly_ranks *ranks; /* 1.8: NULL: one process has the whole net */
} vly_net_desc;
VLY_SEAL(vly_net_desc, 120);
/* sizeof(vly_net_desc) before 1.8 */
#define VLY_NET_DESC_BYTES_1_0 112u

/* The state of a net between two bursts, the same on every backend. The
 * caller owns all memory. state holds the fields area by area, field by field
 * (in the order of the model's table), neuron by neuron: one word each.
 * Fired set j (0 <= j < n_fired_bursts) is that of burst
 * burst - n_fired_bursts + j: ids fired[fired_row[j]] .. fired[fired_row[j+1]]
 * ascending, with their gains. n_fired_bursts = min(burst, max_delay). */
typedef struct vly_snapshot {
    uint32_t struct_size;
    uint32_t n_fired_bursts;
    uint64_t burst; /* bursts done */
    uint64_t n_state_words;
    uint64_t n_fired;
    uint32_t *state;      /* [n_state_words] */
    uint64_t *fired_row;  /* [n_fired_bursts + 1] */
    uint32_t *fired;      /* [n_fired] */
    uint32_t *fired_gain; /* [n_fired] */
    /* 1.5: the words of all plastic projections, in the order of the net. For
     * each, where n is the number of neurons of the area named:
     *     int32 m of each synapse;
     *     1.6, a rule with an eligibility: int32 e of each synapse;
     *     for each trace x of the rule, source area: float x [n] after the last
     *         arrival before `burst`, uint32 age [n];
     *     for each trace y, target area: float y [n] after the last spike with
     *         burst + lag before `burst`, uint32 age [n];
     *     1.6, a rule with an eligibility: float d after the last change of the
     *         modulator, uint32 age.
     * An age is the number of bursts from that arrival, spike (its burst + lag)
     * or change to `burst`. A trace that its age has made 0, or that never had
     * an event, is 0 with the age UINT32_MAX. With WINDOW a trace x is that
     * after the last spike of the source, like y.
     * 1.6: projections with short-term plasticity are among them, in the same
     * order: float x [n], u [n], y [n] and uint32 age [n] over the neurons of
     * the source area. They are the state after the spikes of bursts before T,
     * and the number of bursts from the last of these spikes to T, where T is
     * burst - (base_delay + delay_max), or 0 if that is negative. The fired
     * sets have the later spikes: with this state they give the gains of all
     * events under way. A state whose age is `bursts` or more is stored as
     * vly_short_term_rest with the age UINT32_MAX; one with y below 0 has the
     * age UINT32_MAX too.
     * NULL if the net has neither kind of projection. */
    void *weights;
    uint64_t n_weight_bytes; /* a multiple of 4 */
} vly_snapshot;
VLY_SEAL(vly_snapshot, 80);

/* Input of the host for one neuron and burst: spike lists and injection,
 * summed by the host, |value| < 2^30. An event even if value is 0. */
typedef struct vly_input {
    uint64_t burst;
    uint32_t neuron;
    int32_t value; /* units of the port's 2^-q; 2^-Q at FEAGI targets */
    uint32_t port;
    uint32_t reserved;
} vly_input;
VLY_SEAL(vly_input, 24);

enum { VLY_RUN_RECORD = 1u }; /* fill spikes (and spike_gains if not NULL) */

/* One call of net_run. Times are added to, the rest is set. */
typedef struct vly_run {
    uint32_t struct_size;
    uint32_t flags;
    uint64_t n_bursts;       /* wanted */
    uint64_t n_bursts_done;  /* (out) less if spikes is full or stop is set */
    const vly_input *inputs; /* [n_inputs] sorted by burst, neuron, port */
    uint64_t n_inputs;
    const uint32_t *stop;   /* not 0: end after the current burst (the first
                               one is always run); may be written by a signal
                               handler; or NULL */
    uint64_t *digests;      /* [n_bursts] D_t of design: sum of spike hashes */
    uint32_t *spike_counts; /* [n_bursts] */
    uint32_t *spikes;       /* [spikes_capacity] ids, ascending in a burst */
    uint32_t *spike_gains;  /* [spikes_capacity] or NULL */
    uint64_t spikes_capacity; /* at least n_neurons when recording; 1.8: of a
                                 rank that does not record, the room of the one
                                 that does, or 0 */
    uint64_t n_spikes;        /* (out) written to spikes */
    uint64_t n_events;        /* (out) synaptic events delivered: the synapses
                                 of the spikes that fired in these bursts */
    uint64_t n_candidates;    /* (out) neurons updated */
    uint64_t delivery_ns;     /* (out) added to; 0 if not measured */
    uint64_t dynamics_ns;
    uint64_t exchange_ns;
    uint64_t drain_ns;
    /* 1.1, valid only if struct_size covers it: [n_areas] spikes of these
     * bursts by area, added to; NULL: not wanted. Requested only from backends
     * with VLY_BACKEND_AREA_SPIKES; from others ids are requested instead. */
    uint64_t *area_spikes;
    /* 1.6, valid only if struct_size covers it: values for modulators, one for
     * each burst and projection, sorted by them. `neuron` is the projection,
     * `value` in units of 2^-16, |value| < 2^30; port is 0. */
    const vly_input *modulations; /* [n_modulations] */
    uint64_t n_modulations;
} vly_run;
VLY_SEAL(vly_run, 168);
/* Size that a backend of any minor may rely on, and that with area_spikes. */
#define VLY_RUN_BYTES_1_0 144u
#define VLY_RUN_BYTES_1_1 152u

typedef struct vly_device_info {
    uint32_t struct_size;
    uint32_t index;
    char name[128];
    char capability[64];   /* "compute capability 9.0", "8 threads, AVX2" */
    uint64_t memory_bytes; /* 0 if unknown */
} vly_device_info;
VLY_SEAL(vly_device_info, 208);

/* The device requested by "cpu:4" (VLY_BACKEND_HOST), "cuda:1" and --threads.
 */
typedef struct vly_device_spec {
    uint32_t struct_size;
    uint32_t index;     /* device; 0 by default */
    uint32_t n_threads; /* host threads to use, at least 1 */
    uint32_t reserved;
    const char *options; /* "plan=partitioned": for tests; or NULL */
} vly_device_spec;
VLY_SEAL(vly_device_spec, 24);

typedef struct vly_net_info {
    uint32_t struct_size;
    uint32_t n_threads;
    uint64_t host_bytes;   /* bytes that the net allocated on the host */
    uint64_t device_bytes; /* and on the device */
    char plan[256];        /* description of how it runs */
} vly_net_info;
VLY_SEAL(vly_net_info, 280);

typedef struct vly_backend_net vly_backend_net; /* the backend's own */

enum {
    VLY_BACKEND_AREA_SPIKES = 1u, /* net_run fills area_spikes if requested */
    /* 1.2: device 0 is an emulation on the processors, which the cpu backend
     * uses better; it is used only if requested by name. May be set by init. */
    VLY_BACKEND_EMULATED = 2u,
    /* 1.4: the device is the host's processors. There is one; the number after
     * the id is the number of threads, as in "cpu:4". */
    VLY_BACKEND_HOST = 4u,
    /* 1.5: takes nets with plastic projections; learning_read, learning_write
     * and learning_set are there. */
    VLY_BACKEND_LEARNS = 8u,
    /* 1.6: takes projections with short-term plasticity; short_term_set is
     * there. */
    VLY_BACKEND_SHORT_TERM = 16u,
    /* 1.6: VLY_BACKEND_LEARNS is set too, and the backend takes rules with an
     * eligibility and reads vly_run.modulations. */
    VLY_BACKEND_MODULATES = 32u,
    /* 1.7: takes areas with a program. */
    VLY_BACKEND_PROGRAMS = 64u,
    /* 1.8: takes a net that ranks run together. */
    VLY_BACKEND_RANKS = 128u,
};

/* Every function that can fail returns a status and, if error is not NULL, a
 * message; out-parameters are then untouched. A net is used by one thread at a
 * time. Slots marked [optional] may be NULL. */
typedef struct vly_backend {
    uint32_t struct_size;
    uint32_t flags;                 /* VLY_BACKEND_*, from 1.1 on; 0 before */
    uint32_t (*device_count)(void); /* 0: none, the message of net_create has
                                     * the reason */
    vly_status (*device_info)(uint32_t index, vly_device_info *info,
                              vly_error *error);
    /* OK, or E_UNSUPPORTED with the reason: model, table hash, size.
     * Reads only the descriptions; builds nothing. */
    vly_status (*supports)(const vly_net_desc *desc, vly_error *error);
    /* Builds a net in the state of the snapshot. All or nothing. */
    vly_status (*net_create)(const vly_device_spec *device,
                             const vly_net_desc *desc,
                             const vly_snapshot *snapshot,
                             vly_backend_net **net, vly_error *error);
    void (*net_destroy)(vly_backend_net *net); /* NULL is legal */
    vly_status (*net_info)(const vly_backend_net *net, vly_net_info *info,
                           vly_error *error);
    /* [burst-thread] E_INVALID: the call was wrong, no burst was run, the net
     * is unchanged. After any other error it can only be destroyed. */
    vly_status (*net_run)(vly_backend_net *net, vly_run *run, vly_error *error);
    /* words[count] of neurons [first, first + count) of one area */
    vly_status (*field_read)(vly_backend_net *net, uint32_t area,
                             uint32_t field, uint32_t first, uint32_t count,
                             uint32_t *words, vly_error *error);
    vly_status (*field_write)(vly_backend_net *net, uint32_t area,
                              uint32_t field, uint32_t first, uint32_t count,
                              const uint32_t *words, vly_error *error);
    /* Replaces one coefficient of one area from the next burst on. The words
     * are copied. */
    vly_status (*coef_write)(vly_backend_net *net, uint32_t area, uint32_t coef,
                             const vly_column *column, vly_error *error);
    /* Replaces one stimulus (thresholds are copied) from the next burst on;
     * neurons and port stay as they are. */
    vly_status (*stimulus_write)(vly_backend_net *net, uint32_t stimulus,
                                 const vly_stimulus_desc *desc,
                                 vly_error *error);
    /* Called twice: with snapshot->state NULL it only sets the five counts;
     * then, with memory of that size, it fills the snapshot. */
    vly_status (*snapshot_read)(vly_backend_net *net, vly_snapshot *snapshot,
                                vly_error *error);
    /* [optional] reserved, never called: learning_read and learning_write took
     * their place */
    vly_status (*weights_read)(vly_backend_net *net, uint32_t projection,
                               uint64_t first, uint64_t count, int16_t *words,
                               vly_error *error);
    vly_status (*weights_write)(vly_backend_net *net, uint32_t projection,
                                uint64_t first, uint64_t count,
                                const int16_t *words, vly_error *error);
    /* [optional] reserved: builds the index from target to synapse that
     * plasticity needs */
    vly_status (*reverse_index)(vly_backend_net *net, uint32_t projection,
                                vly_error *error);
    /* [optional] sum over mix64(mix64(field) ^ (neuron << 32 | word)) mod 2^64
     * on the device; the host computes it from a snapshot otherwise */
    vly_status (*state_digest)(vly_backend_net *net, uint64_t *digest,
                               vly_error *error);
    /* [optional] reserved: a net on several devices of one host, with slices
     * numbered over all of them */
    vly_status (*net_create_span)(const vly_device_spec *devices,
                                  uint32_t n_devices, const vly_net_desc *desc,
                                  const vly_snapshot *snapshot,
                                  vly_backend_net **net, vly_error *error);
    /* 1.5: m of the synapses [first, first + count) of a plastic projection, in
     * the order of its rows, between two bursts; [optional] without
     * VLY_BACKEND_LEARNS */
    vly_status (*learning_read)(vly_backend_net *net, uint32_t projection,
                                uint64_t first, uint64_t count,
                                int32_t *masters, vly_error *error);
    vly_status (*learning_write)(vly_backend_net *net, uint32_t projection,
                                 uint64_t first, uint64_t count,
                                 const int32_t *masters, vly_error *error);
    /* Replaces coefs and the flag FROZEN from the next burst on; the rest of
     * the description stays. The words are copied. */
    vly_status (*learning_set)(vly_backend_net *net, uint32_t projection,
                               const vly_learning_desc *learning,
                               vly_error *error);
    /* 1.6: Replaces the coefs between two bursts. The states of the snapshot
     * stay; the gains of all events that are not delivered yet are computed
     * again. The words are copied. [optional] without VLY_BACKEND_SHORT_TERM */
    vly_status (*short_term_set)(vly_backend_net *net, uint32_t projection,
                                 const vly_short_term_desc *short_term,
                                 vly_error *error);
    /* 1.9: [optional] What net_create needs of these devices for any net: the
     * driver's context, first memory. Called on a thread of the host while the
     * network is compiled, so nets of other threads may be made and run at the
     * same time. net_create for the devices is called after its return, but
     * maybe never. It reports nothing: what fails here fails in net_create
     * again, with the same message as without prepare. What it makes lives
     * until deinit or the end of the process. Once *wanted is not 0 the host
     * waits for its return: nothing more is begun. devices[n_devices], at least
     * 1, may name devices that do not exist. */
    void (*prepare)(const vly_device_spec *devices, uint32_t n_devices,
                    const uint32_t *wanted);
    void *reserved[2]; /* NULL */
} vly_backend;
VLY_SEAL(vly_backend, 200);

#ifdef __cplusplus
}
#endif
#endif
