#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# volley monitor convert: every layout to one, types, refusals, files that fail;
# and the table of volley monitor's subcommands.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"
golden=$genomes/../tests/golden/rwkv7/tiny-rwkv7-834k.safetensors
corpus=$genomes/../tests/fuzz/corpus/safetensors

# refused CODE TEXT ARGUMENTS...: one line, and nothing is left of the output
refused() {
    code=$1
    text=$2
    shift 2
    expect "$code" monitor convert "$@"
    says "$text"
    holds [ "$(wc -l <err)" -eq 1 ]
    holds [ ! -s out ]
    holds [ ! -e x.st ]
    # shellcheck disable=SC2010 # names of this script's own
    holds [ "$(ls -A | grep -c tmp)" -eq 0 ]
}

# ---- the table ----
expect 2 monitor
says "usage: volley monitor SUBCOMMAND"
expect 0 monitor --help
prints "convert    Converts the weights of an RWKV-7 model"
expect 0 help monitor
prints "usage: volley monitor SUBCOMMAND"
expect 0 monitor convert --help
prints "usage: volley monitor convert FILE.safetensors -o FILE.safetensors"
cp out help
expect 0 help monitor convert
holds cmp -s out help
expect 2 help monitor covert
says "unknown subcommand monitor covert; \`volley monitor --help\` lists them"
expect 2 monitor covert
says "unknown subcommand monitor covert; did you mean convert?"
expect 2 monitor zzzzzzzz
says "unknown subcommand monitor zzzzzzzz; \`volley monitor --help\` lists them"
expect 2 monitor convert --typo x
says "unknown option --typo; did you mean --type?"

# ---- what is made ----
expect 0 monitor convert "$golden" -o native.st
prints "native.st: 12 layers of width 64, vocabulary 256, ranks w 32, a 32, v 32, g 32: 829,888 parameters"
expect 0 monitor convert native.st -o again.st --transposed no
holds cmp -s native.st again.st
expect 0 monitor convert native.st -o - --type fp32
holds cmp -s native.st out
expect 0 monitor convert native.st -o small.st --type bf16
expect 0 monitor convert small.st -o wide.st --type fp32
expect 0 monitor convert wide.st -o small.st --type bf16 --force
expect 0 monitor convert small.st -o same.st
holds cmp -s small.st same.st
expect 0 monitor convert same.st -o same.st --force
holds cmp -s small.st same.st
# by a link the file itself would be written while it is read
ln -s same.st link.st
expect 2 monitor convert same.st -o link.st --force
says "link.st is the same file as same.st, what is converted"
holds cmp -s small.st same.st
expect 0 monitor convert "$corpus/native.safetensors" -o a.st
expect 0 monitor convert "$corpus/fla.safetensors" -o b.st
holds [ "$(wc -c <a.st)" -eq "$(wc -c <b.st)" ]

# ---- what is refused ----
refused 2 "usage: volley monitor convert FILE.safetensors -o"
refused 2 "what is written is not named, wanted -o FILE" "$golden"
refused 2 "native.st is there already; --force replaces it" "$golden" -o native.st
holds cmp -s native.st again.st
refused 2 "--type is fp8, wanted fp32, fp16 or bf16" "$golden" -o x.st --type fp8
refused 2 "--transposed is maybe, wanted yes or no" "$golden" -o x.st \
    --transposed maybe
refused 2 "tensor blocks.0.att.w1 is not transposed, and it was said to be" \
    "$golden" -o x.st --transposed yes
refused 4 "no.st: cannot be read: No such file" no.st -o x.st
refused 2 "its first 8 bytes say" "$genomes/three.toml" -o x.st
refused 2 "it is cut" "$corpus/cut.safetensors" -o x.st
refused 2 "has no tensor emb.weight" "$corpus/empty.safetensors" -o x.st
refused 2 "tensor a is not a tensor of RWKV-7" "$corpus/good.safetensors" -o x.st
refused 4 "none/x.st: cannot be written: No such file" "$golden" -o none/x.st
if [ -c /dev/full ]; then
    "$volley" monitor convert "$golden" -o - >/dev/full 2>err
    holds [ $? -eq 4 ]
    says "standard output: cannot be written: No space left on device"
