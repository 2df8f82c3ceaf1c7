#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Files that fail: a folder in their place, cut, no room, no permission, gone
# meanwhile. Each time one sentence with the name, the exit code, and nothing of
# what was there before is lost.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

# fails CODE NAME ARGUMENTS...: one line on stderr, which names the file
fails() {
    code=$1
    name=$2
    shift 2
    expect "$code" "$@"
    says "$name"
    holds [ "$(wc -l <err)" -eq 1 ]
}

expect 0 run small.toml --quiet -o kept --digest-log kept.log \
    --record kept.csv --save-connectome kept.vlc --json kept.json

# ---- a folder in the place of a file: 4 ----
mkdir dir
for words in "run dir" "check dir" "inspect dir" "resolve dir" "rerun dir" \
    "validate dir --backends cpu:1,cpu:2" "compare kept.log dir" \
    "run small.toml --quiet --record dir" "run small.toml --quiet --json dir" \
    "run small.toml --quiet --digest-log dir" \
    "run small.toml --quiet --save-connectome dir" \
    "bench --quick --compare dir"; do
    # shellcheck disable=SC2086 # words of a call
    fails 4 dir $words
done
# outputs below something that is not a folder
for option in --record --json --digest-log --save-connectome -o; do
    fails 4 small.toml/x run small.toml --quiet $option small.toml/x
done
holds [ -z "$(ls -A dir)" ]

# ---- cut: 2 ----
size=$(wc -c <kept.vlc)
for n in 0 1 7 8 100 255 256 1087 1088 1089 $((size / 2)) $((size - 1)); do
    head -c "$n" kept.vlc >cut.vlc
    checks=$((checks + 1))
    "$volley" inspect cut.vlc >out 2>err
    code=$?
    # a file with only the name of a connectome is not recognized
    [ $code -eq 2 ] || bad "inspect of $n bytes: exit code $code, wanted 2"
    says "cut.vlc"
    holds [ "$(wc -l <err)" -eq 1 ]
done
size=$(wc -c <kept/manifest.json)
for n in 0 1 100 $((size / 2)) $((size - 3)); do
    head -c "$n" kept/manifest.json >cut.json
    fails 2 cut.json rerun cut.json
done
head -c 20 kept/genome.resolved.toml >other.toml
mkdir cut
cp kept/manifest.json cut
cp other.toml cut/genome.resolved.toml
fails 2 cut/genome.resolved.toml rerun cut/manifest.json
rm cut/genome.resolved.toml
fails 4 cut/genome.resolved.toml rerun cut/manifest.json

# ---- no room: 4; what is replaced as a whole is as it was ----
# limited ARGUMENTS...: files of at most a block
limited() {
    checks=$((checks + 1))
    (
        ulimit -f 1
        exec "$volley" "$@"
    ) >out 2>err
    code=$?
    [ $code -eq 4 ] || bad "volley $* without room: $code, wanted 4"
    says "File too large"
    holds [ "$(wc -l <err)" -eq 1 ]
}
cp kept.json old.json
cp kept.vlc old.vlc
limited run small.toml --quiet --json kept.json
holds cmp -s kept.json old.json
limited run small.toml --quiet --save-connectome kept.vlc
holds cmp -s kept.vlc old.vlc
cp kept/manifest.json old.json
limited run small.toml --quiet -o kept --force
holds is_json kept/manifest.json
limited run small.toml --quiet --digest-log other.log
limited run small.toml --quiet --record other.csv
holds [ -z "$(find . -name '*.tmp' -o -name 'kept.vlc.*')" ]

