/* SPDX-License-Identifier: Apache-2.0
 * The properties of FEAGI's areas: what each is called in both layouts, what
 * feagi-core takes where it is missing, and what becomes of it.
 * Source: feagi-core 0.0.1-beta.18, crates/feagi-evolutionary
 * (converter_flat_full.rs, converter_hierarchical_to_flat.rs, genome/parser.rs)
 * and crates/feagi-brain-development (models/cortical_area.rs: what is taken
 * where a property is missing); plst_c of the older engine.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "tools/feagi/feagi_genome.h"

/* The first rows are in the order of feagi_slot. */
const feagi_property feagi_properties[] = {
    {"___bbx-i", "block_boundaries", FEAGI_IS_WHOLE, FEAGI_TAKEN, 1, NULL},
    {"___bby-i", "block_boundaries", FEAGI_IS_WHOLE, FEAGI_TAKEN, 1, NULL},
    {"___bbz-i", "block_boundaries", FEAGI_IS_WHOLE, FEAGI_TAKEN, 1, NULL},
    {"rcordx-i", "relative_coordinate", FEAGI_IS_NUMBER, FEAGI_TAKEN, 0, NULL},
    {"rcordy-i", "relative_coordinate", FEAGI_IS_NUMBER, FEAGI_TAKEN, 0, NULL},
    {"rcordz-i", "relative_coordinate", FEAGI_IS_NUMBER, FEAGI_TAKEN, 0, NULL},
    {"dstmap-d", "cortical_mapping_dst", FEAGI_IS_MAPPINGS, FEAGI_TAKEN, 0,
     NULL},
    {"__name-t", "cortical_name", FEAGI_IS_TEXT, FEAGI_TAKEN, 0, NULL},
    {"_group-t", "group_id", FEAGI_IS_TEXT, FEAGI_TAKEN, 0, NULL},
    {"_n_cnt-i", "per_voxel_neuron_cnt", FEAGI_IS_WHOLE, FEAGI_TAKEN, 1, NULL},
    {"excite-f", "neuron_excitability", FEAGI_IS_NUMBER, FEAGI_TAKEN, 1,
     "excitability"},
    {"leak_c-f", "leak_coefficient", FEAGI_IS_NUMBER, FEAGI_TAKEN, 0,
     "leak_coefficient"},
    {"pstcr_-f", "postsynaptic_current", FEAGI_IS_NUMBER, FEAGI_TAKEN, 1,
     "postsynaptic_current"},
    {"fire_t-f", "firing_threshold", FEAGI_IS_NUMBER, FEAGI_PARAM, 1,
     "firing_threshold"},
    {"ftincx-f", "firing_threshold_increment_x", FEAGI_IS_NUMBER, FEAGI_PARAM,
     0, "firing_threshold_increment_x"},
    {"ftincy-f", "firing_threshold_increment_y", FEAGI_IS_NUMBER, FEAGI_PARAM,
     0, "firing_threshold_increment_y"},
    {"ftincz-f", "firing_threshold_increment_z", FEAGI_IS_NUMBER, FEAGI_PARAM,
     0, "firing_threshold_increment_z"},
    {"fthlim-f", "firing_threshold_limit", FEAGI_IS_NUMBER, FEAGI_PARAM, 0,
     "firing_threshold_limit"},
    {"refrac-i", "refractory_period", FEAGI_IS_WHOLE, FEAGI_PARAM, 0,
     "refractory_period"},
    {"c_fr_c-i", "consecutive_fire_cnt_max", FEAGI_IS_WHOLE, FEAGI_PARAM, 0,
     "consecutive_fire_cnt_max"},
    {"snooze-i", "snooze_length", FEAGI_IS_WHOLE, FEAGI_PARAM, 0,
     "snooze_length"},
    {"mp_acc-b", "mp_charge_accumulation", FEAGI_IS_BOOL, FEAGI_PARAM, 0,
     "mp_charge_accumulation"},
    {"mp_psp-b", "mp_driven_psp", FEAGI_IS_BOOL, FEAGI_PARAM, 0,
     "mp_driven_psp"},
    {"pspuni-b", "psp_uniform_distribution", FEAGI_IS_BOOL, FEAGI_PARAM, 0,
     "psp_uniform_distribution"},
    {"leak_v-f", "leak_variability", FEAGI_IS_NUMBER, FEAGI_NEUTRAL, 0,
     "every neuron of an area leaks alike; feagi-core does not read it either"},
    {"de_gen-f", "degeneration", FEAGI_IS_NUMBER, FEAGI_NEUTRAL, 0,
     "synapses do not weaken here; feagi-core keeps it without using it"},
    {"synatt-f", "synapse_attractivity", FEAGI_IS_NUMBER, FEAGI_NEUTRAL, 100,
     "every synapse of a mapping is made here; feagi-core does not read that "
     "of an area either"},
    {"__rand-b", "location_generation_type", FEAGI_IS_ANYTHING, FEAGI_NEUTRAL,
     0, "neurons lie in their voxels here, as in feagi-core"},
    {"memory-b", "is_mem_type", FEAGI_IS_BOOL, FEAGI_TAKEN, 0,
     "[memory.NAME], if a mapping leads to the area"},
    {"twinrf-t", "memory_twin_of", FEAGI_IS_ANYTHING, FEAGI_TAKEN, 0,
     "twins of the [memory]"},
    {"mem__t-i", "longterm_mem_threshold", FEAGI_IS_ANYTHING, FEAGI_TAKEN, 100,
     "longterm_mem_threshold of the [memory]"},
    {"mem_gr-i", "lifespan_growth_rate", FEAGI_IS_ANYTHING, FEAGI_TAKEN, 1,
     "lifespan_growth_rate of the [memory]"},
    {"mem_ls-i", "init_lifespan", FEAGI_IS_ANYTHING, FEAGI_TAKEN, 9,
     "init_lifespan of the [memory]"},
    {"tmpdpt-i", "temporal_depth", FEAGI_IS_ANYTHING, FEAGI_TAKEN, 1,
     "temporal_depth of the [memory]"},
    {"pstcrm-f", "postsynaptic_current_max", FEAGI_IS_ANYTHING, FEAGI_NO_EFFECT,
     0, NULL},
    {"plst_c-f", "plasticity_constant", FEAGI_IS_ANYTHING, FEAGI_NO_EFFECT, 0,
     NULL},
    {"gd_vis-b", "visualization", FEAGI_IS_ANYTHING, FEAGI_NO_EFFECT, 0, NULL},
    {"2dcorx-i", "2d_coordinate", FEAGI_IS_ANYTHING, FEAGI_NO_EFFECT, 0, NULL},
    {"2dcory-i", "2d_coordinate", FEAGI_IS_ANYTHING, FEAGI_NO_EFFECT, 0, NULL},
    {"subgrp-t", "sub_group_id", FEAGI_IS_ANYTHING, FEAGI_NO_EFFECT, 0, NULL},
    {"devcnt-i", "dev_count", FEAGI_IS_ANYTHING, FEAGI_NO_EFFECT, 0, NULL},
    {NULL, "cortical_type", FEAGI_IS_ANYTHING, FEAGI_NO_EFFECT, 0, NULL},
    {NULL, "cortical_group", FEAGI_IS_ANYTHING, FEAGI_NO_EFFECT, 0, NULL},
    {NULL, "cortical_dimensions", FEAGI_IS_ANYTHING, FEAGI_NO_EFFECT, 0, NULL},
    {NULL, "coordinates_3d", FEAGI_IS_ANYTHING, FEAGI_NO_EFFECT, 0, NULL},
    {NULL, "burst_engine_active", FEAGI_IS_ANYTHING, FEAGI_NO_EFFECT, 0, NULL},
    {NULL, "burst_engine_activation", FEAGI_IS_ANYTHING, FEAGI_NO_EFFECT, 0,
     NULL},
    {NULL, "visualization_voxel_granularity", FEAGI_IS_ANYTHING,
     FEAGI_NO_EFFECT, 0, NULL},
};

