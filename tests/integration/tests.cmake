# SPDX-License-Identifier: Apache-2.0
# Engine, backends and command together.

# what the options of the cuda backend can force
set(plans cuda:0,plan=global cuda:0,plan=resident cuda:0,plan=partitioned
    cuda:0,plan=partitioned,cluster=1 cuda:0,plan=partitioned,cluster=2
    cuda:0,plan=partitioned,cluster=4,unit=2
    cuda:0,plan=partitioned,cluster=2,once=60,post=20
    cuda:0,plan=partitioned,unit=1,launch=7 cuda:0,plan=global,launch=5
    cuda:0,plan=resident,quads=1 cuda:0,plan=resident,quads=3,split=1
    cuda:0,change=1,launch=5)
# and options that are off by default
set(variants cuda:0,plan=partitioned,narrow=1
    cuda:0,plan=partitioned,cluster=2,narrow=1,post=20,launch=9)

# ---- digests: shipped genomes, random genomes -----------------------------
set(VOLLEY_TEST_AREA digests)
vly_test(test_golden LABELS integration TIMEOUT 120
         SOURCES test_golden.c engine_trace.c saved_connectome.c
                 ${CMAKE_SOURCE_DIR}/tests/support/digest_parts.c
                 ${CMAKE_SOURCE_DIR}/tests/support/rank_parts.c
         LIBRARIES volley_second DEPENDS cpu ARGUMENTS brief)
vly_test_register(test_golden_neurons LABELS integration
                  COMMAND test_golden neurons)
vly_test_register(test_golden_small LABELS integration slow
                  COMMAND test_golden small)
vly_test(test_user_models LABELS integration TIMEOUT 120
         SOURCES test_user_models.c engine_trace.c
         LIBRARIES volley_second DEPENDS cpu ARGUMENTS 300)
vly_test_register(test_user_models_long LABELS integration slow
                  COMMAND test_user_models)
vly_test(test_random_models LABELS integration TIMEOUT 120
         SOURCES test_random_models.c engine_trace.c
         LIBRARIES volley_second volley_random_genome DEPENDS cpu
         ARGUMENTS 0 12)
vly_test_register(test_random_models_more LABELS integration slow
                  COMMAND test_random_models 12 150)
if(TARGET cuda)
    add_dependencies(test_user_models cuda)
    vly_test_register(test_user_models_cuda LABELS gpu TIMEOUT 600
        COMMAND test_user_models cpu:2 cuda:0 cuda:0,launch=5
                cuda:0,jit=0 cuda:0,span=2,devices=all)
    vly_test_register(test_random_models_cuda LABELS gpu TIMEOUT 900
        COMMAND test_random_models 0 125 cpu:2 cuda:0 cuda:0,jit=0)
    # parts of one device as several
    vly_test_register(test_random_models_cuda_span LABELS gpu TIMEOUT 900
        COMMAND test_random_models 200 60 spread cpu:2 cuda:0,span=2,launch=7
                cuda:0,span=3)
endif()
if(TARGET emulated_cuda)
    # the kernels on the processor: slow, so few bursts
    add_dependencies(test_user_models emulated_cuda)
    set(emulated_plugins
        "VOLLEY_PLUGIN_PATH=$<TARGET_FILE:emulated_cuda>:${VOLLEY_PLUGIN_OUTPUT_DIR}")
    vly_test_register(test_user_models_cuda_emulated LABELS integration
        TIMEOUT 600 COMMAND test_user_models 6 cpu:1 cuda:0 cuda:0,jit=0
                    cuda:0,span=2,devices=all)
    vly_test_register(test_user_models_cuda_emulated_more LABELS integration
        slow TIMEOUT 3600 COMMAND test_user_models 400 cpu:1 cuda:0
                                  cuda:0-1,devices=all)
    vly_test_register(test_random_models_cuda_emulated LABELS integration
        TIMEOUT 600 COMMAND test_random_models 0 8 cpu:1 cuda:0 cuda:0,jit=0)
    vly_test_register(test_random_models_span_emulated LABELS integration
        TIMEOUT 600 COMMAND test_random_models 200 4 spread cpu:1 cuda:0,span=3
                    cuda:0-1,devices=all)
    vly_test_register(test_random_models_span_emulated_more LABELS integration
        slow TIMEOUT 3600 COMMAND test_random_models 204 60 spread cpu:1
                                  cuda:0,span=2,launch=3 cuda:0-1,devices=all)
    vly_test_register(test_random_models_cuda_emulated_more LABELS integration
        slow TIMEOUT 3600 COMMAND test_random_models 8 117 cpu:1 cuda:0)
    vly_test_register(test_golden_neurons_cuda_emulated LABELS integration
        slow TIMEOUT 1800 COMMAND test_golden neurons cuda:0)
    foreach(name user_models random_models golden_neurons)
        foreach(more "" _more)
            foreach(on cuda span)
                if(TEST test_${name}_${on}_emulated${more})
                    set_property(TEST test_${name}_${on}_emulated${more}
                        APPEND PROPERTY ENVIRONMENT "${emulated_plugins}")
                endif()
            endforeach()
        endforeach()
    endforeach()
endif()
vly_test_register(test_golden_large LABELS integration slow
                  COMMAND test_golden large)
