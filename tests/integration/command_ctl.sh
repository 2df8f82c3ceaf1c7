#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# volley ctl against runs that are going on: what they answer, what they do, and
# that their digests do not show it.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

XDG_RUNTIME_DIR=$folder/runtime
export XDG_RUNTIME_DIR
mkdir -m 700 runtime

# begin ARGUMENTS...: a run in the background; waits until it can be controlled
process=
begin() {
    "$volley" run small.toml --bursts 1000000000 --quiet "$@" >run.out \
        2>run.err &
    process=$!
    checks=$((checks + 1))
    wait_for "$volley" ctl "$process" status ||
        bad "cannot be controlled: $(cat run.err)"
}

# ended CODE: the run has ended with this code
ended() {
    checks=$((checks + 1))
    wait "$process"
    found=$?
    [ "$found" -eq "$1" ] || bad "the run ended with $found, wanted $1"
}

# number KEY: of the last answer with --json
number() {
    sed -n "s/.*\"$1\": \([^,}]*\).*/\1/p" out
}

# is_past BURST: the run of $process
# shellcheck disable=SC2317 # called by wait_for
is_past() {
    "$volley" ctl "$process" status --json >out 2>err &&
        [ "$(number burst)" -gt "$1" ]
}

# failed_over: the run continues on another backend
# shellcheck disable=SC2317 # called by wait_for
failed_over() {
    "$volley" ctl "$process" status --json >out 2>err &&
        [ "$(number failovers)" = 1 ]
}

# ---- without a run ----
expect 0 ctl
says "you have no current run"
holds [ ! -s out ]
expect 0 ctl --json
holds [ "$(cat out)" = "[]" ]
expect 2 ctl 1
says "no control socket"
expect 2 ctl nonsense
says "wanted the number of a process"
expect 2 ctl 0
expect 2 ctl 99999999999
expect 2 ctl ./nothing.sock
says "no run is controlled there"
expect 2 ctl a b c d

# ---- a run and everything that can be asked of it ----
begin --backend cpu:1 --json whole.json
holds test -S "runtime/volley/$process.sock"
holds [ "$(stat -c %a runtime/volley)" = 700 ]
holds [ "$(stat -c %a "runtime/volley/$process.sock")" = 600 ]
expect 0 ctl
prints "$process"
prints "cpu:1"
prints "small.toml"
expect 0 ctl "$process"
prints "state      running"
expect 0 ctl "$process" status --json
cp out answer.json
holds is_json answer.json
for key in ok pid genome backend burst bursts bursts_per_s spikes paused \
    swaps failovers elapsed_s age_s; do
    holds grep -q "\"$key\":" out
done
# the command waits until its run has done it
expect 0 ctl "$process" pause
prints "paused at burst"
expect 0 ctl "$process" status --json
holds [ "$(number paused)" = true ]
before=$(number burst)
sleep 0.3
expect 0 ctl "$process" status --json
holds [ "$(number burst)" = "$before" ]
# while it is paused it can be moved
expect 0 ctl "$process" swap cpu:3
prints "from cpu:1 to cpu:3"
expect 0 ctl "$process" swap template
prints "to template:0"
expect 3 ctl "$process" swap nonesuch
says "the run continues on template:0: plugin nonesuch"
expect 2 ctl "$process" swap no:such
expect 2 ctl "$process" checkpoint
says "--checkpoint"
expect 2 ctl "$process" bogus
says "\"bogus\" is not a command"
expect 2 ctl "$process" swap
expect 2 ctl "$process" pause now
expect 2 ctl "$process" "pause
stop"
expect 0 ctl "$process" resume --json
holds [ "$(number paused)" = false ]
holds wait_for is_past "$before"
expect 0 ctl "$process" swap cpu:1
expect 0 ctl "$process" status --json
holds [ "$(number swaps)" -eq 3 ]
# a second run beside it, on a socket of its own name
first=$process
"$volley" run small.toml --bursts 1000000000 --quiet --control ./own.sock \
    --json own.json >own.out 2>own.err &
second=$!
holds wait_for "$volley" ctl ./own.sock status
expect 0 ctl ./own.sock status
prints "small.toml"
expect 4 run small.toml --control ./own.sock
says "another process listens there"
expect 0 ctl ./own.sock stop
wait $second
holds [ $? -eq 6 ]
holds [ ! -e own.sock ]
# a signal in between, and a third command after it
expect 0 ctl "$first" pause
kill -TERM "$first"
ended 6
expect 2 ctl "$first" resume
holds [ ! -e "runtime/volley/$first.sock" ]
holds [ "$(grep -c '"done": true' whole.json)" -eq 3 ]
# what was done on the way does not show in the digest
bursts=$(value bursts whole.json)
expect 0 run small.toml --quiet --bursts "$bursts" --control off --json \
    plain.json --backend cpu:1
