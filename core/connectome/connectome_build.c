/* SPDX-License-Identifier: Apache-2.0
 * A genome becomes a connectome, step by step: the memory it will need,
 * neurons, rows of every pair of areas, delays, stimuli, units and weights, and
 * the descriptions that backends read.
 */
#include "connectome/connectome_make.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "connectome/connectome_image.h"
#include "connectome/connectome_part.h"
#include "connectome/connectome_views.h"
#include "connectome/part_make.h"
#include "connectome/synapse_rules.h"
#include "genome/genome_end.h"
#include "genome/spike_source.h"

/* Pairs that are built together, so that threads synchronise a few times in
 * total and not once a pair (16 threads, full microcircuit: 0.70 s pair by
 * pair, 0.51 s together). A rule keeps up to 128 KB until its pairs are done.
 */
#define PAIRS_TOGETHER 64u

/* ---- memory ----------------------------------------------------------- */

/* Upper estimate of the peak memory in bytes: synapses, rows, neurons, scratch.
 */
static double predicted_bytes(const vly_genome *genome,
                              const vly_rank_part *part, double *n_synapses)
{
    double bytes = (double)(UINT64_C(16) << 20);
    *n_synapses = 0.0;
    for (uint32_t p = 0; p < genome->n_pairs; p++) {
        const vly_pair *pair = &genome->pairs[p];
        double n = vly_rule_most(genome, pair);
        if (pair->pool && pair->from_part == 0 && pair->to_part == 0)
            bytes += 4.0 * n; /* targets of the pool */
        n *= vly_pair_share(pair);
        if (part) {
            n *= vly_part_share(part, &genome->areas[pair->to]);
            bytes += 24.0 * ((double)genome->areas[pair->from].n_neurons);
        }
        *n_synapses += n;
        bytes += n * (4.0 + 2.0 * vly_weights_vary(pair) +
                      1.0 * vly_delays_vary(pair));
        if (pair->plasticity)
            bytes += 4.0 * n;
        bytes += 8.0 * ((double)genome->areas[pair->from].n_neurons + 1.0);
    }
    for (uint32_t a = 0; a < genome->n_areas; a++) {
        const vly_area *area = &genome->areas[a];
        const vly_model_info *model = area->model;
        bytes += (double)area->n_neurons *
                 (4.0 * (model->n_fields + model->n_coefs + 1) +
                  8.0 * model->n_params + 24.0 * model->n_ports);
    }
    for (uint32_t i = 0; i < genome->n_stimuli; i++)
        bytes += (double)genome->stimuli[i].n_spikes * sizeof(vly_input);
    return bytes;
}

static vly_status memory_check(const vly_genome *genome,
                               const vly_rank_part *part, vly_error *error)
{
    double n_synapses;
    double bytes = predicted_bytes(genome, part, &n_synapses);
    uint64_t available = vly_memory_available();
    if (n_synapses >= 1e18)
        return vly_fail_nomem(error, UINT64_MAX, "a connectome");
    if (available && bytes > (double)available)
        return vly_fail_nomem(error, (uint64_t)bytes, "a connectome");
    return VLY_OK;
}

static vly_status genome_check(const vly_genome *genome, vly_error *error)
{
    if (genome->n_areas == 0)
        return vly_fail(error, VLY_E_INVALID, "a genome without areas");
    for (uint32_t a = 0; a < genome->n_areas; a++)
        if (genome->areas[a].n_neurons == 0)
            return vly_fail(error, VLY_E_INVALID,
                            "area %s has 0 neurons, wanted at least 1",
                            genome->areas[a].name);
    if (!(genome->dt_ms > 0.0))
        return vly_fail(error, VLY_E_INVALID,
                        "dt_ms is %.9g, wanted more than 0", genome->dt_ms);
    return VLY_OK;
}

/* ---- neurons ---------------------------------------------------------- */

