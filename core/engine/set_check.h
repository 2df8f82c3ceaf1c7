/* SPDX-License-Identifier: Apache-2.0
 * Changes of parameters that are planned for later bursts, tried before a run.
 */
#ifndef VOLLEY_ENGINE_SET_CHECK_H
#define VOLLEY_ENGINE_SET_CHECK_H

#include <stdint.h>

#include <volley/volley.h>

/* vly_net_set(path, value) after `burst` bursts. */
typedef struct vly_planned_set {
    uint64_t burst;
    const char *path;
    double value;
} vly_planned_set;

/* A copy of the parameters in force, on which changes are tried one after
 * another: each sees those before it. The net and its device stay as they are.
 * connectome and net are borrowed by both calls. */
typedef struct vly_set_trial vly_set_trial;

/* Errors  E_NOMEM; the net's own, if its device failed */
vly_status vly_set_trial_create(const vly_net *net, vly_set_trial **trial,
                                vly_error *error);
/* Errors  those of vly_net_set, which would refuse this change; E_NOMEM */
vly_status vly_set_trial_add(vly_set_trial *trial,
                             const vly_planned_set *planned, vly_error *error);
/* NULL is legal. */
void vly_set_trial_destroy(vly_set_trial *trial);

#endif
