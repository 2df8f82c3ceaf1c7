#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# [[record]] with start, stop and offset: the rows of a recording without them
# that lie in the window, also after a resume. Rates: those of the spikes in each
# interval.
# shellcheck source=tests/integration/command_support.sh disable=SC2154
. "${0%/*}/command_support.sh"
hdf5=$6

cat >net.toml <<'END'
format = 1
[run]
dt_ms = 0.5
bursts = 200
[area.E]
model = "lif_psc_exp"
neurons = 12
[area.I]
model = "lif_psc_exp"
neurons = 5
[[stimulus]]
kind = "poisson"
to = "*"
rate_hz = 4000
weight_pa = 400
END
# with RECORD...: net.toml and [[record]]s
with() {
    name=$1
    shift
    { cat net.toml && printf '%b\n' "$@"; } >"$name.toml"
    expect 0 run "$name.toml" --threads 1 --quiet --backend cpu:1 \
        --record "$name.csv"
}

# ---- spikes: bursts from start on, before stop; times are ends of bursts ----
with all '[[record]]\nwhat = "spikes"\nfrom = "*"'
with some '[[record]]\nwhat = "spikes"\nfrom = "E"\nstart_ms = 20' \
    'stop_ms = 60' \
    '[[record]]\nwhat = "spikes"\nfrom = "E[3:5]"\nstop_burst = 20' \
    '[[record]]\nwhat = "spikes"\nfrom = "I"'
columns=$(head -n 1 all.csv)
holds [ "$columns" = "burst,time_ms,area,neuron" ]
awk -F, 'NR == 1 || $3 == "I" || ($3 == "E" && (($2 > 20 && $2 <= 60) ||
    ($4 >= 3 && $4 < 5 && $2 <= 10)))' all.csv >wanted.csv
holds cmp wanted.csv some.csv
holds [ "$(wc -l <some.csv)" -lt "$(wc -l <all.csv)" ]
holds [ "$(awk -F, '$3 == "E"' some.csv | wc -l)" -gt 5 ]

# ---- fields: offset + k * interval, from start to stop ----
fields='what = "fields"\nfrom = "E"\nfields = "v_mv"\nneurons = [0, 3]'
with every "[[record]]\n$fields\ninterval_bursts = 1"
with few "[[record]]\n$fields\ninterval_bursts = 7\noffset_bursts = 3" \
    'start_ms = 20\nstop_burst = 101'
every=$(ls every*.csv | grep -v '^every.csv$')
few=$(ls few*.csv | grep -v '^few.csv$')
# samples after 45, 52, ..., 101 bursts: 3 + 7 k from 40 on
awk -F, 'NR == 1 { print; next } { n = $2 / 0.5 }
    n >= 40 && n <= 101 && (n - 3) % 7 == 0' "$every" >wanted.csv
holds cmp wanted.csv "$few"
holds [ "$(sed 1d "$few" | cut -d, -f2 | sort -n | head -n 1)" = 22.5 ]

# ---- a resumed run goes on with them ----
expect 0 run few.toml --threads 1 --quiet --backend cpu:1 --record half.csv \
    --bursts 70 --checkpoint half.state
expect 0 run few.toml --threads 1 --quiet --backend cpu:1 --record half.csv \
    --resume half.state
half=$(ls half*.csv | grep -v '^half.csv$')
holds cmp "$few" "$half"

# ---- rates: counted again from all spikes ----
# (all six digits hold: a rate is rounded to single precision once)
rates='[[record]]\nwhat = "rates"\nfrom = ["I", "E"]\ninterval_bursts = 30'
with rates "$rates\nstart_ms = 5\nstop_burst = 131" \
    '[[record]]\nwhat = "rates"\nfrom = ["E[2:9]", "I"]\nby = "neuron"' \
    'interval_ms = 20' \
    '[[record]]\nwhat = "rates"\nfrom = "E"\nneurons = [3, 8]' \
    'interval_bursts = 25'
