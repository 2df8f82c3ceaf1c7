#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# emulated_cuda.py FOLDER FILE...
# Sources of kernels/cuda as C++ for the processor (emulated_cuda.h), into
# FOLDER: inline PTX becomes what it does, launches and shared memory become
# calls. An instruction that is not known here ends it with exit code 1.
import os
import re
import sys

# Effect of an instruction, by a part of its text; {0}, {1} are operands.
# Polling lets other threads run first.
PTX = [
    ("//VLY_STEP",
     "{0} = fake_jit_step({1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, "
     "{11}, {12}, {13}, {14}, {15})"),
    ("//VLY_READ", ""),
    ("//VLY_WRITE", ""),
    ("//VLY_NEEDS", "fake_jit_needs({0})"),
    ("barrier.cluster.arrive", "emulated_cluster_sync()"),
    ("barrier.cluster.wait", ""),
    ("mbarrier.init", "emulated_barrier_init({0}, {1})"),
    ("fence.", ""),
    ("mapa.shared::cluster.u32",
     "{0} = (uint32_t)__cvta_generic_to_shared("
     "emulated_mapa((uint8_t *)emulated_word({0}), {1}))"),
    ("mbarrier.arrive", "emulated_barrier_arrive({0})"),
    ("mbarrier.try_wait", "{0} = emulated_barrier_try({1}, {2})"),
    ("mapa.u64", "{0} = emulated_mapa({1}, {2})"),
    ("ld.relaxed.cluster.u32", "{0} = *({1})"),
    ("st.release.gpu.global.u32", "*({0}) = {1}"),
    ("st.relaxed.gpu.global.u32", "*({0}) = {1}"),
    ("st.relaxed.sys.global.u32", "*({0}) = {1}"),
    ("ld.relaxed.sys.global.u32", "emulated_yield(); {0} = *({1})"),
    ("st.relaxed.sys.global.u64", "*({0}) = {1}"),
    ("ld.relaxed.sys.global.u64", "emulated_yield(); {0} = *({1})"),
    ("globaltimer", "{0} = emulated_time_ns()"),
    ("trap;", "emulated_trap()"),
    ("ld.relaxed.gpu.global.b128",
     "emulated_yield(); memcpy(&v, {4}, sizeof v)"),
    ("st.relaxed.gpu.global.b128", "memcpy({0}, &v, sizeof v)"),
    ("ld.relaxed.gpu.global.u32", "emulated_yield(); {0} = *({1})"),
    ("ld.relaxed.gpu.global.u64", "emulated_yield(); {0} = *({1})"),
    ("ld.acquire.gpu.global.u32", "emulated_yield(); {0} = *({1})"),
    ("no_allocate.v4", "memcpy(&v, {4}, sizeof v)"),
    ("no_allocate.v2", "memcpy(&v, {2}, sizeof v)"),
    ("no_allocate.u32", "{0} = *({1})"),
    ("setp.lt.u32",
     "if (({0}) < ({1})) *(uint32_t *)emulated_word("
     "(uint64_t)({3}) << 32 | (uint32_t)({2})) += (uint32_t)({4})"),
    ("red.shared.add.u32",
     "*(uint32_t *)emulated_word({0}) += (uint32_t)({1})"),
    ("red.release.gpu.global.add.u32", "*({0}) += 1"),
    ("mov.u32 %0, %1", "{0} = {1}"),
    ("prefetch", ""),
]


def closing(text, at):
    """Behind the parenthesis that closes the one before at."""
    depth = 1
    quoted = False
    while depth > 0:
        if text[at] == '"' and text[at - 1] != "\\":
            quoted = not quoted
        if not quoted:
            depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at


def translate(body):
    operands = []
    for found in re.finditer(r'"[+=&]*[rlfn]"\s*\(', body):
        end = closing(body, found.end())
        operands.append(body[found.end():end - 1].strip())
    for part, action in PTX:
        if part in body:
            return "{ " + action.format(*operands) + "; }"
    sys.exit("emulated_cuda.py: what is " + body)


def replace_asm(text):
    made = ""
    done = 0
    for found in re.finditer(r"\basm(?: volatile)?\s*\(", text):
        end = closing(text, found.end())
        made += text[done:found.start()]
        made += translate(text[found.end():end - 1])
        done = text.index(";", end) + 1
    return made + text[done:]


def replace_shared(text):
    text = re.sub(
        r"extern __shared__ (?:__align__\(16\) )?(\w+) dynamic\[\];",
        r"\1 *dynamic = (\1 *)emulated_self->block->dynamic;", text)
    number = 0

    def static(found):
        nonlocal number
        kind, name, count = found.groups()
        number += 1
        place = f"emulated_static({number - 1}, sizeof({kind})"
        if count:
            return f"{kind} *{name} = ({kind} *){place} * ({count}));"
        return f"{kind} &{name} = *({kind} *){place});"

    return re.sub(r"__shared__ (\w+) (\w+)(?:\[(\w+)\])?;", static, text)


def replace_launches(text):
    text = re.sub(r"\(\s*const void \*\)\s*(\w+<[^>]*>)",
                  r"emulated_pointer<\1>()", text)
    # what had been in parentheses for the sake of the layout
    text = re.sub(r"(\w+(?:<[^<>;]*>)?)<<<(.*?)>>>\s*\((.*?)\);",
                  r"emulated_launch([&] { \1(\3); }, \2);", text,
                  flags=re.DOTALL)
    text = re.sub(r"(?<![.\w])gridDim\b", "emulated_grid", text)
    text = re.sub(r"(?<![.\w])blockDim\b", "emulated_size", text)
    return re.sub(r"(?<![.\w])clock(64)?\(\)", "emulated_clock()", text)


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        text = replace_launches(replace_shared(replace_asm(text)))
        name = os.path.basename(path)
        if name.endswith(".cu"):
            name = name[:-3] + ".cpp"
            text = '#include "emulated_cuda.h"\n' + text
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)


main()
