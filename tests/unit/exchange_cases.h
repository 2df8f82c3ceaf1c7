/* SPDX-License-Identifier: Apache-2.0
 * What every plugin of volley.exchange/1 must do, as seen by one rank: run by
 * all ranks at once, in processes or threads. Nothing here uses cmocka, which
 * does not work outside the main thread.
 */
#ifndef VOLLEY_TEST_EXCHANGE_CASES_H
#define VOLLEY_TEST_EXCHANGE_CASES_H

#include <stdbool.h>

#include <volley/exchange.h>

/* One rank of a case. */
typedef struct exchange_trial exchange_trial;
struct exchange_trial {
    const vly_exchange *exchange;
    vly_exchange_spec spec;
    uint64_t seed;
    uint32_t n_gathers;
    uint32_t most_bytes; /* of a piece */
    uint32_t at;         /* the gather in which a rank does wrong */
    /* NULL, or called before the link is closed: the process may end there */
    void (*report)(const exchange_trial *trial, bool is_good);
    char why[1200];   /* (out) what was not as wanted; "": all was */
    vly_error error;  /* (out) of the call that failed */
    uint64_t took_ns; /* (out) that call */
};

/* Each returns whether all was as wanted. */
typedef bool (*exchange_case)(exchange_trial *trial);

/* Pieces of any size, looked at twice. */
bool exchange_case_random(exchange_trial *trial);
/* The same with 64 bytes each: fast. */
bool exchange_case_small(exchange_trial *trial);
/* A wrong tag: the same error on all ranks. */
bool exchange_case_tags(exchange_trial *trial);
/* The last rank goes, by one of these ways. Others get E_DEVICE. */
bool exchange_case_exits(exchange_trial *trial);
bool exchange_case_killed(exchange_trial *trial);
bool exchange_case_stopped(exchange_trial *trial);
bool exchange_case_closes(exchange_trial *trial);
/* The last rank aborts, from a thread of its own, while all others wait. */
bool exchange_case_aborts(exchange_trial *trial);

/* By its name; NULL: there is none. */
exchange_case exchange_case_of(const char *name);

#endif
