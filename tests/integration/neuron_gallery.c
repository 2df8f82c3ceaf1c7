/* SPDX-License-Identifier: Apache-2.0
 * Gallery neurons against their references.
 *
 * The reference goes from one end of a burst to the next by the classical
 * Runge-Kutta method with steps of at most 0.005 ms (error of a burst below
 * 1e-10 of the values for the time constants here, from 0.2 ms on), and does
 * there what docs/models.md says: arrivals, spike, reset. So both have the same
 * grid, and differ by the method of the equations and by single precision.
 *
 * Bound of rounding. In a burst the engine makes an error of at most
 *     eps_j = u (|x_j| + c T_j) + 2^-40,  u = 2^-24,
 * in variable j: the sum x + change is rounded once; in bursts with an arrival
 * or a spike there are three roundings more (coefficient, product, sum), so 4
 * |x_j|. The change is made of terms whose absolute values sum to T_j = dt *
 * size_j, the largest within the burst. c counts the operations on the way of a
 * term, each wrong by u at most: coefficient, product and at most 8 sums of the
 * exact scheme, 10; of exponential Euler 64 (exp and decay_mean count 20 each).
 * What is below 2^-40 is stored as 0. An error at burst s changes variable i at
 * burst t by d x_i(t) / d x_j(s), a product of the Jacobians of bursts, which
 * are taken from the reference by finite differences. The sum over all s and j
 * of |d x_i(t) / d x_j(s)| eps_j(s) is the bound at t, to first order; second
 * order is smaller by the bound itself over the range of x, and is covered by a
 * factor of 1.1.
 *
 * Bound of the method, where it is not exact. Runs with dt, dt/2 and dt/4
 * differ by D1 and D2. With order p differences fall by 2^p for half the step:
 * r = D1 / D2 is to be at least 0.75 * 2^p, which is checked where D2 is 4
 * times the bound of rounding. Then what is left from dt on sums to D1 (1 + 1/r
 * + 1/r^2 + ...) = D1 r / (r - 1), the bound of |x_dt - x|.
 *
 * With a method that is not exact, a reset would come in other bursts for dt/2.
 * Those neurons are compared up to the first spike and its reset, or up to its
 * upswing, where the step is no longer small. Then the time t of the
 * reference's crossing of the threshold lies in the burst that fires, or
 * outside by at most e = bound / slope at the last compared sample; an upswing,
 * which the method crosses in one or two steps, may take a burst more or less.
 *
 * A neuron that fires at random is compared with a reference that fires when it
 * does. The sum of the probabilities of all bursts, as the reference has them,
 * is the expected number of spikes, whose variance is the sum of p (1 - p):
 * three standard deviations are allowed. The draws are the same on every
 * machine.
 *
 * Spikes of the others must come in the same bursts: the reference must clear
 * its threshold by more than the bound whenever it is tested, or the input of
 * the genome is badly chosen and the test says so. A potential that rises
 * through its threshold and goes on may do so in the burst before or after if
 * it is within the bound of it.
 */
#include "neuron_gallery.h"

#include "volley_test.h"

#include <math.h>
#include <stdlib.h>

#include <volley/volley.h>

static const double U = 0x1p-24;

enum { N = GALLERY_VARIABLES };

/* ---- the engine --------------------------------------------------------- */

typedef struct track {
    int shown; /* the variable */
    uint32_t n_bursts;
    double *x;      /* [n_bursts] at the ends of bursts */
    bool *fired;    /* [n_bursts] */
    double *bound;  /* [n_bursts] of rounding; the reference only */
    double *margin; /* [n_bursts] to the threshold; the reference only */
} track;

static void track_init(track *t, int shown, uint32_t n_bursts)
{
    *t = (track){.shown = shown,
                 .n_bursts = n_bursts,
                 .x = calloc(n_bursts, sizeof(double)),
                 .fired = calloc(n_bursts, sizeof(bool)),
                 .bound = calloc(n_bursts, sizeof(double)),
                 .margin = calloc(n_bursts, sizeof(double))};
    assert_true(t->x && t->fired && t->bound && t->margin);
}

static void track_deinit(track *t)
{
    free(t->x);
    free(t->fired);
    free(t->bound);
    free(t->margin);
}

