/* SPDX-License-Identifier: Apache-2.0
 * Makes the views of a connectome from the records of a mapped file. The
 * records are few and always checked; of the arrays only their position is
 * checked.
 */
#include "connectome/connectome_file.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "connectome/learning_layout.h"
#include "connectome/record_reader.h"

static bool is_finite(double x)
{
    return x - x == 0.0;
}

static vly_status counts_check(const vly_file_view *file)
{
    const vly_file_header *header = &file->header;
    const uint64_t wanted[] = {[VLY_SECTION_AREAS] = header->n_areas,
                               [VLY_SECTION_COLUMNS] = header->n_columns,
                               [VLY_SECTION_PROJECTIONS] =
                                   header->n_projections,
                               [VLY_SECTION_STIMULI] = header->n_stimuli};
    for (uint32_t s = 0; s <= VLY_SECTION_STIMULI; s++)
        if (file->table[s].bytes != wanted[s] * vly_section_element(s))
            return vly_file_damaged(
                file,
                "section %s has %" PRIu64 " bytes for %" PRIu64 " records",
                vly_section_name(s), file->table[s].bytes, wanted[s]);
    if (file->table[VLY_SECTION_STATE].bytes / 4 != header->n_state_words ||
        file->table[VLY_SECTION_OUT_DEGREE].bytes / 4 != header->n_neurons)
        return vly_file_damaged(file, "state or out_degree has a wrong size");
    const uint32_t texts[] = {VLY_SECTION_TEXT, VLY_SECTION_RESOLVED};
    for (int i = 0; i < 2; i++) {
        uint64_t n = file->table[texts[i]].bytes;
        if (n == 0 || vly_file_section_bytes(file, texts[i])[n - 1] != 0)
            return vly_file_damaged(file, "section %s does not end with a 0",
                                    vly_section_name(texts[i]));
    }
    if (!(header->dt_ms > 0.0) || !is_finite(header->dt_ms) ||
        header->max_delay < 1 || header->feagi_q > VLY_FEAGI_Q_MAX ||
        header->n_drawn > header->n_stimuli)
        return vly_file_damaged(file,
                                "header: dt_ms %g, max_delay %" PRIu32
                                ", Q %" PRIu32 ", drawn stimuli %" PRIu32,
                                header->dt_ms, header->max_delay,
                                header->feagi_q, header->n_drawn);
    return VLY_OK;
}

/* ---- projections ------------------------------------------------------ */

static bool projection_good(const vly_record_reader *reader,
                            const vly_file_projection *record)
{
    const vly_file_header *header = &reader->file->header;
    if (record->source_area >= header->n_areas ||
        record->target_area >= header->n_areas)
        return false;
    const vly_area_desc *to = &reader->area_descs[record->target_area];
    uint32_t gain = (to->flags & VLY_AREA_FEAGI) ? VLY_PROJECTION_GAIN : 0;
    bool port = record->port < to->n_ports ||
                (record->port == VLY_PORT_BY_SIGN && to->n_ports == 2);
    bool learns = record->flags == (VLY_PROJECTION_PLASTIC | gain) &&
                  record->port < to->n_ports && !record->delay;
    bool gains = record->flags == VLY_PROJECTION_SHORT_TERM && !gain;
    return port && (record->flags == gain || learns || gains) &&
           (record->shift == 0 ||
            (header->version > 1 && !gain && record->shift <= VLY_SHIFT_MAX &&
             record->shift % VLY_SHIFT_STEP == 0)) &&
           record->base_delay >= 1 && record->base_delay <= VLY_DELAY_MAX &&
           record->delay_max <= 255 && (record->delay || !record->delay_max) &&
           record->base_delay + record->delay_max <= header->max_delay &&
           is_finite(record->worst_rounding) && is_finite(record->weight_min) &&
           is_finite(record->weight_max);
}

