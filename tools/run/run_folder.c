/* SPDX-License-Identifier: Apache-2.0
 * The folder of a run: manifest.json, genome.resolved.toml, summary.json,
 * log.jsonl. The manifest is written when the run starts and again when it
 * ends, so that a run that was killed can be told from one that ended.
 */
#include "tools/run/run_checkpoint.h"
#include "tools/run/run_job.h"
#include "tools/run/run_part.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "volley_build.h"

static vly_status save_text(const char *folder, const char *name,
                            const char *text, size_t n_text, vly_error *error)
{
    char *path = run_folder_path(folder, name);
    if (!path)
        return vly_fail_nomem(error, 4096, "a file name");
    vly_status status = vly_writer_save(path, text, n_text, error);
    vly_free(path);
    return status;
}

static vly_status save_json(const char *folder, const char *name,
                            json_writer *json, vly_error *error)
{
    size_t n_text = 0;
    const char *text = json_finish(json, &n_text);
    if (!text)
        return vly_fail_nomem(error, json->capacity, name);
    return save_text(folder, name, text, n_text, error);
}

/* ---- manifest.json ---------------------------------------------------- */

static void put_build(const run_job *job, json_writer *json)
{
    json_text(json, "version", VLY_BUILD_VERSION);
    json_text(json, "commit", VLY_BUILD_COMMIT);
    json_text(json, "compiler", VLY_BUILD_COMPILER);
    json_text(json, "flags", VLY_BUILD_FLAGS);
    json_text(json, "build_type", VLY_BUILD_TYPE);
    json_array(json, "command");
    for (int i = 0; i < job->plan.argc; i++)
        json_text(json, NULL, job->plan.argv[i]);
    json_array_end(json);
}

static void put_genome(const run_job *job, json_writer *json)
{
    const run_plan *plan = &job->plan;
    const vly_genome_info genome = tool_genome_info(job->build.genome);
    const vly_connectome *connectome = job->build.connectome;
    const vly_connectome_info info = tool_connectome_info(connectome);
    uint64_t digest[2];
    vly_connectome_get_digest(connectome, plan->n_threads, digest);
    json_text(json, "genome", plan->path);
    json_text(json, "genome_resolved", "genome.resolved.toml");
    json_text(json, "genome_hash", tool_hash_text(genome.hash));
    json_text(json, "connectome_hash", tool_hash_text(info.hash));
    json_text(json, "connectome_digest", tool_hash_text(digest));
    json_array(json, "overrides");
    for (uint32_t i = 0; i < plan->overrides.n; i++) {
        json_object(json, NULL);
        json_text(json, "path", plan->overrides.list[i].path);
        json_text(json, "value", plan->overrides.list[i].value);
        json_object_end(json);
    }
    json_array_end(json);
    json_object(json, "seeds");
    json_u64(json, "network", genome.seed_network);
    json_u64(json, "state", genome.seed_state);
    json_u64(json, "input", genome.seed_input);
    json_object_end(json);
    json_number(json, "dt_ms", genome.dt_ms);
    json_u64(json, "neurons", info.n_neurons);
    json_u64(json, "synapses", info.n_synapses);
    json_u64(json, "feagi_q", info.feagi_q);
    json_array(json, "q");
    for (uint32_t a = 0; a < info.n_areas; a++) {
        const vly_area_info area = tool_area_info(connectome, a);
        json_object(json, NULL);
        json_text(json, "area", area.name);
        json_array(json, "ports");
        for (uint32_t p = 0; p < area.n_ports; p++)
            json_i64(json, NULL, area.q[p]);
        json_array_end(json);
        json_object_end(json);
    }
    json_array_end(json);
}

static void put_plugins(const run_job *job, json_writer *json)
{
    json_array(json, "plugins");
    for (uint32_t i = 0; i < vly_registry_count(job->registry); i++) {
        vly_plugin_info info = {.struct_size = sizeof info};
        /* does not start the drivers of unused plugins */
        if (vly_registry_file(job->registry, i, &info) != VLY_OK)
            continue;
        json_object(json, NULL);
        json_text(json, "id", info.id);
        json_text(json, "version", info.version);
        json_text(json, "build", info.build);
        json_text(json, "file", info.path);
        json_text(json, "hash", tool_hash_text(info.hash));
        json_text(json, "reason", info.reason);
        json_object_end(json);
    }
    json_array_end(json);
}

