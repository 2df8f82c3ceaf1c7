/* SPDX-License-Identifier: Apache-2.0
 * The state of memories as words: of each memory its counters, then the frames
 * of its window, oldest first, then the cells in use, ascending; of each
 * association what neurons did, then its synapses by source and target. Numbers
 * of 64 bits are two words, the low one first.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "engine/memory_net.h"

enum { N_COUNTERS = 4 };

/* Counts words if there is no room for them. */
typedef struct word_writer {
    uint32_t *words; /* NULL: only counts */
    uint64_t n_words;
} word_writer;

static void put(word_writer *to, const uint32_t *words, uint64_t n)
{
    if (to->words && n)
        memcpy(to->words + to->n_words, words, (size_t)n * sizeof(*words));
    to->n_words += n;
}

static void put_u32(word_writer *to, uint32_t word)
{
    put(to, &word, 1);
}

static void put_u64(word_writer *to, uint64_t number)
{
    put_u32(to, (uint32_t)number);
    put_u32(to, (uint32_t)(number >> 32));
}

static void put_area(word_writer *to, const vly_memory_area *area)
{
    const uint32_t depth = area->memory->temporal_depth;
    const uint64_t counters[N_COUNTERS] = {area->n_made, area->n_seen,
                                           area->n_forgotten, area->n_dropped};
    for (int i = 0; i < N_COUNTERS; i++)
        put_u64(to, counters[i]);
    put_u32(to, area->n_frames);
    for (uint32_t f = 0; f < area->n_frames; f++) {
        const vly_memory_frame *frame =
            &area->frames[(area->oldest + f) % depth];
        put(to, frame->words, frame->n_words);
    }
    put_u32(to, area->table.n_known);
    for (uint32_t i = 0; i < area->table.n_cells; i++) {
        const vly_memory_cell *cell = &area->table.cells[i];
        if (!cell->words)
            continue;
        put_u32(to, i);
        put_u32(to, cell->lifespan);
        put_u32(to, cell->longterm);
        put(to, cell->words, cell->n_words);
    }
}

/* What neurons of one side did, those that fired within the window. */
static void put_side(word_writer *to, const vly_association_side *side)
{
    put_u32(to, side->n_lately);
    for (uint32_t k = 0; k < side->n_lately; k++) {
        put_u32(to, side->lately[k]);
        put_u32(to, (uint32_t)side->past[side->lately[k]]);
    }
}

static void put_association(word_writer *to, const vly_association_net *of)
{
    put_u32(to, of->n_bursts);
    for (int s = 0; s < 2; s++)
        put_side(to, &of->sides[s]);
    put_u64(to, of->n_synapses);
    for (uint32_t i = 0; i < of->sides[0].n; i++) {
        const vly_association_row *row = &of->sides[0].rows[i];
        for (uint32_t e = 0; e < row->n; e++) {
            put_u32(to, i);
            put_u32(to, row->ends[e].other);
            put_u32(to, row->ends[e].weight);
        }
    }
}

static void put_net(word_writer *to, const vly_memory_net *net)
{
    for (uint32_t m = 0; m < net->n_areas; m++)
        put_area(to, &net->areas[m]);
    for (uint32_t a = 0; a < net->n_associations; a++)
        put_association(to, &net->associations[a]);
}

vly_status vly_memory_words_take(const vly_memory_net *net,
                                 vly_memory_words *words, vly_error *error)
{
    word_writer writer = {0};
    *words = (vly_memory_words){0};
    if (!net)
        return VLY_OK;
    put_net(&writer, net);
    writer.words = vly_malloc((size_t)writer.n_words, sizeof(*writer.words));
    if (!writer.words)
        return vly_fail_nomem(error, writer.n_words * sizeof(*writer.words),
                              "the memories");
    writer.n_words = 0;
    put_net(&writer, net);
    *words = (vly_memory_words){writer.words, writer.n_words};
    return VLY_OK;
}

vly_status vly_memory_words_copy(const vly_memory_words *words,
                                 vly_memory_words *copy, vly_error *error)
{
    vly_memory_words made = {0};
    if (words->n_words) {
        made.words = vly_malloc((size_t)words->n_words, sizeof(*made.words));
        if (!made.words)
            return vly_fail_nomem(error, words->n_words * sizeof(*made.words),
                                  "the memories");
        memcpy(made.words, words->words,
               (size_t)words->n_words * sizeof(*made.words));
        made.n_words = words->n_words;
    }
    *copy = made;
    return VLY_OK;
}

