/* SPDX-License-Identifier: Apache-2.0
 * volley check: a genome compiled on paper. Small ones are compiled really
 * (and not run), because some errors, such as a weight that rounds to 0 or the
 * bound of 2^30, show only there.
 */
#include "tools/cli/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "connectome/connectome.h"
#include "genome/genome_end.h"
#include "genome/genome_map.h"
#include "genome/spike_source.h"
#include "tools/cli/check_ranks.h"
#include "tools/cli/check_size.h"
#include "tools/cli/columns.h"
#include "tools/cli/learning_notes.h"
#include "tools/cli/setup.h"
#include "tools/cli/tool.h"
#include "tools/cli/weight_notes.h"

static const tool_option options[] = {
    {"set", 0, true, TOOL_TEXT, "PATH=VALUE", "change the genome", 0, 0},
    {"seed", 0, false, TOOL_COUNT, "N", "all three seeds", 0, 9e18},
    {"build", 0, false, TOOL_FLAG, NULL,
     "compile the network, however large it is", 0, 0},
    {"paper", 0, false, TOOL_FLAG, NULL,
     "do not compile: expected numbers only", 0, 0},
    {"ranks", 0, false, TOOL_COUNT, "N",
     "with --build: compile the parts of N ranks", 1, 65536},
    {"rank", 0, false, TOOL_COUNT, "K", "with --ranks: only part K, from 0", 0,
     65535},
    {"json", 0, false, TOOL_TEXT, "FILE",
     "with --ranks: the parts as JSON; - is stdout", 0, 0},
    {"threads", 0, false, TOOL_COUNT, "N", "host threads; default: all cores",
     1, 1024},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

/* Compiling so many takes about a second. */
static const double build_synapses_max = 2e7;

static void value_text(const vly_value *value, char *text, size_t n)
{
    switch (value->kind) {
    case VLY_VALUE_NUMBER:
        snprintf(text, n, "%.6g", value->a);
        break;
    case VLY_VALUE_UNIFORM:
        snprintf(text, n, "uniform %.4g..%.4g", value->a, value->b);
        break;
    case VLY_VALUE_NORMAL:
        snprintf(text, n, "normal %.4g, %.4g", value->a, value->b);
        break;
    case VLY_VALUE_LOGNORMAL:
        snprintf(text, n, "lognormal %.4g, %.4g", value->a, value->b);
        break;
    case VLY_VALUE_EXPONENTIAL:
        snprintf(text, n, "exponential %.4g", value->a);
        break;
    case VLY_VALUE_ARRAY:
        snprintf(text, n, "%u values", value->n_array);
        break;
    case VLY_VALUE_DRAW:
        snprintf(text, n, "drawn by %s", value->draw);
        break;
    case VLY_VALUE_MIXTURE:
        snprintf(text, n, "one of %u", value->n_parts);
        break;
    }
}

static void print_areas(const vly_genome *genome)
{
    tool_print("%-24s %-18s %14s %12s\n", "area", "model", "neurons", "bytes");
    for (uint32_t a = 0; a < genome->n_areas; a++) {
        const vly_area *area = &genome->areas[a];
        char model[64];
        snprintf(model, sizeof model, "%s%s",
                 area->generator ? "generator " : "",
                 area->generator ? area->generator : area->model->id);
        tool_print("%-*s %-*s %14s %12s\n", TOOL_COLUMN(area->name, 24),
                   TOOL_COLUMN(model, 18), tool_thousands(area->n_neurons),
                   tool_bytes(vly_count_of(check_area_bytes(area))));
    }
}

static void weight_text(const vly_pair *pair, char *text, size_t n)
{
    char value[64];
    value_text(&pair->weight, value, sizeof value);
    if (pair->rule == VLY_RULE_FILE && pair->edges->weight)
        snprintf(text, n, "from the file");
    else if (pair->rule == VLY_RULE_DISTANCE && pair->space.weight_slope != 0.0)
        snprintf(text, n, "%s %+.4g d", value, pair->space.weight_slope);
    else
        snprintf(text, n, "%s", value);
}

static void delay_text(const vly_pair *pair, char *text, size_t n)
{
    char value[64];
    value_text(&pair->delay_ms, value, sizeof value);
    if (pair->rule == VLY_RULE_FILE && pair->edges->delay)
        snprintf(text, n, "from the file");
    else if (pair->rule == VLY_RULE_DISTANCE &&
             pair->space.delay_slope_ms != 0.0)
        snprintf(text, n, "%s %+.4g d", value, pair->space.delay_slope_ms);
    else
        snprintf(text, n, "%s", value);
}

/* The end of a map: an area or a part of one, "E[0:100]" */
#define END_BYTES (VLY_NAME_MAX + 32)

static void between_text(const vly_genome *genome, uint32_t from, uint32_t to,
                         char *text, size_t n)
{
    snprintf(text, n, "%.*s -> %.*s", TOOL_FIT(genome->areas[from].name, 40),
             TOOL_FIT(genome->areas[to].name, 40));
}

static void pair_text(const vly_genome *genome, const vly_pair *pair,
                      char *text, size_t n)
{
    char from[END_BYTES];
    char to[END_BYTES];
    vly_pair_end_text(genome, pair, true, from, sizeof from);
    vly_pair_end_text(genome, pair, false, to, sizeof to);
    snprintf(text, n, "%.*s -> %.*s", TOOL_FIT(from, 40), TOOL_FIT(to, 40));
}

/* A map may have several projections, one for each size of its weights. */
static uint64_t built_synapses(const vly_connectome *built, uint32_t pair)
{
    uint64_t n = 0;
    for (uint32_t p = 0; p < built->desc.n_projections; p++)
        if (built->projections[p].pair == pair)
            n += built->projections[p].n_synapses;
    return n;
}

static const char pair_format[] = "%-*s %-*s %-18s %s%*s  %-20s %s\n";

static void print_pairs(const vly_genome *genome, const vly_connectome *built)
{
    char between[2 * END_BYTES + 8];
    tool_print("\n%-14s %-20s %-18s %16s  %-20s %s\n", "map", "from -> to",
               "rule", "synapses", "weight", "delay_ms");
    for (uint32_t i = 0; i < genome->n_pairs; i++) {
        const vly_pair *pair = &genome->pairs[i];
        char weight[96];
        char delay[96];
        pair_text(genome, pair, between, sizeof between);
        weight_text(pair, weight, sizeof weight);
        delay_text(pair, delay, sizeof delay);
        bool exact = check_pair_exact(pair) || built;
        uint64_t n =
            built ? built_synapses(built, i)
                  : vly_count_of(check_pair_synapses(genome, pair) + 0.5);
        tool_print(pair_format, TOOL_COLUMN(pair->map, 14),
                   TOOL_COLUMN(between, 20), vly_rules[pair->rule].name,
                   exact ? "" : "~", exact ? 16 : 15, tool_thousands(n), weight,
                   delay);
    }
    for (uint32_t i = 0; i < genome->n_empty; i++) {
        const vly_empty *empty = &genome->empty[i];
        between_text(genome, empty->from, empty->to, between, sizeof between);
        tool_print(pair_format, TOOL_COLUMN(empty->map, 14),
                   TOOL_COLUMN(between, 20), vly_rules[empty->rule].name, "",
                   16, "0", "", "");
    }
}

/* Spikes that are given go to some neurons of their area. */
static uint64_t count_targets(const vly_genome *genome,
                              const vly_stimulus *stimulus)
{
    return stimulus->kind == VLY_STIMULUS_SPIKES
               ? vly_spikes_reach(genome, stimulus)
               : stimulus->n_neurons;
}

/* The pieces of a list by neuron or over time, from the first on; *n_neurons:
 * of those that hold at once. */
static uint32_t count_pieces(const vly_genome *genome, uint32_t first,
                             uint64_t *n_neurons)
{
    const vly_stimulus *of = &genome->stimuli[first];
    const vly_stimulus *at = of;
    uint32_t n = 0;
    uint64_t here = 0;
    *n_neurons = 0;
    for (; first + n < genome->n_stimuli && strcmp(at->id, of->id) == 0 &&
           at->to == of->to && (n == 0 || at->listed);
         at = &of[++n]) {
        here = n > 0 && at->start == at[-1].start ? here : 0;
        here += count_targets(genome, at);
        *n_neurons = here > *n_neurons ? here : *n_neurons;
    }
    return n;
}

/* Those of the file: that of a generator is part of its area. */
static void print_stimuli(const vly_genome *genome)
{
    uint32_t n = 0;
    for (uint32_t i = 0, n_pieces; i < genome->n_stimuli; i += n_pieces) {
        uint64_t n_neurons = 0;
        const vly_stimulus *stimulus = &genome->stimuli[i];
        const vly_area *to = &genome->areas[stimulus->to];
        n_pieces = count_pieces(genome, i, &n_neurons);
        if (to->generator)
            continue;
        if (n++ == 0)
            tool_print("\n%-20s %-10s %-20s %14s\n", "stimulus", "kind", "to",
                       "neurons");
        tool_print("%-*s %-10s %-*s %14s", TOOL_COLUMN(stimulus->id, 20),
                   stimulus->written, TOOL_COLUMN(to->name, 20),
                   tool_thousands(n_neurons));
        if (n_pieces > 1)
            tool_print("   %s pieces", tool_thousands(n_pieces));
        tool_print("\n");
    }
}

/* What only compiling finds. The pairs of a pool are noted together, and
 * projections are in the order of their pairs. */
static void note_empty(const vly_genome *genome, const vly_connectome *built)
{
    uint32_t projection = 0;
    for (uint32_t i = 0, next; i < genome->n_pairs; i = next) {
        const vly_pair *pair = &genome->pairs[i];
        const vly_pool *pool = pair->pool;
        uint64_t n = 0;
        next = i + 1;
        while (pool && next < genome->n_pairs &&
               genome->pairs[next].pool == pool)
            next++;
        for (; projection < built->desc.n_projections &&
               built->projections[projection].pair < next;
             projection++)
            n += built->projections[projection].n_synapses;
        if (n > 0 || pair->rule == VLY_RULE_VECTORS) /* noted already */
            continue;
        tool_message(
            "note: %s makes no synapse from %.80s to %.80s%s", pair->map,
            pool ? pool->from.name : genome->areas[pair->from].name,
            pool ? pool->to.name : genome->areas[pair->to].name,
            pair->rule == VLY_RULE_DISTANCE
                ? ": no two neurons are where kernel and mask are above 0"
                : "");
    }
}

static void print_hashes(const vly_genome *genome, const vly_connectome *built,
                         uint32_t n_threads)
{
    tool_print("genome hash   %s\n", tool_hash_text(genome->hash.lane));
    if (!built)
        return;
    uint64_t digest[2];
    vly_connectome_get_digest(built, n_threads, digest);
    tool_print("connectome hash   %s\n", tool_hash_text(built->hash.lane));
    tool_print("connectome digest %s\n", tool_hash_text(digest));
}

static void print_sums(const vly_genome *genome, const vly_connectome *built)
{
    check_size size;
    check_size_of(genome, &size);
    double biological_ms = (double)genome->n_bursts * genome->dt_ms;
    uint64_t available = vly_memory_available();
    tool_print("\nneurons       %s\n", tool_thousands(genome->n_neurons));
    if (built) {
        tool_print("synapses      %s (compiled)\n",
                   tool_thousands(built->desc.n_synapses));
        tool_print("memory        connectome %s\n", tool_bytes(built->n_bytes));
        weight_worst_print(genome, built);
    } else {
        tool_print("synapses      %s (%s)\n",
                   tool_thousands(vly_count_of(size.synapses + 0.5)),
                   size.exact ? "exact" : "expected");
        tool_print("memory        connectome %s, %s while it is compiled%s%s\n",
                   tool_bytes(vly_count_of(size.bytes)),
                   tool_bytes(vly_count_of(size.peak_bytes)),
                   available > 0 ? ", available " : "",
                   available > 0 ? tool_bytes(available) : "");
        if (available > 0 && size.peak_bytes > (double)available)
            tool_message("this machine has not enough memory for it");
    }
    tool_print("length        %s bursts of %g ms (%g ms)\n",
               tool_thousands(genome->n_bursts), genome->dt_ms, biological_ms);
    tool_print("seeds         network %llu, state %llu, input %llu\n",
               (unsigned long long)genome->seed_network,
               (unsigned long long)genome->seed_state,
               (unsigned long long)genome->seed_input);
}

static void print_check(const vly_genome *genome, const vly_connectome *built,
                        uint32_t n_threads)
{
    tool_plain_text title;
    tool_print("%s%s%s: ok\n\n", genome->path, genome->title ? ", " : "",
               genome->title ? tool_plain(genome->title, &title) : "");
    print_areas(genome);
    print_pairs(genome, built);
    learning_print(genome);
    print_stimuli(genome);
    print_sums(genome, built);
    print_hashes(genome, built, n_threads);
    tool_notes(genome);
    if (built) {
        note_empty(genome, built);
        weight_notes(genome, built);
    } else
        tool_message("on paper only: weights and the bound of 2^30 are not "
                     "checked without --build");
}

/* False: the options do not go together. */
static bool ranks_asked(const tool_args *args, check_ranks *asked)
{
    *asked = (check_ranks){.n_threads = tool_threads(args),
                           .json = tool_text(args, "json")};
    if (!tool_has(args, "ranks")) {
        if (!tool_has(args, "rank") && !asked->json)
            return true;
        tool_message("--rank and --json need --ranks");
        return false;
    }
    asked->n_ranks = (uint32_t)tool_count(args, "ranks", 1);
    asked->rank = (uint32_t)tool_count(args, "rank", asked->n_ranks);
    if (!tool_has(args, "build")) {
        tool_message("--ranks needs --build");
        return false;
    }
    if (tool_has(args, "rank") && asked->rank >= asked->n_ranks) {
        tool_message("--rank is %u, wanted 0 to %u", (unsigned)asked->rank,
                     (unsigned)asked->n_ranks - 1);
        return false;
    }
    return true;
}

static int run(const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    tool_overrides overrides;
    vly_genome *genome = NULL;
    vly_connectome *built = NULL;
    check_size size;
    vly_status status = VLY_OK;
    check_ranks ranks;
    bool differs = false;
    if (!ranks_asked(args, &ranks))
        return TOOL_EXIT_WRONG;
    if (tool_has(args, "build") && tool_has(args, "paper")) {
        tool_message("--build and --paper are given, wanted one of them");
        return TOOL_EXIT_WRONG;
    }
    if (tool_overrides_init(args, &overrides, &error) != VLY_OK)
        return tool_fail(&error);
    VLY_TRY(tool_genome_load(args->positional[0], overrides.list, overrides.n,
                             &genome, &error));
    if (ranks.n_ranks > 0) {
        status = check_ranks_run(genome, &ranks, &differs, &error);
        goto out;
    }
    check_size_of(genome, &size);
    bool small = size.synapses <= build_synapses_max &&
                 size.bytes <= 16.0 * build_synapses_max;
    if (!tool_has(args, "paper") && (small || tool_has(args, "build")))
        VLY_TRY(
            vly_connectome_build(genome, tool_threads(args), &built, &error));
    print_check(genome, built, tool_threads(args));
out:
    vly_connectome_destroy(built);
    vly_genome_destroy(genome);
    tool_overrides_deinit(&overrides);
    if (status != VLY_OK)
        return tool_fail(&error);
    return differs ? TOOL_EXIT_DIFFERS : TOOL_EXIT_DONE;
}

const tool_command cmd_check = {
    .name = "check",
    .arguments = "GENOME.toml [options]",
    .summary = "Checks a genome: errors, sizes, memory. Runs nothing.",
    .details = "A genome of up to 20 million synapses is also compiled. This "
               "finds errors of\n"
               "weights and of the 2^30 bound, and gives the hash and digest "
               "of the connectome.\n"
               "~ marks an expected number. With --ranks N --build the "
               "parts of N ranks are\n"
               "compiled one after the other, and their sums compared with "
               "the whole.\n",
    .options = options,
    .n_positional_min = 1,
    .n_positional_max = 1,
    .run = run};
