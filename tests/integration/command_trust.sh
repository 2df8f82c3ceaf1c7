#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whose code runs: a file is described without loading it, plugins come from
# folders that others cannot write to, and not from where argv[0] says.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

VOLLEY_TRAP=$folder/sprung
export VOLLEY_TRAP
trap_plugin=$test_plugins/trap.so

# shellcheck disable=SC2317 # called by holds
# rests: the plugin was not loaded since this was last asked
rests() {
    [ ! -e sprung ]
}

# shellcheck disable=SC2317 # called by holds
# sprung: it was
sprung() {
    [ -e sprung ] && rm -f sprung
}

# ---- what a file is ----
cp "$trap_plugin" recording.vls
expect 0 inspect recording.vls
prints "shared object, not loaded"
prints "exports     vly_plugin_entry"
prints "needs       lib" # which of them is the first, a sanitizer decides
prints "libc.so"
prints "file hash"
holds rests
expect 0 inspect "$trap_plugin"
holds rests
# where it is asked for as a plugin it is one, whatever its name
expect 0 inspect --plugin recording.vls
prints "plugin trap"
holds sprung
expect 2 conformance recording.vls --case nonesuch
holds sprung
# a shared object that is no plugin, and one whose tables are cut off
expect 3 inspect "$test_plugins/broken_no_entry.so"
says "exports no vly_plugin_entry: not a Volley plugin"
head -c 4000 "$trap_plugin" >cut.so
expect 3 inspect cut.so
says "cut off"
printf '\177ELF' >tiny.so
expect 3 inspect tiny.so
says "is not an ELF file"
expect 2 inspect --plugin small.toml
says "not a shared object"
holds rests
# each byte of the tables wrong in turn: a sentence or a description, never more
size=$(wc -c <"$trap_plugin")
at=64
while [ "$at" -lt "$size" ] && [ "$at" -lt 9000 ]; do
    cp "$trap_plugin" wrong.so
    printf '\377\377\377\377' |
        dd of=wrong.so bs=1 seek="$at" conv=notrunc 2>dd.err
    "$volley" inspect wrong.so >out 2>err
    found=$?
    checks=$((checks + 1))
    [ "$found" -eq 0 ] || [ "$found" -eq 3 ] || bad "byte $at: exit code $found"
    at=$((at + 199))
done
holds rests

# ---- where plugins come from ----
given=$VOLLEY_PLUGIN_PATH
unset VOLLEY_PLUGIN_PATH
mkdir -p elsewhere/bin elsewhere/lib/volley/plugins elsewhere/share/volley
cp "$trap_plugin" elsewhere/lib/volley/plugins
for shell in bash ksh zsh; do
    command -v $shell >/dev/null || continue
    for name in "$folder/elsewhere/bin/volley" elsewhere/bin/volley volley; do
        $shell -c "exec -a $name $volley plugins" >out 2>err
        holds [ $? -eq 0 ]
        holds rests
        prints "cpu 0"
        holds sh -c '! grep -q "^trap" out'
    done
    # nor do the genomes that ship
    mkdir -p elsewhere/share/volley/genomes
    $shell -c "exec -a $folder/elsewhere/bin/volley $volley new brunel" \
        >out 2>err
    holds [ $? -eq 0 ]
    prints "[area."
    break
done
# a link to the program is the program
ln -s "$volley" elsewhere/bin/volley
elsewhere/bin/volley plugins >out 2>err
holds [ $? -eq 0 ]
holds rests
prints "cpu 0"

