#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what is made of the compiler's table of options: the type hints of the
Python package's keywords, and docs/options.md. Needs the package:

  PYTHONPATH=build/python scripts/make-options.py [--check]

--check writes nothing, and fails where a file is not what it would write.
"""
import sys
import textwrap
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).parents[1]
KEYWORDS = Path("python-bindings/weft/keywords.py")
DOCUMENT = Path("docs/options.md")

TYPES = {"flag": "bool", "number": "int", "bytes": "int | str", "text": "str",
         "file": "str | bytes | os.PathLike", "names": "bool | str | Sequence[str]", "pairs": "Mapping[str, int | str]",
         "words": "str | Sequence[str]"}
# What a Python user writes that the command line's word does not show.
EXAMPLES = {"offload": '`"none"`, `"auto"`, `["opt_state.*"]`', "flag": "`True`, `False`", "bytes": 'a number, `"8GiB"`, `"none"`', "pairs": '`{"dp": 2}`',
            "words": '`"mxfp8"`, `["nvfp4=*mlp*", "fp8"]`', "names": '`True`, `"tp"`, `["dp", "tp"]`', "number": "a number", "text": "a text", "file": "a path or name"}


def type_of(option):
    if option.kind == "choice" and option.name != "target":
        return f"Literal[{', '.join(map(repr, option.choices)).replace(chr(39), chr(34))}]"
    return TYPES.get(option.kind, "str")


def make_keywords(options):
    lines = ['''# SPDX-License-Identifier: Apache-2.0
# Made by scripts/make-options.py from the compiler's table of options.

"""The keywords of weft.compile, weft.build and weft.lower, for type checkers."""

import os
from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict


class Options(TypedDict, total=False):
    """Options of the compiler, as docs/options.md lists them. None is as if not given.
''']
    for option in options:
        text = meaning(option) + (f" (default: {shown(option)})" if shown(option) else "")
        lines += textwrap.wrap(f"{option.name}: {text}", 92, initial_indent="    ", subsequent_indent="        ")
    lines.append('    """')
    lines += [f"    {option.name}: {type_of(option)} | None" for option in options]
    return "\n".join(lines) + "\n"


def shown(option):
    return {"on": "True", "off": "False"}.get(option.default, option.default) if option.kind == "flag" else option.default


def meaning(option):
    """The help is the flag's; a keyword may be its opposite."""
    return f"if not: {option.help}" if option.kind == "flag" and option.default == "on" else option.help


def code(text):
    return f"`{text}`".replace("|", "\\|") if text else ""


def row(option):
    # Targets are as many as are built.
    values = " ".join(map(code, option.choices)) if option.name != "target" else "a name"
    values = values or EXAMPLES.get(option.name) or EXAMPLES[option.kind]
    keyword = code(option.name) if option.name not in ("output", "to") else "an argument of its own"
    attached = "" if option.value.startswith("[") or not option.value else " "
    return (f"| {code(option.flag + attached + option.value)} | {keyword} | {values} | "
            f"{code(shown(option))} | {meaning(option)} |")


def make_document(options):
    lines = ["""# Options

What a compilation can be told: to `weft-compile` as flags, to libweft as the same words
(`weft_get_option` of `weft-c/Weft.h` lists them), to `weft.compile`, `weft.build` and `weft.lower` as keywords.
`weft-sim` takes those that are not about output. Each tool says what it knows with `--help`; these two have `--version`.
All of it comes from one table,
`include/weft/Compile/Options.def`; values are checked in one place, and wrong ones get the same sentence from each way in.

This file is made from the table by `scripts/make-options.py`.
"""]
    for group, members in groupby(options, lambda option: option.group):
        lines += [f"## {group[0].upper()}{group[1:]}", "",
                  "| flag | keyword | in Python | default | |", "| --- | --- | --- | --- | --- |",
                  *map(row, members), ""]
    return "\n".join(lines)


def main():
    from weft.options import table
    options = list(table().values())
    made = {KEYWORDS: make_keywords([option for option in options if option.name not in ("output", "to")]),
            DOCUMENT: make_document(options)}
    if "--check" not in sys.argv[1:]:
        for path, text in made.items():
            (ROOT / path).write_text(text)
        return 0
    stale = [path for path, text in made.items() if not (ROOT / path).exists() or (ROOT / path).read_text() != text]
    for path in stale:
        print(f"{path}: is not what scripts/make-options.py makes of the table of options")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
