# SPDX-License-Identifier: Apache-2.0
list(APPEND VOLLEY_CORE_SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/area_columns.c
    ${CMAKE_CURRENT_LIST_DIR}/area_unfit.c
    ${CMAKE_CURRENT_LIST_DIR}/area_values.c
    ${CMAKE_CURRENT_LIST_DIR}/connectome_build.c
    ${CMAKE_CURRENT_LIST_DIR}/connectome_check.c
    ${CMAKE_CURRENT_LIST_DIR}/connectome_checksum.c
    ${CMAKE_CURRENT_LIST_DIR}/connectome_file.c
    ${CMAKE_CURRENT_LIST_DIR}/connectome_image.c
    ${CMAKE_CURRENT_LIST_DIR}/connectome_records.c
    ${CMAKE_CURRENT_LIST_DIR}/connectome_views.c
    ${CMAKE_CURRENT_LIST_DIR}/connectome_work.c
    ${CMAKE_CURRENT_LIST_DIR}/draw_words.c
    ${CMAKE_CURRENT_LIST_DIR}/quantise.c
    ${CMAKE_CURRENT_LIST_DIR}/record_areas.c
    ${CMAKE_CURRENT_LIST_DIR}/row_buckets.c
    ${CMAKE_CURRENT_LIST_DIR}/row_sort.c
    ${CMAKE_CURRENT_LIST_DIR}/rule_check.c
    ${CMAKE_CURRENT_LIST_DIR}/rule_distinct.c
    ${CMAKE_CURRENT_LIST_DIR}/rule_fixed.c
    ${CMAKE_CURRENT_LIST_DIR}/rule_rows.c
    ${CMAKE_CURRENT_LIST_DIR}/rule_voxels.c
    ${CMAKE_CURRENT_LIST_DIR}/stimulus_table.c
    ${CMAKE_CURRENT_LIST_DIR}/synapse_loads.c
    ${CMAKE_CURRENT_LIST_DIR}/synapse_values.c
    ${CMAKE_CURRENT_LIST_DIR}/value_law.c)
