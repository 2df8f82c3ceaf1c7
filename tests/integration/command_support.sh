# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034 # variables of the scripts that source it
# Sourced by the tests of the command: expect, has, and a folder of their own.
# $1 the command, $2 the source tree, $3 the folder of the tests' plugins, $4
# json_check
set -u
volley=$1
genomes=$2/genomes
test_plugins=$3
json_check=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0
checks=0

bad() {
    failed=$((failed + 1))
    echo "FAILED: $*"
    echo "--- stdout"
    head -n 40 out
    echo "--- stderr"
    head -n 40 err
}

# expect CODE ARGUMENTS...: runs volley, output in the files out and err
expect() {
    wanted=$1
    shift
    checks=$((checks + 1))
    "$volley" "$@" >out 2>err
    found=$?
    [ "$found" -eq "$wanted" ] ||
        bad "volley $*: exit code $found, wanted $wanted"
}

# says TEXT, prints TEXT: the last command's stderr / stdout holds it
says() {
    checks=$((checks + 1))
    grep -qF -- "$1" err || bad "stderr lacks: $1"
}

prints() {
    checks=$((checks + 1))
    grep -qF -- "$1" out || bad "stdout lacks: $1"
}

# holds COMMAND...: any condition
holds() {
    checks=$((checks + 1))
    "$@" || bad "does not hold: $*"
}

# python3 in the path may be a script that starts the interpreter, which takes as
# long as the check: so the interpreter is found once.
json_python=
if command -v python3 >/dev/null 2>&1; then
    json_python=$(python3 -I -S -c 'import sys; print(sys.executable)')
fi

is_json() {
    "$json_check" "$1" || return 1
    if [ -n "$json_python" ]; then
        "$json_python" -I -S -m json.tool "$1" >/dev/null
    fi
}

# ---- processes in the background -------------------------------------------
# No test may depend on how fast the machine is: what a process is to have done
# is waited for, for ten minutes and on a slow machine for more, and never slept
# for.

# wait_for COMMAND...: until it succeeds
wait_for() {
    looks=0
    until "$@" >/dev/null 2>&1; do
        looks=$((looks + 1))
        [ "$looks" -lt 12000 ] || return 1
        sleep 0.05
    done
}

# handles PROCESS: it is volley and not the shell any more, and SIGTERM, which is
# bit 14 of the mask, has a handler
handles() {
    grep -q '^SigCgt:.*[4-7c-f]...$' "/proc/$1/status"
}

# took PROCESS: no signal is on its way to it. Two of a kind that wait are one.
took() {
    ! grep -qE '^(SigPnd|ShdPnd):[[:space:]]*[0-9a-f]*[1-9a-f]' \
        "/proc/$1/status"
}

# has_lines N FILE
has_lines() {
    [ -e "$2" ] && [ "$(wc -l <"$2")" -ge "$1" ]
}

# gone PROCESS: it has ended
gone() {
    ! kill -0 "$1" 2>/dev/null
}

# asleep PROCESS: none of its threads runs or wants to, looked at several times
asleep() {
    for look in 1 2 3 4 5; do
        [ "$look" -eq 1 ] || sleep 0.05
        for thread in "/proc/$1/task"/*/stat; do
            grep -q ') S ' "$thread" || return 1
        done
    done
}

# metrics_page URL: into the file page
metrics_page() {
    python3 "$genomes/../tests/support/metrics_page.py" "$1" >page 2>err
}

# value KEY FILE: of JSON, one member a line
value() {
    sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\).*/\1/p" "$2" | head -n 1
}

done_checks() {
    echo "$checks checks, $failed failed"
    [ "$failed" -eq 0 ]
    exit
}

# A genome that fires and can be made as long as a test needs.
cat >small.toml <<'END'
format = 1
[run]
dt_ms = 0.1
bursts = 200
[area.E]
model = "lif_psc_delta"
neurons = 80
[area.I]
model = "lif_psc_delta"
neurons = 20
[[map]]
id = "all"
from = ["E", "I"]
to = ["E", "I"]
rule = "fixed_in_degree"
in_degree = 5
weight_mv = 0.2
delay_ms = 1.5
[[stimulus]]
id = "kick"
kind = "poisson"
to = ["E", "I"]
rate_hz = 2000
weight_mv = 4
END
