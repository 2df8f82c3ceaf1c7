#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Weights of networks that learn: samples, all of them at the end, a run that
# begins with those of another, the summary, stops and resumes. $6 1: built with
# HDF5.
# shellcheck source=tests/integration/command_support.sh disable=SC2154
. "${0%/*}/command_support.sh"
hdf5=$6
cat >learn.toml <<'END'
format = 1
[run]
dt_ms = 0.5
bursts = 2000
[area.A]
model = "lif_psc_delta"
neurons = 40
v_mv = { uniform = [-70, -50] }
[area.B]
model = "lif_psc_delta"
neurons = 10
[plasticity.p]
rule = "stdp"
w_max_mv = 3
lambda = 0.02
[plasticity.q]
rule = "stdp_inhibitory"
w_max_mv = -2
eta_mv = 0.01
[[map]]
id = "ex"
from = ["A", "B"]
to = "A"
rule = "fixed_in_degree"
in_degree = 6
weight_mv = { uniform = [0, 3] }
delay_ms = 1
plasticity = "p"
[[map]]
id = "in"
from = "B"
to = "A"
rule = "all_to_all"
weight_mv = -1
delay_ms = 1
plasticity = "q"
[[map]]
id = "plain"
from = "A"
to = "B"
rule = "all_to_all"
weight_mv = 0.1
delay_ms = 1
[[stimulus]]
kind = "poisson"
to = "*"
rate_hz = 500
weight_mv = 8
END
{
    cat learn.toml
    printf '[[record]]\nwhat = "weights"\nmap = "ex"\nfirst = 235\nn = 10\n'
    printf 'interval_ms = 50\n'
    printf '[[record]]\nwhat = "weights"\nmap = "in"\ninterval_bursts = 500\n'
} >recorded.toml

# near X Y [BY]: numbers that differ by less than 1e-4
# shellcheck disable=SC2317 # called by holds
near() {
    awk -v x="$1" -v y="$2" -v by="${3:-1e-4}" \
        'BEGIN { d = x - y; exit !(x != "" && y != "" && d < by && d > -by) }'
}

# mean MAP FROM FILE: of the weights of a table of --weights
mean() {
    awk -F, -v map="$1" -v from="$2" '$1 == map && $2 == from {
        s += $6; n++ } END { printf "%.9g", s / n }' "$3"
}

# of_map FILE MAP FROM KEY: of the summary's weights
of_map() {
    awk -v map="\"map\": \"$2\"" -v from="\"from\": \"$3\"" -v key="\"$4\":" '
        index($0, map) { inside = 1; here = 0 }
        inside && index($0, from) { here = 1 }
        here && index($0, key) { sub(/.*: /, ""); sub(/,$/, ""); print; exit }
    ' "$1"
}

# ---- all weights, and the summary ----
expect 0 run recorded.toml --backend cpu:2 -o whole --weights w.csv \
    --json w.json
prints "map ex (A -> A): mean "
prints "map in (B -> A): mean -"
holds is_json w.json
holds [ "$(head -n 1 w.csv)" = "map,from,source,to,target,weight_mv" ]
holds [ "$(wc -l <w.csv)" -eq $((1 + 240 + 240 + 400)) ]
for pair in "ex A" "ex B" "in B"; do
    # shellcheck disable=SC2086 # two words
    holds near "$(mean $pair w.csv)" "$(of_map w.json $pair mean)"
done
holds near "$(of_map w.json in B mean_start)" -1
holds [ "$(of_map w.json in B synapses)" = 400 ]
# what changes nothing: recording, telemetry, threads
expect 0 run learn.toml --backend cpu:1 --quiet --telemetry t.jsonl \
    --telemetry-every 1 --json plain.json
for key in digest state_digest; do
    holds [ "$(value $key plain.json)" = "$(value $key w.json)" ]
done
holds grep -q '"weights": \[{"map": "ex", "from": "A"' t.jsonl
expect 0 monitor tokens t.jsonl

# ---- samples ----
holds [ "$(head -n 1 whole/weights.csv)" = \
    "burst,time_ms,map,from,source,to,target,weight_mv" ]
