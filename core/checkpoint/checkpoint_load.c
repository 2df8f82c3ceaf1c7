/* SPDX-License-Identifier: Apache-2.0
 * Converts the sections of a file into a state. checkpoint_read.c has checked
 * their checksums; this file checks every count and index of the content.
 * Checks against the connectome are left to vly_state_fits.
 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "checkpoint/checkpoint_format.h"

typedef vly_checkpoint_source loading;

/* Elements of a part. */
static uint64_t count(const loading *work, uint32_t part)
{
    return work->pieces[part].entry.n;
}

/* ---- content ----------------------------------------------------------- */

static void *take(loading *work, uint32_t part)
{
    void *section = work->pieces[part].owned;
    work->pieces[part].owned = NULL;
    return section;
}

static vly_status wrong_count(const loading *work, uint32_t part,
                              uint64_t wanted, vly_error *error)
{
    return vly_checkpoint_damaged(
        error, work->path,
        "section %s has %" PRIu64 " elements, wanted %" PRIu64,
        vly_checkpoint_part_name(part), count(work, part), wanted);
}

static vly_status make_areas(loading *work, vly_state *state, vly_error *error)
{
    const vly_checkpoint_area *areas = work->pieces[VLY_PART_AREAS].owned;
    uint64_t n = count(work, VLY_PART_AREAS);
    if (n > UINT32_MAX)
        return wrong_count(work, VLY_PART_AREAS, UINT32_MAX, error);
    state->n_areas = (uint32_t)n;
    state->areas = vly_calloc(state->n_areas, sizeof *state->areas);
    state->area_spikes = vly_calloc(state->n_areas, sizeof(uint64_t));
    if (!state->areas || !state->area_spikes)
        return vly_fail_nomem(error, n * sizeof *state->areas, "a checkpoint");
    for (uint32_t a = 0; a < state->n_areas; a++) {
        state->areas[a] = areas[a].area;
        state->area_spikes[a] = areas[a].spikes;
    }
    return VLY_OK;
}

static vly_status make_snapshot(loading *work, vly_state *state,
                                vly_error *error)
{
    uint64_t rows = count(work, VLY_PART_FIRED_ROWS);
    if (rows == 0 || rows > UINT32_MAX)
        return wrong_count(work, VLY_PART_FIRED_ROWS, 1, error);
    if (count(work, VLY_PART_GAINS) != count(work, VLY_PART_FIRED))
        return wrong_count(work, VLY_PART_GAINS, count(work, VLY_PART_FIRED),
                           error);
    state->snapshot =
        (vly_snapshot){.struct_size = sizeof(vly_snapshot),
                       .n_fired_bursts = (uint32_t)(rows - 1),
                       .burst = work->header.burst,
                       .n_state_words = count(work, VLY_PART_STATE),
                       .n_fired = count(work, VLY_PART_FIRED),
                       .state = take(work, VLY_PART_STATE),
                       .fired_row = take(work, VLY_PART_FIRED_ROWS),
                       .fired = take(work, VLY_PART_FIRED),
                       .fired_gain = take(work, VLY_PART_GAINS),
                       .n_weight_bytes = count(work, VLY_PART_WEIGHTS)};
    if (state->snapshot.n_weight_bytes > 0)
        state->snapshot.weights = take(work, VLY_PART_WEIGHTS);
    return VLY_OK;
}

static void make_pending(loading *work, vly_state *state)
{
    uint64_t n = count(work, VLY_PART_PENDING);
    state->pending =
        (vly_pending){.entries = take(work, VLY_PART_PENDING), .capacity = n};
    /* sort by the entries, not by their order in the file */
    for (uint64_t i = 0; i < n; i++) {
        vly_pending_input entry = state->pending.entries[i];
        vly_pending_append(&state->pending, &entry);
    }
}

