/* SPDX-License-Identifier: Apache-2.0
 * Options that follow a device, as in cuda:0,plan=global,launch=7.
 */
#include "plugins/support/support_options.h"

#include <string.h>

#define MAX_DIGITS 6u

static bool read_number(const char *text, size_t n, uint32_t *value)
{
    uint32_t number = 0;
    if (n == 0 || n > MAX_DIGITS)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        number = number * 10 + (uint32_t)(text[i] - '0');
    }
    *value = number;
    return true;
}

static bool read_word(const char *text, size_t n, const char *const *words,
                      uint32_t *value)
{
    for (uint32_t i = 0; words[i]; i++)
        if (strlen(words[i]) == n && strncmp(words[i], text, n) == 0) {
            *value = i;
            return true;
        }
    return false;
}

static bool read_option(const vly_support_option *option, const char *text,
                        size_t n)
{
    size_t length = strlen(option->name);
    uint32_t value;
    if (n <= length || strncmp(text, option->name, length) != 0 ||
        text[length] != '=')
        return false;
    text += length + 1;
    n -= length + 1;
    if (option->words)
        return read_word(text, n, option->words, option->value);
    if (!read_number(text, n, &value) ||
        (option->most != 0 && value > option->most) ||
        (option->is_power && !vly_support_is_power(value)))
        return false;
    *option->value = value;
    return true;
}

bool vly_support_is_power(uint32_t n)
{
    return (n & (n - 1)) == 0;
}

const char *vly_support_read_options(const char *text,
                                     const vly_support_option *options,
                                     size_t n_options, size_t *length)
{
    while (text && text[0] != 0) {
        size_t n = strcspn(text, ",");
        size_t i = 0;
        while (i < n_options && n > 0 && !read_option(&options[i], text, n))
            i++;
        if (i == n_options) {
            *length = n;
            return text;
        }
        text += text[n] == ',' ? n + 1 : n;
    }
    return NULL;
}
