/* SPDX-License-Identifier: Apache-2.0
 * See second_memory.h. The rules are those of docs/genome.md, section Memory;
 * the words of the state those of core/engine/memory_words.c.
 */
#include "second_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- tables ------------------------------------------------------------- */

/* The next text in quotes on this line; NULL: none. */
static const char *quoted(const char *at, char out[64])
{
    const char *begin = strchr(at, '"');
    const char *line = at + strcspn(at, "\n]");
    const char *end = begin ? strchr(begin + 1, '"') : NULL;
    if (!end || begin > line || end - begin > 64)
        return NULL;
    memcpy(out, begin + 1, (size_t)(end - begin - 1));
    out[end - begin - 1] = 0;
    return end + 1;
}

static uint32_t area_of(const second_file *file, const char *name)
{
    for (uint32_t a = 0; a < file->n_areas; a++)
        if (strcmp(file->areas[a].name, name) == 0)
            return a;
    return UINT32_MAX;
}

const char *second_line(const char *table, const char *key)
{
    size_t n = strlen(key);
    for (const char *at = strchr(table, '\n'); at && at[1] != '\n';
         at = strchr(at + 1, '\n'))
        if (strncmp(at + 1, key, n) == 0 && at[n + 1] == ' ')
            return at + 1;
    return NULL;
}

uint32_t *second_areas(const second_file *file, const char *line, uint32_t *n)
{
    char name[64];
    uint32_t *areas = calloc(file->n_areas + 1u, sizeof *areas);
    *n = 0;
    while (areas && line && (line = quoted(line, name)) != NULL &&
           *n < file->n_areas)
        areas[(*n)++] = area_of(file, name);
    return areas;
}

uint32_t second_number(const char *table, const char *key)
{
    const char *line = second_line(table, key);
    return line ? (uint32_t)strtoul(strchr(line, '=') + 1, NULL, 10) : 0;
}

double second_real(const char *table, const char *key)
{
    const char *line = second_line(table, key);
    return line ? strtod(strchr(line, '=') + 1, NULL) : 0.0;
}

static int read_one(const second_file *file, const char *table,
                    second_memory *to)
{
    char name[64] = "";
    uint32_t n_twins = 0;
    quoted(table, name);
    to->area = area_of(file, name);
    to->sources =
        second_areas(file, second_line(table, "from"), &to->n_sources);
    to->twins = second_areas(file, second_line(table, "twins"), &n_twins);
    to->depth = second_number(table, "temporal_depth");
    to->init = second_number(table, "init_lifespan");
    to->growth = second_number(table, "lifespan_growth_rate");
    to->longterm = second_number(table, "longterm_mem_threshold");
    if (to->area == UINT32_MAX || !to->sources || !to->twins ||
        to->n_sources == 0 || to->depth == 0 ||
        (n_twins != 0 && n_twins != to->n_sources)) {
        fprintf(stderr, "second simulator: table of memory %s\n", name);
        return -1;
    }
    for (uint32_t s = 0; n_twins == 0 && s < to->n_sources; s++)
        to->twins[s] = UINT32_MAX;
    to->window = calloc((size_t)to->depth * file->n_neurons + 1, 1);
    to->patterns =
        calloc((size_t)file->areas[to->area].n + 1, sizeof *to->patterns);
    return to->window && to->patterns ? 0 : -1;
}

int second_memories_read(const second_file *file, const char *resolved,
                         second_memories *to)
{
    const char *at = resolved;
    *to = (second_memories){0};
    to->memories = calloc(file->n_areas + 1u, sizeof *to->memories);
    if (!to->memories)
        return -1;
    while ((at = strstr(at, "\n[memory.")) != NULL && to->n < file->n_areas)
        if (read_one(file, ++at, &to->memories[to->n++]))
            return -1;
    uint32_t most = 0;
    for (at = resolved; (at = strstr(at, "\n[association.")) != NULL; at++)
        most++;
    to->associations = calloc(most + 1u, sizeof *to->associations);
    at = resolved;
    while (to->associations && (at = strstr(at, "\n[association.")) != NULL)
        if (second_association_read(file, ++at,
                                    &to->associations[to->n_associations++]))
            return -1;
    return to->associations ? 0 : -1;
}

void second_memories_free(second_memories *of)
{
    for (uint32_t m = 0; m < of->n; m++) {
        second_memory *memory = &of->memories[m];
        for (uint32_t i = 0; memory->patterns && memory->patterns[i].n_words;
             i++)
            free(memory->patterns[i].words);
        free(memory->patterns);
        free(memory->window);
        free(memory->sources);
        free(memory->twins);
    }
    for (uint32_t a = 0; a < of->n_associations; a++) {
        free(of->associations[a].weight);
        free(of->associations[a].fired);
    }
    free(of->associations);
    free(of->memories);
    free(of->due);
    *of = (second_memories){0};
}

/* ---- patterns ----------------------------------------------------------- */

