# SPDX-License-Identifier: Apache-2.0
list(APPEND VOLLEY_CORE_SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/expression.c
    ${CMAKE_CURRENT_LIST_DIR}/genome.c
    ${CMAKE_CURRENT_LIST_DIR}/genome_area.c
    ${CMAKE_CURRENT_LIST_DIR}/genome_cell.c
    ${CMAKE_CURRENT_LIST_DIR}/genome_hash.c
    ${CMAKE_CURRENT_LIST_DIR}/genome_keys.c
    ${CMAKE_CURRENT_LIST_DIR}/genome_map.c
    ${CMAKE_CURRENT_LIST_DIR}/genome_morphology.c
    ${CMAKE_CURRENT_LIST_DIR}/genome_names.c
    ${CMAKE_CURRENT_LIST_DIR}/genome_number.c
    ${CMAKE_CURRENT_LIST_DIR}/genome_override.c
    ${CMAKE_CURRENT_LIST_DIR}/genome_reader.c
    ${CMAKE_CURRENT_LIST_DIR}/genome_resolve.c
    ${CMAKE_CURRENT_LIST_DIR}/genome_spikes.c
    ${CMAKE_CURRENT_LIST_DIR}/genome_stimulus.c
    ${CMAKE_CURRENT_LIST_DIR}/genome_text.c
    ${CMAKE_CURRENT_LIST_DIR}/genome_value.c
    ${CMAKE_CURRENT_LIST_DIR}/genome_vectors.c
    ${CMAKE_CURRENT_LIST_DIR}/model_info.c
    ${CMAKE_CURRENT_LIST_DIR}/resolve_map.c
    ${CMAKE_CURRENT_LIST_DIR}/suggest.c
    ${CMAKE_CURRENT_LIST_DIR}/toml_reader.cpp
    ${CMAKE_CURRENT_LIST_DIR}/toml_tree.c
    ${CMAKE_CURRENT_LIST_DIR}/voxel_rule.c
)
