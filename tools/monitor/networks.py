# SPDX-License-Identifier: Apache-2.0
"""Networks for the monitor's data, as genomes in TOML: families with random
sizes and parameters, shipped genomes, and the stimuli that break them.

A family is a function of a random.Random; the same seed gives the same text.
"""
import pathlib

GENOMES = pathlib.Path(__file__).resolve().parents[2] / "genomes"


class Network:
    """Text of a genome, its areas, and how to reach them.

    unit    suffix of weights ("_mv", "" where the model has none)
    strong  weight of one event that makes most neurons fire
    """

    def __init__(self, family, text, excitatory, areas, unit, strong):
        self.family = family
        self.text = text
        self.excitatory = excitatory
        self.areas = areas
        self.unit = unit
        self.strong = strong


def balanced(rng):
    """Two populations in balance (Brunel 2000), small."""
    n = rng.randrange(60, 300)
    g = rng.uniform(4.2, 7)
    j = rng.uniform(0.15, 0.35) * 1000 / n * 0.25
    rate = rng.uniform(0.9, 2.2) * 20 / (j * 20e-3)
    text = f"""format = 1
[run]
dt_ms = 0.1
ms = 1000
seed_network = {rng.randrange(1, 1 << 30)}
seed_input = {rng.randrange(1, 1 << 30)}
[model.cell]
type = "lif_psc_delta"
tau_m_ms = 20
t_ref_ms = 2
e_l_mv = 0
v_th_mv = 20
v_reset_mv = 10
[area.E]
model = "cell"
neurons = {4 * n}
[area.I]
model = "cell"
neurons = {n}
[[map]]
from = "E"
to = ["E", "I"]
rule = "fixed_in_degree"
in_degree = {max(1, 4 * n // 10)}
weight_mv = {j:.5f}
delay_ms = {rng.choice([1.0, 1.5, 2.0])}
[[map]]
from = "I"
to = ["E", "I"]
rule = "fixed_in_degree"
in_degree = {max(1, n // 10)}
weight_mv = {-g * j:.5f}
delay_ms = {rng.choice([1.0, 1.5, 2.0])}
[[stimulus]]
id = "drive"
kind = "poisson"
to = "*"
rate_hz = {rate:.1f}
weight_mv = {j:.5f}
"""
    return Network("balanced", text, ["E"], ["E", "I"], "_mv", 22)


def layers(rng):
    """A chain of 2 to 5 pairs of areas, each driven on its own as well."""
    k = rng.randrange(2, 6)
    n = rng.randrange(30, 120)
    j = rng.uniform(0.4, 1.0)
    parts = [f"""format = 1
[run]
dt_ms = {rng.choice([0.1, 0.2])}
ms = 1000
seed_network = {rng.randrange(1, 1 << 30)}
seed_input = {rng.randrange(1, 1 << 30)}
[model.cell]
type = "lif_psc_delta"
tau_m_ms = {rng.uniform(10, 20):.2f}
t_ref_ms = 2
e_l_mv = 0
v_th_mv = 20
v_reset_mv = {rng.uniform(0, 10):.2f}
"""]
    for i in range(k):
        drive = rng.uniform(1.0, 1.8) * 20 / (j * 15e-3)
        parts.append(f"""[area.E{i}]
model = "cell"
neurons = {4 * n}
[area.I{i}]
model = "cell"
neurons = {n}
[[map]]
from = "E{i}"
to = ["E{i}", "I{i}"]
rule = "pairwise_bernoulli"
p = 0.08
weight_mv = {j:.4f}
delay_ms = 1.5
[[map]]
from = "I{i}"
to = ["E{i}", "I{i}"]
rule = "pairwise_bernoulli"
p = 0.08
weight_mv = {-rng.uniform(4.5, 7) * j:.4f}
delay_ms = 1.0
[[stimulus]]
id = "drive{i}"
kind = "poisson"
to = ["E{i}", "I{i}"]
rate_hz = {drive:.1f}
weight_mv = {j:.4f}
""")
        if i:
            parts.append(f"""[[map]]
from = "E{i - 1}"
to = "E{i}"
rule = "pairwise_bernoulli"
p = 0.04
weight_mv = {j:.4f}
delay_ms = 2.0
""")
    excitatory = [f"E{i}" for i in range(k)]
    return Network("layers", "".join(parts), excitatory,
                   excitatory + [f"I{i}" for i in range(k)], "_mv", 22)


