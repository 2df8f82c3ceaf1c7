# SPDX-License-Identifier: Apache-2.0
"""What the pages say of the Python module runs: the examples of docs/python.md,
those of docstrings, and the notebook, without a notebook server.

python_pages.py COMMAND SOURCE: the environment names library and module.
"""
import contextlib
import doctest
import importlib
import io
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
import unittest

import volley

SOURCE = sys.argv[2]
PAGE = os.path.join(SOURCE, "docs", "python.md")
NOTEBOOK = os.path.join(SOURCE, "tools", "python", "balanced.ipynb")


def run_text(text, name, namespace):
    """Runs text as a program of its own; what it printed."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        # pylint: disable-next=exec-used
        exec(compile(text, name, "exec"), namespace)
    return out.getvalue()


class Pages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def test_examples_of_the_page(self):
        """Blocks behind "## Python" that are Python, in one namespace."""
        with open(PAGE, encoding="utf-8") as file:
            page = file.read()
        part = page[page.index("\n## Python\n"):]
        blocks, block = [], []
        for line in part.split("\n") + ["end"]:
            if line.startswith("    ") or (not line and block):
                block.append(line[4:])
            elif block:
                blocks.append("\n".join(block))
                block = []
        blocks = [one for one in blocks if not one.startswith(("PYTHON", "pip"))]
        self.assertGreaterEqual(len(blocks), 4)
        self.assertIn("import volley", blocks[0])
        # small, and on what every machine has
        small = {'volley.load("brunel", backend="cpu:4", set={"var.g": 5})':
                 'volley.load("brunel", backend="cpu:1", '
                 'set={"var.g": 5, "var.order": 100})',
                 'net.swap("cuda")': 'net.swap("cpu:2")'}
        namespace, printed = {}, []
        for number, block in enumerate(blocks):
            for given in list(small):
                if given in block:
                    block = block.replace(given, small.pop(given))
            printed.append(run_text(block, f"block {number} of python.md",
                                    namespace))
        self.assertEqual(small, {})
        rate, digest = printed[0].split()[:2]
        self.assertGreater(float(rate), 0)
        self.assertEqual(len(digest), 16)

    def test_commands_after_the_installation(self):
        """As they stand on the page and on that of the package."""
        for page in PAGE, os.path.join(SOURCE, "tools", "python",
                                       "pyproject.toml"):
            with open(page, encoding="utf-8") as file:
                line, = [one for one in file if " && volley run " in one]
            made = os.path.join("bin", os.path.basename(page))
            os.makedirs(made)
            os.symlink(os.path.abspath(sys.argv[1]),
                       os.path.join(made, "volley"))
            path = os.path.abspath(made) + os.pathsep + os.environ["PATH"]
            done = subprocess.run(
                ["sh", "-c", line.rstrip() + " --ms 1 --set var.order=100"],
                cwd=made, env={**os.environ, "PATH": path}, text=True,
                capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("digest", done.stdout)

    def test_examples_of_docstrings(self):
        tried = 0
        for module in pkgutil.iter_modules(volley.__path__):
            if module.name == "__main__":
                continue
            found = doctest.testmod(
                importlib.import_module(f"volley.{module.name}"))
            self.assertEqual(found.failed, 0, module.name)
            tried += found.attempted
        self.assertGreater(tried, 10)

    def test_notebook(self):
        with open(NOTEBOOK, encoding="utf-8") as file:
            notebook = json.load(file)
        self.assertEqual(notebook["nbformat"], 4)
        cells = notebook["cells"]
        self.assertEqual(len(cells), 10)
        namespace, printed = {}, []
        for number, cell in enumerate(cells):
            if cell["cell_type"] != "code":
                continue
            # as it is kept: what a run prints is not
            self.assertEqual((cell["outputs"], cell["execution_count"]),
                             ([], None))
            printed.append(run_text("".join(cell["source"]),
                                    f"cell {number} of balanced.ipynb",
                                    namespace))
        text = "".join(printed)
        for part in ("area E: 1,000 lif_psc_delta", "E: ", " Hz, CV ",
                     "(201, 3)", "25000 synapses of I on E", "drive 4.0"):
            self.assertIn(part, text)
        self.assertRegex(text, "moved to cuda|stays on cpu:[0-9]+: .*cuda")
        self.assertIn("cpu:2: ", printed[-1])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
