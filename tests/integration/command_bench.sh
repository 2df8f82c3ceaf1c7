#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# volley bench: what was asked for by name and did not run, comparison with an
# earlier bench, files that cannot be written. Products on the processor; the
# memory that they may take stands for a device that is too small.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

# gemv CODE ARGUMENTS...: of the own table only 1024x1024 in int4 fits, one set
gemv() {
    code=$1
    shift
    expect "$code" bench gemv --backend cpu:1,tune=0 \
        --device-memory host=800KiB "$@"
}
# lacks TEXT: the last command's stdout does not hold it
lacks() {
    checks=$((checks + 1))
    ! grep -qF -- "$1" out || bad "stdout has: $1"
}

# ---- asked for and not measured: exit code 3 with a sentence ----
gemv 0 --save own.json
prints 'gemv w4a16 1x1024x1024'
prints 'gemv bf16 1x4096x4096              skipped: out of memory: host: '
lacks 'NOT COMPLETE'
holds is_json own.json
holds grep -q '"suite": "gemv"' own.json
gemv 3 --types bf16,w4a16
says 'asked for and not measured: --types bf16: gemv bf16 1x1024x1024 and 1 more'
prints 'NOT COMPLETE: asked for and not measured: --types bf16'
gemv 3 --types w4a16,w8a16 --sizes 512,1024
says 'asked for and not measured: gemv w8a16 1x1024x1024: out of memory: host: '
if [ -e /dev/full ]; then # the first failure is the command's
    gemv 3 --sizes 4096 --types bf16 --save /dev/full
    says '/dev/full'
fi
gemv 3 --sizes 1024,4096 --save named.json
says 'asked for and not measured: --sizes 1x4096x4096: gemv bf16 1x4096x4096'
holds is_json named.json
holds grep -q '"failure": "asked for and not measured' named.json
gemv 0 --sizes 1024
# one element in many: the other lists are given, and it is one that is skipped
expect 3 bench gemv --backend cpu:1,choose=plain --sizes 64 --types fp32,w4a16
says 'asked for and not measured: --types w4a16: gemv w4a16 1x64x64: gemm_cpu'
prints 'gemv fp32 1x64x64'
# no memory for the ceiling of bytes, on an emulated device: rows go on
fake=$test_plugins/fake_gemm_cuda.so
if [ -e "$fake" ]; then
    VOLLEY_PLUGIN_PATH=$fake:$VOLLEY_PLUGIN_PATH "$volley" bench gemv \
        --backend cuda:0 --sizes 16384 --types bf16 \
        --device-memory cuda:0=100MiB >out 2>err
    holds [ $? -eq 3 ]
    says 'the ceiling of bytes is not measured: out of memory: cuda:0: '
    prints 'ceiling of bytes: not measured, there is no memory for two blocks'
    prints 'gemv bf16 1x16384x16384            skipped: out of memory: cuda:0'
    says 'nothing was measured: out of memory: cuda:0: '
fi
attention() {
    code=$1
    shift
    expect "$code" bench attention --backend cpu:1 --seq 9 --dims 8 \
        --types fp32 --device-memory host=48MiB "$@"
}
attention 3 --case 'forward fp32 d8 9 b227 h64 causal'
says 'nothing was measured: out of memory: host: '
attention 3 --case 'forward fp32 d8 9 b227 h64 causal' --sweep choose=blocked
says 'forward fp32 d8 9 b227 h64 causal: skipped: out of memory'
says 'asked for and not measured: 1 of 1 products'
expect 3 bench wkv --backend cpu:1 --device-memory host=8MiB --seq 2 \
    --types bf16 --case 'x32 1'
says 'nothing was measured: out of memory'
expect 3 bench rwkv --backend cpu:1 --sizes 1x64x300,12x768x300 --types fp32 \
    --seq 4 --device-memory host=8MiB
prints 'prefill 1x64x300 fp32 4'
says 'asked for and not measured: --sizes 12x768x300: 12x768x300 fp32: out of '

# ---- networks that learn ----
expect 0 bench plastic --quick --backend cpu:1 --case 'hpc scale 0.1' \
    --json plastic.json
prints 'hpc scale 0.1 '
prints 'real-time factor '
prints 'flush hpc scale 0.1 '
holds is_json plastic.json
holds grep -q '"note": "real-time factor [0-9.]*, [0-9.]* bytes a synapse"' \
    plastic.json
expect 3 bench plastic --backend cpu:1 --case morrison
says 'morrison: skipped: it is for a device: --backend cuda'
expect 2 bench plastic --case izhikevich
says '--case izhikevich: no case contains it; the cases are brunel 10k frozen, '

# ---- many devices and hosts: predictions, and one rank of 40 ----
expect 0 bench scale --quick --backend cpu:1 --devices 4 --hosts 40 --json scale.json
holds is_json scale.json
prints 'Of 11 rows that gave no parameter 11 are within 20%.'
prints 'rank 17 of 40: burst '
prints '40 x 4'
# The rank has seen the spikes of all: 1% of 64,000 neurons in 16 bursts are 10,240,
# and six standard deviations of them 6%.
share=$(sed -n 's/.*"share": \(0.0[0-9]*\).*/\1/p' scale.json)
holds awk "BEGIN { exit !($share > 0.0094 && $share < 0.0106) }"
expect 0 bench scale --hosts 1 --devices 3 --net-latency 1 --net-bandwidth 10
lacks 'rank 0 of 1'
prints 'no room'
expect 2 bench cpu --hosts 2
says '--hosts is of suite scale'
expect 2 bench scale --devices 1,2
says '--devices: more than 1 number'
expect 2 bench cpu --devices 2
says '--devices is of suites attention and scale'
expect 2 bench attention --devices 2,4
says '--devices 2,4: wanted numbers that ascend from 1, as 1,2,4'
expect 2 bench attention --devices 1,2 --sweep tune=0
says '--sweep is of one device: wanted no --devices'

