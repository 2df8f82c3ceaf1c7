/* SPDX-License-Identifier: Apache-2.0
 * [association.NAME]: the numbers are those of FEAGI's plasticity rule.
 */
#include "genome/genome_association.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "genome/genome_value.h"

enum { WEIGHT_MOST = 255 };

static const vly_param_info *param_of(const char *name)
{
    const vly_plasticity_info *info = vly_plasticity_find("feagi_stdp");
    uint32_t i = 0;
    while (strcmp(info->params[i].name, name) != 0)
        i++;
    return &info->params[i];
}

static const char *const keys[] = {"plasticity_window", "plasticity_constant",
                                   "ltp_multiplier", "ltd_multiplier"};
enum { N_KEYS = sizeof(keys) / sizeof(keys[0]) };

static uint32_t step_of(double constant, double multiplier)
{
    const double step = constant * multiplier;
    return step < 0 ? 0 : step < WEIGHT_MOST ? (uint32_t)step : WEIGHT_MOST;
}

static vly_status read_numbers(vly_reader *reader, const vly_toml_node *table,
                               vly_association *to)
{
    double values[N_KEYS];
    vly_status status = VLY_OK;
    for (int i = 0; i < N_KEYS; i++) {
        const vly_param_info *param = param_of(keys[i]);
        const vly_toml_node *node = vly_toml_get(table, keys[i]);
        values[i] = param->init;
        if (!node)
            continue;
        VLY_TRY(vly_value_ranged(reader, node, keys[i], param->lo, param->hi,
                                 &values[i]));
        if (vly_floor(values[i]) < values[i])
            return vly_reader_wrong(reader, node, keys[i], "a whole number");
    }
    to->window = (uint32_t)values[0];
    for (int i = 0; i < 3; i++)
        to->numbers[i] = (int32_t)values[i + 1];
    to->up = step_of(values[1], values[2]);
    to->down = step_of(values[1], values[3]);
out:
    return status;
}

static vly_status read_area(vly_reader *reader, const vly_toml_node *table,
                            const char *key, uint32_t *area)
{
    const vly_toml_node *node = vly_toml_get(table, key);
    vly_area_list areas = {0};
    vly_status status;
    if (!node)
        return vly_reader_fail_key(reader, table,
                                   "[association.%s] has no %s, wanted an area",
                                   table->key, key);
    VLY_TRY(vly_reader_areas(reader, node, key, &areas));
    if (areas.n != 1)
        return vly_reader_fail(reader, node,
                               "%s names %" PRIu32 " areas, wanted one", key,
                               areas.n);
    *area = areas.areas[0];
    const vly_area *of = &reader->genome->areas[*area];
    if (!(of->model->flags & VLY_AREA_FEAGI))
        return vly_reader_fail(reader, node,
                               "%s has area %s of model %s, wanted one of "
                               "model feagi",
                               key, of->name, of->model->id);
out:
    return status;
}

static vly_status read_table(vly_reader *reader, const vly_toml_node *node,
                             vly_association *to)
{
    const vly_key_list list = {"an [association]", vly_keys_association, NULL};
    const vly_toml_node *inhibitory;
    vly_status status;
    if (node->kind != VLY_TOML_TABLE)
        return vly_reader_fail_key(reader, node,
                                   "%.80s without the name of an association, "
                                   "wanted [association.NAME] before it",
                                   node->key);
    VLY_TRY(vly_reader_name(reader, node, "association", node->key));
    VLY_TRY(vly_reader_keys(reader, node, &list));
    to->origin = (vly_origin){VLY_ORIGIN_FILE, node->key_line, node->key_column,
                              node->file};
    to->name = vly_strdup(node->key);
    if (!to->name)
        return vly_reader_nomem(reader, strlen(node->key) + 1, "a name");
    VLY_TRY(read_area(reader, node, "from", &to->from));
    VLY_TRY(read_area(reader, node, "to", &to->to));
    VLY_TRY(read_numbers(reader, node, to));
    inhibitory = vly_toml_get(node, "inhibitory");
    if (inhibitory)
        VLY_TRY(
            vly_reader_bool(reader, inhibitory, "inhibitory", &to->inhibitory));
out:
    return status;
}

vly_status vly_associations_read(vly_reader *reader)
{
    vly_genome *genome = reader->genome;
    const vly_toml_node *tables = vly_toml_get(&reader->root, "association");
    vly_status status;
    if (!tables)
        return VLY_OK;
    VLY_TRY(vly_reader_table(reader, tables, "association"));
    genome->associations =
        vly_calloc(tables->n_children, sizeof(*genome->associations));
    if (!genome->associations)
        return vly_reader_nomem(reader,
                                tables->n_children * sizeof(vly_association),
                                "the associations");
    for (uint32_t i = 0; i < tables->n_children; i++)
        VLY_TRY(read_table(reader, &tables->u.children[i],
                           &genome->associations[genome->n_associations++]));
out:
    return status;
}

void vly_associations_free(vly_genome *genome)
{
    for (uint32_t i = 0; i < genome->n_associations; i++)
        vly_free(genome->associations[i].name);
    vly_free(genome->associations);
}

/* ---- as text ------------------------------------------------------------ */

static void put_origin(vly_text *text, const vly_toml_node *table,
                       const char *key)
{
    const vly_origin origin = vly_resolve_origin(table, key);
    vly_text_origin(text, &origin, NULL);
}

void vly_associations_resolve(vly_text *text, const vly_reader *reader)
{
    const vly_genome *genome = reader->genome;
    const vly_toml_node *tables = vly_toml_get(&reader->root, "association");
    for (uint32_t a = 0; a < genome->n_associations; a++) {
        const vly_association *of = &genome->associations[a];
        const vly_toml_node *table = vly_toml_get(tables, of->name);
        vly_text_put(text, "\n[association.\"%s\"]\n", of->name);
        vly_text_put(text, "from = \"%s\"", genome->areas[of->from].name);
        put_origin(text, table, "from");
        vly_text_put(text, "to = \"%s\"", genome->areas[of->to].name);
        put_origin(text, table, "to");
        vly_text_put(text, "%s = %" PRIu32, keys[0], of->window);
        put_origin(text, table, keys[0]);
        for (int i = 1; i < N_KEYS; i++) {
            vly_text_put(text, "%s = %" PRId32, keys[i], of->numbers[i - 1]);
            put_origin(text, table, keys[i]);
        }
        vly_text_put(text, "inhibitory = %s",
                     of->inhibitory ? "true" : "false");
        put_origin(text, table, "inhibitory");
    }
}
