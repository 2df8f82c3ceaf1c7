/* SPDX-License-Identifier: Apache-2.0
 * [plasticity.NAME]: a rule with its parameters. A table is read without the
 * maps that use it: the suffix of w_max is the unit of their weights
 * (map_plasticity.c compares).
 */
#include "genome/genome_plasticity.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "genome/foreign_names.h"
#include "genome/genome_modulator.h"
#include "genome/genome_value.h"
#include "genome/user_rule.h"

#define STEM VLY_PLASTICITY_BOUND

/* ---- keys --------------------------------------------------------------- */

/* The suffix of a key "stem" or "stem_suffix"; NULL: another key. */
static const char *suffix_of(const char *key, const char *stem)
{
    size_t n = strlen(stem);
    if (strncmp(key, stem, n) != 0 || (key[n] != 0 && key[n] != '_'))
        return NULL;
    return key[n] ? key + n + 1 : key + n;
}

/* The suffix as a model's port has it; NULL: no port has. */
static const char *known_suffix(const char *suffix)
{
    for (uint32_t m = 0; m < vly_model_count(); m++) {
        const vly_model_info *model = vly_model_at(m);
        for (uint32_t port = 0; port < model->n_ports; port++)
            if (strcmp(model->ports[port].suffix, suffix) == 0)
                return model->ports[port].suffix;
    }
    return NULL;
}

void vly_plasticity_key(const vly_plasticity *of, uint32_t param, char *out,
                        size_t size)
{
    const char *name = of->info->params[param].name;
    bool scaled = vly_plasticity_scaled(of->info, param) && *of->suffix;
    snprintf(out, size, "%s%s%s", name, scaled ? "_" : "",
             scaled ? of->suffix : "");
}

static bool key_known(const vly_plasticity *of, const char *word)
{
    char key[VLY_NAME_MAX + 1];
    for (const vly_key *k = vly_keys_plasticity; k->name; k++)
        if (vly_plasticity_has_key(of->info, k->name) &&
            vly_key_matches(k->name, word))
            return true;
    for (uint32_t i = 0; i < of->info->n_params; i++) {
        vly_plasticity_key(of, i, key, sizeof(key));
        if (strcmp(key, word) == 0)
            return true;
    }
    return false;
}

/* A parameter in another unit than w_max, or without one. */
static vly_status refuse_unit(vly_reader *reader, const vly_toml_node *node,
                              const vly_plasticity *of)
{
    char key[VLY_NAME_MAX + 1];
    for (uint32_t i = 0; i < of->info->n_params; i++) {
        if (!vly_plasticity_scaled(of->info, i) ||
            !suffix_of(node->key, of->info->params[i].name))
            continue;
        vly_plasticity_key(of, i, key, sizeof(key));
        return vly_reader_fail_key(
            reader, node, "%.80s: beside " STEM "%s%s it is %s", node->key,
            *of->suffix ? "_" : "", of->suffix, key);
    }
    return VLY_OK;
}

static vly_status refuse_stay(vly_reader *reader, const vly_toml_node *node,
                              const vly_plasticity *of)
{
    return vly_reader_fail_key(
        reader, node,
        "%.80s: rule %s has no such key: its weights stay as they are",
        node->key, of->info->id);
}

/* A hint if the word is a name of another simulator; VLY_OK otherwise. */
static vly_status refuse_foreign(vly_reader *reader, const vly_toml_node *node,
                                 const vly_plasticity *of)
{
    const vly_foreign *row = NULL;
    const char *id = of->info->id;
    for (uint32_t i = 0; (row = vly_foreign_find(node->key, i)); i++) {
        if (!row->where || !vly_foreign_holds(row, "[plasticity]", id))
            continue;
        if (!row->ours)
            return vly_reader_fail_key(reader, node,
                                       "%s: rule %s has no such key: %s",
                                       node->key, id, row->note);
        bool bound = strcmp(row->ours, STEM) == 0;
        if (bound && of->info->short_term)
            return refuse_stay(reader, node, of);
        return vly_reader_fail_key(
            reader, node, "%s: rule %s calls it %s%s%s%s%s", node->key, id,
            row->ours, bound && *of->suffix ? "_" : "", bound ? of->suffix : "",
            row->note ? ", " : "", row->note ? row->note : "");
    }
    return VLY_OK;
}

