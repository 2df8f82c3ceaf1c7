# SPDX-License-Identifier: Apache-2.0
vly_test(test_connectome_rules LABELS unit
    SOURCES test_connectome_rules.c connectome_builder.c LIBRARIES m)
vly_test(test_connectome_voxels LABELS unit SOURCES test_connectome_voxels.c)
vly_test(test_connectome_values LABELS unit
    SOURCES test_connectome_values.c connectome_builder.c LIBRARIES m)
vly_test(test_connectome_units LABELS unit
    SOURCES test_connectome_units.c connectome_builder.c LIBRARIES m)
vly_test(test_connectome_stimulus LABELS unit
    SOURCES test_connectome_stimulus.c connectome_builder.c LIBRARIES m)
vly_test(test_connectome_file LABELS unit
    SOURCES test_connectome_file.c connectome_builder.c LIBRARIES m)
vly_test(test_connectome_digest LABELS unit
    SOURCES test_connectome_digest.c connectome_builder.c
            ${CMAKE_SOURCE_DIR}/tests/support/digest_parts.c
    LIBRARIES volley_second m)
vly_test(test_connectome_cut LABELS unit
    SOURCES test_connectome_cut.c connectome_builder.c LIBRARIES m)
vly_test(test_ranks_cut LABELS unit
    SOURCES test_ranks_cut.c connectome_builder.c LIBRARIES m)
vly_test(test_connectome_full LABELS unit slow
    SOURCES test_connectome_full.c)
vly_test(test_connectome_distance LABELS unit
    SOURCES test_connectome_distance.c connectome_builder.c LIBRARIES m)
vly_test(test_connectome_learning LABELS unit
    SOURCES test_connectome_learning.c
            ${CMAKE_SOURCE_DIR}/tests/support/digest_parts.c
    LIBRARIES volley_second m)
vly_test(test_connectome_one_weight LABELS unit
    SOURCES test_connectome_one_weight.c)
vly_test(test_learning_file LABELS unit SOURCES test_learning_file.c)
