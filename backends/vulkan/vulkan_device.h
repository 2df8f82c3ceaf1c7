/* SPDX-License-Identifier: Apache-2.0
 * An open device, shared by all nets on it until the process ends. Pipelines
 * are made on first use.
 */
#ifndef VOLLEY_VULKAN_DEVICE_H
#define VOLLEY_VULKAN_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <volk.h>

#include <volley/plugin.h>

#include "plugins/support/support_account.h"

#include "kernels/vulkan/burst_layout.h"

/* The order of kernels/models/models.def. */
enum {
#define VLY_EACH_MODEL(id) VLY_VULKAN_MODEL_##id,
#include "kernels/models/models.def"
    VLY_VULKAN_N_MODELS
};

/* The order of kernels/rules/plasticity.def. */
enum {
#define VLY_EACH_PLASTICITY(id) VLY_VULKAN_RULE_##id,
#include "kernels/rules/plasticity.def"
    VLY_VULKAN_N_RULES
};

/* The order of kernels/rules/short_term.def. */
enum {
#define VLY_EACH_SHORT_TERM(id) VLY_VULKAN_SHORT_##id,
#include "kernels/rules/short_term.def"
    VLY_VULKAN_N_SHORT_RULES
};

enum {
    VLY_VULKAN_UPDATE, /* one for each model */
    VLY_VULKAN_DELIVER = VLY_VULKAN_N_MODELS,
    VLY_VULKAN_RESTORE,
    VLY_VULKAN_SORT,
    VLY_VULKAN_LEARN, /* delivers what learns, one for each rule */
    VLY_VULKAN_FLUSH = VLY_VULKAN_LEARN + VLY_VULKAN_N_RULES, /* the same */
    /* changes modulators, one for each rule */
    VLY_VULKAN_MODULATE = VLY_VULKAN_FLUSH + VLY_VULKAN_N_RULES,
    VLY_VULKAN_EVENTS = VLY_VULKAN_MODULATE + VLY_VULKAN_N_RULES,
    VLY_VULKAN_RENEW,
    /* short-term plasticity, ROWS and STATES: one for each of its rules */
    VLY_VULKAN_ROWS,
    VLY_VULKAN_STATES = VLY_VULKAN_ROWS + VLY_VULKAN_N_SHORT_RULES,
    /* frames of users' models: the update, by number of ports */
    VLY_VULKAN_PROGRAM = VLY_VULKAN_STATES + VLY_VULKAN_N_SHORT_RULES,
    /* frames of users' rules: as LEARN and FLUSH */
    VLY_VULKAN_RULE_LEARN = VLY_VULKAN_PROGRAM + VLY_PORTS_MAX,
    VLY_VULKAN_RULE_FLUSH,
    VLY_VULKAN_SLICES, /* delivers, plan sliced */
    VLY_VULKAN_FUSED,  /* does all of a burst, one for each model */
    /* frames: the same */
    VLY_VULKAN_PROGRAM_FUSED = VLY_VULKAN_FUSED + VLY_VULKAN_N_MODELS,
    VLY_VULKAN_N_SHADERS = VLY_VULKAN_PROGRAM_FUSED + VLY_PORTS_MAX
};

/* Work group sizes that a net chose. */
typedef struct vly_vulkan_shape {
    uint32_t size;        /* invocations of a work group */
    uint32_t lanes;       /* that share a row; divides size */
    uint32_t words;       /* of a bitmap in shared memory */
    uint32_t together;    /* 1: a work group collects its spikes */
    uint32_t slice_size;  /* plan sliced: invocations of a work group */
    uint32_t slice_lanes; /* that share a part of a row */
    uint32_t sums;        /* accumulators in shared memory */
    uint32_t is_short;    /* plan sliced: 16 bits a synapse */
    uint32_t keeps;       /* counts of stimuli are kept */
    uint32_t fused_size;  /* slice_size where a burst is one dispatch */
    uint32_t groups;      /* that deliver; no constant of a pipeline */
} vly_vulkan_shape;

/* of a shader, and how many pipelines of it a device keeps */
enum { VLY_VULKAN_CONSTANTS = 7, VLY_VULKAN_KEPT = 8 };

/* A pipeline with these values of the constants; 0 for constants that the
 * shader does not have. */
typedef struct vly_vulkan_pipeline {
    uint32_t constants[VLY_VULKAN_CONSTANTS];
    VkPipeline made; /* VK_NULL_HANDLE: a free place */
} vly_vulkan_pipeline;

/* [shader], made on first use; a net makes its own if all places are taken */
typedef struct vly_vulkan_pipelines {
    VkPipeline made[VLY_VULKAN_N_SHADERS];
} vly_vulkan_pipelines;

