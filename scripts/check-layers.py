#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on an include that points upward between weft's layers, on one that
crosses between compiler and runtime elsewhere than at the ABI header, and on a
source file without its licence line or with a wrong include guard."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Lower layers first; a file may include its own layer and those before it.
LAYERS = ["Support", "Math", "Dialect", "Analysis", "Cost", "Transforms", "Schedule", "Conversion",
          "Target", "Simulate", "Report", "Pipelines", "InitAll.h"]
INCLUDE = re.compile(r'#include [<"]([^>"]+)[>"]')


def layer(path):
    """The layer of a path below weft/ or lib/, or None."""
    parts = path.split("/")
    name = parts[0]
    if name == "Dialect" and "Transforms" in parts:
        name = "Transforms"
    if name == "Init":
        name = "InitAll.h"
    return LAYERS.index(name) if name in LAYERS else None


def check_compiler_file(path, inside, problems):
    own = layer(inside)
    for included in INCLUDE.findall(path.read_text()):
        if included.startswith("weft-rt/") and included != "weft-rt/abi.h":
            problems.append(f"{path.relative_to(ROOT)}: the compiler includes {included}")
        if not included.startswith("weft/") or own is None:
            continue
        other = layer(included[len("weft/"):])
        if other is not None and other > own:
            problems.append(f"{path.relative_to(ROOT)}: includes {included}, a higher layer")


def check_runtime_file(path, problems):
    for included in INCLUDE.findall(path.read_text()):
        if included.startswith(("weft/", "mlir/", "llvm/")):
            problems.append(f"{path.relative_to(ROOT)}: the runtime includes {included}")


def check_guard(path, inside, problems):
    guard = re.sub(r"[^A-Za-z0-9]", "_", inside).upper()
    if f"#ifndef {guard}\n#define {guard}" not in path.read_text():
        problems.append(f"{path.relative_to(ROOT)}: include guard is not {guard}")


def main():
    problems = []
    for folder in ("include", "lib", "tools", "runtime", "test"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".h", ".cpp", ".c", ".td"):
                continue
            name = path.relative_to(ROOT)
            if "SPDX-License-Identifier: Apache-2.0" not in path.read_text()[:200]:
                problems.append(f"{name}: no licence line")
            if folder == "include" and path.suffix == ".h":
                check_guard(path, str(name.relative_to("include")), problems)
            if folder in ("include", "lib"):
                inside = str(name.relative_to(folder))
                check_compiler_file(path, inside.removeprefix("weft/"), problems)
            if folder == "runtime":
                check_runtime_file(path, problems)
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
