/* SPDX-License-Identifier: Apache-2.0
 * A file into a state. Nothing in it is believed before it is checked: magic,
 * version, sizes, checksums, then every count and index of the content; only
 * what follows from the connectome is left to vly_state_fits.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "checkpoint/checkpoint_format.h"

typedef struct loading {
    const char *path;
    int file;
    uint64_t n_bytes;
    vly_checkpoint_header header;
    vly_checkpoint_entry table[VLY_PARTS];
    void *sections[VLY_PARTS]; /* unpacked, until the state takes them */
} loading;

static vly_status read_at(const loading *work, uint64_t offset, void *to,
                          size_t n, vly_error *error)
{
    unsigned char *bytes = to;
    for (size_t at = 0; at < n;) {
        ssize_t done =
            pread(work->file, bytes + at, n - at, (off_t)(offset + at));
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return vly_fail(error, VLY_E_IO, "%s: cannot be read: %s",
                            work->path, strerror(errno));
        if (done == 0)
            return vly_checkpoint_damaged(error, work->path,
                                          "cut while it was being read");
        at += (size_t)done;
    }
    return VLY_OK;
}

/* ---- header and table -------------------------------------------------- */

static vly_status check_version(const loading *work, vly_error *error)
{
    uint32_t found = work->header.version;
    if (found == VLY_CHECKPOINT_VERSION)
        return VLY_OK;
    return vly_fail(error, VLY_E_PARSE,
                    "%s: checkpoint of version %" PRIu32
                    ", %s than the version %u that this engine reads",
                    work->path, found,
                    found < VLY_CHECKPOINT_VERSION ? "older" : "newer",
                    VLY_CHECKPOINT_VERSION);
}

/* Magic and version have their place in every version, so they are looked at
 * even where the rest is missing. */
static vly_status check_magic(loading *work, vly_error *error)
{
    size_t n = sizeof work->header;
    n = work->n_bytes < n ? (size_t)work->n_bytes : n;
    vly_status status = read_at(work, 0, &work->header, n, error);
    if (status != VLY_OK)
        return status;
    size_t n_magic = sizeof work->header.magic;
    if (memcmp(work->header.magic, VLY_CHECKPOINT_MAGIC,
               n < n_magic ? n : n_magic) != 0)
        return vly_fail(error, VLY_E_PARSE,
                        "%s: not a checkpoint: it does not begin with %s",
                        work->path, VLY_CHECKPOINT_MAGIC);
    if (n >= offsetof(vly_checkpoint_header, file_bytes)) {
        if (work->header.endian != VLY_CHECKPOINT_ENDIAN)
            return vly_checkpoint_damaged(
                error, work->path,
                "byte order 0x%08" PRIX32 ", wanted 0x%08" PRIX32,
                work->header.endian, VLY_CHECKPOINT_ENDIAN);
        status = check_version(work, error);
    }
    if (status == VLY_OK && work->n_bytes < VLY_CHECKPOINT_HEAD_BYTES)
        return vly_checkpoint_damaged(
            error, work->path, "%" PRIu64 " bytes, wanted at least %zu (cut)",
            work->n_bytes, VLY_CHECKPOINT_HEAD_BYTES);
    return status;
}

static vly_status check_header(loading *work, vly_error *error)
{
    const vly_checkpoint_header *header = &work->header;
    vly_status status = check_magic(work, error);
    if (status != VLY_OK)
        return status;
    vly_hash sum = vly_checkpoint_header_sum(header);
    if (memcmp(&sum, &header->header_checksum, sizeof sum) != 0)
        return vly_checkpoint_damaged(error, work->path,
                                      "checksum of the header is wrong");
    if (header->file_bytes != work->n_bytes)
        return vly_checkpoint_damaged(error, work->path,
                                      "%" PRIu64 " bytes, wanted %" PRIu64
                                      " (cut or grown)",
                                      work->n_bytes, header->file_bytes);
    if (header->n_sections != VLY_PARTS ||
        header->entry_bytes != sizeof(vly_checkpoint_entry))
        return vly_checkpoint_damaged(
            error, work->path,
            "%" PRIu32 " sections with entries of %" PRIu32
            " bytes, wanted %d of %zu",
            header->n_sections, header->entry_bytes, (int)VLY_PARTS,
            sizeof(vly_checkpoint_entry));
    if (memchr(header->engine, 0, sizeof header->engine) == NULL)
        return vly_checkpoint_damaged(error, work->path,
                                      "the engine's version does not end");
    return VLY_OK;
}