# count FIRST INTERVAL LAST AREA KEY FROM N: rates of an area (KEY a) or of
# each neuron (KEY n) from FROM on, N of them, of intervals up to burst LAST
count() {
    awk -F, -v first="$1" -v interval="$2" -v last="$3" -v area="$4" \
        -v key="$5" -v from="$6" -v n="$7" '
        $3 == area && $1 >= first && $1 < last && $4 >= from &&
            $4 < from + n { c[int(($1 - first) / interval), $4]++ }
        END {
            for (k = 0; first + (k + 1) * interval <= last; k++) {
                sum = 0
                for (i = from; i < from + n; i++) {
                    sum += c[k, i]
                    if (key == "n")
                        printf "%d,%g,%s,%d,%.6g\n",
                            first + (k + 1) * interval - 1,
                            (first + (k + 1) * interval) / 2, area, i,
                            c[k, i] * 1000 / (interval / 2)
                }
                if (key == "a")
                    printf "%d,%g,%s,%.6g\n",
                        first + (k + 1) * interval - 1,
                        (first + (k + 1) * interval) / 2, area,
                        sum * 1000 / (interval / 2 * n)
            }
        }' all.csv
}
# found FILE AREA: the rows of an area, six digits
found() {
    awk -F, -v OFS=, -v area="$2" \
        '$3 == area { $NF = sprintf("%.6g", $NF); print }' "$1"
}
holds [ "$(head -n 1 rates.1.rate_hz.csv)" = burst,time_ms,area,rate_hz ]
holds [ "$(head -n 1 rates.2.rate_hz.csv)" = burst,time_ms,area,neuron,rate_hz ]
holds [ ! -e rates.csv ]
same() { # same FILE AREA N ARGUMENTS of count
    file=$1
    shift
    found "$file" "$4" >found.csv
    count "$@" >wanted.csv
    holds cmp found.csv wanted.csv
    holds [ "$(grep -cv ',0$' wanted.csv)" -ge 2 ]
}
same rates.1.rate_hz.csv 10 30 131 E a 0 12
same rates.1.rate_hz.csv 10 30 131 I a 0 5
same rates.2.rate_hz.csv 0 40 200 E n 2 7
same rates.2.rate_hz.csv 0 40 200 I n 0 5
holds [ "$(sed -n '2p;3p' rates.1.rate_hz.csv | cut -d, -f1-3 | paste -sd' ')" \
    = "39,20,I 39,20,E" ]
# a mean of chosen neurons is that of their rates
awk -F, '$3 == "E" && ($4 == 3 || $4 == 8) { c[int($1 / 25)]++ }
    END { for (k = 0; k < 8; k++) printf "%.6g\n", c[k] * 1000 / 25 }' all.csv \
    >wanted.csv
sed 1d rates.3.rate_hz.csv | cut -d, -f4 >found.csv
holds cmp wanted.csv found.csv
# the same bytes in a stream, on other threads, ranks, after a swap and a resume
# in the middle of intervals
record() { # record NAME ARGUMENTS...
    name=$1
    shift
    expect 0 run rates.toml --quiet --record "$name.vls" "$@"
}
record whole --threads 1 --backend cpu:1
record other --threads 3 --backend cpu:3 --swap 45=cpu:1
holds cmp whole.vls other.vls
record ranked --ranks 2
holds cmp whole.vls ranked.vls
record part --bursts 17 --checkpoint part.state
record part --bursts 55 --resume part.state --checkpoint part.state
record part --resume part.state
holds cmp whole.vls part.vls
expect 0 inspect part.state
prints counts
expect 0 inspect whole.vls
prints "rate_hz of 5 neurons of I, their mean, every 30 bursts"
expect 0 inspect --repair whole.vls --to again.csv
holds cmp again.2.rate_hz.csv rates.2.rate_hz.csv
# pictures, where this build makes some
if "$volley" plot rate all.csv -o all.png >out 2>err; then
    expect 0 plot traces rates.1.rate_hz.csv -o mean.png
    expect 0 plot traces whole.vls --field rate_hz -o rates.png
    expect 2 plot traces all.csv -o spikes.png
    says "no samples of a field"
    # two [[record]]s of one area are two lines, in a folder two files
    with twice "$rates" '[[record]]\nwhat = "rates"\nfrom = "E"' \
        'interval_bursts = 20'
    expect 0 run twice.toml --quiet --record twice.vls
    colours() { # of lines: black is the axes
        grep -oE 'stroke[:=]"?rgb\([^)]*\)' "$1" | sort -u | wc -l
    }
    expect 0 plot traces twice.1.rate_hz.csv --area E -o one.svg
    holds [ "$(colours one.svg)" -eq 2 ]
    expect 0 plot traces twice.vls --area E -o twice.svg
    holds [ "$(colours twice.svg)" -eq 3 ]
    expect 0 run twice.toml --quiet -o folder
    expect 2 plot traces folder --field rate_hz -o no.svg
    says "folder has samples in several files: name one of them: spikes.1.rate_hz.csv, spikes.2.rate_hz.csv"
    # the run ends before the first interval does
    with none "$rates" 'start_burst = 180'
    expect 2 plot traces none.1.rate_hz.csv -o no.svg
    says "none.1.rate_hz.csv: no samples of rate_hz in it"
    expect 2 plot traces none.1.rate_hz.csv --area E -o no.svg
    says "no samples of what --area"