static vly_status neurons_make(vly_maker *maker, uint64_t *n_state_words)
{
    vly_status status;
    const vly_genome *genome = maker->genome;
    uint64_t n = 0;
    for (uint32_t a = 0; a < genome->n_areas; a++)
        n += (uint64_t)genome->areas[a].n_neurons *
             genome->areas[a].model->n_fields;
    maker->state =
        vly_storage_alloc(maker->storage, n, sizeof(*maker->state), false);
    if (!maker->state)
        VLY_TRY(vly_fail_nomem(maker->error, n * 4, "state"));
    uint32_t *at = maker->state;
    for (uint32_t a = 0; a < genome->n_areas; a++) {
        const vly_area *area = &genome->areas[a];
        vly_made_area *made = &maker->areas[a];
        VLY_TRY(vly_area_columns_make(maker, a, at));
        at += (size_t)area->n_neurons * area->model->n_fields;
        for (uint32_t port = 0; port < area->model->n_ports; port++) {
            made->load[port] =
                vly_storage_alloc(maker->storage, area->n_neurons,
                                  sizeof(*made->load[port]), true);
            if (!made->load[port])
                VLY_TRY(vly_fail_nomem(maker->error,
                                       (uint64_t)area->n_neurons * 4,
                                       "sums of weights"));
        }
    }
    *n_state_words = n;
    status = VLY_OK;
out:
    return status;
}

/* ---- synapses --------------------------------------------------------- */

/* The number of pairs from `first` that one rule draws together, up to end. */
static uint32_t drawn_together(const vly_made_pair *made, uint32_t first,
                               uint32_t end)
{
    const vly_pool *pool = made[first].pair->pool;
    uint32_t n = 1;
    while (pool && first + n < end && made[first + n].pair->pool == pool)
        n++;
    return n;
}

/* Gives pairs [first, first + n) their rows. A pool's are made in memory of
 * their own. */
static vly_status rows_give(vly_maker *maker, vly_rows *rows,
                            vly_made_pair *made, uint32_t n)
{
    vly_status status = VLY_OK;
    if (made->pair->pool) {
        VLY_TRY(vly_pool_deal(maker->genome, rows->row, rows->targets, made, n,
                              maker->storage, maker->error));
    } else {
        made->row = rows->row;
        made->target = rows->targets;
        made->n_synapses = rows->row[rows->job.n_from];
    }
    for (uint32_t i = 0; i < n; i++)
        made[i].n_whole = made[i].n_synapses;
    for (uint32_t i = 0; i < n && rows->job.near; i++)
        VLY_TRY(vly_distance_values(maker, &made[i], rows->job.near));
out:
    return status;
}

/* The same in a part: one pair, or the n pairs of a pool. */
static vly_status part_make(vly_maker *maker, vly_made_pair *made, uint32_t n)
{
    vly_status status;
    VLY_TRY(vly_part_rows(maker, made, n));
    VLY_TRY(vly_delays_draw(maker, made, n));
out:
    return status;
}

/* Pairs [first, first + n) */
static vly_status pairs_make(vly_maker *maker, uint32_t first, uint32_t n)
{
    vly_status status;
    vly_storage pooled = {0};
    uint32_t n_ready = 0;
    vly_made_pair *made = maker->pairs + first;
    bool pool = made->pair->pool != NULL;
    uint32_t n_rows = pool ? 1 : n;
    vly_rows *rows = vly_calloc(n_rows, sizeof(*rows));
    if (!rows)
        return vly_fail_nomem(maker->error, n_rows * sizeof(*rows), "rules");
    for (; n_ready < n_rows; n_ready++)
        VLY_TRY(vly_rule_init(&rows[n_ready].job, maker->genome,
                              made[n_ready].pair, maker->error));
    VLY_TRY(vly_rows_build(rows, n_rows, maker->n_threads,
                           pool ? &pooled : maker->storage, maker->error));
    for (uint32_t i = 0; i < n_rows; i++)
        VLY_TRY(rows_give(maker, &rows[i], &made[i], pool ? n : 1));
    VLY_TRY(vly_delays_draw(maker, made, n));
out:
    for (uint32_t i = 0; i < n_ready; i++)
        vly_rule_deinit(&rows[i].job);
    vly_free(rows);
    vly_storage_deinit(&pooled);
    return status;
}

