/* SPDX-License-Identifier: Apache-2.0
 * Streams: read back, cut at every byte, with every bit flipped, gone on with
 * at every block.
 */
#include "volley_test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/writer.h"
#include "record/stream.h"

enum { N_BURSTS = 12, N_BLOCKS_MAX = 64, BYTES_MAX = 4096, WORDS_MAX = 4096 };

static char folder[] = "/tmp/volley_stream_XXXXXX";

static const char *path_of(const char *name)
{
    static char paths[8][256];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static size_t read_all(const char *path, unsigned char *bytes)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(bytes, 1, BYTES_MAX, file);
    assert_true(n < BYTES_MAX);
    fclose(file);
    return n;
}

static void write_all(const char *path, const unsigned char *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    fclose(file);
}

/* A is recorded, B is not, C is and has ids that need several bytes. */
static const vly_spike_area areas[] = {
    {"A", 0, 3, true}, {"B", 3, 300, false}, {"C", 303, 70000, true}};
static const uint32_t listed[] = {1, 299};
static const vly_stream_report reports[] = {
    {1, 0, VLY_TYPE_F32, 3, NULL, "v_mv", "mV", 2, false},
    {2, 1, VLY_TYPE_U32, 2, listed, "refractory", "", 3, false}};
static const vly_stream_head head = {.genome_hash = {{1, 2}},
                                     .connectome_hash = {{3, UINT64_MAX}},
                                     .connectome_digest = {{4, 5}},
                                     .dt_ms = 0.1,
                                     .first_burst = 5,
                                     .areas = areas,
                                     .n_areas = 3,
                                     .n_reports = 2,
                                     .reports = reports,
                                     .purpose = 2};

/* What burst t holds; every third one nothing that is recorded. */
static uint32_t ids_of(uint64_t t, uint32_t ids[8])
{
    uint32_t n = 0;
    if (t % 3 != 0)
        ids[n++] = (uint32_t)(t % 3);
    ids[n++] = 3 + (uint32_t)t;
    if (t % 3 != 0) {
        ids[n++] = 303;
        ids[n++] = 304 + 5000 * (uint32_t)(t % 13);
        ids[n++] = 70302;
    }
    return n;
}

static void add_burst(vly_stream *stream, uint64_t t)
{
    uint32_t ids[8];
    vly_error error = VLY_ERROR_INIT;
    const uint32_t words[] = {(uint32_t)t, 0x7fffffffu, 0xff800000u};
    assert_ok(vly_stream_spikes(stream, t, ids, ids_of(t, ids), &error), error);
    for (uint32_t r = 0; r < 2; r++)
        if ((t + 1) % reports[r].interval == 0)
            assert_ok(vly_stream_frame(stream, t + 1, r, words, &error), error);
}

/* Everything that a reader hands out, as words. */
typedef struct told {
    uint32_t n;
    uint32_t n_blocks;
    uint32_t words[WORDS_MAX];
    uint32_t n_after[N_BLOCKS_MAX]; /* words, up to this block */
    uint64_t end[N_BLOCKS_MAX];     /* bytes, up to this block */
    vly_stream_tail tail;
} told;

static vly_status read_stream(const char *path, told *to, vly_error *error)
{
    vly_stream_reader *reader = NULL;
    vly_stream_block block;
    bool more = true;
    to->n = 0;
    to->n_blocks = 0;
    vly_status status = vly_stream_reader_open(path, &reader, error);
    if (status != VLY_OK)
        return status;
    while (status == VLY_OK && more) {
        status = vly_stream_reader_next(reader, &block, &more, error);
        if (status != VLY_OK || !more)
            continue;
        assert_in_range(to->n_blocks, 0, N_BLOCKS_MAX - 1);
        assert_in_range(to->n + block.n + 4, 0, WORDS_MAX);
        to->words[to->n++] = (uint32_t)block.kind;
        to->words[to->n++] = (uint32_t)block.burst;
        to->words[to->n++] = block.report;
        for (uint32_t i = 0; i < block.n; i++)
            to->words[to->n++] = block.data[i];
        vly_stream_reader_tail(reader, &to->tail);
        to->n_after[to->n_blocks] = to->n;
        to->end[to->n_blocks++] = to->tail.n_bytes;
    }
    vly_stream_reader_tail(reader, &to->tail);
    vly_stream_reader_close(reader);
    return status;
}

