/* SPDX-License-Identifier: Apache-2.0
 * The table: the genomes of nets/, which the build puts into a header, the
 * changes written while they run, and the digests of the second simulator.
 */
#include "conformance/conformance.h"

#include <string.h>

#include "conformance_nets.h" /* made by CMake */

/* ---- what is written while a net runs ---------------------------------- */

#define MINUS_52 0xc2500000u
#define MINUS_60 0xc2700000u
#define QUARTER 0x00010000u /* downwards from -60: steps of 0.25 */
#define FIELD(burst, area, field, first, count, word, step)                    \
    {                                                                          \
        burst, VLY_CHANGE_FIELD, area, field, first, count, word, step         \
    }
#define COEF(burst, area, coef, each, word, step)                              \
    {                                                                          \
        burst, VLY_CHANGE_COEF, area, coef, 0, each, word, step                \
    }
#define STIMULUS(burst, index, count, word, step)                              \
    {                                                                          \
        burst, VLY_CHANGE_STIMULUS, index, 0, 0, count, word, step             \
    }

/* lif_psc_delta: v_mv, refractory */
static const vly_conformance_change changed_fields[] = {
    FIELD(0, 0, 0, 0, 40, MINUS_52, 0),
    FIELD(10, 0, 0, 3, 31, 0xc2000000u, 0), /* -32 mV: all of them fire */
    FIELD(10, 1, 1, 0, 17, 3, 1),
    FIELD(11, 1, 0, 32, 1, MINUS_60, 0),
    FIELD(50, 0, 1, 39, 1, 20, 0),
    FIELD(64, 0, 0, 0, 40, MINUS_60, QUARTER),
    FIELD(64, 1, 0, 0, 33, 0xc2480001u, 0), /* just below -50 mV */
    FIELD(99, 1, 0, 1, 2, 0, 0),
};

/* p22, drive, e_l, v_th, v_reset, t_ref */
static const vly_conformance_change changed_coefs[] = {
    COEF(20, 0, 3, 0, 0xc2680000u, 0),        /* -58 mV */
    COEF(37, 0, 3, 1, MINUS_60, 0 - QUARTER), /* up to -56.25 mV */
    COEF(50, 0, 5, 0, 5, 0),
    COEF(51, 1, 5, 0, 1, 0),
    COEF(64, 0, 5, 1, 0, 1),
    COEF(65, 0, 0, 1, 0x3f000000u, 0x40000u), /* leak of each */
    COEF(80, 0, 2, 0, 0xc2780000u, 0),        /* rest at -62 mV */
    COEF(81, 0, 3, 0, MINUS_52, 0),
    COEF(100, 1, 4, 1, 0xc28c0000u, 0x8000u), /* reset from -70 mV down */
};

/* lif_psc_exp: p11, p22, p21, drive, e_l, v_th; izhikevich: half_dt, a_dt, b,
 * c, d, v_peak */
static const vly_conformance_change changed_models[] = {
    COEF(15, 0, 0, 0, 0x3f400000u, 0),
    COEF(16, 0, 5, 1, MINUS_60, 0 - QUARTER),
    COEF(30, 1, 3, 1, 0xc2820000u, 0 - QUARTER),
    COEF(31, 1, 4, 0, 0x40000000u, 0),
    FIELD(40, 0, 1, 5, 20, 0x44000000u, 0x10000u), /* 512 pA and more */
    FIELD(40, 1, 1, 0, 31, 0xc1200000u, 0x8000u),
    COEF(64, 1, 5, 0, 0x41a00000u, 0),
    COEF(90, 0, 4, 0, 0xc2800000u, 0),
};

/* threshold, threshold_limit, keep, refractory_period, fire_limit, snooze,
 * excitability, accumulate, psp, mp_driven, uniform_psp */
