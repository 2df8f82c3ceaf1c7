#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# again.sh NOTES COMMAND...
# Runs a test of several processes, and runs it again if it failed: on a busy
# machine any process may be delayed at any place. Reports of sanitizers are
# final. A test that needed the second try is a line of NOTES.
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
