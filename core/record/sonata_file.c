/* SPDX-License-Identifier: Apache-2.0
 * HDF5 for writing. Empty in a build without it.
 */
#ifdef VLY_HAVE_HDF5

#include "record/sonata_file.h"

#include <hdf5.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/temporary.h"

struct vly_sonata_file {
    char *path;              /* as given */
    vly_temporary temporary; /* of what path means: links are followed */
    hid_t file;
    hid_t access_plan; /* HDF5 does not lock: we do */
    hid_t set_plan;    /* without times: the same stream, the same bytes */
    hid_t group_plan;
};

/* What went wrong first: HDF5 tells it from the bottom of its stack. */
typedef struct reason {
    char text[200];
} reason;

static herr_t keep_reason(unsigned n, const H5E_error2_t *entry, void *arg)
{
    static const char marker[] = "error message = '";
    reason *why = arg;
    const char *found = strstr(entry->desc, marker);
    if (found != NULL) {
        /* "file write failed: ... errno = 28, error message = 'No space ..." */
        snprintf(why->text, sizeof why->text, "%s", found + strlen(marker));
        why->text[strcspn(why->text, "'")] = '\0';
    } else if (n == 0 || why->text[0] == '\0') {
        snprintf(why->text, sizeof why->text, "%.190s", entry->desc);
    }
    return found != NULL;
}

static vly_status fail(const vly_sonata_file *file, vly_error *error)
{
    reason why = {""};
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_reason, &why);
    H5Eclear2(H5E_DEFAULT);
    return vly_fail(error, VLY_E_IO, "%s: cannot be written: %s", file->path,
                    why.text[0] != '\0' ? why.text : "HDF5 gave no reason");
}

static hid_t stored_type(vly_sonata_type type)
{
    return type == VLY_SONATA_F64   ? H5T_IEEE_F64LE
           : type == VLY_SONATA_F32 ? H5T_IEEE_F32LE
           : type == VLY_SONATA_U64 ? H5T_STD_U64LE
                                    : H5T_STD_U32LE;
}

/* ---- the file ---------------------------------------------------------- */

static void free_file(vly_sonata_file *file)
{
    if (file->set_plan >= 0)
        H5Pclose(file->set_plan);
    if (file->group_plan >= 0)
        H5Pclose(file->group_plan);
    if (file->access_plan >= 0)
        H5Pclose(file->access_plan);
    vly_temporary_drop(&file->temporary);
    vly_free(file->path);
    vly_free(file);
}

static vly_status name_file(vly_sonata_file *file, const char *path,
                            vly_error *error)
{
    file->path = vly_strdup(path);
    if (file->path == NULL)
        return vly_fail_nomem(error, strlen(path), "a file name");
    char *real = realpath(path, NULL);
    vly_status status = vly_temporary_open(real != NULL ? real : path, path,
                                           &file->temporary, error);
    free(real);
    return status;
}

static vly_status put_numbers(vly_sonata_file *file, hid_t object,
                              const char *name, hid_t stored, hid_t given,
                              const void *values, hsize_t n, vly_error *error)
{
    hid_t space =
        n == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &n, NULL);
    hid_t attribute =
        H5Acreate2(object, name, stored, space, H5P_DEFAULT, H5P_DEFAULT);
    bool good = attribute >= 0 && H5Awrite(attribute, given, values) >= 0;
    vly_status status = good ? VLY_OK : fail(file, error);
    if (attribute >= 0)
        H5Aclose(attribute);
    if (space >= 0)
        H5Sclose(space);
    return status;
}

