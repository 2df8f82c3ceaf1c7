# SPDX-License-Identifier: Apache-2.0
"""Running a net: pieces, functions of a run, progress, Ctrl-C, threads.

A run is cut into pieces of about 0.2 s. Between two pieces the last burst is
complete and no C function is running. At that point Ctrl-C ends the run, and the
function given as progress is called.
"""
from __future__ import annotations

import ctypes
import functools
import math
import os
import signal
import sys
import threading
import time
from typing import Any, Callable, List, Optional, TypeVar, Union, cast

import numpy as np
import numpy.typing as npt

from ._errors import ClosedError, plain
from ._library import SPIKES_FN, ErrorStruct, Handle, lib, made_error
from ._recording import FieldRecording, Recording, SpikeRecording
from ._spikes import Spikes, whole_bursts

_STOPPED = -8  # VLY_E_STOPPED
# forks between the first process and this one
_forks = 0


def _forked() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_forked)

# longest time between two checks for Ctrl-C
_PIECE_SECONDS = 0.2
# and the most bursts, if a net becomes slower while it runs
_PIECE_BURSTS = 2**16

Progress = Union[bool, Callable[[int, int], Any], None]
OnSpikes = Callable[[int, "npt.NDArray[np.uint32]"], Any]


_Function = TypeVar("_Function", bound=Callable[..., Any])


def alone(function: _Function) -> _Function:
    """A method that only one thread at a time may be in."""
    @functools.wraps(function)
    def claimed(self: "Runner", *arguments: Any, **named: Any) -> Any:
        self._claim()
        try:
            return function(self, *arguments, **named)
        finally:
            self._use.release()
    return cast(_Function, claimed)


class Interrupt:
    """Holds Ctrl-C back while it is open, so that it cannot come out in the
    middle of a function that C calls; check() lets it out."""

    def __init__(self) -> None:
        self._seen: Optional[Any] = None
        self._before: Any = None

    def __enter__(self) -> "Interrupt":
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            if callable(before):
                self._before = before
                signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, number: int, frame: Any) -> None:
        self._seen = (number, frame)

    def check(self) -> None:
        seen, self._seen = self._seen, None
        if seen is not None:
            self._before(*seen)

    def __exit__(self, kind: Any, *_: Any) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        if kind is None:
            self.check()


