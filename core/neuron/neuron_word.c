/* SPDX-License-Identifier: Apache-2.0
 * Words, blanks and comments of a model's text, and names that it may use.
 */
#include "neuron/neuron_tree.h"

#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

void vly_text_skip(vly_text *text)
{
    do {
        while (is_blank(*text->at) || (text->open && *text->at == '\n'))
            text->at++;
        if (*text->at == '#')
            while (*text->at && *text->at != '\n')
                text->at++;
    } while (text->open && *text->at == '\n');
}

void vly_text_skip_lines(vly_text *text)
{
    for (;;) {
        vly_text_skip(text);
        if (*text->at != '\n' && *text->at != ';')
            return;
        text->at++;
    }
}

size_t vly_text_word(const vly_text *text)
{
    size_t n = 0;
    if (vly_is_letter(text->at[0]) || text->at[0] == '_')
        while (vly_is_word(text->at[n]))
            n++;
    return n;
}

const vly_named *vly_names_find(const vly_names *names, const char *name,
                                size_t n)
{
    for (uint32_t i = 0; i < names->n; i++)
        if (strlen(names->items[i].name) == n &&
            memcmp(name, names->items[i].name, n) == 0)
            return &names->items[i];
    return NULL;
}
