# SPDX-License-Identifier: Apache-2.0
"""The Python module: networks from dicts and arrays, synapses read back.

python_arrays.py COMMAND SOURCE: the environment names library and module.
"""
import csv
import io
import os
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy as np

import volley

COMMAND, SOURCE = sys.argv[1:3]
BRUNEL = os.path.join(SOURCE, "genomes", "brunel.toml")
SMALL = {"var.order": 100}
SOURCES = np.array([2, 0, 2, 0])
TARGETS = np.array([2, 3, 0, 1])
WEIGHTS = np.array([4.0, -2.0, 0.25, 1.5])
DELAYS = np.array([2.0, 1.0, 0.1, 0.5])
TEXT = """format = 1
[run]
dt_ms = 0.1
[area.A]
model = "lif_psc_delta"
neurons = 3
[area.B]
model = "lif_psc_delta"
neurons = 4
[[map]]
id = "m"
from = "A"
to = "B"
rule = "file"
file = "edges"
"""


def pair(**edges):
    """A dict with a map of edges from 3 to 4 neurons."""
    return {"run": {"dt_ms": 0.1},
            "area": {"A": {"model": "lif_psc_delta", "neurons": 3},
                     "B": {"model": "lif_psc_delta", "neurons": 4}},
            "map": [{"id": "m", "from": "A", "to": "B", **edges}]}


def given(**changed):
    columns = {"source": SOURCES, "target": TARGETS, "weight_mv": WEIGHTS,
               "delay_ms": DELAYS, **changed}
    return {key: value for key, value in columns.items() if value is not None}


def hash_of(genome, **named):
    with volley.load(genome, "cpu:1", **named) as net:
        with net.snapshot() as state:
            return state.connectome_hash


