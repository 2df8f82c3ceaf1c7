#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Probes and faults by the command: run --probe, --inject, monitor attach,
# inspect; every line of tools/monitor/faults.toml.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

# ---- the same digest, and what was seen -------------------------------------

expect 0 run small.toml --backend cpu:1 --quiet --json plain.json
digest=$(value digest plain.json)
state=$(value state_digest plain.json)
same() {
    holds [ "$(value digest "$1")" = "$digest" ]
    holds [ "$(value state_digest "$1")" = "$state" ]
}
expect 0 run small.toml --backend cpu:1 --json seen.json --probe '*' \
    --probe-out points.json --swap 77=cpu:2
prints 'probe             cpu burst: 200, '
prints 'probe             area.E: 200 bursts, '
prints ' 0 kinds failed'
same seen.json
holds is_json seen.json
holds is_json points.json
holds grep -q '"point": "call.net_run"' points.json
holds [ "$(value digest points.json)" = "$digest" ]
expect 0 run small.toml --backend cpu:1 --quiet --probe call.net_run,check \
    --checkpoint half.vlk --bursts 90
expect 0 run small.toml --backend cpu:2 --quiet --probe '*' --resume half.vlk \
    --json resumed.json
same resumed.json
expect 0 run small.toml --backend cpu:1 --quiet --probe 'area.*' --probe-out -
holds is_json out

# ---- attach -----------------------------------------------------------------

expect 0 monitor attach cpu:1 --out attached.json -- run small.toml --quiet \
    --json attached_run.json
same attached_run.json
holds is_json attached.json
holds grep -q '"check": "digests"' attached.json
expect 0 monitor attach cpu:1 small.toml
prints 'checks            11 kinds'
expect 0 monitor attach "$test_plugins/erring.so" --probe burst -- \
    "$genomes/three.toml" --bursts 20
prints 'probe             erring burst: 20'
# others of the run have none
expect 0 monitor attach cpu -- "$genomes/three.toml" --swap 60=template
prints 'probe             cpu burst: 60'
# a backend with wrong results: a check and the engine report it
expect 3 monitor attach "$test_plugins/erring.so" -- "$genomes/three.toml" \
    --backend erring,lie=s_id --checkpoint lied.vlk --bursts 40
prints 'check             snapshots: '
expect 1 monitor attach cpu:1 --inject drop:at=100 -- small.toml
prints 'check             events: '
expect 3 monitor attach nowhere -- run small.toml
says 'plugin nowhere: there is none with this id'
expect 4 monitor attach ./nowhere.so -- run small.toml
says './nowhere.so: cannot be read: No such file'
expect 2 monitor attach auto -- run small.toml
says 'auto is not a plugin'
expect 2 monitor attach cpu -- validate small.toml
says 'the command is validate, wanted run'
expect 2 monitor attach cpu

# ---- where they can go ------------------------------------------------------

expect 0 inspect small.toml
prints 'probes     area.'
expect 0 inspect --plugin "$test_plugins/erring.so"
prints 'probes     call.device_count, call.device_info'

# ---- what is refused --------------------------------------------------------

expect 2 run small.toml --probe call.net_rum
says '--probe column 1: "call.net_rum" is not a point'
expect 2 run small.toml --probe check,area.Q
says '--probe area.Q: the network has no such area'
expect 2 run small.toml --inject slow:at=3,factr=2
says '--inject slow:at=3,factr=2: column 11: slow has no "factr"'
expect 2 run small.toml --probe-out p.json
says '--probe-out without --probe and --inject'
expect 2 run small.toml --probe check --probe-out small.toml
says 'small.toml is the genome'
expect 2 run small.toml --probe check --probe-out p.json --json p.json
says 'is given for two of'
expect 4 run small.toml --probe check --probe-out /nowhere/p.json
says '/nowhere/p.json: cannot be written'
expect 3 run small.toml --inject wrong:to=nowhere
says 'plugin nowhere: there is none'
if [ -c /dev/full ]; then
    expect 4 run small.toml --quiet --probe check --probe-out /dev/full
    says '/dev/full'
fi

# ---- faults, from their list ------------------------------------------------

# key NAME KEY: of faults.toml
key() {
    sed -n "/^\[fault.$1\]/,/^\$/s/^$2 = \"\{0,1\}\([^\"]*\)\"\{0,1\}\$/\1/p" \
        "$genomes/../tools/monitor/faults.toml"
}
names=$(sed -n 's/^\[fault.\(.*\)\]$/\1/p' "$genomes/../tools/monitor/faults.toml")
# a tenth of the neurons and 7,000 bursts: the same faults in less time
small() {
    case $1 in
    faults/sound.toml) echo 'var.n=26' ;;
    *) echo 'use.net.set."var.n"=26' ;;
    esac
}
sound=faults/sound.toml
expect 0 run "$genomes/$sound" --set "$(small $sound)" --backend cpu:1 --quiet \
    --json sound.json --digest-log sound.log --bursts 7000