/* The last `depth` bursts of the sources as words, oldest first. Sets the
 * number of words and of spikes. NULL without memory. */
static uint32_t *pattern_now(const second_file *file, const second_memory *of,
                             uint64_t burst, uint32_t depth, uint32_t *n,
                             uint32_t *spikes)
{
    uint32_t most = 0;
    for (uint32_t s = 0; s < of->n_sources; s++)
        most += 1u + file->areas[of->sources[s]].n;
    uint32_t *words = calloc((size_t)most * depth + 1, sizeof *words);
    *n = 0;
    *spikes = 0;
    for (uint32_t f = 0; words && f < depth; f++) {
        const char *fired = of->window + (burst + 1 + f - depth) % of->depth *
                                             (uint64_t)file->n_neurons;
        for (uint32_t s = 0; s < of->n_sources; s++) {
            const second_area *source = &file->areas[of->sources[s]];
            uint32_t *count = &words[(*n)++];
            for (uint32_t k = 0; k < source->n; k++)
                if (fired[source->first + k]) {
                    words[(*n)++] = k;
                    ++*count;
                    ++*spikes;
                }
        }
    }
    return words;
}

static int is_pattern(const second_pattern *pattern, const uint32_t *words,
                      uint32_t n)
{
    return pattern->words && pattern->n_words == n &&
           memcmp(pattern->words, words, n * sizeof *words) == 0;
}

int second_due_add(second_memories *of, uint64_t burst, uint32_t neuron,
                   int64_t value)
{
    if (of->n_due == of->due_room) {
        uint64_t room = 2 * of->due_room + 64;
        second_due *grown = realloc(of->due, (size_t)room * sizeof *grown);
        if (!grown)
            return -1;
        of->due = grown;
        of->due_room = room;
    }
    of->due[of->n_due++] = (second_due){burst, neuron, value};
    return 0;
}

static double threshold_of(const second_area *area, uint32_t k)
{
    for (uint32_t c = 0; c < area->n_params; c++)
        if (strcmp(area->columns[c].name, "firing_threshold") == 0)
            return ((const double *)area->columns[c]
                        .elements)[area->columns[c].is_uniform ? 0 : k];
    return 0.0;
}

static int replay(const second_file *file, second_memories *of,
                  const second_memory *memory, const second_pattern *pattern,
                  uint64_t burst)
{
    const uint32_t *word = pattern->words;
    for (uint32_t f = 0; f < memory->depth; f++)
        for (uint32_t s = 0; s < memory->n_sources; s++) {
            uint32_t n = *word++;
            const second_area *twin = memory->twins[s] == UINT32_MAX
                                          ? NULL
                                          : &file->areas[memory->twins[s]];
            for (uint32_t i = 0; twin && i < n; i++) {
                float threshold = (float)threshold_of(twin, word[i]);
                double units = ceil((double)threshold / (double)twin->scale[0]);
                if (second_due_add(of, burst + 1 + f, twin->first + word[i],
                                   (int64_t)units))
                    return -1;
            }
            word += n;
        }
    return 0;
}

/* ---- one burst ---------------------------------------------------------- */

static void age(const second_file *file, const second_memories *all,
                second_memory *memory)
{
    for (uint32_t i = 0; i < file->areas[memory->area].n; i++) {
        second_pattern *p = &memory->patterns[i];
        if (p->words && p->lifespan >= memory->longterm)
            p->longterm = 1;
    }
    for (uint32_t i = 0; i < file->areas[memory->area].n; i++) {
        second_pattern *p = &memory->patterns[i];
        if (!p->words || p->longterm || p->lifespan == 0)
            continue;
        p->lifespan--;
        if (p->lifespan > 0)
            continue;
        free(p->words);
        p->words = NULL;
        memory->forgotten++;
        second_association_leave(file, all, memory->area, i);
    }
}

/* The neuron that stands for the words from now on; the area's n: none. */
static uint32_t learn(const second_file *file, second_memory *memory,
                      uint32_t *words, uint32_t n_words)
{
    uint32_t n = file->areas[memory->area].n;
    for (uint32_t i = 0; i < n; i++) {
        second_pattern *p = &memory->patterns[i];
        if (!is_pattern(p, words, n_words))
            continue;
        free(words);
        memory->seen++;
        if (!p->longterm)
            p->lifespan = p->lifespan > UINT32_MAX - memory->growth
                              ? UINT32_MAX
                              : p->lifespan + memory->growth;
        return i;
    }
    for (uint32_t i = 0; i < n; i++) {
        second_pattern *p = &memory->patterns[i];
        if (p->words)
            continue;
        *p = (second_pattern){
            .words = words, .n_words = n_words, .lifespan = memory->init};
        memory->made++;
        return i;
    }
    free(words);
    memory->dropped++;
    return n;
}

