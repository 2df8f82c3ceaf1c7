/* SPDX-License-Identifier: Apache-2.0
 * A net of the CUDA backend: the structures, and which file does what.
 *
 * State, accumulators, rows and spikes lie on the device (kernels/cuda); the
 * host sees nothing of a single burst. A run is one launch for up to
 * VLY_CUDA_LAUNCH_BURSTS bursts, after which digests, counts and, if they are
 * recorded, spikes are read in one piece each.
 */
#ifndef VOLLEY_CUDA_NET_H
#define VOLLEY_CUDA_NET_H

#include <volley/plugin.h>

#include "backends/common/backend_common.h"
#include "kernels/cuda/linger_kernels.h"

/* What all backends share, by the names it has in this one. */
#define vly_cuda_host vly_support_host
#define vly_cuda_fail vly_support_fail
#define vly_cuda_area_desc vly_common_area_desc
#define vly_cuda_projection_desc vly_common_projection_desc
#define vly_cuda_stimulus_desc vly_common_stimulus_desc
#define vly_cuda_area_of vly_common_area_of
#define vly_cuda_run_areas vly_common_run_areas

typedef struct vly_cuda_buffer vly_cuda_buffer; /* cuda_memory.c */

typedef struct vly_cuda_area_info {
    const vly_common_model *model;
    const char *name;
    uint64_t state_at;                      /* its first word of the state */
    uint32_t coef_room[VLY_CUDA_MAX_COEFS]; /* words behind the pointer */
} vly_cuda_area_info;

/* Input of the host for one launch: first of each burst, then the inputs. One
 * block, so that one copy takes it there. */
typedef struct vly_cuda_inputs {
    uint32_t *words;    /* on the device */
    uint32_t *words_at; /* pinned */
    uint64_t room;      /* words */
} vly_cuda_inputs;

/* A range of a field that the host reads after short runs. */
typedef struct vly_cuda_read {
    uint32_t area;
    uint32_t field;
    uint32_t first;
    uint32_t count;
    uint32_t at;           /* in published words */
    uint32_t is_published; /* 0: it will be after the next short run */
} vly_cuda_read;

/* What the device writes to the host after a short run: cuda_short.c */
typedef struct vly_cuda_host_view {
    vly_cuda_published *published; /* pinned */
    uint32_t number;               /* of the last short launch */
    uint32_t is_valid;             /* 1: its words are those of now */
    uint32_t n_reads;
    uint32_t n_words;                          /* of all ranges */
    vly_cuda_read reads[VLY_CUDA_WATCHES - 1]; /* the other: area_spikes */
    uint32_t *ids;                             /* pinned: [room] ids, gains */
    uint64_t room;
} vly_cuda_host_view;

/* Launches that stay between short runs: cuda_linger.c */
typedef struct vly_cuda_lingering {
    vly_cuda_mailbox *mailbox; /* pinned */
    vly_cuda_answer *answer;   /* pinned */
    vly_cuda_relay *relay;     /* on the device */
    vly_cuda_linger launch;
    vly_cuda_done told; /* of the launch, in the last answer */
    uint64_t ended_ns;  /* of the last run */
    uint32_t is_on;     /* 1: the launch may be there, and was not told to go */
    uint32_t number;    /* of the last launch or command */
    uint32_t n_left;    /* bursts that the launch may still run */
    uint32_t n_quick;   /* runs in a row that followed quickly */
    uint32_t fits;      /* the plan, ... */
    uint32_t n_changes; /* ... which is the one after so many changes, plus 1 */
} vly_cuda_lingering;

#define VLY_CUDA_AUTO UINT32_MAX

enum {
    VLY_CUDA_PLAN_AUTO,
    VLY_CUDA_PLAN_GLOBAL,
    VLY_CUDA_PLAN_RESIDENT,
    VLY_CUDA_PLAN_PARTITIONED
};