vly_test(test_conformance_golden LABELS integration AREA conformance TIMEOUT 120
         SOURCES test_conformance_golden.c
         LIBRARIES volley_second volley_conformance)
vly_test(test_known_spikes LABELS integration
         SOURCES test_known_spikes.c DEPENDS cpu)
# 100 of them have everything that the test wants covered; with sanitizers fewer
set(n_random 100)
if(VOLLEY_SANITIZE)
    set(n_random 25)
endif()
math(EXPR n_random_others "300 - ${n_random}")
vly_test(test_random_genomes LABELS integration TIMEOUT 300
         SOURCES test_random_genomes.c engine_trace.c saved_connectome.c
                 ${CMAKE_SOURCE_DIR}/tests/support/digest_parts.c
                 ${CMAKE_SOURCE_DIR}/tests/support/rank_parts.c
         LIBRARIES volley_second volley_second_rules volley_random_genome
         DEPENDS cpu
         ARGUMENTS 0 ${n_random})
if(VOLLEY_SONATA)
    target_sources(test_random_genomes PRIVATE
        ${CMAKE_SOURCE_DIR}/tests/support/random_sonata.c
        ${CMAKE_SOURCE_DIR}/tests/support/sonata_writer.c)
    target_compile_definitions(test_random_genomes PRIVATE VLY_TEST_SONATA)
    target_include_directories(test_random_genomes SYSTEM PRIVATE
        ${VOLLEY_HDF5_INCLUDE})
endif()
# ranks as threads, with random cuts (engine_trace.h)
vly_test_register(test_random_genomes_ranks LABELS integration
                  COMMAND test_random_genomes 300 16 cpu:1@3,cpu:2@5)
vly_test_register(test_random_genomes_ranks_more LABELS integration slow
                  COMMAND test_random_genomes 316 300 cpu:1@2,cpu:2@8,cpu:3@3)
vly_test_register(test_golden_ranks LABELS integration
                  COMMAND test_golden brief cpu:1@3)
vly_test_register(test_random_genomes_others LABELS integration slow
                  COMMAND test_random_genomes ${n_random} ${n_random_others})
vly_test_register(test_random_genomes_more LABELS integration slow
                  COMMAND test_random_genomes 300 3000)
if(TARGET emulated_cuda)
    # ranks on devices, and beside a rank on the cpu; one of the two learns
    vly_test_register(test_random_genomes_ranks_emulated LABELS integration
        TIMEOUT 600 COMMAND test_random_genomes 333 2
        cuda:0,blocks=2@3,cuda:0,blocks=1+cpu:1@2)
    vly_test_register(test_random_genomes_ranks_emulated_more LABELS integration
        slow TIMEOUT 3600 COMMAND test_random_genomes 303 60
        cpu:1@3,cuda:0@2,cuda:0,plan=global,blocks=1@3,cpu:1+cuda:1,blocks=2@5)
    # what learns, too; these two have a user's rule
    vly_test_register(test_random_genomes_rules_emulated LABELS integration
        TIMEOUT 600 COMMAND test_random_genomes 7 2 cpu:1,cuda:0,blocks=2)
    vly_test_register(test_random_genomes_rules_emulated_more LABELS integration
        slow TIMEOUT 3600 COMMAND test_random_genomes 0 100
        cpu:2,cuda:0,launch=5)
    foreach(name ranks rules)
        foreach(more "" _more)
            if(TEST test_random_genomes_${name}_emulated${more})
                set_property(TEST test_random_genomes_${name}_emulated${more}
                    APPEND PROPERTY ENVIRONMENT "${emulated_plugins}")
            endif()
        endforeach()
    endforeach()
    vly_test_register(test_random_genomes_span_emulated LABELS integration
        slow TIMEOUT 3600 COMMAND test_random_genomes 0 100
        cpu:1,cuda:0,span=3,devices=all,cuda:0-1,devices=all)
    if(TEST test_random_genomes_span_emulated)
        set_property(TEST test_random_genomes_span_emulated
            APPEND PROPERTY ENVIRONMENT "${emulated_plugins}")
    endif()
endif()
if(TARGET cuda)
    vly_test_register(test_cuda_architectures LABELS integration
        COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR}
                -DGENERATED=${CMAKE_BINARY_DIR}/generated -DNVCC=${CMAKE_CUDA_COMPILER}
                -P ${CMAKE_CURRENT_LIST_DIR}/cuda_architectures.cmake)
    add_dependencies(test_random_genomes cuda)
    # in parts, to run several at a time
    foreach(first 0 125 250 375)
        vly_test_register(test_random_genomes_cuda_${first} LABELS gpu
            TIMEOUT 900 COMMAND test_random_genomes ${first} 125 cpu:2,cuda)
        set_tests_properties(test_random_genomes_cuda_${first}
            PROPERTIES COST 60)
    endforeach()
    vly_test_register(test_random_genomes_cuda_narrow LABELS gpu TIMEOUT 600
        COMMAND test_random_genomes 500 200 cpu:2,cuda:0,change=1,launch=5,narrow=1)
    # parts of one device as several
    vly_test_register(test_random_genomes_cuda_span LABELS gpu TIMEOUT 600
        COMMAND test_random_genomes 700 150 cpu:2,cuda:0,span=3,devices=all)
