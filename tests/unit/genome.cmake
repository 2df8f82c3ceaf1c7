# SPDX-License-Identifier: Apache-2.0
foreach(name model expression read map stimulus input override use invalid memory)
    vly_test(test_genome_${name} LABELS unit SOURCES test_genome_${name}.c)
endforeach()
vly_test(test_genome_resolve LABELS unit SOURCES test_genome_resolve.c
         LIBRARIES volley_random_genome)
vly_test(test_genome_gallery LABELS unit SOURCES test_genome_gallery.c
         LIBRARIES volley_second_rules)
