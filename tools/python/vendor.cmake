# SPDX-License-Identifier: Apache-2.0
# Libraries that a wheel or an sdist brings as sources, compiled into libvolley and
# the command: toml++, zstd, and HDF5 with zlib, without HDF5's network
# drivers. tools/make-wheels gathers the folder from Debian's source packages. An
# ordinary build has none, and uses the libraries of the machine.
#
# The names of files are read from the folder, because each version of a library
# has its own.
set(VOLLEY_VENDOR "" CACHE PATH "Sources of libraries to build in (make-wheels)")
if(NOT VOLLEY_VENDOR AND EXISTS ${CMAKE_CURRENT_LIST_DIR}/vendor/zstd)
    set(VOLLEY_VENDOR ${CMAKE_CURRENT_LIST_DIR}/vendor) # an unpacked sdist
endif()
if(NOT VOLLEY_VENDOR)
    return()
endif()
foreach(name tomlplusplus/toml++ zstd zlib hdf5)
    if(NOT EXISTS ${VOLLEY_VENDOR}/${name})
        message(FATAL_ERROR "VOLLEY_VENDOR: ${VOLLEY_VENDOR} has no ${name}, wanted a "
                            "folder that tools/make-wheels has made")
    endif()
endforeach()
message(STATUS "Libraries: built in, from ${VOLLEY_VENDOR}")

# what nothing calls is left out of the wheel
set(VOLLEY_VENDOR_FLAGS -ffunction-sections -fdata-sections)
set(VOLLEY_VENDOR_LINK -Wl,--gc-sections)

# vly_vendor(name patterns...): a static library of the C files
function(vly_vendor name)
    list(TRANSFORM ARGN PREPEND ${VOLLEY_VENDOR}/)
    file(GLOB files CONFIGURE_DEPENDS ${ARGN})
    add_library(${name} STATIC EXCLUDE_FROM_ALL ${files})
    # others' code: written for other warnings, with POSIX of the compiler's default
    target_compile_options(${name} PRIVATE -w ${VOLLEY_VENDOR_FLAGS})
    set_target_properties(${name} PROPERTIES C_EXTENSIONS ON)
    target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
endfunction()

vly_vendor(vendor_zstd zstd/common/*.c zstd/compress/*.c zstd/decompress/*.c)
target_compile_definitions(vendor_zstd PRIVATE ZSTD_DISABLE_ASM=1)
set(VOLLEY_ZSTD_INCLUDE ${VOLLEY_VENDOR}/zstd CACHE PATH "" FORCE)
set(VOLLEY_ZSTD_LIBRARY vendor_zstd CACHE STRING "" FORCE)

# ---- HDF5, by its own CMake list, which asks the compiler 200 questions ------

vly_vendor(vendor_zlib zlib/*.c)
set(hdf5 ${CMAKE_BINARY_DIR}/hdf5)
set(launchers)
# ARG1: the second word of CC="ccache gcc"
foreach(name IN ITEMS C_COMPILER C_COMPILER_ARG1 C_COMPILER_LAUNCHER CXX_COMPILER
        CXX_COMPILER_ARG1 CXX_COMPILER_LAUNCHER MAKE_PROGRAM)
    if(CMAKE_${name})
        string(STRIP "${CMAKE_${name}}" value)
        list(APPEND launchers -DCMAKE_${name}=${value})
    endif()
endforeach()
list(JOIN VOLLEY_VENDOR_FLAGS " " hdf5_flags)
include(ExternalProject)
ExternalProject_Add(vendor_hdf5_build
    EXCLUDE_FROM_ALL ON
    PREFIX ${hdf5}
    SOURCE_DIR ${VOLLEY_VENDOR}/hdf5
    BINARY_DIR ${hdf5}/build
    INSTALL_DIR ${hdf5}
    DEPENDS vendor_zlib
    CMAKE_ARGS ${launchers} -DCMAKE_INSTALL_PREFIX=${hdf5}
        # small: it is in the library and in the command, and waits for the disk
        -DCMAKE_BUILD_TYPE=MinSizeRel "-DCMAKE_C_FLAGS=${hdf5_flags}"
        -DCMAKE_POSITION_INDEPENDENT_CODE=ON
        -DCMAKE_C_VISIBILITY_PRESET=hidden
        -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF -DHDF5_BUILD_TOOLS=OFF
        -DHDF5_BUILD_HL_LIB=OFF -DHDF5_BUILD_CPP_LIB=OFF
        -DHDF5_NO_PACKAGES=ON -DHDF5_DISABLE_COMPILER_WARNINGS=ON
        -DHDF5_ENABLE_SZIP_SUPPORT=OFF -DHDF5_ENABLE_Z_LIB_SUPPORT=ON
        -DZLIB_USE_EXTERNAL=OFF -DZLIB_LIBRARY=$<TARGET_FILE:vendor_zlib>
        -DZLIB_INCLUDE_DIR=${VOLLEY_VENDOR}/zlib
        # nothing of the network
        -DHDF5_ENABLE_ROS3_VFD=OFF -DHDF5_ENABLE_HDFS=OFF
        -DHDF5_ENABLE_MIRROR_VFD=OFF
    BUILD_BYPRODUCTS ${hdf5}/lib/libhdf5.a)
add_library(vendor_hdf5 INTERFACE)
add_dependencies(vendor_hdf5 vendor_hdf5_build)
target_link_libraries(vendor_hdf5 INTERFACE
    ${hdf5}/lib/libhdf5.a vendor_zlib m ${CMAKE_DL_LIBS})
set(VOLLEY_VENDOR_HDF5 ${hdf5}/include)
