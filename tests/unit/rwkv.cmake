# SPDX-License-Identifier: Apache-2.0
# RWKV-7: models on devices, and the operations of volley.rwkv/1. In the program
# of the monitor.
set(VOLLEY_TEST_AREA monitor)
foreach(name golden model context device refusal)
    vly_test(test_rwkv_${name} LABELS unit TIMEOUT 120
        SOURCES test_rwkv_${name}.c test_rwkv_fixture.c
                ../support/rwkv_reference.c
        LIBRARIES m DEPENDS attention_cpu gemm_cpu)
endforeach()

# Whole models on the kernels of CUDA, on the processor.
if(TARGET fake_attention_cuda AND TARGET fake_gemm_cuda)
    foreach(name kernels chain pattern)
        vly_test(test_rwkv_${name} LABELS unit TIMEOUT 300
            SOURCES test_rwkv_${name}.c test_rwkv_fixture.c
                    ../support/rwkv_reference.c
            LIBRARIES m DEPENDS attention_cpu fake_attention_cuda fake_gemm_cuda)
    endforeach()
    target_include_directories(test_rwkv_pattern PRIVATE ${CMAKE_SOURCE_DIR})
    set(plugins ${VOLLEY_TEST_PLUGIN_DIR}/fake_attention_cuda.so
        ${VOLLEY_TEST_PLUGIN_DIR}/fake_gemm_cuda.so
        ${VOLLEY_PLUGIN_OUTPUT_DIR}/attention_cpu.so)
    list(JOIN plugins ":" plugins)
    set_property(TEST test_rwkv_kernels test_rwkv_chain test_rwkv_pattern
        APPEND PROPERTY ENVIRONMENT "VOLLEY_PLUGIN_PATH=${plugins}"
            VOLLEY_REQUIRE_GPU=1) # it is emulated
endif()

if(TARGET attention_cuda AND NOT VOLLEY_SANITIZE)
    find_package(CUDAToolkit REQUIRED)
    vly_test(test_rwkv_token LABELS unit APART SOURCES test_rwkv_token.c
        LIBRARIES attention_sm90a CUDA::cudart_static m)
    target_include_directories(test_rwkv_token PRIVATE ${CMAKE_SOURCE_DIR})
endif()

# whole models on a device
if(TARGET attention_cuda)
    foreach(options "" ",early=0" ",chain=0")
        foreach(test model golden)
            string(MAKE_C_IDENTIFIER "test_rwkv_${test}_cuda${options}" name)
            vly_test_register(${name} LABELS gpu TIMEOUT 600
                COMMAND test_rwkv_${test} cuda:0${options})
        endforeach()
    endforeach()
    if(TARGET test_rwkv_chain)
        vly_test_register(test_rwkv_chain_cuda LABELS gpu TIMEOUT 600
            COMMAND test_rwkv_chain cuda:0)
    endif()
endif()
