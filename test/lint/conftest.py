# SPDX-License-Identifier: Apache-2.0
"""Small trees for the tests of the checks in scripts/: one that passes, and for
each fault the one line that makes it."""
import io
import runpy
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


class Tree:
    def __init__(self, folder: Path):
        self.folder = folder

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def append(self, name: str, text: str) -> None:
        with (self.folder / name).open("a") as file:
            file.write(text)

    def replace(self, name: str, old: str, new: str) -> None:
        text = (self.folder / name).read_text()
        assert old in text, f"{name} has no {old!r}"
        self.write(name, text.replace(old, new))

    def check(self, script: str, *args: str) -> list[str]:
        """The lines of a check; none if it passes."""
        printed = io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed), pytest.raises(SystemExit) as ended:
            patch.setattr(sys, "argv", [script, str(self.folder), *args])
            patch.syspath_prepend(SCRIPTS)
            runpy.run_path(str(SCRIPTS / script), run_name="__main__")
        lines = printed.getvalue().splitlines()
        assert ended.value.code == (1 if lines else 0)
        return lines


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)
