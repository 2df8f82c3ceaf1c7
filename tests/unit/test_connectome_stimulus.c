/* SPDX-License-Identifier: Apache-2.0
 * Stimuli as tables of thresholds: moments, ends, room for what may come.
 */
#include "volley_test.h"

#include <math.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "connectome_builder.h"

static vly_connectome *built(const builder *b)
{
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *connectome = NULL;
    assert_ok(vly_connectome_build(&b->genome, 2, &connectome, &error), error);
    return connectome;
}

static void assert_refused(const builder *b, const char *text)
{
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *connectome = NULL;
    assert_int_equal(vly_connectome_build(&b->genome, 1, &connectome, &error),
                     VLY_E_PARSE);
    assert_null(connectome);
    if (!strstr(error.message, text))
        fail_msg("\"%s\" lacks \"%s\"", error.message, text);
}

static vly_connectome_stimulus stimulus_of(vly_stimulus_kind kind)
{
    static char id[] = "s";
    return (vly_connectome_stimulus){.id = id, .kind = kind, .n_neurons = 1};
}

/* Mean and variance of k under the table */
static void moments(const vly_stimulus_desc *desc, double *mean, double *var)
{
    double sum = 0.0, squares = 0.0, last = 0.0;
    for (uint32_t k = 0; k <= desc->n_thresholds; k++) {
        double at =
            k < desc->n_thresholds ? desc->thresholds[k] / 4294967296.0 : 1.0;
        double x = desc->base + (double)k * desc->step;
        assert_true(at >= last);
        sum += (at - last) * x;
        squares += (at - last) * x * x;
        last = at;
    }
    *mean = sum;
    *var = squares - sum * sum;
}

static void free_thresholds(vly_stimulus_desc *desc)
{
    void *thresholds;
    memcpy(&thresholds, &desc->thresholds, sizeof(thresholds));
    vly_free(thresholds);
}

static void poisson_tables(void **state)
{
    (void)state;
    static const double means[] = {0.001, 0.5, 1.28, 20.0, 150.0};
    for (size_t i = 0; i < 5; i++) {
        vly_connectome_stimulus s = stimulus_of(VLY_STIMULUS_POISSON);
        vly_stimulus_desc desc = {0};
        vly_error error = VLY_ERROR_INIT;
        uint64_t reach = 0;
        double mean, var;
        s.rate_hz = means[i] * 10000.0;
        s.weight = -2.0;
        assert_ok(vly_stimulus_table(&s, 0.1, 3, &desc, &reach, &error), error);
        assert_int_equal(desc.base, 0);
        assert_int_equal(desc.step, -16);
        assert_int_equal(desc.flags, 0);
        assert_int_equal(reach, 16 * desc.n_thresholds);
        assert_true(desc.n_thresholds <= 256);
        moments(&desc, &mean, &var);
        assert_close(mean, -16.0 * means[i], 1e-5 * (1.0 + means[i]));
        assert_close(var, 256.0 * means[i], 1e-3 * (1.0 + means[i]));
        assert_int_equal(desc.thresholds[0],
                         (uint32_t)floor(4294967296.0 * exp(-means[i])));
        free_thresholds(&desc);
    }
}

static void poisson_edges(void **state)
{
    (void)state;
    vly_connectome_stimulus s = stimulus_of(VLY_STIMULUS_POISSON);
    vly_stimulus_desc desc = {.base = 77};
    vly_error error = VLY_ERROR_INIT;
    uint64_t reach = 0;
    s.weight = 1.0;
    s.rate_hz = 0.0;
    assert_ok(vly_stimulus_table(&s, 0.1, 0, &desc, &reach, &error), error);
    assert_int_equal(desc.n_thresholds, 0);
    assert_int_equal(reach, 1); /* the rate may rise */
    free_thresholds(&desc);
    static const double rates[] = {2.5e6, 1e12};
    for (int i = 0; i < 2; i++) {
        s.rate_hz = rates[i];
        assert_int_equal(vly_stimulus_table(&s, 0.1, 0, &desc, &reach, &error),
                         VLY_E_PARSE);
        assert_non_null(strstr(error.message, "more than 256 entries"));
    }
    s.rate_hz = -1.0;
    assert_int_equal(vly_stimulus_table(&s, 0.1, 0, &desc, &reach, &error),
                     VLY_E_INVALID);
    s.rate_hz = 10000.0;
    s.weight = 1e9;
    assert_int_equal(vly_stimulus_table(&s, 0.1, 4, &desc, &reach, &error),
                     VLY_E_PARSE);
    assert_non_null(strstr(error.message, "wanted at most 2^30"));
}

