/* SPDX-License-Identifier: Apache-2.0
 * A net of the Vulkan backend: the structures, and which file does what.
 *
 * State, accumulators, rows and spikes are stored on the device
 * (kernels/vulkan). A command buffer holds the dispatches of many bursts. After
 * a submission the host reads the digests, the counts and, if they are
 * recorded, the spikes, each in one piece.
 */
#ifndef VOLLEY_VULKAN_NET_H
#define VOLLEY_VULKAN_NET_H

#include <stdbool.h>

#include "backends/common/backend_common.h"
#include "vulkan_device.h"

enum {
    VLY_VULKAN_ON_DEVICE, /* copies only */
    VLY_VULKAN_TO_DEVICE, /* written by the host, on the device if it can be */
    VLY_VULKAN_TO_HOST    /* read by the host */
};

/* option plan=... */
enum { VLY_VULKAN_PLAN_AUTO, VLY_VULKAN_PLAN_GLOBAL, VLY_VULKAN_PLAN_SLICED };

/* of an option: not asked for */
#define VLY_VULKAN_AUTO UINT32_MAX

/* The caller's choice of plan. Each is 0, 1 or VLY_VULKAN_AUTO (chosen for the
 * net).
 */
typedef struct vly_vulkan_choice {
    uint32_t plan;     /* VLY_VULKAN_PLAN_* */
    uint32_t copies;   /* work groups that share a slice; 0: by the device */
    uint32_t is_short; /* plan sliced: 16 bits a synapse */
    uint32_t keeps;    /* counts of stimuli, for four bursts */
    uint32_t fused;    /* plan sliced: a burst in one dispatch */
} vly_vulkan_choice;

/* A block of memory that shaders reach by address. */
typedef struct vly_vulkan_buffer {
    struct vly_vulkan_buffer *next;
    VkBuffer buffer;
    void *memory; /* of the policy: vulkan_memory.c */
    void *mapped; /* NULL on the device */
    uint64_t address;
    uint64_t bytes;
    uint32_t kind;
    uint32_t memory_kind;
} vly_vulkan_buffer;

/* Commands that are recorded once and submitted often. */
typedef struct vly_vulkan_commands {
    VkCommandBuffer bursts;
    VkCommandBuffer sort;
    uint32_t n_bursts; /* at most; 0: not recorded */
    uint32_t reserved;
} vly_vulkan_commands;

/* Tiles of one kind: of one built-in model or one program. */
typedef struct vly_vulkan_model_tiles {
    uint32_t first;
    uint32_t n;
} vly_vulkan_model_tiles;

/* Memory of a coefficient */
typedef struct vly_vulkan_column {
    vly_vulkan_buffer *own; /* made by coef_write, or NULL */
    uint32_t room;          /* words at the address */
    uint32_t reserved;
} vly_vulkan_column;

typedef struct vly_vulkan_area_info {
    uint64_t state_at; /* first word of its state */
    vly_vulkan_column *column;
    vly_vulkan_program_coefs *coefs; /* of a program; NULL: built-in model */
    uint64_t coefs_at;               /* their place in net->program_coefs */
    uint32_t kind;                   /* VLY_VULKAN_MODEL_*, then programs */
    uint32_t reserved;
} vly_vulkan_area_info;

/* A user's model, the program of one area or of several. */
typedef struct vly_vulkan_program {
    const vly_area_desc *area;          /* the first of them */
    struct vly_vulkan_spliced *spliced; /* its pipeline; NULL: no neurons */
} vly_vulkan_program;

/* The structure at the address that shaders receive. */
typedef struct vly_vulkan_params {
    vly_vulkan_view view;
    vly_vulkan_launch launch;
} vly_vulkan_params;

typedef struct vly_vulkan_timestamps {
    VkQueryPool pool; /* VK_NULL_HANDLE: the device has none */
    uint64_t at[5];   /* begin, end; of one burst: begin, delivered, end */
} vly_vulkan_timestamps;

