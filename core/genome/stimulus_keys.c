/* SPDX-License-Identifier: Apache-2.0
 * The tables of keys of stimuli and generators.
 */
#include "genome/genome_keys.h"

#include <stddef.h>

#define END                                                                    \
    {                                                                          \
        NULL, VLY_FORM_TEXT, NULL                                              \
    }

/* Of every stimulus. */
#define STIMULUS                                                               \
    {"kind", VLY_FORM_KIND, "poisson, normal, dc, ..."},                       \
        {"to", VLY_FORM_AREAS,                                                 \
         "areas or parts of them; each has draws of its own"},                 \
        {"id", VLY_FORM_TEXT, "keys its draws, addresses it in --set"},        \
        {"first", VLY_FORM_WHOLE, "first neuron of the area; default 0"},      \
    {                                                                          \
        "n", VLY_FORM_WHOLE, "how many neurons; default all from first on"     \
    }
#define PORT                                                                   \
    {                                                                          \
        "port", VLY_FORM_PORT, "of the target, as of a map"                    \
    }
#define WINDOW                                                                 \
    {"start_ms", VLY_FORM_NUMBER, "default 0"},                                \
        {"start_burst", VLY_FORM_WHOLE, "the same in bursts"},                 \
        {"stop_ms", VLY_FORM_NUMBER, "first time after; default never"},       \
    {                                                                          \
        "stop_burst", VLY_FORM_WHOLE, "the same in bursts"                     \
    }
#define EVERY                                                                  \
    {"every_ms", VLY_FORM_NUMBER,                                              \
     "step of a sine or a ramp, each with the value at its middle; "           \
     "default 1"},                                                             \
    {                                                                          \
        "every_bursts", VLY_FORM_WHOLE, "the same in bursts"                   \
    }
#define STEPS                                                                  \
    {"at_ms", VLY_FORM_NUMBER_LIST,                                            \
     "times from which the values of lists hold, one each, up to stop_ms; "    \
     "instead of start_ms"},                                                   \
        {"at_bursts", VLY_FORM_INDEXES, "the same in bursts"}, EVERY
#define TIMES                                                                  \
    {"times_ms", VLY_FORM_TIMES, "arrivals: one list for all, or one each"},   \
        {"bursts", VLY_FORM_TIMES, "the same in bursts"},                      \
    {                                                                          \
        "times_at", VLY_FORM_TEXT,                                             \
            "times are where bursts \"begin\" (default of times_ms) or "       \
            "\"end\" "                                                         \
            "(default of files), as recorded ones"                             \
    }
#define SPIKE_FILE                                                             \
    {"file", VLY_FORM_TEXT,                                                    \
     "spikes as text (time_ms, neuron, weight) or SONATA; instead of times"},  \
    {                                                                          \
        "population", VLY_FORM_TEXT,                                           \
            "of the file, or its area; default the only one"                   \
    }
#define WEIGHT                                                                 \
    {                                                                          \
        "weight*", VLY_FORM_EACH, "of one event, in the port's unit"           \
    }
/* of listed events: not by neuron */
#define WEIGHT_OF_AREA                                                         \
    {                                                                          \
        "weight*", VLY_FORM_PER_AREA, "of one event, in the port's unit"       \
    }

const vly_key vly_keys_poisson[] = {
    STIMULUS,
    PORT,
    WINDOW,
    STEPS,
    {"rate_hz", VLY_FORM_EACH, "events a second onto each neuron"},
    WEIGHT,
    END};

const vly_key vly_keys_bernoulli[] = {
    STIMULUS,
    PORT,
    WINDOW,
    STEPS,
    {"rate_hz", VLY_FORM_EACH,
     "of each neuron: an event in a burst by a chance of rate * dt"},
    WEIGHT,
    END};

const vly_key vly_keys_normal[] = {
    STIMULUS,
    PORT,
    WINDOW,
    STEPS,
    {"mean*", VLY_FORM_EACH,
     "of what is added in a burst: as dt_ms changes, so must it (doc step)"},
    {"sd*", VLY_FORM_EACH, "its standard deviation; the same goes for it"},
    END};

const vly_key vly_keys_dc[] = {
    STIMULUS,
    WINDOW,
    STEPS,
    {"amplitude*", VLY_FORM_EACH, "constant input, in the unit of i_e"},
    END};

const vly_key vly_keys_spikes[] = {
    STIMULUS,
    PORT,
    TIMES,
    SPIKE_FILE,
    {"neurons", VLY_FORM_INDEXES, "indexes, instead of first and n"},
    WEIGHT_OF_AREA,
    END};

#define TRAIN                                                                  \
    {"period_ms", VLY_FORM_NUMBER,                                             \
     "from pulse to pulse, no drift; default one pulse"},                      \
        {"period_bursts", VLY_FORM_WHOLE, "the same in bursts"},               \
        {"width_ms", VLY_FORM_NUMBER, "of each pulse; default one burst"},     \
        {"width_bursts", VLY_FORM_WHOLE, "the same in bursts"},                \
    {                                                                          \
        "count", VLY_FORM_WHOLE, "of pulses; or the train ends with stop"      \
    }

const vly_key vly_keys_pulse[] = {STIMULUS, PORT,           WINDOW,
                                  TRAIN,    WEIGHT_OF_AREA, END};

const vly_key vly_keys_pattern[] = {
    {"kind", VLY_FORM_KIND, "poisson, normal, dc, ..."},
    {"to", VLY_FORM_AREAS, "areas with voxels"},
    {"id", VLY_FORM_TEXT, "addresses it in --set"},
    PORT,
    {"voxels", VLY_FORM_TRIPLES, "[[x, y, z], ...]: all neurons of each"},
    TIMES,
    WEIGHT_OF_AREA,
    END};

/* Generator areas. */
#define GENERATOR                                                              \
    {"generator", VLY_FORM_KIND, "poisson, spikes or pulse; no model"},        \
        {"neurons", VLY_FORM_WHOLE, "how many; 0 leaves the area out"},        \
        {"voxels", VLY_FORM_TRIPLE, "size in voxels, instead of neurons"},     \
        {"neurons_per_voxel", VLY_FORM_WHOLE, "default 1"},                    \
        {"copies", VLY_FORM_WHOLE,                                             \
         "areas NAME/0, NAME/1, ... instead of one"},                          \
        {"positions", VLY_FORM_SECTION, "of neurons, for rule distance"},      \
    {                                                                          \
        "at", VLY_FORM_TRIPLE, "position; default [0, 0, 0]"                   \
    }

const vly_key vly_keys_area_poisson[] = {
    GENERATOR,
    WINDOW,
    EVERY,
    {"rate_hz", VLY_FORM_EACH,
     "of each neuron, at most 1 / dt: a spike by a chance of rate * dt"},
    END};

const vly_key vly_keys_area_spikes[] = {GENERATOR, TIMES, SPIKE_FILE, END};

const vly_key vly_keys_area_pulse[] = {GENERATOR, WINDOW, TRAIN, END};
