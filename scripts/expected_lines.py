# SPDX-License-Identifier: Apache-2.0
"""How the documents' examples are compared with what commands print."""
import re


def missing_line(expected: str, output: str) -> str:
    """The first of the expected lines that does not follow in the output; empty if all do.

    A line may be any part of an output's line, blanks count as one, and `...` stands for any text."""
    rest = iter(" ".join(line.split()) for line in output.splitlines())
    for line in filter(None, (" ".join(line.split()) for line in expected.splitlines())):
        pattern = re.compile(".*".join(re.escape(part.strip()) for part in line.split("...")))
        if not any(pattern.search(text) for text in rest):
            return line
    return ""
