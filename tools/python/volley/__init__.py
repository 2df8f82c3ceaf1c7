# SPDX-License-Identifier: Apache-2.0
"""Volley from Python: load a genome, run it, inject, read, record, swap.

    import volley

    with volley.load("brunel", backend="cpu:4", set={"var.g": 5}) as net:
        spikes = net.run(ms=100, record=True)
        print(net.statistics(spikes)["areas"]["E"]["rate_hz"])
        print(net.explain())
        net.swap("cuda")                  # the same spikes from here on
        net.run(1000, progress=True)

A package over the C API (volley/volley.h, which has the details) by ctypes, and
NumPy. A refusal of the engine is raised as volley.Error with its message;
mistakes of a call as TypeError, ValueError, KeyError, ClosedError or
RuntimeError. One thread at a time may use a net; any thread may call stop().

libvolley is found by VOLLEY_LIBRARY (a file), then in this package, then, if it
is installed, in the folders above it, then as the dynamic linker finds it.
"""
from __future__ import annotations

from typing import Any

from ._errors import (ClosedError, Error, GenomeWarning, RoundingWarning,
                      UnknownName)
from ._library import plugins, version

__all__ = ["Area", "ClosedError", "Connectome", "Error", "Explanation",
           "FieldRecording", "GenomeWarning", "Net", "Projection",
           "Recording", "RoundingWarning", "SpikeRecording", "Spikes", "State",
           "Synapses", "UnknownName", "load", "plot", "plugins", "statistics",
           "version"]

__version__: str  # that of libvolley

try:
    import numpy as _numpy
except ImportError:  # `python -m volley` runs the command without it
    pass
else:
    from . import plot
    from ._connectome import Connectome, Projection, State, Synapses
    from ._explain import Explanation
    from ._load import load
    from ._net import Net
    from ._recording import FieldRecording, Recording, SpikeRecording
    from ._spikes import Area, Spikes, statistics


def __getattr__(name: str) -> Any:
    if name == "__version__":
        try:
            return version()
        except ImportError as why:
            raise AttributeError(str(why)) from None
    if name in __all__:
        raise ImportError(f"volley.{name} needs NumPy: pip install numpy")
    raise AttributeError(f"module volley has no attribute {name}")