/* Places of the stream behind each burst go to places, NULL: not wanted. */
static size_t make_stream(const char *path, unsigned char *bytes,
                          vly_spike_place *places)
{
    vly_error error = VLY_ERROR_INIT;
    vly_stream *stream = NULL;
    assert_ok(vly_stream_open(path, &head, &stream, &error), error);
    for (uint64_t t = 5; t < 5 + N_BURSTS; t++) {
        add_burst(stream, t);
        if (places != NULL)
            assert_ok(vly_stream_flush(stream, &places[t - 5], &error), error);
    }
    assert_ok(vly_stream_end(stream, 5 + N_BURSTS, &error), error);
    assert_ok(vly_stream_close(stream, &error), error);
    return read_all(path, bytes);
}

/* The reader's result for the head. */
static void check_head(const char *path)
{
    vly_error error = VLY_ERROR_INIT;
    vly_stream_reader *reader = NULL;
    assert_ok(vly_stream_reader_open(path, &reader, &error), error);
    const vly_stream_head *theirs = vly_stream_reader_head(reader);
    assert_int_equal(theirs->n_areas, 3);
    assert_string_equal(theirs->areas[2].name, "C");
    assert_int_equal(theirs->areas[2].first, 303);
    assert_false(theirs->areas[1].recorded);
    assert_int_equal(theirs->first_burst, 5);
    assert_int_equal(theirs->purpose, 2);
    assert_true(theirs->dt_ms > 0.0999 && theirs->dt_ms < 0.1001);
    assert_int_equal(theirs->connectome_hash.lane[1], UINT64_MAX);
    assert_int_equal(theirs->connectome_digest.lane[1], 5);
    assert_string_equal(theirs->reports[0].field, "v_mv");
    assert_string_equal(theirs->reports[0].unit, "mV");
    assert_null(theirs->reports[0].neurons);
    assert_int_equal(theirs->reports[1].neurons[1], 299);
    assert_int_equal(theirs->reports[1].interval, 3);
    vly_stream_reader_close(reader);
}

static void reads_back(void **state)
{
    static unsigned char bytes[BYTES_MAX];
    static told found;
    vly_error error = VLY_ERROR_INIT;
    const char *path = path_of("x.vls");
    uint32_t wanted[WORDS_MAX];
    uint32_t n = 0;
    uint32_t n_frames = 0;
    uint32_t n_spikes = 0;
    (void)state;
    size_t n_bytes = make_stream(path, bytes, NULL);
    for (uint32_t t = 5; t < 5 + N_BURSTS; t++) {
        uint32_t ids[8];
        uint32_t n_ids = ids_of(t, ids);
        const uint32_t words[] = {t, 0x7fffffffu, 0xff800000u};
        if (t % 3 != 0) {
            const uint32_t block[] = {VLY_STREAM_SPIKES, t, 0};
            memcpy(wanted + n, block, sizeof block);
            n += 3;
            for (uint32_t i = 0; i < n_ids; i++)
                if (ids[i] < 3 || ids[i] >= 303)
                    wanted[n++] = ids[i];
            n_spikes += n_ids - 1;
        }
        for (uint32_t r = 0; r < 2; r++) {
            if ((t + 1) % reports[r].interval != 0)
                continue;
            const uint32_t block[] = {VLY_STREAM_FRAME, t + 1, r};
            memcpy(wanted + n, block, sizeof block);
            memcpy(wanted + n + 3, words, reports[r].n_neurons * 4);
            n += 3 + reports[r].n_neurons;
            n_frames++;
        }
    }
    const uint32_t end[] = {VLY_STREAM_END, 5 + N_BURSTS, 0};
    memcpy(wanted + n, end, sizeof end);
    n += 3;
    assert_ok(read_stream(path, &found, &error), error);
    assert_int_equal(found.n, n);
    assert_memory_equal(found.words, wanted, n * sizeof *wanted);
    assert_int_equal(found.tail.state, VLY_STREAM_WHOLE);
    assert_int_equal(found.tail.n_bytes, n_bytes);
    assert_int_equal(found.tail.n_left, 0);
    assert_int_equal(found.tail.n_spikes, n_spikes);
    assert_int_equal(found.tail.n_frames, n_frames);
    assert_int_equal(found.tail.n_bursts, 5 + N_BURSTS);
    check_head(path);
}

