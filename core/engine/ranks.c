/* SPDX-License-Identifier: Apache-2.0
 * Ranks: the group, its cuts, and messages. See ranks.h.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "connectome/connectome_digest.h"
#include "connectome/connectome_part.h"
#include "connectome/ranks_cut.h"
#include "engine/engine.h"
#include "engine/ranks_parts.h"
#include "plugin/host_log.h"
#include "volley_build.h"

enum { ALIGN = 16 };

/* ---- the link ----------------------------------------------------------- */

static vly_exchange_info look(const vly_rank_group *group)
{
    vly_exchange_info info = {.struct_size = sizeof info};
    (void)group->table->info(group->link, &info, NULL); /* otherwise zeros */
    return info;
}

/* Waits that say nothing of how the neurons are divided: for a call of rank 0,
 * and for ranks that compile the network or make a net. */
static bool is_idle(const vly_rank_group *group, uint64_t tag)
{
    return (tag & VLY_EXCHANGE_SLOW) != 0 ||
           ((tag & VLY_EXCHANGE_RANK_0_IDLES) != 0 && group->info.rank > 0);
}

vly_status vly_rank_gather(vly_rank_group *group, uint64_t tag,
                           const void *mine, uint64_t n_bytes,
                           const vly_piece **pieces, vly_error *error)
{
    if (group->failed)
        return vly_fail(error, VLY_E_DEVICE,
                        "the exchange between the ranks has failed before");
    const bool idle = is_idle(group, tag);
    const uint64_t waited_ns = idle ? look(group).waited_ns : 0;
    vly_status status =
        group->table->gather(group->link, tag, mine, n_bytes, pieces, error);
    if (idle)
        group->idle_ns += look(group).waited_ns - waited_ns;
    group->failed = status != VLY_OK;
    return status;
}

/* vly_ranks.gather of the description */
static vly_status gather(void *context, uint64_t tag, const void *mine,
                         uint64_t n_bytes, const vly_piece **pieces,
                         vly_error *error)
{
    vly_rank_group *group = context;
    group->n_exchanges++;
    return vly_rank_gather(group, tag, mine, n_bytes, pieces, error);
}

vly_status vly_ranks_open(const vly_exchange *table,
                          const vly_exchange_spec *spec, vly_rank_group **group,
                          vly_error *error)
{
    vly_status status = VLY_OK;
    vly_rank_group *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "ranks");
    made->table = table;
    made->info.struct_size = sizeof made->info;
    VLY_TRY(table->open(spec, &made->link, error));
    VLY_TRY(table->info(made->link, &made->info, error));
    made->first = vly_calloc(made->info.n_ranks + (size_t)1, sizeof(uint32_t));
    made->figures = vly_calloc(made->info.n_ranks, sizeof *made->figures);
    made->devices = vly_calloc(made->info.n_ranks, sizeof *made->devices);
    made->hosts = vly_calloc(made->info.n_ranks, sizeof *made->hosts);
    if (!made->first || !made->figures || !made->devices || !made->hosts) {
        status = vly_fail_nomem(error, 96u * made->info.n_ranks, "ranks");
        goto out;
    }
    made->ranks = (vly_ranks){.struct_size = sizeof made->ranks,
                              .rank = made->info.rank,
                              .n_ranks = made->info.n_ranks,
                              .first = made->first,
                              .context = made,
                              .gather = gather};
    made->idle_ns = look(made).waited_ns; /* until all had come */
    *group = made;
    made = NULL;
out:
    vly_ranks_close(made);
    return status;
}

void vly_ranks_close(vly_rank_group *group)
{
    if (!group)
        return;
    if (group->divided && group->info.rank == 0 && !group->failed) {
        const vly_rank_head end = {.call = RANK_END};
        const vly_piece *pieces = NULL;
        /* if it fails, the other ranks have ended already */
        (void)vly_rank_gather(group, VLY_RANK_TAG_CALL | group->n_calls, &end,
                              sizeof end, &pieces, NULL);
    }
    if (group->link)
        group->table->close(group->link);
    vly_free(group->hosts);
    vly_free(group->devices);
    vly_free(group->figures);
    vly_free(group->first);
    vly_free(group);
}

