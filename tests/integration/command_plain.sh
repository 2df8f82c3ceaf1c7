#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whatever a file or a client says, nothing that a terminal obeys reaches stdout
# or stderr: control characters, also of UTF-8, and what turns the order of text.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

XDG_RUNTIME_DIR=$folder/runtime
export XDG_RUNTIME_DIR
mkdir -m 700 runtime

# shellcheck disable=SC2059 # the variables are octal numbers
# what is looked for beside control characters of ASCII, a line each
{
    for second in 0 1 2 3; do
        for third in 0 1 2 3 4 5 6 7; do
            printf "\302\\2$second$third\n"
        done
    done
    for last in 252 253 254 255 256; do
        printf "\342\200\\$last\n"
    done
    for last in 246 247 250 251; do
        printf "\342\201\\$last\n"
    done
} >obeyed

# is_plain FILE...: tabs, line breaks and printable characters, no C1 in UTF-8
# and no U+202A to U+202E, U+2066 to U+2069
is_plain() {
    for file; do
        [ "$(tr -d '\011\012\040-\176\200-\377' <"$file" | wc -c)" -eq 0 ] ||
            return 1
        ! LC_ALL=C grep -qaF -f obeyed "$file" || return 1
    done
}

# plainly CODE ARGUMENTS...: that exit code, and nothing to obey
plainly() {
    expect "$@"
    holds is_plain out err
}

# ESC c, a title for the window, CSI of one character, right to left, BEL, DEL,
# a line that looks like the command's
raw=$(printf 'x\033c\033]0;t\007\302\23331m\342\200\256\342\201\246\177\nvolley: all is well')
toml='x\u001bc\u001b]0;t\u0007\u009b31m\u202e\u2066\u007f\nvolley: all is well'
printf '%s' "$raw" >raw
is_plain raw && bad "this test does not see what it looks for"

# ---- a genome ----
{
    printf 'title = "%s"\n' "$toml"
    cat small.toml
} >title.toml
titled() { # titled ARGUMENTS...: nothing that looks like a line of the command's
    plainly 0 "$@"
    holds sh -c '! grep -q "^volley: all is well" out err'
}
titled check title.toml
titled inspect title.toml
titled run title.toml --bursts 3
titled validate title.toml --backends cpu:1,cpu:2 --bursts 3
titled resolve title.toml
expect 0 check title.toml
prints 'x\x1bc\x1b]0;t\x07\u{009b}31m\u{202e}\u{2066}\x7f\x0avolley: all is well'
expect 0 resolve title.toml
cp out resolved.toml
prints '\u009b31m\u202e\u2066\u007f\u000avolley'
expect 0 resolve --hash title.toml
cp out hash
expect 0 resolve --hash resolved.toml
holds cmp -s out hash
# names that do not exist, values that are not wanted, text that is no TOML
for line in "[area.\"$toml\"]" "[run]
\"$toml\" = 1" "[area.E]
model = \"$toml\"" "x = $raw" "# $raw"; do
    printf 'format = 1\n%s\n' "$line" >wrong.toml
    plainly 2 check wrong.toml
done
plainly 2 check small.toml --set "$raw=1"
plainly 2 check small.toml --set "area.E.neurons=$raw"
plainly 2 run small.toml --backend "$raw"
plainly 2 run small.toml --record "$raw.csv" --ms nonsense
plainly 4 check "$raw.toml"
plainly 2 "$raw"
plainly 2 run --"$raw"
plainly 2 doc "$raw"
plainly 2 help "$raw"
plainly 2 monitor "$raw"

# ---- what a run leaves, under a name that is no better ----
cp title.toml "$raw.toml"
plainly 0 run "$raw.toml" -o "$raw" --record spikes.csv --live \
    --telemetry t.jsonl
