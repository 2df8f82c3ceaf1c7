# SPDX-License-Identifier: Apache-2.0
"""The Python module: mistakes of a newcomer, values of other kinds than were
asked for, and copies of nets.

python_mistakes.py COMMAND SOURCE: the environment names library and module.
"""
import copy
import inspect
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import threading
import typing
import unittest
import unittest.mock

import numpy as np

import volley
from python_arrays import BRUNEL, SMALL, given, pair


class Mistakes(unittest.TestCase):
    def setUp(self):
        self.net = volley.load(pair(**given()), "cpu:1")
        self.addCleanup(self.net.close)

    def test_names(self):
        net = self.net
        for wrong in (lambda: net.area("C"), lambda: net.read("C", "v_mv"),
                      lambda: net.write("C", "v_mv", 1),
                      lambda: net.inject("C", 0, 1.0),
                      lambda: net.set("area.C.tau_m_ms", 1),
                      lambda: net.set("area.C.tau_m_ms", [1, 2, 3])):
            with self.assertRaises(KeyError) as caught:
                wrong()
            self.assertIsInstance(caught.exception, volley.UnknownName)
            self.assertEqual(str(caught.exception),
                             "no area C; there are A, B")
        with self.assertRaisesRegex(KeyError, "area 3 is int, wanted a name"):
            net.area(3)

    def test_shapes_and_types(self):
        net = self.net
        for kind, words, wrong in (
                (ValueError, r"gets values of shape \(2,\), wanted \(3,\)",
                 lambda: net.set("area.A.tau_m_ms", [1, 2])),
                (ValueError, r"values of shape \(3,\) for neurons of shape "
                             r"\(2,\)",
                 lambda: net.inject("A", [0, 1], [1.0, 2.0, 3.0])),
                (ValueError, r"values have shape \(2, 2\)",
                 lambda: net.write("A", "v_mv", np.zeros((2, 2)))),
                (TypeError, "neurons have dtype float64, wanted whole",
                 lambda: net.inject("A", [0.5], 1.0)),
                (TypeError, "values has dtype <U1, wanted numbers",
                 lambda: net.inject("A", [0], "x")),
                (TypeError, "values has dtype complex128",
                 lambda: net.write("A", "v_mv", 1j)),
                (TypeError, "value has dtype <U1",
                 lambda: net.set("area.A.tau_m_ms", "x")),
                (TypeError, "a field is int, wanted a name",
                 lambda: net.read("A", 3)),
                (TypeError, "a backend is int, wanted a name",
                 lambda: net.swap(4)),
                (TypeError, r"first is .0. \(str\), wanted a whole number",
                 lambda: net.read("A", "v_mv", "0")),
                (TypeError, "a path is int", lambda: volley.State.load(3))):
            with self.subTest(words=words):
                with self.assertRaisesRegex(kind, words):
                    wrong()

    def test_closed(self):
        net, state = self.net, self.net.snapshot()
        connectome = net._connectome
        net.close()
        state.close()
        connectome.close()
        for what, wrong in (
                ("Net", lambda: net.run(1)), ("Net", lambda: net.run(5)),
                ("Net", lambda: net.run(1, record=True)),
                ("Net", lambda: net.read("A", "v_mv")),
                ("Net", lambda: net.inject("A", 0, 1.0)),
                ("Net", lambda: net.weights()),
                ("Net", lambda: net.projections), ("Net", net.explain),
                ("Net", lambda: net.burst), ("Net", lambda: net.digest),
                ("Net", net.stop), ("Net", net.snapshot),
                ("Net", lambda: net.record()), ("Net", net.fired),
                ("Net", net.__enter__), ("State", state.__enter__),
                ("State", lambda: state.burst),
                ("Connectome", lambda: volley.Net(connectome))):
            with self.assertRaisesRegex(volley.ClosedError,
                                        f"this {what} is closed"):
                wrong()
        self.assertEqual(repr(net), "<Net, closed>")

    def test_two_threads(self):
        net = self.net
        inside, leave, raised = threading.Event(), threading.Event(), []

        def wait(_burst, _ids):
            inside.set()
            leave.wait()
        runner = threading.Thread(
            target=lambda: net.run(1, on_spikes=wait))
        runner.start()
        inside.wait()
        for wrong in (lambda: net.run(1), lambda: net.run(9, record=True),
                      lambda: net.read("A", "v_mv"), net.close, net.snapshot,
                      lambda: net.inject("A", 0, 1.0),
                      lambda: net.set("area.A.tau_m_ms", 9), net.stats):
            try:
                wrong()
            except RuntimeError as why:
                raised.append(str(why))
        leave.set()
        runner.join()
        self.assertEqual(len(raised), 8)
        self.assertEqual(set(raised), {
            "another thread uses this net: wait for it, end its run with "
            "stop(), or make a net for each thread"})
        net.run(1)
        self.assertEqual(net.burst, 2)

    def test_calls_from_a_function_of_the_run(self):
        net = self.net
        for words, kind, wrong in (
                ("run is called by a function of a run", RuntimeError,
                 lambda: net.run(1)),
                ("close is called by a function of a run", RuntimeError,
                 net.close),
                ("", volley.Error, lambda: net.read("A", "v_mv")),
                ("", volley.Error, lambda: net.snapshot())):
            with self.assertRaisesRegex(kind, words):
                net.run(3, on_spikes=lambda *_, wrong=wrong: wrong())
        net.run(2, on_spikes=lambda *_: net.burst + net.digest)

    def test_every_public_name_has_types_and_a_text(self):
        for name in volley.__all__:
            one = getattr(volley, name)
            self.assertTrue(one.__doc__, name)
            members = [(name, one)]
            if inspect.isclass(one):
                members = [(f"{name}.{key}", member)
                           for key, member in vars(one).items()
                           if not key.startswith("_") and
                           inspect.isfunction(member)]
            for path, member in members:
                if not inspect.isfunction(member):
                    continue
                self.assertTrue(member.__doc__, path)
                signature = inspect.signature(member)
                self.assertIsNot(signature.return_annotation,
                                 inspect.Signature.empty, path)
                for parameter in signature.parameters.values():
                    if parameter.name not in ("self", "cls"):
                        self.assertIsNot(parameter.annotation,
                                         inspect.Parameter.empty,
                                         f"{path}: {parameter.name}")
        self.assertTrue(typing.get_type_hints(volley.Projection))

    def test_no_message_has_what_a_terminal_obeys(self):
        raw = "x\x1b]0;t\x07\x9b31m\u202e\u2066\x7f\nvolley: all is well"
        with tempfile.TemporaryDirectory() as folder:
            wrong = os.path.join(folder, f"{raw}.toml")
            with open(wrong, "wb") as file:
                file.write(b"no checkpoint")
            for refused in (lambda: volley.load(raw),
                            lambda: volley.State.load(wrong),
                            lambda: volley.Connectome.load(wrong),
                            lambda: volley.load(f"format = 1\n[area.'{raw}']"),
                            lambda: self.net.set(f"area.{raw}.tau_m_ms", 1),
                            lambda: self.net.set(f"area.{raw}.tau_m_ms", [1]),
                            lambda: self.net.read("A", raw),
                            lambda: self.net.area(raw),
                            lambda: self.net.swap(raw)):
                with self.assertRaises(Exception) as caught:
                    refused()
                self.assertTrue(str(caught.exception).isprintable(),
                                ascii(caught.exception))
            with self.assertRaises(volley.Error) as caught:
                volley.State.load(wrong)
            self.assertIn(r"x\x1b]0;t\x07\x9b31m\u202e\u2066\x7f\nvolley",
                          str(caught.exception))