static vly_status projection_read(vly_record_reader *reader, uint32_t p)
{
    const vly_file_view *file = reader->file;
    vly_file_projection record;
    memcpy(&record,
           vly_file_section_bytes(file, VLY_SECTION_PROJECTIONS) +
               p * sizeof(record),
           sizeof(record));
    const char *map = vly_record_text(reader, record.map);
    if (!map || !projection_good(reader, &record))
        return vly_file_damaged(file, "projection %" PRIu32 " (map %s)", p,
                                map ? map : "?");
    uint64_t n_rows = (uint64_t)reader->areas[record.source_area].n_neurons + 1;
    vly_projection_desc *desc = &reader->projection_descs[p];
    desc->map = map;
    desc->source_area = record.source_area;
    desc->target_area = record.target_area;
    desc->row = vly_file_array(file, VLY_SECTION_ROWS, record.row, n_rows,
                               VLY_FILE_ALIGN);
    desc->target = vly_file_array(file, VLY_SECTION_TARGETS, record.target,
                                  record.n, VLY_FILE_ALIGN);
    desc->weight = vly_file_array(file, VLY_SECTION_WEIGHTS, record.weight,
                                  record.n, VLY_FILE_ALIGN);
    if (record.delay)
        desc->delay = vly_file_array(file, VLY_SECTION_DELAYS, record.delay,
                                     record.n, VLY_FILE_ALIGN);
    desc->base_delay = record.base_delay;
    desc->delay_max = record.delay_max;
    desc->port = record.port;
    desc->flags = record.flags;
    desc->shift = record.shift;
    if (!desc->row || !desc->target || !desc->weight ||
        (record.delay && !desc->delay) || desc->row[0] != 0 ||
        desc->row[n_rows - 1] != record.n)
        return vly_file_damaged(file,
                                "projection %" PRIu32
                                " (map %s): its arrays of %" PRIu64 " synapses",
                                p, map, record.n);
    const vly_connectome_area *to = &reader->areas[record.target_area];
    uint32_t port = record.port < to->model->n_ports ? record.port : 0;
    double unit = record.flags & VLY_PROJECTION_GAIN
                      ? 1.0
                      : vly_power_of_two((int32_t)record.shift - to->q[port]);
    reader->projections[p] =
        (vly_connectome_projection){.map = map,
                                    .unit = unit,
                                    .n_synapses = record.n,
                                    .worst_rounding = record.worst_rounding,
                                    .weight_min = record.weight_min,
                                    .weight_max = record.weight_max};
    return VLY_OK;
}

static vly_status projections_read(vly_record_reader *reader)
{
    vly_status status = VLY_OK;
    const vly_file_header *header = &reader->file->header;
    uint64_t n = 0;
    uint32_t longest = 1;
    for (uint32_t p = 0; p < header->n_projections; p++)
        VLY_TRY(projection_read(reader, p));
    VLY_TRY(vly_record_learnings(reader));
    vly_record_weights(reader);
    for (uint32_t p = 0; p < header->n_projections; p++) {
        uint32_t reach = vly_projection_reach(&reader->projection_descs[p]);
        n += reader->projections[p].n_synapses;
        longest = longest < reach ? reach : longest;
    }
    if (n != header->n_synapses || longest != header->max_delay)
        return vly_file_damaged(reader->file,
                                "projections have %" PRIu64
                                " synapses and delays up to %" PRIu32,
                                n, longest);
out:
    return status;
}

/* ---- stimuli ---------------------------------------------------------- */

static bool stimulus_good(const vly_record_reader *reader,
                          const vly_file_stimulus *record)
{
    if (record->kind > VLY_STIMULUS_BERNOULLI ||
        record->area >= reader->file->header.n_areas)
        return false;
    const vly_area_desc *area = &reader->area_descs[record->area];
    bool drawn = vly_stimulus_draws((vly_stimulus_kind)record->kind);
    uint32_t index = drawn ? reader->n_drawn : VLY_NO_INDEX;
    uint32_t flags =
        record->kind == VLY_STIMULUS_NORMAL ? VLY_STIMULUS_ALWAYS : 0;
    int64_t last = record->base + (int64_t)record->step * record->n_thresholds;
    int64_t bound = (int64_t)VLY_BOUND;
    return record->first >= area->first &&
           record->first - area->first <= area->n_neurons &&
           record->n_neurons <=
               area->n_neurons - (record->first - area->first) &&
           record->port < area->n_ports && record->drawn_index == index &&
           record->flags == flags && record->n_thresholds <= 256 &&
           record->base >= -bound && record->base <= bound && last >= -bound &&
           last <= bound && (drawn || record->n_thresholds == 0) &&
           (record->kind != VLY_STIMULUS_BERNOULLI ||
            record->n_thresholds <= 1) &&
           (record->kind == VLY_STIMULUS_SPIKES || record->n_inputs == 0) &&
           is_finite(record->rate_hz) && is_finite(record->weight) &&
           is_finite(record->mean) && is_finite(record->sd);
}

