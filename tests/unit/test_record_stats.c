/* SPDX-License-Identifier: Apache-2.0
 * Statistics of spikes against the same computed from whole lists; streams made
 * into CSV with the 1st, 2nd, 3rd ... allocation failing.
 */
#include "volley_test.h"

#include <volley/record.h>

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/writer.h"
#include "record/export.h"

enum { N_BURSTS = 400, N = 40, BIN = 30, FIRST = 7 };

static char folder[] = "/tmp/volley_stats_XXXXXX";

static const char *path_of(const char *name)
{
    static char paths[8][256];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static const vly_spike_area areas[] = {
    {"A", 0, 25, true}, {"B", 25, 10, true}, {"C", 35, 5, false}};
static const uint32_t sizes[] = {25, 10, 5};

/* Neurons 0, 1, 2 (mod 5) fire seldom, often, never; those of C never. */
static bool fires(uint64_t t, uint32_t neuron)
{
    uint32_t word = vly_philox_word(11, t, neuron, 1);
    switch (neuron >= 35 ? 2 : neuron % 5) {
    case 0:
        return vly_below(word, 150) == 0;
    case 1:
        return vly_below(word, 20) == 0;
    case 2:
        return false;
    case 3:
        return t == FIRST + 40; /* once */
    default:
        return t % 25 == 3; /* as a clock */
    }
}

static uint32_t ids_of(uint64_t t, uint32_t ids[N])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < N; i++)
        if (fires(t, i))
            ids[n++] = i;
    return n;
}

static double cv_of(uint32_t neuron, uint64_t to, uint64_t *n_spikes)
{
    double intervals[N_BURSTS];
    uint64_t n = 0;
    uint64_t last = 0;
    double mean = 0;
    double variance = 0;
    *n_spikes = 0;
    for (uint64_t t = FIRST; t < to; t++) {
        if (!fires(t, neuron))
            continue;
        if (*n_spikes > 0)
            intervals[n++] = (double)(t - last);
        last = t;
        ++*n_spikes;
    }
    for (uint64_t i = 0; i < n; i++)
        mean += intervals[i] / (double)n;
    for (uint64_t i = 0; i < n; i++)
        variance += (intervals[i] - mean) * (intervals[i] - mean) / (double)n;
    return sqrt(variance) / mean;
}

static double fano_of(const vly_spike_area *area, uint64_t to)
{
    double counts[N_BURSTS] = {0};
    uint64_t n = (to - FIRST) / BIN;
    double mean = 0;
    double variance = 0;
    for (uint64_t t = FIRST; t < FIRST + n * BIN; t++)
        for (uint32_t i = 0; i < area->n_neurons; i++)
            counts[(t - FIRST) / BIN] += fires(t, area->first + i);
    for (uint64_t i = 0; i < n; i++)
        mean += counts[i] / (double)n;
    for (uint64_t i = 0; i < n; i++)
        variance += (counts[i] - mean) * (counts[i] - mean) / (double)n;
    return variance / mean;
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (1 + fabs(b));
}

static void same_as_lists(vly_spike_stats *stats, uint64_t to)
{
    for (uint32_t a = 0; a < 3; a++) {
        vly_area_spikes found = {.struct_size = sizeof found};
        uint64_t n_spikes = 0;
        uint32_t n_silent = 0;
        uint32_t n_cv = 0;
        double cv = 0;
        vly_spike_stats_get(stats, to, a, &found);
        for (uint32_t i = 0; i < areas[a].n_neurons; i++) {
            uint64_t n = 0;
            double own = cv_of(areas[a].first + i, to, &n);
            n_spikes += n;
            n_silent += n == 0;
            n_cv += n >= VLY_SPIKE_CV_MIN;
            cv += n >= VLY_SPIKE_CV_MIN ? own : 0;
        }
        assert_int_equal(found.n_spikes, n_spikes);
        assert_int_equal(found.n_silent, n_silent);
        assert_int_equal(found.n_cv, n_cv);
        assert_int_equal(found.n_bins, (to - FIRST) / BIN);
        assert_true(n_cv > 0 ? near(found.cv, cv / n_cv) : isnan(found.cv));
        if (n_spikes > 0 && found.n_bins > 1)
            assert_true(near(found.fano, fano_of(&areas[a], to)));
        else
            assert_true(isnan(found.fano));
    }
}

