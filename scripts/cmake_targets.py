# SPDX-License-Identifier: Apache-2.0
"""Reads the targets of a tree from its CMakeLists files, without CMake.

Runs the commands that make targets, give them sources, folders of headers and
libraries, and the functions that the tree defines around them. Both branches of
an `if` are run: what is linked in one of them counts.
"""
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from source_tree import tracked

TOKEN = re.compile(r'#\[\[.*?\]\]|#[^\n]*|"(?:[^"\\]|\\.)*"|[()]|[^\s()"#]+', re.S)
REFERENCE = re.compile(r"\$\{(\w+)\}")
VISIBILITIES = ("PUBLIC", "PRIVATE", "INTERFACE")
MAKES_TARGET = ("add_library", "add_executable", "nanobind_add_module")


@dataclass
class Target:
    name: str
    folder: Path
    sources: set[Path] = field(default_factory=set)
    links: dict[str, str] = field(default_factory=dict)  # name to visibility, or OBJECTS: that it holds
    headers: dict[Path, str] = field(default_factory=dict)  # folder to visibility


@dataclass
class Command:
    name: str
    args: list[str]  # quoted ones with their quotes


def parse(text: str) -> list[Command]:
    commands, depth = [], 0
    previous = ""
    for token in TOKEN.findall(text):
        if token.startswith("#"):
            continue
        if token == "(":
            depth += 1
            if depth == 1:
                commands.append(Command(previous.lower(), []))
        elif token == ")":
            depth -= 1
        elif depth:
            commands[-1].args.append(token)
        previous = token
    return commands


class Reader:
    def __init__(self, top: Path):
        self.top = top
        self.targets: dict[str, Target] = {}
        self.functions: dict[str, tuple[list[str], list[Command]]] = {}
        self.visited: set[Path] = set()

    def read(self, folder: Path, variables: dict[str, str]) -> None:
        file = folder / "CMakeLists.txt"
        if folder in self.visited or not file.is_file():
            return
        self.visited.add(folder)
        self.run(parse(file.read_text()), dict(variables, CMAKE_CURRENT_SOURCE_DIR=str(folder)))

    def run(self, commands: list[Command], variables: dict[str, str]) -> None:
        position = 0
        while position < len(commands):
            command = commands[position]
            if command.name in ("function", "macro", "foreach"):
                end = self.end_of(commands, position)
                self.block(command, commands[position + 1:end], variables)
                position = end
            else:
                self.call(command.name, self.expand(command.args, variables), variables)
            position += 1

    @staticmethod
    def end_of(commands: list[Command], position: int) -> int:
        kind, depth = commands[position].name, 0
        for index in range(position, len(commands)):
            depth += (commands[index].name == kind) - (commands[index].name == "end" + kind)
            if depth == 0:
                return index
        raise ValueError(f"{kind} without end{kind}")

    def block(self, command: Command, body: list[Command], variables: dict[str, str]) -> None:
        name, *args = self.expand(command.args, variables)
        if command.name != "foreach":
            self.functions[name.lower()] = (args, body)
            return
        if args[:2] == ["IN", "LISTS"]:
            items = [item for key in args[2:] for item in variables.get(key, "").split(";") if item]
        else:
            items = args[2:] if args[:2] == ["IN", "ITEMS"] else args
        for item in items:
            variables[name] = item
            self.run(body, variables)

    def expand(self, args: list[str], variables: dict[str, str]) -> list[str]:
        result = []
        for arg in args:
            quoted = arg.startswith('"')
            text = arg[1:-1] if quoted else arg
            while found := REFERENCE.search(text):
                text = text[:found.start()] + variables.get(found[1], "") + text[found.end():]
            result += [text] if quoted else [part for part in text.split(";") if part]
        return result

    def call(self, name: str, args: list[str], variables: dict[str, str]) -> None:
        here = Path(variables["CMAKE_CURRENT_SOURCE_DIR"])
        if name in self.functions:
            names, body = self.functions[name]
            inner = dict(variables, ARGN=";".join(args[len(names):]), **dict(zip(names, args)))
            self.run(body, inner)
        elif name == "project" and args:
            variables["PROJECT_SOURCE_DIR"] = str(here)
        elif name == "add_subdirectory":
            self.read(resolve(here, args[0]), variables)
        elif name == "include" and (file := self.top / "cmake" / "modules" / (args[0] + ".cmake")).is_file():
            self.run(parse(file.read_text()), variables)
        elif name == "set" and args:
            variables[args[0]] = ";".join(args[1:])
        elif name == "list" and args[0] == "APPEND":
            variables[args[1]] = ";".join(filter(None, [variables.get(args[1], ""), *args[2:]]))
        elif name == "get_filename_component" and args[2] in ("ABSOLUTE", "REALPATH"):
            variables[args[0]] = str(resolve(here, args[1]))
        elif name == "cmake_parse_arguments":
            parse_arguments(args, variables)
        elif name in MAKES_TARGET and not {"IMPORTED", "ALIAS"} & set(args):
            self.targets[args[0]] = Target(args[0], here)
            self.add_sources(self.targets[args[0]], args[1:], here)
        elif name.startswith("target_") and args and args[0] in self.targets:
            self.extend(name, self.targets[args[0]], args[1:], here)

    def add_sources(self, target: Target, args: list[str], here: Path) -> None:
        for arg in args:
            if objects := re.fullmatch(r"\$<TARGET_OBJECTS:(.+)>", arg):
                target.links[objects[1]] = "OBJECTS"
            elif arg.endswith((".cpp", ".c")):
                target.sources.add(resolve(here, arg))

    def extend(self, name: str, target: Target, args: list[str], here: Path) -> None:
        visibility = "PUBLIC"
        for arg in args:
            if arg in VISIBILITIES:
                visibility = arg
            elif name == "target_link_libraries":
                target.links[without_build_interface(arg)] = visibility
            elif name == "target_include_directories" and arg != "SYSTEM":
                if not arg.startswith("$<INSTALL_INTERFACE:"):
                    target.headers[resolve(here, without_build_interface(arg))] = visibility
            elif name == "target_sources":
                self.add_sources(target, [arg], here)