/* The only input of a port, and it does not come: q leaves room for one. */
static void poisson_silent(void **state)
{
    (void)state;
    static const double rates[] = {0.0, 1e-6, 8.0};
    for (int i = 0; i < 3; i++) {
        builder b;
        builder_init(&b);
        builder_area(&b, "A", "lif_psc_exp", 3);
        vly_stimulus *s = builder_stimulus(&b, "s", 0, VLY_STIMULUS_POISSON);
        s->rate_hz = rates[i];
        s->weight = 87.8;
        vly_connectome *c = built(&b);
        /* 87.8 2^23 <= 2^30; at 8 Hz the table has 2 entries */
        int q = i < 2 ? 23 : 22;
        assert_int_equal(c->areas[0].q[0], q);
        assert_int_equal(c->desc.stimuli[0].n_thresholds, i < 2 ? 0 : 2);
        assert_int_equal(c->desc.stimuli[0].step,
                         (int)floor(87.8 * pow(2.0, q) + 0.5));
        vly_connectome_destroy(c);
    }
}

/* One threshold, the chance of an event rate * dt to the nearest 2^-32. */
static void bernoulli_tables(void **state)
{
    (void)state;
    static const struct {
        double rate_hz;
        double dt_ms;
        uint32_t n;
        uint32_t threshold;
    } rows[] = {
        {500.0, 1.0, 1, 2147483648u},
        {500.0, 0.1, 1, 4080218931u},
        {250.0, 2.0, 1, 2147483648u},
        {1000.0, 1.0, 1, 0},
        {1000.0 / 0.3, 0.3, 1, 0},
        {0.0, 0.1, 0, 0},
        {1e-6, 0.1, 0, 0}, /* below 2^-33 */
    };
    vly_connectome_stimulus s = stimulus_of(VLY_STIMULUS_BERNOULLI);
    vly_error error = VLY_ERROR_INIT;
    vly_stimulus_desc desc = {0};
    uint64_t reach = 0;
    s.weight = -2.0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        s.rate_hz = rows[i].rate_hz;
        assert_ok(
            vly_stimulus_table(&s, rows[i].dt_ms, 3, &desc, &reach, &error),
            error);
        assert_int_equal(desc.n_thresholds, rows[i].n);
        if (rows[i].n)
            assert_int_equal(desc.thresholds[0], rows[i].threshold);
        assert_int_equal(desc.base, 0);
        assert_int_equal(desc.step, -16);
        assert_int_equal(desc.flags, 0);
        assert_int_equal(reach, 16);
        free_thresholds(&desc);
    }
    s.rate_hz = 10001.0;
    assert_int_equal(vly_stimulus_table(&s, 0.1, 3, &desc, &reach, &error),
                     VLY_E_PARSE);
    assert_non_null(strstr(error.message, "wanted at most 10000: one event"));
}

/* The rate that is drawn: chances of a burst are multiples of 2^-32. */
static void rates_drawn(void **state)
{
    (void)state;
    static const struct {
        vly_stimulus_kind kind;
        double rate_hz, drawn_hz;
    } rows[] = {
        /* 2^-32 a burst of 0.1 ms is 2.3283e-6/s; Poisson: up, the nearest */
        {VLY_STIMULUS_POISSON, 1e-5, 5.0 / 4294967296.0 * 1e4},
        {VLY_STIMULUS_BERNOULLI, 1e-5, 4.0 / 4294967296.0 * 1e4},
        {VLY_STIMULUS_BERNOULLI, 1e-6, 0.0},
        {VLY_STIMULUS_POISSON, 0.0, 0.0},
        {VLY_STIMULUS_NORMAL, 7.0, 7.0},
    };
    vly_connectome_stimulus s = {.id = "s", .weight = 0.3};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        s.kind = rows[i].kind;
        s.rate_hz = rows[i].rate_hz;
        /* some ulps of 1e-5 */
        assert_close(vly_stimulus_rate(&s, 0.1), rows[i].drawn_hz, 1e-17);
    }
    /* from a hundredth of a hertz on it is right to 0.1% and better */
    for (double rate = 0.01; rate < 1e6; rate *= 1.7) {
        s.rate_hz = rate;
        s.kind = VLY_STIMULUS_POISSON;
        assert_close(vly_stimulus_rate(&s, 0.1), rate, 0.001 * rate);
        s.kind = VLY_STIMULUS_BERNOULLI;
        if (rate <= 1e4)
            assert_close(vly_stimulus_rate(&s, 0.1), rate, 0.001 * rate);
    }
}