class Kinds(unittest.TestCase):
    """Values of other kinds than were asked for."""

    def setUp(self):
        self.net = volley.load(BRUNEL, "cpu:1", set=SMALL)
        self.addCleanup(self.net.close)

    def test_a_sentence_for_each(self):
        net, masked = self.net, np.ma.masked_array([1.0, 2.0], mask=[0, 1])
        for kind, words, wrong in (
                (TypeError, "wanted Connectome.load",
                 lambda: volley.Connectome("brunel")),
                (TypeError, "wanted State.load", lambda: volley.State(3)),
                (TypeError, "connectome is str", lambda: volley.Net("brunel")),
                (TypeError, "a state is str", lambda: net.restore("a.vlk")),
                (TypeError, "set is list, wanted a dict",
                 lambda: volley.load(BRUNEL, set=["var.g=5"])),
                (TypeError, "tables is str, wanted a dict",
                 lambda: volley.load(BRUNEL, tables="edges")),
                (ValueError, "a genome is ''", lambda: volley.load("")),
                (volley.Error, "did you mean brunel, which ships",
                 lambda: volley.load("brunnel")),
                (ValueError, "threads is -1, wanted a whole number",
                 lambda: volley.load(BRUNEL, threads=-1)),
                (TypeError, "spikes is list, wanted Spikes",
                 lambda: net.statistics([1, 2])),
                (TypeError, "spikes is list, wanted Spikes",
                 lambda: volley.plot.raster(net, [1, 2])),
                (TypeError, "an area is str, wanted Area",
                 lambda: volley.statistics(net.run(0, record=True), "E")),
                (TypeError, "a time is str, wanted a number",
                 lambda: net.statistics(from_ms="5")),
                (TypeError, "bin_ms is list, wanted a number",
                 lambda: volley.plot.rates(net, bin_ms=[5])),
                (TypeError, "net is tuple, wanted Net",
                 lambda: volley.plot.raster((1, 2))),
                (TypeError, "wanted a number of bursts",
                 lambda: net.run(np.array([3, 4]))),
                (TypeError, "on_spikes is int", lambda: net.run(1, on_spikes=3)),
                (TypeError, "progress is int", lambda: net.run(9, progress=3)),
                (TypeError, "value is str, wanted a number",
                 lambda: net.modulate("dopamine", "x")),
                (KeyError, r"area \['E'\] is list, wanted a name",
                 lambda: net.record(["E"])),
                (ValueError, "port is -1", lambda: net.inject("E", 0, 1.0, -1)),
                (ValueError, "values has masked values",
                 lambda: net.write("E", "v_mv", masked))):
            with self.subTest(words=words):
                with self.assertRaisesRegex(kind, words):
                    wrong()
        self.assertEqual(net.burst, 0)

    def test_where_cuda_is(self):
        def missing(*_):
            raise volley.Error(-5, "plugin cuda: none")

        for found, words in (("cpu", "none; the package volley-engine-cuda13 "
                                     "has it$"), ("cuda", "none$")):
            with unittest.mock.patch.multiple(
                    volley._net, plugins=lambda found=found: [{"id": found}],
                    call=missing, make=missing):
                for wrong in (lambda: self.net.swap("cuda:1"),
                              lambda: volley.load(BRUNEL, "cuda", set=SMALL)):
                    with self.assertRaisesRegex(volley.Error, words):
                        wrong()
        with self.assertRaisesRegex(volley.Error, "plugin cudda: .*[^t]$"):
            self.net.swap("cudda")

    def test_numbers_of_numpy(self):
        for kind in (np.int8, np.int64, np.uint64, np.float16, np.float64,
                     np.longdouble, np.bool_, np.array,
                     lambda n: np.array(n, bool), lambda n: np.array(n, "u1")):
            before = self.net.burst
            self.net.run(kind(1))
            self.assertEqual(self.net.burst, before + 1, kind)
        self.net.run(ms=np.float32(2))
        self.assertEqual(self.net.burst, before + 21)
        for kind, wrong in ((ValueError, np.int64(-1)),
                            (ValueError, np.float64(1.5)),
                            (ValueError, np.float32("nan")),
                            (ValueError, np.uint64(2**64 - 1)),
                            (TypeError, np.complex64(1)),
                            (TypeError, np.str_("1")),
                            (TypeError, np.timedelta64(20, "ns"))):
            with self.assertRaises(kind):
                self.net.run(wrong)
        self.assertEqual(self.net.burst, before + 21)

    def test_no_neurons_are_some(self):
        trace = self.net.record("E", "v_mv", neurons=[])
        self.net.run(3)
        self.assertEqual(trace.values.shape, (4, 0))

    def test_more_than_a_neuron_takes(self):
        most = 2**30 * self.net.area("E").units[0]
        self.net.inject("E", 0, most / 2)
        with self.assertWarnsRegex(volley.RoundingWarning, "gets at most"):
            self.net.inject("E", [0, 1], [1.0, -2 * most])