# not a byte: nothing is left of a run that could not begin
for option in "-o fresh" "--record fresh" "-o fresh --digest-log fresh/log" \
    "--save-connectome fresh" "-o fresh --telemetry fresh.jsonl" \
    "--telemetry fresh"; do
    checks=$((checks + 1))
    {
        # shellcheck disable=SC2086 # words of a call
        (
            ulimit -f 0
            exec "$volley" run small.toml --quiet $option
        )
        echo $? >code
    } 2>&1 | cat >err
    [ "$(cat code)" -eq 4 ] || bad "$option without a byte: $(cat code)"
    says "File too large"
    holds [ -z "$(find . -name 'fresh*')" ]
done

# a disk of its own that is full, where such a thing may be mounted
mkdir disk
# shellcheck disable=SC2016 # the inner shell's words
on_disk='mount -t tmpfs -o size=64k none disk && v=$1 && shift && "$v" "$@"'
if unshare -rm sh -c 'mount -t tmpfs -o size=64k none disk' 2>err; then
    for option in --record --digest-log --save-connectome; do
        checks=$((checks + 1))
        unshare -rm sh -c "$on_disk" sh "$volley" run small.toml \
            --bursts 20000 --set area.E.neurons=2000 --quiet $option disk/x \
            >out 2>err
        code=$?
        [ $code -eq 4 ] || bad "full disk, $option: $code, wanted 4"
        says "disk/x"
        says "No space left on device"
        holds [ "$(wc -l <err)" -eq 1 ]
    done
else
    echo "no full disk: mounting one is not permitted here"
fi

# ---- no permission: 4 ----
as=
if [ "$(id -u)" -eq 0 ]; then
    as="setpriv --reuid=65534 --regid=65534 --clear-groups"
fi
mkdir locked
cp small.toml locked/small.toml
: >secret.toml
cp kept.log secret.log
chmod 755 "$folder" locked
chmod 000 secret.toml secret.log
# (another user may be able to start the command and not to read its plugins, as
# where it was built in the home of root)
if $as touch locked/x 2>err; then
    echo "skipped: permissions: this user may write everywhere"
elif ! $as "$volley" plugins 2>err | grep -q '^cpu '; then
    echo "skipped: permissions: user 65534 cannot read the plugins of this build"
else
    # denied NAME ARGUMENTS...
    denied() {
        name=$1
        shift
        checks=$((checks + 1))
        $as "$volley" "$@" >out 2>err
        code=$?
        [ $code -eq 4 ] || bad "volley $*: $code, wanted 4"
        says "$name"
        says "ermission denied"
        holds [ "$(wc -l <err)" -eq 1 ]
    }
    for option in --record --json --digest-log --save-connectome -o; do
        denied locked/x run small.toml --quiet $option locked/x
    done
    denied locked run small.toml --quiet -o locked --force
    denied secret.toml run secret.toml
    denied secret.log compare kept.log secret.log
    holds [ "$(ls locked)" = small.toml ]
fi
rm -f locked/x
chmod 644 secret.toml secret.log

# ---- gone while the run writes: 4, what is left is written ----
# removed NAME ARGUMENTS...: a paced run whose file or folder is removed. If the
# run checked before this shell removed the file, there is no message: the run
# is then slower.
removed() {
    name=$1
    shift
    for hz in 40 10 2 0.5; do
        "$volley" run small.toml --quiet --bursts 20 --pace --pace-hz $hz \
            "$@" >out 2>err &
        process=$!
        wait_for test -e "$name"
        # a folder may get one more file while rm looks
        wait_for rm -r "$name"
        wait $process
        code=$?
        [ $code -eq 0 ] || break
        rm -rf "$name" beside
    done
    checks=$((checks + 1))
    [ $code -eq 4 ] || bad "$name removed: $code, wanted 4"
    says "$name"
    holds [ "$(wc -l <err)" -eq 1 ]
}
removed gone.log --digest-log gone.log -o beside
says "removed meanwhile"
holds [ "$(value exit_reason beside/manifest.json)" = error ]
holds [ "$(value bursts beside/manifest.json)" = 20 ]
removed gone.csv --record gone.csv --json beside.json
holds is_json beside.json
removed gone -o gone
done_checks
