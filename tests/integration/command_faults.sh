#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Calls that fail: every write, sync, truncate, rename, link, close, opening,
# thread and process of a command in turn, by tests/support/fault_library.c.
# Each time: a documented exit code and a sentence, or all that an undisturbed
# call makes; no file half made; what was recorded can be had.
# $5 the library, $6 and $7: 1 with SONATA, with pictures; $8 which part.
# The first calls of a kind, then fewer and fewer; all of them, in every way,
# with VOLLEY_TEST_FAULTS=all.
here=$(dirname "$0")
# in memory: half of the time of a disk goes to syncs
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"
library=$5
sonata=$6
pictures=$7
part=$8
golden=$genomes/../tests/golden
all=${VOLLEY_TEST_FAULTS:-}
n_faults=0

# ---- what stands before, and what comes of it undisturbed ----
sed 's/^bursts = .*/bursts = 400/' small.toml >long.toml
sed 's/^bursts = .*/bursts = 100/' small.toml >short.toml
cat short.toml - >fields.toml <<'END'
[[record]]
what = "spikes"
from = "*"
[[record]]
what = "fields"
from = "E"
fields = ["v_mv"]
neurons = [1, 3]
END
run="--quiet --backend cpu:1 --threads 1 --control off"

# same NAME...: as in the folder clean
same() {
    for name in "$@"; do
        cmp -s "$name" "clean/$name" || return 1
    done
}

# begins NAME: a part of clean/NAME from its start on, or nothing
begins() {
    [ ! -e "$1" ] || head -c "$(wc -c <"$1")" "clean/$1" | cmp -s - "$1"
}

# replaced NAME: all of the new one or of the old one
replaced() {
    cmp -s "$1" "clean/$1" || cmp -s "$1" "old/$1"
}

# new NAME: not there, or whole
new() {
    [ ! -e "$1" ] || same "$1"
}

# ---- one fault ----

# judge CODES CHECK ARGUMENTS...: of the last call
judge() {
    codes=$1
    check=$2
    shift 2
    what="$fault of volley $*"
    checks=$((checks + 2))
    case " $codes " in
    *" $code "*) ;;
    *) bad "$what: exit code $code, wanted one of $codes" ;;
    esac
    [ "$code" -eq 0 ] || grep -q '^volley: ' err || bad "$what: no sentence"
    # a run with a fault, without a message that it continues without the part
    case "${kind:-} $*" in
    thread* | " "* | *--checkpoint*) ;;
    *" run "*) [ "$code" -eq 0 ] || [ "$(wc -l <err)" -eq 1 ] ||
        bad "$what: more than a sentence" ;;
    esac
    [ -z "$(find . -name '*.tmp' -o -name '*.partial')" ] ||
        bad "$what: left $(find . -name '*.tmp' -o -name '*.partial')"
    "$check" || bad "$what: exit code $code, but not so: $check"
}

# over KIND CHECK ARGUMENTS...: in the folder x, that prepare makes
over() {
    kind=$1
    check=$2
    shift 2
    n=1
    codes="0 4"
    case $kind in
    write) ways="ENOSPC short EIO" ;;
    open) ways=EACCES ;;
    thread | fork) ways=EAGAIN codes="0 5" ;;
    # HDF5 does not always say that it was memory
    memory) ways=${memory_ways:-on ENOMEM} codes="0 4 5" ;;
    *) ways=EIO ;;
    esac
    hit=1
    while [ -n "$hit" ]; do
        for how in $ways; do
            rm -rf x && mkdir x && cd x || exit 1
            prepare
            fault=$kind:$n:$how
            LD_PRELOAD=$library VOLLEY_FAULT=$fault VOLLEY_FAULT_MARK=mark \
                VOLLEY_FAULT_FROM=${from:-} "$volley" "$@" >out 2>err
            code=$?
            hit=
            if [ -e mark ]; then
                hit=1
                n_faults=$((n_faults + 1))
                judge "$codes" "$check" "$@"
            else
                judge 0 "$check" "$@"
            fi
            cd ..
            # the next number takes the next way
            [ -n "$all" ] || break
        done
        [ -n "$all" ] || ways="${ways#* } ${ways%% *}"
        if [ -n "$all" ] || [ -n "${dense:-}" ]; then
            n=$((n + ${step:-1}))
        else
            n=$((n * 2))
        fi
    done
}

