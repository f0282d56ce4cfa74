#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails where an example in the documentation is not what weft accepts.

Every fenced block that is marked `mlir` in a .td file or in docs/ is parsed,
verified and printed by weft-opt, and what it prints is parsed again: the text
must be the same. Needs weft-opt in $PATH or in build/bin.
"""
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^([ ]*)```mlir\n(.*?)^\1```", re.M | re.S)


def examples():
    files = [*(ROOT / "include").rglob("*.td"), *(ROOT / "docs").rglob("*.md"),
             *ROOT.glob("*.md")]
    for path in sorted(files):
        text = path.read_text()
        for match in BLOCK.finditer(text):
            line = text.count("\n", 0, match.start()) + 2
            yield path, line, textwrap.dedent(match.group(2))


def print_with_weft(text):
    result = subprocess.run(["weft-opt", "-"], input=text, text=True,
                            capture_output=True)
    return result.returncode == 0, result.stdout, result.stderr


def check(text):
    """Returns what is wrong with an example, or an empty text."""
    parsed, once, errors = print_with_weft(text)
    if not parsed:
        return errors
    parsed, twice, errors = print_with_weft(once)
    if not parsed:
        return "does not parse when printed: " + errors
    return "" if once == twice else "changes when it is printed and parsed"


def main():
    os.environ["PATH"] += os.pathsep + str(ROOT / "build" / "bin")
    count, failed = 0, False
    for path, line, text in examples():
        count += 1
        if problem := check(text):
            failed = True
            print(f"{path.relative_to(ROOT)}:{line}: {problem.strip()}")
    if count == 0:
        failed = True
        print("found no example")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
