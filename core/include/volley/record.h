/* SPDX-License-Identifier: Apache-2.0
 * Recordings: spikes, digests and synapses as files, those read back, and
 * statistics of spikes.
 *
 *     vly_recorder_options files = {
 *         .struct_size = sizeof files, .spikes = "spikes.vls"};
 *     vly_recorder *recorder = NULL;
 *     status = vly_recorder_open(net, &files, &recorder, &error);
 *     if (status == VLY_OK) {
 *         vly_net_on_spikes(net, vly_recorder_burst, recorder);
 *         status = vly_net_run(net, 1000, &error);
 *         vly_net_on_spikes(net, NULL, NULL);
 *     }
 *     closed = vly_recorder_close(recorder, &why);
 *
 * Errors and threads are as in volley.h. The formats are those of the command:
 * core/record/README.md has them.
 */
#ifndef VOLLEY_RECORD_H
#define VOLLEY_RECORD_H

#include <volley/volley.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- writing ------------------------------------------------------------ */

typedef struct vly_recorder vly_recorder;

/* Paths and names are borrowed for the call of open. At least one path. */
typedef struct vly_recorder_options {
    uint32_t struct_size;
    uint32_t n_areas;         /* 0: spikes of all areas */
    const char *const *areas; /* [n_areas] areas whose spikes are recorded */
    const char *spikes;  /* *.vls: a stream, valid up to its last burst even
                          * if the process is killed; otherwise CSV, "-"
                          * is standard output; NULL: no spikes */
    const char *digests; /* digest log for `volley compare`; NULL: none */
} vly_recorder_options;

/* Opens the files; the recording begins with the next burst of the net, which
 * must outlive this call only. Existing files are replaced by the first burst.
 * Errors  E_INVALID no path, an area that the net does not have, a digest log
 *         of a net after burst 0, or an ending of SONATA (record a stream and
 *         convert it); E_IO a file cannot be written, or another process writes
 *         it; E_NOMEM
 * Cost    for a stream one pass over the synapses, for their digest */
VLY_API vly_status vly_recorder_open(const vly_net *net,
                                     const vly_recorder_options *options,
                                     vly_recorder **recorder, vly_error *error);
/* Records one burst: the function for vly_net_on_spikes, with the recorder as
 * its argument. Bursts come in order. After a failure it records nothing and
 * returns the status again, which ends the run; close has the sentence.
 * [burst-thread] */
VLY_API vly_status vly_recorder_burst(void *recorder, uint64_t burst,
                                      const uint32_t *ids, uint32_t n_ids,
                                      uint64_t burst_digest);
/* Writes all bursts so far to the files. */
VLY_API vly_status vly_recorder_flush(vly_recorder *recorder, vly_error *error);
/* Number of recorded spikes. */
VLY_API uint64_t vly_recorder_count(const vly_recorder *recorder);
/* Ends the files and frees the recorder, also on failure. NULL is legal.
 * Errors  E_IO; the first failure of the recorder, also of an earlier burst */
VLY_API vly_status vly_recorder_close(vly_recorder *recorder, vly_error *error);

/* Converts a whole stream: path *.h5, *.hdf5 or *.sonata gets SONATA, any other
 * one CSV. n_spikes: of the stream; NULL is legal.
 * Thread  [any-thread], with SONATA one at a time
 * Errors  E_IO; E_PARSE not a stream, cut or damaged: no file is written;
 *         E_INVALID path ends in .vls; E_UNSUPPORTED this build has no HDF5;
 *         E_NOMEM */
VLY_API vly_status vly_recording_convert(const char *stream, const char *path,
                                         uint64_t *n_spikes, vly_error *error);

/* ---- reading ------------------------------------------------------------ */

typedef struct vly_spike_reader vly_spike_reader;

/* Texts are borrowed until close. */
typedef struct vly_recording_info {
    uint32_t struct_size;
    uint32_t n_areas;
    uint64_t first_burst; /* recorded from here on */
    double dt_ms;
    uint64_t genome_hash[2];
    uint64_t connectome_hash[2];
} vly_recording_info;
typedef struct vly_recording_area {
    uint32_t struct_size;
    uint32_t first; /* id of its first neuron */
    uint32_t n_neurons;
    uint32_t recorded; /* 0: its spikes were left out */
    const char *name;
} vly_recording_area;

