/* SPDX-License-Identifier: Apache-2.0
 * Sequences of a run on the host.
 */
#include "attention_view.h"

#include "accel_common.h"

static vly_status check_lengths(const char *name, const int32_t *lengths,
                                uint32_t batch, uint32_t most,
                                const char *plugin, vly_error *error)
{
    for (uint32_t b = 0; b < batch; b++)
        if (lengths[b] < 0 || (uint32_t)lengths[b] > most)
            return vly_support_fail(error, VLY_E_INVALID,
                                    "%s: %s[%u] is %d, wanted 0 to %u", plugin,
                                    name, b, lengths[b], most);
    return VLY_OK;
}

static vly_status check_starts(const char *name, const int32_t *starts,
                               uint32_t batch, uint32_t most,
                               const char *plugin, vly_error *error)
{
    if (batch > 0 && starts[0] != 0)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: %s[0] is %d, wanted 0", plugin, name,
                                starts[0]);
    for (uint32_t b = 0; b < batch; b++)
        if (starts[b + 1] < starts[b] ||
            (uint32_t)(starts[b + 1] - starts[b]) > most)
            return vly_support_fail(
                error, VLY_E_INVALID,
                "%s: %s goes from %d to %d at %u, wanted at "
                "most %u more",
                plugin, name, starts[b], starts[b + 1], b, most);
    return VLY_OK;
}

static vly_status check_pages(const vly_attention_desc *desc,
                              const vly_attention_run *run, const char *plugin,
                              vly_error *error)
{
    vly_attention_view view;
    for (uint32_t b = 0; b < desc->batch; b++) {
        vly_attention_view_make(desc, run, b, &view);
        for (uint32_t p = 0; (uint64_t)p * view.page_size < view.n_kv; p++)
            if (view.pages[p] < 0 ||
                (desc->pages != 0 && (uint32_t)view.pages[p] >= desc->pages))
                return vly_support_fail(error, VLY_E_INVALID,
                                        "%s: page %u of sequence %u is %d, "
                                        "wanted 0 to %u",
                                        plugin, p, b, view.pages[p],
                                        desc->pages != 0 ? desc->pages - 1
                                                         : (uint32_t)INT32_MAX);
    }
    return VLY_OK;
}

vly_status vly_attention_check_values(const vly_attention_desc *desc,
                                      const vly_attention_run *run,
                                      const char *plugin, vly_error *error)
{
    vly_status status = VLY_OK;
    if (desc->flags & VLY_ATTENTION_LENGTHS) {
        status = check_lengths("length_q", run->length_q, desc->batch,
                               desc->seq_q, plugin, error);
        if (status == VLY_OK)
            status = check_lengths("length_kv", run->length_kv, desc->batch,
                                   desc->seq_kv, plugin, error);
    }
    if (desc->flags & VLY_ATTENTION_PACKED) {
        status = check_starts("start_q", run->start_q, desc->batch, desc->seq_q,
                              plugin, error);
        if (status == VLY_OK)
            status = check_starts("start_kv", run->start_kv, desc->batch,
                                  desc->seq_kv, plugin, error);
    }
    if (status == VLY_OK && desc->flags & VLY_ATTENTION_PAGED)
        status = check_pages(desc, run, plugin, error);
    return status;
}

void vly_attention_view_make(const vly_attention_desc *desc,
                             const vly_attention_run *run, uint32_t batch,
                             vly_attention_view *view)
{
    const uint64_t b = batch;
    *view = (vly_attention_view){.batch = batch,
                                 .n_q = desc->seq_q,
                                 .n_kv = desc->seq_kv,
                                 .q = b * desc->q.batch,
                                 .k = b * desc->k.batch,
                                 .v = b * desc->v.batch,
                                 .o = b * desc->o.batch,
                                 .lse = b * desc->heads_q * desc->seq_q,
                                 .lse_head = desc->seq_q};
    if (desc->flags & VLY_ATTENTION_LENGTHS) {
        view->n_q = (uint32_t)((const int32_t *)run->length_q)[b];
        view->n_kv = (uint32_t)((const int32_t *)run->length_kv)[b];
    }
    if (desc->flags & VLY_ATTENTION_PACKED) {
        const int32_t *start_q = run->start_q;
        const int32_t *start_kv = run->start_kv;
        const uint64_t q = (uint64_t)start_q[b];
        const uint64_t kv = (uint64_t)start_kv[b];
        view->n_q = (uint32_t)(start_q[b + 1] - start_q[b]);
        view->n_kv = (uint32_t)(start_kv[b + 1] - start_kv[b]);
        view->q = q * desc->q.seq;
        view->k = kv * desc->k.seq;
        view->v = kv * desc->v.seq;
        view->o = q * desc->o.seq;
        view->lse = q;
        view->lse_head = (uint64_t)start_q[desc->batch];
    }
    if (desc->flags & VLY_ATTENTION_PAGED) {
        view->page_size = desc->page_size;
        view->pages = (const int32_t *)run->page_table + b * desc->pages_most;
        view->k = view->v = 0;
    }
}

void vly_attention_visible(const vly_attention_desc *desc,
                           const vly_attention_view *view, uint32_t i,
                           uint32_t *from, uint32_t *to)
{
    int64_t own = i; /* the key that is the query's own */
    int64_t first = 0;
    int64_t end = view->n_kv;
    if (desc->flags & VLY_ATTENTION_CAUSAL_END)
        own += (int64_t)view->n_kv - view->n_q;
    if (desc->flags & (VLY_ATTENTION_CAUSAL | VLY_ATTENTION_CAUSAL_END) &&
        end > own + 1)
        end = own + 1;
    if (desc->window_right >= 0 && end > own + desc->window_right + 1)
        end = own + desc->window_right + 1;
    if (desc->window_left >= 0 && first < own - desc->window_left)
        first = own - desc->window_left;
    if (end < 0)
        end = 0;
    *to = (uint32_t)end;
    *from = first < end ? (uint32_t)first : (uint32_t)end;
}
