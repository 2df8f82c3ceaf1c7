/* SPDX-License-Identifier: Apache-2.0
 * The connectome's digest: what the second reader says, the sum of its parts,
 * another one after any change of the content, and the same whatever the
 * content is stored as.
 */
#include "volley_test.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "connectome/connectome_digest.h"
#include "connectome/connectome_image.h"
#include "connectome_builder.h"
#include "connectome_path.h"
#include "digest_parts.h"

/* Of builder_everything: changes only together with the rules, the tables or
 * the definition. */
#define GOLDEN "b672f6376960afa5f2323cfe2cc5f9cc"

static vly_connectome *built(const builder *b)
{
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *connectome = NULL;
    assert_ok(vly_connectome_build(&b->genome, 2, &connectome, &error), error);
    return connectome;
}

static vly_connectome *everything(void)
{
    builder b;
    builder_everything(&b);
    return built(&b);
}

static void saved_and_checked(const vly_connectome *connectome, uint64_t seed)
{
    vly_error error = VLY_ERROR_INIT;
    assert_ok(vly_connectome_save(connectome, path, &error), error);
    assert_true(digest_parts_check(connectome, path, seed, "a test"));
}

static void as_the_second_reader_says(void **state)
{
    char hex[33];
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *read = NULL;
    (void)state;
    vly_connectome *c = everything();
    for (uint64_t seed = 0; seed < 20; seed++)
        saved_and_checked(c, seed);
    vly_hash_print(vly_connectome_digest(c, 0), hex);
    assert_string_equal(hex, GOLDEN);
    for (int verify = 0; verify < 2; verify++) {
        assert_ok(vly_connectome_load(path, verify, &read, &error), error);
        vly_hash_print(vly_connectome_digest(read, 3), hex);
        assert_string_equal(hex, GOLDEN);
        vly_connectome_destroy(read);
    }
    vly_connectome_destroy(c);
}

/* ---- any change -------------------------------------------------------- */

/* Changes data on purpose that is const for a net. */
#define CHANGED(pointer) ((void *)(uintptr_t)(pointer))

typedef struct change {
    vly_connectome *c;
    vly_hash before;
    const char *what;
} change;

static vly_hash digest_of(const vly_connectome *c)
{
    return vly_connectome_digest_part(c, 0, c->desc.n_neurons, 2);
}

/* Each bit of these bytes in turn, in a few places. */
static void bits_matter(const change *at, const void *bytes, size_t n)
{
    uint8_t *b = CHANGED(bytes);
    size_t step = n / 40 + 1;
    for (size_t i = 0; i < n; i += step) {
        uint8_t kept = b[i];
        b[i] ^= (uint8_t)(1u << (i % 8));
        vly_hash after = digest_of(at->c);
        b[i] = kept;
        if (after.lane[0] == at->before.lane[0] ||
            after.lane[1] == at->before.lane[1])
            fail_msg("%s: byte %d does not change the digest", at->what,
                     (int)i);
    }
}

#define MATTERS(name, bytes, n)                                                \
    bits_matter(&(change){c, before, name}, bytes, n)

static void neurons_matter(vly_connectome *c, vly_hash before, uint32_t a)
{
    const vly_connectome_area *area = &c->areas[a];
    const vly_area_desc *desc = &c->desc.areas[a];
    for (uint32_t p = 0; p < area->model->n_params; p++)
        MATTERS("a parameter", area->params[p].values,
                8 * (size_t)(area->params[p].uniform ? 1 : area->n_neurons));
    for (uint32_t k = 0; k < desc->n_coefs; k++)
        MATTERS("a coefficient", desc->coefs[k].words,
                4 * (size_t)(desc->coefs[k].uniform ? 1 : area->n_neurons));
    MATTERS("q", area->q, 4 * (size_t)desc->n_ports);
    MATTERS("a place", area->at, sizeof area->at);
    MATTERS("voxels", area->voxels, sizeof area->voxels);
    MATTERS("a name", area->name, strlen(area->name));
}

