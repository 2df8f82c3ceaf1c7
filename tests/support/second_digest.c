/* SPDX-License-Identifier: Apache-2.0
 * The connectome's digest once more, by the description in
 * core/connectome/FORMAT.md: plain loops over a saved file, every synapse
 * beside all others of its source and target.
 */
#include "second_simulator.h"

#include "second_learning.h"
#include "second_short_term.h"

#include <string.h>

typedef struct lanes {
    uint64_t v[2];
} lanes;

static uint64_t get(const unsigned char *p, int n_bytes)
{
    uint64_t word = 0;
    for (int i = 0; i < n_bytes; i++)
        word |= (uint64_t)p[i] << (8 * i);
    return word;
}

/* A signed number of 32 bits as a word of 64. */
static uint64_t get_signed(const unsigned char *p)
{
    uint64_t word = get(p, 4);
    return word >> 31 ? word | 0xFFFFFFFF00000000u : word;
}

static const unsigned char *section(const second_file *file, int id)
{
    return file->bytes + get(file->bytes + 256 + 48 * (id - 1) + 8, 8);
}

/* ---- keys and terms ---------------------------------------------------- */

static void add_word(lanes *key, uint64_t word)
{
    for (int l = 0; l < 2; l++)
        key->v[l] = second_mix64(key->v[l] + word);
}

static lanes key_of(uint64_t kind, uint64_t index)
{
    lanes key = {{0x9E3779B97F4A7C15u, 0x243F6A8885A308D3u}};
    add_word(&key, kind);
    add_word(&key, index);
    return key;
}

/* n words of so many bytes each, in the order of a record. */
static void add_words(lanes *key, const unsigned char *p, int n, int n_bytes)
{
    for (int i = 0; i < n; i++)
        add_word(key, get(p + i * n_bytes, n_bytes));
}

/* The checksum of the text's bytes. */
static void add_text(lanes *key, const second_file *file, uint64_t at)
{
    const unsigned char *text = section(file, 5) + at;
    uint64_t n = strlen((const char *)text);
    uint64_t n_words = (n + 7) / 8;
    uint64_t a = 0;
    uint64_t b = 0;
    for (uint64_t i = 0; i <= n_words; i++) {
        uint64_t left = n - i * 8;
        uint64_t word = n;
        if (i < n_words)
            word = get(text + i * 8, left < 8 ? (int)left : 8);
        a = second_mix64((a ^ word) + 0x9E3779B97F4A7C15u);
        b = second_mix64((b + word) ^ 0x243F6A8885A308D3u);
    }
    add_word(key, a);
    add_word(key, b);
}

static void add_key(lanes *sum, lanes key)
{
    sum->v[0] += key.v[0];
    sum->v[1] += key.v[1];
}

static void add_term(lanes *sum, lanes key, uint64_t place, uint64_t value)
{
    sum->v[0] += second_mix64(key.v[0] + place + value * 0xD1342543DE82EF95u);
    sum->v[1] += second_mix64(key.v[1] + place + value * 0xC2B2AE3D27D4EB4Fu);
}

/* ---- records ----------------------------------------------------------- */

static void add_net(const second_file *file, lanes *sum)
{
    const unsigned char *h = file->bytes;
    lanes key = key_of(1, 0);
    add_words(&key, h + 72, 4, 8);  /* three seeds, dt */
    add_words(&key, h + 128, 4, 4); /* neurons, areas, projections, stimuli */
    add_words(&key, h + 152, 1, 4); /* Q */
    add_key(sum, key);
}

static void add_column(const second_file *file, const unsigned char *area,
                       uint64_t column, lanes key, lanes *sum)
{
    const unsigned char *p = section(file, 2) + 32 * column;
    int n_bytes = get(p + 4, 4) == 2 ? 8 : 4;
    uint64_t first = get(area + 16, 4);
    for (uint64_t i = 0; i < get(area + 20, 4); i++) {
        uint64_t k = get(p + 8, 4) == 1 ? 0 : i;
        add_term(
            sum, key, first + i,
            get(file->bytes + get(p + 16, 8) + k * (uint64_t)n_bytes, n_bytes));
    }
}

static void add_area(const second_file *file, uint64_t a, lanes *sum)
{
    const unsigned char *p = section(file, 1) + 128 * a;
    lanes key = key_of(2, a);
    uint64_t column = get(p + 80, 4);
    add_text(&key, file, get(p, 4));
    add_text(&key, file, get(p + 4, 4));
    add_words(&key, p + 8, 1, 8);
    add_words(&key, p + 16, 4, 4); /* first, neurons, flags, ports */
    add_word(&key, get_signed(p + 32));
    add_word(&key, get(p + 28, 4) > 1 ? get_signed(p + 36) : 0);
    for (uint64_t port = 2; port < get(p + 28, 4); port++)
        add_word(&key, (uint64_t)(int64_t)(int16_t)get(p + 80 + 2 * port, 2));
    add_words(&key, p + 48, 5, 4); /* voxels */
    add_words(&key, p + 88, 3, 8);
    add_key(sum, key);
    for (uint64_t kind = 3; kind <= 5; kind++) {
        uint64_t n = get(p + 68 + 4 * (kind - 3), 4);
        for (uint64_t c = 0; c < n; c++, column++) {
            key = key_of(kind, a);
            add_word(&key, c);
            add_column(file, p, column, key, sum);
        }
    }
}

