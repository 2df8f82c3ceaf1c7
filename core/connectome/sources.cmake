# SPDX-License-Identifier: Apache-2.0
list(APPEND VOLLEY_CORE_SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/area_columns.c
    ${CMAKE_CURRENT_LIST_DIR}/area_unfit.c
    ${CMAKE_CURRENT_LIST_DIR}/area_values.c
    ${CMAKE_CURRENT_LIST_DIR}/connectome_build.c
    ${CMAKE_CURRENT_LIST_DIR}/connectome_check.c
    ${CMAKE_CURRENT_LIST_DIR}/connectome_checksum.c
    ${CMAKE_CURRENT_LIST_DIR}/connectome_digest.c
    ${CMAKE_CURRENT_LIST_DIR}/connectome_file.c
    ${CMAKE_CURRENT_LIST_DIR}/connectome_image.c
    ${CMAKE_CURRENT_LIST_DIR}/connectome_read.c
    ${CMAKE_CURRENT_LIST_DIR}/connectome_records.c
    ${CMAKE_CURRENT_LIST_DIR}/connectome_views.c
    ${CMAKE_CURRENT_LIST_DIR}/connectome_work.c
    ${CMAKE_CURRENT_LIST_DIR}/digest_records.c
    ${CMAKE_CURRENT_LIST_DIR}/draw_words.c
    ${CMAKE_CURRENT_LIST_DIR}/learning_layout.c
    ${CMAKE_CURRENT_LIST_DIR}/learning_make.c
    ${CMAKE_CURRENT_LIST_DIR}/memory_views.c
    ${CMAKE_CURRENT_LIST_DIR}/near_neurons.c
    ${CMAKE_CURRENT_LIST_DIR}/part_hash.c
    ${CMAKE_CURRENT_LIST_DIR}/part_init.c
    ${CMAKE_CURRENT_LIST_DIR}/part_rows.c
    ${CMAKE_CURRENT_LIST_DIR}/part_split.c
    ${CMAKE_CURRENT_LIST_DIR}/part_whole.c
    ${CMAKE_CURRENT_LIST_DIR}/part_words.c
    ${CMAKE_CURRENT_LIST_DIR}/quantise.c
    ${CMAKE_CURRENT_LIST_DIR}/quantise_zero.c
    ${CMAKE_CURRENT_LIST_DIR}/ranks_cut.c
    ${CMAKE_CURRENT_LIST_DIR}/record_areas.c
    ${CMAKE_CURRENT_LIST_DIR}/record_learning.c
    ${CMAKE_CURRENT_LIST_DIR}/record_short_term.c
    ${CMAKE_CURRENT_LIST_DIR}/record_weights.c
    ${CMAKE_CURRENT_LIST_DIR}/row_buckets.c
    ${CMAKE_CURRENT_LIST_DIR}/bucket_sort.c
    ${CMAKE_CURRENT_LIST_DIR}/row_sort.c
    ${CMAKE_CURRENT_LIST_DIR}/rule_check.c
    ${CMAKE_CURRENT_LIST_DIR}/rule_distinct.c
    ${CMAKE_CURRENT_LIST_DIR}/rule_fixed.c
    ${CMAKE_CURRENT_LIST_DIR}/rule_degree.c
    ${CMAKE_CURRENT_LIST_DIR}/rule_pool.c
    ${CMAKE_CURRENT_LIST_DIR}/rule_rows.c
    ${CMAKE_CURRENT_LIST_DIR}/rule_voxels.c
    ${CMAKE_CURRENT_LIST_DIR}/short_term_make.c
    ${CMAKE_CURRENT_LIST_DIR}/stimulus_table.c
    ${CMAKE_CURRENT_LIST_DIR}/synapse_delays.c
    ${CMAKE_CURRENT_LIST_DIR}/synapse_distance.c
    ${CMAKE_CURRENT_LIST_DIR}/synapse_draws.c
    ${CMAKE_CURRENT_LIST_DIR}/synapse_given.c
    ${CMAKE_CURRENT_LIST_DIR}/synapse_loads.c
    ${CMAKE_CURRENT_LIST_DIR}/synapse_split.c
    ${CMAKE_CURRENT_LIST_DIR}/synapse_values.c
    ${CMAKE_CURRENT_LIST_DIR}/value_law.c)

# Rules of genome/rules/rules.def with code of their own: rule_NAME.c
set(rules_list ${CMAKE_CURRENT_LIST_DIR}/../genome/rules/rules.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${rules_list})
file(STRINGS ${rules_list} rules REGEX "^#include \"[a-z0-9_]+\\.def\"")
foreach(rule IN LISTS rules)
    string(REGEX REPLACE ".*\"(.*)\\.def\".*" "\\1" rule "${rule}")
    if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/rule_${rule}.c)
        list(APPEND VOLLEY_CORE_SOURCES
             ${CMAKE_CURRENT_LIST_DIR}/rule_${rule}.c)
    endif()
endforeach()
