# SPDX-License-Identifier: Apache-2.0
"""A balanced network from Python, in cells: rates, irregularity, a curve, and a
move to another backend while it runs. Needs NumPy; takes some seconds.

The network is that of Brunel 2000, doi:10.1023/A:1008925309027, a tenth of its
size, with synapses that make up for it.
"""
# %% A genome is text
import numpy as np

import volley

GENOME = """
format = 1
[run]
dt_ms = 0.1
ms = 1000
[var]
g = 5.0             # inhibition, in units of excitation
j_mv = 0.5
eta = 2.0           # external rate, in units of what reaches the threshold
[model.n]
type = "lif_psc_delta"
tau_m_ms = 20
e_l_mv = 0
v_th_mv = 20
v_reset_mv = 10
t_ref_ms = 2
[area.E]
model = "n"
neurons = 1000
[area.I]
model = "n"
neurons = 250
[[map]]
from = "E"
to = ["E", "I"]
rule = "fixed_in_degree"
in_degree = 100
weight_mv = "=j_mv"
delay_ms = 1.5
[[map]]
from = "I"
to = ["E", "I"]
rule = "fixed_in_degree"
in_degree = 25
weight_mv = "=-g*j_mv"
delay_ms = 1.5
[[stimulus]]
kind = "poisson"
id = "ext"
to = "*"
rate_hz = "=eta*1000*20/(j_mv*20)"
weight_mv = "=j_mv"
"""


def irregularity(spikes, n_neurons):
    """The mean CV of inter-spike intervals of neurons with 3 spikes or more."""
    order = np.lexsort((spikes.bursts, spikes.neurons))
    neurons = spikes.neurons[order]
    times = spikes.times_ms[order]
    cvs = [np.diff(part).std() / np.diff(part).mean()
           for part in np.split(times, np.searchsorted(
               neurons, np.arange(1, n_neurons)))
           if len(part) >= 3]
    return float(np.mean(cvs)) if cvs else float("nan")


# %% Run it
net = volley.load(GENOME, backend="cpu")
net.run(ms=200)  # the transient
spikes = net.run(ms=1000, record=True)
for name, area in net.areas.items():
    print(f"{name}: {area.neurons} neurons, {area.rate_hz(spikes):.1f} Hz, "
          f"CV {irregularity(area.of(spikes), area.neurons):.2f}")

# %% Stronger drive, without compiling again
for eta in (1.0, 2.0, 3.0, 4.0):
    net.set("stimulus.ext.rate_hz", eta * 2000)
    net.run(ms=200)
    spikes = net.run(ms=500, record=True)
    print(f"drive {eta:.0f}: E at {net.area('E').rate_hz(spikes):.1f} Hz")
net.close()

# %% One genome, one answer: moved in the middle, the same digest
with volley.load(GENOME, backend="cpu:1") as stays:
    stays.run(2000)
    with volley.load(GENOME, backend="cpu:1") as moves:
        moves.run(1000)
        moves.swap("cpu:2")  # "cuda", "vulkan" where there is a device
        moves.run(1000)
        print(f"{stays.digest:016x} stayed, {moves.digest:016x} moved")
        assert stays.digest == moves.digest
