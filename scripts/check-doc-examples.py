#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails where an example in the documentation is not what weft accepts, or does.

Every fenced block that is marked `mlir` in a .td file or a document is parsed,
verified and printed by weft-opt, and what it prints is parsed again: the text
must be the same. A line between two blocks runs the first one:

    `weft-opt --a-pass` makes of it:     the `mlir` block that follows, however it is printed
    `weft-opt --a-pass` refuses it:      exit code 1; the lines of the `text` block that follows
    `weft-opt --a-pass` prints:          the lines of the `text` block that follows, among others

Lines are expected in their order; `...` in one stands for any text. Each pass,
op, attribute and type has an example in its description, a pass one that runs.
Blocks that tell what to add to the tree (docs/developer) are left to
test/Docs/follow.py. Needs weft-opt in $PATH or in build/bin.
"""
import os
import re
import subprocess
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from expected_lines import missing_line
from source_tree import finish, root, tracked

BLOCK = re.compile(r"^([ ]*)```mlir\n(.*?)^\1```", re.M | re.S)
RUN = re.compile(r"^([ ]*)```mlir\n((?:(?!^\1```).)*?)^\1```\n+\1`([^`\n]+)` (makes of it|refuses it|prints):\n+"
                 r"\1```(?:mlir|text)\n(.*?)^\1```", re.M | re.S)
ADDED = re.compile(r"^(?:New file|In) `[^`\n]+`[^\n]*:\n\n```.*?^```$", re.M | re.S)
DEFINITION = re.compile(r"^def\s+(\w+)\s*:\s*([^{]*)\{(.*?)^\}", re.M | re.S)
SEPARATOR = "\n// -----\n"


def print_with_weft(text: str, *flags: str) -> tuple[bool, str, str]:
    result = subprocess.run(["weft-opt", *flags, "-"], input=text, text=True, capture_output=True)
    return result.returncode == 0, result.stdout, result.stderr


def round_trip(text: str, *flags: str) -> str:
    """Returns what is wrong with a block, or an empty text."""
    parsed, once, errors = print_with_weft(text, *flags)
    if not parsed:
        return errors
    parsed, twice, errors = print_with_weft(once, *flags)
    if not parsed:
        return "does not parse when printed: " + errors
    return "" if once == twice else "changes when it is printed and parsed"


def run_example(block: str, command: str, verb: str, expected: str) -> str:
    result = subprocess.run(["bash", "-c", "set -o pipefail; " + command], input=block, text=True, capture_output=True)
    if result.returncode != (verb == "refuses it"):
        return f"`{command}` ends with {result.returncode}:\n{result.stderr}"
    if verb == "makes of it":
        parsed, canonical, errors = print_with_weft(expected)
        if not parsed or canonical != result.stdout:
            return f"`{command}` makes something else:\n{result.stdout}{errors}"
    elif line := missing_line(expected, result.stdout + result.stderr):
        return f"`{command}` does not print `{line}`, but:\n{result.stdout}{result.stderr}"
    return ""


def undocumented(text: str):
    """(place, what is missing) for each definition of a pass, op, attribute or type without its example."""
    for match in DEFINITION.finditer(text):
        name, base, body = match.groups()
        if found := re.match(r'(?:Interface)?Pass<\s*"([\w-]+)"', base):
            if not any(re.search(rf"--{found[1]}(?![\w-])", run[3]) for run in RUN.finditer(body)):
                yield match.start(), f"{name} has no example that runs --{found[1]}"
        elif found := re.match(r'\w+Op<\s*"([\w.]+)"', base) or re.match(r'\w+_Op<\s*"([\w.]+)"', base):
            if not any(re.search(rf"\.{re.escape(found[1])}(?![\w.])", block[2]) for block in BLOCK.finditer(body)):
                yield match.start(), f"{name} has no example with {found[1]}"
        elif re.match(r"\w+_(?:Attr|Type)<", base) and not BLOCK.search(body):
            yield match.start(), f"{name} has no example"


class Examples:
    def __init__(self, top: Path):
        self.top = top
        self.blocks: list[tuple[str, str]] = []
        self.runs: list[tuple[str, tuple[str, str, str, str]]] = []
        self.problems: list[str] = []
        for path in tracked(top, "*.td", "*.md"):
            if "reference" not in path.relative_to(top).parts:  # made of the .td files
                self.read(path)

    def read(self, path: Path) -> None:
        text = path.read_text()
        if path.suffix == ".md":  # lines keep their numbers
            text = ADDED.sub(lambda added: "\n" * added[0].count("\n"), text)

        def place(start: int) -> str:
            return f"{path.relative_to(self.top)}:{text.count(chr(10), 0, start) + 1}"

        for match in BLOCK.finditer(text):
            self.blocks.append((place(match.start(2)), textwrap.dedent(match[2])))
        for match in RUN.finditer(text):
            self.runs.append((place(match.start(3)), (textwrap.dedent(match[2]), match[3], match[4],
                                                      textwrap.dedent(match[5]))))
        if path.suffix == ".td":
            self.problems += [f"{place(start)}: {problem}" for start, problem in undocumented(text)]

    def check_blocks(self) -> None:
        """All at once, which is faster; one by one if that fails."""
        if round_trip(SEPARATOR.join(text for _, text in self.blocks), "--split-input-file"):
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                results = list(pool.map(round_trip, [text for _, text in self.blocks]))
            self.problems += [f"{place}: {problem.strip()}" for (place, _), problem in zip(self.blocks, results) if problem]

    def check_runs(self) -> None:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda run: run_example(*run[1]), self.runs))
        self.problems += [f"{place}: {problem.strip()}" for (place, _), problem in zip(self.runs, results) if problem]


def main():
    top = root()
    os.environ["PATH"] += os.pathsep + str(top / "build" / "bin")
    examples = Examples(top)
    examples.check_blocks()
    examples.check_runs()
    finish(examples.problems if examples.blocks else ["found no example"])


if __name__ == "__main__":
    main()
