/* SPDX-License-Identifier: Apache-2.0
 * Reads recordings with HDF5 (Dai et al. 2020,
 * doi:10.1371/journal.pcbi.1007696, and its developer guide). Runs in a child
 * process: version 1.10 crashes on some damaged files. Nothing is closed, since
 * the process ends.
 */
#include "record/sonata_scan.h"

#ifndef VLY_HAVE_HDF5

bool vly_scan_built(void)
{
    return false;
}

void vly_scan(const vly_scan_ask *ask, int out)
{
    (void)ask;
    (void)out;
}

#else

#include <stdio.h>
#include <string.h>

#include "base/child.h"
#include "record/sonata_set.h"

bool vly_scan_built(void)
{
    return true;
}

/* ---- spikes ------------------------------------------------------------- */

static bool send_spikes(const vly_scanner *s, const vly_scan_set *times,
                        const vly_scan_set *nodes, double scale)
{
    vly_scan_block *block = s->block;
    for (uint64_t first = 0; first < times->n_rows; first += VLY_SCAN_BLOCK) {
        const uint64_t left = times->n_rows - first;
        const uint32_t n =
            left < VLY_SCAN_BLOCK ? (uint32_t)left : VLY_SCAN_BLOCK;
        const vly_scan_frame frame = {.kind = VLY_SCAN_SPIKES, .n = n};
        /* as signed: a conversion to unsigned would make -1 a 0 */
        if (!vly_scan_read(s, times, first, n, H5T_NATIVE_DOUBLE,
                           block->numbers) ||
            !vly_scan_read(s, nodes, first, n, H5T_NATIVE_INT64,
                           block->pointers))
            return false;
        for (uint32_t i = 0; i < n; i++) {
            block->numbers[i] *= scale;
            block->nodes[i] = (uint64_t)block->pointers[i];
            if (block->pointers[i] < 0)
                return vly_scan_fail(s, nodes->name, "a number below 0");
        }
        if (!vly_child_send(s->out, &frame, sizeof frame) ||
            !vly_child_send(s->out, block->numbers,
                            n * sizeof *block->numbers) ||
            !vly_child_send(s->out, block->nodes, n * sizeof *block->nodes))
            return false;
    }
    return true;
}

static bool scan_spikes(vly_scanner *s, hid_t group, const char *name)
{
    vly_scan_frame frame = {.kind = VLY_SCAN_POPULATION};
    vly_scan_set times;
    vly_scan_set nodes;
    double scale = 1;
    char sentence[160];
    if (!vly_scan_open(s, group, "timestamps", 1, false, &times) ||
        !vly_scan_open(s, group, vly_scan_either(group, "node_ids", "gids"), 1,
                       true, &nodes) ||
        !vly_scan_scale(s, &times, &scale))
        return false;
    if (times.n_rows != nodes.n_rows) {
        snprintf(sentence, sizeof sentence,
                 "%llu of them and %llu timestamps, wanted as many",
                 (unsigned long long)nodes.n_rows,
                 (unsigned long long)times.n_rows);
        return vly_scan_fail(s, nodes.name, sentence);
    }
    frame.total = times.n_rows;
    snprintf(frame.text, sizeof frame.text, "%s", name);
    return vly_child_send(s->out, &frame, sizeof frame) &&
           send_spikes(s, &times, &nodes, scale);
}

/* ---- populations -------------------------------------------------------- */

static bool scan_population(vly_scanner *s, hid_t group, const char *name)
{
    const vly_sonata_want *want = s->ask->want;
    if (!want->population(want->context, name))
        return true;
    return s->ask->report ? vly_scan_report(s, group, name)
                          : scan_spikes(s, group, name);
}

static bool scan_all(vly_scanner *s, hid_t top, const char *top_name)
{
    H5G_info_t about;
    char name[VLY_SCAN_NAME];
    snprintf(s->place, sizeof s->place, "/%s", top_name);
    if (H5Gget_info(top, &about) < 0)
        return vly_scan_fail(s, "", "no group that can be read (damaged?)");
    if (about.nlinks == 0)
        return vly_scan_fail(s, "", "no population in it, wanted one or more");
    if (about.nlinks > VLY_SCAN_POPULATIONS)
        return vly_scan_fail(s, "", "more than 4096 populations, wanted fewer");
    for (hsize_t i = 0; i < about.nlinks; i++) {
        vly_child_wind_up();
        snprintf(s->place, sizeof s->place, "/%s", top_name);
        const ssize_t length =
            H5Lget_name_by_idx(top, ".", H5_INDEX_NAME, H5_ITER_INC, i, name,
                               sizeof name, H5P_DEFAULT);
        if (length <= 0 || (size_t)length >= sizeof name)
            return vly_scan_fail(s, "",
                                 "a population without a name, or with one of "
                                 "more than 199 bytes");
        hid_t group = H5Gopen2(top, name, H5P_DEFAULT);
        if (group < 0)
            return vly_scan_fail(s, name, "no population: it is not a group");
        snprintf(s->place, sizeof s->place, "/%s/%s", top_name, name);
        if (!scan_population(s, group, name))
            return false;
        H5Gclose(group);
    }
    return true;
}

/* Older files have no populations. */
static bool scan_top(vly_scanner *s, hid_t file)
{
    const char *name = s->ask->report ? "report" : "spikes";
    const char *other = s->ask->report ? "spikes" : "report";
    char sentence[120];
    if (vly_scan_has(file, name)) {
        hid_t top = H5Gopen2(file, name, H5P_DEFAULT);
        if (top < 0)
            return vly_scan_fail(s, name,
                                 "no group that can be read (damaged?)");
        if (s->ask->report || !vly_scan_has(top, "timestamps"))
            return scan_all(s, top, name);
        snprintf(s->place, sizeof s->place, "/%s", name);
        return scan_population(s, top, name);
    }
    if (s->ask->report && vly_scan_has(file, "data") &&
        vly_scan_has(file, "mapping"))
        return scan_population(s, file, name);
    snprintf(sentence, sizeof sentence, "no such group%s, wanted SONATA %s",
             vly_scan_has(file, other)
                 ? s->ask->report ? " (the file holds spikes)"
                                  : " (the file holds samples of fields)"
             : vly_scan_has(file, "edges") ? " (the file holds synapses)"
                                           : "",
             s->ask->report ? "samples of fields" : "spikes");
    snprintf(s->place, sizeof s->place, "/%s", name);
    return vly_scan_fail(s, "", sentence);
}

void vly_scan(const vly_scan_ask *ask, int out)
{
    vly_scan_frame frame = {.kind = VLY_SCAN_END};
    hsize_t bytes = 0;
    vly_scanner s = {.ask = ask, .block = ask->block, .out = out};
    /* turn off HDF5's own printing; errors are sent instead */
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t file = H5Fopen(ask->path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0 || H5Fget_filesize(file, &bytes) < 0) {
        vly_scan_fail(
            &s, "",
            "no HDF5 file that can be read (damaged, cut off, or being "
            "written)");
        return;
    }
    s.file_bytes = (double)bytes;
    if (!scan_top(&s, file))
        return;
    frame.more = s.more;
    vly_child_send(out, &frame, sizeof frame);
}

#endif
