/* SPDX-License-Identifier: Apache-2.0
 * aeif_cond_exp.toml and the built-in adex against the equations of Brette and
 * Gerstner 2005 with spikes at their own times, in double. The bounds are those
 * of NEST's test_aeif_lsodar: an average relative error of 5e-4 in v and 1e-4
 * in w, and a spike comes in the burst in which v reaches its peak.
 *
 * The reference is the classical Runge-Kutta method in steps of at most 2 us in
 * which v moves by at most a hundredth of delta_t: its error is below 1e-8 of
 * the values. The step that reaches the peak is cut there by Newton's method.
 */
#include "volley_test.h"

#include <math.h>
#include <stdlib.h>

#include <volley/volley.h>

#include "base/number.h"

enum { V, W, G_EX, G_IN, N };

static const double C = 200, G_L = 11, E_L = -70, V_T = -50, DELTA_T = 2;
static const double A = 3, B = 0, TAU_W = 300, I_E = 420, V_RESET = -58;
static const double E_EX = 0, E_IN = -85, TAU_EX = 0.2, TAU_IN = 2;
#define EVENT_MS 7.0 /* between two arrivals, of both ports in turn */
#define EVENT_NS 4.0

/* ---- the reference ------------------------------------------------------ */

static void rates(const double *x, double *f)
{
    f[V] = (G_L * (E_L - x[V]) + G_L * DELTA_T * exp((x[V] - V_T) / DELTA_T) -
            x[W] + x[G_EX] * (E_EX - x[V]) + x[G_IN] * (E_IN - x[V]) + I_E) /
           C;
    f[W] = (A * (x[V] - E_L) - x[W]) / TAU_W;
    f[G_EX] = -x[G_EX] / TAU_EX;
    f[G_IN] = -x[G_IN] / TAU_IN;
}

static void step(const double *from, double h, double *to)
{
    double k[4][N], y[N];
    rates(from, k[0]);
    for (int s = 1; s < 4; s++) {
        for (int i = 0; i < N; i++)
            y[i] = from[i] + (s == 3 ? h : h / 2) * k[s - 1][i];
        rates(y, k[s]);
    }
    for (int i = 0; i < N; i++)
        to[i] =
            from[i] + h / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
}

/* Up to `left` ms on; *spiked: v reached 0 mV. Returns what is left then. */
static double advance(double *x, double left, bool *spiked)
{
    double f[N], y[N], h;
    rates(x, f);
    h = f[V] > 0 ? 0.01 * DELTA_T / f[V] : left;
    h = fmin(fmin(h, left), 2e-3);
    step(x, h, y);
    *spiked = y[V] >= 0;
    for (int k = 0; *spiked && k < 30; k++) {
        rates(y, f);
        h -= y[V] / f[V];
        step(x, h, y);
    }
    memcpy(x, y, sizeof y);
    return left - h > 1e-12 ? left - h : 0;
}

/* ---- the engine --------------------------------------------------------- */

typedef struct figures {
    double v; /* average relative errors */
    double w;
    double late_ms; /* the end of the burst of the 31st spike, after it */
    int missed;     /* bursts with a spike of one and not of the other */
    uint32_t n_spikes;
} figures;

static vly_status see(void *arg, uint64_t burst, const uint32_t *ids,
                      uint32_t n_ids, uint64_t digest)
{
    bool *fired = arg;
    (void)burst;
    (void)ids;
    (void)digest;
    *fired = n_ids > 0;
    return VLY_OK;
}

/* What arrives at the end of burst b: 0 nothing, 1 excitation, 2 inhibition */
static int arrives(bool events, double dt_ms, uint32_t b)
{
    uint32_t n = (uint32_t)(EVENT_MS / dt_ms + 0.5);
    return !events || (b + 1) % n ? 0 : 1 + (int)((b + 1) / n % 2);
}

/* One burst of the reference; *when: how long before its end it fired, ms, or
 * -1 */
static void burst_of(double *x, double dt_ms, double *when)
{
    double left = dt_ms;
    *when = -1;
    while (left > 0) {
        bool spiked = false;
        left = advance(x, left, &spiked);
        if (!spiked)
            continue;
        *when = left;
        x[V] = V_RESET;
        x[W] += B;
    }
}

static vly_net *open_net(const char *text, double dt_ms,
                         vly_registry **registry, vly_connectome **connectome)
{
    vly_error error = {.struct_size = sizeof error};
    vly_genome *genome = NULL;
    vly_net *net = NULL;
    char dt[32];
    snprintf(dt, sizeof dt, "%.17g", dt_ms);
    const vly_override set[] = {{"run.dt_ms", dt},
                                {"record.1.interval_ms", dt},
                                {"area.A.v_peak_mv", "0"}};
    assert_ok(vly_genome_parse(text, strlen(text), "adex.toml", set, 3, &genome,
                               &error),
              error);
    assert_ok(vly_connectome_build(genome, 1, connectome, &error), error);
    assert_ok(vly_registry_create(registry, &error), error);
    assert_ok(vly_net_create(*connectome, *registry, "cpu:1", 1, &net, &error),
              error);
    vly_genome_destroy(genome);
    return net;
}

