# SPDX-License-Identifier: Apache-2.0
# The list of plasticity rules as files to include: plasticity.def and the tables
# NAME.def are read here, so that no other file names a rule. Made in the build
# tree, to be included as "kernels/rules/FILE":
#
#   each_plasticity.h   includes the file that VLY_PLASTICITY_READ names, per rule
#   plasticity_rules.h  includes NAME.h of every rule; most coefficients of any
set(rules_folder ${CMAKE_CURRENT_LIST_DIR})
set(rules_made ${CMAKE_BINARY_DIR}/generated/kernels/rules)
set(rules_list ${rules_folder}/plasticity.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${rules_list})
file(STRINGS ${rules_list} rules_lines REGEX "^VLY_EACH_PLASTICITY\\(")

set(VOLLEY_PLASTICITY)
set(each "")
set(code "")
set(most_coefs 0)
foreach(line IN LISTS rules_lines)
    string(REGEX REPLACE "^VLY_EACH_PLASTICITY\\(([a-z0-9_]+)\\).*" "\\1" id
                         "${line}")
    set(table ${rules_folder}/${id}.def)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
    file(READ ${table} text)
    string(REGEX MATCHALL "\nVLY_COEF\\(" found "${text}")
    list(LENGTH found n_coefs)
    if(n_coefs GREATER most_coefs)
        set(most_coefs ${n_coefs})
    endif()
    list(APPEND VOLLEY_PLASTICITY ${id})
    string(APPEND each "#define VLY_PLASTICITY_ID ${id}
#define VLY_PLASTICITY_TABLE \"kernels/rules/${id}.def\"
#include VLY_PLASTICITY_READ
#undef VLY_PLASTICITY_ID
#undef VLY_PLASTICITY_TABLE
")
    string(APPEND code "#include \"kernels/rules/${id}.h\"\n")
endforeach()

# vly_rule_file(NAME TEXT): written only if it differs
function(vly_rule_file name text)
    set(head "/* SPDX-License-Identifier: Apache-2.0
 * Made by kernels/rules/rule_list.cmake from plasticity.def.
 */
")
    file(CONFIGURE OUTPUT ${rules_made}/${name} CONTENT "${head}${text}" @ONLY)
endfunction()
vly_rule_file(each_plasticity.h "${each}#undef VLY_PLASTICITY_READ\n")
vly_rule_file(plasticity_rules.h "#ifndef VOLLEY_RULES_PLASTICITY_RULES_H
#define VOLLEY_RULES_PLASTICITY_RULES_H
/* one signature for all rules: most use not every trace */
#if defined(__GNUC__) && !defined(__CUDA_ARCH__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored \"-Wunused-parameter\"
#endif
${code}#if defined(__GNUC__) && !defined(__CUDA_ARCH__)
#pragma GCC diagnostic pop
#endif
#define VLY_PLASTICITY_MAX_COEFS ${most_coefs}
#endif
")
