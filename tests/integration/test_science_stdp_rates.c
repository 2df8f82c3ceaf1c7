/* SPDX-License-Identifier: Apache-2.0
 * Weights where the literature has numbers: the triplet rule under the pairing
 * protocol of Pfister and Gerstner 2006 (doi:10.1523/JNEUROSCI.1425-06.2006),
 * and the fixed points of pair rules for independent Poisson spikes (Guetig et
 * al. 2003, doi:10.1523/JNEUROSCI.23-09-03697.2003; Morrison et al. 2007,
 * doi:10.1162/neco.2007.19.6.1437).
 */
#include "volley_test.h"

#include <math.h>
#include <stdlib.h>

#include "science_net.h"
#include "science_weights.h"

/* A target that fires where it is kicked: what learns is too small to count. */
#define KICKED                                                                 \
    "model = \"lif_psc_delta\"\nt_ref_ms = 0\ntau_m_ms = 0.01\n"               \
    "e_l_mv = 0\nv_reset_mv = 0\nv_mv = 0\nv_th_mv = 500\n"

/* ---- triplets ---------------------------------------------------------- */

enum { PAIRS = 60, PROTOCOLS = 10 };

/* Both trains of one pair of neurons, 1 ms a burst. Rule: the change of w that
 * the rule's equations give for these trains; experiment: that of the paper's
 * data, which the parameters were fitted to. */
typedef struct protocol {
    double rate_hz;
    int period; /* ms */
    int lead;   /* ms from the arrival to the spike of the target */
    double rule;
    double experiment;
} protocol;

static const protocol protocols[PROTOCOLS] = {
    {0.1, 10000, 10, 0.0000, -0.04}, {10, 100, 10, 0.1186, 0.14},
    {20, 50, 10, 0.2278, 0.29},      {40, 25, 10, 0.5321, 0.53},
    {50, 20, 10, 0.7627, 0.56},      {0.1, 10000, -10, -0.3166, -0.29},
    {10, 100, -10, -0.3322, -0.41},  {20, 50, -10, -0.3417, -0.34},
    {40, 25, -10, 0.1737, 0.56},     {50, 20, -10, 0.7492, 0.75}};

static size_t put_trains(char *text, size_t n_text, bool target)
{
    size_t n = 0;
    for (int p = 0; p < PROTOCOLS; p++) {
        n += (size_t)snprintf(text + n, n_text - n, "%s[", p ? ", " : "");
        for (int k = 0; k < PAIRS; k++)
            n += (size_t)snprintf(
                text + n, n_text - n, "%s%d", k ? ", " : "",
                100 + k * protocols[p].period +
                    (target ? protocols[p].lead + 1 : 0)); /* delay 1 */
        n += (size_t)snprintf(text + n, n_text - n, "]");
    }
    assert_true(n < n_text);
    return n;
}

/* Weights begin at half of w_max, so the amplitudes, shares of w_max here and
 * of the initial weight in the paper, are halved. The table has four digits:
 * the bound is half a digit and 1e-6. */
static void test_triplet(void **state)
{
    static char text[20000], pre[8000], post[8000];
    bool good = true;
    science_net s;
    (void)state;
    put_trains(pre, sizeof pre, false);
    put_trains(post, sizeof post, true);
    int n = snprintf(
        text, sizeof text,
        "format = 1\n[run]\ndt_ms = 1\nbursts = 1\n[area.source]\n"
        "generator = \"spikes\"\nneurons = %d\nbursts = [%s]\n"
        "[area.A]\n" KICKED "neurons = %d\n[plasticity.p]\n"
        "rule = \"stdp_triplet\"\nw_max_mv = 2\ntau_plus_ms = 16.8\n"
        "tau_minus_ms = 33.7\ntau_x_ms = 101\ntau_y_ms = 114\n"
        "a2_plus = 0\na2_minus = 3.55e-3\na3_plus = 3.25e-3\na3_minus = 0\n"
        "[[map]]\nid = \"learns\"\nfrom = \"source\"\nto = \"A\"\n"
        "rule = \"one_to_one\"\nweight_mv = 1\ndelay_bursts = 1\n"
        "plasticity = \"p\"\n[[stimulus]]\nkind = \"spikes\"\nto = \"A\"\n"
        "bursts = [%s]\nweight_mv = 1000\n",
        PROTOCOLS, pre, PROTOCOLS, post);
    assert_true(n > 0 && (size_t)n < sizeof text);
    science_open(&s, text);
    assert_ok(vly_net_run(s.net, 60 * 10000 + 200, &s.error), s.error);
    science_weights w = science_weights_read(s.net, s.connectome, "learns");
    assert_int_equal(w.n, PROTOCOLS);
    printf("60 pairs at   dt, ms      dw    rule  experiment\n");
    for (int p = 0; p < PROTOCOLS; p++) {
        const protocol *one = &protocols[p];
        double dw = w.w[p] - 1;
        printf("%8g Hz %9d %8.4f %7.4f %7.2f\n", one->rate_hz, one->lead, dw,
               one->rule, one->experiment);
        good &= fabs(dw - one->rule) <= 5.1e-5;
    }
    science_weights_free(&w);
    science_close(&s);
    assert_true(good);
}

/* ---- fixed points ------------------------------------------------------ */

enum { SYNAPSES = 500, READS = 10 };
static const double RATE_HZ = 100;

