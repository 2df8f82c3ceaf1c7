/* SPDX-License-Identifier: Apache-2.0
 * The list of parts, and what is asked of all of them.
 */
#include "tools/run/run_part.h"

#include "base/error.h"
#include "base/memory.h"
#include "tools/run/run_job.h"

#define ADDRESS(part) &run_part_##part,
static const run_part *const parts[] = {RUN_PARTS(ADDRESS)};
#undef ADDRESS

enum { N_PARTS = sizeof parts / sizeof parts[0] };

void *run_part_state(const run_job *job, const run_part *part)
{
    uint32_t i = 0;
    while (parts[i] != part)
        i++;
    return job->states[i];
}

vly_status run_parts_create(run_job *job, vly_error *error)
{
    job->states = vly_calloc(N_PARTS, sizeof *job->states);
    for (uint32_t i = 0; job->states != NULL && i < N_PARTS; i++) {
        const size_t n_bytes = parts[i]->state_bytes;
        if (n_bytes == 0)
            continue;
        job->states[i] = vly_calloc(1, n_bytes);
        if (job->states[i] == NULL)
            return vly_fail_nomem(error, n_bytes, parts[i]->name);
    }
    return job->states != NULL
               ? VLY_OK
               : vly_fail_nomem(error, N_PARTS * sizeof *job->states, "a run");
}

void run_parts_destroy(run_job *job)
{
    for (uint32_t i = 0; job->states != NULL && i < N_PARTS; i++) {
        if (job->states[i] != NULL && parts[i]->close != NULL)
            parts[i]->close(job);
        vly_free(job->states[i]);
    }
    vly_free(job->states);
    job->states = NULL;
}

/* ---- what is asked ------------------------------------------------------ */

const tool_option *run_parts_option(uint32_t k)
{
    for (uint32_t help = 1; help <= N_PARTS; help++)
        for (uint32_t i = 0; i < N_PARTS; i++) {
            const tool_option *option = parts[i]->options;
            if (parts[i]->help != help || option == NULL)
                continue;
            for (; option->name != NULL; option++)
                if (k-- == 0)
                    return option;
        }
    return NULL;
}

vly_status run_parts_read(run_job *job, const tool_args *args, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < N_PARTS && status == VLY_OK; i++)
        if (parts[i]->read != NULL)
            status = parts[i]->read(job, args, error);
    return status;
}

vly_status run_parts_read_more(run_job *job, const tool_args *args,
                               vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < N_PARTS && status == VLY_OK; i++)
        if (parts[i]->read_more != NULL)
            status = parts[i]->read_more(job, args, error);
    return status;
}

bool run_parts_is_stdout(const run_job *job)
{
    for (uint32_t i = 0; i < N_PARTS; i++)
        if (parts[i]->is_stdout != NULL && parts[i]->is_stdout(job))
            return true;
    return false;
}

vly_status run_parts_do(run_job *job, run_step step, vly_error *error)
{
    vly_status first = VLY_OK;
    for (uint32_t i = 0; i < N_PARTS; i++) {
        if (parts[i]->at[step] == NULL)
            continue;
        vly_status status =
            parts[i]->at[step](job, first == VLY_OK ? error : NULL);
        first = first == VLY_OK ? status : first;
        if (first != VLY_OK && step != RUN_SAVE)
            break;
    }
    return first;
}

/* ---- the loop ----------------------------------------------------------- */

void run_parts_start(run_job *job, uint64_t now_ns)
{
    for (uint32_t i = 0; i < N_PARTS; i++)
        if (parts[i]->start != NULL)
            parts[i]->start(job, now_ns);
}

uint64_t run_parts_due(const run_job *job)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < N_PARTS; i++) {
        uint64_t due = parts[i]->due != NULL ? parts[i]->due(job) : UINT64_MAX;
        least = due < least ? due : least;
    }
    return least;
}

uint64_t run_parts_call_ns(const run_job *job, uint64_t now_ns)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < N_PARTS; i++) {
        uint64_t wanted = parts[i]->call_ns != NULL
                              ? parts[i]->call_ns(job, now_ns)
                              : UINT64_MAX;
        least = wanted < least ? wanted : least;
    }
    return least;
}

uint32_t run_parts_moves(const run_job *job)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < N_PARTS; i++)
        if (parts[i]->moves != NULL)
            sum += parts[i]->moves(job);
    return sum;
}

bool run_parts_wait(run_job *job)
{
    for (uint32_t i = 0; i < N_PARTS; i++)
        if (parts[i]->wait != NULL && !parts[i]->wait(job))
            return false;
    return true;
}

uint64_t run_parts_next_ns(const run_job *job)
{
    uint64_t latest = 0;
    for (uint32_t i = 0; i < N_PARTS; i++) {
        uint64_t next = parts[i]->next_ns != NULL ? parts[i]->next_ns(job) : 0;
        latest = next > latest ? next : latest;
    }
    return latest;
}

bool run_parts_want(void)
{
    for (uint32_t i = 0; i < N_PARTS; i++)
        if (parts[i]->wants != NULL && parts[i]->wants())
            return true;
    return false;
}

void run_parts_before(run_job *job)
{
    for (uint32_t i = N_PARTS; i-- > 0;)
        if (parts[i]->before != NULL)
            parts[i]->before(job);
}

void run_parts_after(run_job *job)
{
    const uint64_t next_ns = run_parts_next_ns(job);
    for (uint32_t i = 0; i < N_PARTS; i++)
        if (parts[i]->after != NULL)
            parts[i]->after(job, next_ns);
}

bool run_parts_go_on(run_job *job)
{
    for (uint32_t i = 0; i < N_PARTS; i++)
        if (parts[i]->goes_on != NULL && !parts[i]->goes_on(job))
            return false;
    return true;
}

void run_parts_look(run_job *job)
{
    for (uint32_t i = N_PARTS; i-- > 0;)
        if (parts[i]->look != NULL)
            parts[i]->look(job);
}

void run_parts_stood(run_job *job, uint64_t ns)
{
    for (uint32_t i = 0; i < N_PARTS; i++)
        if (parts[i]->stood != NULL)
            parts[i]->stood(job, ns);
}

/* ---- the end ------------------------------------------------------------ */

void run_parts_print(const run_job *job, run_lines place)
{
    for (uint32_t i = 0; i < N_PARTS; i++)
        if (parts[i]->print[place] != NULL)
            parts[i]->print[place](job);
}

void run_parts_json(const run_job *job, run_members place, json_writer *json)
{
    for (uint32_t i = 0; i < N_PARTS; i++)
        if (parts[i]->json[place] != NULL)
            parts[i]->json[place](job, json);
}

bool run_parts_found(const run_job *job)
{
    for (uint32_t i = 0; i < N_PARTS; i++)
        if (parts[i]->found != NULL && parts[i]->found(job))
            return true;
    return false;
}