static const uint32_t element_bytes[VLY_PARTS] = {
#define VLY_PART_BYTES(NAME, name, bytes) bytes,
    VLY_CHECKPOINT_TABLE(VLY_PART_BYTES)
#undef VLY_PART_BYTES
};

static vly_status check_entry(const loading *work, uint32_t part, uint64_t at,
                              vly_error *error)
{
    const vly_checkpoint_entry *entry = &work->table[part];
    const char *name = vly_checkpoint_part_name(part);
    uint64_t left = work->n_bytes - at;
    if (entry->id != part + 1 || entry->element_bytes != element_bytes[part] ||
        entry->offset != at)
        return vly_checkpoint_damaged(
            error, work->path, "section %s is not where it should be", name);
    if (entry->stored_bytes > left)
        return vly_checkpoint_damaged(error, work->path,
                                      "section %s has %" PRIu64
                                      " bytes, %" PRIu64 " are left",
                                      name, entry->stored_bytes, left);
    uint64_t most = entry->stored_bytes < UINT64_MAX / VLY_CHECKPOINT_RATIO_MAX
                        ? entry->stored_bytes * VLY_CHECKPOINT_RATIO_MAX
                        : UINT64_MAX;
    if (entry->n > most / entry->element_bytes ||
        (entry->n == 0) != (entry->stored_bytes == 0))
        return vly_checkpoint_damaged(error, work->path,
                                      "section %s claims %" PRIu64
                                      " elements in %" PRIu64 " bytes",
                                      name, entry->n, entry->stored_bytes);
    return VLY_OK;
}

static vly_status check_table(loading *work, vly_error *error)
{
    uint64_t at = VLY_CHECKPOINT_HEAD_BYTES;
    vly_status status = VLY_OK;
    VLY_TRY(read_at(work, sizeof work->header, work->table, sizeof work->table,
                    error));
    vly_hash sum = vly_checkpoint_table_sum(work->table);
    if (memcmp(&sum, &work->header.table_checksum, sizeof sum) != 0)
        return vly_checkpoint_damaged(
            error, work->path, "checksum of the table of sections is wrong");
    for (uint32_t part = 0; part < VLY_PARTS; part++) {
        VLY_TRY(check_entry(work, part, at, error));
        at += work->table[part].stored_bytes;
    }
    if (at != work->n_bytes)
        return vly_checkpoint_damaged(
            error, work->path, "%" PRIu64 " bytes behind the last section",
            work->n_bytes - at);
out:
    return status;
}

static vly_status unpack_all(loading *work, vly_error *error)
{
    for (uint32_t part = 0; part < VLY_PARTS; part++) {
        const vly_checkpoint_entry *entry = &work->table[part];
        work->sections[part] =
            vly_malloc((size_t)entry->n, entry->element_bytes);
        if (!work->sections[part])
            return vly_fail_nomem(error, entry->n * entry->element_bytes,
                                  "a checkpoint");
        vly_status status = vly_unpack(work->file, work->path, entry,
                                       work->sections[part], error);
        if (status != VLY_OK)
            return status;
    }
    return VLY_OK;
}

/* ---- content ----------------------------------------------------------- */

static void *take(loading *work, uint32_t part)
{
    void *section = work->sections[part];
    work->sections[part] = NULL;
    return section;
}

static vly_status wrong_count(const loading *work, uint32_t part,
                              uint64_t wanted, vly_error *error)
{
    return vly_checkpoint_damaged(
        error, work->path,
        "section %s has %" PRIu64 " elements, wanted %" PRIu64,
        vly_checkpoint_part_name(part), work->table[part].n, wanted);
}

