/* SPDX-License-Identifier: Apache-2.0
 * The list of parts, and what is asked of all of them.
 */
#include "tools/run/run_part.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/cli/output_apart.h"
#include "tools/run/run_job.h"

#define ADDRESS(part) &run_part_##part,
static const run_part *const parts[] = {RUN_PARTS(ADDRESS)};
#undef ADDRESS

enum { N_PARTS = sizeof parts / sizeof parts[0] };

static vly_status create(run_job *job, vly_error *error)
{
    job->states = vly_calloc(N_PARTS, sizeof *job->states);
    if (!job->states)
        return vly_fail_nomem(error, N_PARTS * sizeof *job->states, "a run");
    for (uint32_t i = 0; i < N_PARTS; i++) {
        const size_t n_bytes = parts[i]->state_bytes;
        job->states[i] = n_bytes > 0 ? vly_calloc(1, n_bytes) : NULL;
        if (n_bytes > 0 && !job->states[i])
            return vly_fail_nomem(error, n_bytes, parts[i]->name);
    }
    return VLY_OK;
}

vly_status run_parts_create(run_job *job, vly_error *error)
{
    vly_status status = create(job, error);
    if (status != VLY_OK) /* no part is called before it has a state */
        run_parts_destroy(job);
    return status;
}

void run_parts_destroy(run_job *job)
{
    for (uint32_t i = 0; job->states && i < N_PARTS; i++) {
        if (job->states[i] && parts[i]->close)
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
            if (parts[i]->help != help || !option)
                continue;
            for (; option->name; option++)
                if (k-- == 0)
                    return option;
        }
    return NULL;
}

vly_status run_parts_read(run_job *job, const tool_args *args, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < N_PARTS && status == VLY_OK; i++)
        if (parts[i]->read)
            status = parts[i]->read(job, args, error);
    return status;
}

vly_status run_parts_read_more(run_job *job, const tool_args *args,
                               vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < N_PARTS && status == VLY_OK; i++)
        if (parts[i]->read_more)
            status = parts[i]->read_more(job, args, error);
    return status;
}

const char *run_parts_output(const run_job *job, uint32_t k)
{
    for (uint32_t i = 0; i < N_PARTS; i++) {
        const char *path = NULL;
        for (uint32_t own = 0; parts[i]->output; own++, k--) {
            path = parts[i]->output(job, own);
            if (!path)
                break;
            if (k == 0)
                return path;
        }
    }
    return NULL;
}

bool run_parts_is_stdout(const run_job *job)
{
    const char *path;
    for (uint32_t k = 0; (path = run_parts_output(job, k)) != NULL; k++)
        if (strcmp(path, "-") == 0)
            return true;
    return false;
}

vly_status run_parts_apart(const run_job *job, const char *path,
                           vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < N_PARTS && status == VLY_OK; i++) {
        const char *what = NULL;
        const char *input =
            parts[i]->input ? parts[i]->input(job, &what) : NULL;
        status = output_apart(path, input, what, error);
    }
    return status;
}

static bool is_due(const run_job *job, const run_part *part)
{
    return part->due && part->due(job) <= vly_net_burst(job->net);
}

vly_status run_parts_do(run_job *job, run_step step, vly_error *error)
{
    vly_status first = VLY_OK;
    for (uint32_t i = 0; i < N_PARTS; i++) {
        if (!parts[i]->at[step] ||
            (step == RUN_REACH && !is_due(job, parts[i])))
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

vly_state *run_parts_resume(run_job *job)
{
    vly_state *state = NULL;
    for (uint32_t i = 0; i < N_PARTS && !state; i++)
        if (parts[i]->resume)
            state = parts[i]->resume(job);
    return state;
}

void run_parts_start(run_job *job, uint64_t now_ns)
{
    for (uint32_t i = 0; i < N_PARTS; i++)
        if (parts[i]->start)
            parts[i]->start(job, now_ns);
}

uint64_t run_parts_due(const run_job *job)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < N_PARTS; i++) {
        uint64_t due = parts[i]->due ? parts[i]->due(job) : UINT64_MAX;
        least = due < least ? due : least;
    }
    return least;
}

uint64_t run_parts_call_ns(const run_job *job, uint64_t now_ns)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < N_PARTS; i++) {
        uint64_t wanted =
            parts[i]->call_ns ? parts[i]->call_ns(job, now_ns) : UINT64_MAX;
        least = wanted < least ? wanted : least;
    }
    return least;
}

uint32_t run_parts_moves(const run_job *job)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < N_PARTS; i++)
        if (parts[i]->moves)
            sum += parts[i]->moves(job);
    return sum;
}

bool run_parts_wait(run_job *job)
{
    for (uint32_t i = 0; i < N_PARTS; i++)
        if (parts[i]->wait && !parts[i]->wait(job))
            return false;
    return true;
}

uint64_t run_parts_next_ns(const run_job *job)
{
    uint64_t latest = 0;
    for (uint32_t i = 0; i < N_PARTS; i++) {
        uint64_t next = parts[i]->next_ns ? parts[i]->next_ns(job) : 0;
        latest = next > latest ? next : latest;
    }
    return latest;
}

