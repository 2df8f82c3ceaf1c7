#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# volley import feagi: success, properties that are not taken over, wrong calls,
# wrong files, files that fail.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"
feagi=$genomes/../tests/golden/feagi

# refused CODE TEXT ARGUMENTS...: one line, and nothing is left of the output
refused() {
    code=$1
    text=$2
    shift 2
    expect "$code" import feagi "$@"
    says "$text"
    holds [ "$(wc -l <err)" -eq 1 ]
    holds [ ! -s out ]
    holds [ ! -e x.toml ]
    # shellcheck disable=SC2010 # names of this script's own
    holds [ "$(ls -A | grep -c tmp)" -eq 0 ]
}

expect 0 import --help
prints "usage: volley import"
expect 2 import
expect 2 import feagi
expect 2 import nest x.json
says "no import of nest, wanted feagi"

# ---- what is made: the same each time, a genome that runs ----
for name in essential_2_1 flat_2_0 flat_3_0 areas_2_1; do
    expect 0 import feagi "$feagi/$name.json" -o $name.toml
    holds cmp -s $name.toml "$feagi/$name.toml"
    says "FEAGI genome of format"
    holds [ ! -s out ]
    expect 0 import feagi "$feagi/$name.json" -o -
    holds cmp -s out $name.toml
    expect 0 check $name.toml
    expect 0 resolve --hash $name.toml
    cp out hash
    expect 0 resolve $name.toml
    cp out resolved.toml
    expect 0 resolve --hash resolved.toml
    holds cmp -s out hash
    expect 0 run $name.toml --quiet --bursts 20 --json run.json
done
expect 0 check essential_2_1.toml
prints "55,357"
prints "1,552"

# the left edge of the image turns the wheels one way, the right edge the other:
# voxels of the motor area by the morphologies 0_0_0-N_0_0
for edge in "iic100 1 3 5 7" "iic700 0 2 4 6"; do
    # shellcheck disable=SC2086 # words of a list
    set -- $edge
    {
        cat essential_2_1.toml
        printf '[[stimulus]]\nkind = "spikes"\nto = "%s"\n' "$1"
        printf 'neurons = [100]\nbursts = [3]\nweight = 5\n'
    } >kicked.toml
    shift
    expect 0 run kicked.toml --quiet --record spikes.csv
    # shellcheck disable=SC2016 # fields of awk
    awk -F, '$3 == "omot00" { print $4 }' spikes.csv | sort -u >voxels
    printf '%s\n' "$@" >wanted
    holds cmp -s voxels wanted
done

# ---- what is not taken over: named, and with --strict refused ----
expect 0 import feagi "$feagi/flat_2_0.json" -o named.toml
for text in "c__mid: degeneration 0.01: synapses do not weaken" \
    "c_up_0 -> o__mot (nowhere): the morphology is not in the file" \
    "unheard_of: not a section" \
    "without effect on spikes, left out: //, "; do
    says "$text"
    # wrapped there
    head=$(sed -n 's/^# [- ] //p' named.toml | tr '\n' ' ')
    case $head in
    *"${text#*left out: }"*) checks=$((checks + 1)) ;;
    *) bad "the head of named.toml lacks: $text" ;;
    esac
done
expect 2 import feagi "$feagi/flat_2_0.json" --strict -o x.toml
says "20 things are not taken over, wanted none (--strict)"
holds [ ! -e x.toml ]
expect 2 import feagi "$feagi/flat_3_0.json" --strict
says "1 thing is not taken over"
holds [ ! -s out ]
expect 0 import feagi "$feagi/essential_2_1.json" --strict -o strict.toml
holds cmp -s strict.toml essential_2_1.toml

# ---- the same spikes on every backend ----
# Of the samples beside this, and of any others in the folder
# VOLLEY_FEAGI_GENOMES; with noise onto every area, as most are silent by themselves.
backends=cpu:1,cpu:3
"$volley" plugins 2>/dev/null | grep -q '^vulkan .*: ok' &&
    backends=$backends,vulkan
