/* SPDX-License-Identifier: Apache-2.0
 * One genome, one connectome: the same for any number of threads, against a
 * golden hash, after saving and loading; damaged files and failed allocations.
 */
#include "volley_test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "connectome/connectome_image.h"
#include "connectome_builder.h"
#include "connectome_path.h"

/* Of builder_everything: changes only together with the rules or tables. */
#define GOLDEN "2d725b3767a530f761b83a21c53906ed"

static vly_connectome *built(uint32_t n_threads)
{
    builder b;
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *connectome = NULL;
    builder_everything(&b);
    assert_ok(vly_connectome_build(&b.genome, n_threads, &connectome, &error),
              error);
    return connectome;
}

static void same_for_all_threads(void **state)
{
    (void)state;
    static const uint32_t threads[] = {1, 2, 3, 16};
    for (int i = 0; i < 4; i++) {
        char hex[33];
        vly_connectome *c = built(threads[i]);
        vly_hash_print(c->hash, hex);
        assert_string_equal(hex, GOLDEN);
        vly_connectome_destroy(c);
    }
}

static unsigned char *slurp(size_t *n)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *n = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(*n);
    assert_int_equal(fread(bytes, 1, *n, file), *n);
    fclose(file);
    return bytes;
}

static void spill(const unsigned char *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    fclose(file);
}

static void assert_same(const vly_connectome *a, const vly_connectome *b)
{
    assert_memory_equal(&a->hash, &b->hash, sizeof(a->hash));
    assert_memory_equal(&a->genome_hash, &b->genome_hash, sizeof(a->hash));
    assert_string_equal(a->resolved, b->resolved);
    assert_int_equal(a->n_bursts, b->n_bursts);
    assert_int_equal(a->seed_state, b->seed_state);
    assert_int_equal(a->desc.n_synapses, b->desc.n_synapses);
    for (uint32_t i = 0; i < a->desc.n_areas; i++) {
        assert_string_equal(a->areas[i].name, b->areas[i].name);
        assert_ptr_equal(a->areas[i].model, b->areas[i].model);
        assert_int_equal(a->areas[i].q[0], b->areas[i].q[0]);
        assert_memory_equal(a->areas[i].load[0], b->areas[i].load[0],
                            a->areas[i].n_neurons * 4);
    }
    for (uint32_t p = 0; p < a->desc.n_projections; p++) {
        const vly_projection_desc *one = &a->desc.projections[p];
        const vly_projection_desc *two = &b->desc.projections[p];
        size_t n = a->projections[p].n_synapses;
        assert_string_equal(one->map, two->map);
        assert_int_equal(one->base_delay, two->base_delay);
        assert_memory_equal(one->target, two->target, n * 4);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(vly_weight_at(one, i), vly_weight_at(two, i));
        assert_int_equal(one->weight == NULL, two->weight == NULL);
        assert_int_equal(one->delay == NULL, two->delay == NULL);
        if (one->delay)
            assert_memory_equal(one->delay, two->delay, n);
    }
    for (uint32_t s = 0; s < a->n_stimuli; s++) {
        assert_string_equal(a->stimuli[s].id, b->stimuli[s].id);
        assert_int_equal(a->stimuli[s].n_inputs, b->stimuli[s].n_inputs);
    }
    assert_memory_equal(a->start.state, b->start.state,
                        a->start.n_state_words * 4);
}

static void round_trip(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    size_t n_first, n_second;
    vly_connectome *c = built(2);
    assert_ok(vly_connectome_save(c, path, &error), error);
    for (int verify = 0; verify < 2; verify++) {
        vly_connectome *loaded = NULL;
        assert_ok(vly_connectome_load(path, verify, &loaded, &error), error);
        assert_same(c, loaded);
        assert_true(loaded->n_bytes > 0);
        unsigned char *first = slurp(&n_first);
        assert_ok(vly_connectome_save(loaded, path, &error), error);
        unsigned char *second = slurp(&n_second);
        assert_int_equal(n_first, n_second);
        assert_memory_equal(first, second, n_first);
        free(first);
        free(second);
        vly_connectome_destroy(loaded);
    }
    vly_connectome_destroy(c);
}