void vly_memory_words_release(vly_memory_words *words)
{
    vly_free(words->words);
    *words = (vly_memory_words){0};
}

uint64_t vly_memory_words_digest(const vly_memory_words *words)
{
    const vly_hash none = {{0, 0}};
    if (words->n_words == 0)
        return 0;
    return vly_hash_bytes(none, words->words,
                          (size_t)words->n_words * sizeof(*words->words))
        .lane[0];
}

/* ---- read --------------------------------------------------------------- */

typedef struct word_reader {
    const vly_memory_net *net;
    const uint32_t *words;
    uint64_t n_words;
    uint64_t at;
    const char *fault; /* NULL: none so far */
} word_reader;

static uint32_t get_u32(word_reader *from)
{
    if (from->at == from->n_words) {
        from->fault = "it ends too early";
        return 0;
    }
    return from->words[from->at++];
}

static uint64_t get_u64(word_reader *from)
{
    const uint64_t low = get_u32(from);
    return low | (uint64_t)get_u32(from) << 32;
}

/* One frame: sets its place, its length and its spikes. */
static void get_frame(word_reader *from, const vly_memory_rule *memory,
                      vly_memory_pattern *frame, uint64_t *n_spikes)
{
    const uint64_t begin = from->at;
    *n_spikes = 0;
    for (uint32_t s = 0; s < memory->n_sources && !from->fault; s++) {
        const uint32_t n_neurons =
            from->net->connectome->areas[memory->sources[s].area].n_neurons;
        const uint32_t n = get_u32(from);
        if (n > n_neurons || n > from->n_words - from->at)
            from->fault = "more spikes than neurons";
        for (uint32_t i = 0; i < n && !from->fault; i++) {
            const uint32_t id = get_u32(from);
            if (id >= n_neurons || (i > 0 && id <= from->words[from->at - 2]))
                from->fault = "neurons that are not ascending ones of the area";
        }
        *n_spikes += n;
    }
    *frame = (vly_memory_pattern){from->words + begin, from->at - begin};
}

static vly_status read_frames(word_reader *from, vly_memory_area *area,
                              vly_error *error)
{
    const uint32_t n = get_u32(from);
    if (n > area->memory->temporal_depth)
        from->fault = "more frames than temporal_depth";
    for (uint32_t f = 0; f < n && !from->fault; f++) {
        vly_memory_frame *to = &area->frames[f];
        vly_memory_pattern frame;
        get_frame(from, area->memory, &frame, &to->n_spikes);
        if (from->fault)
            return VLY_OK;
        to->words = vly_malloc((size_t)frame.n_words, sizeof(*to->words));
        if (!to->words)
            return vly_fail_nomem(error, frame.n_words * sizeof(*to->words),
                                  "a frame");
        memcpy(to->words, frame.words,
               (size_t)frame.n_words * sizeof(*to->words));
        to->n_words = to->room = frame.n_words;
        area->n_spikes += to->n_spikes;
        area->n_frames++;
    }
    return VLY_OK;
}

static vly_status read_cell(word_reader *from, vly_memory_area *area,
                            vly_error *error)
{
    vly_memory_table *table = &area->table;
    const uint32_t index = get_u32(from);
    const uint32_t lifespan = get_u32(from);
    const uint32_t longterm = get_u32(from);
    const uint64_t begin = from->at;
    vly_memory_pattern frame;
    uint64_t n_spikes = 0;
    uint64_t n = 0;
    for (uint32_t f = 0; f < area->memory->temporal_depth && !from->fault;
         f++) {
        get_frame(from, area->memory, &frame, &n);
        n_spikes += n;
    }
    const vly_memory_pattern pattern = {from->words + begin, from->at - begin};
    if (from->fault)
        return VLY_OK;
    if (index >= table->most || index < table->n_cells || longterm > 1 ||
        n_spikes == 0 ||
        vly_memory_table_find(table, &pattern) != VLY_NO_CELL) {
        from->fault = "a pattern or its neuron";
        return VLY_OK;
    }
    vly_status status = VLY_OK;
    VLY_TRY(vly_memory_table_put(table, index, &pattern, lifespan, error));
    table->cells[index].longterm = longterm;
    table->n_longterm += longterm;
out:
    return status;
}