/* The neurons of area A come first or last; A has one. */
typedef struct seen {
    uint32_t id;
    bool fired;
} seen;

static vly_status see(void *arg, uint64_t burst, const uint32_t *ids,
                      uint32_t n_ids, uint64_t digest)
{
    seen *s = arg;
    (void)burst;
    (void)digest;
    s->fired = false;
    for (uint32_t i = 0; i < n_ids; i++)
        s->fired = s->fired || ids[i] == s->id;
    return VLY_OK;
}

static void run_engine(const gallery_neuron *neuron, double dt_ms, track *t)
{
    vly_error error = {.struct_size = sizeof error};
    char path[512];
    char dt[32];
    vly_registry *registry = NULL;
    vly_genome *genome = NULL;
    vly_connectome *connectome = NULL;
    vly_net *net = NULL;
    seen s = {0}; /* area A is the first one */
    snprintf(path, sizeof path, "%s/genomes/neurons/%s.toml",
             VLY_TEST_SOURCE_DIR, neuron->name);
    snprintf(dt, sizeof dt, "%.17g", dt_ms);
    const vly_override set[] = {{"run.dt_ms", dt},
                                {"record.1.interval_ms", dt}};
    assert_ok(vly_genome_load(path, set, 2, &genome, &error), error);
    assert_ok(vly_connectome_build(genome, 1, &connectome, &error), error);
    assert_ok(vly_registry_create(&registry, &error), error);
    assert_ok(vly_net_create(connectome, registry, "cpu:1", 1, &net, &error),
              error);
    vly_net_on_spikes(net, see, &s);
    for (uint32_t b = 0; b < t->n_bursts; b++) {
        assert_ok(vly_net_run(net, 1, &error), error);
        assert_ok(vly_net_read(net, "A", neuron->fields[t->shown], 0, 1,
                               &t->x[b], &error),
                  error);
        t->fired[b] = s.fired;
    }
    vly_net_destroy(net);
    vly_registry_destroy(registry);
    vly_connectome_destroy(connectome);
    vly_genome_destroy(genome);
}

/* ---- the reference ------------------------------------------------------ */

typedef struct state {
    double x[N];
    uint32_t left; /* bursts for which it is refractory */
    double chance; /* of a spike in the last burst */
} state;

static void slopes(const gallery_neuron *neuron, bool refractory,
                   const double *x, double *f, double *size)
{
    neuron->rates(x, f, size);
    for (int i = 0; i < neuron->n; i++)
        if (refractory && neuron->held >> i & 1)
            f[i] = size[i] = 0;
}

/* The equations of one burst; size becomes the largest that is met. */
static void integrate(const gallery_neuron *neuron, bool refractory,
                      double dt_ms, double *x, double *size)
{
    const int n = neuron->n;
    const int steps = (int)ceil(dt_ms / 0.005 - 1e-9);
    const double h = dt_ms / steps;
    double k[4][N], s[N], y[N];
    for (int step = 0; step < steps; step++) {
        for (int stage = 0; stage < 4; stage++) {
            double share = stage == 0 ? 0 : stage == 3 ? 1 : 0.5;
            for (int i = 0; i < n; i++)
                y[i] = x[i] + (stage ? share * h * k[stage - 1][i] : 0);
            slopes(neuron, refractory, y, k[stage], s);
            for (int i = 0; i < n && size; i++)
                size[i] = fmax(size[i], s[i]);
        }
        for (int i = 0; i < n; i++)
            x[i] += h / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
    }
}

static bool arrives(const gallery_neuron *neuron, double dt_ms, uint32_t b)
{
    for (const gallery_event *e = neuron->events; fabs(e->amount) > 0; e++)
        if ((uint32_t)(e->time_ms / dt_ms + 0.5) == b + 1)
            return true;
    return false;
}

/* What arrives at the end of burst b. */
static void arrive(const gallery_neuron *neuron, double dt_ms, uint32_t b,
                   bool refractory, double *x)
{
    for (const gallery_event *e = neuron->events; fabs(e->amount) > 0; e++)
        if ((uint32_t)(e->time_ms / dt_ms + 0.5) == b + 1 &&
            !(refractory && neuron->held >> e->variable & 1))
            x[e->variable] += e->amount;
}

/* One burst; *fired is given (-1: it is found). Returns the distance to the
 * threshold where that is tested, otherwise infinity. */
