/* SPDX-License-Identifier: Apache-2.0
 * Runs a fuzz target over every file of the folders given, as an ordinary
 * test with any compiler.
 */
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return 0;
    size_t size = 0;
    size_t capacity = 1 << 20;
    uint8_t *data = malloc(capacity);
    if (data)
        size = fread(data, 1, capacity, file);
    int readable = data && !ferror(file);
    fclose(file);
    if (readable) {
        fprintf(stderr, "%s\n", path); /* the last one is the culprit */
        LLVMFuzzerTestOneInput(data, size);
    }
    free(data);
    return readable;
}

int main(int argc, char **argv)
{
    int n = 0;
    for (int i = 1; i < argc; i++) {
        DIR *dir = opendir(argv[i]);
        if (!dir) {
            fprintf(stderr, "%s: no such folder\n", argv[i]);
            return 1;
        }
        for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
            char path[4096];
            snprintf(path, sizeof(path), "%s/%s", argv[i], entry->d_name);
            if (entry->d_name[0] != '.')
                n += replay_file(path);
        }
        closedir(dir);
    }
    fprintf(stderr, "%d files\n", n);
    return n > 0 ? 0 : 1;
}