static vly_status make_areas(loading *work, vly_state *state, vly_error *error)
{
    const vly_checkpoint_area *areas = work->sections[VLY_PART_AREAS];
    uint64_t n = work->table[VLY_PART_AREAS].n;
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
    const vly_checkpoint_entry *table = work->table;
    uint64_t rows = table[VLY_PART_FIRED_ROWS].n;
    if (rows == 0 || rows > UINT32_MAX)
        return wrong_count(work, VLY_PART_FIRED_ROWS, 1, error);
    if (table[VLY_PART_GAINS].n != table[VLY_PART_FIRED].n)
        return wrong_count(work, VLY_PART_GAINS, table[VLY_PART_FIRED].n,
                           error);
    state->snapshot =
        (vly_snapshot){.struct_size = sizeof(vly_snapshot),
                       .n_fired_bursts = (uint32_t)(rows - 1),
                       .burst = work->header.burst,
                       .n_state_words = table[VLY_PART_STATE].n,
                       .n_fired = table[VLY_PART_FIRED].n,
                       .state = take(work, VLY_PART_STATE),
                       .fired_row = take(work, VLY_PART_FIRED_ROWS),
                       .fired = take(work, VLY_PART_FIRED),
                       .fired_gain = take(work, VLY_PART_GAINS),
                       .n_weight_bytes = table[VLY_PART_WEIGHTS].n};
    if (state->snapshot.n_weight_bytes > 0)
        state->snapshot.weights = take(work, VLY_PART_WEIGHTS);
    return VLY_OK;
}

static void make_pending(loading *work, vly_state *state)
{
    uint64_t n = work->table[VLY_PART_PENDING].n;
    state->pending =
        (vly_pending){.entries = take(work, VLY_PART_PENDING), .capacity = n};
    /* sorted is what the entries say, not what the file does */
    for (uint64_t i = 0; i < n; i++) {
        vly_pending_input entry = state->pending.entries[i];
        vly_pending_append(&state->pending, &entry);
    }
}

/* Values of the parameters that were changed, one after the other. */
static vly_status take_values(loading *work, vly_overlay *overlay,
                              vly_error *error)
{
    const uint32_t *n_value = work->sections[VLY_PART_CHANGED];
    const double *values = work->sections[VLY_PART_VALUES];
    uint64_t left = work->table[VLY_PART_VALUES].n;
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
                           work->table[VLY_PART_VALUES].n - left, error);
    return VLY_OK;
}

static vly_status make_overlay(loading *work, vly_state *state,
                               vly_error *error)
{
    uint64_t n_params = work->table[VLY_PART_CHANGED].n;
    uint64_t n_stimuli = work->table[VLY_PART_STIMULI].n;
    uint64_t sum = 0;
    for (uint32_t a = 0; a < state->n_areas; a++)
        sum += state->areas[a].n_params;
    if (sum != n_params || sum > UINT32_MAX)
        return wrong_count(work, VLY_PART_CHANGED, sum, error);
    if (n_stimuli > UINT32_MAX)
        return wrong_count(work, VLY_PART_STIMULI, UINT32_MAX, error);
    vly_status status =
        vly_overlay_alloc(state->n_areas, (uint32_t)n_params,
                          (uint32_t)n_stimuli, &state->overlay, error);
    if (status != VLY_OK)
        return status;
    vly_overlay *overlay = state->overlay;
    for (uint32_t a = 0; a < state->n_areas; a++)
        overlay->first[a + 1] = overlay->first[a] + state->areas[a].n_params;
    if (n_stimuli > 0)
        memcpy(overlay->stimuli, work->sections[VLY_PART_STIMULI],
               (size_t)n_stimuli * sizeof *overlay->stimuli);
    return take_values(work, overlay, error);
}

static vly_status make_state(loading *work, vly_state *state, vly_error *error)
{
    const vly_checkpoint_header *header = &work->header;
    vly_error why = VLY_ERROR_INIT;
    vly_status status = VLY_OK;
    state->genome_hash = header->genome_hash;
    state->connectome_hash = header->connectome_hash;
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
    if (vly_state_words_digest(state) != header->state_digest)
        status = vly_checkpoint_damaged(error, work->path,
                                        "the state has another digest than "
                                        "the header says");
out:
    return status;
}

/* ---- recordings -------------------------------------------------------- */