/* What the caller may ask for behind the device; cuda_net.c reads it. */
typedef struct vly_cuda_options {
    uint32_t plan;     /* VLY_CUDA_PLAN_* */
    uint32_t n_blocks; /* 0: as many as fit */
    uint32_t lines;    /* of mail; 0: by the spikes */
    uint32_t threads;  /* of a resident block at least: 0 by the spikes, 1, 2, 3
                          for 512, 256, 128 */
    uint32_t split;    /* rows of delay 1 apart: 0, 1 or VLY_CUDA_AUTO */
    uint32_t quads;    /* of a segment without its rest; 0: by memory */
    uint32_t cluster;  /* blocks of a slice; 0: by size */
    uint32_t unit;     /* synapses read at once; 0: by size */
    uint32_t once;     /* percent of a slice that one block of a pair lacks at
                          least; 0: none, VLY_CUDA_AUTO: what does not fit */
    uint32_t post;     /* spikes of a block whose parts are posted at most */
    uint32_t narrow;   /* sums of 16 bits: 0 never, 1 wherever they are proved
                          to fit, VLY_CUDA_AUTO where a burst takes less too */
    uint32_t deal;     /* turns of a warp from which on they are dealt */
    uint32_t n_bursts; /* of a launch; 0: by time */
    uint32_t change;   /* 1: another plan after every launch, for tests */
    uint32_t fault;
    uint32_t linger; /* 0: no launch stays between runs; 2: for tests, their
                        numbers begin near the last one */
} vly_cuda_options;

/* cudaEvent_t before and after a launch, after copies, after spikes have come,
 * after they were put in order */
#define VLY_CUDA_EVENTS 5u

struct vly_backend_net {
    const vly_net_desc *desc;
    vly_cuda_options wanted;
    vly_common_heap heap;
    vly_cuda_buffer *buffers;
    uint64_t pinned_bytes;
    uint64_t device_bytes;
    uint64_t peak_bytes; /* the most that device_bytes was ... */
    uint64_t plan_room;  /* ... when the plan was made: this much more */
    int32_t device;
    int32_t failed;    /* status of a run that failed, or VLY_OK */
    uint64_t burst;    /* done */
    uint64_t head;     /* log position of the next spike */
    uint32_t n_blocks; /* of a launch */
    uint32_t n_units;  /* multiprocessors of the device */
    uint32_t fault;    /* option fault=1: the next launch fails, for tests */
    uint32_t launch_bursts; /* of the next launch at most */
    uint32_t launch_fixed;  /* option launch=N; 0: by time */
    void *stream;           /* cudaStream_t */
    void *drain_stream;     /* cudaStream_t of spikes on their way */
    void *events[VLY_CUDA_EVENTS];
    vly_cuda_view view;
    vly_cuda_resident resident;
    uint64_t segment_bytes;
    uint64_t mail_words; /* of resident.mail and resident.mail_more */
    uint64_t more_words;
    uint32_t is_resident;    /* 1: the plan of burst_resident.cu */
    uint32_t is_partitioned; /* 1: the plan of burst_partition.cu */
    uint32_t fits_both;      /* 1: another plan may be chosen later */
    uint32_t n_changes;      /* of plan */
    double plan_ns;          /* making this one took */
    double excess_ns;        /* that another would have saved so far */
    vly_cuda_partition partition;
    vly_cuda_partition_group *partition_groups; /* as on the device */
    uint64_t partition_bytes;
    uint32_t partition_delay; /* shortest of all */
    uint32_t *divisors;   /* [n_areas] of weights, if they were looked for */
    uint32_t lines_fixed; /* option lines=N; 0: by mean_spikes */
    float mean_spikes;    /* of a burst, in the last launch */
    uint32_t reserved;
    vly_cuda_area *areas; /* [n_areas] as on the device */
    vly_cuda_area_info *info;
    uint32_t *stimulus_slot; /* of each, in the table on the device */
    uint32_t *thresholds;    /* on the device, VLY_CUDA_THRESHOLDS a slot */
    vly_cuda_group *groups;  /* [view.n_groups] as on the device */
    uint32_t *state;         /* on the device, as in a snapshot */
    uint64_t n_state_words;
    uint64_t n_synapses;
    vly_cuda_done *dones;   /* on the device: cleared all at once ... */
    vly_cuda_done *done;    /* ... and this one is of the launch at hand */
    vly_cuda_done *done_at; /* on the host, pinned, as the records */
    vly_cuda_record *records;
    uint64_t cleared; /* records of bursts up to here are 0 */
    vly_cuda_inputs inputs;
    uint32_t *drain[2];    /* on the device: ids and gains, in order */
    uint32_t *drain_at[2]; /* pinned: the same on their way */
    uint64_t drain_room;
    uint32_t *sent_to[2];  /* where ids and gains under way will belong ... */
    uint64_t n_sent;       /* ... and how many, or 0 */
    uint64_t *area_spikes; /* on the device: [n_areas] since it began */
    uint64_t *area_spikes_at; /* pinned */
    uint64_t *area_spikes_told;
    vly_cuda_host_view host; /* of short runs */
    vly_cuda_lingering linger;
};

/* ---- cuda_memory.c ----------------------------------------------------- */