/* Opens a stream (*.vls). Its samples of fields are skipped.
 * Errors  E_IO cannot be read, or is being written; E_PARSE not a stream,
 *         another version, or a damaged head; E_NOMEM */
VLY_API vly_status vly_spike_reader_open(const char *path,
                                         vly_spike_reader **reader,
                                         vly_error *error);
/* Errors  E_INVALID struct_size is not set; of area also: no such area */
VLY_API vly_status vly_spike_reader_info(const vly_spike_reader *reader,
                                         vly_recording_info *info);
VLY_API vly_status vly_spike_reader_area(const vly_spike_reader *reader,
                                         uint32_t index,
                                         vly_recording_area *area);
/* The next burst with spikes: ids ascend and are borrowed until the next call.
 * *n_ids is 0 after the last one; *burst is then the number of bursts that were
 * done.
 * Errors  E_IO cannot be read; E_PARSE the stream is cut or damaged after the
 *         bursts that were returned: those are good; E_NOMEM */
VLY_API vly_status vly_spike_reader_next(vly_spike_reader *reader,
                                         uint64_t *burst, const uint32_t **ids,
                                         uint32_t *n_ids, vly_error *error);
VLY_API void vly_spike_reader_close(vly_spike_reader *reader); /* or NULL */

/* ---- formats ------------------------------------------------------------ */

/* Formats of recordings, by the ending of a file. */
enum {
    VLY_RECORDING_STREAM = 0, /* .vls */
    VLY_RECORDING_CSV = 1,    /* any other ending */
    VLY_RECORDING_SONATA = 2  /* .h5, .hdf5, .sonata */
};
/* VLY_RECORDING_* of a file's name. [any-thread] */
VLY_API uint32_t vly_recording_format(const char *path);
/* Whether this library can write a file of that name; opens nothing.
 * Errors  E_UNSUPPORTED SONATA, and this build has no HDF5  [any-thread] */
VLY_API vly_status vly_recording_check(const char *path, vly_error *error);
/* The end of burst n_bursts - 1 in ms as recordings have it: 3 bursts of 0.1 ms
 * are 0.3, not 0.30000000000000004. [any-thread] */
VLY_API double vly_recording_time(double dt_ms, uint64_t n_bursts);

/* ---- statistics of spikes ----------------------------------------------- */

/* Width of the bins in which the spikes of an area are counted, in whole
 * bursts. Source  Potjans and Diesmann 2014, doi:10.1093/cercor/bhs358
 * (synchrony) */
#define VLY_SPIKE_BIN_MS 3.0
/* A neuron with fewer spikes has no CV: it has only one interval. */
#define VLY_SPIKE_CV_MIN 3

typedef struct vly_spike_stats vly_spike_stats;

typedef struct vly_area_spikes {
    uint32_t struct_size;
    uint32_t n_silent; /* neurons without a spike */
    uint32_t n_cv;     /* neurons with VLY_SPIKE_CV_MIN spikes and more */
    uint32_t reserved;
    uint64_t n_spikes;
    uint64_t n_bins; /* whole ones */
    double cv;       /* of inter-spike intervals, mean over n_cv neurons; NaN
                      * without any */
    double fano;     /* variance / mean of the counts of whole bins; NaN: no
                      * spike in them, or fewer than two */
} vly_area_spikes;

/* Irregularity and synchrony by area in one pass, with or without files. Bins
 * begin at first_burst; spikes before it are left out.
 *
 * n_neurons  [n_areas] of each area; ids of areas follow each other from 0 on
 * Memory     32 bytes a neuron
 * Errors     E_INVALID no area, or dt_ms is not above 0; E_NOMEM */
VLY_API vly_status vly_spike_stats_create(const uint32_t *n_neurons,
                                          uint32_t n_areas, double dt_ms,
                                          uint64_t first_burst,
                                          vly_spike_stats **stats,
                                          vly_error *error);
VLY_API void vly_spike_stats_destroy(vly_spike_stats *stats); /* or NULL */
/* ids [n_ids] ascending, of any area; bursts ascend, bursts without spikes may
 * be skipped. [burst-thread]
 * Cost  O(n_ids), no allocation */
