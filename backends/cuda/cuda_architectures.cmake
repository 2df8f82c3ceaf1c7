# SPDX-License-Identifier: Apache-2.0
# Default list of devices for a CUDA compiler: machine code for 8.0, 8.6, 8.9,
# 9.0 and 12.0, as far as the compiler knows them, and PTX of 9.0. A device must
# not be older than its PTX, so PTX of 12.0 would leave 10.0 to 11.0 without
# code. Code of 8.0 to 9.0 also runs on the devices between them. Included by
# the root, and run by tests/integration/cuda_architectures.cmake.

# 12.0 or newer: 11.8 (Debian 12) does not know the PTX of wgmma (attention)
set(VLY_CUDA_LEAST 12.0)

# oldest device for the kernels of a burst
set(VLY_CUDA_LEAST_DEVICE 8.0)

# vly_cuda_architectures(nvcc list_var left_out_var why_var)
# list: for CMAKE_CUDA_ARCHITECTURES; left_out: devices that nvcc does not know,
# as 12.0; why: empty, or the reason why this nvcc cannot build.
function(vly_cuda_architectures nvcc list_var left_out_var why_var)
    set(list)
    set(left_out)
    set(why)
    execute_process(COMMAND ${nvcc} --version OUTPUT_VARIABLE version
                    RESULT_VARIABLE failed ERROR_QUIET)
    execute_process(COMMAND ${nvcc} --list-gpu-code OUTPUT_VARIABLE known
                    RESULT_VARIABLE no_list ERROR_QUIET)
    if(failed OR NOT version MATCHES "release ([0-9]+[.][0-9]+)")
        set(why "${nvcc} --version does not say which one it is")
    elseif(CMAKE_MATCH_1 VERSION_LESS VLY_CUDA_LEAST)
        set(why "${nvcc} is of CUDA ${CMAKE_MATCH_1}, wanted ${VLY_CUDA_LEAST} \
or newer")
    elseif(no_list OR NOT known MATCHES "sm_90\n")
        set(why "${nvcc} --list-gpu-code does not list sm_90")
    else()
        foreach(arch 80 86 89 90 120)
            if(NOT known MATCHES "sm_${arch}\n")
                string(REGEX REPLACE "(.)$" ".\\1" name ${arch})
                list(APPEND left_out ${name})
            elseif(arch EQUAL 90)
                list(APPEND list 90) # machine code and PTX
            else()
                list(APPEND list ${arch}-real)
            endif()
        endforeach()
    endif()
    set(${list_var} "${list}" PARENT_SCOPE)
    set(${left_out_var} "${left_out}" PARENT_SCOPE)
    set(${why_var} "${why}" PARENT_SCOPE)
endfunction()

# vly_cuda_quick(nvcc flags_var): ";--Ofast-compile=max" if the environment variable
# VOLLEY_CUDA_QUICK asks for device code with few optimisations, to check in less
# time: 2.6 instead of 21.9 processor seconds (linger_resident.cu, nvcc 13.0). It
# is no option, which would stay in a build folder that a device uses later.
function(vly_cuda_quick nvcc flags_var)
    set(flags)
    if(NOT "$ENV{VOLLEY_CUDA_QUICK}" STREQUAL "")
        execute_process(COMMAND ${nvcc} --help OUTPUT_VARIABLE known ERROR_QUIET)
        if(known MATCHES "--Ofast-compile")
            set(flags ";--Ofast-compile=max")
            message(STATUS "CUDA backend: with few optimisations "
                           "(VOLLEY_CUDA_QUICK): slow on a device")
        else()
            message(STATUS "CUDA backend: ${nvcc} has no --Ofast-compile; "
                           "VOLLEY_CUDA_QUICK has no effect")
        endif()
    endif()
    set(${flags_var} "${flags}" PARENT_SCOPE)
endfunction()

# vly_cuda_native(nvcc nvidia_smi list_var why_var)
# The same list for the devices of this machine and no others; nvidia_smi lists
# them. A device that nvcc does not know is newer: it gets PTX of 9.0.
function(vly_cuda_native nvcc nvidia_smi list_var why_var)
    set(list)
    set(why)
    set(found)
    if(nvidia_smi)
        execute_process(
            COMMAND ${nvidia_smi} --query-gpu=compute_cap --format=csv,noheader
            OUTPUT_VARIABLE text RESULT_VARIABLE failed ERROR_QUIET)
        if(NOT failed)
            string(REGEX MATCHALL "[0-9]+[.][0-9]+" found "${text}")
        endif()
    endif()
    execute_process(COMMAND ${nvcc} --list-gpu-code OUTPUT_VARIABLE known
                    ERROR_QUIET)
    foreach(capability IN LISTS found)
        string(REPLACE "." "" arch ${capability})
        if(capability VERSION_LESS VLY_CUDA_LEAST_DEVICE)
            set(why "the device here is of compute capability ${capability}, \
wanted ${VLY_CUDA_LEAST_DEVICE} or newer")
        elseif(known MATCHES "sm_${arch}\n")
            list(APPEND list ${arch}-real)
        elseif(capability VERSION_GREATER 9.0)
            list(APPEND list 90-virtual)
        else()
            set(why "${nvcc} makes no code for the device here, of compute \
capability ${capability}")
        endif()
    endforeach()
    if(NOT nvidia_smi)
        set(why "no CUDA device here (no nvidia-smi)")
    elseif(NOT found)
        set(why "no CUDA device here (nvidia-smi lists none)")
    endif()
    if(list)
        list(REMOVE_DUPLICATES list)
        set(why)
    endif()
    set(${list_var} "${list}" PARENT_SCOPE)
    set(${why_var} "${why}" PARENT_SCOPE)
endfunction()
