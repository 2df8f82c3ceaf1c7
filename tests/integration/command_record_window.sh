#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# [[record]] with start, stop and offset: the rows of a recording without them
# that lie in the window, also after a resume.
# shellcheck source=tests/integration/command_support.sh disable=SC2154
. "${0%/*}/command_support.sh"

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

# ---- refused ----
printf '[[record]]\nwhat = "spikes"\nfrom = "E"\nstart_ms = 9\nstop_ms = 9\n' |
    cat net.toml - >wrong.toml
expect 2 run wrong.toml --quiet
says "wrong.toml:16:1: a [[record]] stops in burst 18, wanted after its start in burst 18"
done_checks