static int step(const second_file *file, second_memories *of,
                second_memory *memory, const char *fired, uint64_t burst)
{
    const second_area *area = &file->areas[memory->area];
    uint32_t n_words = 0, spikes = 0;
    age(file, of, memory);
    memcpy(memory->window + burst % memory->depth * (uint64_t)file->n_neurons,
           fired, file->n_neurons);
    if (burst + 1 < memory->depth)
        return 0;
    uint32_t *words =
        pattern_now(file, memory, burst, memory->depth, &n_words, &spikes);
    if (!words)
        return -1;
    if (spikes == 0) {
        free(words);
        return 0;
    }
    uint32_t i = learn(file, memory, words, n_words);
    if (i == area->n)
        return 0;
    return second_due_add(of, burst + 1, area->first + i,
                          (int64_t)floor(1.5 / (double)area->scale[0] + 0.5));
}

static int replay_all(const second_file *file, second_memories *of,
                      const char *fired, uint64_t burst)
{
    for (uint32_t m = 0; m < of->n; m++) {
        const second_memory *memory = &of->memories[m];
        const second_area *area = &file->areas[memory->area];
        for (uint32_t i = 0; i < area->n; i++)
            if (fired[area->first + i] && memory->patterns[i].words &&
                replay(file, of, memory, &memory->patterns[i], burst))
                return -1;
    }
    return 0;
}

int second_memories_step(const second_file *file, second_memories *of,
                         const char *fired, const uint32_t *gain,
                         uint64_t burst)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < of->n_due; i++) /* those of this burst are over */
        if (of->due[i].burst > burst)
            of->due[n++] = of->due[i];
    of->n_due = n;
    if (replay_all(file, of, fired, burst))
        return -1;
    char *known = malloc((size_t)file->n_neurons + 1);
    if (!known)
        return -1;
    memcpy(known, fired, file->n_neurons);
    for (uint32_t m = 0; m < of->n; m++)
        for (uint32_t i = 0; i < file->areas[of->memories[m].area].n; i++)
            if (!of->memories[m].patterns[i].words)
                known[file->areas[of->memories[m].area].first + i] = 0;
    for (uint32_t a = 0; a < of->n_associations; a++)
        if (second_associate(file, of, &of->associations[a], known, gain,
                             burst)) {
            free(known);
            return -1;
        }
    free(known);
    for (uint32_t m = 0; m < of->n; m++)
        if (step(file, of, &of->memories[m], fired, burst))
            return -1;
    return 0;
}

/* ---- state -------------------------------------------------------------- */

void second_put(second_words *to, uint32_t word)
{
    for (int i = 0; i < 4 && to->bytes; i++)
        to->bytes[4 * to->n + (uint64_t)i] = (unsigned char)(word >> (8 * i));
    to->n++;
}

void second_put_both(second_words *to, uint64_t number)
{
    second_put(to, (uint32_t)number);
    second_put(to, (uint32_t)(number >> 32));
}

static void put_memory(second_words *to, const second_file *file,
                       const second_memory *of, uint64_t bursts)
{
    uint32_t n_frames = bursts < of->depth ? (uint32_t)bursts : of->depth;
    uint32_t n_words = 0, spikes = 0, known = 0;
    uint32_t n = file->areas[of->area].n;
    second_put_both(to, of->made);
    second_put_both(to, of->seen);
    second_put_both(to, of->forgotten);
    second_put_both(to, of->dropped);
    second_put(to, n_frames);
    uint32_t *words = n_frames ? pattern_now(file, of, bursts - 1, n_frames,
                                             &n_words, &spikes)
                               : NULL;
    for (uint32_t i = 0; words && i < n_words; i++)
        second_put(to, words[i]);
    free(words);
    for (uint32_t i = 0; i < n; i++)
        known += of->patterns[i].words != NULL;
    second_put(to, known);
    for (uint32_t i = 0; i < n; i++) {
        const second_pattern *p = &of->patterns[i];
        if (!p->words)
            continue;
        second_put(to, i);
        second_put(to, p->lifespan);
        second_put(to, (uint32_t)p->longterm);
        for (uint32_t k = 0; k < p->n_words; k++)
            second_put(to, p->words[k]);
    }
}

static void put_all(second_words *to, const second_file *file,
                    const second_memories *of, uint64_t bursts)
{
    for (uint32_t m = 0; m < of->n; m++)
        put_memory(to, file, &of->memories[m], bursts);
    for (uint32_t a = 0; a < of->n_associations; a++)
        second_association_put(to, file, &of->associations[a], bursts);
}

uint64_t second_memories_digest(const second_file *file,
                                const second_memories *of, uint64_t bursts)
{
    second_words list = {NULL, 0};
    uint64_t digest = 0;
    if (of->n + of->n_associations == 0)
        return 0;
    put_all(&list, file, of, bursts);
    list.bytes = malloc((size_t)list.n * 4 + 1);
    list.n = 0;
    if (!list.bytes)
        return 0;
    put_all(&list, file, of, bursts);
    digest = second_checksum(list.bytes, 4 * list.n);
    free(list.bytes);
    return digest;
}
