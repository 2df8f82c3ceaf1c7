#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# monitor ask with the tiny RWKV-7 of tests/golden: its logits, the same answer
# in one piece and over a saved state, what is refused; bench rwkv.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"
golden=$genomes/../tests/golden/rwkv7
model=$golden/tiny-rwkv7-834k.safetensors

# ---- an answer ----
expect 0 monitor ask "$model" '"in' --tokens 12 --temperature 0 --device cpu:1
prints ' the the the'
says 'prompt 3 tokens'
cp out whole
expect 0 monitor ask "$model" '"in' -n 12 -t 0 --device cpu:3 --quiet
holds cmp out whole
holds [ ! -s err ]
printf '"in' >prompt
checks=$((checks + 1))
"$volley" monitor ask "$model" - -n 12 -t 0 -q <prompt >out 2>err ||
    bad "a prompt of standard input"
holds cmp out whole
expect 0 monitor ask "$model" '"in' -n 12 --seed 5 --top-k 40 --top-p 0.9 -q
cp out drawn
expect 0 monitor ask "$model" '"in' -n 12 --seed 5 --top-k 40 --top-p 0.9 -q \
    --device cpu:2
holds cmp out drawn

# ---- what was said before a signal is there ----
stopped_by() { # SIGNAL OPTIONS...: after its first words
    signal=$1
    shift
    rm out
    "$volley" monitor ask "$model" abc -n 1000000 --device cpu:1 "$@" \
        >out 2>err &
    process=$!
    holds wait_for [ -s out ]
    kill -"$signal" $process
    wait $process
    code=$?
    holds [ $code -eq 6 ]
}
stopped_by INT
n=$(sed -n 's/.*answer \([0-9,]*\) tokens.*/\1/p' err | tr -d ,)
holds [ "$(wc -c <out)" -ge "$n" ]
# a terminal that is closed
stopped_by HUP --state-out hung
expect 0 monitor ask "$model" '' -n 1 -q --state-in hung

# ---- a state in between ----
expect 0 monitor ask "$model" '"in' -n 0 --logits logits --state-out state
holds [ "$(wc -c <logits)" -eq 1024 ]
holds [ "$(wc -c <state)" -eq 203856 ]
# the state, the logits after it and a hash
holds [ "$(head -c 203840 state | tail -c 1024 | cmp - logits && echo same)" = same ]
expect 0 monitor ask "$model" 'k' -n 0 --state-in state --logits after
expect 0 monitor ask "$model" '"ink' -n 0 --logits at_once
holds cmp after at_once
# an answer continues without a further word
expect 0 monitor ask "$model" '"in' -n 5 -t 0 -q --state-out half
head -c -1 out >both
expect 0 monitor ask "$model" '' -n 7 -t 0 -q --state-in half --state-out half
cat out >>both
holds cmp both whole
# a state of the API has no logits: a text begins after it
head -c 202816 state >bare
expect 0 monitor ask "$model" '' -n 0 --state-in bare
says 'prompt 1 tokens'
expect 0 monitor ask "$model" '' -n 0 --state-in state --logits again
says 'prompt 0 tokens'
holds cmp again logits
for weights in bf16 fp16 w8; do
    expect 0 monitor ask "$model" 'k' -n 1 --weights $weights
    says "weights ($weights)"
done

