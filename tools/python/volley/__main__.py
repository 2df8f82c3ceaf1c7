# SPDX-License-Identifier: Apache-2.0
"""`python -m volley ARGUMENTS`: the command `volley` that belongs to this module."""
import os
import sys
from typing import NoReturn

from . import _where

CANNOT_READ = 4  # the command's exit code for a file that is missing


def _end(text: str) -> NoReturn:
    sys.stderr.write(f"volley: {text}\n")
    sys.exit(CANNOT_READ)


def main() -> None:
    path = _where.command()
    if path is None:
        _end(f"there is no command volley in the installation of this module "
             f"({os.path.dirname(_where.__file__)}): install volley-engine again, or set "
             "VOLLEY_LIBRARY to BUILD/lib/libvolley.so of a build")
    try:
        os.execv(path, ["volley"] + sys.argv[1:])
    except OSError as why:
        _end(f"{path} cannot be started: {why.strerror}")


if __name__ == "__main__":
    main()
