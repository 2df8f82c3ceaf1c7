/* SPDX-License-Identifier: Apache-2.0
 * HDF5 fails, dies or lies while it writes: a sentence, a status, no file, and
 * nothing left behind. This program has functions of HDF5's own, which the
 * engine's calls find before the library's.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "volley_test.h"

#include <dlfcn.h>
#include <errno.h>
#include <hdf5.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "record/sonata_file.h"

static enum { GOOD, DIES, KILLED, CLOSES_BADLY, DROPS, CHANGES, CUTS } way;

static void *next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    assert_non_null(found);
    return found;
}

/* The real ones have prototypes in hdf5.h. */
herr_t H5Dwrite(hid_t set, hid_t type, hid_t memory, hid_t space, hid_t plan,
                const void *values)
{
    herr_t (*real)(hid_t, hid_t, hid_t, hid_t, hid_t, const void *);
    double changed[3];
    *(void **)&real = next("H5Dwrite");
    if (way == DIES || way == KILLED)
        raise(way == DIES ? SIGSEGV : SIGKILL);
    if (way == DROPS)
        return 0;
    if (way == CHANGES) {
        memcpy(changed, values, sizeof changed);
        changed[2] += 1;
        values = changed;
    }
    return real(set, type, memory, space, plan, values);
}

herr_t H5Dclose(hid_t set)
{
    herr_t (*real)(hid_t);
    *(void **)&real = next("H5Dclose");
    const herr_t done = real(set);
    return way == CLOSES_BADLY ? -1 : done;
}

herr_t H5Fclose(hid_t file)
{
    herr_t (*real)(hid_t);
    *(void **)&real = next("H5Fclose");
    const herr_t done = real(file);
    if (way == CUTS && truncate("x.tmp.link", 3000) != 0)
        return -1;
    return done;
}

static vly_status write_file(vly_error *error)
{
    static const double times[3] = {0.1, 0.2, 0.3};
    vly_sonata_file *file = NULL;
    vly_sonata_group group = {-1};
    vly_sonata_set set = {.id = -1};
    vly_status status = VLY_OK;
    VLY_TRY(vly_sonata_open("x.h5", "spikes", &file, error));
    if (way == CUTS) {
        char name[64];
        snprintf(name, sizeof name, "x.h5.%ld.tmp", (long)getpid());
        assert_int_equal(symlink(name, "x.tmp.link"), 0);
    }
    VLY_TRY(vly_sonata_population(file, "spikes", "V1/E", &group, error));
    VLY_TRY(vly_sonata_sorting(file, &group, error));
    VLY_TRY(vly_sonata_set_open(file, &group, "timestamps", VLY_SONATA_F64, 3,
                                &set, error));
    VLY_TRY(vly_sonata_units(file, &set, "ms", error));
    VLY_TRY(vly_sonata_append(file, &set, times, 3, error));
    VLY_TRY(vly_sonata_alias(file, &group, "timestamps", "again", error));
    VLY_TRY(vly_sonata_set_close(file, &set, error));
    VLY_TRY(vly_sonata_group_close(file, &group, error));
    status = vly_sonata_close(file, error);
    file = NULL;
out:
    vly_sonata_abandon(file);
    return status;
}

static void ends(int how, vly_status wanted, const char *message)
{
    char name[64];
    vly_error error = VLY_ERROR_INIT;
    const uint64_t before = vly_memory_live();
    way = how;
    const vly_status status = write_file(&error);
    way = GOOD;
    (void)unlink("x.tmp.link");
    if (status != wanted)
        fail_msg("way %d: status %d: %s", how, status, error.message);
    if (message != NULL)
        assert_string_equal(error.message, message);
    assert_true(vly_memory_live() == before);
    snprintf(name, sizeof name, "x.h5.%ld.tmp", (long)getpid());
    assert_int_not_equal(access(name, F_OK), 0);
    assert_int_equal(access("x.h5", F_OK) == 0, wanted == VLY_OK);
    (void)unlink("x.h5");
    errno = 0; /* no process is left */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void every_way(void **state)
{
    (void)state;
    ends(GOOD, VLY_OK, NULL);
    ends(DIES, VLY_E_NOMEM,
         "x.h5: cannot be written: out of memory: HDF5 crashed (signal 11)");
    ends(KILLED, VLY_E_NOMEM,
         "x.h5: cannot be written: out of memory: HDF5 was killed (signal 9)");
    ends(CLOSES_BADLY, VLY_E_NOMEM,
         "x.h5: cannot be written: out of memory: HDF5 gave no reason");
    ends(DROPS, VLY_E_IO,
         "x.h5: cannot be written: read back, /spikes/V1.E/timestamps is not "
         "what was written");
    ends(CHANGES, VLY_E_IO,
         "x.h5: cannot be written: read back, /spikes/V1.E/timestamps is not "
         "what was written");
    ends(CUTS, VLY_E_IO, NULL);
    ends(GOOD, VLY_OK, NULL);
}

/* Every allocation of the side that asks. */
static void no_memory(void **state)
{
    vly_error error = VLY_ERROR_INIT;
    uint64_t left = 0;
    uint64_t n_failed = 0;
    (void)state;
    for (uint64_t n = 1; left == 0; n++) {
        const uint64_t before = vly_memory_live();
        vly_memory_fail_at(n);
        const vly_status status = write_file(&error);
        left = vly_memory_fail_at(0);
        assert_int_equal(status, left == 0 ? VLY_E_NOMEM : VLY_OK);
        assert_true(vly_memory_live() == before);
        assert_int_equal(access("x.h5", F_OK) == 0, left != 0);
        n_failed += left == 0;
    }
    assert_true(n_failed > 10);
    (void)unlink("x.h5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_way),
                                       cmocka_unit_test(no_memory)};
    char folder[] = "/tmp/volley-sonata-XXXXXX";
    if (mkdtemp(folder) == NULL || chdir(folder) != 0)
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return chdir("/") != 0 || rmdir(folder) != 0 || failed ? 1 : 0;
}