# ---- files with other weights ----
if python3 - "$model" <<'END'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
n = struct.unpack("<Q", data[:8])[0]
head, body = json.loads(data[8:8 + n]), data[8 + n:]
def write(path, name, change, kind):
    """The same file with one tensor's values changed, stored as kind."""
    out, tensors = b"", {}
    for key, row in head.items():
        if key == "__metadata__":
            tensors[key] = row
            continue
        a, b = row["data_offsets"]
        part, row = body[a:b], dict(row)
        if key == name:
            x = [change(v) for v in struct.unpack("<%df" % ((b - a) // 4), part)]
            part = struct.pack("<%d%s" % (len(x), kind), *x)
            row["dtype"] = {"e": "F16", "f": "F32"}[kind]
        row["data_offsets"] = [len(out), len(out) + len(part)]
        tensors[key] = row
        out += part
    text = json.dumps(tensors).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + out)
write("mixed.safetensors", "head.weight", lambda v: v, "e")
write("huge.safetensors", "head.weight",
      lambda v: 3e38 if v > 0 else -3e38, "f")
END
then
    expect 0 monitor ask mixed.safetensors x -n 0
    says 'weights (fp32)'
    expect 2 monitor ask huge.safetensors x -n 0 --logits big --state-out big2
    says 'after the prompt, wanted finite ones'
    holds [ ! -e big ]
    holds [ ! -e big2 ]
fi
# ids behind the vocabulary are no text, in a state neither: an end of a text is
# one that can be gone on from
printf "1 'a' 1\n" >short_vocabulary
expect 0 monitor ask "$model" a --vocabulary short_vocabulary -n 400 -q \
    --state-out ended
holds [ "$(wc -c <out)" -lt 401 ]
expect 0 monitor ask "$model" '' --vocabulary short_vocabulary -n 1 -q \
    --state-in ended

# ---- refused ----
expect 2 monitor ask "$model"
expect 4 monitor ask nonesuch.safetensors x
says nonesuch.safetensors
expect 2 monitor ask "$model" x --weights w4
says 'choose w8'
expect 2 monitor ask "$model" x --weights w5
says 'wanted auto, fp32, fp16, bf16, w8 or w4'
# a number that cannot be is refused alike, whichever side it is on
expect 2 monitor ask "$model" x --top-p 0
says '--top-p is 0, wanted a number from 1e-09 to 1'
expect 2 monitor ask "$model" x --top-p 1.0001
says '--top-p is 1.0001, wanted a number from 1e-09 to 1'
expect 2 monitor ask "$model" x --temperature 0.0001
says '--temperature is 0.0001, wanted 0 or a number from 0.001 to 100'
expect 3 monitor ask "$model" x --device nonesuch
says nonesuch
{
    head -c 203000 state
    printf x
    tail -c 855 state
} >damaged
expect 2 monitor ask "$model" x --state-in damaged
says 'damaged: a damaged state: its logits do not match their hash'
# no file that is read is replaced
cp "$model" mine.safetensors
for option in --state-out --logits; do
    expect 2 monitor ask mine.safetensors x -n 0 $option mine.safetensors
    says "mine.safetensors is the model, wanted another file for output"
done
expect 2 monitor ask mine.safetensors x -n 0 --state-out new --logits new
says '--logits new and --state-out new are one file'
holds cmp mine.safetensors "$model"
head -c 1000 state >short
expect 2 monitor ask "$model" x --state-in short
says 'short: a state of 1000 bytes, wanted 202816'
expect 2 monitor ask "$model" x --state-in logits
says 'logits: 1024 bytes are not a saved state of a model'
expect 4 monitor ask "$model" x --state-in nonesuch
expect 4 monitor ask "$model" x -n 0 --state-out no/such/folder
if [ -w /dev/full ]; then
    expect 4 monitor ask "$model" x -n 0 --logits /dev/full
fi
printf "1 'a' 2\n" >vocabulary
expect 2 monitor ask "$model" x --vocabulary vocabulary
says 'vocabulary:1:'

# ---- bench ----
expect 2 bench rwkv --sizes 24x100x256
says '24x100x256'
expect 2 bench rwkv --types fp8
says '--types: "fp8", wanted some of fp32, fp16, bf16, w8, w4'
expect 2 bench rwkv --types bf16,w8a16
says '--types: "w8a16", wanted some of fp32, fp16, bf16, w8, w4: a model of such weights is w8 here'
expect 2 bench rwkv --types auto
says '--types: "auto", wanted some of fp32'
expect 2 bench rwkv --seq 0
expect 0 bench rwkv --sizes 2x128x300 --types fp32,w8 --seq 16 --threads 1 \
    --json out.json
for row in 'decode 2x128x300 fp32' 'decode 2x128x300 w8' \
    'prefill 2x128x300 fp32 16' 'gemm fp32'; do
    prints "$row"
done
says 'tokens a second'
holds is_json out.json
done_checks
