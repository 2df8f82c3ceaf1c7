# SPDX-License-Identifier: Apache-2.0
# The second simulator (plain C, of Volley only steps of models) and random
# genomes.
add_library(volley_second STATIC EXCLUDE_FROM_ALL
    ${CMAKE_CURRENT_LIST_DIR}/second_digest.c
    ${CMAKE_CURRENT_LIST_DIR}/second_reader.c
    ${CMAKE_CURRENT_LIST_DIR}/second_ports.c
    ${CMAKE_CURRENT_LIST_DIR}/second_program.c
    ${CMAKE_CURRENT_LIST_DIR}/second_learning.c
    ${CMAKE_CURRENT_LIST_DIR}/second_rule.c
    ${CMAKE_CURRENT_LIST_DIR}/second_association.c
    ${CMAKE_CURRENT_LIST_DIR}/second_memory.c
    ${CMAKE_CURRENT_LIST_DIR}/second_reward.c
    ${CMAKE_CURRENT_LIST_DIR}/second_short_term.c
    ${CMAKE_CURRENT_LIST_DIR}/second_window.c
    ${CMAKE_CURRENT_LIST_DIR}/thread_exchange.c
    ${CMAKE_CURRENT_LIST_DIR}/second_simulator.c)
target_include_directories(volley_second PUBLIC ${CMAKE_CURRENT_LIST_DIR}
                                         PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(volley_second PUBLIC m PRIVATE volley_sdk)
add_executable(second_simulator ${CMAKE_CURRENT_LIST_DIR}/second_main.c)
target_link_libraries(second_simulator PRIVATE volley_second)
set_target_properties(second_simulator PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

add_library(volley_random_genome STATIC EXCLUDE_FROM_ALL
    ${CMAKE_CURRENT_LIST_DIR}/random_area.c
    ${CMAKE_CURRENT_LIST_DIR}/random_genome.c
    ${CMAKE_CURRENT_LIST_DIR}/random_ir.c
    ${CMAKE_CURRENT_LIST_DIR}/random_neuron.c
    ${CMAKE_CURRENT_LIST_DIR}/random_late.c
    ${CMAKE_CURRENT_LIST_DIR}/random_memory.c
    ${CMAKE_CURRENT_LIST_DIR}/random_pool.c
    ${CMAKE_CURRENT_LIST_DIR}/random_plasticity.c
    ${CMAKE_CURRENT_LIST_DIR}/random_record.c
    ${CMAKE_CURRENT_LIST_DIR}/random_rule.c
    ${CMAKE_CURRENT_LIST_DIR}/random_short_term.c
    ${CMAKE_CURRENT_LIST_DIR}/random_space.c
    ${CMAKE_CURRENT_LIST_DIR}/random_voxels.c)
target_include_directories(volley_random_genome PUBLIC
    ${CMAKE_CURRENT_LIST_DIR} ${CMAKE_SOURCE_DIR}/core/include)

add_library(volley_second_rules STATIC EXCLUDE_FROM_ALL
    ${CMAKE_CURRENT_LIST_DIR}/second_joined.c
    ${CMAKE_CURRENT_LIST_DIR}/second_pools.c
    ${CMAKE_CURRENT_LIST_DIR}/second_rules.c
    ${CMAKE_CURRENT_LIST_DIR}/second_space.c)
target_include_directories(volley_second_rules PUBLIC
    ${CMAKE_CURRENT_LIST_DIR})
target_link_libraries(volley_second_rules PRIVATE volley_internal m)

# They compute much, and on one thread.
if(VOLLEY_SANITIZE)
    foreach(name volley_second volley_second_rules volley_random_genome)
        target_compile_options(${name} PRIVATE -O2)
        if(VOLLEY_SANITIZE MATCHES "thread")
            target_compile_options(${name} PRIVATE -fno-sanitize=thread)
        endif()
    endforeach()
endif()

foreach(name json_check schema_check)
    add_executable(${name} ${CMAKE_CURRENT_LIST_DIR}/${name}.c
                           ${CMAKE_SOURCE_DIR}/tools/cli/json_reader.c)
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
    target_link_libraries(${name} PRIVATE volley_internal m)
    set_target_properties(${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endforeach()

# A file for each case of genomes/invalid, for the tests that read them. Their
# paths are those of genomes: files/, ../three.toml. Made by every build, which
# sees new and removed files that way.
add_executable(case_splitter ${CMAKE_CURRENT_LIST_DIR}/case_splitter.c)
set_target_properties(case_splitter PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
set(VOLLEY_INVALID_CASES ${CMAKE_CURRENT_BINARY_DIR}/cases/invalid)
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/cases)
add_custom_target(invalid_cases ALL
    COMMAND case_splitter ${CMAKE_SOURCE_DIR}/genomes/invalid
            ${VOLLEY_INVALID_CASES}
    COMMAND ${CMAKE_COMMAND} -E create_symlink
            ${CMAKE_SOURCE_DIR}/genomes/three.toml
            ${CMAKE_CURRENT_BINARY_DIR}/cases/three.toml
    COMMENT "Cases of genomes/invalid" VERBATIM)

if(VOLLEY_HAVE_CAIRO)
    add_executable(image_compare ${CMAKE_CURRENT_LIST_DIR}/image_compare.c)
    target_include_directories(image_compare SYSTEM PRIVATE
        ${VOLLEY_CAIRO_INCLUDE})
    target_include_directories(image_compare PRIVATE ${CMAKE_SOURCE_DIR})
    target_link_libraries(image_compare PRIVATE volley_sdk)
    target_link_libraries(image_compare PRIVATE ${VOLLEY_CAIRO_LIBRARY})
    set_target_properties(image_compare PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endif()

if(VOLLEY_SONATA)
    add_executable(recording_maker ${CMAKE_CURRENT_LIST_DIR}/recording_maker.c)
    target_include_directories(recording_maker SYSTEM PRIVATE
        ${VOLLEY_HDF5_INCLUDE})
    target_link_libraries(recording_maker PRIVATE volley_internal)
    set_target_properties(recording_maker PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    add_executable(recording_times ${CMAKE_CURRENT_LIST_DIR}/recording_times.c)
    target_link_libraries(recording_times PRIVATE volley_internal)
    set_target_properties(recording_times PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endif()

# One failing call, by LD_PRELOAD: not with a sanitizer, which makes such calls
# itself, and only with glibc's names of functions below malloc.
if(NOT VOLLEY_SANITIZE AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
    add_library(fault_library MODULE ${CMAKE_CURRENT_LIST_DIR}/fault_library.c)
    target_link_libraries(fault_library PRIVATE ${CMAKE_DL_LIBS})
    set_target_properties(fault_library PROPERTIES PREFIX "" SUFFIX ".so"
        C_VISIBILITY_PRESET default
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endif()
