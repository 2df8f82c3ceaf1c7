# SPDX-License-Identifier: Apache-2.0
"""From a genome to a net in one call."""
from __future__ import annotations

import os
from typing import Any, Mapping, Optional

from ._connectome import Connectome, State
from ._genome import Genome, Tables
from ._net import Net


def load(genome: Genome, backend: str = "auto",
         set: Optional[Mapping[str, Any]] = None, threads: int = 0,
         resume: Any = None, tables: Optional[Tables] = None) -> Net:
    """Makes a net from a genome.

    genome   the name of a file; the name of a genome that ships ("brunel"); the
             text of one (with a newline); or a dict with the same keys, in which
             a map may have source, target, weight and delay_ms as arrays, and
             an area a parameter as an array
    backend  "auto", "cpu:4", "cuda:1", "vulkan:0"
    set      as --set: {"var.g": 5}
    threads  0: all cores
    resume   a checkpoint's name, or a State
    tables   {"NAME": {"COLUMN": array [n]}}: in place of files of the genome,
             file = "NAME"; synapses: columns source, target (whole numbers),
             weight, delay_ms or delay_bursts; values of neurons: any column.
             float32, float64, int32, int64, uint32 and uint64 are not copied

    Raises  Error: what the engine refuses, with the place; TypeError,
            ValueError: what is no genome or array; KeyError
    Warns   GenomeWarning: read differently than written; RoundingWarning

    >>> import numpy as np
    >>> net = load({
    ...     "run": {"dt_ms": 0.5},
    ...     "area": {"A": {"model": "lif_psc_delta", "neurons": 3}},
    ...     "map": [{"from": "A", "to": "A", "source": np.array([0, 1]),
    ...              "target": np.array([1, 2]), "weight_mv": [20.0, 30.0],
    ...              "delay_ms": 1.5}]}, backend="cpu:1")
    >>> net.weights()
    array([20., 30.])
    >>> net.close()
    """
    connectome = Connectome.build(genome, set, threads, tables, 3)
    if isinstance(resume, (str, os.PathLike)):
        with State.load(resume) as state:
            return Net(connectome, backend, threads, state)
    if resume is not None and not isinstance(resume, State):
        raise TypeError(f"resume is {type(resume).__name__}, wanted the name of a "
                        "checkpoint or a State")
    return Net(connectome, backend, threads, resume)
