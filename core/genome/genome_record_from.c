/* SPDX-License-Identifier: Apache-2.0
 * The key from of a [[record]]: areas, each once. Parts of one area are one
 * list of neurons, since files and reports know an area by its name.
 */
#include "genome/genome_record.h"

#include <stdlib.h>
#include <string.h>

/* Adds the part of one end to another end of the same area. Room doubles where
 * the number of parts is a power of two. */
static vly_status add_part(vly_reader *reader, vly_end *end,
                           const vly_end *more)
{
    vly_part *grown = NULL;
    vly_status status = VLY_OK;
    if ((end->n_parts & (end->n_parts - 1)) == 0) {
        VLY_TRY(vly_reader_alloc(reader, 2 * (size_t)end->n_parts,
                                 sizeof *grown, &grown));
        memcpy(grown, end->parts, end->n_parts * sizeof *grown);
        end->parts = grown;
    }
    end->parts[end->n_parts++] = more->parts[0];
    end->n_neurons += more->n_neurons;
out:
    return status;
}

static int compare_parts(const void *a, const void *b)
{
    const uint32_t x = ((const vly_part *)a)->first;
    const uint32_t y = ((const vly_part *)b)->first;
    return (x > y) - (x < y);
}

/* Parts ascend, and have no neuron in common. */
static vly_status sort_parts(vly_reader *reader, const vly_toml_node *node,
                             vly_end *end)
{
    vly_part *parts = end->parts;
    qsort(parts, end->n_parts, sizeof *parts, compare_parts);
    for (uint32_t p = 1; p < end->n_parts; p++)
        if (parts[p - 1].first + parts[p - 1].n > parts[p].first)
            return vly_reader_fail(
                reader, node,
                "from names neuron %u of area %s twice, wanted each once",
                parts[p].first, reader->genome->areas[parts[p].area].name);
    return VLY_OK;
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
            VLY_TRY(add_part(reader, &list->ends[k], &list->ends[i]));
    }
    list->n = n;
    for (uint32_t k = 0; k < n; k++)
        VLY_TRY(sort_parts(reader, node, &list->ends[k]));
out:
    return status;
}