fi
expect 0 inspect rates.1.rate_hz.csv
prints "samples of a field (CSV)"
expect 0 inspect all.csv
prints "recording of spikes (CSV)"
# a recording that begins at a checkpoint begins with the next interval
expect 0 run rates.toml --quiet --bursts 45 --checkpoint bare.state
record late --resume bare.state
expect 0 inspect --repair late.vls --to late.csv
awk -F, 'NR == 1 || $1 >= 80' rates.2.rate_hz.csv >wanted.csv
holds cmp late.2.rate_hz.csv wanted.csv
# a device that told wrong: counted again from the snapshot on
for at in 100 101; do
    VOLLEY_PLUGIN_PATH=$VOLLEY_PLUGIN_PATH:$test_plugins/flaky.so \
        "$volley" run rates.toml --quiet --record flaky.vls \
        --backend flaky,at=$at,wrong=90 --on-device-error cpu:1 \
        --failover-every 41 --pace --pace-hz 10000 >out 2>err
    holds [ $? -eq 0 ]
    says "they are reported again"
    holds cmp whole.vls flaky.vls
done
if [ "$hdf5" = 1 ]; then
    expect 0 run rates.toml --quiet --record rates.h5
    if command -v h5dump >/dev/null; then
        h5dump -y -w 1 -A 0 -m '%.6g' -d /mean/E/data rates.1.rate_hz.h5 |
            sed -n '/DATA {/,/}/p' | tr -d ' ,' | grep -E '^[0-9.]+$' >found.csv
        found rates.1.rate_hz.csv E | cut -d, -f4 >wanted.csv
        holds cmp found.csv wanted.csv
        h5dump -A rates.1.rate_hz.h5 >attributes
        holds grep -q '"Hz"' attributes
    fi
    expect 0 inspect rates.2.rate_hz.h5
    prints "in Hz"
    expect 0 inspect rates.1.rate_hz.h5
    prints "means of neurons"
    if [ -e all.png ]; then
        expect 0 plot traces rates.2.rate_hz.h5 -o neurons.png
        expect 2 plot traces rates.1.rate_hz.h5 -o no.png
        says "rates.1.rate_hz.h5: rates of areas (/mean/AREA) in HDF5"
    fi
fi

# ---- the input of each port: a variable that adds it up (docs/models.md) ----
cat >input.toml <<'END'
format = 1
[run]
dt_ms = 0.5
bursts = 40
[neuron.lif]
param = { c_m = "250 pF", tau_m = "10 ms", e_l = "-65 mV", v_th = "-50 mV", tau_syn = "2 ms" }
port = { ex = "pA", inh = "pA" }
state = { v = "e_l", i = "0 pA", sum_ex = "0 pA", sum_inh = "0 pA" }
eq = """
    v' = (e_l - v)/tau_m + i/c_m
    i' = -i/tau_syn
"""
on.ex = "i += in; sum_ex += in"
on.inh = "i += in; sum_inh += in"
spike = "v >= v_th"
reset = "v = e_l"
[area.G]
generator = "spikes"
neurons = 2
times_ms = [[1, 4, 4.5], [4, 12]]
[area.A]
model = "lif"
neurons = 2
[[map]]
from = "G[0]"
to = "A[0]"
rule = "one_to_one"
weight_pa = 40
delay_ms = 1
[[map]]
from = "G[1]"
to = "A"
rule = "all_to_all"
weight_pa = -12.5
delay_ms = 1
[[record]]
what = "fields"
from = "A"
fields = "sum_*"
interval_ms = 5
END
expect 0 run input.toml --threads 1 --quiet --record input.csv
# of arrivals 1 ms after the spikes, within bursts that end by then
for port in ex:40,0,120,0,120,0,120,0 inh:0,0,-12.5,-12.5,-25,-25,-25,-25; do
    sed 1d "input.1.sum_${port%%:*}_pa.csv" | cut -d, -f5 | paste -sd, >found.csv
    holds [ "$(cat found.csv)" = "${port#*:}" ]
done

# ---- refused ----
printf '[[record]]\nwhat = "spikes"\nfrom = "E"\nstart_ms = 9\nstop_ms = 9\n' |
    cat net.toml - >wrong.toml
expect 2 run wrong.toml --quiet
says "wrong.toml:16:1: a [[record]] stops in burst 18, wanted after its start in burst 18"
done_checks