/* Clipped at 6 sd for every sd, in units of 2^-q. Where sd >= 1: the mean
 * within 1e-6 sd, the variance sd^2 + step^2 / 12 within 1e-6 sd^2 (cut tails
 * 7e-8, words 2^-32); below, the mean within half a cell. */
static void normal_clipped(void **state)
{
    (void)state;
    static const double sds[] = {0.05, 0.4,  1.0,  2.5,  19.9,  20.0,
                                 20.1, 25.0, 30.0, 39.0, 40.0,  41.0,
                                 50.0, 99.9, 333., 1e4,  12345, 3e6};
    static const double means[] = {0.0, 0.5, -0.49, 7.3, -1000.2};
    for (size_t i = 0; i < 5 * sizeof(sds) / sizeof(sds[0]); i++) {
        vly_connectome_stimulus s = stimulus_of(VLY_STIMULUS_NORMAL);
        vly_stimulus_desc desc = {0};
        vly_error error = VLY_ERROR_INIT;
        uint64_t reach = 0;
        double mean, var;
        s.sd = sds[i / 5];
        s.mean = means[i % 5];
        assert_ok(vly_stimulus_table(&s, 0.1, 0, &desc, &reach, &error), error);
        double step = desc.step, n = desc.n_thresholds;
        assert_int_equal(desc.step, (int)ceil(s.sd / 20.0));
        assert_true(n <= 240);
        double low = s.mean - desc.base, high = desc.base + n * step - s.mean;
        if (s.sd >= 1.0) {
            /* a cell at the end may have less than one word of 2^32 */
            assert_true(low >= 6.0 * s.sd - 2.0 * step);
            assert_true(high >= 6.0 * s.sd - 2.0 * step);
            assert_true(desc.thresholds[0] > 0);
        }
        assert_true(low < 6.0 * s.sd + 0.5 * step);
        assert_true(high < 6.0 * s.sd + 0.5 * step);
        moments(&desc, &mean, &var);
        if (s.sd >= 1.0) {
            assert_close(mean, s.mean, 1e-6 * s.sd);
            assert_close(var, s.sd * s.sd + step * step / 12.0,
                         1e-6 * s.sd * s.sd);
        } else {
            assert_close(mean, s.mean, 0.5);
        }
        free_thresholds(&desc);
    }
}

