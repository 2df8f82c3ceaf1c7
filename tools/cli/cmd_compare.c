/* SPDX-License-Identifier: Apache-2.0
 * volley compare: two digest logs, from two machines.
 */
#include "tools/cli/commands.h"

#include <volley/record.h>

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "tools/cli/tool.h"

static const tool_option options[] = {
    {"common", 0, false, TOOL_FLAG, NULL,
     "compare only bursts that both logs have; one log may be longer", 0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

typedef struct side {
    const char *path;
    vly_digest_reader *reader;
    vly_digest_info info;
    vly_digest_entry entry;
    int more;
} side;

static bool same_hash(const uint64_t a[2], const uint64_t b[2])
{
    return a[0] == b[0] && a[1] == b[1];
}

static vly_status open(side *s, vly_error *error)
{
    vly_status status = vly_digest_reader_open(s->path, &s->reader, error);
    s->info.struct_size = sizeof s->info;
    s->entry.struct_size = sizeof s->entry;
    if (status == VLY_OK)
        status = vly_digest_reader_info(s->reader, &s->info);
    return status;
}

static vly_status check_headers(const side *a, const side *b, vly_error *error)
{
    if (!same_hash(a->info.genome_hash, b->info.genome_hash))
        return vly_fail(error, VLY_E_INVALID,
                        "%s and %s are of different genomes: %s and %s; wanted "
                        "two runs of one genome with the same seeds",
                        a->path, b->path, tool_hash_text(a->info.genome_hash),
                        tool_hash_text(b->info.genome_hash));
    if (a->info.dt_ms < b->info.dt_ms || a->info.dt_ms > b->info.dt_ms)
        return vly_fail(error, VLY_E_INVALID,
                        "%s has dt %g ms, %s %g ms: wanted the same", a->path,
                        a->info.dt_ms, b->path, b->info.dt_ms);
    return VLY_OK;
}

static vly_status next(side *s, vly_error *error)
{
    return vly_digest_reader_next(s->reader, &s->entry, &s->more, error);
}

/* Both stand at a burst. */
static bool differs(const side *a, const side *b)
{
    if (a->entry.burst != b->entry.burst) {
        tool_print("differ: %s begins at burst %" PRIu64 ", %s at %" PRIu64
                   "\n",
                   a->path, a->entry.burst, b->path, b->entry.burst);
        return true;
    }
    if (a->entry.digest == b->entry.digest &&
        a->entry.run_digest == b->entry.run_digest &&
        a->entry.n_spikes == b->entry.n_spikes)
        return false;
    tool_print("differ at burst %" PRIu64 "\n  %s: digest %016" PRIx64
               ", %" PRIu64 " spikes (%s)\n  %s: digest %016" PRIx64
               ", %" PRIu64 " spikes (%s)\n",
               a->entry.burst, a->path, a->entry.digest, a->entry.n_spikes,
               a->info.backend, b->path, b->entry.digest, b->entry.n_spikes,
               b->info.backend);
    return true;
}

static void print_same(const side *s, uint64_t bursts, uint64_t spikes)
{
    tool_print("identical: %s bursts, %s spikes, digest %016" PRIx64 "\n",
               tool_thousands(bursts), tool_thousands(spikes),
               s->entry.run_digest);
    if (spikes == 0)
        tool_message("no neuron fired: silent networks always agree");
}

static vly_status compare(side *a, side *b, bool common, int *code,
                          vly_error *error)
{
    uint64_t bursts = 0;
    uint64_t spikes = 0;
    vly_status status = VLY_OK;
    *code = TOOL_EXIT_DIFFERS;
    if (!same_hash(a->info.connectome_hash, b->info.connectome_hash))
        tool_message("the connectomes differ although the genome is the same: "
                     "%s and %s",
                     tool_hash_text(a->info.connectome_hash),
                     tool_hash_text(b->info.connectome_hash));
    for (;;) {
        VLY_TRY(next(a, error));
        VLY_TRY(next(b, error));
        if (!a->more || !b->more)
            break;
        if (differs(a, b))
            goto out;
        bursts++;
        spikes += a->entry.n_spikes;
    }
    if (a->more != b->more && !common) {
        const side *shorter = a->more ? b : a;
        tool_print("differ: identical for %s bursts, then %s ends\n",
                   tool_thousands(bursts), shorter->path);
        goto out;
    }
    print_same(a->more ? b : a, bursts, spikes);
    bool one = same_hash(a->info.connectome_hash, b->info.connectome_hash);
    *code = one ? TOOL_EXIT_DONE : TOOL_EXIT_DIFFERS;
out:
    return status;
}

static int run(const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    side a = {.path = args->positional[0]};
    side b = {.path = args->positional[1]};
    int code = TOOL_EXIT_DONE;
    vly_status status = VLY_OK;
    VLY_TRY(open(&a, &error));
    VLY_TRY(open(&b, &error));
    VLY_TRY(check_headers(&a, &b, &error));
    VLY_TRY(compare(&a, &b, tool_has(args, "common"), &code, &error));
out:
    vly_digest_reader_close(a.reader);
    vly_digest_reader_close(b.reader);
    return status != VLY_OK ? tool_fail(&error) : code;
}

const tool_command cmd_compare = {
    .name = "compare",
    .arguments = "LOG LOG",
    .summary = "Compares two digest logs: 0 identical, 1 different (prints "
               "where).",
    .details = "Logs come from `volley run --digest-log FILE`. Logs of "
               "different genomes are\nrefused with exit code 2.\n",
    .options = options,
    .n_positional_min = 2,
    .n_positional_max = 2,
    .run = run};
