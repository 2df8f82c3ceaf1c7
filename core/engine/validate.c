/* SPDX-License-Identifier: Apache-2.0
 * The comparison of nets. Digests find the piece in which two nets diverge; the
 * piece is then run again burst by burst, because a field may differ long
 * before it makes a spike differ, and differences may vanish again (a reset
 * after a spike), so that halving the piece could find a later one.
 */
#include <volley/host.h>

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "engine/engine.h"
#include "engine/validate_detail.h"

/* Digests of a piece as a net makes them. */
typedef struct piece {
    uint64_t digests[VLY_VALIDATE_EVERY];
    uint64_t n;
    uint64_t spikes;
} piece;

static vly_status keep_digest(void *arg, uint64_t burst, const uint32_t *ids,
                              uint32_t n_ids, uint64_t digest)
{
    piece *kept = arg;
    (void)burst;
    (void)ids;
    if (kept->n < VLY_VALIDATE_EVERY)
        kept->digests[kept->n++] = digest;
    kept->spikes += n_ids;
    return VLY_OK;
}

static vly_status run_piece(vly_net *net, uint64_t n, piece *kept,
                            vly_error *error)
{
    vly_spikes_fn on_spikes = net->on_spikes;
    vly_spikes_fn on_bursts = net->on_bursts;
    void *arg = net->on_bursts_arg;
    kept->n = 0;
    kept->spikes = 0;
    net->on_spikes = NULL;
    vly_net_on_bursts(net, keep_digest, kept);
    vly_status status = vly_net_run(net, n, error);
    net->on_spikes = on_spikes;
    vly_net_on_bursts(net, on_bursts, arg);
    return status;
}

/* ---- the first burst that differs -------------------------------------- */

static vly_status step_both(vly_net *const pair[2], piece kept[2],
                            uint64_t state[2], vly_error *error)
{
    vly_status status = VLY_OK;
    for (int i = 0; i < 2; i++) {
        VLY_TRY(run_piece(pair[i], 1, &kept[i], error));
        VLY_TRY(vly_net_state_digest(pair[i], &state[i], error));
    }
out:
    return status;
}

static vly_status locate(vly_net *const pair[2], const vly_state *base,
                         uint64_t n, piece kept[2], vly_validate_result *result,
                         vly_error *error)
{
    uint64_t state[2] = {0, 0};
    vly_status status = VLY_OK;
    VLY_TRY(vly_net_restore(pair[0], base, error));
    VLY_TRY(vly_net_restore(pair[1], base, error));
    for (uint64_t t = 0; t < n; t++) {
        VLY_TRY(step_both(pair, kept, state, error));
        if (kept[0].digests[0] == kept[1].digests[0] && state[0] == state[1]) {
            result->bursts++;
            result->spikes += kept[0].spikes;
            result->digest = vly_net_digest(pair[0]);
            result->state_digest = state[0];
            continue;
        }
        result->burst = vly_net_burst(pair[0]) - 1;
        for (int i = 0; i < 2; i++)
            result->burst_digest[i] = kept[i].digests[0];
        status = vly_validate_detail(pair, result, error);
        goto out;
    }
    result->difference = VLY_DIFFERENCE_ONCE;
out:
    return status;
}

/* ---- pieces ------------------------------------------------------------ */

static vly_status check_nets(vly_net *const *nets, uint32_t n_nets,
                             vly_error *error)
{
    vly_status status = VLY_OK;
    uint64_t state[2] = {0, 0};
    if (n_nets < 2 || n_nets > VLY_VALIDATE_NETS)
        return vly_fail(error, VLY_E_INVALID, "%u nets, wanted 2 to %u", n_nets,
                        VLY_VALIDATE_NETS);
    for (uint32_t i = 0; i < n_nets; i++) {
        if (memcmp(&nets[i]->connectome->hash, &nets[0]->connectome->hash,
                   sizeof nets[0]->connectome->hash) != 0)
            return vly_fail(error, VLY_E_INVALID,
                            "net %u is of another connectome than net 0", i);
        if (nets[i]->burst != nets[0]->burst)
            return vly_fail(error, VLY_E_INVALID,
                            "net %u has done %llu bursts, net 0 %llu", i,
                            (unsigned long long)nets[i]->burst,
                            (unsigned long long)nets[0]->burst);
        VLY_TRY(vly_net_state_digest(nets[i], &state[i != 0], error));
        if (i != 0 && state[0] != state[1])
            return vly_fail(error, VLY_E_INVALID,
                            "net %u and net 0 differ before the first burst",
                            i);
    }
out:
    return status;
}

