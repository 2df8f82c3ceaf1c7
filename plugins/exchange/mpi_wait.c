/* SPDX-License-Identifier: Apache-2.0
 * Waiting for a request of MPI with a limit, and the notes that ranks send each
 * other when there is something wrong.
 */
#include "mpi_link.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define LOOK_NS UINT64_C(1000000)   /* from one look at notes to the next */
#define LEAP_NS UINT64_C(100000000) /* more than that: the job was stopped */
#define POLL_NS UINT64_C(5000)      /* after that others get the core */
#define REST_NS UINT64_C(5000000)   /* after that a wait is long: sleep */
#define NOTE_NS UINT64_C(2000000000)

vly_status mpi_check(vly_exchange_link *link, int code, const char *what,
                     vly_error *error)
{
    char text[300] = "";
    char tag[VLY_EXCHANGE_TAG_TEXT];
    if (code == 0)
        return VLY_OK;
    link->failed = true;
    link->lost = true;
    (void)link->calls->error_text(code, text, (int)sizeof text);
    return vly_support_fail(
        error, VLY_E_DEVICE, "exchange mpi: rank %u: %s, %s: %s (%d)",
        link->rank, what, vly_exchange_tag_text(link->tag, tag), text, code);
}

static void pause_ns(uint64_t ns)
{
    const struct timespec time = {0, (long)ns};
    nanosleep(&time, NULL);
}

/* ---- notes ----------------------------------------------------------------
 */

static void send_notes(vly_exchange_link *link, bool is_abort, const char *text)
{
    if (link->has_noted)
        return;
    link->has_noted = true;
    link->failed = true;
    link->lost = true;
    link->own_note =
        (mpi_note){.tag = link->tag, .rank = link->rank, .is_abort = is_abort};
    snprintf(link->own_note.text, sizeof link->own_note.text, "%s", text);
    for (uint32_t r = 0; r < link->n_ranks; r++)
        link->was_heard[r] =
            r != link->rank &&
            link->calls->send(&link->own_note, (int)sizeof link->own_note,
                              (int)r, link->notes, &link->sends[r]) == 0;
    /* until they are on their way; a rank that is gone takes none */
    const uint64_t start = vly_exchange_clock_ns();
    uint32_t n_left = link->n_ranks;
    while (n_left != 0 && vly_exchange_clock_ns() - start < LEAP_NS) {
        n_left = 0;
        for (uint32_t r = 0; r < link->n_ranks; r++) {
            bool is_done = true;
            if (link->was_heard[r] &&
                link->calls->test(&link->sends[r], &is_done) == 0 && is_done)
                link->was_heard[r] = 0;
            n_left += link->was_heard[r];
        }
    }
    memset(link->was_heard, 0, link->n_ranks);
}

/* The next note that has come. False: there is none. */
static bool next_note(vly_exchange_link *link, mpi_note *note)
{
    bool has = false;
    if (link->calls->has_any(link->notes, &has) != 0 || !has)
        return false;
    for (uint32_t r = 0; r < link->n_ranks; r++)
        if (link->calls->has((int)r, link->notes, &has) == 0 && has)
            return link->calls->receive(note, (int)sizeof *note, (int)r,
                                        link->notes) == 0 &&
                   note->rank == r;
    return false;
}

static vly_status say_aborted(vly_exchange_link *link, const mpi_note *note,
                              vly_error *error)
{
    link->failed = true;
    link->lost = true;
    return vly_support_fail(error, VLY_E_DEVICE,
                            "exchange mpi: rank %u ended it: %.*s", note->rank,
                            MPI_TEXT - 1, note->text);
}

static bool is_silent(const void *context, uint32_t rank)
{
    const vly_exchange_link *link = context;
    return rank != link->rank && !link->was_heard[rank];
}

/* " (host b)" of the first that is missing, if there are several hosts */
static void host_of_missing(const vly_exchange_link *link, char text[100])
{
    text[0] = '\0';
    for (uint32_t r = 0; link->n_hosts > 1 && r < link->n_ranks; r++)
        if (is_silent(link, r)) {
            snprintf(text, 100, " (rank %u is on host %s)", r,
                     link->hellos[r].host);
            return;
        }
}

