#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# volley schema, new and doc: descriptions of genomes agree with the reader. $5:
# schema_check
here=$(dirname "$0")
schema_check=$5
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

# ---- schema ----
expect 0 schema
cp out schema.json
holds is_json schema.json
# fits FILE: the schema takes it; misfits FILE: it does not
fits() {
    echo "fits $1" >>opinions
    "$schema_check" schema.json "$1"
}
misfits() {
    echo "misfits $1" >>opinions
    ! "$schema_check" schema.json "$1" >out 2>err
}
# every genome that is shipped, and those of the tests that are read
for file in "$genomes"/*.toml "$genomes"/gallery/*.toml \
    "$genomes"/neurons/*.toml \
    "$genomes"/../core/conformance/nets/*.toml \
    "$genomes"/../tests/golden/genome/*.toml small.toml
do
    holds fits "$file"
done
for file in "$genomes"/../tests/fuzz/corpus/genome/*.toml; do
    "$volley" check --paper "$file" >out 2>err && holds fits "$file"
done
# a resolved genome has every key
for name in brain izhikevich microcircuit_10 gallery/generators gallery/use \
    gallery/composite gallery/waves gallery/patterns gallery/distance_degree
do
    expect 0 resolve "$genomes/$name.toml"
    file=resolved_$(basename "$name").toml
    cp out "$file"
    holds fits "$file"
done
# what a schema can see is seen; the build splits genomes/invalid into cases
invalid=$(dirname "$schema_check")/cases/invalid
for name in composite_axis_shape composite_pattern_shape composite_seed_shape \
    distance_mask_box distance_periodic_shape format_missing format_newer \
    function_key function_table generator_key generator_kind generator_model map_in_degree_nest \
    map_matrix_flat map_rule_unknown map_single_brackets model_no_type \
    param_exp2_nest_name param_file_key param_nest_name param_not_bool \
    param_typo pattern_shape pattern_sign patterns_empty position_key \
    position_kind record_what run_key_unknown stimulus_kind \
    stimulus_pattern_voxel_shape stimulus_pattern_voxels_list top_key_unknown \
    weight_file
do
    checks=$((checks + 1))
    misfits "$invalid/$name.toml" ||
        bad "the schema takes $name.toml"
done
# total numbers of synapses and probabilities are no distributions
for key in p count in_degree out_degree; do
    head="format = 1|[[map]]|rule = 'all_to_all'|$key ="
    checks=$((checks + 1))
    echo "$head { uniform = [0, 1] }" | tr '|' '\n' >drawn_$key.toml
    case $key in
    *degree) holds fits drawn_$key.toml ;;
    *) misfits drawn_$key.toml ||
        bad "the schema takes a distribution for $key" ;;
    esac
    echo "$head [[1, 2]]" | tr '|' '\n' >matrix_$key.toml
    holds fits matrix_$key.toml
done
# a second opinion on all of them, where there is one
if python3 -c 'import jsonschema, tomllib' 2>/dev/null; then
    cat >opinion.py <<'END'
import json, sys, tomllib, jsonschema
schema = jsonschema.Draft202012Validator(json.load(open("schema.json")))
for line in open("opinions"):
    wanted, path = line.rstrip("\n").split(" ", 1)
    with open(path, "rb") as file:
        found = "fits" if schema.is_valid(tomllib.load(file)) else "misfits"
    if found != wanted:
        print(path, found)
        sys.exit(1)
END
    holds python3 opinion.py
fi
expect 2 schema more
# without the form { file, column } this one would be refused
grep -q 'tau_m_ms = { file' "$genomes/gallery/file_edges.toml" ||
    bad "file_edges.toml has no parameter from a file"

# ---- new ----
expect 0 new
prints "brunel"
prints "12,500 neurons"
expect 0 new brunel
holds cmp -s out "$genomes/brunel.toml"
expect 0 new three -o mine.toml
holds cmp -s mine.toml "$genomes/three.toml"
expect 0 run mine.toml --quiet --json mine.json
echo changed >>mine.toml
expect 2 new three -o mine.toml
says "mine.toml is there already, wanted another name or --force"
holds grep -q changed mine.toml
expect 0 new three -o mine.toml --force
holds cmp -s mine.toml "$genomes/three.toml"
expect 2 new brunell
says "did you mean brunel?"
expect 2 new ../README
says "no template"
expect 4 new three -o nowhere/mine.toml

# ---- doc ----
expect 0 doc
for name in lif_psc_exp fixed_in_degree except poisson nest; do
    prints "$name"
done
for name in run area map except poisson spikes record distribution; do
    expect 0 doc $name
done
expect 0 doc map
prints "weight_<unit>"
# whatever is listed is described, and so is every word of the format
expect 0 doc
sed -n 's/^  \([^ ]*\) .*/\1/p' out >listed
holds [ "$(wc -l <listed)" -ge 70 ]
"$volley" schema | sed -n 's/^ *"\([a-z_]*\)": {$/\1/p' |
    grep -vE '^(properties|any|additionalProperties|items|expression|top|then|else)$' |
    grep -v '_own$' |
    sort -u >words
holds [ "$(wc -l <words)" -ge 100 ]
while read -r name; do
    "$volley" doc "$name" >out 2>err </dev/null ||
        bad "volley doc $name: $(cat err)"
    checks=$((checks + 1))
done <<END
$(cat listed words)
generators
stimuli
expressions
matrices
precedence
units
globs
functions
distributions
exceptions
sonata
include
var
seeds
END
expect 0 doc generators
prints "nothing reaches them"
prints "rate_hz"
expect 0 doc units
prints "weight_pa    synaptic current"
expect 0 doc tau_m_ms
prints "lif_psc_exp2         ms"
expect 0 doc voxels
prints "neurons_per_voxel instead of neurons"
expect 0 doc stimulus
prints "poisson"
prints "amplitude_<unit>"
expect 0 doc nest
prints "C_m                      c_m_pf"
prints "iaf_psc_exp              lif_psc_exp          model"
# where the same name is not the same
prints "NEST's V_m does not follow E_L: it begins at its own default, -70 mV"
prints "a weight is input for one burst (mV/ms), as in NEST with consistent_integration false; with true, its default, NEST's weight is a jump of V_m in mV: about weight / dt_ms here"
prints "with true, NEST's default, v takes one step and a weight is a jump of V_m"
expect 0 doc V_m
prints "potential            feagi"
prints "which begins at e_l_mv; in NEST at -70 mV"
# a row of one model says which
expect 0 doc g_L
prints "g_l_ns               lif_cond_exp, adex"
prints "none in lif_psc_exp2"
expect 0 doc V_th
prints "firing_threshold     feagi"
expect 2 doc poison
says "did you mean poisson?"

# ---- the same table answers in a genome ----
sed 's/lif_psc_delta/iaf_psc_delta/' small.toml >nest.toml
expect 2 check nest.toml
says 'did you mean lif_psc_delta?'
sed 's/fixed_in_degree/fixed_indegree/' small.toml >nest.toml
expect 2 check nest.toml
says 'did you mean fixed_in_degree?'
sed 's/"poisson"/"poisson_generator"/' small.toml >nest.toml
expect 2 check nest.toml
says 'did you mean poisson?'
done_checks
