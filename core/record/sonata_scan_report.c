/* SPDX-License-Identifier: Apache-2.0
 * Samples of a SONATA report: the wanted columns of a table, row by row.
 */
#ifdef VLY_HAVE_HDF5

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/child.h"
#include "record/sonata_set.h"

/* The requested columns of a report, ascending. */
typedef struct columns {
    uint32_t n;
    hsize_t at[VLY_SONATA_COLUMNS];
} columns;

typedef struct mapping {
    vly_scan_set nodes;
    vly_scan_set pointers;
    vly_scan_set elements;
    double time[3]; /* ms: first row, end, step */
} mapping;

static bool open_mapping(vly_scanner *s, hid_t group, mapping *map)
{
    const size_t end = strlen(s->place);
    vly_scan_set time;
    double scale = 1;
    if (!vly_scan_has(group, "mapping"))
        return vly_scan_fail(s, "mapping", "no such group");
    hid_t in = H5Gopen2(group, "mapping", H5P_DEFAULT);
    if (in < 0)
        return vly_scan_fail(s, "mapping",
                             "no group that can be read (damaged?)");
    snprintf(s->place + end, sizeof s->place - end, "/mapping");
    if (!vly_scan_open(s, in, vly_scan_either(in, "node_ids", "gids"), 1, true,
                       &map->nodes) ||
        !vly_scan_open(s, in,
                       vly_scan_either(in, "index_pointers", "index_pointer"),
                       1, true, &map->pointers) ||
        !vly_scan_open(s, in, vly_scan_either(in, "element_ids", "element_id"),
                       1, true, &map->elements) ||
        !vly_scan_open(s, in, "time", 1, false, &time))
        return false;
    if (map->pointers.n_rows != map->nodes.n_rows &&
        map->pointers.n_rows != map->nodes.n_rows + 1)
        return vly_scan_fail(s, map->pointers.name,
                             "wanted one more of them than nodes");
    if (time.n_rows != 3)
        return vly_scan_fail(s, "time", "wanted three: start, stop, step");
    if (!vly_scan_read(s, &time, 0, 3, H5T_NATIVE_DOUBLE, map->time) ||
        !vly_scan_scale(s, &time, &scale))
        return false;
    for (int i = 0; i < 3; i++)
        map->time[i] *= scale;
    if (!isfinite(map->time[0]) || !(map->time[2] > 0 && map->time[2] < 1e12))
        return vly_scan_fail(s, "time",
                             "wanted a finite start and a step above 0");
    s->place[end] = '\0';
    return true;
}

/* The index of the first element of each of the next nodes, and the end; the
 * end may be missing. */
static bool read_pointers(const vly_scanner *s, const mapping *map,
                          uint64_t first, uint32_t n, uint64_t n_columns)
{
    int64_t *pointers = s->block->pointers;
    const uint64_t left = map->pointers.n_rows - first;
    const uint32_t there = left < n + 1 ? (uint32_t)left : n + 1;
    if (!vly_scan_read(s, &map->pointers, first, there, H5T_NATIVE_INT64,
                       pointers))
        return false;
    if (there == n)
        pointers[n] = (int64_t)n_columns;
    for (uint32_t i = 0; i < n; i++)
        if (pointers[i] < 0 || pointers[i] > pointers[i + 1] ||
            (uint64_t)pointers[i + 1] > n_columns)
            return vly_scan_fail(s, "mapping/index_pointers",
                                 "wanted ascending numbers, at most as many as "
                                 "data vly_scan_has "
                                 "columns");
    return true;
}

/* The elements of a node among the requested columns. */
static bool add_node(vly_scanner *s, const mapping *map, columns *chosen,
                     uint64_t node, int64_t begin, int64_t end)
{
    for (int64_t e = begin; e < end; e++) {
        int64_t element = -1;
        if (s->n_columns == s->ask->want->n_columns_max) {
            s->more = true;
            break;
        }
        if (end - begin > 1 && !vly_scan_read(s, &map->elements, (uint64_t)e, 1,
                                              H5T_NATIVE_INT64, &element))
            return false;
        s->block->nodes[chosen->n] = node;
        s->block->elements[chosen->n] = element;
        chosen->at[chosen->n++] = (hsize_t)e;
        s->n_columns++;
    }
    return true;
}