class Arrays(unittest.TestCase):
    def test_dict_text_and_file_are_one_network(self):
        want = hash_of(pair(**given()))
        self.assertEqual(hash_of(TEXT, tables={"edges": given()}), want)
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "edges"), "w",
                      encoding="utf-8") as file:
                file.write("source,target,weight,delay\n" + "".join(
                    f"{s},{t},{w},{d}\n" for s, t, w, d in
                    zip(SOURCES, TARGETS, WEIGHTS, DELAYS)))
            path = os.path.join(folder, "net.toml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(TEXT)
            self.assertEqual(hash_of(path), want)
            # a table takes the place of the file, a path is no text
            import pathlib
            self.assertEqual(hash_of(pathlib.Path(path),
                                     tables={"edges": given()}), want)

    def test_every_type_and_layout(self):
        want = hash_of(pair(**given()))
        wide = np.zeros((4, 2))
        wide[:, 0] = WEIGHTS
        odd = np.frombuffer(b"-" + WEIGHTS.tobytes(), np.uint8)[1:].view(
            np.float64)
        self.assertFalse(odd.flags.aligned)
        for changed in (
                {"source": SOURCES.astype(np.int8)},
                {"source": SOURCES.astype(np.uint16)},
                {"source": SOURCES.astype(np.uint64)},
                {"source": SOURCES.astype(">i4")},
                {"source": SOURCES.tolist()},
                {"weight_mv": WEIGHTS.astype(np.float32)},
                {"weight_mv": WEIGHTS.astype(np.float16)},
                {"weight_mv": wide[:, 0]},  # not contiguous
                {"weight_mv": odd},
                {"weight_mv": WEIGHTS.tolist()},
                {"weight_mv": None, "weight": WEIGHTS},
                {"delay_ms": None, "delay_bursts": np.array([20, 10, 1, 5])}):
            with self.subTest(changed=changed):
                self.assertEqual(hash_of(pair(**given(**changed))), want)
        # the same arrays again: they are only read
        self.assertEqual(SOURCES.tolist(), [2, 0, 2, 0])

    def test_wrong_arrays(self):
        for kind, words, changed in (
                (ValueError, "column weight_mv of map.m.edges has 3 values, "
                             "wanted 4", {"weight_mv": WEIGHTS[:3]}),
                (ValueError, r"has shape \(2, 2\), wanted one dimension",
                 {"source": SOURCES.reshape(2, 2)}),
                (TypeError, "column source of map.m.edges has dtype float64, "
                            "wanted whole numbers",
                 {"source": SOURCES.astype(float)}),
                (TypeError, "has dtype complex128, wanted numbers",
                 {"weight_mv": WEIGHTS.astype(complex)}),
                (TypeError, "has dtype <U1, wanted numbers",
                 {"weight_mv": np.array(list("abcd"))}),
                (TypeError, "has dtype object, wanted numbers",
                 {"delay_ms": np.array([1, None, 2, 3])}),
                (ValueError, "has rows of several lengths|has dtype object",
                 {"delay_ms": [1, [1, 2], 2, 3]}),
                (ValueError, "map.m has source and no target, wanted both",
                 {"target": None}),
                (ValueError, "wanted no file and no rule but \"file\"",
                 {"rule": "all_to_all"}),
                (volley.Error, r"row 1 \(from 0\) of column target: target is "
                               "9, wanted 0 to 3",
                 {"target": np.array([2, 9, 0, 1])}),
                (volley.Error, r"row 3 \(from 0\) of column weight_mv: not a "
                               "finite number",
                 {"weight_mv": np.array([1, 2, 3, np.nan])}),
                (volley.Error, "weight_pa: lif_psc_delta takes weight_mv",
                 {"weight_mv": None, "weight_pa": WEIGHTS})):
            with self.subTest(words=words):
                with self.assertRaisesRegex(kind, words):
                    volley.load(pair(**given(**changed)), "cpu:1")
        if hasattr(np, "float128"):
            with self.assertRaisesRegex(TypeError, "wanted one of float64"):
                volley.load(pair(**given(
                    weight_mv=WEIGHTS.astype(np.float128))), "cpu:1")
        with self.assertRaisesRegex(volley.Error, "table spare is given and "
                                                  "nothing in genome names it"):
            volley.load(TEXT, "cpu:1",
                        tables={"edges": given(), "spare": given()})
        with self.assertRaisesRegex(TypeError, "table edges is list, wanted a "
                                               "dict of arrays"):
            volley.load(TEXT, "cpu:1", tables={"edges": [1, 2]})
        with self.assertRaisesRegex(volley.Error, "edges"):
            volley.load(TEXT, "cpu:1")

    def test_many_rows(self):
        """The engine reads many at once, in blocks of 1024, sorts rows of more
        and of fewer than 24 and 4096 synapses by other ways, and does not copy
        weights of float64."""
        rng = np.random.default_rng(3)
        n_sources, n_targets, n = 40, 3000, 20000
        source = np.minimum(rng.integers(0, 60, n), n_sources - 1)
        columns = {"source": source, "target": rng.integers(0, n_targets, n),
                   "weight_mv": rng.integers(1, 9, n) / 8,
                   "delay_ms": rng.integers(1, 900, n) * 0.1}
        columns["source"][source == 7] = 8  # a row without synapses
        columns["source"][:3] = 7

        def network(given, **more):
            genome = pair(**{"multiple": True, **given, **more})
            genome["area"]["A"]["neurons"] = n_sources
            genome["area"]["B"]["neurons"] = n_targets
            return genome

        with volley.load(network(columns), "cpu:1") as net:
            got = net.synapses("m")
        found = np.array([got.source, got.target, got.weight,
                          np.rint(got.delay_ms * 10)])
        given_rows = np.array([*list(columns.values())[:3],
                               np.rint(columns["delay_ms"] * 10)])
        self.assertTrue((np.diff(got.source * n_targets + got.target) >= 0
                         ).all())
        np.testing.assert_array_equal(  # several of one pair: in any order
            *(rows[:, np.lexsort(rows[::-1])] for rows in (found, given_rows)))
        want = hash_of(network(columns))
        order = np.lexsort((columns["target"], columns["source"]))
        ordered = {name: column[order] for name, column in columns.items()}
        self.assertEqual(hash_of(network(ordered)), want)
        self.assertEqual(hash_of(network(
            columns, source=columns["source"].astype(np.int32),
            target=columns["target"].astype(float).astype(np.uint64))), want)
        self.assertEqual(hash_of(network(  # row by row
            columns, weight_mv=columns["weight_mv"].astype(np.float32))), want)
        for row in 0, 1023, 1024, 19999:
            for name, wrong, words in (
                    ("source", n_sources, "source is 40, wanted 0 to 39"),
                    ("target", -1, "target is -1, wanted 0 to 2999"),
                    ("weight_mv", np.inf, "not a finite number"),
                    ("delay_ms", 0.0, "delay is 0 ms, wanted 1 to")):
                changed = columns[name].copy()
                changed[row] = wrong
                with self.assertRaisesRegex(
                        volley.Error, rf"row {row} \(from 0\) of column "
                                      f"{name}: {words}"):
                    volley.load(network(columns, **{name: changed}))
        twice = {name: column.copy() for name, column in ordered.items()}
        key = twice["source"] * n_targets + twice["target"]
        first = np.unique(key, return_index=True)[1]
        once = {name: column[first] for name, column in twice.items()}
        self.assertEqual(hash_of(network(once, multiple=False)),
                         hash_of(network(once)))
        for several in (
                {name: np.insert(column, 5001, column[5000])
                 for name, column in once.items()},
                {name: np.append(column[::-1], column[-1 - 5000])
                 for name, column in once.items()}):
            row = 5001 if several["source"][0] == 0 else len(first)
            with self.assertRaisesRegex(
                    volley.Error, rf"row {row} \(from 0\): the second synapse"):
                volley.load(network(several, multiple=False))

    def test_delays_off_the_grid(self):
        """Are counted each, though equal ones are read once."""
        delays = np.tile([1.0, 1.04, 2.0, 1.04], 600)
        ids = np.arange(2400)
        genome = pair(source=ids, target=ids, weight_mv=1.0, delay_ms=delays)
        for area in genome["area"].values():
            area["neurons"] = 2400
        with self.assertWarnsRegex(volley.GenomeWarning, "1200 of"):
            volley.load(genome, "cpu:1").close()

    def test_times_of_float32(self):
        """Are the decimal numbers that they stand for, unless these have more
        than six decimals."""
        ids = np.arange(50)
        wanted = ids % 10 / 10 + 0.1

        def read(delays, t_ref_ms):
            genome = pair(source=ids, target=ids, weight_mv=1.0,
                          delay_ms=delays)
            genome["run"] = {"dt_ms": np.float32(0.1)}
            for area in genome["area"].values():
                area.update(neurons=50, t_ref_ms=t_ref_ms)
            return genome
        with warnings.catch_warnings():
            warnings.simplefilter("error", volley.GenomeWarning)
            made = [read(wanted.astype(kind), kind(2.3))
                    for kind in (np.float64, np.float32)]
            self.assertEqual(len({hash_of(genome) for genome in made}), 1)
        with self.assertWarnsRegex(volley.GenomeWarning, "1 of 50"):
            off = wanted.astype(np.float32)
            off[7] *= np.float32(1 + 2**-12)
            volley.load(read(off, 2.0), "cpu:1").close()

    def test_parameters_of_neurons(self):
        area = {"model": "lif_psc_delta", "neurons": 3,
                "tau_m_ms": np.array([5, 6.5, 8]), "v_mv": [-60, -61, -62]}
        with volley.load({"area": {"A": area}}, "cpu:1") as net:
            self.assertEqual(net.read("A", "v_mv").tolist(), [-60, -61, -62])
        text = ("format = 1\n[area.A]\nmodel = \"lif_psc_delta\"\nneurons = 3\n"
                "tau_m_ms = [5, 6.5, 8]\nv_mv = [-60, -61, -62]\n")
        self.assertEqual(hash_of({"area": {"A": area}}), hash_of(text))
        area["tau_m_ms"] = np.zeros((3, 1))
        with self.assertRaisesRegex(ValueError, r"tau_m_ms has shape \(3, 1\), "
                                    "wanted one dimension"):
            volley.load({"area": {"A": area}}, "cpu:1")
        area["tau_m_ms"] = np.array([5.0, 6.5])
        with self.assertRaisesRegex(volley.Error, "has 2 rows, wanted 3, one a "
                                                  "neuron"):
            volley.load({"area": {"A": area}}, "cpu:1")

    def test_dicts(self):
        whole = {
            "format": 1, "title": "a \"title\" of \\ two\nlines \u00e9\U0001f600",
            "var": {"g": np.float64(5)},
            "run": {"dt_ms": 0.5, "ms": 10, "seed_input": np.int64(7)},
            "model": {"n": {"type": "lif_psc_delta", "tau_m_ms": 20}},
            "area": {"E": {"model": "n", "neurons": 4,
                           "v_mv": {"uniform": [-70, -60]}},
                     "I": {"model": "n", "neurons": 2}},
            "map": [{"from": ["E", "I"], "to": ["E", "I"],
                     "rule": "pairwise_bernoulli", "p": 0.5,
                     "weight_mv": np.array([[1.0, -5], [1, -5]]),
                     "delay_ms": 1.5}],
            "stimulus": [{"kind": "spikes", "to": "E", "weight_mv": 30,
                          "times_ms": np.array([1.0, 2.0])}]}
        with volley.load(whole, "cpu:1") as net:
            self.assertEqual(net.dt_ms, 0.5)
            net.run(10)
            self.assertGreater(net.stats()["spikes"], 0)
            self.assertEqual(len(net.projections), 4)
        for wrong, kind, words in (
                ({"area": {"A": 3}}, TypeError, "area.A is int, wanted a dict"),
                ({"run": {"dt_ms": object()}}, TypeError,
                 "run.dt_ms is object, wanted a number"),
                ({1: 2}, TypeError, "a key is 1, wanted text"),
                (5, TypeError, "a genome is int, wanted the name of a file"),
                ({"area": {"A": {"model": "lif_psc_delta"}}}, volley.Error,
                 "neurons"),
                ({"areas": {}}, volley.Error, "areas")):
            with self.subTest(words=words):
                with self.assertRaisesRegex(kind, words):
                    volley.load(wrong, "cpu:1")

    def test_shipped_genomes(self):
        self.assertEqual(hash_of("brunel", set=SMALL),
                         hash_of(BRUNEL, set=SMALL))
        with self.assertRaises(volley.Error) as caught:
            volley.load("brunell", "cpu:1")
        self.assertEqual(caught.exception.status, "E_IO")

    def test_what_was_read_differently_is_told(self):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            net = volley.load(pair(**given(delay_ms=DELAYS + 0.04)), "cpu:1")
        self.assertEqual([one.category for one in seen],
                         [volley.GenomeWarning])
        self.assertIn("delays are no whole number of bursts",
                      str(seen[0].message))
        self.assertEqual(seen[0].filename, __file__)
        self.assertIn("delays are no whole", str(net.explain()))
        net.close()
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            volley.load(pair(**given(weight_mv=[4.0, -2.0, 1e-4, 1500.0])),
                        "cpu:1").close()
        self.assertIn(volley.RoundingWarning, [one.category for one in seen])
        self.assertTrue(all(one.filename == __file__ for one in seen))


class Synapses(unittest.TestCase):
    def test_what_was_given_is_read_back(self):
        order = np.lexsort((TARGETS, SOURCES))
        with volley.load(pair(**given()), "cpu:1") as net:
            got = net.synapses("m")
            np.testing.assert_array_equal(got.source, SOURCES[order])
            np.testing.assert_array_equal(got.target, TARGETS[order])
            np.testing.assert_array_equal(got.weight, WEIGHTS[order])
            np.testing.assert_allclose(got.delay_ms, DELAYS[order], 1e-12)
            self.assertEqual(got.pairs, (("m", "A", "B"),))
            self.assertEqual(got.pair.tolist(), [0, 0, 0, 0])
            self.assertEqual([one.dtype for one in got[:5]],
                             [np.uint32, np.uint32, np.float64, np.float64,
                              np.uint32])
            np.testing.assert_array_equal(net.weights("m"), got.weight)
            np.testing.assert_array_equal(net.delays_ms(source="A"),
                                          got.delay_ms)
            one, = net.projections
            self.assertEqual((one.map, one.source, one.target, one.synapses,
                              one.unit_name, one.weight_min, one.weight_max,
                              one.delay_min, one.delay_max, one.rounding),
                             ("m", "A", "B", 4, "mV", -2, 4, 1, 20, 0))

    def test_weights_of_many_sizes(self):
        n = 3000  # which no unit of 16 bits holds: several projections
        rng = np.random.default_rng(1)
        sources, targets = rng.integers(0, 50, n), rng.integers(0, 50, n)
        weights = np.exp(rng.normal(-0.7, 2.2, n))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", volley.RoundingWarning)
            net = volley.load({
                "area": {"A": {"model": "lif_psc_delta", "neurons": 50}},
                "map": [{"from": "A", "to": "A", "source": sources,
                         "target": targets, "weight_mv": weights, "delay_ms": 1,
                         "self": True, "multiple": True}]}, "cpu:1")
        with net:
            self.assertGreater(len(net.projections), 1)
            got = net.synapses()
            self.assertEqual(got.pairs, (("map:1", "A", "A"),))
            np.testing.assert_array_equal(net.weights(), got.weight)
            order = np.lexsort((weights, targets, sources))
            again = np.lexsort((got.weight, got.target, got.source))
            np.testing.assert_array_equal(got.source[again], sources[order])
            np.testing.assert_array_equal(got.target[again], targets[order])
            worst = max(one.rounding for one in net.projections)
            off = np.abs(got.weight[again] / weights[order] - 1)
            self.assertLessEqual(off.max(), worst * (1 + 1e-9))

    def test_reward_changes_weights(self):
        genome = {
            "run": {"dt_ms": 0.5},
            "area": {"E": {"model": "lif_psc_delta", "neurons": 40}},
            "plasticity": {"r": {"rule": "stdp_reward", "w_max_mv": 3,
                                 "a_plus_mv": 0.1, "tau_c_ms": 60}},
            "map": [{"id": "m", "from": "E", "to": "E", "weight_mv": 1,
                     "rule": "fixed_in_degree", "in_degree": 6,
                     "plasticity": "r"}],
            "stimulus": [{"kind": "poisson", "to": "E", "rate_hz": 500,
                          "weight_mv": 8}]}
        with volley.load(genome, "cpu:1") as net:
            net.run(200)
            self.assertTrue((net.weights("m") == net.weights("m")[0]).all())
            net.modulate("r", 4)
            net.modulate("r", -1.25, burst=210)
            net.run(100)
            given = net.weights("m")
            self.assertGreater(np.ptp(given), 0.01)
            for wrong, words in (
                    (("q", 1), r"no synapse learns by a \[plasticity.q\]"),
                    (("r", 1e9), "wanted -16383 to 16383"),
                    (("r", 1, 7), "burst 7 is done")):
                with self.assertRaisesRegex(volley.Error, words):
                    net.modulate(*wrong)
        with volley.load(genome, "cpu:2") as net:
            net.run(200)
            net.set("plasticity.r.reward", 4)
            net.modulate("r", -1.25, 210)
            net.run(100)
            np.testing.assert_array_equal(net.weights("m"), given)

    def test_synapses_are_those_of_the_command(self):
        done = subprocess.run(
            [COMMAND, "connections", BRUNEL, "--set", "var.order=100",
             "--source", "E:5-9", "--target", "I"],
            check=True, capture_output=True, text=True)
        want = list(csv.DictReader(io.StringIO(done.stdout)))
        with volley.load(BRUNEL, "cpu:1", set=SMALL) as net:
            got = net.synapses(source=("E", slice(5, 10)), target="I")
            self.assertGreater(len(want), 20)
            for name, column in (("source", "source"), ("target", "target"),
                                 ("weight", "weight_mv"),
                                 ("delay_ms", "delay_ms")):
                np.testing.assert_allclose(
                    getattr(got, name),
                    [float(row[column]) for row in want], 1e-12, 0, name)
            np.testing.assert_array_equal(
                np.round(got.delay_ms / net.dt_ms),
                [int(row["delay_bursts"]) for row in want])

    def test_areas_are_chosen(self):
        with volley.load(BRUNEL, "cpu:1", set=SMALL) as net:
            whole = net.synapses()
            self.assertEqual(len(whole.weight), net.stats()["synapses"])
            self.assertEqual(len(whole.pairs), 4)
            to_e = net.synapses(target="E")
            self.assertEqual([pair[2] for pair in to_e.pairs], ["E", "E"])
            self.assertTrue((np.bincount(
                to_e.target[to_e.pair == 0]) == 40).all())
            both = net.weights("inhibition", target="I")
            self.assertEqual(len(both), 1000)
            self.assertTrue((both < 0).all())
            for wrong, words in (
                    ({"map": "excite"}, "no map excite; did you mean excitation"),
                    ({"map": "inhibitoin"}, "did you mean inhibition"),
                    ({"source": "X"}, "no source area with synapses X"),
                    ({"map": "inhibition", "source": "E"},
                     "no source area with synapses E; there are I")):
                with self.assertRaisesRegex(KeyError, words):
                    net.synapses(**wrong)
            # neurons of an area: rows of the whole
            for map_, source, target, sources, targets in (
                    (None, ("E", 3), None, [3], None),
                    (None, ("E", [9, 3, 9]), None, [3, 9], None),
                    ("excitation", ("E", slice(-20, None)), ("I", slice(0, 30)),
                     range(380, 400), range(30)),
                    ("inhibition", "I", ("E", np.array([0, 399])), None,
                     [0, 399]),
                    (None, ("I", []), None, [], None),
                    (None, ("E", slice(5, 5)), "E", [], None)):
                some = net.synapses(map_, source, target)
                area = {what: end[0] if isinstance(end, tuple) else end
                        for what, end in (("source", source),
                                          ("target", target))}
                all_ = net.synapses(map_, **area)
                keep = np.ones(len(all_.weight), bool)
                if sources is not None:
                    keep &= np.isin(all_.source, list(sources))
                if targets is not None:
                    keep &= np.isin(all_.target, list(targets))
                self.assertEqual(bool(keep.any()), sources != [])
                for name in ("source", "target", "weight", "delay_ms", "pair"):
                    np.testing.assert_array_equal(getattr(some, name),
                                                  getattr(all_, name)[keep])
                np.testing.assert_array_equal(
                    net.weights(map_, source, target), some.weight)
                np.testing.assert_array_equal(
                    net.delays_ms(map_, source, target), some.delay_ms)
            for wrong, kind, words in (
                    (("E", 400), ValueError,
                     "neurons 400 to 400 of area E, wanted 0 to 399"),
                    (("E", [-1, 3]), ValueError, "neurons -1 to 3 of area E"),
                    (("E", 1.5), TypeError, "have dtype float64"),
                    (("X", 1), KeyError, "no source area X"),
                    (("E", 1, 2), TypeError, "wanted an area or"),
                    (7, TypeError, "wanted an area or")):
                with self.assertRaisesRegex(kind, words):
                    net.synapses(source=wrong)
        with volley.load("format = 1\n[area.A]\nmodel = \"lif_psc_delta\"\n"
                         "neurons = 1\n", "cpu:1") as net:
            self.assertEqual(len(net.synapses().weight), 0)
            self.assertEqual((len(net.weights()), len(net.delays_ms())), (0, 0))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