holds [ "$(value digest whole.json)" = "$(value digest plain.json)" ]
holds [ "$(value state_digest whole.json)" = \
    "$(value state_digest plain.json)" ]

# ---- stop: as a signal, all written ----
begin -o folder --record spikes.csv --digest-log run.log --backend cpu:1
expect 0 ctl "$process" swap template
expect 0 ctl "$process" stop
prints "stopped at burst"
ended 6
holds [ "$(value exit_reason folder/manifest.json)" = ctl ]
holds grep -q '"event": "stopped by volley ctl"' folder/log.jsonl
bursts=$(value bursts folder/manifest.json)
holds [ "$(grep -vc '^#' run.log)" = "$bursts" ]
holds is_json folder/manifest.json
expect 0 rerun folder/manifest.json --quiet
prints "identical"

# ---- in real time: a burst in a quarter of an hour keeps no command waiting
# and answers are not those of the burst before
begin --pace --pace-hz 0.001
holds wait_for is_past 0
expect 0 ctl "$process" pause --timeout 200
expect 0 ctl "$process" resume --timeout 200
expect 0 ctl "$process" swap cpu:2 --timeout 200
expect 0 ctl "$process" stop --timeout 200
ended 6

# ---- bursts that take long: after the one at hand ----
VOLLEY_PLUGIN_PATH=$VOLLEY_PLUGIN_PATH:$test_plugins/erring.so
VOLLEY_PLUGIN_PATH=$VOLLEY_PLUGIN_PATH:$test_plugins/flaky.so
export VOLLEY_PLUGIN_PATH
begin --backend cpu:1
holds wait_for is_past 100000
expect 0 ctl "$process" swap erring,slow=500
# as many as the fast one did at once would take half an hour
expect 0 ctl "$process" status --json
holds wait_for is_past "$(number burst)"
expect 0 ctl "$process" stop
ended 6
begin --backend erring,slow=50
expect 0 ctl "$process" pause
expect 0 ctl "$process" swap cpu:1
expect 0 ctl "$process" resume
expect 0 ctl "$process" stop
ended 6

# ---- a device fails after a swap by ctl: with fail-over, and without ----
begin --backend cpu:1 --on-device-error cpu:2 --json lost.json
expect 0 ctl "$process" swap flaky,at=0
holds wait_for failed_over
expect 0 ctl "$process" status --json
holds grep -q '"backend": "cpu:2"' out
expect 0 ctl "$process" stop
ended 6
bursts=$(value bursts lost.json)
expect 0 run small.toml --quiet --bursts "$bursts" --json plain.json \
    --backend cpu:1
holds [ "$(value digest lost.json)" = "$(value digest plain.json)" ]
begin --backend cpu:1
expect 0 ctl "$process" swap flaky,at=0
ended 3
holds grep -q "device lost" run.err
# a device that dies in the swap away from it: the run ends, and the client
# hears why
begin --backend cpu:1
expect 0 ctl "$process" swap flaky,in=snapshot,at=0
expect 3 ctl "$process" swap cpu:2
says "device lost"
ended 3

# ---- a checkpoint when it is asked for ----
begin --backend cpu:1 --checkpoint state.ckpt --every 1h
expect 0 ctl "$process" checkpoint
prints "checkpoint at burst"
holds [ -s state.ckpt ]
expect 0 ctl "$process" stop
ended 6

# a checkpoint that cannot be written: the client gets the reason, the summary
# counts it
mkdir gone
begin --backend cpu:1 --checkpoint gone/state.ckpt -o log --json gone.json
rm -r gone
expect 4 ctl "$process" checkpoint
says "gone/state.ckpt: cannot be written"
expect 0 ctl "$process" status
holds grep -q '"event": "no checkpoint"' log/log.jsonl
expect 0 ctl "$process" stop
ended 4
holds [ "$(value failed gone.json)" = 2 ]

# ---- killed: what it leaves is removed ----
begin
kill -KILL "$process"
wait "$process" 2>/dev/null
holds test -S "runtime/volley/$process.sock"
expect 2 ctl "$process" status
says "no run is controlled there"
expect 0 ctl
holds [ ! -e "runtime/volley/$process.sock" ]
"$volley" run small.toml --bursts 1000000000 --quiet --control ./left.sock \
    >run.out 2>run.err &
