/* SPDX-License-Identifier: Apache-2.0
 * A connectome built in parts by ranks, compared with the whole one.
 */
#include "rank_parts.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "connectome/connectome_digest.h"
#include "connectome/connectome_part.h"
#include "connectome/ranks_cut.h"

enum { RANKS_MOST = 64, AREAS_MOST = 1024 };

/* ---- ranks as threads ---------------------------------------------------- */

typedef struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t n_ranks;
    uint32_t n_here;
    uint64_t round;
    uint64_t tag;
    uint64_t surplus; /* the last rank gives 8 bytes too many in this round */
    bool failed;      /* a rank has left */
    bool torn;        /* two ranks gave different tags */
    vly_piece pieces[2][RANKS_MOST]; /* of even and odd rounds */
    void *kept[2][RANKS_MOST];
} meeting;

typedef struct member {
    meeting *at;
    const vly_genome *genome;
    vly_ranks ranks;
    vly_connectome *built;
    vly_error error;
    vly_status status;
} member;

/* All that a rank gave is copied, as other processes would. */
static vly_status meet(void *context, uint64_t tag, const void *mine,
                       uint64_t n_bytes, const vly_piece **pieces,
                       vly_error *error)
{
    member *rank = context;
    meeting *at = rank->at;
    const uint32_t r = rank->ranks.rank;
    (void)error;
    pthread_mutex_lock(&at->lock);
    const uint64_t round = at->round;
    const int side = (int)(round & 1);
    const bool more = r + 1 == at->n_ranks && round == at->surplus;
    void *copy = calloc(n_bytes + 8, 1);
    at->failed = at->failed || !copy;
    if (copy && n_bytes)
        memcpy(copy, mine, n_bytes);
    free(at->kept[side][r]);
    at->kept[side][r] = copy;
    at->pieces[side][r] = (vly_piece){copy, n_bytes + (more ? 8 : 0)};
    at->torn = at->torn || (at->n_here > 0 && tag != at->tag);
    at->tag = tag;
    if (++at->n_here == at->n_ranks) {
        at->n_here = 0;
        at->round++;
        pthread_cond_broadcast(&at->changed);
    }
    while (at->round == round && !at->failed)
        pthread_cond_wait(&at->changed, &at->lock);
    const bool good = at->round != round && !at->torn;
    pthread_mutex_unlock(&at->lock);
    *pieces = at->pieces[side];
    return good ? VLY_OK : VLY_E_DEVICE;
}

static void *build_one(void *context)
{
    member *rank = context;
    rank->status = vly_connectome_build_part(rank->genome, &rank->ranks, 1,
                                             &rank->built, &rank->error);
    if (rank->status != VLY_OK) {
        pthread_mutex_lock(&rank->at->lock);
        rank->at->failed = true;
        pthread_cond_broadcast(&rank->at->changed);
        pthread_mutex_unlock(&rank->at->lock);
    }
    return NULL;
}

static void build_together(meeting *at, member *members)
{
    pthread_t threads[RANKS_MOST];
    uint32_t n = 0;
    pthread_mutex_init(&at->lock, NULL);
    pthread_cond_init(&at->changed, NULL);
    for (; n < at->n_ranks; n++)
        if (pthread_create(&threads[n], NULL, build_one, &members[n]) != 0)
            abort();
    for (uint32_t r = 0; r < n; r++)
        pthread_join(threads[r], NULL);
    for (uint32_t r = 0; r < n; r++) {
        free(at->kept[0][r]);
        free(at->kept[1][r]);
    }
    pthread_mutex_destroy(&at->lock);
    pthread_cond_destroy(&at->changed);
}

/* ---- a part beside the whole ----------------------------------------------
 */

typedef struct beside {
    const vly_connectome *part;
    const vly_connectome *whole;
    const char *name;
    uint32_t rank;
    uint32_t n_ranks;
    bool alone; /* knows the loads of own neurons only */
} beside;

static bool differs(const beside *b, const char *what, uint32_t number)
{
    fprintf(stderr, "%s: rank %u of %u: %s %u differ from the whole\n", b->name,
            (unsigned)b->rank, (unsigned)b->n_ranks, what, (unsigned)number);
    return false;
}