/* Values of the parameters that were changed, one after the other. */
static vly_status take_values(loading *work, vly_overlay *overlay,
                              vly_error *error)
{
    const uint32_t *n_value = work->pieces[VLY_PART_CHANGED].owned;
    const double *values = work->pieces[VLY_PART_VALUES].owned;
    uint64_t left = count(work, VLY_PART_VALUES);
    for (uint32_t p = 0; p < overlay->n_params; p++) {
        uint32_t n = n_value[p];
        if (n > left)
            return wrong_count(work, VLY_PART_VALUES, n, error);
        if (n == 0)
            continue;
        overlay->values[p] = vly_malloc(n, sizeof **overlay->values);
        if (!overlay->values[p])
            return vly_fail_nomem(error, n * sizeof(double), "parameters");
        memcpy(overlay->values[p], values, n * sizeof(double));
        overlay->n_value[p] = n;
        values += n;
        left -= n;
    }
    if (left != 0)
        return wrong_count(work, VLY_PART_VALUES,
                           count(work, VLY_PART_VALUES) - left, error);
    return VLY_OK;
}

static vly_status make_overlay(loading *work, vly_state *state,
                               vly_error *error)
{
    uint64_t n_params = count(work, VLY_PART_CHANGED);
    uint64_t n_stimuli = count(work, VLY_PART_STIMULI);
    uint64_t sum = 0;
    for (uint32_t a = 0; a < state->n_areas; a++)
        sum += state->areas[a].n_params;
    if (sum != n_params || sum > UINT32_MAX)
        return wrong_count(work, VLY_PART_CHANGED, sum, error);
    if (n_stimuli > UINT32_MAX)
        return wrong_count(work, VLY_PART_STIMULI, UINT32_MAX, error);
    vly_status status = VLY_OK;
    VLY_TRY(vly_overlay_alloc(state->n_areas, (uint32_t)n_params,
                              (uint32_t)n_stimuli, &state->overlay, error));
    vly_overlay *overlay = state->overlay;
    for (uint32_t a = 0; a < state->n_areas; a++)
        overlay->first[a + 1] = overlay->first[a] + state->areas[a].n_params;
    if (n_stimuli > 0)
        memcpy(overlay->stimuli, work->pieces[VLY_PART_STIMULI].owned,
               (size_t)n_stimuli * sizeof *overlay->stimuli);
    status = take_values(work, overlay, error);
out:
    return status;
}

static vly_status make_state(loading *work, vly_state *state, vly_error *error)
{
    const vly_checkpoint_header *header = &work->header;
    vly_error why = VLY_ERROR_INIT;
    vly_status status = VLY_OK;
    state->genome_hash = header->genome_hash;
    state->connectome_hash = header->connectome_hash;
    if (header->version > 1)
        state->connectome_digest = header->connectome_digest;
    state->n_neurons = header->n_neurons;
    state->digest = header->digest;
    state->counters = (vly_counters){.spikes = header->spikes,
                                     .events = header->events,
                                     .candidates = header->candidates};
    VLY_TRY(make_areas(work, state, error));
    VLY_TRY(make_snapshot(work, state, error));
    make_pending(work, state);
    VLY_TRY(make_overlay(work, state, error));
    if (vly_state_shape_check(state, &why) != VLY_OK)
        return vly_checkpoint_damaged(error, work->path, "%s", why.message);
out:
    return status;
}

static vly_status check_digest(const loading *work, const vly_state *state,
                               vly_error *error)
{
    if (vly_state_words_digest(state) == work->header.state_digest)
        return VLY_OK;
    return vly_checkpoint_damaged(error, work->path,
                                  "the state has another digest than the "
                                  "header says");
}

/* ---- recordings -------------------------------------------------------- */

