#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Models of users: docs/models.md (its genome, commands, figures and messages),
# volley model, doc, resolve, rerun, and the JSON Schema. $5: schema_check
here=$(dirname "$0")
page=$2/docs/models.md
schema_check=$5
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

# block FIRST: the indented block of the page that begins with this line
block() {
    awk -v first="    $1" '$0 == first && !done { on = done = 1 }
        on && (/^[^ ]/ || /^    volley /) { on = 0 }
        on { print substr($0, 5) }' "$page"
}

# ---- the genome of the page, its commands and figures ----
block 'format = 1' >lif.toml
holds has_lines 25 lif.toml
sed -n '/^    volley /{s/^    //;s/  *#.*//;p;}' "$page" >commands
holds has_lines 4 commands
while IFS= read -r line; do
    eval "set -- $line"
    shift
    case $* in
    *plot*) # without cairo a picture ends with 3
        checks=$((checks + 1))
        "$volley" "$@" >out 2>err
        code=$?
        [ $code -eq 0 ] || [ $code -eq 3 ] || bad "$line: exit code $code"
        ;;
    *) expect 0 "$@" ;;
    esac
done <commands
expect 0 run lif.toml --quiet --json lif.json --backend cpu:1
spikes=$(value spikes lif.json)
holds grep -qF "The run has $spikes spikes" "$page"
expect 0 run lif.toml --quiet --json other.json --backend cpu:3
holds [ "$(value digest other.json)" = "$(value digest lif.json)" ]

# a backend that runs built-in models only
expect 3 run lif.toml --backend template
says "area A has model lif of a [neuron], and this backend runs built-in models only"

# ---- the messages of the page ----
sed "s,= -i_syn/tau_syn\$,= -i_syn," lif.toml >wrong.toml
expect 2 check wrong.toml
message=$(sed -n 's/^volley: wrong/lif/p' err)
holds grep -qF "    $message" "$page"
sed "s,= -i_syn/tau_syn\$,= -i_syn/tau_sin," lif.toml >wrong.toml
expect 2 check wrong.toml
message=$(sed -n 's/^volley: wrong/lif/p' err)
holds grep -qF "    $message" "$page"

# ---- its `update` is the built-in model, to the bit ----
area='[run]
bursts = 300
[area.A]
model = "MODEL"
neurons = 5
i_e = [0, 2, 4, 8, 16]
[[stimulus]]
kind = "normal"
to = "A"
mean = 3
sd = 4'
{
    echo 'format = 1'
    block '[neuron.own_izhikevich]'
    echo "$area" | sed 's/MODEL/own_izhikevich/'
} >own.toml
{
    echo 'format = 1'
    echo "$area" | sed 's/MODEL/izhikevich/'
} >built_in.toml
for name in own built_in; do
    expect 0 run $name.toml --quiet --json $name.json
done
holds [ "$(value spikes own.json)" -gt 10 ]
for key in digest state_digest; do
    holds [ "$(value $key own.json)" = "$(value $key built_in.json)" ]
done

# ---- volley model ----
expect 0 model lif.toml lif
prints "scheme: v, i_syn, w exactly (matrix exponential)"
holds grep -qF "\`v, i_syn, w exactly (matrix exponential)\`" "$page"
prints "4 variables, 10 coefficients"
prints "input: i_e_pa"
prints "0  weight_pa           pA       arrived"
prints "tau_w_ms                               ms          100   0 to 1000000000"
prints "v_mv                                   mV          f32   -16384 to 16384"
prints "refractory                         bursts"
# descriptions and ranges; no input
sed 's/tau_w = "100 ms"/tau_w = { value = "100 ms", range = ["1 ms", "2 s"], text = "of w" }/
    s/w = "0 pA" }/w = { value = "0 pA", text = "adaptation" } }/
    s/i_e/i_x/g' lif.toml >said.toml
