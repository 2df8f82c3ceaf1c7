/* SPDX-License-Identifier: Apache-2.0
 * Writes a state to a file. Header and tables are written last into reserved
 * room: no reader opens the file before it has its final name.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "checkpoint/checkpoint_format.h"

/* Data that is built for the file in addition to the state. */
typedef struct saving {
    const vly_checkpoint *checkpoint;
    vly_checkpoint_area *areas;
    vly_checkpoint_recording *recordings;
    double *values; /* of changed parameters, one after the other */
    char *text;
    uint64_t n_values;
    uint64_t n_text;
    vly_checkpoint_piece *pieces; /* [n_pieces] */
    vly_checkpoint_entry *entries;
    vly_checkpoint_frame *frames; /* [n_frames] */
    uint32_t n_pieces;
    uint64_t n_frames;
} saving;

static void saving_deinit(saving *work)
{
    vly_free(work->areas);
    vly_free(work->recordings);
    vly_free(work->values);
    vly_free(work->text);
    vly_free(work->pieces);
    vly_free(work->entries);
    vly_free(work->frames);
}

/* Parameters that were changed, and the recordings' paths, in one piece each.
 */
static vly_status join(saving *work, vly_error *error)
{
    const vly_overlay *overlay = work->checkpoint->state->overlay;
    uint64_t at = 0;
    work->values = vly_malloc((size_t)work->n_values, sizeof *work->values);
    work->text = vly_malloc((size_t)work->n_text, 1);
    if (!work->values || !work->text)
        return vly_fail_nomem(error, work->n_values * sizeof *work->values,
                              "a checkpoint");
    for (uint32_t p = 0; p < overlay->n_params; p++) {
        uint32_t n = overlay->n_value[p];
        if (n > 0)
            memcpy(work->values + at, overlay->values[p],
                   n * sizeof *work->values);
        at += n;
    }
    for (uint32_t r = 0; r < work->checkpoint->n_recordings; r++)
        memcpy(work->text + work->recordings[r].path,
               work->checkpoint->recordings[r].path,
               work->recordings[r].path_bytes);
    return VLY_OK;
}

static vly_status saving_init(saving *work, const vly_checkpoint *checkpoint,
                              vly_error *error)
{
    const vly_state *state = checkpoint->state;
    uint64_t at = 0;
    work->checkpoint = checkpoint;
    work->areas = vly_calloc(state->n_areas, sizeof *work->areas);
    work->recordings =
        vly_calloc(checkpoint->n_recordings, sizeof *work->recordings);
    if (!work->areas || !work->recordings)
        return vly_fail_nomem(error, state->n_areas * sizeof *work->areas,
                              "a checkpoint");
    for (uint32_t a = 0; a < state->n_areas; a++)
        work->areas[a] = (vly_checkpoint_area){.area = state->areas[a],
                                               .spikes = state->area_spikes[a]};
    for (uint32_t p = 0; p < state->overlay->n_params; p++)
        work->n_values += state->overlay->n_value[p];
    for (uint32_t r = 0; r < checkpoint->n_recordings; r++) {
        const vly_recording *from = &checkpoint->recordings[r];
        work->recordings[r] = (vly_checkpoint_recording){
            .kind = from->kind,
            .path_bytes = (uint32_t)strlen(from->path),
            .path = at,
            .n_bytes = from->n_bytes,
            .n_entries = from->n_entries,
            .tail = from->tail,
            .selection = from->selection};
        at += work->recordings[r].path_bytes;
    }
    work->n_text = at;
    return join(work, error);
}

static uint64_t part_count(const saving *work, uint32_t part)
{
    const vly_state *state = work->checkpoint->state;
    const vly_snapshot *snapshot = &state->snapshot;
    switch ((vly_checkpoint_part)part) {
    case VLY_PART_AREAS:
        return state->n_areas;
    case VLY_PART_STATE:
        return snapshot->n_state_words;
    case VLY_PART_FIRED_ROWS:
        return (uint64_t)snapshot->n_fired_bursts + 1;
    case VLY_PART_FIRED:
    case VLY_PART_GAINS:
        return snapshot->n_fired;
    case VLY_PART_PENDING:
        return state->pending.n;
    case VLY_PART_CHANGED:
        return state->overlay->n_params;
    case VLY_PART_VALUES:
        return work->n_values;
    case VLY_PART_STIMULI:
        return state->overlay->n_stimuli;
    case VLY_PART_WEIGHTS:
        return snapshot->n_weight_bytes;
    case VLY_PART_RECORDINGS:
        return work->checkpoint->n_recordings;
    case VLY_PART_TEXT:
        return work->n_text;
    case VLY_PARTS:
    case VLY_PART_TRACE:
    case VLY_PART_LEARNED:
    case VLY_PART_MEMORIES:
    case VLY_PART_COUNTS:
        break;
    }
    return 0;
}

