/* SPDX-License-Identifier: Apache-2.0
 * Declarations shared by the accelerator plugins: element types, device memory,
 * streams, and the description of a plan. volley/gemm.h, volley/attention.h and
 * volley/wkv.h hold the interfaces. Burst backends need none of this, so it is
 * not in plugin.h; the rules of its structs are those of plugin.h.
 *
 * An accelerator is plan and run. A plan is made once for a shape: it may
 * allocate, measure and read a cache of earlier measurements. A run does none
 * of that: tensors, workspace and stream are the caller's, and a run only
 * checks, then puts work into the stream.
 */
#ifndef VOLLEY_ACCELERATOR_H
#define VOLLEY_ACCELERATOR_H

#include <volley/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- element types ---------------------------------------------------- */

/* X(name, value, bits, text). E4M3 is OCP's: no infinity, NaN is 0x7f and
 * 0xff, the largest is 448. I4 is two's complement, -8 to 7, two in a byte, the
 * even index in the low half. */
#define VLY_ELEMENT_TABLE(X)                                                   \
    X(F32, 0, 32, "fp32")                                                      \
    X(F16, 1, 16, "fp16")                                                      \
    X(BF16, 2, 16, "bf16")                                                     \
    X(E4M3, 3, 8, "fp8")                                                       \
    X(I8, 4, 8, "int8")                                                        \
    X(I4, 5, 4, "int4")                                                        \
    X(I32, 6, 32, "int32")                                                     \
    X(F64, 7, 64, "fp64")

enum {
#define VLY_ELEMENT_ENUM(name, value, bits, text) VLY_ELEMENT_##name = (value),
    VLY_ELEMENT_TABLE(VLY_ELEMENT_ENUM)
#undef VLY_ELEMENT_ENUM
};

/* ---- volley.memory/1 -------------------------------------------------- */

#define VLY_MEMORY_INTERFACE "volley.memory/1"

enum {
    VLY_MEMORY_HOST = 1u, /* the device is the processor: what alloc gives can
                             be read and written directly, streams are NULL */
};

enum {
    VLY_COPY_TO_DEVICE = 0,
    VLY_COPY_FROM_DEVICE = 1,
    VLY_COPY_ON_DEVICE = 2,
};

typedef struct vly_graph vly_graph; /* the plugin's own */
typedef struct vly_event vly_event;

/* Memory and streams of the devices on which a plugin computes. Memory and
 * streams of one plugin can be used in another one of the same kind of device
 * (CUDA: the same primary context). Every function is [any-thread]; stream NULL
 * is the device's default stream. Work in a stream is done in order and
 * asynchronously: its error may be returned by a later call. Errors of all
 * functions: E_INVALID no such device; E_DEVICE it failed, and stays failed. */
typedef struct vly_memory {
    uint32_t struct_size;
    uint32_t flags; /* VLY_MEMORY_* */
    uint32_t (*device_count)(void);
    vly_status (*device_info)(uint32_t device, vly_device_info *info,
                              vly_error *error);
    vly_status (*available)(uint32_t device, uint64_t *free_bytes,
                            uint64_t *total_bytes, vly_error *error);
    /* Aligned to 256 bytes, not cleared; 0 bytes give a pointer that may only
     * be freed.
     * Errors  E_NOMEM with requested and available bytes */
    vly_status (*alloc)(uint32_t device, uint64_t bytes, void **memory,
                        vly_error *error);
    /* No work that uses it may be under way. NULL is legal. */
    void (*free)(uint32_t device, void *memory);
    /* kind: VLY_COPY_*. Any host memory can be copied; it may be reused after
     * the stream was waited for. */
    vly_status (*copy)(uint32_t device, void *to, const void *from,
                       uint64_t bytes, uint32_t kind, void *stream,
                       vly_error *error);
    vly_status (*fill)(uint32_t device, void *memory, uint32_t byte,
                       uint64_t bytes, void *stream, vly_error *error);
    vly_status (*stream_create)(uint32_t device, void **stream,
                                vly_error *error);
    void (*stream_destroy)(uint32_t device, void *stream);
    /* waits until all work in the stream is done */
    vly_status (*stream_wait)(uint32_t device, void *stream, vly_error *error);
    vly_status (*event_create)(uint32_t device, vly_event **event,
                               vly_error *error);
    void (*event_destroy)(uint32_t device, vly_event *event);
    vly_status (*event_record)(uint32_t device, vly_event *event, void *stream,
                               vly_error *error);
    /* waits for both; seconds between them */
    vly_status (*event_elapsed)(uint32_t device, vly_event *begin,
                                vly_event *end, double *seconds,
                                vly_error *error);
    /* [optional] Work that this thread puts into the stream between begin and
     * end is not run but recorded; graph_run runs it as a whole. */
    vly_status (*graph_begin)(uint32_t device, void *stream, vly_error *error);
    vly_status (*graph_end)(uint32_t device, void *stream, vly_graph **graph,
                            vly_error *error);
    vly_status (*graph_run)(uint32_t device, vly_graph *graph, void *stream,
                            vly_error *error);
    void (*graph_destroy)(uint32_t device, vly_graph *graph);
    /* [optional] alloc by a class of service, qos: VLY_QOS_* of plugin.h; alloc
     * is burstable. free is the same.
     * Errors  of alloc; E_INVALID qos */
    vly_status (*alloc_as)(uint32_t device, uint64_t bytes, uint32_t qos,
                           void **memory, vly_error *error);
    /* [optional, both or none] Host memory that the device reads and writes at
     * the same address: its results need no copy, and copies of this memory
     * need no staging buffer. Aligned to 256 bytes, not cleared.
     * Errors  of alloc */
    vly_status (*alloc_host)(uint32_t device, uint64_t bytes, void **memory,
                             vly_error *error);
    /* No work that uses it may be under way. NULL is legal. */
    void (*free_host)(uint32_t device, void *memory);
    void *reserved[3]; /* NULL */
} vly_memory;
VLY_SEAL(vly_memory, 200);

