#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs_pages.py SOURCE COMMAND: every page of the tree is held against the tree and
the command: its links lead somewhere, subcommands and options of README.md and docs/
are those of --help, docs/README.md lists every page, and pages that the project
keeps short are short."""
import functools
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

LINK = re.compile(r"\]\(([^)\s]+)\)")
OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")
SPAN = re.compile(r"`(volley [^`]*)`")
# texts that define a format, a table of records or a reference
LONG = {"core/connectome/FORMAT.md", "core/checkpoint/README.md",
        "core/monitor/RECORDS.md", "genomes/KEYS.md", "bench/README.md",
        "bench/METHOD.md"}
README_LINES, PAGE_LINES = 150, 120


class Pages:
    def __init__(self, source, command):
        self.source = pathlib.Path(source)
        self.command = command
        self.errors = []

    def error(self, page, line, text):
        self.errors.append(f"{page}:{line}: {text}")

    @functools.lru_cache(maxsize=None)
    def help(self, *words):
        done = subprocess.run([self.command, *words, "--help"],
                              capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else ""

    @functools.lru_cache(maxsize=None)
    def subcommands(self, *words):
        return set(re.findall(r"^  ([a-z]+) +[A-Z]", self.help(*words), re.M))

    def all(self):
        for path in sorted(self.source.rglob("*.md")):
            page = path.relative_to(self.source)
            if not page.parts[0].startswith((".", "build")):
                yield str(page), path.read_text(encoding="utf-8")

    def links(self, page, text):
        folder = (self.source / page).parent
        for number, line in enumerate(text.split("\n"), 1):
            if line.startswith("    "):
                continue
            for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
                name = target.split("#")[0]
                if "://" not in target and name and \
                        not (folder / name).exists():
                    self.error(page, number, f"no file {target}")

    def call(self, page, number, text):
        """One call of the command, as it is printed."""
        try:
            words = shlex.split(text, comments=True)[1:]
        except ValueError:  # an apostrophe of a sentence
            return
        known = self.subcommands()
        if not words or words[0].startswith("-") or words[0].isupper():
            return
        if words[0] not in known:
            self.error(page, number, f"no subcommand {words[0]}")
            return
        path = words[:1]
        if path == ["monitor"] and len(words) > 1 and words[1].islower():
            if words[1] not in self.subcommands("monitor"):
                self.error(page, number, f"no subcommand monitor {words[1]}")
                return
            path = words[:2]
        listed = OPTION.findall(self.help(*path))
        for word in words[1:]:
            if word == "--":  # of attach: a run follows
                listed = OPTION.findall(self.help("run"))
            option = re.match(r"\[?(--?[a-z][a-z-]*)", word)
            if option and option[1] not in listed and option[1] != "--help":
                self.error(page, number, f"{' '.join(path)} has no option "
                                         f"{option[1]}")

    def calls(self, page, text):
        joined = re.sub(r"\\\n *", lambda _: " ", text)
        for number, line in enumerate(joined.split("\n"), 1):
            if line.startswith("    "):
                for part in re.split(r" [&|] ", line.strip()):
                    part = re.sub(r"^(\w+=\S+ )+", "", part)
                    if part.startswith("volley "):
                        self.call(page, number, part)
                continue
            for span in SPAN.findall(line):
                self.call(page, number, span)

    def lengths(self, page, text):
        lines = text.count("\n")
        if page == "README.md" and lines > README_LINES:
            self.error(page, lines, f"wanted at most {README_LINES} lines")
        if page.endswith("/README.md") and page not in LONG and \
                lines > PAGE_LINES:
            self.error(page, lines, f"wanted at most {PAGE_LINES} lines")

    def check(self):
        pages = dict(self.all())
        for page, text in pages.items():
            self.links(page, text)
            self.lengths(page, text)
            if page == "README.md" or page.startswith("docs/"):
                self.calls(page, text)
        index = pages.get("docs/README.md", "")
        for page in pages:
            if page.startswith("docs/") and page != "docs/README.md" and \
                    f"]({page[len('docs/'):]})" not in index:
                self.error("docs/README.md", 1, f"does not list {page}")
        return self.errors


# a page with one error each, and its message
WRONG = [("[a](nowhere.md)\n", "docs/x.md:1: no file nowhere.md"),
         ("\n    volley rum net.toml\n", "docs/x.md:2: no subcommand rum"),
         ("`volley run --hurry`\n", "docs/x.md:1: run has no option --hurry"),
         ("    volley monitor attach cpu -- run a --jobs 2\n",
          "docs/x.md:1: monitor attach has no option --jobs"),
         ("    A=b volley check a \\\n        --digest-log d\n",
          "docs/x.md:1: check has no option --digest-log")]


def refuses_wrong_pages(command):
    failed = 0
    for text, wanted in WRONG:
        with tempfile.TemporaryDirectory() as folder:
            docs = pathlib.Path(folder) / "docs"
            docs.mkdir()
            (docs / "x.md").write_text(text, encoding="utf-8")
            (docs / "README.md").write_text("[x](x.md)\n", encoding="utf-8")
            found = Pages(folder, command).check()
        if found != [wanted]:
            print(f"{text!r}: {found}, wanted {wanted!r}")
            failed += 1
    return failed


def main():
    source, command = sys.argv[1:3]
    failed = refuses_wrong_pages(command)
    errors = Pages(source, command).check()
    for error in errors:
        print(error)
    print(f"{len(errors)} errors in pages, {failed} wrong pages not refused")
    return 1 if failed or errors else 0


if __name__ == "__main__":
    sys.exit(main())