/* One text for all paths, each with its end. */
static vly_status make_recordings(loading *work, vly_checkpoint *made,
                                  vly_error *error)
{
    const vly_checkpoint_recording *from =
        work->pieces[VLY_PART_RECORDINGS].owned;
    const char *text = work->pieces[VLY_PART_TEXT].owned;
    uint64_t n = count(work, VLY_PART_RECORDINGS);
    uint64_t n_text = count(work, VLY_PART_TEXT);
    uint64_t at = 0;
    uint32_t seen = 0;
    if (n > VLY_RECORDINGS)
        return wrong_count(work, VLY_PART_RECORDINGS, VLY_RECORDINGS, error);
    made->recordings = vly_calloc((size_t)n, sizeof *made->recordings);
    made->text = vly_calloc((size_t)n_text + (size_t)n, 1);
    if (!made->recordings || !made->text)
        return vly_fail_nomem(error, n_text + n * sizeof *made->recordings,
                              "a checkpoint");
    for (uint32_t r = 0; r < n; r++) {
        if (from[r].path != at || from[r].path_bytes > n_text - at ||
            memchr(text + at, 0, from[r].path_bytes))
            return wrong_count(work, VLY_PART_TEXT, at, error);
        if (from[r].kind < VLY_RECORDING_SPIKES ||
            from[r].kind > VLY_RECORDINGS || (seen & 1u << from[r].kind) != 0)
            return vly_checkpoint_damaged(error, work->path,
                                          "a recording of kind %" PRIu32,
                                          from[r].kind);
        seen |= 1u << from[r].kind;
        char *path = made->text + at + r;
        memcpy(path, text + at, from[r].path_bytes);
        at += from[r].path_bytes;
        made->recordings[r] = (vly_recording){.kind = from[r].kind,
                                              .path = path,
                                              .n_bytes = from[r].n_bytes,
                                              .n_entries = from[r].n_entries,
                                              .tail = from[r].tail,
                                              .selection = from[r].selection};
    }
    made->n_recordings = (uint32_t)n;
    return at == n_text ? VLY_OK : wrong_count(work, VLY_PART_TEXT, at, error);
}

/* ---- weights and traces ------------------------------------------------ */

static vly_status make_others(loading *work, vly_checkpoint *made,
                              vly_error *error)
{
    vly_state *state = made->state;
    uint32_t n = work->n_pieces - VLY_PARTS;
    made->weights = vly_calloc(n, sizeof *made->weights);
    made->traces = vly_calloc(n, sizeof *made->traces);
    if (!made->weights || !made->traces)
        return vly_fail_nomem(error, n * sizeof *made->traces, "a checkpoint");
    for (uint32_t i = VLY_PARTS; i < work->n_pieces; i++) {
        const vly_checkpoint_entry *entry = &work->pieces[i].entry;
        if (entry->id == VLY_PART_PLASTIC + 1) {
            made->weights[made->n_weights++] =
                (vly_checkpoint_weights){.projection = entry->index,
                                         .type = (vly_stored)entry->type,
                                         .n = entry->n,
                                         .elements = take(work, i)};
            continue;
        }
        if (entry->id == VLY_PART_LEARNED + 1) {
            state->overlay->n_learned = (uint32_t)entry->n;
            vly_free(state->overlay->learned);
            state->overlay->learned = take(work, i);
            continue;
        }
        if (entry->id == VLY_PART_MEMORIES + 1) {
            state->memory =
                (vly_memory_words){.words = take(work, i), .n_words = entry->n};
            continue;
        }
        if (entry->id == VLY_PART_COUNTS + 1) {
            made->n_counts = entry->n;
            made->counts = take(work, i);
            continue;
        }
        if (entry->index >= state->n_areas ||
            entry->n != state->areas[entry->index].n_neurons)
            return vly_checkpoint_damaged(error, work->path,
                                          "trace %s of area %" PRIu32
                                          " has %" PRIu64
                                          " values, not one of each neuron",
                                          entry->name, entry->index, entry->n);
        vly_checkpoint_trace *trace = &made->traces[made->n_traces++];
        *trace = (vly_checkpoint_trace){.area = entry->index,
                                        .type = (vly_stored)entry->type,
                                        .n = entry->n,
                                        .elements = take(work, i)};
        memcpy(trace->name, entry->name, sizeof trace->name);
    }
    return VLY_OK;
}

