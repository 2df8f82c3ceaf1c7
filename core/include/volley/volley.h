/* SPDX-License-Identifier: Apache-2.0
 * The engine's API: load a genome, compile it, choose a backend, run.
 *
 *     vly_error error = { .struct_size = sizeof error };
 *     vly_net *net = NULL;
 *     if (vly_net_open("brunel.toml", "cpu:4", &net, &error) == VLY_OK &&
 *         vly_net_run(net, 1000, &error) == VLY_OK)
 *         printf("%016llx\n", (unsigned long long)vly_net_digest(net));
 *     vly_net_close(net);
 *
 * Every function that can fail returns a vly_status and fills *error (NULL is
 * legal) with one sentence; out-parameters are then untouched. A handle is
 * used by one thread at a time unless a function is tagged [any-thread].
 */
#ifndef VOLLEY_VOLLEY_H
#define VOLLEY_VOLLEY_H

#include <stddef.h>
#include <stdint.h>

#include <volley/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VLY_API VLY_EXPORT

typedef struct vly_genome vly_genome;
typedef struct vly_connectome vly_connectome;
typedef struct vly_registry vly_registry;
typedef struct vly_net vly_net;
typedef struct vly_state vly_state; /* a snapshot that owns its memory */

VLY_API const char *vly_version(void); /* "0.2.0" */
VLY_API const char *vly_status_name(vly_status status);
VLY_API const char *vly_status_text(vly_status status);
VLY_API int vly_status_exit_code(vly_status status);

/* ---- genome ----------------------------------------------------------- */

typedef struct vly_override {
    const char *path;  /* "area.E.neurons" */
    const char *value; /* TOML, or a bare word */
} vly_override;

VLY_API vly_status vly_genome_load(const char *path,
                                   const vly_override *overrides,
                                   uint32_t n_overrides, vly_genome **genome,
                                   vly_error *error);
VLY_API vly_status vly_genome_parse(const char *text, size_t n_bytes,
                                    const char *name,
                                    const vly_override *overrides,
                                    uint32_t n_overrides, vly_genome **genome,
                                    vly_error *error);
VLY_API void vly_genome_destroy(vly_genome *genome);

/* Types of the elements of a column. */
enum {
    VLY_COLUMN_F64 = 1,
    VLY_COLUMN_F32 = 2,
    VLY_COLUMN_I64 = 3,
    VLY_COLUMN_I32 = 4,
    VLY_COLUMN_U64 = 5,
    VLY_COLUMN_U32 = 6
};
typedef struct vly_table_column {
    const char *name; /* as the first line of a file has it */
    const void *data; /* [n_rows], aligned for its type */
    uint32_t type;    /* VLY_COLUMN_* */
    uint32_t reserved;
} vly_table_column;
/* Takes the place of a file: where the genome says file = "NAME" for a map of
 * rule file or for the values of a parameter, the table NAME is read and no
 * file is opened. Synapses: columns source, target, weight or weight_UNIT,
 * delay_ms or delay_bursts, in any order of rows. Rows, ranges, rounding and
 * the hash of the genome are those of a file with the same content. */
typedef struct vly_table {
    const char *name;
    const vly_table_column *columns; /* [n_columns] */
    uint64_t n_rows;
    uint32_t n_columns;
    uint32_t reserved;
} vly_table;
/* A genome and what belongs to it; everything is borrowed for the call. */
typedef struct vly_genome_source {
    uint32_t struct_size;
    uint32_t n_overrides;
    const char *name; /* of the file, or for messages and paths beside it */
    const char *text; /* [n_bytes]; NULL: the file is read */
    uint64_t n_bytes;
    const vly_override *overrides;
    const vly_table *tables;
    uint32_t n_tables;
    uint32_t reserved;
} vly_genome_source;
/* vly_genome_load and vly_genome_parse with tables.
 * Errors  as theirs; E_INVALID a table that nothing in the genome names, one
 *         without columns, name or values; E_PARSE "NAME: row R (from 0) of
 *         column C: found, wanted"
 * Cost    one pass over each column, and a sort of the synapses
 * Thread  [any-thread] */
VLY_API vly_status vly_genome_read(const vly_genome_source *source,
                                   vly_genome **genome, vly_error *error);
/* Note number index (from 0) of a value that was read differently than it was
 * written, "file:line:column: sentence"; NULL after the last one. Borrowed from
 * the genome. [any-thread] */