/* So many pairs from p on are made at once: a pool alone, others up to a
 * pool. */
static uint32_t pairs_at_once(const vly_maker *maker, uint32_t p)
{
    const uint32_t end = maker->genome->n_pairs;
    uint32_t n = drawn_together(maker->pairs, p, end);
    if (maker->pairs[p].pair->pool || maker->part)
        return n;
    while (n < PAIRS_TOGETHER && p + n < end && !maker->pairs[p + n].pair->pool)
        n++;
    return n;
}

static vly_status out_degree_add(vly_maker *maker, const vly_made_pair *made)
{
    const vly_area *from = &maker->genome->areas[made->pair->from];
    for (uint32_t k = 0; k < from->n_neurons; k++) {
        uint32_t *degree = &maker->out_degree[from->first + k];
        uint64_t sum =
            *degree +
            (made->total ? made->total[k] : made->row[k + 1] - made->row[k]);
        if (sum > UINT32_MAX)
            return vly_fail(maker->error, VLY_E_PARSE,
                            "area %s, neuron %" PRIu32
                            ": more than 2^32 outgoing synapses",
                            from->name, k);
        *degree = (uint32_t)sum;
    }
    return VLY_OK;
}

static void totals_free(vly_maker *maker, uint32_t first, uint32_t n)
{
    for (uint32_t p = first; maker->part && p < first + n; p++) {
        vly_made_pair *made = &maker->pairs[p];
        vly_storage_release(&maker->part->work, made->total,
                            made->n_from * sizeof(*made->total));
        made->total = NULL;
    }
}

static vly_status pairs_check(vly_maker *maker)
{
    vly_status status = VLY_OK;
    const vly_genome *genome = maker->genome;
    for (uint32_t p = 0; p < genome->n_pairs; p++) {
        vly_made_pair *made = &maker->pairs[p];
        made->pair = &genome->pairs[p];
        made->port = made->pair->port;
        made->given = made->pair->edges;
        made->n_from = genome->areas[made->pair->from].n_neurons;
        uint32_t n_ports = genome->areas[made->pair->to].model->n_ports;
        if (n_ports < 2)
            made->port = 0;
        made->by_sign = n_ports == 2 && made->port == VLY_PORT_BY_SIGN;
        VLY_TRY(vly_weights_check(maker, made));
    }
out:
    return status;
}

static vly_status synapses_make(vly_maker *maker)
{
    vly_status status;
    const vly_genome *genome = maker->genome;
    maker->out_degree = vly_storage_alloc(maker->storage, genome->n_neurons,
                                          sizeof(*maker->out_degree), true);
    if (!maker->out_degree)
        VLY_TRY(vly_fail_nomem(maker->error, (uint64_t)genome->n_neurons * 4,
                               "out_degree"));
    for (uint32_t p = 0, n = 0; p < genome->n_pairs; p += n) {
        n = pairs_at_once(maker, p);
        VLY_TRY(maker->part ? part_make(maker, &maker->pairs[p], n)
                            : pairs_make(maker, p, n));
        for (uint32_t i = p; i < p + n; i++)
            VLY_TRY(out_degree_add(maker, &maker->pairs[i]));
        totals_free(maker, p, n);
    }
    status = VLY_OK;
out:
    return status;
}

/* ---- stimuli ---------------------------------------------------------- */

static int input_compare(const void *a, const void *b)
{
    const vly_input *left = a;
    const vly_input *right = b;
    if (left->burst != right->burst)
        return left->burst < right->burst ? -1 : 1;
    if (left->neuron != right->neuron)
        return left->neuron < right->neuron ? -1 : 1;
    return 0; /* equal in every member */
}

typedef struct input_list {
    const vly_stimulus *from;
    vly_input *inputs;
    uint64_t n;
    uint32_t first; /* neuron of the area */
    uint32_t port;
    uint32_t wrong; /* the neuron at which it ended */
    bool sorted;
} input_list;

