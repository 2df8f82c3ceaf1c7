/* SPDX-License-Identifier: Apache-2.0
 * The tuning cache. A file is a line with its format, then one line an entry:
 * checksum, key, blob in hexadecimal. So a damaged line loses one entry, and
 * people can read it.
 *
 * Writers hold a lock (flock on FILE.lock, which the system releases when its
 * holder dies), read the file, write FILE.tmp, fsync it and rename it over
 * FILE. A reader needs no lock.
 */
#include "tune_cache.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char head[] = "volley-tune 1\n";

enum {
    HEAD_BYTES = sizeof head - 1,
    CHECKSUM_DIGITS = 16,
    /* of a file: beyond it the oldest entries are dropped */
    FILE_BYTES = 1 << 20,
    LINE_BYTES =
        CHECKSUM_DIGITS + 3 * VLY_TUNE_KEY_BYTES + 2 * VLY_TUNE_BLOB_BYTES + 4,
    LOCK_TRIES = 400,
    LOCK_PAUSE_NS = 5 * 1000 * 1000,
};

/* ---- small things ------------------------------------------------------- */

static void say(const vly_tune_cache *cache, int32_t level, const char *format,
                ...) __attribute__((format(printf, 3, 4)));

static void say(const vly_tune_cache *cache, int32_t level, const char *format,
                ...)
{
    char text[1400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    cache->host->log(cache->host->context, level, text);
}

/* A file that cannot be repaired (on a read-only disk) would cause a warning at
 * each lookup. A repeated message about a file is logged at level debug. The
 * table has checksums of messages from any thread, 0 for a free entry. If it is
 * full, every message is a warning. */
enum { SAID = 64 };
static _Atomic uint64_t said_before[SAID];

static int32_t level_of_warning(const vly_tune_cache *cache, const char *why)
{
    const uint64_t sum = vly_tune_checksum(
        vly_tune_checksum(0, cache->path, strlen(cache->path)), why,
        strlen(why));
    for (int i = 0; i < SAID; i++) {
        uint64_t found = 0;
        if (atomic_compare_exchange_strong(&said_before[i], &found, sum))
            return VLY_LOG_WARN;
        if (found == sum)
            return VLY_LOG_DEBUG;
    }
    return VLY_LOG_WARN;
}

static void *take(const vly_tune_cache *cache, uint64_t bytes)
{
    return cache->host->alloc(cache->host->context, bytes, 64);
}

static void give(const vly_tune_cache *cache, void *memory)
{
    cache->host->free(cache->host->context, memory);
}

/* FNV-1a: every step is a bijection of the sum, so that one changed byte always
 * changes the result. */
uint64_t vly_tune_checksum(uint64_t before, const void *data, size_t bytes)
{
    const unsigned char *text = data;
    uint64_t sum = 0xcbf29ce484222325u ^ before;
    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ text[i]) * 0x100000001b3u;
    return sum;
}

/* ---- where --------------------------------------------------------------- */

/* 0 if the folder is unknown */
static bool default_folder(char *folder, size_t bytes)
{
    const char *base = getenv("XDG_CACHE_HOME");
    int length = -1;
    if (base && base[0] == '/') /* relative paths must be ignored
                                 * (XDG) */
        length = snprintf(folder, bytes, "%s/volley", base);
    else if ((base = getenv("HOME")) && base[0] == '/')
        length = snprintf(folder, bytes, "%s/.cache/volley", base);
    return length > 0 && (size_t)length < bytes;
}

void vly_tune_init(vly_tune_cache *cache, const vly_host *host,
                   const char *option, const char *name)
{
    cache->host = host;
    cache->path[0] = '\0';
    char folder[512], file[256];
    if (option && strcmp(option, "off") == 0)
        return;
    if (!option || option[0] == '\0') {
        if (!default_folder(folder, sizeof folder)) {
            say(cache, VLY_LOG_INFO,
                "no tuning cache: neither XDG_CACHE_HOME nor HOME is an "
                "absolute path of less than 490 bytes");
            return;
        }
    } else if (strlen(option) < sizeof folder) {
        strcpy(folder, option);
    } else {
        say(cache, VLY_LOG_WARN,
            "no tuning cache: the path of its folder is longer than 511 "
            "bytes");
        return;
    }
    snprintf(file, sizeof file, "%s", name);
    for (char *at = file; *at != '\0'; at++)
        if (!isalnum((unsigned char)*at) && *at != '.' && *at != '-')
            *at = '_';
    snprintf(cache->path, sizeof cache->path, "%s/%s.tune", folder, file);
}

