# SPDX-License-Identifier: Apache-2.0
list(APPEND VOLLEY_CORE_SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/neuron_arena.c
    ${CMAKE_CURRENT_LIST_DIR}/neuron_bounds.c
    ${CMAKE_CURRENT_LIST_DIR}/neuron_check.c
    ${CMAKE_CURRENT_LIST_DIR}/neuron_emit.c
    ${CMAKE_CURRENT_LIST_DIR}/neuron_hint.c
    ${CMAKE_CURRENT_LIST_DIR}/neuron_linear.c
    ${CMAKE_CURRENT_LIST_DIR}/neuron_model.c
    ${CMAKE_CURRENT_LIST_DIR}/neuron_names.c
    ${CMAKE_CURRENT_LIST_DIR}/neuron_program.c
    ${CMAKE_CURRENT_LIST_DIR}/neuron_read.c
    ${CMAKE_CURRENT_LIST_DIR}/neuron_residual.c
    ${CMAKE_CURRENT_LIST_DIR}/neuron_scheme.c
    ${CMAKE_CURRENT_LIST_DIR}/neuron_sums.c
    ${CMAKE_CURRENT_LIST_DIR}/neuron_text.c
    ${CMAKE_CURRENT_LIST_DIR}/neuron_tree.c
    ${CMAKE_CURRENT_LIST_DIR}/neuron_unit.c
    ${CMAKE_CURRENT_LIST_DIR}/neuron_values.c
    ${CMAKE_CURRENT_LIST_DIR}/neuron_word.c
    ${CMAKE_CURRENT_LIST_DIR}/synapse_model.c
    ${CMAKE_CURRENT_LIST_DIR}/synapse_names.c)
