/* SPDX-License-Identifier: Apache-2.0
 * For programs that host nets for users, as the command does: messages, plugins
 * by file and name, what genomes, connectomes and files hold, nets compared,
 * and changes tried before they are made.
 *
 * Errors and threads are as in volley.h. A function that fills a struct fills
 * it up to the struct_size of the caller, and refuses one that is not set.
 */
#ifndef VOLLEY_HOST_H
#define VOLLEY_HOST_H

#include <volley/volley.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- messages ----------------------------------------------------------- */

/* level: VLY_LOG_*. source: id of the plugin, or "volley". One call at a time.
 */
typedef void (*vly_log_fn)(void *arg, int32_t level, const char *source,
                           const char *message);
/* Where messages of plugins and the engine go. NULL: stderr, one line a
 * message. [any-thread] */
VLY_API void vly_log_set_sink(vly_log_fn function, void *arg);
/* Messages below level are dropped. The default is the environment variable
 * VOLLEY_LOG (debug, info, warn, error), otherwise warn. Returns the previous
 * level. [any-thread] */
VLY_API int32_t vly_log_set_level(int32_t level);

/* ---- plugins ------------------------------------------------------------ */

/* Where the plugins of a registry come from. Texts are borrowed for the call.
 */
typedef struct vly_plugin_places {
    uint32_t struct_size;
    uint32_t only; /* 1: nothing but the first file */
    /* A file that the user named by its absolute path; NULL: none. It comes
     * before all others, and its permissions are not checked. */
    const char *first;
    /* Folders beside the program, each begins with a slash, NULL after the last
     * one: {"/../lib", NULL}; NULL: beside libvolley */
    const char *const *beside;
} vly_plugin_places;
/* vly_registry_create, which is this with all of it 0. If `first` cannot be
 * loaded, that is not an error: it is listed with the reason. [main-thread] */
VLY_API vly_status vly_registry_create_from(const vly_plugin_places *places,
                                            vly_registry **registry,
                                            vly_error *error);
/* Id of plugin `index`, which is less than their number, usable or not; "" if
 * its file is no plugin. Starts no plugin and reads no file. */
VLY_API const char *vly_registry_id(const vly_registry *registry,
                                    uint32_t index);
/* Like vly_registry_info, but starts no plugin: for a plugin that has not been
 * requested yet, status and reason only tell whether its file is a plugin. */
VLY_API vly_status vly_registry_file(const vly_registry *registry,
                                     uint32_t index, vly_plugin_info *info);
/* The plugin's volley.backend/1 in the layout of this library: every required
 * function is there, optional ones that the plugin does not have are NULL.
 * Starts the plugin. Valid until the registry is destroyed. [main-thread]
 * Errors  E_UNSUPPORTED no such plugin, not a backend, or it cannot be used:
 *         with its reason and a list of the usable ones; E_NOMEM the same, if
 *         memory is the reason */
VLY_API vly_status vly_registry_backend(const vly_registry *registry,
                                        const char *id,
                                        const vly_backend **backend,
                                        vly_error *error);
/* What a name like "cpu:4", "cuda:1" or "auto" stands for. */
typedef struct vly_named_device {
    uint32_t struct_size;
    uint32_t flags;     /* VLY_BACKEND_* of the backend */
    uint32_t index;     /* of the device, of several the first; 0 on the host */
    uint32_t n_threads; /* of a backend on the host; 0 on a device */
    char id[32];        /* of the plugin: "cpu"; "auto" */
} vly_named_device;
/* The device that a net of this name would be on; no net is made. With "auto"
 * and without a registry (NULL) the name is read only and no plugin is started:
 * flags, index and n_threads are 0. [main-thread]
 * n_threads  for a name without a number of threads; 0: all cores
 * Errors     E_INVALID the name is wrong, in which part; those of
 *            vly_registry_backend */
VLY_API vly_status vly_device_find(const vly_registry *registry,
                                   const char *name, uint32_t n_threads,
                                   vly_named_device *device, vly_error *error);
