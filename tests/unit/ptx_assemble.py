#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ptx_assemble.py PTXAS SPLICER TEXTS FOLDER GENOME...
# The kernels for users' models with the programs of genomes, and with random
# ones, as the driver would compile them: ptxas takes the text for devices 7.5,
# 9.0 and 10.0, spills nothing in the step and hardly anything around it in the
# kernels without other models, and fuses no multiplication with an addition.
# Kernels of nets that learn are assembled with one rule, which leaves the others
# out. Instructions are counted in the machine code: 16 bytes each, the operation
# in the lowest 9 bits.
import os
import re
import struct
import subprocess
import sys

KINDS = {"mixed": 8, "only": 9, "quads": 10, "ports": 8} # from VLY_CUDA_N_MODELS on
# kernels of nets that learn, by text, which a net with a rule may need
LEARNING = [("learning", "_Z10run_burstsILi10EE", True),
            ("learning", "_Z10run_burstsILi9EE", False),
            ("ports_learning", "_Z10run_burstsILi8EE", False),
            ("learners", "_Z12run_residentILi9ELb1ELj768EE", True),
            ("learners", "_Z12run_residentILi8ELb0ELj1024EE", True)]
# kernels of plan partitioned on one device and several: text, name, kinds of sums
SLICED = [("partition", "_Z13run_partition", (0, 1, 2)),
          ("span", "_Z8run_span", (0, 2))]
STDP, TRIPLET = 1, 5 # parts that are needed: rule 0, rules 0 and 2
AROUND = 32 # bytes spilled outside of a step at most; 0 to 16 were found
OPERATIONS = {0x20: "FMUL", 0x21: "FADD", 0x23: "FFMA"}


def fail(text):
    sys.exit("ptx_assemble.py: " + text)


def count(path):
    """Operations of all sections .text.* of a 64-bit ELF file."""
    with open(path, "rb") as file:
        data = file.read()
    start, = struct.unpack_from("<Q", data, 0x28)
    size, n, names = struct.unpack_from("<HHH", data, 0x3a)
    heads = [struct.unpack_from("<IIQQQQ", data, start + k * size)
             for k in range(n)]
    found = dict.fromkeys(OPERATIONS.values(), 0)
    found["all"] = 0
    for name, _, _, _, offset, length in heads:
        at = heads[names][4] + name
        if not data[at:data.index(b"\0", at)].startswith(b".text."):
            continue
        for k in range(offset, offset + length, 16):
            found["all"] += 1
            operation = struct.unpack_from("<H", data, k)[0] & 0x1ff
            if operation in OPERATIONS:
                found[OPERATIONS[operation]] += 1
    return found


def assemble(ptxas, text, architecture, folder):
    """Counts, and what each function spills; None: unknown architecture."""
    source = os.path.join(folder, "spliced.ptx")
    made = os.path.join(folder, "spliced.cubin")
    with open(source, "w", encoding="ascii") as file:
        file.write(text)
    run = subprocess.run([ptxas, f"-arch=sm_{architecture}", "-v", source, "-o",
                          made], capture_output=True, text=True, check=False)
    if "is not defined for option 'gpu-name'" in run.stderr:
        return None
    if run.returncode != 0:
        fail(f"sm_{architecture}: {run.stderr}")
    spilled = [] # by each kernel and by the step in it
    name = ""
    for line in run.stderr.splitlines():
        named = re.search(r"Function properties for (\S+)", line)
        name = named.group(1) if named else name
        stored = re.search(r"(\d+) bytes spill stores", line)
        if stored:
            spilled.append(("program_update" in name, int(stored.group(1))))
    return count(made), spilled


def splice(splicer, kernel, arguments, begin="_Z10run_bursts", needs=0):
    run = subprocess.run([splicer, kernel, begin, str(needs)] + arguments,
                         capture_output=True, text=True, check=False)
    if run.returncode != 0:
        fail(f"{arguments}: exit code {run.returncode}: {run.stderr}")
    return run.stdout


def check(ptxas, text, what, architecture, folder, steps_wanted, spills):
    result = assemble(ptxas, text, architecture, folder)
    if result is None:
        print(f"sm_{architecture}: not known to this ptxas")
        return
    found, spilled = result
    wanted = {name: text.count(name.lower()[1:] + ".rn.f32")
              for name in ("FMUL", "FADD")}
    print(f"{what}, sm_{architecture}: {found}, written {wanted}, "
          f"bytes spilled by kernels and steps {spilled}")
    if found["FFMA"] != 0:
        fail("a multiplication and an addition were fused")
    if wanted["FMUL"] == 0 or found["FMUL"] == 0 or found["FADD"] == 0:
        fail("there is no arithmetic")
    steps = [n for is_step, n in spilled if is_step]
    kernels = [n for is_step, n in spilled if not is_step]
    if len(steps) != steps_wanted:
        fail(f"{len(steps)} functions for steps, wanted {steps_wanted}")
    if not spills and max(steps + kernels) > AROUND:
        fail("the kernel spills")
    if not spills and max(steps + [0]) > 0:
        fail("the step spills")


