# SPDX-License-Identifier: Apache-2.0
foreach(area error json memory number plain random reading steal temporary thread
        transfer)
    vly_test(test_base_${area} LABELS unit SOURCES test_base_${area}.c)
endforeach()
# libm is allowed in a test: nextafter and floor as references
target_link_libraries(test_base_number PRIVATE m)

vly_test(test_model_exponential LABELS unit
         SOURCES test_model_exponential.c LIBRARIES m)

# The bits of base/number.h, from every compiler and set of options at hand.
# Linked without libm: a call of it would not link. The options of a sanitizer are
# not among them.
if(VOLLEY_SANITIZE)
    return()
endif()
set(number_bits_sources
    ${CMAKE_SOURCE_DIR}/tests/support/number_bits.c
    ${CMAKE_SOURCE_DIR}/core/base/number.c
    ${CMAKE_SOURCE_DIR}/core/base/number_special.c
    ${CMAKE_SOURCE_DIR}/core/base/random.c)
set(number_bits_headers
    ${CMAKE_SOURCE_DIR}/core/base/number.h
    ${CMAKE_SOURCE_DIR}/core/base/number_series.h
    ${CMAKE_SOURCE_DIR}/core/base/random.h)
set(number_bits_golden ${CMAKE_SOURCE_DIR}/tests/golden/number_bits.txt)
set(number_bits_variants "o0:-O0" "o3:-O3")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    list(APPEND number_bits_variants "o3_fma:-O3 -mavx2 -mfma")
endif()
find_program(VOLLEY_GCC gcc)
find_program(VOLLEY_CLANG clang)
mark_as_advanced(VOLLEY_GCC VOLLEY_CLANG)

set(VOLLEY_OWN ${CMAKE_C_COMPILER})
set(compilers gcc clang)
if(NOT CMAKE_C_COMPILER_ID MATCHES "^(GNU|Clang)$")
    list(APPEND compilers own)
endif()
foreach(compiler IN LISTS compilers)
    string(TOUPPER VOLLEY_${compiler} cc)
    set(cc ${${cc}})
    if(NOT cc)
        message(STATUS "number_bits: no ${compiler}, its bits are not compared")
        continue()
    endif()
    foreach(variant IN LISTS number_bits_variants)
        string(REGEX REPLACE ":.*" "" name ${variant})
        string(REGEX REPLACE ".*:" "" options ${variant})
        separate_arguments(options)
        set(name number_bits_${compiler}_${name})
        set(program ${CMAKE_BINARY_DIR}/tests/${name})
        add_custom_command(OUTPUT ${program}
            COMMAND ${CMAKE_COMMAND} -E make_directory
                    ${CMAKE_BINARY_DIR}/tests
            COMMAND ${cc} -std=c11 ${options} -ffp-contract=off
                    -fno-math-errno -I${CMAKE_SOURCE_DIR}/core
                    ${number_bits_sources} -o ${program}
            DEPENDS ${number_bits_sources} ${number_bits_headers}
            VERBATIM COMMENT "Building ${name}")
        add_custom_target(make_${name} ALL DEPENDS ${program})
        vly_test_register(test_${name} LABELS unit
                          COMMAND ${program} ${number_bits_golden})
        set_tests_properties(test_${name} PROPERTIES SKIP_RETURN_CODE 77)
    endforeach()
endforeach()
