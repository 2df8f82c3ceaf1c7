/* SPDX-License-Identifier: Apache-2.0
 * What every plugin of volley.exchange/1 must do, as seen by one rank.
 */
#include "exchange_cases.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/random.h"

static bool wrong(exchange_trial *trial, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool wrong(exchange_trial *trial, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(trial->why, sizeof trial->why, format, arguments);
    va_end(arguments);
    return false;
}

static uint64_t now_ns(void)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t draw(const exchange_trial *trial, uint64_t rank,
                     uint64_t gather, uint64_t what)
{
    return vly_mix64(vly_mix64(trial->seed + what) + (rank << 32) + gather);
}

/* Sizes around the limits of what goes along inline, and any. */
static uint64_t size_of(const exchange_trial *trial, uint32_t rank,
                        uint64_t gather)
{
    const uint64_t limits[] = {0, 1, 1024, 4032, 4096, 65536};
    const uint64_t word = draw(trial, rank, gather, 1);
    const uint64_t other = word >> 16;
    uint64_t size = 0;
    if (trial->most_bytes <= 64)
        return trial->most_bytes;
    switch (word % 8) {
    case 0:
        size = 0;
        break;
    case 1:
        size = other % (trial->most_bytes + 1);
        break;
    case 2:
    case 3:
        size = limits[other % 6] + (other >> 8) % 3;
        break;
    default:
        size = other % 600;
        break;
    }
    return size < trial->most_bytes ? size : trial->most_bytes;
}

static void fill(const exchange_trial *trial, uint32_t rank, uint64_t gather,
                 unsigned char *bytes, uint64_t n)
{
    const uint64_t key = draw(trial, rank, gather, 2);
    for (uint64_t i = 0; i < n; i += 8) {
        const uint64_t word = key + i * UINT64_C(0x9e3779b97f4a7c15);
        memcpy(bytes + i, &word, n - i < 8 ? n - i : 8);
    }
}

static bool check(exchange_trial *trial, uint64_t gather,
                  const vly_piece *pieces, unsigned char *room)
{
    for (uint32_t r = 0; r < trial->spec.n_ranks; r++) {
        const uint64_t n = size_of(trial, r, gather);
        if (pieces[r].n_bytes != n)
            return wrong(trial, "gather %llu: %llu bytes of rank %u, not %llu",
                         (unsigned long long)gather,
                         (unsigned long long)pieces[r].n_bytes, r,
                         (unsigned long long)n);
        fill(trial, r, gather, room, n);
        if (n != 0 && memcmp(room, pieces[r].data, n) != 0)
            return wrong(trial, "gather %llu: bytes of rank %u are wrong",
                         (unsigned long long)gather, r);
    }
    return true;
}

static vly_exchange_link *open_link(exchange_trial *trial)
{
    vly_exchange_link *link = NULL;
    vly_exchange_info info = {.struct_size = sizeof info};
    trial->error = (vly_error){.struct_size = sizeof trial->error};
    if (trial->exchange->open(&trial->spec, &link, &trial->error) != VLY_OK) {
        wrong(trial, "open: %s", trial->error.message);
        return NULL;
    }
    if (trial->exchange->info(link, &info, NULL) != VLY_OK ||
        info.n_gathers != 0 || info.rank >= info.n_ranks) {
        wrong(trial, "info: rank %u of %u", info.rank, info.n_ranks);
        trial->exchange->close(link);
        return NULL;
    }
    trial->spec.rank = info.rank; /* a launcher's */
    trial->spec.n_ranks = info.n_ranks;
    return link;
}

static vly_status gather(exchange_trial *trial, vly_exchange_link *link,
                         uint64_t number, uint64_t tag, unsigned char *mine,
                         const vly_piece **pieces)
{
    const uint64_t n = size_of(trial, trial->spec.rank, number);
    fill(trial, trial->spec.rank, number, mine, n);
    const uint64_t start = now_ns();
    vly_status status = trial->exchange->gather(link, tag, n != 0 ? mine : NULL,
                                                n, pieces, &trial->error);
    trial->took_ns = now_ns() - start;
    /* what it gave is its own again */
    memset(mine, 0xa5, n);
    return status;
}

static bool good_gather(exchange_trial *trial, vly_exchange_link *link,
                        uint64_t number, unsigned char *room)
{
    const vly_piece *pieces = NULL;
    if (gather(trial, link, number, 1000 + number, room, &pieces) != VLY_OK)
        return wrong(trial, "gather %llu: %s", (unsigned long long)number,
                     trial->error.message);
    if (!check(trial, number, pieces, room))
        return false;
    /* others may be in the next gather by now */
    if (draw(trial, trial->spec.rank, number, 3) % 4 != 0)
        return true;
    (void)sched_yield();
    return check(trial, number, pieces, room);
}

static bool check_info(exchange_trial *trial, const vly_exchange_link *link)
{
    vly_exchange_info info = {.struct_size = sizeof info};
    uint64_t n_bytes = 0;
    for (uint64_t g = 0; g < trial->n_gathers; g++)
        n_bytes += size_of(trial, trial->spec.rank, g);
    if (trial->exchange->info(link, &info, &trial->error) != VLY_OK)
        return wrong(trial, "info: %s", trial->error.message);
    if (info.n_gathers != trial->n_gathers || info.n_bytes != n_bytes ||
        info.n_hosts == 0 || info.host >= info.n_hosts || info.text[0] == 0)
        return wrong(trial, "info: %llu gathers, %llu bytes",
                     (unsigned long long)info.n_gathers,
                     (unsigned long long)info.n_bytes);
    return true;
}

static bool finish(exchange_trial *trial, vly_exchange_link *link,
                   unsigned char *room, bool good)
{
    if (trial->report != NULL)
        trial->report(trial, good);
    trial->exchange->close(link);
    free(room);
    return good;
}

bool exchange_case_random(exchange_trial *trial)
{
    unsigned char *room = malloc((size_t)trial->most_bytes + 8);
    vly_exchange_link *link = room != NULL ? open_link(trial) : NULL;
    bool good = link != NULL;
    for (uint64_t g = 0; good && g < trial->n_gathers; g++)
        good = good_gather(trial, link, g, room);
    good = good && check_info(trial, link);
    return finish(trial, link, room, good);
}

bool exchange_case_small(exchange_trial *trial)
{
    trial->most_bytes = 64;
    return exchange_case_random(trial);
}

/* What a rank does to fail, after `at` good gathers. True: it is still there.
 */
typedef bool (*go_fn)(exchange_trial *trial, vly_exchange_link *link);

/* Good gathers up to `at`; then the last rank goes, and the others must get
 * E_DEVICE with a text that names it. */
static bool leave(exchange_trial *trial, go_fn go, const char *text)
{
    unsigned char *room = malloc((size_t)trial->most_bytes + 8);
    const vly_piece *pieces = NULL;
    vly_exchange_link *link = room != NULL ? open_link(trial) : NULL;
    const uint32_t last = trial->spec.n_ranks - 1;
    char name[40];
    bool good = link != NULL;
    for (uint64_t g = 0; good && g < trial->at; g++)
        good = good_gather(trial, link, g, room);
    if (good && trial->spec.rank == last) {
        if (go(trial, link))
            trial->exchange->close(link);
        free(room);
        return true;
    }
    snprintf(name, sizeof name, "rank %u", last);
    if (good && gather(trial, link, trial->at, trial->at, room, &pieces) !=
                    VLY_E_DEVICE)
        good =
            wrong(trial, "rank %u is gone, and gather does not say so", last);
    if (good && (!strstr(trial->error.message, name) ||
                 !strstr(trial->error.message, text)))
        good = wrong(trial, "no \"%s\" and \"%s\" in: %s", name, text,
                     trial->error.message);
    if (good &&
        trial->exchange->gather(link, 1, NULL, 0, &pieces, NULL) == VLY_OK)
        good = wrong(trial, "a link that has failed goes on");
    return finish(trial, link, room, good);
}

static bool go_exit(exchange_trial *trial, vly_exchange_link *link)
{
    (void)trial;
    (void)link;
    _exit(0);
}

static bool go_kill(exchange_trial *trial, vly_exchange_link *link)
{
    (void)trial;
    (void)link;
    (void)kill(getpid(), SIGKILL);
    return false;
}

static bool go_stop(exchange_trial *trial, vly_exchange_link *link)
{
    (void)trial;
    (void)link;
    (void)kill(getpid(), SIGSTOP);
    return true;
}

static bool go_close(exchange_trial *trial, vly_exchange_link *link)
{
    trial->exchange->close(link);
    return false;
}

typedef struct aborting {
    exchange_trial *trial;
    vly_exchange_link *link;
} aborting;

static void *abort_it(void *arg)
{
    const aborting *a = arg;
    const struct timespec while_others_wait = {0, 30000000};
    nanosleep(&while_others_wait, NULL);
    a->trial->exchange->abort(a->link, "the disk is full");
    a->trial->exchange->abort(a->link, "said too late");
    return NULL;
}

static bool go_abort(exchange_trial *trial, vly_exchange_link *link)
{
    aborting a = {trial, link};
    pthread_t thread;
    const struct timespec while_others_read = {0, 200000000};
    if (pthread_create(&thread, NULL, abort_it, &a) != 0)
        return true;
    pthread_join(thread, NULL);
    nanosleep(&while_others_read, NULL);
    return true;
}

bool exchange_case_exits(exchange_trial *trial)
{
    return leave(trial, go_exit, "");
}

bool exchange_case_killed(exchange_trial *trial)
{
    return leave(trial, go_kill, "");
}

bool exchange_case_stopped(exchange_trial *trial)
{
    return leave(trial, go_stop, "sent nothing of tag");
}

bool exchange_case_closes(exchange_trial *trial)
{
    return leave(trial, go_close, "");
}

bool exchange_case_aborts(exchange_trial *trial)
{
    return leave(trial, go_abort, "the disk is full");
}

bool exchange_case_tags(exchange_trial *trial)
{
    unsigned char *room = malloc((size_t)trial->most_bytes + 8);
    const vly_piece *pieces = NULL;
    vly_exchange_link *link = room != NULL ? open_link(trial) : NULL;
    bool good = link != NULL;
    const uint32_t odd = trial->spec.n_ranks / 2;
    for (uint64_t g = 0; good && g < trial->at; g++)
        good = good_gather(trial, link, g, room);
    const uint64_t tag = trial->spec.rank == odd ? 777777 : 4711;
    if (good &&
        gather(trial, link, trial->at, tag, room, &pieces) != VLY_E_INVALID)
        good = wrong(trial, "a wrong tag is not refused");
    snprintf((char *)room, 8, "rank %u", odd % 10);
    if (good && (!strstr(trial->error.message, "777777") ||
                 !strstr(trial->error.message, "4711") ||
                 !strstr(trial->error.message, (char *)room)))
        good = wrong(trial, "no tags in: %s", trial->error.message);
    return finish(trial, link, room, good);
}

exchange_case exchange_case_of(const char *name)
{
    static const struct {
        const char *name;
        exchange_case run;
    } cases[] = {
        {"random", exchange_case_random}, {"small", exchange_case_small},
        {"tags", exchange_case_tags},     {"exits", exchange_case_exits},
        {"killed", exchange_case_killed}, {"stopped", exchange_case_stopped},
        {"closes", exchange_case_closes}, {"aborts", exchange_case_aborts},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(cases[i].name, name) == 0)
            return cases[i].run;
    return NULL;
}
