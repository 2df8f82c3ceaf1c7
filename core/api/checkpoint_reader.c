/* SPDX-License-Identifier: Apache-2.0
 * Checkpoints and kinds of files for C programs: see volley/host.h.
 */
#include <volley/host.h>

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "checkpoint/checkpoint.h"
#include "connectome/connectome_image.h"
#include "record/digest_log.h"
#include "record/stream.h"

_Static_assert((int)VLY_CHECKPOINT_SPIKES == (int)VLY_RECORDING_SPIKES &&
                   (int)VLY_CHECKPOINT_DIGESTS == (int)VLY_RECORDING_DIGESTS &&
                   (int)VLY_CHECKPOINT_WEIGHTS == (int)VLY_RECORDING_WEIGHTS,
               "kinds of recordings in a file");

/* ---- checkpoints -------------------------------------------------------- */

struct vly_checkpoint_reader {
    vly_checkpoint *checkpoint;
    vly_checkpoint_about about;
};

vly_status vly_checkpoint_open(const char *path, vly_checkpoint_reader **reader,
                               vly_error *error)
{
    vly_status status = VLY_OK;
    if (!path || !reader)
        return vly_fail(error, VLY_E_INVALID,
                        "vly_checkpoint_open: an argument is NULL");
    vly_checkpoint_reader *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "a checkpoint");
    VLY_TRY(vly_checkpoint_load(path, &made->checkpoint, &made->about, error));
    *reader = made;
    made = NULL;
out:
    vly_free(made);
    return status;
}

void vly_checkpoint_close(vly_checkpoint_reader *reader)
{
    if (!reader)
        return;
    vly_checkpoint_destroy(reader->checkpoint);
    vly_free(reader);
}

vly_status vly_checkpoint_get_info(const vly_checkpoint_reader *reader,
                                   vly_checkpoint_info *info)
{
    const vly_checkpoint_info made = {
        .version = reader->about.version,
        .n_recordings = reader->checkpoint->n_recordings,
        .n_sections = reader->checkpoint->n_sections,
        .n_resumes = reader->checkpoint->n_resumes,
        .n_bytes = reader->about.n_file_bytes,
        .engine = reader->about.engine,
    };
    return vly_struct_fill(info, &made, sizeof made);
}

vly_status vly_checkpoint_recording_get(const vly_checkpoint_reader *reader,
                                        uint32_t index,
                                        vly_checkpoint_recording *recording)
{
    if (index >= reader->checkpoint->n_recordings)
        return VLY_E_INVALID;
    const vly_recording *from = &reader->checkpoint->recordings[index];
    const vly_checkpoint_recording made = {
        .kind = from->kind,
        .n_bytes = from->n_bytes,
        .n_entries = from->n_entries,
        .path = from->path,
    };
    return vly_struct_fill(recording, &made, sizeof made);
}

vly_status vly_checkpoint_section_get(const vly_checkpoint_reader *reader,
                                      uint32_t index,
                                      vly_checkpoint_part *section)
{
    if (index >= reader->checkpoint->n_sections)
        return VLY_E_INVALID;
    const vly_checkpoint_section *from = &reader->checkpoint->sections[index];
    const vly_checkpoint_part made = {
        .n_bytes = from->n_bytes,
        .n_stored_bytes = from->n_stored_bytes,
        .n_frames = from->n_frames,
        .name = from->name,
    };
    return vly_struct_fill(section, &made, sizeof made);
}

const vly_state *vly_checkpoint_state(const vly_checkpoint_reader *reader)
{
    return reader->checkpoint->state;
}

/* ---- kinds of files ----------------------------------------------------- */

static bool begins(const char *head, size_t n_head, const char *mark)
{
    const size_t n = strlen(mark);
    return n_head >= n && memcmp(head, mark, n) == 0;
}

uint32_t vly_file_kind(const void *head, size_t n)
{
    static const struct {
        const char *mark;
        uint32_t kind;
    } marks[] = {{VLY_FILE_MAGIC, VLY_FILE_CONNECTOME},
                 {VLY_CHECKPOINT_MAGIC, VLY_FILE_CHECKPOINT},
                 {"\177ELF", VLY_FILE_ELF},
                 {VLY_DIGEST_LOG_MAGIC, VLY_FILE_DIGESTS},
                 {VLY_AREA_CSV_HEADER ",", VLY_FILE_SPIKES},
                 {VLY_STREAM_MAGIC, VLY_FILE_STREAM},
                 {"\211HDF", VLY_FILE_HDF5}};
    const char *text = head;
    size_t space = 0;
    if (n == 0)
        return VLY_FILE_EMPTY;
    if (n < 8 && memcmp(text, "VOLLEYC", n < 7 ? n : 7) == 0)
        return VLY_FILE_CUT;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (begins(text, n, marks[i].mark))
            return marks[i].kind;
    while (space < n && text[space] != '\0' && strchr(" \t\r\n", text[space]))
        space++;
    if (space < n && text[space] == '{')
        return VLY_FILE_JSON;
    return memchr(text, '\0', n) ? VLY_FILE_OTHER : VLY_FILE_TEXT;
}