plainly 0 status "$raw"
plainly 0 status "$raw" --json
holds is_json out
plainly 0 inspect "$raw/manifest.json"
plainly 0 monitor report "$raw"
plainly 0 rerun "$raw/manifest.json"
holds is_plain "$raw/manifest.json" "$raw/log.jsonl" t.jsonl
holds is_json "$raw/manifest.json"
# a manifest that somebody wrote
mkdir hostile
sed "s/\"genome\": \"[^\"]*\"/\"genome\": \"$(printf '%s' "$toml" |
    sed 's/\\/\\\\/g')\"/; s/\"digest\": \"[^\"]*\"/\"digest\": \"\\\\u001b[2J\"/" \
    "$raw/manifest.json" >hostile/manifest.json
holds is_json hostile/manifest.json
plainly 0 inspect hostile/manifest.json
holds grep -q '\\x1b' out
"$volley" status hostile >out 2>err
holds is_plain out err
"$volley" monitor report hostile >out 2>err
holds is_plain out err
"$volley" rerun hostile/manifest.json >out 2>err
holds is_plain out err
printf '{"manifest": "%s\n' "$raw" >hostile/manifest.json
plainly 2 inspect hostile/manifest.json
printf '%s\n' "$raw" >hostile/manifest.json
"$volley" status hostile >out 2>err
holds is_plain out err

# ---- other files ----
printf 'format = 1\n' >empty.toml
for name in "$genomes"/../tests/fuzz/corpus/*/*; do
    case $name in *.toml | */edges/* | */sonata/*) continue ;; esac
    "$volley" inspect "$name" >out 2>err
    holds is_plain out err
done
printf '# volley digest log %s\n' "$raw" >digest.log
"$volley" compare digest.log digest.log >out 2>err
holds is_plain out err
"$volley" inspect digest.log >out 2>err
holds is_plain out err

# ---- a plugin ----
plainly 3 inspect --plugin "$test_plugins/broken_id_invalid.so"
VOLLEY_PLUGIN_PATH=$test_plugins/broken_id_invalid.so:$VOLLEY_PLUGIN_PATH \
    plainly 0 plugins
VOLLEY_PLUGIN_PATH=$raw:$VOLLEY_PLUGIN_PATH plainly 0 plugins

# ---- what a model answers: as it is into a file, plainly on a terminal ----
model=$genomes/../tests/golden/rwkv7/tiny-rwkv7-834k.safetensors
expect 0 monitor ask "$model" abc -n 400 --seed 3 -t 10 -q --device cpu:1
cp out answer
is_plain answer && bad "an answer without a control character tests nothing"
# where there is no /dev/pts, as in a bare root, no terminal can be made
if command -v python3 >/dev/null 2>&1 &&
    python3 -c 'import pty; pty.openpty()' 2>/dev/null; then
    python3 -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)' \
        "$volley" monitor ask "$model" abc -n 400 --seed 3 -t 10 -q \
        --device cpu:1 </dev/null >out 2>err
    holds [ $? -eq 0 ]
    tr -d '\r' <out >shown # a terminal's own, at each end of a line
    holds is_plain shown
    holds [ "$(wc -c <shown)" -gt "$(wc -c <answer)" ]
    holds grep -q '\\x' shown
fi

# ---- a server that is no run ----
if command -v python3 >/dev/null 2>&1; then
    cat >server.py <<'END'
import json, socket, sys
text = sys.argv[1]
listener = socket.socket(socket.AF_UNIX)
listener.bind("own.sock")
listener.listen(8)
answers = [json.dumps({"ok": True, "genome": text, "backend": text}),
           json.dumps({"ok": False, "error": text, "exit_code": 2}),
           json.dumps({"ok": True, "genome": text}, ensure_ascii=False),
           text]
for answer in answers:
    client = listener.accept()[0]
    client.recv(1000)
    client.sendall(answer.replace("\n", " ").encode() + b"\n")
    client.close()
END
    python3 server.py "$raw" >server.out 2>&1 &
    process=$!
    holds wait_for test -S own.sock
    for command in status pause "status --json" status; do
        # shellcheck disable=SC2086 # words
        "$volley" ctl ./own.sock $command >out 2>err
        holds is_plain out err
        case $command in
        *--json) holds is_json out && cp out json ;;
        esac
    done
    # the third answer, as it came
    holds grep -q '\\u009b31m\\u202e\\u2066\\u007f' json
    wait $process
else
    echo "skipped: a hostile server, which takes python3"
fi
done_checks