static bool input_add(void *context, uint64_t burst, uint32_t neuron)
{
    input_list *list = context;
    const vly_stimulus *from = list->from;
    list->wrong = neuron;
    if (neuron < from->first || neuron - from->first >= from->n_neurons)
        return false;
    if (burst < from->start || burst >= from->stop)
        return true;
    vly_input *input = &list->inputs[list->n];
    *input = (vly_input){
        .burst = burst, .neuron = list->first + neuron, .port = list->port};
    if (list->n++ > 0 && input_compare(input - 1, input) > 0)
        list->sorted = false;
    return true;
}

/* Spikes of a list; the values follow when q is known. */
static vly_status inputs_make(vly_maker *maker, const vly_stimulus *from,
                              vly_connectome_stimulus *to)
{
    vly_input *inputs = vly_storage_alloc(maker->storage, from->n_spikes,
                                          sizeof(*inputs), true);
    if (!inputs)
        return vly_fail_nomem(maker->error, from->n_spikes * sizeof(*inputs),
                              "a spike list");
    input_list list = {.from = from,
                       .inputs = inputs,
                       .first = maker->genome->areas[from->to].first,
                       .port = to->port,
                       .sorted = true};
    if (!vly_spikes_walk(maker->genome, from, input_add, &list)) {
        char place[VLY_PLACE_BYTES];
        vly_place_print(maker->genome, &from->origin, place);
        return vly_fail(maker->error, VLY_E_PARSE,
                        "%sstimulus %s: neuron %" PRIu32 ", wanted %" PRIu32
                        " to %" PRIu64,
                        place, from->id, list.wrong, from->first,
                        (uint64_t)from->first + from->n_neurons - 1);
    }
    if (!list.sorted)
        qsort(inputs, list.n, sizeof(*inputs), input_compare);
    to->inputs = inputs;
    to->n_inputs = list.n;
    return VLY_OK;
}

static vly_status stimuli_make(vly_maker *maker)
{
    vly_status status = VLY_OK;
    const vly_genome *genome = maker->genome;
    for (uint32_t s = 0; s < genome->n_stimuli; s++) {
        const vly_stimulus *from = &genome->stimuli[s];
        const vly_area *area = &genome->areas[from->to];
        vly_connectome_stimulus *to = &maker->stimuli[s];
        uint32_t port = from->port;
        if (port >= area->model->n_ports) /* by the sign of the weight */
            port = area->model->n_ports == 2 && from->weight < 0.0 ? 1 : 0;
        *to = (vly_connectome_stimulus){.kind = from->kind,
                                        .area = from->to,
                                        .first = area->first + from->first,
                                        .n_neurons = from->n_neurons,
                                        .port = port,
                                        .listed = from->listed,
                                        .rate_hz = from->rate_hz,
                                        .weight = from->weight,
                                        .mean = from->mean,
                                        .sd = from->sd,
                                        .start = from->start,
                                        .stop = from->stop,
                                        .desc_index = VLY_NO_INDEX};
        to->id = vly_storage_text(maker->storage, from->id);
        if (!to->id)
            return vly_fail_nomem(maker->error, strlen(from->id) + 1, "a name");
        if (from->kind != VLY_STIMULUS_SPIKES)
            continue;
        VLY_TRY(inputs_make(maker, from, to));
    }
out:
    return status;
}

/* ---- all -------------------------------------------------------------- */

static vly_status maker_init(vly_maker *maker)
{
    const vly_genome *genome = maker->genome;
    maker->areas = vly_calloc(genome->n_areas, sizeof(*maker->areas));
    maker->pairs = vly_calloc(genome->n_pairs, sizeof(*maker->pairs));
    maker->stimuli = vly_storage_alloc(maker->storage, genome->n_stimuli,
                                       sizeof(*maker->stimuli), true);
    if (!maker->areas || !maker->pairs || !maker->stimuli)
        return vly_fail_nomem(maker->error,
                              genome->n_areas * sizeof(*maker->areas) +
                                  genome->n_pairs * sizeof(*maker->pairs) +
                                  genome->n_stimuli * sizeof(*maker->stimuli),
                              "the build");
    return VLY_OK;
}

