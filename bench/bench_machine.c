/* SPDX-License-Identifier: Apache-2.0
 * What the figures were measured on.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/thread.h"

static void read_cpu(char *text, size_t n)
{
    char line[512];
    snprintf(text, n, "unknown");
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (file == NULL)
        return;
    while (fgets(line, sizeof line, file) != NULL) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL)
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
    if (file == NULL)
        return;
    if (fgets(text, (int)n, file) == NULL)
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

/* ---- memory ------------------------------------------------------------ */

static bool read_count(const char *path, uint64_t *value)
{
    char text[32];
    char *end = text;
    read_word(path, text, sizeof text); /* "max": no number */
    *value = strtoull(text, &end, 10);
    return end != text;
}

/* Files in the cache count as used, but are given back when asked for. */
static uint64_t read_cached(const char *path)
{
    char line[128];
    unsigned long long bytes = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "inactive_file %llu", &bytes) == 1)
            break;
    fclose(file);
    return bytes;
}

uint64_t bench_memory_available(void)
{
    static const char *const files[2][3] = {
        {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current",
         "/sys/fs/cgroup/memory.stat"},
        {"/sys/fs/cgroup/memory/memory.limit_in_bytes",
         "/sys/fs/cgroup/memory/memory.usage_in_bytes",
         "/sys/fs/cgroup/memory/memory.stat"}};
    uint64_t available = vly_memory_available();
    for (int i = 0; i < 2; i++) {
        uint64_t limit = 0;
        uint64_t used = 0;
        if (!read_count(files[i][0], &limit) || !read_count(files[i][1], &used))
            continue;
        uint64_t cached = read_cached(files[i][2]);
        used -= cached < used ? cached : used;
        uint64_t left = limit > used ? limit - used : 0;
        available = available == 0 || left < available ? left : available;
    }
    return available;
}