VLY_API const char *vly_genome_note(const vly_genome *genome, uint32_t index);
/* All notes; the genome keeps the text of the first 20. [any-thread] */
VLY_API uint32_t vly_genome_note_count(const vly_genome *genome);

/* ---- connectome ------------------------------------------------------- */

VLY_API vly_status vly_connectome_build(const vly_genome *genome,
                                        uint32_t n_threads,
                                        vly_connectome **connectome,
                                        vly_error *error);
VLY_API vly_status vly_connectome_save(const vly_connectome *connectome,
                                       const char *path, vly_error *error);
/* verify: the file is read and every checksum is checked; otherwise it is
 * mapped and trusted, and must not change while the connectome lives: if the
 * file is truncated, reading it ends the process with SIGBUS. */
VLY_API vly_status vly_connectome_load(const char *path, int verify,
                                       vly_connectome **connectome,
                                       vly_error *error);
VLY_API void vly_connectome_destroy(vly_connectome *connectome);

/* Synapses of one map from one area to one area. A map whose weights need
 * several units has up to three projections for each pair of areas; they follow
 * each other. Strings are borrowed from the connectome. */
typedef struct vly_projection_info {
    uint32_t struct_size;
    uint32_t source_area; /* as in vly_net_area_stats */
    uint32_t target_area;
    uint32_t port; /* of the target; 2: weights >= 0 port 0, below port 1 */
    uint64_t n_synapses;
    const char *map;
    const char *unit_name; /* of weights, "mV" */
    double unit;           /* weights are multiples of it */
    double weight_min;     /* as stored */
    double weight_max;
    double worst_rounding; /* |stored - asked| / |asked|: of a constant, of a
                            * law's mean, or of the worst given weight */
    double share_coarse;   /* weights off by more than 1%, as a share; this and
                            * the next two: 0 if the connectome was loaded */
    double worst_coarse;   /* the largest such error */
    double mean_coarse;    /* error of the mean if it is at least 0.1% */
    uint32_t delay_min;    /* bursts */
    uint32_t delay_max;
} vly_projection_info;
VLY_API uint32_t
vly_connectome_projection_count(const vly_connectome *connectome);
/* Errors  E_INVALID no such projection, struct_size is not set
 * Thread  [any-thread] */
VLY_API vly_status
vly_connectome_projection_info(const vly_connectome *connectome, uint32_t index,
                               vly_projection_info *info, vly_error *error);
/* Synapses [first, first + n) of a projection, sorted by source, then target.
 * Each array is [n] or NULL.
 *
 * sources, targets  index in their areas
 * weights           as stored, in the unit of the target's port
 * delays            bursts
 * Errors  E_INVALID no such projection or synapse
 * Thread  [any-thread]
 * Cost    O(n); no allocation */
VLY_API vly_status vly_connectome_synapses(const vly_connectome *connectome,
                                           uint32_t index, uint64_t first,
                                           uint64_t n, uint32_t *sources,
                                           uint32_t *targets, double *weights,
                                           uint32_t *delays, vly_error *error);

/* ---- plugins ---------------------------------------------------------- */

/* Finds and loads plugins: VOLLEY_PLUGIN_PATH (colon separated), beside
 * libvolley, the installed folder; never the working folder, nor a folder that
 * others may write to. A plugin that cannot be used stays listed with its
 * reason. A plugin is initialised (and with it its drivers) when it is first
 * requested or listed. The registry lives until destroy or the end of the
 * process; no net may exist then. [main-thread] */
VLY_API vly_status vly_registry_create(vly_registry **registry,
                                       vly_error *error);
VLY_API void vly_registry_destroy(vly_registry *registry);
/* Adds one file. A failure is in *error and in the list. */
VLY_API vly_status vly_registry_add(vly_registry *registry, const char *path,
                                    vly_error *error);

typedef struct vly_plugin_info {
    uint32_t struct_size;
    int32_t status; /* VLY_OK: usable */
    const char *id; /* "" if the file could not even be read */
    const char *path;
    const char *version;
    const char *build;
    const char *reason;     /* why not, "" if usable */
    const char *interfaces; /* ids of its interfaces, separated by spaces */
    uint64_t hash[2];       /* of the file's bytes */
} vly_plugin_info;

VLY_API uint32_t vly_registry_count(const vly_registry *registry);
VLY_API vly_status vly_registry_info(const vly_registry *registry,
                                     uint32_t index, vly_plugin_info *info);
