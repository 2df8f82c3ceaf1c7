#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench attention and bench wkv on the processor: lists that are wrong, rows,
# JSON, comparison; conformance of the plugin by the command.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

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
expect 0 bench attention --seq 33 --dims 16 --types fp16 --case ward \
    --threads 2 --save bench.json --json out.json
for row in 'forward fp16 d16 33' 'backward fp16 d16 33' causal full blocked; do
    prints "$row"
done
# what they are a part of
prints 'gemm fp16 512x512x512'
holds is_json out.json
for key in median_s min_s max_s flops bytes choice relative_error samples; do
    holds grep -q "\"$key\":" bench.json
done
expect 0 bench attention --seq 33 --dims 16 --types fp16 \
    --case 'forward fp16 d16 33 b62 h32 causal' \
    --compare bench.json --threshold 100 --fail-on-regression --markdown
prints '| forward fp16 d16 33'
prints 'compared with bench.json'
sed -e 's/"median_s": [0-9.e+-]*/"median_s": 1e-12/' bench.json >fast.json
expect 1 bench attention --seq 33 --dims 16 --types fp16 \
    --case 'forward fp16 d16 33 b62 h32 causal' \
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
sweep 0 'choose=blocked|choose=blocked,isa=scalar|choose=none'
prints 'forward fp32 d8 9 b227 h64 full'
prints 'choose=blocked,isa=scalar'
prints ' to '
prints 'refused: '
holds test "$(grep -c '"state": "timed"' sweep.log)" = 2
holds test "$(grep -c '"state": "refused"' sweep.log)" = 1
holds test "$(grep -c '"state": "begun"' sweep.log)" = 3
# one that took the process with it is not tried again, nor what is there; a
# cut line is nothing
sed -i -e '/isa=scalar.*"timed"/d' sweep.log
lines=$(wc -l <sweep.log)
printf '{"case": "forw' >>sweep.log
sweep 0 'choose=blocked|choose=blocked,isa=scalar|choose=none'
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
