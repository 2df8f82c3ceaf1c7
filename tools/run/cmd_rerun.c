/* SPDX-License-Identifier: Apache-2.0
 * volley rerun: the run of a manifest again, from the resolved genome beside
 * it; 0 if the digests agree.
 */
#include "tools/cli/commands.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/cli/json_reader.h"
#include "tools/run/run_change.h"
#include "tools/run/run_job.h"
#include "tools/run/run_output.h"
#include "tools/run/run_swap.h"

static const tool_option options[] = {
    {"backend", 0, false, TOOL_TEXT, "NAME",
     "default: the backend of the manifest, with its swaps", 0, 0},
    {"threads", 0, false, TOOL_COUNT, "N", "host threads; default: all cores",
     1, 1024},
    {"digest-log", 0, false, TOOL_TEXT, "FILE",
     "write one digest per burst, for volley compare", 0, 0},
    {"quiet", 0, false, TOOL_FLAG, NULL, "errors only", 0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

typedef struct rerun {
    json_value manifest;
    char *genome;
    uint64_t n_bursts;
    uint64_t digest;
    uint64_t state_digest;
    /* the checkpoint that the run went on from, if the manifest need not have
     * all that was changed before it; otherwise NULL */
    const char *unknown;
} rerun;

static vly_status read_digest(const json_value *digests, const char *key,
                              const char *path, uint64_t *digest,
                              vly_error *error)
{
    const char *text = json_find_text(digests, key);
    char *end = NULL;
    if (text && strlen(text) == 16) {
        *digest = strtoull(text, &end, 16);
        if (*end == '\0')
            return VLY_OK;
    }
    return vly_fail(error, VLY_E_PARSE,
                    "%s: no digest \"%s\"; is it the "
                    "manifest of a run?",
                    path, key);
}

/* A whole number that a double holds exactly. */
static vly_status read_count(const json_value *object, const char *key,
                             const char *path, uint64_t *count,
                             vly_error *error)
{
    double number = json_find_number(object, key, -1.0);
    if (!(number >= 0.0 && number <= 0x1p53) || number > floor(number))
        return vly_fail(error, VLY_E_PARSE,
                        "%s: \"%s\" is missing or no whole number from 0 to "
                        "2^53",
                        path, key);
    *count = (uint64_t)number;
    return VLY_OK;
}

/* A manifest of an earlier version does not say whether it has all. */
static void read_resumed(rerun *again)
{
    const json_value *resumed = json_find(&again->manifest, "resumed");
    const json_value *known = json_find(&again->manifest, "changes_known");
    if (resumed && resumed->kind == JSON_OBJECT &&
        !(known && known->kind == JSON_BOOL && known->number != 0.0))
        again->unknown = json_find_text(resumed, "file");
}

static vly_status read_manifest(rerun *again, const char *path,
                                vly_error *error)
{
    vly_status status = json_load(path, &again->manifest, error);
    if (status == VLY_E_PARSE) {
        vly_error why = *error;
        return vly_fail(error, VLY_E_PARSE,
                        "%.800s; wanted the manifest.json in the folder of a "
                        "run, or that folder",
                        why.message);
    }
    if (status != VLY_OK)
        return status;
    const json_value *digests = json_find(&again->manifest, "digests");
    VLY_TRY(read_digest(digests, "run", path, &again->digest, error));
    VLY_TRY(read_digest(digests, "state", path, &again->state_digest, error));
    VLY_TRY(
        read_count(&again->manifest, "bursts", path, &again->n_bursts, error));
    const char *reason = json_find_text(&again->manifest, "exit_reason");
    if (!reason || strcmp(reason, "running") == 0)
        return vly_fail(error, VLY_E_INVALID,
                        "%s: that run did not end, so it has no digest", path);
    const char *slash = strrchr(path, '/');
    again->genome = !slash ? vly_strdup("genome.resolved.toml")
                           : vly_format("%.*s/genome.resolved.toml",
                                        (int)(slash - path), path);
    if (!again->genome)
        return vly_fail_nomem(error, strlen(path), "a file name");
    read_resumed(again);
out:
    return status;
}

static vly_status read_swaps(const rerun *again, run_job *job, vly_error *error)
{
    const json_value *swaps = json_find(&again->manifest, "swaps");
    uint32_t n = swaps ? swaps->n_items : 0;
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < n; i++) {
        const json_value *swap = &swaps->items[i];
        uint64_t burst = 0;
        const char *backend = json_find_text(swap, "backend");
        VLY_TRY(
            read_count(swap, "burst", "a swap of the manifest", &burst, error));
        if (!backend || burst > job->plan.n_bursts)
            continue; /* swaps after the end of a stopped run */
        VLY_TRY(run_swap_plan(job, burst, backend, error));
    }
out:
    return status;
}

static vly_status read_changes(const rerun *again, run_job *job,
                               vly_error *error)
{
    const json_value *changes = json_find(&again->manifest, "changes");
    uint32_t n = changes ? changes->n_items : 0;
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < n; i++) {
        const json_value *change = &changes->items[i];
        const char *path = json_find_text(change, "path");
        double value = json_find_number(change, "value", NAN);
        uint64_t burst = 0;
        VLY_TRY(read_count(change, "burst", "a change of the manifest", &burst,
                           error));
        if (!path || value != value)
            return vly_fail(error, VLY_E_PARSE,
                            "a change of the manifest has no path or value");
        VLY_TRY(run_change_plan(job, burst, path, value, error));
    }
out:
    return status;
}

