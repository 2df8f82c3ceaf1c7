/* SPDX-License-Identifier: Apache-2.0
 * Frames, weights and traces of a checkpoint, with made-up content: the same
 * bytes from any number of threads, all of it back, every field of the tables
 * held against what it must be.
 */
#include "engine_fixture.h"

#include <stdlib.h>
#include <unistd.h>

#include "checkpoint/checkpoint_format.h"

static char folder[] = "/tmp/volley_frames_XXXXXX";

static const char *path_of(const char *name)
{
    static char paths[8][256];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* ---- a state of three frames, weights and traces ----------------------- */

enum { N_WEIGHTS = 4, N_TRACES = 5, N_SECTIONS = 21 };
_Static_assert((int)N_SECTIONS == (int)VLY_PARTS + N_WEIGHTS + N_TRACES, "all");

typedef struct made_up {
    vly_checkpoint checkpoint;
    vly_state state;
    vly_state_area areas[2];
    vly_checkpoint_weights weights[N_WEIGHTS];
    vly_checkpoint_trace traces[N_TRACES];
} made_up;

/* Half of it is noise, so that frames are of different sizes. */
static void *filled(uint64_t n_bytes, uint32_t seed)
{
    uint8_t *bytes = malloc((size_t)n_bytes + 1);
    assert_non_null(bytes);
    for (uint64_t i = 0; i < n_bytes; i++)
        bytes[i] = i / 300000 % 2
                       ? (uint8_t)vly_mix64(i + ((uint64_t)seed << 40))
                       : (uint8_t)(i % 7 + seed);
    return bytes;
}

/* Large: the state and weights of three frames each. */
static void make(made_up *m, bool large)
{
    const uint32_t n_0 = large ? 600000 : 6;
    const uint32_t n_1 = large ? 100000 : 4;
    const uint64_t n_words = 3 * (uint64_t)n_0 + 5 * (uint64_t)n_1;
    const uint64_t n_weights[N_WEIGHTS] = {1, large ? 2500000 : 9, 7, 0};
    static uint64_t spikes[] = {5, 6};
    static uint64_t rows[] = {0, 2, 3};
    static uint32_t fired[] = {0, 4, 1};
    static uint32_t gains[] = {16, 16, 16};
    static const vly_stored types[] = {VLY_STORED_U8, VLY_STORED_I32,
                                       VLY_STORED_F32, VLY_STORED_I16};
    static const vly_checkpoint_trace traces[N_TRACES] = {
        {.area = 0, .type = VLY_STORED_F32, .name = "x_pre"},
        {.area = 0, .type = VLY_STORED_U32, .name = "x_pre2"},
        {.area = 0, .type = VLY_STORED_U8, .name = "y"},
        {.area = 1,
         .type = VLY_STORED_I16,
         .name = "a_name_of_31_characters_1234567"},
        {.area = 1, .type = VLY_STORED_I32, .name = "x_pre"}};
    vly_error error = VLY_ERROR_INIT;
    *m =
        (made_up){.areas = {{0, n_0, 3, 1}, {n_0, n_1, 5, 0}},
                  .state = {.n_neurons = n_0 + n_1,
                            .n_areas = 2,
                            .area_spikes = spikes,
                            .connectome_digest = {{1, 2}},
                            .snapshot = {.struct_size = sizeof(vly_snapshot),
                                         .n_fired_bursts = 2,
                                         .burst = 20,
                                         .n_state_words = n_words,
                                         .n_fired = 3,
                                         .state = filled(4 * n_words, 1),
                                         .fired_row = rows,
                                         .fired = fired,
                                         .fired_gain = gains}},
                  .checkpoint = {.n_weights = N_WEIGHTS, .n_traces = N_TRACES}};
    m->checkpoint.state = &m->state;
    m->state.areas = m->areas;
    m->checkpoint.weights = m->weights;
    m->checkpoint.traces = m->traces;
    assert_ok(vly_overlay_alloc(2, 1, 0, &m->state.overlay, &error), error);
    m->state.overlay->first[1] = m->state.overlay->first[2] = 1;
    for (uint32_t k = 0; k < N_WEIGHTS; k++)
        m->weights[k] = (vly_checkpoint_weights){
            .projection = 3 * k,
            .type = types[k],
            .n = n_weights[k],
            .elements =
                filled(n_weights[k] * vly_stored_bytes(types[k]), 10 + k)};
    for (uint32_t k = 0; k < N_TRACES; k++) {
        m->traces[k] = traces[k];
        m->traces[k].n = m->areas[traces[k].area].n_neurons;
        m->traces[k].elements =
            filled(m->traces[k].n * vly_stored_bytes(traces[k].type), 20 + k);
    }
}

static void unmake(made_up *m)
{
    for (uint32_t k = 0; k < N_WEIGHTS; k++)
        free(m->weights[k].elements);
    for (uint32_t k = 0; k < N_TRACES; k++)
        free(m->traces[k].elements);
    free(m->state.snapshot.state);
    vly_overlay_destroy(m->state.overlay);
}

typedef struct bytes {
    uint8_t *data;
    size_t n;
} bytes;

static bytes read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    bytes made = {.n = (size_t)ftell(file)};
    rewind(file);
    made.data = malloc(made.n + 1);
    assert_non_null(made.data);
    assert_int_equal(fread(made.data, 1, made.n, file), made.n);
    fclose(file);
    return made;
}

