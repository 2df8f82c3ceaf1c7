#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# plugin_sdk.sh CMAKE BUILD DATADIR CC LOADER: installs Volley into a temporary
# folder, builds the template there from nothing but the installation, loads it
# (LOADER FILE ID exits 0 if the plugin is usable) and runs the conformance table
# with the installed command.
set -eu
cmake=$1
build=$2
data=$3
cc=$4
loader=$5
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$cmake" --install "$build" --prefix "$folder/prefix" >"$folder/log" || {
    cat "$folder/log" >&2
    exit 1
}
cp -R "$folder/prefix/$data/volley/sdk/template" "$folder/mine"
"$cmake" -S "$folder/mine" -B "$folder/mine/build" \
    -DCMAKE_PREFIX_PATH="$folder/prefix" -DCMAKE_C_COMPILER="$cc"
"$cmake" --build "$folder/mine/build"
"$loader" "$folder/mine/build/template.so" template
for file in README.md conformance_golden.def nets/mixed.toml; do
    [ -f "$folder/prefix/$data/volley/sdk/conformance/$file" ]
done
unset VOLLEY_PLUGIN_PATH
"$folder/prefix/bin/volley" conformance "$folder/mine/build/template.so" \
    >"$folder/log" || {
    cat "$folder/log"
    exit 1
}
grep "^template: [1-9][0-9]* ok" "$folder/log"
