# SPDX-License-Identifier: Apache-2.0
"""The module of tools/python/volley against the command and itself.

python_module.py COMMAND SOURCE: the environment names library and module.
"""
import ctypes
import gc
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings

import numpy as np

import volley

COMMAND, SOURCE = sys.argv[1:3]
THREE = os.path.join(SOURCE, "genomes", "three.toml")
BRUNEL = os.path.join(SOURCE, "genomes", "brunel.toml")
SMALL = {"var.order": 100}

LAZY = """format = 1
[run]
dt_ms = 0.5
ms = 10
[area.A]
model = "lif_psc_delta"
neurons = 5
[area.B]
model = "lif_psc_delta"
neurons = 3
[[map]]
from = "A"
to = "B"
rule = "all_to_all"
weight_mv = 100
delay_ms = 1
"""


def command(*arguments):
    done = subprocess.run([COMMAND, *arguments], capture_output=True,
                          text=True, check=True)
    return done.stdout


class Run(unittest.TestCase):
    def test_digest_and_spikes_are_those_of_the_command(self):
        with tempfile.TemporaryDirectory() as folder:
            csv = os.path.join(folder, "s.csv")
            log = os.path.join(folder, "d.log")
            command("run", BRUNEL, "--set", "var.order=100", "--bursts", "500",
                    "--backend", "cpu:2", "--record", csv, "--digest-log", log)
            rows = np.genfromtxt(csv, delimiter=",", names=True, dtype=None,
                                 encoding="utf-8")
            with open(log, encoding="utf-8") as file:
                last = file.read()[-100:]
        with volley.load(BRUNEL, "cpu:1", set=SMALL) as net:
            spikes = net.run(500, record=True)
            self.assertEqual(net.burst, 500)
            self.assertEqual((spikes.first, spikes.last), (0, 500))
            self.assertGreater(len(spikes.neurons), 1000)
            self.assertIn(f"{net.digest:016x}", last)
            times, areas, ids = (rows[name]
                                 for name in ("time_ms", "area", "neuron"))
            self.assertEqual(len(rows), len(spikes.neurons))
            np.testing.assert_allclose(times, spikes.times_ms, rtol=1e-12)
            for name in net.areas:
                np.testing.assert_array_equal(
                    ids[areas == name], net.area(name).of(spikes).neurons)
            self.assertEqual(net.stats()["spikes"], len(spikes.neurons))
            seconds = 0.05
            self.assertAlmostEqual(
                net.area("E").rate_hz(spikes),
                np.sum(areas == "E") / net.area("E").neurons / seconds)

    def test_pieces_swaps_and_snapshots_change_nothing(self):
        with volley.load(BRUNEL, "cpu:1", set=SMALL) as net:
            whole = net.run(300, record=True)
            want = net.digest, net.state_digest()
        connectome = volley.Connectome.build(BRUNEL, set=SMALL)
        with volley.Net(connectome, "cpu:1") as net:
            a = net.run(100, record=True)
            with net.snapshot() as state:
                self.assertEqual(state.burst, 100)
                self.assertEqual(state.digest, net.digest)
                net.run(33)
                net.restore(state)
            net.swap("cpu:2")
            self.assertEqual(net.backend, "cpu:2")
            b = net.run(ms=20, record=True)
            self.assertEqual((net.digest, net.state_digest()), want)
            np.testing.assert_array_equal(
                whole.neurons, np.concatenate([a.neurons, b.neurons]))
            np.testing.assert_array_equal(
                whole.bursts, np.concatenate([a.bursts, b.bursts]))
            with self.assertRaises(ValueError):
                connectome.close()
        connectome.close()
        connectome.close()

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            compiled = os.path.join(folder, "c.vlc")
            saved = os.path.join(folder, "s.vlk")
            with volley.Connectome.build(BRUNEL, set=SMALL) as connectome:
                connectome.save(compiled)
            connectome = volley.Connectome.load(compiled)
            with volley.Net(connectome, "cpu:1") as net:
                net.run(50)
                with net.snapshot() as state:
                    state.save(saved)
                    digest = state.connectome_digest
                    self.assertRegex(digest, "^[0-9a-f]{32}$")
                    self.assertNotEqual(digest, state.connectome_hash)
                with volley.State.load(saved) as state:
                    self.assertEqual(state.connectome_digest, digest)
                # version 1 has none
                old = os.path.join(os.path.dirname(BRUNEL), "..", "tests",
                                   "golden", "format1", "format1.vlk")
                with volley.State.load(old) as state:
                    self.assertIsNone(state.connectome_digest)
                net.run(50)
                want = net.digest
            with volley.load(BRUNEL, "cpu:1", set=SMALL, resume=saved) as net:
                self.assertEqual(net.burst, 50)
                net.run(50)
                self.assertEqual(net.digest, want)
            with self.assertRaises(volley.Error) as caught:
                volley.load(THREE, "cpu:1", resume=saved)
            self.assertEqual(caught.exception.status, "E_INVALID")


