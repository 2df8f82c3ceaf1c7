# SPDX-License-Identifier: Apache-2.0
list(APPEND VOLLEY_CORE_SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/causes.c
    ${CMAKE_CURRENT_LIST_DIR}/detectors.c
    ${CMAKE_CURRENT_LIST_DIR}/device_watch.c
    ${CMAKE_CURRENT_LIST_DIR}/extremes.c
    ${CMAKE_CURRENT_LIST_DIR}/gate.c
    ${CMAKE_CURRENT_LIST_DIR}/rwkv_context.c
    ${CMAKE_CURRENT_LIST_DIR}/rwkv_load.c
    ${CMAKE_CURRENT_LIST_DIR}/rwkv_model.c
    ${CMAKE_CURRENT_LIST_DIR}/rwkv_names.c
    ${CMAKE_CURRENT_LIST_DIR}/rwkv_pack.c
    ${CMAKE_CURRENT_LIST_DIR}/rwkv_plans.c
    ${CMAKE_CURRENT_LIST_DIR}/rwkv_read.c
    ${CMAKE_CURRENT_LIST_DIR}/rwkv_run.c
    ${CMAKE_CURRENT_LIST_DIR}/rwkv_state.c
    ${CMAKE_CURRENT_LIST_DIR}/rwkv_weights.c
    ${CMAKE_CURRENT_LIST_DIR}/safetensors.c
    ${CMAKE_CURRENT_LIST_DIR}/safetensors_header.c
    ${CMAKE_CURRENT_LIST_DIR}/sampler.c
    ${CMAKE_CURRENT_LIST_DIR}/small_float.c
    ${CMAKE_CURRENT_LIST_DIR}/surprise.c
    ${CMAKE_CURRENT_LIST_DIR}/telemetry.c
    ${CMAKE_CURRENT_LIST_DIR}/tokenizer.c
    ${CMAKE_CURRENT_LIST_DIR}/tokens.c
    ${CMAKE_CURRENT_LIST_DIR}/vocabulary_file.c
    ${CMAKE_CURRENT_LIST_DIR}/watcher.c
    ${CMAKE_CURRENT_LIST_DIR}/watcher_model.c)