# files CHECK ARGUMENTS...: every kind that has to do with files
files() {
    for kind in write sync truncate rename link close open; do
        over $kind "$@"
    done
}

# undisturbed ARGUMENTS...: into the folder clean
mkdir clean old
undisturbed() {
    cd clean || exit 1
    expect 0 "$@"
    cd ..
}

prepare() {
    ln -s ../clean ../old .
    cp ../long.toml ../short.toml ../fields.toml .
    [ -z "$(ls ../old)" ] || cp ../old/* .
}
cp long.toml short.toml fields.toml clean

# ---- recordings: what was written is a beginning, and goes on from there ----
# shellcheck disable=SC2086 # words of a call
run_part() {
    undisturbed run short.toml $run --record x.csv --digest-log x.log
    sed 's/weight_mv = 4/weight_mv = 3/' short.toml >other.toml
    cd old || exit 1
    expect 0 run ../other.toml $run --save-connectome x.vlc --json x.json
    rm out err
    cd ..
    undisturbed run short.toml $run --save-connectome x.vlc --json x.json
    recorded() {
        if [ "$code" -eq 0 ]; then
            same x.csv x.log x.vlc && "$json_check" x.json
        else
            begins x.csv && begins x.log && replaced x.vlc &&
                "$json_check" x.json
        fi
    }
    files recorded run short.toml $run --record x.csv --digest-log x.log \
        --save-connectome x.vlc --json x.json
    rm old/*

    # a folder, in which the files of a run that failed say so
    undisturbed run fields.toml $run --record spikes.csv
    folder_good() {
        if [ "$code" -eq 0 ]; then
            cmp -s o/spikes.csv clean/spikes.csv &&
                "$json_check" o/manifest.json && "$json_check" o/summary.json
        else
            [ ! -s o/manifest.json ] || "$json_check" o/manifest.json || return 1
            [ ! -e o/spikes.csv ] || cmp -s o/spikes.csv clean/spikes.csv ||
                return 1
            [ ! -e o/spikes.csv.vls ] || stream_good o/spikes.csv.vls
        fi
    }
    files folder_good run fields.toml $run -o o --telemetry x.jsonl

    # an existing checkpoint stays valid: after the fault the run ends like the
    # clean one
    undisturbed run long.toml $run --record x.csv --digest-log x.log
    cd old || exit 1
    expect 0 run ../long.toml $run --bursts 150 --record x.csv \
        --digest-log x.log --checkpoint x.vlk --every 50 --keep 3
    rm out err
    cd ..
    resumed() {
        [ "$code" -eq 0 ] || "$volley" run long.toml $run --record x.csv \
            --digest-log x.log --checkpoint x.vlk --keep 3 --resume x.vlk \
            >out 2>err || return 1
        same x.csv x.log && "$volley" inspect x.vlk >out 2>err &&
            "$volley" inspect x.vlk.1 >out 2>err
    }
    files resumed run long.toml $run --record x.csv --digest-log x.log \
        --checkpoint x.vlk --every 100 --keep 3 --resume x.vlk
    rm old/*
}

# stream_good STREAM: the spikes up to somewhere; all of them where it was said
stream_good() {
    "$volley" inspect --repair "$1" --to y.csv >again 2>&1
    repaired=$?
    # a stream whose head did not get there has nothing
    [ -e y.csv ] || [ "$(wc -c <"$1")" -lt 512 ] || return 1
    mv y.csv spikes.csv 2>/dev/null
    if grep -q 'has everything' err; then
        [ $repaired -eq 0 ] && same spikes.csv
    else
        begins spikes.csv
    fi
}

# ---- SONATA: the file, or the stream that has it ----
# shellcheck disable=SC2086 # words of a call
sonata_part() {
    undisturbed run fields.toml $run --record spikes.csv
    undisturbed run fields.toml $run --record x.h5
    exported() {
        if [ "$code" -eq 0 ]; then
            same x.h5 x.1.v_mv.h5 && [ ! -e x.h5.vls ]
        else
            new x.h5 && new x.1.v_mv.h5 &&
                { [ ! -e x.h5.vls ] || stream_good x.h5.vls; } &&
                { [ -e x.h5.vls ] || ! grep -q 'has everything' err; }
        fi
    }
    # including the one made by closing a set
    dense=1
    over write exported run fields.toml $run --record x.h5
    dense=
    files exported run fields.toml $run --record x.h5
    over fork exported run fields.toml $run --record x.h5
    from=libhdf5
    [ -z "$all" ] || step=13
    over memory exported run fields.toml $run --record x.h5
    from=
    step=1

    # the same of a stream that was left
    cd old || exit 1
    expect 0 run ../fields.toml $run --record kept.vls
    rm out err
    cd ..
    repaired() {
        if [ "$code" -eq 0 ]; then
            same x.h5 x.1.v_mv.h5
        else
            new x.h5 && new x.1.v_mv.h5
        fi && cmp -s kept.vls old/kept.vls
    }
    files repaired inspect --repair kept.vls --to x.h5
    rm old/*
}

# ---- files that are made of files ----
# shellcheck disable=SC2086 # words of a call
files_part() {
    cd old || exit 1
    expect 0 run ../fields.toml $run --record kept.vls
    rm out err
    cd ..
    undisturbed run fields.toml $run --record x.csv
    made() {
        if [ "$code" -eq 0 ]; then
            same x.csv x.1.v_mv.csv
        else
            new x.csv && new x.1.v_mv.csv
        fi && cmp -s kept.vls old/kept.vls
    }
    files made inspect --repair kept.vls --to x.csv
    rm old/*

    one() {
        [ "$code" -ne 0 ] || [ -e "$made" ] || return 1
        new "$made"
    }
    made=x.toml
    undisturbed new brunel -o x.toml
    files one new brunel -o x.toml
    if "$volley" import feagi "$golden/feagi/flat_2_0.json" -o probe.toml \
        >out 2>err; then
        undisturbed import feagi "$golden/feagi/flat_2_0.json" -o y.toml
        made=y.toml
        files one import feagi "$golden/feagi/flat_2_0.json" -o y.toml
    fi
    made=x.st
    corpus=$genomes/../tests/fuzz/corpus/safetensors/native.safetensors
    undisturbed monitor convert "$corpus" -o x.st --type fp32
    files one monitor convert "$corpus" -o x.st --type fp32
    if "$volley" monitor ask "$golden/rwkv7/tiny-rwkv7-834k.safetensors" a \
        -n 0 >out 2>err; then
        made=state
        undisturbed monitor ask "$golden/rwkv7/tiny-rwkv7-834k.safetensors" \
            '"in' -n 0 -q --state-out state
        files one monitor ask "$golden/rwkv7/tiny-rwkv7-834k.safetensors" \
            '"in' -n 0 -q --state-out state
    fi
    # takes seconds each time
    if [ -n "$all" ] && "$volley" bench gemv --sizes 64 --types fp32 --save probe.json \
        --backend cpu:1,choose=plain,tune=0 >out 2>err; then
        saved() {
            if [ "$code" -eq 0 ]; then
                "$json_check" x.json
            else
                [ ! -e x.json ] || "$json_check" x.json
            fi
        }
        files saved bench gemv --sizes 64 --types fp32 --save x.json \
            --backend cpu:1,choose=plain,tune=0
    fi
    # standard output is a file as well
    undisturbed resolve short.toml
    mv clean/out clean/told
    told() {
        [ "$code" -ne 0 ] || cmp -s out clean/told
    }
    over write told resolve short.toml

    undisturbed run fields.toml $run -o o
    cp -r clean/o old
    prepare() {
        ln -s ../clean ../old .
        cp -r ../old/o ../short.toml .
    }
    if [ "$pictures" = 1 ]; then
        for made in x.png x.svg; do
            undisturbed plot raster o -o $made
            files one plot raster o -o $made
            over fork one plot raster o -o $made
        done
        # Some of them crash without memory; with less of it the letters may be
        # other ones. fontconfig looks for its fonts again and again where it
        # never gets any, which is ended after a minute of processor time: left
        # to a list of all.
        drawn() {
            if [ "$code" -eq 0 ]; then
                [ -s "$made" ]
            else
                [ ! -e "$made" ]
            fi
        }
        [ -n "$all" ] || memory_ways=ENOMEM
        for from in libfontconfig libfreetype libcairo libpng; do
            over memory drawn plot raster o -o $made
        done
        from= memory_ways=
    fi
    undisturbed sweep short.toml --set area.E.neurons=60,80 -o grid \
        --backend cpu:1 --threads 1
    spikes_of() {
        cut -d, -f1-4 "$1"
    }
    # a second call continues
    swept() {
        [ "$code" -eq 0 ] || "$volley" sweep short.toml --set \
            area.E.neurons=60,80 -o grid --backend cpu:1 --threads 1 >out \
            2>err || return 1
        [ "$(spikes_of grid/results.csv)" = \
            "$(spikes_of clean/grid/results.csv)" ]
    }
    files swept sweep short.toml --set area.E.neurons=60,80 -o grid \
        --backend cpu:1 --threads 1
}

# ---- threads ----
threads_part() {
    run="--quiet --backend cpu:2 --threads 2"
    # shellcheck disable=SC2086 # words of a call
    undisturbed run fields.toml $run --record x.csv
    watched() {
        if [ "$code" -eq 0 ]; then
            same x.csv
        else
            begins x.csv
        fi
    }
    dense=1
    # shellcheck disable=SC2086 # words of a call
    over thread watched run fields.toml $run --record x.csv --monitor \
        --checkpoint x.vlk --every 50 --metrics 0 --telemetry x.jsonl -o o
    # what was asked for by name is an error; what watches by default is not
    for n in 1 2 3 4 5 6 7 8 9; do
        rm -rf x && mkdir x && cd x || exit 1
        prepare
        # shellcheck disable=SC2086 # words of a call
        LD_PRELOAD=$library VOLLEY_FAULT=thread:$n:EAGAIN \
            "$volley" run fields.toml $run --record x.csv --monitor >out 2>err
        code=$?
        cd ..
        if grep -q 'no thread for the monitor' x/err; then
            checks=$((checks + 1))
            [ "$code" -eq 0 ] || bad "a run without the monitor: $code"
            holds grep -q 'the run continues without the monitor' x/err
        fi
    done
}

# ---- addresses that run out anywhere (127: before the command begins) ----
# shellcheck disable=SC2086 # words of a call
# starts: within the limit the libraries that the command is linked to do. The
# constructor of one (libpixman of cairo) crashes before main() where memory is
# just enough to load them all.
starts() {
    (
        ulimit -v $kib
        exec "$volley" --version
    ) >/dev/null 2>&1
}

limits_part() {
    run="--quiet --backend cpu:1 --threads 1"
    output=x.h5
    [ "$sonata" = 1 ] || output=x.csv
    undisturbed run fields.toml $run --record spikes.csv
    undisturbed run fields.toml $run --record $output
    kib=30000
    while [ $kib -lt 400000 ]; do
        rm -rf x && mkdir x && cd x || exit 1
        prepare
        fault="ulimit -v $kib"
        (
            ulimit -v $kib
            exec "$volley" run fields.toml $run --record $output --monitor
        ) >out 2>err
        code=$?
        n_faults=$((n_faults + 1))
        limited() {
            if [ $code -eq 0 ]; then
                same $output
            else
                [ ! -e x.h5.vls ] || stream_good x.h5.vls
            fi
        }
        if [ $code -eq 127 ] || { [ $code -gt 128 ] && ! starts; }; then
            checks=$((checks + 1))
        else
            # 3: a plugin that could not be opened
            judge "0 3 5" limited run fields.toml --monitor
        fi
        cd ..
        if [ -n "$all" ]; then
            kib=$((kib + 1000))
        else
            kib=$((kib * 5 / 4))
        fi
    done
    # a Vulkan driver for the processor crashes if there are none
    output=x.csv
    "$volley" inspect fields.toml --backend vulkan:0 >out 2>err || return 0
    undisturbed run fields.toml $run --record $output
    for kib in 530000 570000 640000 700000 708000 760000 820000; do
        rm -rf x && mkdir x && cd x || exit 1
        prepare
        fault="ulimit -v $kib"
        (
            ulimit -v $kib
            exec "$volley" run fields.toml --quiet --threads 1 \
                --backend vulkan:0 --record $output
        ) >out 2>err
        code=$?
        n_faults=$((n_faults + 1))
        judge "0 5" limited run fields.toml --backend vulkan:0
        cd ..
    done
}

case $part in
run) run_part ;;
sonata) [ "$sonata" = 0 ] || sonata_part ;;
files) files_part ;;
limits) limits_part ;;
*) threads_part ;;
esac
echo "$n_faults calls failed"
[ "$n_faults" -gt 0 ] || [ "$part$sonata" = sonata0 ] || bad "nothing failed"
done_checks
