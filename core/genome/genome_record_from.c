/* SPDX-License-Identifier: Apache-2.0
 * The key from of a [[record]]: areas, each once. Parts of one area are one
 * list of neurons, since files and reports know an area by its name.
 */
#include "genome/genome_record.h"

/* Adds the part of one end to another end of the same area, in the order of
 * their neurons. */
static vly_status add_part(vly_reader *reader, const vly_toml_node *node,
                           vly_end *end, const vly_end *more)
{
    const vly_part *part = &more->parts[0];
    const char *name = reader->genome->areas[part->area].name;
    vly_part *parts = NULL;
    uint32_t at = 0;
    vly_status status;
    VLY_TRY(vly_reader_alloc(reader, end->n_parts + (size_t)1, sizeof *parts,
                             &parts));
    while (at < end->n_parts && end->parts[at].first <= part->first)
        at++;
    for (uint32_t p = 0; p < end->n_parts; p++)
        parts[p < at ? p : p + 1] = end->parts[p];
    parts[at] = *part;
    for (uint32_t p = 0; p < end->n_parts; p++)
        if (parts[p].first + parts[p].n > parts[p + 1].first)
            return vly_reader_fail(
                reader, node,
                "from names neuron %u of area %s twice, wanted each once",
                parts[p + 1].first, name);
    end->parts = parts;
    end->n_parts++;
    end->n_neurons += part->n;
out:
    return status;
}

vly_status vly_record_ends(vly_reader *reader, const vly_toml_node *node,
                           bool means, vly_end_list *list)
{
    vly_status status;
    uint32_t n = 0;
    VLY_TRY(vly_reader_ends(reader, node, "from", false, list));
    for (uint32_t i = 0; i < list->n; i++) {
        const uint32_t area = list->ends[i].parts[0].area;
        uint32_t k = 0;
        while (k < n && list->ends[k].parts[0].area != area)
            k++;
        if (k == n)
            list->ends[n++] = list->ends[i];
        else if (means)
            return vly_reader_fail(reader, node,
                                   "from names two parts of area %s, wanted "
                                   "one: a [[record]] for each mean",
                                   reader->genome->areas[area].name);
        else
            VLY_TRY(add_part(reader, node, &list->ends[k], &list->ends[i]));
    }
    list->n = n;
out:
    return status;
}