bool vly_tune_make_folders(const vly_tune_cache *cache)
{
    char path[sizeof cache->path];
    strcpy(path, cache->path);
    for (char *at = path + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST) {
            say(cache, VLY_LOG_INFO, "%s: no tuning cache: %s", path,
                strerror(errno));
            return false;
        }
        *at = '/';
    }
    return true;
}

/* ---- entries as text ------------------------------------------------------
 */

/* The key without blanks and control characters; its bytes, 0: too long. */
static size_t key_write(const char *key, char *text)
{
    size_t length = strlen(key), at = 0;
    if (length == 0 || length >= VLY_TUNE_KEY_BYTES)
        return 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)key[i];
        if (c > 0x20 && c < 0x7f && c != '%')
            text[at++] = (char)c;
        else
            at += (size_t)snprintf(text + at, 4, "%%%02x", c);
    }
    text[at] = '\0';
    return at;
}

/* One line with its end; its bytes, 0: the entry is too large. */
static size_t line_write(const char *key, const void *blob, uint32_t bytes,
                         char line[LINE_BYTES])
{
    if (bytes == 0 || bytes > VLY_TUNE_BLOB_BYTES)
        return 0;
    char *text = line + CHECKSUM_DIGITS + 1;
    size_t length = key_write(key, text);
    if (length == 0)
        return 0;
    text[length++] = ' ';
    for (uint32_t i = 0; i < bytes; i++, length += 2)
        snprintf(text + length, 3, "%02x", ((const unsigned char *)blob)[i]);
    char sum[CHECKSUM_DIGITS + 1];
    snprintf(sum, sizeof sum, "%016llx",
             (unsigned long long)vly_tune_checksum(0, text, length));
    memcpy(line, sum, CHECKSUM_DIGITS);
    line[CHECKSUM_DIGITS] = ' ';
    text[length++] = '\n';
    return CHECKSUM_DIGITS + 1 + length;
}

/* Is the line (without its end) unchanged since it was written? */
static bool line_is_whole(const char *line, size_t bytes)
{
    char sum[CHECKSUM_DIGITS + 1];
    if (bytes < CHECKSUM_DIGITS + 4 || line[CHECKSUM_DIGITS] != ' ')
        return false;
    const char *text = line + CHECKSUM_DIGITS + 1;
    size_t length = bytes - CHECKSUM_DIGITS - 1;
    snprintf(sum, sizeof sum, "%016llx",
             (unsigned long long)vly_tune_checksum(0, text, length));
    return memcmp(line, sum, CHECKSUM_DIGITS) == 0;
}

/* Does a whole line have the key, in the form of key_write? */
static bool line_has_key(const char *line, size_t bytes, const char *key,
                         size_t length)
{
    const size_t from = CHECKSUM_DIGITS + 1;
    return bytes > from + length && line[from + length] == ' ' &&
           memcmp(line + from, key, length) == 0;
}

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}

/* The blob of a whole line; returns its bytes, 0: it does not fit or is not
 * hexadecimal. */
static uint32_t line_blob(const char *line, size_t bytes, size_t key_length,
                          void *blob, uint32_t capacity)
{
    const char *hex = line + CHECKSUM_DIGITS + 1 + key_length + 1;
    size_t digits = (size_t)(line + bytes - hex);
    unsigned char found[VLY_TUNE_BLOB_BYTES];
    if (digits % 2 != 0 || digits / 2 > sizeof found ||
        digits / 2 > (size_t)capacity)
        return 0;
    for (size_t i = 0; i < digits / 2; i++) {
        int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);
        if (high < 0 || low < 0)
            return 0;
        found[i] = (unsigned char)(high << 4 | low);
    }
    memcpy(blob, found, digits / 2);
    return (uint32_t)(digits / 2);
}

/* ---- reading ---------------------------------------------------------------
 */

/* Reads the whole file into memory that the caller frees; *bytes: its size.
 * NULL: no file, not one of ours, or it could not be read (*failed). */
