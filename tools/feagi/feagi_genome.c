/* SPDX-License-Identifier: Apache-2.0
 * The top of a FEAGI genome: version, title, time step, and the sections that
 * have no effect here: see feagi_genome.h.
 */
#include "tools/feagi/feagi_genome.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/cli/tool.h"
#include "tools/feagi/feagi_memory.h"

/* default of feagi-core, if a file has none; in seconds, as in the files */
#define STEP_S 0.025

static const char *const versions[] = {"2.0", "2.1", "3.0"};

/* Keys without effect on spikes. Other keys are handled below. */
static const char *const silent_top[] = {
    "genome_id",
    "genome_title",
    "genome_description",
    "species",
    "hosts",
    "stats",
    "signatures",
    "timestamp",
    "brain_regions",
    "brain_regions_root",
    "max_burst_count",
    "evolution_burst_count",
    "ipu_idle_threshold",
    "visualization_voxel_granularity_overrides",
    "firing_patterns",
    "performance_stats",
    NULL};
static const char *const taken_top[] = {"version",     "blueprint",
                                        "physiology",  "neuron_morphologies",
                                        "burst_delay", NULL};
static const char *const silent_physiology[] = {"max_age",
                                                "evolution_burst_count",
                                                "ipu_idle_threshold",
                                                "plasticity_queue_depth",
                                                "lifespan_mgmt_interval",
                                                NULL};
static const char *const taken_physiology[] = {
    "simulation_timestep", "burst_delay", "quantization_precision", NULL};

static bool is_one_of(const char *key, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(*list, key) == 0)
            return true;
    return false;
}

static vly_status report_keys(feagi_genome *genome, const feagi_value *object,
                              const char *const *taken,
                              const char *const *silent, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; status == VLY_OK && i < object->n_items; i++) {
        const char *key = object->items[i].key;
        if (is_one_of(key, taken) || strcmp(key, "genome_title") == 0 ||
            strcmp(key, "genome_id") == 0)
            continue;
        if (genome->queue_used && strcmp(key, "plasticity_queue_depth") == 0)
            continue;
        /* FEAGI configures sleep but nothing calls it */
        if (is_one_of(key, silent) || strncmp(key, "sleep", 5) == 0)
            status = feagi_report_add(&genome->report, FEAGI_SILENT, key, error,
                                      "%s", "");
        else
            status =
                feagi_report_add(&genome->report, FEAGI_LEFT_OUT, key, error,
                                 "not a section that FEAGI's readers "
                                 "know");
    }
    return status;
}

static vly_status read_version(feagi_genome *genome, vly_error *error)
{
    const feagi_value *version = feagi_json_get(genome->root, "version");
    if (version && version->kind == FEAGI_TEXT)
        for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
            if (strcmp(version->text, versions[i]) == 0)
                genome->version = versions[i];
    return genome->version ? VLY_OK
                           : feagi_wrong(genome, "version", version, error,
                                         "\"2.0\", \"2.1\" or \"3.0\"");
}

static vly_status read_text(const feagi_genome *genome, const char *key,
                            const char **text, vly_error *error)
{
    const feagi_value *value = feagi_json_get(genome->root, key);
    if (!value || value->kind == FEAGI_NULL)
        return VLY_OK;
    if (value->kind != FEAGI_TEXT)
        return feagi_wrong(genome, key, value, error, "text");
    *text = value->text;
    return VLY_OK;
}

/* ---- time --------------------------------------------------------------- */

static vly_status read_step(feagi_genome *genome, const feagi_value *physiology,
                            vly_error *error)
{
    static const char *const wheres[] = {"physiology.simulation_timestep",
                                         "physiology.burst_delay",
                                         "burst_delay"};
    const feagi_value *values[] = {
        feagi_json_get(physiology, "simulation_timestep"),
        feagi_json_get(physiology, "burst_delay"),
        feagi_json_get(genome->root, "burst_delay")};
    double seconds = 0;
    for (int i = 0; i < 3; i++) {
        if (!values[i] || values[i]->kind == FEAGI_NULL)
            continue;
        vly_status status = feagi_number(genome, wheres[i], values[i], false,
                                         1e-7, 1, &seconds, error);
        genome->dt_ms = seconds * 1000;
        return status;
    }
    genome->dt_ms = STEP_S * 1000;
    return feagi_report_add(&genome->report, FEAGI_ASSUMED,
                            "simulation_timestep", error,
                            "missing: 0.025 s, as feagi-core");
}