vly_status vly_sonata_open(const char *path, const char *top,
                           vly_sonata_file **file, vly_error *error)
{
    static const uint32_t magic = 0x0A7A; /* of the developer guide */
    static const uint32_t version[2] = {0, 1};
    vly_sonata_file *made = vly_calloc(1, sizeof *made);
    vly_sonata_group group = {-1};
    vly_status status = VLY_OK;
    if (made == NULL)
        return vly_fail_nomem(error, sizeof *made, "a SONATA file");
    made->file = -1;
    made->temporary = (vly_temporary)VLY_TEMPORARY_NONE;
    /* after an error of the disk its own end would end the process */
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    made->set_plan = H5Pcreate(H5P_DATASET_CREATE);
    made->group_plan = H5Pcreate(H5P_GROUP_CREATE);
    made->access_plan = H5Pcreate(H5P_FILE_ACCESS);
    VLY_TRY(name_file(made, path, error));
    if (made->set_plan < 0 || made->group_plan < 0 || made->access_plan < 0 ||
        H5Pset_file_locking(made->access_plan, 0, 1) < 0 ||
        H5Pset_obj_track_times(made->set_plan, 0) < 0 ||
        H5Pset_fill_time(made->set_plan, H5D_FILL_TIME_NEVER) < 0 ||
        H5Pset_obj_track_times(made->group_plan, 0) < 0 ||
        (made->file = H5Fcreate(made->temporary.path, H5F_ACC_TRUNC,
                                H5P_DEFAULT, made->access_plan)) < 0) {
        status = fail(made, error);
        goto out;
    }
    VLY_TRY(put_numbers(made, made->file, "magic", H5T_STD_U32LE,
                        H5T_NATIVE_UINT32, &magic, 1, error));
    VLY_TRY(put_numbers(made, made->file, "version", H5T_STD_U32LE,
                        H5T_NATIVE_UINT32, version, 2, error));
    vly_sonata_group root = {made->file};
    VLY_TRY(vly_sonata_group_open(made, &root, top, &group, error));
    *file = made;
    made = NULL;
out:
    vly_sonata_group_close(&group);
    vly_sonata_abandon(made);
    return status;
}

vly_status vly_sonata_close(vly_sonata_file *file, vly_error *error)
{
    vly_status status = VLY_OK;
    if (H5Fclose(file->file) < 0)
        status = fail(file, error);
    file->file = -1;
    if (status == VLY_OK)
        status = vly_temporary_keep(&file->temporary, file->path, error);
    free_file(file);
    return status;
}

void vly_sonata_abandon(vly_sonata_file *file)
{
    if (file == NULL)
        return;
    if (file->file >= 0)
        H5Fclose(file->file);
    free_file(file);
}

/* ---- groups ------------------------------------------------------------ */

vly_status vly_sonata_group_open(vly_sonata_file *file,
                                 const vly_sonata_group *parent,
                                 const char *name, vly_sonata_group *group,
                                 vly_error *error)
{
    group->id = H5Gcreate2(parent->id, name, H5P_DEFAULT, file->group_plan,
                           H5P_DEFAULT);
    return group->id >= 0 ? VLY_OK : fail(file, error);
}

vly_status vly_sonata_population(vly_sonata_file *file, const char *top,
                                 const char *area, vly_sonata_group *group,
                                 vly_error *error)
{
    vly_sonata_group root = {file->file};
    char *name = vly_format("%s/%s", top, area);
    if (name == NULL)
        return vly_fail_nomem(error, strlen(area), "a population");
    for (char *c = name + strlen(top) + 1; *c != '\0'; c++)
        *c = *c == '/' ? '.' : *c;
    vly_status status = vly_sonata_group_open(file, &root, name, group, error);
    vly_free(name);
    return status;
}

void vly_sonata_group_close(vly_sonata_group *group)
{
    if (group->id >= 0)
        H5Gclose(group->id);
    group->id = -1;
}

/* ---- sets -------------------------------------------------------------- */

static vly_status create_set(vly_sonata_file *file,
                             const vly_sonata_group *group, const char *name,
                             hid_t type, int n_dims, const hsize_t *dims,
                             hid_t plan, vly_sonata_set *set, vly_error *error)
{
    hid_t space = H5Screate_simple(n_dims, dims, NULL);
    hid_t id = space >= 0 ? H5Dcreate2(group->id, name, type, space,
                                       H5P_DEFAULT, plan, H5P_DEFAULT)
                          : -1;
    vly_status status = id >= 0 ? VLY_OK : fail(file, error);
    if (space >= 0)
        H5Sclose(space);
    if (status == VLY_OK)
        *set = (vly_sonata_set){id, 0, n_dims == 2 ? dims[1] : 0};
    return status;
}

vly_status vly_sonata_set_open(vly_sonata_file *file,
                               const vly_sonata_group *group, const char *name,
                               vly_sonata_type type, uint64_t n,
                               vly_sonata_set *set, vly_error *error)
{
    hsize_t dims[1] = {n};
    return create_set(file, group, name, stored_type(type), 1, dims,
                      file->set_plan, set, error);
}