def in_a_pool(job):
    """What another process makes of a genome, and of a net of its parent's."""
    order, net = job
    if net is not None:
        net.run(1)
    with volley.load(BRUNEL, "cpu:2", set={"var.order": order}) as made:
        made.run(20)
        return made.digest


class Copies(unittest.TestCase):
    """Of nets, by the words of Python and by processes."""

    def test_nothing_is_freed_twice(self):
        with volley.load(BRUNEL, "cpu:1", set=SMALL) as net:
            state = net.snapshot()
            for one in net, state, net._connectome:
                for wrong in copy.copy, copy.deepcopy, pickle.dumps:
                    with self.assertRaisesRegex(TypeError, "cannot be copied"):
                        wrong(one)
            net.run(100, record=True)
            again = pickle.loads(pickle.dumps(net.spikes))
            np.testing.assert_array_equal(again.neurons, net.spikes.neurons)

    def test_errors_reach_another_process(self):
        for genome in "no such", {"area": 3}, {"run": {}}:
            with self.assertRaises(volley.Error) as caught:
                volley.load(genome)
            again = pickle.loads(pickle.dumps(caught.exception))
            self.assertEqual(
                (str(again), again.status, again.exit_code),
                (str(caught.exception), caught.exception.status,
                 caught.exception.exit_code))

    def test_processes_that_are_forked(self):
        """They have none of the threads of the first one."""
        want = in_a_pool((100, None))  # starts the threads
        with volley.load(BRUNEL, "cpu:2", set=SMALL) as net:
            with multiprocessing.get_context("fork").Pool(1) as pool:
                asked = pool.map_async(in_a_pool, [(100, None)] * 2)
                self.assertEqual(asked.get(60), [want] * 2)
                refused = pool.map_async(in_a_pool, [("=", None)])
                with self.assertRaisesRegex(volley.Error, "order"):
                    refused.get(60)
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                try:
                    net.run(1)
                except RuntimeError as why:
                    net.close()
                    os._exit(0 if "process that forked" in str(why) else 1)
                os._exit(2)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            net.run(20)
            self.assertEqual(net.digest, want)

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