static const vly_conformance_change changed_feagi[] = {
    COEF(10, 0, 0, 1, 0x40000000u, 0x80000u),
    COEF(20, 0, 6, 0, 0x80000000u, 0),
    COEF(21, 1, 6, 1, 0x10000000u, 0x0f000000u),
    FIELD(30, 0, 1, 7, 40, 2, 0),
    FIELD(30, 1, 0, 0, 33, 0x40600000u, 0x8000u),
    COEF(40, 0, 8, 1, 0, 1),
    COEF(50, 0, 10, 0, 0, 0),
    COEF(60, 0, 10, 1, 0, 0x11111111u & 1u),
    COEF(64, 0, 3, 1, 0, 1),
    COEF(65, 0, 4, 0, 3, 0),
    COEF(65, 0, 5, 0, 4, 0),
    FIELD(70, 0, 2, 0, 65, 0, 1),
    COEF(80, 0, 9, 0, 1, 0),
    COEF(90, 0, 7, 0, 0, 0),
    COEF(100, 1, 2, 0, 0x3f000000u, 0),
    COEF(101, 0, 6, 0, 0xffffffffu, 0),
};

static const vly_conformance_change changed_stimuli[] = {
    STIMULUS(0, 0, 2, 0xd0000000u, 0x20000000u),
    STIMULUS(17, 0, 3, 0x40000000u, 0x40000000u),
    STIMULUS(18, 0, 1, 0xffffffffu, 0),
    STIMULUS(19, 0, 0, 0, 0),
    STIMULUS(30, 0, 16, 0x80000000u, 0x08000000u),
    STIMULUS(31, 1, 12, 0x10000000u, 0x10000000u),
    STIMULUS(64, 1, 1, 0, 0),
    STIMULUS(90, 0, 1, 0, 0),
};

/* lif_cond_exp: k_ex, p_in, e_in, v_th; adex: sharpness, v_t, v_peak, a, b;
 * lif_psc_exp2: p_ex, p_in, v_th */
static const vly_conformance_change changed_ports[] = {
    COEF(15, 0, 1, 1, 0x3a800000u, 0x80000u),
    COEF(16, 0, 9, 1, MINUS_60, 0 - QUARTER),
    COEF(20, 1, 15, 0, 0xc2200000u, 0), /* peak at -40 mV */
    COEF(25, 1, 5, 1, 0x3f000000u, 0x100000u),
    FIELD(30, 1, 1, 3, 20, 0xc3800000u, 0x80000u), /* w from -256 pA down */
    FIELD(30, 0, 2, 5, 20, 0x41000000u, 0x80000u),
    FIELD(31, 0, 3, 0, 33, 0, 1),
    FIELD(40, 2, 2, 0, 16, 0xc4000000u, 0x80000u), /* -512 pA and more */
    FIELD(41, 1, 2, 0, 31, 0x42000000u, 0x80000u),
    COEF(50, 0, 8, 0, 0xc28c0000u, 0), /* -70 mV */
    COEF(55, 1, 14, 1, MINUS_52, 0x4000u),
    COEF(60, 2, 0, 1, 0x3e800000u, 0x80000u),
    COEF(64, 2, 1, 0, 0x3f400000u, 0),
    COEF(65, 1, 17, 1, 0x3f800000u, 0x100000u),
    COEF(66, 1, 18, 0, 0, 0),
    FIELD(70, 1, 4, 0, 31, 0, 1),
    COEF(80, 0, 4, 0, 0x3f000000u, 0),
    COEF(90, 2, 7, 0, MINUS_60, 0),
};

#define CHANGES(name)                                                          \
    {                                                                          \
#name, name, sizeof name / sizeof name[0]                              \
    }
static const struct {
    const char *name;
    const vly_conformance_change *changes;
    size_t n;
} changes[] = {CHANGES(changed_fields),  CHANGES(changed_coefs),
               CHANGES(changed_models),  CHANGES(changed_feagi),
               CHANGES(changed_stimuli), CHANGES(changed_ports)};

/* ---- values for modulators ---------------------------------------------- */