static void write_file(const char *path, const uint8_t *data, size_t n)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, n, file), n);
    fclose(file);
}

static void save(const made_up *m, const char *name)
{
    vly_error error = VLY_ERROR_INIT;
    assert_ok(
        vly_checkpoint_save(&m->checkpoint, path_of(name), 1, NULL, &error),
        error);
}

static void same_bytes_from_any_threads(void **unused)
{
    made_up m;
    (void)unused;
    make(&m, true);
    vly_frames_threads(1);
    save(&m, "one");
    bytes one = read_file(path_of("one"));
    for (uint32_t n = 2; n <= 4; n++) {
        vly_frames_threads(n);
        save(&m, "more");
        bytes more = read_file(path_of("more"));
        assert_int_equal(more.n, one.n);
        assert_memory_equal(more.data, one.data, one.n);
        free(more.data);
    }
    vly_frames_threads(0);
    free(one.data);
    unmake(&m);
}

static void all_comes_back(void **unused)
{
    made_up m;
    vly_error error = VLY_ERROR_INIT;
    (void)unused;
    make(&m, true);
    save(&m, "all");
    for (uint32_t n = 1; n <= 3; n++) {
        vly_checkpoint *read = NULL;
        vly_checkpoint_about about;
        vly_frames_threads(n);
        assert_ok(vly_checkpoint_load(path_of("all"), &read, &about, &error),
                  error);
        uint64_t n_words = m.state.snapshot.n_state_words;
        assert_int_equal(read->state->snapshot.n_state_words, n_words);
        assert_memory_equal(read->state->snapshot.state, m.state.snapshot.state,
                            4 * n_words);
        assert_true(read->state->connectome_digest.lane[1] == 2);
        assert_int_equal(read->n_weights, N_WEIGHTS);
        for (uint32_t k = 0; k < N_WEIGHTS; k++) {
            assert_int_equal(read->weights[k].projection, 3 * k);
            assert_int_equal(read->weights[k].type, m.weights[k].type);
            assert_int_equal(read->weights[k].n, m.weights[k].n);
            assert_memory_equal(
                read->weights[k].elements, m.weights[k].elements,
                m.weights[k].n * vly_stored_bytes(m.weights[k].type));
        }
        assert_int_equal(read->n_traces, N_TRACES);
        for (uint32_t k = 0; k < N_TRACES; k++) {
            assert_int_equal(read->traces[k].area, m.traces[k].area);
            assert_string_equal(read->traces[k].name, m.traces[k].name);
            assert_int_equal(read->traces[k].type, m.traces[k].type);
            assert_memory_equal(read->traces[k].elements, m.traces[k].elements,
                                m.traces[k].n *
                                    vly_stored_bytes(m.traces[k].type));
        }
        const vly_checkpoint_section *last =
            &read->sections[read->n_sections - 1];
        assert_int_equal(read->n_sections, N_SECTIONS);
        assert_string_equal(last->name, "trace 1 x_pre i32");
        assert_string_equal(read->sections[VLY_PARTS + 1].name,
                            "plastic_weights 3 i32");
        assert_int_equal(read->sections[VLY_PARTS + 1].n_frames, 3);
        assert_int_equal(read->sections[VLY_PART_STATE].n_frames, 3);
        vly_checkpoint_destroy(read);
    }
    vly_frames_threads(0);
    unmake(&m);
}

/* What an engine without them would lose is not gone on with. */
static void not_run(void **unused)
{
    made_up m;
    vly_error error = VLY_ERROR_INIT;
    vly_state *state = NULL;
    (void)unused;
    make(&m, false);
    save(&m, "all");
    assert_fails(vly_state_load(path_of("all"), &state, &error),
                 VLY_E_UNSUPPORTED, &error,
                 "weights of 4 projections and 5 traces");
    assert_null(state);
    m.checkpoint.n_weights = 0;
    save(&m, "all");
    assert_fails(vly_state_load(path_of("all"), &state, &error),
                 VLY_E_UNSUPPORTED, &error, "traces");
    m.checkpoint.n_traces = 0;
    save(&m, "all");
    assert_ok(vly_state_load(path_of("all"), &state, &error), error);
    vly_state_destroy(state);
    unmake(&m);
}