/* Whatever was lost, what is handed out is what was written, from the start. */
static void is_prefix(const told *part, const told *whole)
{
    assert_in_range(part->n_blocks, 0, whole->n_blocks);
    assert_in_range(part->n, 0, whole->n);
    assert_memory_equal(part->words, whole->words,
                        part->n * sizeof *part->words);
}

static void cut_anywhere(void **state)
{
    static unsigned char bytes[BYTES_MAX];
    static told whole;
    static told part;
    vly_error error = VLY_ERROR_INIT;
    size_t n = make_stream(path_of("x.vls"), bytes, NULL);
    const char *path = path_of("cut.vls");
    (void)state;
    assert_ok(read_stream(path_of("x.vls"), &whole, &error), error);
    uint64_t head_end = whole.end[0];
    for (uint32_t b = 0; b < whole.n_blocks; b++)
        head_end = whole.end[b] < head_end ? whole.end[b] : head_end;
    for (size_t cut = 0; cut < n; cut++) {
        write_all(path, bytes, cut);
        vly_status status = read_stream(path, &part, &error);
        if (status != VLY_OK) {
            /* only in the head, which ends before the first block does */
            assert_int_equal(status, VLY_E_PARSE);
            assert_true(cut < head_end);
            assert_non_null(strstr(error.message, path));
            continue;
        }
        uint32_t n_blocks = 0;
        while (whole.end[n_blocks] <= cut)
            n_blocks++;
        is_prefix(&part, &whole);
        assert_int_equal(part.n_blocks, n_blocks);
        assert_int_equal(part.tail.n_bytes + part.tail.n_left, cut);
        assert_int_equal(part.tail.state, part.tail.n_left == 0
                                              ? VLY_STREAM_OPEN
                                              : VLY_STREAM_CUT);
    }
}

static void flipped_bits(void **state)
{
    static unsigned char bytes[BYTES_MAX];
    static told whole;
    static told part;
    vly_error error = VLY_ERROR_INIT;
    size_t n = make_stream(path_of("x.vls"), bytes, NULL);
    const char *path = path_of("flipped.vls");
    uint32_t refused = 0;
    (void)state;
    assert_ok(read_stream(path_of("x.vls"), &whole, &error), error);
    for (size_t i = 0; i < n * 8; i++) {
        bytes[i / 8] ^= (unsigned char)(1u << i % 8);
        write_all(path, bytes, n);
        bytes[i / 8] ^= (unsigned char)(1u << i % 8);
        vly_status status = read_stream(path, &part, &error);
        if (status != VLY_OK) {
            assert_int_equal(status, VLY_E_PARSE);
            refused++;
            continue;
        }
        uint32_t n_blocks = 0;
        while (whole.end[n_blocks] <= i / 8)
            n_blocks++;
        is_prefix(&part, &whole);
        assert_int_equal(part.n_blocks, n_blocks);
        assert_true(part.tail.state == VLY_STREAM_DAMAGED ||
                    part.tail.state == VLY_STREAM_CUT);
        assert_true(part.tail.n_left > 0);
    }
    assert_in_range(refused, 104 * 8, n * 8 - 1);
}