static bool same_rows(const beside *b, uint32_t p, uint32_t n_rows)
{
    const vly_projection_desc *mine = &b->part->desc.projections[p];
    const vly_projection_desc *all = &b->whole->desc.projections[p];
    for (uint32_t k = 0; k < n_rows; k++) {
        const uint64_t first = vly_targets_find(
            all->target, all->row[k], all->row[k + 1], b->part->own_first);
        const uint64_t last = vly_targets_find(
            all->target, first, all->row[k + 1], b->part->own_last);
        const uint64_t at = mine->row[k];
        const size_t n = (size_t)(last - first);
        if (mine->row[k + 1] - at != n)
            return differs(b, "rows of projection", p);
        if (n && memcmp(mine->target + at, all->target + first, n * 4) != 0)
            return differs(b, "targets of projection", p);
        for (size_t i = 0; i < n; i++)
            if (vly_weight_at(mine, at + i) != vly_weight_at(all, first + i))
                return differs(b, "weights of projection", p);
        if (!mine->delay != !all->delay ||
            (n && mine->delay &&
             memcmp(mine->delay + at, all->delay + first, n) != 0))
            return differs(b, "delays of projection", p);
    }
    return true;
}

static bool same_projection(const beside *b, uint32_t p)
{
    const vly_projection_desc *mine = &b->part->desc.projections[p];
    const vly_projection_desc *all = &b->whole->desc.projections[p];
    const vly_connectome_projection *about = &b->part->projections[p];
    const vly_connectome_projection *other = &b->whole->projections[p];
    if (strcmp(mine->map, all->map) != 0 || mine->port != all->port ||
        mine->source_area != all->source_area ||
        mine->target_area != all->target_area || mine->flags != all->flags ||
        mine->base_delay != all->base_delay ||
        mine->delay_max != all->delay_max || mine->shift != all->shift)
        return differs(b, "numbers of projection", p);
    if (about->unit != other->unit || about->pair != other->pair ||
        about->worst_rounding != other->worst_rounding ||
        about->share_coarse != other->share_coarse ||
        about->worst_coarse != other->worst_coarse ||
        about->mean_coarse != other->mean_coarse)
        return differs(b, "roundings of projection", p);
    return same_rows(b, p, b->whole->areas[all->source_area].n_neurons);
}

static bool same_area(const beside *b, uint32_t a)
{
    const vly_connectome_area *mine = &b->part->areas[a];
    const vly_connectome_area *all = &b->whole->areas[a];
    if (memcmp(mine->q, all->q, sizeof mine->q) != 0)
        return differs(b, "units of area", a);
    for (uint32_t port = 0; port < all->model->n_ports; port++)
        for (uint32_t i = 0; i < all->n_neurons; i++)
            if ((!b->alone || (all->first + i >= b->part->own_first &&
                               all->first + i < b->part->own_last)) &&
                mine->load[port][i] != all->load[port][i])
                return differs(b, "loads of area", a);
    return true;
}

static bool same_part(const beside *b)
{
    const vly_net_desc *mine = &b->part->desc;
    const vly_net_desc *all = &b->whole->desc;
    if (mine->n_projections != all->n_projections ||
        mine->max_delay != all->max_delay || mine->feagi_q != all->feagi_q ||
        b->part->n_synapses_whole != all->n_synapses)
        return differs(b, "numbers of net", 0);
    if (memcmp(mine->out_degree, all->out_degree, (size_t)all->n_neurons * 4) !=
        0)
        return differs(b, "out-degrees of net", 0);
    for (uint32_t a = 0; a < all->n_areas; a++)
        if (!same_area(b, a))
            return false;
    for (uint32_t p = 0; p < all->n_projections; p++)
        if (!same_projection(b, p))
            return false;
    return true;
}

static bool same_parts(const member *members, uint32_t n_ranks,
                       const vly_connectome *whole, const char *name)
{
    vly_hash sum = {{0, 0}};
    vly_hash wanted = vly_connectome_digest(whole, 1);
    uint64_t n_synapses = 0;
    for (uint32_t r = 0; r < n_ranks; r++) {
        const beside b = {members[r].built,        whole, name, r, n_ranks,
                          !members[r].ranks.gather};
        if (!same_part(&b))
            return false;
        if (!b.alone &&
            memcmp(&b.part->hash, &whole->hash, sizeof whole->hash) != 0)
            return differs(&b, "hashes of net", 0);
        sum = vly_digest_add(sum, vly_connectome_digest(b.part, 1));
        n_synapses += b.part->desc.n_synapses;
    }
    if (memcmp(&sum, &wanted, sizeof sum) == 0 &&
        n_synapses == whole->desc.n_synapses)
        return true;
    fprintf(stderr, "%s: the digests of %u ranks do not add up\n", name,
            (unsigned)n_ranks);
    return false;
}