/* The interface of the plugin with this id; E_UNSUPPORTED with the reason and a
 * list of the available ones. */
VLY_API vly_status vly_registry_interface(const vly_registry *registry,
                                          const char *id,
                                          const char *interface_id,
                                          const void **interface_table,
                                          vly_error *error);

/* ---- device memory ---------------------------------------------------- */

/* Usage of this process, by device: "cuda:0", "vulkan:1"; "host" is memory that
 * devices share with the host (pinned), and memory of accelerators on the
 * processor. [any-thread] */
typedef struct vly_device_usage {
    uint32_t struct_size;
    uint32_t n_blocks; /* in use */
    char device[32];
    uint64_t quota_bytes;   /* UINT64_MAX: none */
    uint64_t used_bytes;    /* of all classes */
    uint64_t used_by[3];    /* by VLY_QOS_* */
    uint64_t kept_bytes;    /* freed, and kept for reuse */
    uint64_t peak_bytes;    /* of used_bytes */
    uint64_t reuses;        /* blocks that were reused */
    uint64_t evictions;     /* reloadable blocks that were dropped */
    uint64_t evicted_bytes; /* of these */
    uint64_t refusals;      /* requests that failed */
} vly_device_usage;
/* Sets the quota of memory that plugins may use and keep on a device, in bytes;
 * UINT64_MAX: no limit. device NULL: every device but "host" that has no quota
 * of its own. Memory already in use above the quota stays.
 * Errors  E_INVALID  device is "" or longer than 31 characters, or there are
 *         more than 64 */
VLY_API vly_status vly_device_memory_limit(const char *device, uint64_t bytes,
                                           vly_error *error);
/* Sets the limit of freed bytes that are kept on each device, 256 MiB by
 * default. 0 frees all of them. Returns the previous limit. */
VLY_API uint64_t vly_device_memory_keep(uint64_t bytes);
/* Devices on which plugins may allocate, in the order of their registration. */
VLY_API uint32_t vly_device_memory_count(void);
/* Errors  E_INVALID  no such device, or struct_size is no vly_device_usage's */
VLY_API vly_status vly_device_memory_usage(uint32_t index,
                                           vly_device_usage *usage);

/* ---- net -------------------------------------------------------------- */

/* backend: "auto", "cpu", "cpu:4" (threads), "cuda:1", "vulkan:0" (device),
 * "cuda:0-3", "cuda:all" (one net on several devices);
 * "id:N,key=value" passes options to the plugin. The connectome must outlive
 * the net. */
VLY_API vly_status vly_net_create(const vly_connectome *connectome,
                                  vly_registry *registry, const char *backend,
                                  uint32_t n_threads, vly_net **net,
                                  vly_error *error);
VLY_API void vly_net_destroy(vly_net *net);
/* All in one: genome, connectome and registry belong to the net. */
VLY_API vly_status vly_net_open(const char *genome_path, const char *backend,
                                vly_net **net, vly_error *error);
VLY_API void vly_net_close(vly_net *net); /* the counterpart of open */

VLY_API vly_status vly_net_run(vly_net *net, uint64_t n_bursts,
                               vly_error *error);
/* Ends a run, from another thread or a signal handler, after the backend's
 * current burst: the run then returns VLY_E_STOPPED, and the callbacks below
 * have been called for all bursts done. If called from a callback, the
 * backend's current burst is up to a chunk (4096 bursts) after the burst of the
 * callback. A stop between two runs ends the next one before its first burst.
 * [any-thread] async-signal-safe */
VLY_API void vly_net_stop(vly_net *net);

/* Called on the thread of vly_net_run, in order of bursts, for every burst: ids
 * ascend and are borrowed for the call. Return VLY_OK to continue. A run with
 * this callback is slower, since spikes are copied to the host. The backend
 * runs a chunk of up to 4096 bursts, then the callback is called for each of
 * these. So if the callback fails or stops the net, the run ends, but the net
 * is at the end of the chunk, up to 4095 bursts later. After a failure no
 * callback is called for the rest of the chunk, and the run returns that
 * status; after a stop callbacks are still called for every burst done. A
 * callback may only read the net's burst, digest and statistics, and stop it.
 */
typedef vly_status (*vly_spikes_fn)(void *arg, uint64_t burst,
                                    const uint32_t *ids, uint32_t n_ids,
                                    uint64_t burst_digest);