# ---- comparison ----
one() {
    code=$1
    shift
    expect "$code" bench gemv --backend cpu:1,choose=plain --types fp32 "$@"
}
one 0 --sizes 64,96 --save before.json
one 0 --sizes 64,80 --compare before.json --threshold 100 --fail-on-regression
prints 'compared with before.json (volley '
prints 'threshold 10000%'
holds grep -q '^gemv fp32 1x80x80  *not there -> .*  new$' out
holds grep -q '^gemv fp32 1x96x96 .* ->  *not in this bench$' out
prints '1 compared, 0 slower, 0 skipped now, 1 new, 1 not in this bench'
one 2 --sizes 80 --compare before.json --fail-on-regression
says 'before.json: no row of this bench in it, nothing was compared'
# --compare and --save may name the same file
sed -e 's/"median_s": [0-9.e+-]*/"median_s": 1e-12/' before.json >both.json
one 1 --sizes 64 --compare both.json --save both.json --fail-on-regression
prints '1 compared, 1 slower'
holds grep -q '"id": "gemv fp32 1x64x64"' both.json
one 0 --sizes 64 --compare both.json --threshold 100
# skipped now is worse than slower
sed -e 's/"reason": "[^"]*"/"median_s": 1/' own.json >more.json
gemv 1 --compare more.json --threshold 100 --fail-on-regression
prints '1 compared, 0 slower, 5 skipped now, 0 new, 0 not in this bench'

# another suite, device or backend is refused before anything is measured
refused() {
    one 2 --sizes 64 --compare other.json
    says "other.json is of another $1"
    says '--compare-other compares them all the same'
    holds [ ! -s out ]
    one 0 --sizes 64 --compare other.json --compare-other --threshold 100
    says "other.json is of another $1"
    prints '1 compared'
}
sed -e 's/"device": "[^"]*"/"device": "abacus"/' before.json >other.json
refused 'device: abacus, this bench is of '
sed -e 's/"suite": "[^"]*"/"suite": "gemm"/' before.json >other.json
refused 'suite: gemm, this bench is of gemv'
sed -e 's/"backend": "[^"]*"/"backend": "cuda:1"/' before.json >other.json
refused 'backend: cuda:1, this bench is of cpu:1,choose=plain'
sed -e 's/"backend": "[^"]*"/"backend": "cpu:3"/' before.json >other.json
refused 'backend: cpu:3, this bench is of cpu:1,choose=plain'
# what may differ is said
sed -e '/"suite":/d' -e 's/choose=plain/choose=gemv/' \
    -e 's/"quick": false/"quick": true/' -e 's/"cpu": "[^"]*"/"cpu": "Z80"/' \
    -e 's/"failure": null/"failure": "of its own"/' before.json >other.json
one 0 --sizes 64 --compare other.json --threshold 100
says 'other.json does not say of which suite it is'
says 'other.json is of cpu:1,choose=gemv, this bench is of cpu:1,choose=plain'
says 'other.json was measured with --quick, this bench is without'
says 'other.json is of another machine (Z80)'
says 'other.json is not complete: of its own'
for option in --fail-on-regression --compare-other --threshold=1; do
    one 2 --sizes 64 "$option"
    says 'wanted --compare FILE too'
done
attention 2 --sweep choose=blocked --compare before.json
says 'wanted no --compare'
for option in --json=x.json --save=x.json; do
    attention 2 --sweep choose=blocked "$option"
    says 'keeps its results in --log FILE'
done
attention 4 --sweep choose=blocked --log missing/x
holds [ ! -s out ]

# ---- damaged and missing files ----
for bytes in 0 40 300 900; do
    head -c "$bytes" before.json >cut.json
    one 2 --sizes 64 --compare cut.json
    says 'cut.json'
    holds [ ! -s out ]
done
for rows in null 3 '{}' '"rows"'; do
    echo "{\"rows\": $rows}" >cut.json
    one 2 --sizes 64 --compare cut.json
    says 'cut.json: no rows in it'
done
one 4 --sizes 64 --compare missing.json
one 4 --sizes 64 --save missing/x.json
holds [ ! -s out ]
if [ -e /dev/full ]; then
    one 4 --sizes 64 --save /dev/full
    prints 'gemv fp32 1x64x64'
    one 4 --sizes 64 --json /dev/full --save kept.json
    holds is_json kept.json
    "$volley" bench gemv --backend cpu:1 --types fp32 --sizes 64 >/dev/full \
        2>err
    holds [ $? -eq 4 ]
fi

one 2 --sizes=
says '--sizes: nothing in it'
attention 2 --case=
says '--case: nothing in it'
one 2 --sizes 64 --json - --compare before.json
says '--json - and --compare: both write to stdout'

# ---- a signal: what was measured is reported and saved ----
"$volley" bench gemv --backend cpu:1,choose=plain --types fp32 --save cut.json \
    --sizes "$(seq -s , 4000 4050)" >out 2>err &
process=$!
holds wait_for grep -q 'gemv fp32 1x4001x4001' err
kill -INT $process
wait $process
holds [ $? -eq 6 ]
prints 'gemv fp32 1x4000x4000'
prints 'NOT COMPLETE: gemv fp32 1x40'
says 'stopped by a signal'
holds is_json cut.json
holds grep -q '"id": "gemv fp32 1x4000x4000"' cut.json
holds grep -q '"failure": "gemv fp32 1x40.*: stopped by a signal"' cut.json

done_checks
