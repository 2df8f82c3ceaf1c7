# SPDX-License-Identifier: Apache-2.0
"""The Python module: recordings, progress, whatever ends a run, statistics,
plots, weights that are written.

python_runs.py COMMAND SOURCE: the environment names library and module.
"""
import csv
import io
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import numpy as np

import volley

COMMAND, SOURCE = sys.argv[1:3]
BRUNEL = os.path.join(SOURCE, "genomes", "brunel.toml")
SMALL = {"var.order": 100}


class Recordings(unittest.TestCase):
    def setUp(self):
        self.net = volley.load(BRUNEL, "cpu:1", set=SMALL)
        self.addCleanup(self.net.close)

    def test_spikes(self):
        net = self.net
        whole = net.record()
        some = net.record("I", neurons=[5, 3, 5, 99])
        area = net.record("I")
        first = net.run(150, record=True)
        self.assertIs(net.spikes, first)
        net.run(100)
        spikes = whole.spikes
        self.assertEqual((spikes.first, spikes.last), (0, 250))
        self.assertEqual(len(spikes.neurons), net.stats()["spikes"])
        n = len(first.neurons)
        np.testing.assert_array_equal(spikes.neurons[:n], first.neurons)
        np.testing.assert_array_equal(spikes.bursts[:n], first.bursts)
        inside = net.area("I").of(spikes)
        np.testing.assert_array_equal(net.area("I").of(area.spikes).neurons,
                                      inside.neurons)
        chosen = np.isin(inside.neurons, [3, 5, 99])
        self.assertGreater(chosen.sum(), 0)
        np.testing.assert_array_equal(net.area("I").of(some.spikes).neurons,
                                      inside.neurons[chosen])
        whole.clear()
        area.stop()
        area.stop()
        net.run(10)
        self.assertEqual((whole.spikes.first, whole.spikes.last), (250, 260))
        self.assertEqual(area.spikes.last, 250)
        self.assertFalse(area.recording)
        self.assertIn("stopped", repr(area))

    def test_fields_are_those_of_the_command(self):
        with open(BRUNEL, encoding="utf-8") as file:
            text = file.read() + (
                '[[record]]\nwhat = "fields"\nfrom = "E"\n'
                'fields = "v_mv"\nneurons = [0, 7, 9]\ninterval_ms = 0.5\n')
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "g.toml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            out = os.path.join(folder, "out.csv")
            subprocess.run([COMMAND, "run", path, "--set", "var.order=100",
                            "--bursts", "100", "--backend", "cpu:1",
                            "--record", out], check=True, capture_output=True)
            rows = {}
            for name in os.listdir(folder):
                if name.endswith(".csv") and name != "out.csv":
                    with open(os.path.join(folder, name),
                              encoding="utf-8") as file:
                        for row in csv.DictReader(file):
                            rows[float(row["time_ms"]),
                                 int(row["neuron"])] = float(row["v_mv"])
        self.assertTrue(rows)
        trace = self.net.record("E", "v_mv", neurons=[9, 0, 7], interval_ms=0.5)
        self.net.run(33)
        self.net.run(67)
        times, values = trace.times_ms, trace.values
        self.assertEqual(values.shape, (21, 3))
        self.assertEqual(trace.neurons.tolist(), [0, 7, 9])
        for t, row in zip(times, values):
            if t == 0:  # the command's recording begins after a burst
                continue
            for neuron, value in zip(trace.neurons, row):
                self.assertAlmostEqual(rows[round(t, 6), neuron], value, 5)

    def test_while_the_net_runs(self):
        net = self.net
        spikes, trace = net.record(), net.record("E", "v_mv")
        seen = []

        def look(done, total):
            seen.append((done, total, spikes.spikes.last,
                         len(trace.times_ms)))
        net.run(200, progress=look)
        self.assertEqual(seen[0], (0, 200, 0, 1))
        self.assertEqual(seen[-1], (200, 200, 200, 201))
        for done, _, last, samples in seen:
            self.assertEqual((last, samples), (done, done + 1))
        alone = volley.load(BRUNEL, "cpu:1", set=SMALL)
        alone.run(200)
        self.assertEqual(alone.digest, net.digest)
        alone.close()

    def test_restored(self):
        net = self.net
        spikes, trace = net.record(), net.record("E", "v_mv")
        net.run(100)
        with net.snapshot() as state:
            net.run(60)
            want = spikes.spikes, trace.values
            net.restore(state)
        self.assertEqual(spikes.spikes.last, 100)
        self.assertEqual(trace.times_ms[-1], 100 * net.dt_ms)
        net.run(60)
        np.testing.assert_array_equal(spikes.spikes.neurons, want[0].neurons)
        np.testing.assert_array_equal(spikes.spikes.bursts, want[0].bursts)
        np.testing.assert_array_equal(trace.values, want[1])

    def test_at_bounds(self):
        self.net.run(10)
        self.assertEqual(self.net.at_bounds(), [])
        v = np.full(3, 16384.0)
        self.net.write("E", "v_mv", v, first=1)
        n = self.net.area("E").neurons
        self.assertEqual(self.net.at_bounds(), [{
            "area": "E", "field": "v_mv", "unit": "mV", "n_neurons": n,
            "lower": -16384.0, "n_lower": 0, "upper": 16384.0, "n_upper": 3,
            "declared": False}])

    def test_memories(self):
        path = os.path.join(SOURCE, "genomes", "memory.toml")
        with volley.load(path, "cpu:1") as net:
            self.assertEqual(net.memories()[0]["n_known"], 0)
            net.run(80)
            self.assertEqual(net.memories(), [{
                "area": "object", "n_neurons": 20, "n_known": 2,
                "n_longterm": 0, "n_made": 2, "n_seen": 4, "n_forgotten": 0,
                "n_dropped": 0}])
            self.assertEqual(net.associations(), [{
                "name": "naming", "from_area": "object", "to_area": "word",
                "n_synapses": 2}])
            found = net.association("naming")
            self.assertEqual(found.source.tolist(), [0, 1])
            self.assertEqual(found.target.tolist(), [0, 1])
            self.assertEqual(found.weight.tolist(), [20, 20])
            self.assertEqual(found.pairs, (("naming", "object", "word"),))
            with self.assertRaises(volley.UnknownName):
                net.association("name")
        self.assertEqual(self.net.memories(), [])

    def test_stopped_by_a_function(self):
        net = self.net
        spikes, trace = net.record(), net.record("E", "v_mv")

        def end(burst, _ids):
            if burst == 20:
                spikes.stop()
                trace.stop()
        net.run(60, on_spikes=end)
        self.assertEqual(spikes.spikes.last, 21)
        self.assertLess(len(trace.times_ms), 61)
        self.assertEqual((net.burst, net._recordings), (60, []))

    def test_wrong_recordings(self):
        net = self.net
        for kind, wrong in ((KeyError, lambda: net.record("X")),
                            (volley.Error, lambda: net.record("E", "v")),
                            (ValueError, lambda: net.record(field="v_mv")),
                            (ValueError, lambda: net.record(neurons=[1])),
                            (ValueError, lambda: net.record(interval_ms=1)),
                            (ValueError,
                             lambda: net.record("E", "v_mv", interval_ms=0.15)),
                            (ValueError,
                             lambda: net.record("E", "v_mv", interval_ms=0)),
                            (ValueError, lambda: net.record("I",
                                                            neurons=[100])),
                            (ValueError, lambda: net.record("I",
                                                            neurons=[-1])),
                            (TypeError, lambda: net.record("I",
                                                           neurons=[0.5]))):
            with self.assertRaises(kind):
                wrong()
        self.assertEqual(net._recordings, [])

    def test_a_bar_of_text(self):
        err = io.StringIO()
        with unittest.mock.patch("sys.stderr", err):
            self.net.run(50, progress=True)
        lines = err.getvalue().splitlines()
        self.assertIn("  0% 0 of 50 bursts", lines[0])
        self.assertIn("[##############################] 100% 50 of 50 bursts",
                      lines[-1])