static const void *part_bytes(const saving *work, uint32_t part)
{
    const vly_state *state = work->checkpoint->state;
    switch ((vly_checkpoint_part)part) {
    case VLY_PART_AREAS:
        return work->areas;
    case VLY_PART_STATE:
        return state->snapshot.state;
    case VLY_PART_FIRED_ROWS:
        return state->snapshot.fired_row;
    case VLY_PART_FIRED:
        return state->snapshot.fired;
    case VLY_PART_GAINS:
        return state->snapshot.fired_gain;
    case VLY_PART_PENDING:
        return state->pending.entries;
    case VLY_PART_CHANGED:
        return state->overlay->n_value;
    case VLY_PART_STIMULI:
        return state->overlay->stimuli;
    case VLY_PART_WEIGHTS:
        return state->snapshot.weights;
    case VLY_PART_RECORDINGS:
        return work->recordings;
    case VLY_PART_VALUES:
        return work->values;
    case VLY_PART_TEXT:
        return work->text;
    case VLY_PARTS:
    case VLY_PART_TRACE:
    case VLY_PART_LEARNED:
    case VLY_PART_MEMORIES:
    case VLY_PART_COUNTS:
        break;
    }
    return NULL;
}

/* ---- sections ---------------------------------------------------------- */

static void put_piece(saving *work, uint32_t i, vly_checkpoint_entry entry,
                      const void *bytes)
{
    entry.frame_elements = vly_checkpoint_frame_elements(entry.element_bytes);
    entry.first_frame = work->n_frames;
    entry.n_frames = vly_checkpoint_frame_count(entry.n, entry.element_bytes);
    work->n_frames += entry.n_frames;
    work->pieces[i] = (vly_checkpoint_piece){.entry = entry, .bytes = bytes};
}

static vly_checkpoint_entry typed(uint32_t part, vly_stored type,
                                  uint32_t index, uint64_t n)
{
    return (vly_checkpoint_entry){.id = part + 1,
                                  .type = (uint32_t)type,
                                  .element_bytes = vly_stored_bytes(type),
                                  .n = n,
                                  .index = index};
}

static void put_pieces(saving *work)
{
    const vly_checkpoint *checkpoint = work->checkpoint;
    uint32_t i = 0;
    for (; i < VLY_PARTS; i++)
        put_piece(work, i,
                  (vly_checkpoint_entry){
                      .id = i + 1,
                      .type = (uint32_t)vly_checkpoint_part_type(i),
                      .element_bytes = vly_checkpoint_part_bytes(i),
                      .n = part_count(work, i)},
                  part_bytes(work, i));
    for (uint32_t k = 0; k < checkpoint->n_weights; k++) {
        const vly_checkpoint_weights *at = &checkpoint->weights[k];
        put_piece(work, i++,
                  typed(VLY_PART_PLASTIC, at->type, at->projection, at->n),
                  at->elements);
    }
    for (uint32_t k = 0; k < checkpoint->n_traces; k++) {
        const vly_checkpoint_trace *at = &checkpoint->traces[k];
        vly_checkpoint_entry entry =
            typed(VLY_PART_TRACE, at->type, at->area, at->n);
        memcpy(entry.name, at->name, sizeof entry.name);
        put_piece(work, i++, entry, at->elements);
    }
    const vly_overlay *overlay = checkpoint->state->overlay;
    if (overlay->n_learned > 0)
        put_piece(
            work, i++,
            typed(VLY_PART_LEARNED, VLY_STORED_F64, 0, overlay->n_learned),
            overlay->learned);
    const vly_memory_words *memory = &checkpoint->state->memory;
    if (memory->n_words > 0)
        put_piece(work, i++,
                  typed(VLY_PART_MEMORIES, VLY_STORED_U32, 0, memory->n_words),
                  memory->words);
    if (checkpoint->n_counts > 0)
        put_piece(
            work, i++,
            typed(VLY_PART_COUNTS, VLY_STORED_U64, 0, checkpoint->n_counts),
            checkpoint->counts);
}

/* Sections that a reader would refuse are not written. */
static vly_status check_pieces(const saving *work, vly_error *error)
{
    const vly_state *state = work->checkpoint->state;
    for (uint32_t i = VLY_PARTS; i < work->n_pieces; i++) {
        const vly_checkpoint_entry *entry = &work->pieces[i].entry;
        const char *fault = vly_checkpoint_entry_fault(
            entry, i > VLY_PARTS ? &work->pieces[i - 1].entry : NULL);
        char name[64];
        if (!fault && entry->id == VLY_PART_TRACE + 1 &&
            (entry->index >= state->n_areas ||
             entry->n != state->areas[entry->index].n_neurons))
            fault = "has not as many values as its area neurons";
        if (!fault)
            continue;
        vly_checkpoint_entry_name(entry, name);
        return vly_fail(error, VLY_E_INVALID, "a checkpoint: section %s %s",
                        name, fault);
    }
    return VLY_OK;
}

