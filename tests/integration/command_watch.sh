#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Observation of a run: --telemetry, --metrics, --live, volley status.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

# ---- telemetry ----
expect 0 run small.toml --bursts 20000 --backend cpu:1 --json plain.json
digest=$(value digest plain.json)
expect 0 run small.toml --bursts 20000 --backend cpu:1 --telemetry t.jsonl \
    --telemetry-every 1 --json watched.json --live --metrics 0
# watching changes nothing
holds [ "$(value digest watched.json)" = "$digest" ]
says 'metrics at http://127.0.0.1:'
says 'burst 20,000 of 20,000 (100%)'
holds grep -q '^burst 20,000 .* E [1-9]' err
holds [ "$(wc -l <t.jsonl)" -ge 2 ]
# by two readers; the rest, which may be thousands, by Python at once below
{
    head -n 5 t.jsonl
    tail -n 5 t.jsonl
} | split -l 1 - line.
for line in line.*; do
    holds is_json "$line"
done
cat >sums.py <<'END'
import json, sys
lines = [json.loads(line) for line in open("t.jsonl")]
head, rest = lines[0], lines[1:]
summary = json.load(open("watched.json"))
assert head["neurons"] == {"E": 80, "I": 20}, head
assert head["bursts_wanted"] == 20000 and head["dt_ms"] == 0.1, head
# all bursts, spikes and events are in exactly one line each
assert sum(line["bursts"] for line in rest) == 20000
assert sum(line["spikes"] for line in rest) == summary["spikes"]
assert sum(line["events"] for line in rest) == summary["synaptic_events"]
assert rest[-1]["burst"] == 20000 and rest[-1]["lost"] == 0
for area in summary["areas"]:
    spikes = sum(line["area_spikes"][area["id"]] for line in rest)
    assert spikes == area["spikes"], area
    bio = sum((line["rate_hz"][area["id"]] or 0) * line["bursts"]
              for line in rest)
    assert abs(bio / 20000 - area["rate_hz"]) < 1e-6 * area["rate_hz"], area
for line in rest:
    assert sum(line["area_spikes"].values()) == line["spikes"], line
    # of each burst's spikes: between all alike and all in one
    squares = line["spikes_squared"]
    assert line["spikes"] ** 2 <= squares * max(1, line["bursts"]), line
    assert squares <= line["spikes"] ** 2, line
    # no burst: nothing was measured
    nothing = {line["burst_us"] is None, line["rate_hz"]["E"] is None}
    assert nothing == {line["bursts"] == 0}, line
    assert 0 <= line["engine_waited_s"] <= line["waited_s"] + 1e-9, line
assert summary["telemetry"]["samples"] == len(rest) + 1
END
if command -v python3 >/dev/null 2>&1; then
    holds python3 sums.py
fi
# records are not shorter than requested if calls are much shorter (one may be,
# after a burst that a busy machine delayed); the first and the last one have
# the remaining time
expect 0 run small.toml --bursts 350 --backend cpu:1 --telemetry paced.jsonl \
    --pace slip --pace-hz 1000
cat >paced.py <<'END'
import json
lines = [json.loads(line) for line in open("paced.jsonl")][2:-1]
assert max(line["seconds"] for line in lines) > 0.098, lines
END
if command -v python3 >/dev/null 2>&1; then
    holds python3 paced.py
fi
expect 0 run small.toml --backend cpu:1 --telemetry -
prints '"telemetry": 1'
expect 2 run small.toml --telemetry-every 5
says 'without --telemetry'
expect 4 run small.toml --telemetry no/such/folder.jsonl
says 'no/such/folder.jsonl'
expect 2 run small.toml --telemetry a --record a
says 'is given for two of'
if [ -c /dev/full ]; then
    # the run is whole, what watched it is not
    expect 4 run small.toml --backend cpu:1 --telemetry /dev/full --json j.json
fi

# ---- metrics ----
expect 2 run small.toml --metrics 70000
says 'the port is 70000'
expect 2 run small.toml --metrics nowhere:1
says 'is not an address of numbers'
expect 2 run small.toml --metrics :9
says 'wanted PORT or ADDRESS:PORT'

# ---- refused before the first burst: no run is left that never was ----
gone() {
    [ ! -e "$1" ]
}
refused() {
    wanted_code=$1
    shift
    expect "$wanted_code" run small.toml -o refused "$@"
    holds gone refused
}
refused 2 --metrics 99999
refused 4 --metrics 192.0.2.1:1
refused 4 --metrics 192.0.2.1:1 --monitor --telemetry refused/t.jsonl \
    --digest-log refused/d --record refused/r.vls