/* 1: [a-z][a-z0-9_]*, at most 31 characters, not "auto". [any-thread] */
VLY_API int vly_plugin_id_valid(const char *id);
/* Hash of the bytes of a plugin's file; none of its code runs. [any-thread]
 * Errors  E_IO; E_ABI not a shared object for this machine */
VLY_API vly_status vly_plugin_hash(const char *path, uint64_t hash[2],
                                   vly_error *error);

/* A backend that starts on a thread of its own while a network is compiled. */
typedef struct vly_preparation vly_preparation;
typedef struct vly_prepare_times {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t start_ns;   /* the plugin */
    uint64_t prepare_ns; /* the devices, after that */
    uint64_t waited_ns;  /* by the caller of end */
} vly_prepare_times;
/* Starts the plugin of a name, as vly_net_create would, and prepares the
 * devices it names; "auto": of the first plugin that auto would try and that
 * can be used. The texts are copied. NULL if the name cannot be read (nor can
 * the list of backends of ranks), or if there is no memory or no thread: then
 * the plugin is started and the devices are prepared when the net is made. What
 * fails here fails there again and is reported there. A fork of the process
 * waits while the thread works, because a child would inherit the locks of a
 * driver that starts. [main-thread] */
VLY_API vly_preparation *
vly_prepare_begin(vly_registry *registry, const char *name, uint32_t n_threads);
/* Waits until the plugin has been started, or so many ms have passed since the
 * call of begin. 1: it has been started, or has failed to; NULL: 1 */
VLY_API int vly_prepare_started(vly_preparation *preparation, uint32_t ms);
/* Waits for the end of the thread and frees. Before the registry is destroyed.
 * NULL is legal, as is times NULL. */
VLY_API void vly_prepare_end(vly_preparation *preparation,
                             vly_prepare_times *times);

/* ---- genomes ------------------------------------------------------------ */

/* Limits that programs which write genomes must keep. */
#define VLY_NEURONS_MAX 2147483647u
#define VLY_NAME_MAX 63u /* bytes of the name of an area */
#define VLY_DELAY_BURSTS_MAX 65535u
#define VLY_VECTORS_MAX 4096u /* of a map */

typedef struct vly_genome_info {
    uint32_t struct_size;
    uint32_t n_areas;
    uint32_t n_neurons;
    uint32_t n_pairs;   /* of areas that maps connect */
    uint32_t n_stimuli; /* a list in `to` makes several */
    uint32_t reserved;  /* 0 */
    double dt_ms;
    uint64_t n_bursts; /* of [run]; 0 if it has no length */
    uint64_t seed_network;
    uint64_t seed_state;
    uint64_t seed_input;
    uint64_t n_synapses_max; /* a bound, or an expectation where they are drawn
                              */
    uint64_t hash[2];  /* of the values; not of comments, order or spelling */
    const char *path;  /* as it was given; texts are borrowed from the genome */
    const char *title; /* NULL without */
    const char *resolved; /* TOML: every value, its origin as a comment; it has
                           * the same hash */
} vly_genome_info;
/* Errors  E_INVALID struct_size is not set  [any-thread] */
VLY_API vly_status vly_genome_get_info(const vly_genome *genome,
                                       vly_genome_info *info);

/* An area of a genome or a connectome, in the order of the genome. */
typedef struct vly_area_info {
    uint32_t struct_size;
    uint32_t first; /* id of its first neuron */
    uint32_t n_neurons;
    uint32_t n_ports;
    uint32_t voxels[3];         /* x, y, z; 0 without voxels */
    uint32_t neurons_per_voxel; /* 1 without */
    double at[3];               /* where voxel 0, 0, 0 is */
    int32_t q[4]; /* unit of port k = accumulator * 2^-q[k]; 0 of a genome */
    const char *name;         /* texts are borrowed */
    const char *model;        /* "lif_psc_exp" */
    const char *generator;    /* kind of a generator of a genome; NULL: none */
    const char *port_unit[4]; /* "mV"; "" none; NULL: no such port */
} vly_area_info;
/* Errors  E_INVALID no such area, struct_size is not set  [any-thread] */
VLY_API vly_status vly_genome_area_info(const vly_genome *genome,
                                        uint32_t index, vly_area_info *info);