# ---- owner and mode ----
VOLLEY_PLUGIN_PATH=$folder/elsewhere/lib/volley/plugins
export VOLLEY_PLUGIN_PATH
expect 0 plugins
prints "trap 1: ok"
holds sprung
# with a group of one's own the umask is 002
chmod 775 "$VOLLEY_PLUGIN_PATH"
chmod 664 "$VOLLEY_PLUGIN_PATH/trap.so"
expect 0 plugins
prints "trap 1: ok"
holds sprung
chmod 777 "$VOLLEY_PLUGIN_PATH"
expect 0 plugins
says "$VOLLEY_PLUGIN_PATH: has mode 0777, which lets all users change it"
prints "wanted no write permission for others (chmod o-w)"
holds rests
VOLLEY_PLUGIN_PATH=$VOLLEY_PLUGIN_PATH/trap.so expect 0 plugins
says "its folder has mode 0777"
holds rests
chmod 1777 "$VOLLEY_PLUGIN_PATH" # as /tmp: others cannot replace a file
expect 0 plugins
prints "trap 1: ok"
holds sprung
chmod 755 "$VOLLEY_PLUGIN_PATH"
chmod 666 "$VOLLEY_PLUGIN_PATH/trap.so"
expect 0 plugins
says "$VOLLEY_PLUGIN_PATH/trap.so: has mode 0666"
holds rests
# a file that is asked for by its path is the user's choice
expect 0 inspect --plugin "$VOLLEY_PLUGIN_PATH/trap.so"
holds sprung
chmod 644 "$VOLLEY_PLUGIN_PATH/trap.so"
if [ "$(id -u)" -eq 0 ] && [ "$(stat -c %u "$volley")" -ne 12345 ]; then
    chown 12345 "$VOLLEY_PLUGIN_PATH/trap.so"
    expect 0 plugins
    says "$VOLLEY_PLUGIN_PATH/trap.so: belongs to user 12345, wanted root, user 0"
    holds rests
    chown 0 "$VOLLEY_PLUGIN_PATH/trap.so"
    chown 12345 "$VOLLEY_PLUGIN_PATH"
    expect 0 plugins
    says "$VOLLEY_PLUGIN_PATH: belongs to user 12345"
    holds rests
    chown 0 "$VOLLEY_PLUGIN_PATH"
else
    echo "skipped: a foreign owner, which takes root to make"
fi
# a backend of a folder that is refused is not there, and said why
chmod 777 "$VOLLEY_PLUGIN_PATH"
expect 3 run small.toml --backend trap
says "has mode 0777"
says "plugin trap: there is none with this id"
holds rests
VOLLEY_PLUGIN_PATH=$given

# ---- what is shown of a file that a genome names ----
# tells LINE...: a genome that ends in these lines is refused, and the message
# has nothing of the file but its place
tells() {
    {
        printf 'format = 1\n[area.A]\nmodel = "lif_psc_delta"\nneurons = 3\n'
        printf '%s\n' "$@"
    } >names.toml
    expect 2 check names.toml
    says "shadow"
    holds sh -c '! grep -qi "secret\|daemon" err'
}
# shellcheck disable=SC2016,SC2059 # as it is, with line breaks
for text in 'root:$6$secret:19000:0\ndaemon:*:secret\n' \
    'secret,secret,12\nsecret,daemon\n' 'SECRET=secret\nSECRET=secret\n' \
    '[secret]\nx = tsecret\n[secret]\n' 'secret = "secret"\n' \
    '-----secret-----\nsecret\n' '17,secret\nsecret,1\n'; do
    printf -- "$text" >shadow
    tells 'tau_m_ms = { file = "shadow" }'
    tells 'tau_m_ms = { file = "shadow", column = "12" }'
    tells '[[map]]' 'from = "A"' 'to = "A"' 'rule = "file"' 'file = "shadow"'
    tells '[area.A.positions]' 'file = "shadow"'
    tells '[use.B]' 'file = "shadow"'
done
# with the name of its column known
printf 'x:secret_\nsecret\nsecret\nsecret\n' >shadow
{
    printf 'format = 1\n[area.A]\nmodel = "lif_psc_delta"\nneurons = 3\n'
    printf 'tau_m_ms = { file = "shadow", column = "x:secret_" }\n'
} >names.toml
expect 2 check names.toml
says "shadow:2:1: column 1 is text of 6 bytes, wanted a number"
holds sh -c '! grep -q secret err'
done_checks
