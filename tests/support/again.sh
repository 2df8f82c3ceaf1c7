#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# again.sh NOTES COMMAND...
# A test of several processes, once more if it failed: a machine that is busy
# with others may hold up one of them at any place for any time. What a
# sanitizer says is final. A test that needed it is a line of NOTES.
notes=$1
shift
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
"$@" >"$out" 2>&1
code=$?
cat "$out"
if [ $code -eq 0 ] || grep -q 'Sanitizer' "$out"; then
    exit $code
fi
echo "again: exit code $code; once more"
"$@"
second=$?
echo "$*: exit code $code, then $second" >>"$notes"
exit $second
