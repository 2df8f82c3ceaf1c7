/* SPDX-License-Identifier: Apache-2.0
 * [[record]]: a list in `from` makes one a area.
 */
#include <string.h>

#include "base/memory.h"
#include "genome/genome_stimulus.h"

static vly_status read_record(vly_reader *reader, const vly_toml_node *node)
{
    const vly_key_list list = {"a [[record]]", vly_keys_record, NULL};
    const vly_toml_node *what = vly_toml_get(node, "what");
    const vly_toml_node *from = vly_toml_get(node, "from");
    vly_genome *genome = reader->genome;
    vly_area_list areas = {0};
    vly_status status;
    VLY_TRY(vly_reader_keys(reader, node, &list));
    if (!what || !from)
        return vly_reader_fail_key(reader, node,
                                   "a [[record]] without %s, wanted what = "
                                   "\"spikes\" and from = areas",
                                   what ? "from" : "what");
    if (what->kind != VLY_TOML_STRING || strcmp(what->u.string, "spikes") != 0)
        return vly_reader_wrong(reader, what, "what", "\"spikes\"");
    VLY_TRY(vly_reader_areas(reader, from, "from", &areas));
    if ((uint64_t)genome->n_records + areas.n > VLY_PAIRS_MAX)
        return vly_reader_fail_key(
            reader, node, "more than %u records, wanted fewer", VLY_PAIRS_MAX);
    vly_record *grown = vly_realloc(
        genome->records, genome->n_records + areas.n, sizeof(vly_record));
    if (!grown)
        return vly_reader_nomem(reader, areas.n * sizeof(vly_record),
                                "the records");
    genome->records = grown;
    for (uint32_t i = 0; i < areas.n; i++) {
        vly_record *record = &genome->records[genome->n_records++];
        memset(record, 0, sizeof(*record));
        record->kind = VLY_RECORD_SPIKES;
        record->area = areas.areas[i];
        record->origin.kind = VLY_ORIGIN_FILE;
        record->origin.line = node->key_line;
        record->origin.column = node->key_column;
        record->origin.file = node->file;
    }
out:
    return status;
}

vly_status vly_records_read(vly_reader *reader)
{
    const vly_toml_node *records = vly_toml_get(&reader->root, "record");
    if (!records)
        return VLY_OK;
    vly_status status = vly_reader_tables(reader, records, "record");
    for (uint32_t i = 0; status == VLY_OK && i < records->n_children; i++)
        status = read_record(reader, &records->u.children[i]);
    return status;
}
