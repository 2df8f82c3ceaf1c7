# SPDX-License-Identifier: Apache-2.0
# cmake -DSOURCE=tree -DGENERATED=folder -DNVCC=nvcc -P cuda_architectures.cmake
# Checks the devices for compilers of several versions, which are scripts here;
# and, with the installed compiler, that every later device can load the shipped
# PTX.
include(${SOURCE}/backends/cuda/cuda_architectures.cmake)

function(expect what got wanted)
    if(NOT got STREQUAL wanted)
        message(FATAL_ERROR "${what}: '${got}', wanted '${wanted}'")
    endif()
endfunction()

# A compiler of this version that knows these.
function(make_nvcc file version)
    string(REPLACE ";" "\\n" codes "${ARGN}")
    file(WRITE ${file} "#!/bin/sh
case $1 in
--version) echo 'Cuda compilation tools, release ${version}, V${version}.1' ;;
*) printf '${codes}\\n' ;;
esac
")
    file(CHMOD ${file} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endfunction()

set(fake ${CMAKE_CURRENT_BINARY_DIR}/fake_nvcc)
set(old sm_50 sm_75 sm_80 sm_86 sm_87 sm_89 sm_90)
make_nvcc(${fake} 13.0 ${old} sm_100 sm_110 sm_103 sm_120 sm_121)
vly_cuda_architectures(${fake} list left_out why)
expect("13.0" "${list}" "80-real;86-real;89-real;90;120-real")
expect("left out of 13.0" "${left_out}" "")
expect("why not 13.0" "${why}" "")

make_nvcc(${fake} 12.0 ${old} sm_90a)
vly_cuda_architectures(${fake} list left_out why)
expect("12.0" "${list}" "80-real;86-real;89-real;90")
expect("left out of 12.0" "${left_out}" "12.0")
expect("why not 12.0" "${why}" "")

make_nvcc(${fake} 15.0 sm_90 sm_100 sm_120)
vly_cuda_architectures(${fake} list left_out why)
expect("15.0" "${list}" "90;120-real")
expect("left out of 15.0" "${left_out}" "8.0;8.6;8.9")

make_nvcc(${fake} 11.8 ${old})
vly_cuda_architectures(${fake} list left_out why)
expect("11.8" "${list}" "")
expect("why not 11.8" "${why}"
       "${fake} is of CUDA 11.8, wanted 12.0 or newer")
make_nvcc(${fake} 13.0 sm_100)
vly_cuda_architectures(${fake} list left_out why)
expect("why not" "${why}" "${fake} --list-gpu-code does not list sm_90")
vly_cuda_architectures(${fake}_missing list left_out why)
expect("why not" "${why}"
       "${fake}_missing --version does not say which one it is")
file(REMOVE ${fake})

# for the devices of one machine
function(native lines wanted_list wanted_why)
    set(smi ${CMAKE_CURRENT_BINARY_DIR}/fake_nvidia_smi)
    file(WRITE ${smi} "#!/bin/sh
[ \"$*\" = '--query-gpu=compute_cap --format=csv,noheader' ] || exit 2
${lines}
")
    file(CHMOD ${smi} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
    make_nvcc(${fake} 13.0 ${old} sm_120)
    vly_cuda_native(${fake} ${smi} list why)
    file(REMOVE ${smi} ${fake})
    expect("${lines}" "${list}" "${wanted_list}")
    expect("why not ${lines}" "${why}" "${wanted_why}")
endfunction()
native("echo 9.0; echo 9.0" 90-real "")
native("echo 12.0; echo 8.6" "120-real;86-real" "")
native("echo 10.3" 90-virtual "")
native("echo 7.5; echo 8.9" 89-real "")
native("echo 7.5" "" "the device here is of compute capability 7.5, \
wanted 8.0 or newer")
native("echo 8.8" "" "${fake} makes no code for the device here, of compute \
capability 8.8")
set(none "no CUDA device here")
native("echo 'No devices were found'" "" "${none} (nvidia-smi lists none)")
native("exit 9" "" "${none} (nvidia-smi lists none)")
vly_cuda_native(${NVCC} "" list why)
expect("without nvidia-smi" "${list}" "")
expect("why not without" "${why}" "${none} (no nvidia-smi)")

# the driver compiles PTX as ptxas does
vly_cuda_architectures(${NVCC} list left_out why)
expect("why not ${NVCC}" "${why}" "")
set(ptx)
foreach(arch IN LISTS list)
    if(NOT arch MATCHES "-real$")
        list(APPEND ptx ${arch})
    endif()
endforeach()
expect("PTX" "${ptx}" 90)
set(kernel ${CMAKE_CURRENT_BINARY_DIR}/spike_log.ptx)
execute_process(COMMAND ${NVCC} -std=c++17 -I${SOURCE} -I${GENERATED}
    -fmad=false
    -arch=compute_${ptx} -ptx ${SOURCE}/kernels/cuda/spike_log.cu -o ${kernel}
    RESULT_VARIABLE failed)
expect("nvcc -ptx" "${failed}" 0)
execute_process(COMMAND ${NVCC} --list-gpu-code OUTPUT_VARIABLE known)
string(REGEX MATCHALL "sm_[0-9]+" known "${known}")
get_filename_component(bin ${NVCC} DIRECTORY)
set(n 0)
foreach(code IN LISTS known)
    string(REPLACE "sm_" "" number ${code})
    if(number LESS ptx)
        continue()
    endif()
    execute_process(COMMAND ${bin}/ptxas --gpu-name ${code} ${kernel}
        -o ${kernel}.cubin RESULT_VARIABLE failed ERROR_VARIABLE text)
    if(failed)
        message(FATAL_ERROR "PTX of ${ptx} for ${code}: ${text}")
    endif()
    math(EXPR n "${n} + 1")
endforeach()
message(STATUS "PTX of ${ptx} for ${n} kinds of devices")
if(n LESS 1)
    message(FATAL_ERROR "${NVCC}: no device for PTX of ${ptx}")
endif()
