#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads malformed files with the Python package, all in one process, which has to live on.

  malformed_python.py FILE...

Modules are lowered, tensors loaded, programs loaded: each has to work, or to raise the exception
that docs/python.md names for it, with a text that a terminal can bear.
"""
import os
import re
import sys

import weft
from weft import safetensors

UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
READERS = {".mlir": (lambda path: weft.lower(path, "planned"), (weft.CompileError, weft.FormatError)),
           ".safetensors": (safetensors.load, (weft.FormatError,)),
           ".so": (weft.load, (weft.RunError, ValueError, MemoryError))}


def check(path):
    """What is wrong with the answer, or nothing."""
    read, expected = READERS[os.path.splitext(path)[1]]
    try:
        read(path)
    except expected as error:
        if UNPRINTABLE.search(str(error)) or not str(error):
            return f"raised {str(error)[:200]!r}"
    except Exception as error:
        return f"raised {type(error).__name__}: {str(error)[:200]!r}"
    return None


def main():
    before = len(os.listdir("/proc/self/fd"))
    problems = [(path, check(path)) for path in sys.argv[1:]]
    for path, problem in problems:
        if problem:
            print(f"{path} {problem}", file=sys.stderr)
    left = len(os.listdir("/proc/self/fd")) - before
    if left:
        print(f"{left} descriptors are left open", file=sys.stderr)
    sys.exit(3 if left or any(problem for _, problem in problems) else 0)


main()