/* Synapses of a projection, a word each in blocks. */
typedef struct vly_vulkan_blocks {
    vly_vulkan_buffer **targets;
    vly_vulkan_buffer **weights;
    vly_vulkan_buffer **eligibilities; /* of NULL: the rule has none */
    uint64_t n_synapses;
} vly_vulkan_blocks;

/* A projection that learns; the device has its arrays. */
typedef struct vly_vulkan_plastic_map {
    vly_vulkan_blocks blocks;
    vly_vulkan_buffer *arrived;
    vly_vulkan_buffer *before[2]; /* NULL: the rule has no such trace */
    vly_vulkan_buffer *newest;
    vly_vulkan_buffer *post;
    vly_vulkan_buffer *post_before[2];
    vly_vulkan_buffer *runs[2];   /* NULL: not a rule of windows */
    vly_vulkan_buffer *modulator; /* NULL: the rule has none */
    vly_vulkan_buffer *words;     /* of a user's rule; NULL: a built-in one */
    uint32_t projection;
    uint32_t groups[3]; /* work groups for rows, events, renewing */
} vly_vulkan_plastic_map;

/* A projection with short-term plasticity. */
typedef struct vly_vulkan_short_map {
    vly_vulkan_blocks blocks;
    vly_vulkan_buffer *head;
    vly_vulkan_buffer *tail;
    uint32_t projection;
    uint32_t delay_max;
    uint32_t groups[2]; /* work groups for rows, states */
} vly_vulkan_short_map;

/* A user's rule, by which one projection learns or several. */
typedef struct vly_vulkan_rule {
    const vly_projection_desc *map; /* the first of them */
    struct vly_vulkan_spliced *learn;
    struct vly_vulkan_spliced *flush;
} vly_vulkan_rule;

/* Projections with plasticity, by rule, and within a rule in the order of the
 * net. Users' rules are after the built-in ones. */
typedef struct vly_vulkan_plastic {
    vly_vulkan_learning *list;       /* [n] as on the device */
    vly_vulkan_plastic_map *map;     /* [n] */
    vly_vulkan_buffer *table;        /* list on the device */
    vly_vulkan_short *short_list;    /* [n_short] as on the device */
    vly_vulkan_short_map *short_map; /* [n_short] */
    vly_vulkan_buffer *short_table;  /* short_list on the device */
    vly_vulkan_buffer *given; /* TO_DEVICE: values for modulators; NULL: none */
    uint64_t flushed;         /* burst of the last flush by the host */
    uint64_t short_renewed;   /* the same of ages of sources */
    uint32_t n;               /* 0: nothing learns */
    uint32_t n_short;         /* 0: no short-term plasticity */
    uint32_t modulates;       /* 1: a rule has a modulator */
    uint32_t block_shift;     /* synapses of a block */
    uint32_t block_wanted;    /* option block=N; 0: by the device */
    vly_vulkan_rule *rules;   /* of users */
    uint32_t n_rules;         /* of them */
    uint32_t *first; /* [VLY_VULKAN_N_RULES + n_rules + 1] of each rule in list
                      */
    uint32_t short_first[VLY_VULKAN_N_SHORT_RULES + 1];
} vly_vulkan_plastic;

