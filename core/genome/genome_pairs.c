/* SPDX-License-Identifier: Apache-2.0
 * The cells of a [[map]] become pairs of the genome; those that can make no
 * synapse are left out, and noted where the user did not say so with a 0; a map
 * that is left with none is noted too.
 */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "genome/genome_file.h"
#include "genome/genome_map.h"
#include "genome/genome_plasticity.h"
#include "genome/genome_space.h"
#include "genome/genome_value.h"
#include "genome/voxel_rule.h"

/* ---- how many maps without an id between two areas ---------------------- */

/* Entry of a table with open addressing; n 0: free. */
typedef struct vly_pair_count {
    uint32_t from;
    uint32_t to;
    uint32_t n;
} vly_pair_count;

/* Its entry, or the free entry for it; NULL: there is no table. */
static vly_pair_count *count_of(const vly_reader *reader, uint32_t from,
                                uint32_t to)
{
    const uint32_t last = reader->pair_counts_capacity - 1;
    uint32_t at = (uint32_t)vly_mix64((uint64_t)from << 32 | to) & last;
    if (reader->pair_counts_capacity == 0)
        return NULL;
    for (;; at = (at + 1) & last) {
        vly_pair_count *count = &reader->pair_counts[at];
        if (count->n == 0 || (count->from == from && count->to == to))
            return count;
    }
}

/* Makes room for one more; at most half of the table is used. */
static vly_status grow_counts(vly_reader *reader)
{
    vly_pair_count *old = reader->pair_counts;
    const uint32_t n_old = reader->pair_counts_capacity;
    if (reader->n_pair_counts < n_old / 2)
        return VLY_OK;
    const uint32_t n = n_old > 0 ? 2 * n_old : 64;
    reader->pair_counts = vly_calloc(n, sizeof(*old));
    if (!reader->pair_counts) {
        reader->pair_counts = old;
        return vly_reader_nomem(reader, n * sizeof(*old), "the maps");
    }
    reader->pair_counts_capacity = n;
    for (uint32_t i = 0; i < n_old; i++)
        if (old[i].n > 0)
            *count_of(reader, old[i].from, old[i].to) = old[i];
    vly_free(old);
    return VLY_OK;
}

/* The pairs from first on. */
static vly_status count_pairs(vly_reader *reader, uint32_t first)
{
    const vly_genome *genome = reader->genome;
    for (uint32_t i = first; i < genome->n_pairs; i++) {
        const vly_pair *pair = &genome->pairs[i];
        const vly_status status = grow_counts(reader);
        if (status != VLY_OK)
            return status;
        vly_pair_count *count = count_of(reader, pair->from, pair->to);
        reader->n_pair_counts += count->n == 0;
        *count = (vly_pair_count){pair->from, pair->to, count->n + 1};
    }
    return VLY_OK;
}

/* ---- a pair ------------------------------------------------------------- */

/* The key of the draws of a pair: "MAP|FROM|TO", or for a map without an id
 * "|FROM|TO|K", where K counts the maps without an id between the two areas, so
 * that a map added elsewhere changes no draw. Names of areas do not contain |
 * or begin with a digit, so all keys are different. A part or a pool stands
 * there as the end is named, "E[0:100]" or "E+I"; its pairs add "|I|J", their
 * parts. */
static char *stream_text(const vly_reader *reader, const vly_map_entry *map,
                         const vly_map_cell *cell)
{
    const char *from = cell->source->name;
    const char *to = cell->target->name;
    if (map->id)
        return vly_format("%s|%s|%s", map->id, from, to);
    const vly_pair_count *before = count_of(reader, cell->from, cell->to);
    return vly_format("|%s|%s|%" PRIu32, from, to, before ? before->n : 0);
}

/* A port of conductances accepts one sign only. */
static vly_status check_sign(vly_reader *reader, const vly_map_entry *map,
                             const vly_map_cell *cell)
{
    const vly_model_info *model = reader->genome->areas[cell->to].model;
    char numbers[2][VLY_NUMBER_SIZE];
    double lo = 0, hi = 0;
    if (!map->has_port || !cell->node[VLY_CELL_WEIGHT])
        return VLY_OK;
    vly_value_bounds(&cell->weight, &lo, &hi);
    if (vly_port_takes(model, map->port, lo) &&
        vly_port_takes(model, map->port, hi))
        return VLY_OK;
    vly_toml_print_number(lo, numbers[0]);
    return vly_reader_fail(
        reader, cell->node[VLY_CELL_WEIGHT],
        "weight_%s is %s%s%s at port %u, wanted 0 or %s: %s of area %s has %s",
        model->ports[map->port].suffix, numbers[0], lo < hi ? " to " : "",
        lo < hi ? vly_toml_print_number(hi, numbers[1]) : "",
        (unsigned)map->port,
        vly_port_takes(model, map->port, 1) ? "more" : "less", model->id,
        reader->genome->areas[cell->to].name, vly_port_why(model));
}