fi
# the file grows over a limit of its user in the middle of the weights
(
    ulimit -f 1000
    "$volley" monitor convert "$golden" -o x.st
) >out 2>err
holds [ $? -eq 4 ]
says "x.st: cannot be written: File too large"
holds [ ! -e x.st ]
# shellcheck disable=SC2010
holds [ "$(ls -A | grep -c tmp)" -eq 0 ]

# a signal while a pipe is full: the rest is not written
mkfifo pipe
"$volley" monitor convert "$golden" -o pipe --force >out 2>err &
process=$!
exec 3<pipe # waits for the other end, which is opened with signals deferred
kill -TERM $process
cat <&3 >got
exec 3<&-
wait $process
holds [ $? -eq 6 ]
holds [ "$(wc -c <got)" -lt "$(wc -c <native.st)" ]
rm -f pipe

# ---- layouts and types, written by Python ----
if ! command -v python3 >/dev/null 2>&1; then
    echo "no python3: layouts and roundings are left out"
    done_checks
fi
cat >change.py <<'END'
import json, re, struct, sys

def load(path):
    data = open(path, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8:8 + n])
    notes = head.pop("__metadata__", None)
    body = data[8 + n:]
    return notes, {k: (v["dtype"], v["shape"],
                       body[slice(*v["data_offsets"])])
                   for k, v in head.items()}