endif()

if(TARGET vulkan)
    add_dependencies(test_random_genomes vulkan)
    # _from, _to: the run that swaps goes from the device to the processor and back.
    # On a processor a genome takes more than a second: most of them are slow tests.
    set(vulkan_options vulkan)
    set(vulkan_from_options cpu:2,vulkan:0,block=64,launch=5,groups=7)
    set(vulkan_to_options vulkan:0,lanes=4,together=1,cpu:3)
    foreach(part "vulkan;0;10" "vulkan_from;200;5" "vulkan_to;300;5")
        list(GET part 0 name)
        list(GET part 1 first)
        list(GET part 2 n)
        math(EXPR others "${first} + ${n}")
        math(EXPR n_others "100 - ${n}")
        vly_test_register(test_random_genomes_${name} LABELS vulkan
            COMMAND test_random_genomes ${first} ${n} ${${name}_options})
        vly_test_register(test_random_genomes_${name}_others LABELS vulkan slow
            COMMAND test_random_genomes ${others} ${n_others} ${${name}_options})
    endforeach()
    vly_test_register(test_random_genomes_vulkan_more LABELS vulkan slow
        COMMAND test_random_genomes 400 400 vulkan:0,cpu:2)
endif()

# ---- odd shapes, on every backend -----------------------------------------
vly_test(test_device_shapes LABELS integration TIMEOUT 300
         SOURCES test_device_shapes.c DEPENDS cpu
         ARGUMENTS cpu:2 cpu:5,isa=scalar)
if(TARGET cuda)
    list(LENGTH plans n_plans)
    math(EXPR n_plans "${n_plans} - 1")
    foreach(first RANGE 0 ${n_plans} 4) # in parts
        list(SUBLIST plans ${first} 4 part)
        vly_test_register(test_device_shapes_cuda_${first} LABELS gpu
            TIMEOUT 900 COMMAND test_device_shapes cuda:0 ${part})
        set_tests_properties(test_device_shapes_cuda_${first}
            PROPERTIES COST 60)
    endforeach()
    vly_test_register(test_device_shapes_cuda_variants LABELS gpu TIMEOUT 900
        # not every net is for plan partitioned
        COMMAND test_device_shapes cuda:0 ${variants})
    vly_test_register(test_golden_cuda LABELS gpu TIMEOUT 600
        COMMAND test_golden small cuda:0 ${plans} ${variants})
    set_tests_properties(test_golden_cuda PROPERTIES COST 60)
    vly_test_register(test_golden_cuda_large LABELS gpu slow
        COMMAND test_golden large cuda:0 cuda:0,plan=global)
    vly_test(test_cuda_errors LABELS gpu TIMEOUT 300
        SOURCES test_cuda_errors.c device_errors.c
        LIBRARIES ${CMAKE_DL_LIBS} DEPENDS cpu cuda)
    # free memory of a device is everybody's
    set_tests_properties(test_cuda_errors PROPERTIES RUN_SERIAL ON)
    vly_test(test_cuda_plans LABELS gpu TIMEOUT 300
        SOURCES test_cuda_plans.c device_errors.c DEPENDS cpu cuda)
    if(TARGET emulated_cuda)
        vly_test(test_cuda_plans_emulated LABELS integration APART AREA cuda TIMEOUT 300
            SOURCES test_cuda_plans.c device_errors.c DEPENDS cpu emulated_cuda
            DEFINITIONS PLANS_EMULATED=1
                TEST_PLUGIN="${VOLLEY_TEST_PLUGIN_DIR}/emulated_cuda.so")
    endif()
endif()

if(TARGET vulkan)
    vly_test_register(test_user_models_vulkan LABELS vulkan TIMEOUT 900
        COMMAND test_user_models 50 cpu:1 vulkan:0)
    vly_test_register(test_user_models_vulkan_long LABELS vulkan slow
        COMMAND test_user_models vulkan:0 cpu:2 vulkan:0,plan=sliced,fused=0)
    vly_test_register(test_random_models_vulkan LABELS vulkan TIMEOUT 900
        COMMAND test_random_models 500 1 cpu:1 vulkan:0)
    vly_test_register(test_random_models_vulkan_more LABELS vulkan slow
        COMMAND test_random_models 501 126 vulkan:0 cpu:2)
    # every shape and shipped genome once; with options, and longer, label slow
    vly_test_register(test_device_shapes_vulkan LABELS vulkan TIMEOUT 600
        COMMAND test_device_shapes vulkan:0)
    vly_test_register(test_device_shapes_vulkan_options LABELS vulkan slow
        COMMAND test_device_shapes vulkan:0,plan=sliced,size=128
                vulkan:0,together=1,size=128,groups=3)
    vly_test_register(test_golden_vulkan LABELS vulkan TIMEOUT 600
        COMMAND test_golden brief vulkan:0)
    vly_test_register(test_golden_vulkan_short LABELS vulkan slow
        COMMAND test_golden short vulkan:0 vulkan:0,plan=sliced,sums=500)
    vly_test_register(test_golden_vulkan_long LABELS vulkan slow
        COMMAND test_golden long vulkan:0 vulkan:0,plan=sliced,sums=500)
    vly_test(test_vulkan_errors LABELS vulkan TIMEOUT 300
        SOURCES test_vulkan_errors.c device_errors.c DEPENDS cpu vulkan)
    vly_test_register(test_golden_vulkan_large LABELS vulkan slow
        COMMAND test_golden large vulkan:0)
