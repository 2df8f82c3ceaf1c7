/* SPDX-License-Identifier: Apache-2.0
 * A state into a file. The sections go out as they are packed; header and table
 * are written last, into the room left for them: until the file is renamed
 * nobody looks at it.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "checkpoint/checkpoint_format.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "checkpoints are made from memory as it lies: little-endian only"
#endif

static const struct {
    const char *name;
    uint32_t bytes;
} parts[VLY_PARTS] = {
#define VLY_PART_ROW(NAME, name, bytes) {name, bytes},
    VLY_CHECKPOINT_TABLE(VLY_PART_ROW)
#undef VLY_PART_ROW
};

const char *vly_checkpoint_part_name(uint32_t part)
{
    return part < VLY_PARTS ? parts[part].name : "?";
}

vly_hash vly_checkpoint_header_sum(const vly_checkpoint_header *header)
{
    return vly_hash_bytes((vly_hash){{0, 0}}, header,
                          offsetof(vly_checkpoint_header, header_checksum));
}

vly_hash vly_checkpoint_table_sum(const vly_checkpoint_entry table[VLY_PARTS])
{
    return vly_hash_bytes((vly_hash){{0, 0}}, table, VLY_PARTS * sizeof *table);
}

/* What is made for the file, beside what the state holds anyway. */
typedef struct saving {
    const vly_checkpoint *checkpoint;
    vly_checkpoint_area *areas;
    vly_checkpoint_recording *recordings;
    uint64_t n_values;
    uint64_t n_text;
    vly_checkpoint_entry table[VLY_PARTS];
    vly_pack *pack;
} saving;

static void saving_deinit(saving *work)
{
    vly_pack_destroy(work->pack);
    vly_free(work->areas);
    vly_free(work->recordings);
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
    return VLY_OK;
}

/* Where the elements of a section are, if in one piece. */
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
    case VLY_PART_VALUES: /* in pieces */
    case VLY_PART_TEXT:
    case VLY_PARTS:
        break;
    }
    return NULL;
}

static vly_status pack_pieces(const saving *work, uint32_t part,
                              vly_error *error)
{
    const vly_overlay *overlay = work->checkpoint->state->overlay;
    vly_status status = VLY_OK;
    if (part == VLY_PART_VALUES)
        for (uint32_t p = 0; p < overlay->n_params; p++)
            VLY_TRY(vly_pack_bytes(work->pack, overlay->values[p],
                                   8 * (uint64_t)overlay->n_value[p], error));
    if (part == VLY_PART_TEXT)
        for (uint32_t r = 0; r < work->checkpoint->n_recordings; r++)
            VLY_TRY(vly_pack_bytes(
                work->pack, work->checkpoint->recordings[r].path,
                strlen(work->checkpoint->recordings[r].path), error));
out:
    return status;
}

static vly_status pack_part(saving *work, uint32_t part, uint64_t *at,
                            vly_error *error)
{
    vly_checkpoint_entry *entry = &work->table[part];
    const void *bytes = part_bytes(work, part);
    vly_status status = VLY_OK;
    *entry = (vly_checkpoint_entry){.id = part + 1,
                                    .element_bytes = parts[part].bytes,
                                    .n = part_count(work, part),
                                    .offset = *at};
    uint64_t n_bytes = entry->n * entry->element_bytes;
    VLY_TRY(vly_pack_begin(work->pack, entry->id, n_bytes, error));
    if (bytes)
        VLY_TRY(vly_pack_bytes(work->pack, bytes, n_bytes, error));
    else
        VLY_TRY(pack_pieces(work, part, error));
    VLY_TRY(vly_pack_end(work->pack, entry, error));
    *at += entry->stored_bytes;
out:
    return status;
}

static void fill_header(const saving *work, uint64_t file_bytes,
                        vly_checkpoint_header *header)
{
    const vly_state *state = work->checkpoint->state;
    *header = (vly_checkpoint_header){
        .version = VLY_CHECKPOINT_VERSION,
        .endian = VLY_CHECKPOINT_ENDIAN,
        .file_bytes = file_bytes,
        .n_sections = VLY_PARTS,
        .entry_bytes = sizeof(vly_checkpoint_entry),
        .genome_hash = state->genome_hash,
        .connectome_hash = state->connectome_hash,
        .burst = state->snapshot.burst,
        .digest = state->digest,
        .state_digest = vly_state_words_digest(state),
        .spikes = state->counters.spikes,
        .events = state->counters.events,
        .candidates = state->counters.candidates,
        .n_neurons = state->n_neurons,
        .n_resumes = work->checkpoint->n_resumes,
        .table_checksum = vly_checkpoint_table_sum(work->table)};
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
    uint64_t at = VLY_CHECKPOINT_HEAD_BYTES;
    vly_status status = VLY_OK;
    if (lseek(file, (off_t)at, SEEK_SET) < 0)
        return fail_write(error, path);
    VLY_TRY(vly_pack_create(file, path, &work->pack, error));
    for (uint32_t part = 0; part < VLY_PARTS; part++)
        VLY_TRY(pack_part(work, part, &at, error));
    fill_header(work, at, &header);
    if (lseek(file, 0, SEEK_SET) < 0 ||
        !vly_checkpoint_write(file, &header, sizeof header) ||
        !vly_checkpoint_write(file, work->table, sizeof work->table))
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