static void every_bit_matters(void **state)
{
    (void)state;
    vly_connectome *c = everything();
    vly_hash before = digest_of(c);
    for (uint32_t a = 0; a < c->desc.n_areas; a++)
        neurons_matter(c, before, a);
    MATTERS("state", c->start.state, 4 * (size_t)c->start.n_state_words);
    for (uint32_t p = 0; p < c->desc.n_projections; p++) {
        const vly_projection_desc *desc = &c->desc.projections[p];
        size_t n = (size_t)c->projections[p].n_synapses;
        if (n == 0)
            continue;
        if (desc->weight)
            MATTERS("a weight", desc->weight, 2 * n);
        else
            MATTERS("the weight", &desc->one_weight, 4);
        if (desc->delay)
            MATTERS("a delay", desc->delay, n);
        MATTERS("a base delay", &desc->base_delay, 2);
        MATTERS("a port", &desc->port, 1);
        MATTERS("flags", &desc->flags, 1);
        MATTERS("a map", desc->map, strlen(desc->map));
    }
    for (uint32_t s = 0; s < c->n_stimuli; s++) {
        const vly_connectome_stimulus *at = &c->stimuli[s];
        MATTERS("a rate", &at->rate_hz, 8);
        MATTERS("a start", &at->start, 8);
        for (uint64_t i = 0; i < at->n_inputs; i += 3) {
            MATTERS("an input's burst", &at->inputs[i].burst, 8);
            MATTERS("an input's value", &at->inputs[i].value, 4);
        }
    }
    for (uint32_t s = 0; s < c->desc.n_stimuli; s++) {
        const vly_stimulus_desc *at = &c->desc.stimuli[s];
        MATTERS("thresholds", at->thresholds, 4 * (size_t)at->n_thresholds);
        MATTERS("a base", &at->base, 4);
        MATTERS("a step", &at->step, 4);
    }
    MATTERS("a seed", &c->seed_state, 8);
    MATTERS("the seed of the input", &c->desc.seed_input, 8);
    MATTERS("dt", &c->desc.dt_ms, 8);
    MATTERS("Q", &c->desc.feagi_q, 4);
    vly_hash after = digest_of(c); /* all is as it was */
    assert_memory_equal(&before, &after, sizeof before);
    vly_connectome_destroy(c);
}

/* ---- equal synapses ---------------------------------------------------- */

/* 3 sources, 3 targets, so that a source has some 20 or 400 synapses to one of
 * them, most of them equal to others. */
static vly_connectome *dense(uint32_t n_synapses)
{
    builder b;
    builder_init(&b);
    uint32_t area = builder_area(&b, "A", "lif_psc_delta", 3);
    vly_pair *pair =
        builder_pair(&b, "all", area, area, VLY_RULE_FIXED_TOTAL_NUMBER);
    pair->count = n_synapses;
    pair->multiple = true;
    pair->weight = value_uniform(0.9, 1.1);
    pair->delay_ms = value_uniform(1.0, 1.3);
    return built(&b);
}

static void swap(const vly_projection_desc *desc, uint64_t i, uint64_t k)
{
    int16_t *weight = CHANGED(desc->weight);
    uint8_t *delay = CHANGED(desc->delay);
    int16_t w = weight[i];
    uint8_t d = delay[i];
    weight[i] = weight[k];
    weight[k] = w;
    delay[i] = delay[k];
    delay[k] = d;
}

static void equal_ones(void **state)
{
    static const uint32_t counts[] = {180, 3600};
    (void)state;
    for (int i = 0; i < 2; i++) {
        vly_connectome *c = dense(counts[i]);
        const vly_projection_desc *desc = &c->desc.projections[0];
        int16_t *weight = CHANGED(desc->weight);
        uint64_t last = desc->row[1] - 1;
        assert_non_null(desc->delay);
        for (uint64_t k = 0; k < c->desc.n_synapses; k++)
            weight[k] = (int16_t)(100 + weight[k] % 3);
        vly_hash before = digest_of(c);
        /* their order says nothing */
        assert_int_equal(desc->target[0], desc->target[7]);
        swap(desc, 0, 7);
        swap(desc, 3, 5);
        vly_hash after = digest_of(c);
        assert_memory_equal(&before, &after, sizeof before);
        /* which target has which does */
        assert_int_not_equal(desc->target[0], desc->target[last]);
        weight[0] = 100;
        weight[last] = 101;
        before = digest_of(c);
        swap(desc, 0, last);
        after = digest_of(c);
        assert_true(before.lane[0] != after.lane[0] &&
                    before.lane[1] != after.lane[1]);
        /* two or four of a kind, and all of one kind or of another */
        for (uint64_t k = 0; k < c->desc.n_synapses; k++)
            weight[k] = 100;
        before = digest_of(c);
        for (uint64_t k = 0; k < c->desc.n_synapses; k++)
            weight[k] = k % 2 ? 101 : 99;
        after = digest_of(c);
        assert_true(before.lane[0] != after.lane[0] &&
                    before.lane[1] != after.lane[1]);
        vly_connectome_destroy(c);
    }
}