static vly_status stimulus_read(vly_record_reader *reader, uint32_t s)
{
    const vly_file_view *file = reader->file;
    vly_connectome_stimulus *stimulus = &reader->stimuli[s];
    vly_file_stimulus record;
    memcpy(&record,
           vly_file_section_bytes(file, VLY_SECTION_STIMULI) +
               s * sizeof(record),
           sizeof(record));
    const char *id = vly_record_text(reader, record.id);
    if (!id || !stimulus_good(reader, &record))
        return vly_file_damaged(file, "stimulus %" PRIu32 " (%s)", s,
                                id ? id : "?");
    *stimulus =
        (vly_connectome_stimulus){.id = id,
                                  .kind = (vly_stimulus_kind)record.kind,
                                  .area = record.area,
                                  .first = record.first,
                                  .n_neurons = record.n_neurons,
                                  .port = record.port,
                                  .listed = record.listed != 0,
                                  .rate_hz = record.rate_hz,
                                  .weight = record.weight,
                                  .mean = record.mean,
                                  .sd = record.sd,
                                  .start = record.start,
                                  .stop = record.stop,
                                  .desc_index = record.drawn_index,
                                  .n_inputs = record.n_inputs};
    if (record.n_inputs)
        stimulus->inputs =
            vly_file_array(file, VLY_SECTION_INPUTS, record.inputs,
                           record.n_inputs, VLY_FILE_ALIGN);
    const uint32_t *thresholds = NULL;
    if (record.n_thresholds)
        thresholds =
            vly_file_array(file, VLY_SECTION_THRESHOLDS, record.thresholds,
                           record.n_thresholds, VLY_FILE_ALIGN);
    if ((record.n_inputs && !stimulus->inputs) ||
        (record.n_thresholds && !thresholds))
        return vly_file_damaged(file, "stimulus %" PRIu32 " (%s): its array", s,
                                id);
    if (record.drawn_index == VLY_NO_INDEX)
        return VLY_OK;
    if (reader->n_drawn >= file->header.n_drawn)
        return vly_file_damaged(file, "more stimuli draw than the header says");
    reader->stimulus_descs[reader->n_drawn++] =
        (vly_stimulus_desc){.thresholds = thresholds,
                            .n_thresholds = record.n_thresholds,
                            .first = record.first,
                            .n_neurons = record.n_neurons,
                            .stream = record.stream,
                            .start = record.start,
                            .stop = record.stop,
                            .base = record.base,
                            .step = record.step,
                            .port = record.port,
                            .flags = record.flags};
    return VLY_OK;
}

static vly_status stimuli_read(vly_record_reader *reader)
{
    vly_status status = VLY_OK;
    const vly_file_header *header = &reader->file->header;
    for (uint32_t s = 0; s < header->n_stimuli; s++) {
        VLY_TRY(stimulus_read(reader, s));
    }
    if (reader->n_drawn != header->n_drawn)
        return vly_file_damaged(reader->file,
                                "fewer stimuli draw than the header says");
out:
    return status;
}

/* ---- all -------------------------------------------------------------- */

static bool reader_alloc(vly_record_reader *reader)
{
    const vly_file_header *header = &reader->file->header;
    vly_storage *storage = reader->storage;
    reader->areas = vly_storage_alloc(storage, header->n_areas,
                                      sizeof(*reader->areas), true);
    reader->area_descs = vly_storage_alloc(storage, header->n_areas,
                                           sizeof(*reader->area_descs), true);
    reader->projections = vly_storage_alloc(storage, header->n_projections,
                                            sizeof(*reader->projections), true);
    reader->projection_descs =
        vly_storage_alloc(storage, header->n_projections,
                          sizeof(*reader->projection_descs), true);
    reader->stimuli = vly_storage_alloc(storage, header->n_stimuli,
                                        sizeof(*reader->stimuli), true);
    reader->stimulus_descs = vly_storage_alloc(
        storage, header->n_drawn, sizeof(*reader->stimulus_descs), true);
    reader->connectome->start.fired_row =
        vly_storage_alloc(storage, 1, sizeof(uint64_t), true);
    return reader->areas && reader->area_descs && reader->projections &&
           reader->projection_descs && reader->stimuli &&
           reader->stimulus_descs && reader->connectome->start.fired_row;
}