/* The writer refuses data that a reader would refuse. */
static void not_written(void **unused)
{
    made_up m;
    vly_error error = VLY_ERROR_INIT;
    (void)unused;
    make(&m, false);
    const made_up good = m;
    for (int i = 0; i < 9; i++) {
        m.weights[2].projection = i == 0 ? 3 : 6; /* as the one before */
        m.weights[0].type = i == 1   ? VLY_STORED_F64
                            : i == 2 ? VLY_STORED_TYPES
                            : i == 3 ? VLY_STORED_U32
                                     : VLY_STORED_U8;
        m.traces[1] = good.traces[1];
        if (i == 4)
            strcpy(m.traces[1].name, "x_pre");
        if (i == 5)
            m.traces[1].name[0] = 'X';
        if (i == 6)
            m.traces[1].name[0] = 0;
        if (i == 7)
            m.traces[1].n--;
        m.traces[4].area = i == 8 ? 2 : 1;
        vly_status status =
            vly_checkpoint_save(&m.checkpoint, path_of("not"), 1, NULL, &error);
        if (status != VLY_E_INVALID || strstr(error.message, "section") == NULL)
            fail_msg("%d: status %d, %s", i, status, error.message);
        assert_int_not_equal(access(path_of("not"), F_OK), 0);
    }
    m = good;
    unmake(&m);
}

/* The n-th allocation fails, of saving and of loading: said, and nothing is
 * left. (The state is small: no thread that it could do without.) */
static void without_memory(void **unused)
{
    made_up m;
    vly_error error = VLY_ERROR_INIT;
    (void)unused;
    make(&m, false);
    for (int loads = 0; loads < 2; loads++) {
        uint64_t n = 1;
        for (;; n++) {
            vly_checkpoint *read = NULL;
            uint64_t live = vly_memory_live();
            vly_memory_fail_at(n);
            vly_status status =
                loads ? vly_checkpoint_load(path_of("all"), &read, NULL, &error)
                      : vly_checkpoint_save(&m.checkpoint, path_of("all"), 1,
                                            NULL, &error);
            bool came = vly_memory_fail_at(0) == 0;
            vly_checkpoint_destroy(read);
            assert_int_equal(vly_memory_live(), live);
            if (status == VLY_OK) {
                assert_false(came);
                break;
            }
            assert_int_equal(status, VLY_E_NOMEM);
            assert_null(read);
        }
        assert_in_range(n, 8, 200);
    }
    unmake(&m);
}

/* ---- every field of the tables ----------------------------------------- */

enum { N_FRAMES = 14 };
typedef struct tables {
    vly_checkpoint_header header;
    vly_checkpoint_entry entries[N_SECTIONS];
    vly_checkpoint_frame frames[N_FRAMES];
} tables;

typedef struct spoiled {
    tables good;
    tables now;
    bytes file;
} spoiled;

static void spoiled_init(spoiled *s)
{
    made_up m;
    make(&m, false);
    save(&m, "all");
    unmake(&m);
    s->file = read_file(path_of("all"));
    memcpy(&s->good, s->file.data, sizeof s->good);
    s->now = s->good;
    assert_int_equal(s->good.header.n_frames, N_FRAMES);
}

/* The sums of the tables are put right, if mend: what they say is looked at.
 * Refused as damaged, with this text. */
static void refused(spoiled *s, bool mend, const char *text, const char *what,
                    size_t k)
{
    vly_error error = VLY_ERROR_INIT;
    vly_checkpoint *checkpoint = NULL;
    vly_checkpoint_header *header = &s->now.header;
    if (mend) {
        header->table_checksum =
            vly_checkpoint_table_sum(s->now.entries, sizeof s->now.entries);
        header->frames_checksum =
            vly_checkpoint_table_sum(s->now.frames, sizeof s->now.frames);
    }
    header->header_checksum = vly_checkpoint_header_sum(header);
    memcpy(s->file.data, &s->now, sizeof s->now);
    write_file(path_of("broken"), s->file.data, s->file.n);
    s->now = s->good;
    vly_status status =
        vly_checkpoint_load(path_of("broken"), &checkpoint, NULL, &error);
    assert_null(checkpoint);
    if (status != VLY_E_PARSE ||
        strstr(error.message, "damaged checkpoint") == NULL ||
        strstr(error.message, text) == NULL)
        fail_msg("%s %d: status %d, %s (wanted: %s)", what, (int)k, status,
                 error.message, text);
}

