/* SPDX-License-Identifier: Apache-2.0
 * [plasticity.NAME] back to TOML, with the rules of users that it may name.
 */
#include "genome/genome_modulator.h"
#include "genome/genome_plasticity.h"
#include "genome/user_rule.h"

static vly_origin origin_of(const vly_toml_node *table, const char *key)
{
    const vly_origin none = {VLY_ORIGIN_DEFAULT, 0, 0, 0};
    const vly_toml_node *node = vly_toml_get(table, key);
    return node ? vly_reader_origin(node, VLY_ORIGIN_FILE) : none;
}

static void put_option(vly_text *text, const vly_toml_node *table,
                       const char *key, const char *value)
{
    vly_origin origin = origin_of(table, key);
    vly_text_put(text, "%s = %s", key, value);
    vly_text_origin(text, &origin, NULL);
}

void vly_plasticities_resolve(vly_text *text, const vly_reader *reader)
{
    const vly_toml_node *tables = vly_toml_get(&reader->root, "plasticity");
    char number[VLY_NUMBER_SIZE];
    char key[VLY_NAME_MAX + 1];
    vly_synapses_resolve(text, reader->genome);
    for (uint32_t i = 0; i < reader->genome->n_plasticities; i++) {
        const vly_plasticity *of = &reader->genome->plasticities[i];
        const vly_toml_node *table = vly_toml_get(tables, of->name);
        vly_origin origin = origin_of(table, "rule");
        vly_text_put(text, "\n[plasticity.\"%s\"]\nrule = \"%s\"", of->name,
                     of->info->id);
        vly_text_origin(text, &origin, NULL);
        if (!of->info->short_term) {
            vly_text_put(text, VLY_PLASTICITY_BOUND "%s%s = %s",
                         *of->suffix ? "_" : "", of->suffix,
                         vly_toml_print_number(of->w_max, number));
            vly_text_origin(text, &of->w_max_origin, NULL);
        }
        for (uint32_t p = 0; p < of->info->n_params; p++) {
            vly_plasticity_key(of, p, key, sizeof(key));
            vly_text_put(text, "%s = %s", key,
                         vly_toml_print_number(of->params[p], number));
            vly_text_origin(text, &of->origins[p], NULL);
        }
        origin = origin_of(table, "modulator");
        vly_modulator_resolve(text, reader, of, &origin);
        if (of->info->short_term)
            continue;
        put_option(text, table, "delay",
                   of->dendritic ? "\"dendritic\"" : "\"axonal\"");
        put_option(text, table, "nearest", of->nearest ? "true" : "false");
        put_option(text, table, "frozen", of->frozen ? "true" : "false");
    }
}
