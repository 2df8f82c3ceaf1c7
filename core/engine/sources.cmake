# SPDX-License-Identifier: Apache-2.0
list(APPEND VOLLEY_CORE_SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/backend_check.c
    ${CMAKE_CURRENT_LIST_DIR}/change_log.c
    ${CMAKE_CURRENT_LIST_DIR}/failover.c
    ${CMAKE_CURRENT_LIST_DIR}/net_device.c
    ${CMAKE_CURRENT_LIST_DIR}/live.c
    ${CMAKE_CURRENT_LIST_DIR}/live_bound.c
    ${CMAKE_CURRENT_LIST_DIR}/net.c
    ${CMAKE_CURRENT_LIST_DIR}/net_field.c
    ${CMAKE_CURRENT_LIST_DIR}/net_input.c
    ${CMAKE_CURRENT_LIST_DIR}/live_short_term.c
    ${CMAKE_CURRENT_LIST_DIR}/net_learning.c
    ${CMAKE_CURRENT_LIST_DIR}/net_modulate.c
    ${CMAKE_CURRENT_LIST_DIR}/net_rounding.c
    ${CMAKE_CURRENT_LIST_DIR}/net_run.c
    ${CMAKE_CURRENT_LIST_DIR}/net_set.c
    ${CMAKE_CURRENT_LIST_DIR}/net_state.c
    ${CMAKE_CURRENT_LIST_DIR}/net_stats.c
    ${CMAKE_CURRENT_LIST_DIR}/net_weights.c
    ${CMAKE_CURRENT_LIST_DIR}/overlay.c
    ${CMAKE_CURRENT_LIST_DIR}/set_check.c
    ${CMAKE_CURRENT_LIST_DIR}/state_check.c
    ${CMAKE_CURRENT_LIST_DIR}/pending.c
    ${CMAKE_CURRENT_LIST_DIR}/validate.c
    ${CMAKE_CURRENT_LIST_DIR}/validate_detail.c)