static void assert_damaged(int verify)
{
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *c = NULL;
    assert_int_equal(vly_connectome_load(path, verify, &c, &error),
                     VLY_E_PARSE);
    assert_null(c);
    assert_ptr_equal(strstr(error.message, path), error.message);
    assert_null(strchr(error.message, '\n')); /* one sentence */
}

static void truncated(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *c = built(1);
    assert_ok(vly_connectome_save(c, path, &error), error);
    vly_connectome_destroy(c);
    size_t n;
    unsigned char *bytes = slurp(&n);
    /* every byte of the header and the table, then steps */
    spill(bytes, n);
    for (size_t k = n - 1; k > 0; k -= k > 1100 && k > n / 300 ? n / 300 : 1) {
        assert_int_equal(truncate(path, (off_t)k), 0);
        assert_damaged(0);
    }
    spill(bytes, 0);
    assert_damaged(0);
    spill(bytes, n - 1);
    assert_damaged(0);
    unsigned char *longer = calloc(n + 64, 1);
    memcpy(longer, bytes, n);
    spill(longer, n + 64);
    assert_damaged(0);
    free(longer);
    free(bytes);
    assert_int_equal(vly_connectome_load("/no/such/file", 0, &c, &error),
                     VLY_E_IO);
}

static void flipped(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *c = built(1);
    assert_ok(vly_connectome_save(c, path, &error), error);
    vly_connectome_destroy(c);
    size_t n;
    unsigned char *bytes = slurp(&n);
    for (size_t k = 0; k < n; k += k < 1100 ? 1 : 1 + n / 400) {
        bytes[k] = (unsigned char)(bytes[k] ^ 1u << (k % 8));
        spill(bytes, n);
        assert_damaged(1);
        bytes[k] = (unsigned char)(bytes[k] ^ 1u << (k % 8));
    }
    free(bytes);
}

/* Every bit of the header and of the table, without any other check asked for:
 * what they say is believed. */
static void flipped_head(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *c = built(1);
    assert_ok(vly_connectome_save(c, path, &error), error);
    vly_connectome_destroy(c);
    int file = open(path, O_RDWR);
    assert_true(file >= 0);
    for (off_t at = 0; at < VLY_FILE_HEAD_BYTES; at++) {
        unsigned char byte;
        assert_int_equal(pread(file, &byte, 1, at), 1);
        for (int bit = 0; bit < 8; bit++) {
            unsigned char wrong = (unsigned char)(byte ^ 1u << bit);
            assert_int_equal(pwrite(file, &wrong, 1, at), 1);
            if (vly_connectome_load(path, 0, &c, &error) != VLY_E_PARSE)
                fail_msg("bit %d of byte %d is believed", bit, (int)at);
        }
        assert_int_equal(pwrite(file, &byte, 1, at), 1);
    }
    close(file);
    assert_ok(vly_connectome_load(path, 1, &c, &error), error);
    vly_connectome_destroy(c);
}

/* A file whose checksums are right, but whose content is not. */
static void mend(unsigned char *bytes, size_t n_bytes)
{
    vly_file_header header;
    vly_file_section table[VLY_SECTIONS];
    memcpy(&header, bytes, sizeof(header));
    memcpy(table, bytes + sizeof(header), sizeof(table));
    for (uint32_t s = 0; s < VLY_SECTIONS; s++) {
        vly_hash blocks[64];
        size_t n = 0;
        if (table[s].offset > n_bytes ||
            table[s].bytes > n_bytes - table[s].offset)
            continue;
        for (uint64_t at = 0; at < table[s].bytes; at += VLY_FILE_BLOCK) {
            uint64_t left = table[s].bytes - at;
            blocks[n++] = vly_hash_bytes(
                (vly_hash){{0, 0}}, bytes + table[s].offset + at,
                (size_t)(left < VLY_FILE_BLOCK ? left : VLY_FILE_BLOCK));
        }
        table[s].checksum = vly_hash_bytes((vly_hash){{0, 0}}, blocks, n * 16);
    }
    header.hash = vly_content_hash(&header, table);
    header.table_checksum = vly_table_checksum(table);
    header.header_checksum = vly_header_checksum(&header);
    memcpy(bytes, &header, sizeof(header));
    memcpy(bytes + sizeof(header), table, sizeof(table));
}

/* Every word of every record set to nonsense: refused, or at least no crash
 * (a name or a number may be anything). */