static double burst(const gallery_neuron *neuron, double dt_ms, uint32_t b,
                    state *now, double *size, int *fired)
{
    bool refractory = now->left > 0;
    double before = neuron->above ? neuron->above(now->x) : -1;
    double margin = HUGE_VAL;
    integrate(neuron, refractory, dt_ms, now->x, size);
    arrive(neuron, dt_ms, b, refractory, now->x);
    if (neuron->above && !refractory) {
        double above = neuron->above(now->x);
        margin = fabs(above);
        if (*fired < 0)
            *fired = above >= 0 && !(neuron->rises && before >= 0);
    }
    now->chance =
        neuron->chance && !refractory ? neuron->chance(now->x, dt_ms) : 0;
    if (*fired < 0)
        *fired = 0;
    now->left -= refractory;
    if (*fired) {
        if (neuron->reset)
            neuron->reset(now->x);
        now->left = (uint32_t)floor(neuron->t_ref_ms / dt_ms + 0.5);
    }
    return margin;
}

/* d x after / d x before of one burst, by central differences of about the cube
 * root of the precision of double. */
static void jacobian_of(const gallery_neuron *neuron, double dt_ms, uint32_t b,
                        const state *before, int fired, double out[N][N])
{
    for (int j = 0; j < neuron->n; j++) {
        state up = *before, down = *before;
        double step = 1e-5 * fmax(1, fabs(before->x[j]));
        up.x[j] += step;
        down.x[j] -= step;
        burst(neuron, dt_ms, b, &up, NULL, &fired);
        burst(neuron, dt_ms, b, &down, NULL, &fired);
        for (int i = 0; i < neuron->n; i++)
            out[i][j] = (up.x[i] - down.x[i]) / (2 * step);
    }
}

typedef struct influence {
    double jacobian[N][N];
    double eps[N];
} influence;

/* The sum over all errors before, at the end of burst b. */
static double rounding_at(const gallery_neuron *neuron, const influence *bursts,
                          int shown, uint32_t b)
{
    double w[N] = {0}, next[N], sum = 0;
    w[shown] = 1;
    for (uint32_t s = b + 1; s-- > 0;) {
        double most = 0;
        for (int j = 0; j < neuron->n; j++)
            sum += fabs(w[j]) * bursts[s].eps[j];
        for (int j = 0; j < neuron->n; j++) {
            next[j] = 0;
            for (int i = 0; i < neuron->n; i++)
                next[j] += w[i] * bursts[s].jacobian[i][j];
        }
        for (int j = 0; j < neuron->n; j++) {
            w[j] = next[j];
            most = fmax(most, fabs(w[j]));
        }
        if (!(most > 1e-12))
            break; /* what is earlier is forgotten */
    }
    return 1.1 * sum;
}

/* given: when the engine fired, of a neuron that fires at random; NULL: it does
 * not. */
static void run_reference(const gallery_neuron *neuron, double dt_ms,
                          const bool *given, track *t)
{
    influence *bursts = calloc(t->n_bursts, sizeof *bursts);
    state now = {{0}, 0, 0};
    double expected = 0, variance = 0, n_spikes = 0;
    assert_non_null(bursts);
    memcpy(now.x, neuron->start, sizeof now.x);
    for (uint32_t b = 0; b < t->n_bursts; b++) {
        const state before = now;
        double size[N] = {0};
        int fired = given ? given[b] : -1;
        assert_false(fired > 0 && before.left > 0);
        t->margin[b] = burst(neuron, dt_ms, b, &now, size, &fired);
        expected += now.chance;
        variance += now.chance * (1 - now.chance);
        n_spikes += fired;
        t->fired[b] = fired;
        t->x[b] = now.x[t->shown];
        jacobian_of(neuron, dt_ms, b, &before, fired, bursts[b].jacobian);
        for (int j = 0; j < neuron->n; j++) {
            double x = fmax(fabs(before.x[j]), fabs(now.x[j]));
            double roundings = fired || arrives(neuron, dt_ms, b) ? 4 : 1;
            double operations = neuron->order ? 64 : 10;
            bursts[b].eps[j] =
                U * (roundings * x + operations * dt_ms * size[j]) + 0x1p-40;
            if (b == 0) /* its start is rounded too */
                bursts[b].eps[j] *= 2;
        }
        t->bound[b] = rounding_at(neuron, bursts, t->shown, b);
    }
    free(bursts);
    if (given) {
        printf("    %g spikes at random, %.2f +- %.2f expected\n", n_spikes,
               expected, sqrt(variance));
        assert_true(expected > 5);
        assert_true(fabs(n_spikes - expected) < 3 * sqrt(variance));
    }
}

