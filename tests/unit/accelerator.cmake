# SPDX-License-Identifier: Apache-2.0
# What the accelerator plugins share, and the plugins through their tables.
vly_test(test_element LABELS unit SOURCES test_element.c
         LIBRARIES accel_common volley_conformance m)
vly_test(test_tune_cache LABELS unit TIMEOUT 300
         SOURCES test_tune_cache.c ${CMAKE_SOURCE_DIR}/plugins/common/tune_cache.c)
target_include_directories(test_tune_cache
    PRIVATE ${CMAKE_SOURCE_DIR}/plugins/common)
