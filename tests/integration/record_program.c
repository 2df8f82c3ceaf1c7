/* SPDX-License-Identifier: Apache-2.0
 * record_program GENOME BURSTS STEM: records a net from C and watches it from
 * another thread, by the installed headers alone. Writes STEM.vls and
 * STEM.digests, converts the first to STEM.csv, reads it back, and prints
 * spikes, bursts and the digest of the run.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <volley/record.h>
#include <volley/watch.h>

enum { PIECE = 50, MOST_AREAS = 64, PATH_BYTES = 500 };

typedef struct reading {
    const vly_watch *watch;
    atomic_int done;
    uint64_t n_samples;
    vly_watch_sample last;
    uint64_t area_spikes[MOST_AREAS];
} reading;

static void *read_samples(void *arg)
{
    reading *r = arg;
    uint64_t next = 0;
    uint64_t lost = 0;
    int done = 0;
    while (!done) {
        done = atomic_load(&r->done); /* samples before it are all taken */
        while (vly_watch_take(r->watch, &next, &lost, &r->last, r->area_spikes))
            r->n_samples++;
    }
    r->n_samples += lost;
    return NULL;
}

/* Runs the net in pieces, with a sample after each. */
static vly_status run(vly_net *net, vly_watch *watch, uint64_t n_bursts,
                      vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint64_t done = 0; done < n_bursts && status == VLY_OK;
         done += PIECE) {
        const uint64_t left = n_bursts - done;
        status = vly_net_run(net, left < PIECE ? left : PIECE, error);
        if (status == VLY_OK)
            status = vly_watch_put(watch, net, error);
    }
    return status;
}

static vly_status watched_run(vly_net *net, uint64_t n_bursts, reading *r,
                              vly_error *error)
{
    vly_watch *watch = NULL;
    pthread_t thread;
    vly_status status = vly_watch_create(net, 64, &watch, error);
    if (status != VLY_OK)
        return status;
    r->watch = watch;
    r->last.struct_size = sizeof r->last;
    if (vly_watch_areas(watch) > MOST_AREAS ||
        pthread_create(&thread, NULL, read_samples, r) != 0) {
        vly_watch_destroy(watch);
        return VLY_E_UNSUPPORTED;
    }
    status = run(net, watch, n_bursts, error);
    atomic_store(&r->done, 1);
    (void)pthread_join(thread, NULL);
    vly_watch_destroy(watch);
    return status;
}

/* The recorder's failure is the cause of the run's. */
static vly_status record(vly_net *net, uint64_t n_bursts, const char *stem,
                         reading *r, vly_error *error)
{
    char spikes[PATH_BYTES];
    char digests[PATH_BYTES];
    (void)snprintf(spikes, sizeof spikes, "%s.vls", stem);
    (void)snprintf(digests, sizeof digests, "%s.digests", stem);
    const vly_recorder_options files = {
        .struct_size = sizeof files, .spikes = spikes, .digests = digests};
    vly_recorder *recorder = NULL;
    vly_status status = vly_recorder_open(net, &files, &recorder, error);
    if (status != VLY_OK)
        return status;
    vly_net_on_spikes(net, vly_recorder_burst, recorder);
    status = watched_run(net, n_bursts, r, error);
    vly_net_on_spikes(net, NULL, NULL);
    const vly_status closed = vly_recorder_close(recorder, error);
    return closed != VLY_OK ? closed : status;
}

static vly_status read_back(const char *stem, uint64_t *n_spikes,
                            uint64_t *n_bursts, vly_error *error)
{
    char path[PATH_BYTES];
    const uint32_t *ids = NULL;
    uint32_t n_ids = 0;
    vly_spike_reader *reader = NULL;
    (void)snprintf(path, sizeof path, "%s.vls", stem);
    vly_status status = vly_spike_reader_open(path, &reader, error);
    *n_spikes = 0;
    while (status == VLY_OK) {
        status = vly_spike_reader_next(reader, n_bursts, &ids, &n_ids, error);
        *n_spikes += n_ids;
        if (n_ids == 0)
            break;
    }
    vly_spike_reader_close(reader);
    return status;
}

int main(int argc, char **argv)
{
    vly_error error = {.struct_size = sizeof error};
    vly_net *net = NULL;
    reading r = {.watch = NULL};
    char stream[PATH_BYTES];
    char csv[PATH_BYTES];
    uint64_t n_spikes = 0;
    uint64_t n_converted = 0;
    uint64_t n_bursts = 0;
    if (argc != 4) {
        fprintf(stderr, "usage: record_program GENOME BURSTS STEM\n");
        return 2;
    }
    (void)snprintf(stream, sizeof stream, "%s.vls", argv[3]);
    (void)snprintf(csv, sizeof csv, "%s.csv", argv[3]);
    vly_status status = vly_net_open(argv[1], "cpu:1", &net, &error);
    if (status == VLY_OK)
        status = record(net, strtoull(argv[2], NULL, 10), argv[3], &r, &error);
    if (status == VLY_OK)
        status = vly_recording_convert(stream, csv, &n_converted, &error);
    if (status == VLY_OK)
        status = read_back(argv[3], &n_spikes, &n_bursts, &error);
    if (status == VLY_OK)
        printf("%" PRIu64 " spikes, %" PRIu64 " converted, %" PRIu64
               " watched in %" PRIu64 " samples, %" PRIu64
               " bursts, %016" PRIx64 "\n",
               n_spikes, n_converted, r.last.spikes, r.n_samples, n_bursts,
               vly_net_digest(net));
    else
        fprintf(stderr, "%s\n", error.message);
    vly_net_close(net);
    return vly_status_exit_code(status);
}
