/* SPDX-License-Identifier: Apache-2.0
 * The sequences of a run on the host: how long they are, where their positions
 * lie, and which keys a query sees.
 */
#ifndef VOLLEY_ATTENTION_VIEW_H
#define VOLLEY_ATTENTION_VIEW_H

#include <volley/attention.h>

/* One sequence of the batch. Offsets are elements, of position 0 of head 0. */
typedef struct vly_attention_view {
    uint32_t batch;
    uint32_t n_q;
    uint32_t n_kv;
    uint32_t page_size; /* 0: K and V are contiguous */
    const int32_t *pages;
    uint64_t q;
    uint64_t k; /* in pages: 0 */
    uint64_t v;
    uint64_t o;
    uint64_t lse;
    uint64_t lse_head; /* from head to head */
} vly_attention_view;

/* Reads lengths, starts and pages, only if the flags require them.
 * Errors  E_INVALID one is out of range, with its limits */
vly_status vly_attention_check_values(const vly_attention_desc *desc,
                                      const vly_attention_run *run,
                                      const char *plugin, vly_error *error);

/* The same with values that were checked. */
void vly_attention_view_make(const vly_attention_desc *desc,
                             const vly_attention_run *run, uint32_t batch,
                             vly_attention_view *view);

/* Query i sees keys [*from, *to); from == to: none. Both never decrease as i
 * increases. */
void vly_attention_visible(const vly_attention_desc *desc,
                           const vly_attention_view *view, uint32_t i,
                           uint32_t *from, uint32_t *to);

/* Element offset of position j of a key head, in K or in V (base: view->k or
 * view->v with its layout). */
static inline uint64_t vly_attention_kv_at(const vly_attention_view *view,
                                           uint64_t base,
                                           const vly_attention_layout *layout,
                                           uint32_t head, uint32_t j)
{
    const uint64_t at = base + head * layout->head;
    if (view->page_size == 0)
        return at + j * layout->seq;
    return at +
           (uint64_t)(uint32_t)view->pages[j / view->page_size] *
               layout->batch +
           j % view->page_size * layout->seq;
}

#endif