class Host(unittest.TestCase):
    def setUp(self):
        self.net = volley.load(LAZY, "cpu:1")
        self.addCleanup(self.net.close)

    def test_injected_spikes_arrive(self):
        self.net.inject("A", [1, 3], 100.0)
        seen = {}
        spikes = self.net.run(
            10, record=True,
            on_spikes=lambda burst, ids: seen.update({burst: ids.tolist()}))
        self.assertEqual(spikes.neurons.tolist(), [1, 3, 5, 6, 7])
        self.assertEqual(spikes.bursts.tolist(), [0, 0, 2, 2, 2])
        self.assertEqual(self.net.area("B").of(spikes).neurons.tolist(),
                         [0, 1, 2])
        self.assertEqual(len(seen), 10)
        self.assertEqual(seen[2], [5, 6, 7])
        self.assertEqual(self.net.fired().tolist(), [])
        self.net.inject("B", 2, [100.0], burst=10)
        self.net.run(1)
        self.assertEqual(self.net.fired().tolist(), [7])

    def test_fields_and_parameters(self):
        rest = self.net.read("A", "v_mv")
        self.assertEqual(rest.shape, (5,))
        self.net.write("A", "v_mv", [-60.0, -61.0], first=1)
        np.testing.assert_array_equal(self.net.read("A", "v_mv", 1, 3),
                                      [-60.0, -61.0, rest[3]])
        self.net.write("A", "v_mv", -59.5)
        np.testing.assert_array_equal(self.net.read("A", "v_mv"),
                                      np.full(5, -59.5))
        self.net.set("area.A.tau_m_ms", 7)
        self.net.set("area.A.tau_m_ms", [5, 6, 7, 8, 9])
        self.net.run(1)
        v = self.net.read("A", "v_mv")
        self.assertTrue(np.all(np.diff(v) > 0) or np.all(np.diff(v) < 0), v)

    def test_units_and_rounding(self):
        text = (LAZY.replace("weight_mv = 100", "weight_mv = 100.3") +
                '[[stimulus]]\nid = "noise"\nkind = "normal"\nto = "B"\n'
                "mean_mv = 30\nsd_mv = 20\n"
                '[[stimulus]]\nid = "ext"\nkind = "poisson"\nto = "B"\n'
                "rate_hz = 100\nweight_mv = 50\n")

        def warned(call):
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                call()
            return [str(one.message) for one in seen
                    if one.category is volley.RoundingWarning]

        with volley.load(text, "cpu:1") as net:
            unit, = net.area("B").units
            self.assertEqual(unit, 2.0**round(math.log2(unit)))
            self.assertEqual(len(net.area("A").units), 1)
            # less than half a unit is lost; once a port
            self.assertEqual(warned(lambda: net.inject("B", 0, 0.4 * unit)),
                             [f"{0.4 * unit:.6g} injected into port 0 of area "
                              f"B becomes 0: its unit is {unit:.6g}"])
            self.assertEqual(warned(lambda: net.inject("B", 0, 0.4 * unit)), [])
        with volley.load(text, "cpu:1") as net:
            # whole units are exact, and then large ones and a signal through 0
            self.assertEqual(warned(lambda: net.inject("B", 0, 3 * unit)), [])
            self.assertEqual(
                warned(lambda: net.inject("B", [0, 1], [51 * unit, 0.0])), [])
            for k in range(40):
                self.assertEqual(warned(lambda k=k: net.inject(
                    "B", 0, 51 * unit * math.sin(0.37 * k))), [])
            # what set gives; in range of 1% no word
            path = "stimulus.noise.sd"
            self.assertEqual(warned(lambda: net.set(path, 10)), [])
            self.assertLess(net.rounding(path), 0.01)
            found = warned(lambda: net.set(path, 0.3 * unit))
            self.assertEqual(len(found), 1)
            self.assertIn(path + " is off by ", found[0])
            self.assertGreater(net.rounding(path), 0.01)
            self.assertEqual(warned(lambda: net.set(path, 0.3 * unit)), [])
            found = warned(lambda: net.set("stimulus.ext.rate_hz", 1e-6))
            self.assertEqual(len(found), 1)
            self.assertEqual(warned(lambda: net.set("stimulus.ext.rate_hz", 50)),
                             [])
            found = warned(lambda: net.set("stimulus.ext.weight", 1.4 * unit))
            self.assertEqual(len(found), 1)
            self.assertAlmostEqual(net.rounding("stimulus.ext.weight"), 2 / 7)
            # bursts of 0.5 ms; a real number
            self.assertEqual(warned(lambda: net.set("area.B.t_ref_ms", 2)), [])
            found = warned(lambda: net.set("area.B.t_ref_ms", [2, 1.1, 2]))
            self.assertEqual(len(found), 1)
            self.assertAlmostEqual(net.rounding("area.B.t_ref_ms"), 1 / 11)
            self.assertEqual(warned(lambda: net.set("area.B.tau_m_ms", 7.77)),
                             [])
            for wrong in ("area.C.tau_m_ms", "area.B.nothing", "stimulus.x.sd",
                          "noise", "other.ext.weight", "area.B"):
                with self.assertRaises(volley.Error):
                    net.rounding(wrong)

    def test_what_is_refused(self):
        net = self.net
        for status, wrong in (
                ("E_INVALID", lambda: net.read("A", "v")),
                ("E_INVALID", lambda: net.read("A", "v_mv", 0, 6)),
                ("E_INVALID", lambda: net.set("area.A.nothing", 1)),
                ("E_INVALID", lambda: net.inject("A", 5, 1.0)),
                ("E_INVALID", lambda: net.inject("A", 0, 1.0, port=9)),
                ("E_UNSUPPORTED", lambda: net.swap("nothing")),
                ("E_PARSE", lambda: volley.load("format = 9\n")),
                ("E_IO", lambda: volley.load("no/such/file.toml")),
                ("E_PARSE",
                 lambda: volley.load(LAZY, set={"area.C.neurons": 1}))):
            with self.subTest(status=status):
                with self.assertRaises(volley.Error) as caught:
                    wrong()
                self.assertEqual(caught.exception.status, status,
                                 caught.exception)
                self.assertGreater(len(str(caught.exception)), 10)
        for kind, wrong in ((ValueError, lambda: net.run(ms=0.3)),
                            (ValueError, lambda: net.run(ms=1e-300)),
                            (ValueError, lambda: net.run(-1)),
                            (ValueError, lambda: net.run(2**65)),
                            (ValueError, lambda: net.run(1.5)),
                            (ValueError, lambda: net.run(2**2000)),
                            (ValueError, lambda: net.run(ms=math.nan)),
                            (ValueError, lambda: net.run(ms=math.inf)),
                            (TypeError, lambda: net.run([1])),
                            (TypeError, lambda: net.run()),
                            (TypeError, lambda: net.run(1, ms=1)),
                            (ValueError, lambda: net.inject("A", -1, 1.0)),
                            (TypeError, lambda: net.inject("A", 0.5, 1.0)),
                            (ValueError, lambda: net.inject("A", [1, 2],
                                                            [1., 2., 3.])),
                            (ValueError,
                             lambda: net.read("A", "v_mv", 2**32, 1)),
                            (TypeError, lambda: net.read("A", "v_mv", 0.5, 1)),
                            (ValueError,
                             lambda: net.write("A", "v_mv", [5.], 2**32 + 3)),
                            (ValueError,
                             lambda: net.inject("A", 0, 1.0, port=2**32)),
                            (ValueError,
                             lambda: net.inject("A", 0, 1.0, burst=-1)),
                            (ValueError,
                             lambda: net.inject("A", 0, 1.0, burst=2**64 + 3)),
                            (ValueError,
                             lambda: volley.load(LAZY, threads=2**32 + 1)),
                            (ValueError, lambda: net.swap("cpu", -1)),
                            (KeyError, lambda: net.area("C")),
                            (TypeError,
                             lambda: volley.load(LAZY, set={"run.ms": None}))):
            with self.assertRaises(kind):
                wrong()
        with self.assertRaisesRegex(TypeError, "'x', wanted a number of ms"):
            net.run(ms="x")
        with self.assertRaisesRegex(TypeError, "'x', wanted a number of bur"):
            net.run("x")
        net.run(1)  # nothing was lost
        self.assertEqual(net.burst, 1)
        net.close()
        net.close()
        with self.assertRaises(ValueError):
            net.run(1)

    def test_nothing_is_injected_into_a_generator(self):
        text = LAZY + ('[area.clock]\ngenerator = "pulse"\nneurons = 1\n'
                       "period_ms = 5\ncount = 2\n")
        with volley.load(text, "cpu:1") as net:
            with self.assertRaisesRegex(volley.Error,
                                        "area clock is a generator") as caught:
                net.inject("clock", 0, 1.0)
            self.assertEqual(caught.exception.status, "E_INVALID")
            net.inject("A", 0, 1.0)

    def test_what_a_function_raises_comes_out(self):
        def fail(burst, _ids):
            if burst == 3:
                raise LookupError("mine")
        with self.assertRaisesRegex(LookupError, "mine"):
            self.net.run(10, on_spikes=fail)
        self.net.run(1)