VLY_API void vly_net_on_spikes(vly_net *net, vly_spikes_fn function, void *arg);
/* As above but without the ids (NULL, with their number): digests only. */
VLY_API void vly_net_on_bursts(vly_net *net, vly_spikes_fn function, void *arg);

/* Adds value (unit of the port) to a neuron's input in a burst not yet done.
 * Values of one neuron, port and burst are summed; the sum is clamped.
 * Errors  E_INVALID burst, area, neuron or port does not exist, the area is a
 *         generator, or the value is not finite */
VLY_API vly_status vly_net_inject(vly_net *net, uint64_t burst,
                                  const char *area, uint32_t index,
                                  uint32_t port, double value,
                                  vly_error *error);
/* The same for n neurons of one area at once, all or nothing: for hosts that
 * inject in every burst. Ascending neurons need no sorting. */
VLY_API vly_status vly_net_inject_many(vly_net *net, uint64_t burst,
                                       const char *area, uint32_t port,
                                       const uint32_t *indices,
                                       const double *values, uint32_t n,
                                       vly_error *error);
/* Adds value (1/s) to the modulator of [plasticity.NAME] in a burst not yet
 * done: reward, or punishment below 0. It counts from the burst after that one
 * and decays as the table says (tau_n_ms). Values of one burst are summed and
 * rounded to 2^-16. They are part of the state until then, and the modulator
 * is afterwards: snapshots, swaps, fail-over and checkpoints keep them.
 * vly_net_set("plasticity.NAME.reward", value) is the same in the next burst.
 * Errors  E_INVALID the burst is done; no synapse learns by that table, or its
 *         rule has no modulator; value is not between -16383 and 16383, or
 *         rounds to 0 */
VLY_API vly_status vly_net_modulate(vly_net *net, uint64_t burst,
                                    const char *plasticity, double value,
                                    vly_error *error);
/* The neurons (global ids, ascending) that fired in the last burst done;
 * borrowed until the next call on net. */
VLY_API vly_status vly_net_fired(vly_net *net, const uint32_t **ids,
                                 uint32_t *n_ids, vly_error *error);

/* State by name, in the field's unit. */
VLY_API vly_status vly_net_read(vly_net *net, const char *area,
                                const char *field, uint32_t first,
                                uint32_t count, double *values,
                                vly_error *error);
VLY_API vly_status vly_net_write(vly_net *net, const char *area,
                                 const char *field, uint32_t first,
                                 uint32_t count, const double *values,
                                 vly_error *error);
/* Sets a parameter from the next burst on: path "area.E.tau_m_ms",
 * "stimulus.ext.rate_hz", "stimulus.ext.weight", "stimulus.drive.amplitude",
 * "plasticity.p.lambda", "plasticity.p.frozen" (1: weights stay as they are, 0:
 * they learn; traces go on), "plasticity.d.U" of short-term plasticity (for
 * every event that is not delivered yet). Time constants, w_max and values at
 * the start of a rule stay as compiled. Checks its range and the input bound
 * 2^30; on failure nothing changes. */
VLY_API vly_status vly_net_set(vly_net *net, const char *path, double value,
                               vly_error *error);
/* The same with one value for each neuron of the area. */
VLY_API vly_status vly_net_set_each(vly_net *net, const char *area,
                                    const char *param, const double *values,
                                    uint32_t n_values, vly_error *error);
/* How far rounding puts off what vly_net_set gave to the path, as a share (0.01
 * is 1%): weights, mean and sd are whole units of the port (2^-q of
 * vly_area_stats), rates whole chances of 2^-32 a burst, durations that a model
 * counts in bursts whole bursts; of all neurons and stimuli of the name the
 * worst. 0 for what is a real number. Errors  E_INVALID no such path */
VLY_API vly_status vly_net_rounding(const vly_net *net, const char *path,
                                    double *off, vly_error *error);

/* Synapses of one map from one area to one area: a projection. A map over lists
 * of areas has several, and a map whose weights span a wide range may have more
 * than one a pair of areas. */