endif()

# ---- against theory and the literature ------------------------------------
set(VOLLEY_TEST_AREA science)
vly_test(test_science_lif LABELS integration
         SOURCES test_science_lif.c spike_statistics.c
         LIBRARIES m DEPENDS cpu)
vly_test(test_science_rate LABELS integration
         SOURCES test_science_rate.c science_net.c LIBRARIES m DEPENDS cpu)
vly_test(test_science_cond LABELS integration
         SOURCES test_science_cond.c science_net.c LIBRARIES m DEPENDS cpu)
vly_test(test_science_adex LABELS integration
         SOURCES test_science_adex.c science_net.c LIBRARIES m DEPENDS cpu)
vly_test(test_science_izhikevich LABELS integration
         SOURCES test_science_izhikevich.c DEPENDS cpu)
vly_test(test_neuron_gallery LABELS integration TIMEOUT 300
         SOURCES test_neuron_gallery.c neuron_gallery.c
                 neuron_gallery_methods.c
         LIBRARIES m DEPENDS cpu)
vly_test(test_neuron_noise LABELS integration
         SOURCES test_neuron_noise.c LIBRARIES m DEPENDS cpu)
vly_test(test_neuron_substeps LABELS integration
         SOURCES test_neuron_substeps.c LIBRARIES m DEPENDS cpu)
vly_test(test_science_stdp LABELS integration
         SOURCES test_science_stdp.c science_net.c science_weights.c
         LIBRARIES m DEPENDS cpu)
vly_test(test_science_stdp_rates LABELS integration
         SOURCES test_science_stdp_rates.c science_net.c science_weights.c
         LIBRARIES m DEPENDS cpu)
vly_test(test_science_short_term LABELS integration
         SOURCES test_science_short_term.c science_net.c LIBRARIES m DEPENDS cpu)
vly_test(test_science_learning LABELS integration
         SOURCES test_science_learning.c science_weights.c spike_statistics.c
         LIBRARIES m DEPENDS cpu ARGUMENTS short)
foreach(name brunel vogels song)
    vly_test_register(test_science_learning_${name}
        LABELS integration slow TIMEOUT 600
        COMMAND test_science_learning ${name})
endforeach()
vly_test(test_science_reward LABELS integration
         SOURCES test_science_reward.c DEPENDS cpu ARGUMENTS short)
vly_test_register(test_science_reward_hour LABELS integration slow TIMEOUT 3600
    COMMAND test_science_reward hour 1 2 3 4)
vly_test_register(test_science_reward_none LABELS integration slow TIMEOUT 3600
    COMMAND test_science_reward unrewarded 1 2 3)
vly_test(test_science_synfire LABELS integration
         SOURCES test_science_synfire.c science_sample.c LIBRARIES m DEPENDS cpu)
vly_test(test_science_decision LABELS integration slow TIMEOUT 900
         SOURCES test_science_decision.c science_sample.c LIBRARIES m
         DEPENDS cpu)
vly_test(test_science_vogels LABELS integration slow TIMEOUT 600
         SOURCES test_science_vogels.c science_sample.c spike_statistics.c
         LIBRARIES m DEPENDS cpu)
vly_test(test_science_clusters LABELS integration slow TIMEOUT 600
         SOURCES test_science_clusters.c science_sample.c LIBRARIES m DEPENDS cpu)
vly_test(test_science_kumar LABELS integration
         SOURCES test_science_kumar.c science_sample.c spike_statistics.c
         LIBRARIES m DEPENDS cpu)
vly_test(test_science_brunel LABELS integration slow
         SOURCES test_science_brunel.c spike_statistics.c
         LIBRARIES m DEPENDS cpu)
vly_test(test_science_microcircuit LABELS integration slow TIMEOUT 3600
         SOURCES test_science_microcircuit.c spike_statistics.c
         LIBRARIES m DEPENDS cpu)

# ---- the engine moves while it runs ---------------------------------------
set(VOLLEY_TEST_AREA engine)
vly_test(test_engine_swap LABELS integration
         SOURCES test_engine_swap.c ../unit/engine_fixture.c DEPENDS cpu)
vly_test(test_learning_swap LABELS integration
         SOURCES test_learning_swap.c ../unit/engine_fixture.c DEPENDS cpu)
vly_test(test_learning_late LABELS integration
         SOURCES test_learning_late.c ../unit/engine_fixture.c DEPENDS cpu)
if(TARGET vulkan)
    add_dependencies(test_learning_late vulkan)
    vly_test_register(test_learning_late_vulkan LABELS vulkan TIMEOUT 600
        COMMAND test_learning_late vulkan:0,launch=31)
    add_dependencies(test_learning_swap vulkan)
    vly_test_register(test_learning_swap_vulkan LABELS vulkan TIMEOUT 600
        COMMAND test_learning_swap vulkan:0)
    vly_test_register(test_learning_swap_vulkan_blocks LABELS vulkan slow
        COMMAND test_learning_swap vulkan:0,block=64,launch=7,lanes=2,groups=3)
    add_dependencies(test_engine_swap vulkan)
    vly_test_register(test_engine_swap_vulkan LABELS vulkan TIMEOUT 300
                      COMMAND test_engine_swap vulkan:0)
