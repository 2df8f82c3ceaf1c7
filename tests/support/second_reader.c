/* SPDX-License-Identifier: Apache-2.0
 * Reads a saved connectome for the second simulator, by the description in
 * core/connectome/FORMAT.md and nothing else; checks every checksum.
 */
#include "second_simulator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "second_learning.h"
#include "second_short_term.h"

enum { N_SECTIONS = 17, BLOCK = 1 << 20 };

uint64_t second_mix64(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

static uint32_t get32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

static uint64_t get64(const unsigned char *p)
{
    return (uint64_t)get32(p) | (uint64_t)get32(p + 4) << 32;
}

static float get_f32(const unsigned char *p)
{
    uint32_t bits = get32(p);
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double get_f64(const unsigned char *p)
{
    uint64_t bits = get64(p);
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A pointer into the file, through const void so that it may be aligned. */
static const void *at(const second_file *file, uint64_t offset)
{
    return file->bytes + offset;
}

/* ---- checksums -------------------------------------------------------- */

typedef struct lanes {
    uint64_t a, b;
} lanes;

static lanes checksum(const unsigned char *bytes, uint64_t n)
{
    lanes s = {0, 0};
    for (uint64_t i = 0; i <= (n + 7) / 8; i++) {
        unsigned char word[8] = {0};
        uint64_t w = n;
        if (i * 8 < n) {
            uint64_t left = n - i * 8;
            memcpy(word, bytes + i * 8, left < 8 ? (size_t)left : 8);
            w = get64(word);
        }
        s.a = second_mix64((s.a ^ w) + 0x9E3779B97F4A7C15u);
        s.b = second_mix64((s.b + w) ^ 0x243F6A8885A308D3u);
    }
    return s;
}

uint64_t second_checksum(const unsigned char *bytes, uint64_t n)
{
    return checksum(bytes, n).a;
}

static int checksum_is(lanes s, const unsigned char *stored, const char *what)
{
    if (s.a == get64(stored) && s.b == get64(stored + 8))
        return 0;
    fprintf(stderr, "second simulator: wrong checksum of %s\n", what);
    return -1;
}

/* The checksum of the checksums of the section's blocks. */
static lanes section_checksum(const unsigned char *bytes, uint64_t n)
{
    uint64_t n_blocks = (n + BLOCK - 1) / BLOCK;
    unsigned char *sums = calloc((size_t)n_blocks + 1, 16);
    lanes s = {0, 0};
    if (!sums)
        return s;
    for (uint64_t k = 0; k < n_blocks; k++) {
        uint64_t left = n - k * BLOCK;
        lanes b = checksum(bytes + k * BLOCK, left < BLOCK ? left : BLOCK);
        uint64_t both[2] = {b.a, b.b};
        for (int i = 0; i < 16; i++)
            sums[k * 16 + (uint64_t)i] =
                (unsigned char)(both[i / 8] >> (8 * (i % 8)));
    }
    s = checksum(sums, n_blocks * 16);
    free(sums);
    return s;
}

static int check_content_hash(const second_file *file)
{
    unsigned char bytes[32 + 48 + 17 * 16];
    int learns = get64(file->bytes + 184) != 0;
    memcpy(bytes, file->bytes + 72, 32);
    memcpy(bytes + 32, file->bytes + 112, 48);
    for (int k = 0; k < 16; k++)
        memcpy(bytes + 80 + 16 * k, file->bytes + 256 + 48 * k + 24, 16);
    memcpy(bytes + 80 + 16 * 16, file->bytes + 192, 16);
    return checksum_is(checksum(bytes, sizeof bytes - (learns ? 0 : 16)),
                       file->bytes + 56, "the content");
}

/* ---- parts of the file ------------------------------------------------ */

static const unsigned char *section(const second_file *file, int id,
                                    uint64_t *n)
{
    const unsigned char *entry = file->bytes + 256 + 48 * (id - 1);
    if (n)
        *n = get64(entry + 16);
    return file->bytes + get64(entry + 8);
}

static const char *text_at(const second_file *file, uint32_t position)
{
    return (const char *)section(file, 5, NULL) + position;
}

static int read_header(second_file *file)
{
    const unsigned char *h = file->bytes;
    if (file->n_bytes < 1088 || memcmp(h, "VOLLEYCN", 8) != 0 ||
        (get32(h + 8) != 2 && get32(h + 8) != 3) ||
        get32(h + 12) != 0x0A0B0C0Du || get64(h + 16) != file->n_bytes ||
        get32(h + 24) != N_SECTIONS) {
        fprintf(stderr,
                "second simulator: not a connectome of version 2 or 3\n");
        return -1;
    }
    file->seed_input = get64(h + 88);
    file->dt_ms = get_f64(h + 96);
    file->n_bursts = get64(h + 104);
    file->n_neurons = get32(h + 128);
    file->n_areas = get32(h + 132);
    file->n_projections = get32(h + 136);
    file->n_stimuli = get32(h + 140);
    file->max_delay = get32(h + 148);
    file->feagi_q = get32(h + 152);
    if (checksum_is(checksum(h, 240), h + 240, "the header") ||
        checksum_is(checksum(h + 256, N_SECTIONS * 48), h + 224, "the table"))
        return -1;
    for (int id = 1; id <= N_SECTIONS; id++) {
        uint64_t n;
        const unsigned char *bytes = section(file, id, &n);
        char what[32];
        snprintf(what, sizeof what, "section %d", id);
        if (checksum_is(section_checksum(bytes, n),
                        h + 256 + 48 * (id - 1) + 24, what))
            return -1;
    }
    if (get64(h + 184) != 0 &&
        checksum_is(checksum(h + get64(h + 176), get64(h + 184)), h + 192,
                    "what learns"))
        return -1;
    return check_content_hash(file);
}

static int model_of(const char *name)
{
    if (name[0] == '[')
        return SECOND_OWN;
    static const char *const names[] = {
        "feagi",      "lif_psc_delta", "lif_psc_exp", "lif_psc_alpha",
        "izhikevich", "lif_cond_exp",  "adex",        "lif_psc_exp2"};
    for (int k = 0; k < SECOND_OWN; k++)
        if (strcmp(name, names[k]) == 0)
            return k;
    fprintf(stderr, "second simulator: unknown model %s\n", name);
    return -1;
}

static void read_column(const second_file *file, uint32_t index,
                        second_column *column)
{
    const unsigned char *p = section(file, 2, NULL) + 32 * (uint64_t)index;
    snprintf(column->name, sizeof column->name, "%s", text_at(file, get32(p)));
    column->is_f64 = get32(p + 4) == 2;
    column->is_uniform = get32(p + 8) == 1;
    column->elements = at(file, get64(p + 16));
}

/* The last fields of a model with sums: of each port the sum and its residual.
 */
static uint32_t first_sum(const second_area *area)
{
    const uint32_t first = area->n_fields - 2 * area->n_ports;
    if (area->model != SECOND_OWN || area->n_fields < 2 * area->n_ports)
        return UINT32_MAX;
    for (uint32_t f = first; f < area->n_fields; f++)
        if (strncmp(area->columns[area->n_params + f].name, "input", 5) != 0)
            return UINT32_MAX;
    return first;
}

int second_check_sums(const second_area *area)
{
    for (uint32_t port = 0; area->arrived && port < area->n_ports; port++)
        for (uint32_t k = 0; k < area->n; k++) {
            const uint32_t f = first_sum(area) + 2 * port;
            float high, low;
            memcpy(&high, &area->state[f][k], sizeof high);
            memcpy(&low, &area->state[f + 1][k], sizeof low);
            const double wanted = area->arrived[port * area->n + k];
            if ((double)high + (double)low == wanted)
                continue;
            fprintf(stderr,
                    "second simulator: input of %s[%u] at port %u is %.17g in "
                    "all, by the model %.9g + %.9g\n",
                    area->name, (unsigned)k, (unsigned)port, wanted,
                    (double)high, (double)low);
            return -1;
        }
    return 0;
}

static int read_area(const second_file *file, uint32_t index)
{
    const unsigned char *p = section(file, 1, NULL) + 128 * (uint64_t)index;
    second_area *area = &file->areas[index];
    snprintf(area->name, sizeof area->name, "%s", text_at(file, get32(p)));
    area->model = model_of(text_at(file, get32(p + 4)));
    area->first = get32(p + 16);
    area->n = get32(p + 20);
    area->is_feagi = (get32(p + 24) & 1u) != 0;
    area->n_ports = get32(p + 28);
    for (uint32_t port = 0; port < 2; port++) {
        area->scale[port] = get_f32(p + 40 + 4 * port);
        area->scale[port + 2] =
            ldexpf(1.0f, -(int16_t)(get32(p + 84) >> 16 * port & 0xffff));
    }
    area->n_params = get32(p + 68);
    area->n_fields = get32(p + 72);
    area->n_coefs = get32(p + 76);
    uint32_t n = area->n_params + area->n_fields + area->n_coefs;
    if (area->model < 0 || n > SECOND_MAX_COLUMNS ||
        area->n_fields > SECOND_MAX_FIELDS)
        return -1;
    if (area->model == SECOND_OWN) {
        area->program = second_program_read(text_at(file, get32(p + 4)));
        if (!area->program)
            return -1;
    }
    for (uint32_t k = 0; k < n; k++)
        read_column(file, get32(p + 80) + k, &area->columns[k]);
    for (uint32_t f = 0; f < area->n_fields; f++) {
        area->state[f] = malloc(area->n * sizeof(uint32_t));
        if (!area->state[f])
            return -1;
        memcpy(area->state[f], area->columns[area->n_params + f].elements,
               area->n * sizeof(uint32_t));
    }
    area->input = calloc(area->n, sizeof(float));
    if (first_sum(area) != UINT32_MAX) {
        area->arrived = calloc((size_t)area->n_ports * area->n, sizeof(double));
        if (!area->arrived)
            return -1;
    }
    return area->input ? 0 : -1;
}

/* The order of the coefficients by which the steps below read them. */
static const char *const coef_names[5][12] = {
    {"threshold", "threshold_limit", "keep", "refractory_period", "fire_limit",
     "snooze", "excitability", "accumulate", "psp", "mp_driven", "uniform_psp"},
    {"p22", "drive", "e_l", "v_th", "v_reset", "t_ref"},
    {"p11", "p22", "p21", "drive", "e_l", "v_th", "v_reset", "t_ref"},
    {"p11", "p21", "p33", "p31", "p32", "peak", "drive", "e_l", "v_th",
     "v_reset", "t_ref"},
    {"half_dt", "a_dt", "b", "c", "d", "v_peak", "drive"},
};
int second_check_columns(const second_area *area)
{
    if (area->model == SECOND_OWN)
        return 0;
    if (area->model >= SECOND_COND)
        return second_check_ports(area);
    for (uint32_t k = 0; k < 12 && coef_names[area->model][k]; k++) {
        const second_column *c =
            &area->columns[area->n_params + area->n_fields + k];
        if (k >= area->n_coefs ||
            strcmp(c->name, coef_names[area->model][k]) != 0) {
            fprintf(stderr,
                    "second simulator: coefficient %u of %s is not %s\n",
                    (unsigned)k, area->name, coef_names[area->model][k]);
            return -1;
        }
    }
    return 0;
}

static void read_projection(const second_file *file, uint32_t index)
{
    const unsigned char *p = section(file, 3, NULL) + 96 * (uint64_t)index;
    second_projection *projection = &file->projections[index];
    projection->source_area = get32(p + 4);
    projection->target_area = get32(p + 8);
    projection->port = get32(p + 12);
    projection->uses_gain = (get32(p + 16) & 1u) != 0;
    projection->base_delay = get32(p + 20);
    projection->shift = get32(p + 28);
    projection->n = get64(p + 32);
    projection->row = at(file, get64(p + 40));
    projection->target = at(file, get64(p + 48));
    projection->weight = at(file, get64(p + 56));
    projection->delay = get64(p + 64) ? at(file, get64(p + 64)) : NULL;
}

static int read_short_term(second_file *file, const unsigned char *p)
{
    second_short_term *s = calloc(1, sizeof *s);
    if (!s)
        return -1;
    file->projections[get32(p)].short_term = s;
    snprintf(s->rule, sizeof s->rule, "%s", text_at(file, get32(p + 8)));
    s->n_coefs = get32(p + 12);
    s->coefs = at(file, get64(p + 24));
    s->bursts = get32(p + 32);
    s->params = at(file, get64(p + 72));
    return 0;
}

/* The records after the last section: 0, or -1 without memory. */
static int read_learning(second_file *file)
{
    const unsigned char *h = file->bytes;
    for (uint64_t k = 0; k < get64(h + 184) / 80; k++) {
        const unsigned char *p = h + get64(h + 176) + 80 * k;
        const unsigned char *map =
            section(file, 3, NULL) + 96 * (uint64_t)get32(p);
        if ((get32(map + 16) & 4u) != 0) {
            if (read_short_term(file, p))
                return -1;
            continue;
        }
        second_learning *l = calloc(1, sizeof *l);
        if (!l)
            return -1;
        file->projections[get32(p)].learning = l;
        l->flags = get32(p + 4);
        const char *rule = text_at(file, get32(p + 8));
        if (rule[0] == '[') /* the definition of a user's */
            rule = "[synapse]";
        snprintf(l->rule, sizeof l->rule, "%s", rule);
        l->n_coefs = get32(p + 12);
        l->coefs = at(file, get64(p + 24));
        l->most = get32(p + 32);
        for (int t = 0; t < 4; t++) {
            l->rate[t] = get_f32(p + 40 + 8 * t);
            l->bursts[t] = get32(p + 44 + 8 * t);
        }
        if (strcmp(l->rule, "stdp_reward") != 0)
            continue;
        l->reward = calloc(1, sizeof *l->reward);
        if (!l->reward)
            return -1;
        second_reward_read(l->reward, at(file, get64(p + 72)), file->dt_ms);
    }
    return 0;
}

static void read_stimulus(const second_file *file, uint32_t index)
{
    const unsigned char *p = section(file, 4, NULL) + 128 * (uint64_t)index;
    second_stimulus *stimulus = &file->stimuli[index];
    stimulus->kind = get32(p + 4);
    stimulus->area = get32(p + 8);
    stimulus->first = get32(p + 12);
    stimulus->n = get32(p + 16);
    stimulus->port = get32(p + 20);
    stimulus->stream = get32(p + 28);
    stimulus->rate = get_f64(p + 32);
    stimulus->mean = get_f64(p + 48);
    stimulus->start = get64(p + 64);
    stimulus->stop = get64(p + 72);
    stimulus->base = (int32_t)get32(p + 80);
    stimulus->step = (int32_t)get32(p + 84);
    stimulus->always = (get32(p + 88) & 1u) != 0;
    stimulus->n_thresholds = get32(p + 92);
    stimulus->thresholds = at(file, get64(p + 96));
    stimulus->inputs = at(file, get64(p + 104));
    stimulus->n_inputs = get64(p + 112);
}

static int read_bytes(const char *path, second_file *file)
{
    FILE *stream = fopen(path, "rb");
    int result = -1;
    if (stream && fseek(stream, 0, SEEK_END) == 0) {
        long n = ftell(stream);
        rewind(stream);
        file->n_bytes = n > 0 ? (uint64_t)n : 0;
        file->bytes =
            aligned_alloc(64, (size_t)(file->n_bytes + 127) / 64 * 64);
        if (file->bytes && fread(file->bytes, 1, (size_t)file->n_bytes,
                                 stream) == file->n_bytes)
            result = 0;
    }
    if (stream)
        fclose(stream);
    if (result)
        fprintf(stderr, "second simulator: %s cannot be read\n", path);
    return result;
}

int second_file_read(const char *path, second_file *file)
{
    memset(file, 0, sizeof *file);
    if (read_bytes(path, file) || read_header(file))
        return -1;
    file->out_degree = (const uint32_t *)(const void *)section(file, 10, NULL);
    file->resolved = (const char *)section(file, 17, NULL);
    file->areas = calloc(file->n_areas + 1u, sizeof *file->areas);
    file->projections =
        calloc(file->n_projections + 1u, sizeof *file->projections);
    file->stimuli = calloc(file->n_stimuli + 1u, sizeof *file->stimuli);
    if (!file->areas || !file->projections || !file->stimuli)
        return -1;
    for (uint32_t k = 0; k < file->n_areas; k++)
        if (read_area(file, k))
            return -1;
    for (uint32_t k = 0; k < file->n_projections; k++)
        read_projection(file, k);
    for (uint32_t k = 0; k < file->n_stimuli; k++)
        read_stimulus(file, k);
    return read_learning(file);
}

void second_file_free(second_file *file)
{
    for (uint32_t k = 0; file->areas && k < file->n_areas; k++) {
        for (int f = 0; f < SECOND_MAX_FIELDS; f++)
            free(file->areas[k].state[f]);
        second_program_free(file->areas[k].program);
        free(file->areas[k].input);
        free(file->areas[k].arrived);
    }
    free(file->areas);
    for (uint32_t k = 0; file->projections && k < file->n_projections; k++) {
        if (file->projections[k].learning)
            free(file->projections[k].learning->reward);
        free(file->projections[k].learning);
        free(file->projections[k].short_term);
    }
    free(file->projections);
    free(file->stimuli);
    free(file->bytes);
    memset(file, 0, sizeof *file);
}