static vly_status read_area(word_reader *from, vly_memory_area *area,
                            vly_error *error)
{
    uint64_t *const counters[N_COUNTERS] = {
        &area->n_made, &area->n_seen, &area->n_forgotten, &area->n_dropped};
    vly_status status;
    for (int i = 0; i < N_COUNTERS; i++)
        *counters[i] = get_u64(from);
    VLY_TRY(read_frames(from, area, error));
    const uint32_t n = from->fault ? 0 : get_u32(from);
    for (uint32_t i = 0; i < n && !from->fault; i++)
        VLY_TRY(read_cell(from, area, error));
out:
    return status;
}

static void read_side(word_reader *from, const vly_association_net *net,
                      vly_association_side *side)
{
    const int32_t window = (int32_t)net->association->window;
    const uint32_t n = get_u32(from);
    uint32_t least = 0;
    for (uint32_t k = 0; k < n && !from->fault; k++) {
        const uint32_t i = get_u32(from);
        const uint32_t word = get_u32(from);
        const int32_t past = word > INT32_MAX
                                 ? -(int32_t)(UINT32_MAX - word) - 1
                                 : (int32_t)word;
        if (i < least || i >= side->n || past <= -window || past > window ||
            past == 0) {
            from->fault = "what a neuron did";
            return;
        }
        side->past[i] = past;
        least = i + 1;
    }
}

static vly_status read_association(word_reader *from, vly_association_net *to,
                                   vly_error *error)
{
    uint64_t last = 0;
    vly_status status = VLY_OK;
    to->n_bursts = get_u32(from);
    for (int s = 0; s < 2; s++)
        read_side(from, to, &to->sides[s]);
    vly_association_list(to);
    const uint64_t n = get_u64(from);
    if (to->n_bursts > to->association->window)
        from->fault = "more bursts than its window";
    for (uint64_t k = 0; k < n && !from->fault; k++) {
        const uint32_t i = get_u32(from);
        const uint32_t j = get_u32(from);
        const uint32_t weight = get_u32(from);
        const uint64_t place = (uint64_t)i << 32 | j;
        if (i >= to->sides[0].n || j >= to->sides[1].n || weight > 255 ||
            (k > 0 && place <= last)) {
            from->fault = "a synapse";
            return VLY_OK;
        }
        last = place;
        VLY_TRY(vly_association_add(to, i, j, weight, error));
    }
out:
    return status;
}

/* Errors  E_INVALID, E_NOMEM */
static vly_status read_all(word_reader *from, vly_memory_net *net,
                           vly_error *error)
{
    const vly_connectome *connectome = net->connectome;
    const char *name = "";
    vly_status status = VLY_OK;
    for (uint32_t m = 0; m < net->n_areas && !from->fault; m++) {
        name = connectome->areas[net->areas[m].memory->area].name;
        VLY_TRY(read_area(from, &net->areas[m], error));
    }
    for (uint32_t a = 0; a < net->n_associations && !from->fault; a++) {
        name = connectome->associations[a].name;
        VLY_TRY(read_association(from, &net->associations[a], error));
    }
    if (from->fault)
        status = vly_fail(error, VLY_E_INVALID, "memory %s of the state: %s",
                          name, from->fault);
out:
    return status;
}

vly_status vly_memory_net_read(const vly_connectome *connectome,
                               const vly_memory_words *words,
                               vly_memory_net **net, vly_error *error)
{
    vly_memory_net *made = NULL;
    vly_status status;
    VLY_TRY(vly_memory_net_create(connectome, &made, error));
    word_reader reader = {
        .net = made, .words = words->words, .n_words = words->n_words};
    if (made)
        VLY_TRY(read_all(&reader, made, error));
    if (reader.at != reader.n_words) {
        status = vly_fail(error, VLY_E_INVALID,
                          "the state has more about memories than the genome");
        goto out;
    }
    *net = made;
    made = NULL;
out:
    vly_memory_net_destroy(made);
    return status;
}

vly_status vly_memory_words_fit(const vly_connectome *connectome,
                                const vly_memory_words *words, vly_error *error)
{
    vly_memory_net *net = NULL;
    vly_status status = vly_memory_net_read(connectome, words, &net, error);
    vly_memory_net_destroy(net);
    return status;
}
