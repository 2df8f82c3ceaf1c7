#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# inspect --product on plugins of CUDA: what was measured is read from the cache
# the next time, ways that cannot have a reason, any can be forced.
# $5 gemm_cuda, $6 attention_cuda, or substitutes that compute on the host
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"
gemm=$5
attention=$6

# Without a device there is nothing to be seen.
if ! "$volley" inspect "$gemm" --plugin >out 2>err; then
    echo "skipped: $(cat err)"
    [ "${VOLLEY_REQUIRE_GPU:-0}" != 1 ]
    exit
fi

# twice PLUGIN PRODUCT: measured, then found, and the same choice and time
twice() {
    expect 0 inspect "$1" --product "$2" --options "cache=$folder/cache"
    prints "product     $2 on device 0"
    prints "measured    "
    holds sh -c '! grep -q "read from the cache" out'
    holds [ "$(grep -c '^  chosen  *[0-9.]* [mu]*s ' out)" = 1 ]
    holds sh -c '! grep -q "^  refused *[^:]*$" out' # each has a reason
    sed -n 's/^choice *//p; s/^measured *//p' out >first
    expect 0 inspect "$1" --product "$2" --options "cache=$folder/cache"
    prints ", read from the cache"
    prints "(the others were looked at when it was chosen; --options cache=off"
    holds [ "$(grep -c '^  chosen  *[0-9.]* [mu]*s ' out)" = 1 ]
    sed -n 's/^choice *//p; s/^measured *\(.*\), when it was chosen/\1/p' \
        out >second
    holds cmp -s first second
}

twice "$gemm" gemm:bf16:16x256x128
twice "$gemm" gemv:fp16:128
expect 0 inspect "$gemm" --product gemm:bf16:16x256x128 \
    --options "choose=own,cache=off"
prints "  chosen    not measured  own"
expect 0 inspect "$gemm" --product gemm:fp32:40x64x64 \
    --options "tune=0,cache=off"
prints "gemv: m is 40, wanted at most 8"
expect 3 inspect "$gemm" --product gemm:fp32:64x64x64 --options choose=gemv
says "choose=gemv, but for this product there are: "

twice "$attention" wkv:bf16:1x2x40
expect 0 inspect "$attention" --product wkv:fp16:2x2x1 --options cache=off
prints "  chosen    not measured  own_step"
expect 0 inspect "$attention" --product wkv:fp16:1x2x40 \
    --options cache=off,choose=own_chunked
prints "  refused                 own_recurrent: not looked at: choose names"
expect 3 inspect "$attention" --product wkv:fp16:1x2x40 \
    --options choose=own_step
says "own_step is for a single step"
twice "$attention" attention:bf16:1x4/2x300x64:causal
twice "$attention" attention:bf16:1x4x256x64:causal,backward
twice "$attention" decode:bf16:2x8/2x300x64
twice "$attention" decode:fp16:2x8/2x300x128:page=16,lengths
expect 0 inspect "$attention" --product attention:bf16:1x4/2x300x64:causal \
    --options cache=off,choose=own_mma
prints "  chosen  "
prints "own_mma"
prints "  refused                 own_plain: not looked at: choose names"
expect 3 inspect "$attention" --product attention:bf16:1x4/2x300x64 \
    --options choose=own_decode
says "own_decode"
done_checks
