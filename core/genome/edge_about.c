/* SPDX-License-Identifier: Apache-2.0
 * Describes the content of a SONATA HDF5 file, read by a child process
 * (edge_hdf5.c).
 */
#include <volley/record.h>

#include <string.h>

#include "base/child.h"
#include "base/error.h"
#include "genome/edge_hdf5.h"

typedef struct about_reader {
    const char *path;
    vly_sonata_about *about;
    vly_edges_fn take; /* NULL: none */
    void *context;
    vly_error *error;
    vly_child child;
    bool begun; /* the frame of the top was there */
    bool ended; /* the last one was there */
} about_reader;

static void work(void *context, int out)
{
    vly_hdf5_about(context, out);
}

static vly_status take_frame(about_reader *reader, vly_sonata_frame *frame)
{
    frame->text[sizeof(frame->text) - 1] = 0;
    frame->group[sizeof(frame->group) - 1] = 0;
    if (frame->kind == VLY_SONATA_FAILED) {
        reader->ended = true;
        return vly_fail(reader->error, VLY_E_PARSE, "%s", frame->text);
    }
    if (frame->kind == VLY_SONATA_TOP && !reader->begun) {
        reader->begun = true;
        *reader->about =
            (vly_sonata_about){.struct_size = sizeof *reader->about,
                               .spikes = frame->top[0] != 0,
                               .report = frame->top[1] != 0,
                               .edges = frame->top[2] != 0,
                               .mean = frame->top[3] != 0,
                               .nodes = frame->top[4] != 0};
        return VLY_OK;
    }
    if (frame->kind == VLY_SONATA_ABOUT && reader->begun) {
        const vly_edges_about edges = {
            .struct_size = sizeof edges,
            .population = frame->text,
            .group = frame->group,
            .n_groups = frame->n,
            .n = frame->total,
            .weight = frame->has[VLY_SONATA_WEIGHT] != 0,
            .delay = frame->has[VLY_SONATA_DELAY] != 0,
            .nsyns = frame->has[VLY_SONATA_NSYNS] != 0,
            .types = frame->has[VLY_SONATA_TYPE] != 0};
        if (!reader->take)
            return VLY_OK;
        vly_status status = reader->take(reader->context, &edges);
        reader->ended = status != VLY_OK;
        return status;
    }
    reader->ended = frame->kind == VLY_SONATA_END && reader->begun;
    return reader->ended ? VLY_OK : VLY_E_PARSE; /* overwritten by a crash */
}

vly_status vly_sonata_describe(const char *path, vly_sonata_about *about,
                               vly_edges_fn take, void *context,
                               vly_error *error)
{
    vly_sonata_ask ask = {.path = path, .name = path};
    about_reader reader = {.path = path,
                           .about = about,
                           .take = take,
                           .context = context,
                           .error = error};
    vly_sonata_frame frame;
    if (about->struct_size < sizeof *about)
        return vly_fail(error, VLY_E_INVALID,
                        "%.300s: struct_size of its description is too small",
                        path);
    if (!vly_hdf5_built())
        return vly_fail(error, VLY_E_UNSUPPORTED,
                        "%.300s is an HDF5 file, and this build has no HDF5: "
                        "install libhdf5-dev and build again",
                        path);
    vly_status status = VLY_OK;
    VLY_TRY(vly_child_start(&reader.child, path, work, &ask, error));
    while (status == VLY_OK && !reader.ended)
        status = vly_child_receive(&reader.child, &frame, sizeof(frame))
                     ? take_frame(&reader, &frame)
                     : VLY_E_PARSE;
    int end = vly_child_stop(&reader.child, reader.ended);
    if (!reader.ended)
        status = vly_child_broke_down(path, end, error);
out:
    return status;
}
