/* SPDX-License-Identifier: Apache-2.0
 * The loop over cases and scenarios of accelerators.
 */
#include "conformance/conformance_accel.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"

static uint32_t say(accel_trial *trial, uint32_t outcome, const char *format,
                    va_list arguments)
{
    (void)vsnprintf(trial->text, sizeof trial->text, format, arguments);
    return outcome;
}

uint32_t accel_fail(accel_trial *trial, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    uint32_t outcome = say(trial, VLY_CONFORMANCE_FAILED, format, arguments);
    va_end(arguments);
    return outcome;
}

uint32_t accel_skip(accel_trial *trial, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    uint32_t outcome = say(trial, VLY_CONFORMANCE_SKIPPED, format, arguments);
    va_end(arguments);
    return outcome;
}

static bool is_wanted(const char *pattern, const char *name,
                      const char *scenario)
{
    char both[192];
    (void)snprintf(both, sizeof both, "%s/%s", name, scenario);
    return !pattern || fnmatch(pattern, name, 0) == 0 ||
           fnmatch(pattern, scenario, 0) == 0 || fnmatch(pattern, both, 0) == 0;
}

static void run_one(const vly_accel_conformance *c, uint32_t index,
                    const char *name, const accel_scenario *scenario,
                    vly_conformance_counts *counts)
{
    accel_trial trial = {.conformance = c,
                         .accelerator = c->accelerator,
                         .index = index,
                         .seed = vly_mix64(c->seed + index)};
    const uint64_t live = vly_conformance_live();
    if (scenario->fits && !scenario->fits(&trial))
        return;
    if (c->on_begin)
        c->on_begin(c->arg, name, scenario->name);
    uint32_t outcome = scenario->run(&trial);
    if (outcome != VLY_CONFORMANCE_FAILED && vly_conformance_live() != live)
        outcome = accel_fail(&trial, "%" PRId64 " blocks of the host are left",
                             (int64_t)(vly_conformance_live() - live));
    const vly_conformance_result result = {
        name, scenario->name, outcome,
        outcome == VLY_CONFORMS ? "" : trial.text};
    counts->n[outcome]++;
    if (c->on_result)
        c->on_result(c->arg, &result);
}

vly_conformance_counts
vly_accel_conformance_run(const vly_accel_conformance *conformance,
                          const accel_table *table)
{
    const vly_accel_conformance *c = conformance;
    vly_conformance_counts counts = {{0}};
    char name[128];
    for (uint32_t i = 0; i < table->n_cases; i++) {
        table->case_name(i, name, sizeof name);
        for (const accel_scenario *s = table->scenarios; s->name; s++) {
            if (is_wanted(c->pattern, name, s->name))
                run_one(c, i, name, s, &counts);
        }
    }
    return counts;
}

const accel_table *const *vly_accel_tables(const vly_accelerator *accelerator)
{
    static const accel_table *tables[5];
    uint32_t n = 0;
    memset(tables, 0, sizeof tables);
    if (accelerator->gemm.struct_size != 0)
        tables[n++] = &vly_gemm_table;
    if (accelerator->attention.struct_size != 0)
        tables[n++] = &vly_attention_table;
    if (accelerator->wkv.struct_size != 0)
        tables[n++] = &vly_wkv_table;
    if (accelerator->rwkv.struct_size != 0)
        tables[n++] = &vly_rwkv_table;
    return tables;
}

static vly_status run_graph(const vly_accelerator *accelerator,
                            vly_status (*run)(void *arg, void *stream,
                                              vly_error *error),
                            void *arg, vly_error *error)
{
    const vly_memory *memory = &accelerator->memory;
    const uint32_t device = accelerator->device.index;
    vly_error other = VLY_ERROR_INIT;
    vly_graph *graph = NULL;
    void *stream = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(memory->stream_create(device, &stream, error));
    VLY_TRY(memory->graph_begin(device, stream, error));
    status = run(arg, stream, error);
    /* capturing ends even if the run was refused */
    vly_status ended = memory->graph_end(device, stream, &graph,
                                         status == VLY_OK ? error : &other);
    status = status == VLY_OK ? ended : status;
    for (int i = 0; i < 2 && status == VLY_OK; i++)
        status = memory->graph_run(device, graph, stream, error);
    if (status == VLY_OK)
        status = memory->stream_wait(device, stream, error);
out:
    if (graph)
        memory->graph_destroy(device, graph);
    memory->stream_destroy(device, stream);
    return status;
}

