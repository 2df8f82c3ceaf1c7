#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What newcomers do wrong: each answer says what to do instead.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

# ---- the command ----
expect 2 small.toml
says 'small.toml is not a command; to run a genome: volley run small.toml'
expect 2 ./small.toml --backend cpu
says 'volley run ./small.toml'
expect 2 not_there.toml
says 'volley run not_there.toml'
mkdir folder
expect 2 folder
says 'volley status folder'
echo text >text
expect 2 text
says 'volley inspect text'
expect 2 runn small.toml
says 'did you mean run?'
expect 0 help
prints 'usage: volley COMMAND'
expect 0 help run
prints 'usage: volley run GENOME.toml'
expect 2 help runn
expect 2 plot small.toml
says 'raster|rate|histograms|voxels|traces|weights|matrix INPUT'
# a machine without cairo: what to install, and no file of a picture
mkdir without
: >without/libcairo.so.2
checks=$((checks + 1))
LD_LIBRARY_PATH=$PWD/without "$volley" plot matrix small.toml -o x.svg >out 2>err
code=$?
[ $code -eq 3 ] || bad "a picture without cairo: exit code $code, wanted 3"
says 'drawn by cairo, which cannot be opened: '
says 'libcairo.so.2: file too short; install it (Debian, Ubuntu: apt-get install'
holds [ ! -e x.svg ]
rm -r without

# ---- files ----
expect 4 run small
says 'small: No such file or directory, did you mean small.toml?'
expect 4 run brunel
says 'volley new brunel -o brunel.toml'
expect 4 run brunel.toml
says 'volley new brunel -o brunel.toml'
expect 4 check nothing.toml
says 'nothing.toml: No such file or directory, wanted a genome; volley new'
expect 4 sweep nothing.toml --set run.ms=1,2 -o swept
says 'nothing.toml: No such file or directory, wanted a genome; volley new'
expect 4 run small.toml -o not/there
says 'not/there: the folder cannot be made: No such file or directory, wanted'
sed '/^id = /d' small.toml >no_ids.toml
expect 2 check no_ids.toml --set map.2.weight_mv=1
says 'no map 2, wanted a number from 1 to 1 or an id'
expect 4 run folder
says 'folder: Is a directory, wanted a genome, a .toml file'
expect 0 run small.toml -o run --backend cpu:1
expect 4 run run
says 'the folder of a run, wanted a genome'
expect 4 run small.toml --record folder
says 'folder is a folder, wanted a file for output, as in folder/FILE'
expect 2 run small.toml -o run
says 'the folder is not empty'
expect 2 plot raster small.toml
says 'small.toml is a genome, wanted what a run left: volley run small.toml'
expect 0 rerun run --quiet
{
    cat small.toml
    printf '[[record]]\nwhat = "spikes"\nfrom = "E"\n'
} >recorded.toml
expect 0 run recorded.toml --backend cpu:1
says '[[record]] is not written: no -o FOLDER and no --record FILE'
expect 0 run recorded.toml -o recorded --backend cpu:1
# options that rerun does not have
expect 0 rerun recorded
holds [ "$(grep -c 'is not written' err)" -eq 0 ]
expect 4 rerun folder
says 'folder/manifest.json: No such file or directory'
expect 2 rerun small.toml
says 'wanted the manifest.json in the folder of a run, or that folder'
expect 2 status .
says 'not the folder of a run (no manifest.json in it)'
says 'volley run GENOME.toml -o FOLDER makes it'
expect 2 status small.toml
says 'wanted that of a run: volley run GENOME.toml -o FOLDER'
expect 0 status run
# a folder without write permission; skipped for root
if [ "$(id -u)" -ne 0 ]; then
    mkdir closed
    chmod a-w closed
    expect 4 run small.toml -o closed/run
    says 'closed/run: the folder cannot be made: Permission denied, wanted it in'
    expect 4 run small.toml --record closed/spikes.csv
    says 'closed/spikes.csv: cannot be written: Permission denied'
fi

# ---- backends ----
expect 3 run small.toml --backend gpu
gpus=
for id in cuda vulkan; do # a build without one does not propose it
    [ ! -f "$VOLLEY_PLUGIN_PATH/$id.so" ] || gpus=${gpus:+$gpus or }$id
done
if [ -n "$gpus" ]; then
    says "did you mean $gpus?"
else
    says "no backend for GPUs is installed (usable: "
    holds sh -c '! grep -q "did you mean" err'
fi
if [ "${gpus#cuda}" != "$gpus" ]; then
    expect 3 run small.toml --backend nvidia
    says 'did you mean cuda?'
fi
expect 3 run small.toml --backend processor
says 'did you mean cpu?'
expect 2 run small.toml --backend cpu:0
says 'backend "cpu:0": 0 threads, wanted 1 to 1024'
expect 3 run small.toml --backend cpi
says 'did you mean cpu?'
expect 2 run small.toml --backend CPU
says 'wanted a name such as cpu or cuda (a-z, 0-9 and _)'
expect 2 run small.toml --backend cpu:x
says 'wanted a number'

# ---- what editors make of a file ----
printf '\357\273\277' | cat - small.toml >bom.toml
expect 0 check bom.toml
sed 's/$/\r/' small.toml >crlf.toml
expect 0 check crlf.toml
sed 's/^neurons = /\tneurons\t=\t/' small.toml >tabs.toml
expect 0 check tabs.toml
{
    printf '\377\376'
    sed 's/./&_/g' small.toml | tr '_\n' '\0\0'
} >wide.toml
expect 2 check wide.toml
says 'wide.toml:1:1: '
says 'the file is UTF-16, wanted UTF-8'
: >empty.toml
expect 2 check empty.toml
says 'an empty file, wanted a genome'
echo '{"format": 1}' >json.toml
expect 2 check json.toml
says 'this looks like JSON, a genome is TOML'
says 'volley import feagi'
done_checks