/* A map between two areas: a map over lists of areas makes several, which
 * follow each other, `to` outermost. Texts are borrowed from the genome. */
typedef struct vly_pair_info {
    uint32_t struct_size;
    uint32_t source_area;
    uint32_t target_area;
    uint32_t learns;  /* 1: it has a rule of plasticity */
    const char *map;  /* its id; "map:N" (N from 1) without one */
    const char *rule; /* "pairwise_bernoulli" */
} vly_pair_info;
/* Errors  E_INVALID no such pair, struct_size is not set  [any-thread] */
VLY_API vly_status vly_genome_pair_info(const vly_genome *genome,
                                        uint32_t index, vly_pair_info *info);

/* ---- connectomes -------------------------------------------------------- */

typedef struct vly_connectome_info {
    uint32_t struct_size;
    uint32_t n_areas;
    uint32_t n_neurons;
    uint32_t n_projections;
    uint32_t max_delay;  /* bursts */
    uint32_t n_stimuli;  /* of all kinds */
    uint64_t n_synapses; /* of the whole network, also if a rank has a part */
    uint64_t n_bytes;    /* memory, mapped or allocated */
    uint64_t n_bursts;   /* of [run]; 0 if it has no length */
    uint64_t seed_network;
    uint64_t seed_state;
    uint64_t seed_input;
    double dt_ms;
    uint64_t hash[2]; /* of its content */
    uint64_t genome_hash[2];
    uint32_t feagi_q;  /* unit of FEAGI's areas: 2^-feagi_q */
    uint32_t reserved; /* 0 */
} vly_connectome_info;
/* Errors  E_INVALID struct_size is not set  [any-thread] */
VLY_API vly_status vly_connectome_get_info(const vly_connectome *connectome,
                                           vly_connectome_info *info);
/* Errors  E_INVALID no such area, struct_size is not set  [any-thread] */
VLY_API vly_status vly_connectome_area_info(const vly_connectome *connectome,
                                            uint32_t index,
                                            vly_area_info *info);
/* The digest of states and recordings: a sum over synapses, neurons and
 * records. Computed on the first call, then kept.
 * n_threads  0: all cores; the digest never depends on it
 * Cost       2 to 3 ns a synapse of one thread  [any-thread] */
VLY_API void vly_connectome_get_digest(const vly_connectome *connectome,
                                       uint32_t n_threads, uint64_t digest[2]);
/* vly_connectome_save for a process that keeps the file: *lock is its
 * descriptor and locks it against other writers until it is closed; unchanged
 * on failure. NULL: the file is closed. Errors  as vly_connectome_save */
VLY_API vly_status vly_connectome_save_locked(const vly_connectome *connectome,
                                              const char *path, int *lock,
                                              vly_error *error);
/* Synapses of a projection are sorted by source: those of the sources [source,
 * source + n) are [*first, *end), as vly_connectome_synapses has them. n is cut
 * to the neurons of the area.
 * Errors  E_INVALID no such projection or source  [any-thread] */
VLY_API vly_status vly_connectome_rows(const vly_connectome *connectome,
                                       uint32_t index, uint32_t source,
                                       uint32_t n, uint64_t *first,
                                       uint64_t *end, vly_error *error);
/* "mv" of weight_mv: how the unit of the weights of a projection is written in
 * keys and columns; "" none, or no such projection. [any-thread] */
VLY_API const char *
vly_connectome_weight_suffix(const vly_connectome *connectome, uint32_t index);

/* ---- files -------------------------------------------------------------- */

/* Formats of files by their first bytes. */
enum {
    VLY_FILE_OTHER = 0,
    VLY_FILE_EMPTY = 1,
    VLY_FILE_CUT = 2,        /* too short for the mark of its format */
    VLY_FILE_TEXT = 3,       /* a genome, or any other text */
    VLY_FILE_JSON = 4,       /* text that begins with { */
    VLY_FILE_CONNECTOME = 5, /* vly_connectome_load */
    VLY_FILE_CHECKPOINT = 6, /* vly_state_load, vly_checkpoint_open */
    VLY_FILE_STREAM = 7,     /* vly_spike_reader_open */
    VLY_FILE_DIGESTS = 8,    /* vly_digest_reader_open */
    VLY_FILE_SPIKES = 9,     /* spikes, samples or rates as CSV */
    VLY_FILE_HDF5 = 10,      /* vly_sonata_describe */
    VLY_FILE_ELF = 11        /* a plugin, or any other program */
};
#define VLY_FILE_KIND_BYTES 64u
/* head [n]: the first bytes of the file, VLY_FILE_KIND_BYTES unless it is
 * shorter. [any-thread] */
