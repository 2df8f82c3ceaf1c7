/* SPDX-License-Identifier: Apache-2.0
 * Conformance of accelerators: one table of cases for each interface, run in
 * scenarios and compared with float64 references. This is what all tables
 * share: the loop, and buffers on the device with sentinels around them.
 */
#ifndef VOLLEY_CONFORMANCE_ACCEL_H
#define VOLLEY_CONFORMANCE_ACCEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "accelerator/accelerator.h"
#include "conformance/conformance.h"

/* ---- the loop --------------------------------------------------------- */

typedef struct vly_accel_conformance {
    const vly_accelerator *accelerator;
    const char *pattern; /* of case, scenario or case/scenario; NULL: all */
    uint64_t seed;       /* of the data */
    void (*on_begin)(void *arg, const char *name, const char *scenario);
    void (*on_result)(void *arg, const vly_conformance_result *result);
    void *arg;
} vly_accel_conformance;

/* Outcome of a scenario and its message. */
typedef struct accel_trial {
    const vly_accel_conformance *conformance;
    const vly_accelerator *accelerator;
    uint32_t index; /* of the case */
    uint64_t seed;  /* of this case */
    char text[900];
} accel_trial;

/* VLY_CONFORMS, VLY_CONFORMANCE_SKIPPED or _FAILED, with a reason in
 * trial->text unless the first. */
typedef uint32_t accel_scenario_run(accel_trial *trial);

typedef struct accel_scenario {
    const char *name;
    accel_scenario_run *run;
    /* Whether the scenario applies to the case; if not, it is not listed. NULL:
     * always. */
    bool (*fits)(const accel_trial *trial);
} accel_scenario;

typedef struct accel_table {
    const char *interface_id;
    uint32_t n_cases;
    void (*case_name)(uint32_t index, char *name, size_t size);
    const accel_scenario *scenarios; /* name NULL after the last */
} accel_table;

/* Stores the message and returns VLY_CONFORMANCE_FAILED; the same for SKIPPED.
 */
uint32_t accel_fail(accel_trial *trial, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
uint32_t accel_skip(accel_trial *trial, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Runs everything that matches. After each scenario no block of the host is
 * left. [main-thread] counts live blocks, so nothing else may allocate */
vly_conformance_counts
vly_accel_conformance_run(const vly_accel_conformance *conformance,
                          const accel_table *table);

extern const accel_table vly_gemm_table;
extern const accel_table vly_attention_table;
extern const accel_table vly_wkv_table;
extern const accel_table vly_rwkv_table;

/* The tables of the interfaces that the plugin offers; NULL after the last. */
const accel_table *const *vly_accel_tables(const vly_accelerator *accelerator);

/* The work is complete on return. as_graph, for plugins whose memory has
 * graphs: the work that `run` puts into a stream becomes a graph, which is run
 * twice. */
vly_status accel_run(const vly_accelerator *accelerator, bool as_graph,
                     vly_status (*run)(void *arg, void *stream,
                                       vly_error *error),
                     void *arg, vly_error *error);

/* ---- random data ------------------------------------------------------ */

/* Checks the list of a plan's candidates, if the plugin reports them: one is
 * chosen and has a name and the plan's workspace; every other one has a reason.
 * way: plan_candidate of arg's plan. false: the trial has failed. */
bool accel_ways_hold(accel_trial *trial, const vly_plan_info *info,
                     vly_status (*way)(const void *arg, uint32_t index,
                                       vly_plan_candidate *candidate,
                                       uint32_t *n, vly_error *error),
                     const void *arg);

/* Calls run with *reserved = 5 in what run passes to the plugin, then resets it
 * to 0. true: E_INVALID with "reserved" in the message; false: the trial has
 * failed. */
bool accel_refuses_reserved(accel_trial *trial,
                            vly_status (*run)(void *arg, void *stream,
                                              vly_error *error),
                            void *arg, uint32_t *reserved);

/* Number `i` of a stream, in [-1, 1); never 0. */
double accel_random(uint64_t seed, uint32_t stream, uint64_t i);
/* Of so many bytes in their order. */
uint64_t accel_digest(const void *memory, uint64_t bytes);

/* ---- buffers on the device -------------------------------------------- */

/* bytes of payload between two guards; the payload begins `offset` bytes after
 * a multiple of 256. A put copies the host's block to the device; a get reads
 * the device's block for comparison. */
typedef struct accel_buffer {
    const vly_accelerator *accelerator;
    uint8_t *base;  /* on the device */
    uint8_t *host;  /* the whole block: guards and payload */
    uint8_t *found; /* by the last get */
    uint64_t bytes;
    uint64_t offset;
    uint64_t whole; /* bytes of the block */
} accel_buffer;

/* The payload is 0xff everywhere: NaN in every float type. Errors as alloc. */
vly_status accel_buffer_init(accel_buffer *buffer,
                             const vly_accelerator *accelerator, uint64_t bytes,
                             uint64_t offset, vly_error *error);
void accel_buffer_deinit(accel_buffer *buffer);        /* all 0 is legal */
void *accel_buffer_host(const accel_buffer *buffer);   /* payload of host */
void *accel_buffer_found(const accel_buffer *buffer);  /* payload of found */
void *accel_buffer_device(const accel_buffer *buffer); /* NULL if 0 bytes */
vly_status accel_buffer_put(const accel_buffer *buffer, vly_error *error);
vly_status accel_buffer_get(accel_buffer *buffer, vly_error *error);
/* After a get: neither guard was written; nothing at all was. */
bool accel_buffer_guarded(const accel_buffer *buffer);
bool accel_buffer_unchanged(const accel_buffer *buffer);
/* Gets the block and reports, with `name`, forbidden writes: to the guards, or,
 * for a read-only tensor, anywhere. true: no forbidden write. how: kind of run,
 * as " (graph)". */
bool accel_buffer_check(accel_trial *trial, accel_buffer *buffer,
                        const char *name, bool writes, const char *how);
/* Bytes [from, to) of the payload are as they were put. */
bool accel_buffer_kept(const accel_buffer *buffer, uint64_t from, uint64_t to);

#endif
