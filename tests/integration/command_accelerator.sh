#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Accelerators on the command line: plugins, conformance, bench gemm and gemv.
. "$(dirname "$0")/command_support.sh"

gemm=${VOLLEY_PLUGIN_PATH%%:*}/gemm_cpu.so

# ---- plugins ----
expect 0 plugins
prints "gemm_cpu"
prints "offers volley.gemm/1 volley.memory/1"
expect 0 plugins --json plugins.json
holds is_json plugins.json
holds grep -q "volley.gemm/1 volley.memory/1" plugins.json

# ---- inspect ----
expect 0 inspect "$gemm" --product gemm:w4a16:1x256x384 \
    --options choose=gemv --threads 1
prints "plugin gemm_cpu"
prints "choice      gemv: "
expect 0 inspect "$gemm" --product gemm:fp32:64 --options tune=0
prints "of 1 candidate"
expect 0 inspect "$gemm" --product gemm:bf16:8x64x48:bias,gelu,batch=3
prints "product     gemm:bf16:8x64x48:bias,gelu,batch=3 on device 0"
prints "  refused                 gemv: m is not 1"
prints "  chosen "
expect 0 inspect "$gemm" --product gemv:int8:64x48 --options choose=plain
prints "  chosen    not measured  plain"
expect 3 inspect "$gemm" --product wkv:fp32:1x1x1
says "does not offer volley.wkv/1"
for product in gemm gemm:fp32 gemm:fp32: gemm:nothing:64 conv:fp32:64 \
    gemm:fp32:64,65 gemm:fp32:64: gemm:fp32:64:bias, gemm:fp32:64:what \
    gemm:fp32:64:batch= gemm:fp32:64:batch=99999999 gemm:fp32:0x1x1 \
    gemv:fp32:1x2x3 gemm:fp32,bf16:64
do
    expect 2 inspect "$gemm" --product "$product"
    says "--product"
done
expect 2 inspect "$gemm" --product gemm:fp32:64:what
says '"what", wanted some of bias, relu, relu2, gelu, batch=N'
expect 2 inspect "$gemm" --product conv:fp32:64
says 'kind "conv", wanted gemm, gemv, attention, decode or wkv'
holds [ ! -s out ]
for words in relu,gelu bias,bias batch=2,batch=3 workspace=1XB workspace=; do
    expect 2 inspect "$gemm" --product "gemm:fp32:64:$words"
    says "--product"
done
says "workspace=BYTES, N up to 16777216, BYTES as 65536 or 1GiB"
expect 0 inspect "$gemm" --product gemm:fp32:64:workspace=1GiB
expect 0 inspect "$gemm" --product gemm:fp32:64:workspace=268435456
expect 2 inspect "$gemm" --product gemm:fp32:64 --options tune=0,tune=1
says "option tune twice"
expect 2 bench gemm --backend cpu:1 --sizes 8 --types bf16,bf16
says "--types: bf16 twice"
expect 2 inspect "$gemm" --product gemm:fp32:64:batch=0
says "batch is 0"
expect 3 inspect "$gemm" --product gemm:fp32:64 --options choose=gemv
says "m is not 1"
expect 2 inspect "$gemm" --options tune=0
says "wanted both"
expect 2 inspect small.toml --product gemm:fp32:64
says "not a plugin"

# ---- conformance ----
expect 0 conformance --list
prints "cases of volley.gemm/1"
expect 0 conformance "$gemm" --case 'fp32-*.17x63x65*/values' \
    --options choose=plain --json result.json
prints "fp32-fp32-fp32"
prints "0 skipped, 0 failed"
holds is_json result.json
holds [ "$(value outcome result.json)" = ok ]
expect 0 conformance "$gemm" --case refusals
prints "1 ok, 0 skipped, 0 failed"
expect 2 conformance "$gemm" --case nothing
says "nothing matches"
# an option that is not for the case: skipped with the reason
expect 0 conformance "$gemm" --case 'fp32-fp32-fp32.*17x63x65*/values' \
    --options choose=gemv
prints "skipped: gemm_cpu: choose=gemv: m is not 1"

# ---- bench ----
expect 0 bench gemm --quick --sizes 64x32x48 --types fp32,int8 \
    --backend cpu:1,choose=plain --save before.json --json -
holds is_json out
prints '"id": "gemm fp32 64x32x48"'
prints '"choice": "plain: tiles of'
prints '"ceiling_bytes_per_s": 0,' # seconds that no row of these needs
prints '"relative_error": 0,'
holds is_json before.json
expect 0 bench gemm --quick --sizes 64x32x48 --types fp32,int8 \
    --backend cpu:1,choose=plain --compare before.json --threshold 99 \
    --fail-on-regression --markdown
prints "| product | median |"
prints "| gemm int8 64x32x48 |"
prints "compared with before.json"
prints "| row | before | now | change |"
holds grep -q '^| gemm int8 64x32x48 | [^|]* | [^|]* | [^|]*% [^|]*|$' out
# other numbers in each bench, the same again by --seed
seeded() {
    expect 0 bench gemv --sizes 64 --types fp32 --backend cpu:1,choose=plain \
        --save "$@"
}
seeded first.json
seeded second.json
seed=$(value seed second.json)
holds [ "$(value seed first.json)" != "$seed" ]
error=$(value relative_error second.json)
holds [ "$(value relative_error first.json)" != "$error" ]
seeded third.json --seed "$seed"
prints "random data of --seed $seed"
holds [ "$(value relative_error third.json)" = "$error" ]
expect 2 bench cpu --seed 1
says "--seed is of suites gemm"
# as many sets as there is room for
expect 0 bench gemv --sizes 1024 --types fp32 --backend cpu:1,choose=plain \
    --device-memory host=24MiB
says "sets of buffers, not 24: a cache may hold them"
sed 's/"median_s": [0-9.e-]*/"median_s": 1e-9/' before.json >fast.json
expect 1 bench gemm --quick --sizes 64x32x48 --types fp32,int8 \
    --backend cpu:1,choose=plain --compare fast.json --fail-on-regression
prints "slower"
expect 0 bench gemv --sizes 256,128x384 --types w4a16,fp16 --backend cpu:2
prints "gemv w4a16 1x128x384"
prints "gemv fp16 1x256x256"
prints "ceiling of bytes, measured in this run"
for sizes in 4x 3x4 0 1,,2 5, x5 -1 1x2x3x4; do
    expect 2 bench gemm "--sizes=$sizes"
    says "--sizes"
done
expect 2 bench gemm --types fp32,abc
says '--types: "abc", wanted some of fp32'
expect 2 bench gemm --set shapes41
says "wanted shapes40"
expect 2 bench gemv --set shapes40
says "in suite gemm"
expect 2 bench gemm --set shapes40 --sizes 64
says "wanted one of them"
expect 2 bench cpu --sizes 64
says "of suites gemm and gemv"
expect 2 bench gemm --backend auto
says 'device "auto"'
expect 3 bench gemm --backend abacus
says "gemm_abacus"
expect 3 bench gemm --quick --sizes 8 --types fp32 \
    --backend cpu,choose=nothing
says "nothing was measured"
says "choose=nothing"

done_checks
