/* SPDX-License-Identifier: Apache-2.0
 * One rank of a job, for plugins whose ranks a launcher starts:
 *   exchange_ranks PLUGIN CASE [GATHERS [MOST_BYTES [TIMEOUT_MS [AT [RANK N
 *       NAME]]]]]
 * runs a case of tests/unit/exchange_cases.c and prints a line: what was
 * wrong, or the text of the error that was wanted. Exit code 0: all was well;
 * 1: not; 77: the plugin cannot be used here, with the reason. CASE speed
 * prints microseconds a gather, median and least of 201 rounds of GATHERS, in
 * turns with MPI_Allgather of the same size where that is what the plugin uses.
 */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <volley/volley.h>

#include "plugin/registry.h"
#include "unit/exchange_cases.h"

enum { N_ROUNDS = 201, SKIPPED = 77 };

static void report(const exchange_trial *trial, bool is_good)
{
    printf("rank %u of %u: %s: %s\n", trial->spec.rank, trial->spec.n_ranks,
           is_good ? "good" : "WRONG",
           is_good ? trial->error.message : trial->why);
    fflush(stdout);
}

static uint32_t number(int argc, char **argv, int i, uint32_t otherwise)
{
    return i < argc ? (uint32_t)strtoul(argv[i], NULL, 10) : otherwise;
}

static double now_us(void)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static int by_size(const void *a, const void *b)
{
    double x = 0;
    double y = 0;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* MPI_Allgather in the ABI that the plugin found, for comparison. */
typedef struct library {
    int (*with_pointers)(const void *, int, void *, void *, int, void *,
                         void *);
    int (*with_numbers)(const void *, int, int, void *, int, int, int);
    void *world;
    void *byte;
    char *room;
} library;

static bool find_library(library *found, const vly_exchange_info *info)
{
    void *address = dlsym(RTLD_DEFAULT, "MPI_Allgather");
    memset(found, 0, sizeof *found);
    if (!address)
        return false;
    found->room = malloc((size_t)info->n_ranks * 64);
    if (strstr(info->text, "ABI of MPICH")) {
        memcpy(&found->with_numbers, &address, sizeof address);
        return found->room != NULL;
    }
    memcpy(&found->with_pointers, &address, sizeof address);
    if (strstr(info->text, "ABI of Open MPI")) {
        found->world = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world");
        found->byte = dlsym(RTLD_DEFAULT, "ompi_mpi_byte");
    } else {
        found->world = (void *)(uintptr_t)0x101;
        found->byte = (void *)(uintptr_t)0x247;
    }
    return found->room != NULL;
}

static bool all_gather(const library *own, const char *mine)
{
    return (own->with_numbers
                ? own->with_numbers(mine, 64, 0x4c00010d, own->room, 64,
                                    0x4c00010d, 0x44000000)
                : own->with_pointers(mine, 64, own->byte, own->room, 64,
                                     own->byte, own->world)) == 0;
}

static void print(const char *what, const vly_exchange_info *info,
                  double rounds[N_ROUNDS])
{
    qsort(rounds, N_ROUNDS, sizeof rounds[0], by_size);
    if (info->rank == 0)
        printf("%s, %u ranks: %s of 64 bytes %.2f us, at best %.2f\n",
               info->text, info->n_ranks, what, rounds[N_ROUNDS / 2],
               rounds[0]);
}

static bool speed(exchange_trial *trial)
{
    vly_exchange_link *link = NULL;
    vly_exchange_info info = {.struct_size = sizeof info};
    const vly_piece *pieces = NULL;
    const char mine[64] = {0};
    double rounds[2][N_ROUNDS];
    library own;
    bool good =
        trial->exchange->open(&trial->spec, &link, &trial->error) == VLY_OK &&
        trial->exchange->info(link, &info, NULL) == VLY_OK;
    const bool has_own = good && find_library(&own, &info);
    for (int i = 0; good && i < N_ROUNDS; i++) {
        double start = now_us();
        for (uint32_t g = 0; good && g < trial->n_gathers; g++)
            good = trial->exchange->gather(link, g, mine, sizeof mine, &pieces,
                                           &trial->error) == VLY_OK;
        rounds[0][i] = (now_us() - start) / trial->n_gathers;
        start = now_us();
        for (uint32_t g = 0; has_own && good && g < trial->n_gathers; g++)
            good = all_gather(&own, mine);
        rounds[1][i] = (now_us() - start) / trial->n_gathers;
    }
    if (good)
        print("a gather", &info, rounds[0]);
    else
        printf("speed: %s\n", trial->error.message);
    if (good && has_own)
        print("MPI_Allgather", &info, rounds[1]);
    trial->exchange->close(link);
    return good;
}

static int run(const vly_exchange *exchange, int argc, char **argv)
{
    exchange_trial trial = {
        .exchange = exchange,
        .spec = {.struct_size = sizeof(vly_exchange_spec),
                 .rank = number(argc, argv, 7, VLY_EXCHANGE_OF_LAUNCHER),
                 .n_ranks = number(argc, argv, 8, VLY_EXCHANGE_OF_LAUNCHER),
                 .timeout_ms = number(argc, argv, 5, 60000),
                 .name = argc > 9 ? argv[9] : NULL},
        .seed = 1,
        .n_gathers = number(argc, argv, 3, 40),
        .most_bytes = number(argc, argv, 4, 3000000),
        .at = number(argc, argv, 6, 5),
        .report = report,
        .error = {.struct_size = sizeof(vly_error)},
    };
    const exchange_case which =
        strcmp(argv[2], "speed") == 0 ? speed : exchange_case_of(argv[2]);
    if (!which) {
        fprintf(stderr, "there is no case %s\n", argv[2]);
        return 2;
    }
    return which(&trial) ? 0 : 1;
}

int main(int argc, char **argv)
{
    vly_error error = {.struct_size = sizeof error};
    vly_registry *registry = NULL;
    const vly_exchange *exchange = NULL;
    if (argc < 3) {
        fprintf(stderr, "usage: exchange_ranks PLUGIN CASE ...\n");
        return 2;
    }
    if (vly_registry_create(&registry, &error) != VLY_OK ||
        vly_registry_exchange(registry, argv[1], &exchange, &error) != VLY_OK) {
        printf("%s\n", error.message);
        return SKIPPED;
    }
    const int code = run(exchange, argc, argv);
    vly_registry_destroy(registry);
    return code;
}