static vly_status make_pieces(saving *work, vly_error *error)
{
    const vly_checkpoint *checkpoint = work->checkpoint;
    work->n_pieces = VLY_PARTS + checkpoint->n_weights + checkpoint->n_traces +
                     (checkpoint->state->overlay->n_learned > 0) +
                     (checkpoint->state->memory.n_words > 0) +
                     (checkpoint->n_counts > 0);
    work->pieces = vly_calloc(work->n_pieces, sizeof *work->pieces);
    work->entries = vly_calloc(work->n_pieces, sizeof *work->entries);
    if (!work->pieces || !work->entries)
        return vly_fail_nomem(error, work->n_pieces * sizeof *work->pieces,
                              "a checkpoint");
    put_pieces(work);
    for (uint32_t i = 0; i < work->n_pieces; i++)
        work->entries[i] = work->pieces[i].entry;
    work->frames = vly_calloc((size_t)work->n_frames, sizeof *work->frames);
    if (!work->frames)
        return vly_fail_nomem(error, work->n_frames * sizeof *work->frames,
                              "a checkpoint");
    return check_pieces(work, error);
}

/* ---- the file ---------------------------------------------------------- */

static void fill_header(const saving *work, uint64_t file_bytes,
                        vly_checkpoint_header *header)
{
    const vly_state *state = work->checkpoint->state;
    *header = (vly_checkpoint_header){
        .version = VLY_CHECKPOINT_VERSION,
        .endian = VLY_CHECKPOINT_ENDIAN,
        .file_bytes = file_bytes,
        .n_sections = work->n_pieces,
        .entry_bytes = sizeof(vly_checkpoint_entry),
        .genome_hash = state->genome_hash,
        .connectome_hash = state->connectome_hash,
        .connectome_digest = state->connectome_digest,
        .burst = state->snapshot.burst,
        .digest = state->digest,
        .state_digest = vly_state_words_digest(state),
        .spikes = state->counters.spikes,
        .events = state->counters.events,
        .candidates = state->counters.candidates,
        .n_neurons = state->n_neurons,
        .n_resumes = work->checkpoint->n_resumes,
        .n_frames = work->n_frames,
        .frames_checksum = vly_checkpoint_table_sum(
            work->frames, (size_t)work->n_frames * sizeof *work->frames),
        .table_checksum = vly_checkpoint_table_sum(
            work->entries, work->n_pieces * sizeof *work->entries)};
    memcpy(header->magic, VLY_CHECKPOINT_MAGIC, sizeof header->magic);
    size_t n = strlen(vly_version());
    memcpy(header->engine, vly_version(),
           n < sizeof header->engine ? n : sizeof header->engine - 1);
    header->header_checksum = vly_checkpoint_header_sum(header);
}

static vly_status fail_write(vly_error *error, const char *path)
{
    return vly_fail(error, VLY_E_IO, "%s: cannot be written: %s", path,
                    strerror(errno));
}

static vly_status write_all(saving *work, int file, const char *path,
                            uint64_t *n_bytes, vly_error *error)
{
    vly_checkpoint_header header;
    size_t n_entries = work->n_pieces * sizeof *work->entries;
    size_t n_frames = (size_t)work->n_frames * sizeof *work->frames;
    uint64_t at = sizeof header + n_entries + n_frames;
    vly_status status = VLY_OK;
    VLY_TRY(vly_frames_write(file, path, work->pieces, work->n_pieces,
                             work->frames, &at, error));
    fill_header(work, at, &header);
    if (lseek(file, 0, SEEK_SET) < 0 ||
        !vly_checkpoint_write(file, &header, sizeof header) ||
        !vly_checkpoint_write(file, work->entries, n_entries) ||
        !vly_checkpoint_write(file, work->frames, n_frames))
        status = fail_write(error, path);
    *n_bytes = at;
out:
    return status;
}

vly_status vly_checkpoint_save(const vly_checkpoint *checkpoint,
                               const char *path, uint32_t keep, uint64_t *bytes,
                               vly_error *error)
{
    vly_checkpoint_temporary temporary = {.file = -1};
    saving work = {0};
    uint64_t n_bytes = 0;
    vly_status status = VLY_OK;
    VLY_TRY(saving_init(&work, checkpoint, error));
    VLY_TRY(make_pieces(&work, error));
    VLY_TRY(vly_checkpoint_temporary_open(path, &temporary, error));
    VLY_TRY(write_all(&work, temporary.file, path, &n_bytes, error));
    VLY_TRY(vly_checkpoint_temporary_keep(&temporary, keep, error));
    if (bytes)
        *bytes = n_bytes;
out:
    vly_checkpoint_temporary_drop(&temporary);
    saving_deinit(&work);
    return status;
}

vly_status vly_state_save(const vly_state *state, const char *path,
                          vly_error *error)
{
    union {
        const vly_state *given;
        vly_state *held; /* not written to */
    } as = {.given = state};
    vly_checkpoint checkpoint = {.state = as.held};
    if (!state || !path)
        return vly_fail(error, VLY_E_INVALID,
                        "vly_state_save: state or path is NULL");
    return vly_checkpoint_save(&checkpoint, path, 1, NULL, error);
}