endif()
if(TARGET cuda)
    add_dependencies(test_learning_late cuda)
    vly_test_register(test_learning_late_cuda LABELS gpu TIMEOUT 300
                      COMMAND test_learning_late cuda:0)
    add_dependencies(test_learning_swap cuda)
    vly_test_register(test_learning_swap_cuda LABELS gpu TIMEOUT 300
                      COMMAND test_learning_swap cuda:0)
    add_dependencies(test_engine_swap cuda)
    vly_test_register(test_engine_swap_cuda LABELS gpu TIMEOUT 300
                      COMMAND test_engine_swap cuda:0)
endif()
vly_test(test_engine_failover LABELS integration TIMEOUT 120
         SOURCES test_engine_failover.c ../unit/engine_fixture.c
         DEPENDS cpu template flaky)

vly_test(test_checkpoint_kill LABELS integration TIMEOUT 300
         SOURCES test_checkpoint_kill.c DEPENDS cpu volley_command ARGUMENTS 1)
vly_test_register(test_checkpoint_kill_more LABELS integration slow
                  COMMAND test_checkpoint_kill 4)

# ---- what a run leaves ----------------------------------------------------
set(VOLLEY_TEST_AREA engine)
vly_test(test_record LABELS unit SOURCES ../unit/test_record.c)
vly_test(test_telemetry LABELS unit SOURCES ../unit/test_telemetry.c)
vly_test(test_gate LABELS unit SOURCES ../unit/test_gate.c)
vly_test(test_watcher LABELS unit SOURCES ../unit/test_watcher.c)
vly_test(test_device_watch LABELS unit
         SOURCES ../unit/test_device_watch.c LIBRARIES m)
vly_test(test_record_resume LABELS unit SOURCES ../unit/test_record_resume.c)
vly_test(test_record_stream LABELS unit SOURCES ../unit/test_record_stream.c)
vly_test(test_record_ports LABELS integration SOURCES test_record_ports.c
         DEPENDS cpu)
vly_test(test_record_fields LABELS integration
         SOURCES test_record_fields.c DEPENDS cpu volley_command)
vly_test(test_record_stats LABELS unit SOURCES ../unit/test_record_stats.c
         LIBRARIES m)

# ---- the command ----------------------------------------------------------
set(VOLLEY_TEST_AREA command)
# the objects of the command without its main
add_library(volley_command_parts STATIC EXCLUDE_FROM_ALL
    $<FILTER:$<TARGET_OBJECTS:volley_command>,EXCLUDE,/main\\.c\\.o$>)
set_target_properties(volley_command_parts PROPERTIES LINKER_LANGUAGE CXX)
target_link_libraries(volley_command_parts PUBLIC
    $<TARGET_PROPERTY:volley_command,LINK_LIBRARIES> volley_conformance)
vly_test(test_run_pace LABELS integration
         SOURCES test_run_pace.c LIBRARIES volley_command_parts)
target_include_directories(test_run_pace PRIVATE ${CMAKE_SOURCE_DIR})
vly_test(test_run_record LABELS integration
         SOURCES test_run_record.c LIBRARIES volley_command_parts)
target_include_directories(test_run_record PRIVATE ${CMAKE_SOURCE_DIR})
vly_test(test_control_server LABELS integration
         SOURCES test_control_server.c LIBRARIES volley_command_parts)
target_include_directories(test_control_server PRIVATE ${CMAKE_SOURCE_DIR})
vly_test(test_tools_memory LABELS integration TIMEOUT 600
         SOURCES test_tools_memory.c
         LIBRARIES volley_command_parts volley_conformance m DEPENDS cpu template)
vly_test(test_tools_guard LABELS integration SOURCES test_tools_guard.c
         LIBRARIES volley_command_parts volley_conformance m)
vly_test(test_run_change LABELS integration SOURCES test_run_change.c
         LIBRARIES volley_command_parts volley_conformance m DEPENDS cpu)
vly_test(test_metrics_server LABELS integration SOURCES test_metrics_server.c
         LIBRARIES volley_command_parts volley_conformance m)
vly_test(test_json_reader LABELS integration SOURCES test_json_reader.c
         LIBRARIES volley_command_parts volley_conformance m)
if(VOLLEY_JANSSON_INCLUDE AND VOLLEY_JANSSON_LIBRARY)
    vly_test(test_json_jansson LABELS integration ALONE
             SOURCES test_json_jansson.c ${CMAKE_SOURCE_DIR}/tools/cli/json_reader.c
             LIBRARIES ${VOLLEY_JANSSON_LIBRARY})
    target_include_directories(test_json_jansson PRIVATE ${CMAKE_SOURCE_DIR})
    target_include_directories(test_json_jansson SYSTEM
        PRIVATE ${VOLLEY_JANSSON_INCLUDE})
endif()
vly_test(test_feagi_import LABELS integration
         SOURCES test_feagi_import.c feagi_graph.c engine_trace.c
         LIBRARIES volley_second volley_command_parts volley_conformance m DEPENDS cpu)
