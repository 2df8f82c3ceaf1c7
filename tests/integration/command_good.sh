#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every subcommand does its main task.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

# ---- help and version ----
expect 0 --version
prints "volley 0."
expect 0 --help
prints "exit codes"
for sub in run check validate compare rerun sweep inspect new resolve schema model doc plugins conformance \
    bench
do
    expect 0 "$sub" --help
    prints "usage: volley $sub"
done

# ---- run ----
expect 0 run "$genomes/three.toml" --backend cpu:1
prints "rate_hz"
prints "seeds             network 1, state 2, input 3"
says "3 neurons, 2 synapses"
expect 0 run small.toml --json -
holds is_json out
for key in genome backend device bursts neurons synapses build_s wall_s rtf \
    spikes synaptic_events events_per_s digest state_digest areas id rate_hz
do
    prints "\"$key\":"
done
cp out plain.json
digest=$(value digest plain.json)
holds [ "$(value spikes plain.json)" -gt 0 ]

# the digest depends on no thread, swap or recorder, but on the seeds
expect 0 run small.toml --quiet --json swapped.json --backend cpu:1 \
    --swap 100=cpu:4 --swap 7=cpu:2 --record spikes.csv --digest-log a.log
holds [ ! -s out ]
holds [ ! -s err ]
holds [ "$(value digest swapped.json)" = "$digest" ]
holds [ "$(value state_digest swapped.json)" = \
    "$(value state_digest plain.json)" ]
holds [ "$(head -n 1 spikes.csv)" = "burst,time_ms,area,neuron" ]
holds [ "$(($(wc -l <spikes.csv) - 1))" = "$(value spikes plain.json)" ]
# time is (burst + 1) * dt
# shellcheck disable=SC2016 # fields of awk
holds awk -F, 'NR > 1 && ($2 - ($1 + 1) * 0.1) ^ 2 > 1e-12 { exit 1 }' \
    spikes.csv
expect 0 run small.toml --quiet --json other.json --seed 77
holds [ "$(value digest other.json)" != "$digest" ]
holds [ "$(value network other.json)" = 77 ]
expect 0 run small.toml --quiet --json short.json --ms 5
holds [ "$(value bursts short.json)" = 50 ]
expect 0 run - --quiet --json stdin.json <small.toml
holds [ "$(value digest stdin.json)" = "$digest" ]

# ---- digest logs ----
expect 0 run small.toml --quiet --digest-log b.log --threads 1
expect 0 compare a.log b.log
prints "identical: 200 bursts"
expect 0 run small.toml --quiet --digest-log c.log --bursts 150
expect 1 compare a.log c.log
prints "c.log ends"
expect 0 compare --common a.log c.log
# the number of spikes is not in the chain of digests, the rest is
sed 's/^\(100 .*\) [0-9]*$/\1 9999/' a.log >d.log
expect 1 compare a.log d.log
prints "differ at burst 100"
for log in one other; do
    grep '^#' a.log >$log.log
done
echo "70 0000000000000001 0000000000000002 3" >>one.log
echo "70 0000000000000003 0000000000000004 3" >>other.log
expect 1 compare one.log other.log
prints "differ at burst 70"
prints "0000000000000003"

# ---- folder, rerun ----
expect 0 run small.toml -o folder --set area.E.neurons=60 --swap 3=cpu:2 \
    --set area.I.neurons=10
for name in manifest.json summary.json; do
    holds is_json "folder/$name"
done
while read -r line; do
    echo "$line" >line.json
    holds is_json line.json
done <folder/log.jsonl
for key in command overrides seeds version commit compiler plugins \
    genome_hash connectome_hash q device driver swaps start end exit_reason \
    digests drops
do
    holds grep -q "\"$key\":" folder/manifest.json
done
holds [ "$(value exit_reason folder/manifest.json)" = "done" ]
expect 0 rerun folder/manifest.json
prints "identical"
expect 0 rerun folder/manifest.json --backend cpu:1
sed 's/"run": "...../"run": "00000/' folder/manifest.json >folder/wrong.json
expect 1 rerun folder/wrong.json
prints "differs"
# a genome that asks for recording
{
    cat small.toml
    printf '[[record]]\nwhat = "spikes"\nfrom = "I"\n'
} >record.toml
expect 0 run record.toml -o recorded --quiet
holds grep -q ',I,' recorded/spikes.csv
holds [ "$(grep -c ',E,' recorded/spikes.csv)" = 0 ]

# ---- resolve gives the same genome ----
expect 0 resolve small.toml --set area.E.neurons=70
cp out resolved.toml
expect 0 resolve --hash small.toml --set area.E.neurons=70
cp out hash
expect 0 resolve --hash resolved.toml
holds cmp -s out hash