static vly_status refuse_key(vly_reader *reader, const vly_toml_node *node,
                             const vly_plasticity *of)
{
    vly_suggest suggest = {0};
    char hint[VLY_HINT_SIZE];
    vly_status status;
    for (const vly_key *key = vly_keys_plasticity; key->name; key++)
        if (!vly_plasticity_has_key(of->info, key->name) &&
            vly_key_matches(key->name, node->key))
            return strcmp(key->name, "modulator") == 0
                       ? vly_modulator_refuse(reader, node, of)
                       : refuse_stay(reader, node, of);
    VLY_TRY(refuse_foreign(reader, node, of));
    VLY_TRY(refuse_unit(reader, node, of));
    for (const vly_key *key = vly_keys_plasticity; key->name; key++)
        if (!vly_plasticity_has_key(of->info, key->name))
            continue;
        else if (strchr(key->name, '*'))
            vly_suggest_also(&suggest, key->name);
        else
            vly_suggest_offer(&suggest, node->key, key->name);
    for (uint32_t i = 0; i < of->info->n_params; i++)
        vly_suggest_offer(&suggest, node->key, of->info->params[i].name);
    return vly_reader_fail_key(
        reader, node, "unknown key %.80s in a [plasticity] of rule %s%s",
        node->key, of->info->id,
        vly_suggest_choice(&suggest, hint, sizeof(hint)));
out:
    return status;
}

/* ---- rule and bound ----------------------------------------------------- */

/* Rule number `index` of all: built-in ones, then those of the genome. */
static const char *rule_id(const vly_genome *genome, uint32_t index)
{
    const uint32_t n = vly_plasticity_count();
    return index < n ? vly_plasticity_at(index)->id
                     : genome->synapse_rules[index - n]->id;
}

/* As many as there is room for. */
static void put_rules(const vly_genome *genome, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, ", wanted ");
    const uint32_t n = vly_plasticity_count() + genome->n_synapse_rules;
    for (uint32_t i = 0; i < n; i++) {
        const char *id = rule_id(genome, i);
        const char *before = i == 0 ? "" : i + 1 < n ? ", " : " or ";
        if (used + strlen(id) + sizeof(" or , ...") > size) {
            snprintf(out + used, size - used, ", ...");
            return;
        }
        used += (size_t)snprintf(out + used, size - used, "%s%s", before, id);
    }
}

static vly_status read_rule(vly_reader *reader, const vly_toml_node *table,
                            vly_plasticity *to)
{
    const vly_toml_node *node = vly_toml_get(table, "rule");
    const vly_genome *genome = reader->genome;
    const char *id = NULL;
    char hint[VLY_HINT_SIZE];
    vly_suggest suggest = {0};
    vly_status status;
    put_rules(genome, hint, sizeof(hint));
    if (!node)
        return vly_reader_fail_key(
            reader, table, "[plasticity.%s] has no rule%s", table->key, hint);
    VLY_TRY(vly_reader_string(reader, node, "rule", &id));
    to->info = vly_rule_named(genome, id);
    if (to->info)
        return VLY_OK;
    for (uint32_t i = 0; i < vly_plasticity_count() + genome->n_synapse_rules;
         i++)
        vly_foreign_offer(&suggest, id, rule_id(genome, i));
    vly_foreign_hint(&suggest, id, hint, sizeof(hint));
    if (!*hint)
        put_rules(genome, hint, sizeof(hint));
    return vly_reader_fail(reader, node, "no plasticity rule \"%.80s\"%s", id,
                           hint);
out:
    return status;
}

/* The nearest of w_max and w_max_<unit> for the unit of any port; NULL: none is
 * near, or two are as near. */
static const char *bound_near(const char *word, char out[VLY_NAME_MAX + 1])
{
    uint32_t best = UINT32_MAX;
    bool alone = false;
    for (uint32_t m = 0; m < vly_model_count(); m++) {
        const vly_model_info *model = vly_model_at(m);
        for (uint32_t port = 0; port < model->n_ports; port++) {
            vly_suggest suggest = {0};
            char key[VLY_NAME_MAX + 1];
            const char *suffix = model->ports[port].suffix;
            snprintf(key, sizeof(key), STEM "%s%s", *suffix ? "_" : "", suffix);
            vly_suggest_offer(&suggest, word, key);
            if (!suggest.best || suggest.distance > best ||
                (suggest.distance == best && strcmp(out, key) == 0))
                continue;
            alone = suggest.distance < best;
            best = suggest.distance;
            memcpy(out, key, sizeof(key));
        }
    }
    return alone ? out : NULL;
}

/* There is no bound: a key that is one misspelt, or with the name that another
 * simulator has for it. */
static vly_status refuse_no_bound(vly_reader *reader,
                                  const vly_toml_node *table,
                                  const vly_plasticity *of)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < table->n_children; i++) {
        const vly_toml_node *child = &table->u.children[i];
        char near[VLY_NAME_MAX + 1];
        if (key_known(of, child->key))
            continue;
        VLY_TRY(refuse_foreign(reader, child, of));
        if (bound_near(child->key, near))
            return vly_reader_fail_key(
                reader, child,
                "unknown key %.80s in a [plasticity] of rule %s, did you mean "
                "%s?",
                child->key, of->info->id, near);
    }
    status = vly_reader_fail_key(
        reader, table,
        "[plasticity.%s] has no " STEM ", wanted " STEM
        "_<unit>, the bound of its weights in the unit of weight_<unit>, also "
        "for a rule that has none in NEST (stdp_pl)",
        table->key);