static void equal_ones_beside_the_second_reader(void **state)
{
    (void)state;
    vly_connectome *c = dense(180);
    saved_and_checked(c, 1);
    vly_connectome_destroy(c);
    c = dense(3600);
    saved_and_checked(c, 2);
    vly_connectome_destroy(c);
}

/* Many of one source and target are sorted in memory of their own; without it
 * the digest is the same. */
static void without_memory(void **state)
{
    (void)state;
    vly_connectome *c = dense(3600);
    vly_hash wanted = digest_of(c);
    for (uint64_t k = 1; k < 4; k++) {
        vly_memory_fail_at(k);
        vly_hash found = vly_connectome_digest_part(c, 0, 3, 1);
        vly_memory_fail_at(0);
        assert_memory_equal(&found, &wanted, sizeof wanted);
    }
    vly_connectome_destroy(c);
}

/* ---- storage ----------------------------------------------------------- */

static void not_of_storage(void **state)
{
    (void)state;
    vly_connectome *c = everything();
    vly_hash before = digest_of(c);
    vly_projection_desc *projections = CHANGED(c->desc.projections);
    uint32_t n_shifted = 0;
    for (uint32_t p = 0; p < c->desc.n_projections; p++) {
        uint8_t *delay = CHANGED(projections[p].delay);
        if (!delay || projections[p].base_delay < 2)
            continue;
        projections[p].base_delay--;
        for (uint64_t i = 0; i < c->projections[p].n_synapses; i++)
            delay[i]++;
        n_shifted++;
    }
    assert_true(n_shifted > 0);
    vly_param_column *column = CHANGED(c->areas[0].params);
    while (!column->uniform)
        column++;
    vly_param_column kept = *column;
    double *values = malloc(c->areas[0].n_neurons * sizeof *values);
    for (uint32_t i = 0; i < c->areas[0].n_neurons; i++)
        values[i] = kept.values[0];
    *column = (vly_param_column){.values = values};
    vly_hash after = digest_of(c);
    *column = kept;
    free(values);
    assert_memory_equal(&before, &after, sizeof before);
    vly_connectome_destroy(c);
}

/* ---- checksums --------------------------------------------------------- */

/* Blocks of a section by letters: 'b' differs from 'a' in its last byte; 'A'
 * and 'B' are the same in the buffer, which other blocks overwrite. */
static unsigned char block_of[2][VLY_FILE_BLOCK];
static const char order[] = "aaaaaaaabaaaaaabaaaAbbbBaaaabbbbbbbbAAAAaaaaaaaab";

static const void *letter_bytes(const void *arg, uint32_t section, uint64_t at,
                                size_t n, void *buffer)
{
    const char *letters = arg;
    const char letter = letters[at / VLY_FILE_BLOCK];
    (void)section;
    if (letter >= 'a')
        return block_of[letter - 'a'];
    memcpy(buffer, block_of[letter - 'A'], n);
    return buffer;
}

/* The checksum of a section is that of its blocks one by one, where equal ones
 * follow each other too. */
static void equal_blocks(void **state)
{
    (void)state;
    vly_hash blocks[sizeof order - 1];
    vly_hash sums[VLY_SECTIONS];
    vly_error error = VLY_ERROR_INIT;
    for (size_t i = 0; i < VLY_FILE_BLOCK; i++)
        block_of[0][i] = block_of[1][i] = (unsigned char)(i * 7 >> 3);
    block_of[1][VLY_FILE_BLOCK - 1] ^= 1;
    for (size_t i = 0; i < sizeof order - 1; i++)
        blocks[i] = vly_hash_bytes(
            (vly_hash){{0, 0}}, block_of[(order[i] & 31) - 1], VLY_FILE_BLOCK);
    const vly_hash expected =
        vly_hash_bytes((vly_hash){{0, 0}}, blocks, sizeof blocks);
    vly_checksum_source source = {.bytes = letter_bytes, .arg = order};
    source.n_bytes[2] = (sizeof order - 1) * VLY_FILE_BLOCK;
    for (uint32_t n_threads = 1; n_threads < 4; n_threads++) {
        assert_ok(vly_sections_checksum(&source, n_threads, sums, &error),
                  error);
        assert_memory_equal(&sums[2], &expected, sizeof expected);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(as_the_second_reader_says),
    cmocka_unit_test(every_bit_matters),
    cmocka_unit_test(equal_ones),
    cmocka_unit_test(equal_ones_beside_the_second_reader),
    cmocka_unit_test(without_memory),
    cmocka_unit_test(not_of_storage),
    cmocka_unit_test(equal_blocks),
};

int main(void)
{
    return cmocka_run_group_tests(tests, make_path, remove_path) ? 1 : 0;
}
