/* SPDX-License-Identifier: Apache-2.0
 * Checks a mapped file: checksums, gaps, and every index in its arrays, so that
 * a backend can trust a connectome.
 */
#include "connectome/connectome_file.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"

static const void *file_bytes(const void *arg, uint32_t section, uint64_t at,
                              size_t n, void *buffer)
{
    (void)n;
    (void)buffer;
    return vly_file_section_bytes(arg, section) + at;
}

/* Bytes between sections, and after the table, are 0. */
static vly_status gaps_verify(const vly_file_view *file)
{
    uint64_t at = sizeof(vly_file_header) + sizeof(file->table);
    for (uint32_t s = 0; s <= VLY_SECTIONS + 1; s++) {
        uint64_t end = file->n_bytes;
        uint64_t bytes = 0;
        if (s < VLY_SECTIONS) {
            end = file->table[s].offset;
            bytes = file->table[s].bytes;
        } else if (s == VLY_SECTIONS && file->header.learning_bytes) {
            end = file->header.learning;
            bytes = file->header.learning_bytes;
        }
        for (; at < end; at++)
            if (file->bytes[at] != 0)
                return vly_file_damaged(
                    file, "byte %" PRIu64 " between two sections is not 0", at);
        at = end + bytes;
    }
    return VLY_OK;
}

vly_status vly_checksums_verify(const vly_file_view *file, uint32_t n_threads)
{
    vly_status status;
    vly_hash checksums[VLY_SECTIONS];
    vly_checksum_source source = {
        .bytes = file_bytes, .arg = file, .in_memory = true};
    for (uint32_t s = 0; s < VLY_SECTIONS; s++)
        source.n_bytes[s] = file->table[s].bytes;
    VLY_TRY(vly_sections_checksum(&source, n_threads, checksums, file->error));
    for (uint32_t s = 0; s < VLY_SECTIONS; s++)
        if (memcmp(&checksums[s], &file->table[s].checksum,
                   sizeof(checksums[s])))
            return vly_file_damaged(file, "checksum of section %s is wrong",
                                    vly_section_name(s));
    if (file->header.learning_bytes) {
        vly_hash sum = vly_hash_bytes((vly_hash){{0, 0}},
                                      file->bytes + file->header.learning,
                                      (size_t)file->header.learning_bytes);
        if (memcmp(&sum, &file->header.learning_checksum, sizeof(sum)))
            return vly_file_damaged(
                file, "checksum of the projections that learn is wrong");
    }
    vly_hash hash = vly_content_hash(&file->header, file->table);
    if (memcmp(&hash, &file->header.hash, sizeof(hash)))
        return vly_file_damaged(file, "hash of the content is wrong");
    VLY_TRY(gaps_verify(file));
out:
    return status;
}

/* ---- synapses --------------------------------------------------------- */

typedef struct synapse_work {
    const vly_connectome *connectome;
    const char **faults; /* [n_projections] NULL: none */
} synapse_work;

/* Weights of one sign, up to the bound. */
static const char *learning_fault(const vly_projection_desc *desc,
                                  uint64_t first, uint64_t last)
{
    bool negative = desc->learning->flags & VLY_LEARNING_NEGATIVE;
    int32_t most = (int32_t)(desc->learning->most >> 16);
    for (uint64_t i = first; i < last; i++) {
        int32_t size = negative ? -desc->weight[i] : desc->weight[i];
        if (size < 0 || size > most)
            return "a weight is not within the bound of its learning";
    }
    return NULL;
}

/* Whether one row is inside its projection and its area, ascending. */
static const char *row_fault(const vly_projection_desc *desc, uint64_t first,
                             uint64_t last, const vly_connectome_area *to,
                             bool gain)
{
    uint32_t before = to->first;
    for (uint64_t i = first; i < last; i++) {
        uint32_t target = desc->target[i];
        if (target < before)
            return "a target does not ascend or is before its area";
        if (target - to->first >= to->n_neurons)
            return "a target is after its area";
        before = target;
        if (desc->delay && desc->delay[i] > desc->delay_max)
            return "a delay is above its largest";
        if (gain &&
            (vly_weight_at(desc, i) < -255 || vly_weight_at(desc, i) > 255))
            return "a weight is not within -255 to 255";
    }
    return desc->learning ? learning_fault(desc, first, last) : NULL;
}

static void synapse_task(void *arg, uint64_t task)
{
    synapse_work *work = arg;
    const vly_connectome *connectome = work->connectome;
    const vly_projection_desc *desc = &connectome->desc.projections[task];
    const vly_connectome_area *from = &connectome->areas[desc->source_area];
    const vly_connectome_area *to = &connectome->areas[desc->target_area];
    uint64_t n = connectome->projections[task].n_synapses;
    bool gain = desc->flags & VLY_PROJECTION_GAIN;
    for (uint32_t k = 0; k < from->n_neurons && !work->faults[task]; k++) {
        if (desc->row[k + 1] < desc->row[k] || desc->row[k + 1] > n)
            work->faults[task] = "its rows do not ascend";
        else
            work->faults[task] =
                row_fault(desc, desc->row[k], desc->row[k + 1], to, gain);
    }
}

