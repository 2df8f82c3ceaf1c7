/* SPDX-License-Identifier: Apache-2.0
 * recording_maker KIND FILE: a SONATA recording as other programs write them,
 * or one that is not as it should be. Exit code 0: it was made.
 */
#include <hdf5.h>
#include <stdio.h>
#include <string.h>

#define N 600

static hid_t put(hid_t group, const char *name, hid_t stored, hid_t given,
                 const void *data, hsize_t n)
{
    hid_t space = H5Screate_simple(1, &n, NULL);
    hid_t set = H5Dcreate2(group, name, stored, space, H5P_DEFAULT, H5P_DEFAULT,
                           H5P_DEFAULT);
    if (n > 0)
        H5Dwrite(set, given, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    H5Sclose(space);
    return set;
}

/* As h5py writes text: its length is not part of the type. */
static void units(hid_t set, const char *text)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    hid_t space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    hid_t attribute =
        H5Acreate2(set, "units", type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, &text);
    H5Aclose(attribute);
}

static hid_t group_of(hid_t parent, const char *name)
{
    return H5Gcreate2(parent, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
}

/* Spikes of neuron k every 12.5 ms from 0.25 * k ms on, the last ones first. */
static void spikes(double *times, uint32_t *nodes, double unit)
{
    for (int i = 0; i < N; i++) {
        nodes[i] = (uint32_t)((N - 1 - i) % 40);
        times[i] = ((N - 1 - i) / 40 * 12.5 + 0.25 * nodes[i]) * unit;
    }
}

/* Two populations, neither in order: milliseconds as float32 and as text with a
 * length of its own, seconds as double; the third has no spikes. */
static void foreign(hid_t file)
{
    double times[N];
    uint32_t nodes[N];
    hid_t top = group_of(file, "spikes");
    hid_t group = group_of(top, "V1");
    spikes(times, nodes, 1);
    units(put(group, "timestamps", H5T_IEEE_F32LE, H5T_NATIVE_DOUBLE, times, N),
          "milliseconds");
    put(group, "node_ids", H5T_STD_U16BE, H5T_NATIVE_UINT32, nodes, N);
    group = group_of(top, "V2");
    spikes(times, nodes, 0.001);
    units(put(group, "timestamps", H5T_IEEE_F64BE, H5T_NATIVE_DOUBLE, times,
              N / 2),
          "s");
    put(group, "node_ids", H5T_STD_I64LE, H5T_NATIVE_UINT32, nodes, N / 2);
    group = group_of(top, "silent");
    put(group, "timestamps", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, times, 0);
    put(group, "node_ids", H5T_STD_U64LE, H5T_NATIVE_UINT32, nodes, 0);
}

static void older(hid_t file)
{
    double times[N];
    uint32_t nodes[N];
    hid_t top = group_of(file, "spikes");
    spikes(times, nodes, 1);
    put(top, "timestamps", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, times, N);
    put(top, "gids", H5T_STD_U64LE, H5T_NATIVE_UINT32, nodes, N);
}

/* Neuron 4 has 3 compartments, 7 has one, 2 has two. */
static void report(hid_t file, int with_units)
{
    static const uint32_t node_ids[] = {4, 7, 2};
    static const uint32_t pointers[] = {0, 3, 4, 6};
    static const uint32_t elements[] = {0, 5, 9, 0, 0, 3};
    static const double time[] = {10, 20, 0.5};
    static const hsize_t dims[] = {20, 6};
    float data[20][6];
    for (int r = 0; r < 20; r++)
        for (int c = 0; c < 6; c++)
            data[r][c] = (float)(-65 + c + (r * (c + 1)) % 7);
    hid_t group = group_of(group_of(file, "report"), "V1");
    hid_t map = group_of(group, "mapping");
    hid_t space = H5Screate_simple(2, dims, NULL);
    hid_t set = H5Dcreate2(group, "data", H5T_IEEE_F32LE, space, H5P_DEFAULT,
                           H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    if (with_units)
        units(set, "mV");
    put(map, "node_ids", H5T_STD_U64LE, H5T_NATIVE_UINT32, node_ids, 3);
    put(map, "index_pointer", H5T_STD_U64LE, H5T_NATIVE_UINT32, pointers, 4);
    put(map, "element_ids", H5T_STD_U32LE, H5T_NATIVE_UINT32, elements,
        with_units ? 6 : 5);
    put(map, "time", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, time, 3);
}

/* One population A of two spikes, wrong in one way. */
static void wrong(hid_t file, const char *kind)
{
    static const double times[] = {1, 2, 3};
    static const double negative[] = {1, -2};
    static const int64_t nodes[] = {1, 2};
    static const int64_t below[] = {1, -2};
    static const int64_t large[] = {1, INT64_C(1) << 40};
    hid_t group = group_of(group_of(file, "spikes"), "A");
    const int is_long = strcmp(kind, "length") == 0;
    const int is_below = strcmp(kind, "below") == 0;
    const int is_large = strcmp(kind, "large") == 0;
    hid_t set =
        put(group, "timestamps", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE,
            strcmp(kind, "negative") == 0 ? negative : times, is_long ? 3 : 2);
    if (strcmp(kind, "unit") == 0)
        units(set, "hours");
    if (strcmp(kind, "float") == 0)
        put(group, "node_ids", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, times, 2);
    else if (strcmp(kind, "lacking") != 0)
        put(group, "node_ids", H5T_STD_I64LE, H5T_NATIVE_INT64,
            is_below   ? below
            : is_large ? large
                       : nodes,
            2);
}

/* 2^50 spikes are announced, one or none of them is there. */
static void huge(hid_t file, int some)
{
    static const hsize_t n = UINT64_C(1) << 50;
    static const hsize_t chunk = 1024;
    static const hsize_t one = 1;
    static const hsize_t start = 0;
    static const double value = 1;
    hid_t group = group_of(group_of(file, "spikes"), "A");
    hid_t space = H5Screate_simple(1, &n, NULL);
    hid_t memory = H5Screate_simple(1, &one, NULL);
    hid_t plan = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(plan, 1, &chunk);
    hid_t times = H5Dcreate2(group, "timestamps", H5T_IEEE_F64LE, space,
                             H5P_DEFAULT, plan, H5P_DEFAULT);
    H5Dcreate2(group, "node_ids", H5T_STD_U64LE, space, H5P_DEFAULT, plan,
               H5P_DEFAULT);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &one, NULL);
    if (some)
        H5Dwrite(times, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, &value);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    const char *kind = argv[1];
    hid_t file = H5Fcreate(argv[2], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (file < 0)
        return 1;
    if (strcmp(kind, "foreign") == 0)
        foreign(file);
    else if (strcmp(kind, "older") == 0)
        older(file);
    else if (strcmp(kind, "report") == 0 || strcmp(kind, "short") == 0)
        report(file, strcmp(kind, "report") == 0);
    else if (strcmp(kind, "huge") == 0 || strcmp(kind, "unwritten") == 0)
        huge(file, strcmp(kind, "huge") == 0);
    else if (strcmp(kind, "synapses") == 0)
        group_of(file, "edges");
    else if (strcmp(kind, "empty") == 0)
        group_of(file, "spikes");
    else
        wrong(file, kind);
    /* open objects keep the file open: H5close ends all */
    return H5close() < 0;
}