static char *file_read(const vly_tune_cache *cache, size_t *bytes, bool *failed)
{
    int file = open(cache->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        *failed = errno != ENOENT;
        if (*failed)
            say(cache, VLY_LOG_INFO, "%s: the tuning cache is not read: %s",
                cache->path, strerror(errno));
        return NULL;
    }
    /* twice the size that a writer makes: larger files have another origin */
    const size_t most = 2 * FILE_BYTES;
    struct stat info;
    char *text = NULL;
    const char *why = NULL;
    size_t n = 0;
    if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode) ||
        (uint64_t)info.st_size > most)
        why = "it is no file that Volley wrote";
    else if (!(text = take(cache, (uint64_t)info.st_size + 1)))
        why = "out of memory", *failed = true;
    ssize_t got = 1;
    while (!why && got > 0 && n < (size_t)info.st_size) {
        got = read(file, text + n, (size_t)info.st_size - n);
        n += got > 0 ? (size_t)got : 0;
        if (got < 0)
            why = strerror(errno), *failed = true;
    }
    (void)close(file);
    if (!why && (n < HEAD_BYTES || memcmp(text, head, HEAD_BYTES) != 0))
        why = "it does not begin as one";
    if (why) {
        say(cache, level_of_warning(cache, why),
            "%s: the tuning cache is ignored: %s", cache->path, why);
        give(cache, text);
        return NULL;
    }
    *bytes = n;
    return text;
}

/* The next line from *at on that is whole: its first byte, and *length without
 * its end; NULL: no more. *n_damaged counts damaged lines. */
static const char *next_line(const char *text, size_t bytes, size_t *at,
                             size_t *length, uint32_t *n_damaged)
{
    while (*at < bytes) {
        const char *line = text + *at;
        const char *end = memchr(line, '\n', bytes - *at);
        *length = end ? (size_t)(end - line) : bytes - *at;
        *at += *length + 1;
        /* a last line without its end was cut */
        if (end && line_is_whole(line, *length))
            return line;
        ++*n_damaged;
    }
    return NULL;
}

static void say_damaged(const vly_tune_cache *cache, uint32_t n_damaged)
{
    char why[16];
    snprintf(why, sizeof why, "%u", n_damaged);
    if (n_damaged > 0)
        say(cache, level_of_warning(cache, why),
            "%s: %u damaged entries of the tuning cache are ignored",
            cache->path, n_damaged);
}

uint32_t vly_tune_get(const vly_tune_cache *cache, const char *key, void *blob,
                      uint32_t capacity)
{
    char escaped[3 * VLY_TUNE_KEY_BYTES];
    size_t key_length = key_write(key, escaped);
    size_t bytes = 0, at = HEAD_BYTES, length = 0;
    if (cache->path[0] == '\0' || key_length == 0)
        return 0;
    bool failed = false;
    char *text = file_read(cache, &bytes, &failed);
    if (!text)
        return 0;
    uint32_t found = 0, n_damaged = 0;
    const char *line = NULL;
    while ((line = next_line(text, bytes, &at, &length, &n_damaged)))
        if (line_has_key(line, length, escaped, key_length))
            found = line_blob(line, length, key_length, blob, capacity);
    say_damaged(cache, n_damaged);
    give(cache, text);
    return found;
}

/* ---- writing ---------------------------------------------------------------
 */

/* A file that is locked, or -1. */
static int lock_take(const vly_tune_cache *cache)
{
    char path[sizeof cache->path + 8];
    snprintf(path, sizeof path, "%s.lock", cache->path);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) {
        say(cache, VLY_LOG_INFO, "%s: the tuning cache is not written: %s",
            path, strerror(errno));
        return -1;
    }
    /* not for ever: the process with the lock may be stopped */
    const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(file, LOCK_EX | LOCK_NB) == 0)
            return file;
        if (errno != EWOULDBLOCK && errno != EINTR)
            break;
        (void)nanosleep(&pause, NULL);
    }
    say(cache, VLY_LOG_INFO,
        "%s: the tuning cache is not written: another process holds the lock",
        path);
    (void)close(file);
    return -1;
}

/* New contents of the file: whole entries with other keys, then the new line.
 * NULL: not read, or memory ran out. */