struct vly_backend_net {
    const vly_net_desc *desc;
    const vly_net_desc *fixed; /* the same without projections that learn or
                                  have short-term plasticity */
    vly_vulkan_device *device;
    vly_common_heap heap;
    vly_vulkan_buffer *buffers;
    uint64_t pinned_bytes; /* mapped by the host */
    uint64_t device_bytes;
    uint64_t device_limit;  /* option memory=N; UINT64_MAX: the device's */
    int32_t failed;         /* status of a run that failed, or VLY_OK */
    uint32_t fault;         /* option fault=1: the next run loses the device; 2:
                               it lacks what users' models need */
    uint64_t burst;         /* done */
    uint64_t head;          /* log position of the next spike */
    uint32_t launch_bursts; /* of the next submission at most */
    uint32_t launch_fixed;  /* option launch=N; 0: by time */
    vly_vulkan_shape shape;
    vly_vulkan_pipelines pipelines; /* that the device does not keep */
    VkCommandPool pool;
    VkCommandBuffer once; /* for copies */
    VkFence fence;
    vly_vulkan_commands commands;
    vly_vulkan_timestamps timestamps;
    vly_vulkan_buffer *staging; /* TO_DEVICE, for copies */
    vly_vulkan_buffer *reading; /* TO_HOST, for copies */
    vly_vulkan_buffer *params;  /* TO_DEVICE: view, then launch */
    vly_vulkan_params *shown;   /* host copy: reading the mapped one is slow */
    vly_vulkan_view *view;      /* in shown */
    vly_vulkan_launch *launch;
    vly_vulkan_buffer *areas;
    vly_vulkan_buffer *coefs;
    vly_vulkan_buffer *state; /* as in a snapshot */
    vly_vulkan_buffer *stimuli;
    vly_vulkan_buffer *thresholds;
    vly_vulkan_buffer *log_ids;
    vly_vulkan_buffer *log_gains;
    vly_vulkan_buffer *records;
    vly_vulkan_buffer *area_spikes;
    vly_vulkan_buffer *results;   /* TO_HOST: records, area_spikes */
    vly_vulkan_buffer *sorted[2]; /* TO_HOST: ids and gains, in order */
    vly_vulkan_buffer *inputs;    /* TO_DEVICE: rows, inputs; or NULL */
    uint64_t n_state_words;
    uint64_t n_synapses;
    uint64_t n_driven;     /* neurons that are updated in every burst */
    vly_vulkan_area *area; /* [n_areas] as on the device */
    vly_vulkan_area_info *info;
    uint32_t *stimulus_slot; /* [n_stimuli] place on the device */
    vly_vulkan_group *groups;
    vly_vulkan_buffer *group_table; /* the same on the device */
    uint32_t n_groups;
    uint32_t n_tiles;
    vly_vulkan_program *programs;
    uint32_t n_programs;
    uint32_t n_kinds;                 /* VLY_VULKAN_N_MODELS + n_programs */
    vly_vulkan_model_tiles *tiles;    /* [n_kinds] */
    vly_vulkan_buffer *program_coefs; /* tables of areas with a program */
    uint32_t is_sliced;               /* 1: plan sliced */
    uint32_t is_fused;                /* plan sliced: one dispatch a burst */
    uint32_t rounds;                  /* option rounds=N; 0: by size */
    uint32_t tile_size;               /* neurons */
    uint32_t longest_row;             /* plan sliced: synapses */
    vly_vulkan_plastic plastic;
    uint64_t index_bytes; /* of a neuron */
    uint64_t rows_bytes;  /* rows and their index */
};

/* ---- vulkan_memory.c (more of it in vulkan_device.h) ------------------- */

/* count * size bytes, cleared. Everything a net allocates is freed with it.
 * Errors E_NOMEM with the bytes requested and available */
vly_status vly_vulkan_buffer_create(vly_backend_net *net, uint32_t kind,
                                    uint64_t count, uint64_t size,
                                    vly_vulkan_buffer **buffer,
                                    vly_error *error);
void vly_vulkan_buffer_release(vly_backend_net *net, vly_vulkan_buffer *buffer);
void vly_vulkan_release_all(vly_backend_net *net);
vly_status vly_vulkan_upload(vly_backend_net *net, vly_vulkan_buffer *to,
                             uint64_t offset, const void *words, uint64_t bytes,
                             vly_error *error);
vly_status vly_vulkan_download(vly_backend_net *net, void *words,
                               const vly_vulkan_buffer *from, uint64_t offset,
                               uint64_t bytes, vly_error *error);

/* ---- vulkan_submit.c --------------------------------------------------- */