/* stream: taken over */
static vly_status make_pair(vly_reader *reader, const vly_map_entry *map,
                            const vly_map_cell *cell, char *stream,
                            vly_pair *pair)
{
    const vly_genome *genome = reader->genome;
    vly_status status = VLY_OK;
    pair->stream = stream;
    VLY_TRY(check_sign(reader, map, cell));
    pair->from = cell->from;
    pair->to = cell->to;
    pair->rule = map->rule;
    pair->p = cell->p;
    pair->count = cell->count;
    pair->in_degree = cell->in_degree;
    pair->out_degree = cell->out_degree;
    pair->degree = cell->degree;
    pair->edges = map->edges;
    pair->space = map->space;
    pair->self = map->self;
    pair->multiple = map->multiple;
    pair->weight = cell->weight;
    pair->delay_ms = cell->delay_ms;
    pair->port = map->port;
    if (!map->has_port && genome->areas[cell->to].model->n_ports == 2)
        pair->port = VLY_PORT_BY_SIGN;
    bool learns = map->plasticity && !map->plasticity->info->short_term;
    pair->plasticity = learns ? map->plasticity : NULL;
    pair->short_term = learns ? NULL : map->plasticity;
    if (!map->has_port && learns)
        pair->port =
            vly_plasticity_port(map->plasticity, genome->areas[cell->to].model);
    pair->origin.kind = VLY_ORIGIN_FILE;
    pair->origin.line = map->node->key_line;
    pair->origin.column = map->node->key_column;
    pair->origin.file = map->node->file;
    pair->map = vly_strdup(map->label);
    if (!pair->map || !pair->stream)
        return vly_reader_nomem(reader, 256, "a name");
    pair->mapper = map->mapper;
    pair->tiles = map->tiles;
    if (map->n_patterns) {
        pair->patterns = vly_malloc(map->n_patterns, sizeof(*pair->patterns));
        if (!pair->patterns)
            return vly_reader_nomem(
                reader, map->n_patterns * sizeof(*pair->patterns), "patterns");
        memcpy(pair->patterns, map->patterns,
               map->n_patterns * sizeof(*pair->patterns));
        pair->n_patterns = map->n_patterns;
    }
    if (map->n_vectors) {
        pair->vectors = vly_malloc(map->n_vectors, sizeof(*pair->vectors));
        if (!pair->vectors)
            return vly_reader_nomem(
                reader, map->n_vectors * sizeof(*pair->vectors), "vectors");
        memcpy(pair->vectors, map->vectors,
               map->n_vectors * sizeof(*pair->vectors));
        pair->n_vectors = map->n_vectors;
    }
out:
    return status;
}

/* The pairs of parts of a cell that is not two whole areas. */
static vly_status make_pooled(vly_reader *reader, const vly_map_entry *map,
                              const vly_map_cell *cell)
{
    vly_genome *genome = reader->genome;
    const vly_pool *pool = NULL;
    vly_status status;
    VLY_TRY(vly_pool_keep(reader, cell->source, cell->target,
                          stream_text(reader, map, cell), &pool));
    for (uint32_t t = 0; t < cell->target->n_parts; t++)
        for (uint32_t f = 0; f < cell->source->n_parts; f++) {
            const vly_edge_list *edges = NULL;
            vly_map_cell part = *cell;
            if (map->edges)
                VLY_TRY(vly_edges_between(reader, map, cell, f, t, &edges));
            if (map->edges && !edges)
                continue;
            part.from = cell->source->parts[f].area;
            part.to = cell->target->parts[t].area;
            vly_pair *pair = &genome->pairs[genome->n_pairs++];
            memset(pair, 0, sizeof(*pair));
            VLY_TRY(make_pair(
                reader, map, &part,
                vly_format("%s|%" PRIu32 "|%" PRIu32, pool->stream, f, t),
                pair));
            pair->edges = edges;
            if (edges)
                continue; /* nothing is drawn */
            pair->pool = pool;
            pair->from_part = f;
            pair->to_part = t;
        }
out:
    return status;
}

static bool whole(const vly_genome *genome, const vly_map_cell *cell)
{
    return vly_end_whole(genome, cell->source) &&
           vly_end_whole(genome, cell->target);
}

static uint64_t pairs_of(const vly_map_cell *cell)
{
    return (uint64_t)cell->source->n_parts * cell->target->n_parts;
}

