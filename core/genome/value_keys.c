/* SPDX-License-Identifier: Apache-2.0
 * The tables of keys of values: distributions, draws, choices, mixtures,
 * values by neuron, functions of time.
 */
#include "genome/genome_keys.h"

#include <stddef.h>

#define END                                                                    \
    {                                                                          \
        NULL, VLY_FORM_TEXT, NULL                                              \
    }

#define DISTRIBUTION                                                           \
    {"normal", VLY_FORM_PAIR, "[mean, standard deviation]; clip at 6 sd"},     \
        {"uniform", VLY_FORM_PAIR, "[low, high]"},                             \
        {"lognormal", VLY_FORM_PAIR, "[mu, sigma] of the logarithm"},          \
        {"exponential", VLY_FORM_NUMBER, "mean; clip at 20 means"},            \
    {                                                                          \
        "clip", VLY_FORM_CLIP, "[low, high], redrawn; inf for none"            \
    }
#define DRAW                                                                   \
    {"base", VLY_FORM_NUMBER, "base + scale * r^power"},                       \
        {"scale", VLY_FORM_NUMBER, "see base"},                                \
        {"power", VLY_FORM_NUMBER, "see base; default 1"},                     \
    {                                                                          \
        "draw", VLY_FORM_TEXT,                                                 \
            "name of r, uniform in [0, 1), one a neuron; "                     \
            "the same name is the same draw"                                   \
    }

#define COLUMN                                                                 \
    {"file", VLY_FORM_TEXT, "comma-separated, with a header"},                 \
    {                                                                          \
        "column", VLY_FORM_TEXT, "name in the header: a line a neuron"         \
    }

#define SHARES                                                                 \
    {                                                                          \
        "p", VLY_FORM_NUMBER_LIST,                                             \
            "their shares, which add up to 1; default the same for all"        \
    }
#define CHOICE                                                                 \
    {                                                                          \
        "choice", VLY_FORM_NUMBER_LIST, "numbers: each neuron has one of them" \
    }
#define MIXTURE                                                                \
    {                                                                          \
        "mixture", VLY_FORM_ONES,                                              \
            "numbers and distributions: each neuron has one of them"           \
    }

const vly_key vly_keys_each[] = {
    {"values", VLY_FORM_NUMBER_LIST,
     "one number a neuron; beside at_ms a list without a table is over time"},
    END};
const vly_key vly_keys_course[] = {
    {"sine", VLY_FORM_SECTION,
     "mean + amplitude sin(2 pi frequency t + phase)"},
    {"ramp", VLY_FORM_SECTION, "linear from one number to another"},
    END};
const vly_key vly_keys_sine[] = {
    {"mean", VLY_FORM_NUMBER, "default 0"},
    {"amplitude", VLY_FORM_NUMBER, "the largest difference from mean"},
    {"frequency_hz", VLY_FORM_NUMBER, "periods a second"},
    {"phase_deg", VLY_FORM_NUMBER, "at time 0 of the run; default 0"},
    END};
const vly_key vly_keys_ramp[] = {
    {"from", VLY_FORM_NUMBER, "up to start_ms"},
    {"to", VLY_FORM_NUMBER, "from stop_ms on"},
    {"start_ms", VLY_FORM_NUMBER, "default the start of the stimulus"},
    {"stop_ms", VLY_FORM_NUMBER, "default the end of the stimulus"},
    END};
const vly_key vly_keys_value[] = {DISTRIBUTION, DRAW,   COLUMN, CHOICE,
                                  MIXTURE,      SHARES, END};
const vly_key vly_keys_choice[] = {CHOICE, SHARES, END};
const vly_key vly_keys_mixture[] = {MIXTURE, SHARES, END};
const vly_key vly_keys_distribution[] = {DISTRIBUTION, END};
const vly_key vly_keys_draw[] = {DRAW, END};
