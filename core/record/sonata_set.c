/* SPDX-License-Identifier: Apache-2.0
 * Sets of numbers in a recording, checked before a value is read.
 */
#ifdef VLY_HAVE_HDF5

#include "record/sonata_set.h"

#include <stdio.h>
#include <string.h>

#include "base/child.h"

/* The largest compression ratio of HDF5's own filters (deflate: 1032). */
static const double inflation_max = 1100;

bool vly_scan_fail(const vly_scanner *s, const char *set, const char *sentence)
{
    vly_scan_frame frame = {.kind = VLY_SCAN_FAILED};
    snprintf(frame.text, sizeof frame.text, "%.300s: %s%s%s%s%s", s->ask->path,
             s->place, *s->place && *set ? "/" : "", set,
             *s->place || *set ? ": " : "", sentence);
    vly_child_send(s->out, &frame, sizeof frame);
    return false;
}

bool vly_scan_has(hid_t group, const char *name)
{
    return H5Lexists(group, name, H5P_DEFAULT) > 0;
}

/* ---- sets --------------------------------------------------------------- */

/* The size of a file limits the number of its values: a larger claimed number
 * would fill the memory with values that do not exist. */
static bool check_amount(const vly_scanner *s, const vly_scan_set *set,
                         hid_t type)
{
    char sentence[200];
    const double bytes = (double)set->n_rows * (double)set->n_columns *
                         (double)H5Tget_size(type);
    hid_t plan = H5Dget_create_plist(set->id);
    const H5D_layout_t layout = H5Pget_layout(plan);
    if (bytes <= 0 || layout == H5D_VIRTUAL)
        return true;
    if (H5Dget_storage_size(set->id) == 0)
        return vly_scan_fail(
            s, set->name,
            "announced, but never written (did the program that "
            "writes it end?)");
    if (bytes <= inflation_max * s->file_bytes)
        return true;
    snprintf(sentence, sizeof sentence,
             "%.4g bytes in a file of %.0f: damaged, wanted at most %.0f times "
             "as much",
             bytes, s->file_bytes, inflation_max);
    return vly_scan_fail(s, set->name, sentence);
}

bool vly_scan_open(const vly_scanner *s, hid_t group, const char *name,
                   int n_dims, bool whole, vly_scan_set *set)
{
    hsize_t dims[2] = {0, 1};
    const char *wanted = n_dims == 2 ? "wanted a table of numbers"
                         : whole     ? "wanted one row of whole numbers"
                                     : "wanted one row of numbers";
    set->name = name;
    if (!vly_scan_has(group, name))
        return vly_scan_fail(s, name, "no such data");
    set->id = H5Dopen2(group, name, H5P_DEFAULT);
    if (set->id < 0)
        return vly_scan_fail(s, name, "no data that can be read (damaged?)");
    hid_t type = H5Dget_type(set->id);
    hid_t space = H5Dget_space(set->id);
    if (type < 0 || space < 0)
        return vly_scan_fail(s, name, "no data that can be read (damaged?)");
    const H5T_class_t kind = H5Tget_class(type);
    if (H5Sget_simple_extent_ndims(space) != n_dims ||
        H5Sget_simple_extent_dims(space, dims, NULL) != n_dims ||
        !(kind == H5T_INTEGER || (kind == H5T_FLOAT && !whole)))
        return vly_scan_fail(s, name, wanted);
    set->n_rows = dims[0];
    set->n_columns = dims[1];
    return check_amount(s, set, type);
}

const char *vly_scan_either(hid_t group, const char *name, const char *older)
{
    return !vly_scan_has(group, name) && vly_scan_has(group, older) ? older
                                                                    : name;
}

bool vly_scan_read(const vly_scanner *s, const vly_scan_set *set,
                   uint64_t first, uint32_t n, hid_t type, void *out)
{
    const hsize_t start = first;
    const hsize_t count = n;
    vly_child_wind_up();
    if (n == 0)
        return true;
    hid_t space = H5Dget_space(set->id);
    hid_t memory = H5Screate_simple(1, &count, NULL);
    const bool good =
        H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count,
                            NULL) >= 0 &&
        H5Dread(set->id, type, memory, space, H5P_DEFAULT, out) >= 0;
    H5Sclose(space);
    H5Sclose(memory);
    return good ||
           vly_scan_fail(s, set->name,
                         "cannot be read (damaged, cut off, or packed by a "
                         "filter that is not installed)");
}

bool vly_scan_units(const vly_scanner *s, const vly_scan_set *set, char *text,
                    size_t n)
{
    char *given = NULL;
    text[0] = '\0';
    if (H5Aexists(set->id, "units") <= 0)
        return true;
    hid_t attribute = H5Aopen(set->id, "units", H5P_DEFAULT);
    hid_t type = attribute >= 0 ? H5Aget_type(attribute) : -1;
    hid_t space = attribute >= 0 ? H5Aget_space(attribute) : -1;
    if (type < 0 || space < 0 || H5Tget_class(type) != H5T_STRING ||
        H5Sget_simple_extent_npoints(space) != 1)
        return vly_scan_fail(s, set->name, "its attribute units is not a text");
    hid_t memory = H5Tcopy(H5T_C_S1);
    const bool varies = H5Tis_variable_str(type) > 0;
    H5Tset_cset(memory, H5Tget_cset(type));
    H5Tset_size(memory, varies ? H5T_VARIABLE : n);
    if (H5Aread(attribute, memory, varies ? (void *)&given : (void *)text) < 0)
        return vly_scan_fail(s, set->name,
                             "its attribute units cannot be read");
    if (varies)
        snprintf(text, n, "%s", given ? given : "");
    text[n - 1] = '\0';
    return true;
}

bool vly_scan_scale(const vly_scanner *s, const vly_scan_set *set,
                    double *scale)
{
    static const struct {
        const char *name;
        double ms;
    } units[] = {{"", 1},
                 {"ms", 1},
                 {"msec", 1},
                 {"millisecond", 1},
                 {"milliseconds", 1},
                 {"s", 1000},
                 {"sec", 1000},
                 {"second", 1000},
                 {"seconds", 1000},
                 {"us", 0.001},
                 {"microseconds", 0.001}};
    char text[64];
    char sentence[160];
    if (!vly_scan_units(s, set, text, sizeof text))
        return false;
    for (size_t u = 0; u < sizeof units / sizeof units[0]; u++)
        if (strcmp(text, units[u].name) == 0) {
            *scale = units[u].ms;
            return true;
        }
    snprintf(sentence, sizeof sentence,
             "its units are \"%.60s\", wanted ms, s or us", text);
    return vly_scan_fail(s, set->name, sentence);
}

#else

/* ISO C wants a declaration in every file. */
typedef int vly_sonata_set_none;

#endif