holds [ "$(grep -c ',ex,' whole/weights.csv)" -eq 200 ]
holds [ "$(grep -c ',in,' whole/weights.csv)" -eq 1600 ]
holds [ "$(grep -c '^99,50,ex,A,' whole/weights.csv)" -eq 5 ]
holds [ "$(grep -c '^99,50,ex,B,' whole/weights.csv)" -eq 5 ]
# the last sample is the end of the run
grep '^1999,1000,in,' whole/weights.csv | cut -d, -f 5,7,8 >last
grep '^in,' w.csv | cut -d, -f 3,5,6 >end
holds cmp last end
expect 0 run recorded.toml --backend cpu:3 --quiet --record-weights own.csv
holds cmp own.csv whole/weights.csv
# no other format under a name that promises it
for file in own.h5 own.hdf5 own.sonata own.vls; do
    expect 2 run recorded.toml --quiet --record-weights $file -o refused
    says "--record-weights $file: weights are recorded as a table, wanted the ending .csv"
    holds [ ! -e $file ]
    holds [ ! -e refused ]
done
expect 2 run recorded.toml --quiet --weights own.vls -o refused
says "--weights own.vls: a stream has no weights, wanted the ending .csv or .h5"
holds [ ! -e own.vls ]
holds [ ! -e refused ]
expect 0 run recorded.toml --bursts 10
says "[[record]] of weights is not written"
expect 0 rerun whole --quiet
prints "identical"

# ---- stopped and resumed, killed ----
expect 0 run recorded.toml --quiet --bursts 730 --record-weights part.csv \
    --checkpoint ck --set plasticity.p.lambda=0.02
cp part.csv short.csv
expect 0 run recorded.toml --quiet --backend cpu:2 --record-weights part.csv \
    --resume ck --json part.json
holds cmp part.csv whole/weights.csv
holds [ "$(value state_digest part.json)" = "$(value state_digest w.json)" ]
{
    cat short.csv
    echo "799,400,ex,A,1"
} >part.csv
expect 0 run recorded.toml --quiet --record-weights part.csv --resume ck
holds cmp part.csv whole/weights.csv
sed 's/first = 235/first = 230/' recorded.toml >moved.toml
cp short.csv part.csv
expect 2 run moved.toml --quiet --record-weights part.csv --resume ck
says "was written with another [[record]] of weights"
holds cmp part.csv short.csv
"$volley" run recorded.toml --quiet --bursts 1000000000 \
    --record-weights lost.csv --checkpoint lost.ck --every 1000 >out 2>err &
process=$!
holds wait_for has_lines 20 lost.csv
holds wait_for test -e lost.ck
kill -KILL $process
wait $process 2>/dev/null
expect 0 inspect lost.ck
prints "weights: lost.csv"
expect 0 run recorded.toml --quiet --record-weights all.csv --bursts 30000
n=$(($(wc -l <lost.csv) - 1))
[ "$n" -lt "$(wc -l <all.csv)" ] || n=$(wc -l <all.csv)
head -n "$n" lost.csv >lost.head
head -n "$n" all.csv >all.head
holds cmp lost.head all.head

# ---- the device fails ----
expect 0 run recorded.toml --quiet --backend cpu:1 --inject error:at=700 \
    --on-device-error cpu:2 --record-weights failed.csv --json failed.json \
    --change 600=plasticity.p.frozen=true
holds grep -q '"burst": 600' failed.json
expect 0 run recorded.toml --quiet --backend cpu:3 --record-weights sound.csv \
    --json sound.json --change 600=plasticity.p.frozen=true
holds cmp failed.csv sound.csv
holds [ "$(value state_digest failed.json)" = \
    "$(value state_digest sound.json)" ]

# its results since the snapshot were wrong: a sample before the snapshot stays,
# spikes after it are computed again
VOLLEY_PLUGIN_PATH=${VOLLEY_PLUGIN_PATH:-}:$test_plugins/flaky.so
export VOLLEY_PLUGIN_PATH
sed 's/^interval_ms = 50/interval_bursts = 70/' recorded.toml >often.toml
lies="--quiet --bursts 400 --on-device-error cpu:2 --failover-every 40
    --pace --pace-hz 10000"
expect 0 run often.toml --quiet --bursts 400 --backend cpu:1 --weights right.w \
    --record-weights right.csv --record right.s --json right.json