static void as_whole_lists(void **state)
{
    vly_error error = VLY_ERROR_INIT;
    vly_spike_stats *stats = NULL;
    vly_area_spikes figures = {.struct_size = sizeof figures};
    uint32_t ids[N];
    (void)state;
    assert_ok(vly_spike_stats_create(sizes, 3, 0.1, FIRST, &stats, &error),
              error);
    assert_true(near(vly_spike_stats_bin_ms(stats), 3));
    vly_spike_stats_get(stats, FIRST, 0, &figures);
    assert_int_equal(figures.n_silent, 25);
    assert_true(isnan(figures.cv) && isnan(figures.fano));
    for (int round = 0; round < 2; round++) {
        for (uint64_t t = 0; t < N_BURSTS;
             t++) { /* those before are left out */
            uint32_t n = ids_of(t, ids);
            if (n > 0)
                vly_spike_stats_add(stats, t, ids, n);
            if (t >= FIRST && t % 50 == 0) /* asked for on the way */
                same_as_lists(stats, t + 1);
        }
        same_as_lists(stats, N_BURSTS);
        vly_spike_stats_get(stats, N_BURSTS, 0, &figures);
        assert_true(figures.n_cv > 5 && figures.cv > 0.1);
        vly_spike_stats_restart(stats, round == 0 ? FIRST : 0);
        assert_int_equal(vly_spike_stats_first(stats), FIRST);
    }
    vly_spike_stats_destroy(stats);
}

static void bins_of_a_burst(void **state)
{
    vly_error error = VLY_ERROR_INIT;
    vly_spike_stats *stats = NULL;
    vly_area_spikes figures = {.struct_size = sizeof figures};
    const uint32_t ids[] = {0, 1, 2};
    (void)state;
    assert_ok(vly_spike_stats_create(sizes, 3, 10, 0, &stats, &error), error);
    assert_true(near(vly_spike_stats_bin_ms(stats), 10));
    vly_spike_stats_add(stats, 0, ids, 3); /* counts 3, 1, 0, 0 */
    vly_spike_stats_add(stats, 1, ids, 1);
    vly_spike_stats_get(stats, 4, 0, &figures);
    assert_int_equal(figures.n_bins, 4);
    assert_true(near(figures.fano, 1.5));
    vly_spike_stats_destroy(stats);
}

/* ---- export ------------------------------------------------------------ */

static const uint32_t listed[] = {0, 9};
static const vly_stream_report reports[] = {
    {1, 0, VLY_TYPE_F32, 25, NULL, "v_mv", "mV", 10, false},
    {1, 1, VLY_TYPE_F32, 2, listed, "v_mv", "mV", 10, false},
    {1, 1, VLY_TYPE_U32, 2, listed, "refractory", "", 10, false}};

static void make_stream(const char *path)
{
    vly_error error = VLY_ERROR_INIT;
    vly_stream *stream = NULL;
    uint32_t ids[N];
    vly_stream_head head = {.dt_ms = 0.1,
                            .areas = areas,
                            .n_areas = 3,
                            .n_reports = 3,
                            .reports = reports};
    assert_ok(vly_stream_open(path, &head, &stream, &error), error);
    for (uint64_t t = 0; t < 100; t++) {
        uint32_t words[25];
        uint32_t n = ids_of(t, ids);
        assert_ok(vly_stream_spikes(stream, t, ids, n, &error), error);
        for (uint32_t i = 0; i < 25; i++)
            words[i] = 0x3f800000u + i; /* just above 1 */
        for (uint32_t r = 0; r < 3 && (t + 1) % 10 == 0; r++)
            assert_ok(vly_stream_frame(stream, t + 1, r, words, &error), error);
    }
    assert_ok(vly_stream_end(stream, 100, &error), error);
    assert_ok(vly_stream_close(stream, &error), error);
}

static vly_status export_to(const char *path, vly_error *error)
{
    vly_stream_reader *reader = NULL;
    vly_export_counts counts = {0};
    vly_status status =
        vly_stream_reader_open(path_of("x.vls"), &reader, error);
    if (status == VLY_OK)
        status = vly_export(reader, vly_export_format_of(path), path, true,
                            &counts, NULL, NULL, error);
    vly_export_counts_deinit(&counts);
    vly_stream_reader_close(reader);
    return status;
}

/* At the end a run makes no file from damaged data: a shorter file would look
 * complete. */