typedef struct vly_net_projection_info {
    uint32_t struct_size;
    uint32_t index;       /* of all projections of the net */
    uint32_t source_area; /* as in vly_net_area_stats */
    uint32_t target_area;
    uint32_t learns; /* 1: its weights change, and can be written */
    uint32_t frozen; /* 1: they are kept now */
    uint64_t n_synapses;
    double unit;     /* weights are multiples of it; if they change, of 2^-16 of
                      * it */
    double w_max;    /* weights are between 0 and this; 0: they do not change */
    double delay_ms; /* the shortest */
    const char *map;
    const char *source; /* names of the areas */
    const char *target;
    const char *plasticity;    /* name of its [plasticity.NAME]; "" none */
    const char *rule;          /* of that; "" none */
    const char *weight_unit;   /* "mV"; "" none */
    const char *weight_suffix; /* "mv": weight_mv; "" none */
} vly_net_projection_info;
/* The part-th (from 0) projection of a map, in the order of the net: pairs of
 * areas as in the genome, `to` outermost; map NULL: of all maps. Texts are
 * borrowed from the net.
 * Errors  E_INVALID no such map or part */
VLY_API vly_status vly_net_projection(const vly_net *net, const char *map,
                                      uint32_t part,
                                      vly_net_projection_info *info,
                                      vly_error *error);
/* Weights, in the unit of weight_<unit>, of the synapses [first, first + count)
 * of a projection (as above), in the order of sources, then targets; sources
 * and targets are numbers in their areas. The weights are those after the last
 * burst; of a projection that does not learn they are those of the genome, as
 * stored.
 *
 * weights, sources, targets  [count]; any may be NULL          (out)
 * Errors  E_INVALID no such map, part or synapse; those of the backend
 * Cost    a projection that learns: the synapses are brought up to date */
VLY_API vly_status vly_net_weights_read(vly_net *net, const char *map,
                                        uint32_t part, uint64_t first,
                                        uint64_t count, double *weights,
                                        uint32_t *sources, uint32_t *targets,
                                        vly_error *error);
/* Replaces weights of a projection that learns, each rounded to the nearest
 * multiple of 2^-16 of its unit. They are part of the state: snapshots, swaps,
 * fail-over and checkpoints keep them. On failure nothing changes.
 * Errors  E_INVALID as above; the map does not learn; a weight is not between 0
 *         and w_max */
VLY_API vly_status vly_net_weights_write(vly_net *net, const char *map,
                                         uint32_t part, uint64_t first,
                                         uint64_t count, const double *weights,
                                         vly_error *error);
typedef struct vly_weights_stats {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    uint64_t n;        /* synapses */
    uint64_t n_at_zero;
    uint64_t n_at_most; /* at w_max */
    double mean;
    double sd; /* of the synapses, not of a sample */
    double min;
    double max;
    double mean_start; /* of the genome */
} vly_weights_stats;
/* Of the weights that vly_net_weights_read would give.
 * Errors  E_INVALID as above; the map does not learn */
VLY_API vly_status vly_net_weights_stats(vly_net *net, const char *map,
                                         uint32_t part,
                                         vly_weights_stats *stats,
                                         vly_error *error);

typedef struct vly_stats {
    uint32_t struct_size;
    uint32_t n_areas;
    uint64_t bursts; /* done */
    uint64_t neurons;
    uint64_t synapses;
    uint64_t spikes;
    uint64_t events; /* synaptic */
    uint64_t candidates;
    uint64_t run_ns; /* inside vly_net_run */
    uint64_t delivery_ns;
    uint64_t dynamics_ns;
    uint64_t exchange_ns;
    uint64_t drain_ns;
    uint64_t host_bytes;
    uint64_t device_bytes;
    uint64_t connectome_bytes;
    double dt_ms;
    char backend[64]; /* "cpu:4" as resolved */
    char device[128];
    char plan[256];
    uint64_t spikes_squared; /* sum over bursts of the square of their spikes; a
                              * state from a file restarts the sum */
} vly_stats;
VLY_API vly_status vly_net_stats(vly_net *net, vly_stats *stats,
                                 vly_error *error);
typedef struct vly_area_stats {
    uint32_t struct_size;
    uint32_t first;
    uint32_t n_neurons;
    uint32_t n_ports;
    const char *name;
    const char *model;
    int32_t q[2];
    uint64_t spikes;   /* while a spikes function is set, or as below */
    int32_t q_more[2]; /* of ports 2 and 3 */
} vly_area_stats;
/* Counts spikes by area from the next burst on (0: stops counting). If the
 * backend counts, ids are copied to the host only in the net's first 64 bursts
 * on it, as a check. */