# shellcheck disable=SC2086 # words of a call
{
    expect 0 run often.toml $lies --backend flaky,at=100,wrong=90 \
        --record-weights wrong.csv --record wrong.s --weights wrong.w \
        --json wrong.json
    says "results of flaky:0 from burst 80 on were wrong; they are reported again"
    for name in csv s w; do
        holds [ "$(wc -l <right.$name)" -gt 30 ]
        holds cmp wrong.$name right.$name
    done
    holds [ "$(value state_digest wrong.json)" = \
        "$(value state_digest right.json)" ]
    # a sample after the snapshot is not told again: the run ends
    expect 3 run often.toml $lies --backend flaky,at=150,wrong=130 \
        --record-weights ended.csv
    says "results of flaky:0 from burst 120 on were wrong"
    # the device fails in the very call that reads a sample, or all weights
    for at in 70 140 400; do
        expect 0 run often.toml $lies --backend "flaky,in=read,at=$at" \
            --record-weights wrong.csv --weights wrong.w --json wrong.json
        holds grep -q '"reason": "flaky: device lost' wrong.json
        holds cmp wrong.csv right.csv
        holds cmp wrong.w right.w
    done
    # and where a rule is changed
    expect 0 run often.toml $lies --backend flaky,in=set,at=100 \
        --record-weights wrong.csv --change 105=plasticity.p.frozen=true
    expect 0 run often.toml --quiet --bursts 400 --backend cpu:1 \
        --record-weights right.csv --change 105=plasticity.p.frozen=true
    holds cmp wrong.csv right.csv
}

# ---- a run begins with the weights of another ----
start() { # start FILE POPULATION
    cat <<END
format = 1
[run]
dt_ms = 0.5
bursts = 1
[area.A]
model = "lif_psc_delta"
neurons = 40
[area.B]
model = "lif_psc_delta"
neurons = 10
[plasticity.p]
rule = "stdp"
w_max_mv = 3
[[map]]
id = "again"
from = "B"
to = "A"
rule = "file"
file = "$1"
population = "$2"
multiple = true
delay_ms = 1
plasticity = "p"
END
}
start w.csv ex >from.toml
expect 0 run from.toml --quiet --json from.json --weights again.csv
holds near "$(of_map from.json again B mean_start)" "$(mean ex B w.csv)"
holds near "$(mean again B again.csv)" "$(mean ex B w.csv)"
holds [ "$(wc -l <again.csv)" -eq 241 ]
sed '/^population/d' from.toml >all.toml
expect 2 run all.toml --quiet
says 'map in after ex, wanted one, or population = "NAME" in the map'
sed 's/"ex"/"other"/' from.toml >none.toml
expect 2 run none.toml --quiet
says "w.csv has no synapse"
if [ "$hdf5" = 1 ]; then
    expect 0 run learn.toml --quiet --weights w.h5
    expect 0 inspect w.h5
    prints "population ex.B.A: 240 edges, syn_weight"
    prints "population in: 400 edges, syn_weight"
    start w.h5 ex.B.A >sonata.toml
    expect 0 run sonata.toml --quiet --json sonata.json
    holds [ -n "$(of_map sonata.json again B mean_start)" ]
    holds [ "$(of_map sonata.json again B mean_start)" = \
        "$(of_map from.json again B mean_start)" ]
else
    expect 3 run learn.toml --quiet --weights w.h5
    says "HDF5"
fi

# ---- rules change while the run goes on ----
changes="--change 700=plasticity.p.frozen=true
    --change 900=plasticity.q.eta_mv=0.05 --change 900=area.A.tau_m_ms=12
    --change 1500=plasticity.p.frozen=false"
# shellcheck disable=SC2086 # words of a call
{
    expect 0 run learn.toml -o changed --backend cpu:1 $changes
    prints "changes           burst 700: plasticity.p.frozen = 1"
    holds [ "$(value state_digest changed/summary.json)" != \
        "$(value state_digest w.json)" ]
    holds grep -q '"event": "change"' changed/log.jsonl
    expect 0 rerun changed --quiet
    prints "identical"
    expect 0 rerun changed --quiet --backend cpu:3
}
expect 2 run learn.toml --quiet --bursts 1000 --change 1500=area.A.tau_m_ms=12
says "the run has 1000 bursts"
expect 0 run learn.toml --quiet --bursts 1000 --checkpoint ck2 --backend cpu:2 \
    --change 700=plasticity.p.frozen=true \
    --change 900=plasticity.q.eta_mv=0.05 --change 900=area.A.tau_m_ms=12
# the checkpoint has what was changed before it
expect 0 run learn.toml --quiet --resume ck2 --swap 1200=cpu:1 --json later.json \
    --change 700=plasticity.p.frozen=true \
    --change 1500=plasticity.p.frozen=false
