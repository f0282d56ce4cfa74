#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on what ruff and mypy find in a Python file.

ruff.toml and mypy.ini say what they look for, and why.
"""
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from source_tree import finish, root, tracked


def ruff(top, files):
    result = subprocess.run([sys.executable, "-m", "ruff", "check", "--quiet", "--no-cache", "--output-format", "concise",
                             *(file.relative_to(top) for file in files)], cwd=top, text=True, capture_output=True)
    return result.stdout.splitlines() + result.stderr.splitlines()


def mypy(top, files):
    """The package is one program; elsewhere those of a folder import each other."""
    programs = defaultdict(list)
    for file in files:
        package = next((folder for folder in reversed(file.parents) if (folder / "__init__.py").exists()), None)
        if package:
            programs[package.parent].append("-p=" + package.name)
        elif not file.stem.endswith(".cfg"):
            programs[file.parent].append(file.name)
    cache = Path(__file__).resolve().parent.parent / "build" / "mypy-cache"
    problems = []
    for folder, names in programs.items():
        for part in ({name for name in names if name.startswith("-p=")},
                     {name for name in names if not name.startswith("-p=")}):
            if not part:
                continue
            result = subprocess.run([sys.executable, "-m", "mypy", "--config-file", top / "mypy.ini", "--cache-dir", cache,
                                     "--no-error-summary", *sorted(part)], cwd=folder, text=True, capture_output=True,
                                    env={**os.environ, "MYPYPATH": "."})
            lines = [f"{folder.relative_to(top)}/{line}" for line in result.stdout.splitlines()]
            problems += lines or result.stderr.splitlines()
    return problems


def main():
    top = root()
    files = tracked(top, "*.py")
    finish(ruff(top, files) + mypy(top, files))


if __name__ == "__main__":
    main()
