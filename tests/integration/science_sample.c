/* SPDX-License-Identifier: Apache-2.0
 * Figures of a network over several runs, ours and those of a reference.
 */
#include "science_sample.h"

#include "volley_test.h"

#include <math.h>
#include <stdlib.h>

void science_sample_add(science_sample *s, const double x[SCIENCE_FIGURES])
{
    s->n += 1;
    for (int f = 0; f < SCIENCE_FIGURES; f++) {
        s->sum[f] += x[f];
        s->squares[f] += x[f] * x[f];
    }
}

void science_sample_read(const char *file, const char *const networks[2],
                         science_sample samples[2])
{
    char path[300], line[200], name[16];
    double x[SCIENCE_FIGURES];
    unsigned seed;
    snprintf(path, sizeof path, "%s/tests/golden/%s", VLY_TEST_SOURCE_DIR,
             file);
    FILE *stream = fopen(path, "r");
    assert_non_null(stream);
    assert_non_null(fgets(line, sizeof line, stream));
    while (fgets(line, sizeof line, stream)) {
        assert_int_equal(sscanf(line, "%15[^,],%u,%lf,%lf,%lf,%lf", name, &seed,
                                &x[0], &x[1], &x[2], &x[3]),
                         6);
        int second = strcmp(name, networks[1]) == 0;
        assert_true(second || strcmp(name, networks[0]) == 0);
        science_sample_add(&samples[second], x);
    }
    fclose(stream);
}

int science_sample_agree(const science_sample *ours,
                         const science_sample *reference, const char *network,
                         const char *const names[SCIENCE_FIGURES], double most)
{
    int good = 1;
    for (int f = 0; f < SCIENCE_FIGURES; f++) {
        double found = ours->sum[f] / ours->n;
        double wanted = reference->sum[f] / reference->n;
        double deviation =
            sqrt((reference->squares[f] - reference->n * wanted * wanted) /
                 (reference->n - 1));
        double t =
            (found - wanted) / deviation / sqrt(1 / reference->n + 1 / ours->n);
        printf("%s %-6s %.4g, reference %.4g, t %.2f\n", network, names[f],
               found, wanted, t);
        good &= fabs(t) <= most;
    }
    return good;
}

static double log_choose(int n, int k)
{
    return lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0);
}

int science_shares_agree(int a, int n, int b, int m, double least)
{
    double fewer = 0, more = 0;
    for (int k = 0; k <= n; k++) {
        if (k > a + b || a + b - k > m)
            continue;
        double chance = exp(log_choose(n, k) + log_choose(m, a + b - k) -
                            log_choose(n + m, a + b));
        fewer += k <= a ? chance : 0;
        more += k >= a ? chance : 0;
    }
    return fewer >= least && more >= least;
}
