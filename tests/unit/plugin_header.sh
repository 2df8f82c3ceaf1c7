#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# plugin_header.sh INCLUDE CC CXX NVCC: the public headers alone in a file, in
# every language they are promised in; static assertions inside them check the
# sizes.
set -eu
include=$1
cc=$2
cxx=$3
nvcc=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
warnings="-Wall -Wextra -Wpedantic -Wundef -Werror"

# compile NAME STANDARD COMPILER SOURCE-SUFFIX HEADER OPTIONS...
compile() {
    standard=$1 compiler=$2 suffix=$3 header=$4
    shift 4
    source=$folder/use.$suffix
    # twice: the guard; a function: a file may not be empty
    printf '#include <volley/%s>\n#include <volley/%s>\n' \
        "$header" "$header" >"$source"
    printf 'unsigned use_it(const vly_plugin *p);\n' >>"$source"
    printf 'unsigned use_it(const vly_plugin *p) { return p->struct_size; }\n' \
        >>"$source"
    echo "$compiler -std=$standard $header"
    "$compiler" "-std=$standard" "$@" -I"$include" -c "$source" \
        -o "$folder/use.o"
}

accelerators="accelerator.h gemm.h attention.h wkv.h rwkv.h telemetry.h"
for standard in c11 c17; do
    for header in plugin.h $accelerators; do
        compile $standard "$cc" c "$header" $warnings -Wpadded
    done
    for header in volley.h record.h watch.h host.h ranks.h; do
        compile $standard "$cc" c "$header" $warnings
    done
done
for standard in c++17 c++20; do
    for header in plugin.h $accelerators; do
        compile $standard "$cxx" cpp "$header" $warnings -Wpadded
    done
done
for header in volley.h record.h watch.h host.h ranks.h; do
    compile c++17 "$cxx" cpp "$header" $warnings
done
# "", or what check_language leaves where there is none
case $nvcc in
'' | *NOTFOUND) echo "nvcc: none here, not compiled" ;;
*)
    for header in plugin.h gemm.h attention.h wkv.h rwkv.h; do
        compile c++17 "$nvcc" cu "$header" -Xcompiler -Wall,-Wextra,-Werror
    done
    ;;
esac