vly_status vly_checkpoint_can_run(const vly_checkpoint *checkpoint,
                                  const char *path, vly_error *error)
{
    if (checkpoint->n_weights == 0 && checkpoint->n_traces == 0)
        return VLY_OK;
    return vly_fail(error, VLY_E_UNSUPPORTED,
                    "%s: checkpoint with weights of %" PRIu32
                    " projections and %" PRIu32
                    " traces that change while a net runs, which this engine "
                    "has not; wanted a newer one",
                    path, checkpoint->n_weights, checkpoint->n_traces);
}

/* ---- all --------------------------------------------------------------- */

static vly_status make_sections(const loading *work, vly_checkpoint *made,
                                vly_error *error)
{
    made->sections = vly_calloc(work->n_pieces, sizeof *made->sections);
    if (!made->sections)
        return vly_fail_nomem(error, work->n_pieces * sizeof *made->sections,
                              "a checkpoint");
    made->n_sections = work->n_pieces;
    for (uint32_t i = 0; i < work->n_pieces; i++) {
        const vly_checkpoint_piece *piece = &work->pieces[i];
        vly_checkpoint_section *section = &made->sections[i];
        vly_checkpoint_entry_name(&piece->entry, section->name);
        section->n_bytes = piece->entry.n * piece->entry.element_bytes;
        section->n_stored_bytes = piece->stored_bytes;
        section->n_frames = piece->entry.n_frames;
    }
    return VLY_OK;
}

static void fill_about(const loading *work, vly_checkpoint_about *about)
{
    *about = (vly_checkpoint_about){.version = work->header.version,
                                    .n_file_bytes = work->n_bytes};
    memcpy(about->engine, work->header.engine, sizeof about->engine);
}

vly_status vly_checkpoint_load(const char *path, vly_checkpoint **checkpoint,
                               vly_checkpoint_about *about, vly_error *error)
{
    loading work = {.path = path, .file = -1};
    vly_status status = VLY_OK;
    vly_checkpoint *made = vly_calloc(1, sizeof *made);
    if (made)
        made->state = vly_calloc(1, sizeof *made->state);
    if (!made || !made->state) {
        status = vly_fail_nomem(error, sizeof *made->state, "a checkpoint");
        goto out;
    }
    VLY_TRY(vly_checkpoint_source_read(&work, error));
    VLY_TRY(make_sections(&work, made, error));
    VLY_TRY(make_state(&work, made->state, error));
    VLY_TRY(make_recordings(&work, made, error));
    VLY_TRY(make_others(&work, made, error));
    VLY_TRY(check_digest(&work, made->state, error));
    made->n_resumes = work.header.n_resumes;
    if (about)
        fill_about(&work, about);
    *checkpoint = made;
    made = NULL;
out:
    vly_checkpoint_source_deinit(&work);
    vly_checkpoint_destroy(made);
    return status;
}

void vly_checkpoint_destroy(vly_checkpoint *checkpoint)
{
    if (!checkpoint)
        return;
    for (uint32_t k = 0; k < checkpoint->n_weights; k++)
        vly_free(checkpoint->weights[k].elements);
    for (uint32_t k = 0; k < checkpoint->n_traces; k++)
        vly_free(checkpoint->traces[k].elements);
    vly_state_destroy(checkpoint->state);
    vly_free(checkpoint->weights);
    vly_free(checkpoint->traces);
    vly_free(checkpoint->sections);
    vly_free(checkpoint->recordings);
    vly_free(checkpoint->counts);
    vly_free(checkpoint->text);
    vly_free(checkpoint);
}

vly_status vly_state_load(const char *path, vly_state **state, vly_error *error)
{
    vly_checkpoint *checkpoint = NULL;
    if (!path || !state)
        return vly_fail(error, VLY_E_INVALID,
                        "vly_state_load: path or state is NULL");
    vly_status status = VLY_OK;
    VLY_TRY(vly_checkpoint_load(path, &checkpoint, NULL, error));
    VLY_TRY(vly_checkpoint_can_run(checkpoint, path, error));
    *state = checkpoint->state;
    checkpoint->state = NULL;
out:
    vly_checkpoint_destroy(checkpoint);
    return status;
}
