/* SPDX-License-Identifier: Apache-2.0
 * Reads a SONATA file back in a separate process, which shares no memory with
 * the process that wrote it, and compares it with the data. Empty in a build
 * without HDF5.
 */
#ifdef VLY_HAVE_HDF5

#include "record/sonata_call.h"

#include <hdf5.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/child.h"
#include "base/random.h"

static const uint64_t odd = UINT64_C(0x9E3779B97F4A7C15);

uint32_t vly_sonata_size(vly_sonata_type type)
{
    switch (type) {
    case VLY_SONATA_F64:
    case VLY_SONATA_U64:
        return 8;
    case VLY_SONATA_F32:
    case VLY_SONATA_U32:
        return 4;
    default:
        return 1;
    }
}

uint64_t vly_sonata_sum(uint64_t first, const void *values, uint64_t n,
                        uint32_t value_bytes)
{
    const unsigned char *at = values;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t word = 0;
        memcpy(&word, at + i * value_bytes, value_bytes);
        sum += vly_mix64(word + odd * (first + i + 1));
    }
    return sum;
}

/* ---- one set, one attribute -------------------------------------------- */

typedef struct checking {
    const vly_sonata_entry *entry;
    vly_sonata_answer answer;
} checking;

static bool differs(checking *c, const char *how)
{
    const vly_sonata_entry *e = c->entry;
    c->answer.status = VLY_E_IO;
    snprintf(c->answer.text, sizeof c->answer.text,
             "read back, %.500s%s%s %s what was written", e->place,
             e->attribute ? " @" : "", e->attribute ? e->attribute : "", how);
    return false;
}

static bool unreadable(checking *c)
{
    char why[200];
    vly_status status = vly_sonata_reason(why, sizeof why);
    differs(c, "has not");
    if (status == VLY_E_NOMEM) {
        c->answer.status = status;
        snprintf(c->answer.text, sizeof c->answer.text, "%s", why);
    }
    return false;
}

static hid_t memory_type(vly_sonata_type type)
{
    return type == VLY_SONATA_F64   ? H5T_NATIVE_DOUBLE
           : type == VLY_SONATA_F32 ? H5T_NATIVE_FLOAT
           : type == VLY_SONATA_U64 ? H5T_NATIVE_UINT64
                                    : H5T_NATIVE_UINT32;
}

static bool sum_rows(checking *c, hid_t set, void *buffer, uint64_t rows)
{
    const vly_sonata_entry *e = c->entry;
    const uint64_t columns = e->table ? e->n_columns : 1;
    const uint32_t size = vly_sonata_size(e->type);
    uint64_t sum = 0;
    for (uint64_t first = 0; first < e->n_rows; first += rows) {
        const hsize_t start[2] = {first, 0};
        const hsize_t count[2] = {
            e->n_rows - first < rows ? e->n_rows - first : rows, columns};
        vly_child_wind_up();
        hid_t space = H5Dget_space(set);
        hid_t memory = H5Screate_simple(e->table ? 2 : 1, count, NULL);
        const bool good = space >= 0 && memory >= 0 &&
                          H5Sselect_hyperslab(space, H5S_SELECT_SET, start,
                                              NULL, count, NULL) >= 0 &&
                          H5Dread(set, memory_type(e->type), memory, space,
                                  H5P_DEFAULT, buffer) >= 0 &&
                          H5Sclose(space) >= 0 && H5Sclose(memory) >= 0;
        if (!good)
            return unreadable(c);
        sum +=
            vly_sonata_sum(first * columns, buffer, count[0] * columns, size);
    }
    return sum == e->sum || differs(c, "is not");
}

static bool check_set(checking *c, hid_t file)
{
    const vly_sonata_entry *e = c->entry;
    const int n_dims = e->table ? 2 : 1;
    hsize_t dims[2] = {0, 0};
    hid_t set = H5Dopen2(file, e->place, H5P_DEFAULT);
    hid_t space = set >= 0 ? H5Dget_space(set) : -1;
    if (space < 0)
        return unreadable(c);
    if (H5Sget_simple_extent_ndims(space) != n_dims ||
        H5Sget_simple_extent_dims(space, dims, NULL) != n_dims ||
        dims[0] != e->n_rows || dims[1] != e->n_columns)
        return differs(c, "has not as many values as");
    uint64_t rows = e->block_rows > 0 ? e->block_rows : 1;
    rows = rows < e->n_rows ? rows : e->n_rows;
    const uint64_t bytes =
        rows * (e->table ? e->n_columns : 1) * vly_sonata_size(e->type);
    void *buffer = malloc(bytes > 0 ? (size_t)bytes : 1);
    if (!buffer) {
        c->answer.status = VLY_E_NOMEM;
        snprintf(c->answer.text, sizeof c->answer.text,
                 "%llu bytes to read it back", (unsigned long long)bytes);
        return false;
    }
    const bool good = bytes == 0 || sum_rows(c, set, buffer, rows);
    free(buffer);
    if (good && (H5Sclose(space) < 0 || H5Dclose(set) < 0))
        return unreadable(c);
    return good;
}

static bool check_attribute(checking *c, hid_t file)
{
    const vly_sonata_entry *e = c->entry;
    const bool is_text = e->type == VLY_SONATA_TEXT;
    uint32_t numbers[4] = {0};
    char *text = NULL;
    hid_t attribute =
        H5Aopen_by_name(file, e->place, e->attribute, H5P_DEFAULT, H5P_DEFAULT);
    hid_t type = attribute >= 0 ? H5Aget_type(attribute) : -1;
    if (type < 0 ||
        (!is_text && H5Aget_storage_size(attribute) > sizeof numbers) ||
        H5Aread(attribute, e->type == VLY_SONATA_U32 ? H5T_NATIVE_UINT32 : type,
                is_text ? (void *)&text : numbers) < 0)
        return unreadable(c);
    if (is_text && !text)
        return differs(c, "is not");
    const uint64_t n = is_text ? strlen(text) : e->n_rows;
    const uint64_t sum = vly_sonata_sum(0, is_text ? (void *)text : numbers, n,
                                        vly_sonata_size(e->type));
    return (n == e->n_rows && sum == e->sum) || differs(c, "is not");
}

/* ---- the file ---------------------------------------------------------- */

void vly_sonata_check_file(void *context, int out)
{
    const vly_sonata_check *check = context;
    checking c = {.answer = {.status = VLY_OK}};
    bool good = true;
    vly_sonata_begin();
    const hid_t plan = vly_sonata_access_plan();
    hid_t file = plan >= 0 ? H5Fopen(check->path, H5F_ACC_RDONLY, plan) : -1;
    if (file < 0) {
        char why[200];
        c.answer.status = vly_sonata_reason(why, sizeof why);
        snprintf(c.answer.text, sizeof c.answer.text, "read back: %s", why);
    }
    for (uint32_t i = 0; file >= 0 && good && i < check->n_entries; i++) {
        c.entry = &check->entries[i];
        good = c.entry->attribute ? check_attribute(&c, file)
                                  : check_set(&c, file);
    }
    vly_child_send(out, &c.answer, sizeof c.answer);
}

#else

/* ISO C wants a declaration in every file. */
typedef int vly_sonata_check_none;

#endif
