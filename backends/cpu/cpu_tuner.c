/* SPDX-License-Identifier: Apache-2.0
 * The choice of threads. All numbers are tried three times in turn, so that a
 * net whose activity changes, and other programs that come and go, meet all of
 * them alike. More threads are taken only where mean and median of the tries
 * say so: a wait for a processor belongs to the cost (mean), but one that met a
 * single thread by chance must not decide (median). A try takes some ms:
 * starting threads is then under 1% of it.
 */
#include "cpu_tuner.h"

#include <stdio.h>

#define TRY_NS UINT64_C(4000000)
/* Between two measurements: so that a machine that becomes busy is noticed. */
#define LOOK_NS 50e6
/* A number of threads that is so much slower is not tried again. */
#define MUCH_SLOWER 1.5
/* More threads are taken only if bursts are so much faster. */
#define WORTH 0.95
/* The time between two measurements in times of the last one; it is shorter if
 * bursts become MUCH_SLOWER, by another program perhaps. */
#define PAUSE 64u
#define PAUSE_SLOW 16u

void vly_cpu_tuner_init(vly_cpu_tuner *tuner, uint32_t n_most)
{
    *tuner = (vly_cpu_tuner){.n_choices = 0};
    for (uint32_t n = 1; n < n_most && tuner->n_choices + 1 < VLY_CPU_CHOICES;
         n *= 2)
        tuner->choices[tuner->n_choices++].n_threads = n;
    tuner->choices[tuner->n_choices++].n_threads = n_most;
    if (tuner->n_choices == 1)
        tuner->round = VLY_CPU_ROUNDS; /* nothing to measure */
}

static bool is_measuring(const vly_cpu_tuner *tuner)
{
    return tuner->round < VLY_CPU_ROUNDS;
}

/* Bursts to run before the caller says how long they took. */
static uint64_t wanted(const vly_cpu_tuner *tuner)
{
    const double burst_ns = tuner->choices[tuner->at].burst_ns;
    if (is_measuring(tuner))
        return tuner->block != 0 ? tuner->block - tuner->in_block
                                 : tuner->in_block + 1;
    const double n = burst_ns > 0.0 ? LOOK_NS / burst_ns : 1e15;
    return n > 1.0 && n < 1e15 ? (uint64_t)n : n > 1.0 ? UINT64_MAX : 1;
}

uint32_t vly_cpu_tuner_next(const vly_cpu_tuner *tuner, uint64_t *n_bursts)
{
    const uint64_t n = wanted(tuner);
    *n_bursts = n < *n_bursts ? n : *n_bursts;
    return tuner->choices[tuner->at].n_threads;
}

static double mean_ns(const vly_cpu_choice *choice)
{
    return choice->bursts != 0 ? (double)choice->ns / (double)choice->bursts
                               : 0.0;
}

static void begin(vly_cpu_tuner *tuner)
{
    for (uint32_t c = 0; c < tuner->n_choices; c++) {
        tuner->choices[c].dropped = false;
        tuner->choices[c].bursts = 0;
        tuner->choices[c].ns = 0;
        for (uint32_t r = 0; r < VLY_CPU_ROUNDS; r++)
            tuner->choices[c].tries[r] = 0.0;
    }
    tuner->at = 0;
    tuner->round = 0;
    tuner->block = 0;
    tuner->in_block = 0;
    tuner->spent_ns = 0;
}

/* Of three tries; one that was dropped has fewer, the last of which counts. */
static double median_ns(const vly_cpu_choice *choice)
{
    const double *t = choice->tries;
    if (t[1] <= 0.0)
        return t[0];
    if (t[2] <= 0.0)
        return t[1];
    const double low = t[0] < t[1] ? t[0] : t[1];
    const double high = t[0] < t[1] ? t[1] : t[0];
    return t[2] < low ? low : t[2] > high ? high : t[2];
}

/* The fewest threads that are nearly as fast as the fastest. */
static void choose(vly_cpu_tuner *tuner)
{
    const vly_cpu_choice *best = &tuner->choices[0];
    tuner->at = 0;
    for (uint32_t c = 0; c < tuner->n_choices; c++) {
        vly_cpu_choice *choice = &tuner->choices[c];
        choice->burst_ns = mean_ns(choice);
        if (choice->burst_ns >= WORTH * mean_ns(best) ||
            median_ns(choice) >= WORTH * median_ns(best))
            continue;
        best = choice;
        tuner->at = c;
    }
    tuner->chosen = tuner->at;
    tuner->n_measurements++;
    tuner->since_ns = 0;
    tuner->since_bursts = 0;
}