expect 0 run "$genomes/$sound" --set "$(small $sound)" --backend cpu:1 --quiet \
    --json half.json --bursts 5000
n_names=0
for name in $names; do
    n_names=$((n_names + 1))
    genome=$(key "$name" genome)
    # shellcheck disable=SC2046 # words
    expect "$(key "$name" exit_code)" run "$genomes/$genome" \
        $(key "$name" arguments) --set "$(small "$genome")" --quiet --json "$name.json" \
        --telemetry "$name.jsonl" --telemetry-every 5 --bursts 7000
    holds is_json "$name.json"
    begin=$(key "$name" begin)
    case $genome,$(key "$name" exit_code) in
    faults/sound.toml,0)
        holds [ "$(value digest "$name.json")" = "$(value digest sound.json)" ]
        ;;
    faults/sound.toml,*)
        holds [ "$(sed -n 's/^  "bursts": \(.*\),/\1/p' "$name.json")" -eq \
            "$begin" ]
        ;;
    *)
        holds [ "$(value digest "$name.json")" != "$(value digest sound.json)" ]
        # until then it is the sound one, burst by burst
        expect 0 run "$genomes/$genome" --set "$(small "$genome")" --backend \
            cpu:1 --quiet --bursts "$begin" --digest-log fault.log
        grep '^[0-9]' fault.log >fault.bursts
        grep '^[0-9]' sound.log | head -n "$begin" >sound.bursts
        holds [ "$(wc -l <fault.bursts)" -eq "$begin" ]
        holds cmp -s fault.bursts sound.bursts
        ;;
    esac
    case $(key "$name" arguments) in
    *--inject*) holds [ "$(value began "$name.json")" -eq "$begin" ] ;;
    esac
done
holds [ "$n_names" -ge 17 ]

# what each shows; waits are at least what was asked for, never at most
spikes() { sed -n 's/^  "spikes": \(.*\),/\1/p' "$1.json"; }
area() { # NAME AREA: spikes of the whole run
    sed -n "/\"id\": \"$2\"/,/rate_hz/s/^ *\"spikes\": \(.*\),/\1/p" "$1.json"
}
late() { # NAME AREA: after the fault began
    echo $(($(area "$1" "$2") - $(area half "$2")))
}
holds [ "$(late sound E2)" -gt 500 ]
holds [ "$(late runaway E1)" -gt $((4 * $(late sound E1))) ]
# what was on its way when it began may still arrive
holds [ "$(late silent E2)" -lt 20 ]
holds [ "$(late silent I1)" -eq "$(late sound I1)" ]
holds [ "$(late synchrony E1)" -lt $((2 * $(late sound E1))) ]
holds [ "$(spikes dropped)" -lt "$(spikes sound)" ]
holds [ "$(value synaptic_events dropped.json)" -eq \
    "$(value synaptic_events sound.json)" ]
holds [ "$(value host_bytes leak.json)" -ge $((8192 * 2000)) ]
holds [ "$(value device_bytes leak_device.json)" -eq $((8192 * 2000)) ]
holds [ "$(value plan wrong_backend.json)" = "plain loops" ]
holds [ "$(value plan wrong_backend_hidden.json)" = "plain loops" ]
holds grep -q '"backend": *"template:0"' wrong_backend.jsonl
holds grep -q '"backend": *"cpu:2"' wrong_backend_hidden.jsonl
# the wall clock of a line is before that of the line before it
backwards() {
    sed -n 's/.*"time": *"\([^"]*\)".*/\1/p' "$1.jsonl" |
        awk '$0 < before { found = 1 } { before = $0 } END { exit !found }'
}
holds backwards clock_back
# one line of telemetry took as long as the burst that was stuck
slowest() {
    sed -n 's/.*"seconds": *\([0-9.e+-]*\).*/\1/p' "$1.jsonl" |
        awk '$1 > most { most = $1 } END { print int(1000 * most) }'
}
holds [ "$(slowest stuck)" -ge 300 ]
holds [ "$(slowest clock_both)" -ge 60000 ]

# a map with several targets is listed once
expect 2 run "$genomes/faults/sound.toml" --bursts 1 --backend cpu:1 --probe map.
says 'wanted one of excitation1, inhibition1, excitation2, inhibition2, forward'
done_checks
