#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# api_symbols.sh LIBVOLLEY HEADER...: the library exports every function that
# the headers declare, and nothing else; it contains no probe and no conformance
# table.
set -euo pipefail

library=$1
shift
wanted=$(cat "$@" | tr '\n' ' ' | sed 's,/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/,,g' |
    grep -oE 'VLY_API [^;]*;' | grep -oE 'vly_[a-z0-9_]+ ?\(' |
    tr -d ' (' | sort -u)
found=$(nm -D --defined-only "$library" | awk '{print $3}' |
    sed 's/@.*//' | sort -u)
if [ "$wanted" != "$found" ]; then
    echo "declared and not exported (<), exported and not declared (>):" >&2
    diff <(echo "$wanted") <(echo "$found") >&2 || true
    exit 1
fi
if nm "$library" 2>/dev/null | grep -E ' [TtRrDd] vly_(probe|conformance)'; then
    echo "these belong to core/probe and core/conformance" >&2
    exit 1
fi
echo "$(echo "$wanted" | wc -l) functions"
