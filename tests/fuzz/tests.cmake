# SPDX-License-Identifier: Apache-2.0
# Every target is replayed over its corpus as an ordinary test of the program
# tests_fuzz. With clang and -DVOLLEY_FUZZ=ON -DVOLLEY_SANITIZE=address,undefined it
# is built as a fuzzer too: build/tests/fuzz_genome_run tests/fuzz/corpus/genome
option(VOLLEY_FUZZ "Build the fuzzers (needs clang)" OFF)
if(VOLLEY_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES Clang)
        message(FATAL_ERROR "VOLLEY_FUZZ needs clang, this is "
                            "${CMAKE_C_COMPILER_ID}")
    endif()
    if(NOT VOLLEY_SANITIZE)
        # libvolley's own link has no runtime for the coverage calls
        message(FATAL_ERROR "VOLLEY_FUZZ needs VOLLEY_SANITIZE as well")
    endif()
    target_compile_options(volley_base PRIVATE -fsanitize=fuzzer-no-link)
    target_compile_options(volley_objects PRIVATE -fsanitize=fuzzer-no-link)
    target_compile_options(volley_monitor PRIVATE -fsanitize=fuzzer-no-link)
    target_compile_options(volley_command PRIVATE -fsanitize=fuzzer-no-link)
endif()

# vly_fuzz(name [SOURCES file...] [LIBRARIES target...] [DEFINITIONS NAME...]
#          [INCLUDES folder...] CORPUS folder...)
# The target of the first source, fuzz_NAME.c if there is none, replayed over the
# folders of CORPUS.
function(vly_fuzz name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" ""
                          "SOURCES;LIBRARIES;DEFINITIONS;INCLUDES;CORPUS")
    if(NOT arg_SOURCES)
        set(arg_SOURCES fuzz_${name}.c)
    endif()
    list(TRANSFORM arg_SOURCES REPLACE "^fuzz_" "${CMAKE_CURRENT_LIST_DIR}/fuzz_")
    # each has the same function of the fuzzer
    vly_test(fuzz_${name} LABELS fuzz AREA fuzz APART
        SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_replay.c ${arg_SOURCES}
        LIBRARIES ${arg_LIBRARIES} DEFINITIONS ${arg_DEFINITIONS}
        ARGUMENTS ${arg_CORPUS})
    target_include_directories(fuzz_${name} PRIVATE ${arg_INCLUDES})
    if(VOLLEY_FUZZ)
        add_executable(fuzz_${name}_run ${arg_SOURCES})
        target_compile_options(fuzz_${name}_run PRIVATE -fsanitize=fuzzer)
        target_link_options(fuzz_${name}_run PRIVATE -fsanitize=fuzzer)
        target_compile_definitions(fuzz_${name}_run PRIVATE ${arg_DEFINITIONS})
        target_include_directories(fuzz_${name}_run PRIVATE ${arg_INCLUDES})
        target_link_libraries(fuzz_${name}_run PRIVATE
                              ${arg_LIBRARIES} volley_monitor)
        set_target_properties(fuzz_${name}_run PROPERTIES
            RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
        set_property(GLOBAL APPEND PROPERTY VOLLEY_FUZZERS ${name})
    endif()
endfunction()

set(corpus ${CMAKE_CURRENT_LIST_DIR}/corpus)
# Files of synapses: comma-separated text, and SONATA where it is built.
vly_fuzz(edges CORPUS ${corpus}/edges)
if(VOLLEY_SONATA)
    vly_fuzz(sonata SOURCES fuzz_edges.c DEFINITIONS FUZZ_SONATA
             CORPUS ${corpus}/sonata)
endif()
vly_fuzz(genome CORPUS ${corpus}/genome ${VOLLEY_INVALID_CASES}
                       ${CMAKE_SOURCE_DIR}/tests/golden/genome)
foreach(name neuron edge_types node_types spikes tables connectome checkpoint
        stream safetensors vocabulary)
    vly_fuzz(${name} CORPUS ${corpus}/${name})
endforeach()
vly_fuzz(tune CORPUS ${corpus}/tune
    SOURCES fuzz_tune.c ${CMAKE_SOURCE_DIR}/plugins/common/tune_blob.c
            ${CMAKE_SOURCE_DIR}/plugins/common/tune_cache.c
    INCLUDES ${CMAKE_SOURCE_DIR}/plugins/common ${CMAKE_SOURCE_DIR}/tests/support)

# Readers and servers of the command; FEAGI's genomes.
set(command_targets json control metrics commandline folder feagi)
if(VOLLEY_HAVE_CAIRO)
    list(APPEND command_targets plot)
endif()
set(also_feagi ${CMAKE_SOURCE_DIR}/tests/golden/feagi)
foreach(name IN LISTS command_targets)
    vly_fuzz(${name} CORPUS ${corpus}/${name} ${also_${name}}
        LIBRARIES volley_command_parts volley_conformance m
        INCLUDES ${CMAKE_SOURCE_DIR})
endforeach()

# The fuzzers and their corpora, for tests/fuzz/run.
if(VOLLEY_FUZZ)
    get_property(fuzzers GLOBAL PROPERTY VOLLEY_FUZZERS)
    list(JOIN fuzzers "\n" fuzz_list)
    file(WRITE ${CMAKE_BINARY_DIR}/fuzz_targets.txt "${fuzz_list}\n")
    list(TRANSFORM fuzzers REPLACE "(.+)" "fuzz_\\1_run" OUTPUT_VARIABLE fuzz_names)
    add_custom_target(fuzz_all DEPENDS ${fuzz_names})
endif()
