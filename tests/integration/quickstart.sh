#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# quickstart.sh SOURCE
# The calls of CMake by tools/quickstart; CMake is a script here that records
# its arguments: `run` builds for the devices of this machine, `test` for all,
# and neither undoes what the other one has built.
set -u
source=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0
mkdir -p tree/tools tree/genomes bin
cp "$source/tools/quickstart" tree/tools/
cache=tree/build/release/CMakeCache.txt

cat >bin/cmake <<'END'
#!/bin/sh
echo "cmake $*" >>"$FOLDER/asked"
case $1 in
--preset)
    shift 2
    for option; do
        option=${option#-D}
        name=${option%%=*}
        touch build/release/CMakeCache.txt
        sed -i "/^$name:/d" build/release/CMakeCache.txt
        echo "$name:STRING=${option#*=}" >>build/release/CMakeCache.txt
    done
    echo "-- CUDA backend: as asked for"
    ;;
--build)
    mkdir -p "$2/bin"
    printf '#!/bin/sh\necho "ran $*"\n' >"$2/bin/volley"
    chmod +x "$2/bin/volley"
    ;;
esac
END
cat >bin/ctest <<'END'
#!/bin/sh
echo "ctest $*" >>"$FOLDER/asked"
END
# packages missing on this machine stay missing
printf '#!/bin/sh\nexit 1\n' >bin/sudo
cp bin/sudo bin/apt-get
chmod +x bin/*

bad() {
    failed=$((failed + 1))
    echo "FAILED: $*"
    cat out err asked
}

# quickstart ARGUMENTS...: its calls are in the file asked
quickstart() {
    : >asked
    FOLDER=$folder PATH=$folder/bin:$PATH sh tree/tools/quickstart "$@" \
        >out 2>err || bad "quickstart $*: exit code $?"
}

# asked TEXT, not_asked TEXT: of the configuration
asked() {
    grep -q -e "^cmake --preset release.* $1" asked || bad "not asked: $1"
}

not_asked() {
    ! grep -q -e "^cmake --preset release.* $1" asked || bad "asked: $1"
}

# kept TEXT: a line of the cache in the end
kept() {
    grep -q "^$1$" "$cache" || bad "the cache lacks $1: $(cat "$cache")"
}

# an empty folder: for this machine, and the genome that was named
quickstart run other.toml --quiet
asked -DVOLLEY_CUDA=NATIVE
asked -DVOLLEY_ACCELERATOR_CUDA=OFF
asked -DVOLLEY_TESTS=OFF
grep -q "^ran run other.toml --quiet" out || bad "not run"
grep -q "^quickstart: CUDA backend: as asked for" out || bad "backends not said"
# once more: as it was
quickstart run
not_asked -D
grep -q "^ran run .*/genomes/brunel.toml" out || bad "not run"
kept VOLLEY_CUDA:STRING=NATIVE
# all, in the same folder
quickstart test
asked -DVOLLEY_CUDA=AUTO
asked -DVOLLEY_ACCELERATOR_CUDA=ON
asked -DVOLLEY_TESTS=ON
asked -DVOLLEY_WERROR=ON
grep -q "^ctest --preset release" asked || bad "not tested"
# nothing is built again for a run after it
quickstart run
not_asked -D
kept VOLLEY_CUDA:STRING=AUTO
kept VOLLEY_TESTS:STRING=ON
# what was chosen by hand stays
rm -r tree/build
mkdir -p tree/build/release
echo "VOLLEY_CUDA:STRING=OFF" >"$cache"
quickstart build
not_asked -DVOLLEY_CUDA
not_asked -DVOLLEY_ACCELERATOR_CUDA
kept VOLLEY_CUDA:STRING=OFF
# an empty folder again: all
rm -r tree/build
quickstart build
not_asked -DVOLLEY_CUDA
kept VOLLEY_TESTS:STRING=ON
# options are passed to CMake and CTest, and the next call without options keeps
# them
quickstart build -DVOLLEY_ACCELERATOR_CUDA=OFF
asked -DVOLLEY_ACCELERATOR_CUDA=OFF
quickstart test -E 'a|b'
not_asked -DVOLLEY_ACCELERATOR_CUDA
kept VOLLEY_ACCELERATOR_CUDA:STRING=OFF
grep -q "^ctest --preset release -j [0-9]* -E a|b$" asked || bad "no option"

[ "$failed" -eq 0 ]