vly_status vly_sonata_table_open(vly_sonata_file *file,
                                 const vly_sonata_group *group,
                                 const char *name, vly_sonata_type type,
                                 uint64_t n_rows, uint64_t n_columns,
                                 uint64_t chunk_rows, uint64_t chunk_columns,
                                 vly_sonata_set *set, vly_error *error)
{
    hsize_t dims[2] = {n_rows, n_columns};
    hsize_t chunk[2] = {chunk_rows < n_rows ? chunk_rows : n_rows,
                        chunk_columns < n_columns ? chunk_columns : n_columns};
    bool empty = n_rows == 0 || n_columns == 0; /* has no chunk */
    vly_status status = VLY_OK;
    hid_t plan = H5Pcopy(file->set_plan);
    if (plan < 0 || (!empty && H5Pset_chunk(plan, 2, chunk) < 0))
        status = fail(file, error);
    else
        status = create_set(file, group, name, stored_type(type), 2, dims, plan,
                            set, error);
    if (plan >= 0)
        H5Pclose(plan);
    return status;
}

/* What the values are in memory, told by what the set holds. */
static hid_t given_type(hid_t set)
{
    hid_t type = H5Dget_type(set);
    size_t size = H5Tget_size(type);
    bool is_float = H5Tget_class(type) == H5T_FLOAT;
    H5Tclose(type);
    return is_float ? (size == 8 ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT)
                    : (size == 8 ? H5T_NATIVE_UINT64 : H5T_NATIVE_UINT32);
}

vly_status vly_sonata_append(vly_sonata_file *file, vly_sonata_set *set,
                             const void *values, uint64_t n, vly_error *error)
{
    hsize_t start[2] = {set->n_rows, 0};
    hsize_t count[2] = {n, set->n_columns};
    int n_dims = set->n_columns > 0 ? 2 : 1;
    vly_status status = VLY_OK;
    if (n == 0)
        return VLY_OK;
    hid_t space = H5Dget_space(set->id);
    hid_t memory = H5Screate_simple(n_dims, count, NULL);
    if (space < 0 || memory < 0 ||
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) <
            0 ||
        H5Dwrite(set->id, given_type(set->id), memory, space, H5P_DEFAULT,
                 values) < 0)
        status = fail(file, error);
    else
        set->n_rows += n;
    if (space >= 0)
        H5Sclose(space);
    if (memory >= 0)
        H5Sclose(memory);
    return status;
}

void vly_sonata_set_close(vly_sonata_set *set)
{
    /* what was not written then is found when the file is closed */
    if (set->id >= 0)
        H5Dclose(set->id);
    set->id = -1;
}

/* ---- attributes -------------------------------------------------------- */

/* Of variable length, as h5py makes them and every reader of SONATA wants. */
vly_status vly_sonata_units(vly_sonata_file *file, const vly_sonata_set *set,
                            const char *units, vly_error *error)
{
    vly_status status = VLY_OK;
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type < 0 || H5Tset_size(type, H5T_VARIABLE) < 0 ||
        H5Tset_cset(type, H5T_CSET_UTF8) < 0)
        status = fail(file, error);
    else
        status =
            put_numbers(file, set->id, "units", type, type, &units, 1, error);
    if (type >= 0)
        H5Tclose(type);
    return status;
}

vly_status vly_sonata_sorted(vly_sonata_file *file, const vly_sonata_set *set,
                             vly_error *error)
{
    static const uint8_t yes = 1;
    return put_numbers(file, set->id, "sorted", H5T_STD_U8LE, H5T_NATIVE_UINT8,
                       &yes, 1, error);
}

vly_status vly_sonata_sorting(vly_sonata_file *file,
                              const vly_sonata_group *group, vly_error *error)
{
    static const char *const names[] = {"none", "by_id", "by_time"};
    static const uint8_t by_time = 2;
    vly_status status = VLY_OK;
    hid_t type = H5Tenum_create(H5T_STD_U8LE);
    for (uint8_t value = 0; value < 3 && status == VLY_OK; value++)
        if (type < 0 || H5Tenum_insert(type, names[value], &value) < 0)
            status = fail(file, error);
    if (status == VLY_OK)
        status = put_numbers(file, group->id, "sorting", type, type, &by_time,
                             1, error);
    if (type >= 0)
        H5Tclose(type);
    return status;
}

vly_status vly_sonata_alias(vly_sonata_file *file,
                            const vly_sonata_group *group, const char *name,
                            const char *alias, vly_error *error)
{
    return H5Lcreate_hard(group->id, name, group->id, alias, H5P_DEFAULT,
                          H5P_DEFAULT) >= 0
               ? VLY_OK
               : fail(file, error);
}

#else

/* ISO C wants a declaration in every file. */
typedef int vly_sonata_none;

#endif