/* A whole block at another place; bytes after the end. */
static void moved_blocks(void **state)
{
    static unsigned char bytes[BYTES_MAX];
    static unsigned char other[BYTES_MAX];
    static told whole;
    static told part;
    vly_error error = VLY_ERROR_INIT;
    size_t n = make_stream(path_of("x.vls"), bytes, NULL);
    const char *path = path_of("moved.vls");
    (void)state;
    assert_ok(read_stream(path_of("x.vls"), &whole, &error), error);
    assert_true(whole.n_blocks > 8);
    for (uint32_t b = 1; b + 1 < whole.n_blocks; b++) {
        size_t from = (size_t)whole.end[b - 1];
        size_t to = (size_t)whole.end[b];
        memcpy(other, bytes, from); /* without block b */
        memcpy(other + from, bytes + to, n - to);
        write_all(path, other, n - (to - from));
        assert_ok(read_stream(path, &part, &error), error);
        is_prefix(&part, &whole);
        assert_int_equal(part.n_blocks, b);
        assert_int_equal(part.tail.state, VLY_STREAM_DAMAGED);
        memcpy(other, bytes, to); /* with block b twice */
        memcpy(other + to, bytes + from, n - from);
        write_all(path, other, n + (to - from));
        assert_ok(read_stream(path, &part, &error), error);
        is_prefix(&part, &whole);
        assert_int_equal(part.n_blocks, b + 1);
        assert_int_equal(part.tail.state, VLY_STREAM_DAMAGED);
    }
    memcpy(other, bytes, n);
    other[n] = 0;
    write_all(path, other, n + 1);
    assert_ok(read_stream(path, &part, &error), error);
    assert_int_equal(part.n_blocks, whole.n_blocks);
    assert_int_equal(part.tail.state, VLY_STREAM_DAMAGED);
    assert_int_equal(part.tail.n_left, 1);
}

/* From the place of any burst the same file to the byte, resumed or rewound. */
static void goes_on(void **state)
{
    static unsigned char whole[BYTES_MAX];
    static unsigned char part[BYTES_MAX];
    vly_spike_place places[N_BURSTS];
    vly_error error = VLY_ERROR_INIT;
    vly_stream *stream = NULL;
    const char *path = path_of("x.vls");
    size_t n = make_stream(path, whole, places);
    (void)state;
    for (uint64_t k = 0; k < N_BURSTS; k++) {
        size_t place = (size_t)places[k].n_bytes;
        for (int way = 0; way < 3; way++) {
            if (way < 2) { /* cut at its place, or not at all */
                write_all(path, whole, way == 0 ? place : n);
                assert_ok(
                    vly_stream_resume(path, &head, &places[k], &stream, &error),
                    error);
            } else {
                assert_ok(vly_stream_open(path, &head, &stream, &error), error);
                for (uint64_t t = 5; t < 5 + N_BURSTS; t++)
                    add_burst(stream, t);
                assert_ok(vly_stream_rewind(stream, &places[k], &error), error);
            }
            assert_int_equal(vly_stream_count(stream), places[k].n_spikes);
            for (uint64_t t = 6 + k; t < 5 + N_BURSTS; t++)
                add_burst(stream, t);
            assert_ok(vly_stream_end(stream, 5 + N_BURSTS, &error), error);
            assert_ok(vly_stream_close(stream, &error), error);
            assert_int_equal(read_all(path, part), n);
            assert_memory_equal(part, whole, n);
        }
        write_all(path, whole, place - 1);
        assert_int_equal(
            vly_stream_resume(path, &head, &places[k], &stream, &error),
            VLY_E_PARSE);
        assert_int_equal(read_all(path, part), place - 1);
        if (k == 0)
            continue;
        /* a bit of an earlier block is another one: refused, not touched */
        size_t bit = (size_t)(places[k - 1].n_bytes + places[k].n_bytes) / 2;
        whole[bit] ^= 4;
        write_all(path, whole, n);
        assert_int_equal(vly_stream_resume(path, &head, &places[N_BURSTS - 1],
                                           &stream, &error),
                         VLY_E_PARSE);
        assert_non_null(strstr(error.message, "damaged at byte"));
        assert_int_equal(read_all(path, part), n);
        assert_memory_equal(part, whole, n);
        whole[bit] ^= 4;
    }
    /* of another network, of another [[record]]: refused and not touched */
    vly_stream_head other = head;
    write_all(path, whole, n);
    other.genome_hash.lane[0]++;
    assert_int_equal(
        vly_stream_resume(path, &other, &places[3], &stream, &error),
        VLY_E_PARSE);
    assert_non_null(strstr(error.message, "not the stream of this network"));
    other = head;
    other.connectome_digest.lane[1]++;
    assert_int_equal(
        vly_stream_resume(path, &other, &places[3], &stream, &error),
        VLY_E_PARSE);
    assert_non_null(strstr(error.message, "not the stream of this network"));
    other = head;
    other.n_reports = 1;
    assert_int_equal(
        vly_stream_resume(path, &other, &places[3], &stream, &error),
        VLY_E_PARSE);
    assert_int_equal(read_all(path, part), n);
}