static void crafted(void **state)
{
    (void)state;
    static const uint32_t nonsense[] = {0, 1, 0x7fffffff, 0xffffffff};
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *c = built(1);
    assert_ok(vly_connectome_save(c, path, &error), error);
    vly_connectome_destroy(c);
    size_t n, refused = 0, tried = 0;
    unsigned char *bytes = slurp(&n);
    unsigned char *copy = malloc(n);
    vly_file_section table[VLY_SECTIONS];
    memcpy(table, bytes + sizeof(vly_file_header), sizeof(table));
    uint64_t end =
        table[VLY_SECTION_STIMULI].offset + table[VLY_SECTION_STIMULI].bytes;
    for (uint64_t at = 16; at + 4 <= end; at += at < 1088 ? 4 : 12) {
        memcpy(copy, bytes, n);
        memcpy(copy + at, &nonsense[at / 4 % 4], 4);
        mend(copy, n);
        spill(copy, n);
        c = NULL;
        refused += vly_connectome_load(path, 1, &c, &error) != VLY_OK;
        tried++;
        vly_connectome_destroy(c);
    }
    assert_true(refused > tried / 2);
    free(copy);
    free(bytes);
}

static void assert_crafted(unsigned char *bytes, size_t n, uint64_t at,
                           const void *word, size_t size, const char *text)
{
    unsigned char kept[8];
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *c = NULL;
    memcpy(kept, bytes + at, size);
    memcpy(bytes + at, word, size);
    mend(bytes, n);
    spill(bytes, n);
    assert_int_equal(vly_connectome_load(path, 1, &c, &error), VLY_E_PARSE);
    if (!strstr(error.message, text))
        fail_msg("\"%s\" lacks \"%s\"", error.message, text);
    memcpy(bytes + at, kept, size);
    mend(bytes, n);
}

/* Indices in the arrays, each by its own sentence. */
static void crafted_arrays(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *c = built(1);
    assert_ok(vly_connectome_save(c, path, &error), error);
    vly_connectome_destroy(c);
    size_t n;
    unsigned char *bytes = slurp(&n);
    vly_file_section table[VLY_SECTIONS];
    memcpy(table, bytes + sizeof(vly_file_header), sizeof(table));
    const uint64_t row = UINT64_MAX;
    const uint32_t word = 0x7fffffff;
    const uint32_t none = UINT32_MAX;
    const uint8_t delay = 255;
    assert_crafted(bytes, n, table[VLY_SECTION_ROWS].offset + 8, &row, 8,
                   "rows do not ascend");
    assert_crafted(bytes, n, table[VLY_SECTION_TARGETS].offset + 400, &word, 4,
                   "target");
    assert_crafted(bytes, n, table[VLY_SECTION_DELAYS].offset + 40, &delay, 1,
                   "a delay is above");
    assert_crafted(bytes, n, table[VLY_SECTION_OUT_DEGREE].offset, &word, 4,
                   "out_degree of neuron 0");
    assert_crafted(bytes, n, table[VLY_SECTION_LOADS].offset, &word, 4,
                   "load of neuron 0");
    assert_crafted(bytes, n, table[VLY_SECTION_STATE].offset, &none, 4,
                   "not finite");
    assert_crafted(bytes, n, table[VLY_SECTION_COEFS].offset, &none, 4,
                   "not finite");
    assert_crafted(bytes, n, table[VLY_SECTION_INPUTS].offset + 8, &none, 4,
                   "spike list");
    assert_crafted(bytes, n, table[VLY_SECTION_THRESHOLDS].offset, &none, 4,
                   "do not ascend");
    assert_crafted(bytes, n, table[VLY_SECTION_AREAS].offset + 8, &none, 4,
                   "another table");
    free(bytes);
}

static void not_a_file(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *c = NULL;
    assert_int_equal(vly_connectome_load("/tmp", 1, &c, &error), VLY_E_PARSE);
    assert_non_null(strstr(error.message, "/tmp: not a connectome"));
    assert_int_equal(vly_connectome_load("/no/such/file", 1, &c, &error),
                     VLY_E_IO);
    assert_non_null(strstr(error.message, "/no/such/file: cannot open"));
    assert_null(c);
    c = built(1);
    assert_int_equal(vly_connectome_save(c, "/tmp", &error), VLY_E_IO);
    assert_non_null(strstr(error.message, "/tmp: not a file"));
    assert_int_equal(vly_connectome_save(c, "/no/such/file", &error), VLY_E_IO);
    assert_non_null(
        strstr(error.message, "/no/such/file: cannot be written: No"));
    vly_connectome_destroy(c);
}