bool run_parts_want(void)
{
    for (uint32_t i = 0; i < N_PARTS; i++)
        if (parts[i]->wants && parts[i]->wants())
            return true;
    return false;
}

void run_parts_before(run_job *job)
{
    for (uint32_t i = N_PARTS; i-- > 0;)
        if (parts[i]->before)
            parts[i]->before(job);
}

void run_parts_after(run_job *job)
{
    const uint64_t next_ns = run_parts_next_ns(job);
    for (uint32_t i = 0; i < N_PARTS; i++)
        if (parts[i]->after)
            parts[i]->after(job, next_ns);
}

bool run_parts_whole(const run_job *job)
{
    for (uint32_t i = 0; i < N_PARTS; i++)
        if (parts[i]->whole && parts[i]->whole(job))
            return true;
    return false;
}

bool run_parts_go_on(run_job *job)
{
    for (uint32_t i = 0; i < N_PARTS; i++)
        if (parts[i]->goes_on && !parts[i]->goes_on(job))
            return false;
    return true;
}

void run_parts_look(run_job *job)
{
    for (uint32_t i = N_PARTS; i-- > 0;)
        if (parts[i]->look)
            parts[i]->look(job);
}

void run_parts_stood(run_job *job, uint64_t ns)
{
    for (uint32_t i = 0; i < N_PARTS; i++)
        if (parts[i]->stood)
            parts[i]->stood(job, ns);
}

bool run_parts_ask(run_job *job, const char *line, json_writer *json,
                   vly_error *why)
{
    for (uint32_t i = 0; i < N_PARTS; i++)
        if (parts[i]->ask && parts[i]->ask(job, line, json, why))
            return true;
    return false;
}

const char *run_command_argument(const char *line, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(line, word, n) != 0 || (line[n] != ' ' && line[n] != '\0'))
        return NULL;
    return line + n + strspn(line + n, " ");
}

const run_part *run_parts_command(const char *line, const char **argument)
{
    for (uint32_t i = 0; i < N_PARTS; i++) {
        const char *found = parts[i]->command
                                ? run_command_argument(line, parts[i]->command)
                                : NULL;
        if (!found || (found[0] != '\0') != parts[i]->command_argument)
            continue;
        *argument = found;
        return parts[i];
    }
    return NULL;
}

char *run_parts_metrics(run_job *job)
{
    char *all = vly_strdup("");
    for (uint32_t i = 0; all && i < N_PARTS; i++) {
        if (!parts[i]->metrics)
            continue;
        char *lines = parts[i]->metrics(job);
        char *both = lines ? vly_format("%s%s", all, lines) : NULL;
        vly_free(lines);
        vly_free(all);
        all = both;
    }
    return all;
}

/* ---- fail-over ---------------------------------------------------------- */

vly_status run_parts_keep(run_job *job, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < N_PARTS && status == VLY_OK; i++)
        if (parts[i]->keep)
            status = parts[i]->keep(job, error);
    return status;
}

run_cut run_parts_can_cut(const run_job *job, uint64_t kept_burst)
{
    run_cut all = RUN_CUT_NOTHING;
    for (uint32_t i = 0; i < N_PARTS && all != RUN_CUT_NOT; i++) {
        const run_cut one = parts[i]->can_cut
                                ? parts[i]->can_cut(job, kept_burst)
                                : RUN_CUT_NOTHING;
        all = one > all ? one : all;
    }
    return all;
}

vly_status run_parts_cut(run_job *job, uint64_t kept_burst, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < N_PARTS && status == VLY_OK; i++)
        if (parts[i]->cut)
            status = parts[i]->cut(job, kept_burst, error);
    return status;
}

/* ---- the end ------------------------------------------------------------ */

void run_parts_last(run_job *job)
{
    for (uint32_t i = 0; i < N_PARTS; i++)
        if (parts[i]->last)
            parts[i]->last(job);
}

vly_status run_parts_end(run_job *job, vly_error *error)
{
    vly_status first = VLY_OK;
    for (uint32_t i = N_PARTS; i-- > 0;) {
        if (!job->states || !parts[i]->end)
            continue;
        vly_status status = parts[i]->end(job, first == VLY_OK ? error : NULL);
        first = first == VLY_OK ? status : first;
    }
    return first;
}

vly_status run_parts_finish(run_job *job, vly_error *error)
{
    vly_status first = VLY_OK;
    for (uint32_t i = 0; i < N_PARTS; i++) {
        if (!parts[i]->finish)
            continue;
        vly_status status =
            parts[i]->finish(job, first == VLY_OK ? error : NULL);
        first = first == VLY_OK ? status : first;
    }
    return first;
}

void run_parts_print(const run_job *job, run_lines place)
{
    for (uint32_t i = 0; i < N_PARTS; i++)
        if (parts[i]->print[place])
            parts[i]->print[place](job);
}

void run_parts_json(const run_job *job, run_members place, json_writer *json)
{
    for (uint32_t i = 0; i < N_PARTS; i++)
        if (parts[i]->json[place])
            parts[i]->json[place](job, json);
}

bool run_parts_found(const run_job *job)
{
    for (uint32_t i = 0; i < N_PARTS; i++)
        if (parts[i]->found && parts[i]->found(job))
            return true;
    return false;
}
