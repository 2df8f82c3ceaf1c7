/* SPDX-License-Identifier: Apache-2.0
 * The ends of maps: "E" is an area, "E[0:100]" its neurons 0 to 99 (as in
 * PyNN, Brian and NEST, the second number is the first that is left out),
 * "E + I" one pool of both (as NEST and PyNN add populations).
 */
#include "genome/genome_end.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define PART_WANTED                                                            \
    "[first:end], [first:], [:end] or [index], as in \"E[0:100]\""

/* A piece of a text: [begin, begin + n), which is `at` characters into it. */
typedef struct piece {
    const char *begin;
    size_t n;
    uint32_t at;
} piece;

/* What is being read. */
typedef struct end_work {
    vly_reader *reader;
    const vly_toml_node *node;
    const char *what;
    bool pools;
    uint32_t at; /* of the text in the node's */
    vly_end_list *list;
    uint32_t capacity;
} end_work;

static piece trimmed(piece of)
{
    while (of.n > 0 && *of.begin == ' ') {
        of.begin++;
        of.at++;
        of.n--;
    }
    while (of.n > 0 && of.begin[of.n - 1] == ' ')
        of.n--;
    return of;
}

/* ---- ranges ------------------------------------------------------------- */

/* One bound of a part: digits, or nothing. */
static bool read_bound(const char *begin, const char *end, bool *given,
                       uint64_t *number)
{
    const piece digits = trimmed((piece){begin, (size_t)(end - begin), 0});
    *given = digits.n > 0;
    *number = 0;
    for (size_t i = 0; i < digits.n; i++) {
        const char c = digits.begin[i];
        if (c < '0' || c > '9' || *number > VLY_NEURONS_MAX)
            return false;
        *number = *number * 10 + (uint64_t)(c - '0');
    }
    return true;
}

/* A part "[...]" of an area. */
typedef struct part_range {
    bool given;
    bool has_last; /* otherwise up to the end */
    uint64_t first;
    uint64_t last; /* the first that is left out */
} part_range;

/* Splits "E[0:100]" into the name and the range. */
static vly_status read_range(const end_work *work, piece *name, part_range *out)
{
    const char *open = memchr(name->begin, '[', name->n);
    const char *end = name->begin + name->n;
    bool has[2] = {false, false};
    *out = (part_range){0};
    if (!open)
        return VLY_OK;
    uint32_t at = work->at + name->at + (uint32_t)(open - name->begin);
    const char *colon = memchr(open, ':', (size_t)(end - open));
    bool good = end[-1] == ']';
    good = good &&
           read_bound(open + 1, colon ? colon : end - 1, &has[0], &out->first);
    if (good && colon)
        good = read_bound(colon + 1, end - 1, &has[1], &out->last);
    if (!good || (!colon && !has[0]))
        return vly_reader_fail_in(work->reader, work->node, at,
                                  "%s: \"%.*s\", wanted " PART_WANTED,
                                  work->what, (int)(end - open), open);
    out->given = true;
    out->has_last = has[1] || !colon;
    if (!colon)
        out->last = out->first + 1;
    name->n = (size_t)(open - name->begin);
    *name = trimmed(*name);
    return VLY_OK;
}

/* The part of an area that a range means. */
static vly_status part_of(const end_work *work, const piece *name,
                          const part_range *of, uint32_t area, vly_part *part)
{
    const vly_area *found = &work->reader->genome->areas[area];
    uint64_t last = of->has_last ? of->last : found->n_neurons;
    *part = (vly_part){.area = area, .n = found->n_neurons};
    if (!of->given || found->n_neurons == 0)
        return VLY_OK; /* without neurons every part is empty */
    if (last > found->n_neurons || of->first >= last)
        return vly_reader_fail_in(
            work->reader, work->node, work->at + name->at,
            "%s: %s[%" PRIu64 ":%" PRIu64 "], wanted a first neuron below the "
            "end, and an end of at most %u, the size of area %s",
            work->what, found->name, of->first, last, found->n_neurons,
            found->name);
    part->first = (uint32_t)of->first;
    part->n = (uint32_t)(last - of->first);
    return VLY_OK;
}

/* ---- names -------------------------------------------------------------- */

static bool same_part(const vly_part *a, const vly_part *b)
{
    return a->area == b->area && a->first == b->first && a->n == b->n;
}

