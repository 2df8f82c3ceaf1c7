/* SPDX-License-Identifier: Apache-2.0
 * Sizes that no ssize_t can tell, which the system's own calls refuse.
 */
/* MAP_ANONYMOUS and MAP_NORESERVE are not in POSIX */
#define _DEFAULT_SOURCE
#include "volley_test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/transfer.h"

static const char text[] = "0123456789";

static void a_read_ends_with_the_file(void **state)
{
    (void)state;
    char path[] = "/tmp/volley_transfer_XXXXXX";
    /* as long as a call may ask for: a kernel refuses one that would reach
     * beyond the addresses of a process, which begin above the stack */
    char *got = mmap(NULL, VLY_TRANSFER_BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(got != MAP_FAILED);
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(vly_transfer_write(file, text, 10), 10);
    assert_int_equal(vly_transfer_read_at(file, got, SIZE_MAX, 7), 3);
    assert_memory_equal(got, "789", 3);
    assert_int_equal(vly_transfer_read_at(file, got, 2, 1), 2);
    assert_memory_equal(got, "12", 2);
    assert_int_equal(vly_transfer_read_at(file, got, 2, 10), 0);
    assert_int_equal(lseek(file, 4, SEEK_SET), 4);
    assert_int_equal(vly_transfer_read(file, got, SIZE_MAX), 6);
    assert_memory_equal(got, "456789", 6);
    assert_int_equal(vly_transfer_read(file, got, SIZE_MAX), 0);
    assert_int_equal(close(file), 0);
    assert_int_equal(vly_transfer_read_at(file, got, 2, 0), -1);
    assert_int_equal(munmap(got, VLY_TRANSFER_BYTES), 0);
}

static void a_call_moves_a_part(void **state)
{
    (void)state;
    const int file = open("/dev/null", O_WRONLY); /* takes all, reads none */
    assert_true(file >= 0);
    /* addresses without memory, which are never read */
    void *bytes = mmap(NULL, VLY_TRANSFER_BYTES, PROT_READ,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(bytes != MAP_FAILED);
    assert_int_equal(vly_transfer_write(file, bytes, SIZE_MAX),
                     VLY_TRANSFER_BYTES);
    assert_int_equal(vly_transfer_write(file, bytes, 0), 0);
    assert_int_equal(munmap(bytes, VLY_TRANSFER_BYTES), 0);
    assert_int_equal(close(file), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_read_ends_with_the_file),
    cmocka_unit_test(a_call_moves_a_part),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
