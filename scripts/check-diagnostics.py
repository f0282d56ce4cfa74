#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on a diagnostic of the compiler that no test expects.

Of each emitError and emitOpError the longest literal piece of its text must
stand in some test file.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CALL = re.compile(r"\bemit(?:Op)?Error\s*\(")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')


def statement(text, start):
    """The text from `start` to the `;` that ends the statement."""
    depth = quoted = 0
    for end in range(start, len(text)):
        char = text[end]
        if char == '"' and text[end - 1] != "\\":
            quoted ^= 1
        elif not quoted and char in "([{":
            depth += 1
        elif not quoted and char in ")]}":
            depth -= 1
        elif not quoted and char == ";" and depth <= 0:
            break
    return text[start:end]


def pieces(code):
    """The literal pieces of a diagnostic; neighbouring literals are one."""
    joined = re.sub(r'"\s*\n\s*"', "", code)
    return [re.sub(r"\\(.)", r"\1", piece) for piece in LITERAL.findall(joined)]


def main():
    tests = "\n".join(path.read_text(errors="replace")
                      for folder in ("test", "python-bindings/tests")
                      for path in sorted((ROOT / folder).rglob("*"))
                      if path.suffix in (".mlir", ".py", ".cpp", ".c", ".sh", ".test"))
    plain = re.sub(r"\{\{.*?\}\}", "", tests).replace('\\"', '"')
    problems = []
    for path in sorted((ROOT / "lib").rglob("*.cpp")):
        text = path.read_text()
        for match in CALL.finditer(text):
            found = pieces(statement(text, match.end()))
            longest = max(found, key=len, default="").strip()
            if len(longest) >= 6 and longest not in tests and longest not in plain:
                line = text.count("\n", 0, match.start()) + 1
                problems.append(f"{path.relative_to(ROOT)}:{line}: no test "
                                f"expects \"{longest}\"")
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