static void add_inputs(const second_file *file, uint64_t s, lanes *sum)
{
    const second_stimulus *stimulus = &file->stimuli[s];
    for (uint64_t i = 0; i < stimulus->n_inputs; i++) {
        const second_spike_input *at = &stimulus->inputs[i];
        lanes key = key_of(10, s);
        uint64_t nth = 0;
        add_word(&key, at->burst);
        for (uint64_t k = i;
             k-- > 0 && at[0].burst == stimulus->inputs[k].burst;)
            nth += stimulus->inputs[k].neuron == at->neuron;
        add_term(sum, key, at->neuron,
                 (uint64_t)(int64_t)at->value + (nth << 40));
    }
}

static void add_stimulus(const second_file *file, uint64_t s, lanes *sum)
{
    const unsigned char *p = section(file, 4) + 128 * s;
    int draws = get(p + 24, 4) != 0xFFFFFFFFu;
    lanes key = key_of(8, s);
    add_text(&key, file, get(p, 4));
    add_words(&key, p + 4, 5, 4);  /* kind, area, first, neurons, port */
    add_words(&key, p + 32, 6, 8); /* rate to the burst after the last */
    add_word(&key, draws ? get(p + 28, 4) : 0);
    add_word(&key, draws ? get_signed(p + 80) : 0);
    add_word(&key, draws ? get_signed(p + 84) : 0);
    add_word(&key, draws ? get(p + 88, 4) : 0);
    add_key(sum, key);
    for (uint32_t k = 0; draws && k < file->stimuli[s].n_thresholds; k++)
        add_term(sum, key_of(9, s), k, file->stimuli[s].thresholds[k]);
    add_inputs(file, s, sum);
}

/* ---- synapses ---------------------------------------------------------- */

static int64_t weight_of(const second_projection *p, uint64_t i)
{
    return p->weight[i] * (INT64_C(1) << p->shift);
}

static uint64_t delay_of(const second_projection *p, uint64_t i)
{
    return p->base_delay + (p->delay ? p->delay[i] : 0u);
}

static void add_learning(const second_file *file, uint64_t index, lanes *sum)
{
    const second_learning *l = file->projections[index].learning;
    const unsigned char *p = file->bytes + get(file->bytes + 176, 8);
    lanes key = key_of(11, index);
    while (get(p, 4) != index)
        p += 80;
    add_text(&key, file, get(p + 8, 4));
    add_words(&key, p + 16, 1, 8); /* hash of the rule's table */
    add_word(&key, l->flags);
    add_word(&key, l->most);
    add_words(&key, p + 40, 8, 4); /* traces */
    add_words(&key, (const unsigned char *)(const void *)l->coefs,
              (int)l->n_coefs, 4);
    if (l->reward) {
        add_words(&key, (const unsigned char *)&l->reward->rate, 1, 4);
        add_word(&key, l->reward->bursts);
        add_word(&key, l->reward->interval);
        add_word(&key, l->reward->area);
    }
    add_key(sum, key);
}

static void add_short_term(const second_file *file, uint64_t index, lanes *sum)
{
    const second_short_term *s = file->projections[index].short_term;
    const unsigned char *p = file->bytes + get(file->bytes + 176, 8);
    lanes key = key_of(11, index);
    while (get(p, 4) != index)
        p += 80;
    add_text(&key, file, get(p + 8, 4));
    add_words(&key, p + 16, 1, 8); /* hash of the rule's table */
    add_word(&key, get(p + 4, 4)); /* flags */
    add_word(&key, s->bursts);
    add_words(&key, (const unsigned char *)(const void *)s->coefs,
              (int)s->n_coefs, 4);
    add_key(sum, key);
}

static void add_projection(const second_file *file, uint64_t index, lanes *sum)
{
    const unsigned char *record = section(file, 3) + 96 * index;
    const second_projection *p = &file->projections[index];
    const second_area *from = &file->areas[p->source_area];
    lanes key = key_of(6, index);
    add_text(&key, file, get(record, 4));
    add_words(&key, record + 4, 4, 4); /* areas, port, flags */
    add_key(sum, key);
    if (p->learning)
        add_learning(file, index, sum);
    if (p->short_term)
        add_short_term(file, index, sum);
    for (uint64_t s = 0; s < from->n; s++) {
        key = key_of(7, index);
        add_word(&key, from->first + s);
        for (uint64_t i = p->row[s]; i < p->row[s + 1]; i++) {
            uint64_t nth = 0;
            for (uint64_t k = i;
                 k-- > p->row[s] && p->target[k] == p->target[i];)
                nth += weight_of(p, k) == weight_of(p, i) &&
                       delay_of(p, k) == delay_of(p, i);
            add_term(sum, key, p->target[i] + (delay_of(p, i) << 32),
                     (uint64_t)weight_of(p, i) + (nth << 40));
        }
    }
}

void second_digest(const second_file *file, uint64_t digest[2])
{
    lanes sum = {{0, 0}};
    add_net(file, &sum);
    for (uint64_t a = 0; a < file->n_areas; a++)
        add_area(file, a, &sum);
    for (uint64_t p = 0; p < file->n_projections; p++)
        add_projection(file, p, &sum);
    for (uint64_t s = 0; s < file->n_stimuli; s++)
        add_stimulus(file, s, &sum);
    digest[0] = sum.v[0];
    digest[1] = sum.v[1];
}
