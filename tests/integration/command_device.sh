#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What asks for a device: bench cuda, inspect --backend, gpu-check. No device is
# needed: a backend is a backend.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"
source_tree=$2

# ---- inspect --backend ----
expect 0 inspect small.toml --backend cpu:2
prints "backend      cpu:2"
prints "plan "
prints "100 neurons, 1,000 synapses"
prints "a synapse"
expect 0 inspect small.toml --backend cpu:1 --set area.E.neurons=70
prints "90 neurons, 900 synapses"
expect 0 run small.toml --quiet --bursts 5 --save-connectome net
expect 0 inspect net --backend cpu:1
prints "1,000 synapses"
expect 2 inspect net --backend cpu:1 --seed 5
says "is not a genome"
expect 2 inspect "$volley" --backend cpu
says "neither a genome nor a connectome"
expect 3 inspect small.toml --backend nonesuch
says "cannot be used here"
holds [ ! -s out ]

# ---- bench cuda ----
expect 2 bench --case DC
says "of suites cuda"
expect 2 bench cuda --case nonesuch --backend cpu
says "1M x1000 d1 10%"
expect 3 bench cuda --backend nonesuch
expect 2 bench cpu --beside cpu:2
says "--beside is of suite cuda"
expect 3 bench cuda --backend cpu:1 --beside nonesuch
expect 0 bench cuda --backend cpu:1 --quick --case Izhikevich --save bench.json \
    --beside cpu:2
prints "Izhikevich 2003"
prints "limits for one NVIDIA H200"
says "1,000 bursts alike"
holds is_json bench.json
for key in value median_s required_reached compared_bursts start_s plan \
    device_bytes_per_synapse cpu gpu beside
do
    holds grep -q "\"$key\":" bench.json
done
expect 0 bench cuda --backend cpu:1 --quick --case Izhikevich --compare \
    bench.json --threshold 100 --markdown
prints "| Izhikevich 2003 |"
prints "compared with bench.json"

# ---- a device that is wrong: nothing is timed ----
VOLLEY_PLUGIN_PATH=$VOLLEY_PLUGIN_PATH:$test_plugins/erring.so
export VOLLEY_PLUGIN_PATH
sed -e 's/^neurons = .*/neurons = 2000/' "$genomes/stress_100.toml" >many.toml
mkdir wrong
cp many.toml wrong/stress_100.toml
for at in 0 21; do
    expect 3 bench cuda --quick --genomes wrong --case 500k --save wrong.json \
        --backend "erring,at=$at,neuron=83"
    says "nothing is timed"
    holds [ ! -e wrong.json ]
done
says "v_mv"

# ---- gpu-check ----
if command -v bash >/dev/null; then
    check=$source_tree/tools/gpu-check
    "$check" --only nonesuch >out 2>err
    holds [ $? -eq 2 ]
    "$check" --volley "$volley" --backend nonesuch >out 2>err
    holds [ $? -eq 3 ]
    mkdir small
    cp small.toml small/three.toml
    "$check" --volley "$volley" --genomes small --backend cpu:2 --quick \
        --only genomes --json check.json >out 2>err
    holds [ $? -eq 0 ]
    prints "passed"
    holds is_json check.json
    "$check" --volley "$volley" --genomes small --quick --only genomes \
        --backend erring,at=30 --json check.json >out 2>err
    holds [ $? -eq 1 ]
    prints "FAILED"
    holds is_json check.json
fi

done_checks
