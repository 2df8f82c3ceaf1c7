/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as the tuning cache of accelerators and as a file of a large blob:
 * as if it were not there, or an entry that fits. What is put is there, and the
 * file is whole again.
 */
#include "fuzz_support.h"

#include <sys/stat.h>

#include "tune_blob.h"
#include "tune_cache.h"
#include "tune_host.h"

static const char *const keys[] = {"gemm m=1", "k", "wkv 64", ""};

static void check_cache(const vly_tune_cache *cache, uint32_t room, bool put)
{
    unsigned char blob[VLY_TUNE_BLOB_BYTES];
    static const unsigned char wanted[] = {1, 2, 3, 0, 255};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        demand(vly_tune_get(cache, keys[i], blob, room) <= room,
               "more than there is room for");
    /* a put waits for the disk: not for every input */
    if (!put || !vly_tune_put(cache, keys[0], wanted, sizeof wanted))
        return;
    demand(vly_tune_get(cache, keys[0], blob, sizeof blob) == sizeof wanted &&
               memcmp(blob, wanted, sizeof wanted) == 0,
           "what was put is not there");
}

/* Nearly every change breaks a checksum: those of all lines put right. */
static void mend_lines(uint8_t *text, size_t size)
{
    enum { DIGITS = 16 };
    for (size_t at = 0; at < size;) {
        char digits[DIGITS + 1];
        uint8_t *line = text + at;
        const uint8_t *end = memchr(line, '\n', size - at);
        const size_t n = end != NULL ? (size_t)(end - line) : size - at;
        if (n > DIGITS && at > 0) {
            snprintf(digits, sizeof digits, "%016llx",
                     (unsigned long long)vly_tune_checksum(0, line + DIGITS + 1,
                                                           n - DIGITS - 1));
            memcpy(line, digits, DIGITS);
        }
        at += n + 1;
    }
}

/* The same of a blob: a head of 14 bytes, the sum, a line, the blob. */
static void mend_blob(uint8_t *text, size_t size)
{
    enum { HEAD = 14, DIGITS = 16 };
    char digits[DIGITS + 1];
    const size_t begin = HEAD + DIGITS;
    const uint8_t *end =
        size > begin ? memchr(text + begin, '\n', size - begin) : NULL;
    if (end == NULL)
        return;
    const size_t n = (size_t)(end - (text + begin)) + 1;
    const uint64_t line = vly_tune_checksum(0, text + begin, n);
    snprintf(digits, sizeof digits, "%016llx",
             (unsigned long long)vly_tune_checksum(line, text + begin + n,
                                                   size - begin - n));
    memcpy(text + HEAD, digits, DIGITS);
}

/* The file of a key's place has the bytes. */
static void check_blob(const vly_tune_cache *cache, const uint8_t *data,
                       size_t size)
{
    static char path[128];
    uint32_t n = 0;
    if (path[0] == '\0') { /* the path of a blob of this key */
        char command[300];
        demand(vly_tune_blob_put(cache, keys[1], "x", 1) == 1, "no blob");
        snprintf(command, sizeof command, "ls %s/t.plans/*", fuzz_folder);
        FILE *list = popen(command, "r");
        demand(list != NULL && fgets(path, sizeof path, list) != NULL,
               "no file of the blob");
        pclose(list);
        path[strcspn(path, "\n")] = '\0';
    }
    const int file = open(path, O_WRONLY | O_TRUNC);
    demand(file >= 0 && write(file, data, size) == (ssize_t)size, "no file");
    close(file);
    void *blob = vly_tune_blob_get(cache, keys[1], &n);
    demand(blob == NULL || n < size, "a blob longer than its file");
    if (blob != NULL)
        host.free(host.context, blob);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static vly_tune_cache cache;
    const int64_t blocks = n_blocks;
    if (fuzz_folder[0] == '\0') {
        fuzz_folder_make();
        vly_tune_init(&cache, &host, fuzz_folder, "t");
        demand(cache.path[0] != '\0', "no path");
    }
    const int file = open(cache.path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    demand(file >= 0 && write(file, data, size) == (ssize_t)size, "no file");
    close(file);
    check_cache(&cache, VLY_TUNE_BLOB_BYTES, false);
    uint8_t *mended = malloc(size + 1);
    demand(mended != NULL, "no memory");
    memcpy(mended, data, size);
    mend_lines(mended, size);
    const int again = open(cache.path, O_WRONLY | O_TRUNC);
    demand(again >= 0 && write(again, mended, size) == (ssize_t)size,
           "no file");
    close(again);
    memcpy(mended, data, size);
    check_cache(&cache, size > 0 ? 4u * data[size - 1] + 1 : 1,
                size > 0 && data[size - 1] == 16);
    check_blob(&cache, data, size);
    mend_blob(mended, size);
    check_blob(&cache, mended, size);
    free(mended);
    demand(n_blocks == blocks, "blocks of the host are left");
    return 0;
}
