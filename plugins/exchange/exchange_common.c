/* SPDX-License-Identifier: Apache-2.0
 * What plugins of volley.exchange/1 share.
 */
#include "exchange_common.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    MOST_LISTED = 6,
    SLOW_FACTOR = 60, /* of VLY_EXCHANGE_SLOW */
};

vly_status vly_exchange_spec_check(const vly_exchange_spec *spec,
                                   vly_exchange_link **link, bool needs_rank,
                                   vly_error *error)
{
    if (!spec || !link || spec->struct_size < sizeof *spec)
        return vly_support_fail(error, VLY_E_INVALID,
                                "exchange %s: no spec, one that is too small, "
                                "or no place for the link",
                                vly_support_plugin);
    if (spec->timeout_ms == 0)
        return vly_support_fail(error, VLY_E_INVALID,
                                "exchange %s: timeout_ms is 0, wanted at "
                                "least 1",
                                vly_support_plugin);
    if (spec->rank == VLY_EXCHANGE_OF_LAUNCHER &&
        spec->n_ranks == VLY_EXCHANGE_OF_LAUNCHER)
        return !needs_rank ? VLY_OK
                           : vly_support_fail(
                                 error, VLY_E_UNSUPPORTED,
                                 "exchange %s has no launcher that says which "
                                 "rank this is: wanted its number and that of "
                                 "all ranks",
                                 vly_support_plugin);
    if (spec->n_ranks == 0 || spec->n_ranks > VLY_EXCHANGE_MAX_RANKS ||
        spec->rank >= spec->n_ranks)
        return vly_support_fail(error, VLY_E_INVALID,
                                "exchange %s: rank %u of %u, wanted 1 to %u "
                                "ranks, numbered from 0",
                                vly_support_plugin, spec->rank, spec->n_ranks,
                                VLY_EXCHANGE_MAX_RANKS);
    return VLY_OK;
}

vly_status vly_exchange_gather_check(const vly_exchange_link *link, bool failed,
                                     const void *mine, uint64_t n_bytes,
                                     const vly_piece **pieces, vly_error *error)
{
    if (!link || !pieces || (!mine && n_bytes != 0))
        return vly_support_fail(error, VLY_E_INVALID,
                                "exchange %s: no link, no data or no place "
                                "for the pieces",
                                vly_support_plugin);
    if (failed)
        return vly_support_fail(error, VLY_E_INVALID,
                                "exchange %s: the link has failed before and "
                                "can only be closed",
                                vly_support_plugin);
    return VLY_OK;
}

vly_status vly_exchange_info_check(const vly_exchange_link *link,
                                   const vly_exchange_info *info,
                                   vly_error *error)
{
    if (link && info && info->struct_size >= sizeof *info)
        return VLY_OK;
    return vly_support_fail(error, VLY_E_INVALID,
                            "exchange %s: no link, or struct_size of the info "
                            "is too small",
                            vly_support_plugin);
}

uint64_t vly_exchange_limit_ns(uint64_t tag, uint64_t timeout_ns)
{
    return (tag & VLY_EXCHANGE_SLOW) != 0 ? SLOW_FACTOR * timeout_ns
                                          : timeout_ns;
}

const char *vly_exchange_tag_text(uint64_t tag,
                                  char text[VLY_EXCHANGE_TAG_TEXT])
{
    static const char *const words[] = {"", " (a slow step)",
                                        " (rank 0 may be late)",
                                        " (a slow step, rank 0 may be late)"};
    const uint64_t bits = VLY_EXCHANGE_SLOW | VLY_EXCHANGE_RANK_0_IDLES;
    const int which = ((tag & VLY_EXCHANGE_SLOW) != 0 ? 1 : 0) +
                      ((tag & VLY_EXCHANGE_RANK_0_IDLES) != 0 ? 2 : 0);
    snprintf(text, VLY_EXCHANGE_TAG_TEXT, "tag %llu%s",
             (unsigned long long)(tag & ~bits), words[which]);
    return text;
}

vly_status vly_exchange_tags_differ(uint32_t rank, uint64_t tag,
                                    uint64_t first_tag, vly_error *error)
{
    char own[VLY_EXCHANGE_TAG_TEXT];
    char first[VLY_EXCHANGE_TAG_TEXT];
    return vly_support_fail(error, VLY_E_INVALID,
                            "exchange %s: rank %u gave %s where rank 0 gave "
                            "%s: ranks do different things",
                            vly_support_plugin, rank,
                            vly_exchange_tag_text(tag, own),
                            vly_exchange_tag_text(first_tag, first));
}

void vly_exchange_list(uint32_t n_ranks, vly_exchange_missing_fn is_missing,
                       const void *context, char *text, size_t bytes)
{
    uint32_t listed[MOST_LISTED];
    uint32_t n = 0;
    size_t used = 0;
    for (uint32_t r = 0; r < n_ranks; r++)
        if (is_missing(context, r)) {
            if (n < MOST_LISTED)
                listed[n] = r;
            n++;
        }
    const uint32_t shown = n < MOST_LISTED ? n : MOST_LISTED;
    text[0] = '\0';
    for (uint32_t i = 0; i < shown && used < bytes; i++) {
        const char *before = i == 0                ? n > 1 ? "ranks " : "rank "
                             : i + 1 == n && n > 1 ? " and "
                                                   : ", ";
        used += (size_t)snprintf(text + used, bytes - used, "%s%u", before,
                                 listed[i]);
    }
    if (n > shown && used < bytes)
        snprintf(text + used, bytes - used, " and %u more", n - shown);
}

uint64_t vly_exchange_clock_ns(void)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void *vly_exchange_alloc(uint64_t n, uint64_t size, vly_error *error)
{
    uint64_t bytes = 0;
    void *memory = NULL;
    if (vly_support_mul(n, size, &bytes))
        memory = vly_support_host->alloc(vly_support_host->context,
                                         bytes != 0 ? bytes : 1, 64);
    if (!memory) {
        vly_support_fail_memory(bytes, vly_support_available(), "", error);
        return NULL;
    }
    return memset(memory, 0, bytes);
}

void vly_exchange_free(void *memory)
{
    vly_support_host->free(vly_support_host->context, memory);
}
