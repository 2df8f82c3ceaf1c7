# SPDX-License-Identifier: Apache-2.0
foreach(name model copies empty series lists expression read map stimulus record input override use invalid memory
        notes foreign)
    vly_test(test_genome_${name} LABELS unit SOURCES test_genome_${name}.c)
endforeach()
add_dependencies(test_genome_invalid invalid_cases)
vly_test(test_genome_resolve LABELS unit SOURCES test_genome_resolve.c
         LIBRARIES volley_random_genome)
vly_test(test_genome_gallery LABELS unit SOURCES test_genome_gallery.c
         LIBRARIES volley_second_rules)
vly_test(test_genome_parts LABELS unit SOURCES test_genome_parts.c
         LIBRARIES volley_second_rules)
vly_test(test_genome_mixture LABELS unit SOURCES test_genome_mixture.c
         LIBRARIES volley_second_rules m)
vly_test(test_genome_file LABELS unit SOURCES test_genome_file.c)
vly_test(test_written_model LABELS unit SOURCES test_written_model.c)
vly_test(test_genome_spike_file LABELS unit SOURCES test_genome_spike_file.c)
vly_test(test_genome_table LABELS unit SOURCES test_genome_table.c)
vly_test(test_gallery_space LABELS unit SOURCES test_gallery_space.c)
if(VOLLEY_SONATA)
    target_compile_definitions(test_gallery_space PRIVATE VLY_TEST_SONATA)
    target_compile_definitions(test_genome_file PRIVATE VLY_TEST_SONATA)
    target_compile_definitions(test_genome_resolve PRIVATE VLY_TEST_SONATA)
    vly_test(test_genome_sonata LABELS unit
        SOURCES test_genome_sonata.c ../support/sonata_writer.c)
    vly_test(test_genome_nodes LABELS unit SOURCES test_genome_nodes.c)
    # these two have functions of HDF5 of their own
    vly_test(test_sonata_crash LABELS unit ALONE SOURCES test_sonata_crash.c)
    vly_test(test_sonata_write LABELS unit ALONE SOURCES test_sonata_write.c
             LIBRARIES ${CMAKE_DL_LIBS})
    foreach(name test_genome_sonata test_genome_nodes test_sonata_crash test_sonata_write)
        target_include_directories(${name} SYSTEM PRIVATE
                                   ${VOLLEY_HDF5_INCLUDE})
    endforeach()
endif()
# libm: pow, exp and log in double as references
vly_test(test_rules LABELS unit SOURCES test_rules.c LIBRARIES m)
vly_test(test_user_rule LABELS unit SOURCES test_user_rule.c LIBRARIES m)
vly_test(test_eligibility LABELS unit SOURCES test_eligibility.c LIBRARIES m)
vly_test(test_short_term LABELS unit SOURCES test_short_term.c LIBRARIES m)
vly_test(test_plasticity_info LABELS unit SOURCES test_plasticity_info.c
         LIBRARIES m)
vly_test(test_genome_plasticity LABELS unit SOURCES test_genome_plasticity.c)
vly_test(test_genome_modulator LABELS unit SOURCES test_genome_modulator.c)
