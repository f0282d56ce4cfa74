# SPDX-License-Identifier: Apache-2.0

"""The examples of docs/python.md run, one after the other, as they stand there."""

import re

from conftest import ROOT

BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


def test_the_examples_of_the_documentation_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs/python.md").read_text()
    blocks = list(BLOCK.finditer(text))
    assert len(blocks) >= 6
    names = {"__name__": "example"}
    for block in blocks:
        line = text[:block.start()].count("\n") + 1
        code = "\n" * line + block.group(1)
        exec(compile(code, str(ROOT / "docs/python.md"), "exec"), names)
    losses = [float(word) for word in capsys.readouterr().out.split("\n")[:3]]
    assert losses[0] > losses[1] > losses[2] > float(names["loss"])
    assert (tmp_path / "step.so").exists()