process=$!
holds wait_for test -S left.sock
kill -KILL "$process"
wait "$process" 2>/dev/null
expect 0 run small.toml --quiet --control ./left.sock
holds [ ! -e left.sock ]

# ---- root may use the run of another user; a third user only their own ----
them=3918273
other=3918274
if [ "$(id -u)" -ne 0 ] || ! command -v setpriv >/dev/null; then
    echo "skipped: another user's run, which takes root and setpriv"
elif ! setpriv --reuid $them --regid $them --clear-groups "$volley" plugins \
    2>/dev/null | grep -q cpu; then
    # as in a folder of root's alone
    echo "skipped: another user cannot read the plugins of $volley"
else
    chmod 711 "$folder"
    mkdir theirs theirs/runtime
    cp small.toml theirs
    chmod 700 theirs/runtime
    chown -R $them:$them theirs
    as() { # as USER COMMAND...
        user=$1
        shift
        setpriv --reuid "$user" --regid "$user" --clear-groups "$@"
    }
    # the place of the socket follows from their environment, not from root's
    for runtime in "$folder/theirs/runtime" /nowhere; do
        cd theirs || exit 1
        XDG_RUNTIME_DIR=$runtime setpriv --reuid $them --regid $them \
            --clear-groups "$volley" run small.toml --bursts 1000000000 \
            --quiet -o run$checks >"$folder/run.out" 2>"$folder/run.err" &
        process=$!
        run=run$checks
        cd "$folder" || exit 1
        holds wait_for "$volley" ctl "$process" status
        expect 0 ctl "$process" status
        prints "small.toml"
        expect 0 ctl "$process" pause
        expect 0 status theirs/$run
        prints "paused"
        expect 0 ctl "$process" resume
        # they may, another may not
        XDG_RUNTIME_DIR=$runtime as $them "$volley" ctl "$process" >out 2>err
        holds [ $? -eq 0 ]
        prints "small.toml"
        XDG_RUNTIME_DIR=$runtime as $other "$volley" ctl "$process" stop \
            >out 2>err
        holds [ $? -ne 0 ]
        socket=$runtime/volley/$process.sock
        [ -d "$runtime" ] || socket=/tmp/volley-$them/$process.sock
        holds test -S "$socket"
        as $other "$volley" ctl "$socket" stop >out 2>err
        holds [ $? -ne 0 ]
        expect 0 ctl "$socket" status
        expect 0 ctl "$process" stop
        prints "stopped at burst"
        ended 6
    done
    rmdir "/tmp/volley-$them"
    # root's run is root's
    begin
    XDG_RUNTIME_DIR=$folder/runtime as $them "$volley" ctl \
        "$folder/runtime/volley/$process.sock" stop >out 2>err
    holds [ $? -ne 0 ]
    expect 0 ctl "$process" stop
    ended 6
fi

# ---- sockets that cannot be ----
long=$(printf '%0120d' 0)
expect 2 run small.toml --control "/tmp/$long"
says "control socket: a path of 125 bytes, wanted 1 to 107"
ln -s target.sock link.sock
expect 2 run small.toml --control link.sock
says "link.sock: is a link"
holds [ ! -e target.sock ]
: >file.sock
expect 2 run small.toml --control file.sock
says "file.sock: is a file"
expect 2 run small.toml --control runtime
says "runtime: is a folder"
expect 4 run small.toml --control missing/x.sock
says "missing/x.sock: no control socket"
# the user's folder cannot be used: a message, and the run continues
mkdir -m 700 open linked
mkdir -m 755 open/volley
ln -s "$folder/runtime" linked/volley
XDG_RUNTIME_DIR=$folder/open expect 0 run small.toml
says "this run cannot be controlled: "
says "wanted 0700"
XDG_RUNTIME_DIR=$folder/open expect 4 ctl
XDG_RUNTIME_DIR=$folder/linked expect 0 run small.toml
says "is a link"
mkdir -m 700 "$folder/$long"
XDG_RUNTIME_DIR=$folder/$long expect 0 run small.toml
says "too long for a control socket"
# without a folder of the user /tmp is used
XDG_RUNTIME_DIR=$folder/nowhere expect 0 run small.toml
holds [ ! -s "$folder/nowhere" ]
expect 0 run small.toml --control off
done_checks
