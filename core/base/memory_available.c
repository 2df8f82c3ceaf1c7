/* SPDX-License-Identifier: Apache-2.0
 * Memory that the process may still allocate: the minimum of the machine's free
 * memory, the rest of its control group and of the groups above it, and its own
 * limits (ulimit -v, -d). Linux only; on other systems all of them are unknown.
 */
#define _DEFAULT_SOURCE /* RLIMIT_AS */
#include "base/memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* The number after `key` in a file of lines "key number ...". */
static bool read_field(const char *path, const char *key, uint64_t *value)
{
    const size_t n = strlen(key);
    char line[256];
    bool found = false;
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    while (!found && fgets(line, sizeof line, file)) {
        char *end = line;
        if (strncmp(line, key, n) != 0)
            continue;
        *value = strtoull(line + n, &end, 10);
        found = end != line + n; /* "max" is not a number */
    }
    fclose(file);
    return found;
}

/* 0 means unknown to callers, so 1 byte is returned if nothing is left. */
static uint64_t lesser(uint64_t available, uint64_t limit, uint64_t used)
{
    const uint64_t left = limit > used ? limit - used : 1;
    return available == 0 || left < available ? left : available;
}

/* ---- control groups ---------------------------------------------------- */

/* The group counts cached files as used memory, but the kernel frees them on
 * demand. */
static uint64_t group_left(const char *folder, const char *most,
                           const char *current, uint64_t available)
{
    char path[1200];
    uint64_t limit = 0;
    uint64_t used = 0;
    uint64_t cached = 0;
    snprintf(path, sizeof path, "%s/%s", folder, most);
    if (!read_field(path, "", &limit))
        return available;
    snprintf(path, sizeof path, "%s/%s", folder, current);
    if (!read_field(path, "", &used))
        return available;
    snprintf(path, sizeof path, "%s/memory.stat", folder);
    if (read_field(path, "inactive_file ", &cached))
        used -= cached < used ? cached : used;
    return lesser(available, limit, used);
}

uint64_t vly_memory_group_left(const char *root, const char *own,
                               uint64_t available)
{
    char folder[1100];
    int n = snprintf(folder, sizeof folder, "%s%s", root, own);
    if (n < 0 || (size_t)n >= sizeof folder)
        return available;
    for (size_t length = strlen(root);;) {
        available =
            group_left(folder, "memory.max", "memory.current", available);
        char *slash = strrchr(folder + length, '/');
        if (!slash)
            return available;
        *slash = '\0';
    }
}

/* "0::/user.slice/..." of version 2; within a container often "/" */
static void own_group(char *path, size_t n)
{
    char line[1000];
    path[0] = '\0';
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file)
        return;
    while (fgets(line, sizeof line, file))
        if (strncmp(line, "0::/", 4) == 0) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(path, n, "%s", line + 3);
        }
    fclose(file);
}

static uint64_t groups_left(uint64_t available)
{
    char own[1000];
    own_group(own, sizeof own);
    available = vly_memory_group_left("/sys/fs/cgroup", own, available);
    return group_left("/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                      "memory.usage_in_bytes", available); /* version 1 */
}

/* ---- limits of the process --------------------------------------------- */

static uint64_t limits_left(uint64_t available)
{
    static const struct {
        int which;
        const char *used;
    } limits[] = {{RLIMIT_AS, "VmSize:"}, {RLIMIT_DATA, "VmData:"}};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct rlimit limit;
        uint64_t kib = 0;
        if (getrlimit(limits[i].which, &limit) == 0 &&
            limit.rlim_cur != RLIM_INFINITY &&
            read_field("/proc/self/status", limits[i].used, &kib))
            available = lesser(available, (uint64_t)limit.rlim_cur, kib * 1024);
    }
    return available;
}

uint64_t vly_memory_available(void)
{
    uint64_t kib = 0;
    uint64_t available = 0;
    if (read_field("/proc/meminfo", "MemAvailable:", &kib))
        available = kib * 1024;
    return limits_left(groups_left(available));
}
