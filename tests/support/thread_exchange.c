/* SPDX-License-Identifier: Apache-2.0
 * Ranks as threads: every gather is two waits at a barrier.
 */
#include "thread_exchange.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 64, MEETINGS = 16 };

typedef struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t n_ranks;
    uint32_t n_open;
    uint32_t n_waiting;
    uint64_t round;
    bool broken;
    char why[200];
    uint64_t tag[RANKS];
    vly_piece piece[RANKS];
} meeting;

struct vly_exchange_link {
    meeting *at;
    uint32_t rank;
    vly_piece pieces[RANKS];
    void *kept[RANKS]; /* copies, until the next gather */
};

static meeting meetings[MEETINGS];
static pthread_mutex_t all = PTHREAD_MUTEX_INITIALIZER;

static vly_status fail(vly_error *error, vly_status status, const char *text)
{
    if (error) {
        error->status = status;
        snprintf(error->message, sizeof error->message, "%s", text);
    }
    return status;
}

/* All ranks wait here; false: the meeting is broken. The lock is held. */
static bool wait_all(meeting *m)
{
    const uint64_t round = m->round;
    if (++m->n_waiting == m->n_ranks) {
        m->n_waiting = 0;
        m->round++;
        pthread_cond_broadcast(&m->changed);
    }
    while (m->round == round && !m->broken)
        pthread_cond_wait(&m->changed, &m->lock);
    return !m->broken;
}

static vly_status open_link(const vly_exchange_spec *spec,
                            vly_exchange_link **link, vly_error *error)
{
    meeting *m = &meetings[(unsigned)atoi(spec->name) % MEETINGS];
    vly_exchange_link *made = calloc(1, sizeof *made);
    if (!made || spec->n_ranks > RANKS)
        return fail(error, VLY_E_NOMEM, "no memory, or too many ranks");
    pthread_mutex_lock(&all);
    if (m->n_ranks == 0) {
        pthread_mutex_init(&m->lock, NULL);
        pthread_cond_init(&m->changed, NULL);
        m->n_ranks = spec->n_ranks;
    }
    m->n_open++;
    pthread_mutex_unlock(&all);
    made->at = m;
    made->rank = spec->rank;
    *link = made;
    return VLY_OK;
}

static void free_kept(vly_exchange_link *link)
{
    for (uint32_t r = 0; r < RANKS; r++) {
        free(link->kept[r]);
        link->kept[r] = NULL;
    }
}

static void break_up(meeting *m, const char *why)
{
    pthread_mutex_lock(&m->lock);
    if (!m->broken)
        snprintf(m->why, sizeof m->why, "%s", why);
    m->broken = true;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->lock);
}

static void close_link(vly_exchange_link *link)
{
    if (!link)
        return;
    meeting *m = link->at;
    break_up(m, "a rank has ended");
    free_kept(link);
    free(link);
    pthread_mutex_lock(&all);
    if (--m->n_open == 0) {
        pthread_mutex_destroy(&m->lock);
        pthread_cond_destroy(&m->changed);
        memset(m, 0, sizeof *m);
    }
    pthread_mutex_unlock(&all);
}

static vly_status link_info(const vly_exchange_link *link,
                            vly_exchange_info *info, vly_error *error)
{
    (void)error;
    info->rank = link->rank;
    info->n_ranks = link->at->n_ranks;
    info->host = 0;
    info->n_hosts = 1;
    snprintf(info->text, sizeof info->text, "threads");
    return VLY_OK;
}

/* Copies what all gave; the lock is held. */
static vly_status copy_pieces(vly_exchange_link *link, uint64_t tag,
                              vly_error *error)
{
    const meeting *m = link->at;
    free_kept(link);
    for (uint32_t r = 0; r < m->n_ranks; r++) {
        size_t n = (size_t)m->piece[r].n_bytes;
        if (m->tag[r] != tag)
            return fail(error, VLY_E_INVALID, "ranks make different calls");
        link->kept[r] = aligned_alloc(16, (n / 16 + 1) * 16);
        if (!link->kept[r])
            return fail(error, VLY_E_NOMEM, "no memory");
        if (n > 0)
            memcpy(link->kept[r], m->piece[r].data, n);
        link->pieces[r] = (vly_piece){link->kept[r], n};
    }
    return VLY_OK;
}

static vly_status gather(vly_exchange_link *link, uint64_t tag,
                         const void *mine, uint64_t n_bytes,
                         const vly_piece **pieces, vly_error *error)
{
    meeting *m = link->at;
    pthread_mutex_lock(&m->lock);
    m->tag[link->rank] = tag;
    m->piece[link->rank] = (vly_piece){mine, n_bytes};
    bool good = wait_all(m);
    vly_status status = good ? copy_pieces(link, tag, error)
                             : fail(error, VLY_E_DEVICE, m->why);
    if (good)
        (void)wait_all(m); /* all have copied */
    pthread_mutex_unlock(&m->lock);
    *pieces = link->pieces;
    return status;
}

static void abort_link(vly_exchange_link *link, const char *text)
{
    break_up(link->at, text);
}

const vly_exchange *thread_exchange(void)
{
    static const vly_exchange table = {
        .struct_size = sizeof table,
        .open = open_link,
        .close = close_link,
        .info = link_info,
        .gather = gather,
        .abort = abort_link,
    };
    return &table;
}
