#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on what clang-tidy 22 finds, of the checks that .clang-tidy lists and argues for.

  tidy.py                 all sources of the finished build
  tidy.py --changed REF   those that differ from REF, and those that are not committed
  tidy.py FILE...         these

--build names another build than build/: one that compiles files in batches does not say how each is compiled.

A file takes several seconds, so this is no part of the lint suite: scripts/nightly runs it.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from source_tree import finish

ROOT = Path(__file__).resolve().parent.parent
LLVM_BIN = "/usr/lib/llvm-22/bin"


def compiled(build: Path) -> set[Path]:
    return {Path(entry["directory"], entry["file"]).resolve()
            for entry in json.loads((build / "compile_commands.json").read_text())}


def changed(top: Path, reference: str) -> set[Path]:
    def git(*command: str) -> list[str]:
        return subprocess.run(["git", *command], cwd=top, text=True, capture_output=True, check=True).stdout.splitlines()

    names = git("diff", "--name-only", "--relative", reference) + git("ls-files", "--others", "--exclude-standard")
    return {top / name for name in names}


def check(tool: str, build: Path, top: Path, file: Path) -> list[str]:
    """The problems of a file and of its headers, as lines."""
    # The build's own warnings are the compiler's matter; some of its flags are gcc's.
    result = subprocess.run([tool, "-p", build, "--quiet", "--extra-arg=-Wno-everything", file], cwd=top, text=True,
                            capture_output=True)
    found = re.findall(r"^(.+?):(\d+):\d+: (?:error|warning): (.*)$", result.stdout, re.M)
    if result.returncode and not found:
        return [f"{file.relative_to(top)}: {result.stderr.strip()}"]
    return [f"{os.path.relpath(top / name, top)}:{line}: {text}" for name, line, text in found]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--changed", metavar="REF")
    parser.add_argument("--top", type=Path, default=ROOT)
    parser.add_argument("--build", type=Path)
    options = parser.parse_args()
    top = options.top.resolve()
    build = (options.build or top / "build").resolve()
    tool = shutil.which("clang-tidy", path=LLVM_BIN) or shutil.which("clang-tidy-22")
    if tool is None:
        return finish(["clang-tidy-22 is not installed: scripts/install-deps.sh --build"])
    made = {top / "build", build}
    files = compiled(build)
    if any(file.parent.name == "Unity" for file in files):
        return finish([f"{build}: compiles files in batches: give another one as --build (WEFT_UNITY_BUILD=OFF)"])
    files = sorted(file for file in files if made.isdisjoint(file.parents))  # less what the build itself wrote
    if options.changed:
        files = sorted(set(files) & changed(top, options.changed))
    if options.files:
        wanted = {file.resolve() for file in options.files}
        if unknown := sorted(wanted - set(files)):
            return finish([f"{file}: is no source of the build" for file in unknown])
        files = sorted(wanted)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = [line for lines in pool.map(lambda file: check(tool, build, top, file), files) for line in lines]
    finish(sorted(set(problems)))


if __name__ == "__main__":
    main()
