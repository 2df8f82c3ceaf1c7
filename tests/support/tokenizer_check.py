# SPDX-License-Identifier: Apache-2.0
"""A vocabulary of the World's size and form, made here, against a tokenizer in
Python that takes literals by eval() and tries every length, longest first.

    tokenizer_check.py TOKENIZER_CHECK FOLDER
"""
import os
import random
import subprocess
import sys

N_TOKENS = 65529


def make_tokens(rng):
    tokens = {bytes([b]): None for b in range(256)}

    def add(data):
        if 0 < len(data) <= 128:
            tokens.setdefault(data, None)

    for text in ("'", '"', "'\"", "\\", "\\'", "\n\n", "\t\r\n", "b'", " '",
                 "\x00", "\x85", "\xa0", "\u200b", "\u2028", "\U000e0001",
                 "\ufeff", "\U0001f600", "é", "   ", "''' \"\"\""):
        add(text.encode())
    add(b"\xff\xfe")
    add(b"\xe4\xb8")
    add(b"\xf0\x9f\x98")
    add(b"'\xff")
    add(b"'\"\\\n\xff")
    add(b" " * 128)
    letters = "abcdefghijklmnopqrstuvwxyz"
    stems = ["".join(rng.choices(letters, k=rng.randint(1, 4)))
             for _ in range(900)]
    while len(tokens) < N_TOKENS:
        kind = rng.random()
        if kind < 0.8:
            word = "".join(rng.choices(stems, k=rng.randint(1, 3)))
            word = rng.choice(["", " ", "_", "\n", "'"]) + word
            if rng.random() < 0.2:
                word = word.title()
            add(word.encode())
        elif kind < 0.95:
            add("".join(chr(rng.randrange(0x4e00, 0x9fa5))
                        for _ in range(rng.randint(1, 3))).encode())
        else:
            add(bytes(rng.randrange(0x80, 0x100)
                      for _ in range(rng.randint(1, 4))))
    return list(tokens)


def literal(data):
    try:
        return repr(data.decode())
    except UnicodeDecodeError:
        return repr(data)


def read_vocabulary(path):
    """As the reference does: eval of what stands between the blanks."""
    table = {}
    with open(path, encoding="utf-8", newline="") as file:
        for line in file.read().split("\n")[:-1]:
            line = line.rstrip("\r")
            number, rest = line.split(" ", 1)
            text, length = rest.rsplit(" ", 1)
            data = eval(text)  # written above
            data = data.encode() if isinstance(data, str) else data
            assert len(data) == int(length)
            table[data] = int(number)
    return table


def encode(table, data):
    longest = max(map(len, table))
    ids = []
    at = 0
    while at < len(data):
        for n in range(min(longest, len(data) - at), 0, -1):
            found = table.get(data[at:at + n])
            if found is not None:
                ids.append(found)
                at += n
                break
        else:
            raise ValueError(at)
    return ids


def make_text(rng, tokens):
    parts = [rng.choice(tokens) for _ in range(1500)]
    parts += [t[:rng.randint(1, len(t))] for t in rng.choices(tokens, k=1500)]
    parts += [bytes(rng.randrange(256) for _ in range(500))]
    parts += [bytes(range(256)), b"", "zwölf Köche – 十二".encode()]
    rng.shuffle(parts)
    return b"".join(parts)


def main(program, folder):
    rng = random.Random(8)
    tokens = make_tokens(rng)
    rest = tokens[256:]
    rng.shuffle(rest)
    tokens[256:] = rest
    text = make_text(rng, tokens)
    text_path = os.path.join(folder, "tokenizer_text.tmp")
    with open(text_path, "wb") as file:
        file.write(text)
    for end in ("\n", "\r\n"):
        path = os.path.join(folder, "tokenizer_vocabulary.tmp")
        with open(path, "w", encoding="utf-8", newline="") as file:
            for number, data in enumerate(tokens, 1):
                file.write(f"{number} {literal(data)} {len(data)}{end}")
        wanted = encode(read_vocabulary(path), text)
        done = subprocess.run([program, path, text_path, "65536"],
                              stdout=subprocess.PIPE, check=True)
        found = list(map(int, done.stdout.split()))
        if found != wanted:
            at = next((i for i, pair in enumerate(zip(found, wanted))
                       if pair[0] != pair[1]), min(len(found), len(wanted)))
            sys.exit(f"token {at} is {found[at:at + 1]}, wanted "
                     f"{wanted[at:at + 1]}; {len(found)} of {len(wanted)}")
        os.unlink(path)
    os.unlink(text_path)
    strings = sum(literal(t)[0] != "b" for t in tokens)
    double = sum('"' in (literal(t)[0], literal(t)[1:2]) for t in tokens)
    print(f"{len(tokens)} tokens ({strings} str, {double} in double quotes), "
          f"{len(text)} bytes to {len(wanted)} ids, LF and CRLF")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
