/* SPDX-License-Identifier: Apache-2.0
 * The file of a connectome that learns: saved and loaded, damaged, and crafted
 * with right checksums.
 */
#include "test_connectome_learning.h"

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "connectome/connectome_image.h"
#include "connectome_path.h"

/* ---- the file
 * ---------------------------------------------------------------- */

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

static unsigned char *saved(const char *text, size_t *n)
{
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *c = built(text);
    assert_ok(vly_connectome_save(c, path, &error), error);
    vly_connectome_destroy(c);
    return slurp(n);
}

static void same_again(const char *text)
{
    vly_error error = VLY_ERROR_INIT;
    size_t n, n_again;
    vly_connectome *c = built(text);
    assert_ok(vly_connectome_save(c, path, &error), error);
    unsigned char *bytes = slurp(&n);
    for (int verify = 0; verify < 2; verify++) {
        vly_connectome *read = NULL;
        assert_ok(vly_connectome_load(path, verify, &read, &error), error);
        assert_memory_equal(&c->hash, &read->hash, sizeof c->hash);
        assert_int_equal(c->desc.max_delay, read->desc.max_delay);
        for (uint32_t p = 0; p < c->desc.n_projections; p++) {
            const vly_learning_desc *a = c->desc.projections[p].learning;
            const vly_learning_desc *b = read->desc.projections[p].learning;
            assert_true(c->projections[p].unit == read->projections[p].unit);
            assert_int_equal(a == NULL, b == NULL);
            if (a == NULL)
                continue;
            assert_string_equal(a->rule, b->rule);
            assert_memory_equal(a->coefs, b->coefs, 4 * (size_t)a->n_coefs);
            assert_int_equal(a->flags, b->flags);
            assert_int_equal(a->most, b->most);
            assert_memory_equal(a->source, b->source, sizeof a->source);
            assert_memory_equal(a->target, b->target, sizeof a->target);
        }
        assert_int_equal(c->start.n_weight_bytes, read->start.n_weight_bytes);
        assert_memory_equal(c->start.weights, read->start.weights,
                            (size_t)c->start.n_weight_bytes);
        assert_ok(vly_connectome_save(read, path, &error), error);
        unsigned char *again = slurp(&n_again);
        assert_int_equal(n, n_again);
        assert_memory_equal(bytes, again, n);
        free(again);
        vly_connectome_destroy(read);
    }
    free(bytes);
    vly_connectome_destroy(c);
}

static void round_trip(void **state)
{
    (void)state;
    same_again(EVERYTHING);
    same_again(WINDOWS);
    same_again(RULES);
}

/* The file of a net that does not learn has no such records. */
static void static_files_are_as_they_were(void **state)
{
    (void)state;
    size_t n;
    vly_file_header header;
    unsigned char *bytes = saved(HEAD STATIC("1"), &n);
    memcpy(&header, bytes, sizeof header);
    assert_int_equal(header.learning, 0);
    assert_int_equal(header.learning_bytes, 0);
    assert_int_equal(header.learning_checksum.lane[0], 0);
    vly_file_section last;
    memcpy(&last, bytes + sizeof header + (VLY_SECTIONS - 1) * sizeof last,
           sizeof last);
    assert_true(n - (last.offset + last.bytes) < VLY_FILE_ALIGN);
    free(bytes);
}

static void assert_damaged(const char *text)
{
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *c = NULL;
    assert_int_equal(vly_connectome_load(path, 1, &c, &error), VLY_E_PARSE);
    assert_null(c);
    if (!strstr(error.message, text))
        fail_msg("\"%s\" lacks \"%s\"", error.message, text);
}

static void flipped(void **state)
{
    (void)state;
    size_t n;
    vly_file_header header;
    unsigned char *bytes = saved(EVERYTHING, &n);
    memcpy(&header, bytes, sizeof header);
    for (size_t k = (size_t)header.learning; k < n; k++) {
        bytes[k] ^= (unsigned char)(1u << (k % 8));
        spill(bytes, n);
        assert_damaged(k < header.learning + header.learning_bytes
                           ? "checksum of the projections that learn"
                           : "is not 0");
        bytes[k] ^= (unsigned char)(1u << (k % 8));
    }
    free(bytes);
}