vly_status accel_run(const vly_accelerator *accelerator, bool as_graph,
                     vly_status (*run)(void *arg, void *stream,
                                       vly_error *error),
                     void *arg, vly_error *error)
{
    if (as_graph)
        return run_graph(accelerator, run, arg, error);
    vly_status status = VLY_OK;
    VLY_TRY(run(arg, NULL, error));
    VLY_TRY(accelerator->memory.stream_wait(accelerator->device.index, NULL,
                                            error));
out:
    return status;
}

static const char *wrong_way(const vly_plan_candidate *c,
                             const vly_plan_info *info)
{
    if (c->name[0] == 0 || !memchr(c->name, 0, sizeof c->name) ||
        !memchr(c->note, 0, sizeof c->note))
        return "no name, or one without an end";
    if (c->state > VLY_CANDIDATE_WRONG || !(c->measured_s >= 0.0))
        return "no such state, or a time below 0";
    if (c->state >= VLY_CANDIDATE_REFUSED && c->note[0] == 0)
        return "no reason";
    if (c->state == VLY_CANDIDATE_CHOSEN &&
        c->workspace_bytes != info->workspace_bytes)
        return "another workspace than the plan's";
    return NULL;
}

bool accel_ways_hold(accel_trial *trial, const vly_plan_info *info,
                     vly_status (*way)(const void *arg, uint32_t index,
                                       vly_plan_candidate *candidate,
                                       uint32_t *n, vly_error *error),
                     const void *arg)
{
    vly_error error = VLY_ERROR_INIT;
    uint32_t n = 1;
    uint32_t n_chosen = 0;
    for (uint32_t i = 0; i < n; i++) {
        vly_plan_candidate c = {.struct_size = sizeof c};
        if (way(arg, i, &c, &n, &error) != VLY_OK) {
            (void)accel_fail(trial, "plan_candidate: %.400s", error.message);
            return false;
        }
        const char *why = i < n ? wrong_way(&c, info) : NULL;
        if (why) {
            (void)accel_fail(trial, "plan_candidate %u: %s", i, why);
            return false;
        }
        n_chosen += i < n && c.state == VLY_CANDIDATE_CHOSEN;
    }
    if (n_chosen == (n > 0))
        return true;
    (void)accel_fail(trial, "plan_candidate: %u of %u ways are chosen",
                     n_chosen, n);
    return false;
}

bool accel_refuses_reserved(accel_trial *trial,
                            vly_status (*run)(void *arg, void *stream,
                                              vly_error *error),
                            void *arg, uint32_t *reserved)
{
    vly_error error = VLY_ERROR_INIT;
    *reserved = 5;
    const vly_status status = run(arg, NULL, &error);
    *reserved = 0;
    if (status == VLY_E_INVALID && strstr(error.message, "reserved"))
        return true;
    (void)accel_fail(trial,
                     "run: reserved is 5: status %d \"%.300s\", wanted %d and "
                     "the word \"reserved\"",
                     (int)status, error.message, (int)VLY_E_INVALID);
    return false;
}

double accel_random(uint64_t seed, uint32_t stream, uint64_t i)
{
    const uint64_t word = vly_mix64(vly_mix64(seed + stream) + i);
    return ((double)(word >> 32) + 0.5) * 0x1p-31 - 1.0;
}

uint64_t accel_digest(const void *memory, uint64_t bytes)
{
    const uint8_t *at = memory;
    uint64_t digest = vly_mix64(bytes);
    for (uint64_t i = 0; i < bytes; i += 8) {
        uint64_t word = 0;
        memcpy(&word, at + i, (size_t)(bytes - i < 8 ? bytes - i : 8));
        digest = vly_mix64(digest ^ word);
    }
    return digest;
}

/* ---- buffers ---------------------------------------------------------- */

enum { GUARD = 512, GUARD_BYTE = 0xa5, POISON = 0xff };