static vly_status read_physiology(feagi_genome *genome, vly_error *error)
{
    const feagi_value *physiology = feagi_json_get(genome->root, "physiology");
    vly_status status;
    if (physiology && physiology->kind == FEAGI_NULL)
        physiology = NULL;
    if (physiology && physiology->kind != FEAGI_OBJECT)
        return feagi_wrong(genome, "physiology", physiology, error,
                           "an object");
    VLY_TRY(read_step(genome, physiology, error));
    if (!physiology)
        return VLY_OK;
    VLY_TRY(report_keys(genome, physiology, taken_physiology, silent_physiology,
                        error));
    const feagi_value *precision =
        feagi_json_get(physiology, "quantization_precision");
    if (precision && precision->kind == FEAGI_TEXT) {
        bool whole = strstr(precision->text, "int") ||
                     strcmp(precision->text, "i8") == 0;
        status = feagi_report_add(
            &genome->report, whole ? FEAGI_LEFT_OUT : FEAGI_SILENT,
            "quantization_precision", error, "%s",
            whole ? "potentials of 8 bits; they have 32 here" : "");
    }
out:
    return status;
}

/* ---- core areas --------------------------------------------------------- */

static vly_status report_core(feagi_genome *genome, vly_error *error)
{
    uint32_t power = feagi_area_find(genome, "_power");
    uint32_t fatigue = feagi_area_find(genome, "_fatigue");
    vly_status status = VLY_OK;
    if (power != FEAGI_AREAS_MAX && !genome->areas[power].left_out)
        status = feagi_report_add(&genome->report, FEAGI_ASSUMED,
                                  genome->areas[power].name, error,
                                  "gets 1 in every burst, as in FEAGI "
                                  "([[stimulus]] power)");
    if (status == VLY_OK && fatigue != FEAGI_AREAS_MAX)
        status = feagi_report_add(&genome->report, FEAGI_LEFT_OUT,
                                  genome->areas[fatigue].name, error,
                                  "FEAGI excites it when its memory runs "
                                  "short; nothing does here");
    return status;
}

static vly_status report_morphologies(feagi_genome *genome, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; status == VLY_OK && i < genome->n_morphologies; i++) {
        const feagi_morphology *morphology = &genome->morphologies[i];
        if (morphology->kind == FEAGI_UNUSABLE &&
            !feagi_memory_morphology(morphology->id))
            status = feagi_report_add(
                &genome->report, FEAGI_SILENT, morphology->id, error,
                "a morphology that is not known here (mappings that use it, if "
                "any, are named above): %s",
                morphology->why);
    }
    return status;
}

vly_status feagi_genome_read(feagi_genome *genome, const feagi_value *root,
                             const char *path, vly_error *error)
{
    vly_status status;
    genome->root = root;
    genome->path = path;
    genome->model = vly_model_find("feagi");
    if (root->kind != FEAGI_OBJECT)
        VLY_TRY(feagi_wrong(genome, "the file", root, error,
                            "an object: a FEAGI genome"));
    if (!feagi_json_get(root, "blueprint"))
        VLY_TRY(vly_fail(error, VLY_E_PARSE,
                         "%.300s: no blueprint, wanted a FEAGI genome", path));
    VLY_TRY(read_version(genome, error));
    VLY_TRY(read_text(genome, "genome_title", &genome->title, error));
    VLY_TRY(read_text(genome, "genome_id", &genome->id, error));
    VLY_TRY(feagi_blueprint_read(genome, error));
    VLY_TRY(feagi_memories_find(genome, error));
    VLY_TRY(feagi_areas_convert(genome, error));
    VLY_TRY(feagi_morphologies_read(genome, error));
    VLY_TRY(feagi_maps_read(genome, error));
    VLY_TRY(feagi_twins_make(genome, error));
    VLY_TRY(report_core(genome, error));
    VLY_TRY(read_physiology(genome, error));
    VLY_TRY(report_keys(genome, root, taken_top, silent_top, error));
    VLY_TRY(report_morphologies(genome, error));
out:
    if (status != VLY_OK)
        feagi_json_plain(error);
    return status;
}

void feagi_genome_free(feagi_genome *genome)
{
    for (uint32_t i = 0; i < genome->n_areas; i++) {
        vly_free(genome->areas[i].id);
        vly_free(genome->areas[i].name);
    }
    for (uint32_t i = 0; i < genome->n_morphologies; i++) {
        vly_free(genome->morphologies[i].name);
        vly_free(genome->morphologies[i].rows);
    }
    for (uint32_t i = 0; i < genome->n_maps; i++)
        vly_free(genome->maps[i].id);
    vly_free(genome->areas);
    vly_free(genome->morphologies);
    vly_free(genome->maps);
    vly_free(genome->links);
    vly_free(genome->associations);
    feagi_report_free(&genome->report);
    *genome = (feagi_genome){0};
}