/* Checksums of what a test has changed in the header, the records of learning
 * or one section. */
static void mend(unsigned char *bytes, uint32_t section)
{
    vly_file_header header;
    vly_file_section table[VLY_SECTIONS];
    vly_hash block;
    const vly_hash none = {{0, 0}};
    memcpy(&header, bytes, sizeof header);
    memcpy(table, bytes + sizeof header, sizeof table);
    if (section < VLY_SECTIONS) { /* of one block */
        vly_file_section *at = &table[section];
        block = vly_hash_bytes(none, bytes + at->offset, (size_t)at->bytes);
        at->checksum = vly_hash_bytes(none, &block, sizeof block);
    }
    header.learning_checksum = vly_hash_bytes(none, bytes + header.learning,
                                              (size_t)header.learning_bytes);
    header.hash = vly_content_hash(&header, table);
    header.table_checksum = vly_table_checksum(table);
    header.header_checksum = vly_header_checksum(&header);
    memcpy(bytes, &header, sizeof header);
    memcpy(bytes + sizeof header, table, sizeof table);
}

typedef struct crafted_word {
    size_t at; /* in the record */
    uint32_t word;
    const char *text;
} crafted_word;

#define RECORD(member) offsetof(vly_file_learning, member)

static void assert_crafted(const char *text, const crafted_word *words,
                           size_t n_words)
{
    size_t n;
    vly_file_header header;
    unsigned char *bytes = saved(text, &n);
    unsigned char *copy = malloc(n);
    memcpy(&header, bytes, sizeof header);
    for (size_t i = 0; i < n_words; i++) {
        memcpy(copy, bytes, n);
        memcpy(copy + header.learning + words[i].at, &words[i].word, 4);
        mend(copy, VLY_SECTIONS);
        spill(copy, n);
        assert_damaged(words[i].text);
    }
    free(copy);
    free(bytes);
}

static void crafted_records(void **state)
{
    (void)state;
    static const crafted_word words[] = {
        {RECORD(projection), 0, "learns: its projection"},
        {RECORD(projection), 99, "learns: its projection"},
        {RECORD(flags), 16, "learns: its bound or flags"},
        {RECORD(flags), VLY_LEARNING_NEGATIVE, "learns: its parameters"},
        {RECORD(rule), 0x7fffffff, "learns: its rule is not known"},
        {RECORD(rule), 0, "learns: its rule is not known"},
        {RECORD(rule_hash), 1, "learns: its rule has another table"},
        {RECORD(n_coefs), 1000000, "learns: its number of coefficients"},
        {RECORD(coefs), 0, "learns: its coefficients"},
        {RECORD(coefs), 0x7fffffc0, "learns: its coefficients"},
        {RECORD(most), 0x7fff0001, "learns: its coefficients"},
        {RECORD(most), 65536, "learns: its coefficients"},
        {RECORD(source), 0x7f800000, "learns: its traces"}, /* infinite */
        {RECORD(source), 0xbf800000, "learns: its traces"}, /* -1 */
        {RECORD(source), 0x3f800000, "learns: its traces"}, /* 1 for long */
        {RECORD(source) + 4, 0, "learns: its traces"},
        {RECORD(source) + 4, 0x7fffffff, "learns: its traces"},
        {RECORD(source) + 12, 7, "learns: its traces"}, /* x1 of stdp */
        {RECORD(target) + 4, 0x01000001, "learns: its traces"},
    };
    assert_crafted(EVERYTHING, words, sizeof words / sizeof words[0]);
}

