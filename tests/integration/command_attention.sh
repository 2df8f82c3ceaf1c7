#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench attention and bench wkv on the processor: lists that are wrong, rows,
# JSON, comparison; conformance of the plugin by the command.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

attention=${VOLLEY_PLUGIN_PATH##*:}/attention_cpu.so # the last is the folder

# ---- inspect: plans of all kinds ----
expect 0 inspect "$attention" --product \
    attention:bf16:2x8/2x40x64:causal,window=16,lengths --threads 1
prints "product     attention:bf16:2x8/2x40x64:causal,window=16,lengths on"
prints "choice      blocked "
prints "            of 1 candidate"
prints "workspace   "
prints "  chosen    not measured  blocked"
prints "  can       not measured  reference: "
expect 0 inspect "$attention" --product attention:fp32:1x2x40x64:backward \
    --options choose=reference
prints "  chosen    not measured  reference"
expect 0 inspect "$attention" --product decode:fp16:1x8/2x5000x64:page=16 \
    --threads 2
prints " splits"
prints "  chosen    not measured  blocked, "
expect 0 inspect "$attention" --product attention:fp8:1x2x9x64:fp8out,nolse
expect 0 inspect "$attention" --product \
    attention:fp16:2x2x9x64:packed,causal_end,keys=12,behind=3
expect 0 inspect "$attention" --product wkv:bf16:2x4x33:lengths
prints "  chosen    not measured  recurrent"
expect 0 inspect "$attention" --product wkv:fp32:1x1x1
for product in attention:bf16:1x2x3 attention:bf16:1x2/xx3x64 \
    attention:int9:1x2x3x64 attention:bf16:1x2x3x64:causl \
    attention:bf16:1x2x3x64:window=1x attention:bf16:1x2x3x64:page=0 \
    attention:bf16:1x2x3x64:keys=0 attention:bf16:1x2x3x64:causal, \
    decode:bf16:1x2x3x64:backward wkv:bf16:1x2 wkv:bf16:1x2x3x4 \
    wkv:bf16:1x2x3:causal
do
    expect 2 inspect "$attention" --product "$product"
    says "--product \"$product\": "
    says "wanted"
done
expect 2 inspect "$attention" --product decode:bf16:1x3/2x8x64
says "3 query heads for 2 key heads"
expect 2 inspect "$attention" --product attention:bf16:1x2x3x63
says "dim is 63, wanted a multiple of 8"
expect 3 inspect "$attention" --product attention:int8:1x2x3x64
says "wanted fp32, fp16, bf16 or fp8"
expect 3 inspect "$attention" --product \
    attention:bf16:1x2x64x64:backward,workspace=5
says "workspace_most is 5"
expect 3 inspect "$attention" --product gemm:fp32:64
says "does not offer volley.gemm/1"

# ---- said before it measures ----
expect 2 bench attention --seq 2048,x
says '--seq 2048,x: "x", wanted numbers from 1 to 1048576'
expect 2 bench attention --seq 0
says 'wanted numbers from 1'
expect 2 bench attention --types fp16,int8
says '"int8", wanted fp32, fp16, bf16, fp8'
expect 2 bench wkv --types fp8
says '"fp8", wanted fp32, fp16, bf16'
expect 2 bench attention --dims 12
says 'multiples of 8'
expect 2 bench wkv --dims 64
says '--dims is of suite attention'
expect 2 bench gemm --seq 64
says '--seq is of suites attention, wkv and rwkv'
expect 2 bench attention --sizes 64
says '--sizes and --set are of suites gemm'
expect 2 bench cpu --types fp16
says '--types is of suites'
expect 2 bench attention --case nonesuch --seq 8 --dims 8 --types fp32
says '"nonesuch"'
expect 3 bench attention --backend nonesuch
says 'attention_nonesuch'

# ---- rows ----
expect 0 bench attention --seq 9 --dims 16 --types fp16 --case ward \
    --threads 2 --save bench.json --json out.json
for row in 'forward fp16 d16 9' 'backward fp16 d16 9' causal full blocked; do
    prints "$row"
done
# what they are a part of
prints 'gemm fp16 512x512x512'
holds is_json out.json
for key in median_s min_s max_s flops bytes choice relative_error samples; do
    holds grep -q "\"$key\":" bench.json
done
expect 0 bench attention --seq 9 --dims 16 --types fp16 \
    --case 'forward fp16 d16 9 b227 h32 causal' --threads 2 \
    --compare bench.json --threshold 100 --fail-on-regression --markdown
prints '| forward fp16 d16 9'
prints 'compared with bench.json'
sed -e 's/"median_s": [0-9.e+-]*/"median_s": 1e-12/' bench.json >fast.json
expect 1 bench attention --seq 9 --dims 16 --types fp16 \
    --case 'forward fp16 d16 9 b227 h32 causal' --threads 2 \
    --compare fast.json --fail-on-regression
prints 'slower'
expect 0 bench attention --backend cpu:1,choose=reference --seq 9 --dims 8 \
    --types bf16 --case 'forward bf16 d8 9 b227 h64 causal'
prints 'reference fp64'
prints 'gemm bf16 512x512x512'
expect 0 bench attention --backend cpu:1 --seq 9 --dims 8 --types fp32 \
    --case 'decode fp32 d8'
holds sh -c '! grep -q "^gemm" out'
# ---- sweeps: a log that the next call continues ----
expect 2 bench gemm --sizes 8 --sweep choose=plain
says '--sweep and --log are of suite attention'
expect 2 bench attention --seq 9 --log sweep.log
says 'wanted --sweep LIST too'
expect 2 bench attention --seq 9 --dims 8 --types fp32 --sweep '|choose=blocked'
says '--sweep: wanted at most 16 sets'
sweep() {
    expect "$1" bench attention --backend cpu:1 --seq 9 --dims 8 --types fp32 \
        --case 'forward fp32 d8 9 b227 h64 full' --sweep "$2" --log sweep.log
}
sweep 3 'choose=blocked|choose=blocked,isa=scalar|choose=none'
says 'asked for and not measured: choose=none'
prints 'forward fp32 d8 9 b227 h64 full'
prints 'choose=blocked,isa=scalar'
prints ' to '
prints 'refused: '
holds test "$(grep -c '"state": "timed"' sweep.log)" = 2
holds test "$(grep -c '"state": "refused"' sweep.log)" = 1
holds test "$(grep -c '"state": "begun"' sweep.log)" = 3
# a candidate that ended the process is not tried again, nor are finished rows;
# a cut line is ignored
sed -i -e '/isa=scalar.*"timed"/d' sweep.log
lines=$(wc -l <sweep.log)
printf '{"case": "forw' >>sweep.log
sweep 3 'choose=blocked|choose=blocked,isa=scalar|choose=none'
says 'asked for and not measured: choose=none'
prints '(from the log)'
prints 'the process died in it'
prints '1 lines of sweep.log are no results'
holds test "$(wc -l <sweep.log)" = "$lines"
# by other code: measured again; an option that there is not ends it, and is
# tried again
sed -i -e 's/"commit": "[^"]*"/"commit": "another"/' sweep.log
sweep 2 'choose=blocked|choose=blocked,config=*'
says 'unknown option "config"'
prints 'choose=blocked  '
holds sh -c '! grep -q "from the log" out'
holds grep -q '"state": "left"' sweep.log
if [ -e /dev/full ]; then
    expect 4 bench attention --backend cpu:1 --seq 9 --dims 8 --types fp32 \
        --case 'forward fp32 d8 9 b227 h64 full' --sweep choose=blocked \
        --log /dev/full
fi

expect 0 bench wkv --seq 5 --types fp32,bf16 --case sequence --threads 1
prints 'sequence fp32 h40 x1 5'
prints 'sequence bf16 h40 x1 5'
prints 'recurrent'

done_checks