static void put_course(const run_job *job, json_writer *json)
{
    const run_result *result = &job->result;
    bool ended = result->end[0] != '\0';
    json_text(json, "backend_asked", job->plan.backend);
    json_text(json, "backend", result->stats.backend);
    json_text(json, "device", result->stats.device);
    json_text(json, "driver", NULL);
    json_text(json, "plan", result->stats.plan);
    json_u64(json, "threads", job->plan.n_threads);
    run_parts_json(job, RUN_MANIFEST, json);
    run_parts_json(job, RUN_MANIFEST_LAST, json);
    json_text(json, "start", result->start);
    json_text(json, "end", ended ? result->end : NULL);
    json_u64(json, "bursts_wanted", job->plan.n_bursts);
    json_u64(json, "bursts", vly_net_burst(job->net));
    json_text(json, "exit_reason",
              !ended                           ? "running"
              : result->refused                ? "refused"
              : result->error.status != VLY_OK ? "error"
              : result->stopped_by             ? "ctl"
              : result->stopped                ? "signal"
              : result->late                   ? "deadline"
                                               : "done");
    json_text(json, "message",
              result->error.status != VLY_OK ? result->error.message : NULL);
    if (ended)
        json_i64(json, "exit_code", run_job_exit_code(job));
    json_u64(json, "drops", 0);
    json_object(json, "digests");
    json_hex(json, "run", result->digest);
    json_hex(json, "state", result->state_digest);
    json_object_end(json);
}

vly_status run_folder_manifest(const run_job *job, vly_error *error)
{
    json_writer json;
    json_init(&json, true);
    json_object(&json, NULL);
    json_u64(&json, "manifest", 1);
    json_i64(&json, "pid", (int64_t)getpid());
    run_parts_json(job, RUN_MANIFEST_FIRST, &json);
    put_build(job, &json);
    put_genome(job, &json);
    put_plugins(job, &json);
    put_course(job, &json);
    json_object_end(&json);
    vly_status status =
        save_json(job->plan.folder, "manifest.json", &json, error);
    json_deinit(&json);
    return status;
}

/* ---- start and end ---------------------------------------------------- */

vly_status run_folder_begin(run_job *job, vly_error *error)
{
    const char *folder = job->plan.folder;
    const char *resolved = tool_genome_info(job->build.genome).resolved;
    vly_status status = VLY_OK;
    job->folder_begun = true;
    VLY_TRY(save_text(folder, "genome.resolved.toml", resolved,
                      strlen(resolved), error));
    VLY_TRY(vly_writer_flush(job->events, error));
    VLY_TRY(run_folder_manifest(job, error));
out:
    return status;
}

static void remove_file(const char *folder, const char *name)
{
    char *path = run_folder_path(folder, name);
    if (path)
        (void)unlink(path);
    vly_free(path);
}

void run_folder_refuse(run_job *job, const vly_error *why)
{
    run_result *result = &job->result;
    if (!job->folder_begun)
        return; /* nothing was written, and existing files stay */
    if (job->folder_fresh) {
        /* the folder was empty when it was locked; a file that was opened and
         * not saved is removed by its writer */
        remove_file(job->plan.folder, "manifest.json");
        remove_file(job->plan.folder, "genome.resolved.toml");
        return;
    }
    result->error = *why;
    result->refused = true;
    snprintf(result->end, sizeof result->end, "%s", tool_time_text());
    run_folder_event(job, "refused", why->message);
    /* the reason of the refusal matters more than a failed write */
    (void)run_folder_manifest(job, NULL);
}

static vly_status save_summary(run_job *job, vly_error *error)
{
    json_writer json;
    json_init(&json, true);
    run_report_json(job, &json);
    vly_status status =
        save_json(job->plan.folder, "summary.json", &json, error);
    json_deinit(&json);
    return status;
}

static void keep_first(vly_error *first, const vly_error *next)
{
    if (first->status == VLY_OK && next->status != VLY_OK)
        *first = *next;
}

void run_folder_end(run_job *job)
{
    vly_error *first = &job->result.error;
    vly_error next = VLY_ERROR_INIT;
    run_folder_event(job,
                     first->status != VLY_OK  ? "error"
                     : job->result.stopped_by ? "stopped by volley ctl"
                     : job->result.stopped    ? "stopped by a signal"
                     : job->result.late       ? "a deadline was missed"
                                              : "done",
                     first->status != VLY_OK ? first->message : NULL);
    vly_writer_close(job->events, &next);
    job->events = NULL;
    keep_first(first, &next);
    keep_first(first, &job->event_lost);
    save_summary(job, &next);
    keep_first(first, &next);
    /* last, so that it reports earlier failures */
    run_folder_manifest(job, &next);
    keep_first(first, &next);
}