def _shipped(name, rng):
    text = (GENOMES / name).read_text(encoding="utf-8")
    return text.replace(
        "[run]", f"[run]\nseed_network = {rng.randrange(1, 1 << 30)}\n"
        f"seed_input = {rng.randrange(1, 1 << 30)}", 1)


def brain(rng):
    """The shipped voxel brain, its noise varied."""
    text = _shipped("brain.toml", rng).replace(
        "rate_hz = 15", f"rate_hz = {rng.uniform(8, 25):.2f}", 1)
    return Network("brain", text, ["eye", "assembly"],
                   ["eye", "edge", "assembly", "motor"], "", 40)


def izhikevich(rng):
    """Izhikevich's network at a fraction of its size, as shipped otherwise."""
    share = rng.choice([2, 4])
    text = _shipped("izhikevich.toml", rng)
    text = text.replace("neurons = 800", f"neurons = {800 // share}", 1)
    text = text.replace("neurons = 200", f"neurons = {200 // share}", 1)
    text = text.replace("[0, 0.5]", f"[0, {0.5 * share}]", 1)
    text = text.replace("[-1, 0]", f"[{-share}, 0]", 1)
    return Network("izhikevich", text, ["E"], ["E", "I"], "", 40)


def vogels_abbott(rng):
    """The shipped COBA and CUBA networks, a quarter of their size and driven
    all the time, so that activity lasts."""
    text = _shipped("vogels_abbott.toml", rng)
    text = text.replace("order = 800", "order = 200", 1)
    text = text.replace("p = 0.02", "p = 0.08", 1)
    text = text.replace("stop_ms = 50\n", "", 2)
    return Network("vogels_abbott", text, ["cuba_E"], ["cuba_E", "cuba_I"],
                   "_pa", 4000)


# Families that the model may learn from, and those that are kept to judge it.
TRAINING = [balanced, layers, brain]
HELD_OUT = [izhikevich, vogels_abbott]


def _stimulus(network, ident, kind, areas, lines):
    names = ", ".join(f'"{a}"' for a in areas)
    return (f'\n[[stimulus]]\nid = "{ident}"\nkind = "{kind}"\n'
            f"to = [{names}]\n" + "".join(line + "\n" for line in lines))


def runaway(network, rng, begin, end):
    """Strong random excitation of all excitatory areas, from begin to end."""
    return _stimulus(network, "runaway", "bernoulli", network.excitatory, [
        f"rate_hz = {rng.uniform(20, 60):.1f}",
        f"weight{network.unit} = {network.strong}",
        f"start_burst = {begin}", f"stop_burst = {end}"])


def silent(network, rng, begin, end):
    """One area held down."""
    area = rng.choice(network.areas)
    return _stimulus(network, "silence", "pulse", [area], [
        "period_bursts = 1",
        f"weight{network.unit} = {-network.strong}",
        f"start_burst = {begin}", f"stop_burst = {end}"])


def synchrony(network, rng, begin, end):
    """Everything excitatory is pushed together, every so many bursts."""
    return _stimulus(network, "together", "pulse", network.excitatory, [
        f"period_bursts = {rng.randrange(300, 800)}",
        f"weight{network.unit} = {network.strong}",
        f"start_burst = {begin}", f"stop_burst = {end}"])


FAULTS = {"runaway": runaway, "silent": silent, "synchrony": synchrony}
