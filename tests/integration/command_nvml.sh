#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Telemetry of GPUs during a run, from a fake driver
# (tests/support/fake_nvml.c): in telemetry, in metrics, and switched off.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"
driver=$test_plugins/../test-driver

# ---- without a driver: silent, unless it was asked for by name ----
expect 2 run small.toml --device-telemetry some
says 'wanted one of [own|all|off]'
expect 0 run small.toml --backend cpu:1 --telemetry plain.jsonl
holds [ -z "$(grep devices plain.jsonl)" ]

# ---- with one ----
LD_LIBRARY_PATH=$driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
expect 0 plugins
prints 'gpu 1: Fake GPU 1, GPU-0000-1, driver 580.00, 29 metrics'
expect 0 plugins --json plugins.json
holds is_json plugins.json
holds grep -q '"uuid": "GPU-0000-0"' plugins.json
# a run on the processor has none of its own
expect 0 run small.toml --backend cpu:1 --telemetry own.jsonl
holds [ -z "$(grep '"devices"' own.jsonl)" ]
expect 0 run small.toml --backend cpu:1 --telemetry off.jsonl \
    --device-telemetry off
holds [ -z "$(grep '"devices"' off.jsonl)" ]
FAKE_NVML_FAIL=nvmlInit_v2=9 "$volley" run small.toml --backend cpu:1 \
    --telemetry no.jsonl --device-telemetry all >out 2>err
holds [ $? -eq 3 ]
says 'NVML does not start: Driver Not Loaded'

"$volley" run small.toml --bursts 900000000 --backend cpu:1 --metrics 0 \
    --telemetry all.jsonl --device-telemetry all --control "$folder/ctl" \
    >out.long 2>err.long &
pid=$!
trap 'kill -9 $pid 2>/dev/null; rm -rf "$folder"' EXIT
# both samples that GPM needs; the first of two such lines is a whole one
told() {
    [ "$(grep -c '"sm_active_ratio"' all.jsonl)" -ge 2 ]
}
checks=$((checks + 1))
wait_for told || bad "nothing of devices: $(cat err.long)"
grep '"sm_active_ratio"' all.jsonl | head -n 1 >line.json
holds is_json line.json
cat >devices.py <<'END_OF_DEVICES'
import json
devices = {d["gpu"]: d for d in json.load(open("line.json"))["devices"]}
first = devices[0]
assert first["uuid"] == "GPU-0000-0" and first["name"] == "Fake GPU 0", first
assert first["sm_active_ratio"] == 0.25 and first["power_watts"] == 650, first
assert first["clock_limited_power_cap"] == 1, first
assert first["clock_limited_seconds_power"] == 2, first
assert first["memory_used_bytes"] == 200, first
# missing values are left out
assert "clock_limited_seconds_thermal" not in first, first
for device in devices.values():
    for key, value in device.items():
        assert isinstance(value, (int, float, str)), (key, value)
END_OF_DEVICES
address() {
    sed -n 's/.*metrics at \(http.*\)$/\1/p' err.long | head -n 1
}
cat >page.py <<'END_OF_PAGE'
import re
page = open("page").read()
names = re.findall(r"^# TYPE (volley_gpu_\w+) (\w+)$", page, re.M)
assert len(names) > 15 and len(set(names)) == len(names), names
for name, kind in names:
    assert (kind == "counter") == name.endswith("_total"), name
for line in page.splitlines():
    assert re.match(r'(# (HELP|TYPE) \w+ .*|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? '
                    r'[-+0-9.eE]+)$', line), line
def value(name, gpu, more=""):
    label = f'gpu="{gpu}",uuid="GPU-0000-{gpu}"{more}'
    found = re.search("^" + re.escape(f"{name}{{{label}}} ") + "(.*)$", page, re.M)
    return float(found[1]) if found else None
assert value("volley_gpu_sm_active_ratio", 0) == 0.25
assert value("volley_gpu_sm_active_ratio", 1) is None # it has no GPM
assert value("volley_gpu_kernel_resident_ratio", 1) == 0.91
assert value("volley_gpu_energy_joules_total", 0) == 5
assert value("volley_gpu_ecc_errors_total", 1, ',kind="uncorrected"') == 13
assert value("volley_gpu_clock_limited", 0, ',reason="power_cap"') == 1
assert value("volley_gpu_clock_limited", 0, ',reason="power_brake"') == 0
assert value("volley_gpu_clock_limited_seconds_total", 0, ',reason="power"') == 2
assert value("volley_gpu_clock_limited_seconds_total", 0, ',reason="thermal"') is None
END_OF_PAGE
if command -v python3 >/dev/null 2>&1; then
    holds python3 devices.py
    holds metrics_page "$(address)"
    holds python3 page.py
fi
expect 0 ctl "$folder/ctl" stop
wait "$pid"

# a lost device is reported once, and the run continues
FAKE_NVML_FAIL=nvmlDeviceGetPowerUsage=15 "$volley" run small.toml \
    --bursts 900000000 --backend cpu:1 --telemetry gone.jsonl \
    --device-telemetry all --control "$folder/ctl" --quiet &
pid=$!
gone() {
    grep -q '"gone": "the GPU is gone: GPU is lost"' gone.jsonl
}
holds wait_for gone
expect 0 ctl "$folder/ctl" stop
wait "$pid"
holds [ "$(grep -o '"gone"' gone.jsonl | wc -l)" -eq 2 ]
holds [ -z "$(grep power_watts gone.jsonl)" ]
done_checks
