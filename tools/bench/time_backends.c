/* SPDX-License-Identifier: Apache-2.0
 * time_backends GENOME [PATH=VALUE...] -- REFERENCE BACKEND...
 * Ways to run one network, side by side: compiled once, then run from burst 0
 * on every backend named. Each must have the digests of the reference at the
 * end, so that every burst that was timed is checked, and the reference those
 * of the CPU backend for its first bursts. One row a backend: microseconds a
 * burst, the median and the lowest and highest of blocks, what delivery and
 * update took by the backend's own account, how it compares with the reference,
 * and the plan that it chose.
 *
 * Exit codes: 0, 1 digests differ, 2 the call, else as the command's.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <volley/volley.h>

enum { WARM = 64, BLOCKS = 9, LEAST_BURSTS = 256, OVERRIDES = 16 };
#define BLOCK_US 5e3 /* of the reference, at least */
#define MOST_BURSTS 4096.0

typedef struct result {
    uint64_t early; /* digest after WARM bursts */
    uint64_t late;  /* after all */
    uint64_t state;
    double us[BLOCKS]; /* a burst */
    double delivery_us;
    double dynamics_us;
    char plan[256]; /* up to the first semicolon */
} result;

static double now_us(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec * 1e6 + (double)at.tv_nsec * 1e-3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* *n_bursts: bursts of a block; 0: chosen by the time of the reference. */
static vly_status time_net(vly_net *net, uint32_t *n_bursts, result *made,
                           vly_error *error)
{
    vly_stats before = {.struct_size = sizeof before};
    vly_stats after = {.struct_size = sizeof after};
    double start = now_us();
    vly_status status = vly_net_run(net, WARM, error);
    double wanted = BLOCK_US * WARM / (now_us() - start);
    wanted = wanted < MOST_BURSTS ? wanted : MOST_BURSTS;
    if (*n_bursts == 0)
        *n_bursts =
            wanted > LEAST_BURSTS ? (uint32_t)wanted : (uint32_t)LEAST_BURSTS;
    const uint32_t n = *n_bursts;
    if (status == VLY_OK)
        status = vly_net_stats(net, &before, error);
    for (int i = 0; i < BLOCKS && status == VLY_OK; i++) {
        double begin = now_us();
        status = vly_net_run(net, n, error);
        made->us[i] = (now_us() - begin) / n;
    }
    if (status == VLY_OK)
        status = vly_net_stats(net, &after, error);
    if (status != VLY_OK)
        return status;
    const double bursts = 1e3 * BLOCKS * (double)n;
    made->delivery_us =
        (double)(after.delivery_ns - before.delivery_ns) / bursts;
    made->dynamics_us =
        (double)(after.dynamics_ns - before.dynamics_ns) / bursts;
    memcpy(made->plan, after.plan, sizeof made->plan);
    made->plan[strcspn(made->plan, ";")] = 0;
    made->late = vly_net_digest(net);
    qsort(made->us, BLOCKS, sizeof made->us[0], compare);
    return vly_net_state_digest(net, &made->state, error);
}

static vly_status run_backend(const vly_connectome *connectome,
                              vly_registry *registry, const char *backend,
                              uint32_t *n_bursts, result *made,
                              vly_error *error)
{
    vly_net *net = NULL;
    vly_status status =
        vly_net_create(connectome, registry, backend, 0, &net, error);
    if (status == VLY_OK)
        status = vly_net_run(net, WARM, error);
    if (status == VLY_OK)
        made->early = vly_net_digest(net);
    if (status == VLY_OK && n_bursts != NULL)
        status = time_net(net, n_bursts, made, error);
    vly_net_destroy(net);
    return status;
}

static void print_row(const char *backend, const result *made,
                      const result *reference, int same)
{
    printf("%-56s %8.2f %8.2f %8.2f %8.1f %8.1f %7.3f  %-7s  %s\n", backend,
           made->us[BLOCKS / 2], made->us[0], made->us[BLOCKS - 1],
           made->delivery_us, made->dynamics_us,
           made->us[BLOCKS / 2] / reference->us[BLOCKS / 2],
           same ? "same" : "DIFFERS", made->plan);
    (void)fflush(stdout);
}

/* Rows of all backends; 1 if one differs. A backend that cannot run the network
 * is left out with its reason, unless it is the reference. */
static int run_all(const vly_connectome *connectome, vly_registry *registry,
                   char **backends, int n_backends)
{
    result cpu = {0};
    result reference = {0};
    uint32_t n = 0;
    int differs = 0;
    vly_error error = {.struct_size = sizeof error};
    vly_status status =
        run_backend(connectome, registry, "cpu", NULL, &cpu, &error);
    printf("%-56s %8s %8s %8s %8s %8s %7s  %-7s  %s\n", "backend", "us",
           "lowest", "highest", "deliver", "update", "ratio", "digest", "plan");
    for (int i = 0; i < n_backends && status == VLY_OK; i++) {
        result made = {0};
        vly_status made_status =
            run_backend(connectome, registry, backends[i], &n, &made, &error);
        if (made_status != VLY_OK) {
            printf("%-56s %s\n", backends[i], error.message);
            status = i == 0 ? made_status : VLY_OK;
            continue;
        }
        if (i == 0)
            reference = made;
        int same = made.early == cpu.early && made.late == reference.late &&
                   made.state == reference.state;
        differs |= !same;
        print_row(backends[i], &made, &reference, same);
    }
    if (status != VLY_OK)
        fprintf(stderr, "time_backends: %s\n", error.message);
    return status != VLY_OK ? vly_status_exit_code(status) : differs;
}

/* Arguments before "--" into overrides; how many arguments, 0 if wrong. */
static int read_overrides(int argc, char **argv, vly_override *overrides)
{
    int i = 2;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        char *value = strchr(argv[i], '=');
        if (value == NULL || i - 2 == OVERRIDES)
            return 0;
        *value = 0;
        overrides[i - 2] = (vly_override){argv[i], value + 1};
    }
    return i + 1 < argc ? i : 0;
}

int main(int argc, char **argv)
{
    vly_override overrides[OVERRIDES];
    vly_error error = {.struct_size = sizeof error};
    vly_genome *genome = NULL;
    vly_connectome *connectome = NULL;
    vly_registry *registry = NULL;
    int n = argc > 2 ? read_overrides(argc, argv, overrides) : 0;
    if (n == 0) {
        fprintf(stderr, "usage: time_backends GENOME [PATH=VALUE...] -- "
                        "REFERENCE BACKEND...\n");
        return 2;
    }
    double begin = now_us();
    vly_status status =
        vly_genome_load(argv[1], overrides, (uint32_t)(n - 2), &genome, &error);
    if (status == VLY_OK)
        status = vly_connectome_build(genome, 0, &connectome, &error);
    if (status == VLY_OK)
        status = vly_registry_create(&registry, &error);
    int code = vly_status_exit_code(status);
    if (status == VLY_OK) {
        printf("%s: compiled in %.1f s; %d blocks\n", argv[1],
               (now_us() - begin) * 1e-6, BLOCKS);
        code = run_all(connectome, registry, argv + n + 1, argc - n - 1);
    } else {
        fprintf(stderr, "time_backends: %s\n", error.message);
    }
    vly_registry_destroy(registry);
    vly_connectome_destroy(connectome);
    vly_genome_destroy(genome);
    return code;
}
