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
# another backend: nothing is compiled for it
sed -e 's/"backend": "cpu[^"]*"/"backend": "vulkan:0"/' bench.json >other.json
expect 2 bench cuda --backend cpu:1 --quick --compare other.json
says "of another backend: vulkan:0, this bench is of cpu:1"
holds sh -c '! grep -q compiling err'

# ---- a net that does not fit: what is required of it was not reached ----
mkdir large
sed -e 's/^neurons = .*/neurons = 2000/' "$genomes/stress_1000.toml" \
    >large/stress_1000.toml
VOLLEY_PLUGIN_PATH=$VOLLEY_PLUGIN_PATH:$test_plugins/minor_3.so \
    "$volley" bench cuda --quick --genomes large --case 100k --backend minor_3 \
    --device-memory 1000 --save skipped.json >out 2>err
holds [ $? -eq 3 ]
prints "skipped"
says "nothing was measured: "
holds grep -q '"required_reached": false' skipped.json
VOLLEY_PLUGIN_PATH=$VOLLEY_PLUGIN_PATH:$test_plugins/minor_3.so \
    "$volley" bench cuda --quick --case closed --backend minor_3 \
    --device-memory 1000 >out 2>err
holds [ $? -eq 3 ]
says "closed loop: skipped: backend minor_3: out of memory"
prints "does not fit: 1.02 kB requested, 1 kB available"

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
    TMPDIR=$folder # it keeps its logs
    export TMPDIR
    check=$source_tree/tools/gpu-check
    "$check" --only nonesuch >out 2>err
    holds [ $? -eq 2 ]
    "$check" --volley "$volley" --backend nonesuch >out 2>err
    holds [ $? -eq 3 ]
    # JSON also where nothing could be run
    "$check" --volley "$volley" --backend nonesuch --json none.json >out 2>err
    holds [ $? -eq 3 ]
    holds is_json none.json
    holds grep -q '"error": "nonesuch cannot be used on this machine"' none.json
    holds grep -q '"passed": false' none.json
    for random in 0 00 x; do
        "$check" --volley "$volley" --random $random >out 2>err
        holds [ $? -eq 2 ]
        says "--random $random: wanted "
    done
    mkdir small
    cp small.toml small/three.toml
    # what an earlier call left in the folder is not this one's
    mkdir logs
    echo '{"old": true}' >logs/bench.json
    echo 'an old bench' >logs/bench.log
    "$check" --volley "$volley" --genomes small --backend cpu:2 --quick \
        --only genomes --logs logs --json check.json >out 2>err
    holds [ $? -eq 0 ]
    prints "passed"
    holds is_json check.json
    holds grep -q '"bench": null' check.json
    holds [ "$(grep -c 'old' out)" -eq 0 ]
    "$check" --volley "$volley" --genomes small --quick --only genomes \
        --backend erring,at=30 --json check.json >out 2>err
    holds [ $? -eq 1 ]
    prints "FAILED"
    holds is_json check.json
    # a fake build: the arguments of ctest, and the device that it sees
    built=root/build/release
    mkdir -p root/tools root/genomes $built/bin bin
    cp "$check" root/tools
    cp small.toml root/genomes/three.toml
    printf '#!/bin/sh\n' >bin/cmake
    printf '#!/bin/sh\necho volley\n' >$built/bin/volley
    chmod +x bin/cmake $built/bin/volley
    PATH=$folder/bin:$PATH root/tools/gpu-check --only tests >out 2>err
    holds [ $? -eq 1 ] # there is no test
    prints "1 FAILED"
    for device in 0 1 2; do
        cat >$built/CTestTestfile.cmake <<END
add_test(see sh -c "test x\$CUDA_VISIBLE_DEVICES = x\$WANTED")
set_tests_properties(see PROPERTIES LABELS gpu)
END
        WANTED=5,6,7
        [ $device -eq 0 ] || WANTED=$((5 + device))
        export WANTED
        CUDA_VISIBLE_DEVICES=5,6,7 PATH=$folder/bin:$PATH \
            root/tools/gpu-check --only tests --backend cuda:$device,post=0 \
            >out 2>err
        holds [ $? -eq 0 ]
        WANTED=
        [ $device -eq 0 ] || WANTED=$device
        PATH=$folder/bin:$PATH \
            root/tools/gpu-check --only tests --backend cuda:$device >out 2>err
        holds [ $? -eq 0 ]
    done
    # a broken build
    printf '#!/bin/sh\nexit 1\n' >bin/cmake
    PATH=$folder/bin:$PATH root/tools/gpu-check --json none.json >out 2>err
    holds [ $? -eq 2 ]
    holds is_json none.json
    holds grep -q '"error": "the build failed' none.json
fi

# ---- span-check: the plan, parts in several calls, the table ----
if command -v bash >/dev/null; then
    span=$source_tree/tools/span-check
    mkdir -p spans/bin spans/lib/volley/plugins
    "$span" spans nonesuch >out 2>err
    holds [ $? -eq 2 ]
    says "nonesuch: neither a part nor the build folder"
    "$span" spans --dry-run --devices 1,2,4,8 --limit 400 >out 2>err
    holds [ $? -eq 0 ]
    prints "span-check: 8 devices of 85 GB (numbers: 1 2 4 8), 128 cores"
    holds grep -q 'left out: [0-9]* s are left; run: span-check .*/spans huge' out
    prints "cuda:0 cuda:0-1,devices=all cuda:0-3,devices=all cuda:0-7,devices=all"
    cat >spans/bin/volley <<'END'
#!/bin/sh
echo 'cuda 1.0: ok'
for i in 0 1 2 3; do
    echo "    device $i: no device, 132 multiprocessors, peer of all, 1e9 GB"
done
END
    # a burst takes 100 us on one device, then 52 and $ON_FOUR
    cat >spans/bin/time_backends <<'END'
#!/bin/sh
changed=
while [ "$1" != -- ]; do
    case $1 in +*) changed=' changed' ;; esac
    shift
done
shift
for backend in "$@"; do
    case $backend in
    *0-1*) us=52.00 ;;
    *0-3*) us=$ON_FOUR ;;
    *) us=100.00 ;;
    esac
    for as in '' ${changed:+"$changed"}; do
        echo "$backend$as $us 1.0 2.0 0.1 0.1 0.5 $DIGEST 7.5 a plan"
    done
done
END
    chmod +x spans/bin/volley spans/bin/time_backends
    ON_FOUR=28.00 DIGEST=same "$span" spans strong --divide 1000 \
        >out 2>err
    holds [ $? -eq 0 ]
    holds grep -q '^4 M x 1000, 10% *100.00 *52.00 *28.00 *3.57 *0.89 *same *7.5, 7.5, 7.5' out
    holds grep -q '^weak scaling, 2 M x 1000 a device, on 4 *not measured' out
    # 4 M on two devices is known from the call before
    ON_FOUR=110.00 DIGEST=same "$span" spans weak --divide 1000 \
        >out 2>err
    holds [ $? -eq 0 ]
    holds grep -q '^1 M x 1000, 1% *100.00' out
    holds [ "$(grep -c '^4 M x 1000: ' out)" -eq 0 ]
    holds grep -q '^weak scaling, 2 M x 1000 a device, on 4 *0.909 *limit >= 0.85: held' out
    ON_FOUR=28.00 DIGEST=DIFFERS "$span" spans exchange \
        --divide 1000 >out 2>err
    holds [ $? -eq 1 ]
    holds grep -q '^exchange .* DIFFER ' out
fi

done_checks