/* A rule of windows is for FEAGI areas; it has no rates, and one window. */
static void crafted_windows(void **state)
{
    (void)state;
    static const crafted_word words[] = {
        {RECORD(flags), 0, "learns: its bound or flags"},
        {RECORD(flags), 16 | 2, "learns: its bound or flags"},
        {RECORD(flags), 16 | 4, "learns: its bound or flags"},
        {RECORD(flags), 16 | 32, "learns: its bound or flags"},
        {RECORD(flags), 16 | 1, "learns: its parameters"},
        {RECORD(most), 8 << 16, "learns: its coefficients"},
        {RECORD(source), 0x3f000000, "learns: its traces"},
        {RECORD(target), 0x3f000000, "learns: its traces"},
        {RECORD(source) + 4, 5, "learns: its traces"},
        {RECORD(target) + 4, 0, "learns: its traces"},
    };
    assert_crafted(WINDOWS, words, sizeof words / sizeof words[0]);
    /* the rule of the other record */
    size_t n;
    vly_file_header header;
    vly_file_learning records[2];
    unsigned char *bytes = saved(WINDOWS STDP("3") MAP("1"), &n);
    memcpy(&header, bytes, sizeof header);
    assert_int_equal(header.learning_bytes, sizeof records);
    memcpy(records, bytes + header.learning, sizeof records);
    for (int k = 0; k < 2; k++) {
        memcpy(bytes + header.learning + (size_t)k * sizeof records[0] +
                   RECORD(rule),
               &records[1 - k].rule, sizeof records[0].rule);
        mend(bytes, VLY_SECTIONS);
        spill(bytes, n);
        assert_damaged("learns: its rule is not for its target area");
        memcpy(bytes + header.learning, records, sizeof records);
    }
    free(bytes);
}

#define GAINS                                                                  \
    HEAD "[plasticity.s]\nrule = \"tsodyks\"\nx_start = 0.5\n[[map]]\n"        \
         "id = \"s\"\nfrom = \"E\"\nto = \"E\"\nrule = \"all_to_all\"\n"       \
         "weight_pa = 2\ndelay_ms = { uniform = [1, 5] }\n"                    \
         "plasticity = \"s\"\n"

/* Records of short-term plasticity. */
static void crafted_gains(void **state)
{
    (void)state;
    static const crafted_word words[] = {
        {RECORD(projection), 99, "its projection"},
        {RECORD(flags), 1, "its flags or traces"},
        {RECORD(rule), 0, "its rule"},
        {RECORD(rule_hash), 1, "its rule has another table"},
        {RECORD(n_coefs), 1000000, "its number of coefficients"},
        {RECORD(coefs), 0x7fffffc0, "its coefficients"},
        {RECORD(most), 0, "are not those of its parameters"},
        {RECORD(most), 0x7fffffff, "are not those of its parameters"},
        {RECORD(params), 0x7fffffc0, "its parameters"},
        {RECORD(source), 1, "its flags or traces"},
        {RECORD(target) + 12, 1, "its flags or traces"},
    };
    size_t n;
    vly_file_header header;
    vly_file_section table[VLY_SECTIONS];
    vly_file_learning record;
    unsigned char *bytes = saved(GAINS, &n);
    unsigned char *copy = malloc(n);
    memcpy(&header, bytes, sizeof header);
    memcpy(table, bytes + sizeof header, sizeof table);
    memcpy(&record, bytes + header.learning, sizeof record);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        memcpy(copy, bytes, n);
        memcpy(copy + header.learning + words[i].at, &words[i].word, 4);
        mend(copy, VLY_SECTIONS);
        spill(copy, n);
        assert_damaged("short-term plasticity of projection 0 (map s): ");
        assert_damaged(words[i].text);
    }
    for (uint32_t c = 0; c < record.n_coefs; c++) {
        memcpy(copy, bytes, n);
        copy[record.coefs + 4 * c] ^= 1;
        mend(copy, VLY_SECTION_COEFS);
        spill(copy, n);
        assert_damaged("are not those of its parameters");
    }
    /* flags that go with no other */
    for (uint32_t flags = 0; flags < 8; flags++) {
        memcpy(copy, bytes, n);
        memcpy(copy + table[VLY_SECTION_PROJECTIONS].offset +
                   offsetof(vly_file_projection, flags),
               &flags, 4);
        mend(copy, VLY_SECTION_PROJECTIONS);
        spill(copy, n);
        vly_error error = VLY_ERROR_INIT;
        vly_connectome *c = NULL;
        assert_int_equal(vly_connectome_load(path, 1, &c, &error),
                         flags == VLY_PROJECTION_SHORT_TERM ? VLY_OK
                                                            : VLY_E_PARSE);
        vly_connectome_destroy(c);
    }
    free(copy);
    free(bytes);
}