#define N_PROPERTIES (sizeof(feagi_properties) / sizeof(feagi_properties[0]))
_Static_assert(N_PROPERTIES <= FEAGI_SLOTS_MAX, "values of an area");

/* Position of the type letter. Programs write different letters (feagi-core
 * snooze-i, the older engine snooze-f, the oldest excite-i), so it is
 * ignored. */
enum { TYPE_AT = 7 };

uint32_t feagi_property_count(void)
{
    return N_PROPERTIES;
}

uint32_t feagi_property_of_gene(const char *gene)
{
    for (uint32_t i = 0; i < N_PROPERTIES; i++)
        if (feagi_properties[i].gene &&
            strncmp(feagi_properties[i].gene, gene, TYPE_AT) == 0 &&
            gene[TYPE_AT] && strchr("ifbtd", gene[TYPE_AT]))
            return i;
    return N_PROPERTIES;
}

uint32_t feagi_property_of_name(const char *name)
{
    for (uint32_t i = 0; i < N_PROPERTIES; i++)
        if (strcmp(feagi_properties[i].name, name) == 0)
            return i;
    return N_PROPERTIES;
}

/* ---- wrong values ------------------------------------------------------- */

const char *feagi_where(const feagi_genome *genome, const feagi_area *area,
                        uint32_t slot, char path[FEAGI_PATH_SIZE])
{
    const feagi_value *value = area->values[slot];
    if (genome->flat)
        snprintf(path, FEAGI_PATH_SIZE, "blueprint[\"%.100s\"]",
                 value && value->key ? value->key : area->id);
    else if (slot < FEAGI_MAPPINGS && value)
        snprintf(path, FEAGI_PATH_SIZE, "blueprint[\"%.60s\"].%s[%u]", area->id,
                 feagi_properties[slot].name, slot % 3);
    else
        snprintf(path, FEAGI_PATH_SIZE, "blueprint[\"%.60s\"].%s", area->id,
                 feagi_properties[slot].name);
    return path;
}

vly_status feagi_wrong(const feagi_genome *genome, const char *where,
                       const feagi_value *value, vly_error *error,
                       const char *format, ...)
{
    char wanted[300];
    char found[FEAGI_FOUND_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(wanted, sizeof(wanted), format, arguments);
    va_end(arguments);
    return vly_fail(error, VLY_E_PARSE, "%.300s: %s is %s, wanted %s",
                    genome->path, where, feagi_json_found(value, found),
                    wanted);
}

vly_status feagi_number(const feagi_genome *genome, const char *where,
                        const feagi_value *value, bool whole, double lo,
                        double hi, double *number, vly_error *error)
{
    double x = value->number;
    if (value->kind != FEAGI_NUMBER || !(x >= lo && x <= hi) ||
        (whole && vly_floor(x) != x))
        return feagi_wrong(genome, where, value, error,
                           "a %snumber from %.15g to %.15g",
                           whole ? "whole " : "", lo, hi);
    *number = x;
    return VLY_OK;
}