static void normal_tables(void **state)
{
    (void)state;
    static const struct {
        double mean, sd;
        int q;
    } cases[] = {{0.0, 5.0, 20}, {-3.0, 0.5, 10}, {1.0, 2.0, 2}, {0.3, 0.1, 1},
                 {7.0, 0.0, 3},  {0.0, 19.9, 0},  {0.0, 20.0, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        vly_connectome_stimulus s = stimulus_of(VLY_STIMULUS_NORMAL);
        vly_stimulus_desc desc = {0};
        vly_error error = VLY_ERROR_INIT;
        uint64_t reach = 0;
        double mean, var;
        double unit = pow(2.0, -cases[i].q);
        s.mean = cases[i].mean;
        s.sd = cases[i].sd;
        assert_ok(
            vly_stimulus_table(&s, 0.1, cases[i].q, &desc, &reach, &error),
            error);
        assert_int_equal(desc.flags, VLY_STIMULUS_ALWAYS);
        assert_true(desc.n_thresholds <= 240);
        moments(&desc, &mean, &var);
        double cell = desc.step * unit; /* Sheppard: cell^2 / 12 */
        double off = s.sd < cell ? 0.5 * cell : 0.01 * cell;
        assert_close(mean * unit, s.mean, 1e-4 * s.sd + off);
        if (s.sd >= cell)
            assert_close(var * unit * unit, s.sd * s.sd + cell * cell / 12.0,
                         1e-3 * s.sd * s.sd);
        assert_true(reach <= 1 << 30);
        free_thresholds(&desc);
    }
}

/* Stimuli of a genome: order, ids, streams, spike lists sorted. */
static void stimuli_of_genome(void **state)
{
    (void)state;
    builder b;
    builder_everything(&b);
    vly_connectome *c = built(&b);
    assert_int_equal(c->n_stimuli, 4);
    assert_int_equal(c->desc.n_stimuli, 2);
    assert_int_equal(c->stimuli[0].desc_index, 0);
    assert_int_equal(c->stimuli[1].desc_index, 1);
    assert_int_equal(c->stimuli[2].desc_index, UINT32_MAX);
    assert_int_equal(c->desc.stimuli[0].stream,
                     vly_stream_from_name("stimulus:poisson/E"));
    assert_int_equal(c->desc.stimuli[0].step,
                     (int)floor(87.8 * pow(2.0, c->areas[0].q[0]) + 0.5));
    const vly_connectome_stimulus *list = &c->stimuli[3];
    assert_int_equal(list->n_inputs, 3);
    assert_int_equal(list->inputs[0].neuron, c->areas[4].first + 4);
    assert_int_equal(list->inputs[1].neuron, c->areas[4].first + 9);
    assert_int_equal(list->inputs[2].burst, 7);
    assert_close(list->inputs[0].value, 2.5 * pow(2.0, c->desc.feagi_q), 0.0);
    assert_int_equal(c->start.burst, 0);
    assert_int_equal(c->start.fired_row[0], 0);
    vly_connectome_destroy(c);
    b.stimuli[0].rate_hz = 1e8;
    b.stimuli[0].origin.line = 40;
    b.stimuli[0].origin.column = 3;
    assert_refused(
        &b,
        "test.toml:40:3: stimulus poisson: a rate of 100000000/s is a mean of "
        "10000 events a burst");
}

/* Pieces of a list hold one after another, so they need the room of one. */
static void pieces_of_a_list(void **state)
{
    (void)state;
    int32_t q[3];
    for (int k = 0; k < 3; k++) { /* one; eight of a list; eight others */
        builder b;
        builder_init(&b);
        builder_area(&b, "A", "lif_psc_delta", 4);
        for (uint64_t i = 0; i < (k ? BUILDER_STIMULI : 1); i++) {
            vly_stimulus *piece =
                builder_stimulus(&b, "s", 0, VLY_STIMULUS_POISSON);
            piece->weight = 60;
            piece->rate_hz = 90000;
            piece->listed = k == 1;
            piece->start = i;
            piece->stop = i + 1;
        }
        vly_connectome *c = built(&b);
        q[k] = c->areas[0].q[0];
        vly_connectome_destroy(c);
    }
    assert_int_equal(q[1], q[0]);
    assert_int_equal(q[2], q[0] - 3);
}

/* One to eight lists of spikes, of one to four inputs each, in a file: arrays
 * of 24 bytes an input that begin at multiples of 64. */
static void lists_in_a_file(void **state)
{
    (void)state;
    static uint64_t bursts[] = {1, 2, 2, 5};
    static uint32_t neurons[] = {3, 0, 1, 3};
    char path[200];
    snprintf(path, sizeof(path), VLY_TEST_BINARY_DIR "/lists.%d.vlc",
             (int)getpid());
    for (uint32_t lists = 1; lists <= BUILDER_STIMULI; lists++) {
        builder b;
        vly_error error = VLY_ERROR_INIT;
        builder_init(&b);
        builder_area(&b, "A", "lif_psc_delta", 4);
        for (uint32_t k = 0; k < lists; k++) {
            char id[20];
            snprintf(id, sizeof(id), "list%d", (int)k);
            vly_stimulus *list =
                builder_stimulus(&b, id, 0, VLY_STIMULUS_SPIKES);
            list->weight = 2.5;
            list->bursts = bursts;
            list->neurons = neurons;
            list->n_spikes = 1 + (k + lists) % 4;
        }
        vly_connectome *c = built(&b);
        assert_ok(vly_connectome_save(c, path, &error), error);
        for (int verify = 0; verify < 2; verify++) {
            vly_connectome *loaded = NULL;
            assert_ok(vly_connectome_load(path, verify, &loaded, &error),
                      error);
            assert_memory_equal(&c->hash, &loaded->hash, sizeof(c->hash));
            for (uint32_t k = 0; k < lists; k++) {
                size_t n = c->stimuli[k].n_inputs;
                assert_int_equal(loaded->stimuli[k].n_inputs, n);
                assert_memory_equal(c->stimuli[k].inputs,
                                    loaded->stimuli[k].inputs,
                                    n * sizeof(vly_input));
            }
            vly_connectome_destroy(loaded);
        }
        vly_connectome_destroy(c);
    }
    unlink(path);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(poisson_tables),   cmocka_unit_test(poisson_edges),
    cmocka_unit_test(poisson_silent),   cmocka_unit_test(bernoulli_tables),
    cmocka_unit_test(rates_drawn),      cmocka_unit_test(normal_clipped),
    cmocka_unit_test(normal_tables),    cmocka_unit_test(stimuli_of_genome),
    cmocka_unit_test(pieces_of_a_list), cmocka_unit_test(lists_in_a_file),
};

VLY_TEST_MAIN(tests)