expect 0 model said.toml lif
prints "1 to 2000"
prints "      of w"
prints "      adaptation"
prints "input: none"
# what each method is called
for method in "heun/Heun, 2nd" "rk4/Runge-Kutta, 4th" "euler/Euler, 1st"; do
    sed "s/^refractory.*/&\nmethod = \"${method%/*}\"/" lif.toml >method.toml
    expect 0 model method.toml lif
    prints "v, i_syn, w: ${method#*/} order"
done
expect 0 model own.toml own_izhikevich
prints "scheme: assignments as written in \`update\`"
# volley doc knows them too, and rules
expect 0 model lif.toml lif
mv out as_model
expect 0 doc lif.toml lif
holds cmp -s out as_model
expect 0 doc lif.toml
prints "[neuron.lif]  v, i_syn, w exactly (matrix exponential)"
{
    sed -n '/^\[neuron/,/^refractory/p' lif.toml
    printf '[synapse.lif]\nparam = { tau = "20 ms", eta = "0.1 weight" }\n'
    printf 'pre = { x = "tau" }\non_post = "w += eta*x"\n'
} | sed '1iformat = 1' >both.toml # and no area
expect 0 doc both.toml lif
prints "scheme: v, i_syn, w exactly"
prints '[synapse."lif"]'
prints '"on_post" = "w += eta*x"'
prints "eta_<unit>                         <unit>          0.1"
expect 0 doc both.toml
prints "[synapse.lif]"
expect 2 doc both.toml lof
says "the genome has no [neuron] or [synapse] lof; did you mean lif"
expect 2 doc lif.toml adex
says "adex is built in: \`volley doc adex\`"
expect 2 doc small.toml mine
says "no [neuron] and no [synapse], wanted [neuron.mine] or [synapse.mine]"
expect 0 doc adex
prints "time: \`volley new neurons/aeif_cond_exp\`"
expect 4 doc none.toml
says "none.toml: No such file or directory"
expect 2 doc lif
says "lif is not known"
says "\`volley doc GENOME.toml lif\`"
expect 2 doc adex --set run.dt_ms=1
says "--set changes a genome"
expect 0 doc lif.toml lif --set neuron.lif.method=rk4
prints "Runge-Kutta, 4th order"
expect 2 model lif.toml lyf
says "the genome has no [neuron.lyf]; did you mean lif"
expect 2 model lif.toml adex
says "adex is a built-in model: \`volley doc adex\`"
expect 2 model small.toml mine
says "the genome has no [neuron], wanted [neuron.mine]"
expect 2 model lif.toml lif --plot lif.toml
says "lif.toml"
expect 2 model lif.toml lif --plot lif.svg --field u_mv
says "--field u_mv is not a variable of lif, wanted one such as v_mv"
expect 2 model lif.toml lif --plot lif.svg --param tau_m_ms
says "--param tau_m_ms, wanted KEY=VALUE"
expect 2 model lif.toml lif --plot lif.svg --param tau_mm_ms=3
says "did you mean tau_m_ms?"
expect 2 model lif.toml lif --plot lif.svg --ms 1
says "--ms 1 is 10 bursts of 0.1 ms, wanted 20 to 1000000"
holds [ ! -e lif.svg ]
# pictures, where there is cairo: of one that fires, with values of its own, of
# one without input and one that never fires
sed 's/^spike = .*/spike = "1 < 0"/' lif.toml >never.toml
# and whose input has bounds: above 0, a narrow one, none above 0
n=0
for range in '"10 pA", "900 pA"' '"-1 pA", "1e-3 pA"' '"-20 pA", "0 pA"'; do
    n=$((n + 1))
    sed "s/i_e = \"0 pA\"/i_e = { value = ${range%,*}, range = [$range] }/
        /^i_e_pa/d" lif.toml >bounds$n.toml
    holds grep -q 'range = ' bounds$n.toml
