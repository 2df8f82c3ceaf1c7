/* SPDX-License-Identifier: Apache-2.0
 * Loaded before the C library (LD_PRELOAD): a machine of as many cores as
 * VOLLEY_TEST_CORES says, 32 without it. Tests may not know how many there are.
 */
#define _GNU_SOURCE /* the next sysconf, sets of cores */
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

static int test_cores(void)
{
    const char *text = getenv("VOLLEY_TEST_CORES");
    const int n = text != NULL ? atoi(text) : 0;
    return n > 0 && n <= 1024 ? n : 32;
}

int sched_getaffinity(pid_t thread, size_t bytes, cpu_set_t *set)
{
    (void)thread;
    memset(set, 0, bytes);
    for (size_t i = 0; i < (size_t)test_cores(); i++)
        CPU_SET_S(i, bytes, set);
    return 0;
}

int get_nprocs(void)
{
    return test_cores();
}

int get_nprocs_conf(void)
{
    return test_cores();
}

long sysconf(int name)
{
    long (*next)(int) = NULL;
    if (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF)
        return test_cores();
    /* ISO C has no cast from an object to a function */
    *(void **)&next = dlsym(RTLD_NEXT, "sysconf");
    return next != NULL ? next(name) : -1;
}
