# SPDX-License-Identifier: Apache-2.0
"""test/Docs/follow.py, which follows pages to the letter, refuses pages that are not right;
and the places that pages of docs/developer name are there (the rest takes a build)."""
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Docs"))
import follow

EDIT = "In `names.txt`, after `two`:\n\n```\nthree\n```\n"
COMMAND = "Then:\n\n```sh\nsort names.txt\ncat names.txt | tail -1\n```\n\n```text\none\ntwo\n```\n"


def follow_page(folder: Path, page: str) -> list[str]:
    """The lines of names.txt after the page was followed."""
    (folder / "names.txt").write_text("one\ntwo\nfour\n")
    (folder / "page.md").write_text(page)
    follow.Follower(folder, follow.ROOT / "build").follow(folder / "page.md")
    return (folder / "names.txt").read_text().split()


def test_places(tmp_path):
    assert follow_page(tmp_path, EDIT) == ["one", "two", "three", "four"]
    assert follow_page(tmp_path, EDIT.replace("after", "before")) == ["one", "three", "two", "four"]
    assert follow_page(tmp_path, EDIT.replace("after", "instead of")) == ["one", "three", "four"]
    assert follow_page(tmp_path, EDIT.replace("two", "tw").replace("three", "_3_")) == ["one", "tw_3_o", "four"]
    follow_page(tmp_path, "New file `a/b.txt`:\n\n```\nnew\n```\n" + COMMAND)
    assert (tmp_path / "a/b.txt").read_text() == "new\n"


@pytest.mark.parametrize("page, problem", [
    (EDIT.replace("two", "five"), "page.md:4: names.txt has `five` 0 times, expected once"),
    (EDIT.replace("names.txt", "other.txt"), "page.md:4: there is no other.txt"),
    (EDIT.replace("In `", "Into `"), "page.md:4: the line before this block does not say where it belongs"),
    (EDIT.replace("In `names.txt`, after `two`", "New file `names.txt`"), "page.md:4: names.txt is there already"),
    (COMMAND.replace("sort", "false"), "page.md:4: `false names.txt` ends with 1:"),
    (COMMAND.replace("cat names.txt |", "cat none.txt |"), "page.md:4: `cat none.txt | tail -1` ends with 1:"),
    (COMMAND.replace("one\ntwo", "two\none"), "page.md:9: the output has no line `one` where the page has it; it is:"),
])
def test_faults(tmp_path, page, problem):
    with pytest.raises(follow.Failed) as found:
        follow_page(tmp_path, page)
    assert str(found.value).splitlines()[0] == problem


@pytest.mark.parametrize("page", sorted((follow.ROOT / "docs" / "developer").glob("*.md")), ids=lambda page: page.stem)
def test_places_of(page, tmp_path):
    follow.copy_tree(tmp_path)
    follow.Follower(tmp_path, follow.ROOT / "build", places=True).follow(page)


def test_methods_of_a_target():
    """adding-a-target.md has a row for each method of a target, and for no other."""
    header = (follow.ROOT / "include/weft/Target/Target.h").read_text()
    methods = set(re.findall(r"^  virtual [^;(]*?(\w+)\(", header.replace("virtual ~Target", ""), re.M))
    page = (follow.ROOT / "docs/developer/adding-a-target.md").read_text()
    assert methods == set(re.findall(r"^\| `(\w+)` \|", page, re.M))