done
# of three ports: each event names its own
cat >ports.toml <<'END'
format = 1
[neuron.ports]
port = { fast = "nS", slow = "nS", current = "mV" }
state = { v = "-70 mV", g = "0 nS", h = "0 nS" }
eq = "v' = (-70 mV - v)/(10 ms) - (g + h)*v/(200 pF); g' = -g/(2 ms); h' = -h/(50 ms)"
on.fast = "g += in"
on.slow = "h += in"
on.current = "v += in"
spike = "v >= -50 mV"
reset = "v = -70 mV"
END
for call in "bounds1.toml lif" "bounds2.toml lif" "bounds3.toml lif" \
    "ports.toml ports" \
    "lif.toml lif --param tau_w_ms=20 --param v_mv=-60" \
    "said.toml lif --field w_pa" "never.toml lif --dt 0.5 --ms 100" \
    "own.toml own_izhikevich --highest 20"; do
    checks=$((checks + 1))
    # shellcheck disable=SC2086 # a list of arguments
    "$volley" model $call --plot drawn.svg >out 2>err
    code=$?
    case $code in
    0) grep -q '</svg>' drawn.svg || bad "volley model $call: no picture" ;;
    3) says "drawn by cairo" ;;
    *) bad "volley model $call: exit code $code, wanted 0 or 3" ;;
    esac
done

# substeps: as if dt_ms were shorter, where nothing arrives
sed '/stimulus/,/^weight/d' lif.toml >quiet.toml
sed 's/^refractory.*/&\nsubsteps = 4/' quiet.toml >steps.toml
expect 0 run quiet.toml --quiet --set run.dt_ms=0.025 --json quiet.json
expect 0 run steps.toml --quiet --json steps.json --backend cpu:2
holds [ "$(value spikes steps.json)" -gt 10 ]
holds [ "$(value spikes steps.json)" = "$(value spikes quiet.json)" ]
expect 0 model steps.toml lif
prints "v, i_syn, w exactly (matrix exponential); 4 steps a burst"
prints "refractory                       substeps"

# a file with the model only
{
    echo 'format = 1'
    block '[neuron.own_izhikevich]'
} >bare.toml
expect 0 model bare.toml own_izhikevich
prints "[neuron.own_izhikevich]"
expect 2 check bare.toml
says "no area"
sed 's/^spike/spikes/' bare.toml >wrong.toml
expect 2 model wrong.toml own_izhikevich
says "wrong.toml:13:1: unknown key spikes"
expect 4 model nothing.toml lif
says "nothing.toml: No such file or directory"