static figures compare(const char *text, double dt_ms, double ms, bool events)
{
    vly_error error = {.struct_size = sizeof error};
    vly_registry *registry = NULL;
    vly_connectome *connectome = NULL;
    vly_net *net = open_net(text, dt_ms, &registry, &connectome);
    double x[N] = {E_L, 5, 0, 0};
    uint32_t n_bursts = (uint32_t)(ms / dt_ms + 0.5), n_engine = 0;
    figures made = {0};
    double reached = 0, reported = 0;
    bool fired = false;
    vly_net_on_spikes(net, see, &fired);
    for (uint32_t b = 0; b < n_bursts; b++) {
        double v, w, when;
        int port = arrives(events, dt_ms, b);
        if (port)
            assert_ok(vly_net_inject(net, b, "A", 0, (uint32_t)port - 1,
                                     port == 1 ? EVENT_NS : -EVENT_NS, &error),
                      error);
        assert_ok(vly_net_run(net, 1, &error), error);
        assert_ok(vly_net_read(net, "A", "v_mv", 0, 1, &v, &error), error);
        assert_ok(vly_net_read(net, "A", "w_pa", 0, 1, &w, &error), error);
        burst_of(x, dt_ms, &when);
        if (port)
            x[port == 1 ? G_EX : G_IN] += EVENT_NS;
        made.n_spikes += when >= 0;
        n_engine += fired;
        if (when >= 0 && made.n_spikes == 31)
            reached = (b + 1) * dt_ms - when;
        if (fired && n_engine == 31)
            reported = (b + 1) * dt_ms;
        made.missed += fired != (when >= 0);
        made.v += fabs((v - x[V]) / x[V]) / n_bursts;
        made.w += fabs((w - x[W]) / x[W]) / n_bursts;
    }
    made.late_ms = reported - reached;
    vly_net_destroy(net);
    vly_registry_destroy(registry);
    vly_connectome_destroy(connectome);
    return made;
}

/* The genome of the gallery, for `adex` with the built-in model instead. */
static char *genome_text(bool built_in)
{
    static const char own[] = "model = \"aeif_cond_exp\"";
    char *text = malloc(16384);
    FILE *file =
        fopen(VLY_TEST_SOURCE_DIR "/genomes/neurons/aeif_cond_exp.toml", "rb");
    assert_non_null(text);
    assert_non_null(file);
    text[fread(text, 1, 16383, file)] = 0;
    fclose(file);
    if (built_in) {
        char *at = strstr(text, own);
        assert_non_null(at);
        memset(at, ' ', sizeof own - 1);
        memcpy(at, "model = \"adex\"", 14);
    }
    return text;
}

static void show(const char *name, double dt_ms, bool events, figures f)
{
    printf("    %-13s dt %-4g ms%s: v %.2e, w %.2e; spike 31 %.3f ms after; %u "
           "spikes, %d missed\n",
           name, dt_ms, events ? ", arrivals" : "", f.v, f.w, f.late_ms,
           f.n_spikes, f.missed);
}

static void accuracy(void **state)
{
    (void)state;
    static const struct {
        double dt_ms;
        double ms;
        bool events;
    } runs[] = {{0.01, 200, false},
                {0.1, 200, false},
                {0.1, 450, false},
                {0.01, 200, true},
                {0.1, 200, true}};
    char *own = genome_text(false);
    char *built_in = genome_text(true);
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        figures f = compare(own, runs[i].dt_ms, runs[i].ms, runs[i].events);
        figures of_adex =
            compare(built_in, runs[i].dt_ms, runs[i].ms, runs[i].events);
        show("aeif_cond_exp", runs[i].dt_ms, runs[i].events, f);
        show("adex", runs[i].dt_ms, runs[i].events, of_adex);
        assert_true(f.n_spikes >= 12);
        assert_true(f.v < 5e-4);
        assert_true(f.w < 1e-4);
        assert_true(f.late_ms >= 0 || f.n_spikes < 31);
        assert_true(f.late_ms <= 1.01 * runs[i].dt_ms);
        /* errors of 34 spikes add up: one comes in the burst beside its own */
        assert_true(f.missed <= (f.n_spikes < 31 ? 0 : 2));
        /* what this model is for */
        assert_true(of_adex.v > 10 * f.v);
    }
    free(own);
    free(built_in);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(accuracy)};
VLY_TEST_MAIN(tests)
