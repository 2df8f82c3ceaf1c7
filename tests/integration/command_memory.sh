#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Device memory: --device-memory, its figures in summary, JSON, telemetry and
# metrics. The device is the plugin of ABI 1.3, whose nets have two blocks of
# 1,000 bytes by the host's policy: one guaranteed, one that may be taken back.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"
VOLLEY_PLUGIN_PATH=$test_plugins/minor_3.so:$VOLLEY_PLUGIN_PATH
export VOLLEY_PLUGIN_PATH
three=$genomes/three.toml

# value KEY FILE: of the first line that has it
value() {
    sed -n "s/.*\"$1\": *\([0-9a-z\"]*\).*/\1/p" "$2" | head -n 1
}

# ---- what cannot be a limit ----
for limit in 8G "" =4 -3MiB 1e3 .MiB 0 cuda1=4MiB cuda:x=1MiB cuda:0= \
    Cuda:0=1MiB auto:0=1MiB cuda:0=9999999TiB; do
    expect 2 run "$three" --quiet --backend cpu:1 --device-memory "$limit"
    says "--device-memory $limit: wanted [DEVICE=]BYTES, as in 8GiB"
done
for limit in 1.5GiB 4096 7KB host=1MiB minor_3:0=1TB; do
    expect 0 run "$three" --quiet --backend cpu:1 --device-memory "$limit"
done
# ---- a limit of a device that does not exist, or that no net uses ----
expect 2 run "$three" --backend cpu:1 --device-memory cpu:0=1GiB
says "--device-memory cpu:0=1GiB: the processor is not a device"
says "host=BYTES"
expect 2 run "$three" --backend cpu:1 --device-memory minor_3:7=1GiB
says "--device-memory minor_3:7=: there is no such device, minor_3 has 1"
expect 2 run "$three" --backend cpu:1 --device-memory abacus:0=1GiB
says "--device-memory abacus:0=: no plugin has devices of this name"
# a plugin that cannot be used here, as cuda without a driver: told
unusable=$test_plugins/broken_init_fails.so
VOLLEY_PLUGIN_PATH=$unusable:$VOLLEY_PLUGIN_PATH \
    "$volley" run "$three" --backend cpu:1 \
    --device-memory broken_init_fails:0=1GiB >out 2>err
holds [ $? -eq 0 ]
says "--device-memory broken_init_fails:0= has no effect: "
says "the moon is not full"
expect 2 bench gemv --sizes 64 --device-memory minor_3:7=1GiB
says "there is no such device"
expect 2 bench gemv --sizes 64 --device-memory cpu:0=1GiB
says "the processor is not a device"
expect 0 run "$three" --backend cpu:1 --device-memory minor_3:0=1TB
prints "minor_3:0: limited, but nothing here took memory there"
expect 0 run "$three" --backend cpu:1 --device-memory 8GiB
prints "device memory     limited, but nothing here took memory of a device"
expect 0 run "$three" --backend minor_3 --device-memory 8GiB
holds sh -c '! grep -q "nothing here took" out'
expect 0 bench gemv --sizes 64 --types fp32 --backend cpu:1,tune=0 \
    --device-memory 8GiB --device-memory host=1GiB
says "--device-memory: limited, but nothing here took memory of a device"
holds sh -c '! grep -q "host: limited" err'
expect 0 bench --help
prints "host=1GiB"
expect 2 bench cpu --device-memory 8G
says "--device-memory 8G: wanted"

# ---- figures ----
expect 0 run "$three" --backend cpu:1 --json json
holds grep -q '"device_memory": \[\]' json
expect 0 run "$three" --backend minor_3 --json json
prints "device memory     minor_3:0: 2.05 kB in use, 0 B kept, at most 2.05 kB"
holds is_json json
holds grep -q '"device": "minor_3:0"' json
holds [ "$(value quota_bytes json)" = null ]
holds [ "$(value used_bytes json)" = 2048 ]
holds [ "$(value guaranteed_bytes json)" = 1024 ]
holds [ "$(value best_effort_bytes json)" = 1024 ]
digest=$(value digest json)
expect 0 plugins
prints "        memory: 0 B in use, 0 B kept, at most 0 B"
expect 0 plugins --json json
holds is_json json
holds grep -q '"device": "minor_3:0"' json

# ---- a quota ----
expect 5 run "$three" --backend minor_3 --device-memory 1000
says "backend minor_3: out of memory: minor_3:0: 1024 bytes requested, 1000"
says "available: guaranteed memory may fill it up to 1000, in use are 0"
expect 5 run "$three" --backend minor_3 --device-memory 2047
says "1024 bytes requested, 768 available: best effort memory may fill it up"
expect 5 run "$three" --backend minor_3 --device-memory 1GiB \
    --device-memory minor_3:0=1000
expect 0 run "$three" --backend minor_3 --device-memory 1000 \
    --device-memory minor_3:0=1MB
prints "at most 2.05 kB of 1 MB"

# ---- a swap on one device: the less important client frees memory, or none does ----
expect 0 run "$three" --backend minor_3 --swap 10=minor_3 --json json \
    --device-memory 4000
prints "at most 3.07 kB of 4 kB, 1 eviction"
holds [ "$(value evictions json)" = 1 ]
holds [ "$(value evicted_bytes json)" = 1024 ]
holds [ "$(value refusals json)" = 0 ]
holds [ "$(value digest json)" = "$digest" ]
expect 0 run "$three" --backend minor_3 --bursts 20000 --device-memory 4000 \
    --telemetry t.jsonl --telemetry-every 1
holds grep -q '"device_memory": \[{"device": "minor_3:0", "quota_bytes": 4000' \
    t.jsonl
expect 0 run "$three" --backend minor_3 --swap 10=minor_3 --json json \
    --device-memory 3000
prints "no swap           burst 10: to minor_3: backend minor_3: out of memory"
holds [ "$(value refusals json)" = 1 ]
holds [ "$(value digest json)" = "$digest" ]

# ---- metrics ----
address() {
    sed -n 's/.*metrics at \(http.*\)$/\1/p' err.long | head -n 1
}
has_address() {
    [ -n "$(address)" ]
}
"$volley" run "$three" --backend minor_3 --bursts 900000000 --metrics 0 \
    --device-memory 4000 --control off >out.long 2>err.long &
pid=$!
trap 'kill -9 $pid 2>/dev/null; rm -rf "$folder"' EXIT
checks=$((checks + 1))
wait_for has_address || bad "no address was said: $(cat err.long)"
if command -v python3 >/dev/null 2>&1; then
    holds metrics_page "$(address)"
    for line in 'bytes{device="minor_3:0",kind="used"} 2048' \
        'bytes{device="minor_3:0",kind="kept"} 0' \
        'bytes{device="minor_3:0",kind="peak"} 2048' \
        'bytes{device="minor_3:0",kind="quota"} 4000' \
        'events_total{device="minor_3:0",what="evictions"} 0' \
        'events_total{device="minor_3:0",what="refusals"} 0' \
        'events_total{device="minor_3:0",what="reuses"} 0'; do
        holds grep -qxF "volley_device_memory_$line" page
    done
fi
kill "$pid"
wait "$pid"
trap 'rm -rf "$folder"' EXIT

done_checks
