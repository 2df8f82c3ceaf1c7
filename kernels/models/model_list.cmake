# SPDX-License-Identifier: Apache-2.0
# The list of models as files to include: models.def and the tables NAME.def are
# read here, so that no other file names a model. Made in the build tree, to be
# included as "kernels/models/FILE" like the files in this folder:
#
#   each_model.h       includes the file that VLY_MODEL_READ names, per model
#   model_steps.h      includes NAME.h of every model
#   model_lists.h      X-macros of models by number of ports; longest table
#   shader_step.glsl   NAME.h of the model that MODEL_<id> chooses
#   shader_table.glsl  NAME.def of that model; once for each reading
set(models_folder ${CMAKE_CURRENT_LIST_DIR})
set(models_made ${CMAKE_BINARY_DIR}/generated/kernels/models)
set(models_list ${models_folder}/models.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${models_list})
file(STRINGS ${models_list} models_lines REGEX "^VLY_EACH_MODEL\\(")

set(VOLLEY_MODELS)
set(each "")
set(steps "")
set(shader_step "")
set(shader_table "")
set(one_port "")
set(two_ports "")
set(most_fields 0)
set(most_coefs 0)
set(if "#if")
foreach(line IN LISTS models_lines)
    string(REGEX REPLACE "^VLY_EACH_MODEL\\(([a-z0-9_]+)\\).*" "\\1" id "${line}")
    set(table ${models_folder}/${id}.def)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
    file(READ ${table} text)
    foreach(entry PORT FIELD COEF)
        string(REGEX MATCHALL "\nVLY_${entry}\\(" found "${text}")
        list(LENGTH found n_${entry})
    endforeach()
    if(NOT n_PORT EQUAL 1 AND NOT n_PORT EQUAL 2)
        message(FATAL_ERROR "${table}: ${n_PORT} ports, wanted 1 or 2")
    endif()
    if(n_FIELD GREATER most_fields)
        set(most_fields ${n_FIELD})
    endif()
    if(n_COEF GREATER most_coefs)
        set(most_coefs ${n_COEF})
    endif()
    if(n_COEF GREATER 32)
        message(FATAL_ERROR "${table}: ${n_COEF} coefficients, wanted at most "
                            "32: backends keep a bit for each")
    endif()
    set(candidates 0)
    if(text MATCHES "VLY_MODEL\\([^,]*,[ \n]*VLY_AREA_FEAGI")
        set(candidates 1)
    elseif(n_PORT EQUAL 1)
        string(APPEND one_port " X(${id})")
    else()
        string(APPEND two_ports " X(${id})")
    endif()
    list(APPEND VOLLEY_MODELS ${id})
    string(APPEND each "#define VLY_MODEL_ID ${id}
#define VLY_MODEL_TABLE \"kernels/models/${id}.def\"
#define VLY_MODEL_PORTS ${n_PORT}
#define VLY_MODEL_CANDIDATES ${candidates}
#include VLY_MODEL_READ
#undef VLY_MODEL_ID
#undef VLY_MODEL_TABLE
#undef VLY_MODEL_PORTS
#undef VLY_MODEL_CANDIDATES
")
    string(APPEND steps "#include \"kernels/models/${id}.h\"\n")
    string(APPEND shader_step "${if} defined(MODEL_${id})
#include \"kernels/models/${id}.h\"
#define MODEL_PART(part) vly_${id}##part
#define MODEL_PORTS ${n_PORT}
")
    if(candidates)
        string(APPEND shader_step "#define MODEL_CANDIDATES 1\n")
    endif()
    string(APPEND shader_table "${if} defined(MODEL_${id})
#include \"kernels/models/${id}.def\"
")
    set(if "#elif")
endforeach()
# structures on devices have no holes with a multiple of 4
math(EXPR most_coefs "(${most_coefs} + 3) / 4 * 4")

# vly_model_file(NAME TEXT): written only if it differs
function(vly_model_file name text)
    set(head "/* SPDX-License-Identifier: Apache-2.0
 * Made by kernels/models/model_list.cmake from models.def.
 */
")
    file(CONFIGURE OUTPUT ${models_made}/${name} CONTENT "${head}${text}" @ONLY)
endfunction()
vly_model_file(each_model.h "${each}#undef VLY_MODEL_READ\n")
vly_model_file(model_steps.h "${steps}")
vly_model_file(model_lists.h "#ifndef VOLLEY_MODELS_MODEL_LISTS_H
#define VOLLEY_MODELS_MODEL_LISTS_H
/* updated in every burst, with one port or two */
#define VLY_ONE_PORT_MODELS(X)${one_port}
#define VLY_TWO_PORT_MODELS(X)${two_ports}
/* of any table */
#define VLY_MODELS_MAX_FIELDS ${most_fields}
#define VLY_MODELS_MAX_COEFS ${most_coefs}
#endif
")
set(else "#else
#error no MODEL_<id> of a model in models.def is defined
#endif
")
vly_model_file(shader_step.glsl "${shader_step}${else}")
vly_model_file(shader_table.glsl "${shader_table}${else}")