compared() { # compared FILE.json
    name=$(basename "$1" .json)
    expect 0 import feagi "$1" -o "$name.noise.toml" --force
    printf '\n[[stimulus]]\nid = "noise"\nkind = "poisson"\nto = "*"\nrate_hz = 5\nweight = 20\n' \
        >>"$name.noise.toml"
    expect 0 validate "$name.noise.toml" --backends "$backends" --bursts 60
    prints identical
    spikes=$(sed -n 's/.*bursts, \([0-9,]*\) spikes.*/\1/p' out | tr -d ,)
    holds [ "${spikes:-0}" -gt 20 ]
}
for name in essential_2_1 flat_2_0 flat_3_0 areas_2_1; do
    compared "$feagi/$name.json"
done
if [ -n "${VOLLEY_FEAGI_GENOMES:-}" ]; then
    for file in "$VOLLEY_FEAGI_GENOMES"/*.json; do
        compared "$file"
        echo "$name on $backends: $spikes spikes"
    done
fi

# ---- units, by format and by the values of the whole file ----
# units VERSION EXCITABILITY LEAK EXCITABILITY LEAK: of two areas with threshold 1
units() {
    printf '{"version":"%s","physiology":{"simulation_timestep":0.1},' "$1"
    printf '"neuron_morphologies":{},"blueprint":{'
    printf '"c____a":{"block_boundaries":[1,1,1],"firing_threshold":1,'
    printf '"neuron_excitability":%s,"leak_coefficient":%s},' "$2" "$3"
    printf '"c____b":{"block_boundaries":[1,1,1],"firing_threshold":1,'
    printf '"neuron_excitability":%s,"leak_coefficient":%s}}}' "$4" "$5"
}
# unit EXCITABILITY LEAK TEXT VERSION...: what becomes of the second area's;
# none: the model's own
unit() {
    excitability=$1
    leak=$2
    text=$3
    shift 3
    units "$@" >unit.json
    expect 0 import feagi unit.json -o unit.toml --force
    says "$text"
    sed -n '/^.area.c____b/,/^.area.[^c]/p' unit.toml >part
    for pair in "excitability $excitability" "leak_coefficient $leak"; do
        found=$(sed -n "s/^${pair% *} = //p" part)
        holds [ "${found:-none}" = "${pair#* }" ]
    done
}
unit none 0.2 'share of the potential that is lost, as in feagi-core (format 2.0, no area has more than 1)' 2.0 1 0 1 0.2
unit none none 'potential a burst, as in the older engine (format 2.0, an area has more than 1), and less' 2.0 1 10 1 0.2
unit none none 'potential a burst, as in the older engine (format 2.0, excitability in percent), and less' 2.0 100 0 100 0.2
unit 0.5 1 'and not less than the threshold: all of it is lost' 2.0 100 0 50 3
unit none 0.2 'share of the potential that is lost, as in feagi-core (format 2.1, more than 1 is of the older engine)' 2.1 100 10 100 0.2
unit none 1 'potential a burst, as in the older engine (format 2.1, more than 1 is of the older engine)' 2.1 100 0.2 100 10
unit 0.01 none 'taken as percent (format 2.1, an area has more than 1): excitability = 0.01' 2.1 100 0 1 0
unit none none 'is a share, as in feagi-core, and not percent (format 3.0, which has no percent)' 3.0 1 0 50 0
unit 0.5 0.2 'a share, as in feagi-core (format 3.0, which has no percent): excitability = 0.5' 3.0 1 0 0.5 0.2

# ---- morphologies of FEAGI's own that are not in the file ----
lacking() { # lacking NAME REASON
    units 2.1 1 0 1 0 |
        sed "s/\"firing_threshold\":1,/&\"cortical_mapping_dst\":{\"c____b\":[[\"$1\",1,1,false]]},/" \
            >lacking.json
    expect 0 import feagi lacking.json -o lacking.toml --force
    says "$2"
}
lacking memory_replay "makes no synapses and repeats nothing, because its source is no"
lacking tile "of FEAGI's own (not in the file): a composite"
lacking nonsense "not in the file and is none of FEAGI's own"

# ---- memory areas ----
# memory MAPPINGS_OF_A VALUES_OF_M MORE_AREAS
memory() {
    printf '{"version":"2.1","physiology":{"simulation_timestep":0.1},
"neuron_morphologies":{},"blueprint":{
"c____a":{"block_boundaries":[2,3,1],"firing_threshold":4,
"neuron_excitability":1,"cortical_mapping_dst":{"m____m":[%s]}},
"m____m":{"block_boundaries":[1,1,1],"relative_coordinate":[5,6,7]%s}%s}}' \
        "$1" "$2" "${3:-}" >memory.json
    expect 0 import feagi memory.json -o memory.toml --force
    holds [ "$(grep -c "not taken over" err)" -eq 0 ]
}
in_memory() { # in_memory LINES...: of [memory.m____m]
    sed -n '/^\[memory\./,/^$/p' memory.toml | sed '1d;/^$/d' >part
    printf '%s\n' "$@" >wanted
    holds cmp -s part wanted
}
for name in memory episodic_memory; do
    memory "[\"$name\",1,1,false]" ""
    says "m____m: a memory area although it is not marked as one"
    in_memory 'from = ["c____a"]' 'twins = ["m____m_c____a_twin"]' \
        'temporal_depth = 1' 'init_lifespan = 9' 'lifespan_growth_rate = 1' \
        'longterm_mem_threshold = 100'
    holds grep -q '^neurons_per_voxel = 50000' memory.toml
    holds [ "$(grep -c '^voxels = \[2, 3, 1\]' memory.toml)" -eq 2 ]
    holds grep -q '^at = \[25, 6, 7\]' memory.toml
    expect 0 run memory.toml --bursts 3 --quiet
done
# any mapping leads patterns to an area that is marked
memory '["block_to_block",1,1,false],["projector",1,1,true,1,1,1,1]' \
    ',"is_mem_type":true,"temporal_depth":3,"init_lifespan":7,
"lifespan_growth_rate":2.9,"longterm_mem_threshold":40'
says "leads patterns to the memory area and makes no synapses"
in_memory 'from = ["c____a"]' 'twins = ["m____m_c____a_twin"]' \
    'temporal_depth = 3' 'init_lifespan = 7' 'lifespan_growth_rate = 2' \
    'longterm_mem_threshold = 40'
# a genome that feagi-core saved has its twins already
memory '["episodic_memory",1,1,false]' \
    ',"is_mem_type":true,"cortical_mapping_dst":{"c____t":[["memory_replay",1,1,false]],
"c____a":[["all_to_all",1,2,false]]}' \
    ',"c____t":{"block_boundaries":[2,3,1],"memory_twin_of":"c____a"}'
holds grep -q '^twins = \["c____t"\]' memory.toml
holds [ "$(grep -c '^\[area\.' memory.toml)" -eq 3 ]
says "synapses are those of the neurons that stand for patterns"
holds [ "$(grep -c '^id = "m____m/' memory.toml)" -eq 1 ]
# associative memory holds both ways; the last rule of the two areas counts
associated() { # associated LINES...: of [association.pair_1]
    sed -n '/^\[association\./,/^$/p' memory.toml | sed '1d;/^$/d' >part
    printf '%s\n' "$@" >wanted
    holds cmp -s part wanted
    holds [ "$(grep -c '^\[association' memory.toml)" -eq 1 ]
    holds [ "$(grep -c '^\[\[map\]\]' memory.toml)" -eq 0 ]
    expect 0 run memory.toml --bursts 3 --quiet
}
memory '["associative_memory",1,1,false,2,5,1,3]' \
    ',"is_mem_type":true,"temporal_depth":3,"init_lifespan":7,
"lifespan_growth_rate":2.9,"longterm_mem_threshold":40'
in_memory 'from = ["c____a"]' 'twins = ["m____m_c____a_twin"]' \
    'temporal_depth = 3' 'init_lifespan = 7' 'lifespan_growth_rate = 2' \
    'longterm_mem_threshold = 40'
associated 'from = "c____a"' 'to = "m____m"' 'plasticity_window = 3' \
    'plasticity_constant = 2' 'ltp_multiplier = 5' 'ltd_multiplier = 1'
memory '["associative_memory",1,1,true,2,5,1,3]' \
    ',"cortical_mapping_dst":{"c____a":[["associative_memory",1,-1,true,7,8,9,1]]}'
associated 'from = "c____a"' 'to = "m____m"' 'plasticity_window = 1' \
    'plasticity_constant = 7' 'ltp_multiplier = 8' 'ltd_multiplier = 9' \
    'inhibitory = true'
holds [ "$(grep -c '^\[memory' memory.toml)" -eq 0 ]
# nothing leads to it
units 2.1 1 0 1 0 | sed 's/"neuron_exc/"is_mem_type":true,&/' >lone.json
expect 0 import feagi lone.json -o lone.toml --force
says "a memory area to which no mapping leads never knows a pattern"
holds [ "$(grep -c '^\[memory' lone.toml)" -eq 0 ]

# ---- what is missing, or null, is named with what is taken for it ----
printf '{"version":"2.1","physiology":{"simulation_timestep":0.1},"blueprint":{
"c____a":{"block_boundaries":[1,1,1],"firing_threshold":null,
"refractory_period":null,"memory_twin_of":null,
"cortical_mapping_dst":{"c____b":[["block_to_block",null,null,null]]}},
"c____b":{"block_boundaries":[1,1,1]}},"neuron_morphologies":{}}' >missing.json
expect 0 import feagi missing.json -o missing.toml
for text in "c____a: firing_threshold is null: as if it were missing" \
    "c____a: refractory_period is null: as if" \
    "c____a, c____b: no firing_threshold: 1, as feagi-core" \
    "c____a, c____b: no neuron_excitability: 1, which always fires, as" \
    "c____a, c____b: no postsynaptic_current: 1, as feagi-core" \
    "c____a -> c____b (block_to_block): no postSynapticCurrent_multiplier: 1"; do
    says "$text"
done
holds [ "$(grep -c memory_twin_of err)" -eq 0 ]

# ---- plasticity of mappings ----
plastic() { # plastic RULES: of a chain whose both neurons fire in every burst
    printf '{"version":"2.1","physiology":{"simulation_timestep":0.1%s},
"neuron_morphologies":{},"blueprint":{
"_power":{"block_boundaries":[1,1,1],"firing_threshold":1,
"cortical_mapping_dst":{"c____b":[%s]}},
"c____b":{"block_boundaries":[1,1,1],"firing_threshold":1}}}' "${2:-}" "$1" \
        >plastic.json
    expect 0 import feagi plastic.json -o plastic.toml --force
    cp err said
}
weights() { # weights NUMBERS...: after 4 bursts
    expect 0 run plastic.toml --bursts 4 --quiet --weights weights.csv
    holds [ "$(sed 1d weights.csv | sed 's/.*,//' | tr '\n' ' ')" = "$* " ]
}
table() { # table NAME LINES...: of [plasticity.NAME]
    sed -n "/^\[plasticity.$1\]/,/^\$/p" plastic.toml | sed '1d;/^$/d' \
        >found
    shift
    printf '%s\n' 'rule = "feagi_stdp"' "$@" >wanted
    holds cmp -s found wanted
}
# one burst of depression, when the second neuron has not fired twice, then two
# of potentiation
for rule in '["block_to_block",1,5,true,1,2,1,2]' \
    '["block_to_block",1,5,true,1,2,1,2,1]' \
    '{"morphology_id":"block_to_block","postSynapticCurrent_multiplier":5,
"plasticity_flag":true,"plasticity_constant":1,"ltp_multiplier":2,
"ltd_multiplier":1,"plasticity_window":2}'; do
    plastic "$rule"
    table stdp_1 'w_max = 255' 'plasticity_window = 2' \
        'plasticity_constant = 1' 'ltp_multiplier = 2' 'ltd_multiplier = 1'
    holds [ "$(grep -c 'plastic without' said)" -eq 0 ]
    weights 8
    expect 0 import feagi plastic.json --strict
done
plastic '["block_to_block",1,5,false,1,2,1,2]'
holds [ "$(grep -c plasticity plastic.toml)" -eq 0 ]
# what is missing is that of the older engine
plastic '["block_to_block",1,5,true,2,3,1]'
says "plastic without plasticity_window, which feagi-core refuses: 3, as in"
table stdp_1 'w_max = 255' 'plasticity_window = 3' 'plasticity_constant = 2' \
    'ltp_multiplier = 3' 'ltd_multiplier = 1'
plastic '["block_to_block",1,5,true]' ',"plasticity_queue_depth":7'
says "plastic without ltd_multiplier, which feagi-core refuses: 1, as in"
holds [ "$(grep -c plasticity_queue_depth said)" -eq 0 ]
table stdp_1 'w_max = 255' 'plasticity_window = 7' 'plasticity_constant = 1' \
    'ltp_multiplier = 1' 'ltd_multiplier = 1'
# the last plastic rule of a pair drives all of them, each with its own sign
plastic '["block_to_block",1,5,false],["block_to_block",1,1,true,1,9,9,1],
["block_to_block",1,-3,true,1,2,1,2],["block_to_block",1,4,false]'
says "the last plastic rule of these two areas drives the synapses of all"
table stdp_1 'w_max = 255' 'plasticity_window = 2' 'plasticity_constant = 1' \
    'ltp_multiplier = 2' 'ltd_multiplier = 1'
table stdp_2 'w_max = -255' 'plasticity_window = 2' 'plasticity_constant = 1' \
    'ltp_multiplier = 2' 'ltd_multiplier = 1'
holds [ "$(grep -c '^plasticity = "stdp_1"' plastic.toml)" -eq 3 ]
holds [ "$(grep -c '^plasticity = "stdp_2"' plastic.toml)" -eq 1 ]
weights 8 4 -6 7
# also if it makes no synapses itself
plastic '["block_to_block",1,5,false],["nonsense",1,1,true,1,2,1,2]'
weights 8
# not a number that FEAGI takes: named, and the weights stay
for wrong in 0.5,2,1,2 1,2,1,0 1,2,1,2.5; do
    plastic "[\"block_to_block\",1,5,true,$wrong]"
    says "feagi-core refuses it, wanted a whole number from"
    holds [ "$(grep -c '^plasticity' plastic.toml)" -eq 0 ]
done
plastic '{"morphology_id":"block_to_block","plasticity_flag":true,
"plasticity_constant":1,"ltp_multiplier":2,"ltd_multiplier":1,
"plasticity_window":2,"plasticity_frozen":true,"plasticity_mode":"x"}'
says "plasticity_mode, which feagi-core does not read either"
holds grep -q '^frozen = true' plastic.toml
weights 1

# ---- the delay of a mapping, in bursts: of an object and of a list ----
delayed() { # delayed RULE BURSTS: spikes arrive BURSTS after they were fired
    printf '{"version":"2.1","physiology":{"simulation_timestep":0.1},
"neuron_morphologies":{},"blueprint":{
"_power":{"block_boundaries":[1,1,1],"firing_threshold":1,
"refractory_period":99,"cortical_mapping_dst":{"c____b":[%s]}},
"c____b":{"block_boundaries":[1,1,1],"firing_threshold":1}}}' "$1" >delay.json
    expect 0 import feagi delay.json -o delay.toml --force
    cp err said
    expect 0 run delay.toml --bursts 40 --record delay.csv --quiet
    sed -n 's/^\([0-9]*\),.*c____b.*/\1/p' delay.csv >arrived
    holds [ "$(cat arrived)" = "$2" ]
}
delayed '{"morphology_id":"projector"}' 1
holds [ "$(grep -c delay_bursts delay.toml)" -eq 0 ]
delayed '{"morphology_id":"projector","synaptic_delay_bursts":1}' 1
delayed '{"morphology_id":"projector","synaptic_delay_bursts":7}' 7
delayed '["projector",1,1,false,1,1,1,5,7]' 7
delayed '["projector",1,1,false,1,1,1,5]' 1
delayed '{"morphology_id":"projector","synaptic_delay_bursts":39}' 39
delayed '{"morphology_id":"projector","axon":3,"max_weight":3,"sheath":null}' 1
holds grep -q "(projector): axon: a key of the mapping that is not known here" said
holds [ "$(grep -c "max_weight\|sheath" said)" -eq 0 ]

