#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails where includes and CMake's link dependencies do not say the same.

A file may include what its own target holds, or a target that this one links,
itself or through public links. No cycles; no link that no include needs; no
source or header that no target owns. Between compiler and runtime stands one
header, weft-rt/abi.h, that both include: no target uses libMLIR and the
runtime. An archive may include what it holds the objects of, which gives the
right to nobody else. Of what stands side by side, targets
of the compiler and backends of the runtime, none uses another one. All comes
from the CMakeLists files, but for one list: what the proofs may use, so that
they do not believe what they check.
"""
import re
from collections import defaultdict
from pathlib import Path

from cmake_targets import Target, outside, read_targets
from source_tree import finish, root, tracked

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include [<"]([^>"]+)[>"]', re.M)
COMPILER_HEADERS = ("mlir/", "llvm/", "mlir-c/", "llvm-c/", "clang/")
BORDER = "weft-rt/abi.h"
PROOFS = "Verify"
# Of what lies in include/weft: folders, and headers of folders that have more. Meaning of ops and attributes, arithmetic,
# which functions have formulas, which values a user's module promises.
SHARED_WITH_PROOFS = ("Analysis/", "Dialect/", "Sharding/", "Support/", "Canonicalize/Passes.h", "Math/Expand.h",
                      "Rules/ReductionOrder.h", "Rules/ShardingConversion.h")
# And what these link themselves.
REACHED_BY_PROOFS = ("Analysis", "Canonicalize", "Dialect", "Interfaces", "Math", "Memory", "Rules", "Sharding", "Support")


class Layers:
    def __init__(self, top: Path):
        self.top = top
        self.targets = read_targets(top)
        others = outside(top)
        files = [file for file in tracked(top, "*.cpp", "*.c", "*.h")
                 if not any(file.is_relative_to(folder) for folder in others)]
        self.headers = [file for file in files if file.suffix == ".h"]
        self.sources = [file for file in files if file.suffix != ".h"]
        self.includes = {file: INCLUDE.findall(file.read_text()) for file in files}
        self.compiles: dict[Path, set[str]] = defaultdict(set)
        self.by_folder: dict[Path, set[str]] = defaultdict(set)
        self.by_stem: dict[str, list[Path]] = defaultdict(list)
        for target in self.targets.values():
            for source in target.sources & set(self.sources):
                self.compiles[source].add(target.name)
                self.by_folder[source.parent].add(target.name)
        for source in self.compiles:
            self.by_stem[source.stem].append(source)
        self.folders = sorted({folder for target in self.targets.values() for folder in target.headers})
        self.uses = {name: self.used_by(name) for name in self.targets}
        self.found: dict[Path, list[tuple[str, Path | None]]] = {
            file: [(name, self.resolve(file, name)) for name in self.includes[file]] for file in files}
        self.reached = {name: self.reach(target) for name, target in self.targets.items()}
        self.owners = {file: self.owners_of(file) for file in files}

    def used_by(self, name: str) -> set[str]:
        """What a target may include: its links, and their public ones."""
        used: set[str] = set()
        queue = list(self.targets[name].links)
        while queue:
            link = queue.pop()
            if link not in used:
                used.add(link)
                if link in self.targets:
                    queue += [far for far, kind in self.targets[link].links.items() if kind in ("PUBLIC", "INTERFACE")]
        return used

    def resolve(self, file: Path, name: str) -> Path | None:
        """The file of this tree that an include names, or where one is generated."""
        near = [folder for target in sorted(self.compiles.get(file, ())) for folder in self.targets[target].headers]
        for folder in [file.parent, *near, *self.folders]:
            path = Path(folder, name)
            if path.is_file():
                return (folder / name).resolve()
        if name.endswith(".inc") and (self.top / "include" / name).parent.is_dir():
            return self.top / "include" / name
        return None

    def reach(self, target: Target) -> set[Path]:
        """The files of a target's sources, through all headers."""
        seen: set[Path] = set()
        queue = [source for source in target.sources if source in self.found]
        while queue:
            file = queue.pop()
            if file not in seen:
                seen.add(file)
                queue += [path for _, path in self.found.get(file, ()) if path]
        return seen

    def owners_of(self, file: Path) -> set[str]:
        """A source belongs to those that compile it. A header belongs where the
        source of its name lies; without one, to those of its folder."""
        if file.suffix not in (".h", ".inc"):
            return self.compiles.get(file, set())
        inside = file.relative_to(self.top)
        folder = file.parent
        if inside.parts[:2] == ("include", "weft"):
            folder = self.top / "lib" / Path(*inside.parts[2:-1])
        same = [source for source in self.by_stem[file.stem] if source.parent == folder]
        if same:
            return set().union(*(self.compiles[source] for source in same))
        if inside.parts[:2] == ("include", "weft") and self.by_folder.get(folder / file.stem):
            return self.by_folder[folder / file.stem]
        if here := self.by_folder.get(folder):
            return {name for name in here if file in self.reached[name]} or here
        if near := self.holders_of_folder(file):
            return near
        same = [source for source in self.by_stem[file.stem] if file in [path for _, path in self.found[source]]]
        return self.compiles[same[0]] if len(same) == 1 else set()

    def holders_of_folder(self, file: Path) -> set[str]:
        """The target beside or above the nearest public folder of headers."""
        found = [(len(folder.parts), target.name) for target in self.targets.values() if target.sources
                 for folder, kind in target.headers.items()
                 if kind != "PRIVATE" and file.is_relative_to(folder) and file.is_relative_to(target.folder)]
        return {name for depth, name in found if depth == max(found)[0]}

    def name(self, file: Path) -> str:
        return str(file.relative_to(self.top))

    def owners_of_include(self, path: Path) -> set[str]:
        return self.owners[path] if path in self.owners else self.owners_of(path)

    def check_file(self, file: Path) -> list[str]:
        problems = []
        for owner in sorted(self.owners[file]):
            for name, path in self.found[file]:
                if name.startswith(COMPILER_HEADERS) and "MLIR" not in self.uses[owner]:
                    problems.append(f"{self.name(file)}: includes {name}, but {owner} does not link libMLIR")
                if path is None or name == BORDER:
                    continue
                holders = self.owners_of_include(path)
                if holders and owner not in holders and not holders & self.uses[owner]:
                    problems.append(f"{self.name(file)}: includes {name} of {' and '.join(sorted(holders))}, "
                                    f"which {owner} does not link")
        return problems

    def unowned(self) -> list[str]:
        tests = "\n".join(file.read_text(errors="replace")
                          for file in tracked(self.top, "test/*.test", "test/*.mlir", "test/*lit.local.cfg"))
        problems = []
        for file in self.sources + self.headers:
            compiled_by_test = self.name(file).startswith("test/") and file.name in tests
            if self.owners[file] or compiled_by_test or self.name(file).endswith(BORDER):
                continue
            what = "compiles" if file.suffix != ".h" else "owns"
            problems.append(f"{self.name(file)}: no target {what} it")
        return problems

    def unused_links(self) -> list[str]:
        problems = []
        for name, target in sorted(self.targets.items()):
            needed = set()
            for file, owners in self.owners.items():
                if name in owners:
                    for _, path in self.found[file]:
                        needed |= self.owners_of_include(path) if path else set()
            for link, kind in target.links.items() if target.sources else ():  # without: only passed on
                library = self.targets.get(link)
                if library and kind != "OBJECTS" and library.sources and link not in needed and not self.holds_main(library):
                    problems.append(f"{self.name(target.folder)}/CMakeLists.txt: {name} links {link}, "
                                    "of which it includes nothing")
        return problems

    def holds_main(self, library: Target) -> bool:
        return any(re.search(r"^int main\(", source.read_text(), re.M) for source in library.sources
                   if source in self.compiles)

    def cycles(self) -> list[str]:
        problems, done = [], set()

        def visit(name: str, path: list[str]) -> None:
            if name in path:
                problems.append("cycle of links: " + " -> ".join(path[path.index(name):] + [name]))
            elif name in self.targets and name not in done:
                for link in self.targets[name].links:
                    visit(link, path + [name])
                done.add(name)

        for name in sorted(self.targets):
            visit(name, [])
        return problems

    def believed(self) -> list[str]:
        """What the proofs include, or reach by links, that they must not."""
        public, private = self.top / "include" / "weft", self.top / "lib"
        problems = []
        for file in sorted(self.found):
            if not file.is_relative_to(public / PROOFS) and not file.is_relative_to(private / PROOFS):
                continue
            for name, path in self.found[file]:
                folder = next((folder for folder in (public, private) if path and path.is_relative_to(folder)), None)
                inside = str(path.relative_to(folder)) if folder else PROOFS
                if not inside.startswith((PROOFS, *SHARED_WITH_PROOFS)):
                    problems.append(f"{self.name(file)}: includes {name}, which a proof must not use")
        for name, target in sorted(self.targets.items()):
            if not target.folder.is_relative_to(private / PROOFS):
                continue
            for far in sorted(self.linked_by(name)):
                folder = self.targets[far].folder
                if folder.is_relative_to(private) and \
                        folder.relative_to(private).parts[0] not in (PROOFS, *REACHED_BY_PROOFS):
                    problems.append(f"{name}: links {far}, which a proof must not use")
        return problems

    def beside(self) -> list[str]:
        """Targets of the compiler that use each other, as backends of the runtime might."""
        problems = []
        for parent in (self.top / "lib" / "Target", self.top / "runtime" / "backends"):
            one_of = {name: target.folder.relative_to(parent).parts[0] for name, target in self.targets.items()
                      if target.folder.is_relative_to(parent) and target.folder != parent}
            problems += [f"{name}: links {link} of {one_of[link]}, which {one_of[name]} stands beside"
                         for name in sorted(one_of) for link in self.targets[name].links
                         if one_of.get(link, one_of[name]) != one_of[name]]
        return problems

    def linked_by(self, name: str) -> set[str]:
        """All targets of the tree that end up beside this one."""
        reached: set[str] = set()
        queue = [name]
        while queue:
            new = set(self.targets[queue.pop()].links) & set(self.targets) - reached
            reached |= new
            queue += new
        return reached

    def joined(self) -> list[str]:
        """Targets on both sides of the border."""
        border = next((path for path in self.headers if self.name(path).endswith("include/" + BORDER)), None)
        if border is None:
            return [f"no header {BORDER}"]
        folder = border.parent.parent.parent
        runtime = {name for name, target in self.targets.items() if target.folder.is_relative_to(folder)}
        return [f"{name}: uses libMLIR and {' and '.join(sorted(both))} of the runtime"
                for name, used in sorted(self.uses.items())
                if "MLIR" in used and (both := (used | {name}) & runtime)]


def main():
    layers = Layers(root())
    problems = [problem for file in layers.owners for problem in layers.check_file(file)]
    finish(problems + layers.unowned() + layers.unused_links() + layers.cycles() + layers.joined()
           + layers.believed() + layers.beside())


if __name__ == "__main__":
    main()
