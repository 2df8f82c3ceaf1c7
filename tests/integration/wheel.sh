#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wheel.sh COMMAND SOURCE PYTHON: the wheels that tools/make-wheels has made, in an
# environment of Python with nothing but NumPy: Brunel's network by the command and by
# `python -m volley`, a picture, a SONATA recording, a checkpoint, the tests of the
# module, and nothing is left after `pip uninstall`. Results are those of COMMAND.
# Skipped (exit code 77) without a wheel of this commit, a failure then with
# VOLLEY_REQUIRE_WHEEL=1.
set -u
volley=$1
source=$2
python=$3
wheels=$source/build/wheels
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0
unset VOLLEY_LIBRARY PYTHONPATH LD_LIBRARY_PATH
export PYTHONDONTWRITEBYTECODE=1

bad() {
    failed=$((failed + 1))
    echo "FAILED: $*"
    cat out err 2>/dev/null
}

skip() {
    if [ -n "${VOLLEY_REQUIRE_WHEEL:-}" ]; then
        echo "FAILED: $1, and VOLLEY_REQUIRE_WHEEL is set"
        exit 1
    fi
    echo "skipped: $1"
    exit 77
}

# good WHAT COMMAND...: exit code 0
good() {
    what=$1
    shift
    "$@" >out 2>err || bad "$what: exit code $?"
}

set -- "$wheels"/volley_engine-*.whl
[ -f "$1" ] || skip "no wheel: tools/make-wheels cpu"
[ $# -eq 1 ] || bad "several wheels: $*"
wheel=$1
pip=$wheels/venv/bin/pip

"$python" -m venv --without-pip --system-site-packages env || exit 1
env=$folder/env
find env | sort >before
in_env() { # pip, for the environment
    "$pip" -q --disable-pip-version-check --python "$env/bin/python" "$@"
}
good "pip install" in_env install --no-index --no-deps "$wheel"
built=$("$volley" --version | cut -d, -f1)
unset VOLLEY_PLUGIN_PATH
PATH=$env/bin:$PATH
[ "$(volley --version | cut -d, -f1)" = "$built" ] ||
    skip "the wheel is of $(volley --version | cut -d, -f1), this build of $built: \
tools/make-wheels cpu"

# ---- what is in there ----
package=$(echo env/lib/python*/site-packages/volley)
info=$(echo env/lib/python*/site-packages/volley_engine-*.dist-info)
for name in LICENSE hdf5.txt zlib.txt zstd.txt tomlplusplus.txt volk.txt; do
    [ -s "$info/licenses/$name" ] || bad "no licence $name"
done
case $built in
"volley $(sed -n 's/^Version: //p' "$info/METADATA") "*) ;;
*) bad "the version of the wheel is not that of the command" ;;
esac
for name in balanced.py balanced.ipynb; do
    cmp "$source/tools/python/$name" "$package/share/volley/examples/$name" ||
        bad "the example $name is missing or another"
done
grep -q '^Tag: py3-none-manylinux_2_34_' "$info/WHEEL" || bad "tag: $(cat "$info/WHEEL")"
links=$(find "$package" -type l)
[ -z "$links" ] || bad "links: $links"
good plugins volley plugins
for plugin in cpu gemm_cpu attention_cpu nvml vulkan exchange_shm exchange_mpi; do
    [ -f "$package/lib/volley/plugins/$plugin.so" ] || bad "no plugin $plugin"
done
grep -q "$env/.*/volley/lib/volley/plugins/cpu.so" out || bad "another cpu plugin"