/* One text for all paths, each with its end. */
static vly_status make_recordings(loading *work, vly_checkpoint *made,
                                  vly_error *error)
{
    const vly_checkpoint_recording *from = work->sections[VLY_PART_RECORDINGS];
    const char *text = work->sections[VLY_PART_TEXT];
    uint64_t n = work->table[VLY_PART_RECORDINGS].n;
    uint64_t n_text = work->table[VLY_PART_TEXT].n;
    uint64_t at = 0;
    uint32_t seen = 0;
    if (n > 2)
        return wrong_count(work, VLY_PART_RECORDINGS, 2, error);
    made->recordings = vly_calloc((size_t)n, sizeof *made->recordings);
    made->text = vly_calloc((size_t)n_text + (size_t)n, 1);
    if (!made->recordings || !made->text)
        return vly_fail_nomem(error, n_text + n * sizeof *made->recordings,
                              "a checkpoint");
    for (uint32_t r = 0; r < n; r++) {
        if (from[r].path != at || from[r].path_bytes > n_text - at ||
            memchr(text + at, 0, from[r].path_bytes) != NULL)
            return wrong_count(work, VLY_PART_TEXT, at, error);
        if (from[r].kind < VLY_RECORDING_SPIKES ||
            from[r].kind > VLY_RECORDING_DIGESTS ||
            (seen & 1u << from[r].kind) != 0)
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

/* ---- all --------------------------------------------------------------- */

static vly_status open_file(loading *work, vly_error *error)
{
    struct stat info;
    /* a pipe that nobody writes to would be waited for */
    work->file = open(work->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (work->file < 0 || fstat(work->file, &info) != 0)
        return vly_fail(error, VLY_E_IO, "%s: cannot be read: %s", work->path,
                        strerror(errno));
    if (!S_ISREG(info.st_mode))
        return vly_fail(error, S_ISDIR(info.st_mode) ? VLY_E_IO : VLY_E_INVALID,
                        "%s: cannot be read: not a file, wanted a checkpoint",
                        work->path);
    work->n_bytes = (uint64_t)info.st_size;
    return VLY_OK;
}

static void fill_about(const loading *work, vly_checkpoint_about *about)
{
    *about = (vly_checkpoint_about){.version = work->header.version,
                                    .n_file_bytes = work->n_bytes,
                                    .n_sections = VLY_PARTS};
    memcpy(about->engine, work->header.engine, sizeof about->engine);
    for (uint32_t part = 0; part < VLY_PARTS; part++) {
        const vly_checkpoint_entry *entry = &work->table[part];
        about->sections[part] =
            (vly_checkpoint_section){.name = vly_checkpoint_part_name(part),
                                     .n_bytes = entry->n * entry->element_bytes,
                                     .n_stored_bytes = entry->stored_bytes};
    }
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
    VLY_TRY(open_file(&work, error));
    VLY_TRY(check_header(&work, error));
    VLY_TRY(check_table(&work, error));
    VLY_TRY(unpack_all(&work, error));
    VLY_TRY(make_state(&work, made->state, error));
    VLY_TRY(make_recordings(&work, made, error));
    made->n_resumes = work.header.n_resumes;
    if (about)
        fill_about(&work, about);
    *checkpoint = made;
    made = NULL;
out:
    if (work.file >= 0)
        close(work.file);
    for (uint32_t part = 0; part < VLY_PARTS; part++)
        vly_free(work.sections[part]);
    vly_checkpoint_destroy(made);
    return status;
}

void vly_checkpoint_destroy(vly_checkpoint *checkpoint)
{
    if (!checkpoint)
        return;
    vly_state_destroy(checkpoint->state);
    vly_free(checkpoint->recordings);
    vly_free(checkpoint->text);
    vly_free(checkpoint);
}

vly_status vly_state_load(const char *path, vly_state **state, vly_error *error)
{
    vly_checkpoint *checkpoint = NULL;
    if (!path || !state)
        return vly_fail(error, VLY_E_INVALID,
                        "vly_state_load: path or state is NULL");
    vly_status status = vly_checkpoint_load(path, &checkpoint, NULL, error);
    if (status != VLY_OK)
        return status;
    *state = checkpoint->state;
    checkpoint->state = NULL;
    vly_checkpoint_destroy(checkpoint);
    return VLY_OK;
}