out:
    return status;
}

static vly_status read_bound(vly_reader *reader, const vly_toml_node *table,
                             vly_plasticity *to)
{
    const vly_toml_node *found = NULL;
    char near[VLY_NAME_MAX + 1];
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < table->n_children; i++) {
        const vly_toml_node *child = &table->u.children[i];
        const char *suffix = suffix_of(child->key, STEM);
        if (!suffix)
            continue;
        if (found)
            return vly_reader_fail_key(reader, child,
                                       "both %.80s and %.80s, wanted one",
                                       found->key, child->key);
        to->suffix = known_suffix(suffix);
        if (!to->suffix) {
            const char *other = bound_near(child->key, near);
            return vly_reader_fail_key(reader, child,
                                       "%.80s: no port has this unit, wanted "
                                       "that of weight_<unit>%s%s%s",
                                       child->key,
                                       other ? ", did you mean " : "",
                                       other ? other : "", other ? "?" : "");
        }
        found = child;
    }
    if (!found)
        return refuse_no_bound(reader, table, to);
    VLY_TRY(vly_value_ranged(reader, found, found->key, -VLY_WEIGHT_MAX,
                             VLY_WEIGHT_MAX, &to->w_max));
    if (to->w_max == 0)
        return vly_reader_fail(reader, found,
                               "%s is 0, wanted the bound of the weights: more "
                               "for excitation, less for inhibition",
                               found->key);
    to->w_max_origin = vly_reader_origin(found, VLY_ORIGIN_FILE);
out:
    return status;
}

/* ---- parameters --------------------------------------------------------- */

/* With the suffix of the map's unit, the key of a user's parameter may be that
 * of another one, or of the bound. */
static vly_status check_key(vly_reader *reader, const vly_toml_node *table,
                            const vly_plasticity *to, uint32_t param,
                            const char *key)
{
    char other[VLY_NAME_MAX + 1];
    snprintf(other, sizeof(other), STEM "%s%s", *to->suffix ? "_" : "",
             to->suffix);
    bool taken = strcmp(key, other) == 0;
    for (uint32_t i = 0; i < param; i++) {
        vly_plasticity_key(to, i, other, sizeof(other));
        taken = taken || strcmp(key, other) == 0;
    }
    if (!taken)
        return VLY_OK;
    return vly_reader_fail_key(
        reader, table,
        "[plasticity.%s]: %s is the key of two values of "
        "rule %s, wanted another name of its parameter",
        table->key, key, to->info->id);
}

static vly_status read_params(vly_reader *reader, const vly_toml_node *table,
                              vly_plasticity *to)
{
    const vly_plasticity_info *info = to->info;
    vly_status status = VLY_OK;
    char key[VLY_NAME_MAX + 1];
    to->params = vly_calloc(info->n_params, sizeof(*to->params));
    to->origins = vly_calloc(info->n_params, sizeof(*to->origins));
    if (!to->params || !to->origins)
        return vly_reader_nomem(reader, info->n_params * sizeof(double),
                                "a plasticity");
    for (uint32_t i = 0; i < info->n_params; i++) {
        const vly_param_info *param = &info->params[i];
        vly_plasticity_key(to, i, key, sizeof(key));
        if (info->user)
            VLY_TRY(check_key(reader, table, to, i, key));
        const vly_toml_node *node = vly_toml_get(table, key);
        to->params[i] = param->init;
        if (!node)
            continue;
        VLY_TRY(vly_value_ranged(reader, node, key, param->lo, param->hi,
                                 &to->params[i]));
        to->origins[i] = vly_reader_origin(node, VLY_ORIGIN_FILE);
    }
out:
    return status;
}

static vly_status check_traces(vly_reader *reader, const vly_toml_node *table,
                               const vly_plasticity *to)
{
    const double dt_ms = reader->genome->dt_ms;
    char tau[VLY_NUMBER_SIZE], dt[VLY_NUMBER_SIZE], most[VLY_NUMBER_SIZE];
    for (uint32_t i = 0; i < to->info->n_traces; i++) {
        uint32_t param = to->info->traces[i].param;
        const char *key = to->info->params[param].name;
        const vly_toml_node *node = vly_toml_get(table, key);
        double bursts = vly_plasticity_bursts(to->info, to->params, i, dt_ms);
        if (bursts <= VLY_TRACE_BURSTS_MAX)
            continue;
        vly_toml_print_number(vly_trace_tau_max(dt_ms), most);
        return vly_reader_fail(reader, node ? node : table,
                               "%s is %s, whose trace lasts %.0f bursts of "
                               "dt_ms = %s, wanted at most %s ms (2^24 bursts)",
                               key,
                               vly_toml_print_number(to->params[param], tau),
                               bursts, vly_toml_print_number(dt_ms, dt), most);
    }
    return VLY_OK;
}