static void locked(void **state)
{
    vly_error error = VLY_ERROR_INIT;
    vly_stream *stream = NULL;
    vly_stream *other = NULL;
    vly_stream_reader *reader = NULL;
    const char *path = path_of("locked.vls");
    vly_spike_place place = {0};
    struct stat info;
    (void)state;
    assert_ok(vly_stream_open(path, &head, &stream, &error), error);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, 0); /* nothing is written yet */
    assert_ok(vly_stream_flush(stream, &place, &error), error);
    assert_int_equal(vly_stream_reader_open(path, &reader, &error), VLY_E_IO);
    assert_non_null(strstr(error.message, "is being written"));
    assert_int_equal(vly_stream_open(path, &head, &other, &error), VLY_E_IO);
    assert_non_null(strstr(error.message, "another process writes it"));
    assert_int_equal(stat(path, &info), 0);
    assert_true(info.st_size > 0);
    assert_ok(vly_stream_close(stream, &error), error);
    assert_ok(vly_stream_reader_open(path, &reader, &error), error);
    vly_stream_reader_close(reader);
}

/* A mean is one word a frame; such a stream is of version 3, which an older
 * program refuses instead of taking the word for that of neuron 0. */
static void means(void **state)
{
    vly_error error = VLY_ERROR_INIT;
    vly_stream *stream = NULL;
    vly_stream_reader *reader = NULL;
    const char *path = path_of("means.vls");
    vly_stream_report with[2] = {reports[0], reports[1]};
    vly_stream_head other = head;
    vly_stream_block block;
    unsigned char bytes[4096];
    const uint32_t words[] = {7, 8, 9};
    bool more = false;
    (void)state;
    other.reports = with;
    with[1].mean = true;
    assert_ok(vly_stream_open(path, &other, &stream, &error), error);
    assert_ok(vly_stream_frame(stream, 3, 1, words, &error), error);
    assert_ok(vly_stream_frame(stream, 4, 0, words, &error), error);
    assert_ok(vly_stream_close(stream, &error), error);
    assert_ok(vly_stream_reader_open(path, &reader, &error), error);
    const vly_stream_report *theirs = vly_stream_reader_head(reader)->reports;
    assert_false(theirs[0].mean);
    assert_true(theirs[1].mean);
    assert_int_equal(theirs[1].neurons[1], 299);
    assert_ok(vly_stream_reader_next(reader, &block, &more, &error), error);
    assert_int_equal(block.report, 1);
    assert_int_equal(block.n, 1);
    assert_int_equal(block.data[0], 7);
    assert_ok(vly_stream_reader_next(reader, &block, &more, &error), error);
    assert_int_equal(block.report, 0);
    assert_int_equal(block.n, 3);
    vly_stream_reader_close(reader);
    assert_true(read_all(path, bytes) > 0);
    assert_int_equal(bytes[8], 3); /* version */
    assert_ok(vly_stream_open(path, &head, &stream, &error), error);
    assert_ok(vly_stream_close(stream, &error), error);
    assert_true(read_all(path, bytes) > 0);
    assert_int_equal(bytes[8], 2);
}