static void desc_fill(vly_record_reader *reader)
{
    const vly_file_header *header = &reader->file->header;
    vly_connectome *connectome = reader->connectome;
    vly_net_desc *desc = &connectome->desc;
    desc->struct_size = sizeof(*desc);
    desc->area_size = sizeof(vly_area_desc);
    desc->projection_size = sizeof(vly_projection_desc);
    desc->stimulus_size = sizeof(vly_stimulus_desc);
    desc->n_neurons = header->n_neurons;
    desc->n_areas = header->n_areas;
    desc->n_projections = header->n_projections;
    desc->n_stimuli = header->n_drawn;
    desc->areas = reader->area_descs;
    desc->projections = reader->projection_descs;
    desc->stimuli = reader->stimulus_descs;
    desc->out_degree = (const uint32_t *)(const void *)vly_file_section_bytes(
        reader->file, VLY_SECTION_OUT_DEGREE);
    desc->n_synapses = header->n_synapses;
    desc->seed_input = header->seed_input;
    desc->max_delay = header->max_delay;
    desc->feagi_q = header->feagi_q;
    desc->dt_ms = header->dt_ms;
    desc->genome_hash[0] = header->genome_hash.lane[0];
    desc->genome_hash[1] = header->genome_hash.lane[1];
}

static void connectome_fill(vly_record_reader *reader)
{
    const vly_file_view *file = reader->file;
    const vly_file_header *header = &file->header;
    vly_connectome *connectome = reader->connectome;
    vly_snapshot *start = &connectome->start;
    start->struct_size = sizeof(*start);
    start->n_state_words = header->n_state_words;
    /* may be mapped read-only, and so is a connectome's start */
    start->state =
        (uint32_t *)(uintptr_t)vly_file_section_bytes(file, VLY_SECTION_STATE);
    connectome->areas = reader->areas;
    connectome->projections = reader->projections;
    connectome->stimuli = reader->stimuli;
    connectome->n_stimuli = header->n_stimuli;
    connectome->n_bursts = header->n_bursts;
    connectome->seed_network = header->seed_network;
    connectome->seed_state = header->seed_state;
    connectome->genome_hash = header->genome_hash;
    connectome->hash = header->hash;
    connectome->resolved =
        (const char *)vly_file_section_bytes(file, VLY_SECTION_RESOLVED);
}

/* Only a file with memories or associations says so in its version. */
static vly_status memories_read(const vly_file_view *file,
                                vly_connectome *connectome)
{
    const bool says = file->header.version == VLY_FILE_VERSION_MEMORY;
    vly_status status;
    VLY_TRY(vly_memories_load(connectome->storage, file->path, connectome,
                              file->error));
    if (says != vly_connectome_remembers(connectome))
        return vly_file_damaged(
            file, "version %" PRIu32 " %s memories and associations",
            file->header.version, says ? "without" : "with");
out:
    return status;
}

vly_status vly_file_records_read(const vly_file_view *file,
                                 vly_connectome *connectome)
{
    vly_status status;
    vly_record_reader reader = {
        .file = file, .connectome = connectome, .storage = connectome->storage};
    VLY_TRY(counts_check(file));
    if (!reader_alloc(&reader))
        VLY_TRY(vly_fail_nomem(file->error, file->n_bytes / 16, "records"));
    VLY_TRY(vly_record_areas(&reader));
    VLY_TRY(projections_read(&reader));
    VLY_TRY(stimuli_read(&reader));
    desc_fill(&reader);
    connectome_fill(&reader);
    VLY_TRY(vly_learning_start_make(connectome->storage, &connectome->desc,
                                    connectome->projections, &connectome->start,
                                    file->error));
    VLY_TRY(memories_read(file, connectome));
out:
    return status;
}
