#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Wrong calls and failing machines: exit code and message of each.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

# ---- the call: 2 ----
expect 2
expect 2 runn
says "did you mean run?"
expect 2 paint
says "unknown command paint"
expect 2 --verbose
expect 2 run
says "usage: volley run"
expect 2 run ""
says "a name is empty; usage: volley run"
expect 2 monitor report ""
says "a name is empty; usage: volley monitor report"
expect 2 run small.toml other.toml
expect 2 run small.toml --burst 5
says "did you mean --bursts?"
expect 2 run small.toml --resumed x
says "unknown option --resumed"
expect 2 run small.toml --bursts
says "--bursts wants a value"
for value in -1 1.5 x "" 1e3 99999999999999999999999; do
    expect 2 run small.toml --bursts "$value"
    says "whole number"
done
expect 2 run small.toml --threads 0
expect 2 run small.toml --ms nan
expect 2 run small.toml --bursts 5 --ms 5
expect 2 run small.toml --bursts 5 --bursts 6
says "given twice"
expect 2 run small.toml --quiet=yes
expect 2 run small.toml --set nonsense
says "PATH=VALUE"
expect 2 run small.toml --set area.F.neurons=3
expect 2 run small.toml --swap 5
expect 2 run small.toml --swap x=cpu
expect 2 run small.toml --swap 5=no:such
expect 2 run small.toml --on-device-error cpu:x
expect 2 run small.toml --failover-every 5
expect 2 run small.toml --control ""
expect 2 run small.toml --swap 201=cpu
says "the run has 200 bursts"
expect 2 run small.toml --swap 5=cpu --swap 5=cpu:2
expect 2 run small.toml --record x --json x
expect 2 run small.toml --backend "cpu:x"
expect 2 validate small.toml
says "--backends is missing"
expect 2 validate small.toml --backends cpu
expect 2 check --build --paper small.toml
expect 2 check --ranks 2 small.toml
expect 2 check --rank 0 small.toml
expect 2 check --build --ranks 2 --rank 2 small.toml
says "--rank is 2, wanted 0 to 1"
expect 2 doc feagy
says "did you mean feagi?"
expect 2 bench nonsense
expect 0 run small.toml --bursts 0 --quiet --json zero.json
holds is_json zero.json
sed '/^bursts/d' small.toml >endless.toml
expect 2 run endless.toml
says "--bursts N"

# ---- the genome: 2 with the place ----
sed 's/neurons = 80/neuron = 80/' small.toml >typo.toml
for sub in run check resolve inspect; do
    expect 2 $sub typo.toml
    says "typo.toml:7:"
    says "neurons"
done
printf '\000\001\002' >binary
expect 2 inspect binary
echo '{"a": [1, 2' >cut.json
expect 2 inspect cut.json
echo '{"a": 1}' >other.json
expect 2 inspect other.json
expect 2 rerun other.json
says "no digest"
# what was found is one line of the message, whatever follows it in the file
expect 2 rerun small.toml
holds [ "$(wc -l <err)" = 1 ]
says 'small.toml:1:1: '

# numbers of a manifest are not trusted, and both digests count
expect 0 run small.toml --quiet -o old
for value in '-5' 1e30 1.5 '"5"' null; do
    sed "s/\"bursts\": [0-9]*/\"bursts\": $value/" old/manifest.json >old/x.json
    expect 2 rerun old/x.json
    says '"bursts" is missing or no whole number'
done
sed '/"bursts":/d' old/manifest.json >old/x.json
expect 2 rerun old/x.json
expect 0 run small.toml --quiet -o swapped --swap 5=cpu:2
sed 's/"burst": 5/"burst": -5/' swapped/manifest.json >swapped/x.json
expect 2 rerun swapped/x.json
says '"burst" is missing or no whole number'
sed 's/"state": "...../"state": "00000/' old/manifest.json >old/x.json
expect 1 rerun old/x.json --quiet
prints "differs"

# ---- bench: said before it measures ----
echo '{"rows": []}' >rows.json
# shellcheck disable=SC2317 # called by holds
lacks_probing() {
    ! grep -q probing err
}
expect 2 bench --quick --fail-on-regression
says "wanted --compare"
expect 4 bench --quick --compare missing.json
holds lacks_probing
expect 2 bench --quick --compare other.json
holds lacks_probing
expect 4 bench --quick --json missing/x.json
holds lacks_probing
expect 4 bench --quick --save .
holds lacks_probing

# ---- an output without a name: before the run, not behind it ----
for option in --record --digest-log --json --save-connectome --telemetry \
    --checkpoint; do
    expect 2 run small.toml --quiet $option ""
    says "the name of an output is empty"
done

# ---- two outputs in one file: 2, however it is spelled ----
mkdir sub
ln -s sub sublink
for other in ./x.log sub/../x.log "$PWD/x.log"; do
    expect 2 run small.toml --quiet --digest-log x.log --record "$other"
    says "is given for two"
done
expect 2 run small.toml --quiet --json sub/x --record sublink/x
for name in manifest.json summary.json log.jsonl genome.resolved.toml; do
    expect 2 run small.toml --quiet -o made --record made/$name
    says "is what -o made writes there"
    expect 2 run small.toml --quiet -o ./made/ --json "$PWD/made/$name"
done
holds [ ! -e made ]
expect 0 run small.toml --quiet -o made --record made/spikes.csv

