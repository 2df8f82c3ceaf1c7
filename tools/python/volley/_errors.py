# SPDX-License-Identifier: Apache-2.0
"""Exceptions and warnings of the module, one sentence each."""
from __future__ import annotations

import difflib
from typing import Any, Iterable

_STATUS = {-1: "E_INVALID", -2: "E_PARSE", -3: "E_IO", -4: "E_NOMEM",
           -5: "E_UNSUPPORTED", -6: "E_DEVICE", -7: "E_ABI", -8: "E_STOPPED"}


def plain(text: str) -> str:
    """Text of a message, which may contain text of files: control characters
    are shown as \\xNN or \\uNNNN."""
    return "".join(c if c.isprintable() else
                   c.encode("unicode_escape", "surrogatepass").decode()
                   for c in text)


class Error(Exception):
    """A refusal of the engine.

    status     "E_PARSE" and so on, as in volley.h
    exit_code  that of the command for it
    """

    def __init__(self, code: int, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self._code = code
        self.status = _STATUS.get(code, str(code))
        self.exit_code = exit_code

    def __reduce__(self) -> Any:
        # a process of a pool pickles its exception; if the parent cannot make it
        # again, it waits forever
        return type(self), (self._code, str(self), self.exit_code)


class ClosedError(ValueError):
    """A net, connectome or state is used after close()."""


class UnknownName(KeyError):
    """No area or map has this name; the message lists those there are."""

    def __str__(self) -> str:
        return str(self.args[0])


class RoundingWarning(UserWarning):
    """A value is off by more than 1%, because it becomes a whole number of
    units. Given once for each port, path and map of a net."""


class GenomeWarning(UserWarning):
    """A value of a genome was read differently than it was written: a note of
    `volley check`."""


def unknown(what: str, name: object, known: Iterable[str]) -> UnknownName:
    """Makes the exception for an unknown name; it proposes a similar one."""
    names = list(known)
    if not isinstance(name, str):
        return UnknownName(f"{what} {plain(repr(name))} is "
                           f"{type(name).__name__}, wanted a name")
    near = difflib.get_close_matches(name, names, 1)
    shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return UnknownName(
        plain(f"no {what} {name}; " +
              (f"did you mean {near[0]}? " if near else "") +
              (f"there are {shown}" if names else "there is none")))