static void damaged(void **state)
{
    vly_error error = VLY_ERROR_INIT;
    (void)state;
    make_stream(path_of("x.vls"));
    FILE *file = fopen(path_of("x.vls"), "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, -40, SEEK_END), 0);
    int byte = fgetc(file);
    assert_int_equal(fseek(file, -40, SEEK_END), 0);
    fputc(byte ^ 1, file);
    fclose(file);
    assert_int_equal(export_to(path_of("damaged.csv"), &error), VLY_E_PARSE);
    assert_non_null(strstr(error.message, "damaged at byte"));
    assert_null(fopen(path_of("damaged.csv"), "r"));
}

static void same_csv(void **state)
{
    vly_error error = VLY_ERROR_INIT;
    vly_spike_csv *csv = NULL;
    char line[200];
    uint32_t ids[N];
    (void)state;
    make_stream(path_of("x.vls"));
    assert_ok(export_to(path_of("x.csv"), &error), error);
    assert_ok(
        vly_spike_csv_open(path_of("own.csv"), areas, 3, 0.1, &csv, &error),
        error);
    for (uint64_t t = 0; t < 100; t++)
        assert_ok(vly_spike_csv_add(csv, t, ids, ids_of(t, ids), &error),
                  error);
    assert_ok(vly_spike_csv_close(csv, &error), error);
    snprintf(line, sizeof line, "cmp %s %s", path_of("x.csv"),
             path_of("own.csv"));
    assert_int_equal(system(line), 0);
    FILE *file = fopen(path_of("x.1.v_mv.csv"), "r");
    assert_non_null(file);
    uint32_t n = 0;
    assert_non_null(fgets(line, sizeof line, file));
    assert_string_equal(line, "burst,time_ms,area,neuron,v_mv\n");
    while (fgets(line, sizeof line, file) != NULL) {
        if (n == 2)
            assert_string_equal(line, "9,1,A,2,1.00000024\n");
        if (n == 26)
            assert_string_equal(line, "9,1,B,9,1.00000012\n");
        n++;
    }
    assert_int_equal(n, 10 * 27);
    fclose(file);
    file = fopen(path_of("x.1.refractory.csv"), "r");
    assert_non_null(file);
    n = 0;
    while (fgets(line, sizeof line, file) != NULL)
        if (n++ == 1)
            assert_string_equal(line, "9,1,B,0,1065353216\n");
    assert_int_equal(n, 1 + 10 * 2);
    fclose(file);
}

static void names_of_files(void **state)
{
    static const struct {
        const char *path;
        vly_export_format format;
        const char *report;
    } cases[] = {
        {"x.h5", VLY_EXPORT_SONATA, "x.2.v_mv.h5"},
        {"a.b/x.sonata", VLY_EXPORT_SONATA, "a.b/x.2.v_mv.sonata"},
        {"x.csv", VLY_EXPORT_CSV, "x.2.v_mv.csv"},
        {"x.vls", VLY_EXPORT_NONE, "x.2.v_mv.vls"},
        {"a.h5/x", VLY_EXPORT_CSV, "a.h5/x.2.v_mv"},
        {".h5", VLY_EXPORT_CSV, ".h5.2.v_mv"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *report = vly_export_report_path(cases[i].path, 2, "v_mv");
        assert_int_equal(vly_export_format_of(cases[i].path), cases[i].format);
        assert_string_equal(report, cases[i].report);
        vly_free(report);
    }
}

/* Frames that do not follow each other have no place in a table. */
static void missing_frame(void **state)
{
    vly_error error = VLY_ERROR_INIT;
    vly_stream *stream = NULL;
    const uint32_t words[25] = {0};
    vly_stream_head head = {.dt_ms = 0.1,
                            .areas = areas,
                            .n_areas = 3,
                            .n_reports = 1,
                            .reports = reports};
    (void)state;
    assert_ok(vly_stream_open(path_of("x.vls"), &head, &stream, &error), error);
    assert_ok(vly_stream_frame(stream, 10, 0, words, &error), error);
    assert_ok(vly_stream_frame(stream, 30, 0, words, &error), error);
    assert_ok(vly_stream_close(stream, &error), error);
    assert_int_equal(export_to(path_of("x.csv"), &error), VLY_E_PARSE);
    assert_non_null(strstr(error.message, "v_mv of area A: a sample after "
                                          "burst 30, wanted one after burst "
                                          "20"));
}

static void no_memory(void **state)
{
    static const char *const targets[] = {"n.csv", "n.h5"};
    (void)state;
    make_stream(path_of("x.vls"));
    for (size_t k = 0; k < (vly_export_has_sonata() ? 2 : 1); k++) {
        uint64_t live = vly_memory_live();
        uint64_t left = 0;
        uint64_t n = 1;
        for (; left == 0; n++) {
            vly_error error = VLY_ERROR_INIT;
            vly_memory_fail_at(n);
            vly_status status = export_to(path_of(targets[k]), &error);
            left = vly_memory_fail_at(0);
            assert_int_equal(status, left == 0 ? VLY_E_NOMEM : VLY_OK);
            assert_int_equal(vly_memory_live(), live);
        }
        assert_true(n > 15);
        char command[300];
        snprintf(command, sizeof command, "! ls %s | grep -q tmp", folder);
        assert_int_equal(system(command), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_whole_lists), cmocka_unit_test(bins_of_a_burst),
        cmocka_unit_test(damaged),        cmocka_unit_test(same_csv),
        cmocka_unit_test(names_of_files), cmocka_unit_test(missing_frame),
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
