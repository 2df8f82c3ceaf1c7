/* SPDX-License-Identifier: Apache-2.0
 * Makes SONATA edges: see sonata_writer.h. As a program (sonata_writer FILE) it
 * makes genomes/gallery/sonata_edges.h5.
 */
#include "sonata_writer.h"

#include <hdf5.h>
#include <stdio.h>

static int put(hid_t group, const char *name, hid_t stored, hid_t given,
               const void *data, size_t n)
{
    hsize_t size = n;
    hid_t space = H5Screate_simple(1, &size, NULL);
    hid_t set = H5Dcreate2(group, name, stored, space, H5P_DEFAULT, H5P_DEFAULT,
                           H5P_DEFAULT);
    int good = H5Dwrite(set, given, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
    H5Dclose(set);
    H5Sclose(space);
    return good;
}

int sonata_write(const char *path, const sonata_edges *edges)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (file < 0)
        return 0;
    hid_t all =
        H5Gcreate2(file, "edges", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t group = H5Gcreate2(all, edges->population, H5P_DEFAULT, H5P_DEFAULT,
                             H5P_DEFAULT);
    hid_t zero = H5Gcreate2(group, edges->group ? edges->group : "0",
                            H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    int good = put(group, "source_node_id", H5T_STD_I64LE, H5T_NATIVE_INT64,
                   edges->source, edges->n_source);
    good &= put(group, "target_node_id", H5T_STD_U64LE, H5T_NATIVE_INT64,
                edges->target, edges->n);
    if (edges->order)
        good &= put(group, "edge_group_index", H5T_STD_U64LE, H5T_NATIVE_INT64,
                    edges->order, edges->n);
    if (edges->weight)
        good &= put(zero, "syn_weight", H5T_IEEE_F32LE, H5T_NATIVE_DOUBLE,
                    edges->weight, edges->n);
    if (edges->delay)
        good &= put(zero, "delay", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE,
                    edges->delay, edges->n);
    if (edges->nsyns)
        good &= put(zero, "nsyns", H5T_STD_U16LE, H5T_NATIVE_INT64,
                    edges->nsyns, edges->n);
    if (edges->types)
        good &= put(group, "edge_type_id", H5T_STD_I64LE, H5T_NATIVE_INT64,
                    edges->types, edges->n);
    if (edges->groups)
        good &= put(group, "edge_group_id", H5T_STD_I64LE, H5T_NATIVE_INT64,
                    edges->groups, edges->n);
    if (edges->more) {
        good &= put(zero, "sec_x", H5T_IEEE_F64LE, H5T_NATIVE_INT64,
                    edges->source, edges->n);
        H5Gclose(H5Gcreate2(zero, "dynamics_params", H5P_DEFAULT, H5P_DEFAULT,
                            H5P_DEFAULT));
        H5Gclose(
            H5Gcreate2(group, "notes", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        H5Gclose(H5Gcreate2(group, "indices", H5P_DEFAULT, H5P_DEFAULT,
                            H5P_DEFAULT));
    }
    if (edges->second) {
        H5Gclose(H5Gcreate2(group, "1", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        H5Gclose(
            H5Gcreate2(all, "second", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    }
    H5Gclose(zero);
    H5Gclose(group);
    H5Gclose(all);
    H5Fclose(file);
    return good;
}

#ifdef SONATA_WRITER_PROGRAM
int main(int argc, char **argv)
{
    static const int64_t source[] = {0, 1, 2, 3, 4, 0, 3};
    static const int64_t target[] = {1, 2, 3, 4, 5, 3, 5};
    static const int64_t order[] = {0, 1, 2, 3, 4, 5, 6};
    static const double weight[] = {20, 20, 20, 20, 20, 20, -2.5};
    static const double delay[] = {1.5, 1.5, 1.5, 1.5, 1.5, 0.5, 1};
    const sonata_edges edges = {.population = "A_to_A",
                                .source = source,
                                .target = target,
                                .order = order,
                                .weight = weight,
                                .delay = delay,
                                .n = 7,
                                .n_source = 7};
    return argc == 2 && sonata_write(argv[1], &edges) ? 0 : 1;
}
#endif
