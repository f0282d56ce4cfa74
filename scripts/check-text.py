#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on text that does not belong in the tree: machine paths, TODO marks,
conflict markers, trailing blanks, files without a final newline."""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FORBIDDEN = {
    "machine path": re.compile(r"(?<![\w.])/(work|home|root|mnt)/\w"),
    "TODO mark": re.compile(r"\b(TODO|FIXME|XXX|HACK)\b"),
    "conflict marker": re.compile(r"^(<<<<<<<|>>>>>>>) "),
    "trailing blank": re.compile(r"[ \t]+$"),
}


def main():
    problems = []
    listing = subprocess.run(["git", "ls-files"], cwd=ROOT, text=True,
                             capture_output=True, check=True).stdout
    for name in listing.splitlines():
        path = ROOT / name
        if (name in ("LICENSE", "scripts/check-text.py") or not path.exists()
                or name.startswith("runtime/fuzz/corpus/")):
            continue
        data = path.read_bytes()
        if b"\0" in data or path.suffix == ".safetensors":
            continue
        text = data.decode("utf-8", "replace")
        if text and not text.endswith("\n"):
            problems.append(f"{name}: no newline at the end")
        for number, line in enumerate(text.splitlines(), 1):
            for what, pattern in FORBIDDEN.items():
                if pattern.search(line):
                    problems.append(f"{name}:{number}: {what}")
    print("\n".join(problems[:50]), end="\n" if problems else "")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