static vly_status synapses_verify(const vly_file_view *file,
                                  const vly_connectome *connectome,
                                  uint32_t n_threads)
{
    vly_status status = VLY_OK;
    uint32_t n = connectome->desc.n_projections;
    synapse_work work = {.connectome = connectome};
    work.faults = vly_calloc(n, sizeof(*work.faults));
    if (!work.faults)
        return vly_fail_nomem(file->error, (uint64_t)n * 8, "a check");
    vly_thread_loop(n_threads, n, synapse_task, &work);
    for (uint32_t p = 0; p < n; p++)
        if (work.faults[p])
            VLY_TRY(vly_file_damaged(
                file, "projection %" PRIu32 " (map %s): %s", p,
                connectome->projections[p].map, work.faults[p]));
out:
    vly_free(work.faults);
    return status;
}

static vly_status degrees_verify(const vly_file_view *file,
                                 const vly_connectome *connectome)
{
    vly_status status = VLY_OK;
    const vly_net_desc *desc = &connectome->desc;
    uint64_t *degrees = vly_calloc(desc->n_neurons, sizeof(*degrees));
    if (!degrees)
        return vly_fail_nomem(file->error, (uint64_t)desc->n_neurons * 8,
                              "a check");
    for (uint32_t p = 0; p < desc->n_projections; p++) {
        const vly_projection_desc *at = &desc->projections[p];
        const vly_connectome_area *from = &connectome->areas[at->source_area];
        for (uint32_t k = 0; k < from->n_neurons; k++)
            degrees[from->first + k] += at->row[k + 1] - at->row[k];
    }
    for (uint32_t i = 0; i < desc->n_neurons; i++)
        if (degrees[i] != desc->out_degree[i])
            VLY_TRY(vly_file_damaged(file,
                                     "out_degree of neuron %" PRIu32
                                     " is %" PRIu32 ", wanted %" PRIu64,
                                     i, desc->out_degree[i], degrees[i]));
out:
    vly_free(degrees);
    return status;
}

/* ---- neurons and stimuli ---------------------------------------------- */

static bool words_finite(uint32_t type, const uint32_t *words, uint64_t n)
{
    if (type != VLY_TYPE_F32)
        return true;
    for (uint64_t i = 0; i < n; i++)
        if ((words[i] & 0x7f800000u) == 0x7f800000u)
            return false;
    return true;
}

static vly_status area_verify(const vly_file_view *file,
                              const vly_connectome *connectome, uint32_t a,
                              const uint32_t *state)
{
    const vly_connectome_area *area = &connectome->areas[a];
    const vly_area_desc *desc = &connectome->desc.areas[a];
    const vly_model_info *model = area->model;
    for (uint32_t port = 0; port < desc->n_ports; port++)
        for (uint32_t i = 0; i < area->n_neurons; i++)
            if (area->load[port][i] > VLY_BOUND)
                return vly_file_damaged(
                    file, "area %s: load of neuron %" PRIu32 " is above 2^30",
                    area->name, i);
    for (uint32_t f = 0; f < model->n_fields; f++)
        if (!words_finite(model->fields[f].type,
                          state + (uint64_t)f * area->n_neurons,
                          area->n_neurons))
            return vly_file_damaged(file, "area %s: %s is not finite",
                                    area->name, model->fields[f].name);
    for (uint32_t c = 0; c < model->n_coefs; c++)
        if (!words_finite(desc->coefs[c].type, desc->coefs[c].words,
                          desc->coefs[c].uniform ? 1 : area->n_neurons))
            return vly_file_damaged(file, "area %s: %s is not finite",
                                    area->name, model->coefs[c].name);
    return VLY_OK;
}

static bool inputs_good(const vly_connectome *connectome,
                        const vly_connectome_stimulus *stimulus)
{
    const vly_connectome_area *area = &connectome->areas[stimulus->area];
    for (uint64_t i = 0; i < stimulus->n_inputs; i++) {
        const vly_input *input = &stimulus->inputs[i];
        if (input->neuron < area->first ||
            input->neuron - area->first >= area->n_neurons ||
            input->port != stimulus->port ||
            input->value >= (int32_t)VLY_BOUND ||
            input->value <= -(int32_t)VLY_BOUND)
            return false;
        if (i > 0 && (input->burst < input[-1].burst ||
                      (input->burst == input[-1].burst &&
                       input->neuron < input[-1].neuron)))
            return false;
    }
    return true;
}

static vly_status stimuli_verify(const vly_file_view *file,
                                 const vly_connectome *connectome)
{
    for (uint32_t s = 0; s < connectome->n_stimuli; s++)
        if (!inputs_good(connectome, &connectome->stimuli[s]))
            return vly_file_damaged(file, "stimulus %s: its spike list",
                                    connectome->stimuli[s].id);
    for (uint32_t s = 0; s < connectome->desc.n_stimuli; s++) {
        const vly_stimulus_desc *desc = &connectome->desc.stimuli[s];
        for (uint32_t k = 1; k < desc->n_thresholds; k++)
            if (desc->thresholds[k] < desc->thresholds[k - 1])
                return vly_file_damaged(
                    file, "thresholds of stimulus %" PRIu32 " do not ascend",
                    s);
    }
    return VLY_OK;
}

vly_status vly_content_verify(const vly_file_view *file,
                              const vly_connectome *connectome,
                              uint32_t n_threads)
{
    vly_status status;
    const uint32_t *state = connectome->start.state;
    for (uint32_t a = 0; a < connectome->desc.n_areas; a++) {
        VLY_TRY(area_verify(file, connectome, a, state));
        state += (uint64_t)connectome->areas[a].n_neurons *
                 connectome->areas[a].model->n_fields;
    }
    VLY_TRY(synapses_verify(file, connectome, n_threads));
    VLY_TRY(degrees_verify(file, connectome));
    VLY_TRY(stimuli_verify(file, connectome));
    status = VLY_OK;
out:
    return status;
}