# ---- check, doc, plugins ----
expect 0 check small.toml
prints "synapses      1,000 (compiled)"
expect 0 check small.toml --build --ranks 3
prints "the parts are the whole"
expect 0 check small.toml --build --ranks 5 --rank 4 --json -
holds is_json out
prints "\"synapses_whole\":"
# delays of 1 to 400 bursts: no parts
sed 's/^delay_ms.*/delay_ms = { uniform = [0.1, 40] }/' small.toml >far.toml
expect 0 check far.toml --build --ranks 3
says "bursts: every rank holds the whole network"
prints "1,000      17.6 kB"
expect 0 check far.toml --build --ranks 3 --rank 1 --json -
holds is_json out
prints "\"no_part\": \"map all has delays"
expect 0 check --paper small.toml
prints "synapses      1,000 (exact)"
expect 0 doc
prints "lif_psc_delta"
prints "fixed_in_degree"
expect 0 doc adex
prints "scheme: exponential Euler"
prints "2nd order below threshold"
expect 0 doc lif_psc_exp
prints "tau_m_ms"
prints "weight_pa"
expect 0 doc vectors
for rule in fixed_out_degree patterns composite projector expander_x \
    lateral_+x 0-0-0_to_all; do
    expect 0 doc "$rule"
    prints "rule $rule: "
done
expect 0 plugins
prints "cpu"
expect 0 plugins --json -
holds is_json out
prints '"volley.backend/1'

# ---- inspect tells by content ----
expect 0 run small.toml --quiet --bursts 5 --save-connectome net.txt
expect 0 inspect net.txt
prints "checksums verified"
prints "1,000"
for file in small.toml a.log spikes.csv folder/manifest.json \
    folder/summary.json
do
    expect 0 inspect "$file"
done
expect 0 inspect --plugin "${VOLLEY_PLUGIN_PATH%%:*}/cpu.so"
prints "plugin cpu"

# ---- conformance ----
cpu=${VOLLEY_PLUGIN_PATH%%:*}/cpu.so
template=${VOLLEY_PLUGIN_PATH%%:*}/template.so
expect 0 conformance --list
prints "delay_one"
prints "scenarios: whole"
expect 0 conformance --print delay_one
cp out delay_one.toml
expect 0 validate delay_one.toml --backends cpu,template
expect 0 conformance "$cpu" --case delay_one
prints "delay_one/whole: ok"
prints "cpu: 16 ok, 0 skipped, 0 failed"
expect 0 conformance "$cpu" --threads 3 --options isa=scalar --case 'feagi_*/sw*'
prints "feagi_driven/swap: ok"
expect 0 conformance "$template" --case '*/pieces_7' --json conformance.json
prints "feagi_driven/*: skipped: template runs only"
holds is_json conformance.json
holds [ "$(value failed conformance.json)" = 0 ]
expect 0 conformance "$cpu" --case whole --json -
cp out conformance.json
holds is_json conformance.json

# ---- validate ----
expect 0 validate small.toml --backends cpu:1,cpu:4
prints "identical: cpu:1 cpu:4"
prints "compared: 200 bursts"
expect 0 validate small.toml --backends cpu:1,cpu:2,cpu:3 \
    --set stimulus.kick.rate_hz=0
says "silent networks always agree"

# ---- auto chooses a device and measures its threads; cpu:2 is two ----
expect 0 run small.toml --bursts 2000 --threads 3 --json chosen.json
prints "chosen            $(value backend chosen.json): "
expect 0 run small.toml --bursts 2000 --backend cpu:2 --json two.json
holds [ "$(grep -c ^chosen out)" = 0 ]
holds [ "$(value backend two.json)" = cpu:2 ]
holds grep -q '"plan": "2 target slices, one thread each;' two.json
for option in cpu:2,threads=auto cpu:2,isa=scalar,threads=auto; do
    expect 0 run small.toml --bursts 2000 --backend $option --json tuned.json
    holds grep -q '"plan": "2 target slices, .* threads' tuned.json
    for key in digest state_digest; do
        holds [ "$(value $key tuned.json)" = "$(value $key two.json)" ]
        holds [ "$(value $key chosen.json)" = "$(value $key two.json)" ]
    done
done
expect 2 run small.toml --backend cpu,threads=some
says "cpu option 'threads=some', wanted isa=scalar, isa=avx2, isa=avx512 or threads=auto"
expect 2 run small.toml --backend cpu,threads=auto,isa=none
says "cpu option 'isa=none'"
done_checks
