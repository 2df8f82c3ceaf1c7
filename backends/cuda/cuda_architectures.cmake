# SPDX-License-Identifier: Apache-2.0
# Which devices a CUDA compiler makes code for, when nothing is asked for:
# machine code for 8.0, 8.6, 8.9, 9.0 and 12.0, as many of them as it knows, and
# PTX of 9.0. What the driver compiles PTX for must not be older than that, so
# PTX of 12.0 would leave 10.0 to 11.0 without code; and code of 8.0 to 9.0 runs
# on the devices between them. Included by the root, and run by
# tests/integration/cuda_architectures.cmake.

# 12.0: PTX of wgmma (attention), in what Debian 12 packages (11.8) unknown
set(VLY_CUDA_LEAST 12.0)

# what the kernels of a burst use
set(VLY_CUDA_LEAST_DEVICE 8.0)

# vly_cuda_architectures(nvcc list_var left_out_var why_var)
# list: for CMAKE_CUDA_ARCHITECTURES; left_out: what nvcc does not know, as 12.0;
# why: empty, or why nothing can be built with it.
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

# vly_cuda_native(nvcc nvidia_smi list_var why_var)
# The same list for the devices of this machine and no others; nvidia_smi says
# which there are. A device that nvcc does not know is newer: it gets PTX of 9.0.
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