void vly_ranks_abort(vly_rank_group *group, const char *why)
{
    if (group && !group->failed)
        group->table->abort(group->link, why);
    if (group)
        group->failed = true;
}

uint32_t vly_ranks_rank(const vly_rank_group *group)
{
    return group->info.rank;
}

uint32_t vly_ranks_number(const vly_rank_group *group)
{
    return group->info.n_ranks;
}

vly_status vly_ranks_info(const vly_rank_group *group, vly_exchange_info *info,
                          vly_error *error)
{
    return group->table->info(group->link, info, error);
}

/* ---- figures ------------------------------------------------------------ */

vly_status vly_ranks_figures(const vly_rank_group *group, uint32_t rank,
                             vly_rank_figures *figures)
{
    if (rank >= group->info.n_ranks)
        return VLY_E_INVALID;
    const vly_rank_counts *last = &group->figures[rank];
    const vly_rank_figures made = {
        .n_exchanges = __atomic_load_n(&last->n_exchanges, __ATOMIC_RELAXED),
        .n_bytes = __atomic_load_n(&last->n_bytes, __ATOMIC_RELAXED),
        .waited_ns = __atomic_load_n(&last->waited_ns, __ATOMIC_RELAXED)};
    return vly_struct_fill(figures, &made, sizeof made);
}

/* Telemetry reads them meanwhile. */
static void put_figures(vly_rank_counts *to, const vly_rank_counts *figures)
{
    __atomic_store_n(&to->n_exchanges, figures->n_exchanges, __ATOMIC_RELAXED);
    __atomic_store_n(&to->n_bytes, figures->n_bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&to->waited_ns, figures->waited_ns, __ATOMIC_RELAXED);
}

const char *vly_ranks_device(const vly_rank_group *group, uint32_t rank)
{
    return group->devices[rank];
}

/* ---- division ----------------------------------------------------------- */

typedef struct greeting {
    vly_hash connectome;
    vly_hash genome;
    uint64_t cut;
    uint32_t whole; /* that of rank 0 counts */
    uint32_t host;  /* its number in the exchange */
    char version[32];
} greeting;

static vly_status check_greeting(const greeting *mine, uint32_t rank,
                                 const vly_piece *piece, vly_error *error)
{
    const greeting *other = piece->data;
    if (piece->n_bytes != sizeof *other ||
        memcmp(other->version, mine->version, sizeof mine->version) != 0)
        return vly_fail(error, VLY_E_INVALID,
                        "rank %u runs another version of volley than this rank "
                        "(%s)",
                        rank, mine->version);
    if (memcmp(&other->genome, &mine->genome, sizeof mine->genome) != 0)
        return vly_fail(error, VLY_E_INVALID,
                        "rank %u has read another genome than this rank", rank);
    if (memcmp(&other->connectome, &mine->connectome,
               sizeof mine->connectome) != 0)
        return vly_fail(error, VLY_E_INVALID,
                        "rank %u has made another network of the genome than "
                        "this rank: do files differ that the genome names?",
                        rank);
    if (other->cut != mine->cut)
        return vly_fail(error, VLY_E_INVALID,
                        "rank %u divides the network in another way", rank);
    return VLY_OK;
}

