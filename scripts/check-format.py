#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on a C or C++ file that is not as clang-format 22 writes it.

`check-format.py --fix` writes it so."""
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from source_tree import finish, root, tracked

LLVM_BIN = "/usr/lib/llvm-22/bin"


def main():
    fix = "--fix" in sys.argv
    if fix:
        sys.argv.remove("--fix")
    top = root()
    tool = shutil.which("clang-format", path=LLVM_BIN) or shutil.which("clang-format-22")
    if tool is None:
        return finish(["clang-format-22 is not installed: scripts/install-deps.sh --build"])
    files = tracked(top, "*.h", "*.cpp", "*.c")
    jobs = os.cpu_count() or 1

    def run(part):
        flags = ["-i"] if fix else ["-n", "--Werror", "--ferror-limit=1"]
        return subprocess.run([tool, *flags, *part], cwd=top, text=True, capture_output=True).stderr

    with ThreadPoolExecutor(jobs) as pool:
        text = "".join(pool.map(run, filter(None, (files[i::jobs] for i in range(jobs)))))
    found = re.findall(r"^(.+?):(\d+):\d+: error: code should be", text, re.M)
    problems = sorted({f"{os.path.relpath(file, top)}:{line}: not formatted" for file, line in found})
    finish(problems or text.splitlines())


if __name__ == "__main__":
    main()
