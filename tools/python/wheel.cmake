# SPDX-License-Identifier: Apache-2.0
# What a wheel has beside the module and its lib, bin and share: the word `volley` on
# the path, and the licences of all that is built in. scikit-build-core sets the
# folders.
install(PROGRAMS ${CMAKE_CURRENT_LIST_DIR}/volley-command RENAME volley
        DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python)

# pip looks only at folders with files of the package that it removes, and removes
# those that are then empty: without this file, empty folders would remain if
# volley-engine is removed first
install(FILES ${CMAKE_CURRENT_LIST_DIR}/cuda13.txt DESTINATION . COMPONENT cuda)

set(licences ${SKBUILD_METADATA_DIR}/licenses)
foreach(component volley cuda)
    install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${licences}
            COMPONENT ${component})
endforeach()
if(VOLLEY_VENDOR)
    install(DIRECTORY ${VOLLEY_VENDOR}/licences/ DESTINATION ${licences}
            COMPONENT volley)
endif()
if(VOLLEY_VENDOR AND EXISTS ${VOLLEY_VENDOR}/licences-cuda)
    install(DIRECTORY ${VOLLEY_VENDOR}/licences-cuda/ DESTINATION ${licences}
            COMPONENT cuda)
endif()