static vly_status load_genome(const rerun *again, run_job *job,
                              vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_genome_load(again->genome, NULL, 0, &job->build.genome, error));
    const char *wanted = json_find_text(&again->manifest, "genome_hash");
    const char *found =
        tool_hash_text(tool_genome_info(job->build.genome).hash);
    if (wanted && strcmp(wanted, found) == 0)
        return VLY_OK;
    return vly_fail(error, VLY_E_INVALID,
                    "%s: its hash is %s, the manifest says %s: the file was "
                    "changed, or this version reads it otherwise",
                    again->genome, found, wanted ? wanted : "nothing");
out:
    return status;
}

static vly_status make_plan(const tool_args *args, const rerun *again,
                            const char *manifest, run_job *job,
                            vly_error *error)
{
    const char *backend = tool_text(args, "backend");
    const char *before = json_find_text(&again->manifest, "backend_asked");
    job->plan = (run_plan){
        .path = again->genome,
        .manifest = manifest,
        .backend = backend ? backend : before,
        .n_threads = tool_threads(args),
        .n_bursts = again->n_bursts,
        .quiet = tool_has(args, "quiet"),
    };
    if (!job->plan.backend)
        job->plan.backend = "auto";
    run_output_state(job)->digest_log = tool_text(args, "digest-log");
    vly_status status = VLY_OK;
    if (!backend)
        VLY_TRY(read_swaps(again, job, error));
    VLY_TRY(read_changes(again, job, error));
    status = load_genome(again, job, error);
out:
    return status;
}

static int print_result(const rerun *again, const run_job *job)
{
    const run_result *result = &job->result;
    uint64_t digest[2];
    vly_connectome_get_digest(job->build.connectome, job->plan.n_threads,
                              digest);
    const char *network = json_find_text(&again->manifest, "connectome_digest");
    /* missing in a manifest of an older version */
    bool same_network =
        !network || strcmp(network, tool_hash_text(digest)) == 0;
    bool same = result->digest == again->digest &&
                result->state_digest == again->state_digest && same_network;
    tool_print("%s: %s bursts, %s spikes on %s\n",
               same ? "identical" : "differs",
               tool_thousands(vly_net_burst(job->net)),
               tool_thousands(result->stats.spikes), result->stats.backend);
    tool_print("digest        %016" PRIx64 "\n", result->digest);
    tool_print("state digest  %016" PRIx64 "\n", result->state_digest);
    if (same)
        return TOOL_EXIT_DONE;
    if (same_network && again->unknown) {
        tool_message("this run cannot be repeated from its manifest: it went "
                     "on from %s, and what was changed before is not known",
                     again->unknown);
        return TOOL_EXIT_WRONG;
    }
    if (!same_network)
        tool_print("another connectome: its digest is %s, the manifest has "
                   "%.40s\n",
                   tool_hash_text(digest), network);
    tool_print("the manifest has %016" PRIx64 " and %016" PRIx64 "\n",
               again->digest, again->state_digest);
    return TOOL_EXIT_DIFFERS;
}

static int execute(const rerun *again, const char *manifest,
                   const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    run_job job;
    if (run_job_init(&job, &error) != VLY_OK ||
        make_plan(args, again, manifest, &job, &error) != VLY_OK ||
        run_job_open(&job, &error) != VLY_OK) {
        run_job_deinit(&job);
        return tool_fail(&error);
    }
    run_report_head(&job);
    run_job_execute(&job);
    int code = run_job_exit_code(&job);
    if (job.result.error.status != VLY_OK)
        tool_fail(&job.result.error);
    else if (job.result.stopped)
        tool_message("stopped by a signal");
    else
        code = print_result(again, &job);
    run_job_deinit(&job);
    return code;
}

static int run(const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    rerun again = {0};
    int code;
    /* the folder of a run is accepted too */
    struct stat info;
    const char *path = args->positional[0];
    char *inside = NULL;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode) &&
        (inside = vly_format("%s/manifest.json", path)) != NULL)
        path = inside;
    if (read_manifest(&again, path, &error) != VLY_OK)
        code = tool_fail(&error);
    else
        code = execute(&again, path, args);
    vly_free(inside);
    vly_free(again.genome);
    json_free(&again.manifest);
    return code;
}

const tool_command cmd_rerun = {
    .name = "rerun",
    .arguments = "MANIFEST|FOLDER [options]",
    .summary = "Repeats the run of a manifest: 0 same digest, 1 digest "
               "differs.",
    .details =
        "The genome is the genome.resolved.toml beside the manifest. A resumed "
        "run is\nrepeated from its beginning, with the changes of "
        "earlier processes, if it went on\nin the folder of these; "
        "otherwise, if its digest is not reached, the exit code is "
        "2.\n",
    .options = options,
    .n_positional_min = 1,
    .n_positional_max = 1,
    .run = run};
