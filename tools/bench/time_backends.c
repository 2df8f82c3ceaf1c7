/* SPDX-License-Identifier: Apache-2.0
 * time_backends GENOME [PATH=VALUE...] [+PATH=BEFORE:AFTER]
 *     -- REFERENCE BACKEND...
 * Ways to run one network, side by side: compiled once, then run from burst 0
 * on every backend named. Each must have the digests of the reference at the
 * end, so that every burst that was timed is checked, and the reference those
 * of the CPU backend for its first bursts. One row a backend: microseconds a
 * burst, the median and the lowest and highest of blocks, what delivery and
 * update took by the backend's own account, how it compares with the reference,
 * the seconds until the net had run its first bursts, and the plan that it
 * chose.
 * +PATH=BEFORE:AFTER is a change of the running net (stimulus.kick.rate_hz and
 * its value in the genome): it is timed and checked as the genome has it, then
 * again after the change, without a second connectome or net. There are two
 * rows a backend.
 *
 * Exit codes: 0, 1 digests differ, 2 the call, else as the command's.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <volley/volley.h>

enum {
    WARM = 64,
    WARM_CHANGED = 16, /* the CPU backend runs them too */
    BLOCKS = 9,
    LEAST_BURSTS = 256,
    OVERRIDES = 16,
    PHASES = 2
};
#define BLOCK_US 5e3 /* of the reference, at least */
#define MOST_BURSTS 4096.0

/* The genome as it is, or after the change. */
typedef struct timing {
    uint64_t late; /* digest after all */
    uint64_t state;
    double us[BLOCKS]; /* a burst */
    double delivery_us;
    double dynamics_us;
} timing;

typedef struct result {
    uint64_t early; /* digest after the first bursts of all phases */
    double ready_s; /* from nothing to WARM bursts */
    timing phases[PHASES];
    char plan[256]; /* up to the first semicolon */
} result;

/* What all backends run. */
typedef struct comparison {
    const vly_connectome *connectome;
    vly_registry *registry;
    const char *path; /* of the change; NULL: none */
    double before;    /* its value in the genome */
    double after;
    uint32_t n_bursts[PHASES]; /* of a block; 0: by the time of the reference */
} comparison;

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

/* Blocks of *n_bursts; 0: chosen by the time of the reference. */
static vly_status time_phase(vly_net *net, uint32_t *n_bursts, uint32_t warm,
                             timing *made, vly_error *error)
{
    vly_stats before = {.struct_size = sizeof before};
    vly_stats after = {.struct_size = sizeof after};
    double start = now_us();
    vly_status status = vly_net_run(net, warm, error);
    double wanted = BLOCK_US * warm / (now_us() - start);
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
    made->late = vly_net_digest(net);
    qsort(made->us, BLOCKS, sizeof made->us[0], compare);
    return vly_net_state_digest(net, &made->state, error);
}

/* The first bursts: as the genome has it, then changed and changed back. */
static vly_status run_first(const comparison *job, vly_net *net,
                            vly_error *error)
{
    vly_status status = vly_net_run(net, WARM, error);
    if (!job->path || status != VLY_OK)
        return status;
    status = vly_net_set(net, job->path, job->after, error);
    if (status == VLY_OK)
        status = vly_net_run(net, WARM_CHANGED, error);
    return status == VLY_OK ? vly_net_set(net, job->path, job->before, error)
                            : status;
}

static vly_status time_net(comparison *job, vly_net *net, result *made,
                           vly_error *error)
{
    vly_stats stats = {.struct_size = sizeof stats};
    vly_status status =
        time_phase(net, &job->n_bursts[0], WARM, &made->phases[0], error);
    if (status == VLY_OK && job->path)
        status = vly_net_set(net, job->path, job->after, error);
    if (status == VLY_OK && job->path)
        status = time_phase(net, &job->n_bursts[1], WARM_CHANGED,
                            &made->phases[1], error);
    if (status == VLY_OK)
        status = vly_net_stats(net, &stats, error);
    memcpy(made->plan, stats.plan, sizeof made->plan);
    made->plan[strcspn(made->plan, ";")] = 0;
    return status;
}

/* is_timed: otherwise only its first bursts */
static vly_status run_backend(comparison *job, const char *backend,
                              int is_timed, result *made, vly_error *error)
{
    vly_net *net = NULL;
    const double begin = now_us();
    vly_status status =
        vly_net_create(job->connectome, job->registry, backend, 0, &net, error);
    if (status == VLY_OK)
        status = run_first(job, net, error);
    if (status == VLY_OK)
        made->early = vly_net_digest(net);
    made->ready_s = (now_us() - begin) * 1e-6;
    if (status == VLY_OK && is_timed)
        status = time_net(job, net, made, error);
    vly_net_destroy(net);
    return status;
}

