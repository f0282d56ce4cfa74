#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if a source file or a function is longer than weft's bars.

Files: C++ 800 lines, ODS 600, tests 400. Functions: none above 120 lines, at
most a tenth above 50. A C++ function is measured by its indentation: from the
line of its opening brace at the outermost level to the closing one.
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LONGEST_FUNCTION, LONG_FUNCTION, LONG_SHARE = 120, 50, 0.10
# A function's head ends in `{` and does not begin one of these.
NOT_A_FUNCTION = re.compile(
    r"^\s*(namespace|class|struct|union|enum|extern|typedef|static const|"
    r"const|constexpr|template <)\b|= *\{$|^\s*(#|//|\*)")


def tracked(*patterns):
    listing = subprocess.run(["git", "ls-files", "--cached", "--others",
                              "--exclude-standard", *patterns], cwd=ROOT,
                             text=True, capture_output=True, check=True).stdout
    return [ROOT / line for line in listing.splitlines() if (ROOT / line).exists()]


def file_bar(path):
    parts = path.relative_to(ROOT).parts
    if parts[0] in ("test",) or "tests" in parts or path.stem.endswith("_test"):
        return 400 if path.suffix in (".mlir", ".py", ".sh") else 800
    return 600 if path.suffix == ".td" else 800


def functions(path):
    """Yields (line, length) of the functions of a formatted C++ file."""
    start = indent = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if start is None:
            if (line.endswith("{") and ")" in line
                    and not NOT_A_FUNCTION.search(line)
                    and not re.match(r"\s*(if|for|while|switch|do|else)\b", line)):
                start, indent = number, len(line) - len(line.lstrip())
                # A head over several lines is indented by its continuation.
                head = number
                lines = path.read_text().splitlines()
                if line.lstrip().startswith(": "):
                    head -= 1  # a constructor's initializers
                while head > 1 and lines[head - 2].strip() and (
                        lines[head - 2].startswith(" " * (indent + 1)) or
                        lines[head - 2].rstrip().endswith(("(", ","))):
                    head -= 1
                if lines[head - 1].lstrip().startswith(": "):
                    head -= 1  # initializers over several lines
                indent = len(lines[head - 1]) - len(lines[head - 1].lstrip())
        elif line.rstrip() in (" " * indent + "}", " " * indent + "};"):
            yield start, number - start + 1
            start = None


def main():
    problems, lengths = [], []
    for path in tracked("*.cpp", "*.h", "*.td", "*.mlir", "*.py"):
        name = path.relative_to(ROOT)
        if name.parts[0] == "examples" and path.suffix == ".mlir":
            continue
        lines = len(path.read_text(errors="replace").splitlines())
        if lines > file_bar(path):
            problems.append(f"{name}: {lines} lines, at most {file_bar(path)}")
        if path.suffix in (".cpp", ".h"):
            for line, length in functions(path):
                lengths.append(length)
                if length > LONGEST_FUNCTION:
                    problems.append(f"{name}:{line}: function of {length} "
                                    f"lines, at most {LONGEST_FUNCTION}")
    long = sum(length > LONG_FUNCTION for length in lengths)
    if lengths and long > LONG_SHARE * len(lengths):
        problems.append(f"{long} of {len(lengths)} functions are longer than "
                        f"{LONG_FUNCTION} lines, at most a tenth may be")
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