vly_test(test_feagi_refuse LABELS integration
         SOURCES test_feagi_refuse.c LIBRARIES volley_command_parts volley_conformance m)
set(command_programs test_tools_memory test_tools_guard test_run_change
    test_metrics_server
    test_json_reader test_feagi_import test_feagi_refuse)
foreach(name IN LISTS command_programs)
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
endforeach()
set(command_tests
    good
    bad
    newcomer
    input
    texts
    schema
    plasticity
    remember
    window
    sweep
    stop
    device
    memory
    accelerator
    attention
    bench
    pace
    files
    bounds
    folders
    apart
    swap
    ctl
    import
    watch
    probe
    convert
    ask
    report
    monitor
    nvml
    summary
    ranks
    connections
    words
    trust
    plain
    readme
    model
    rules)
if(VOLLEY_SANITIZE MATCHES "thread")
    # ThreadSanitizer hands a signal on when the program calls the next function
    # that it knows, which a loop that computes does not do.
    list(REMOVE_ITEM command_tests stop sweep)
endif()
list(APPEND command_tests change checkpoint formats record record_input record_window weights)
foreach(name IN LISTS command_tests)
    vly_test_register(test_command_${name} LABELS integration TIMEOUT 900
        PROCESSES COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/command_${name}.sh
                $<TARGET_FILE:volley_command> ${CMAKE_SOURCE_DIR}
                ${CMAKE_BINARY_DIR}/lib/volley/test-plugins
                $<TARGET_FILE:json_check> $<TARGET_FILE:schema_check>
                $<BOOL:${VOLLEY_SONATA}>)
endforeach()

# networks that learn on a device
foreach(device "vulkan;vulkan;VOLLEY_REQUIRE_VULKAN" "cuda;gpu;VOLLEY_REQUIRE_GPU")
    list(GET device 0 id)
    list(GET device 1 label)
    list(GET device 2 required)
    if(TARGET ${id})
        vly_test_register(test_command_learning_${id} LABELS ${label} TIMEOUT 900
            PROCESSES COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/command_learning.sh
                    $<TARGET_FILE:volley_command> ${CMAKE_SOURCE_DIR}
                    ${CMAKE_BINARY_DIR}/lib/volley/test-plugins
                    $<TARGET_FILE:json_check> ${id}:0 ${required})
    endif()
endforeach()

# models of users on a device
if(TARGET vulkan)
    vly_test_register(test_command_own_models_vulkan LABELS vulkan TIMEOUT 900
        PROCESSES COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/command_own_models.sh
                $<TARGET_FILE:volley_command> ${CMAKE_SOURCE_DIR}
                ${CMAKE_BINARY_DIR}/lib/volley/test-plugins
                $<TARGET_FILE:json_check> vulkan:0 VOLLEY_REQUIRE_VULKAN)
endif()

# one call that fails: the first ones of each kind, and each one in every way
if(TARGET fault_library)
    foreach(part run sonata files threads limits)
        foreach(all "" all)
            set(name test_command_faults_${part})
            set(labels integration)
            if(all)
                set(name ${name}_all)
                list(APPEND labels slow)
            endif()
            vly_test_register(${name} LABELS ${labels}
                COMMAND ${CMAKE_COMMAND} -E env VOLLEY_TEST_FAULTS=${all}
                        sh ${CMAKE_CURRENT_LIST_DIR}/command_faults.sh
                        $<TARGET_FILE:volley_command> ${CMAKE_SOURCE_DIR}
                        ${CMAKE_BINARY_DIR}/lib/volley/test-plugins
                        $<TARGET_FILE:json_check>
                        $<TARGET_FILE:fault_library> $<BOOL:${VOLLEY_SONATA}>
                        $<BOOL:${VOLLEY_HAVE_CAIRO}> ${part})
        endforeach()
    endforeach()
endif()

# plans of accelerators on a device, and with kernels that run on the processor
function(vly_test_plans name label gemm attention)
    vly_test_register(${name} LABELS ${label} TIMEOUT 900
        COMMAND sh ${CMAKE_SOURCE_DIR}/tests/integration/command_plans.sh
                $<TARGET_FILE:volley_command> ${CMAKE_SOURCE_DIR}
                ${CMAKE_BINARY_DIR}/lib/volley/test-plugins
                $<TARGET_FILE:json_check> $<TARGET_FILE:${gemm}>
                $<TARGET_FILE:${attention}>)
endfunction()
if(TARGET gemm_cuda AND TARGET attention_cuda)
    vly_test_plans(test_command_plans_cuda gpu gemm_cuda attention_cuda)
endif()
if(TARGET fake_gemm_cuda AND TARGET fake_attention_cuda)
    vly_test_plans(test_command_plans integration fake_gemm_cuda
                   fake_attention_cuda)
endif()

if(VOLLEY_HAVE_CAIRO)
    vly_test(test_plot_names LABELS integration AREA command
             SOURCES test_plot_names.c LIBRARIES volley_command_parts m)
    target_include_directories(test_plot_names PRIVATE
        ${CMAKE_SOURCE_DIR})
    vly_test_register(test_command_plot LABELS integration TIMEOUT 400
        COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/command_plot.sh
                $<TARGET_FILE:volley_command> ${CMAKE_SOURCE_DIR}
                ${CMAKE_BINARY_DIR}/lib/volley/test-plugins
                $<TARGET_FILE:json_check> $<TARGET_FILE:image_compare>
                $<$<BOOL:${VOLLEY_SONATA}>:$<TARGET_FILE:recording_maker>>)
