/* SPDX-License-Identifier: Apache-2.0
 * The processor as a device.
 */
#include "plugins/support/support_processor.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* "model name" of the first processor; "processor" if the system has no such
 * line */
static void read_name(char *name, size_t size)
{
    char line[256];
    snprintf(name, size, "processor");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file)
        return;
    while (fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        colon += strspn(colon, ": \t");
        snprintf(name, size, "%.*s", (int)strcspn(colon, "\n"), colon);
        break;
    }
    fclose(file);
}

vly_status vly_support_processor_info(vly_device_info *info, const char *kind,
                                      vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_support_check_info(info, error));
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    info->index = 0;
    read_name(info->name, sizeof info->name);
    snprintf(info->capability, sizeof info->capability, "%ld core%s%s%s",
             cores > 0 ? cores : 1, cores > 1 ? "s" : "", kind ? ", " : "",
             kind ? kind : "");
    info->memory_bytes = vly_support_total();
out:
    return status;
}