/* No room while a connectome is saved over another one: that one stays. */
static void no_room(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    struct rlimit old;
    vly_connectome *c = built(1);
    assert_ok(vly_connectome_save(c, path, &error), error);
    size_t n, n_after;
    unsigned char *before = slurp(&n);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (rlim_t room = 0; room < n; room += 1 + n / 13) {
        struct rlimit small = {room, old.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        vly_status status = vly_connectome_save(c, path, &error);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        assert_int_equal(status, VLY_E_IO);
        assert_ptr_equal(strstr(error.message, path), error.message);
        assert_non_null(strstr(error.message, "cannot write: File too large"));
    }
    signal(SIGXFSZ, handler);
    unsigned char *after = slurp(&n_after);
    assert_int_equal(n, n_after);
    assert_memory_equal(before, after, n);
    free(before);
    free(after);
    vly_connectome_destroy(c);
}

/* ---- the n-th allocation fails ---------------------------------------- */

typedef struct step {
    const builder *b;
    vly_connectome *connectome; /* NULL: build it */
    bool load;
} step;

/* Build, save or load with allocation fail_at failing; 0: none */
static vly_status step_run(const step *at, uint64_t fail_at)
{
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *made = NULL;
    vly_status status;
    vly_memory_fail_at(fail_at);
    if (at->load)
        status = vly_connectome_load(path, 1, &made, &error);
    else if (at->connectome)
        status = vly_connectome_save(at->connectome, path, &error);
    else
        status = vly_connectome_build(&at->b->genome, 2, &made, &error);
    vly_memory_fail_at(0);
    if (status != VLY_OK) {
        assert_null(made);
        assert_non_null(strstr(error.message, "out of memory"));
        assert_true(error.bytes_requested > 0);
    }
    vly_connectome_destroy(made);
    return status;
}

/* A loop that gets no thread goes on with fewer, so a success is the end only
 * if it is not followed by a failure. */
static void step_all(const step *at, uint64_t least)
{
    uint64_t failed = 0;
    assert_int_equal(step_run(at, 0), VLY_OK);
    uint64_t live = vly_memory_live();
    uint32_t good = 0;
    for (uint64_t n = 1; good < 20; n++) {
        vly_status status = step_run(at, n);
        assert_int_equal(vly_memory_live(), live);
        if (status != VLY_OK)
            assert_int_equal(status, VLY_E_NOMEM);
        good = status == VLY_OK ? good + 1 : 0;
        failed += status != VLY_OK;
    }
    assert_true(failed >= least);
}

static void allocations(void **state)
{
    (void)state;
    builder b;
    builder_everything(&b);
    step at = {.b = &b};
    step_all(&at, 100);
    at.connectome = built(1);
    step_all(&at, 20);
    at.load = true;
    step_all(&at, 20);
    vly_connectome_destroy(at.connectome);
}

static void too_large(void **state)
{
    (void)state;
    builder b;
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *c = NULL;
    builder_init(&b);
    builder_area(&b, "A", "lif_psc_delta", 2000000000);
    builder_pair(&b, "m", 0, 0, VLY_RULE_ALL_TO_ALL);
    assert_int_equal(vly_connectome_build(&b.genome, 1, &c, &error),
                     VLY_E_NOMEM);
    assert_null(c);
    assert_true(error.bytes_requested > UINT64_C(1000000000000000000));
    assert_true(error.bytes_available > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_for_all_threads),
        cmocka_unit_test(round_trip),
        cmocka_unit_test(truncated),
        cmocka_unit_test(flipped),
        cmocka_unit_test(flipped_head),
        cmocka_unit_test(not_a_file),
        cmocka_unit_test(no_room),
        cmocka_unit_test(crafted),
        cmocka_unit_test(crafted_arrays),
        cmocka_unit_test(allocations),
        cmocka_unit_test(too_large),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path) ? 1 : 0;
}