refused 4 --control no/such/socket --record-format csv
refused 4 --control no/such/socket --record-format stream --monitor
refused 4 --telemetry no/such/file
refused 4 --json no/such/file
refused 4 --save-connectome no/such/file
refused 4 --digest-log no/such/file
refused 4 --checkpoint no/such/file
refused 4 --monitor=no.safetensors
refused 4 --resume no.ckpt
refused 3 --backend nonesuch
refused 3 --monitor --monitor-device nonesuch
says '--monitor-device nonesuch: '
refused 2 --set area.X.neurons=3
"$volley" run small.toml -o refused --device-telemetry all --metrics 0 \
    >out 2>err || {
    says '--device-telemetry: '
    holds gone refused
}
rm -rf refused
# what was there stays as it is, to the byte
mkdir refused
expect 4 run small.toml -o refused --metrics 192.0.2.1:1
holds [ -z "$(ls -A refused)" ]
expect 0 run small.toml -o refused --json refused/mine.json
cksum refused/* >before.sum
expect 4 run small.toml -o refused --force --metrics 192.0.2.1:1
says '--metrics 192.0.2.1:1: '
cksum refused/* >after.sum
holds cmp before.sum after.sum
expect 0 status refused
prints 'state             done'

address() {
    sed -n 's/.*metrics at \(http.*\)$/\1/p' err.long | head -n 1
}
has_address() {
    [ -n "$(address)" ]
}
"$volley" run small.toml --bursts 900000000 --metrics 0 -o long \
    >out.long 2>err.long &
pid=$!
trap 'kill -9 $pid 2>/dev/null; rm -rf "$folder"' EXIT
checks=$((checks + 1))
wait_for has_address || bad "no address was said: $(cat err.long)"
if command -v python3 >/dev/null 2>&1; then
    cat >ask.py <<'END'
import re, socket, sys, time, urllib.error
from metrics_page import page
url = sys.argv[1]
def number(text, name):
    return float(re.search("^" + re.escape(name) + " (.*)$", text, re.M)[1])
first = page(url)
for tries in range(600): # a machine may be busy with others
    time.sleep(0.1)
    second = page(url)
    # the first bursts may be without a spike
    if (number(second, "volley_bursts_total") > number(first, "volley_bursts_total")
            and number(second, 'volley_area_rate_hertz{area="E"}') > 0):
        break
for line in second.splitlines():
    assert re.match(r'(# (HELP|TYPE) \w+ .*|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? '
                    r'[-+0-9.eE]+)$', line), line
names = re.findall(r"^# TYPE (\w+) (\w+)$", second, re.M)
assert len(names) > 10 and len(set(names)) == len(names), names
for name, kind in names:
    assert (kind == "counter") == name.endswith("_total"), name
assert number(second, "volley_bursts_total") > number(first, "volley_bursts_total")
assert number(second, 'volley_area_neurons{area="E"}') == 80
assert number(second, 'volley_area_rate_hertz{area="E"}') > 0
assert 0 <= number(second, "volley_progress_ratio") <= 1
assert number(second, 'volley_memory_bytes{kind="connectome"}') > 0
assert number(second, 'volley_dropped_total{what="recording"}') == 0
assert number(second, 'volley_dropped_total{what="telemetry"}') == 0
assert "volley_monitor" not in second  # nothing watches it
for path in ("/", "/metricsx"):
    try:
        page(url.replace("/metrics", path))
        raise SystemExit(path + " was answered")
    except urllib.error.HTTPError as error:
        assert error.code == 404, error
# a silent client and a client without HTTP do not block the others
host, port = re.match(r"http://(.*):(\d+)/", url).groups()
silent = socket.create_connection((host, int(port)))
rude = socket.create_connection((host, int(port)))
try:
    rude.sendall(b"\0" * 20000)
except ConnectionError:
    pass # hung up on before all was sent
page(url)
silent.close()
rude.close()
END
    holds env PYTHONPATH="$genomes/../tests/support" PYTHONDONTWRITEBYTECODE=1 \
        python3 ask.py "$(address)"
fi
# a port that is taken
port=$(address | sed 's/.*:\([0-9]*\).*/\1/')
expect 4 run small.toml --metrics "$port"
says "--metrics $port: "
says ', wanted another port, or 0 for a free one'

# ---- status ----
running() {
    "$volley" status long | grep -q '^state  *running'
}
checks=$((checks + 1))
wait_for running || bad "status of a run: $("$volley" status long 2>&1)"
expect 0 status long --json
cp out status.json
holds is_json status.json
holds [ "$(value state status.json)" = running ]
holds [ "$(value pid status.json)" = "$pid" ]
expect 0 ctl "$pid" pause
expect 0 status long
prints 'paused'
kill -9 "$pid"
wait "$pid" 2>/dev/null
expect 0 status long
prints 'killed'
prints 'or more'
expect 0 run small.toml -o short --backend cpu:1 --json short.json
expect 0 status short
prints 'state             done'
prints "$(value digest short.json)"
prints '200 of 200 (100%)'
prints '80 neurons'
expect 4 status nothing
says 'nothing: No such file'
expect 2 status small.toml
says 'not a folder'
mkdir empty
expect 2 status empty
says 'empty: not the folder of a run'
mkdir damaged
echo '{"manifest": ' >damaged/manifest.json
expect 2 status damaged
says 'damaged/manifest.json:'
done_checks
