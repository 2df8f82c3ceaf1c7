# SPDX-License-Identifier: Apache-2.0
"""`python -m volley ARGUMENTS`: the command `volley` that belongs to this module."""
import os
import sys

from . import _where


def main():
    path = _where.command()
    if path is None:
        sys.exit("volley: there is no command volley beside this module, and none in the "
                 "folders of PATH")
    os.execv(path, ["volley"] + sys.argv[1:])


if __name__ == "__main__":
    main()