# ---- the gallery: each model is found and drawn, its picture is there ----
n_models=0
for file in "$genomes"/neurons/*.toml; do
    name=$(basename "$file" .toml)
    n_models=$((n_models + 1))
    expect 0 model "$file" "$name"
    prints "[neuron.$name]"
    holds [ -s "$genomes/neurons/$name.png" ]
    holds grep -qF "\`$name.toml\`" "$genomes/neurons/README.md"
    holds grep -qF "($name.png)" "$genomes/neurons/README.md"
    holds grep -q "^neurons/$name.toml," "$genomes/golden.csv"
    holds grep -q 'doi:10\.' "$file"
done
holds [ $n_models -eq 17 ]
# NEST's names lead to them
for name in iaf_cond_alpha iaf_cond_beta hh_cond_exp_traub mat2_psc_exp glif_psc; do
    expect 0 doc $name
    prints "not built in, but a [neuron]: \`volley new neurons/$name\`"
done
expect 0 doc gif_psc_exp
prints "\`volley new neurons/gif_psc_exp\`"
"$volley" doc nest | sed -n 's,.*volley new \(neurons/[a-z0-9_]*\).*,\1,p' |
    sort -u >named
holds has_lines 5 named
while read -r name; do
    expect 0 new "$name"
    holds cmp -s out "$genomes/$name.toml"
done <named
expect 0 new
prints "neurons/qif "
holds grep -qF "has seventeen published models" "$page"

# ---- resolve: a genome with the model in it and the same hash; rerun ----
expect 0 resolve lif.toml
cp out resolved.toml
expect 0 resolve --hash lif.toml
cp out hash
expect 0 resolve --hash resolved.toml
holds cmp -s out hash
cp hash lif_hash
expect 0 rerun lif/manifest.json
prints "identical"
# in an included genome too, whose models have its name before theirs
cat >outer.toml <<'END'
format = 1
[run]
dt_ms = 0.1
ms = 100
[use.V1]
file = "lif.toml"
[area.B]
model = "V1/lif"
neurons = 1
i_e_pa = 500
tau_w_ms = 50
END
expect 0 run outer.toml --quiet --json outer.json
holds [ "$(value spikes outer.json)" -gt 5 ]
expect 0 resolve outer.toml
cp out outer_resolved.toml
expect 0 resolve --hash outer.toml
cp out hash
expect 0 resolve --hash outer_resolved.toml
holds cmp -s out hash

# a file of models, as the page has it
{
    echo 'format = 1'
    sed -n '/^\[neuron/,/^refractory/p' lif.toml
} >cells.toml
{
    grep -v '^\[neuron' lif.toml | sed '/^param = /,/^refractory/d'
    block '[use.cells]'
} >using.toml
expect 0 run using.toml --quiet --json using.json
for key in digest state_digest; do
    holds [ "$(value $key using.json)" = "$(value $key lif.json)" ]
done
expect 0 model cells.toml lif
expect 0 model using.toml lif
sed '/^prefix/d; s,"lif","cells/lif",' using.toml >prefixed.toml
expect 0 run prefixed.toml --quiet --json using.json
holds [ "$(value digest using.json)" = "$(value digest lif.json)" ]

# a model in a file of its own, as the page has it
{
    echo 'format = 1'
    sed -n '/^\[neuron/,/^refractory/p' lif.toml
} >lif_model.toml
{
    sed '/^\[neuron/,/^refractory/d' lif.toml
    sed -n '/^    \[neuron.lif\]$/{N;/model_file/{s/^    //;s/\n    /\n/;s/  *#.*//;p;};}' "$page"
} >filed.toml
holds grep -q '^model_file = "lif_model.toml"$' filed.toml
expect 0 run filed.toml -o filed --quiet
holds [ "$(value digest filed/summary.json)" = "$(value digest lif.json)" ]
holds [ "$(value state_digest filed/summary.json)" = "$(value state_digest lif.json)" ]
expect 0 model filed.toml lif
expect 0 rerun filed/manifest.json
prints "identical"
expect 0 resolve --hash filed.toml
holds cmp -s out lif_hash
# the run knows the model without the file, and the hash is another with another
expect 0 run filed.toml --ms 20 --checkpoint filed.vlc --quiet
sed -i 's/b = "60 pA"/b = "61 pA"/' lif_model.toml
expect 0 resolve --hash filed.toml
holds sh -c '! cmp -s out lif_hash'
expect 0 rerun filed/manifest.json
prints "identical"
expect 2 run filed.toml --resume filed.vlc --quiet
says "genome"
rm lif_model.toml
expect 4 check filed.toml
says "filed.toml:$(sed -n '/^model_file/=' filed.toml):14: lif_model.toml: No such file"
expect 4 check - <filed.toml
says ":14: lif_model.toml: No such file"

# ---- a spike that never comes ----
expect 0 run never.toml --quiet --json never.json
holds [ "$(value spikes never.json)" = 0 ]

# ---- a model that diverges: the lines of the page ----
sed "s,w' = -w/tau_w,w' = 4*w/tau_w," lif.toml |
    sed 's/^reset = .*/reset = "v = e_l; w += 0*b"/; s/w = "0 pA"/w = "1 nA"/' >grows.toml