VLY_API void vly_net_count_areas(vly_net *net, int on);
VLY_API vly_status vly_net_area_stats(vly_net *net, uint32_t area,
                                      vly_area_stats *stats);

/* Values of a field that are at a bound of its range now: a value beyond a
 * bound is stored as the bound, NaN as the lower one. A bound of 0 counts none:
 * many fields are 0 at rest. */
typedef struct vly_bound_stats {
    uint32_t struct_size;
    uint32_t n_neurons; /* of the area */
    uint32_t n_lower;   /* of these: at the lower bound */
    uint32_t n_upper;
    uint32_t declared; /* 1: the range is one that a [neuron] gives; 0: values
                        * at its bounds mean that the area diverges */
    uint32_t reserved;
    double lower;
    double upper;
    const char *area;
    const char *field;
    const char *unit;
} vly_bound_stats;
/* Field `index` of all fields of real numbers, area by area; the device is
 * read. Errors  E_INVALID index after the last; as of vly_net_read */
VLY_API vly_status vly_net_bound_stats(vly_net *net, uint32_t index,
                                       vly_bound_stats *stats,
                                       vly_error *error);

/* Patterns of a [memory]: one neuron stands for each. */
typedef struct vly_memory_stats {
    uint32_t struct_size;
    uint32_t n_neurons;  /* how many patterns fit */
    uint32_t n_known;    /* now */
    uint32_t n_longterm; /* of these: never forgotten */
    uint64_t n_made;     /* since burst 0 */
    uint64_t n_seen;     /* how often a known one was seen again */
    uint64_t n_forgotten;
    uint64_t n_dropped; /* because all neurons were taken */
    const char *area;
} vly_memory_stats;
/* Memories in the order of their areas. Errors  E_INVALID index after the last
 */
VLY_API vly_status vly_net_memory_stats(const vly_net *net, uint32_t index,
                                        vly_memory_stats *stats);
/* Synapses of an [association] at present, from area `from` to area `to`. Those
 * back have the same weights and are not counted. */
typedef struct vly_association_stats {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t n_synapses;
    const char *name;
    const char *from; /* names of the areas */
    const char *to;
} vly_association_stats;
/* In the order of the genome. Errors  E_INVALID index after the last */
VLY_API vly_status vly_net_association_stats(const vly_net *net, uint32_t index,
                                             vly_association_stats *stats);
/* Its synapses [first, first + count), by from, then to: neurons in their areas
 * and the weight, below 0 if it is inhibitory. Any array may be NULL.
 * Errors  E_INVALID no such association or synapse */
VLY_API vly_status vly_net_association_read(const vly_net *net, uint32_t index,
                                            uint64_t first, uint64_t count,
                                            uint32_t *from, uint32_t *to,
                                            double *weights, vly_error *error);

VLY_API uint64_t vly_net_burst(const vly_net *net);  /* bursts done */
VLY_API uint64_t vly_net_digest(const vly_net *net); /* H of the last burst */
VLY_API vly_status vly_net_state_digest(vly_net *net, uint64_t *digest,
                                        vly_error *error);

/* The canonical snapshot: fields, fired sets in flight, pending input,
 * changed parameters, run digest. */
VLY_API vly_status vly_net_snapshot(vly_net *net, vly_state **state,
                                    vly_error *error);
VLY_API vly_status vly_net_restore(vly_net *net, const vly_state *state,
                                   vly_error *error);
VLY_API void vly_state_destroy(vly_state *state);
/* A net that begins in this state instead of at burst 0, on any backend; the
 * state may be freed afterwards. Otherwise like vly_net_create.
 * Errors  E_INVALID the state is of another genome or connectome */
VLY_API vly_status vly_net_resume(const vly_connectome *connectome,
                                  vly_registry *registry, const char *backend,
                                  uint32_t n_threads, const vly_state *state,
                                  vly_net **net, vly_error *error);

/* A state as a file, compressed, with a checksum of each part: a checkpoint.
 * save writes a temporary file beside path, syncs it and renames it, so that
 * path is either the old or the new file, whenever the process or the machine
 * stops. The net may run meanwhile. [any-thread]
 * Errors  E_IO cannot be written or read; E_NOMEM; of load E_PARSE not a
 *         checkpoint, of another version (named), truncated, or damaged (in the
 *         named part); of save E_INVALID path is not a file. On failure path is
 *         unchanged */
VLY_API vly_status vly_state_save(const vly_state *state, const char *path,
                                  vly_error *error);