typedef struct vly_vulkan_device {
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    VkPipelineLayout layout;
    vly_vulkan_pipeline kept[VLY_VULKAN_N_SHADERS][VLY_VULKAN_KEPT];
    struct vly_vulkan_spliced *spliced; /* pipelines of users' programs */
    VkPhysicalDeviceMemoryProperties memory;
    uint64_t allocation_max;    /* bytes of one block */
    uint32_t family;            /* of the queue */
    uint32_t size_max;          /* invocations of a work group */
    uint32_t shared_max;        /* bytes of its shared memory */
    uint32_t n_units;           /* multiprocessors, or a guess; processors: 1 */
    uint32_t has_budget;        /* 1: VK_EXT_memory_budget */
    uint32_t has_nan;           /* 1: shaderSignedZeroInfNanPreserveFloat32 */
    uint32_t is_cpu;            /* 1: the device is the processor (lavapipe) */
    uint32_t timestamp_bits;    /* 0: no timestamps */
    float timestamp_ns;         /* of one step */
    vly_vulkan_shape shape;     /* default of nets */
    vly_support_account own;    /* account of its memory */
    vly_support_account shared; /* account of the host memory that it uses */
    _Atomic uint64_t taken[VK_MAX_MEMORY_HEAPS]; /* bytes, of each heap */
    pthread_mutex_t lock; /* of queue, kept, spliced and dead */
    char dead[200];       /* why the device is lost, or "" */
} vly_vulkan_device;

/* ---- vulkan_instance.c ------------------------------------------------- */

/* Opens the loader and makes the instance, once in a process. */
vly_status vly_vulkan_instance(VkInstance *instance, vly_error *error);
/* Whether so many bytes of address space are free. Checked before a driver is
 * given work that allocates, since drivers crash if the allocation fails.
 * Mesa's driver with LLVM 15 needs 230 MB to load, and 450 MB for a device with
 * its threads. */
bool vly_vulkan_room(size_t bytes);
#define VLY_VULKAN_DRIVER_BYTES ((size_t)512 << 20)
/* VLY_OK, or E_DEVICE if the validation layer has reported an error */
vly_status vly_vulkan_validated(vly_error *error);

/* ---- vulkan_device.c --------------------------------------------------- */

/* Opens the loader and lists devices. VLY_OK if there is one. */
vly_status vly_vulkan_start(vly_error *error);
void vly_vulkan_stop(void);
uint32_t vly_vulkan_device_count(void);
/* true: device 0 is the processors themselves (lavapipe) */
bool vly_vulkan_is_emulated(void);
vly_status vly_vulkan_device_info(uint32_t index, vly_device_info *info,
                                  vly_error *error);
/* The device, opened on first use. Errors E_DEVICE there is none with this
 * index, it failed before; E_UNSUPPORTED it lacks a feature */
vly_status vly_vulkan_device_open(uint32_t index, vly_vulkan_device **device,
                                  vly_error *error);
/* VLY_OK, or an error that describes the failure. A lost device stays lost. */
vly_status vly_vulkan_check(vly_vulkan_device *device, VkResult result,
                            const char *what, vly_error *error);
/* VLY_OK, or why the device was lost before */
vly_status vly_vulkan_enter(vly_vulkan_device *device, vly_error *error);

/* ---- vulkan_memory.c --------------------------------------------------- */

/* Opens and closes the device's accounts with the host. Close them before the
 * device is destroyed. */
vly_status vly_vulkan_memory_open(vly_vulkan_device *device, uint32_t index,
                                  vly_error *error);
void vly_vulkan_memory_close(vly_vulkan_device *device);

/* ---- vulkan_pipeline.c ------------------------------------------------- */

vly_status vly_vulkan_layout_create(vly_vulkan_device *device,
                                    vly_error *error);
/* shader: VLY_VULKAN_DELIVER ... or VLY_VULKAN_UPDATE + model. The pipeline
 * belongs to the device and serves later nets too. If all places of the device
 * are taken, it belongs to the net. */
vly_status vly_vulkan_pipeline_get(vly_vulkan_device *device,
                                   vly_vulkan_pipelines *own,
                                   const vly_vulkan_shape *shape,
                                   uint32_t shader, VkPipeline *pipeline,
                                   vly_error *error);
void vly_vulkan_pipelines_destroy(vly_vulkan_device *device,
                                  vly_vulkan_pipelines *own);
/* Destroys the pipelines of the device. */
void vly_vulkan_kept_destroy(vly_vulkan_device *device);
/* The words of a shader as the build made it. */
const uint32_t *vly_vulkan_shader(uint32_t shader, size_t *n);
/* The values of its constants, 0 for those that it does not have. */
void vly_vulkan_constants(const vly_vulkan_shape *shape, uint32_t shader,
                          uint32_t *constants);
/* A pipeline of n words; bytes: address space that compiling may need */
VkResult vly_vulkan_pipeline_build(const vly_vulkan_device *device,
                                   const uint32_t *words, size_t n,
                                   const uint32_t *constants, size_t bytes,
                                   VkPipeline *made);
/* Address space that compiling a shader may need. Mesa's compiler does not
 * check its allocations (seen in libvulkan_lvp 22.3 below
 * vkCreateComputePipelines, signal 11 under ulimit -v), and LLVM makes the code
 * only when the first dispatch runs: 18 to 38 MB of addresses a shader. */
#define VLY_VULKAN_COMPILER_BYTES ((size_t)128 << 20)

/* ---- vulkan_spliced.c -------------------------------------------------- */

/* Destroys the pipelines of users' models and rules. */
void vly_vulkan_spliced_destroy(vly_vulkan_device *device);

#endif