#define GIVEN(at, projection, units)                                           \
    {                                                                          \
        .burst = at, .neuron = projection, .value = units                      \
    }

/* 65536 is 1/s. Bursts: the first, such that begin with a change of weights,
 * others, neighbours, and one after the last change. Values: of more than 24
 * bits, which are rounded as floats, the largest ones, and 0 alone, which
 * starts a new age. */
static const vly_input given_rewards[] = {
    GIVEN(0, 0, 0x120000),
    GIVEN(3, 0, -0x80000),
    GIVEN(3, 1, 0x50000),
    GIVEN(3, 2, 0x1000001),
    GIVEN(6, 0, 0x30000),
    GIVEN(7, 0, 0x3ffff),
    GIVEN(8, 0, 1),
    GIVEN(60, 2, 0x2345679),
    GIVEN(61, 2, -0x1ffffff),
    GIVEN(62, 1, -0x3000003),
    GIVEN(99, 2, 0),
    GIVEN(100, 2, 0x40000),
    GIVEN(101, 2, -0x2000001),
    GIVEN(102, 0, 0),
    GIVEN(123, 2, 0x3fffffff),
    GIVEN(124, 2, -0x3ffffffe),
    GIVEN(150, 0, 0x800000),
    GIVEN(160, 1, 0x7654321),
    GIVEN(198, 0, 0x10000),
    GIVEN(199, 0, 0x10000),
};

static const struct {
    const char *name;
    const vly_input *given;
    size_t n;
} modulations[] = {{"plastic_reward", given_rewards,
                    sizeof given_rewards / sizeof given_rewards[0]}};

static const char *const every_allocation[] = {"delays",
                                               "mixed",
                                               "feagi_divided",
                                               "conductances",
                                               "plastic_dendritic",
                                               "short_term",
                                               "plastic_reward"};

/* ---- genomes and digests ----------------------------------------------- */

static const struct {
    const char *name;
    const char *genome;
} nets[] = {
#define VLY_NET(id, text) {#id, text},
    VLY_CONFORMANCE_NETS
#undef VLY_NET
};

static const vly_conformance_golden goldens[] = {
#define VLY_GOLDEN(name, spikes, events, digest, state_digest, trace)          \
    {#name, spikes, events, digest, state_digest, trace},
#include "conformance/conformance_golden.def"
#undef VLY_GOLDEN
    {.name = NULL}};

uint32_t vly_conformance_count(void)
{
    return sizeof nets / sizeof nets[0];
}

vly_conformance_case vly_conformance_get(uint32_t index)
{
    vly_conformance_case entry = {.name = nets[index].name,
                                  .genome = nets[index].genome};
    size_t n = strcspn(entry.genome + 2, "\n");
    if (n >= sizeof entry.about)
        n = sizeof entry.about - 1;
    memcpy(entry.about, entry.genome + 2, n);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++)
        if (strcmp(changes[i].name, entry.name) == 0) {
            entry.changes = changes[i].changes;
            entry.n_changes = (uint32_t)changes[i].n;
        }
    for (size_t i = 0; i < sizeof modulations / sizeof modulations[0]; i++)
        if (strcmp(modulations[i].name, entry.name) == 0) {
            entry.modulations = modulations[i].given;
            entry.n_modulations = (uint32_t)modulations[i].n;
        }
    for (size_t i = 0; i < sizeof every_allocation / sizeof every_allocation[0];
         i++)
        if (strcmp(every_allocation[i], entry.name) == 0)
            entry.every_allocation = 1;
    return entry;
}

const vly_conformance_golden *vly_conformance_golden_of(const char *name)
{
    for (size_t i = 0; goldens[i].name; i++)
        if (strcmp(goldens[i].name, name) == 0)
            return &goldens[i];
    return NULL;
}

void vly_conformance_words(const vly_conformance_change *change,
                           uint32_t *words, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        words[i] = change->word + i % 16 * change->step;
}