static void every_byte_of_the_entries(void **unused)
{
    spoiled s;
    (void)unused;
    spoiled_init(&s);
    for (uint32_t i = 0; i < N_SECTIONS; i++)
        for (size_t k = 0; k < sizeof s.now.entries[i]; k++) {
            bool trace = i >= VLY_PARTS + N_WEIGHTS;
            bool plastic = i >= VLY_PARTS && !trace;
            /* another projection, or another name, may be right */
            if ((plastic &&
                 k / 4 == offsetof(vly_checkpoint_entry, index) / 4) ||
                (trace && k >= offsetof(vly_checkpoint_entry, name)))
                continue;
            ((uint8_t *)&s.now.entries[i])[k] ^= (uint8_t)(1u << k % 3);
            refused(&s, true, "", "byte of an entry", i * 100 + k);
        }
    free(s.file.data);
}

static void every_byte_of_the_frames(void **unused)
{
    spoiled s;
    (void)unused;
    spoiled_init(&s);
    for (uint32_t i = 0; i < N_FRAMES; i++)
        for (size_t k = 0; k < sizeof s.now.frames[i]; k++) {
            ((uint8_t *)&s.now.frames[i])[k] ^= (uint8_t)(1u << k % 8);
            refused(&s, true, "", "byte of a frame", i * 100 + k);
        }
    /* two that are as long as each other change places */
    vly_checkpoint_frame *frames = s.now.frames;
    bool found = false;
    for (uint32_t i = 0; i < N_FRAMES && !found; i++)
        for (uint32_t k = 0; k < i && !found; k++)
            if (frames[i].stored_bytes == frames[k].stored_bytes) {
                vly_hash kept = frames[i].checksum;
                frames[i].checksum = frames[k].checksum;
                frames[k].checksum = kept;
                found = true;
            }
    assert_true(found);
    refused(&s, true, "checksum of section", "two frames", 0);
    free(s.file.data);
}

static void fields_of_the_header(void **unused)
{
    static const struct {
        size_t at;
        size_t n;
        const char *text;
    } fields[] = {
        {offsetof(vly_checkpoint_header, file_bytes), 8, "cut or grown"},
        {offsetof(vly_checkpoint_header, n_sections), 4, "section"},
        {offsetof(vly_checkpoint_header, entry_bytes), 4, "entries of"},
        {offsetof(vly_checkpoint_header, state_digest), 8, "digest"},
        {offsetof(vly_checkpoint_header, n_neurons), 4, ""},
        {offsetof(vly_checkpoint_header, n_frames), 8, "frames"},
        {offsetof(vly_checkpoint_header, frames_checksum), 16,
         "checksum of the table of frames"},
        {offsetof(vly_checkpoint_header, table_checksum), 16,
         "checksum of the table of sections"},
        {offsetof(vly_checkpoint_header, reserved), 24, "entries of"}};
    spoiled s;
    (void)unused;
    spoiled_init(&s);
    for (size_t f = 0; f < sizeof fields / sizeof fields[0]; f++)
        for (size_t k = 0; k < fields[f].n; k++) {
            ((uint8_t *)&s.now.header)[fields[f].at + k] ^=
                (uint8_t)(1u << k % 8);
            refused(&s, false, fields[f].text, "field", f * 100 + k);
        }
    memset(s.now.header.engine, 'v', sizeof s.now.header.engine);
    refused(&s, false, "version does not end", "engine", 0);
    free(s.file.data);
}

static void names(void **unused)
{
    static const char none[VLY_TRACE_NAME_BYTES];
    static const struct {
        const char *name;
        const char *text;
    } cases[] = {{"X", "has an invalid name"},
                 {"", "has an invalid name"},
                 {"a\nb", "has an invalid name"},
                 {"a\0b", "has an invalid name"},
                 {"an_unending_name_of_32_characters", "has an invalid name"},
                 {"x_pre", "is not after the one before it"},
                 {"w", "is not after the one before it"}};
    spoiled s;
    (void)unused;
    spoiled_init(&s);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *name = s.now.entries[VLY_PARTS + N_WEIGHTS + 1].name;
        size_t n = strlen(cases[i].name);
        memcpy(name, none, sizeof none);
        memcpy(name, cases[i].name, i == 3 ? 3 : n < 32 ? n : 32);
        refused(&s, true, cases[i].text, "name", i);
    }
    s.now.entries[VLY_PARTS + 1].index = 0; /* as the one before */
    refused(&s, true, "is not after the one before it", "projection", 0);
    free(s.file.data);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(same_bytes_from_any_threads),
    cmocka_unit_test(all_comes_back),
    cmocka_unit_test(not_run),
    cmocka_unit_test(not_written),
    cmocka_unit_test(without_memory),
    cmocka_unit_test(every_byte_of_the_entries),
    cmocka_unit_test(every_byte_of_the_frames),
    cmocka_unit_test(fields_of_the_header),
    cmocka_unit_test(names),
};

int main(void)
{
    char command[300];
    if (mkdtemp(folder) == NULL)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0 || failed ? 1 : 0;
}