/* Any word of the records, and where they are: refused, or no crash. */
static void anywhere(const char *text)
{
    static const uint32_t nonsense[] = {0, 1, 80, 0x7fffffff, 0xffffffff};
    vly_error error = VLY_ERROR_INIT;
    size_t n, refused_n = 0, tried = 0;
    vly_file_header header;
    unsigned char *bytes = saved(text, &n);
    unsigned char *copy = malloc(n);
    memcpy(&header, bytes, sizeof header);
    uint64_t end = header.learning + header.learning_bytes;
    uint64_t at = offsetof(vly_file_header, learning);
    while (at < end) {
        for (int i = 0; i < 5; i++) {
            memcpy(copy, bytes, n);
            memcpy(copy + at, &nonsense[i], 4);
            if (at >= header.learning)
                mend(copy, VLY_SECTIONS);
            else
                memcpy(&header, bytes, sizeof header);
            spill(copy, n);
            vly_connectome *c = NULL;
            refused_n += vly_connectome_load(path, 1, &c, &error) != VLY_OK;
            tried++;
            vly_connectome_destroy(c);
        }
        at += 4;
        if (at == offsetof(vly_file_header, learning_checksum))
            at = header.learning;
    }
    assert_true(refused_n > tried / 2);
    free(copy);
    free(bytes);
}

static void crafted_anywhere(void **state)
{
    (void)state;
    anywhere(EVERYTHING);
    anywhere(GAINS);
    anywhere(RULES);
}

/* The records' place in the header, with right checksums. */
static void crafted_place(void **state)
{
    (void)state;
    static const uint64_t places[][2] = {
        {0, 240}, {0, 0},   {64, 240}, {1, 240}, {1, 80},
        {1, 160}, {1, 320}, {1, 239},  {1, 0},   {1, UINT64_MAX - 79}};
    vly_error error = VLY_ERROR_INIT;
    size_t n;
    vly_file_header header;
    unsigned char *bytes = saved(EVERYTHING, &n);
    memcpy(&header, bytes, sizeof header);
    assert_int_equal(header.learning_bytes, 240);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        vly_file_header made = header;
        vly_connectome *c = NULL;
        made.learning = places[i][0] == 1 ? header.learning : places[i][0];
        made.learning_bytes = places[i][1];
        made.header_checksum = vly_header_checksum(&made);
        memcpy(bytes, &made, sizeof made);
        spill(bytes, n);
        bool right = made.learning == header.learning &&
                     made.learning_bytes == header.learning_bytes;
        for (int verify = 0; verify < 2; verify++) {
            assert_int_equal(vly_connectome_load(path, verify, &c, &error),
                             right ? VLY_OK : VLY_E_PARSE);
            vly_connectome_destroy(c);
            c = NULL;
        }
    }
    free(bytes);
}

/* A weight of the wrong sign or above its bound, a coefficient that is not
 * finite, another bound in the coefficients. */
static void crafted_arrays(void **state)
{
    (void)state;
    size_t n;
    vly_file_header header;
    vly_file_section table[VLY_SECTIONS];
    vly_file_learning record;
    vly_file_projection projection;
    unsigned char *bytes = saved(EVERYTHING, &n);
    unsigned char *copy = malloc(n);
    memcpy(&header, bytes, sizeof header);
    memcpy(table, bytes + sizeof header, sizeof table);
    memcpy(&record, bytes + header.learning, sizeof record);
    memcpy(&projection,
           bytes + table[VLY_SECTION_PROJECTIONS].offset + sizeof projection,
           sizeof projection);
    const int16_t weights[] = {-1, 32767};
    for (int i = 0; i < 2; i++) {
        memcpy(copy, bytes, n);
        memcpy(copy + projection.weight, &weights[i], 2);
        mend(copy, VLY_SECTION_WEIGHTS);
        spill(copy, n);
        assert_damaged("a weight is not within the bound of its learning");
    }
    const uint32_t words[] = {0x7f800000, 7};
    for (uint32_t i = 0; i < 2; i++) {
        memcpy(copy, bytes, n);
        memcpy(copy + record.coefs + (i ? 4 * (record.n_coefs - 1) : 0),
               &words[i], 4);
        mend(copy, VLY_SECTION_COEFS);
        spill(copy, n);
        assert_damaged("learns: its coefficients");
    }
    /* a projection that says that it learns, and one that does not */
    for (uint32_t p = 0; p < 2; p++) {
        const uint32_t flags = p ? 0 : VLY_PROJECTION_PLASTIC;
        memcpy(copy, bytes, n);
        memcpy(copy + table[VLY_SECTION_PROJECTIONS].offset +
                   p * sizeof projection + offsetof(vly_file_projection, flags),
               &flags, 4);
        mend(copy, VLY_SECTION_PROJECTIONS);
        spill(copy, n);
        assert_damaged("learns: its projection");
    }
    free(copy);
    free(bytes);
}

