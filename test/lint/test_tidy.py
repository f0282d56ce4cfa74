# SPDX-License-Identifier: Apache-2.0
"""scripts/tidy.py fails on what .clang-tidy lists, in sources of the build and in their headers."""
import json
import shutil
import subprocess
import sys

import pytest

from conftest import SCRIPTS

GOOD = "int half(int n) { return n / 2; }\n"
BAD = {
    "bugprone-integer-division": "double half(int n) { return n / 2; }\n",
    "bugprone-sizeof-expression": "int words(int *p) { return sizeof(p) / sizeof(int); }\n",
    "bugprone-infinite-loop": "void spin(int n) {\n  int i = 0;\n  while (i < n) {\n  }\n}\n",
    "bugprone-misplaced-widening-cast": "long bytes(int n) { return (long)(n * n); }\n",
}


def tidy(tree, *args: str) -> list[str]:
    return subprocess.run([sys.executable, SCRIPTS / "tidy.py", "--top", tree.folder, *args], text=True,
                          capture_output=True, check=False).stdout.splitlines()


@pytest.fixture
def sources(tree):
    shutil.copy(SCRIPTS.parent / ".clang-tidy", tree.folder)
    files = {"lib/good.cpp": GOOD, "lib/uses.cpp": '#include "header.h"\n', "lib/header.h": "// Nothing yet.\n",
             **{f"lib/bad{i}.cpp": text for i, text in enumerate(BAD.values())}}
    for name, text in files.items():
        tree.write(name, text)
    tree.write("build/compile_commands.json", json.dumps([
        {"directory": str(tree.folder), "file": name, "command": f"c++ -Wall -Werror -c {name}"}
        for name in files if name.endswith(".cpp")]))
    return tree


def test_good(sources):
    assert tidy(sources, str(sources.folder / "lib/good.cpp"), str(sources.folder / "lib/uses.cpp")) == []


def test_bad(sources):
    lines = tidy(sources)
    assert len(lines) == len(BAD), lines
    for i, (line, check) in enumerate(zip(lines, BAD)):
        assert line.startswith(f"lib/bad{i}.cpp:") and f"[{check}" in line


def test_header(sources):
    sources.write("lib/header.h", "inline double half(int n) { return n / 2; }\n")
    assert tidy(sources, str(sources.folder / "lib/uses.cpp"))[0].startswith("lib/header.h:1: ")


def test_unknown(sources):
    assert tidy(sources, str(sources.folder / "lib/none.cpp"))[0].endswith("none.cpp: is no source of the build")


def test_batches(sources):
    """Nothing says how each file of a batch is compiled: another build has to."""
    entries = (sources.folder / "build/compile_commands.json").read_text()
    sources.write("build/plain/compile_commands.json", entries)
    sources.write("build/compile_commands.json", entries.replace("lib/good.cpp", "build/lib/Unity/unity_0_cxx.cxx"))
    assert "compiles files in batches" in tidy(sources)[0]
    assert len(tidy(sources, "--build", str(sources.folder / "build/plain"))) == len(BAD)