/* ---- plans ------------------------------------------------------------ */

/* The choice of a plan. The caller sets struct_size. */
typedef struct vly_plan_info {
    uint32_t struct_size;
    uint32_t n_candidates;    /* compared when it was made; 1: no choice */
    uint64_t workspace_bytes; /* bytes that run needs, aligned to 256 bytes */
    double measured_s; /* of one run when it was chosen; 0: not measured */
    uint32_t cached;   /* 1: the choice was read from the cache */
    uint32_t reserved;
    char choice[256]; /* description of how it runs: "cublasLt 13.1 algo 66 ..."
                       */
} vly_plan_info;
VLY_SEAL(vly_plan_info, 288);

/* The outcome of a candidate when the plan was made. */
enum {
    VLY_CANDIDATE_CHOSEN = 0,  /* it runs */
    VLY_CANDIDATE_READY = 1,   /* can run, was not chosen */
    VLY_CANDIDATE_REFUSED = 2, /* cannot run, or was not tried: see the note */
    VLY_CANDIDATE_WRONG = 3,   /* ran, and its result was wrong */
};

/* The caller sets struct_size. */
typedef struct vly_plan_candidate {
    uint32_t struct_size;
    uint32_t state;           /* VLY_CANDIDATE_* */
    double measured_s;        /* of one run; 0: not measured */
    uint64_t workspace_bytes; /* 0 also if unknown: REFUSED */
    char name[104];           /* description, as in vly_plan_info.choice */
    char note[256];           /* the reason or a remark; or "" */
} vly_plan_candidate;
VLY_SEAL(vly_plan_candidate, 384);

/* Options of accelerators in vly_device_spec.options, separated by commas:
 *   tune=0        the first candidate instead of the fastest
 *   cache=off     neither read nor write the cache; cache=FOLDER uses another
 *   choose=NAME   this candidate, or E_UNSUPPORTED with the names there are
 *   early=0       kernels start when the one before them in the stream has
 *                 ended. Without it they may start while that one still runs,
 *                 if the plugin supports it (volley.rwkv/1 and volley.wkv/1 on
 *                 CUDA): the weights of a run must have been written at least
 *                 two runs earlier, or not by a run
 *   devices=N     volley.attention/1 on CUDA: a plan is spread over N devices
 *                 from this one on. Tensors and stream are of the first one;
 *                 the results have the bits of one device
 *   span=N        the same in N parts on this device: for tests. span=1 takes
 *                 the ways of a span on one device
 *   copy=kernel   in both, kernels copy parts instead of the copy engines
 *   chain=0       chains of runs (volley.rwkv/1) are E_UNSUPPORTED. Without it
 *                 they are made if the plugin supports them
 */

#ifdef __cplusplus
}
#endif
#endif
