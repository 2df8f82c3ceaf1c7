/* SPDX-License-Identifier: Apache-2.0
 * Stolen time.
 */
#include "base/steal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/thread.h"

/* The file is read if at least this much time is missing, otherwise at this
 * interval: it has a line for each processor, so reading it costs more on large
 * machines. */
static const uint64_t much_ns = 1000000;
static const uint64_t often_ns = 50000000;
/* The system adds stolen time to its sum at its next ticks, so the sum may
 * explain missing time this much later. */
static const uint64_t late_ns = 20000000;
/* After this many reads in a row without stolen time, missing time is sleep. */
enum { IDLE_READS = 4 };
/* "cpu user nice system idle iowait irq softirq steal" */
enum { STEAL_FIELD = 8 };

static uint64_t tick_ns(void)
{
    const long ticks = sysconf(_SC_CLK_TCK);
    return UINT64_C(1000000000) / (uint64_t)(ticks > 0 ? ticks : 100);
}

uint64_t vly_machine_stolen_ns(const char *path)
{
    char text[256];
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return UINT64_MAX;
    const ssize_t n = read(file, text, sizeof text - 1);
    (void)close(file);
    text[n > 0 ? n : 0] = '\0';
    if (strncmp(text, "cpu ", 4) != 0)
        return UINT64_MAX;
    uint64_t ticks = 0;
    char *at = text + 4;
    for (int i = 0; i < STEAL_FIELD; i++) {
        char *end = NULL;
        ticks = strtoull(at, &end, 10);
        if (end == at)
            return UINT64_MAX;
        at = end;
    }
    return ticks * tick_ns();
}

void vly_steal_take(vly_steal *steal, uint64_t now_ns, uint64_t machine_ns)
{
    const uint64_t tick = tick_ns();
    const uint64_t open =
        now_ns - steal->read_at_ns <= late_ns ? steal->open_ns : 0;
    const uint64_t missing = open + steal->missing_ns;
    const uint64_t grew =
        machine_ns > steal->machine_ns ? machine_ns - steal->machine_ns : 0;
    const uint64_t most = steal->left_ns + grew;
    const uint64_t taken = missing < most ? missing : most;
    steal->stolen_ns += taken;
    steal->n_idle = taken > 0 ? 0 : steal->n_idle + 1;
    /* the sum has a resolution of one tick; time stolen from other threads is
     * not kept for this one */
    steal->left_ns = most - taken < tick ? most - taken : tick;
    steal->open_ns = missing - taken;
    steal->missing_ns = 0;
    steal->machine_ns = machine_ns;
    steal->read_at_ns = now_ns;
}

uint64_t vly_steal_look(vly_steal *steal, uint64_t missing_ns)
{
    static const char path[] = "/proc/stat";
    const uint64_t now = vly_clock_ns();
    if (steal->read_at_ns == 0) {
        steal->read_at_ns = now;
        steal->machine_ns = vly_machine_stolen_ns(path);
        steal->left_ns = tick_ns();
        /* nothing stolen since the machine began: its processors are its own */
        steal->counts =
            steal->machine_ns > 0 && steal->machine_ns != UINT64_MAX;
        return 0;
    }
    if (!steal->counts)
        return 0;
    steal->missing_ns += missing_ns;
    const bool much = steal->missing_ns + steal->open_ns >= much_ns;
    const bool soon = much && steal->n_idle < IDLE_READS;
    if (!soon && now - steal->read_at_ns < often_ns)
        return steal->stolen_ns;
    const uint64_t machine_ns = vly_machine_stolen_ns(path);
    if (machine_ns != UINT64_MAX)
        vly_steal_take(steal, now, machine_ns);
    return steal->stolen_ns;
}