endif()

vly_test_register(test_quickstart LABELS integration
    COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/quickstart.sh ${CMAKE_SOURCE_DIR})

# ---- results of benches ---------------------------------------------------
find_program(VOLLEY_PYTHON python3)
mark_as_advanced(VOLLEY_PYTHON)
if(VOLLEY_PYTHON)
    vly_test_register(test_result_tables LABELS integration
        COMMAND ${CMAKE_COMMAND} -E env
                PYTHONPATH=${CMAKE_SOURCE_DIR}/bench
                PYTHONDONTWRITEBYTECODE=1
                ${VOLLEY_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/result_tables.py
                ${CMAKE_SOURCE_DIR})
    if(GIT_FOUND)
        vly_test_register(test_ci_changes LABELS integration
            COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/ci_changes.sh
                    ${CMAKE_SOURCE_DIR} ${GIT_EXECUTABLE})
    else()
        message(STATUS "test_ci_changes: left out: no git")
    endif()
    vly_test_register(test_room_map LABELS integration
        COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
                ${VOLLEY_PYTHON} ${CMAKE_SOURCE_DIR}/tests/support/room_map.py
                --check ${CMAKE_SOURCE_DIR}/docs/rooms.svg)
    vly_test_register(test_tool_includes LABELS integration
        COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
                ${VOLLEY_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/tool_includes.py
                ${CMAKE_SOURCE_DIR})
    vly_test_register(test_private_headers LABELS integration
        COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
                ${VOLLEY_PYTHON}
                ${CMAKE_SOURCE_DIR}/tests/support/private_headers.py
                --check ${CMAKE_SOURCE_DIR}/tests/support/private_headers.txt)
    foreach(room run plot)
        vly_test_register(test_${room}_circles LABELS integration
            COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
                    ${VOLLEY_PYTHON} ${CMAKE_SOURCE_DIR}/tests/support/circles.py
                    ${CMAKE_SOURCE_DIR}/tools/${room})
    endforeach()
    vly_test_register(test_docs_pages LABELS integration
        COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
                ${VOLLEY_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/docs_pages.py
                ${CMAKE_SOURCE_DIR} $<TARGET_FILE:volley_command>)
else()
    message(STATUS "test_result_tables, test_tool_includes, test_private_headers, "
                   "test_run_circles, test_plot_circles, test_docs_pages: left out: no python3")
endif()

# ---- programs of the public headers ----------------------------------------
# Linked to libvolley alone; a sanitizer build's is for its own programs.
if(NOT VOLLEY_SANITIZE)
    add_executable(record_program ${CMAKE_CURRENT_LIST_DIR}/record_program.c)
    target_link_libraries(record_program PRIVATE volley Threads::Threads)
    set_target_properties(record_program PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    add_dependencies(record_program cpu)
    vly_test_register(test_record_program LABELS integration
        COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/record_program.sh
                $<TARGET_FILE:record_program> $<TARGET_FILE:volley_command>
                ${CMAKE_SOURCE_DIR}/genomes)
endif()

# ---- what is installed ----------------------------------------------------
# The module loads a plain libvolley; a sanitizer build's is for its programs.
set(python "")
if(NOT VOLLEY_SANITIZE)
    # Debian's, for which python3-numpy is; another one if it has NumPy
    foreach(candidate /usr/bin/python3 python3)
        execute_process(COMMAND ${candidate} -c "import numpy"
                        RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
        if(NOT failed AND NOT python)
            set(python ${candidate})
        endif()
    endforeach()
    if(python)
        vly_test_register(test_python_module LABELS integration TIMEOUT 180
            COMMAND ${CMAKE_COMMAND} -E env
                    PYTHONPATH=${CMAKE_SOURCE_DIR}/tools/python
                    PYTHONDONTWRITEBYTECODE=1
                    VOLLEY_LIBRARY=$<TARGET_FILE:volley>
                    ${python} ${CMAKE_CURRENT_LIST_DIR}/python_module.py
                    $<TARGET_FILE:volley_command> ${CMAKE_SOURCE_DIR})
        vly_test_register(test_python_arrays LABELS integration TIMEOUT 180
            COMMAND ${CMAKE_COMMAND} -E env
                    PYTHONPATH=${CMAKE_SOURCE_DIR}/tools/python
                    PYTHONDONTWRITEBYTECODE=1
                    VOLLEY_LIBRARY=$<TARGET_FILE:volley>
                    ${python} ${CMAKE_CURRENT_LIST_DIR}/python_arrays.py
                    $<TARGET_FILE:volley_command> ${CMAKE_SOURCE_DIR})
        vly_test_register(test_python_runs LABELS integration TIMEOUT 180
            COMMAND ${CMAKE_COMMAND} -E env
                    PYTHONPATH=${CMAKE_SOURCE_DIR}/tools/python
                    PYTHONDONTWRITEBYTECODE=1
                    VOLLEY_LIBRARY=$<TARGET_FILE:volley>
                    ${python} ${CMAKE_CURRENT_LIST_DIR}/python_runs.py
                    $<TARGET_FILE:volley_command> ${CMAKE_SOURCE_DIR})
        vly_test_register(test_python_mistakes LABELS integration TIMEOUT 180
            COMMAND ${CMAKE_COMMAND} -E env
                    PYTHONPATH=${CMAKE_SOURCE_DIR}/tools/python
                    PYTHONDONTWRITEBYTECODE=1
                    VOLLEY_LIBRARY=$<TARGET_FILE:volley>
                    ${python} ${CMAKE_CURRENT_LIST_DIR}/python_mistakes.py
                    $<TARGET_FILE:volley_command> ${CMAKE_SOURCE_DIR})
        vly_test_register(test_python_pages LABELS integration TIMEOUT 180
            COMMAND ${CMAKE_COMMAND} -E env
                    PYTHONPATH=${CMAKE_SOURCE_DIR}/tools/python
                    PYTHONDONTWRITEBYTECODE=1
                    VOLLEY_LIBRARY=$<TARGET_FILE:volley>
                    ${python} ${CMAKE_CURRENT_LIST_DIR}/python_pages.py
                    $<TARGET_FILE:volley_command> ${CMAKE_SOURCE_DIR})
        vly_test_register(test_bench_plugin LABELS integration TIMEOUT 60
            COMMAND ${CMAKE_COMMAND} -E env
                    PYTHONPATH=${CMAKE_SOURCE_DIR}/bench
                    PYTHONDONTWRITEBYTECODE=1
                    ${python} ${CMAKE_CURRENT_LIST_DIR}/bench_plugin.py
                    $<TARGET_FILE:gemm_cpu> $<TARGET_FILE:attention_cpu>)
        # of the wheel that tools/make-wheels has made
        vly_test_register(test_wheel LABELS integration TIMEOUT 300
            COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/wheel.sh
                    $<TARGET_FILE:volley_command> ${CMAKE_SOURCE_DIR} ${python})
        set_tests_properties(test_wheel PROPERTIES SKIP_RETURN_CODE 77)
    else()
        message(STATUS "Tests of the Python module: left out: no NumPy "
                       "(python3-numpy)")
    endif()
    find_program(VOLLEY_DPKG dpkg)
    if(VOLLEY_DPKG AND CMAKE_CPACK_COMMAND)
        vly_test_register(test_package LABELS integration TIMEOUT 300
            COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/package.sh
                    ${CMAKE_CPACK_COMMAND} ${CMAKE_COMMAND} ${CMAKE_BINARY_DIR}
                    ${CMAKE_SOURCE_DIR} ${CMAKE_C_COMPILER} "${python}")
    endif()
endif()

# on a machine that is not this one
if(NOT VOLLEY_SANITIZE)
    add_library(many_cores MODULE ${CMAKE_SOURCE_DIR}/tests/support/many_cores.c)
    set_target_properties(many_cores PROPERTIES
        PREFIX "" C_VISIBILITY_PRESET default
        COMPILE_OPTIONS "-Wno-missing-prototypes" # those of the C library
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/volley/test-libraries)
    target_link_libraries(many_cores PRIVATE ${CMAKE_DL_LIBS})
endif()
vly_test_elsewhere(test_engine_memory CORES 32 DEVICE)
vly_test_elsewhere(test_command_attention CORES 3 SLOW)
vly_test_elsewhere(test_command_swap CORES 3 DEVICE)

# the longest first, or one of them is left over at the end with one core busy
set_tests_properties(test_tools_memory PROPERTIES COST 100)
foreach(name golden golden_vulkan user_models user_models_vulkan random_genomes
             random_genomes_vulkan device_shapes_vulkan learning_swap_vulkan
             vulkan_variants vulkan_same vulkan_models vulkan_programs
             conformance_vulkan_0 conformance_p_to_z_vulkan_0
             conformance_accelerator gemm checkpoint_kill)
    if(TEST test_${name})
        set_tests_properties(test_${name} PROPERTIES COST 95)
    endif()
endforeach()
foreach(name test_conformance_accelerator_cuda test_attention_cuda_cudnn
             test_gemm_cuda_0)
    if(TEST ${name})
        set_tests_properties(${name} PROPERTIES COST 90)
    endif()
endforeach()
if(TEST test_package)
    set_tests_properties(test_package PROPERTIES COST 50)
endif()

# Processes that use one GPU take turns, some milliseconds each. A test that waits
# for the device after every burst waits for the turns of all others as well (3 s
# alone, 77 s beside nine others). So these run one after the other, beside the
# tests that compute their references on the processor.
set(waits_for_bursts "^test_(conformance_cuda|golden|device_shapes|random_genomes)")
string(APPEND waits_for_bursts "|^test_cuda_(loop|linger|same|shifts|partition)$")
get_property(all_tests DIRECTORY PROPERTY TESTS)
foreach(name ${all_tests})
    get_test_property(${name} LABELS labels)
    if("gpu" IN_LIST labels AND name MATCHES "${waits_for_bursts}")
        set_tests_properties(${name} PROPERTIES RESOURCE_LOCK device_turns COST 80)
    endif()
endforeach()