vly_status accel_buffer_init(accel_buffer *buffer,
                             const vly_accelerator *accelerator, uint64_t bytes,
                             uint64_t offset, vly_error *error)
{
    const vly_memory *memory = &accelerator->memory;
    memset(buffer, 0, sizeof *buffer);
    buffer->accelerator = accelerator;
    buffer->bytes = bytes;
    buffer->offset = offset;
    buffer->whole = GUARD + offset + bytes + GUARD;
    buffer->host = vly_malloc(buffer->whole, 1);
    buffer->found = vly_malloc(buffer->whole, 1);
    vly_status status = VLY_OK;
    if (!buffer->host || !buffer->found)
        status = vly_fail_nomem(error, buffer->whole, "a buffer");
    void *base = NULL;
    if (status == VLY_OK)
        status = memory->alloc(accelerator->device.index, buffer->whole, &base,
                               error);
    if (status != VLY_OK) {
        accel_buffer_deinit(buffer);
        return status;
    }
    buffer->base = base;
    memset(buffer->host, GUARD_BYTE, (size_t)buffer->whole);
    memset(buffer->host + GUARD + offset, POISON, (size_t)bytes);
    return VLY_OK;
}

void accel_buffer_deinit(accel_buffer *buffer)
{
    if (buffer->base)
        buffer->accelerator->memory.free(buffer->accelerator->device.index,
                                         buffer->base);
    vly_free(buffer->host);
    vly_free(buffer->found);
    memset(buffer, 0, sizeof *buffer);
}

void *accel_buffer_host(const accel_buffer *buffer)
{
    return buffer->host + GUARD + buffer->offset;
}

void *accel_buffer_found(const accel_buffer *buffer)
{
    return buffer->found + GUARD + buffer->offset;
}

void *accel_buffer_device(const accel_buffer *buffer)
{
    return buffer->bytes > 0 ? buffer->base + GUARD + buffer->offset : NULL;
}

vly_status accel_buffer_put(const accel_buffer *buffer, vly_error *error)
{
    const vly_memory *memory = &buffer->accelerator->memory;
    const uint32_t device = buffer->accelerator->device.index;
    vly_status status = VLY_OK;
    VLY_TRY(memory->copy(device, buffer->base, buffer->host, buffer->whole,
                         VLY_COPY_TO_DEVICE, NULL, error));
    VLY_TRY(memory->stream_wait(device, NULL, error));
out:
    return status;
}

vly_status accel_buffer_get(accel_buffer *buffer, vly_error *error)
{
    const vly_memory *memory = &buffer->accelerator->memory;
    const uint32_t device = buffer->accelerator->device.index;
    vly_status status = VLY_OK;
    VLY_TRY(memory->copy(device, buffer->found, buffer->base, buffer->whole,
                         VLY_COPY_FROM_DEVICE, NULL, error));
    VLY_TRY(memory->stream_wait(device, NULL, error));
out:
    return status;
}

bool accel_buffer_guarded(const accel_buffer *buffer)
{
    const uint64_t begin = GUARD + buffer->offset;
    const uint64_t end = begin + buffer->bytes;
    return memcmp(buffer->host, buffer->found, (size_t)begin) == 0 &&
           memcmp(buffer->host + end, buffer->found + end, GUARD) == 0;
}

bool accel_buffer_unchanged(const accel_buffer *buffer)
{
    return memcmp(buffer->host, buffer->found, (size_t)buffer->whole) == 0;
}

bool accel_buffer_kept(const accel_buffer *buffer, uint64_t from, uint64_t to)
{
    const uint64_t begin = GUARD + buffer->offset;
    return memcmp(buffer->host + begin + from, buffer->found + begin + from,
                  (size_t)(to - from)) == 0;
}

bool accel_buffer_check(accel_trial *trial, accel_buffer *buffer,
                        const char *name, bool writes, const char *how)
{
    vly_error error = VLY_ERROR_INIT;
    if (accel_buffer_get(buffer, &error) != VLY_OK) {
        accel_fail(trial, "copy of %s%s: %.400s", name, how, error.message);
        return false;
    }
    if (writes ? accel_buffer_guarded(buffer) : accel_buffer_unchanged(buffer))
        return true;
    accel_fail(trial, "%s %s written%s", name,
               writes ? "and bytes around it were" : "was", how);
    return false;
}