class _Bar:
    """Progress as a line of text on standard error."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._tenth = -1

    def __call__(self, done: int, total: int) -> None:
        share = done / total if total else 1.0
        live = sys.stderr.isatty()
        if not live and int(10 * share) == self._tenth:
            return
        self._tenth = int(10 * share)
        spent = time.monotonic() - self._start
        left = (f", {spent * (1 - share) / share:.0f} s left"
                if 0 < share < 1 else "")
        line = (f"[{'#' * int(30 * share):<30}] {100 * share:3.0f}% {done} of "
                f"{total} bursts, {spent:.1f} s{left}")
        sys.stderr.write(f"\r{line:<78}" if live else line + "\n")
        if live and done == total:
            sys.stderr.write("\n")
        sys.stderr.flush()


class Runner(Handle):
    """The part of Net that runs."""
    dt_ms: float

    def _start(self) -> None:
        """Called by Net before anything else."""
        self._use = threading.RLock()  # of the thread that uses the net
        self._ending = threading.RLock()  # stop() against close()
        self._running = False
        self._forks = _forks
        self._recordings: List[Recording] = []
        self._quick = 1  # bursts that take less than a piece
        self._error = ErrorStruct(struct_size=ctypes.sizeof(ErrorStruct))
        self._error_at = ctypes.byref(self._error)
        self._c_run = lib().vly_net_run
        #: the Spikes of the last run(record=True), complete even if it was
        #: interrupted or ended by an exception
        self.spikes: Optional[Spikes] = None

    def _claim(self) -> None:
        """Takes the net for this thread; _use.release() gives it back."""
        if not self._use.acquire(False):
            raise RuntimeError("another thread uses this net: wait for it, end "
                               "its run with stop(), or make a net for each "
                               "thread")

    # ---- run

    def run(self, bursts: Optional[float] = None,
            ms: Optional[float] = None, record: bool = False,
            on_spikes: Optional[OnSpikes] = None, progress: Progress = None
            ) -> Optional[Spikes]:
        """Runs so many bursts, or milliseconds of model time.

        record     returns the Spikes of these bursts (otherwise None)
        on_spikes  function(burst, ids): called for every burst, in order, ids a
                   uint32 array of ids in the whole net; the backend is ahead of
                   it by up to 0.2 s. An exception in it ends the run
        progress   function(done, total) in bursts, called about 5 times a
                   second; True: a bar of text on standard error

        Ctrl-C ends the run between two bursts, with KeyboardInterrupt. After it,
        and after any exception, every recording and net.spikes are complete up
        to net.burst, and the net runs on.

        Raises  TypeError, ValueError: not a number of bursts; Error: the
                engine's, E_STOPPED after stop(); ClosedError; RuntimeError:
                another thread uses the net
        """
        n = (bursts if bursts.__class__ is int and ms is None and
             0 <= bursts <= self._quick else self._bursts(bursts, ms))
        if (not record and on_spikes is None and not progress and
                n <= self._quick and not self._recordings and
                not self._running):
            self._claim()
            try:
                status = self._c_run(self._handle, n, self._error_at)
            finally:
                self._use.release()
            if status:
                raise made_error(status, self._error.message)
            return None
        for what, given in (("on_spikes", on_spikes), ("progress", progress)):
            if not (given is None or callable(given) or
                    (what == "progress" and isinstance(given, bool))):
                raise TypeError(f"{what} is {type(given).__name__}, wanted a "
                                "function")
        self._claim()
        try:
            if self._running:
                raise RuntimeError("run is called by a function of a run of "
                                   "the same net")
            self._handle  # pylint: disable=pointless-statement
            self._running = True
            try:
                return self._run_all(n, record, on_spikes, progress)
            finally:
                self._running = False
        finally:
            self._use.release()

    def _bursts(self, bursts: Any, ms: Any) -> int:
        if (bursts is None) == (ms is None):
            raise TypeError("run wants bursts or ms, one of them")
        given = ms if bursts is None else bursts
        unit = "ms" if bursts is None else "bursts"
        # comparisons of NumPy's numbers take 10 us
        if type(given) is np.ndarray and given.ndim == 0:
            given = given[()]
        if isinstance(given, (np.number, np.bool_)):
            if isinstance(given, np.timedelta64):  # a number by its class
                raise TypeError(f"{given!r}, wanted a number of {unit}")
            # 0.3 of float32 is 0.3; a long double becomes a double
            given = (float(str(given)) if isinstance(given, np.floating)
                     else given.item())
        if (isinstance(given, str) or not hasattr(given, "__float__") or
                getattr(given, "ndim", 0) != 0):
            raise TypeError(f"{plain(repr(given))}, wanted a number of {unit}")
        if not -math.inf < given < math.inf:  # not a number too
            raise ValueError(f"{given}, wanted a finite number of {unit}")
        if bursts is not None:
            if not 0 <= given < 2**63 or given != int(given):
                raise ValueError(f"{given} bursts, wanted a whole number from "
                                 "0 on")
            return int(given)
        n = whole_bursts(given, self.dt_ms)
        if n < 0:
            raise ValueError(f"{given} ms, wanted a whole number of bursts of "
                             f"{self.dt_ms} ms")
        return n

    def _run_all(self, n: int, record: bool, on_spikes: Optional[OnSpikes],
                 progress: Progress) -> Optional[Spikes]:
        own = (SpikeRecording(self, 0, self._n_neurons, None)
               if record else None)
        writers = [one for one in self._recordings
                   if isinstance(one, SpikeRecording)] + ([own] if own else [])
        raised: List[BaseException] = []

        def told(_arg: Any, burst: int, ids: Any, n_ids: int, _digest: int
                 ) -> int:
            try:
                part = ctypes.string_at(ids, 4 * n_ids) if n_ids else b""
                for writer in writers:
                    writer._add(burst, part)
                if on_spikes and not raised:
                    on_spikes(burst, np.frombuffer(part, np.uint32))
            except BaseException as why:  # an exception cannot cross C
                raised.append(why)
            return 0

        if writers or on_spikes:
            function = SPIKES_FN(told)
            lib().vly_net_on_spikes(self._handle, function, None)
        try:
            with Interrupt() as interrupt:
                self._run_pieces(n, _Bar() if progress is True else
                                 progress or None, interrupt, raised)
        finally:
            if (writers or on_spikes) and self._h is not None:
                lib().vly_net_on_spikes(self._h, SPIKES_FN(), None)
            if own:
                self.spikes = own.spikes
        return self.spikes if own else None

    def _run_pieces(self, n: int, progress: Any, interrupt: Interrupt,
                    raised: List[BaseException]) -> None:
        samplers = [one for one in self._recordings
                    if isinstance(one, FieldRecording)]
        total = n
        end = lib().vly_net_burst(self._handle) + n
        if progress:
            progress(0, total)
        for sampler in samplers:
            sampler._take()
        told = time.perf_counter()
        while n > 0:
            piece = min(self._quick, n)
            if samplers:
                burst = lib().vly_net_burst(self._handle)
                piece = min([piece] + [one._due(burst) for one in samplers])
            start = time.perf_counter()
            status = self._c_run(self._handle, piece, self._error_at)
            message = self._error.message if status else b""
            if samplers and status in (0, _STOPPED):
                burst = lib().vly_net_burst(self._handle)
                for sampler in samplers:
                    if burst % sampler.interval == 0:
                        sampler._take()
            if raised:
                raise raised[0]
            if status == _STOPPED:  # the engine knows of the piece only
                burst = lib().vly_net_burst(self._handle)
                message = (f"stopped with {burst} bursts done, {end - burst} "
                           "of this run left").encode()
            if status:
                raise made_error(status, message)
            n -= piece
            now = time.perf_counter()
            self._pace(piece, now - start)
            if progress and (now - told > _PIECE_SECONDS or n == 0):
                told = now
                progress(total - n, total)
            interrupt.check()

    def _pace(self, piece: int, seconds: float) -> None:
        """Learns how many bursts take less than a piece."""
        if seconds > _PIECE_SECONDS:
            self._quick = max(int(piece * _PIECE_SECONDS / seconds), 1)
        elif piece == self._quick and seconds < _PIECE_SECONDS / 8:
            self._quick = min(piece * 4, _PIECE_BURSTS)

    def stop(self) -> None:
        """Ends a run in another thread (which raises Error E_STOPPED there).

        A stop between two runs ends the next one before its first burst. Any
        thread may call it.
        """
        with self._ending:
            lib().vly_net_stop(self._handle)

    def close(self) -> None:
        """Frees the net; a second call does nothing.

        Raises  RuntimeError: the net runs, in this or another thread
        """
        if self._h is None:
            return
        if self._forks != _forks:  # its threads and device are the parent's
            self._h = None
            return
        self._claim()
        try:
            if self._running:
                raise RuntimeError("close is called by a function of a run of "
                                   "the same net")
            with self._ending:
                super().close()
        finally:
            self._use.release()

    @property
    def _n_neurons(self) -> int:
        raise NotImplementedError

    @property
    def _handle(self) -> ctypes.c_void_p:
        handle = self._h
        if handle is None:
            raise ClosedError("this Net is closed")
        if self._forks != _forks:
            raise RuntimeError("this Net is of the process that forked this "
                               "one: make a net in each process, of a "
                               "Connectome or a State if need be")
        return handle