def save(path, notes, tensors):
    head, body = {"__metadata__": notes}, b""
    for k, (kind, shape, data) in tensors.items():
        head[k] = {"dtype": kind, "shape": shape,
                   "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(head).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + body)

def turned(tensor):
    kind, (rows, columns), data = tensor
    size = len(data) // (rows * columns)
    cells = [data[i:i + size] for i in range(0, len(data), size)]
    return kind, [columns, rows], b"".join(
        cells[r * columns + c] for c in range(columns) for r in range(rows))

FLA = {"ln0": "pre_norm", "ln1": "attn_norm", "ln2": "ffn_norm",
       "att.ln_x": "attn.g_norm", "att.receptance": "attn.r_proj",
       "att.key": "attn.k_proj", "att.value": "attn.v_proj",
       "att.output": "attn.o_proj"}

def fla_name(name):
    whole = {"emb.weight": "model.embeddings.weight",
             "head.weight": "lm_head.weight"}
    if name in whole:
        return whole[name]
    if name.startswith("ln_out."):
        return "model.norm." + name[7:]
    layer, rest = re.match(r"blocks\.(\d+)\.(.*)", name).groups()
    stem, _, end = rest.rpartition(".")
    lora = re.fullmatch(r"att\.([wavg])([012])", rest)
    if lora:
        rest = "attn.%s_lora.lora.%s" % (
            lora[1], {"0": "2.bias", "1": "0.weight", "2": "2.weight"}[lora[2]])
    elif stem in FLA:
        rest = FLA[stem] + "." + end
    elif rest.startswith("att."):
        rest = "attn." + rest[4:]
    return "model.layers.%s.%s" % (layer, rest)

def is_lora(name):
    return re.search(r"\.att\.[wavg][12]$", name)

notes, native = load(sys.argv[1])
swapped = {k: turned(v) if is_lora(k) else v for k, v in native.items()}
save("swapped.st", notes, swapped)
backwards = dict(reversed(list(swapped.items())))
save("fla.st", notes, {fla_name(k): v for k, v in backwards.items()})
# a rank that is the width, in every low-rank product
def widened(name, tensor):
    if not is_lora(name):
        return tensor
    return tensor[0], [64, 64], tensor[2] * 2
save("square.st", notes, {k: widened(k, v) for k, v in native.items()})
# other ranks: the first columns of the first matrix, the first rows of the other
def cut(name, tensor, rank):
    if not is_lora(name):
        return tensor
    if name.endswith("1"):
        return turned(cut(name[:-1] + "2", turned(tensor), rank))
    kind, (rows, columns), data = tensor
    return kind, [rank, columns], data[:len(data) // rows * rank]
for rank in (1, 2, 8):
    some = {k: cut(k, v, rank) for k, v in native.items()}
    save("native%d.st" % rank, notes, some)
    some = {k: turned(v) if is_lora(k) else v for k, v in some.items()}
    save("swapped%d.st" % rank, notes, some)
    save("fla%d.st" % rank, notes,
         {fla_name(k): v for k, v in reversed(list(some.items()))})
large = dict(native)
kind, shape, data = large["blocks.3.ffn.key.weight"]
large["blocks.3.ffn.key.weight"] = (
    kind, shape, data[:400] + struct.pack("<f", -65520) + data[404:])
save("large.st", notes, large)
END
cat >round.py <<'END'
import struct, sys
sys.argv = sys.argv[:1] + ["native.st"]
exec(open("change.py").read().split("notes, native")[0])
wide, half, brain = (load(p)[1] for p in ("native.st", "half.st", "brain.st"))
n = 0
for name, (kind, shape, data) in wide.items():
    assert (half[name][0], brain[name][0]) == ("F16", "BF16"), name
    assert half[name][1] == brain[name][1] == shape, name
    for i, (x,) in enumerate(struct.iter_unpack("<f", data)):
        if i % 7:  # enough of them
            continue
        h = struct.pack("<e", x)
        assert half[name][2][2 * i:2 * i + 2] == h, (name, i, x)
        bits = struct.unpack("<I", struct.pack("<f", x))[0]
        b = bits + 0x7fff + (bits >> 16 & 1) >> 16
        assert brain[name][2][2 * i:2 * i + 2] == struct.pack("<H", b), (name, i)
        n += 1
assert n > 100000
END
holds python3 change.py "$golden"
for name in swapped fla; do
    expect 0 monitor convert $name.st -o made.st --force
    holds cmp -s made.st native.st
done
expect 0 monitor convert swapped.st -o made.st --force --transposed yes
holds cmp -s made.st native.st
# every layout of a rank is one file, and that file answers
for rank in 1 2 8; do
    expect 0 monitor convert native$rank.st -o rank.st --force
    prints "ranks w $rank, a $rank, v $rank, g $rank"
    expect 0 monitor ask rank.st a --tokens 4 --temperature 0 --logits logits
    cp out answer
    expect 0 monitor ask native$rank.st a --tokens 4 --temperature 0 \
        --logits wanted
    holds cmp -s out answer
    holds cmp -s logits wanted
    for name in swapped fla rank; do
        [ $name = rank ] || name=$name$rank
        expect 0 monitor convert $name.st -o made.st --force
        holds cmp -s made.st rank.st
    done
done
refused 2 "tensor blocks.0.att.w1 is transposed, and it was said not to be" \
    swapped.st -o x.st --transposed no
refused 2 "--transposed" square.st -o x.st
says "the ranks are the width, so shapes do not say"
expect 0 monitor convert square.st -o a.st --force --transposed no
expect 0 monitor convert square.st -o b.st --force --transposed yes
holds [ "$(wc -c <a.st)" -eq "$(wc -c <b.st)" ]
checks=$((checks + 1))
cmp -s a.st b.st && bad "--transposed changes nothing"
# such a file is run once it says which it is, and only then
refused_run() {
    expect 2 "$@"
    says "the ranks are the width, so shapes do not say"
    says "\`volley monitor convert\` with --transposed yes or no makes a file"
}
refused_run monitor ask square.st a --tokens 4
refused_run run "$genomes/three.toml" --backend cpu --bursts 10 \
    --monitor=square.st
expect 0 monitor ask a.st a --tokens 4 --temperature 0
expect 0 monitor convert a.st -o made.st --force
holds cmp -s made.st a.st
refused 2 "a.st: its metadata say volley.low_rank: native" a.st -o x.st \
    --transposed yes
refused 2 "large.st: tensor blocks.3.ffn.key.weight has a weight of -65520, which is too large for fp16" \
    large.st -o x.st --type fp16
expect 0 monitor convert large.st -o made.st --force --type bf16
expect 0 monitor convert native.st -o half.st --type fp16
expect 0 monitor convert native.st -o brain.st --type bf16
holds python3 round.py
done_checks
