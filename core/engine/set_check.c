/* SPDX-License-Identifier: Apache-2.0
 * A planned change is made like a real one, on a net without a device: so the
 * same checks say the same sentences, and a change that depends on an earlier
 * one (a threshold below the new reset) is seen too.
 */
#include <volley/host.h>

#include "base/error.h"
#include "base/memory.h"
#include "engine/engine.h"

struct vly_set_trial {
    vly_net net; /* borrows everything but `live` and `pending` */
};

vly_status vly_set_trial_create(const vly_net *net, vly_set_trial **trial,
                                vly_error *error)
{
    vly_set_trial *made = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_net_alive(net, error));
    made = vly_calloc(1, sizeof *made);
    if (!made) {
        status = vly_fail_nomem(error, sizeof *made, "a check of changes");
        goto out;
    }
    made->net.connectome = net->connectome;
    made->net.burst = net->burst;
    made->net.on_trial = true;
    VLY_TRY(vly_live_init(&made->net.live, net->connectome, error));
    VLY_TRY(
        vly_overlay_copy(net->live.overlay, &made->net.live.overlay, error));
    VLY_TRY(vly_live_make_all(&made->net.live, net->connectome,
                              made->net.live.overlay, net->burst, error));
    *trial = made;
    made = NULL;
out:
    vly_set_trial_destroy(made);
    return status;
}

vly_status vly_set_trial_add(vly_set_trial *trial,
                             const vly_planned_set *planned, vly_error *error)
{
    trial->net.burst = planned->burst;
    return vly_net_set_path(&trial->net, planned->path, planned->value, error);
}

void vly_set_trial_destroy(vly_set_trial *trial)
{
    if (!trial)
        return;
    vly_live_deinit(&trial->net.live);
    vly_pending_deinit(&trial->net.pending); /* values for modulators */
    vly_free(trial);
}