static char *merge(const vly_tune_cache *cache, const char *key,
                   const char *line, size_t line_bytes, size_t *bytes)
{
    char escaped[3 * VLY_TUNE_KEY_BYTES];
    size_t key_length = key_write(key, escaped);
    size_t old_bytes = 0, at = HEAD_BYTES, length = 0, skip = 0;
    bool failed = false;
    char *old = file_read(cache, &old_bytes, &failed);
    if (failed) /* keeps entries of other processes */
        return NULL;
    uint32_t n_damaged = 0;
    if (HEAD_BYTES + old_bytes + line_bytes > FILE_BYTES)
        skip = HEAD_BYTES + old_bytes + line_bytes - FILE_BYTES;
    char *text = take(cache, HEAD_BYTES + old_bytes + line_bytes);
    if (!text) {
        say(cache, VLY_LOG_INFO,
            "%s: the tuning cache is not written: out of memory", cache->path);
        give(cache, old);
        return NULL;
    }
    memcpy(text, head, HEAD_BYTES);
    *bytes = HEAD_BYTES;
    const char *kept = NULL;
    while (old && (kept = next_line(old, old_bytes, &at, &length, &n_damaged)))
        if (!line_has_key(kept, length, escaped, key_length) &&
            (size_t)(kept - old) >= skip) {
            memcpy(text + *bytes, kept, length + 1);
            *bytes += length + 1;
        }
    say_damaged(cache, n_damaged);
    give(cache, old);
    memcpy(text + *bytes, line, line_bytes);
    *bytes += line_bytes;
    return text;
}

/* fsync of the folder: the new name is on disk too. Not every file system
 * supports it; at worst an entry is lost. */
static void folder_sync(const vly_tune_cache *cache)
{
    char path[sizeof cache->path];
    strcpy(path, cache->path);
    *strrchr(path, '/') = '\0';
    int folder = open(path[0] != '\0' ? path : "/", O_RDONLY | O_CLOEXEC);
    if (folder >= 0) {
        (void)fsync(folder);
        (void)close(folder);
    }
}

/* Writes the file completely or not at all. [under the lock] */
static bool file_replace(const vly_tune_cache *cache, const char *text,
                         size_t bytes)
{
    char path[sizeof cache->path + 8];
    snprintf(path, sizeof path, "%s.tmp", cache->path);
    int file =
        open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    int failed = file < 0 ? errno : 0;
    size_t n = 0;
    while (failed == 0 && n < bytes) {
        /* a bound that compilers see, which warn of sizes without one */
        const size_t most = FILE_BYTES, left = bytes - n;
        ssize_t put = write(file, text + n, left < most ? left : most);
        if (put > 0)
            n += (size_t)put;
        else if (put == 0 || errno != EINTR)
            failed = put == 0 ? ENOSPC : errno;
    }
    if (failed == 0 && fsync(file) != 0)
        failed = errno;
    if (file >= 0 && close(file) != 0 && failed == 0)
        failed = errno;
    if (failed == 0 && rename(path, cache->path) != 0)
        failed = errno;
    if (failed == 0) {
        folder_sync(cache);
        return true;
    }
    if (file >= 0)
        (void)unlink(path);
    say(cache, VLY_LOG_WARN, "%s: the tuning cache is not written: %s", path,
        strerror(failed));
    return false;
}

bool vly_tune_put(const vly_tune_cache *cache, const char *key,
                  const void *blob, uint32_t bytes)
{
    char line[LINE_BYTES];
    if (cache->path[0] == '\0')
        return false;
    size_t line_bytes = line_write(key, blob, bytes, line);
    if (line_bytes == 0) {
        say(cache, VLY_LOG_WARN,
            "%s: an entry of %u bytes with a key of %zu is not for the tuning "
            "cache",
            cache->path, bytes, strlen(key));
        return false;
    }
    if (!vly_tune_make_folders(cache))
        return false;
    int lock = lock_take(cache);
    if (lock < 0)
        return false;
    size_t text_bytes = 0;
    char *text = merge(cache, key, line, line_bytes, &text_bytes);
    bool written = text && file_replace(cache, text, text_bytes);
    give(cache, text);
    (void)close(lock); /* and with it the lock */
    return written;
}