/* When it first reaches the threshold, after n bursts at the earliest; *slope
 * of variable 0 after n bursts. */
static double first_crossing(const gallery_neuron *neuron, uint32_t n,
                             double *slope)
{
    const double dt_ms = neuron->dt_ms;
    state now = {{0}, 0, 0};
    double f[N], size[N];
    memcpy(now.x, neuron->start, sizeof now.x);
    for (uint32_t b = 0; b < 1000000; b++) {
        state before = now;
        int fired = 0;
        if (b == n) {
            neuron->rates(now.x, f, size);
            *slope = f[0];
        }
        burst(neuron, dt_ms, b, &now, NULL, &fired);
        if (neuron->above(now.x) < 0)
            continue; /* and not NaN */
        double lo = 0, hi = dt_ms;
        while (hi - lo > 1e-6) {
            double middle = 0.5 * (lo + hi);
            state part = before;
            integrate(neuron, false, middle, part.x, NULL);
            if (neuron->above(part.x) < 0)
                lo = middle;
            else
                hi = middle;
        }
        return b * dt_ms + hi;
    }
    fail_msg("the reference does not reach its threshold in %g ms",
             1e6 * dt_ms);
    return 0;
}

/* ---- both --------------------------------------------------------------- */

/* The largest difference of two runs within 1 ms of the end of burst b: it may
 * pass 0 there. */
static double near(const gallery_neuron *neuron, const track *run,
                   const track *half, uint32_t b)
{
    const uint32_t reach = (uint32_t)ceil(1 / neuron->dt_ms - 1e-9);
    double most = 0;
    for (uint32_t k = b < reach ? 0 : b - reach;
         k <= b + reach && k < run->n_bursts; k++)
        most = fmax(most, fabs(run->x[k] - half->x[2 * k + 1]));
    return most;
}

/* Bounds of the method from runs with dt, dt/2, dt/4: added to those of
 * rounding. */
static void add_method(const gallery_neuron *neuron, track *reference,
                       const track runs[3])
{
    const double least = 0.75 * pow(2, neuron->order);
    double d1 = 0, d2 = 0, rounding = 0;
    double worst = HUGE_VAL;
    for (uint32_t b = 0; b < reference->n_bursts; b++) {
        double x1 = runs[0].x[b];
        double x2 = runs[1].x[2 * b + 1];
        double x4 = runs[2].x[4 * b + 3];
        d1 = fmax(d1, fabs(x1 - x2));
        d2 = fmax(d2, fabs(x2 - x4));
        rounding = fmax(rounding, reference->bound[b]);
        if (d2 > 4 * rounding)
            worst = fmin(worst, d1 / d2);
        /* the differences are wrong by rounding, too */
        reference->bound[b] *= 1 + 2 * least / (least - 1);
        reference->bound[b] +=
            near(neuron, &runs[0], &runs[1], b) * least / (least - 1);
    }
    printf("    differences with dt, dt/2, dt/4: %.3g, %.3g; least ratio %.3g, "
           "wanted %.3g; bound of rounding %.3g\n",
           d1, d2, worst, least, rounding);
    /* it could be seen; others may be exact */
    assert_true(reference->shown > 0 || isfinite(worst));
    assert_true(worst >= least);
}

/* The burst of the first spike. After it, variable 0 is what reset gives,
 * rounded once, and stays so while it is held. */