static vly_status check_params(vly_reader *reader, const vly_toml_node *table,
                               const vly_plasticity *to)
{
    const vly_plasticity_input input = {.params = to->params,
                                        .w_max = vly_plasticity_size(to->w_max),
                                        .unit = 1,
                                        .dt_ms = reader->genome->dt_ms};
    const char *unfit = vly_plasticity_unfit(to->info, &input);
    if (unfit)
        return vly_reader_fail_key(reader, table, "[plasticity.%s]: wanted %s",
                                   table->key, unfit);
    return check_traces(reader, table, to);
}

static vly_status read_options(vly_reader *reader, const vly_toml_node *table,
                               vly_plasticity *to)
{
    const vly_toml_node *delay = vly_toml_get(table, "delay");
    const vly_toml_node *nearest = vly_toml_get(table, "nearest");
    const vly_toml_node *frozen = vly_toml_get(table, "frozen");
    const char *word = "axonal";
    vly_status status = VLY_OK;
    if (delay)
        word = delay->kind == VLY_TOML_STRING ? delay->u.string : "";
    to->dendritic = strcmp(word, "dendritic") == 0;
    if (!to->dendritic && strcmp(word, "axonal") != 0)
        return vly_reader_wrong(reader, delay, "delay",
                                "\"axonal\" or \"dendritic\"");
    if (nearest)
        VLY_TRY(vly_reader_bool(reader, nearest, "nearest", &to->nearest));
    if (to->info->window && (to->dendritic || to->nearest))
        return vly_reader_fail(reader, to->dendritic ? delay : nearest,
                               "%s in a [plasticity] of rule %s, whose spikes "
                               "count in their own burst: wanted neither "
                               "dendritic delays nor nearest spikes",
                               to->dendritic ? "delay = \"dendritic\""
                                             : "nearest = true",
                               to->info->id);
    if (frozen)
        VLY_TRY(vly_reader_bool(reader, frozen, "frozen", &to->frozen));
out:
    return status;
}

/* ---- tables ------------------------------------------------------------- */

static vly_status read_table(vly_reader *reader, const vly_toml_node *node,
                             vly_plasticity *to)
{
    vly_status status;
    VLY_TRY(vly_reader_table(reader, node, "plasticity"));
    VLY_TRY(vly_reader_name(reader, node, "plasticity", node->key));
    to->origin = (vly_origin){VLY_ORIGIN_FILE, node->key_line, node->key_column,
                              node->file};
    to->name = vly_strdup(node->key);
    if (!to->name)
        return vly_reader_nomem(reader, strlen(node->key) + 1, "a name");
    VLY_TRY(read_rule(reader, node, to));
    to->suffix = "";
    if (!to->info->short_term)
        VLY_TRY(read_bound(reader, node, to));
    for (uint32_t i = 0; i < node->n_children; i++)
        if (!key_known(to, node->u.children[i].key))
            return refuse_key(reader, &node->u.children[i], to);
    VLY_TRY(read_params(reader, node, to));
    if (!to->info->short_term)
        VLY_TRY(read_options(reader, node, to));
    VLY_TRY(check_params(reader, node, to));
    VLY_TRY(vly_modulator_read(reader, node, to));
out:
    return status;
}

vly_status vly_plasticities_read(vly_reader *reader)
{
    vly_genome *genome = reader->genome;
    const vly_toml_node *tables = vly_toml_get(&reader->root, "plasticity");
    vly_status status;
    if (!tables)
        return VLY_OK;
    VLY_TRY(vly_reader_table(reader, tables, "plasticity"));
    if (tables->n_children > VLY_PLASTICITIES_MAX)
        return vly_reader_fail(reader, tables,
                               "%u plasticities, wanted at most %u",
                               tables->n_children, VLY_PLASTICITIES_MAX);
    genome->plasticities =
        vly_calloc(tables->n_children, sizeof(*genome->plasticities));
    if (!genome->plasticities && tables->n_children)
        return vly_reader_nomem(
            reader, tables->n_children * sizeof(*genome->plasticities),
            "the plasticities");
    for (uint32_t i = 0; i < tables->n_children; i++)
        VLY_TRY(read_table(reader, &tables->u.children[i],
                           &genome->plasticities[genome->n_plasticities++]));
out:
    return status;
}

void vly_plasticities_free(vly_genome *genome)
{
    for (uint32_t i = 0; i < genome->n_plasticities; i++) {
        vly_free(genome->plasticities[i].name);
        vly_free(genome->plasticities[i].params);
        vly_free(genome->plasticities[i].origins);
    }
    vly_free(genome->plasticities);
}
