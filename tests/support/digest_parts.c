/* SPDX-License-Identifier: Apache-2.0
 * The digest of a connectome in parts: cut, shuffled, added.
 */
#include "digest_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connectome/connectome_digest.h"
#include "second_simulator.h"

enum { PARTS_MOST = 9 };

static uint32_t below(uint64_t *state, uint32_t n)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(vly_mix64(*state) % n);
}

static bool same(vly_hash found, vly_hash wanted, const char *name,
                 const char *what, uint32_t number)
{
    char text[2][33];
    if (memcmp(&found, &wanted, sizeof found) == 0)
        return true;
    vly_hash_print(found, text[0]);
    vly_hash_print(wanted, text[1]);
    fprintf(stderr, "%s: digest of %s %u is %s, wanted %s\n", name, what,
            (unsigned)number, text[0], text[1]);
    return false;
}

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Parts may be empty: two cuts may be at one place. */
static vly_hash in_parts(const vly_connectome *connectome, uint32_t n_threads,
                         uint64_t *state)
{
    uint32_t n_neurons = connectome->desc.n_neurons;
    uint32_t n_parts = 1 + below(state, PARTS_MOST);
    uint32_t cuts[PARTS_MOST + 1] = {0};
    uint32_t order[PARTS_MOST];
    vly_hash sum = {{0, 0}};
    for (uint32_t i = 1; i < n_parts; i++)
        cuts[i] = below(state, n_neurons + 1);
    qsort(cuts, n_parts, sizeof *cuts, ascending);
    cuts[n_parts] = n_neurons;
    for (uint32_t i = 0; i < n_parts; i++) {
        uint32_t k = below(state, i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    for (uint32_t i = 0; i < n_parts; i++)
        sum = vly_digest_add(
            sum, vly_connectome_digest_part(connectome, cuts[order[i]],
                                            cuts[order[i] + 1], n_threads));
    return sum;
}

bool digest_parts_check(const vly_connectome *connectome, const char *path,
                        uint64_t seed, const char *name)
{
    static const uint32_t threads[] = {1, 2, 3, 8};
    vly_hash wanted = vly_connectome_digest(connectome, 1);
    second_file file;
    vly_hash second = {{0, 0}};
    bool good = second_file_read(path, &file) == 0;
    if (good)
        second_digest(&file, second.lane);
    second_file_free(&file);
    good = good && same(second, wanted, name, "the second reader", 0);
    for (int i = 0; i < 4; i++) {
        good = same(vly_connectome_digest_part(
                        connectome, 0, connectome->desc.n_neurons, threads[i]),
                    wanted, name, "threads", threads[i]) &&
               good;
        good = same(in_parts(connectome, threads[i], &seed), wanted, name,
                    "parts, and threads", threads[i]) &&
               good;
    }
    return good;
}
