/* SPDX-License-Identifier: Apache-2.0
 * Texts about the ways of attention on CUDA: their names, keys of the
 * cache, lines in the log, the list of a plan.
 */
#include <stdio.h>
#include <string.h>

#include "attention_cuda.h"

void vly_attention_name_way(const vly_cuda_ready *ready, char *text,
                            size_t size)
{
    const vly_cudnn *cudnn = NULL;
    if (ready->cudnn && vly_cudnn_open(&cudnn, NULL) == VLY_OK)
        (void)snprintf(
            text, size, "cudnn %u.%u.%u, engine %lld, configuration %u",
            cudnn->version / 10000, cudnn->version / 100 % 100,
            cudnn->version % 100, (long long)ready->engine, ready->config);
    else if (ready->n_splits > 1)
        (void)snprintf(text, size, "%s, %u splits", ready->way->name,
                       ready->n_splits);
    else if (ready->way->n_configs > 1)
        (void)snprintf(text, size, "%s, configuration %u", ready->way->name,
                       ready->config);
    else
        (void)snprintf(text, size, "%s", ready->way->name);
}

void vly_attention_write_key(const vly_attention_desc *d, char *key,
                             size_t size)
{
    const vly_attention_layout *l[4] = {&d->q, &d->k, &d->v, &d->o};
    int used =
        snprintf(key, size,
                 "f%x t%u o%u b%u h%u/%u s%u/%u d%u/%u w%d/%d p%u/%u/%u a%u "
                 "m%llu",
                 d->flags, d->type, d->type_o, d->batch, d->heads_q,
                 d->heads_kv, d->seq_q, d->seq_kv, d->dim, d->dim_v,
                 d->window_left, d->window_right, d->page_size, d->pages_most,
                 d->pages, d->align, (unsigned long long)d->workspace_most);
    for (int i = 0; i < 4 && used > 0 && (size_t)used < size; i++)
        used += snprintf(key + used, size - (size_t)used, " %llu/%llu/%llu",
                         (unsigned long long)l[i]->batch,
                         (unsigned long long)l[i]->seq,
                         (unsigned long long)l[i]->head);
}

void vly_attention_tell_refused(vly_accel_candidates *list,
                                const vly_cuda_way *way, const char *reason)
{
    const size_t name = strlen(way->name);
    const bool named = strncmp(reason, way->name, name) == 0 &&
                       strncmp(reason + name, ": ", 2) == 0;
    (void)vly_accel_candidates_add(list, VLY_CANDIDATE_REFUSED, way->name,
                                   named ? reason + name + 2 : reason);
}

vly_plan_candidate *vly_attention_tell_ready(vly_accel_candidates *list,
                                             const vly_cuda_ready *ready)
{
    char name[104];
    vly_attention_name_way(ready, name, sizeof name);
    vly_plan_candidate *told =
        vly_accel_candidates_add(list, VLY_CANDIDATE_READY, name, "");
    told->workspace_bytes = ready->workspace_bytes;
    return told;
}

void vly_attention_log_way(const vly_cuda_ready *ready, int32_t level,
                           const char *text)
{
    char message[1200];
    (void)snprintf(message, sizeof message, "%s: %s (configuration %u): %s",
                   vly_support_plugin, ready->way->name, ready->config, text);
    if (vly_support_host)
        vly_support_host->log(vly_support_host->context, level, message);
}

void vly_attention_tell_wrong(vly_plan_candidate *told,
                              const vly_cuda_ready *ready, vly_status status,
                              const char *why)
{
    const bool differs = status == VLY_E_UNSUPPORTED;
    if (!differs && status != VLY_E_NOMEM)
        return;
    vly_attention_log_way(ready, differs ? VLY_LOG_WARN : VLY_LOG_INFO, why);
    told->state = differs ? VLY_CANDIDATE_WRONG : VLY_CANDIDATE_READY;
    snprintf(told->note, sizeof told->note, "%s", why);
}