vly_status vly_vulkan_queue_create(vly_backend_net *net, vly_error *error);
void vly_vulkan_queue_destroy(vly_backend_net *net);
/* net->once, ready to be recorded */
vly_status vly_vulkan_once(vly_backend_net *net, vly_error *error);
/* Runs it, or n recorded ones, and waits. */
vly_status vly_vulkan_once_end(vly_backend_net *net, const char *what,
                               vly_error *error);
vly_status vly_vulkan_submit(vly_backend_net *net,
                             const VkCommandBuffer *commands, uint32_t n,
                             const char *what, vly_error *error);
/* A full barrier: commands after it see all writes of commands before it. */
void vly_vulkan_barrier(VkCommandBuffer commands);
/* One dispatch over the net's view. */
void vly_vulkan_dispatch(vly_backend_net *net, VkCommandBuffer commands,
                         VkPipeline pipeline, vly_vulkan_push push,
                         uint32_t groups);
/* net->commands for n bursts or some more */
vly_status vly_vulkan_record_bursts(vly_backend_net *net, uint32_t n_bursts,
                                    vly_error *error);
/* Dispatches of sort.comp over n_bursts records from net->launch on. */
vly_status vly_vulkan_record_sort(vly_backend_net *net,
                                  VkCommandBuffer commands, uint32_t n_bursts,
                                  vly_error *error);

/* ---- vulkan_net.c ------------------------------------------------------ */

vly_status vly_vulkan_net_create(const vly_device_spec *device,
                                 const vly_net_desc *desc,
                                 const vly_snapshot *snapshot,
                                 vly_backend_net **net, vly_error *error);
void vly_vulkan_net_destroy(vly_backend_net *net);
vly_status vly_vulkan_net_info(const vly_backend_net *net, vly_net_info *info,
                               vly_error *error);

/* ---- vulkan_delivery.c ------------------------------------------------- */

/* Rows by source, one group for each base delay, from the projections. */
vly_status vly_vulkan_delivery_create(vly_backend_net *net, vly_error *error);
/* Puts back the events that were under way in a snapshot. */
vly_status vly_vulkan_restore(vly_backend_net *net, vly_error *error);

/* Mesa's driver for processors leaves the loops of an invocation after 65,535
 * iterations, of all its loops together, without a word (LP_MAX_TGSI_LOOP_
 * ITERATIONS, seen with 22.3). There no invocation may have more than these,
 * whatever fires. */
#define VLY_VULKAN_ITERATIONS UINT64_C(32000)

/* Base delays of the net, each a group of rows. */
vly_status vly_vulkan_groups_create(vly_backend_net *net, vly_error *error);

/* ---- vulkan_row.c ------------------------------------------------------ */

/* The synapses of neuron k of the source area in n projections, two words a
 * synapse. */
void vly_vulkan_row(const vly_net_desc *desc,
                    const vly_projection_desc *const *parts, uint32_t n,
                    uint32_t k, uint32_t *out);

/* ---- vulkan_slices.c --------------------------------------------------- */

/* Decides whether the net runs in slices, and chooses the slices.
 * Errors  E_UNSUPPORTED an option does not fit this net */
vly_status vly_vulkan_plan_choose(vly_backend_net *net,
                                  const vly_vulkan_choice *wanted,
                                  vly_error *error);
/* Allocates room for one row, its index entries, and a word a slice. */
typedef struct vly_vulkan_slice_room {
    uint32_t *row;
    uint32_t *entries;
    uint32_t *places;
} vly_vulkan_slice_room;

/* Quads of a row: of the synapses that n projections have from neuron k of
 * their source area. places: room for a word a slice. */
uint32_t vly_vulkan_slice_quads(const vly_backend_net *net,
                                const vly_projection_desc *const *parts,
                                uint32_t n, uint32_t k, uint32_t *places);
/* Writes the row, slice by slice, and its index entries. address: of the row on
 * the device. */
void vly_vulkan_slice_row(const vly_backend_net *net,
                          const vly_vulkan_group *group,
                          const vly_projection_desc *const *parts, uint32_t n,
                          uint32_t k, uint64_t address,
                          const vly_vulkan_slice_room *room);

