#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What would be silent or misleading is said: a length that is no whole number of
# bursts, recordings that are fed back, recordings without spikes, files that are
# inspected.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

# ---- lengths ----
for command in "run small.toml" "validate small.toml --backends cpu:1,cpu:2" \
    "sweep small.toml --set map.all.weight_mv=0.2,0.3 -o swept"; do
    # shellcheck disable=SC2086 # several words
    expect 2 $command --quiet --ms 0.15
    says "--ms is 0.15, wanted a whole number of bursts of dt_ms = 0.1: 0.1 or 0.2"
    # shellcheck disable=SC2086
    expect 2 $command --quiet --ms 0.04
    says "--ms is 0.04, wanted a whole number of bursts of dt_ms = 0.1: 0.1"
done
holds [ ! -e swept/results.csv ]
expect 2 run small.toml --quiet --ms 1e300
says "--ms"
expect 0 run small.toml --quiet --ms 0.3 --json short.json
holds [ "$(value bursts short.json)" = 3 ]
expect 0 run small.toml --quiet --ms 0 --json none.json
holds [ "$(value bursts none.json)" = 0 ]
sed 's/^bursts = 200/ms = 0.15/' small.toml >grid.toml
expect 2 check grid.toml
says "grid.toml:4:6: ms is 0.15, wanted a whole number of bursts of dt_ms = 0.1: 0.1 or 0.2"
expect 2 run small.toml --set run.dt_ms=0.3 --ms 1 --quiet
says "wanted a whole number of bursts of dt_ms = 0.3: 0.9 or 1.2"

done_checks