/* Time is over, here or on another rank that has said so. */
static vly_status find_missing(vly_exchange_link *link, bool was_told,
                               const mpi_note *first, vly_error *error)
{
    char list[120];
    char host[100];
    char tag[VLY_EXCHANGE_TAG_TEXT];
    const unsigned long long ms =
        vly_exchange_limit_ns(link->tag, link->timeout_ns) / 1000000;
    mpi_note note;
    send_notes(link, false, "");
    if (was_told)
        link->was_heard[first->rank] = 1;
    const uint64_t start = vly_exchange_clock_ns();
    const uint64_t limit =
        link->timeout_ns < NOTE_NS ? link->timeout_ns : NOTE_NS;
    uint32_t n_silent = link->n_ranks - 1 - (was_told ? 1 : 0);
    while (n_silent != 0 && vly_exchange_clock_ns() - start < limit) {
        if (next_note(link, &note)) {
            if (note.is_abort)
                return say_aborted(link, &note, error);
            n_silent -= !link->was_heard[note.rank];
            link->was_heard[note.rank] = 1;
        } else {
            pause_ns(50000);
        }
    }
    vly_exchange_list(link->n_ranks, is_silent, link, list, sizeof list);
    host_of_missing(link, host);
    (void)vly_exchange_tag_text(link->tag, tag);
    if (n_silent == 0)
        return vly_support_fail(error, VLY_E_DEVICE,
                                "exchange mpi: not all ranks were there for "
                                "%s within %llu ms",
                                tag, ms);
    return vly_support_fail(error, VLY_E_DEVICE,
                            "exchange mpi: %s sent nothing of %s in %llu ms%s",
                            list, tag, ms, host);
}

/* ---- abort ----------------------------------------------------------------
 */

void mpi_tell_abort(vly_exchange_link *link)
{
    if (atomic_load(&link->abort_wanted) != 0)
        send_notes(link, true, link->abort_text);
}

void mpi_abort(vly_exchange_link *link, const char *text)
{
    uint32_t none = 0;
    if (!atomic_compare_exchange_strong(&link->aborting, &none, 1))
        return;
    snprintf(link->abort_text, sizeof link->abort_text, "%s", text ? text : "");
    atomic_store(&link->abort_wanted, 1);
    /* a thread that is in a gather sends it; without one, the next call does
     * where this thread may not */
    if ((link->one_thread && !pthread_equal(pthread_self(), link->thread)) ||
        pthread_mutex_trylock(&link->calling) != 0)
        return;
    mpi_tell_abort(link);
    pthread_mutex_unlock(&link->calling);
}

/* ---- wait -----------------------------------------------------------------
 */

static vly_status look(vly_exchange_link *link, bool with_notes,
                       vly_error *error)
{
    mpi_note note;
    if (atomic_load(&link->abort_wanted) != 0) {
        mpi_tell_abort(link);
        return vly_support_fail(error, VLY_E_DEVICE,
                                "exchange mpi: rank %u ended it: %s",
                                link->rank, link->abort_text);
    }
    if (!with_notes || !next_note(link, &note))
        return VLY_OK;
    return note.is_abort ? say_aborted(link, &note, error)
                         : find_missing(link, true, &note, error);
}

vly_status mpi_wait(vly_exchange_link *link, mpi_handle *request,
                    uint64_t *left_ns, vly_error *error)
{
    vly_status status = VLY_OK;
    bool is_done = false;
    uint64_t start = 0;
    uint64_t last = 0;
    for (uint32_t polls = 0;; polls++) {
        VLY_TRY(mpi_check(link, link->calls->test(request, &is_done),
                          "MPI_Test", error));
        if (is_done)
            break;
        if (link->is_shared)
            (void)sched_yield();
        if (polls % 32 != 31)
            continue;
        const uint64_t now = vly_exchange_clock_ns();
        if (start == 0)
            start = last = now;
        VLY_TRY(look(link, now - last > LOOK_NS, error));
        if (now - last > LOOK_NS) {
            /* a job that was stopped and goes on has not waited all that time
             */
            const uint64_t passed = now - last < LEAP_NS ? now - last : LEAP_NS;
            last = now;
            *left_ns -= passed < *left_ns ? passed : *left_ns;
            if (*left_ns == 0) {
                status = find_missing(link, false, NULL, error);
                goto out;
            }
        }
        if (now - start > REST_NS)
            pause_ns(20000);
        else if (now - start > POLL_NS)
            (void)sched_yield();
    }
out:
    if (start != 0)
        link->waited_ns += vly_exchange_clock_ns() - start;
    return status;
}
