/* SPDX-License-Identifier: Apache-2.0
 * Recordings: spikes and digests of a net as files, and spikes read back.
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
 * one CSV. n_spikes: of the stream; NULL is legal. [any-thread], with SONATA
 * one at a time Errors  E_IO; E_PARSE not a stream, cut or damaged: no file is
 * written; E_INVALID path ends in .vls; E_UNSUPPORTED this build has no HDF5;
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
/* Errors  E_INVALID struct_size is too small; of area also: no such area */
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

#ifdef __cplusplus
}
#endif
#endif