static void bad_input(void **state)
{
    vly_error error = VLY_ERROR_INIT;
    vly_stream *stream = NULL;
    vly_stream_reader *reader = NULL;
    const uint32_t outside[] = {0, 70303};
    (void)state;
    assert_int_equal(
        vly_stream_open("/no/such/folder/x", &head, &stream, &error), VLY_E_IO);
    assert_non_null(strstr(error.message, "/no/such/folder/x: cannot be"));
    assert_ok(vly_stream_open(path_of("y"), &head, &stream, &error), error);
    assert_int_equal(vly_stream_spikes(stream, 5, outside, 2, &error),
                     VLY_E_INVALID);
    assert_non_null(strstr(error.message, "neuron 70303"));
    assert_int_equal(vly_stream_count(stream), 0);
    assert_ok(vly_stream_close(stream, &error), error);
    assert_int_equal(vly_stream_reader_open(folder, &reader, &error), VLY_E_IO);
    assert_int_equal(vly_stream_reader_open("/no/such", &reader, &error),
                     VLY_E_IO);
    assert_ok(vly_writer_save(path_of("z"), "burst,time", 10, &error), error);
    assert_int_equal(vly_stream_reader_open(path_of("z"), &reader, &error),
                     VLY_E_PARSE);
    assert_non_null(strstr(error.message, "not a stream"));
    if (access("/dev/full", W_OK) != 0)
        return;
    vly_spike_place place = {0};
    assert_ok(vly_stream_open("/dev/full", &head, &stream, &error), error);
    assert_int_equal(vly_stream_flush(stream, &place, &error), VLY_E_IO);
    assert_non_null(strstr(error.message, "No space"));
    vly_stream_cancel(stream);
    assert_ok(vly_stream_close(stream, &error), error);
}

static vly_status write_one(vly_error *error)
{
    vly_stream *stream = NULL;
    const uint32_t ids[] = {1, 400};
    const uint32_t words[3] = {0};
    vly_status status = VLY_OK;
    VLY_TRY(vly_stream_open(path_of("x"), &head, &stream, error));
    VLY_TRY(vly_stream_spikes(stream, 6, ids, 2, error));
    VLY_TRY(vly_stream_frame(stream, 7, 0, words, error));
    VLY_TRY(vly_stream_end(stream, 8, error));
    status = vly_stream_close(stream, error);
    stream = NULL;
out:
    vly_stream_close(stream, NULL);
    return status;
}

static vly_status resume_one(vly_error *error)
{
    vly_stream *stream = NULL;
    vly_stream *made = NULL;
    vly_spike_place place = {0};
    vly_error own = VLY_ERROR_INIT;
    uint64_t n = vly_memory_fail_at(0);
    assert_ok(vly_stream_open(path_of("y"), &head, &made, &own), own);
    assert_ok(vly_stream_flush(made, &place, &own), own);
    assert_ok(vly_stream_close(made, &own), own);
    vly_memory_fail_at(n);
    vly_status status =
        vly_stream_resume(path_of("y"), &head, &place, &stream, error);
    vly_stream_close(stream, NULL);
    return status;
}

static vly_status read_one(vly_error *error)
{
    static told found;
    return read_stream(path_of("kept.vls"), &found, error);
}

static void no_memory(void **state)
{
    static unsigned char bytes[BYTES_MAX];
    static vly_status (*const steps[])(vly_error * error) = {
        write_one, resume_one, read_one};
    (void)state;
    make_stream(path_of("kept.vls"), bytes, NULL);
    uint64_t live = vly_memory_live();
    for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++) {
        uint64_t left = 0;
        uint64_t n = 1;
        for (; left == 0; n++) {
            vly_error error = VLY_ERROR_INIT;
            vly_memory_fail_at(n);
            vly_status status = steps[k](&error);
            left = vly_memory_fail_at(0);
            assert_int_equal(status, left == 0 ? VLY_E_NOMEM : VLY_OK);
            assert_int_equal(vly_memory_live(), live);
        }
        assert_true(n > 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_back),   cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(flipped_bits), cmocka_unit_test(moved_blocks),
        cmocka_unit_test(goes_on),      cmocka_unit_test(locked),
        cmocka_unit_test(means),        cmocka_unit_test(bad_input),
        cmocka_unit_test(no_memory),
    };
    char command[300];
    if (mkdtemp(folder) == NULL)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0)
        return 1;
    return failed ? 1 : 0;
}