#define MODEL                                                                  \
    "[neuron.n]\nparam = { tau = \"10 ms\" }\nport = { ex = \"mV\" }\n"        \
    "state = { v = \"0 mV\" }\neq = \"v' = -v/tau\"\non.ex = \"v += in\"\n"    \
    "spike = \"v >= 10 mV\"\nreset = \"v = 0 mV\"\n"                           \
    "[area.N]\nmodel = \"n\"\nneurons = 3\n"

/* A rule of a user is what its definition says: no other word, and no other
 * definition; its coefficients are finite. */
static void crafted_rules(void **state)
{
    (void)state;
    size_t n;
    vly_file_header header;
    vly_file_section table[VLY_SECTIONS];
    vly_file_learning record;
    unsigned char *bytes = saved(RULES MODEL, &n);
    unsigned char *copy = malloc(n);
    memcpy(&header, bytes, sizeof header);
    memcpy(table, bytes + sizeof header, sizeof table);
    memcpy(&record, bytes + header.learning, sizeof record);
    uint32_t n_values = 0;
    memcpy(&n_values, bytes + record.coefs + 4, 4);
    assert_int_equal(n_values, 1); /* eta; 0.1 and 1 / 2 are numbers */
    for (uint32_t i = 0; i < record.n_coefs; i++) {
        const bool value = i >= 4 && i < 4 + n_values;
        uint32_t word = 0;
        memcpy(copy, bytes, n);
        memcpy(&word, copy + record.coefs + 4 * (size_t)i, 4);
        word = value ? 0x7f800000 : word ^ 1u;
        memcpy(copy + record.coefs + 4 * (size_t)i, &word, 4);
        mend(copy, VLY_SECTION_COEFS);
        spill(copy, n);
        assert_damaged("learns: its coefficients");
    }
    const struct {
        const char *from;
        char to;
        const char *text;
    } texts[] = {
        {"[synapse.", '(', "learns: its rule is not known"},
        {"w -= 0.1*w*y", 'v', "v on the left side, wanted w"},
        {"exp(-y2)", 'f', "unknown function fxp"},
        {"0.1 weight", '7', "digest of the content is wrong"},
        /* the same rule, the same model */
        {" = {\"y\"", '\t', "the text of a plasticity rule is not the text"},
        {" = \"v' = ", '\t', "area N: the text of its model is not"},
        {"program ", 'P', "area N: the text of its model is not"}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        memcpy(copy, bytes, n);
        unsigned char *at = copy + table[VLY_SECTION_TEXT].offset;
        while (memcmp(at, texts[i].from, strlen(texts[i].from)) != 0)
            at++;
        *at = (unsigned char)texts[i].to;
        mend(copy, VLY_SECTION_TEXT);
        spill(copy, n);
        assert_damaged(texts[i].text);
    }
    free(copy);
    free(bytes);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(round_trip, make_path, remove_path),
    cmocka_unit_test_setup_teardown(static_files_are_as_they_were, make_path,
                                    remove_path),
    cmocka_unit_test_setup_teardown(flipped, make_path, remove_path),
    cmocka_unit_test_setup_teardown(crafted_records, make_path, remove_path),
    cmocka_unit_test_setup_teardown(crafted_windows, make_path, remove_path),
    cmocka_unit_test_setup_teardown(crafted_gains, make_path, remove_path),
    cmocka_unit_test_setup_teardown(crafted_anywhere, make_path, remove_path),
    cmocka_unit_test_setup_teardown(crafted_place, make_path, remove_path),
    cmocka_unit_test_setup_teardown(crafted_arrays, make_path, remove_path),
    cmocka_unit_test_setup_teardown(crafted_rules, make_path, remove_path),
};

VLY_TEST_MAIN(tests)
