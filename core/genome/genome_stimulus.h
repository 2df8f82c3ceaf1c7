/* SPDX-License-Identifier: Apache-2.0
 * [[stimulus]].
 */
#ifndef VOLLEY_GENOME_GENOME_STIMULUS_H
#define VOLLEY_GENOME_GENOME_STIMULUS_H

#include "genome/genome_end.h"

/* One list of bursts of a spike stimulus. */
typedef struct vly_burst_list {
    uint64_t *bursts;
    uint32_t n;
} vly_burst_list;

/* The kinds of stimuli in a genome. pulse and pattern become lists of spikes,
 * so the compiler and the backends do not see them. In the order of
 * vly_stimulus_names; the first ones are vly_stimulus_kind. */
typedef enum vly_stimulus_form {
    VLY_STIMULUS_FORM_PULSE = VLY_STIMULUS_BERNOULLI + 1,
    VLY_STIMULUS_FORM_PATTERN
} vly_stimulus_form;

/* A time as written: for a train it is rounded only after k periods are added.
 */
typedef struct vly_moment {
    double number; /* ms, or bursts */
    bool in_ms;
} vly_moment;

/* Events in the bursts [b(k), b(k) + width) below stop, b(k) = floor((start + k
 * period) / dt + 0.5); genome_pulse.c has it to the bit. */
typedef struct vly_pulse {
    vly_moment start;
    vly_moment period; /* 0: one pulse */
    uint64_t stop;
    uint64_t width;
    uint64_t count; /* of pulses; 0: up to stop */
} vly_pulse;

/* A function of time (genome_course.c). */
typedef enum vly_course_kind {
    VLY_COURSE_NONE,
    VLY_COURSE_SINE, /* mean, amplitude, frequency in Hz, phase in degrees */
    VLY_COURSE_RAMP  /* from, to, start and stop in ms */
} vly_course_kind;

typedef struct vly_course {
    vly_course_kind kind;
    double numbers[4];
} vly_course;

/* Values of one key by neuron or over time. */
typedef struct vly_series {
    double *values; /* NULL: one for all, or one an area */
    uint32_t n;
    bool by_neuron;
    vly_course course; /* whose values they are */
} vly_series;

typedef enum vly_series_key {
    VLY_SERIES_RATE,
    VLY_SERIES_WEIGHT,
    VLY_SERIES_MEAN, /* dc: the amplitude */
    VLY_SERIES_SD,
    VLY_SERIES_KEYS
} vly_series_key;

/* Spikes of one weight, of a file that has several. */
typedef struct vly_weighted_source {
    double weight;
    vly_spike_source *source;
} vly_weighted_source;

/* A [[stimulus]] as given. Its stimuli in the genome are one an area, or those
 * of its pieces: neurons and times with the same values. */
typedef struct vly_stimulus_entry {
    const vly_toml_node *node;
    const char *id;
    char *label;
    uint32_t form; /* vly_stimulus_kind or vly_stimulus_form */
    vly_stimulus_kind kind;
    vly_area_list to;
    const vly_end *ends;   /* [to.n] each one part */
    bool parted;           /* not all of them are whole areas */
    vly_stimulus *samples; /* [to.n] the first one onto each area; borrows */
    vly_series series[VLY_SERIES_KEYS];
    uint64_t *times;  /* [n_times] bursts from which values of a list hold */
    uint32_t n_times; /* 0: no list is over time */
    uint64_t every;   /* bursts of a step of functions; 0: none is there */
    bool by_neuron;   /* some series is */
    uint32_t time;    /* of the piece that is made: index in times */
    uint32_t neuron;  /* first neuron of it in its range */
    uint32_t first;
    uint32_t n; /* 0: to the end of the area */
    uint64_t start;
    uint64_t stop;
    uint32_t *neurons; /* spikes: NULL for the whole range */
    uint32_t n_neurons;
    vly_burst_list *lists; /* spikes: one for all or one a neuron; no train's */
    uint32_t n_lists;
    bool flat; /* one list for all */
    vly_pulse pulse;
    uint32_t (*voxels)[3]; /* pattern */
    uint32_t n_voxels;
    vly_spike_source *source;     /* of the genome */
    char *file;                   /* spikes: its path; NULL: none */
    const char *population;       /* of it, or NULL */
    bool at_begin;                /* its times are */
    vly_weighted_source *weights; /* [n_weights] if the file has them */
    uint32_t n_weights;
    uint32_t part; /* of the piece that is made: index in weights */
} vly_stimulus_entry;

