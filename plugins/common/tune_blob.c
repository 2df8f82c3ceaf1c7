/* SPDX-License-Identifier: Apache-2.0
 * Large blobs beside the tuning cache. A file is "volley-blob 1", a line of
 * checksum, bytes and key, then the bytes.
 *
 * A writer locks FILE.tmp (flock, which the system releases when its holder
 * dies), fills it, fsyncs it and renames it over FILE. One that was killed
 * leaves a FILE.tmp that the next one takes over.
 */
#include "tune_blob.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char head[] = "volley-blob 1\n";

enum {
    HEAD_BYTES = sizeof head - 1,
    SUM_DIGITS = 16,
    LINE_BYTES = VLY_TUNE_KEY_BYTES + 64,
};

static void say(const vly_tune_cache *cache, int32_t level, const char *path,
                const char *why)
{
    char text[1300];
    snprintf(text, sizeof text, "%s: %s", path, why);
    cache->host->log(cache->host->context, level, text);
}

/* FOLDER/NAME.tune becomes FOLDER/NAME.plans/1a3; 0: the path is too long */
static bool find_path(const vly_tune_cache *cache, const char *key, char *path,
                      size_t size)
{
    const size_t length = strlen(cache->path);
    const size_t end = sizeof ".tune" - 1;
    const size_t key_length = strlen(key);
    if (length <= end || key_length == 0 || key_length >= VLY_TUNE_KEY_BYTES)
        return false;
    for (size_t i = 0; i < key_length; i++)
        if (key[i] < 0x20 || key[i] > 0x7e)
            return false;
    const uint64_t sum = vly_tune_checksum(0, key, key_length);
    const int n = snprintf(path, size, "%.*s.plans/%03x", (int)(length - end),
                           cache->path, (unsigned)(sum % VLY_TUNE_PLACES));
    return n > 0 && (size_t)n + sizeof ".tmp" <= size;
}

/* "BYTES KEY\n", the part of the second line that is summed */
static int write_line(char line[LINE_BYTES], const char *key, uint32_t bytes)
{
    return snprintf(line, LINE_BYTES, " %u %s\n", bytes, key);
}

static uint64_t sum_of(const char *line, int length, const void *blob,
                       uint32_t bytes)
{
    const uint64_t first = vly_tune_checksum(0, line, (size_t)length);
    return vly_tune_checksum(first, blob, bytes);
}

/* ---- reading ----------------------------------------------------------- */

/* The whole file, in the host's memory; NULL: no file. */
static char *read_file(const vly_tune_cache *cache, const char *path,
                       size_t *bytes)
{
    struct stat info;
    char *text = NULL;
    size_t n = 0;
    ssize_t got = 1;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            say(cache, VLY_LOG_INFO, path, strerror(errno));
        return NULL;
    }
    if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) &&
        (uint64_t)info.st_size <=
            VLY_TUNE_LARGE_BYTES + HEAD_BYTES + LINE_BYTES)
        text = cache->host->alloc(cache->host->context,
                                  (uint64_t)info.st_size + 1, 64);
    while (text && got > 0 && n < (size_t)info.st_size) {
        got = read(file, text + n, (size_t)info.st_size - n);
        n += got > 0 ? (size_t)got : 0;
    }
    (void)close(file);
    if (!text)
        say(cache, VLY_LOG_INFO, path,
            "not read: no file that Volley wrote, or no memory");
    *bytes = n;
    return text;
}

/* Start of the blob in the text; 0: another key, or incomplete. *foreign: not a
 * complete file of this format. */
static size_t find_blob(const char *text, size_t size, const char *key,
                        uint32_t *bytes, bool *foreign)
{
    char line[LINE_BYTES];
    char sum[SUM_DIGITS + 1];
    const size_t begin = HEAD_BYTES + SUM_DIGITS;
    *foreign = true;
    if (size < begin + 3 || memcmp(text, head, HEAD_BYTES) != 0)
        return 0;
    const char *end = memchr(text + begin, '\n', size - begin);
    if (!end)
        return 0;
    const size_t at = (size_t)(end - text) + 1;
    const size_t left = size - at;
    if (left == 0 || left > VLY_TUNE_LARGE_BYTES)
        return 0;
    const int length = (int)(at - begin);
    snprintf(sum, sizeof sum, "%016llx",
             (unsigned long long)sum_of(text + begin, length, text + at,
                                        (uint32_t)left));
    if (memcmp(text + HEAD_BYTES, sum, SUM_DIGITS) != 0)
        return 0;
    *foreign = false;
    const int wanted = write_line(line, key, (uint32_t)left);
    if (wanted != length || memcmp(line, text + begin, (size_t)length) != 0)
        return 0;
    *bytes = (uint32_t)left;
    return at;
}