static vly_status make_pairs(vly_reader *reader, const vly_map_entry *map,
                             const vly_map_cell *cell)
{
    vly_genome *genome = reader->genome;
    if (!whole(genome, cell))
        return make_pooled(reader, map, cell);
    vly_pair *pair = &genome->pairs[genome->n_pairs++];
    memset(pair, 0, sizeof(*pair));
    return make_pair(reader, map, cell, stream_text(reader, map, cell), pair);
}

/* ---- pairs without synapses --------------------------------------------- */

/* Whether any vector connects a voxel of one area to a voxel of the other. */
static bool vectors_reach(const vly_genome *genome, const vly_map_entry *map,
                          const vly_map_cell *cell)
{
    const uint32_t *from = genome->areas[cell->from].voxels;
    const uint32_t *to = genome->areas[cell->to].voxels;
    for (uint32_t i = 0; i < map->n_vectors; i++) {
        bool inside = true;
        for (int axis = 0; axis < 3; axis++) {
            int64_t d = map->vectors[i][axis];
            inside &= d < (int64_t)to[axis] && -d < (int64_t)from[axis];
        }
        if (inside)
            return true;
    }
    return false;
}

static vly_status note_empty(vly_reader *reader, const vly_map_entry *map,
                             const vly_map_cell *cell)
{
    return vly_reader_note(
        reader, map->node, "%s makes no synapse from %s to %s: %s", map->label,
        cell->source->name, cell->target->name, vly_rules[map->rule].empty);
}

static bool asks_none(const vly_map_entry *map)
{
    return map->rule == VLY_RULE_DISTANCE && map->space.degree == 0 &&
           (map->space.draw == VLY_SPACE_IN_DEGREE ||
            map->space.draw == VLY_SPACE_OUT_DEGREE);
}

/* fixed_total_number: whether the count follows from p. */
static bool counts_by_p(const vly_map_entry *map, const vly_map_cell *cell)
{
    return vly_rules[map->rule].size == VLY_SIZE_COUNT &&
           cell->node[VLY_CELL_COUNT] == cell->node[VLY_CELL_P];
}

/* A p above 0 that comes to less than half a synapse. */
static vly_status note_unlikely(vly_reader *reader, const vly_map_entry *map,
                                const vly_map_cell *cell)
{
    char p[VLY_NUMBER_SIZE];
    if (!counts_by_p(map, cell) || !(cell->p > 0))
        return VLY_OK;
    return vly_reader_note(reader, cell->node[VLY_CELL_P],
                           "%s makes no synapse from %s to %s: p is %s, which "
                           "makes less than half a synapse",
                           map->label, cell->source->name, cell->target->name,
                           vly_toml_print_number(cell->p, p));
}

/* A map that asks for no synapse at all; a 0 for some pairs of areas alone is
 * the way to leave these out. */
static vly_status note_none(vly_reader *reader, const vly_map_entry *map)
{
    const char *key = vly_rule_size_key(map->rule);
    if (vly_rules[map->rule].empty && !asks_none(map))
        return VLY_OK; /* noted for each pair */
    for (uint32_t i = 0; i < map->n_cells; i++)
        if (counts_by_p(map, &map->cells[i]) && map->cells[i].p > 0)
            return VLY_OK; /* the same */
    if (asks_none(map))
        key = "degree";
    else if (!key || counts_by_p(map, &map->cells[0]))
        key = "p";
    return vly_reader_note(reader, map->node, "%s makes no synapse: %s is 0",
                           map->label, key);
}

/* A cell without synapses whose p, count or degree is not simply 0. */
static vly_status add_empty(vly_reader *reader, const vly_map_entry *map,
                            const vly_map_cell *cell)
{
    vly_genome *genome = reader->genome;
    if (!vly_rules[map->rule].empty || asks_none(map))
        return note_unlikely(reader, map, cell);
    vly_empty *grown = vly_realloc(genome->empty, (size_t)genome->n_empty + 1,
                                   sizeof(vly_empty));
    if (!grown)
        return vly_reader_nomem(reader, sizeof(vly_empty), "the maps");
    genome->empty = grown;
    grown[genome->n_empty] =
        (vly_empty){vly_strdup(map->label), cell->from, cell->to, map->rule};
    if (!grown[genome->n_empty++].map)
        return vly_reader_nomem(reader, strlen(map->label) + 1, "a name");
    return note_empty(reader, map, cell);
}

/* ---- all pairs ---------------------------------------------------------- */

