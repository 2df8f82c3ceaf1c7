/* SPDX-License-Identifier: Apache-2.0
 * What the figures were measured on.
 */
#include "tools/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/thread.h"

static void read_cpu(char *text, size_t n)
{
    char line[512];
    snprintf(text, n, "unknown");
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (!file)
        return;
    while (fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(text, n, "%s", colon + 2);
        break;
    }
    fclose(file);
}

static void read_word(const char *path, char *text, size_t n)
{
    FILE *file = fopen(path, "re");
    text[0] = '\0';
    if (!file)
        return;
    if (!fgets(text, (int)n, file))
        text[0] = '\0';
    text[strcspn(text, " \n")] = '\0';
    fclose(file);
}

void bench_machine_read(bench_machine *machine)
{
    struct utsname name;
    char load[32];
    memset(machine, 0, sizeof *machine);
    read_cpu(machine->cpu, sizeof machine->cpu);
    machine->cores = vly_thread_cores();
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0)
        machine->memory_bytes = (uint64_t)pages * (uint64_t)page;
    if (uname(&name) == 0)
        snprintf(machine->kernel, sizeof machine->kernel, "%.15s %.40s",
                 name.sysname, name.release);
    read_word("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
              machine->governor, sizeof machine->governor);
    read_word("/proc/loadavg", load, sizeof load);
    machine->load = strtod(load, NULL);
}
