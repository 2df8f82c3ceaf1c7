# SPDX-License-Identifier: Apache-2.0
# The lists of rules as files to include: plasticity.def and short_term.def, and the
# tables NAME.def, are read here, so that no other file names a rule. Made in the
# build tree, to be included as "kernels/rules/FILE":
#
#   each_plasticity.h   includes the file that VLY_PLASTICITY_READ names, per rule
#   plasticity_rules.h  includes NAME.h of every rule; most coefficients of any
#   each_short_term.h, short_term_rules.h   the same of short-term plasticity
set(rules_folder ${CMAKE_CURRENT_LIST_DIR})
set(rules_made ${CMAKE_BINARY_DIR}/generated/kernels/rules)

# vly_rules_read(LIST MACRO NAMES EACH CODE MOST): ids of a list, the lines that
# include each table and each NAME.h, and the most coefficients of a rule
function(vly_rules_read list macro out_names out_each out_code out_most)
    set(file ${rules_folder}/${list}.def)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(STRINGS ${file} lines REGEX "^${macro}\\(")
    set(names "")
    set(each "")
    set(code "")
    set(most_coefs 0)
    foreach(line IN LISTS lines)
        string(REGEX REPLACE "^${macro}\\(([a-z0-9_]+)\\).*" "\\1" id "${line}")
        set(table ${rules_folder}/${id}.def)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
        file(READ ${table} text)
        string(REGEX MATCHALL "\nVLY_COEF\\(" found "${text}")
        list(LENGTH found n_coefs)
        if(n_coefs GREATER most_coefs)
            set(most_coefs ${n_coefs})
        endif()
        list(APPEND names ${id})
        string(APPEND each "#define VLY_PLASTICITY_ID ${id}
#define VLY_PLASTICITY_TABLE \"kernels/rules/${id}.def\"
#include VLY_PLASTICITY_READ
#undef VLY_PLASTICITY_ID
#undef VLY_PLASTICITY_TABLE
")
        string(APPEND code "#include \"kernels/rules/${id}.h\"\n")
    endforeach()
    set(${out_names} "${names}" PARENT_SCOPE)
    set(${out_each} "${each}" PARENT_SCOPE)
    set(${out_code} "${code}" PARENT_SCOPE)
    set(${out_most} ${most_coefs} PARENT_SCOPE)
endfunction()
vly_rules_read(plasticity VLY_EACH_PLASTICITY VOLLEY_PLASTICITY each code
               most_coefs)
vly_rules_read(short_term VLY_EACH_SHORT_TERM VOLLEY_SHORT_TERM each_short
               code_short most_short)

# vly_rule_file(NAME TEXT): written only if it differs
function(vly_rule_file name text)
    set(head "/* SPDX-License-Identifier: Apache-2.0
 * Made by kernels/rules/rule_list.cmake from the lists of rules.
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
vly_rule_file(each_short_term.h "${each_short}#undef VLY_PLASTICITY_READ\n")
vly_rule_file(short_term_rules.h "#ifndef VOLLEY_RULES_SHORT_TERM_RULES_H
#define VOLLEY_RULES_SHORT_TERM_RULES_H
${code_short}#define VLY_SHORT_TERM_MAX_COEFS ${most_short}
#endif
")
