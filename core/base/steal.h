/* SPDX-License-Identifier: Apache-2.0
 * Stolen time: time in which the hypervisor gave a virtual machine's processors
 * to another machine. The system does not count it as a thread's waiting time
 * (vly_thread_waited_ns), nor, if it accounts for it (Linux with
 * CONFIG_PARAVIRT_TIME_ACCOUNTING), as the thread's processor time. So missing
 * wall clock time was either stolen from the thread, or the thread slept. The
 * machine's sum of stolen time over all processors decides: at most its
 * increase was stolen. A thread that sleeps while time is stolen from other
 * threads is therefore counted wrongly; a caller that knows that it slept does
 * not count that time as missing.
 */
#ifndef VOLLEY_BASE_STEAL_H
#define VOLLEY_BASE_STEAL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct vly_steal {
    uint64_t stolen_ns;  /* so far */
    bool counts;         /* the system reported stolen time before the first
                          * look */
    uint32_t n_idle;     /* successive reads in which nothing was stolen */
    uint64_t missing_ns; /* since the machine's was read */
    uint64_t open_ns;    /* before that, not yet explained by stolen time */
    uint64_t machine_ns; /* the machine's, when it was last read */
    uint64_t left_ns;    /* of that, not yet taken; a tick at most */
    uint64_t read_at_ns; /* by the steady clock */
} vly_steal;

/* Of all processors since the machine began, from the first line of that file
 * (/proc/stat); UINT64_MAX if it is not reported. */
uint64_t vly_machine_stolen_ns(const char *path);

/* Attributes missing time to the growth of the machine's sum
 * (vly_machine_stolen_ns), which the system updates some milliseconds late. */
void vly_steal_take(vly_steal *steal, uint64_t now_ns, uint64_t machine_ns);

/* Time stolen from a thread so far. missing_ns: wall clock less processor time
 * less waiting time of the thread since the last look. Reads a file if more
 * than a millisecond is missing; otherwise, and if nothing was stolen in the
 * last few reads, every 50 ms. One thread only. Initialise with zeros. */
uint64_t vly_steal_look(vly_steal *steal, uint64_t missing_ns);

#endif
