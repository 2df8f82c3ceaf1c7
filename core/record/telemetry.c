/* SPDX-License-Identifier: Apache-2.0
 * The ring. A slot has a sequence number besides its words: odd while it is
 * written, 2 * (the sample's number + 1) when it is complete. A reader copies
 * the words between two reads of the number and discards the copy if the number
 * changed (a sequence lock; Boehm 2012, doi:10.1145/2247684.2247688, on the
 * order of its loads).
 */
#include "record/telemetry.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* ThreadSanitizer does not see fences, and gcc warns of that. It needs none:
 * all words that two threads touch are atomic. */
#if defined(__SANITIZE_THREAD__)
#pragma GCC diagnostic ignored "-Wtsan"
#endif

#define SAMPLE_WORDS (sizeof(vly_telemetry_sample) / sizeof(uint64_t))
_Static_assert(sizeof(vly_telemetry_sample) == 32 * sizeof(uint64_t),
               "a sample is words without padding");

struct vly_telemetry_ring {
    uint64_t written; /* samples so far */
    uint64_t mask;
    uint64_t stride; /* words of a slot: number, sample, areas */
    uint32_t n_areas;
    uint64_t *slots;
};

vly_status vly_telemetry_create(uint32_t n_samples, uint32_t n_areas,
                                vly_telemetry_ring **telemetry,
                                vly_error *error)
{
    if (n_samples == 0 || (n_samples & (n_samples - 1)) != 0)
        return vly_fail(error, VLY_E_INVALID,
                        "a ring of %u samples, wanted a power of two",
                        n_samples);
    const uint64_t stride = 1 + SAMPLE_WORDS + n_areas;
    vly_telemetry_ring *made = vly_calloc(1, sizeof *made);
    uint64_t *slots = vly_calloc(n_samples, stride * sizeof *slots);
    if (!made || !slots) {
        vly_free(made);
        vly_free(slots);
        return vly_fail_nomem(error, n_samples * stride * sizeof *slots,
                              "telemetry");
    }
    made->mask = n_samples - 1;
    made->stride = stride;
    made->n_areas = n_areas;
    made->slots = slots;
    *telemetry = made;
    return VLY_OK;
}

void vly_telemetry_destroy(vly_telemetry_ring *telemetry)
{
    if (!telemetry)
        return;
    vly_free(telemetry->slots);
    vly_free(telemetry);
}

uint32_t vly_telemetry_areas(const vly_telemetry_ring *telemetry)
{
    return telemetry->n_areas;
}

uint32_t vly_telemetry_length(const vly_telemetry_ring *telemetry)
{
    return (uint32_t)(telemetry->mask + 1);
}

static void store(uint64_t *to, uint64_t value)
{
    __atomic_store_n(to, value, __ATOMIC_RELAXED);
}

static uint64_t load(const uint64_t *from)
{
    return __atomic_load_n(from, __ATOMIC_RELAXED);
}

void vly_telemetry_put(vly_telemetry_ring *telemetry,
                       const vly_telemetry_sample *sample,
                       const uint64_t *area_spikes)
{
    const uint64_t number = telemetry->written; /* only this thread writes it */
    uint64_t *slot =
        telemetry->slots + (number & telemetry->mask) * telemetry->stride;
    uint64_t words[SAMPLE_WORDS];
    memcpy(words, sample, sizeof words);
    store(&slot[0], 2 * number + 1);
    /* no word before the odd number */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    for (uint64_t i = 0; i < SAMPLE_WORDS; i++)
        store(&slot[1 + i], words[i]);
    for (uint32_t a = 0; a < telemetry->n_areas; a++)
        store(&slot[1 + SAMPLE_WORDS + a], area_spikes[a]);
    __atomic_store_n(&slot[0], 2 * (number + 1), __ATOMIC_RELEASE);
    __atomic_store_n(&telemetry->written, number + 1, __ATOMIC_RELEASE);
}

/* false: it is being overwritten, or has been. */
static bool copy(const vly_telemetry_ring *telemetry, uint64_t number,
                 vly_telemetry_sample *sample, uint64_t *area_spikes)
{
    const uint64_t *slot =
        telemetry->slots + (number & telemetry->mask) * telemetry->stride;
    uint64_t words[SAMPLE_WORDS];
    if (__atomic_load_n(&slot[0], __ATOMIC_ACQUIRE) != 2 * (number + 1))
        return false;
    for (uint64_t i = 0; i < SAMPLE_WORDS; i++)
        words[i] = load(&slot[1 + i]);
    for (uint32_t a = 0; area_spikes && a < telemetry->n_areas; a++)
        area_spikes[a] = load(&slot[1 + SAMPLE_WORDS + a]);
    /* no word after the second look */
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (load(&slot[0]) != 2 * (number + 1))
        return false;
    memcpy(sample, words, sizeof *sample);
    return true;
}

bool vly_telemetry_take(const vly_telemetry_ring *telemetry, uint64_t *next,
                        uint64_t *lost, vly_telemetry_sample *sample,
                        uint64_t *area_spikes)
{
    for (;;) {
        const uint64_t written =
            __atomic_load_n(&telemetry->written, __ATOMIC_ACQUIRE);
        if (*next >= written)
            return false;
        const uint64_t length = telemetry->mask + 1;
        if (written - *next > length) {
            *lost += written - length - *next;
            *next = written - length;
        }
        if (copy(telemetry, *next, sample, area_spikes)) {
            ++*next;
            return true;
        }
        /* overwritten between the two reads: the oldest has moved on */
        ++*lost;
        ++*next;
    }
}

bool vly_telemetry_last(const vly_telemetry_ring *telemetry,
                        vly_telemetry_sample *sample, uint64_t *area_spikes)
{
    for (;;) {
        const uint64_t written =
            __atomic_load_n(&telemetry->written, __ATOMIC_ACQUIRE);
        if (written == 0)
            return false;
        if (copy(telemetry, written - 1, sample, area_spikes))
            return true;
    }
}