VLY_API uint32_t vly_file_kind(const void *head, size_t n);

/* A checkpoint: a state and the lengths of the recordings of its run. */
typedef struct vly_checkpoint_reader vly_checkpoint_reader;
typedef struct vly_checkpoint_info {
    uint32_t struct_size;
    uint32_t version; /* of the format */
    uint32_t n_recordings;
    uint32_t n_sections;
    uint32_t n_resumes; /* how often the run was resumed */
    uint32_t reserved;  /* 0 */
    uint64_t n_bytes;   /* of the file */
    const char *engine; /* version of Volley that wrote it; borrowed */
} vly_checkpoint_info;
enum {
    VLY_CHECKPOINT_SPIKES = 1,  /* entries are spikes */
    VLY_CHECKPOINT_DIGESTS = 2, /* bursts */
    VLY_CHECKPOINT_WEIGHTS = 3  /* samples of weights */
};
/* A file of the run, as it was when the state was taken. */
typedef struct vly_checkpoint_recording {
    uint32_t struct_size;
    uint32_t kind;    /* VLY_CHECKPOINT_* */
    uint64_t n_bytes; /* of the file */
    uint64_t n_entries;
    const char *path; /* as it was given; borrowed */
} vly_checkpoint_recording;
typedef struct vly_checkpoint_part {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t n_bytes;        /* in memory */
    uint64_t n_stored_bytes; /* in the file */
    uint64_t n_frames;       /* that are compressed each for itself */
    const char *name;        /* borrowed */
} vly_checkpoint_part;
/* Reads and checks all of the file. [any-thread]
 * Errors  as vly_state_load */
VLY_API vly_status vly_checkpoint_open(const char *path,
                                       vly_checkpoint_reader **reader,
                                       vly_error *error);
VLY_API void vly_checkpoint_close(vly_checkpoint_reader *reader); /* or NULL */
/* Errors of these three: E_INVALID no such recording or section, struct_size is
 * not set  [any-thread] */
VLY_API vly_status vly_checkpoint_get_info(const vly_checkpoint_reader *reader,
                                           vly_checkpoint_info *info);
VLY_API vly_status vly_checkpoint_recording_get(
    const vly_checkpoint_reader *reader, uint32_t index,
    vly_checkpoint_recording *recording);
VLY_API vly_status
vly_checkpoint_section_get(const vly_checkpoint_reader *reader, uint32_t index,
                           vly_checkpoint_part *section);
/* Borrowed until close. [any-thread] */
VLY_API const vly_state *
vly_checkpoint_state(const vly_checkpoint_reader *reader);

/* ---- nets compared ------------------------------------------------------ */

/* Most bursts between two comparisons of the whole state. */
#define VLY_VALIDATE_EVERY 128u
#define VLY_VALIDATE_NETS 16u

enum {
    VLY_DIFFERENCE_NONE = 0,
    VLY_DIFFERENCE_FOUND = 1,  /* fired sets or state: see below */
    VLY_DIFFERENCE_DIGEST = 2, /* a digest only: both snapshots are equal */
    VLY_DIFFERENCE_ONCE = 3    /* a difference that did not appear again from
                                * the same state: the net is not reproducible */
};