static vly_status connectome_hash(vly_connectome *connectome,
                                  uint32_t n_threads, vly_error *error)
{
    vly_image image;
    vly_status status = VLY_OK;
    VLY_TRY(vly_image_init(&image, connectome, n_threads, error));
    connectome->hash = image.header.hash;
    vly_image_deinit(&image);
out:
    return status;
}

static void part_note(const vly_rank_part *part, const vly_maker *maker,
                      vly_connectome *connectome)
{
    connectome->part = true;
    connectome->own_first = part->first;
    connectome->own_last = part->last;
    for (uint32_t p = 0; p < maker->genome->n_pairs; p++)
        connectome->n_synapses_whole += maker->pairs[p].n_whole;
}

static vly_status build(const vly_genome *genome, uint32_t n_threads,
                        vly_rank_part *part, vly_connectome *connectome,
                        vly_error *error)
{
    vly_status status;
    vly_storage *storage = connectome->storage;
    vly_maker maker = {.genome = genome,
                       .n_threads = n_threads ? n_threads : vly_thread_cores(),
                       .storage = storage,
                       .part = part,
                       .error = error};
    uint64_t n_state_words = 0;
    VLY_TRY(genome_check(genome, error));
    VLY_TRY(memory_check(genome, part, error));
    VLY_TRY(maker_init(&maker));
    VLY_TRY(pairs_check(&maker));
    VLY_TRY(neurons_make(&maker, &n_state_words));
    VLY_TRY(stimuli_make(&maker));
    VLY_TRY(synapses_make(&maker));
    VLY_TRY(vly_quantise(&maker));
    VLY_TRY(vly_views_make(&maker, n_state_words, connectome));
    if (part)
        part_note(part, &maker, connectome);
    if (!part)
        VLY_TRY(connectome_hash(connectome, maker.n_threads, error));
    else if (part->ranks->gather)
        VLY_TRY(vly_part_hash(&maker, connectome));
    connectome->n_bytes = storage->n_bytes;
out:
    vly_free(maker.areas);
    vly_free(maker.pairs);
    return status;
}

static vly_status connectome_make(const vly_genome *genome, uint32_t n_threads,
                                  vly_rank_part *part,
                                  vly_connectome **connectome, vly_error *error)
{
    vly_connectome *made = vly_calloc(1, sizeof(*made));
    vly_storage *storage = vly_calloc(1, sizeof(*storage));
    if (!made || !storage) {
        vly_free(made);
        vly_free(storage);
        return vly_fail_nomem(error, sizeof(*made), "a connectome");
    }
    made->storage = storage;
    vly_status status = build(genome, n_threads, part, made, error);
    if (status == VLY_OK)
        *connectome = made;
    else
        vly_connectome_destroy(made);
    return status;
}

vly_status vly_connectome_build(const vly_genome *genome, uint32_t n_threads,
                                vly_connectome **connectome, vly_error *error)
{
    if (!genome || !connectome)
        return vly_fail(error, VLY_E_INVALID,
                        "vly_connectome_build: genome or connectome is NULL");
    return connectome_make(genome, n_threads, NULL, connectome, error);
}

vly_status vly_connectome_build_part(const vly_genome *genome,
                                     const vly_ranks *ranks, uint32_t n_threads,
                                     vly_connectome **connectome,
                                     vly_error *error)
{
    vly_rank_part part = {.ranks = ranks};
    vly_status status;
    if (!genome || !ranks || !connectome)
        return vly_fail(error, VLY_E_INVALID,
                        "vly_connectome_build_part: genome, ranks or "
                        "connectome is NULL");
    VLY_TRY(vly_part_init(&part, genome, error));
    status = connectome_make(genome, n_threads, &part, connectome, error);
    vly_storage_deinit(&part.work);
out:
    return status;
}