/* count * size bytes of the host, cleared, into *out. Everything a net
 * allocates is freed with it. Errors E_NOMEM, *out untouched */
vly_status vly_cuda_alloc(vly_backend_net *net, uint64_t count, uint64_t size,
                          void *out, vly_error *error);
void vly_cuda_release(vly_backend_net *net, void *memory);
/* The same on the device, and pinned on the host. */
vly_status vly_cuda_device_alloc(vly_backend_net *net, uint64_t count,
                                 uint64_t size, void *out, vly_error *error);
vly_status vly_cuda_pinned_alloc(vly_backend_net *net, uint64_t count,
                                 uint64_t size, void *out, vly_error *error);
void vly_cuda_device_release(vly_backend_net *net, const void *memory);
void vly_cuda_release_all(vly_backend_net *net);
/* Opens the accounts of all devices with the host; counterpart. */
vly_status vly_cuda_memory_start(vly_error *error);
void vly_cuda_memory_stop(void);
/* VLY_OK, or the failure in words. An error that leaves the device of this
 * thread unusable for this process is kept and reported for ever; others are
 * not concerned. */
vly_status vly_cuda_check(int code, const char *what, vly_error *error);
/* Sets the device of this thread; a cudaError_t. Nothing else does that. */
int vly_cuda_select(int32_t device);
/* VLY_OK, or the error that was kept; sets the device of this thread. */
vly_status vly_cuda_enter(int32_t device, vly_error *error);
vly_status vly_cuda_upload(vly_backend_net *net, void *device,
                           const void *words, uint64_t bytes, vly_error *error);
vly_status vly_cuda_download(vly_backend_net *net, void *words,
                             const void *device, uint64_t bytes,
                             vly_error *error);
vly_status vly_cuda_synchronize(vly_backend_net *net, const char *what,
                                vly_error *error);

/* ---- cuda_device.c ----------------------------------------------------- */

/* VLY_OK if there is a driver and a device */
vly_status vly_cuda_detect(vly_error *error);
uint32_t vly_cuda_device_count(void);
vly_status vly_cuda_device_info(uint32_t index, vly_device_info *info,
                                vly_error *error);

/* ---- cuda_net.c -------------------------------------------------------- */

vly_status vly_cuda_net_create(const vly_device_spec *device,
                               const vly_net_desc *desc,
                               const vly_snapshot *snapshot,
                               vly_backend_net **net, vly_error *error);
void vly_cuda_net_destroy(vly_backend_net *net);
vly_status vly_cuda_net_info(const vly_backend_net *net, vly_net_info *info,
                             vly_error *error);

/* ---- cuda_plan.c ------------------------------------------------------- */

/* Chooses a plan by net->wanted and sizes. */
vly_status vly_cuda_plan_choose(vly_backend_net *net, vly_error *error);
/* Rows, and what the plan keeps for events that are under way. Not asked for, a
 * plan that does not fit whole makes room for the next one, which is logged.
 * Errors  E_NOMEM  none fits; what was made is freed with the net */
vly_status vly_cuda_plan_create(vly_backend_net *net, vly_error *error);
/* Enqueues what puts events that are under way where the plan has them. */
vly_status vly_cuda_plan_restore(vly_backend_net *net, vly_error *error);
/* Enqueues a launch; returns a cudaError_t. */
int vly_cuda_plan_launch(vly_backend_net *net, const vly_cuda_launch *launch);
/* After a launch, between bursts: another plan, if the events of the bursts
 * so far say that it would have been worth making by now. */
vly_status vly_cuda_plan_review(vly_backend_net *net, uint32_t n_bursts,
                                uint64_t n_events, vly_error *error);

/* ---- cuda_delivery.c --------------------------------------------------- */

/* Rows by source, one group for each base delay, from the projections; nothing
 * is left of them after a failure. */
vly_status vly_cuda_delivery_create(vly_backend_net *net, vly_error *error);
void vly_cuda_delivery_release(vly_backend_net *net);

/* ---- cuda_resident.c --------------------------------------------------- */

/* Chooses the blocks of the resident plan, wanted if not 0. *why: NULL if the
 * net fits, else the reason. */
vly_status vly_cuda_resident_fit(vly_backend_net *net, uint32_t wanted,
                                 const char **why, vly_error *error);
/* Segments in place of the groups; clears is_resident and leaves the groups
 * if padding would take too much memory, unless forced. */
vly_status vly_cuda_resident_create(vly_backend_net *net, uint32_t forced,
                                    vly_error *error);