typedef struct vly_validate_result {
    uint32_t struct_size;
    uint32_t difference; /* VLY_DIFFERENCE_* */
    uint64_t bursts;     /* compared and equal */
    uint64_t spikes;     /* in these; 0: the comparison shows nothing */
    uint64_t digest;     /* run and state digest after them, of all nets */
    uint64_t state_digest;

    /* Only with a difference: of nets[0] ([0]) and nets[other] ([1]). Texts are
     * borrowed from the connectome. */
    uint64_t burst; /* the first that differs */
    uint64_t burst_digest[2];
    uint32_t other;

    uint32_t fired_differs; /* 1: fired sets differ */
    uint64_t n_fired[2];
    uint64_t n_fired_only[2]; /* fired in one of them only */
    uint64_t n_gains;         /* fired in both with different gains */
    uint32_t fired_neuron;    /* the lowest that differs, global id */
    uint32_t fired_index;     /* in the area */
    uint32_t fired_in[2];     /* 1: where it fired */
    uint32_t fired_gain[2];   /* 0 where it did not */
    const char *fired_area;

    uint32_t state_differs;  /* 1: fields differ */
    uint32_t neuron;         /* the lowest that differs, and its first field */
    uint64_t n_words;        /* words of state that differ */
    uint32_t index;          /* in the area */
    uint32_t weights_differ; /* 1: weights or traces of synapses differ */
    const char *area;
    const char *field;
    const char *unit;
    uint32_t word[2];
    double value[2];

    uint64_t n_weights; /* weights and traces that differ */
    const char *map;    /* of the first of them */
    const char *weight; /* "weight", or "trace x0", "age of trace y1" */
    uint64_t synapse;   /* number in the projection; of a trace: neuron */
    uint32_t source;    /* global ids; of a trace both are its neuron */
    uint32_t target;
    uint32_t weight_word[2];
} vly_validate_result;

/* After each piece; anything but VLY_OK ends the comparison. */
typedef vly_status (*vly_validate_fn)(void *arg, uint64_t bursts_done);

/* Runs every net n_bursts on; compares the digest of every burst, and the
 * digest of the whole state after every state_every bursts (1 to
 * VLY_VALIDATE_EVERY).
 *
 * With 1 nothing can be missed. With more it is faster, but a wrong value that
 * decays before it makes a spike differ is not seen. If two nets differ after a
 * piece of several bursts, both are restored to the last equal state and run
 * burst by burst to find the first burst, neuron and field that differs.
 * Functions set on the nets are not called meanwhile. The nets must be at the
 * same burst with the same state.
 *
 * progress  or NULL
 * result    filled also when the run was stopped (what was compared so far)
 * Errors    E_INVALID fewer than 2 or more than VLY_VALIDATE_NETS nets,
 *           state_every, other connectomes, they differ before the first burst,
 *           or struct_size is too small; E_STOPPED vly_net_stop on any of them;
 *           what a run may return. A difference is no error: VLY_OK with
 *           result->difference. The nets are then after the burst that differs.
 * Thread    as vly_net_run */
VLY_API vly_status vly_validate(vly_net *const *nets, uint32_t n_nets,
                                uint64_t n_bursts, uint32_t state_every,
                                vly_validate_fn progress, void *progress_arg,
                                vly_validate_result *result, vly_error *error);
/* Describes the difference in several lines without a final newline; names: of
 * the nets. Returns text. */
VLY_API const char *vly_validate_text(const vly_validate_result *result,
                                      const char *const *names, char *text,
                                      size_t size);

/* ---- changes tried ------------------------------------------------------ */

/* vly_net_set(path, value) after `burst` bursts. */
typedef struct vly_planned_set {
    uint64_t burst;
    const char *path;
    double value;
} vly_planned_set;
/* A copy of the parameters in force, on which changes are tried one after
 * another: each sees those before it. The net and its device stay as they are.
 */
typedef struct vly_set_trial vly_set_trial;

/* The net is borrowed until destroy.
 * Errors  E_NOMEM; the net's own, if its device failed */
VLY_API vly_status vly_set_trial_create(const vly_net *net,
                                        vly_set_trial **trial,
                                        vly_error *error);
/* Errors  those of vly_net_set, which would refuse this change; E_NOMEM */
VLY_API vly_status vly_set_trial_add(vly_set_trial *trial,
                                     const vly_planned_set *planned,
                                     vly_error *error);
VLY_API void vly_set_trial_destroy(vly_set_trial *trial); /* or NULL */

#ifdef __cplusplus
}
#endif
#endif
