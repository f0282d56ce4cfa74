# SPDX-License-Identifier: Apache-2.0
"""A changed copy of the tree is built on top of a finished build of the tree.

Only what the change touches is made: the tables' generated headers, the changed
sources, and those that instantiate what the tables say. All else is linked from
the finished build's libraries. That is right as long as changed headers and
tables only add: the layout of what other sources use must stay.
"""
import json
import os
import re
import shlex
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

REGISTRATION = "lib/Init/InitAll.cpp"


def run(command: str, folder: Path, environment: dict) -> None:
    subprocess.run(["bash", "-c", command], cwd=folder, env=environment, check=True, text=True,
                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


class Overlay:
    def __init__(self, build: Path, folder: Path):
        self.build_folder, self.folder = build, folder
        cache = (build / "CMakeCache.txt").read_text()
        self.root = Path(re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", cache, re.M)[1])
        self.out = folder / "build"
        self.objects: dict[Path, Path] = {}
        self.built: list[Path] = []  # the changes that the objects are of

    def environment(self) -> dict:
        """Of commands that are run in the copy: its own tools, then those of the build."""
        tools = [str(self.out / "bin"), str(self.build_folder / "bin"), "/usr/lib/llvm-22/bin"]
        return dict(os.environ, PATH=os.pathsep.join([*tools, os.environ["PATH"]]),
                    CCACHE_BASEDIR=str(self.folder), CCACHE_NOHASHDIR="1",
                    CCACHE_SLOPPINESS="pch_defines,time_macros")

    def commands_of(self, target: str) -> list[str]:
        lines = subprocess.run(["ninja", "-C", str(self.build_folder), "-t", "commands", target], text=True,
                               capture_output=True, check=True).stdout.splitlines()
        return [line for line in lines if not line.startswith("ninja:")]

    def moved(self, command: str) -> str:
        """A command of the build, for the copy: headers that were not made again, or are precompiled, are the build's."""
        precompiled = f"{self.build_folder}/CMakeFiles/weft_precompiled.dir"
        places = {precompiled: precompiled,
                  f"-I{self.build_folder}/include": f"-I{self.out}/include -I{self.build_folder}/include",
                  str(self.build_folder): str(self.out), str(self.root): str(self.folder)}
        return re.sub("|".join(map(re.escape, places)), lambda found: places[found[0]], command)

    def generate(self, changed: list[Path]) -> list[str]:
        """Runs mlir-tblgen for the tables that changed; returns the headers' names, as they are included."""
        made = []
        for folder in sorted({path.parent.relative_to(self.folder) for path in changed if path.suffix == ".td"}):
            for header in sorted((self.build_folder / folder).glob("*.inc")):
                name = header.relative_to(self.build_folder)
                command = self.commands_of(str(name))[-1].split(" && ")[1]  # after cd, before the dependencies
                (self.out / folder).mkdir(parents=True, exist_ok=True)
                run(self.moved(command), self.out / folder, self.environment())
                made.append(str(name.relative_to("include")))
        return made

    def sources(self, changed: list[Path], made: list[str]) -> list[Path]:
        """The changed sources, those that define what was generated, and what registers passes."""
        found = {path for path in changed if path.suffix == ".cpp" and path.parts[-2] != "unit"}
        definitions = [f'"{name}"' for name in made if name.endswith(".cpp.inc")]
        for source in sorted((self.folder / "lib").rglob("*.cpp")):
            text = source.read_text()
            if any(name in text for name in definitions):
                found.add(source)
        if any(name.endswith("Passes.h.inc") for name in made):
            found.add(self.folder / REGISTRATION)
        return sorted(found)

    def compile_commands(self) -> dict[Path, str]:
        entries = json.loads((self.build_folder / "compile_commands.json").read_text())
        return {Path(entry["file"]): entry["command"] for entry in entries}

    def batches(self) -> dict[Path, Path]:
        """Of each source that is compiled in a batch, the file that includes all of it."""
        return {Path(source): batch for batch in sorted((self.build_folder / "lib").rglob("Unity/*.cxx"))
                for source in re.findall(r'^#include "(.+)"$', batch.read_text(), re.M)}

    def command_for(self, source: Path, known: dict[Path, str]) -> tuple[str, Path]:
        """A new source is compiled as its neighbours are, if CMakeLists.txt beside it lists it."""
        if source in known:
            command = known[source]
        else:
            beside = self.folder / source.relative_to(self.root).parent
            if not re.search(rf"(?<![\w/]){re.escape(source.name)}(?!\w)", (beside / "CMakeLists.txt").read_text()):
                raise subprocess.CalledProcessError(1, "build", f"CMakeLists.txt does not list {source.name}\n")
            compiled = {**{path: path for path in known}, **self.batches()}
            like = next((file for path, file in compiled.items() if path.parent == source.parent),
                        compiled[self.root / REGISTRATION])  # any other, if the folder is new
            made = Path(source.relative_to(self.root).parent, f"{source.name}.o")
            command = re.sub(r"-o \S+", f"-o {made}", known[like].replace(str(like), str(source)))
        command = self.moved(command)
        words = shlex.split(command)
        return command, self.out / words[words.index("-o") + 1]

    def compile(self, sources: list[Path]) -> None:
        """A batch is compiled again as a whole: of an archive's object either all is linked or nothing."""
        batches = self.batches()
        originals = [self.root / source.relative_to(self.folder) for source in sources]
        units = sorted({batches.get(original, original) for original in originals})
        units = [unit for unit in units if unit not in self.objects]  # a second tool has the same ones
        known = self.compile_commands()
        launcher = "ccache " if shutil.which("ccache") else ""

        def one(source: Path) -> None:
            command, result = self.command_for(source, known)
            result.parent.mkdir(parents=True, exist_ok=True)
            if source.is_relative_to(self.build_folder):
                batch = Path(self.moved(str(source)))
                batch.parent.mkdir(parents=True, exist_ok=True)
                batch.write_text(source.read_text().replace(f'"{self.root}/lib/', f'"{self.folder}/lib/'))
            run(launcher + command, self.out, self.environment())
            self.objects[source] = result

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(one, units))

    def link(self, tool: str) -> None:
        command = self.commands_of(f"bin/{tool}")[-1]
        (self.out / "bin").mkdir(parents=True, exist_ok=True)
        objects = " ".join(str(path) for path in self.objects.values())
        target = self.out / "bin" / tool
        command = command.replace(f"-o bin/{tool}", f"-o {target} {objects}")
        run(command, self.build_folder, self.environment())

    def make_test_folder(self) -> None:
        """What lit needs to find the copy's tests."""
        (self.out / "test").mkdir(parents=True, exist_ok=True)
        site = (self.build_folder / "test" / "lit.site.cfg.py").read_text()
        site = site.replace(str(self.build_folder), str(self.out)).replace(str(self.root), str(self.folder))
        (self.out / "test" / "lit.site.cfg.py").write_text(site)
        for tool in (self.build_folder / "bin").iterdir():
            if not (self.out / "bin" / tool.name).exists():
                (self.out / "bin" / tool.name).symlink_to(tool)

    def build(self, tool: str, changed: list[Path]) -> None:
        self.out.mkdir(exist_ok=True)
        if changed != self.built:
            self.objects, self.built = {}, list(changed)
        self.compile(self.sources(changed, self.generate(changed)))
        self.link(tool)
        self.make_test_folder()
