# SPDX-License-Identifier: Apache-2.0
# The engine, against the CPU backend and the backends that err on purpose.
foreach(name run input set field state backend weights window)
    vly_test(test_engine_${name} LABELS unit
             SOURCES test_engine_${name}.c engine_fixture.c DEPENDS cpu)
endforeach()
foreach(name areas states)
    vly_test(test_memory_${name} LABELS unit
             SOURCES test_memory_${name}.c engine_fixture.c DEPENDS cpu)
endforeach()
vly_test(test_engine_modulate LABELS unit
         SOURCES test_engine_modulate.c engine_fixture.c
         LIBRARIES volley_second DEPENDS cpu)
vly_test(test_engine_short_term LABELS unit
         SOURCES test_engine_short_term.c engine_fixture.c DEPENDS cpu template)
vly_test(test_engine_areas LABELS unit
         SOURCES test_engine_areas.c engine_fixture.c
         DEPENDS cpu minor_0 minor_1 minor_9 minor_10)
foreach(name validate dead memory)
    vly_test(test_engine_${name} LABELS unit TIMEOUT 120
             SOURCES test_engine_${name}.c engine_fixture.c
                 DEPENDS cpu erring failing)
endforeach()
vly_test(test_api_host LABELS unit
         SOURCES test_api_host.c engine_fixture.c DEPENDS cpu template)
vly_test(test_api_record LABELS unit
         SOURCES test_api_record.c engine_fixture.c DEPENDS cpu)
vly_test(test_probe LABELS unit TIMEOUT 120
         SOURCES test_probe.c engine_fixture.c LIBRARIES volley_probe
         DEPENDS cpu template erring)
vly_test(test_probe_fault LABELS unit
         SOURCES test_probe_fault.c engine_fixture.c LIBRARIES volley_probe
         DEPENDS cpu template gemm_cpu)
