#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ci_changes.sh SOURCE GIT
# What .ci/changes leaves out, in a small repository made here: a part runs if a
# file of its own or one that it includes has changed, and everything runs if that
# cannot be known.
set -u
source=$1
git=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
unset VOLLEY_CI_ALL VOLLEY_CI_BASE
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export PYTHONDONTWRITEBYTECODE=1
PATH=$(dirname "$git"):$PATH
export PATH

bad() {
    failed=$((failed + 1))
    echo "FAILED: $*"
    cat "$folder/out" "$folder/plan"
}

in_git() {
    git -c user.name=x -c user.email=x@x "$@" >"$folder/git" 2>&1 || {
        cat "$folder/git"
        bad "git $*"
    }
}

# put PATH TEXT
put() {
    mkdir -p "$(dirname "$1")"
    printf '%s\n' "$2" >"$1"
}

changes() {
    .ci/changes --shell "$folder/plan" >"$folder/out" ||
        bad "changes: exit code $?"
}

# plan NAME=VALUE...: each is in the plan
plan() {
    for line; do
        grep -q -x -F -e "plan_$line" "$folder/plan" || bad "$what: not $line"
    done
}

# whole SENTENCE: everything runs, and this is why
whole() {
    plan everything=1 accelerators=1 cuda=1 vulkan=1 sanitizers=1 command=1 tools=1
    plan "untouched=''"
    grep -q "^everything is checked: $1" "$folder/out" || bad "$what: no $1"
    ! grep -q "LEFT OUT" "$folder/out" || bad "$what: something is left out"
}

nothing="accelerators=0 cuda=0 vulkan=0"
mkdir "$folder/tree"
cd "$folder/tree" || exit 1
mkdir .ci
cp "$source/.ci/changes" .ci/
put core/base/memory.h ''
put core/genome/genome.c '#include "base/memory.h"'
put core/include/volley/plugin.h ''
put kernels/models/lif.h ''
put backends/cpu/cpu.c '#include <volley/plugin.h>
#include "kernels/models/lif.h"'
put backends/cuda/cuda_net.c '#include <volley/plugin.h>'
put backends/vulkan/vulkan.c '#include "kernels/models/lif.h"'
put plugins/gemm/gemm.c '#include <volley/plugin.h>'
put kernels/cuda/burst.cu ''
put tools/main.c '#include "genome/genome.h"'
put core/genome/genome.h ''
put tests/unit/test_genome.c '#include "genome/genome.h"
VLY_TEST_MAIN(tests)'
put tests/unit/test_memory.c '#include "base/memory.h"
int main(void)'
put tests/unit/test_vulkan_paths.c '#include "vulkan_device.h"
VLY_TEST_MAIN(tests)'
put tests/unit/test_fixture.c ''
put tests/unit/vulkan_device.h ''
put tests/unit/vulkan_device.c '#include "vulkan_device.h"'
put docs/guide.md ''
put README.md ''
put CMakeLists.txt ''
in_git init -q
in_git add .
in_git commit -q -m one

what="no record"
changes
whole "no full pass is recorded"
now=$(date -u +%Y%m%dT%H%M%SZ)
for tag in 20200101T000000Z 29990101T000000Z yesterday; do
    what="tag $tag"
    in_git tag "ci-pass/$tag"
    changes
    whole "\(the last recorded full pass\|tag\)"
    in_git tag -d "ci-pass/$tag"
done

in_git tag "ci-pass/$now"
what="no change"
changes
# shellcheck disable=SC2086 # words
plan everything=0 sanitizers=0 $nothing
grep -q "^  LEFT OUT  sanitizers" "$folder/out" || bad "$what: not printed"
what="all asked for"
VOLLEY_CI_ALL=1 changes
whole "VOLLEY_CI_ALL is set"

# one PATH PLAN...: an uncommitted change of one file
one() {
    what=$1
    echo "/* changed */" >>"$1"
    changes
    shift
    plan "$@"
    in_git checkout -q .
}

# shellcheck disable=SC2086 # words
{
    one docs/guide.md sanitizers=0 command=0 $nothing
    one core/base/memory.h sanitizers=1 command=1 tools=0 $nothing \
        "untouched='^test_vulkan_paths\$'"
    one core/genome/genome.c sanitizers=1 command=1 $nothing \
        "untouched='^test_memory\$|^test_vulkan_paths\$'"
    one tools/main.c sanitizers=1 command=1 tools=1 $nothing \
        "untouched='^test_genome\$|^test_memory\$|^test_vulkan_paths\$'"
    one tests/unit/test_memory.c sanitizers=1 command=0 $nothing \
        "untouched='^test_genome\$|^test_vulkan_paths\$'"
    one plugins/gemm/gemm.c accelerators=1 cuda=0 vulkan=0
    one kernels/models/lif.h accelerators=0 cuda=0 vulkan=1 "untouched=''"
    one core/include/volley/plugin.h accelerators=1 cuda=1 vulkan=0
    one kernels/cuda/burst.cu accelerators=0 cuda=1 vulkan=0
    # a fixture, by the header that the test includes
    one tests/unit/vulkan_device.c accelerators=0 cuda=0 vulkan=1 command=0
}
for path in CMakeLists.txt .ci/changes; do
    what="change of $path"
    echo "# changed" >>$path
    changes
    whole "$path decides"
    in_git checkout -q .
done
what="a folder of no part"
put elsewhere/x.c ''
changes
whole "elsewhere/x.c is of no known part"
rm -r elsewhere
what="a file that is gone"
rm backends/vulkan/vulkan.c
changes
plan vulkan=1 accelerators=0
in_git checkout -q .

# committed changes are counted from the pass on, and from a base
put core/genome/genome.c '/* two */'
in_git commit -q -a -m two
put docs/guide.md 'three'
in_git commit -q -a -m three
what="two commits after the pass"
changes
plan everything=0 sanitizers=1
what="a base"
VOLLEY_CI_BASE=HEAD~1 changes
plan everything=0 sanitizers=0
for base in "" no-such-commit; do
    what="base \"$base\""
    VOLLEY_CI_BASE=$base changes
    whole "VOLLEY_CI_BASE"
done
what="a clone without history"
in_git clone -q --depth 1 "file://$folder/tree" "$folder/shallow"
cd "$folder/shallow" || exit 1
changes
whole "this clone has no history"
what="no repository"
cd "$folder/tree" || exit 1
rm -rf .git
changes
whole "this is not a git repository"

[ "$failed" -eq 0 ]