class Interrupt(unittest.TestCase):
    def test_stop_from_another_thread(self):
        with volley.load(BRUNEL, "cpu:1") as net:
            net.run(1)
            # which a run takes that has not begun yet, too
            timer = threading.Timer(0.3, net.stop)
            timer.start()
            with self.assertRaises(volley.Error) as caught:
                net.run(10**9)
            timer.join()
            self.assertEqual(caught.exception.status, "E_STOPPED")
            before = net.burst
            self.assertGreater(before, 0)
            net.run(1)
            self.assertEqual(net.burst, before + 1)

    def test_ctrl_c(self):
        with volley.load(BRUNEL, "cpu:1") as net:
            timer = threading.Timer(
                0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
            with self.assertRaises(KeyboardInterrupt):
                timer.start()
                net.run(10**9)
            timer.join()
            net.run(1)


    def test_ctrl_c_while_a_function_makes_a_handle(self):
        """Ctrl-C in each C function that makes a handle: it comes out when the
        function has returned, and nothing that was made is lost."""
        small = ("format = 1\n[run]\ndt_ms = 1\nbursts = 5\n"
                 "[area.E]\nmodel = \"lif_psc_delta\"\nneurons = 3\n")
        lib = volley._library.lib()
        ends = ("genome_destroy", "connectome_destroy", "net_destroy", "state_destroy")
        live = set()
        kept = {}

        def watch(name, interrupts):
            function = kept[name] = getattr(lib, "vly_" + name)

            def made(*arguments):
                status = function(*arguments)
                if status == 0:
                    live.add(arguments[-2]._obj.value)
                if interrupts:
                    os.kill(os.getpid(), signal.SIGINT)
                return status

            def freed(handle):
                live.discard(getattr(handle, "value", handle))
                function(handle)
            setattr(lib, "vly_" + name, freed if name in ends else made)

        def use(folder):
            with volley.load(small, "cpu:1") as net, net.snapshot() as state:
                path = os.path.join(folder, "state")
                state.save(path)
                net._connectome.save(os.path.join(folder, "net.vlc"))
                with volley.State.load(path) as again, \
                        volley.Net(net._connectome, "cpu:1", state=again) as other:
                    other.run(1)
            with volley.Connectome.load(os.path.join(folder, "net.vlc")):
                pass

        makers = ("genome_read", "connectome_build", "connectome_load", "net_create",
                  "net_resume", "net_snapshot", "state_load")
        for one in makers:
            with self.subTest(one), tempfile.TemporaryDirectory() as folder:
                for name in makers + ends:
                    watch(name, name == one)
                try:
                    with self.assertRaises(KeyboardInterrupt):
                        use(folder)
                finally:
                    for name, function in kept.items():
                        setattr(lib, "vly_" + name, function)
                gc.collect()
                self.assertEqual(live, set())
                live.clear()


class Module(unittest.TestCase):
    def test_plugins_and_version(self):
        found = {plugin["id"]: plugin for plugin in volley.plugins()}
        self.assertTrue(found["cpu"]["usable"])
        self.assertRegex(volley.version(), r"^\d+\.\d+\.\d+$")
        self.assertEqual(volley.__version__, volley.version())

    def test_structures_have_the_sizes_of_the_header(self):
        with open(os.path.join(SOURCE, "core", "include", "volley",
                               "plugin.h"), encoding="utf-8") as file:
            size = re.search(r"VLY_SEAL\(vly_error, (\d+)\)", file.read())
        self.assertEqual(ctypes.sizeof(volley._library.ErrorStruct), int(size.group(1)))

    def test_every_function_is_in_the_header(self):
        with open(os.path.join(SOURCE, "core", "include", "volley",
                               "volley.h"), encoding="utf-8") as file:
            header = file.read()
        for name, (_, arguments) in volley._library.FUNCTIONS.items():
            found = re.search(
                r"VLY_API\s[a-z0-9_ *\n]*\bvly_%s\(([^;]*)\);" % name, header)
            self.assertIsNotNone(found, name)
            words = found.group(1).strip()
            n = 0 if words == "void" else words.count(",") + 1
            self.assertEqual(n, len(arguments), name)

    def test_nothing_is_left_behind(self):
        for _ in range(3):
            volley.load(LAZY, "cpu:1").run(1)
        gc.collect()

    def test_without_numpy(self):
        code = ("import sys; sys.modules['numpy'] = None; import volley\n"
                "print(volley.version(), len(volley.plugins()) > 0)\n"
                "try: volley.load\n"
                "except ImportError as why: print(why)\n"
                "try: volley.nothing\n"
                "except AttributeError as why: print(why)\n")
        done = subprocess.run([sys.executable, "-c", code],
                              capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.splitlines(), [
            f"{volley.version()} True",
            "volley.load needs NumPy: pip install numpy",
            "module volley has no attribute nothing"])

    def run_command(self, folder, **names):
        """python -m volley version of a copy of the package in folder; the first
        program volley on PATH is another one."""
        other = os.path.join(folder, "other")
        os.makedirs(other, exist_ok=True)
        path = os.path.join(other, "volley")
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\necho any program\n")
        os.chmod(path, 0o755)
        env = {key: value for key, value in os.environ.items() if key != "VOLLEY_LIBRARY"}
        env.update(names, PYTHONPATH=folder, PATH=other + os.pathsep + env["PATH"])
        return subprocess.run([sys.executable, "-m", "volley", "doc"],
                              capture_output=True, text=True, check=False, env=env)

    def test_the_command_is_that_of_the_module(self):
        with tempfile.TemporaryDirectory() as folder:
            package = os.path.join(folder, "volley")
            # a wheel has the command in the package's own bin: the copy has none
            shutil.copytree(os.path.dirname(volley.__file__), package,
                            ignore=shutil.ignore_patterns("bin", "lib", "share"))
            done = self.run_command(folder)
            self.assertEqual((done.returncode, done.stdout), (4, ""))
            self.assertEqual(done.stderr.count("\n"), 1)
            self.assertIn("volley: there is no command volley in the installation of "
                          f"this module ({package})", done.stderr)
            done = self.run_command(folder,
                                    VOLLEY_LIBRARY=volley._where.library())
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("lif_psc_delta", done.stdout)
            os.mkdir(os.path.join(package, "bin"))
            shutil.copy(os.path.join(folder, "other", "volley"),
                        os.path.join(package, "bin", "volley"))
            self.assertEqual(self.run_command(folder).stdout, "any program\n")
            with open(os.path.join(package, "bin", "volley"), "wb") as file:
                file.write(b"\0 no program")
            done = self.run_command(folder)
            self.assertEqual(done.returncode, 4)
            self.assertIn("bin/volley cannot be started: ", done.stderr)

    def test_a_library_that_is_none(self):
        code = "import volley; volley.version()"
        done = subprocess.run([sys.executable, "-c", code],
                              env={**os.environ, "VOLLEY_LIBRARY": "/nothing"},
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("ImportError: libvolley was not found", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