extern const char *const vly_stimulus_names[]; /* ends with NULL */

vly_status vly_stimuli_read(vly_reader *reader);
/* Whether it may leave out `port`, and the port of a stimulus with its values
 * (stimulus_port.c). */
vly_status vly_stimulus_port_none(vly_reader *reader,
                                  const vly_stimulus_entry *entry,
                                  const vly_area *area);
vly_status vly_stimulus_port_choose(vly_reader *reader,
                                    const vly_stimulus_entry *entry, bool given,
                                    vly_stimulus *stimulus);
/* start and stop (genome_series.c). */
vly_status vly_stimulus_window(vly_reader *reader, vly_stimulus_entry *entry);
/* Is it a key of values, which may be by neuron and over time? */
bool vly_series_key_is(const char *key);
/* `at_ms` or `at_bursts`, and whether values are by neuron
 * (genome_series.c). */
vly_status vly_series_read(vly_reader *reader, vly_stimulus_entry *entry);
/* Is a value a function of time? */
bool vly_course_is(const vly_toml_node *node);
/* If a value of the entry is one: every, and its steps as times. */
vly_status vly_course_steps(vly_reader *reader, vly_stimulus_entry *entry);
/* Its values in those steps. */
vly_status vly_course_read(vly_reader *reader, const vly_stimulus_entry *entry,
                           const vly_toml_node *node, double lo, double hi,
                           vly_series *series);
/* A number of the piece that is made, if node is a series; otherwise *done is
 * false. */
vly_status vly_series_number(vly_reader *reader, vly_stimulus_entry *entry,
                             vly_series_key key, const vly_toml_node *node,
                             double lo, double hi, double *out, bool *done);
/* Neurons of the range onto area i of to. */
uint32_t vly_stimulus_width(const vly_reader *reader,
                            const vly_stimulus_entry *entry, uint32_t i);
/* Lists of a spike stimulus, then its spikes onto every area
 * (genome_spikes.c). */
vly_status vly_spikes_read(vly_reader *reader, vly_stimulus_entry *entry);
/* entry->source, or entry->weights, from a file (genome_spike_file.c). */
vly_status vly_spike_file_read(vly_reader *reader, vly_stimulus_entry *entry,
                               const vly_toml_node *node);
/* entry->source out of lists, neurons and voxels. */
vly_status vly_spikes_source(vly_reader *reader, vly_stimulus_entry *entry);
vly_status vly_spikes_make(vly_reader *reader, const vly_stimulus_entry *entry,
                           vly_stimulus *stimulus);
/* The same for the keys of pulse and pattern (genome_pulse.c). */
vly_status vly_pulse_read(vly_reader *reader, vly_stimulus_entry *entry);
vly_status vly_pattern_read(vly_reader *reader, vly_stimulus_entry *entry);
/* times_ms or bursts, for n lists if there are several. */
vly_status vly_times_read(vly_reader *reader, vly_stimulus_entry *entry,
                          uint32_t n, const char *of);
/* A pair of keys for one time, in ms or in bursts; without either, *out is
 * unchanged. */
vly_status vly_time_read(vly_reader *reader, const vly_toml_node *table,
                         const char *ms_key, const char *burst_key,
                         uint64_t *out);

#endif
