# SPDX-License-Identifier: Apache-2.0
foreach(name
    cmd_import feagi_area feagi_association feagi_blueprint feagi_doc feagi_genome feagi_json
    feagi_map feagi_memory feagi_morphology feagi_name feagi_plastic feagi_property feagi_report
    feagi_toml feagi_unit)
    list(APPEND VOLLEY_COMMAND_SOURCES ${CMAKE_CURRENT_LIST_DIR}/${name}.c)
endforeach()