void *vly_tune_blob_get(const vly_tune_cache *cache, const char *key,
                        uint32_t *bytes)
{
    char path[sizeof cache->path + 32];
    size_t size = 0;
    bool foreign = false;
    if (!find_path(cache, key, path, sizeof path))
        return NULL;
    char *text = read_file(cache, path, &size);
    if (!text)
        return NULL;
    const size_t at = find_blob(text, size, key, bytes, &foreign);
    if (at == 0) {
        if (foreign)
            say(cache, VLY_LOG_WARN, path, "ignored: damaged, or not Volley's");
        cache->host->free(cache->host->context, text);
        return NULL;
    }
    memmove(text, text + at, *bytes);
    return text;
}

/* ---- writing ----------------------------------------------------------- */

/* The file to fill, locked and empty; -1: none, with errno; errno is 0 if
 * another writer has it. */
static int take_temporary(const char *path)
{
    struct stat here, there;
    const int file = open(
        path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (file < 0)
        return -1;
    int failed = 0;
    if (flock(file, LOCK_EX | LOCK_NB) != 0)
        failed = errno == EWOULDBLOCK ? 0 : errno;
    else if (fstat(file, &here) != 0)
        failed = errno;
    /* another writer renamed it between open and flock: it is not a temporary
     * file any more */
    else if (stat(path, &there) == 0 && S_ISREG(here.st_mode) &&
             here.st_ino == there.st_ino && here.st_dev == there.st_dev) {
        if (ftruncate(file, 0) == 0)
            return file;
        failed = errno;
    }
    (void)close(file);
    errno = failed;
    return -1;
}

static int put_all(int file, const void *from, size_t bytes)
{
    const char *at = from;
    while (bytes > 0) {
        /* a bound that compilers see, which warn of sizes without one */
        const size_t most = VLY_TUNE_LARGE_BYTES;
        const ssize_t put = write(file, at, bytes < most ? bytes : most);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return put == 0 ? ENOSPC : errno;
        at += put;
        bytes -= (size_t)put;
    }
    return 0;
}

static int make_folder(const char *path)
{
    char folder[1200];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    *slash = '\0';
    return mkdir(folder, 0700) == 0 || errno == EEXIST ? 0 : errno;
}

bool vly_tune_blob_put(const vly_tune_cache *cache, const char *key,
                       const void *blob, uint32_t bytes)
{
    char path[sizeof cache->path + 32];
    char temporary[sizeof path + 8];
    char line[LINE_BYTES];
    char begin[HEAD_BYTES + SUM_DIGITS + 1];
    if (cache->path[0] == '\0')
        return false;
    if (bytes == 0 || bytes > VLY_TUNE_LARGE_BYTES ||
        !find_path(cache, key, path, sizeof path)) {
        say(cache, VLY_LOG_WARN, cache->path,
            "a blob is not kept: its size or its key is not for a file");
        return false;
    }
    if (!vly_tune_make_folders(cache))
        return false;
    const int length = write_line(line, key, bytes);
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    snprintf(begin, sizeof begin, "%s%016llx", head,
             (unsigned long long)sum_of(line, length, blob, bytes));
    int failed = make_folder(path);
    const int file = failed == 0 ? take_temporary(temporary) : -1;
    if (file < 0) {
        failed = failed != 0 ? failed : errno;
        if (failed != 0)
            say(cache, VLY_LOG_INFO, temporary, strerror(failed));
        return false;
    }
    failed = put_all(file, begin, HEAD_BYTES + SUM_DIGITS);
    if (failed == 0)
        failed = put_all(file, line, (size_t)length);
    if (failed == 0)
        failed = put_all(file, blob, bytes);
    if (failed == 0 && fsync(file) != 0)
        failed = errno;
    if (failed == 0 && rename(temporary, path) != 0)
        failed = errno;
    if (failed != 0) {
        (void)unlink(temporary);
        say(cache, VLY_LOG_WARN, temporary, strerror(failed));
    }
    (void)close(file); /* and with it the lock */
    return failed == 0;
}
