# SPDX-License-Identifier: Apache-2.0
# The CUDA backend beside the reference; skipped with a reason where there is
# no device, failing there under VOLLEY_REQUIRE_GPU=1.
vly_test(test_narrow_sums LABELS unit AREA cpu SOURCES test_narrow_sums.c)
target_include_directories(test_narrow_sums PRIVATE ${CMAKE_SOURCE_DIR})

# Files of the backend depend on each other in no circle; a circle is found.
find_program(VOLLEY_PYTHON python3)
if(VOLLEY_PYTHON)
    set(circles ${CMAKE_SOURCE_DIR}/tests/support/circles.py)
    vly_test_register(test_cuda_circles LABELS unit
        COMMAND ${VOLLEY_PYTHON} ${circles} ${CMAKE_SOURCE_DIR}/backends/cuda)
    set(circle ${CMAKE_CURRENT_BINARY_DIR}/circle)
    file(WRITE ${circle}/one.c "int one(int n)\n{\n    return two(n);\n}\n")
    file(WRITE ${circle}/two.c "int two(int n)\n{\n    return one(n);\n}\n")
    file(WRITE ${circle}/three.c "int three(int n)\n{\n    return one(n);\n}\n")
    vly_test_register(test_circles_found LABELS unit
        COMMAND ${VOLLEY_PYTHON} ${circles} ${circle})
    set_tests_properties(test_circles_found PROPERTIES
        PASS_REGULAR_EXPRESSION "circle: one.c -> two.c -> one.c")
else()
    message(STATUS "test_cuda_circles: left out: no python3")
endif()

