# SPDX-License-Identifier: Apache-2.0
# Users' neuron models: the language and its compiler. libm as a reference. In the
# program of genomes.
set(VOLLEY_TEST_AREA genome)
vly_test(test_neuron_unit LABELS unit SOURCES test_neuron_unit.c)
foreach(name expression memory program residual scheme)
    vly_test(test_neuron_${name} LABELS unit
             SOURCES test_neuron_${name}.c neuron_fixture.c LIBRARIES m)
endforeach()
vly_test(test_neuron_bounds LABELS unit
         SOURCES test_neuron_bounds.c neuron_fixture.c
         LIBRARIES volley_random_genome m)
vly_test(test_model_program LABELS unit SOURCES test_model_program.c
         LIBRARIES m)
