/* SPDX-License-Identifier: Apache-2.0
 * FEAGI's ids, and names that a genome may have: see feagi_name.h.
 */
#include "tools/feagi/feagi_name.h"

#include <volley/host.h>

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

enum { ID_BYTES = 8, BASE64_BYTES = 12, LEGACY_BYTES = 6 };

static int base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* 11 digits and "=": 66 bits, of which the last two are 0. */
static bool decode(const char *id, char bytes[9])
{
    uint32_t bits = 0;
    uint32_t n_bits = 0;
    uint32_t n = 0;
    if (strlen(id) != BASE64_BYTES || id[BASE64_BYTES - 1] != '=')
        return false;
    for (int i = 0; i < BASE64_BYTES - 1; i++) {
        int digit = base64_digit(id[i]);
        if (digit < 0)
            return false;
        bits = (bits << 6 | (uint32_t)digit) & 0xFFFFu;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            bytes[n++] = (char)(unsigned char)(bits >> n_bits & 0xFFu);
        }
    }
    bytes[ID_BYTES] = 0;
    return n == ID_BYTES && (bits & 3u) == 0;
}

bool feagi_canonical(const char *id, char bytes[9])
{
    static const char *const core[][2] = {{"_power", "___power"},
                                          {"___pwr", "___power"},
                                          {"_death", "___death"},
                                          {"_fatigue", "___fatig"}};
    for (size_t i = 0; i < sizeof(core) / sizeof(core[0]); i++) {
        if (strcmp(id, core[i][0]) == 0) {
            memcpy(bytes, core[i][1], ID_BYTES + 1);
            return true;
        }
    }
    if (decode(id, bytes))
        return true;
    size_t n = strlen(id);
    if (n != LEGACY_BYTES && n != ID_BYTES)
        return false;
    memcpy(bytes, "________", ID_BYTES + 1);
    memcpy(bytes, id, n);
    return true;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_later(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-';
}

static char *make_name(const char *bytes, size_t n_bytes, bool hexadecimal)
{
    char name[VLY_NAME_MAX + 4] = "";
    size_t n = 0;
    if (n_bytes == 0 || !is_letter(bytes[0]))
        name[n++] = '_';
    for (size_t i = 0; i < n_bytes && n < VLY_NAME_MAX; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (is_later(bytes[i]))
            name[n++] = bytes[i];
        else if (hexadecimal && (c < ' ' || c > 126))
            n += (size_t)snprintf(name + n, 3, "%02x", c);
        else
            name[n++] = '_';
    }
    name[n < VLY_NAME_MAX ? n : VLY_NAME_MAX] = 0;
    return vly_strdup(name);
}

char *feagi_name_of(const char *id)
{
    char bytes[9];
    if (decode(id, bytes))
        return make_name(bytes, ID_BYTES, true);
    return make_name(id, strlen(id), true);
}

char *feagi_name_plain(const char *text)
{
    return make_name(text, strlen(text), false);
}

char *feagi_name_unique(char *name,
                        bool (*taken)(const void *context, const char *name),
                        const void *context)
{
    char *made = name;
    for (uint32_t k = 2; made && taken(context, made); k++) {
        if (made != name)
            vly_free(made);
        made = vly_format("%.50s-%u", name, k);
    }
    if (made != name)
        vly_free(name);
    return made;
}