holds [ "$(value state_digest later.json)" = \
    "$(value state_digest changed/summary.json)" ]
# frozen from the start as in the genome
expect 0 run learn.toml --quiet --json a.json --change 0=plasticity.p.frozen=true
expect 0 run learn.toml --quiet --json b.json --set plasticity.p.frozen=true
holds [ "$(value state_digest a.json)" = "$(value state_digest b.json)" ]
holds [ -n "$(of_map a.json ex A mean)" ]
holds [ "$(of_map a.json ex A mean)" = "$(of_map a.json ex A mean_start)" ]
holds [ "$(of_map a.json ex A frozen)" = true ]
for wrong in 5=plasticity.x.lambda=1 5=nothing=1 5=area.A.tau_m_ms x \
    5=area.A.v_m=soon; do
    expect 2 run learn.toml --quiet --change "$wrong"
done
expect 2 run learn.toml --quiet --change 5=plasticity.p.lambda=2
says "plasticity.p.lambda is 2, wanted 0 to 1"
# by volley ctl; a rerun repeats it
"$volley" run learn.toml --bursts 1000000000 --quiet -o live --backend cpu:1 \
    --control ./live.sock >run.out 2>run.err &
process=$!
holds wait_for "$volley" ctl ./live.sock status
expect 0 ctl ./live.sock set plasticity.p.frozen=true
prints ": plasticity.p.frozen = 1"
expect 0 ctl ./live.sock set plasticity.q.alpha=0.2 --json
prints '"path": "plasticity.q.alpha"'
expect 2 ctl ./live.sock set plasticity.q.tau_ms=5
says "cannot change in a running net"
expect 2 ctl ./live.sock set plasticity.q.alpha
says "wanted PATH=VALUE"
expect 2 ctl ./live.sock set
expect 0 ctl ./live.sock stop
wait $process
holds [ $? -eq 6 ]
holds [ "$(grep -c '"path": "plasticity' live/manifest.json)" -eq 2 ]
expect 0 rerun live --quiet --backend cpu:2
prints "identical"

# ---- two neurons learn their order: genomes/order.toml ----
expect 0 run "$genomes/order.toml" --quiet -o order --backend cpu:2
holds grep -q '^22999,2300,between,pair,0,pair,1,20$' order/weights.csv
holds grep -q '^22999,2300,between,pair,1,pair,0,0$' order/weights.csv
awk -F, 'NR > 1 && ($1 < 1000 || $1 > 20000) { print $1, $4 }' \
    order/spikes.csv >alone
printf '100 0\n300 1\n21000 0\n21010 1\n22000 1\n' >alone.wanted
holds cmp alone alone.wanted
expect 0 run "$genomes/order.toml" --quiet -o frozen --backend cpu:1 \
    --set plasticity.order.frozen=true
holds [ "$(grep -c '^21010,' frozen/spikes.csv)" -eq 0 ]
holds [ "$(cut -d, -f8 frozen/weights.csv | sort -u | wc -l)" -eq 2 ]
# it begins where another run ended
expect 0 run "$genomes/order.toml" --quiet --ms 1000 --weights half.csv
sed 's/^rule = "all_to_all"/rule = "file"/; s/^weight_mv = 8/file = "half.csv"/' \
    "$genomes/order.toml" >half.toml
expect 0 run half.toml --quiet --ms 0.1 --json half.json
holds near "$(of_map half.json between pair mean_start)" \
    "$(mean between pair half.csv)" 0.00049 # half a unit

# ---- a weight at the bound is w_max, whatever its binary digits are ----
for most in 0.3 19.9 0.6666666666666667; do
    sed "s/^w_max_mv = 3/w_max_mv = $most/; s/^lambda = .*/lambda = 1/; \
        s/uniform = \[0, 3\]/uniform = [0, $most]/
        s/from = .\"A\", \"B\".\$/from = \"A\"/" learn.toml >bound.toml
    expect 0 run bound.toml --quiet --weights bound.csv --bursts 400
    holds grep -q "^ex,.*,$(printf %.17g "$most")" bound.csv
    sed '/^id = "ex"/,/^plasticity/ { s/^rule = .*/rule = "file"/
        s/^in_degree.*/file = "bound.csv"/; s/^weight_mv.*/population = "ex"\nmultiple = true/ }' \
        bound.toml >again.toml
    expect 0 run again.toml --quiet --bursts 2