/* ---- vulkan_fused.c ---------------------------------------------------- */

/* NULL if bursts can be one dispatch each */
const char *vly_vulkan_why_not_fused(const vly_backend_net *net);
/* Replaces the tiles of net->view by the tiles of each slice, slice after
 * slice. */
vly_status vly_vulkan_fused_create(vly_backend_net *net, vly_error *error);

/* ---- vulkan_weights.c -------------------------------------------------- */

/* true if the synapses of the group have two weights at most, which it then
 * has. */
bool vly_vulkan_two_weights(const vly_backend_net *net,
                            vly_vulkan_group *group);

/* ---- vulkan_stimulus.c ------------------------------------------------- */

vly_status vly_vulkan_stimulus_create(vly_backend_net *net, vly_error *error);
vly_status vly_vulkan_stimulus_write(vly_backend_net *net, uint32_t index,
                                     const vly_stimulus_desc *desc,
                                     vly_error *error);

/* ---- vulkan_dynamics.c ------------------------------------------------- */

/* Areas, state, coefficients and tiles. */
vly_status vly_vulkan_dynamics_create(vly_backend_net *net, vly_error *error);
/* Accumulators of the neurons, unless the plan keeps them in shared memory. */
vly_status vly_vulkan_inputs_create(vly_backend_net *net, vly_error *error);
vly_status vly_vulkan_coef_write(vly_backend_net *net, uint32_t area,
                                 uint32_t coef, const vly_column *column,
                                 vly_error *error);

/* ---- vulkan_history.c -------------------------------------------------- */

vly_status vly_vulkan_history_create(vly_backend_net *net, vly_error *error);
/* Room for n more spikes beside those from burst `oldest` on. */
vly_status vly_vulkan_history_reserve(vly_backend_net *net, uint64_t oldest,
                                      uint64_t n, vly_error *error);
/* Enlarges the log after a submission that stopped because it was full. */
vly_status vly_vulkan_history_grow(vly_backend_net *net, vly_error *error);
/* Memory for n spikes in order, on their way to the host. */
vly_status vly_vulkan_history_sorted(vly_backend_net *net, uint64_t n,
                                     vly_error *error);
/* Records of n_bursts bursts into records[]. */
vly_status vly_vulkan_history_records(vly_backend_net *net, uint64_t burst,
                                      uint32_t n_bursts,
                                      vly_vulkan_record *records,
                                      vly_error *error);
/* The n_spikes spikes of n_bursts finished bursts, in order. */
vly_status vly_vulkan_history_read(vly_backend_net *net, uint64_t burst,
                                   uint32_t n_bursts, uint64_t n_spikes,
                                   uint32_t *ids, uint32_t *gains,
                                   vly_error *error);
vly_status vly_vulkan_history_load(vly_backend_net *net,
                                   const vly_snapshot *snapshot,
                                   vly_error *error);

/* ---- vulkan_input.c ---------------------------------------------------- */

/* Copies the inputs of the bursts of net->launch to where the device reads
 * them; *from is moved to the first of them. */
vly_status vly_vulkan_inputs_send(vly_backend_net *net, const vly_run *run,
                                  uint64_t *from, vly_error *error);

/* ---- vulkan_run.c ------------------------------------------------------ */

vly_status vly_vulkan_net_run(vly_backend_net *net, vly_run *run,
                              vly_error *error);

/* ---- vulkan_snapshot.c ------------------------------------------------- */

vly_status vly_vulkan_snapshot_read(vly_backend_net *net,
                                    vly_snapshot *snapshot, vly_error *error);
vly_status vly_vulkan_field_read(vly_backend_net *net, uint32_t area,
                                 uint32_t field, uint32_t first, uint32_t count,
                                 uint32_t *words, vly_error *error);
vly_status vly_vulkan_field_write(vly_backend_net *net, uint32_t area,
                                  uint32_t field, uint32_t first,
                                  uint32_t count, const uint32_t *words,
                                  vly_error *error);

#endif
