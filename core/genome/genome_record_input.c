/* SPDX-License-Identifier: Apache-2.0
 * [[record]] of input: an area runs its model with two fields more a port,
 * which add up what arrives. No backend keeps what arrives longer than it needs
 * it, and random stimuli are drawn where they are used, so the sum is made in
 * the step itself; a built-in model becomes the text that a user would write.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "genome/genome_record.h"
#include "genome/written_model.h"

/* An area before it with the same model has that with sums already. */
static const vly_model_info *made_before(const vly_genome *genome,
                                         const vly_area *area)
{
    for (uint32_t i = 0; i < genome->n_areas; i++)
        if (genome->areas[i].model == area->model && genome->areas[i].recorded)
            return genome->areas[i].recorded;
    return NULL;
}

/* A message without its place, which is one in the text that was made. */
static const char *sentence_of(const vly_error *error, const char *name)
{
    const size_t n = strlen(name);
    const char *at = error->message;
    int place = 0;
    if (strncmp(at, name, n) != 0)
        return at;
    if (sscanf(at + n, ":%*u:%*u: %n", &place) != 0 || place == 0)
        (void)sscanf(at + n, ": %n", &place);
    return at + n + place;
}

static vly_status make(vly_reader *reader, const vly_toml_node *node,
                       vly_area *area)
{
    const vly_model_info *model = area->model;
    vly_error why = VLY_ERROR_INIT;
    const bool own = model->user && vly_model_sum(model, 0) != UINT32_MAX;
    if (area->recorded)
        return VLY_OK;
    if (!model->user && !vly_written_has(model))
        return vly_reader_fail_key(
            reader, node,
            "a [[record]] of input from %s, wanted an area of another model: "
            "%s updates only neurons at which something arrives, and keeps no "
            "sums",
            area->name, model->id);
    area->recorded = own ? model : made_before(reader->genome, area);
    if (area->recorded) {
        vly_model_hold(area->recorded);
        return VLY_OK;
    }
    const vly_status status =
        vly_model_recorded(model, reader->name, &area->recorded, &why);
    if (status == VLY_E_PARSE)
        return vly_reader_fail_key(reader, node,
                                   "the input of area %s cannot be recorded: "
                                   "%s",
                                   area->name, sentence_of(&why, reader->name));
    return status == VLY_OK ? VLY_OK
                            : vly_reader_nomem(reader, 4096, "a neuron model");
}

vly_status vly_record_models(vly_reader *reader, const vly_toml_node *node,
                             const vly_area_list *areas)
{
    const vly_area *first = NULL;
    uint32_t n = 0;
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < areas->n; i++) {
        vly_area *area = &reader->genome->areas[areas->areas[i]];
        const bool changes = !area->recorded && !area->model->user;
        VLY_TRY(make(reader, node, area));
        first = changes && n++ == 0 ? area : first;
    }
    if (n > 0)
        status = vly_reader_note(
            reader, node,
            "input is recorded: area %s%s runs as a [neuron] with sums (%s "
            "here): the same spikes, more time",
            first->name, n > 1 ? ", like others," : "", first->model->id);
out:
    return status;
}

vly_status vly_recorded_models_take(vly_reader *reader)
{
    vly_genome *genome = reader->genome;
    for (uint32_t i = 0; i < genome->n_areas; i++) {
        vly_area *area = &genome->areas[i];
        const uint32_t n = area->model->n_fields;
        if (!area->recorded)
            continue;
        const uint32_t n_more = area->recorded->n_fields - n;
        vly_value *fields =
            vly_realloc(area->fields, area->recorded->n_fields, sizeof *fields);
        if (!fields)
            return vly_reader_nomem(reader, sizeof *fields, "an area's fields");
        memset(fields + n, 0, n_more * sizeof *fields);
        area->fields = fields;
        area->model = area->recorded;
    }
    return VLY_OK;
}