static void check_first_spike(const gallery_neuron *neuron, double bound)
{
    const uint32_t n = (uint32_t)(neuron->ms / neuron->dt_ms + 0.5);
    double slope = 0;
    double wanted = first_crossing(neuron, n, &slope);
    uint32_t n_all = (uint32_t)(wanted / neuron->dt_ms) + 50;
    track run;
    uint32_t b = 0;
    track_init(&run, 0, n_all);
    run_engine(neuron, neuron->dt_ms, &run);
    while (b < n_all && !run.fired[b])
        b++;
    double found = (b + 1) * neuron->dt_ms;
    double e = bound / slope + (neuron->upswing ? neuron->dt_ms : 0);
    printf("    first spike at %.3f ms, reference %.4f ms, bound %.3g and a "
           "burst\n",
           found, wanted, e);
    assert_true(slope > 0 && b < n_all);
    assert_true(found >= wanted - e && found <= wanted + neuron->dt_ms + e);
    if (neuron->reset) {
        double x[N] = {0};
        uint32_t held = (uint32_t)(neuron->t_ref_ms / neuron->dt_ms + 0.5);
        neuron->reset(x);
        assert_true(b + held + 1 < n_all);
        for (uint32_t k = 0; k <= held; k++)
            assert_close(run.x[b + k], x[0], U * fabs(x[0]));
        assert_true(fabs(run.x[b + held + 1] - x[0]) > U * fabs(x[0]));
    }
    track_deinit(&run);
}

/* Whether burst b or the one before ended within the bound of the threshold. */
static bool is_close(const track *reference, uint32_t b)
{
    return reference->margin[b] <= reference->bound[b] ||
           (b > 0 && reference->margin[b - 1] <= reference->bound[b - 1]);
}

/* Bounds are those of variable 0, as thresholds are. */
static void check_spike(const gallery_neuron *neuron, const track *run,
                        const track *reference, uint32_t b)
{
    if (!neuron->rises && !(reference->margin[b] > reference->bound[b]))
        fail_msg("%s: burst %u is %g from the threshold, bound %g: another "
                 "input is wanted",
                 neuron->name, b, reference->margin[b], reference->bound[b]);
    if (run->fired[b] != reference->fired[b] &&
        !(neuron->rises && is_close(reference, b)))
        fail_msg("%s: burst %u: fired %d, wanted %d", neuron->name, b,
                 run->fired[b], reference->fired[b]);
}

static void check_variable(const gallery_neuron *neuron, int shown)
{
    const uint32_t n = (uint32_t)(neuron->ms / neuron->dt_ms + 0.5);
    const int n_runs = neuron->order ? 3 : 1;
    track reference, runs[3];
    uint32_t n_spikes = 0, n_found = 0;
    double worst = 0, share = 0, bound = 0;
    track_init(&reference, shown, n);
    for (int k = 0; k < n_runs; k++) {
        track_init(&runs[k], shown, n << k);
        run_engine(neuron, neuron->dt_ms / (1 << k), &runs[k]);
    }
    printf("%s of %s, %g ms in bursts of %g ms:\n", neuron->fields[shown],
           neuron->name, neuron->ms, neuron->dt_ms);
    run_reference(neuron, neuron->dt_ms, neuron->chance ? runs[0].fired : NULL,
                  &reference);
    if (neuron->order)
        add_method(neuron, &reference, runs);
    for (uint32_t b = 0; b < n; b++) {
        double distance = fabs(runs[0].x[b] - reference.x[b]);
        if (shown == 0)
            check_spike(neuron, &runs[0], &reference, b);
        if (!(distance <= reference.bound[b]))
            fail_msg("%s: burst %u: %s is %.9g, wanted %.9g +- %.3g",
                     neuron->name, b, neuron->fields[shown], runs[0].x[b],
                     reference.x[b], reference.bound[b]);
        n_spikes += reference.fired[b];
        n_found += runs[0].fired[b];
        worst = fmax(worst, distance);
        bound = fmax(bound, reference.bound[b]);
        share = fmax(share, distance / reference.bound[b]);
    }
    printf("    %u spikes; worst error %.3g, bound up to %.3g; at most %.0f%% "
           "of the bound\n",
           n_spikes, worst, bound, 100 * share);
    assert_int_equal(n_found, n_spikes);
    if (shown == 0 && neuron->order && neuron->above && !neuron->rises)
        check_first_spike(neuron, reference.bound[n - 1]);
    for (int k = 0; k < n_runs; k++)
        track_deinit(&runs[k]);
    track_deinit(&reference);
}

void gallery_check(const gallery_neuron *neuron)
{
    for (int i = 0; i < neuron->n; i++)
        if (neuron->fields[i])
            check_variable(neuron, i);
}