# ---- all of many areas, each with its name ----
{
    printf '{"version":"2.1","neuron_morphologies":{},"blueprint":{'
    i=100000
    while [ "$i" -lt 100900 ]; do
        printf '"%s":{"block_boundaries":[1,1,1],"snooze_period":1},' "$i"
        i=$((i + 1))
    done
    printf '"c_last":{"block_boundaries":[1,1,1]}}}'
} >many.json
expect 0 import feagi many.json -o many.toml
says 'c_last: no firing_threshold: 1, as feagi-core'
says '.snooze_period: not a property that FEAGI'
grep -o '[^ ]*100[0-9]*[.]snooze_period' err | sort -u >named
holds [ "$(wc -l <named)" -eq 900 ]
holds [ "$(grep -c ' more' err)" -eq 0 ]

# ---- the output ----
cp areas_2_1.toml before.toml
refused 2 "areas_2_1.toml is there already" "$feagi/flat_3_0.json" \
    -o areas_2_1.toml
holds cmp -s areas_2_1.toml before.toml
expect 0 import feagi "$feagi/flat_3_0.json" -o areas_2_1.toml --force
holds cmp -s areas_2_1.toml flat_3_0.toml
cp "$feagi/areas_2_1.json" in.json
ln -s in.json link.json
for output in in.json ./in.json link.json; do
    refused 2 "what is imported" in.json -o $output --force