class Ends(unittest.TestCase):
    """Whatever ends a run, what is recorded is complete up to net.burst."""

    def ended(self, end, kind, at=700):
        whole = volley.load(BRUNEL, "cpu:1", set=SMALL)
        net = volley.load(BRUNEL, "cpu:1", set=SMALL)
        whole.run(5)
        net.run(5)
        record, trace = net.record(), net.record("E", "v_mv", interval_ms=1)
        before = signal.getsignal(signal.SIGINT)
        calls = []

        def look(burst, _ids):
            calls.append(burst)
            if burst == at:
                end(net)
        with self.assertRaises(kind):
            net.run(10**9, record=True, on_spikes=look)
        self.assertIs(signal.getsignal(signal.SIGINT), before)
        burst = net.burst
        self.assertGreater(burst, at)
        self.assertEqual(net.spikes[3:], (0 + 5, burst))
        self.assertEqual(record.spikes.last, burst)
        self.assertEqual(len(record.spikes.neurons), len(net.spikes.neurons))
        self.assertEqual(len(trace.times_ms), burst // 10)
        # the net runs on, as if nothing had been
        net.run(20)
        reference = whole.run(burst + 20 - 5, record=True)
        self.assertEqual(whole.digest, net.digest)
        np.testing.assert_array_equal(record.spikes.neurons,
                                      reference.neurons)
        net.close()
        whole.close()
        return calls

    def test_ctrl_c_in_a_function(self):
        calls = self.ended(lambda _: os.kill(os.getpid(), signal.SIGINT),
                           KeyboardInterrupt)
        # it came out between two pieces: every burst was told
        self.assertEqual(calls, list(range(5, calls[-1] + 1)))

    def test_an_exception_in_a_function(self):
        def fail(_net):
            raise LookupError("mine")
        calls = self.ended(fail, LookupError)
        self.assertEqual(calls[-1], 700)

    def test_stop_in_a_function(self):
        self.ended(lambda net: net.stop(), volley.Error)

    def test_what_is_left_after_stop(self):
        with volley.load(BRUNEL, "cpu:1", set=SMALL) as net:
            net.run(7)
            with self.assertRaises(volley.Error) as stopped:
                net.run(10**9, on_spikes=lambda *_: net.stop())
            left = 10**9 + 7 - net.burst
            self.assertIn(f"{net.burst} bursts done, {left} of this run left",
                          str(stopped.exception))
            self.assertEqual(net.run(ms=np.float32(0.3)), None)

    def test_a_handler_of_the_user_decides(self):
        seen = []
        before = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
        try:
            with volley.load(BRUNEL, "cpu:1", set=SMALL) as net:
                net.run(300, on_spikes=lambda burst, _: burst == 100 and
                        os.kill(os.getpid(), signal.SIGINT))
                self.assertEqual((net.burst, seen), (300, [1]))
        finally:
            signal.signal(signal.SIGINT, before)

    def test_an_exception_of_progress(self):
        def fail(done, _total):
            raise LookupError(str(done))
        with volley.load(BRUNEL, "cpu:1", set=SMALL) as net:
            with self.assertRaisesRegex(LookupError, "0"):
                net.run(10, progress=fail)
            net.run(1)
            self.assertEqual(net.burst, 1)


class Figures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.net = volley.load(BRUNEL, "cpu:1", set=SMALL)
        cls.spikes = cls.net.run(2000, record=True)

    @classmethod
    def tearDownClass(cls):
        cls.net.close()

    def test_statistics_are_those_of_the_command(self):
        done = subprocess.run(
            [COMMAND, "run", BRUNEL, "--set", "var.order=100", "--bursts",
             "2000", "--backend", "cpu:1", "--statistics", "--json", "-"],
            check=True, capture_output=True, text=True)
        want = json.loads(done.stdout)
        got = self.net.statistics()
        self.assertEqual({key: got[key] for key in want["statistics"]},
                         want["statistics"])
        for area in want["areas"]:
            figures = got["areas"][area["id"]]
            for key in ("neurons", "spikes", "rate_hz", "isi_cv",
                        "isi_cv_neurons", "fano", "silent_share"):
                self.assertAlmostEqual(figures[key], area[key], 10, key)
        with self.assertRaisesRegex(ValueError, "no spikes: give them"):
            with volley.load(BRUNEL, "cpu:1", set=SMALL) as net:
                net.statistics()

    def test_a_beginning_can_be_left_out(self):
        done = subprocess.run(
            [COMMAND, "run", BRUNEL, "--set", "var.order=100", "--bursts",
             "2000", "--backend", "cpu:1", "--statistics", "--summary-from",
             "43.7", "--json", "-"],
            check=True, capture_output=True, text=True)
        want = json.loads(done.stdout)
        got = self.net.statistics(from_ms=43.7)
        self.assertEqual((got["first_burst"], got["bursts"]), (437, 1563))
        self.assertEqual({key: got[key] for key in want["statistics"]},
                         want["statistics"])
        for area in want["areas"]:
            figures = got["areas"][area["id"]]
            for key in ("spikes", "rate_hz", "isi_cv", "isi_cv_neurons",
                        "fano", "silent_share"):
                self.assertAlmostEqual(figures[key], area[key], 10, key)
        self.assertNotEqual(got["areas"]["E"]["spikes"],
                            self.net.statistics()["areas"]["E"]["spikes"])
        for wrong in (0.25, -1, math.nan, math.inf):
            with self.assertRaisesRegex(ValueError, "wanted a whole number"):
                self.net.statistics(from_ms=wrong)
        with self.assertRaisesRegex(ValueError, "no burst would be left"):
            self.net.statistics(from_ms=200)
        empty = self.net.spikes.since(0)._replace(last=0)
        self.assertEqual(empty.since(0).ms, 0)
        with self.assertRaisesRegex(ValueError, "no burst would be left"):
            empty.since(0.1)

    def test_units_have_names(self):
        self.assertRegex(str(self.net.explain()),
                         r"area E: [0-9,]+ lif_psc_delta, input in units of "
                         r"[0-9.e-]+ mV\n")

    def test_correlation_is_that_of_numpy(self):
        part = self.net.area("I").of(self.spikes)
        ids = np.unique(part.neurons)
        edges = np.arange(0, 2000 // 30 * 30 + 1, 30)
        counts = np.array([np.histogram(part.bursts[part.neurons == one],
                                        edges)[0] for one in ids])
        counts[:, -1] -= [int(((part.bursts == 1980) &
                               (part.neurons == one)).sum()) for one in ids]
        matrix = np.corrcoef(counts[counts.std(axis=1) > 0])
        want = matrix[np.triu_indices(len(matrix), 1)].mean()
        got = self.net.statistics(self.spikes)["areas"]["I"]["correlation"]
        self.assertAlmostEqual(got, want, 10)

    def test_what_is_not_defined(self):
        empty = volley.Spikes(np.empty(0, np.uint64), np.empty(0, np.uint32),
                              0.1, 0, 0)
        for figures in self.net.statistics(empty)["areas"].values():
            self.assertEqual((figures["spikes"], figures["rate_hz"],
                              figures["silent_share"]), (0, 0.0, 1.0))
            for key in ("isi_cv", "fano", "correlation"):
                self.assertTrue(math.isnan(figures[key]), key)

    def test_explain(self):
        found = self.net.explain()
        stats = self.net.stats()
        self.assertEqual(found.bytes["connectome"], stats["connectome_bytes"])
        self.assertGreater(found.bytes["host"], 0)
        self.assertEqual(set(found.rounding), {"excitation", "inhibition"})
        self.assertLess(max(found.rounding.values()), 0.001)
        text = str(found)
        for part in ("cpu:1", "neurons    500", "synapses   25,000",
                     "memory     connectome", "area E: 400 lif_psc_delta",
                     "map inhibition: I -> E, 4,000 synapses",
                     "delays 15 to 15 bursts"):
            self.assertIn(part, text)

    def test_plots(self):
        try:
            import matplotlib.figure
        except ImportError:
            self.skipTest("no matplotlib")
        with volley.load(BRUNEL, "cpu:1", set=SMALL) as net:
            trace = net.record("E", "v_mv", neurons=[1, 2])
            net.run(100, record=True)
            for figure in (volley.plot.raster(net),
                           volley.plot.raster(self.net, self.spikes, 10),
                           volley.plot.rates(self.net, self.spikes, 10),
                           volley.plot.traces(trace)):
                self.assertIsInstance(figure, matplotlib.figure.Figure)
                out = io.BytesIO()
                figure.savefig(out)
                self.assertEqual(out.getvalue()[:4], b"\x89PNG")
            dots = sum(len(line.get_xdata()) for line in
                       volley.plot.raster(self.net, self.spikes)
                       .axes[0].lines if len(line.get_xdata()) > 2)
            self.assertEqual(dots, len(self.spikes.neurons))
            spikes = sum(
                values[0].sum() * 0.01 * self.net.area(name).neurons
                for name, values in (
                    (patch.get_label(), patch.get_data()) for patch in
                    volley.plot.rates(self.net, self.spikes, 10)
                    .axes[0].patches))
            self.assertAlmostEqual(spikes, len(self.spikes.neurons), 6)
            parts = volley.plot.rates(self.net, self.spikes, 30).axes[0]
            rate, edges, _ = parts.patches[0].get_data()
            self.assertEqual((len(rate), edges[-1]), (7, 200.0))  # 6.7 bins
            part = self.net.area("E").of(self.spikes)
            self.assertAlmostEqual(
                rate[-1], (part.bursts >= 1800).sum() / (400 * 0.02), 6)
            with self.assertRaisesRegex(TypeError, "wanted that of a field"):
                volley.plot.traces(net.record())
            with self.assertRaisesRegex(ValueError, "wanted at least 0.1"):
                volley.plot.rates(net, bin_ms=0.01)

    def test_plots_without_matplotlib(self):
        with unittest.mock.patch.dict(sys.modules, {"matplotlib.figure": None}):
            with self.assertRaisesRegex(ImportError, "plots need matplotlib: "
                                                     "pip install"):
                volley.plot.raster(self.net, self.spikes)


class Weights(unittest.TestCase):
    """Of maps that learn, written."""

    def setUp(self):
        area = {"model": "lif_psc_exp", "neurons": 4}
        self.net = volley.load({
            "run": {"dt_ms": 0.1}, "area": {"A": area, "B": area},
            "plasticity": {"p": {"rule": "stdp", "w_max_pa": 8}},
            "map": [{"id": "m", "from": "A", "to": ["A", "B"], "self": True,
                     "rule": "all_to_all", "weight_pa": 4, "plasticity": "p"},
                    {"id": "fixed", "from": "B", "to": "A",
                     "rule": "all_to_all", "weight_pa": 4}]}, "cpu:1")
        self.addCleanup(self.net.close)

    def test_written_is_read(self):
        net = self.net
        with net.snapshot() as state:
            before = net.state_digest()
            # multiples of 2^-16 of any unit that 8 pA may have
            given = np.arange(32) / 4
            net.write_weights("m", given)
            np.testing.assert_array_equal(net.weights("m"), given)
            self.assertNotEqual(net.state_digest(), before)
            net.swap("cpu:2")
            np.testing.assert_array_equal(net.weights("m"), given)
            net.write_weights("m", [7, 6], source=("A", [1, 3]),
                              target=("B", 2))
            got = net.synapses("m")
            chosen = ((got.pair == 1) & (got.target == 2) &
                      np.isin(got.source, [1, 3]))
            np.testing.assert_array_equal(got.weight[chosen], [7, 6])
            np.testing.assert_array_equal(got.weight[~chosen], given[~chosen])
            net.write_weights("m", 5)
            self.assertEqual(set(net.weights("m")), {5.0})
            net.write_weights("m", [], source=("A", []))
            net.restore(state)
            self.assertEqual(net.state_digest(), before)

    def test_all_or_nothing(self):
        net, good = self.net, np.full(32, 2.0)
        before = net.weights()
        for kind, words, wrong in (
                (ValueError, r"shape \(31,\), wanted a number or \(32,\)",
                 ("m", good[1:])),
                (TypeError, "weights has dtype <U1", ("m", "x")),
                (volley.Error, "learn", ("fixed", 3)),
                (volley.Error, "9", ("m", np.append(good[1:], 9))),
                (volley.Error, "nan", ("m", np.append(good[1:], np.nan))),
                (KeyError, "no map n; did you mean|no map n", ("n", 3)),
                (ValueError, "wanted 0 to 3", ("m", 3, ("A", 4)))):
            with self.subTest(words=words):
                with self.assertRaisesRegex(kind, words):
                    net.write_weights(*wrong)
                np.testing.assert_array_equal(net.weights(), before)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
