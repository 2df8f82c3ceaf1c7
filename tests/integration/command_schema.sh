#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# volley schema, new and doc: what is said about genomes fits what is read.
# $5: schema_check
here=$(dirname "$0")
schema_check=$5
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

# ---- schema ----
expect 0 schema
cp out schema.json
holds is_json schema.json
# every genome that is shipped, and those of the tests that are read
for file in "$genomes"/*.toml "$genomes"/../core/conformance/nets/*.toml \
    "$genomes"/../tests/golden/genome/*.toml small.toml
do
    holds "$schema_check" schema.json "$file"
done
# what is resolved has every key
for name in brain izhikevich microcircuit_10; do
    expect 0 resolve "$genomes/$name.toml"
    cp out resolved.toml
    holds "$schema_check" schema.json resolved.toml
done
# what a schema can see is seen
for name in param_typo top_key_unknown run_key_unknown map_rule_unknown \
    stimulus_kind param_nest_name record_what format_newer \
    format_missing
do
    checks=$((checks + 1))
    "$schema_check" schema.json "$genomes/invalid/$name.toml" >out 2>err &&
        bad "the schema takes $name.toml"
done
expect 2 schema more

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
expect 0 doc stimulus
prints "poisson"
prints "amplitude_<unit>"
expect 0 doc nest
prints "C_m                  c_m_pf"
prints "iaf_psc_exp          lif_psc_exp          model"
expect 0 doc V_m
prints "potential            feagi"
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
