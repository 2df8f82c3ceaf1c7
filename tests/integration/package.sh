#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# package.sh CPACK CMAKE BUILD SOURCE CC PYTHON: makes the Debian package, installs
# it into a folder of its own, runs a genome there, builds first_program.c against
# it with pkg-config and with CMake, loads the Python module (PYTHON may be empty:
# no NumPy), and removes it: nothing may be left.
set -eu
cpack=$1
cmake=$2
build=$3
source=$4
cc=$5
python=$6
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset VOLLEY_PLUGIN_PATH LD_LIBRARY_PATH

fail() {
    echo "package.sh: $*" >&2
    exit 1
}

# By a generator without a target `preinstall`: that of make would build what is
# not newer than its sources, and other tests run these programs at the moment.
"$cpack" --config "$build/CPackConfig.cmake" -G DEB -B "$folder/pack" \
    -D CPACK_CMAKE_GENERATOR=Ninja >"$folder/log" 2>&1 || {
    cat "$folder/log" >&2
    fail "cpack failed"
}
set -- "$folder"/pack/volley_*.deb
[ $# -eq 1 ] && [ -f "$1" ] || fail "wanted one package, found $*"
package=$1
dpkg-deb -f "$package" Package Version Architecture Depends
case $(dpkg-deb -f "$package" Depends) in
*libc6*) ;;
*) command -v dpkg-shlibdeps >/dev/null && fail "no dependency on libc6" ;;
esac

# A database of its own; what the package needs is on this machine, not in there.
# Its scripts call ldconfig, which would be this machine's.
root=$folder/root
mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" "$folder/bin"
: >"$root/var/lib/dpkg/status"
printf '#!/bin/sh\n' >"$folder/bin/ldconfig"
chmod +x "$folder/bin/ldconfig"
in_root() {
    # images of containers leave out the documentation of every package
    PATH=$folder/bin:$PATH dpkg --root="$root" --force-not-root \
        --path-include='/usr/share/doc/*' \
        --force-depends --force-script-chrootless --log=/dev/null "$@" >"$folder/log" 2>&1 || {
        cat "$folder/log" >&2
        fail "dpkg $*"
    }
}
in_root -i "$package"
[ "$(dpkg --root="$root" -L volley | wc -l)" -gt 50 ] || fail "few files"
for page in "$source"/docs/*.md; do # where README.md links to
    [ -f "$root/usr/share/doc/volley/docs/${page##*/}" ] ||
        fail "the package lacks docs/${page##*/}"
done

volley=$root/usr/bin/volley
genome=$root/usr/share/volley/genomes/three.toml
want=$("$volley" run "$genome" --backend cpu:1 --bursts 300 2>/dev/null |
    sed -n 's/^digest  *//p')
[ "${#want}" -eq 16 ] || fail "the installed command gave the digest '$want'"
"$volley" new brunel -o "$folder/mine.toml" || fail "volley new"

check() { # check NAME PROGRAM: the same digest, more than no spikes
    LD_LIBRARY_PATH=$libdir "$2" "$genome" 300 >"$folder/out" ||
        fail "the program built with $1 failed"
    grep -q "^[1-9][0-9]* spikes, $want\$" "$folder/out" ||
        fail "$1: $(cat "$folder/out"), wanted $want"
    echo "$1: $(cat "$folder/out")"
}
library=$(find "$root/usr" -name libvolley.so)
libdir=$(dirname "$library")
cp "$source/tests/integration/first_program.c" "$folder"
if command -v pkg-config >/dev/null; then
    # shellcheck disable=SC2046 # a list of options
    "$cc" -std=c11 -Wall -Wextra -Werror -o "$folder/by_pkg" \
        "$folder/first_program.c" $(PKG_CONFIG_PATH=$libdir/pkgconfig \
        pkg-config --cflags --libs volley)
    check pkg-config "$folder/by_pkg"
else
    echo "pkg-config: not installed, not tried"
fi
cat >"$folder/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(first LANGUAGES C)
find_package(Volley REQUIRED)
add_executable(first first_program.c)
target_link_libraries(first PRIVATE Volley::volley)
END
"$cmake" -S "$folder" -B "$folder/by_cmake" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_PREFIX_PATH="$root/usr" >/dev/null
"$cmake" --build "$folder/by_cmake" >/dev/null
check cmake "$folder/by_cmake/first"

if [ -n "$python" ]; then
    got=$(PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$root/usr/lib/python3/dist-packages \
        "$python" -c '
import sys, volley
with volley.load(sys.argv[1], "cpu:1") as net:
    net.run(300)
    print(f"{net.digest:016x}")' "$genome")
    [ "$got" = "$want" ] || fail "Python: $got, wanted $want"
    echo "python: $got"
fi

in_root -r volley
left=$(find "$root" -type f ! -path "$root/var/*")
[ -z "$left" ] || fail "left behind: $left"
echo "removed"