def check_learning(ptxas, splicer, texts, folder, genome):
    for kind, begin, is_inline in LEARNING:
        kernel = os.path.join(texts, f"burst_spliced_{kind}.ptx")
        text = splice(splicer, kernel, [genome], begin, STDP)
        if text.count(".entry") != 1:
            fail(f"{kernel}: {text.count('.entry')} kernels of {begin}")
        check(ptxas, text, f"{kind}, {begin}", 90, folder,
              0 if is_inline else 1, True)
        # of a rule that the net does not need nothing is compiled
        more = splice(splicer, kernel, [genome], begin, TRIPLET)
        few, _ = assemble(ptxas, text, 90, folder)
        many, _ = assemble(ptxas, more, 90, folder)
        print(f"{kind}, {begin}: {few['all']} instructions with a rule, "
              f"{many['all']} with two")
        if few["all"] + 100 > many["all"]:
            fail("a rule that is not needed is compiled")


def check_sliced(ptxas, splicer, texts, folder, genome):
    for kind, name, sums in SLICED:
        kernel = os.path.join(texts, f"burst_spliced_{kind}.ptx")
        with open(kernel, encoding="ascii") as file:
            entries = re.findall(rf"\.entry ({name}ILi\d+ELj\d+ELi\d+EE)",
                                 file.read())
        # as cuda_splice.c looks for them
        wanted = [f"{name}ILi{model}ELj{unit}ELi{k}EE" for model in (8, 9)
                  for unit in (1, 2, 4) for k in sums]
        if sorted(entries) != sorted(wanted):
            fail(f"{kernel}: kernels {entries}")
        for begin in (wanted[0], wanted[-1]):
            text = splice(splicer, kernel, [genome], begin)
            if text.count(".entry") != 1:
                fail(f"{kernel}: {text.count('.entry')} kernels of {begin}")
            check(ptxas, text, f"{kind}, {begin}", 90, folder, 0, True)
        check(ptxas, splice(splicer, kernel, ["1", "2", "3"], wanted[-1]),
              kind + ", random programs", 90, folder, 0, True)


CONTROL = """.version 7.0
.target sm_75
.address_size 64
.visible .entry control(.param .u64 to)
{
.reg .b64 %d<2>;
.reg .f32 %f<4>;
ld.param.u64 %d0, [to];
ld.global.f32 %f0, [%d0];
mul.rn.f32 %f1, %f0, %f0;
add.rn.f32 %f2, %f1, %f0;
FUSED
st.global.f32 [%d0], %f3;
ret;
}
"""


def main():
    ptxas, splicer, texts, folder = sys.argv[1:5]
    os.makedirs(folder, exist_ok=True)
    # what is counted, and that fused instructions would be seen
    for line, fused in (("fma.rn.f32 %f3, %f2, %f0, %f1;", 1),
                        ("mov.f32 %f3, %f2;", 0)):
        found, _ = assemble(ptxas, CONTROL.replace("FUSED", line), 75, folder)
        del found["all"]
        if found != {"FMUL": 1, "FADD": 1, "FFMA": fused}:
            fail(f"control: {found}")
    for kind, model in KINDS.items():
        kernel = os.path.join(texts, f"burst_spliced_{kind}.ptx")
        with open(kernel, encoding="ascii") as file:
            entries = re.findall(r"\.entry _Z10run_burstsILi(\d+)EE",
                                 file.read())
        # as cuda_splice.c looks for it
        if entries != [str(model)]:
            fail(f"{kernel}: kernels for {entries}, wanted {model}")
        # rows have their steps in the kernel itself
        n_steps = 0 if kind == "quads" else 1
        for genome in sys.argv[5:]:
            first = genome == sys.argv[5] and kind in ("only", "quads")
            text = splice(splicer, kernel, [genome])
            for architecture in (75, 90, 100) if first else (90,):
                check(ptxas, text, f"{kind}, {os.path.basename(genome)}",
                      architecture, folder, n_steps, kind != "only")
        check(ptxas, splice(splicer, kernel, ["1", "2", "3"]),
              kind + ", random programs", 90, folder, n_steps, True)
    check_sliced(ptxas, splicer, texts, folder, sys.argv[5])
    check_learning(ptxas, splicer, texts, folder, sys.argv[5])


main()
