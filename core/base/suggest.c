/* SPDX-License-Identifier: Apache-2.0
 * The nearest of a list of words: Damerau's distance in its restricted form
 * (doi:10.1145/363958.363994).
 */
#include "base/suggest.h"

#include <stdio.h>
#include <string.h>

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

uint32_t vly_suggest_distance(const char *a, const char *b)
{
    uint32_t rows[3][VLY_WORD_MAX + 1];
    uint32_t n_a = (uint32_t)strnlen(a, VLY_WORD_MAX);
    uint32_t n_b = (uint32_t)strnlen(b, VLY_WORD_MAX);
    for (uint32_t j = 0; j <= n_b; j++)
        rows[0][j] = j;
    for (uint32_t i = 1; i <= n_a; i++) {
        uint32_t *row = rows[i % 3];
        const uint32_t *up = rows[(i + 2) % 3];
        const uint32_t *up2 = rows[(i + 1) % 3];
        row[0] = i;
        for (uint32_t j = 1; j <= n_b; j++) {
            uint32_t differ = lower(a[i - 1]) != lower(b[j - 1]);
            row[j] = least(least(up[j], row[j - 1]) + 1, up[j - 1] + differ);
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]))
                row[j] = least(row[j], up2[j - 2] + 1);
        }
    }
    return rows[n_a % 3][n_b];
}

void vly_suggest_also(vly_suggest *suggest, const char *candidate)
{
    /* once: a map with several targets becomes several projections */
    for (uint32_t i = 0; i < least(suggest->n_offered, VLY_OFFERED_MAX); i++)
        if (strcmp(suggest->offered[i], candidate) == 0)
            return;
    if (suggest->n_offered < VLY_OFFERED_MAX)
        suggest->offered[suggest->n_offered] = candidate;
    suggest->n_offered++;
}

static void take(vly_suggest *suggest, const char *candidate, uint32_t distance)
{
    if (suggest->best && distance >= suggest->distance)
        return;
    suggest->best = candidate;
    suggest->distance = distance;
}

void vly_suggest_same(vly_suggest *suggest, const char *candidate)
{
    vly_suggest_also(suggest, candidate);
    if (*candidate)
        take(suggest, candidate, 0);
}

void vly_suggest_offer(vly_suggest *suggest, const char *word,
                       const char *candidate)
{
    uint32_t distance = vly_suggest_distance(word, candidate);
    vly_suggest_also(suggest, candidate);
    uint32_t length = (uint32_t)strlen(word);
    uint32_t limit = length < 4 ? 1 : length < 9 ? 2 : 3;
    /* tau_m for tau_m_ms, L4 for L4/E: a word with parts left out is near
     * enough */
    if (length > 1 && strncmp(word, candidate, length) == 0 &&
        (candidate[length] == '_' || candidate[length] == '/'))
        distance = least(distance, limit);
    if (distance <= limit && distance < (uint32_t)strlen(candidate))
        take(suggest, candidate, distance);
}

const char *vly_suggest_text(const vly_suggest *suggest, char *out,
                             uint32_t size)
{
    out[0] = 0;
    if (suggest->best)
        snprintf(out, size, ", did you mean %s?", suggest->best);
    return out;
}

const char *vly_suggest_choice(const vly_suggest *suggest, char *out,
                               uint32_t size)
{
    vly_suggest_text(suggest, out, size);
    if (*out || suggest->n_offered == 0 || suggest->n_offered > VLY_OFFERED_MAX)
        return out;
    size_t n = (size_t)snprintf(out, size, ", wanted %s",
                                suggest->n_offered > 1 ? "one of " : "");
    for (uint32_t i = 0; i < suggest->n_offered && n < size; i++) {
        const char *word = suggest->offered[i];
        size_t length = strlen(word);
        bool stem = length > 0 && word[length - 1] == '*';
        n += (size_t)snprintf(out + n, size - n, "%s%.*s%s", i ? ", " : "",
                              (int)(stem ? length - 1 : length), word,
                              stem ? "_<unit>" : "");
    }
    if (n >= size) /* a truncated list does not help */
        out[0] = 0;
    return out;
}