def parse_arguments(args: list[str], variables: dict[str, str]) -> None:
    """cmake_parse_arguments(PREFIX options one-value multi-value args...)"""
    prefix = args[0]
    options, single, multiple = (arg.split(";") for arg in args[1:4])
    for key in filter(None, (*single, *multiple)):
        variables[f"{prefix}_{key}"] = ""
    current = "UNPARSED_ARGUMENTS"
    variables[f"{prefix}_{current}"] = ""
    for arg in args[4:]:
        if arg in options:
            variables[f"{prefix}_{arg}"] = "TRUE"
        elif arg in single or arg in multiple:
            current = arg
        else:
            key = f"{prefix}_{current}"
            variables[key] = ";".join(filter(None, [variables[key], arg]))
            if current in single:
                current = "UNPARSED_ARGUMENTS"


def without_build_interface(arg: str) -> str:
    return re.sub(r"^\$<BUILD_INTERFACE:(.*)>$", r"\1", arg)


def resolve(here: Path, name: str) -> Path:
    return Path(os.path.normpath(here / name))


def outside(top: Path) -> list[Path]:
    """Folders of projects that use an installed weft, as if they were somebody else's."""
    return [file.parent for file in tracked(top, "*CMakeLists.txt")
            if re.search(r"^find_package\(weft\b", file.read_text(), re.M)]


def read_targets(top: Path) -> dict[str, Target]:
    """All targets of the tree: of its project, and of those that stand alone."""
    others = outside(top)
    reader = Reader(top)
    roots = [top] + [file.parent for file in tracked(top, "*CMakeLists.txt")
                     if re.search(r"^project\(", file.read_text(), re.M) and file.parent not in others]
    for folder in roots:
        reader.read(folder, {"PROJECT_SOURCE_DIR": str(top)})
    return reader.targets