/* The neurons that both parts have; n is 0 if they have none. */
static vly_part common(const vly_part *a, const vly_part *b)
{
    const uint32_t first = a->first > b->first ? a->first : b->first;
    const uint32_t a_end = a->first + a->n;
    const uint32_t b_end = b->first + b->n;
    const uint32_t end = a_end < b_end ? a_end : b_end;
    const bool any = a->area == b->area && first < end;
    return (vly_part){a->area, first, any ? end - first : 0};
}

static bool whole_part(const vly_genome *genome, const vly_part *part)
{
    return part->first == 0 && part->n == genome->areas[part->area].n_neurons;
}

bool vly_end_whole(const vly_genome *genome, const vly_end *end)
{
    return end->n_parts == 1 && whole_part(genome, &end->parts[0]);
}

bool vly_end_named(const vly_genome *genome, const vly_end *name,
                   const vly_end *end)
{
    bool all = vly_end_whole(genome, name);
    for (uint32_t i = 0; i < end->n_parts; i++)
        all = all && end->parts[i].area == name->parts[0].area;
    return all || strcmp(name->name, end->name) == 0;
}

uint32_t vly_end_place(const vly_end *end, uint32_t part)
{
    uint32_t place = 0;
    for (uint32_t i = 0; i < part; i++)
        place += end->parts[i].n;
    return place;
}

uint64_t vly_ends_shared(const vly_end *a, const vly_end *b)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < a->n_parts; i++)
        for (uint32_t k = 0; k < b->n_parts; k++)
            n += common(&a->parts[i], &b->parts[k]).n;
    return n;
}

static int part_text(const vly_genome *genome, const vly_part *part, char *text,
                     size_t n)
{
    const char *name = genome->areas[part->area].name;
    return whole_part(genome, part)
               ? snprintf(text, n, "%s", name)
               : snprintf(text, n, "%s[%u:%u]", name, part->first,
                          part->first + part->n);
}

/* "E", "E[0:100]", with + between them */
static vly_status name_end(vly_reader *reader, vly_end *end)
{
    const vly_genome *genome = reader->genome;
    vly_status status;
    size_t room = 1;
    size_t used = 0;
    if (vly_end_whole(genome, end)) {
        end->name = genome->areas[end->parts[0].area].name;
        return VLY_OK;
    }
    for (uint32_t i = 0; i < end->n_parts; i++)
        room += strlen(genome->areas[end->parts[i].area].name) + 26;
    VLY_TRY(vly_reader_alloc(reader, room, 1, &end->name));
    for (uint32_t i = 0; i < end->n_parts; i++) {
        if (i)
            end->name[used++] = '+';
        used += (size_t)part_text(genome, &end->parts[i], end->name + used,
                                  room - used);
    }
out:
    return status;
}

/* ---- one end ------------------------------------------------------------ */

static vly_status add_part(end_work *work, vly_end *end, const vly_part *part)
{
    vly_status status = VLY_OK;
    uint32_t n = end->n_parts;
    if ((n & (n - 1)) == 0) { /* room for 1, 2, 4, ... */
        vly_part *grown = NULL;
        VLY_TRY(vly_reader_alloc(work->reader, n ? 2 * (size_t)n : 1,
                                 sizeof(*grown), &grown));
        if (n)
            memcpy(grown, end->parts, n * sizeof(*grown));
        end->parts = grown;
    }
    end->parts[end->n_parts++] = *part;
out:
    return status;
}

static vly_status check_overlap(const end_work *work, const piece *of,
                                const vly_end *end)
{
    const vly_part *last = &end->parts[end->n_parts - 1];
    for (uint32_t i = 0; i + 1 < end->n_parts; i++) {
        const vly_part again = common(&end->parts[i], last);
        if (again.n)
            return vly_reader_fail_in(
                work->reader, work->node, work->at + of->at,
                "%s: neurons %u to %u of area %s are in the pool already, "
                "wanted each once",
                work->what, again.first, again.first + again.n - 1,
                work->reader->genome->areas[last->area].name);
    }
    return VLY_OK;
}

