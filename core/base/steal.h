/* SPDX-License-Identifier: Apache-2.0
 * Time in which a virtual machine's processors were another's. The system does
 * not count it as a thread's waiting (vly_thread_waited_ns), and where it keeps
 * account of it (Linux with CONFIG_PARAVIRT_TIME_ACCOUNTING) not as its own
 * time either: what is missing of the wall clock was stolen from the thread,
 * or it slept. Which of them, the machine's sum of stolen time says, of all its
 * processors: no more than that grew by. So who sleeps where others are robbed
 * is taken for robbed; who knows that it sleeps does not count that as missing.
 */
#ifndef VOLLEY_BASE_STEAL_H
#define VOLLEY_BASE_STEAL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct vly_steal {
    uint64_t stolen_ns;  /* so far */
    bool counts;         /* the system told of such before the first look */
    uint32_t n_idle;     /* reads in turn in which nothing was */
    uint64_t missing_ns; /* since the machine's was read */
    uint64_t open_ns;    /* before that, not stolen as far as is known */
    uint64_t machine_ns; /* the machine's, when it was last read */
    uint64_t left_ns;    /* of that, not yet taken; a tick at most */
    uint64_t read_at_ns; /* by the steady clock */
} vly_steal;

/* Of all processors since the machine began, from the first line of that file
 * (/proc/stat); UINT64_MAX where it does not tell. */
uint64_t vly_machine_stolen_ns(const char *path);

/* What the machine's sum (vly_machine_stolen_ns) explains of what is missing;
 * the system adds it up some milliseconds late. */
void vly_steal_take(vly_steal *steal, uint64_t now_ns, uint64_t machine_ns);

/* What was stolen from a thread so far. missing_ns: wall clock less processor
 * time less waiting of the thread, since the last look. Reads a file where more
 * than a millisecond is missing, else, and of a thread that nothing was stolen
 * from in the last few reads, each 50 ms. One thread only. Zeros begin it. */
uint64_t vly_steal_look(vly_steal *steal, uint64_t missing_ns);

#endif
