#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# plugin_symbols.sh NM FOLDER...: every plugin exports one symbol.
set -eu
nm=$1
shift
seen=0
bad=0
for folder; do
    for file in "$folder"/*.so; do
        [ -e "$file" ] || continue
        seen=$((seen + 1))
        wanted=vly_plugin_entry
        case $file in */broken_no_entry.so) wanted= ;; esac
        # "0000 D name": the version script may add its own node as A
        found=$("$nm" -D --defined-only "$file" |
                awk '$2 != "A" { print $3 }' | tr '\n' ' ')
        found=${found% }
        if [ "$found" != "$wanted" ]; then
            echo "$file exports \"$found\", wanted \"$wanted\"" >&2
            bad=1
        fi
    done
done
if [ $seen -lt 10 ]; then
    echo "only $seen plugins found in $*" >&2
    exit 1
fi
echo "$seen plugins"
exit $bad