/* One thread is always tried: the others are compared with it. */
static void drop_slow(vly_cpu_tuner *tuner)
{
    double best = mean_ns(&tuner->choices[0]);
    for (uint32_t c = 1; c < tuner->n_choices; c++)
        if (mean_ns(&tuner->choices[c]) < best)
            best = mean_ns(&tuner->choices[c]);
    for (uint32_t c = 1; c < tuner->n_choices; c++)
        if (mean_ns(&tuner->choices[c]) > MUCH_SLOWER * best)
            tuner->choices[c].dropped = true;
}

/* The next number that is still tried; after the last one the next round. */
static void go_on(vly_cpu_tuner *tuner)
{
    tuner->in_block = 0;
    do {
        if (++tuner->at < tuner->n_choices)
            continue;
        tuner->at = 0;
        tuner->round++;
        drop_slow(tuner);
    } while (is_measuring(tuner) && tuner->choices[tuner->at].dropped);
    if (!is_measuring(tuner))
        choose(tuner);
}

/* Before the first try: how many bursts one has. The number doubles as long as
 * the caller has as many, up to the time of a try in all. */
static void find_block(vly_cpu_tuner *tuner, uint64_t n_bursts)
{
    tuner->in_block += n_bursts;
    if (tuner->spent_ns < TRY_NS)
        return;
    const double n =
        (double)tuner->in_block * (double)TRY_NS / (double)tuner->spent_ns;
    tuner->block = n > 1.0 ? (uint64_t)n : 1;
    tuner->in_block = 0;
}

static void rest(vly_cpu_tuner *tuner, uint64_t n_bursts, uint64_t ns)
{
    const double before = tuner->choices[tuner->at].burst_ns;
    tuner->since_ns += ns;
    tuner->since_bursts += n_bursts;
    const bool slower = (double)tuner->since_ns >
                        MUCH_SLOWER * before * (double)tuner->since_bursts;
    if (tuner->since_ns >= tuner->spent_ns * (slower ? PAUSE_SLOW : PAUSE))
        begin(tuner);
}

void vly_cpu_tuner_took(vly_cpu_tuner *tuner, uint64_t n_bursts, uint64_t ns)
{
    if (tuner->n_choices < 2 || n_bursts == 0)
        return;
    if (!is_measuring(tuner)) {
        rest(tuner, n_bursts, ns);
        return;
    }
    tuner->spent_ns += ns;
    if (tuner->block == 0) {
        find_block(tuner, n_bursts);
        return;
    }
    vly_cpu_choice *choice = &tuner->choices[tuner->at];
    choice->bursts += n_bursts;
    choice->ns += ns;
    choice->tries[tuner->round] += (double)ns;
    tuner->in_block += n_bursts;
    if (tuner->in_block < tuner->block)
        return;
    choice->tries[tuner->round] /= (double)tuner->in_block;
    go_on(tuner);
}

/* Whether a number that was not chosen is faster in the mean, by a single try.
 */
static bool is_odd(const vly_cpu_tuner *tuner)
{
    const double chosen = tuner->choices[tuner->chosen].burst_ns;
    for (uint32_t c = 0; c < tuner->n_choices; c++)
        if (tuner->choices[c].burst_ns < WORTH * chosen)
            return true;
    return false;
}

void vly_cpu_tuner_print(const vly_cpu_tuner *tuner, char *text, size_t size)
{
    const uint32_t most = tuner->choices[tuner->n_choices - 1].n_threads;
    size_t used = 0;
    int n = snprintf(text, size, "%u of %u threads",
                     tuner->choices[tuner->chosen].n_threads, most);
    if (tuner->n_choices < 2)
        return;
    if (tuner->n_measurements == 0) {
        snprintf(text, size, "up to %u threads, not measured yet", most);
        return;
    }
    for (uint32_t c = 0; c < tuner->n_choices; c++) {
        used += n > 0 ? (size_t)n : 0;
        if (used >= size)
            return;
        n = snprintf(text + used, size - used, "%s%.3g%s with %u%s",
                     c == 0 ? " (a burst takes " : ", ",
                     tuner->choices[c].burst_ns * 1e-3, c == 0 ? " us" : "",
                     tuner->choices[c].n_threads,
                     c + 1 != tuner->n_choices ? ""
                     : is_odd(tuner)           ? "; not so in most tries)"
                                               : ")");
    }
}
