# SPDX-License-Identifier: Apache-2.0
# Files of models and their words (core/monitor), in the program of the monitor.
set(VOLLEY_TEST_AREA monitor)
vly_test(test_safetensors LABELS unit SOURCES test_safetensors.c)
vly_test(test_rwkv_weights LABELS unit
         SOURCES test_rwkv_weights.c ../support/weights_maker.c)
vly_test(test_small_float LABELS unit
         SOURCES test_small_float.c LIBRARIES volley_conformance)
vly_test(test_sampler LABELS unit SOURCES test_sampler.c LIBRARIES m)
vly_test(test_tokenizer LABELS unit SOURCES test_tokenizer.c)

# A vocabulary as large as the World's, against Python.
add_executable(tokenizer_check
    ${CMAKE_SOURCE_DIR}/tests/support/tokenizer_check.c)
target_link_libraries(tokenizer_check PRIVATE volley_monitor)
set_target_properties(tokenizer_check PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
find_program(VOLLEY_PYTHON python3)
mark_as_advanced(VOLLEY_PYTHON)
if(VOLLEY_PYTHON)
    vly_test_register(test_tokenizer_python LABELS unit
        COMMAND ${VOLLEY_PYTHON}
                ${CMAKE_SOURCE_DIR}/tests/support/tokenizer_check.py
                $<TARGET_FILE:tokenizer_check> ${CMAKE_CURRENT_BINARY_DIR})
else()
    message(STATUS "test_tokenizer_python: left out: no python3")
endif()