/* Gives all ranks mine and compares; *pieces: the greetings of all. */
static vly_status greet(vly_rank_group *group, greeting *mine,
                        const vly_piece **pieces, vly_error *error)
{
    vly_status status = VLY_OK;
    (void)snprintf(mine->version, sizeof mine->version, "%s",
                   VLY_BUILD_VERSION);
    mine->host = group->info.host;
    VLY_TRY(vly_rank_gather(
        group, VLY_RANK_TAG_CALL | VLY_EXCHANGE_SLOW | group->n_calls, mine,
        sizeof *mine, pieces, error));
    group->n_calls++;
    for (uint32_t r = 0; r < group->info.n_ranks; r++) {
        VLY_TRY(check_greeting(mine, r, &(*pieces)[r], error));
        group->hosts[r] = ((const greeting *)(*pieces)[r].data)->host;
    }
out:
    return status;
}

static void set_cut(vly_rank_group *group, const uint32_t *cut)
{
    if (cut != group->first)
        memcpy(group->first, cut,
               (group->info.n_ranks + (size_t)1) * sizeof *cut);
}

vly_status vly_ranks_divide(vly_rank_group *group, vly_connectome *connectome,
                            const uint32_t *cut, vly_error *error)
{
    const vly_piece *pieces = NULL;
    greeting mine = {.connectome = connectome->hash,
                     .genome = connectome->genome_hash};
    vly_status status = VLY_OK;
    if (cut)
        set_cut(group, cut);
    else
        VLY_TRY(vly_ranks_cut_connectome(connectome, group->info.n_ranks,
                                         group->first, error));
    for (uint32_t r = 0; r <= group->info.n_ranks; r++)
        mine.cut = vly_mix64(mine.cut ^ group->first[r]);
    VLY_TRY(greet(group, &mine, &pieces, error));
    connectome->desc.ranks = &group->ranks;
    group->divided = true;
    /* what they sent while they compiled is not of the run */
    group->built_bytes = look(group).n_bytes;
out:
    return status;
}

/* ---- the build ---------------------------------------------------------- */

/* vly_ranks.gather of a build, between two of which ranks may compute long. */
static vly_status gather_slowly(void *context, uint64_t tag, const void *mine,
                                uint64_t n_bytes, const vly_piece **pieces,
                                vly_error *error)
{
    return vly_rank_gather(context, tag | VLY_EXCHANGE_SLOW, mine, n_bytes,
                           pieces, error);
}

/* The part, with the digest of the whole. */
static vly_status build_part(vly_rank_group *group, const vly_genome *genome,
                             uint32_t n_threads, const uint32_t *cut,
                             vly_connectome **connectome, vly_error *error)
{
    vly_status status;
    vly_ranks ranks = group->ranks;
    const vly_piece *pieces = NULL;
    vly_hash sum = {{0, 0}};
    ranks.gather = gather_slowly;
    if (cut)
        set_cut(group, cut);
    else
        VLY_TRY(vly_ranks_cut_genome(genome, group->info.n_ranks, group->first,
                                     error));
    VLY_TRY(vly_connectome_build_part(genome, &ranks, n_threads, connectome,
                                      error));
    const vly_hash share = vly_connectome_digest(*connectome, n_threads);
    VLY_TRY(vly_rank_gather(
        group, VLY_RANK_TAG_ANSWER | VLY_EXCHANGE_SLOW | group->n_calls, &share,
        sizeof share, &pieces, error));
    for (uint32_t r = 0; r < group->info.n_ranks; r++) {
        vly_hash theirs;
        if (pieces[r].n_bytes != sizeof theirs)
            VLY_TRY(vly_fail(error, VLY_E_DEVICE,
                             "rank %u sent a digest of another size", r));
        memcpy(&theirs, pieces[r].data, sizeof theirs);
        sum = vly_digest_add(sum, theirs);
    }
    vly_connectome_digest_know(*connectome, sum);
out:
    return status;
}

