/* SPDX-License-Identifier: Apache-2.0
 * A connectome that is saved and read back.
 */
#include "saved_connectome.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "connectome/connectome.h"

static bool complain(const char *path, const char *what)
{
    fprintf(stderr, "%s: %s\n", path, what);
    return false;
}

static bool files_same(const char *one, const char *other)
{
    static char bytes[2][1 << 16];
    FILE *files[2] = {fopen(one, "rb"), fopen(other, "rb")};
    bool same = files[0] && files[1];
    for (size_t n = 1; same && n > 0;) {
        n = fread(bytes[0], 1, sizeof bytes[0], files[0]);
        same = fread(bytes[1], 1, sizeof bytes[1], files[1]) == n &&
               memcmp(bytes[0], bytes[1], n) == 0;
    }
    for (int k = 0; k < 2; k++)
        if (files[k])
            same &= !ferror(files[k]) && fclose(files[k]) == 0;
    return same;
}

static bool read_back(const vly_connectome *connectome, const char *path,
                      int verify, vly_connectome **loaded)
{
    vly_error error = VLY_ERROR_INIT;
    if (vly_connectome_load(path, verify, loaded, &error))
        return complain(path, error.message);
    if (memcmp(&(*loaded)->hash, &connectome->hash, sizeof connectome->hash))
        return complain(path, "read back with another hash");
    return true;
}

bool saved_connectome_same(const vly_connectome *connectome, const char *path)
{
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *loaded = NULL;
    vly_connectome *mapped = NULL;
    char again[600];
    bool same = read_back(connectome, path, 1, &loaded) &&
                read_back(connectome, path, 0, &mapped);
    snprintf(again, sizeof again, "%.580s.again", path);
    if (same && vly_connectome_save(loaded, again, &error))
        same = complain(again, error.message);
    if (same && !files_same(path, again))
        same = complain(path, "saved again with other bytes");
    unlink(again);
    vly_connectome_destroy(loaded);
    vly_connectome_destroy(mapped);
    return same;
}
