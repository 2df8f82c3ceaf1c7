/* SPDX-License-Identifier: Apache-2.0
 * Waiting for another rank: a short time without the kernel, then with it, in
 * slices after which the state of the other rank is looked at.
 */
#define _GNU_SOURCE /* syscall */
#include "shm_link.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SLICE_NS UINT64_C(50000000)
#define SPIN_LEAST_NS UINT64_C(3000) /* of POLLS */
#define YIELD_NS UINT64_C(70000)
enum {
    POLLS = 64,  /* between two looks at the clock */
    RETRY = 512, /* waits */
};

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Not FUTEX_PRIVATE: the word is shared by processes. */
static void sleep_on(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
    const struct timespec slice = {.tv_sec = (time_t)(ns / 1000000000u),
                                   .tv_nsec = (long)(ns % 1000000000u)};
    (void)syscall(SYS_futex, word, FUTEX_WAIT, value, &slice, NULL, 0);
}

static void wake(_Atomic uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void shm_wake(vly_exchange_link *link, _Atomic uint32_t *word, uint32_t value)
{
    atomic_store(word, value);
    if (atomic_load(&link->ranks[link->rank].sleepers) != 0)
        wake(word);
}

void shm_wake_all(vly_exchange_link *link, uint32_t rank)
{
    wake(&link->ranks[rank].joined);
    wake(&link->buffers[2 * rank].sequence);
    wake(&link->buffers[2 * rank + 1].sequence);
}

/* ---- abort ----------------------------------------------------------------
 */

bool shm_is_aborted(const vly_exchange_link *link)
{
    return atomic_load(&link->header->aborted) != 0;
}

void shm_abort(vly_exchange_link *link, const char *text)
{
    shm_header *header = link->header;
    uint32_t none = 0;
    /* the first reason is the one that counts */
    if (!atomic_compare_exchange_strong(&header->aborting, &none, 1))
        return;
    header->aborted_by = link->rank;
    snprintf(header->text, sizeof header->text, "%s", text ? text : "");
    atomic_store(&header->aborted, 1);
    for (uint32_t r = 0; link->ranks && r < link->n_ranks; r++)
        shm_wake_all(link, r);
}

vly_status shm_say_aborted(vly_exchange_link *link, vly_error *error)
{
    const shm_header *header = link->header;
    link->failed = true;
    return vly_support_fail(error, VLY_E_DEVICE,
                            "exchange shm: rank %u ended it: %.*s",
                            header->aborted_by, SHM_TEXT - 1, header->text);
}

vly_status shm_fail(vly_exchange_link *link, vly_status status,
                    vly_error *error, const char *format, ...)
{
    char text[SHM_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    link->failed = true;
    shm_abort(link, text);
    return vly_support_fail(error, status, "exchange shm: %s", text);
}

/* ---- wait -----------------------------------------------------------------
 */

static bool is_there(const shm_wait *wait)
{
    return atomic_load_explicit(wait->word, memory_order_acquire) ==
           wait->wanted;
}

/* Polls for this long. */
static bool spin(const shm_wait *wait, uint64_t start, uint64_t ns)
{
    do {
        for (int i = 0; i < POLLS; i++) {
            if (is_there(wait))
                return true;
            relax();
        }
    } while (vly_exchange_clock_ns() - start < ns);
    return false;
}

/* True: it came while this thread kept its core, or gave it to others without
 * sleeping. Where polling was in vain (the other rank wants this core), it is
 * tried for half as long next time, and for its full time once in a while: two
 * ranks that shared a core took 180 us a gather without that, 3 with it,
 * and 0.2 on two cores. */
static bool comes_soon(vly_exchange_link *link, const shm_wait *wait)
{
    const uint64_t start = vly_exchange_clock_ns();
    if (link->spin_ns != 0) {
        if (link->n_waits++ % RETRY == 0)
            link->spin_now_ns = link->spin_ns;
        if (link->spin_now_ns >= SPIN_LEAST_NS &&
            spin(wait, start, link->spin_now_ns)) {
            link->spin_now_ns = link->spin_now_ns * 2 < link->spin_ns
                                    ? link->spin_now_ns * 2
                                    : link->spin_ns;
            return true;
        }
        link->spin_now_ns /= 2;
    }
    do {
        (void)sched_yield();
        if (is_there(wait))
            return true;
    } while (vly_exchange_clock_ns() - start < YIELD_NS);
    return false;
}

enum { PLACE_BYTES = VLY_EXCHANGE_TAG_TEXT + 24 };

/* ", before its part of tag 17" */
static const char *place(const vly_exchange_link *link, const shm_wait *wait,
                         char text[PLACE_BYTES])
{
    char tag[VLY_EXCHANGE_TAG_TEXT];
    if (wait->has_tag)
        snprintf(text, PLACE_BYTES, ", before its part of %s",
                 vly_exchange_tag_text(link->tag, tag));
    else
        snprintf(text, PLACE_BYTES, ", before all ranks were there");
    return text;
}

/* Why it will never come; VLY_OK: it may. The word is looked at again after the
 * other rank was seen to be gone: it may have sent before it went. */
static vly_status look(vly_exchange_link *link, const shm_wait *wait,
                       bool with_locks, vly_error *error)
{
    const shm_rank *other = &link->ranks[wait->rank];
    char text[PLACE_BYTES];
    if (shm_is_aborted(link) && !is_there(wait))
        return shm_say_aborted(link, error);
    if (atomic_load(&other->closed) != 0 && !is_there(wait))
        return shm_fail(link, VLY_E_DEVICE, error,
                        "rank %u (process %d) closed its link%s", wait->rank,
                        (int)other->process, place(link, wait, text));
    if (with_locks && atomic_load(&other->joined) != 0 &&
        shm_file_is_dead(link, wait->rank) && !is_there(wait))
        return shm_fail(link, VLY_E_DEVICE, error,
                        "rank %u (process %d) has ended%s", wait->rank,
                        (int)other->process, place(link, wait, text));
    return VLY_OK;
}

static vly_status too_late(vly_exchange_link *link, const shm_wait *wait,
                           vly_error *error)
{
    char list[120];
    char tag[VLY_EXCHANGE_TAG_TEXT];
    const uint64_t limit_ns =
        wait->has_tag ? vly_exchange_limit_ns(link->tag, link->timeout_ns)
                      : link->timeout_ns;
    const unsigned long long ms = limit_ns / 1000000;
    vly_exchange_list(link->n_ranks, wait->is_missing, link, list, sizeof list);
    if (!wait->has_tag)
        return shm_fail(link, VLY_E_DEVICE, error, "%s did not come in %llu ms",
                        list, ms);
    return shm_fail(link, VLY_E_DEVICE, error,
                    "%s sent nothing of %s in %llu ms (rank %u is process %d)",
                    list, vly_exchange_tag_text(link->tag, tag), ms, wait->rank,
                    (int)link->ranks[wait->rank].process);
}

vly_status shm_wait_for(vly_exchange_link *link, const shm_wait *wait,
                        uint64_t *left_ns, vly_error *error)
{
    vly_status status = VLY_OK;
    shm_rank *other = &link->ranks[wait->rank];
    if (is_there(wait))
        return VLY_OK;
    const uint64_t start = vly_exchange_clock_ns();
    uint64_t last = start;
    bool slept = false;
    bool came = comes_soon(link, wait);
    while (!came) {
        VLY_TRY(look(link, wait, slept, error));
        const uint64_t slice = *left_ns < SLICE_NS ? *left_ns : SLICE_NS;
        atomic_fetch_add(&other->sleepers, 1);
        const uint32_t value = atomic_load(wait->word);
        if (value != wait->wanted)
            sleep_on(wait->word, value, slice);
        atomic_fetch_sub(&other->sleepers, 1);
        slept = true;
        came = is_there(wait);
        const uint64_t now = vly_exchange_clock_ns();
        /* a job that was stopped and goes on has not waited all that time */
        const uint64_t passed =
            now - last < 2 * SLICE_NS ? now - last : 2 * SLICE_NS;
        last = now;
        *left_ns -= passed < *left_ns ? passed : *left_ns;
        if (*left_ns == 0 && !came) {
            VLY_TRY(look(link, wait, true, error));
            status = is_there(wait) ? VLY_OK : too_late(link, wait, error);
            goto out;
        }
    }
out:
    link->waited_ns += vly_exchange_clock_ns() - start;
    return status;
}
