/* SPDX-License-Identifier: Apache-2.0
 * Figures of a network over several runs, ours and those of a reference.
 *
 * Networks of one kind differ by chance. If r is the mean of the reference over
 * n of them, s its deviation and x the mean over m of ours, (x - r) / (s sqrt(1
 * / n + 1 / m)) is Student-t distributed with n - 1 degrees of freedom if both
 * simulate the same thing.
 */
#ifndef VOLLEY_SCIENCE_SAMPLE_H
#define VOLLEY_SCIENCE_SAMPLE_H

enum { SCIENCE_FIGURES = 4 };

typedef struct science_sample {
    double n;
    double sum[SCIENCE_FIGURES];
    double squares[SCIENCE_FIGURES];
} science_sample;

void science_sample_add(science_sample *s, const double x[SCIENCE_FIGURES]);
/* Rows "NAME,seed,figures..." of a file of tests/golden, whose first line has
 * names, into the sample of the network that they name. */
void science_sample_read(const char *file, const char *const networks[2],
                         science_sample samples[2]);
/* Prints each figure of both. Whether all have |t| <= most. */
int science_sample_agree(const science_sample *ours,
                         const science_sample *reference, const char *network,
                         const char *const names[SCIENCE_FIGURES], double most);

/* Whether a of n and b of m may have the same chance: Fisher's exact test, each
 * way, gives at least `least`. */
int science_shares_agree(int a, int n, int b, int m, double least);

#endif
