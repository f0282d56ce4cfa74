#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on a source file without its licence line, and on a public header with
a wrong include guard."""
import re

from source_tree import finish, root, tracked


def main():
    top, problems = root(), []
    for path in tracked(top, "*.h", "*.cpp", "*.c", "*.td", "*.py"):
        name = path.relative_to(top)
        text = path.read_text()
        if text and "SPDX-License-Identifier: Apache-2.0" not in text[:200]:
            problems.append(f"{name}: no licence line")
        if name.parts[0] == "include" and path.suffix == ".h":
            guard = re.sub(r"[^A-Za-z0-9]", "_", str(name.relative_to("include"))).upper()
            if f"#ifndef {guard}\n#define {guard}" not in text:
                problems.append(f"{name}: include guard is not {guard}")
    finish(problems)


if __name__ == "__main__":
    main()
