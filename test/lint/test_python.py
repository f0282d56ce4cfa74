# SPDX-License-Identifier: Apache-2.0
"""check-python.py finds mistakes, in scripts as in the package."""
import shutil

import pytest
from conftest import SCRIPTS

GOOD = "import sys\n\nnames = sys.argv\n"


@pytest.fixture
def python(tree):
    for name in ("ruff.toml", "mypy.ini"):
        shutil.copy(SCRIPTS.parent / name, tree.folder)
    tree.write("scripts/good.py", GOOD)
    return tree


def test_passes(python):
    assert python.check("check-python.py") == []


@pytest.mark.parametrize("line, rule", [
    ("print(nmes)", "F821"), ("import os", "F401"), ("def f(a=[]): return a", "B006"), ("x = names ", "W291"),
    ("if names == None: pass", "E711"), ("x = = 1", "invalid-syntax"),
])
def test_mistake(python, line, rule):
    python.write("test/bad.py", GOOD + line + "\n")
    found = python.check("check-python.py")
    assert found and found[0].startswith("test/bad.py:4:") and rule in found[0]


@pytest.mark.parametrize("file, line, problem", [
    ("test/bad.py", "names.push(1)", 'test/bad.py:4: error: "list[str]" has no attribute "push"  [attr-defined]'),
    ("test/bad.py", "sys.exit(1, 2)", 'test/bad.py:4: error: Too many arguments for "exit"  [call-arg]'),
    ("python/weft/bad.py", "n: str = 1", "python/weft/bad.py:4: error: Incompatible types in assignment "
                                        '(expression has type "int", variable has type "str")  [assignment]'),
])
def test_wrong_type(python, file, line, problem):
    python.write("python/weft/__init__.py", "")
    python.write(file, GOOD + line + "\n")
    assert problem in python.check("check-python.py")