VLY_API void vly_spike_stats_add(vly_spike_stats *stats, uint64_t burst,
                                 const uint32_t *ids, uint32_t n_ids);
/* Begins again at this burst, but not before the first_burst of create. */
VLY_API void vly_spike_stats_restart(vly_spike_stats *stats,
                                     uint64_t first_burst);
/* When n_bursts are done; more may be added.
 * Errors  E_INVALID no such area, or struct_size is not set */
VLY_API vly_status vly_spike_stats_get(vly_spike_stats *stats,
                                       uint64_t n_bursts, uint32_t area,
                                       vly_area_spikes *figures);
/* The burst at which they begin, and the width of a bin in ms. */
VLY_API uint64_t vly_spike_stats_first(const vly_spike_stats *stats);
VLY_API double vly_spike_stats_bin_ms(const vly_spike_stats *stats);

/* ---- digest logs -------------------------------------------------------- */

typedef struct vly_digest_reader vly_digest_reader;

typedef struct vly_digest_info {
    uint32_t struct_size;
    uint32_t n_neurons;
    uint64_t n_synapses;
    double dt_ms;
    uint64_t genome_hash[2];
    uint64_t connectome_hash[2];
    const char *backend; /* for display; borrowed until close */
} vly_digest_info;
typedef struct vly_digest_entry {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t burst;
    uint64_t digest;     /* of the burst */
    uint64_t run_digest; /* of all bursts up to this one */
    uint64_t n_spikes;
} vly_digest_entry;

/* Errors  E_IO cannot be read; E_PARSE "path:line: found, wanted"; E_NOMEM */
VLY_API vly_status vly_digest_reader_open(const char *path,
                                          vly_digest_reader **reader,
                                          vly_error *error);
/* Errors  E_INVALID struct_size is not set */
VLY_API vly_status vly_digest_reader_info(const vly_digest_reader *reader,
                                          vly_digest_info *info);
/* The next line; *more is 0 after the last one, and *entry unchanged.
 * Errors  E_INVALID struct_size is not set; E_IO; E_PARSE a damaged log:
 *         bursts that do not follow each other, or a run digest that does not
 *         follow from its lines */
VLY_API vly_status vly_digest_reader_next(vly_digest_reader *reader,
                                          vly_digest_entry *entry, int *more,
                                          vly_error *error);
VLY_API void vly_digest_reader_close(vly_digest_reader *reader); /* or NULL */

/* ---- SONATA (Dai et al. 2020, doi:10.1371/journal.pcbi.1007696) ---------- */

/* Synapses as SONATA edges, one population after the other. The file gets its
 * name when it is complete. */
typedef struct vly_sonata_edges vly_sonata_edges;

/* Errors of all of them: E_IO "path: cannot be written: reason"; E_NOMEM;
 * E_UNSUPPORTED this build has no HDF5. With HDF5 one thread at a time. */
VLY_API vly_status vly_sonata_edges_open(const char *path,
                                         vly_sonata_edges **edges,
                                         vly_error *error);
/* n edges follow, with their delays or without; a slash of the name is replaced
 * by a dot. */
VLY_API vly_status vly_sonata_edges_begin(vly_sonata_edges *edges,
                                          const char *population, uint64_t n,
                                          int has_delays, vly_error *error);
/* The next n of them.
 *
 * sources, targets  index in their areas
 * weights           as syn_weight
 * delays_ms         NULL without delays */
VLY_API vly_status vly_sonata_edges_add(vly_sonata_edges *edges,
                                        const uint32_t *sources,
                                        const uint32_t *targets,
                                        const double *weights,
                                        const double *delays_ms, uint64_t n,
                                        vly_error *error);
/* After the last edge of a population. */
VLY_API vly_status vly_sonata_edges_end(vly_sonata_edges *edges,
                                        vly_error *error);
/* Completes the file and frees edges, also on failure. */
VLY_API vly_status vly_sonata_edges_close(vly_sonata_edges *edges,
                                          vly_error *error);
/* Removes the file and frees edges. NULL is legal. */
VLY_API void vly_sonata_edges_abandon(vly_sonata_edges *edges);

#define VLY_SONATA_COLUMNS 64u /* of a report, at most, in one reading */

