# SPDX-License-Identifier: Apache-2.0
# The shaders of the Vulkan backend, without it: what the tool chain makes of
# them, and the models' steps on any Vulkan device, skipped with a reason where
# there is none, failing there under VOLLEY_REQUIRE_VULKAN=1.
# vly_vulkan_validated(name [slow] COMMAND...): a test under the validation layer,
# of which any message fails it
function(vly_vulkan_validated name)
    set(labels vulkan)
    if(ARGV1 STREQUAL "slow")
        list(POP_FRONT ARGN)
        list(APPEND labels slow)
    endif()
    vly_test_register(${name} LABELS ${labels} TIMEOUT 900 COMMAND ${ARGN})
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT
        VOLLEY_VULKAN_VALIDATION=1)
    set_property(TEST ${name} PROPERTY FAIL_REGULAR_EXPRESSION
        "Validation (Error|Warning)")
endfunction()

if(VOLLEY_HAVE_VULKAN)
    vly_vulkan_model_shaders(test_vulkan_steps
        SOURCE ${CMAKE_CURRENT_LIST_DIR}/test_vulkan_steps.comp)
    vly_vulkan_shader(test_vulkan_words
        SOURCE ${CMAKE_CURRENT_LIST_DIR}/test_vulkan_words.comp)
    foreach(test models words)
        vly_test(test_vulkan_${test} LABELS vulkan
            SOURCES test_vulkan_${test}.c test_vulkan_device.c
            LIBRARIES volley_sdk volley_shaders ${CMAKE_DL_LIBS} TIMEOUT 900)
    endforeach()
    vly_test_register(test_vulkan_models_many LABELS vulkan slow
        COMMAND test_vulkan_models 65536)
    # every shader of the build: this list comes after all other folders
    get_property(shaders GLOBAL PROPERTY VOLLEY_SHADERS)
    vly_test(test_vulkan_spirv LABELS unit
        SOURCES test_vulkan_spirv.c
            ${CMAKE_SOURCE_DIR}/kernels/vulkan/spirv_rules.c
        LIBRARIES volley_sdk volley_shaders DEPENDS spirv_contract
        DEFINITIONS VLY_GLSLANG="${VOLLEY_GLSLANG}"
            VLY_SPIRV_CONTRACT="$<TARGET_FILE:spirv_contract>"
        ARGUMENTS ${shaders})
endif()

# users' models and rules as SPIR-V
if(TARGET vulkan)
    set(splice ${CMAKE_SOURCE_DIR}/backends/vulkan/vulkan_splice.c
        ${CMAKE_SOURCE_DIR}/backends/vulkan/vulkan_splice_rule.c
        ${CMAKE_SOURCE_DIR}/backends/vulkan/vulkan_frame.c
        ${CMAKE_SOURCE_DIR}/kernels/vulkan/spirv_rules.c)
    vly_test(test_vulkan_splice LABELS unit APART
        SOURCES test_vulkan_splice.c ${splice}
            ${CMAKE_SOURCE_DIR}/tests/support/random_operations.c
            ${CMAKE_SOURCE_DIR}/backends/common/common_program.c
            ${CMAKE_SOURCE_DIR}/backends/common/common_program_fold.c
            ${CMAKE_SOURCE_DIR}/plugins/support/support_host.c
        LIBRARIES volley_sdk volley_shaders
        DEFINITIONS VLY_SPIRV_VAL="${VOLLEY_SPIRV_VAL}"
        WRAP malloc calloc realloc)
endif()

# The backend beside the reference, once more with the validation layer.
if(TARGET vulkan)
    set(pairs_same test_pair_same.c)
    set(pairs_variants test_pair_same.c)
    set(pairs_paths test_pair_paths.c)
    set(apart_variants APART) # pair_same is another function in each
    foreach(test same variants paths)
        vly_test(test_vulkan_${test} LABELS vulkan ${apart_${test}}
            SOURCES test_vulkan_${test}.c ${pairs_${test}} test_cuda_pair.c
                    test_cpu_net.c
            LIBRARIES volley_sdk ${CMAKE_DL_LIBS} DEPENDS cpu vulkan
            DEFINITIONS PAIR_DEVICE="vulkan"
                PAIR_REQUIRED="VOLLEY_REQUIRE_VULKAN"
            TIMEOUT 900)
    endforeach()
    foreach(test same paths)
        vly_vulkan_validated(test_vulkan_${test}_validated test_vulkan_${test})
    endforeach()
    # more networks with each option; every option under the validation layer
    foreach(test same variants)
        vly_test_register(test_vulkan_${test}_whole LABELS vulkan slow
            COMMAND test_vulkan_${test})
        vly_vulkan_validated(test_vulkan_${test}_whole_validated slow
                             test_vulkan_${test})
        foreach(name test_vulkan_${test}_whole test_vulkan_${test}_whole_validated)
            set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT
                VOLLEY_TEST_WHOLE=1)
        endforeach()
    endforeach()
    vly_test(test_vulkan_programs LABELS vulkan APART
        SOURCES test_vulkan_programs.c test_cuda_pair.c test_cpu_net.c
            ${CMAKE_SOURCE_DIR}/tests/support/random_operations.c
        LIBRARIES volley_sdk ${CMAKE_DL_LIBS} DEPENDS cpu vulkan
        DEFINITIONS PAIR_DEVICE="vulkan"
            PAIR_REQUIRED="VOLLEY_REQUIRE_VULKAN"
        ARGUMENTS 0 8
        TIMEOUT 900)
    vly_test(test_vulkan_rules LABELS vulkan
        SOURCES test_vulkan_rules.c test_cuda_pair.c test_cpu_net.c
        LIBRARIES volley_sdk ${CMAKE_DL_LIBS} DEPENDS cpu vulkan
        DEFINITIONS PAIR_DEVICE="vulkan"
            PAIR_REQUIRED="VOLLEY_REQUIRE_VULKAN"
        TIMEOUT 900)
    vly_vulkan_validated(test_vulkan_rules_validated test_vulkan_rules)
    vly_test_register(test_vulkan_programs_more LABELS vulkan slow
        COMMAND test_vulkan_programs 8 449)
    vly_vulkan_validated(test_vulkan_programs_validated test_vulkan_programs
        501 3)
    vly_test(test_vulkan_memory LABELS vulkan APART
        SOURCES test_backend_memory.c test_cpu_host.c test_cpu_net.c
        LIBRARIES volley_sdk ${CMAKE_DL_LIBS} DEPENDS vulkan
        DEFINITIONS TEST_PLUGIN="$<TARGET_FILE:vulkan>"
            TEST_REQUIRED="VOLLEY_REQUIRE_VULKAN"
        TIMEOUT 900)
    vly_vulkan_validated(test_vulkan_memory_validated test_vulkan_memory)
endif()
