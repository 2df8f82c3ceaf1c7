/* SPDX-License-Identifier: Apache-2.0
 * What [neuron.NAME] and [synapse.NAME] share: see user_table.h.
 */
#include "genome/user_table.h"

#include <string.h>

#include "base/memory.h"

vly_status vly_user_tables(vly_reader *reader, const char *kind,
                           const char *what, uint32_t most,
                           const vly_toml_node **list)
{
    const vly_toml_node *found = vly_toml_get(&reader->root, kind);
    vly_status status = VLY_OK;
    *list = NULL;
    if (!found)
        return VLY_OK;
    VLY_TRY(vly_reader_table(reader, found, kind));
    if (found->n_children > most)
        return vly_reader_fail(reader, found, "%u %s, wanted at most %u",
                               found->n_children, what, most);
    *list = found;
out:
    return status;
}

void vly_user_params(const vly_neuron_param *from, uint32_t n,
                     vly_param_info *params)
{
    for (uint32_t i = 0; i < n; i++)
        params[i] = (vly_param_info){.name = from[i].key,
                                     .unit = from[i].unit,
                                     .init = from[i].init,
                                     .lo = from[i].lo,
                                     .hi = from[i].hi,
                                     .text = from[i].text};
}

vly_status vly_user_definition_read(vly_user_definition *definition,
                                    const char *text, const char *kind,
                                    const char *name,
                                    const vly_toml_node **table,
                                    vly_error *error)
{
    vly_status status = VLY_OK;
    *definition = (vly_user_definition){.genome.path = vly_strdup(name)};
    definition->reader = (vly_reader){
        .name = name, .genome = &definition->genome, .error = error};
    if (!definition->genome.path)
        return vly_fail_nomem(error, strlen(name) + 1, "a name");
    VLY_TRY(vly_toml_parse(text, strlen(text), name, &definition->reader.root,
                           error));
    const vly_toml_node *list = vly_toml_get(&definition->reader.root, kind);
    if (!list || list->kind != VLY_TOML_TABLE || list->n_children != 1)
        return vly_fail(error, VLY_E_PARSE,
                        "%s: damaged: the definition of a [%s]", name, kind);
    *table = &list->u.children[0];
out:
    return status;
}

void vly_user_definition_deinit(vly_user_definition *definition)
{
    vly_genome *genome = &definition->genome;
    vly_reader_deinit(&definition->reader);
    for (uint32_t i = 0; i < genome->n_notes; i++)
        vly_free(genome->notes[i]);
    vly_free(genome->notes);
    vly_free(genome->path);
}
