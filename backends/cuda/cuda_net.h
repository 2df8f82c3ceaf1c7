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

#include "cuda_models.h"

typedef struct vly_cuda_block vly_cuda_block;   /* of memory: cuda_memory.c */
typedef struct vly_cuda_buffer vly_cuda_buffer; /* the same on the device */

typedef struct vly_cuda_area_info {
    const vly_cuda_model *model;
    const char *name;
    uint64_t state_at;                      /* its first word of the state */
    uint32_t coef_room[VLY_CUDA_MAX_COEFS]; /* words behind the pointer */
} vly_cuda_area_info;

typedef struct vly_cuda_stimulus_info {
    uint32_t slot; /* in the table on the device */
    uint32_t port;
    uint32_t first;
    uint32_t n_neurons;
    uint32_t *thresholds; /* on the device: VLY_CUDA_THRESHOLDS words */
} vly_cuda_stimulus_info;

struct vly_backend_net {
    const vly_net_desc *desc;
    vly_cuda_block *blocks;
    vly_cuda_buffer *buffers;
    uint64_t host_bytes;
    uint64_t device_bytes;
    int32_t device;
    int32_t failed;    /* status of a run that failed, or VLY_OK */
    uint64_t burst;    /* done */
    uint64_t head;     /* log position of the next spike */
    uint32_t n_blocks; /* of a launch */
    uint32_t fault;    /* option fault=1: the next launch fails, for tests */
    uint32_t launch_bursts; /* of the next launch at most */
    uint32_t launch_fixed;  /* option launch=N; 0: by time */
    void *stream;           /* cudaStream_t */
    void *events[2];        /* cudaEvent_t around a launch */
    vly_cuda_view view;
    vly_cuda_resident resident;
    uint64_t segment_bytes;
    uint64_t mail_words; /* of resident.mail and resident.mail_more */
    uint64_t more_words;
    uint32_t is_resident; /* 1: the plan of burst_resident.cu */
    uint32_t lines_fixed; /* option lines=N; 0: by mean_spikes */
    float mean_spikes;    /* of a burst, in the last launch */
    uint32_t reserved;
    vly_cuda_area *areas; /* [n_areas] as on the device */
    vly_cuda_area_info *info;
    vly_cuda_stimulus_info *stimuli;
    vly_cuda_group *groups; /* [view.n_groups] as on the device */
    uint32_t *state;        /* on the device, as in a snapshot */
    uint64_t n_state_words;
    uint64_t n_synapses;
    vly_cuda_done *done;    /* on the device */
    vly_cuda_done *done_at; /* on the host, pinned, as the records */
    vly_cuda_record *records;
    vly_cuda_input *inputs;    /* on the device */
    uint32_t *input_row;       /* on the device */
    vly_cuda_input *inputs_at; /* on the host */
    uint32_t *input_row_at;
    uint64_t inputs_room;
    uint32_t *drain[2]; /* on the device: ids and gains, in order */
    uint64_t drain_room;
};

/* ---- cuda_memory.c ----------------------------------------------------- */

extern const vly_host *vly_cuda_host; /* set once by init */

vly_status vly_cuda_fail(vly_error *error, vly_status status,
                         const char *format, ...)
    __attribute__((format(printf, 3, 4)));
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
/* VLY_OK, or the failure in words. An error that leaves the device unusable
 * for this process is kept and reported for ever. */
vly_status vly_cuda_check(int code, const char *what, vly_error *error);
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

/* ---- cuda_supports.c --------------------------------------------------- */

vly_status vly_cuda_supports(const vly_net_desc *desc, vly_error *error);
/* element of an array whose stride the host gives */
const vly_area_desc *vly_cuda_area_desc(const vly_net_desc *desc, uint32_t i);
const vly_projection_desc *vly_cuda_projection_desc(const vly_net_desc *desc,
                                                    uint32_t i);
const vly_stimulus_desc *vly_cuda_stimulus_desc(const vly_net_desc *desc,
                                                uint32_t i);
/* area that holds the neuron */
uint32_t vly_cuda_area_of(const vly_net_desc *desc, uint32_t neuron);
vly_status vly_cuda_check_thresholds(const vly_stimulus_desc *stimulus,
                                     uint32_t index, vly_error *error);

/* ---- cuda_net.c -------------------------------------------------------- */

vly_status vly_cuda_net_create(const vly_device_spec *device,
                               const vly_net_desc *desc,
                               const vly_snapshot *snapshot,
                               vly_backend_net **net, vly_error *error);
void vly_cuda_net_destroy(vly_backend_net *net);
vly_status vly_cuda_net_info(const vly_backend_net *net, vly_net_info *info,
                             vly_error *error);

/* ---- cuda_delivery.c --------------------------------------------------- */

/* Rows by source, one group for each base delay, from the projections. */
vly_status vly_cuda_delivery_create(vly_backend_net *net, vly_error *error);

/* ---- cuda_resident.c --------------------------------------------------- */

/* Chooses the blocks of the resident plan, wanted if not 0. *why: NULL if the
 * net fits, else the reason. */
vly_status vly_cuda_resident_fit(vly_backend_net *net, uint32_t wanted,
                                 const char **why, vly_error *error);
/* Segments in place of the groups; clears is_resident and leaves the groups
 * if padding would take too much memory, unless forced. */
vly_status vly_cuda_resident_create(vly_backend_net *net, uint32_t forced,
                                    vly_error *error);
/* Events that are under way, from the log. */
vly_status vly_cuda_resident_restore(vly_backend_net *net, vly_error *error);
/* Enqueues a launch; returns a cudaError_t. */
int vly_cuda_resident_launch(vly_backend_net *net,
                             const vly_cuda_launch *launch);

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

/* ---- cuda_run.c -------------------------------------------------------- */

vly_status vly_cuda_net_run(vly_backend_net *net, vly_run *run,
                            vly_error *error);

/* ---- cuda_snapshot.c --------------------------------------------------- */

/* bursts whose spikes a snapshot at `burst` holds */
uint32_t vly_cuda_fired_bursts(const vly_net_desc *desc, uint64_t burst);
vly_status vly_cuda_snapshot_check(const vly_net_desc *desc,
                                   const vly_snapshot *snapshot,
                                   vly_error *error);
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
