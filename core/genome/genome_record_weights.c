/* SPDX-License-Identifier: Apache-2.0
 * [[record]] of weights: samples of the synapses of a map that learns.
 */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "genome/foreign_names.h"
#include "genome/genome_map.h"
#include "genome/genome_record.h"
#include "genome/genome_value.h"

static vly_status find_map(vly_reader *reader, const vly_toml_node *node,
                           const vly_map_entry **map)
{
    vly_suggest near = {0};
    char text[VLY_HINT_SIZE];
    if (node->kind != VLY_TOML_STRING)
        return vly_reader_wrong(reader, node, "map",
                                "the id of a map with plasticity, or "
                                "\"map:N\"");
    for (uint32_t m = 0; m < reader->n_maps; m++) {
        if (strcmp(reader->maps[m].label, node->u.string) == 0) {
            *map = &reader->maps[m];
            return VLY_OK;
        }
        vly_foreign_offer(&near, node->u.string, reader->maps[m].label);
    }
    return vly_reader_fail(reader, node, "no map %.80s%s", node->u.string,
                           vly_suggest_choice(&near, text, sizeof text));
}

static vly_status read_range(vly_reader *reader, const vly_toml_node *node,
                             vly_weight_record *record)
{
    const vly_toml_node *first = vly_toml_get(node, "first");
    const vly_toml_node *n = vly_toml_get(node, "n");
    vly_status status = VLY_OK;
    record->n = UINT64_MAX;
    if (first)
        VLY_TRY(vly_value_whole(reader, first, "first", 0, UINT64_C(1) << 53,
                                &record->first));
    if (n)
        VLY_TRY(
            vly_value_whole(reader, n, "n", 1, UINT64_C(1) << 53, &record->n));
out:
    return status;
}

static vly_status add(vly_reader *reader, const vly_weight_record *record,
                      const char *map)
{
    vly_genome *genome = reader->genome;
    vly_weight_record *grown =
        vly_realloc(genome->weight_records,
                    genome->n_weight_records + (size_t)1, sizeof *grown);
    if (!grown)
        return vly_reader_nomem(reader, sizeof *grown, "the records");
    genome->weight_records = grown;
    grown[genome->n_weight_records] = *record;
    grown[genome->n_weight_records].map = vly_strdup(map);
    if (!grown[genome->n_weight_records].map)
        return vly_reader_nomem(reader, strlen(map) + 1, "a name");
    genome->n_weight_records++;
    return VLY_OK;
}

vly_status vly_weight_record_read(vly_reader *reader, const vly_toml_node *node)
{
    const vly_key_list list = {"a [[record]]", vly_keys_record_weights, NULL};
    const vly_toml_node *name = vly_toml_get(node, "map");
    const vly_map_entry *map = NULL;
    vly_weight_record record = {.origin = {.kind = VLY_ORIGIN_FILE,
                                           .line = node->key_line,
                                           .column = node->key_column,
                                           .file = node->file}};
    vly_status status = VLY_OK;
    VLY_TRY(vly_reader_keys(reader, node, &list));
    if (!name)
        return vly_reader_fail_key(reader, node,
                                   "a [[record]] of weights without map, "
                                   "wanted the id of a map with plasticity");
    if (!vly_toml_get(node, "interval_ms") &&
        !vly_toml_get(node, "interval_bursts"))
        return vly_reader_fail_key(reader, node,
                                   "a [[record]] of weights without an "
                                   "interval, wanted interval_ms or "
                                   "interval_bursts");
    VLY_TRY(find_map(reader, name, &map));
    if (!map->plasticity || map->plasticity->info->short_term)
        return vly_reader_fail(reader, name,
                               "map %s does not learn: its weights do not "
                               "change, wanted a map that learns",
                               map->label);
    VLY_TRY(read_range(reader, node, &record));
    VLY_TRY(vly_record_interval(reader, node, &record.interval));
    status = add(reader, &record, map->label);
out:
    return status;
}

void vly_weight_records_free(vly_genome *genome)
{
    for (uint32_t r = 0; r < genome->n_weight_records; r++)
        vly_free(genome->weight_records[r].map);
    vly_free(genome->weight_records);
}

void vly_weight_records_resolve(vly_text *text, const vly_genome *genome)
{
    for (uint32_t r = 0; r < genome->n_weight_records; r++) {
        const vly_weight_record *record = &genome->weight_records[r];
        vly_text_put(text, "\n[[record]]\nwhat = \"weights\"\nmap = \"%s\"",
                     record->map);
        vly_text_origin(text, &record->origin, NULL);
        vly_text_put(text, "first = %" PRIu64 "\n", record->first);
        if (record->n != UINT64_MAX)
            vly_text_put(text, "n = %" PRIu64 "\n", record->n);
        vly_text_put(text, "interval_bursts = %" PRIu64 "\n", record->interval);
    }
}