/* Frees what create made. */
void vly_cuda_resident_release(vly_backend_net *net);
/* Events that are under way, from the log. */
vly_status vly_cuda_resident_restore(vly_backend_net *net, vly_error *error);
/* What every launch of so many bursts needs before it; a cudaError_t. */
int vly_cuda_resident_ready(vly_backend_net *net, uint32_t n_bursts);
/* Enqueues a launch; returns a cudaError_t. */
int vly_cuda_resident_launch(vly_backend_net *net,
                             const vly_cuda_launch *launch);

/* cuda_shifts.c: shifts of weights. */

/* More synapses of the resident plan at most: one in so many of a net's. */
#define VLY_CUDA_SHIFT_SHARE 4u
/* Sets resident->step, by its slice; 0 if synapses, with those beyond their
 * class as several of them, would become too many. */
int vly_cuda_shifts_fit(const vly_backend_net *net,
                        vly_cuda_resident *resident);

/* cuda_segments.c: the synapses of the resident plan, by (block, source). */

/* Segments from the groups, which stay; forced as above. What was made before
 * a failure is freed by release. */
vly_status vly_cuda_segments_create(vly_backend_net *net, uint32_t forced,
                                    vly_error *error);
void vly_cuda_segments_release(vly_backend_net *net);

/* ---- cuda_fit.c -------------------------------------------------------- */

/* Chooses slices and clusters of the partitioned plan, on at most `limit`
 * blocks; cluster and unit are taken if not 0. *why: NULL if the net fits,
 * else the reason. */
vly_status vly_cuda_partition_fit(vly_backend_net *net, uint32_t cluster,
                                  uint32_t unit, uint32_t limit,
                                  const char **why, vly_error *error);

/* cuda_narrow.c: *holds: 1 if sums of 16 bits hold what arrives in a burst, of
 * which all delays must be the same; net->divisors are set then. */
vly_status vly_cuda_narrow_prove(vly_backend_net *net, uint32_t *holds,
                                 vly_error *error);

/* ---- cuda_partition.c -------------------------------------------------- */

/* Rows by slice in place of the groups. */
vly_status vly_cuda_partition_create(vly_backend_net *net, vly_error *error);
/* Events that are under way, from the log. */
vly_status vly_cuda_partition_restore(vly_backend_net *net, vly_error *error);
/* What every launch needs before it; a cudaError_t. */
int vly_cuda_partition_ready(vly_backend_net *net);
/* Enqueues a launch; returns a cudaError_t. */
int vly_cuda_partition_launch(vly_backend_net *net,
                              const vly_cuda_launch *launch);

/* cuda_slices.c: the rows of one group. */
vly_status vly_cuda_slices_create(vly_backend_net *net, uint32_t group,
                                  vly_error *error);
/* Frees what create made. */
void vly_cuda_partition_release(vly_backend_net *net);

/* ---- cuda_stimulus.c --------------------------------------------------- */

vly_status vly_cuda_stimulus_create(vly_backend_net *net, vly_error *error);
vly_status vly_cuda_stimulus_write(vly_backend_net *net, uint32_t index,
                                   const vly_stimulus_desc *desc,
                                   vly_error *error);

/* ---- cuda_dynamics.c --------------------------------------------------- */

/* Areas, state and coefficients. */
vly_status vly_cuda_dynamics_create(vly_backend_net *net, vly_error *error);
vly_status vly_cuda_coef_write(vly_backend_net *net, uint32_t area,
                               uint32_t coef, const vly_column *column,
                               vly_error *error);

/* ---- cuda_history.c ---------------------------------------------------- */

vly_status vly_cuda_history_create(vly_backend_net *net, vly_error *error);
/* Room for n more spikes beside those from burst `oldest` on. */
vly_status vly_cuda_history_reserve(vly_backend_net *net, uint64_t oldest,
                                    uint64_t n, vly_error *error);
/* Spikes of n_bursts bursts, in order, which are n_spikes; gains or NULL. */
vly_status vly_cuda_history_read(vly_backend_net *net, uint64_t burst,
                                 uint32_t n_bursts, uint64_t n_spikes,
                                 uint32_t *ids, uint32_t *gains,
                                 vly_error *error);
/* Enqueues a launch's spikes on their way to the host: of the n_bursts it may
 * run, at most `room`. */
vly_status vly_cuda_history_sort(vly_backend_net *net, uint64_t burst,
                                 uint32_t n_bursts, uint64_t room, int gains,
                                 vly_error *error);
/* Enqueues the copy of the n_spikes of them that there are, beside what comes
 * next in the net's stream; they are in ids and gains (NULL: not wanted) after
 * receive, which must be before the next sort. One at a time. */
