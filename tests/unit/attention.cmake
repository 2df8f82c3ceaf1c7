# SPDX-License-Identifier: Apache-2.0
# Attention and the recurrence of RWKV-7 on the processor.
set(VOLLEY_TEST_AREA accelerator)
vly_test(test_attention_kernels LABELS unit APART
    SOURCES test_attention_kernels.c
    LIBRARIES ${VOLLEY_ATTENTION_KERNELS} accel_common m)
vly_test(test_attention_layout LABELS unit APART SOURCES test_attention_layout.c
         LIBRARIES attention_common accel_common m)
foreach(name attention attention_refusal wkv)
    vly_test(test_${name} LABELS unit TIMEOUT 120
        SOURCES test_${name}.c test_attention_fixture.c
        LIBRARIES volley_sdk m DEPENDS attention_cpu)
endforeach()

# The conformance tables over every way of attention_cpu. With sanitizers cases
# of some sizes and layouts, with one kind of elements; all with label slow.
set(cases "*")
if(VOLLEY_SANITIZE)
    set(cases "*[0-9sx]/fp32*")
    vly_test_register(test_conformance_accelerator_whole LABELS unit slow
        COMMAND test_conformance_accelerator cpu:2)
endif()
vly_test(test_conformance_accelerator LABELS unit AREA conformance TIMEOUT 600
    SOURCES test_conformance_accelerator.c LIBRARIES volley_conformance
    DEPENDS attention_cpu ARGUMENTS cpu:2 ${cases})
foreach(device cpu:1,choose=reference cpu:3,isa=scalar cpu:1,isa=avx2)
    string(MAKE_C_IDENTIFIER "test_conformance_accelerator_${device}" name)
    # every case with one kind of elements
    set(kind fp32)
    if(device MATCHES "scalar")
        set(kind bf16)
    elseif(device MATCHES "avx2")
        set(kind "fp[18]")
    endif()
    vly_test_register(${name} LABELS unit TIMEOUT 300
        COMMAND test_conformance_accelerator ${device} */${kind}*)
    vly_test_register(${name}_whole LABELS unit slow
        COMMAND test_conformance_accelerator ${device})
endforeach()
# a required interface that is not found is a failure and no skip
vly_test_register(test_conformance_accelerator_missing LABELS unit
    COMMAND test_conformance_accelerator nothing:0 "wkv*" volley.wkv/1)
set_property(TEST test_conformance_accelerator_missing PROPERTY WILL_FAIL TRUE)
if(TARGET attention_cuda)
    add_dependencies(test_conformance_accelerator attention_cuda)
    vly_test_register(test_conformance_accelerator_cuda LABELS gpu TIMEOUT 600
        COMMAND test_conformance_accelerator cuda:0,tune=0)
endif()

# ten threads at once: any device, every way of a CUDA device
vly_test(test_attention_device LABELS unit TIMEOUT 300
    SOURCES test_attention_device.c LIBRARIES volley_conformance
    DEPENDS attention_cpu ARGUMENTS cpu:2)
# more heads, sequences, rows and keys than a table has
foreach(name attention wkv)
    vly_test(test_${name}_most LABELS unit TIMEOUT 300
        SOURCES test_${name}_most.c LIBRARIES volley_conformance
        DEPENDS attention_cpu ARGUMENTS cpu:2)
endforeach()
if(TARGET attention_cuda)
    foreach(way attention: attention:cudnn attention:own_sm90
            attention:own_back attention:own_decode attention:own_mma
            wkv: wkv:own_recurrent wkv:own_chunked wkv:own_step)
        string(REGEX REPLACE ":.*" "" name ${way})
        string(REGEX REPLACE ".*:" "" choice ${way})
        set(options "tune=0")
        if(choice)
            string(APPEND options ",choose=${choice}")
            string(PREPEND choice "_")
        endif()
        vly_test_register(test_${name}_most_cuda${choice} LABELS gpu TIMEOUT 600
            COMMAND test_${name}_most cuda:0,cache=off,${options})
        # gigabytes of a device and of the host: one at a time, beside others
        set_tests_properties(test_${name}_most_cuda${choice}
            PROPERTIES RESOURCE_LOCK gigabytes COST 80)
    endforeach()
    add_dependencies(test_attention_device attention_cuda)
    foreach(device cuda:0,cache=off cuda:0,cache=off,tune=0)
        string(MAKE_C_IDENTIFIER "test_attention_device_${device}" name)
        vly_test_register(${name} LABELS gpu TIMEOUT 600
            COMMAND test_attention_device ${device})
    endforeach()
    foreach(way cudnn:forward,backward,decode own_sm90:forward own_back:backward
            own_decode:decode own_mma:forward,decode
            own_plain:forward,backward,decode
            own_step:step own_recurrent:sequence own_chunked:sequence)
        string(REPLACE ":" ";" way ${way})
        list(GET way 0 name)
        list(GET way 1 kinds)
        vly_test_register(test_attention_device_${name} LABELS gpu TIMEOUT 600
            COMMAND test_attention_device
                    cuda:0,cache=off,tune=0,choose=${name} ${kinds})
    endforeach()
endif()

# of the command: the log of a sweep
vly_test(test_bench_sweep LABELS unit AREA command
    SOURCES test_bench_sweep.c LIBRARIES volley_command_parts m)
target_include_directories(test_bench_sweep PRIVATE
    ${CMAKE_SOURCE_DIR})
