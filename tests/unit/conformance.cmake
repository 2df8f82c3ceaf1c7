# SPDX-License-Identifier: Apache-2.0
# The conformance table over every backend and its ways of working.
vly_test(test_conformance LABELS unit TIMEOUT 180
    SOURCES test_conformance.c LIBRARIES volley_conformance volley_probe
    DEPENDS cpu template ARGUMENTS cpu:1)
# With ThreadSanitizer the scenarios that run a whole net (w) and two nets at once
# (t): the threads of a net work in the same way in every scenario. All scenarios
# have label slow.
set(scenarios)
if(VOLLEY_SANITIZE MATCHES "thread")
    set(scenarios */[wt]*)
    vly_test_register(test_conformance_threads_whole LABELS unit slow
        COMMAND test_conformance cpu:3)
endif()
vly_test_register(test_conformance_threads LABELS unit TIMEOUT 180
    COMMAND test_conformance cpu:3 ${scenarios})
vly_test_register(test_conformance_scalar LABELS unit TIMEOUT 180
    COMMAND test_conformance cpu:2,isa=scalar)
# threads are chosen while bursts run
vly_test_register(test_conformance_tuned LABELS unit TIMEOUT 180
    COMMAND test_conformance cpu:3,threads=auto)
vly_test_register(test_conformance_template LABELS unit TIMEOUT 180
    COMMAND test_conformance template)
# through a probe: no call may come out otherwise
vly_test_register(test_conformance_probed LABELS unit TIMEOUT 180
    COMMAND test_conformance cpu:1 [f-m]* call.*,burst,check)
if(TARGET cuda)
    add_dependencies(test_conformance cuda)
    foreach(spec cuda:0 cuda:0,plan=global cuda:0,plan=resident
            cuda:0,plan=partitioned
            cuda:0,plan=resident,blocks=3,launch=7,lines=1,split=1
            cuda:0,plan=resident,quads=1
            cuda:0,plan=global,blocks=2,launch=5
            cuda:0,plan=partitioned,cluster=1
            cuda:0,plan=partitioned,cluster=5,unit=1
            cuda:0,plan=partitioned,cluster=8,unit=4,launch=7
            cuda:0,plan=partitioned,cluster=2,once=50,post=9
            cuda:0,plan=partitioned,narrow=1
            cuda:0,plan=partitioned,cluster=2,narrow=1,unit=1,launch=7
            cuda:0,change=1,launch=7)
        string(MAKE_C_IDENTIFIER "test_conformance_${spec}" name)
        vly_test_register(${name} LABELS gpu TIMEOUT 600
            COMMAND test_conformance ${spec})
    endforeach()
endif()
if(TARGET vulkan)
    add_dependencies(test_conformance vulkan)
    # A scenario takes seconds on a processor. Here every net runs the scenario
    # `whole`; under the validation layer (below) every net runs `snapshot`, and
    # three nets run every scenario. Scenarios test the host's code, which is the
    # same for all models; models are in the kernels. With options that cut
    # launches and work differently: the scenarios in which a launch ends early or
    # a snapshot is taken. Everything else has label slow. There are two parts, by
    # the nets' names.
    set(spec_whole vulkan:0)
    set(spec_sliced vulkan:0,plan=sliced)
    set(spec_cut vulkan:0,size=16,launch=7,lanes=1,groups=2,block=64)
    foreach(way whole:whole sliced:* cut:s*)
        string(REGEX REPLACE ":.*" "" spec ${way})
        string(REGEX REPLACE ".*:" "" scenarios ${way})
        set(spec ${spec_${spec}})
        string(MAKE_C_IDENTIFIER "${spec}" name)
        vly_test_register(test_conformance_${name} LABELS vulkan TIMEOUT 600
            COMMAND test_conformance ${spec} [a-o]*/${scenarios})
        vly_test_register(test_conformance_p_to_z_${name} LABELS vulkan
            TIMEOUT 600 COMMAND test_conformance ${spec} [p-z]*/${scenarios})
        if(NOT scenarios STREQUAL "*")
            vly_test_register(test_conformance_${name}_whole LABELS vulkan slow
                COMMAND test_conformance ${spec})
        endif()
    endforeach()
    # under the validation layer one scenario of every net, and every scenario of
    # three nets; all of all with label slow
    foreach(part snapshot:*/snapshot mixed:mixed/* reward:plastic_reward/*
                 short_term:short_term/*)
        string(REPLACE ":" ";" part ${part})
        list(GET part 0 name)
        list(GET part 1 pattern)
        vly_vulkan_validated(test_conformance_${name}_vulkan_validated
                             test_conformance vulkan:0 ${pattern})
    endforeach()
    vly_vulkan_validated(test_conformance_vulkan_whole_validated slow
                         test_conformance vulkan:0)
endif()