/* What is read. HDF5 runs in a child process, so that a damaged file on which
 * it crashes is refused with a message like any other. The two functions run in
 * that child: they may read any memory, but their writes are lost. */
typedef struct vly_sonata_want {
    uint32_t struct_size;
    uint32_t n_columns_max; /* of a report, over all populations; 1 to
                             * VLY_SONATA_COLUMNS */
    void *context;
    int (*population)(void *context, const char *name); /* 0: not this one */
    int (*node)(void *context, const char *population, uint64_t node);
} vly_sonata_want;

typedef struct vly_sonata_report {
    uint32_t struct_size;
    uint32_t n_columns; /* wanted ones */
    const char *population;
    const char *units; /* of the samples; "" none */
    double start_ms;   /* of the first row */
    double step_ms;
    const uint64_t *nodes;   /* [n_columns] */
    const int64_t *elements; /* [n_columns] compartment of the node; -1: the
                              * node has one */
} vly_sonata_report;

/* Called in the order of the file. Anything but VLY_OK, with error set, ends
 * the reading and is returned. */
typedef struct vly_sonata_take {
    uint32_t struct_size;
    uint32_t reserved;
    void *context;
    /* A population, also an empty one; its spikes follow. */
    vly_status (*population)(void *context, const char *name, vly_error *error);
    /* times_ms [n] finite, from 0 to 1e12, in any order; first: the index of
     * the first one in its population */
    vly_status (*spikes)(void *context, uint64_t first, uint32_t n,
                         const double *times_ms, const uint64_t *nodes,
                         vly_error *error);
    vly_status (*report)(void *context, const vly_sonata_report *report,
                         vly_error *error);
    /* values [n_rows][n_columns] finite */
    vly_status (*rows)(void *context, uint64_t first, uint32_t n_rows,
                       const double *values, vly_error *error);
} vly_sonata_take;

/* Spikes: /spikes/POPULATION with timestamps and node_ids (gids in older files,
 * also without a population: its name is "spikes" then). Times are in ms, or in
 * the unit of the attribute units. Samples: /report/POPULATION with data and
 * mapping (also without a population: "report"). *more: there are more columns
 * than n_columns_max; NULL is legal.
 * Errors  E_INVALID struct_size is too small; E_UNSUPPORTED this build has no
 *         HDF5; E_IO; E_PARSE "file: /place: ..." not such a file, or damaged;
 *         E_NOMEM
 * Cost    one pass; the memory of a block */
VLY_API vly_status vly_sonata_read_spikes(const char *path,
                                          const vly_sonata_want *want,
                                          const vly_sonata_take *take,
                                          vly_error *error);
VLY_API vly_status vly_sonata_read_report(const char *path,
                                          const vly_sonata_want *want,
                                          const vly_sonata_take *take,
                                          int *more, vly_error *error);

/* Groups of a SONATA file, each 0 or 1. */
typedef struct vly_sonata_about {
    uint32_t struct_size;
    uint32_t spikes;
    uint32_t report; /* samples */
    uint32_t edges;
    uint32_t mean; /* of Volley: means of neurons */
    uint32_t nodes;
} vly_sonata_about;
/* A population of edges. Texts are borrowed for the call. */
typedef struct vly_edges_about {
    uint32_t struct_size;
    uint32_t n_groups;
    const char *population;
    const char *group; /* number of its first edge group */
    uint64_t n;
    uint32_t weight; /* 1: edges have one of their own; so the next three */
    uint32_t delay;
    uint32_t nsyns;
    uint32_t types; /* edge_type_id */
} vly_edges_about;
typedef vly_status (*vly_edges_fn)(void *context, const vly_edges_about *edges);
/* Reads what is in the file. *about is filled first, then take is called for
 * each population of edges; its failures are returned. take NULL: not called.
 * Errors  E_INVALID struct_size is too small; E_UNSUPPORTED this build has no
 *         HDF5; E_IO; E_PARSE; E_NOMEM */
VLY_API vly_status vly_sonata_describe(const char *path,
                                       vly_sonata_about *about,
                                       vly_edges_fn take, void *context,
                                       vly_error *error);

#ifdef __cplusplus
}
#endif
#endif
