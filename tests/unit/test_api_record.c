/* SPDX-License-Identifier: Apache-2.0
 * The public recorder, its reader and the watch: arguments, areas that are left
 * out, failures while a run goes on, streams that are cut, readers that are
 * late. record_program.sh compares the files with those of the command.
 */
#include "engine_fixture.h"

#include <stdio.h>
#include <unistd.h>

#include <volley/record.h>
#include <volley/watch.h>

#define STREAM VLY_TEST_BINARY_DIR "/api_record.vls"
#define CSV VLY_TEST_BINARY_DIR "/api_record.csv"

static vly_net *net_of(fixture *f)
{
    vly_net *net = NULL;
    fixture_init(f, genome_three);
    assert_ok(
        vly_net_create(f->connectome, f->registry, "cpu:1", 1, &net, &f->error),
        f->error);
    return net;
}

/* Spikes: A 10, B 25, A 31, B 46, C 61. */
static void record_three(const vly_recorder_options *options, uint64_t bursts,
                         uint64_t n_spikes)
{
    fixture f;
    vly_recorder *recorder = NULL;
    vly_net *net = net_of(&f);
    assert_ok(vly_recorder_open(net, options, &recorder, &f.error), f.error);
    vly_net_on_spikes(net, vly_recorder_burst, recorder);
    assert_ok(vly_net_run(net, bursts, &f.error), f.error);
    assert_ok(vly_recorder_flush(recorder, &f.error), f.error);
    assert_true(vly_recorder_count(recorder) == n_spikes);
    assert_ok(vly_recorder_close(recorder, &f.error), f.error);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static void areas_that_are_left_out(void **state)
{
    static const char *const names[] = {"C", "A"};
    const vly_recorder_options options = {.struct_size = sizeof options,
                                          .n_areas = 2,
                                          .areas = names,
                                          .spikes = STREAM};
    static const uint64_t bursts[] = {10, 31, 61};
    static const uint32_t neurons[] = {0, 0, 2};
    vly_error error = VLY_ERROR_INIT;
    vly_spike_reader *reader = NULL;
    vly_recording_info info = {.struct_size = sizeof info};
    vly_recording_area area = {.struct_size = sizeof area};
    uint64_t burst = 0;
    const uint32_t *ids = NULL;
    uint32_t n = 0;
    (void)state;
    record_three(&options, 100, 3);
    assert_ok(vly_spike_reader_open(STREAM, &reader, &error), error);
    assert_int_equal(vly_spike_reader_info(reader, &info), VLY_OK);
    assert_int_equal(info.n_areas, 3);
    assert_true(info.dt_ms == 0.1 && info.first_burst == 0);
    assert_true(info.genome_hash[0] != 0 && info.connectome_hash[0] != 0);
    for (uint32_t a = 0; a < 3; a++) {
        assert_int_equal(vly_spike_reader_area(reader, a, &area), VLY_OK);
        assert_int_equal(area.recorded, a != 1);
        assert_int_equal(area.first, a);
        assert_int_equal(area.n_neurons, 1);
        assert_true(area.name[0] == "ABC"[a]);
    }
    assert_int_equal(vly_spike_reader_area(reader, 3, &area), VLY_E_INVALID);
    info = (vly_recording_info){.struct_size =
                                    offsetof(vly_recording_info, dt_ms)};
    assert_int_equal(vly_spike_reader_info(reader, &info), VLY_OK);
    assert_int_equal(info.n_areas, 3);
    assert_true(info.dt_ms == 0); /* after the end of a shorter struct */
    info.struct_size = 0;
    assert_int_equal(vly_spike_reader_info(reader, &info), VLY_E_INVALID);
    for (int i = 0; i < 3; i++) {
        assert_ok(vly_spike_reader_next(reader, &burst, &ids, &n, &error),
                  error);
        assert_int_equal(n, 1);
        assert_int_equal(burst, bursts[i]);
        assert_int_equal(ids[0], neurons[i]);
    }
    assert_ok(vly_spike_reader_next(reader, &burst, &ids, &n, &error), error);
    assert_int_equal(n, 0);
    assert_int_equal(burst, 100);
    vly_spike_reader_close(reader);
    unlink(STREAM);
}

static void refused(void **state)
{
    static const char *const names[] = {"D"};
    static const struct {
        vly_recorder_options options;
        const char *message;
    } cases[] = {
        {{.struct_size = sizeof cases[0].options}, "no file is named"},
        {{.struct_size = 8, .spikes = STREAM}, "struct_size is too small"},
        {{.struct_size = sizeof cases[0].options,
          .n_areas = 1,
          .areas = names,
          .spikes = STREAM},
         "the net has no area D"},
        {{.struct_size = sizeof cases[0].options, .spikes = "x.h5"},
         "x.h5: SONATA is made of a whole recording"},
    };
    fixture f;
    vly_recorder *recorder = NULL;
    vly_net *net = net_of(&f);
    const vly_recorder_options late = {
        .struct_size = sizeof late, .spikes = CSV, .digests = "log"};
    const vly_recorder_options nowhere = {.struct_size = sizeof nowhere,
                                          .spikes = "/nowhere/a.csv"};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const uint64_t live = vly_memory_live();
        assert_int_equal(
            vly_recorder_open(net, &cases[i].options, &recorder, &f.error),
            VLY_E_INVALID);
        assert_non_null(strstr(f.error.message, cases[i].message));
        assert_int_equal(vly_memory_live(), live);
    }
    assert_int_equal(vly_recorder_open(net, &nowhere, &recorder, &f.error),
                     VLY_E_IO);
    /* a log has all bursts; the CSV that was opened before it is not left */
    assert_ok(vly_net_run(net, 1, &f.error), f.error);
    assert_int_equal(vly_recorder_open(net, &late, &recorder, &f.error),
                     VLY_E_INVALID);
    assert_non_null(strstr(f.error.message, "wanted a net at burst 0"));
    assert_true(access(CSV, F_OK) != 0);
    assert_null(recorder);
    assert_ok(vly_recorder_close(NULL, &f.error), f.error);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* A file that cannot be written ends the run; close has the sentence. */
static void a_full_disk(void **state)
{
    const vly_recorder_options options = {.struct_size = sizeof options,
                                          .spikes = "/dev/full"};
    fixture f;
    vly_error closing = VLY_ERROR_INIT;
    vly_recorder *recorder = NULL;
    vly_net *net = net_of(&f);
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    assert_ok(vly_recorder_open(net, &options, &recorder, &f.error), f.error);
    vly_net_on_spikes(net, vly_recorder_burst, recorder);
    (void)vly_net_run(net, 100, &f.error);
    assert_int_equal(vly_recorder_flush(recorder, &f.error), VLY_E_IO);
    assert_int_equal(vly_recorder_burst(recorder, 100, NULL, 0, 0), VLY_E_IO);
    assert_int_equal(vly_recorder_close(recorder, &closing), VLY_E_IO);
    assert_string_equal(closing.message, f.error.message);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* Spikes before the cut are returned, then one sentence; no file is made. */
static void cut_streams(void **state)
{
    const vly_recorder_options options = {.struct_size = sizeof options,
                                          .spikes = STREAM};
    vly_error error = VLY_ERROR_INIT;
    vly_spike_reader *reader = NULL;
    uint64_t burst = 0, n_spikes = 77;
    const uint32_t *ids = NULL;
    uint32_t n = 0, n_read = 0;
    (void)state;
    record_three(&options, 100, 5);
    assert_ok(vly_recording_convert(STREAM, CSV, &n_spikes, &error), error);
    assert_int_equal(n_spikes, 5);
    assert_int_equal(unlink(CSV), 0);
    assert_int_equal(vly_recording_convert(STREAM, STREAM, NULL, &error),
                     VLY_E_INVALID);
    FILE *file = fopen(STREAM, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long size = ftell(file);
    fclose(file);
    assert_int_equal(truncate(STREAM, size - 5), 0);
    assert_int_equal(vly_recording_convert(STREAM, CSV, &n_spikes, &error),
                     VLY_E_PARSE);
    assert_true(access(CSV, F_OK) != 0);
    assert_ok(vly_spike_reader_open(STREAM, &reader, &error), error);
    vly_status status = VLY_OK;
    while ((status = vly_spike_reader_next(reader, &burst, &ids, &n, &error)) ==
               VLY_OK &&
           n > 0)
        n_read += n;
    assert_int_equal(status, VLY_E_PARSE);
    assert_int_equal(n_read, 5);
    assert_non_null(strstr(error.message, "the stream is cut after byte"));
    vly_spike_reader_close(reader);
    unlink(STREAM);
    reader = NULL;
    assert_int_equal(vly_spike_reader_open(STREAM, &reader, &error), VLY_E_IO);
    assert_null(reader);
    vly_spike_reader_close(NULL);
}

static void late_readers(void **state)
{
    fixture f;
    vly_watch *watch = NULL;
    vly_watch_sample sample = {.struct_size = sizeof sample};
    uint64_t spikes[3] = {0}, next = 0, lost = 0;
    vly_net *net = net_of(&f);
    (void)state;
    assert_int_equal(vly_watch_create(net, 3, &watch, &f.error), VLY_E_INVALID);
    assert_ok(vly_watch_create(net, 4, &watch, &f.error), f.error);
    assert_int_equal(vly_watch_areas(watch), 3);
    assert_int_equal(vly_watch_last(watch, &sample, spikes), 0);
    vly_net_count_areas(net, 1);
    for (int i = 0; i < 10; i++) {
        assert_ok(vly_net_run(net, 10, &f.error), f.error);
        assert_ok(vly_watch_put(watch, net, &f.error), f.error);
    }
    assert_int_equal(vly_watch_last(watch, &sample, spikes), 1);
    assert_int_equal(sample.bursts, 100);
    assert_int_equal(sample.spikes, 5);
    assert_true(spikes[0] == 2 && spikes[1] == 2 && spikes[2] == 1);
    assert_string_equal(sample.backend, "cpu:1");
    assert_true(sample.unix_ns > 0 && sample.run_ns > 0);
    assert_int_equal(vly_watch_take(watch, &next, &lost, &sample, NULL), 1);
    assert_true(lost >= 6 && next == lost + 1);
    assert_int_equal(sample.bursts, 10 * next);
    sample.struct_size = 8;
    assert_int_equal(vly_watch_last(watch, &sample, spikes), 0);
    vly_watch_destroy(watch);
    vly_watch_destroy(NULL);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* The 1st, 2nd, 3rd ... allocation fails: E_NOMEM, and nothing is left. */
static void without_memory(void **state)
{
    const vly_recorder_options options = {
        .struct_size = sizeof options, .spikes = STREAM, .digests = CSV};
    fixture f;
    vly_net *net = net_of(&f);
    const uint64_t live = vly_memory_live();
    vly_recorder *recorder = NULL;
    vly_watch *watch = NULL;
    uint64_t n = 0;
    bool came = true;
    (void)state;
    while (came) {
        vly_memory_fail_at(++n);
        vly_status status =
            vly_recorder_open(net, &options, &recorder, &f.error);
        if (status == VLY_OK)
            status = vly_watch_create(net, 4, &watch, &f.error);
        came = vly_memory_fail_at(0) == 0;
        assert_int_equal(status, came ? VLY_E_NOMEM : VLY_OK);
        assert_ok(vly_recorder_close(recorder, &f.error), f.error);
        vly_watch_destroy(watch);
        recorder = NULL;
        watch = NULL;
        assert_int_equal(vly_memory_live(), live);
    }
    assert_true(n > 6);
    unlink(STREAM);
    unlink(CSV);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(areas_that_are_left_out),
    cmocka_unit_test(refused),
    cmocka_unit_test(a_full_disk),
    cmocka_unit_test(cut_streams),
    cmocka_unit_test(late_readers),
    cmocka_unit_test(without_memory),
};
VLY_TEST_MAIN(tests)
