#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails where a pass, its flag, its file and its tests do not share one stem:
def FooBarPass, flag weft-foo-bar, file FooBar.cpp, test foo-bar*.mlir."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEF = re.compile(r'def (\w+)\s*:\s*Pass<\s*"([\w-]+)"')


def flag_of(name):
    words = re.findall(r"[A-Z]+(?=[A-Z][a-z]|$)|[A-Z]?[a-z0-9]+|[A-Z]+", name)
    return "-".join(word.lower() for word in words)


def main():
    problems = []
    sources = {path.stem for path in (ROOT / "lib").rglob("*.cpp")}
    tests = [path.name for path in (ROOT / "test").rglob("*.mlir")]
    for path in sorted((ROOT / "include").rglob("*Passes.td")):
        for name, flag in DEF.findall(path.read_text()):
            stem = name.removesuffix("Pass")
            if not name.endswith("Pass"):
                problems.append(f"{name}: the def does not end in Pass")
            plain = stem.removeprefix("Weft")
            if flag not in ("weft-" + flag_of(plain), flag_of(plain),
                            flag_of(stem)):
                problems.append(f"{name}: flag {flag}, expected weft-{flag_of(plain)}")
            if not any(source in sources for source in (stem, plain)):
                problems.append(f"{name}: no file {plain}.cpp")
            prefix = flag.removeprefix("weft-")
            if not any(test.startswith(prefix) for test in tests):
                problems.append(f"{name}: no test {prefix}*.mlir")
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
