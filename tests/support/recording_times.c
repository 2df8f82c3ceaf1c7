/* SPDX-License-Identifier: Apache-2.0
 * recording_times FILE.h5: the spikes of a SONATA recording as text, a line
 * each: time in ms, population, node. Exit code 0: it could be read.
 */
#include <stdio.h>

#include <volley/record.h>

#include "base/error.h"

static const char *population;
static char kept[200];

static int want_all(void *context, const char *name)
{
    (void)context;
    (void)name;
    return 1;
}

static vly_status begin(void *context, const char *name, vly_error *error)
{
    (void)context;
    (void)error;
    snprintf(kept, sizeof kept, "%s", name);
    population = kept;
    return VLY_OK;
}

static vly_status take(void *context, uint64_t first, uint32_t n,
                       const double *times_ms, const uint64_t *nodes,
                       vly_error *error)
{
    (void)context;
    (void)first;
    (void)error;
    for (uint32_t i = 0; i < n; i++)
        printf("%.17g %s %llu\n", times_ms[i], population,
               (unsigned long long)nodes[i]);
    return VLY_OK;
}

int main(int argc, char **argv)
{
    const vly_sonata_want want = {.struct_size = sizeof want,
                                  .population = want_all};
    const vly_sonata_take to = {
        .struct_size = sizeof to, .population = begin, .spikes = take};
    vly_error error = VLY_ERROR_INIT;
    if (argc != 2)
        return 2;
    if (vly_sonata_read_spikes(argv[1], &want, &to, &error) == VLY_OK)
        return 0;
    fprintf(stderr, "%s\n", error.message);
    return 1;
}
