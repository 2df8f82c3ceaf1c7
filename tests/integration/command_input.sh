#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Pulses, patterns, generator areas: the spikes of a net that can be checked by
# hand, on several threads and after a swap.
here=$(dirname "$0")
schema_check=$5
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

# L fires as listed and E follows it one burst later; F is shown voxels; T is a
# train of three pulses of two bursts; E's neuron 2 is kicked every 10 bursts.
cat >input.toml <<'END'
format = 1
[run]
dt_ms = 0.5
bursts = 100
[area.P]
generator = "poisson"
neurons = 1000
rate_hz = 40
start_ms = 10
[area.L]
generator = "spikes"
neurons = 3
bursts = [[0, 1, 2], [5], []]
[area.T]
generator = "pulse"
voxels = [2, 1, 1]
start_burst = 4
period_bursts = 10
width_bursts = 2
count = 3
[area.F]
model = "feagi"
voxels = [2, 2, 1]
firing_threshold = 1
[area.E]
model = "lif_psc_delta"
neurons = 3
t_ref_ms = 0
[[map]]
from = "L"
to = "E"
rule = "one_to_one"
weight_mv = 16
[[stimulus]]
kind = "pattern"
to = "F"
voxels = [[0, 1, 0], [1, 1, 0]]
bursts = [[3, 7], [9]]
weight = 5
[[stimulus]]
id = "p"
kind = "pulse"
to = "E"
first = 2
n = 1
start_ms = 20
period_ms = 5
stop_ms = 31
weight_mv = 16
[[record]]
what = "spikes"
from = ["L", "T", "F", "E"]
END
cat >wanted.csv <<'END'
burst,time_ms,area,neuron
0,0.5,L,0
1,1,L,0
1,1,E,0
2,1.5,L,0
2,1.5,E,0
3,2,F,1
3,2,E,0
4,2.5,T,0
4,2.5,T,1
5,3,L,1
5,3,T,0
5,3,T,1
6,3.5,E,1
7,4,F,1
9,5,F,3
14,7.5,T,0
14,7.5,T,1
15,8,T,0
15,8,T,1
24,12.5,T,0
24,12.5,T,1
25,13,T,0
25,13,T,1
40,20.5,E,2
50,25.5,E,2
60,30.5,E,2
END

expect 0 run input.toml --quiet --record spikes.csv --json one.json \
    --backend cpu:1
holds cmp -s spikes.csv wanted.csv
expect 0 run input.toml --quiet --record spikes.csv --json other.json \
    --backend cpu:4 --swap 5=cpu:1 --swap 15=cpu:3
holds cmp -s spikes.csv wanted.csv
for key in digest state_digest; do
    holds [ "$(value $key one.json)" = "$(value $key other.json)" ]
done
expect 0 validate input.toml --backends cpu:1,cpu:3

# a poisson neuron fires by a chance of 0.02 in each of 80 bursts, from burst 20
# on, 1,000 neurons of them; 5 standard deviations are 198
expect 0 run input.toml --quiet --json rate.json --set area.L.bursts='[]' \
    --set area.T.count=1 --set stimulus.1.weight=0 --set stimulus.p.weight_mv=0
spikes=$(value spikes rate.json)
holds [ "$spikes" -gt $((1600 + 4 - 198)) ]
holds [ "$spikes" -lt $((1600 + 4 + 198)) ]

# keys of a generator by --set; the printed genome is the same
expect 0 run input.toml --quiet --json faster.json --set area.P.rate_hz=400
holds [ "$(value spikes faster.json)" -gt 10000 ]
expect 0 resolve --hash input.toml
cp out hash
expect 0 resolve input.toml
cp out resolved.toml
expect 0 resolve --hash resolved.toml
holds cmp -s out hash
expect 0 schema
cp out schema.json
holds "$schema_check" schema.json input.toml
holds "$schema_check" schema.json resolved.toml
sed 's/rate_hz = 40/rate = 40/' input.toml >typo.toml
checks=$((checks + 1))
"$schema_check" schema.json typo.toml >out 2>err &&
    bad "the schema takes a typo in a generator"

# a genome that includes this one: L is fed by another list, once more
cat >outer.toml <<'END'
format = 1
[run]
dt_ms = 0.5
bursts = 100
[area.other]
generator = "spikes"
neurons = 3
bursts = [7]
[use.net]
file = "input.toml"
areas = { L = "other" }
set = { "area.P.rate_hz" = 0 }
[[record]]
what = "spikes"
from = "other"
END

# the recording as input: the same spikes in the same bursts, also by a
# generator, and of SONATA where it is built
cat >again.toml <<'END'
format = 1
[run]
dt_ms = 0.5
bursts = 100
[area.L]
generator = "spikes"
neurons = 3
file = "spikes.csv"
population = "L"
[area.E]
generator = "spikes"
neurons = 3
file = "spikes.csv"
population = "E"
END
grep -e '^burst' -e ',L,' -e ',E,' spikes.csv >wanted_again.csv
expect 0 run again.toml --quiet --record again.csv
holds cmp -s again.csv wanted_again.csv
if "$volley" run input.toml --quiet --record spikes.h5 >out 2>err; then
    expect 0 run again.toml --quiet --record again_h5.csv \
        --set 'area.L.file="spikes.h5"' --set 'area.E.file="spikes.h5"'
    holds cmp -s again_h5.csv wanted_again.csv
    expect 2 check again.toml --set 'area.E.file="spikes.h5"' \
        --set 'area.E.population="J"'
    says "/spikes has no population J, found E, "
    # HDF5 has no / in names: recordings write a . for it
    expect 0 run outer.toml --quiet --record slash.h5
    expect 0 check again.toml --set 'area.E.file="slash.h5"' \
        --set 'area.E.population="net/E"'
else
    says "HDF5"
fi

# names in any script come out as they are
cat >names.toml <<'END'
format = 1
[run]
bursts = 3
[area."皮質/L4"]
generator = "spikes"
neurons = 1
bursts = [0, 2]
[area."Кора"]
model = "lif_psc_delta"
neurons = 1
[[stimulus]]
id = "entrée"
kind = "spikes"
to = "К*"
bursts = [1]
weight_mv = 1
END
expect 0 run names.toml --quiet --record names.csv --json names.json \
    --set 'area.Кора.v_th_mv=-64.5' --set stimulus.entrée.weight_mv=2
holds grep -q '^0,1,皮質/L4,0$' names.csv
holds grep -q '^1,2,Кора,0$' names.csv
holds grep -q '"皮質/L4"' names.json

# the genome that includes input.toml
expect 0 run outer.toml --quiet --record spikes.csv
grep -E ',(other|net/E),' spikes.csv >some.csv
printf '%s\n' 7,4,other,0 7,4,other,1 7,4,other,2 8,4.5,net/E,0 \
    8,4.5,net/E,1 8,4.5,net/E,2 40,20.5,net/E,2 50,25.5,net/E,2 \
    60,30.5,net/E,2 >wanted.csv
holds cmp -s some.csv wanted.csv
holds "$schema_check" schema.json outer.toml
done_checks
