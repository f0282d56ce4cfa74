#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails where the names of one thing differ.

A pass: def FooBarPass, its constructor if it names one, flag weft-foo-bar,
file FooBar.cpp and test foo-bar*.mlir that runs the flag, both in the folders
that mirror the .td file's. A file's DEBUG_TYPE is as a pass's flag. Options: fooBar has the
flag foo-bar. An op: def Dialect_FooBarOp, mnemonic foo_bar, and a test of its text
in the mirroring folder; of its verifier, in an -invalid test there. Documents:
every word weft-* names something that is there, and so do the options of weft's
tools and links to files.
"""
import re
from pathlib import Path

from cmake_targets import read_targets
from source_tree import finish, root, tracked

PASS = re.compile(r'^def\s+(\w+)\s*:\s*(?:Interface)?Pass<\s*"([\w-]+)"', re.M)
OPTION = re.compile(r'\b(?:List)?Option<\s*"(\w+)"\s*,\s*"([^"]*)"')
DIALECT = re.compile(r'^def\s+(\w+)_Dialect\s*:\s*Dialect\s*\{[^}]*?let name = "(\w+)"', re.M | re.S)
OP = re.compile(r'^def\s+(\w+?)_(\w+)Op\s*:\s*\w+<\s*"([\w.]+)"', re.M)
CONSTRUCTOR = re.compile(r'let constructor = "(?:\w*::)*(\w+)\(')
DEBUG_TYPE = re.compile(r'#define DEBUG_TYPE "([^"]*)"')
DOCUMENTED = re.compile(r"(?<![\w/.@-])-{0,2}((?:weft|convert-weft)-[a-z0-9]+(?:-[a-z0-9]+)*)(?![\w-]|[/.]\w)")

# In the documents: a command of a tool that has options of its own (weft-opt has those of MLIR), and an option by itself.
COMMAND = re.compile(r"(weft-(?:compile|run|sim|verify|measure)\b)([^\n`|;]*)")
# Where each tool says what options it has; elsewhere a message may name one.
COMPILER = ("include/weft/Compile/", "lib/Compile/CommandLine.cpp")
TABLES = {"weft-compile": (*COMPILER, "tools/weft-compile/"), "weft-sim": (*COMPILER, "tools/weft-sim/"),
          "weft-run": ("runtime/tool/",), "weft-verify": ("tools/weft-verify/",),
          "weft-measure": ("tools/weft-measure/",)}
ARGUMENT = re.compile(r'(?:add_argument\((?:"-\w", )?|(?=[^\n]*in sys\.argv))"--([a-z][a-z-]*)')
FLAG = re.compile(r"(?:(?<=\s)|(?<=`))--([a-z][a-z-]*)")
WRITTEN_FLAG = re.compile(r'"--([a-z][a-z-]*)')
# Of passes (see the words weft-*), MLIR's own, and of CMake, mlir-reduce and mypy.
OTHERS_FLAG = re.compile(r"weft-|convert-|mlir-|reduction-tree|opt-reduction-pass|component|strict")
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)")


def kebab(name: str) -> str:
    words = re.findall(r"[A-Z]+(?=[A-Z][a-z]|$)|[A-Z]?[a-z0-9]+|[A-Z]+", name)
    return "-".join(word.lower() for word in words)


def flag_of(stem: str) -> str:
    """weft-foo-bar; a name that holds `Weft` already does not get it twice."""
    words = kebab(stem)
    return words if "weft" in words.split("-") else "weft-" + words


def bodies(pattern: re.Pattern, text: str):
    """Each match and the text up to the next definition."""
    for match in pattern.finditer(text):
        end = re.search(r"^(def|class|#endif)\b", text[match.end():], re.M)
        yield match, text[match.start():match.end() + end.start() if end else len(text)]


class Names:
    def __init__(self, top: Path):
        self.top = top
        self.problems: list[str] = []
        self.tables = {file: file.read_text() for file in tracked(top, "*.td")}
        self.sources = {file: file.read_text() for file in tracked(top, "*.cpp", "*.h", "*.c")}
        self.tests = {file: file.read_text() for file in tracked(top, "test/*.mlir")}
        self.dialects = {prefix: name for text in self.tables.values() for prefix, name in DIALECT.findall(text)}
        self.flags: set[str] = set()

    def say(self, file: Path, text: str) -> None:
        self.problems.append(f"{file.relative_to(self.top)}: {text}")

    def mirror(self, table: Path, folder: str) -> Path:
        """include/weft/A/B/X.td to lib/A/B or test/A/B; elsewhere the folder itself."""
        parts = table.relative_to(self.top).parts[:-1]
        if parts[:2] == ("include", "weft"):
            parts = parts[2:]
        elif parts[:1] == ("lib",):
            parts = parts[1:]
        return self.top / folder / Path(*parts)

    def tests_beside(self, table: Path) -> dict[str, str]:
        folder = self.mirror(table, "test")
        return {file.stem: text for file, text in self.tests.items() if file.parent == folder}

    def check_pass(self, table: Path, name: str, flag: str, body: str) -> None:
        self.flags.add(flag)
        if not name.endswith("Pass"):
            return self.say(table, f"the def of {name} does not end in Pass")
        stem = name.removesuffix("Pass")
        if flag != flag_of(stem):
            self.say(table, f"{name} has the flag {flag}, expected {flag_of(stem)}")
        for made in CONSTRUCTOR.findall(body):
            if made != "create" + name:
                self.say(table, f"{name} is made by {made}, expected create{name}")
        file = self.mirror(table, "lib") / f"{stem}.cpp"
        place = file.relative_to(self.top)
        if f"#define GEN_PASS_DEF_{name.upper()}\n" not in self.sources.get(file, ""):
            self.say(table, f"{name} is not defined in {place}")
        test = flag.removeprefix("weft-")
        runs = re.compile(rf"RUN:.*[\s=(,\"'-]{flag}(?![\w-])")
        if not any((found == test or found.startswith(test + "-")) and runs.search(text)
                   for found, text in self.tests_beside(table).items()):
            self.say(table, f"no {self.mirror(table, 'test').relative_to(self.top)}/{test}*.mlir runs {flag}")

    def check_op(self, table: Path, prefix: str, name: str, mnemonic: str, body: str) -> None:
        if kebab(name) != re.sub(r"[_.]", "-", mnemonic):
            self.say(table, f"{prefix}_{name}Op has the mnemonic {mnemonic}")
        if prefix not in self.dialects:
            return self.say(table, f"{prefix}_{name}Op is of no dialect of a .td file")
        op = f"{self.dialects[prefix]}.{mnemonic}"
        used = re.compile(rf"(?<![\w.]){re.escape(op)}(?![\w.])")
        tests = self.tests_beside(table)
        folder = self.mirror(table, "test").relative_to(self.top)
        if not any(re.search(rf"//\s*[A-Z-]*CHECK.*{used.pattern}", text) for text in tests.values()):
            self.say(table, f"no test in {folder} checks the text of {op}")
        if re.search(r"let has(Region)?Verifier = 1|let hasVerifier = true", body) and not any(
                "-invalid" in stem and used.search(text) for stem, text in tests.items()):
            self.say(table, f"no *-invalid.mlir in {folder} has {op}")

    def check_tables(self) -> None:
        for table, text in self.tables.items():
            for found, body in bodies(PASS, text):
                self.check_pass(table, found[1], found[2], body)
            for found, body in bodies(OP, text):
                self.check_op(table, found[1], found[2], found[3], body)
            for name, flag in OPTION.findall(text):
                if flag != kebab(name) or not name[0].islower():
                    self.say(table, f"the option {name} has the flag {flag}, expected {kebab(name)}")

    def check_debug_types(self) -> None:
        for file, text in self.sources.items():
            for debug in DEBUG_TYPE.findall(text):
                if debug != flag_of(file.stem):
                    self.say(file, f"DEBUG_TYPE is {debug}, expected {flag_of(file.stem)}")

    def check_documents(self) -> None:
        """Words of the documents: flags, targets and components of CMake, folders of headers, strings of a source."""
        known = self.flags | set(read_targets(self.top))
        for file, text in self.sources.items():
            # A pass that names itself gives no name: its definition does.
            own = {flag_of(file.stem)} if "GEN_PASS_DEF" in text else set()
            known |= {file.parent.name, *re.findall(r'"(weft-[a-z0-9-]+)"', text)} - own
        for file in tracked(self.top, "*.cmake"):
            known |= set(re.findall(r"\bCOMPONENT (weft-[a-z-]+)", file.read_text()))
        for file in tracked(self.top, "*.md"):
            text = file.read_text()
            added = {flag for _, flag in PASS.findall(text)}  # what the document itself tells to add
            for word in sorted(set(DOCUMENTED.findall(text)) - known - added):
                self.say(file, f"nothing is named {word}")

    def check_flags(self) -> None:
        """The documents name each option of the tools, and no other one."""
        of_tools = {tool: {} for tool in TABLES}  # flags, and the file that has each
        for file in tracked(self.top, "*.def", "*.cpp"):
            for tool, places in TABLES.items():
                if str(file.relative_to(self.top)).startswith(places):
                    of_tools[tool] |= dict.fromkeys(WRITTEN_FLAG.findall(file.read_text()), file)
        of_scripts = {flag for file in tracked(self.top, "*.py") for flag in ARGUMENT.findall(file.read_text())}
        named = set()
        for file in tracked(self.top, "*.md"):
            text = file.read_text().replace("\\\n", " ")
            unknown = set()
            for tool, command in COMMAND.findall(text):
                flags = set(FLAG.findall(command))
                unknown |= flags - of_tools[tool].keys()
                named |= flags
            flags = set(re.findall(r"`--([a-z][a-z-]*)", text))
            named |= flags
            unknown |= flags - of_scripts.union(*of_tools.values())
            for flag in sorted(unknown):
                if not OTHERS_FLAG.match(flag):
                    self.say(file, f"no tool has the option --{flag}")
        for flag, file in sorted({pair for flags in of_tools.values() for pair in flags.items()}):
            if flag not in named:
                self.say(file, f"no document names the option --{flag}")

    def check_links(self) -> None:
        for file in tracked(self.top, "*.md"):
            prose = re.sub(r"^```.*?^```|`[^`]*`", "", file.read_text(), flags=re.M | re.S)
            for target in LINK.findall(prose):
                if not (file.parent / target).exists():
                    self.say(file, f"links to {target}, which is not there")


def main():
    names = Names(root())
    names.check_tables()
    names.check_debug_types()
    names.check_documents()
    names.check_flags()
    names.check_links()
    finish(names.problems)


if __name__ == "__main__":
    main()
