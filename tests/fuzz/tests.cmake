# SPDX-License-Identifier: Apache-2.0
# Every target is replayed over its corpus as an ordinary test. With clang and
# -DVOLLEY_FUZZ=ON -DVOLLEY_SANITIZE=address,undefined it is built as a fuzzer
# too: build/tests/fuzz_genome_run tests/fuzz/corpus/genome
option(VOLLEY_FUZZ "Build the fuzzers (needs clang)" OFF)

add_executable(fuzz_genome ${CMAKE_CURRENT_LIST_DIR}/fuzz_genome.c
                           ${CMAKE_CURRENT_LIST_DIR}/fuzz_replay.c)
target_link_libraries(fuzz_genome PRIVATE volley_internal)
set_target_properties(fuzz_genome PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
vly_test_register(fuzz_genome LABELS fuzz COMMAND fuzz_genome
    ${CMAKE_CURRENT_LIST_DIR}/corpus/genome
    ${CMAKE_SOURCE_DIR}/genomes/invalid
    ${CMAKE_SOURCE_DIR}/tests/golden/genome)

if(VOLLEY_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES Clang)
        message(FATAL_ERROR "VOLLEY_FUZZ needs clang, this is "
                            "${CMAKE_C_COMPILER_ID}")
    endif()
    if(NOT VOLLEY_SANITIZE)
        # libvolley's own link has no runtime for the coverage calls
        message(FATAL_ERROR "VOLLEY_FUZZ needs VOLLEY_SANITIZE as well")
    endif()
    add_executable(fuzz_genome_run ${CMAKE_CURRENT_LIST_DIR}/fuzz_genome.c)
    target_compile_options(fuzz_genome_run PRIVATE -fsanitize=fuzzer)
    target_link_options(fuzz_genome_run PRIVATE -fsanitize=fuzzer)
    target_compile_options(volley_objects PRIVATE -fsanitize=fuzzer-no-link)
    target_link_libraries(fuzz_genome_run PRIVATE volley_internal)
    set_target_properties(fuzz_genome_run PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endif()