static vly_status add_end(end_work *work, vly_end *end)
{
    vly_status status;
    vly_end_list *list = work->list;
    const vly_genome *genome = work->reader->genome;
    uint64_t total = 0;
    for (uint32_t i = 0; i < end->n_parts; i++)
        total += end->parts[i].n;
    end->n_neurons = (uint32_t)total;
    VLY_TRY(name_end(work->reader, end));
    /* parts of an area of 0 neurons are all alike, and left out */
    for (uint32_t i = 0; total > 0 && i < list->n; i++)
        if (end->n_parts == list->ends[i].n_parts &&
            same_part(&end->parts[0], &list->ends[i].parts[0]) &&
            strcmp(end->name, list->ends[i].name) == 0)
            return vly_reader_fail(
                work->reader, work->node, "%s names %s%s twice, wanted each %s",
                work->what, vly_end_whole(genome, end) ? "area " : "",
                end->name, vly_end_whole(genome, end) ? "area once" : "once");
    if (list->n == work->capacity) {
        vly_end *grown = NULL;
        uint32_t n = work->capacity ? 2 * work->capacity : 4;
        VLY_TRY(vly_reader_alloc(work->reader, n, sizeof(*grown), &grown));
        if (list->n)
            memcpy(grown, list->ends, list->n * sizeof(*grown));
        list->ends = grown;
        work->capacity = n;
    }
    list->ends[list->n++] = *end;
out:
    return status;
}

/* The areas of a name or glob with a range; each an end of its own, or all of
 * them parts of `pool`. */
static vly_status read_term(end_work *work, piece of, vly_end *pool)
{
    char name[2 * VLY_NAME_MAX];
    vly_area_list areas = {0};
    part_range range;
    vly_status status;
    of = trimmed(of);
    piece whole = of;
    if (of.n == 0 && pool)
        return vly_reader_fail_in(work->reader, work->node, work->at + of.at,
                                  "%s: no area beside a +, wanted a name",
                                  work->what);
    VLY_TRY(read_range(work, &of, &range));
    if (of.n >= sizeof(name))
        return vly_reader_fail_in(
            work->reader, work->node, work->at + of.at,
            "%s: a name of %zu characters, wanted at most "
            "%u",
            work->what, of.n, VLY_NAME_MAX);
    memcpy(name, of.begin, of.n);
    name[of.n] = 0;
    VLY_TRY(
        vly_reader_pattern(work->reader, work->node, work->what, name, &areas));
    for (uint32_t i = 0; i < areas.n; i++) {
        vly_end own = {0};
        vly_part part;
        VLY_TRY(part_of(work, &of, &range, areas.areas[i], &part));
        VLY_TRY(add_part(work, pool ? pool : &own, &part));
        if (pool && part.n == 0)
            pool->n_parts--; /* a part without neurons */
        else if (pool)
            VLY_TRY(check_overlap(work, &whole, pool));
        else
            VLY_TRY(add_end(work, &own));
    }
out:
    return status;
}

static vly_status read_text(end_work *work, const char *text)
{
    const char *plus = strchr(text, '+');
    vly_end pool = {0};
    vly_status status;
    if (!plus)
        return read_term(work, (piece){text, strlen(text), 0}, NULL);
    if (!work->pools)
        return vly_reader_fail_in(
            work->reader, work->node, work->at + (uint32_t)(plus - text),
            "%s: \"%.80s\" is one pool, wanted a list of names: only maps draw "
            "from pools",
            work->what, text);
    const char *begin = text;
    /* "+E*": the areas of one glob */
    if (trimmed((piece){text, (size_t)(plus - text), 0}).n == 0)
        begin = plus + 1;
    do {
        plus = strchr(begin, '+');
        size_t n = plus ? (size_t)(plus - begin) : strlen(begin);
        VLY_TRY(read_term(work, (piece){begin, n, (uint32_t)(begin - text)},
                          &pool));
        begin = plus ? plus + 1 : NULL;
    } while (begin);
    if (pool.n_parts == 0) /* the last one stands for all of them */
        pool.n_parts = 1;
    status = add_end(work, &pool);
out:
    return status;
}

vly_status vly_reader_ends_in(vly_reader *reader, const vly_toml_node *node,
                              const char *what, const char *text, uint32_t at,
                              vly_end_list *list)
{
    end_work work = {.reader = reader,
                     .node = node,
                     .what = what,
                     .pools = true,
                     .at = at,
                     .list = list};
    *list = (vly_end_list){0};
    return read_text(&work, text);
}