static void print_row(const comparison *job, const char *backend,
                      const result *made, const result *reference, int same)
{
    for (int i = 0; i < (job->path ? PHASES : 1); i++) {
        const timing *t = &made->phases[i];
        char name[120];
        snprintf(name, sizeof name, "%s%s", backend, i == 1 ? " changed" : "");
        printf("%-56s %8.2f %8.2f %8.2f %8.1f %8.1f %7.3f  %-7s %7.1f  %s\n",
               name, t->us[BLOCKS / 2], t->us[0], t->us[BLOCKS - 1],
               t->delivery_us, t->dynamics_us,
               t->us[BLOCKS / 2] / reference->phases[i].us[BLOCKS / 2],
               same ? "same" : "DIFFERS", made->ready_s, made->plan);
    }
    (void)fflush(stdout);
}

static int is_same(const result *made, const result *reference,
                   const result *cpu)
{
    int same = made->early == cpu->early;
    for (int i = 0; i < PHASES; i++)
        same &= made->phases[i].late == reference->phases[i].late &&
                made->phases[i].state == reference->phases[i].state;
    return same;
}

/* Rows of all backends; 1 if one differs. A backend that cannot run the network
 * is left out with its reason, unless it is the reference. */
static int run_all(comparison *job, char **backends, int n_backends)
{
    result cpu = {0};
    result reference = {0};
    int differs = 0;
    vly_error error = {.struct_size = sizeof error};
    vly_status status = run_backend(job, "cpu", 0, &cpu, &error);
    printf("first bursts on cpu: %.1f s\n", cpu.ready_s);
    printf("%-56s %8s %8s %8s %8s %8s %7s  %-7s %7s  %s\n", "backend", "us",
           "lowest", "highest", "deliver", "update", "ratio", "digest",
           "ready s", "plan");
    (void)fflush(stdout);
    for (int i = 0; i < n_backends && status == VLY_OK; i++) {
        result made = {0};
        vly_status made_status =
            run_backend(job, backends[i], 1, &made, &error);
        if (made_status != VLY_OK) {
            printf("%-56s %s\n", backends[i], error.message);
            (void)fflush(stdout);
            status = i == 0 ? made_status : VLY_OK;
            continue;
        }
        if (i == 0)
            reference = made;
        int same = is_same(&made, &reference, &cpu);
        differs |= !same;
        print_row(job, backends[i], &made, &reference, same);
    }
    if (status != VLY_OK)
        fprintf(stderr, "time_backends: %s\n", error.message);
    return status != VLY_OK ? vly_status_exit_code(status) : differs;
}

/* PATH=BEFORE:AFTER; 0: it is wrong */
static int read_change(char *text, comparison *job)
{
    char *value = strchr(text, '=');
    char *end = NULL;
    if (!value || job->path)
        return 0;
    *value = 0;
    job->path = text;
    job->before = strtod(value + 1, &end);
    if (end == value + 1 || *end != ':')
        return 0;
    value = end + 1;
    job->after = strtod(value, &end);
    return end != value && *end == 0;
}

/* Arguments before "--"; the index of "--", 0 if one is wrong. */
static int read_arguments(int argc, char **argv, vly_override *overrides,
                          uint32_t *n, comparison *job)
{
    int i = 2;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        char *value = strchr(argv[i], '=');
        if (argv[i][0] == '+') {
            if (!read_change(argv[i] + 1, job))
                return 0;
            continue;
        }
        if (!value || *n == OVERRIDES)
            return 0;
        *value = 0;
        overrides[(*n)++] = (vly_override){argv[i], value + 1};
    }
    return i + 1 < argc ? i : 0;
}

int main(int argc, char **argv)
{
    vly_override overrides[OVERRIDES];
    vly_error error = {.struct_size = sizeof error};
    vly_genome *genome = NULL;
    vly_connectome *connectome = NULL;
    comparison job = {.path = NULL};
    uint32_t n = 0;
    int at = argc > 2 ? read_arguments(argc, argv, overrides, &n, &job) : 0;
    if (at == 0) {
        fprintf(stderr, "usage: time_backends GENOME [PATH=VALUE...] "
                        "[+PATH=BEFORE:AFTER] -- REFERENCE BACKEND...\n");
        return 2;
    }
    double begin = now_us();
    vly_status status = vly_genome_load(argv[1], overrides, n, &genome, &error);
    if (status == VLY_OK)
        status = vly_connectome_build(genome, 0, &connectome, &error);
    if (status == VLY_OK)
        status = vly_registry_create(&job.registry, &error);
    int code = vly_status_exit_code(status);
    job.connectome = connectome;
    if (status == VLY_OK) {
        printf("%s: compiled in %.1f s; %d blocks\n", argv[1],
               (now_us() - begin) * 1e-6, BLOCKS);
        (void)fflush(stdout);
        code = run_all(&job, argv + at + 1, argc - at - 1);
    } else {
        fprintf(stderr, "time_backends: %s\n", error.message);
    }
    vly_registry_destroy(job.registry);
    vly_connectome_destroy(connectome);
    vly_genome_destroy(genome);
    return code;
}