# ---- what a terminal obeys is not printed ----
escape=$(printf '\033')
cp "$test_plugins/broken_major.so" "odd${escape}[2J.so"
# shellcheck disable=SC2317 # called by holds
has_escape() {
    grep -q "$escape" out err
}
VOLLEY_PLUGIN_PATH=$VOLLEY_PLUGIN_PATH:$PWD/odd${escape}[2J.so expect 0 plugins
prints "odd\x1b[2J"
holds eval "! has_escape"
expect 4 run "missing${escape}[2J"
says "missing\x1b[2J"
holds eval "! has_escape"

# ---- device or plugin: 3 ----
expect 3 run small.toml --backend nonesuch
says "nonesuch"
expect 3 run small.toml --on-device-error nonesuch
expect 3 validate small.toml --backends cpu,nonesuch
expect 3 bench --backend nonesuch
expect 3 inspect "$volley"
# a failure before the run leaves no folder
expect 3 run small.toml -o never --backend nonesuch
holds [ ! -e never ]

# ---- files: 4, with the name ----
expect 4 run missing.toml
says "missing.toml"
expect 4 check missing.toml
expect 4 inspect missing.toml
expect 4 compare missing.log missing.log
expect 4 rerun missing.json
expect 4 run small.toml --quiet --record missing/spikes.csv
says "missing/spikes.csv"
expect 4 run small.toml --json missing/x.json
expect 4 run small.toml -o missing/x
expect 4 run small.toml --save-connectome missing/x
if [ -e /dev/full ]; then
    for option in --record --digest-log --json; do
        expect 4 run small.toml --quiet $option /dev/full
        says "/dev/full: cannot be written: No space left"
    done
    # the disk fills in the middle of a run: the manifest says so
    mkdir full
    ln -s /dev/full full/log.jsonl
    expect 4 run small.toml -o full --force
    says "full/log.jsonl: cannot be written: No space left"
    for sub in "run small.toml" "doc feagi" "plugins" "resolve small.toml"; do
        checks=$((checks + 1))
        # shellcheck disable=SC2086 # words of a call
        "$volley" $sub >/dev/full 2>err
        code=$?
        [ $code -eq 4 ] || bad "volley $sub >/dev/full: $code, wanted 4"
        says "standard output"
    done
fi
# no room in the middle of a run: 4, the rest is written and says so
checks=$((checks + 1))
(
    ulimit -f 40 # blocks of 512 bytes, in some shells of 1024
    exec "$volley" run small.toml --bursts 20000 -o room --record room.csv
) >out 2>err
code=$?
[ $code -eq 4 ] || bad "run over the file size limit: $code, wanted 4"
says "room.csv: cannot be written: File too large"
holds is_json room/manifest.json
holds [ "$(value exit_reason room/manifest.json)" = error ]
holds [ "$(value bursts room/manifest.json)" -gt 0 ]
if [ "$(id -u)" -ne 0 ]; then
    mkdir readonly
    chmod a-w readonly
    expect 4 run small.toml -o readonly --force
    expect 4 run small.toml --json readonly/x
    chmod u+w readonly
fi

# ---- a folder that is not empty: 2 without --force ----
mkdir used
touch used/mine
expect 2 run small.toml -o used
says "not empty"
expect 0 run small.toml -o used --force
holds [ -e used/mine ]
holds [ -e used/manifest.json ]
expect 2 run small.toml -o small.toml
says "not a folder"

# ---- outputs that would spoil something ----
mkfifo pipe
expect 4 run small.toml --bursts 2 --save-connectome pipe
says "pipe: not a file"
holds [ -p pipe ]
: >linked
ln -s linked link
expect 0 run small.toml --bursts 2 --quiet --save-connectome link
holds [ -L link ]
holds [ -s linked ]
expect 2 run small.toml --bursts 2 --save-connectome -
says "wanted a file name"
expect 2 run small.toml --bursts 2 --record small.toml
says "is the genome"

# ---- digest logs that cannot be compared: 2 ----
expect 0 run small.toml --quiet --digest-log a.log
expect 0 run small.toml --quiet --digest-log b.log --seed 5
expect 2 compare a.log b.log
says "different genomes"
sed 's/^7 ....../7 000000/' a.log >damaged.log
expect 2 compare a.log damaged.log
says "damaged.log:16:"
head -c 500 a.log >cut.log
expect 2 compare a.log cut.log
says "cut off"
expect 2 compare a.log small.toml
# ---- conformance ----
expect 1 conformance "$test_plugins/erring.so" --options at=99,neuron=3 \
    --case delay_one/whole --json wrong.json
prints "delay_one/whole: FAILED: state digest"
prints "erring: 0 ok, 0 skipped, 1 failed"
holds [ "$(value outcome wrong.json)" = FAILED ]
expect 1 conformance "$test_plugins/failing.so" --options at=7 \
    --case delay_one/digests
prints "VLY_E_DEVICE"
expect 2 conformance
says "which plugin"
expect 4 conformance nothing.so
says "nothing.so: cannot be read: No such file"
expect 3 conformance "$test_plugins/broken_major.so"
says "broken_major.so"
expect 2 conformance "$test_plugins/erring.so" --case nothing
says "nothing matches"
expect 2 conformance --print delay_on
says "did you mean delay_one"
expect 4 conformance "$test_plugins/erring.so" --json nowhere/x.json

done_checks
