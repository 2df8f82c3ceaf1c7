/* SPDX-License-Identifier: Apache-2.0
 * read, pread, write and pwrite, at most VLY_TRANSFER_BYTES a call.
 */
#include "base/transfer.h"

#include <unistd.h>

static size_t part_of(size_t n)
{
    return n < VLY_TRANSFER_BYTES ? n : VLY_TRANSFER_BYTES;
}

ssize_t vly_transfer_read(int file, void *to, size_t n)
{
    return read(file, to, part_of(n));
}

ssize_t vly_transfer_read_at(int file, void *to, size_t n, uint64_t at)
{
    return pread(file, to, part_of(n), (off_t)at);
}

ssize_t vly_transfer_write(int file, const void *from, size_t n)
{
    return write(file, from, part_of(n));
}

ssize_t vly_transfer_write_at(int file, const void *from, size_t n, uint64_t at)
{
    return pwrite(file, from, part_of(n), (off_t)at);
}
