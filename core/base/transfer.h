/* SPDX-License-Identifier: Apache-2.0
 * read, pread, write and pwrite with a size that fits in ssize_t: one call
 * moves at most VLY_TRANSFER_BYTES, as the kernel itself stops at 2 GiB.
 * Callers go on until they have all. Compilers that fortify see the bound,
 * which they miss in most callers ("specified size exceeds maximum object
 * size").
 */
#ifndef VOLLEY_BASE_TRANSFER_H
#define VOLLEY_BASE_TRANSFER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { VLY_TRANSFER_BYTES = 1 << 30 };

/* All return what the calls of POSIX do: the bytes moved, 0 at the end of the
 * file, -1 with errno, EINTR among others. [any-thread] */
ssize_t vly_transfer_read(int file, void *to, size_t n);
/* From byte `at` on; does not move the file's own position. */
ssize_t vly_transfer_read_at(int file, void *to, size_t n, uint64_t at);
ssize_t vly_transfer_write(int file, const void *from, size_t n);
ssize_t vly_transfer_write_at(int file, const void *from, size_t n,
                              uint64_t at);

#endif