/* Means of the traces are exact in bursts too: a spike with probability p in a
 * burst gives p / (exp(dt / tau) - 1), spikes of the same burst left out. So
 * only the ratio of two time constants differs from that in continuous time. */
typedef struct fixed_point {
    const char *name;
    const char *rule; /* with w_max */
    double w_max;
    double start;
    double published;
    double wanted; /* in bursts of 1 ms */
    double settle_s;
    double bias; /* bound of the mean's distance from it by the rule itself */
} fixed_point;

/* Speeds, as shares of the distance a second: lambda r^2 tau times (1 + alpha)
 * (mu 1), sqrt(.52) + sqrt(.48) (mu .5; r^2 tau = 200), and alpha (1 - mu)
 * (power law). The run lasts for at least 5.6 times that first, so at most
 * 0.4% of the distance at the start remains.
 *
 * bias: (a) a weight is correlated with the target's trace, since a spike of
 * the target raises both: of order lambda * r tau, less as w_max - w falls;
 * (b) curvature times variance, with mu .5 and .4. Both fall with lambda; by
 * hand the sum is 0.0005 with lambda .001, and .4 pA of 44 with lambda .02. */
static fixed_point fixed_points[] = {
    {"multiplicative, alpha 1.05",
     "rule = \"stdp\"\nw_max_mv = 1\nlambda = 0.001\nalpha = 1.05\n", 1, 0.4,
     0.4878, 0.4878, 15, 1.5e-3},
    {"mu 0.5, alpha 1.05",
     "rule = \"stdp\"\nw_max_mv = 1\nlambda = 0.001\nalpha = 1.05\n"
     "mu_plus = 0.5\nmu_minus = 0.5\n",
     1, 0.4, 0.4756, 0.4756, 20, 1.5e-3},
    {"multiplicative, alpha 2.02",
     "rule = \"stdp\"\nw_max_mv = 1\nlambda = 0.001\nalpha = 2.02\n", 1, 0.4,
     0.3311, 0.3311, 10, 1.5e-3},
    {"power law, Morrison 2007",
     "rule = \"stdp_power\"\nw_max_mv = 150\nlambda = 0.02\n"
     "alpha = 0.1057\nmu = 0.4\n",
     150, 36, 42.32, 42.32, 25, 0.6},
    {"power law, hpc_benchmark",
     "rule = \"stdp_power\"\nw_max_mv = 150\nlambda = 0.02\n"
     "alpha = 0.0513\nmu = 0.4\ntau_plus_ms = 15\ntau_minus_ms = 30\n",
     150, 36, 44.47, 0, 40, 0.6},
};

/* Pairs of neurons with one synapse each, all independent. */
static void open_pairs(science_net *s, const fixed_point *f)
{
    static char text[3000];
    int n = snprintf(
        text, sizeof text,
        "format = 1\n[run]\ndt_ms = 1\nbursts = 1\n[area.source]\n"
        "generator = \"poisson\"\nneurons = %d\nrate_hz = %g\n"
        "[area.A]\n" KICKED "neurons = %d\n[plasticity.p]\n%s"
        "[[map]]\nid = \"learns\"\nfrom = \"source\"\nto = \"A\"\n"
        "rule = \"one_to_one\"\nweight_mv = %g\ndelay_bursts = 1\n"
        "plasticity = \"p\"\n[[stimulus]]\nkind = \"poisson\"\nto = \"A\"\n"
        "rate_hz = %.17g\nweight_mv = 1000\n",
        SYNAPSES, RATE_HZ, SYNAPSES, f->rule, f->start,
        -1000 * log(1 - RATE_HZ * 1e-3)); /* one spike or more */
    assert_true(n > 0 && (size_t)n < sizeof text);
    science_open(s, text);
}

/* Mean over synapses and reads. Reads are correlated: only synapses count as
 * independent in the standard error. */
static bool check_point(const fixed_point *f)
{
    double mean = 0, sd = 0;
    science_net s;
    open_pairs(&s, f);
    assert_ok(vly_net_run(s.net, (uint64_t)(1000 * f->settle_s), &s.error),
              s.error);
    for (int k = 0; k < READS; k++) {
        assert_ok(vly_net_run(s.net, 500, &s.error), s.error);
        science_weights w = science_weights_read(s.net, s.connectome, "learns");
        weight_figures figures = science_weights_figures(&w, f->w_max);
        mean += figures.mean / READS;
        sd += figures.sd / READS;
        science_weights_free(&w);
    }
    science_close(&s);
    double bound = 5 * sd / sqrt(SYNAPSES) + f->bias;
    printf("%-28s w %.4f (sd %.4f), published %.4f, in bursts %.4f, bound "
           "%.2g\n",
           f->name, mean, sd, f->published, f->wanted, bound);
    return fabs(mean - f->wanted) <= bound;
}

static void test_fixed_points(void **state)
{
    const size_t n = sizeof fixed_points / sizeof fixed_points[0];
    bool good = true;
    (void)state;
    fixed_points[n - 1].wanted =
        pow((exp(1.0 / 30) - 1) / (exp(1.0 / 15) - 1) / 0.0513, 1 / 0.6);
    for (size_t k = 0; k < n; k++)
        good &= check_point(&fixed_points[k]);
    assert_true(good);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_triplet),
                                          cmocka_unit_test(test_fixed_points)};

VLY_TEST_MAIN(tests)
