/* SPDX-License-Identifier: Apache-2.0
 * volley connections: the synapses of a network as they were compiled, or as a
 * run that is under way has learnt them.
 */
#include "tools/cli/commands.h"

#include <volley/host.h>
#include <volley/record.h>

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/reading.h"
#include "tools/cli/output_apart.h"
#include "tools/cli/output_room.h"
#include "tools/cli/setup.h"
#include "tools/cli/tool.h"
#include "tools/connections/connections.h"

static const tool_option options[] = {
    {"map", 0, false, TOOL_TEXT, "NAME", "of this map only", 0, 0},
    {"source", 0, false, TOOL_TEXT, "AREA[:I[-J]]",
     "from this area or its copies, or from neurons I to J of it", 0, 0},
    {"target", 0, false, TOOL_TEXT, "AREA[:I[-J]]",
     "to this area or its copies, or to neurons I to J of it", 0, 0},
    {"limit", 0, false, TOOL_COUNT, "N", "the first N only", 1, 9e15},
    {"output", 'o', false, TOOL_TEXT, "FILE",
     "default: standard output; .h5: SONATA edges, otherwise CSV", 0, 0},
    {"resume", 0, false, TOOL_TEXT, "CHECKPOINT",
     "weights as learnt, of a checkpoint of this network", 0, 0},
    {"set", 0, true, TOOL_TEXT, "PATH=VALUE", "change the genome", 0, 0},
    {"seed", 0, false, TOOL_COUNT, "N", "all three seeds", 0, 9e18},
    {"threads", 0, false, TOOL_COUNT, "N", "host threads; default: all cores",
     1, 1024},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

typedef struct connections_job {
    const char *path;
    const char *output;
    const char *checkpoint; /* NULL: none */
    uint32_t n_threads;
    tool_build build;
    vly_registry *registry;
    vly_net *net; /* of the checkpoint; NULL: none */
    connections_pick pick;
    connections_pair *pairs;
    uint32_t n_pairs;
    uint64_t n_left_out; /* by --limit */
} connections_job;

/* ---- the network -------------------------------------------------------- */

/* A pipe is a genome; a file that is missing is named by its reader. */
static bool is_connectome(const char *path)
{
    char head[VLY_FILE_KIND_BYTES];
    FILE *file = NULL;
    vly_error error = VLY_ERROR_INIT;
    if (strcmp(path, "-") == 0 ||
        vly_reading_open(path, VLY_READ_FILE, &file, &error) != VLY_OK)
        return false;
    const size_t n = fread(head, 1, sizeof head, file);
    const bool saved = vly_file_kind(head, n) == VLY_FILE_CONNECTOME;
    fclose(file);
    return saved;
}

static vly_status load_network(connections_job *job, const tool_args *args,
                               vly_error *error)
{
    tool_overrides overrides = {0};
    const bool saved = is_connectome(job->path);
    vly_status status = VLY_OK;
    VLY_TRY(tool_overrides_init(args, &overrides, error));
    if (!saved)
        status = tool_build_init(job->path, &overrides, job->n_threads,
                                 &job->build, error);
    else if (overrides.n > 0)
        status = vly_fail(error, VLY_E_INVALID,
                          "--set, --seed: %s is not a genome", job->path);
    else
        status =
            vly_connectome_load(job->path, 1, &job->build.connectome, error);
out:
    tool_overrides_deinit(&overrides);
    return status;
}

/* A net on the processor has the weights of the checkpoint. */
static vly_status load_checkpoint(connections_job *job, vly_error *error)
{
    vly_state *state = NULL;
    vly_status status = VLY_OK;
    if (!job->checkpoint)
        return VLY_OK;
    VLY_TRY(vly_state_load(job->checkpoint, &state, error));
    VLY_TRY(tool_registry_create(&job->registry, error));
    status = vly_net_resume(job->build.connectome, job->registry, "cpu",
                            job->n_threads, state, &job->net, error);
out:
    vly_state_destroy(state);
    return status;
}

/* Before the network is compiled. */
static vly_status check_format(const char *output, vly_error *error)
{
    if (vly_recording_format(output) == VLY_RECORDING_STREAM)
        return vly_fail(error, VLY_E_INVALID,
                        "-o %s: a stream has spikes, wanted .csv or .h5",
                        output);
    return vly_recording_check(output, error);
}

/* ---- what is wanted ----------------------------------------------------- */

static vly_status check_output(const connections_job *job, vly_error *error)
{
    const char *output = job->output;
    vly_status status = VLY_OK;
    VLY_TRY(output_probe(output, error));
    VLY_TRY(output_apart(output, job->checkpoint, "the checkpoint", error));
    status = job->build.genome
                 ? output_apart_genome(output, job->build.genome, error)
                 : output_apart(output, job->path, "the connectome", error);
out:
    return status;
}

static vly_status choose(connections_job *job, const tool_args *args,
                         vly_error *error)
{
    const vly_connectome *connectome = job->build.connectome;
    connections_pick *pick = &job->pick;
    uint64_t left = tool_count(args, "limit", UINT64_MAX);
    vly_status status = VLY_OK;
    pick->map = tool_text(args, "map");
    VLY_TRY(connections_end_read(
        connectome, "source", tool_text(args, "source"), &pick->source, error));
    VLY_TRY(connections_end_read(
        connectome, "target", tool_text(args, "target"), &pick->target, error));
    VLY_TRY(
        connections_pairs(connectome, pick, &job->pairs, &job->n_pairs, error));
    for (uint32_t k = 0; k < job->n_pairs; k++) {
        connections_pair *pair = &job->pairs[k];
        const uint64_t n = connections_count(connectome, pick, pair);
        pair->n = n < left ? n : left;
        left -= pair->n;
        job->n_left_out += n - pair->n;
    }
out:
    return status;
}

/* The least size of the file: seven columns of 8 bytes, or the shortest lines.
 */
static uint64_t least_bytes(const connections_job *job)
{
    const bool sonata =
        vly_recording_format(job->output) == VLY_RECORDING_SONATA;
    uint64_t n_bytes = 0;
    for (uint32_t k = 0; k < job->n_pairs; k++) {
        const connections_pair *pair = &job->pairs[k];
        n_bytes += pair->n *
                   (sonata ? 56
                           : strlen(pair->map) + strlen(pair->source) +
                                 strlen(pair->target) + sizeof ",,0,,0,0,1,1");
    }
    return n_bytes;
}

static vly_status save(const connections_job *job, vly_error *error)
{
    connections_reader *reader = NULL;
    uint64_t n_rows = 0;
    vly_status status = VLY_OK;
    VLY_TRY(output_room(job->output, least_bytes(job), error));
    VLY_TRY(connections_reader_create(job->build.connectome, job->net, &reader,
                                      error));
    VLY_TRY(connections_save(reader, job->build.connectome, &job->pick,
                             job->pairs, job->n_pairs, job->output, &n_rows,
                             error));
    if (strcmp(job->output, "-") != 0)
        tool_message("%s connections to %s", tool_thousands(n_rows),
                     job->output);
    if (job->n_left_out > 0)
        tool_message("--limit leaves out %s more",
                     tool_thousands(job->n_left_out));
out:
    connections_reader_destroy(reader);
    return status;
}

static void job_deinit(connections_job *job)
{
    vly_net_destroy(job->net);
    vly_registry_destroy(job->registry);
    vly_free(job->pairs);
    tool_build_deinit(&job->build);
}

static int run(const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    connections_job job = {.path = args->positional[0],
                           .output = tool_text(args, "output"),
                           .checkpoint = tool_text(args, "resume"),
                           .n_threads = tool_threads(args)};
    vly_status status = VLY_OK;
    if (!job.output)
        job.output = "-";
    VLY_TRY(check_format(job.output, &error));
    VLY_TRY(load_network(&job, args, &error));
    VLY_TRY(check_output(&job, &error));
    VLY_TRY(choose(&job, args, &error));
    VLY_TRY(load_checkpoint(&job, &error));
    status = save(&job, &error);
out:
    job_deinit(&job);
    return status != VLY_OK ? tool_fail(&error) : TOOL_EXIT_DONE;
}

const tool_command cmd_connections = {
    .name = "connections",
    .arguments = "GENOME.toml|CONNECTOME [options]",
    .summary = "Prints the synapses of a network: ends, weights, delays.",
    .details =
        "One line for each synapse, in the order of maps, areas, source and "
        "target:\n"
        "map,from,source,to,target,weight_UNIT,delay_ms,delay_bursts. Weights "
        "are those\n"
        "of the compiled network, rounded to its units; the column is weight "
        "if the units\n"
        "differ. Neurons are counted from 0 in their areas. A map with rule = "
        "\"file\"\n"
        "reads such a file.\n",
    .options = options,
    .n_positional_min = 1,
    .n_positional_max = 1,
    .run = run};