sed -n '/^    diverging /,/^$/s/^    \(..*\)/\1/p' "$page" >lines
holds has_lines 2 lines
# reported: the lines of the page are in the summary
reported() {
    while IFS= read -r line; do
        prints "$line"
    done <lines
}
expect 0 run grows.toml --ms 1000 --backend cpu:1 -o grows
reported
holds grep -q "A.w_pa: 3 of 3 neurons at 1.07374182e+09 pA" grows/log.jsonl
holds grep -q '"at_upper": 3' grows/summary.json
expect 0 run grows.toml --ms 1000 --backend cpu:3
reported
# NaN is at the lower bound, a bound that the genome gives is in JSON only, and
# nothing is counted at 0 or of a variable that stays within its range
cat >told.toml <<'END'
format = 1
[run]
dt_ms = 0.1
bursts = 40
[neuron.told]
port.arrived = "1"
state.lost = 0
state.gate = { value = 0, range = [0, 1] }
state.rest = { value = 0, range = [0, 4] }
state.well = 3
on.arrived = "well += in"
update = """
    far = (1e9*well)^16
    lost = far - far
    gate = gate + 0.25
    rest = 0.5*rest
"""
spike = "1 < 0"
[area.A]
model = "told"
neurons = 7
END
expect 0 run told.toml --json told.json
prints "diverging         A.lost: 7 of 7 neurons at -1.07374182e+09, its bound"
holds [ "$(grep -c "its bound" out)" -eq 1 ]
holds [ "$(grep -c '"field"' told.json)" -eq 2 ]
holds [ "$(value at_lower told.json)" = 7 ]
holds grep -q '"field": "gate"' told.json
expect 0 run lif.toml --json lif.json
holds grep -q '"at_bounds": \[\]' lif.json

# ---- doc ----
expect 0 doc neuron
prints "[neuron.lif]"
prints "exprel"
prints "of parameters  log expm1 propagator"
prints "24 variables, 64 parameters, 4 ports, 160 coefficients, 1024 operations"
prints "[\"1 ms\", \"20 ms\"]"
{
    printf 'format = 1\n'
    "$volley" doc neuron | sed -n '/^\[neuron.lif\]/,/^$/p'
    printf '[area.A]\nmodel = "lif"\nneurons = 1\nc_m_pf = 100\ntau_m_ms = 5\n'
} >doc.toml
expect 0 check doc.toml
# the page has the numbers of the program
for part in "24 variables" "64 parameters" "4 ports" "160 coefficients" \
    "1,024 operations"; do
    holds grep -qF "$part" "$page"
done
expect 0 doc models
prints "lif_psc_exp"

# ---- schema ----
expect 0 schema
cp out schema.json
holds is_json schema.json
fits() {
    "$schema_check" schema.json "$1"
}
misfits() {
    ! "$schema_check" schema.json "$1" >out 2>err
}
for file in lif own resolved outer outer_resolved doc cells using prefixed filed; do
    holds fits $file.toml
done
# without a [neuron] the schema refuses an unknown parameter of an area
sed '/^\[neuron/,/^refractory/d; s/"lif"/"adex"/; /^rate_hz/,$d' lif.toml |
    sed '/^\[\[stimulus/,$d' >strict.toml
holds fits strict.toml
echo 'tau_1_ms = 3' >>strict.toml
holds misfits strict.toml
# what a table of a [neuron] may have
for wrong in 's/^spike = /spikes = /' 's/^spike = .*/spike = 3/' \
    's/^port = .*/port = "pA"/' 's/^method = .*/method = 2/' \
    's/v = "e_l"/v = { value = "e_l", bounds = [0, 1] }/' \
    's/v = "e_l"/v = { value = "e_l", range = ["0 mV"] }/'; do
    sed 's/^refractory.*/&\nmethod = "auto"/' lif.toml | sed "$wrong" >wrong.toml
    checks=$((checks + 1))
    misfits wrong.toml || bad "the schema takes $wrong"
    expect 2 check wrong.toml
done
done_checks
