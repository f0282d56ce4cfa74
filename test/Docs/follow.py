# SPDX-License-Identifier: Apache-2.0
"""Follows a page of docs/developer to the letter, in a copy of the tree.

  follow.py PAGE --build BUILD --work FOLDER [--full]

In order: a block below ``New file `PATH`:`` becomes that file; one below
``In `PATH`, after `TEXT`:`` (or `before`, or `instead of`) goes to the line that
is TEXT, or into the one that has it; there has to be one. Blocks of `sh` are run in the copy, and must succeed;
the lines of a `text` block must be in the output of what ran before it, in
their order (scripts/expected_lines.py). Where the page builds (`scripts/build.sh TOOL`), this compiles only
what the page changed and links it with the libraries of BUILD, unless --full
says to do what the page says. With --places nothing is run: are the places there?
"""
import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

from overlay import Overlay

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from expected_lines import missing_line  # noqa: E402
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
NEW = re.compile(r"^New file `([^`]+)`:$")
EDIT = re.compile(r"^In `([^`]+)`, (after|before|instead of) `([^`]+)`:$")
BUILD_COMMAND = re.compile(r"^scripts/build\.sh((?: [\w-]+)+)$")


class Failed(Exception):
    pass


def read_blocks(page: str):
    """(line number, language, text, line of prose before it) of each block."""
    for match in FENCE.finditer(page):
        before = page[:match.start()].rstrip("\n").splitlines()
        yield page.count("\n", 0, match.start()) + 2, match[1], match[2], before[-1] if before else ""


def copy_tree(folder: Path) -> None:
    listing = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                             text=True, capture_output=True, check=True).stdout
    for name in filter(None, listing.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    if (ROOT / ".venv").exists():
        (folder / ".venv").symlink_to(ROOT / ".venv")


def edit(path: Path, place: str, anchor: str, block: str) -> None:
    """The block goes to a line that is the anchor; if there is none, into the one that has it in it."""
    text = path.read_text()
    found = list(re.finditer(rf"^[ \t]*{re.escape(anchor.strip())}[ \t]*\n", text, re.M))
    if not found:
        found, block = list(re.finditer(re.escape(anchor), text)), block.rstrip("\n")
    if len(found) != 1:
        raise Failed(f"{path.name} has `{anchor}` {len(found)} times, expected once")
    start, end = found[0].span()
    path.write_text(text[:end if place == "after" else start] + block + text[start if place == "before" else end:])


class Follower:
    def __init__(self, folder: Path, build: Path, full: bool = False, places: bool = False):
        self.folder, self.full, self.places = folder, full, places
        self.overlay = Overlay(build, folder)
        self.changed: list[Path] = []
        self.output: list[str] = []

    def change(self, block: str, prose: str) -> bool:
        """Does what the prose before a block says; false if it names no file."""
        if found := NEW.match(prose):
            path = self.folder / found[1]
            if path.exists():
                raise Failed(f"{found[1]} is there already")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block)
        elif found := EDIT.match(prose):
            path = self.folder / found[1]
            if not path.is_file():
                raise Failed(f"there is no {found[1]}")
            edit(path, found[2], found[3], block)
        else:
            return False
        self.changed.append(path)
        return True

    def run(self, block: str) -> None:
        self.output = []
        for command in block.splitlines():
            build = BUILD_COMMAND.match(command)
            if build and not self.full:
                for tool in build[1].split():
                    self.overlay.build(tool, self.changed)
                continue
            result = subprocess.run(["bash", "-c", "set -o pipefail; " + command], cwd=self.folder, text=True,
                                    env=self.overlay.environment(), stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT)
            if result.returncode != 0:
                raise Failed(f"`{command}` ends with {result.returncode}:\n{result.stdout}")
            self.output += result.stdout.splitlines()

    def compare(self, block: str) -> None:
        if line := missing_line(block, "\n".join(self.output)):
            raise Failed(f"the output has no line `{line}` where the page has it; it is:\n" + "\n".join(self.output))

    def follow(self, page: Path) -> int:
        count = 0
        for number, language, block, prose in read_blocks(page.read_text()):
            try:
                if self.change(block, prose):
                    pass
                elif self.places and language in ("sh", "text"):
                    pass
                elif language == "sh":
                    self.run(block)
                elif language == "text":
                    self.compare(block)
                elif language != "mlir":  # those are examples: scripts/check-doc-examples.py
                    raise Failed("the line before this block does not say where it belongs")
            except Failed as problem:
                raise Failed(f"{page.name}:{number}: {problem}") from None
            count += 1
        return count


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("page", type=Path)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--places", action="store_true")
    options = parser.parse_args()
    folder = options.work.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        copy_tree(folder)
        count = Follower(folder, options.build.resolve(), options.full, options.places).follow(options.page)
        if count == 0:
            raise Failed(f"{options.page.name} has no block")
    except subprocess.CalledProcessError as problem:
        sys.exit(f"{problem}\n{problem.output}")
    except Failed as problem:
        sys.exit(str(problem))
    print(f"followed {count} blocks of {options.page.name}")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