VLY_API vly_status vly_state_load(const char *path, vly_state **state,
                                  vly_error *error);

typedef struct vly_state_info {
    uint32_t struct_size;
    uint32_t n_neurons;
    uint64_t bursts; /* done */
    uint64_t spikes;
    uint64_t events;
    uint64_t digest; /* H of the last burst */
    uint64_t state_digest;
    uint64_t genome_hash[2];
    uint64_t connectome_hash[2];
    uint64_t n_bytes; /* of fields, fired sets, input, parameters, weights */
    /* a sum over all of the connectome; 0 in a checkpoint of version 1 */
    uint64_t connectome_digest[2];
} vly_state_info;
/* Errors  E_INVALID struct_size is not that of a vly_state_info */
VLY_API vly_status vly_state_get_info(const vly_state *state,
                                      vly_state_info *info, vly_error *error);
/* Moves the net to another backend, between two runs: spikes in flight, pending
 * input and changed parameters go with it, so no result depends on it. For a
 * moment both nets hold their memory. On failure the net stays on its backend
 * and can continue, unless its own device failed.
 * n_threads  of backends on the host; 0: all cores; "cpu:4" takes precedence
 * Errors     E_INVALID  backend is no NAME[:NUMBER][,key=value]...
 *            E_UNSUPPORTED, E_DEVICE, E_NOMEM  the new backend cannot take the
 *            net
 * Cost       a snapshot and the cost of vly_net_create there; the connectome is
 *            not compiled again
 * To swap from another thread, end the run with vly_net_stop, swap, and run
 * again. */
VLY_API vly_status vly_net_swap(vly_net *net, const char *backend,
                                uint32_t n_threads, vly_error *error);

/* ---- fail-over -------------------------------------------------------- */

enum {
    VLY_FAILOVER_KEPT = 0,   /* a snapshot of `burst` was taken */
    VLY_FAILOVER_FAILED = 1, /* the net is at `burst` on `to`; the bursts since
                              * then will be run again */
    VLY_FAILOVER_WRONG = 2,  /* their run digest differs: earlier results from
                              * `burst` on were wrong */
    VLY_FAILOVER_DONE = 3    /* it has run again up to failed_burst */
};
typedef struct vly_failover_event {
    uint32_t struct_size;
    uint32_t kind;         /* VLY_FAILOVER_* */
    uint64_t burst;        /* of the snapshot */
    uint64_t failed_burst; /* done when the device failed; 0: KEPT */
    const char *from;      /* "cuda:0"; all three are borrowed for the call */
    const char *to;
    const char *reason; /* message of the failed device */
} vly_failover_event;
/* It may only read the net's statistics and stop it. The return value counts
 * for VLY_FAILOVER_WRONG: not 0, the host has discarded its results from
 * `burst` on, and the callbacks of vly_net_on_spikes and vly_net_on_bursts are
 * called again for these bursts; 0, the host cannot discard them, and the net
 * ends. */
typedef int (*vly_failover_fn)(void *arg, const vly_failover_event *event);

/* From now on a failure of the device (of any backend the net is on, in any
 * call) does not end the net: it is rebuilt on `backend` from a snapshot in
 * memory, later input and changes are replayed, the bursts since the snapshot
 * are run again, and the call continues with the results of a net that never
 * failed. Callbacks are not called again for these bursts: the run digest
 * proves that the results are the same. The failure is logged as an error.
 *
 * backend    where to continue; NULL: turn fail-over off
 * n_threads  as for vly_net_swap
 * every_bursts  between snapshots; 0: chosen so that they cost less than 1% of
 *               the time, at most one a second. A chunk ends at each snapshot
 * function   called at each event; NULL: none, and results are never discarded
 * Errors     E_INVALID, E_UNSUPPORTED backend cannot run this net; E_NOMEM;
 *            those of the first snapshot. If a later fail-over fails, the net
 *            ends; the message has both reasons
 * Memory     a snapshot, and up to 64 MiB of input and changes (beyond that a
 *            new snapshot is taken)
 * A stop while bursts are run again ends the run after them. */
VLY_API vly_status vly_net_failover(vly_net *net, const char *backend,
                                    uint32_t n_threads, uint64_t every_bursts,
                                    vly_failover_fn function, void *arg,
                                    vly_error *error);

#ifdef __cplusplus
}
#endif
#endif
