/* SPDX-License-Identifier: Apache-2.0
 * Files of version 1, written by the last engine that wrote it
 * (tests/golden/format1): read, gone on with, and what is damaged refused; and
 * files that are no checkpoints.
 */
#include "engine_fixture.h"

#include <stdlib.h>
#include <unistd.h>

#include "checkpoint/checkpoint_format.h"
#include "connectome/connectome_digest.h"
#include "record/stream.h"

static char folder[] = "/tmp/volley_old_XXXXXX";

static const char *path_of(const char *name)
{
    static char paths[8][256];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
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

#define OLD VLY_TEST_SOURCE_DIR "/tests/golden/format1/"

/* Made by the engine that wrote version 1 (tests/golden/README.md). */
static void version_1_goes_on(void **unused)
{
    vly_registry *registry = NULL;
    vly_genome *genome = NULL;
    vly_connectome *connectome = NULL;
    vly_checkpoint *read = NULL;
    vly_checkpoint_about about;
    vly_state *state = NULL;
    vly_net *net = NULL;
    vly_error error = VLY_ERROR_INIT;
    uint64_t digest = 0;
    (void)unused;
    assert_ok(vly_registry_create(&registry, &error), error);
    assert_ok(vly_genome_load(OLD "format1.toml", NULL, 0, &genome, &error),
              error);
    assert_ok(vly_connectome_build(genome, 2, &connectome, &error), error);
    assert_ok(vly_checkpoint_load(OLD "format1.vlk", &read, &about, &error),
              error);
    assert_int_equal(about.version, 1);
    assert_int_equal(read->n_recordings, 1);
    assert_true(read->state->digest == UINT64_C(0x07adadb09561b63a));
    assert_int_equal(read->state->connectome_digest.lane[0], 0);
    assert_ok(vly_net_resume(connectome, registry, "cpu:2", 0, read->state,
                             &net, &error),
              error);
    assert_int_equal(vly_net_burst(net), 120);
    /* saved by this engine, and loaded: the same state with a digest */
    assert_ok(vly_net_snapshot(net, &state, &error), error);
    assert_ok(vly_state_save(state, path_of("new"), &error), error);
    vly_state_destroy(state);
    vly_net_destroy(net);
    assert_ok(vly_state_load(path_of("new"), &state, &error), error);
    vly_hash sum = vly_connectome_digest(connectome, 1);
    assert_memory_equal(&sum, &state->connectome_digest, sizeof sum);
    net = NULL;
    assert_ok(
        vly_net_resume(connectome, registry, "cpu:1", 0, state, &net, &error),
        error);
    assert_ok(vly_net_run(net, 80, &error), error);
    assert_true(vly_net_digest(net) == UINT64_C(0x97f6d0f601f3c12d));
    assert_ok(vly_net_state_digest(net, &digest, &error), error);
    assert_true(digest == UINT64_C(0x540cee052a6e3e2c));
    vly_state_destroy(state);
    vly_net_destroy(net);
    /* one of another connectome is not gone on with: by its hash */
    read->state->connectome_hash.lane[0] ^= 1;
    net = NULL;
    assert_fails(vly_net_resume(connectome, registry, "cpu:1", 0, read->state,
                                &net, &error),
                 VLY_E_INVALID, &error, "the state is of another genome");
    vly_checkpoint_destroy(read);
    vly_connectome_destroy(connectome);
    vly_genome_destroy(genome);
    vly_registry_destroy(registry);
}

/* Every cut and every bit of it is found. */
static void version_1_damaged(void **unused)
{
    vly_error error = VLY_ERROR_INIT;
    vly_checkpoint *read = NULL;
    bytes old = read_file(OLD "format1.vlk");
    (void)unused;
    for (size_t k = 0; k < 2 * old.n; k++) {
        size_t at = k % old.n;
        uint8_t kept = old.data[at];
        old.data[at] ^= (uint8_t)(1u << k % 8);
        write_file(path_of("broken"), old.data, k < old.n ? old.n : at);
        old.data[at] = kept;
        vly_status status =
            vly_checkpoint_load(path_of("broken"), &read, NULL, &error);
        if (status != VLY_E_PARSE)
            fail_msg("%d: status %d, %s", (int)k, status, error.message);
    }
    free(old.data);
}

static void no_checkpoint(void **unused)
{
    static const char *const texts[] = {"format = 1\n[run]\n", "x", "VOLLEYCN"};
    vly_error error = VLY_ERROR_INIT;
    vly_state *state = NULL;
    (void)unused;
    for (int i = 0; i < 3; i++) {
        write_file(path_of("none"), (const uint8_t *)texts[i],
                   strlen(texts[i]));
        assert_fails(vly_state_load(path_of("none"), &state, &error),
                     VLY_E_PARSE, &error, "not a checkpoint");
    }
    assert_fails(vly_state_load(path_of("nothing"), &state, &error), VLY_E_IO,
                 &error, "No such file");
    assert_fails(vly_state_load(folder, &state, &error), VLY_E_IO, &error,
                 folder);
    assert_fails(vly_state_load(NULL, &state, &error), VLY_E_INVALID, &error,
                 "NULL");
    assert_null(state);
}

/* ---- streams ----------------------------------------------------------- */

static void old_stream_is_read(void **unused)
{
    vly_stream_reader *reader = NULL;
    vly_stream_block block;
    vly_stream_tail tail;
    vly_error error = VLY_ERROR_INIT;
    bool more = true;
    (void)unused;
    assert_ok(vly_stream_reader_open(OLD "format1.csv.vls", &reader, &error),
              error);
    const vly_stream_head *head = vly_stream_reader_head(reader);
    assert_int_equal(head->n_areas, 3);
    assert_string_equal(head->areas[2].name, "F");
    assert_true(head->connectome_hash.lane[0] == UINT64_C(0x95aebd1145ab14b6));
    assert_int_equal(head->connectome_digest.lane[0], 0);
    assert_int_equal(head->connectome_digest.lane[1], 0);
    while (more)
        assert_ok(vly_stream_reader_next(reader, &block, &more, &error), error);
    vly_stream_reader_tail(reader, &tail);
    assert_int_equal(tail.state, VLY_STREAM_WHOLE);
    assert_int_equal(tail.n_bursts, 120);
    assert_int_equal(tail.n_spikes, 488);
    vly_stream_reader_close(reader);
}

/* Every bit of its head and every cut in it is found. */
static void old_stream_damaged(void **unused)
{
    vly_error error = VLY_ERROR_INIT;
    vly_stream_reader *reader = NULL;
    bytes old = read_file(OLD "format1.csv.vls");
    uint64_t n_head = 0;
    (void)unused;
    memcpy(&n_head, old.data + 16, sizeof n_head);
    assert_in_range(n_head, 120, 1000);
    for (size_t k = 0; k < 2 * n_head; k++) {
        size_t at = k % n_head;
        uint8_t kept = old.data[at];
        old.data[at] ^= (uint8_t)(1u << k % 8);
        write_file(path_of("broken"), old.data, k < n_head ? old.n : at);
        old.data[at] = kept;
        vly_status status =
            vly_stream_reader_open(path_of("broken"), &reader, &error);
        if (status != VLY_E_PARSE)
            fail_msg("%d: status %d, %s", (int)k, status, error.message);
    }
    free(old.data);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(version_1_goes_on),  cmocka_unit_test(version_1_damaged),
    cmocka_unit_test(no_checkpoint),      cmocka_unit_test(old_stream_is_read),
    cmocka_unit_test(old_stream_damaged),
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