double vly_cell_synapses(const vly_genome *genome, const vly_map_entry *map,
                         const vly_map_cell *cell)
{
    const vly_area *to = &genome->areas[cell->to];
    double n_from = cell->source->n_neurons;
    double n_to = cell->target->n_neurons;
    switch (map->rule) {
#define N_FROM n_from
#define N_TO n_to
#define N_PAIRED n_from
#define N_PAIRS (n_from * n_to)
#define N_LIKELY (cell->p * n_from * n_to)
#define N_COUNT ((double)cell->count)
#define N_IN_DEGREE ((double)cell->in_degree)
#define N_OUT_DEGREE ((double)cell->out_degree)
#define N_OF_VECTORS (map->n_vectors * n_from * to->neurons_per_voxel)
#define N_OF_VOXELS vly_shape_synapses(genome, map, cell)
#define N_EDGES ((double)map->edges->n)
#define N_IN_REACH                                                             \
    vly_space_between(genome, cell->source, cell->target, &map->space)
#define VLY_RULE_SYNAPSES(id, expression)                                      \
    case VLY_RULE_##id:                                                        \
        return expression;
#include "genome/rules/rules.def"
    case VLY_RULES:
        break;
    }
    return 0;
}

static bool without_neurons(const vly_map_cell *cell)
{
    return cell->source->n_neurons == 0 || cell->target->n_neurons == 0;
}

static bool any_neurons(const vly_map_entry *map)
{
    for (uint32_t i = 0; i < map->n_cells; i++)
        if (!without_neurons(&map->cells[i]))
            return true;
    return false;
}

/* The pairs of a cell with synapses; others are noted. */
static vly_status add_cell(vly_reader *reader, const vly_map_entry *map,
                           const vly_map_cell *cell, double *n_synapses)
{
    if (without_neurons(cell))
        return VLY_OK; /* noted at the area */
    double synapses = vly_cell_synapses(reader->genome, map, cell);
    if (!(synapses > 0))
        return add_empty(reader, map, cell);
    *n_synapses += synapses;
    vly_status status = VLY_OK;
    VLY_TRY(make_pairs(reader, map, cell));
    if (map->rule == VLY_RULE_VECTORS &&
        !vectors_reach(reader->genome, map, cell))
        VLY_TRY(note_empty(reader, map, cell));
out:
    return status;
}

/* Room for the pairs of a map. */
static vly_status reserve(vly_reader *reader, const vly_map_entry *map,
                          uint64_t n)
{
    vly_genome *genome = reader->genome;
    const uint64_t total = genome->n_pairs + n;
    if (n > map->n_cells && total > VLY_PAIRS_MAX)
        return vly_reader_fail_key(reader, map->node,
                                   "%" PRIu64 " pairs of areas with the parts "
                                   "of pools, wanted at most %u",
                                   total, VLY_PAIRS_MAX);
    vly_pair *grown =
        vly_realloc(genome->pairs, (size_t)total, sizeof(vly_pair));
    if (!grown)
        return vly_reader_nomem(reader, n * sizeof(vly_pair), "the maps");
    genome->pairs = grown;
    return VLY_OK;
}

vly_status vly_pairs_make(vly_reader *reader, const vly_map_entry *map,
                          double *n_synapses)
{
    vly_genome *genome = reader->genome;
    const uint32_t n_before = genome->n_pairs;
    uint64_t n = 0;
    vly_status status;
    /* before they are counted: that takes a while for each of them */
    reader->n_vectors +=
        (uint64_t)map->n_cells * (map->n_vectors + map->n_patterns);
    if (reader->n_vectors > (uint64_t)1 << 24)
        return vly_reader_fail_key(reader, map->node,
                                   "%" PRIu64 " vectors and patterns over all "
                                   "pairs of areas, wanted at most 2^24",
                                   reader->n_vectors);
    for (uint32_t i = 0; i < map->n_cells; i++)
        if (!without_neurons(&map->cells[i]) &&
            vly_cell_synapses(genome, map, &map->cells[i]) > 0)
            n += pairs_of(&map->cells[i]);
    VLY_TRY(reserve(reader, map, n));
    for (uint32_t i = 0; i < map->n_cells; i++)
        VLY_TRY(add_cell(reader, map, &map->cells[i], n_synapses));
    if (n == 0 && any_neurons(map))
        VLY_TRY(note_none(reader, map));
    if (!map->id)
        VLY_TRY(count_pairs(reader, n_before));
    if (!(*n_synapses <= (double)VLY_SYNAPSES_MAX))
        return vly_reader_fail_key(reader, map->node,
                                   "%s brings the net to %.3g synapses, wanted "
                                   "at most 2^40 in all",
                                   map->label, *n_synapses);
out:
    return status;
}