static bool choose_columns(vly_scanner *s, const mapping *map, const char *name,
                           uint64_t n_columns, columns *chosen)
{
    const vly_sonata_want *want = s->ask->want;
    int64_t nodes[512];
    for (uint64_t first = 0; first < map->nodes.n_rows && !s->more;
         first += 512) {
        const uint64_t left = map->nodes.n_rows - first;
        const uint32_t n = left < 512 ? (uint32_t)left : 512;
        if (!vly_scan_read(s, &map->nodes, first, n, H5T_NATIVE_INT64, nodes) ||
            !read_pointers(s, map, first, n, n_columns))
            return false;
        for (uint32_t i = 0; i < n && !s->more; i++) {
            if (nodes[i] < 0)
                return vly_scan_fail(s, "mapping/node_ids", "a number below 0");
            if (want->node(want->context, name, (uint64_t)nodes[i]) &&
                !add_node(s, map, chosen, (uint64_t)nodes[i],
                          s->block->pointers[i], s->block->pointers[i + 1]))
                return false;
        }
    }
    return true;
}

static bool read_rows(const vly_scanner *s, const vly_scan_set *data,
                      const columns *chosen, uint64_t first, uint32_t n)
{
    const hsize_t count[2] = {n, chosen->n};
    const hsize_t one[2] = {n, 1};
    hid_t space = H5Dget_space(data->id);
    hid_t memory = H5Screate_simple(2, count, NULL);
    bool good = space >= 0 && memory >= 0;
    vly_child_wind_up();
    for (uint32_t c = 0; c < chosen->n && good; c++) {
        const hsize_t start[2] = {first, chosen->at[c]};
        good =
            H5Sselect_hyperslab(space, c > 0 ? H5S_SELECT_OR : H5S_SELECT_SET,
                                start, NULL, one, NULL) >= 0;
    }
    good = good && H5Dread(data->id, H5T_NATIVE_DOUBLE, memory, space,
                           H5P_DEFAULT, s->block->numbers) >= 0;
    H5Sclose(space);
    H5Sclose(memory);
    return good ||
           vly_scan_fail(s, data->name,
                         "cannot be read (damaged, cut off, or packed by a "
                         "filter that is not installed)");
}

static bool send_rows(const vly_scanner *s, const vly_scan_set *data,
                      const columns *chosen)
{
    const uint32_t most = VLY_SCAN_BLOCK / chosen->n;
    for (uint64_t first = 0; first < data->n_rows; first += most) {
        const uint64_t left = data->n_rows - first;
        const uint32_t n = left < most ? (uint32_t)left : most;
        const vly_scan_frame frame = {.kind = VLY_SCAN_ROWS, .n = n};
        if (!read_rows(s, data, chosen, first, n) ||
            !vly_child_send(s->out, &frame, sizeof frame) ||
            !vly_child_send(s->out, s->block->numbers,
                            (size_t)n * chosen->n * sizeof(double)))
            return false;
    }
    return true;
}

bool vly_scan_report(vly_scanner *s, hid_t group, const char *name)
{
    vly_scan_frame frame = {.kind = VLY_SCAN_REPORT};
    vly_scan_block *block = s->block;
    mapping map;
    vly_scan_set data;
    columns chosen = {0};
    if (!vly_scan_open(s, group, "data", 2, false, &data) ||
        !vly_scan_units(s, &data, frame.units, sizeof frame.units) ||
        !open_mapping(s, group, &map))
        return false;
    if (map.elements.n_rows != data.n_columns)
        return vly_scan_fail(s, "mapping/element_ids",
                             "wanted as many as data vly_scan_has columns");
    if (!choose_columns(s, &map, name, data.n_columns, &chosen))
        return false;
    if (chosen.n == 0)
        return true;
    frame.n = chosen.n;
    frame.total = data.n_rows;
    frame.start_ms = map.time[0];
    frame.step_ms = map.time[2];
    snprintf(frame.text, sizeof frame.text, "%s", name);
    return vly_child_send(s->out, &frame, sizeof frame) &&
           vly_child_send(s->out, block->nodes,
                          chosen.n * sizeof *block->nodes) &&
           vly_child_send(s->out, block->elements,
                          chosen.n * sizeof *block->elements) &&
           send_rows(s, &data, &chosen);
}

#else

/* ISO C wants a declaration in every file. */
typedef int vly_sonata_scan_none;

#endif
