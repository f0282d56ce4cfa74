# SPDX-License-Identifier: Apache-2.0

"""weft.compile and its relatives: from a module to a program, a file, or text."""

import os
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weft.keywords import Options
from weft.module import Module
from weft.options import to_words
from weft.program import Program, load
from weft.words import printable, to_bytes

if TYPE_CHECKING:
    from typing_extensions import Unpack

# A module, or the file of one.
Source = Module | str | bytes | os.PathLike
Words = Sequence[str | bytes | os.PathLike]
# Options that are arguments of their own: the output, and where text stops.
_POSITIONAL = ("output", "to")
_SEVERITIES = ("error", "warning", "remark", "note")


@dataclass(frozen=True)
class Diagnostic:
    """What the compiler says, and where. A note belongs to the one before it.
    Line and column are 0 where there is no place in a file."""
    severity: str
    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: " if self.line else ""
        return printable(f"{place}{self.severity}: {self.message}")


class CompileError(Exception):
    """The module, or a file, is at fault; `diagnostics` say where."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        super().__init__("\n".join(map(str, diagnostics)))
        self.diagnostics = diagnostics


class CompileWarning(UserWarning):
    """A warning of the compiler."""


def compile(module: Source, *, threads: int = 0, deadline: float = 60.0, arguments: Words = (),
            **options: "Unpack[Options]") -> Program:
    """Compiles a module, or the file of one, for the ranks of its mesh and returns a
    `Program`.

    threads: of all ranks together; 0: one per core. deadline: how many seconds a
    rank waits for another. arguments, options: as for `build`.
    """
    loaded = _load(module)
    with tempfile.TemporaryDirectory(prefix="weft-") as folder:
        path = os.path.join(folder, "step.so")
        diagnostics = _build("compile", loaded, path, arguments, options)
        return load(path, module=loaded, threads=threads, deadline=deadline,
                    diagnostics=diagnostics)


def build(module: Source, path: str | bytes | os.PathLike, *, arguments: Words = (),
          **options: "Unpack[Options]") -> list[Diagnostic]:
    """Compiles a module, or the file of one, to a file: by its suffix text (.mlir),
    LLVM's (.ll), an object (.o), a library (.so), or without one an executable. Returns
    the compiler's warnings and remarks.

    arguments: more words of weft-compile's command line. options: those of `weft.Options`,
    which are weft-compile's; None stands for one that is not given.
    """
    return _build("build", _load(module), path, arguments, options)


def lower(module: Source, to: str = "local", *, arguments: Words = (), **options: "Unpack[Options]") -> str:
    """The text of a module, or of a file's module, in a later phase. Options: as for
    `build`, without remarks, of which nothing is returned."""
    from weft import _native
    loaded = _load(module)
    words = ["--to", to, *to_words("lower", options, (*_POSITIONAL, "remarks")), *arguments]
    status, diagnostics, text = _native.compile_to_text(*_encode(loaded, words))
    _check(status, diagnostics, stacklevel=3)
    return text


def _build(function, module, path, arguments, options):
    from weft import _native
    words = ["-o", path, *to_words(function, options, _POSITIONAL), *arguments]
    return _check(*_native.compile(*_encode(module, words)), stacklevel=4)


def _encode(module, words):
    """For the compiler, which says itself what is no UTF-8."""
    return (module.text.encode("utf-8", "surrogateescape"), to_bytes(module.source),
            [to_bytes(word) for word in words])


def _load(module):
    return module if isinstance(module, Module) else Module.load(module)


def _check(status, reports, stacklevel):
    """Raises on failure, passes warnings on; returns all that was said."""
    diagnostics = [Diagnostic(_SEVERITIES[severity], *rest) for severity, *rest in reports]
    if status == 2:
        raise ValueError(printable("; ".join(d.message for d in diagnostics)))
    if status != 0:
        raise CompileError(diagnostics)
    for diagnostic in diagnostics:
        if diagnostic.severity == "warning":
            warnings.warn(str(diagnostic), CompileWarning, stacklevel=stacklevel)
    return diagnostics
