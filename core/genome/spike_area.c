/* SPDX-License-Identifier: Apache-2.0
 * The areas that a file of spikes names: see spike_area.h.
 */
#include "genome/spike_area.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

void vly_spike_areas_deinit(vly_spike_areas *areas)
{
    for (uint32_t i = 0; i < areas->n; i++)
        vly_free(areas->names[i]);
    areas->n = 0;
}

vly_status vly_spike_areas_add(vly_spike_areas *areas, const char *name,
                               vly_error *error)
{
    uint32_t i = areas->n;
    while (i > 0 && strcmp(areas->names[i - 1], name) != 0)
        i--;
    if (i > 0 || areas->n == VLY_SPIKE_AREAS_MAX)
        return VLY_OK;
    char *copy = vly_strdup(name);
    if (!copy)
        return vly_fail_nomem(error, strlen(name) + 1, "a name");
    areas->names[areas->n++] = copy;
    return VLY_OK;
}

const char *vly_spike_areas_text(const vly_spike_areas *areas,
                                 char out[VLY_SPIKE_AREAS_TEXT])
{
    static const char others[] = " and others";
    const size_t room = VLY_SPIKE_AREAS_TEXT - sizeof others;
    size_t n = 0;
    uint32_t i = 0;
    out[0] = 0;
    for (; i < areas->n && i + 1 < VLY_SPIKE_AREAS_MAX; i++) {
        const size_t more = strlen(areas->names[i]) + 2;
        if (n + more > room)
            break;
        n += (size_t)snprintf(out + n, VLY_SPIKE_AREAS_TEXT - n, "%s%s",
                              i ? ", " : "", areas->names[i]);
    }
    if (i < areas->n)
        strcpy(out + n, i ? others : "others");
    return out;
}

bool vly_spike_population_is(const char *area, const char *population)
{
    for (; *area && *population; area++, population++)
        if (*area != *population && !(*area == '/' && *population == '.'))
            return false;
    return *area == *population;
}