vly_status vly_ranks_build(vly_rank_group *group, const vly_genome *genome,
                           uint32_t n_threads, int whole_wanted,
                           const uint32_t *cut, vly_connectome **connectome,
                           vly_error *error)
{
    greeting mine = {.genome = genome->hash, .whole = whole_wanted != 0};
    const vly_piece *pieces = NULL;
    vly_error why = VLY_ERROR_INIT;
    vly_status status;
    VLY_TRY(greet(group, &mine, &pieces, error));
    bool whole = ((const greeting *)pieces[0].data)->whole != 0;
    if (!whole) {
        status = build_part(group, genome, n_threads, cut, connectome, &why);
        whole = status == VLY_E_UNSUPPORTED; /* the same on all ranks */
        if (whole && group->info.rank == 0)
            vly_log_write(VLY_LOG_INFO, "volley", "%s", why.message);
        if (status != VLY_OK && !whole) {
            vly_error_copy(&why, error);
            goto out;
        }
    }
    if (whole)
        VLY_TRY(vly_connectome_build(genome, n_threads, connectome, error));
    VLY_TRY(vly_ranks_divide(group, *connectome, whole ? cut : group->first,
                             error));
out:
    return status;
}

/* ---- messages ----------------------------------------------------------- */

void vly_rank_put(vly_rank_message *message, const void *data, uint64_t n_bytes)
{
    uint64_t end = (message->n_bytes + n_bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (end > message->capacity && !message->no_room) {
        uint64_t capacity = 2 * end;
        uint8_t *more = vly_realloc(message->data, (size_t)capacity, 1);
        message->no_room = !more;
        if (more) {
            message->data = more;
            message->capacity = capacity;
        }
    }
    if (message->no_room)
        return;
    if (n_bytes > 0)
        memcpy(message->data + message->n_bytes, data, (size_t)n_bytes);
    memset(message->data + message->n_bytes + n_bytes, 0,
           (size_t)(end - message->n_bytes - n_bytes));
    message->n_bytes = end;
}

const void *vly_rank_take(vly_rank_message *message, uint64_t n_bytes)
{
    uint64_t left = message->n_bytes - message->at;
    const uint8_t *data = message->data + message->at;
    if (n_bytes > left) {
        message->no_room = true;
        return NULL;
    }
    uint64_t used = (n_bytes + ALIGN - 1) / ALIGN * ALIGN;
    message->at += used < left ? used : left;
    return data;
}

vly_status vly_rank_agree(vly_rank_group *group, vly_rank_answer *mine,
                          vly_error *error)
{
    const uint64_t slow = group->call == RANK_CREATE ? VLY_EXCHANGE_SLOW : 0;
    const vly_exchange_info info = look(group);
    const vly_piece *pieces = NULL;
    vly_status status = VLY_OK;
    mine->figures =
        (vly_rank_counts){.n_exchanges = group->n_exchanges,
                          .n_bytes = info.n_bytes - group->built_bytes,
                          .waited_ns = info.waited_ns - group->idle_ns};
    VLY_TRY(vly_rank_gather(group, VLY_RANK_TAG_ANSWER | slow | group->n_calls,
                            mine, sizeof *mine, &pieces, error));
    group->n_calls++;
    for (uint32_t r = 0; r < group->info.n_ranks; r++) {
        const vly_rank_answer *answer = pieces[r].data;
        if (pieces[r].n_bytes != sizeof *answer)
            return vly_fail(error, VLY_E_DEVICE,
                            "rank %u sent an answer of another size", r);
        put_figures(&group->figures[r], &answer->figures);
        if (group->call == RANK_CREATE)
            memcpy(group->devices[r], answer->device, sizeof answer->device);
        if (mine->status != VLY_OK || r == group->info.rank)
            continue;
        if (answer->status != VLY_OK)
            return vly_fail(error, VLY_E_DEVICE, "rank %u: %.239s", r,
                            answer->text);
        if (answer->value != mine->value)
            return vly_fail(error, VLY_E_DEVICE,
                            "rank %u ran %llu bursts, this rank %llu", r,
                            (unsigned long long)answer->value,
                            (unsigned long long)mine->value);
    }
out:
    return status;
}