if(TARGET cuda)
    find_package(CUDAToolkit REQUIRED)
    set(pairs_same test_pair_same.c)
    set(pairs_paths test_pair_paths.c)
    foreach(test same paths partition span shifts loop linger)
        vly_test(test_cuda_${test} LABELS gpu
            SOURCES test_cuda_${test}.c ${pairs_${test}} test_cuda_pair.c
                    test_cpu_net.c
            LIBRARIES volley_sdk ${CMAKE_DL_LIBS} DEPENDS cpu cuda TIMEOUT 300)
    endforeach()

    vly_test(test_cuda_programs LABELS gpu
        SOURCES test_cuda_programs.c program_nets.c test_cuda_pair.c
            test_cpu_net.c
        LIBRARIES volley_sdk volley_random_genome ${CMAKE_DL_LIBS}
        DEPENDS cpu cuda TIMEOUT 300)
    target_include_directories(test_cuda_programs PRIVATE ${CMAKE_SOURCE_DIR})
    vly_test(test_cuda_rows LABELS gpu
        SOURCES test_cuda_rows.c test_cuda_pair.c test_cpu_net.c
        LIBRARIES volley_sdk volley_random_genome ${CMAKE_DL_LIBS}
        DEPENDS cpu cuda TIMEOUT 300)
    target_include_directories(test_cuda_rows PRIVATE ${CMAKE_SOURCE_DIR})
    target_include_directories(test_cuda_rows SYSTEM
        PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
    vly_test(test_cuda_user_nets LABELS gpu
        SOURCES test_cuda_user_nets.c engine_fixture.c DEPENDS cpu cuda)

    # the host side without a device: the same objects, a fake runtime; with the
    # sources that are compiled for each
    set(support ${CMAKE_SOURCE_DIR}/tests/support)
    set(fake_own ${CMAKE_SOURCE_DIR}/backends/cuda/cuda_plugin.c
                 ${CMAKE_SOURCE_DIR}/backends/cuda/cuda_slices.c
                 ${support}/fake_cuda.c)
    add_library(fake_jit OBJECT ${support}/fake_jit.c ${support}/ptx_machine.c
                ${support}/fake_linger.c)
    add_library(fake_device OBJECT ${fake_own} ${support}/fake_kernels.c)
    target_compile_definitions(fake_device PRIVATE VLY_CUDA_BUILD="no device")
    foreach(name fake_jit fake_device)
        target_include_directories(${name}
            PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/backends/cuda)
        target_include_directories(${name} SYSTEM
            PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
        target_link_libraries(${name} PRIVATE volley_sdk)
    endforeach()
    vly_plugin(fake_cuda $<TARGET_OBJECTS:cuda_host> $<TARGET_OBJECTS:fake_jit>
               $<TARGET_OBJECTS:fake_device> $<TARGET_OBJECTS:backend_common>
               OUTPUT_DIRECTORY ${VOLLEY_TEST_PLUGIN_DIR})
    target_link_libraries(fake_cuda PRIVATE ${CMAKE_DL_LIBS})
    vly_test(test_cuda_host LABELS unit APART
        SOURCES test_cuda_host.c test_cpu_host.c test_cpu_net.c
        LIBRARIES volley_sdk ${CMAKE_DL_LIBS} DEPENDS fake_cuda
        DEFINITIONS TEST_PLUGIN="${VOLLEY_TEST_PLUGIN_DIR}/fake_cuda.so")
    vly_test(test_cuda_coefs LABELS unit APART
        SOURCES test_cuda_coefs.c test_cpu_host.c test_cpu_net.c
        LIBRARIES volley_sdk ${CMAKE_DL_LIBS} DEPENDS fake_cuda
        DEFINITIONS TEST_PLUGIN="${VOLLEY_TEST_PLUGIN_DIR}/fake_cuda.so")
    vly_test(test_cuda_program_host LABELS unit APART
        SOURCES test_cuda_program_host.c test_cpu_host.c test_cpu_net.c
        LIBRARIES volley_sdk volley_random_genome ${CMAKE_DL_LIBS}
        DEPENDS fake_cuda
        DEFINITIONS TEST_PLUGIN="${VOLLEY_TEST_PLUGIN_DIR}/fake_cuda.so")
    target_include_directories(test_cuda_program_host PRIVATE
        ${CMAKE_SOURCE_DIR})
    # the text of PTX for users' models, run by a machine of the test's own
    vly_test(test_cuda_ptx LABELS unit APART
        SOURCES test_cuda_ptx.c test_cpu_host.c test_cpu_net.c
                ../support/ptx_machine.c
                ${CMAKE_SOURCE_DIR}/backends/cuda/cuda_ptx.c
                ${CMAKE_SOURCE_DIR}/backends/cuda/cuda_ptx_functions.c
        LIBRARIES backend_common volley_sdk volley_random_genome ${CMAKE_DL_LIBS}
        DEPENDS cpu)
    target_include_directories(test_cuda_ptx PRIVATE ${CMAKE_SOURCE_DIR}
        ${CMAKE_SOURCE_DIR}/backends/cuda ${CMAKE_SOURCE_DIR}/tests/support)
    target_include_directories(test_cuda_ptx SYSTEM
        PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
    vly_test(test_cuda_ptx_numbers LABELS unit APART
        SOURCES test_cuda_ptx_numbers.c
                ${CMAKE_SOURCE_DIR}/backends/cuda/cuda_ptx.c
                ${CMAKE_SOURCE_DIR}/backends/cuda/cuda_ptx_functions.c
                ${CMAKE_SOURCE_DIR}/backends/cuda/cuda_steps.c
        LIBRARIES backend_common volley_sdk volley_random_genome)
    target_include_directories(test_cuda_ptx_numbers PRIVATE
        ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/backends/cuda
        ${CMAKE_SOURCE_DIR}/tests/support)
    target_include_directories(test_cuda_ptx_numbers SYSTEM
        PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
    add_executable(ptx_splicer ${CMAKE_SOURCE_DIR}/tests/support/ptx_splicer.c
        ${CMAKE_SOURCE_DIR}/backends/cuda/cuda_ptx.c
        ${CMAKE_SOURCE_DIR}/backends/cuda/cuda_ptx_functions.c
        $<TARGET_OBJECTS:backend_common>)
    target_include_directories(ptx_splicer PRIVATE ${CMAKE_SOURCE_DIR}
        ${CMAKE_SOURCE_DIR}/backends/cuda ${CMAKE_SOURCE_DIR}/tests/support)
    target_include_directories(ptx_splicer SYSTEM
        PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
    target_link_libraries(ptx_splicer PRIVATE volley_internal
        volley_random_genome)
    # and by ptxas, which is what the driver has
    find_program(VOLLEY_PTXAS ptxas HINTS ${CUDAToolkit_BIN_DIR})
    if(VOLLEY_PYTHON AND VOLLEY_PTXAS)
        add_dependencies(ptx_splicer spliced_text)
        vly_test_register(test_cuda_ptx_assembled LABELS unit TIMEOUT 300
            COMMAND ${VOLLEY_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/ptx_assemble.py
                ${VOLLEY_PTXAS} $<TARGET_FILE:ptx_splicer>
                ${CMAKE_BINARY_DIR}/generated/cuda
                ${CMAKE_CURRENT_BINARY_DIR}/spliced
                ${CMAKE_SOURCE_DIR}/genomes/neurons/adex_psc_exp.toml
                ${CMAKE_SOURCE_DIR}/genomes/neurons/hh_cond_exp_traub.toml)
    else()
        message(STATUS "test_cuda_ptx_assembled: left out: no python3 or ptxas")
    endif()
    # its sizes are looked at from within
    foreach(test cuda_narrow cuda_plan_table shift_classes)
        vly_test(test_${test} LABELS unit APART
            SOURCES test_${test}.c
            LIBRARIES cuda_host fake_jit fake_device backend_common volley_sdk
                ${CMAKE_DL_LIBS})
        target_include_directories(test_${test}
            PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/backends/cuda)
        target_include_directories(test_${test} SYSTEM
            PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
    endforeach()
    vly_test(test_cuda_memory LABELS unit APART
        SOURCES test_cuda_host.c test_cpu_host.c test_cpu_net.c
        LIBRARIES volley_sdk ${CMAKE_DL_LIBS} DEPENDS fake_cuda
        DEFINITIONS TEST_PLUGIN="${VOLLEY_TEST_PLUGIN_DIR}/fake_cuda.so"
            TEST_DEVICE_MEMORY=1)
    # nets that move between two emulated devices
    vly_test(test_cuda_swap LABELS unit APART
        SOURCES test_cuda_swap.c engine_fixture.c
        DEPENDS fake_cuda cpu
        DEFINITIONS TEST_PLUGIN="${VOLLEY_TEST_PLUGIN_DIR}/fake_cuda.so")

    # the kernels without a device: as C++, a coroutine for each thread. Their
    # stacks are no place for a sanitizer.
    find_package(Python3 COMPONENTS Interpreter)
    if(Python3_FOUND AND NOT VOLLEY_SANITIZE)
        set(emulated ${CMAKE_BINARY_DIR}/emulated_cuda)
        set(emulated_kernels)
        set(emulated_sources)
        foreach(file burst_global burst_learning burst_programs
                burst_programs_learning burst_spliced burst_ports
                burst_ports_learning burst_spliced_ports burst_rules
                burst_spliced_learning burst_spliced_ports_learning
                burst_spliced_learners
                burst_spliced_resident burst_spliced_shifted
                burst_spliced_partition burst_spliced_span
                burst_ports_rules modulator learning_taken burst_resident burst_shifted
                burst_learners burst_learner_rules build_learners
                burst_partition burst_narrow burst_span burst_span_narrow
                build_rows build_segments
                build_partition build_span publish short_term spike_log)
            list(APPEND emulated_kernels
                 ${CMAKE_SOURCE_DIR}/kernels/cuda/${file}.cu)
            list(APPEND emulated_sources ${emulated}/${file}.cpp)
        endforeach()
        set(emulated_headers)
        foreach(file allow_shared.cuh area_update.cuh cuda_kernels.h
                global_burst.cuh global_update.cuh grid_barrier.cuh
                learning_kernels.h learning_needs.cuh learning_flush.cuh learning_renew.cuh users_rule.cuh learning_rows.cuh learning_rule.cuh learning_window.cuh
                line_access.cuh modulator_rule.cuh
                linger_kernels.h model_words.cuh narrow_sums.h
                partition_block.cuh partition_burst.cuh partition_config.cuh
                partition_deliver.cuh partition_index.cuh partition_mail.cuh
                partition_post.cuh
                partition_kernels.h partition_layout.h partition_run.cuh
                partition_span.cuh partition_span_run.cuh
                partition_update.cuh resident_block.cuh resident_burst.cuh
                resident_deliver.cuh resident_learning.cuh
                resident_mail.cuh resident_synapses.cuh
                learner_kernels.h learners_launch.cuh program_kernels.h program_launch.cuh
                program_splice.cuh
                program_update.cuh
                resident_run.cuh resident_update.cuh segment_marks.cuh
                shift_classes.h short_term.cuh update_neuron.cuh)
            list(APPEND emulated_headers
                 ${CMAKE_SOURCE_DIR}/kernels/cuda/${file})
        endforeach()
        set(emulated_script ${CMAKE_SOURCE_DIR}/tests/support/emulated_cuda.py)
        add_custom_command(OUTPUT ${emulated_sources}
            COMMAND ${Python3_EXECUTABLE} ${emulated_script} ${emulated}
                    ${emulated_kernels} ${emulated_headers}
            DEPENDS ${emulated_script} ${emulated_kernels} ${emulated_headers}
            COMMENT "Kernels of CUDA as C++" VERBATIM)
        vly_plugin(emulated_cuda ${fake_own} ${emulated_sources}
                   ${support}/emulated_cuda.cpp
                   $<TARGET_OBJECTS:cuda_host> $<TARGET_OBJECTS:fake_jit>
                   $<TARGET_OBJECTS:backend_common>
                   $<TARGET_OBJECTS:emulated_threads>
                   OUTPUT_DIRECTORY ${VOLLEY_TEST_PLUGIN_DIR})
        # before the kernels' own folder, and not with the project's warnings:
        # macros of CUDA's stand for nothing here
        target_include_directories(emulated_cuda BEFORE PRIVATE
            ${emulated} ${CMAKE_SOURCE_DIR}/tests/support)
        target_include_directories(emulated_cuda
            PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/backends/cuda)
        target_include_directories(emulated_cuda SYSTEM
            PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
        set_source_files_properties(${emulated_sources}
            ${CMAKE_SOURCE_DIR}/tests/support/emulated_cuda.cpp
            PROPERTIES COMPILE_OPTIONS "-O1;-w;-fno-strict-aliasing")
        target_compile_definitions(emulated_cuda PRIVATE
            VLY_CUDA_BUILD="emulated" FAKE_CUDA_UNITS=4
            VLY_CUDA_INDEX_BITS=16 # of a span: carries in small nets
            VLY_CUDA_FEW_ROWS=8) # and draws by quarters
        target_link_libraries(emulated_cuda PRIVATE ${CMAKE_DL_LIBS})
        vly_test(test_cuda_emulated LABELS unit APART TIMEOUT 600
            SOURCES test_cuda_partition.c test_cuda_pair.c test_cpu_net.c
            LIBRARIES volley_sdk ${CMAKE_DL_LIBS} DEPENDS cpu emulated_cuda
            DEFINITIONS PAIR_SMALL=1 PAIR_REQUIRED="VOLLEY_REQUIRE_GPU"
                PAIR_DEVICE="../test-plugins/emulated_cuda")
        vly_test(test_cuda_span_emulated LABELS unit APART TIMEOUT 600
            SOURCES test_cuda_span.c test_cuda_pair.c test_cpu_net.c
            LIBRARIES volley_sdk ${CMAKE_DL_LIBS} DEPENDS cpu emulated_cuda
            DEFINITIONS PAIR_SMALL=1 PAIR_REQUIRED="VOLLEY_REQUIRE_GPU"
                PAIR_DEVICE="../test-plugins/emulated_cuda")
        vly_test(test_cuda_programs_emulated LABELS unit APART TIMEOUT 600
            SOURCES test_cuda_programs.c program_nets.c test_cuda_pair.c
                test_cpu_net.c
            LIBRARIES volley_sdk volley_random_genome ${CMAKE_DL_LIBS}
            DEPENDS cpu emulated_cuda
            DEFINITIONS PAIR_SMALL=1 PAIR_REQUIRED="VOLLEY_REQUIRE_GPU"
                PAIR_DEVICE="../test-plugins/emulated_cuda")
        target_include_directories(test_cuda_programs_emulated
            PRIVATE ${CMAKE_SOURCE_DIR})
        vly_test(test_cuda_rows_emulated LABELS unit APART TIMEOUT 600
            SOURCES test_cuda_rows.c test_cuda_pair.c test_cpu_net.c
            LIBRARIES volley_sdk volley_random_genome ${CMAKE_DL_LIBS}
            DEPENDS cpu emulated_cuda
            DEFINITIONS PAIR_SMALL=1 PAIR_REQUIRED="VOLLEY_REQUIRE_GPU"
                PAIR_DEVICE="../test-plugins/emulated_cuda")
        target_include_directories(test_cuda_rows_emulated
            PRIVATE ${CMAKE_SOURCE_DIR})
        target_include_directories(test_cuda_rows_emulated SYSTEM
            PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
        vly_test(test_cuda_user_nets_emulated LABELS unit APART TIMEOUT 600
            SOURCES test_cuda_user_nets.c engine_fixture.c
            DEPENDS cpu emulated_cuda DEFINITIONS
                TEST_PLUGIN="${VOLLEY_TEST_PLUGIN_DIR}/emulated_cuda.so")
        # maps of FEAGI's rule: the whole run, and in parts by snapshots
        foreach(case whole snapshot)
            vly_test_register(test_cuda_window_${case}_emulated LABELS unit
                TIMEOUT 600 COMMAND volley_command conformance
                $<TARGET_FILE:emulated_cuda> --case plastic_window/${case})
        endforeach()
        vly_test_register(test_cuda_one_weight_emulated LABELS unit TIMEOUT 600
            COMMAND volley_command conformance $<TARGET_FILE:emulated_cuda>
                    --case one_weight/whole)
        # values of the host for modulators
        vly_test_register(test_cuda_given_emulated LABELS unit TIMEOUT 600
            COMMAND volley_command conformance $<TARGET_FILE:emulated_cuda>
                    --case plastic_reward/pieces_7)
        vly_test(test_cuda_modulator_emulated LABELS unit APART TIMEOUT 600
            SOURCES test_cuda_modulator.c engine_fixture.c
            DEPENDS cpu emulated_cuda DEFINITIONS
                TEST_PLUGIN="${VOLLEY_TEST_PLUGIN_DIR}/emulated_cuda.so")
        vly_test(test_cuda_rank_learning_emulated LABELS unit APART TIMEOUT 600
            SOURCES test_cuda_rank_learning.c engine_fixture.c
            LIBRARIES volley_second DEPENDS cpu emulated_cuda DEFINITIONS
                TEST_PLUGIN="${VOLLEY_TEST_PLUGIN_DIR}/emulated_cuda.so")
        vly_test(test_cuda_learners_emulated LABELS unit APART TIMEOUT 600
            SOURCES test_cuda_learners.c engine_fixture.c
            DEPENDS cpu emulated_cuda DEFINITIONS
                TEST_PLUGIN="${VOLLEY_TEST_PLUGIN_DIR}/emulated_cuda.so")
        vly_test(test_cuda_shifts_emulated LABELS unit APART TIMEOUT 600
            SOURCES test_cuda_shifts.c test_cuda_pair.c test_cpu_net.c
            LIBRARIES volley_sdk ${CMAKE_DL_LIBS} DEPENDS cpu emulated_cuda
            DEFINITIONS PAIR_SMALL=1 PAIR_REQUIRED="VOLLEY_REQUIRE_GPU"
                PAIR_DEVICE="../test-plugins/emulated_cuda")
    else()
        message(STATUS "Kernels of CUDA on the processor: left out: no Python "
                       "3, or a sanitizer")
    endif()
endif()
