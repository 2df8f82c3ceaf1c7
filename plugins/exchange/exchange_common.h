/* SPDX-License-Identifier: Apache-2.0
 * What plugins of volley.exchange/1 share: checks of what they are given, and
 * sentences about ranks.
 */
#ifndef VOLLEY_EXCHANGE_COMMON_H
#define VOLLEY_EXCHANGE_COMMON_H

#include <volley/exchange.h>

#include "plugins/support/support_host.h"

/* Errors  E_INVALID  a pointer is NULL, a struct too small, a number out of
 *                    range. needs_rank: VLY_EXCHANGE_OF_LAUNCHER is none */
vly_status vly_exchange_spec_check(const vly_exchange_spec *spec,
                                   vly_exchange_link **link, bool needs_rank,
                                   vly_error *error);
/* Errors  E_INVALID  as above, or the link has failed before */
vly_status vly_exchange_gather_check(const vly_exchange_link *link, bool failed,
                                     const void *mine, uint64_t n_bytes,
                                     const vly_piece **pieces,
                                     vly_error *error);
vly_status vly_exchange_info_check(const vly_exchange_link *link,
                                   const vly_exchange_info *info,
                                   vly_error *error);
/* E_INVALID: rank gave another tag than rank 0. */
vly_status vly_exchange_tags_differ(uint32_t rank, uint64_t tag,
                                    uint64_t first_tag, vly_error *error);

/* How long a gather of this tag waits. */
uint64_t vly_exchange_limit_ns(uint64_t tag, uint64_t timeout_ns);
/* "tag 5", "tag 5 (a slow step, rank 0 may be late)": the bits of exchange.h in
 * words; returns text */
#define VLY_EXCHANGE_TAG_TEXT 72
const char *vly_exchange_tag_text(uint64_t tag,
                                  char text[VLY_EXCHANGE_TAG_TEXT]);

/* "rank 3", "ranks 1, 2 and 5", "ranks 1, 2, 3, 4, 5, 6 and 90 more": of those
 * for which is_missing holds; "" if there is none. */
typedef bool (*vly_exchange_missing_fn)(const void *context, uint32_t rank);
void vly_exchange_list(uint32_t n_ranks, vly_exchange_missing_fn is_missing,
                       const void *context, char *text, size_t bytes);

uint64_t vly_exchange_clock_ns(void); /* steady */

/* Zeroed memory of the host, and the counterpart; NULL is legal. */
void *vly_exchange_alloc(uint64_t n, uint64_t size, vly_error *error);
void vly_exchange_free(void *memory);

#endif