done

# ---- changes that cannot be made ----
expect 2 run learn.toml --quiet --change 40=plasticity.p.frozne=1
says "has no parameter frozne"
says "did you mean frozen"
expect 0 run learn.toml --quiet --bursts 500 --checkpoint half.ckpt
expect 0 run learn.toml --resume half.ckpt -o late --change 3=plasticity.p.frozen=true
says "--change 3=plasticity.p.frozen: before burst 500, at which the run continues"
holds grep -q '"changes": \[\]' late/summary.json
# a probe moves a net that learns to another backend, and weights are read there
expect 0 run learn.toml --quiet --bursts 60 --inject wrong:to=cpu --weights x.csv \
    --change 30=plasticity.p.frozen=true
rm x.csv

# ---- a file that cannot be written: at once, not after a long run ----
long="--quiet --bursts 1000000000000"
sed 's/^in_degree = 6/in_degree = 200/' learn.toml >many.toml
for option in --weights --json "--probe check --probe-out"; do
    [ -c /dev/full ] || break
    # shellcheck disable=SC2086 # words of a call
    expect 4 run learn.toml $long $option /dev/full
    says "/dev/full: cannot be written: No space left"
done
# shellcheck disable=SC2086 # words of a call
{
    expect 4 run learn.toml $long --weights missing/w.csv
    says "missing/w.csv: cannot be written: No such file"
    if [ "$hdf5" = 1 ]; then
        expect 4 run learn.toml $long --weights missing/w.h5
        says "missing/w.h5: cannot be written: No such file"
    fi
    checks=$((checks + 1))
    (ulimit -f 1 && exec "$volley" run learn.toml $long --weights x.csv) \
        >out 2>err
    code=$?
    [ $code -eq 4 ] || bad "weights above ulimit -f: $code, wanted 4"
    says "x.csv: cannot be written: it needs "
    says "and the limit of a file is "
    mkdir disk
    # shellcheck disable=SC2016 # the inner shell's words
    on_disk='mount -t tmpfs -o size=64k none disk && v=$1 && shift && "$v" "$@"'
    if unshare -rm sh -c 'mount -t tmpfs -o size=64k none disk' 2>err; then
        checks=$((checks + 1))
        unshare -rm sh -c "$on_disk" sh "$volley" run many.toml $long \
            --weights disk/x.csv >out 2>err
        code=$?
        [ $code -eq 4 ] || bad "weights on a small disk: $code, wanted 4"
        says "disk/x.csv: cannot be written: it needs "
        says " or more, and its disk has 65.5 kB free"
    else
        echo "no small disk: mounting one is not permitted here"
    fi
}
# samples on a disk that becomes full end after a whole line
checks=$((checks + 1))
(ulimit -f 7 && exec "$volley" run recorded.toml --quiet \
    --record-weights short.csv) >out 2>err
code=$?
[ $code -eq 4 ] || bad "samples above ulimit -f: $code, wanted 4"
says "short.csv: cannot be written: File too large; it ends after its last whole line"
holds [ "$(wc -l <short.csv)" -gt 20 ]
head -n "$(wc -l <short.csv)" whole/weights.csv >whole.head
holds cmp short.csv whole.head
# pipes and devices that take bytes are written at the end
expect 0 run learn.toml --quiet --bursts 100 --weights /dev/null
expect 0 run learn.toml --quiet --bursts 100 --weights -
cp out piped
"$volley" run learn.toml --quiet --bursts 100 --weights /dev/stdout 2>err |
    cat >out
holds cmp out piped
expect 0 run learn.toml --quiet --bursts 100 -o placed --weights placed/w.csv
holds cmp placed/w.csv piped

# ---- refused ----
expect 2 run learn.toml --quiet --record-weights x.csv
says 'has no [[record]] with what = "weights"'
sed '/^plasticity/d; /^\[plas/,/^eta\|^lam/d' learn.toml >dull.toml
expect 2 run dull.toml --quiet --weights x.csv
says "no map of dull.toml learns"
sed 's/first = 235/first = 471/' recorded.toml >beyond.toml
expect 2 run beyond.toml --quiet --record-weights x.csv
says "has synapse 480 of map ex, which has 480"
expect 2 run recorded.toml --quiet --weights x.csv --record-weights ./x.csv
says "is given for two of"
holds [ ! -e x.csv ]
done_checks