/* ---- all ------------------------------------------------------------------
 */

static void cut(const vly_connectome *whole, uint32_t n_ranks, uint64_t seed,
                uint32_t *first)
{
    vly_ranks_area areas[AREAS_MOST];
    const uint32_t n = whole->desc.n_areas;
    if (n > AREAS_MOST || n_ranks > RANKS_MOST)
        abort();
    for (uint32_t a = 0; a < n; a++)
        areas[a] = (vly_ranks_area){whole->areas[a].n_neurons, 100};
    if (seed)
        vly_ranks_cut_random(areas, n, n_ranks, seed, first);
    else
        vly_ranks_cut(areas, n, n_ranks, first);
}

static void members_free(member *members, uint32_t n_ranks)
{
    for (uint32_t r = 0; r < n_ranks; r++) {
        vly_connectome_destroy(members[r].built);
        members[r].built = NULL;
    }
}

/* Every rank alone; *unable: one of them cannot. */
static bool check_alone(member *members, uint32_t n_ranks,
                        const vly_connectome *whole, const char *name,
                        bool *unable)
{
    *unable = false;
    for (uint32_t r = 0; r < n_ranks; r++) {
        vly_error error = VLY_ERROR_INIT;
        members[r].ranks.gather = NULL;
        const vly_status status =
            vly_connectome_build_part(members[r].genome, &members[r].ranks,
                                      1 + r % 3, &members[r].built, &error);
        *unable = status == VLY_E_UNSUPPORTED;
        if (*unable)
            return true;
        if (status != VLY_OK) {
            fprintf(stderr, "%s: rank %u of %u, alone: %s\n", name, (unsigned)r,
                    (unsigned)n_ranks, error.message);
            return false;
        }
    }
    return same_parts(members, n_ranks, whole, name);
}

/* The same build, in which one message of the last rank is too long. */
static bool check_surplus(meeting *at, member *members, uint64_t seed,
                          const char *name)
{
    const uint64_t n_rounds = at->round;
    if (n_rounds == 0)
        return true;
    at->surplus = seed % n_rounds;
    at->round = 0;
    at->n_here = 0;
    memset(at->kept, 0, sizeof at->kept);
    build_together(at, members);
    at->surplus = UINT64_MAX;
    const bool good = members[0].status == VLY_E_INVALID;
    if (!good)
        fprintf(stderr, "%s: surplus bytes in message %llu of %llu: %s\n", name,
                (unsigned long long)(seed % n_rounds),
                (unsigned long long)n_rounds, members[0].error.message);
    return good;
}

bool rank_parts_check(const vly_genome *genome, const vly_connectome *whole,
                      uint32_t n_ranks, uint64_t seed, const char *name,
                      rank_parts *counts)
{
    static meeting at;
    static member members[RANKS_MOST];
    uint32_t first[RANKS_MOST + 1];
    bool good = true;
    bool unable = false;
    memset(&at, 0, sizeof at);
    at.n_ranks = n_ranks;
    at.surplus = UINT64_MAX;
    cut(whole, n_ranks, seed, first);
    for (uint32_t r = 0; r < n_ranks; r++)
        members[r] = (member){.at = &at,
                              .genome = genome,
                              .error = VLY_ERROR_INIT,
                              .ranks = {.struct_size = sizeof(vly_ranks),
                                        .rank = r,
                                        .n_ranks = n_ranks,
                                        .first = first,
                                        .context = &members[r],
                                        .gather = meet}};
    build_together(&at, members);
    counts->n_cases++;
    for (uint32_t r = 0; r < n_ranks && good; r++) {
        if (members[r].status == VLY_E_UNSUPPORTED) {
            counts->n_whole_only++;
            members_free(members, n_ranks);
            return true;
        }
        good = members[r].status == VLY_OK;
        if (!good)
            fprintf(stderr, "%s: rank %u of %u: %s\n", name, (unsigned)r,
                    (unsigned)n_ranks, members[r].error.message);
    }
    good = good && same_parts(members, n_ranks, whole, name);
    members_free(members, n_ranks);
    good = good &&
           check_surplus(&at, members, seed + whole->desc.n_synapses, name);
    members_free(members, n_ranks);
    good = good && check_alone(members, n_ranks, whole, name, &unable);
    counts->n_not_alone += good && unable;
    members_free(members, n_ranks);
    return good;
}
