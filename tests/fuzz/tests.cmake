# SPDX-License-Identifier: Apache-2.0
# Every target is replayed over its corpus as an ordinary test. With clang and
# -DVOLLEY_FUZZ=ON -DVOLLEY_SANITIZE=address,undefined it is built as a fuzzer
# too: build/tests/fuzz_genome_run tests/fuzz/corpus/genome
option(VOLLEY_FUZZ "Build the fuzzers (needs clang)" OFF)

# Files of synapses: comma-separated text, and SONATA where it is built.
set(edge_targets edges)
if(VOLLEY_SONATA)
    list(APPEND edge_targets sonata)
endif()
foreach(name IN LISTS edge_targets)
    add_executable(fuzz_${name} ${CMAKE_CURRENT_LIST_DIR}/fuzz_edges.c
                                ${CMAKE_CURRENT_LIST_DIR}/fuzz_replay.c)
    target_link_libraries(fuzz_${name} PRIVATE volley_internal)
    set_target_properties(fuzz_${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    vly_test_register(fuzz_${name} LABELS fuzz COMMAND fuzz_${name}
        ${CMAKE_CURRENT_LIST_DIR}/corpus/${name})
endforeach()
if(VOLLEY_SONATA)
    target_compile_definitions(fuzz_sonata PRIVATE FUZZ_SONATA)
endif()

if(VOLLEY_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES Clang)
        message(FATAL_ERROR "VOLLEY_FUZZ needs clang, this is "
                            "${CMAKE_C_COMPILER_ID}")
    endif()
    if(NOT VOLLEY_SANITIZE)
        # libvolley's own link has no runtime for the coverage calls
        message(FATAL_ERROR "VOLLEY_FUZZ needs VOLLEY_SANITIZE as well")
    endif()
    target_compile_options(volley_objects PRIVATE -fsanitize=fuzzer-no-link)
    foreach(name IN LISTS edge_targets)
        add_executable(fuzz_${name}_run ${CMAKE_CURRENT_LIST_DIR}/fuzz_edges.c)
        target_compile_options(fuzz_${name}_run PRIVATE -fsanitize=fuzzer)
        target_link_options(fuzz_${name}_run PRIVATE -fsanitize=fuzzer)
        target_link_libraries(fuzz_${name}_run PRIVATE volley_internal)
        set_target_properties(fuzz_${name}_run PROPERTIES
            RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    endforeach()
    if(VOLLEY_SONATA)
        target_compile_definitions(fuzz_sonata_run PRIVATE FUZZ_SONATA)
    endif()
endif()

# vly_fuzz(name folder...): fuzz_NAME.c, replayed over the folders
function(vly_fuzz name)
    add_executable(fuzz_${name} ${CMAKE_CURRENT_LIST_DIR}/fuzz_${name}.c
                                ${CMAKE_CURRENT_LIST_DIR}/fuzz_replay.c)
    target_link_libraries(fuzz_${name} PRIVATE volley_internal)
    set_target_properties(fuzz_${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    vly_test_register(fuzz_${name} LABELS fuzz
                      COMMAND fuzz_${name} ${ARGN})
    if(VOLLEY_FUZZ)
        add_executable(fuzz_${name}_run
            ${CMAKE_CURRENT_LIST_DIR}/fuzz_${name}.c)
        target_compile_options(fuzz_${name}_run PRIVATE -fsanitize=fuzzer)
        target_link_options(fuzz_${name}_run PRIVATE -fsanitize=fuzzer)
        target_link_libraries(fuzz_${name}_run PRIVATE volley_internal)
        set_target_properties(fuzz_${name}_run PROPERTIES
            RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    endif()
endfunction()

# The import of FEAGI's genomes, whose sources are the command's, and JSON.
set(feagi_sources)
foreach(part area association blueprint genome json map memory
        morphology name plastic property report
        toml unit)
    list(APPEND feagi_sources ${CMAKE_SOURCE_DIR}/tools/feagi/feagi_${part}.c)
endforeach()
list(APPEND feagi_sources ${CMAKE_SOURCE_DIR}/tools/cli/tool.c)
vly_fuzz(feagi ${CMAKE_CURRENT_LIST_DIR}/corpus/feagi
               ${CMAKE_SOURCE_DIR}/tests/golden/feagi)
vly_fuzz(json ${CMAKE_CURRENT_LIST_DIR}/corpus/json)
foreach(target fuzz_feagi fuzz_feagi_run fuzz_json fuzz_json_run)
    if(TARGET ${target})
        target_sources(${target} PRIVATE
                       ${CMAKE_SOURCE_DIR}/tools/cli/json_reader.c)
        target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
        target_link_libraries(${target} PRIVATE m)
    endif()
endforeach()
foreach(target fuzz_feagi fuzz_feagi_run)
    if(TARGET ${target})
        target_sources(${target} PRIVATE ${feagi_sources})
    endif()
endforeach()

vly_fuzz(genome ${CMAKE_CURRENT_LIST_DIR}/corpus/genome
                ${VOLLEY_INVALID_CASES}
                ${CMAKE_SOURCE_DIR}/tests/golden/genome)
vly_fuzz(neuron ${CMAKE_CURRENT_LIST_DIR}/corpus/neuron)
vly_fuzz(edge_types ${CMAKE_CURRENT_LIST_DIR}/corpus/edge_types)
vly_fuzz(node_types ${CMAKE_CURRENT_LIST_DIR}/corpus/node_types)
vly_fuzz(spikes ${CMAKE_CURRENT_LIST_DIR}/corpus/spikes)
vly_fuzz(tables ${CMAKE_CURRENT_LIST_DIR}/corpus/tables)
vly_fuzz(connectome ${CMAKE_CURRENT_LIST_DIR}/corpus/connectome)
vly_fuzz(checkpoint ${CMAKE_CURRENT_LIST_DIR}/corpus/checkpoint)
vly_fuzz(stream ${CMAKE_CURRENT_LIST_DIR}/corpus/stream)
vly_fuzz(safetensors ${CMAKE_CURRENT_LIST_DIR}/corpus/safetensors)
vly_fuzz(vocabulary ${CMAKE_CURRENT_LIST_DIR}/corpus/vocabulary)

# Servers, whose sources the targets include.
vly_fuzz(control ${CMAKE_CURRENT_LIST_DIR}/corpus/control)
vly_fuzz(metrics ${CMAKE_CURRENT_LIST_DIR}/corpus/metrics)
vly_fuzz(tune ${CMAKE_CURRENT_LIST_DIR}/corpus/tune)
set(control_sources control/control_socket.c)
set(metrics_sources cli/options.c cli/tool.c)
foreach(name control metrics)
    foreach(target fuzz_${name} fuzz_${name}_run)
        if(TARGET ${target})
            foreach(source IN LISTS ${name}_sources)
                target_sources(${target} PRIVATE
                               ${CMAKE_SOURCE_DIR}/tools/${source})
            endforeach()
            target_include_directories(${target} PRIVATE
                                       ${CMAKE_SOURCE_DIR})
            target_link_libraries(${target} PRIVATE m)
        endif()
    endforeach()
endforeach()
foreach(target fuzz_tune fuzz_tune_run)
    if(TARGET ${target})
        target_sources(${target} PRIVATE
            ${CMAKE_SOURCE_DIR}/plugins/common/tune_blob.c
            ${CMAKE_SOURCE_DIR}/plugins/common/tune_cache.c)
        target_include_directories(${target} PRIVATE
            ${CMAKE_SOURCE_DIR}/plugins/common ${CMAKE_SOURCE_DIR}/tests/support)
    endif()
endforeach()

# Readers of the command: all its objects except main.
set(command_targets commandline folder)
if(VOLLEY_HAVE_CAIRO)
    list(APPEND command_targets plot)
endif()
if(VOLLEY_FUZZ)
    target_compile_options(volley_command PRIVATE -fsanitize=fuzzer-no-link)
endif()
foreach(name IN LISTS command_targets)
    vly_fuzz(${name} ${CMAKE_CURRENT_LIST_DIR}/corpus/${name})
    foreach(target fuzz_${name} fuzz_${name}_run)
        if(TARGET ${target})
            target_sources(${target} PRIVATE
                $<FILTER:$<TARGET_OBJECTS:volley_command>,EXCLUDE,/main\\.c\\.o$>)
            target_include_directories(${target} PRIVATE
                ${CMAKE_SOURCE_DIR})
            target_link_libraries(${target} PRIVATE volley_conformance m
                $<TARGET_PROPERTY:volley_command,LINK_LIBRARIES>)
        endif()
    endforeach()
endforeach()

# The fuzzers and their corpora, for tests/fuzz/run.
get_property(fuzz_targets DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
set(fuzz_list "")
foreach(target IN LISTS fuzz_targets)
    if(target MATCHES "^fuzz_(.*)_run$")
        string(APPEND fuzz_list "${CMAKE_MATCH_1}\n")
    endif()
endforeach()
if(VOLLEY_FUZZ)
    file(WRITE ${CMAKE_BINARY_DIR}/fuzz_targets.txt "${fuzz_list}")
    string(REGEX REPLACE "([a-z]+)\n" "fuzz_\\1_run;" fuzz_names "${fuzz_list}")
    add_custom_target(fuzz_all DEPENDS ${fuzz_names})
endif()