vly_status vly_reader_ends(vly_reader *reader, const vly_toml_node *node,
                           const char *what, bool pools, vly_end_list *list)
{
    end_work work = {.reader = reader,
                     .node = node,
                     .what = what,
                     .pools = pools,
                     .list = list};
    vly_status status = VLY_OK;
    *list = (vly_end_list){0};
    if (node->kind == VLY_TOML_STRING)
        return read_text(&work, node->u.string);
    if (node->kind != VLY_TOML_ARRAY || node->n_children == 0)
        return vly_reader_wrong(reader, node, what,
                                "the name of an area or a list of names");
    for (uint32_t i = 0; i < node->n_children; i++) {
        work.node = &node->u.children[i];
        if (work.node->kind != VLY_TOML_STRING)
            return vly_reader_wrong(reader, work.node, what, "names of areas");
        VLY_TRY(read_text(&work, work.node->u.string));
    }
out:
    return status;
}

/* ---- pools of the genome ------------------------------------------------ */

static bool copy_end(vly_end *to, const vly_end *from)
{
    *to = *from;
    to->name = vly_strdup(from->name);
    to->parts = vly_malloc(from->n_parts, sizeof(*to->parts));
    if (to->parts)
        memcpy(to->parts, from->parts, from->n_parts * sizeof(*to->parts));
    return to->name && to->parts;
}

static void free_pool(vly_pool *pool)
{
    vly_free(pool->from.parts);
    vly_free(pool->from.name);
    vly_free(pool->to.parts);
    vly_free(pool->to.name);
    vly_free(pool->stream);
    vly_free(pool);
}

vly_status vly_pool_keep(vly_reader *reader, const vly_end *from,
                         const vly_end *to, char *stream, const vly_pool **pool)
{
    vly_genome *genome = reader->genome;
    vly_pool *made = stream ? vly_calloc(1, sizeof(*made)) : NULL;
    if (!made) {
        vly_free(stream);
        return vly_reader_nomem(reader, sizeof(*made), "the maps");
    }
    made->stream = stream;
    bool good = copy_end(&made->from, from);
    good = copy_end(&made->to, to) && good;
    vly_pool **grown = NULL;
    if (good)
        grown = vly_realloc(genome->pools, genome->n_pools + (size_t)1,
                            sizeof(*grown));
    if (!grown) {
        free_pool(made);
        return vly_reader_nomem(reader, sizeof(*made), "the maps");
    }
    genome->pools = grown;
    grown[genome->n_pools++] = made;
    *pool = made;
    return VLY_OK;
}

void vly_pools_free(vly_genome *genome)
{
    for (uint32_t i = 0; i < genome->n_pools; i++)
        free_pool(genome->pools[i]);
    vly_free(genome->pools);
}

/* ---- pairs -------------------------------------------------------------- */

uint32_t vly_pair_sources(const vly_genome *genome, const vly_pair *pair)
{
    return pair->pool ? pair->pool->from.n_neurons
                      : genome->areas[pair->from].n_neurons;
}

uint32_t vly_pair_targets(const vly_genome *genome, const vly_pair *pair)
{
    return pair->pool ? pair->pool->to.n_neurons
                      : genome->areas[pair->to].n_neurons;
}

uint64_t vly_pair_shared(const vly_genome *genome, const vly_pair *pair)
{
    if (pair->pool)
        return vly_ends_shared(&pair->pool->from, &pair->pool->to);
    return pair->from == pair->to ? genome->areas[pair->from].n_neurons : 0;
}

double vly_pair_share(const vly_pair *pair)
{
    if (!pair->pool)
        return 1.0;
    const vly_end *from = &pair->pool->from;
    const vly_end *to = &pair->pool->to;
    return (double)from->parts[pair->from_part].n / from->n_neurons *
           ((double)to->parts[pair->to_part].n / to->n_neurons);
}

void vly_pair_end_text(const vly_genome *genome, const vly_pair *pair,
                       bool source, char *text, size_t n)
{
    const uint32_t area = source ? pair->from : pair->to;
    vly_part part = {area, 0, genome->areas[area].n_neurons};
    if (pair->pool)
        part = source ? pair->pool->from.parts[pair->from_part]
                      : pair->pool->to.parts[pair->to_part];
    (void)part_text(genome, &part, text, n);
}