# ---- Brunel ----
good "volley new" volley new brunel -o brunel.toml
run="run brunel.toml --ms 20 --backend cpu:2"
digest() {
    sed -n 's/^digest  *//p' "$1"
}
# shellcheck disable=SC2086 # words of a call
good "the build's run" "$volley" $run
want=$(digest out)
[ ${#want} -eq 16 ] || bad "no digest: $want"
# shellcheck disable=SC2086
good "volley run" volley $run --record spikes.csv
[ "$(digest out)" = "$want" ] || bad "volley run: $(digest out), wanted $want"
# shellcheck disable=SC2086
good "python -m volley run" python -m volley $run --record spikes.h5
[ "$(digest out)" = "$want" ] || bad "python -m volley: $(digest out), wanted $want"
python -m volley run no.toml >out 2>err
[ $? -eq 4 ] || bad "the exit code of the command is not kept"
cat >load.py <<'END'
import sys
import volley
from volley import _where
for genome in _where.genome("brunel"), _where.genome("brunel.toml"):
    assert genome.startswith(sys.prefix), genome
assert _where.library().startswith(sys.prefix), _where.library()
assert _where.command().startswith(sys.prefix), _where.command()
assert _where.genome("../../../lib/libvolley") is None
assert _where.genome("no such genome") is None
with volley.load(genome, "cpu:2") as net:
    net.run(ms=20)
    print(f"digest {net.digest:016x}")
END
# with the bytecode that Python keeps beside the modules, which has to go too
good "the module" env -u PYTHONDONTWRITEBYTECODE python load.py
[ "$(digest out)" = "$want" ] || bad "the module: $(digest out), wanted $want"

# ---- a recording, compressed by others, a picture, a checkpoint ----
good "volley inspect" "$volley" inspect spikes.h5
cp out of_build
good "volley inspect" volley inspect spikes.h5
cmp -s out of_build || bad "the wheel reads the recording otherwise than the build"
if command -v h5repack >/dev/null; then
    good h5repack h5repack -f GZIP=6 spikes.h5 packed.h5
    good "volley inspect, compressed" volley inspect packed.h5
else
    echo "h5repack: not installed, not tried"
fi
"$volley" plot raster spikes.csv -o build.svg >out 2>err
code=$?
volley plot raster spikes.csv -o wheel.svg >out 2>err
[ $? -eq $code ] || bad "a picture: wanted exit code $code as of the build"
if [ $code -eq 0 ]; then
    cmp build.svg wheel.svg || bad "another picture than the build draws"
else
    echo "no picture: $(cat err)"
fi
good "a checkpoint" volley run brunel.toml --ms 10 --backend cpu:2 --checkpoint half.vlk
good "resume" volley run brunel.toml --ms 20 --backend cpu:2 --resume half.vlk
[ "$(digest out)" = "$want" ] || bad "resumed: $(digest out), wanted $want"

# ---- the tests of the module ----
for test in "$source"/tests/integration/python_*.py; do
    case $test in
    *_pages.py) continue ;; # what the pages say, of a clone
    esac
    good "${test##*/}" python "$test" "$env/${package#env/}/bin/volley" "$source"
done

# ---- the plugins of CUDA, and out ----
set -- "$wheels"/volley_engine_cuda13-*.whl
if [ -f "$1" ]; then
    good "pip install CUDA" in_env install --no-index --no-deps "$1"
    good "plugins with CUDA" volley plugins
    grep -q "$env/.*/volley/lib/volley/plugins/cuda.so" out || bad "no cuda plugin"
    good "pip uninstall CUDA" in_env uninstall -y volley-engine-cuda13
    [ ! -e "$package/lib/volley/plugins/cuda.so" ] || bad "the cuda plugin is left"
    good "a run after it" volley run brunel.toml --ms 1
    # both, in the order that leaves the folders of the first to the second
    good "pip install CUDA again" in_env install --no-index --no-deps "$1"
    good "pip uninstall both" in_env uninstall -y volley-engine volley-engine-cuda13
else
    echo "the wheel of CUDA: not made, not tried"
    good "pip uninstall" in_env uninstall -y volley-engine
fi
find env | sort >after
diff before after >out || bad "left behind after pip uninstall"
[ "$failed" -eq 0 ]