vly_status vly_cuda_history_send(vly_backend_net *net, uint64_t n_spikes,
                                 uint32_t *ids, uint32_t *gains,
                                 vly_error *error);
vly_status vly_cuda_history_receive(vly_backend_net *net, vly_error *error);
/* Enqueues zeros for the records of n_bursts bursts from net->burst on. */
vly_status vly_cuda_history_clear(vly_backend_net *net, uint32_t n_bursts,
                                  vly_error *error);
/* Makes room in the log after a launch that ran out of it. */
vly_status vly_cuda_history_grow(vly_backend_net *net, vly_error *error);
/* Enqueues the copy of the records of n_bursts bursts; a cudaError_t. */
int vly_cuda_history_fetch(vly_backend_net *net, uint64_t burst,
                           uint32_t n_bursts, vly_cuda_record *records);
/* Records of n_bursts bursts into records[]. */
vly_status vly_cuda_history_records(vly_backend_net *net, uint64_t burst,
                                    uint32_t n_bursts, vly_cuda_record *records,
                                    vly_error *error);
vly_status vly_cuda_history_load(vly_backend_net *net,
                                 const vly_snapshot *snapshot,
                                 vly_error *error);

/* ---- cuda_input.c ------------------------------------------------------ */

/* How many inputs a launch has; *from is moved to the first of them. */
uint64_t vly_cuda_inputs_find(const vly_run *run, uint64_t *from,
                              const vly_cuda_launch *launch);
/* Enqueues them; *from is moved to the first. */
vly_status vly_cuda_inputs_send(vly_backend_net *net, const vly_run *run,
                                uint64_t *from, vly_cuda_launch *launch,
                                vly_error *error);

/* ---- cuda_range.c: what a profiler shows (NVTX) ------------------------ */

void vly_cuda_range_begin(const char *name); /* a literal */
void vly_cuda_range_end(void);

/* ---- cuda_short.c ------------------------------------------------------ */

/* Whether a launch is short enough for the host to wait for its results by
 * polling; allocates what that needs. */
int vly_cuda_short_fits(vly_backend_net *net, const vly_run *run,
                        const vly_cuda_launch *launch);
/* Enqueues what follows the launch, waits, and leaves done, records and spikes
 * by area in the places of a long launch. */
vly_status vly_cuda_short_finish(vly_backend_net *net, const vly_run *run,
                                 const vly_cuda_launch *launch,
                                 vly_error *error);
/* 1: words[] were filled from what has been published. Otherwise they will be
 * next time. */
int vly_cuda_short_read(vly_backend_net *net, uint32_t area, uint32_t field,
                        uint32_t first, uint32_t count, uint32_t *words);
/* The state changes: nothing published holds any more. */
void vly_cuda_short_forget(vly_backend_net *net);

/* ---- cuda_linger.c ----------------------------------------------------- */

/* Whether a short launch, whose inputs are from input_from on, is to be run by
 * one that stays on the device afterwards. */
int vly_cuda_linger_fits(vly_backend_net *net, const vly_run *run,
                         uint64_t input_from, const vly_cuda_launch *launch);
/* Runs it, and leaves done, records, ranges and ids in the places of a short
 * launch. */
vly_status vly_cuda_linger_run(vly_backend_net *net, const vly_run *run,
                               uint64_t *input_from,
                               const vly_cuda_launch *launch, vly_error *error);
/* Tells a launch that stays to go, before the net is used in another way: the
 * stream is behind it. Does not wait. */
void vly_cuda_settle(vly_backend_net *net);

/* ---- cuda_run.c -------------------------------------------------------- */

/* net->done: one that is 0 when its launch begins */
vly_status vly_cuda_done_next(vly_backend_net *net, vly_error *error);

vly_status vly_cuda_net_run(vly_backend_net *net, vly_run *run,
                            vly_error *error);

/* ---- cuda_snapshot.c --------------------------------------------------- */

vly_status vly_cuda_snapshot_read(vly_backend_net *net, vly_snapshot *snapshot,
                                  vly_error *error);
vly_status vly_cuda_field_read(vly_backend_net *net, uint32_t area,
                               uint32_t field, uint32_t first, uint32_t count,
                               uint32_t *words, vly_error *error);
vly_status vly_cuda_field_write(vly_backend_net *net, uint32_t area,
                                uint32_t field, uint32_t first, uint32_t count,
                                const uint32_t *words, vly_error *error);
vly_status vly_cuda_state_digest(vly_backend_net *net, uint64_t *digest,
                                 vly_error *error);

#endif