done
holds cmp -s in.json "$feagi/areas_2_1.json"
expect 4 import feagi in.json -o none/x.toml
says "none/x.toml"
mkdir folder.toml
expect 4 import feagi in.json -o folder.toml --force
says "folder.toml"
if [ -w /dev/full ]; then
    expect 4 import feagi in.json -o /dev/full --force
    says "/dev/full"
    checks=$((checks + 1))
    "$volley" import feagi in.json >/dev/full 2>err
    [ $? -eq 4 ] || bad "a full standard output"
fi

# ---- the input ----
refused 4 "none.json: No such file" none.json -o x.toml
refused 4 "folder.toml: a folder" folder.toml -o x.toml
truncate -s 300M huge.json
refused 2 "huge.json: more than 16777216 bytes" huge.json -o x.toml
rm huge.json
refused 2 "three.toml:1:" "$genomes/three.toml" -o x.toml
: >empty.json
refused 2 "empty.json:1:1:" empty.json -o x.toml
head -c 500 in.json >cut.json
refused 2 "cut.json:" cut.json -o x.toml
echo '{"version": "2.0", "cortical_areas": {}}' >other.json
refused 2 "other.json: no blueprint, wanted a FEAGI genome" other.json -o x.toml
sed 's/"2.1"/"1.0"/' in.json >old.json
refused 2 'version is "1.0", wanted "2.0", "2.1" or "3.0"' old.json -o x.toml
sed 's/"block_boundaries": \[/&99999,/' in.json >shape.json
refused 2 "block_boundaries is an array of 4, wanted [x, y, z]" shape.json \
    -o x.toml
refused 2 "brings the net to 1e+16 synapses" \
    "$feagi/../../fuzz/corpus/feagi/synapses.json" -o x.toml
checks=$((checks + 1))
"$volley" import feagi - -o - <"$feagi/areas_2_1.json" >out 2>err ||
    bad "standard input"
holds cmp -s out "$feagi/areas_2_1.toml"
printf '\357\273\277' | cat - "$feagi/areas_2_1.json" >bom.json
expect 0 import feagi bom.json -o bom.toml
holds cmp -s bom.toml "$feagi/areas_2_1.toml"
printf '\357\273\277' >bom.json
refused 2 "bom.json:1:1:" bom.json -o x.toml
# a name with what a terminal obeys, and two lines
printf '{"version":"2.0","blueprint":{"\\u001b[31m\\n":7}}' >escape.json
refused 2 "wanted an object with the properties" escape.json -o x.toml
holds [ "$(tr -d '\033' <err | wc -c)" -eq "$(wc -c <err)" ]
done_checks