/* One piece on every net; *other: the first that differs from net 0, or 0. */
static vly_status compare_piece(vly_net *const *nets, uint32_t n_nets,
                                uint64_t n, piece kept[2], uint32_t *other,
                                uint64_t *state_digest, uint64_t *differs_at,
                                vly_error *error)
{
    uint64_t state = 0;
    vly_status status = VLY_OK;
    VLY_TRY(run_piece(nets[0], n, &kept[0], error));
    VLY_TRY(vly_net_state_digest(nets[0], state_digest, error));
    for (uint32_t i = 1; i < n_nets && *other == 0; i++) {
        VLY_TRY(run_piece(nets[i], n, &kept[1], error));
        VLY_TRY(vly_net_state_digest(nets[i], &state, error));
        uint64_t t = 0;
        while (t < n && kept[0].digests[t] == kept[1].digests[t])
            t++;
        *differs_at = t < n ? t : n - 1;
        if (t < n || state != *state_digest)
            *other = i;
    }
out:
    return status;
}

static vly_status validate_piece(vly_net *const *nets, uint32_t n_nets,
                                 uint64_t n, piece kept[2],
                                 vly_validate_result *result, vly_error *error)
{
    vly_state *base = NULL;
    uint32_t other = 0;
    uint64_t state = 0;
    uint64_t at = 0;
    uint64_t first = vly_net_burst(nets[0]);
    vly_status status = VLY_OK;
    if (n > 1)
        VLY_TRY(vly_net_snapshot(nets[0], &base, error));
    VLY_TRY(compare_piece(nets, n_nets, n, kept, &other, &state, &at, error));
    if (other == 0) {
        result->bursts += n;
        result->spikes += kept[0].spikes;
        result->digest = vly_net_digest(nets[0]);
        result->state_digest = state;
        goto out;
    }
    result->difference = VLY_DIFFERENCE_FOUND;
    result->other = other;
    result->burst = first + at;
    for (int i = 0; i < 2; i++)
        result->burst_digest[i] = kept[i].digests[at];
    vly_net *pair[2] = {nets[0], nets[other]};
    /* after a single burst both nets are still at the burst that differs */
    status = base ? locate(pair, base, n, kept, result, error)
                  : vly_validate_detail(pair, result, error);
out:
    vly_state_destroy(base);
    return status;
}

vly_status vly_validate(vly_net *const *nets, uint32_t n_nets,
                        uint64_t n_bursts, uint32_t state_every,
                        vly_validate_fn progress, void *progress_arg,
                        vly_validate_result *result, vly_error *error)
{
    vly_validate_result made = {0};
    piece *kept = NULL;
    uint64_t left = n_bursts;
    vly_status status = VLY_OK;
    if (!result || result->struct_size < sizeof *result)
        return vly_fail(error, VLY_E_INVALID,
                        "vly_validate: struct_size of result is too small");
    VLY_TRY(check_nets(nets, n_nets, error));
    if (state_every == 0 || state_every > VLY_VALIDATE_EVERY) {
        status =
            vly_fail(error, VLY_E_INVALID, "state_every is %u, wanted 1 to %u",
                     state_every, VLY_VALIDATE_EVERY);
        goto out;
    }
    made.digest = vly_net_digest(nets[0]);
    VLY_TRY(vly_net_state_digest(nets[0], &made.state_digest, error));
    kept = vly_calloc(2, sizeof *kept);
    if (!kept) {
        status = vly_fail_nomem(error, 2 * sizeof *kept, "digests");
        goto out;
    }
    made.struct_size = result->struct_size;
    *result = made;
    while (left > 0 && result->difference == VLY_DIFFERENCE_NONE) {
        uint64_t n = left < state_every ? left : state_every;
        VLY_TRY(validate_piece(nets, n_nets, n, kept, result, error));
        left -= n;
        if (progress && result->difference == VLY_DIFFERENCE_NONE) {
            status = progress(progress_arg, n_bursts - left);
            if (status != VLY_OK)
                vly_fail(error, status,
                         "the progress function ended the comparison");
            if (status != VLY_OK)
                goto out;
        }
    }
out:
    vly_free(kept);
    return status;
}
