# SPDX-License-Identifier: Apache-2.0

"""weft.compile and its relatives: from a module to a program, a file, or text."""

import os
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

from weft.module import Module
from weft.program import load
from weft.words import printable, to_bytes

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

    def __str__(self):
        place = f"{self.file}:{self.line}:{self.column}: " if self.line else ""
        return printable(f"{place}{self.severity}: {self.message}")


class CompileError(Exception):
    """The module, or a file, is at fault; `diagnostics` say where."""

    def __init__(self, diagnostics):
        super().__init__("\n".join(map(str, diagnostics)))
        self.diagnostics = diagnostics


class CompileWarning(UserWarning):
    """A warning of the compiler."""


def compile(module, *, threads=0, deadline=60.0, **options):
    """Compiles a module, or the file of one, for the ranks of its mesh and returns a
    `Program`.

    threads: of all ranks together; 0: one per core. deadline: how many seconds a
    rank waits for another. options: as for `build`.
    """
    module = _load(module)
    with tempfile.TemporaryDirectory(prefix="weft-") as folder:
        path = os.path.join(folder, "step.so")
        diagnostics = build(module, path, **options)
        return load(path, module=module, threads=threads, deadline=deadline,
                    diagnostics=diagnostics)


def build(module, path, *, ranks=None, mesh=None, cpu=None, infer_storage=True, accumulate=None,
          invariant=None, leaves=None, partials=None, schedule=None, machine=None,
          memory_limit=None, remarks=False, header=None, arguments=()):
    """Compiles a module, or the file of one, to a file: by its suffix text (.mlir),
    LLVM's (.ll), an object (.o), a library (.so), or without one an executable. Returns
    the compiler's warnings and remarks.

    ranks: how many the mesh must have. mesh: new sizes of its axes, as a dict. cpu: the
    CPU to compile for. infer_storage: axes that shard both a weight and the batch shard the
    weight only at rest. accumulate: the mesh axis whose parts, the microbatches, each rank goes
    through one after the other. invariant: the axes whose sizes must not change bits: "mesh" or
    True for all, one name, or several. leaves: of a sum's tree, the most parts of it. partials:
    the type of partial sums of narrow contractions, "f32" or "bf16". schedule: the policy that orders the step (sync, next-layer, greedy
    or best). machine: the one that it is ordered for, by name or file. memory_limit: what a
    rank may use, as a number of bytes or like "8GiB". remarks: ask for the passes' remarks.
    header: a C header to write, which names arguments and results. arguments: more of
    weft-compile's command line.
    """
    from weft import _native
    module = _load(module)
    words = ["-o", path, *_mesh_words(ranks, mesh, infer_storage, accumulate),
             *_order_words(invariant, leaves, partials),
             *_schedule_words(schedule, machine, memory_limit)]
    if cpu is not None:
        words += ["--cpu", cpu]
    if remarks:
        words.append("--remarks")
    if header is not None:
        words += ["--emit-header", header]
    return _check(*_native.compile(*_encode(module, [*words, *arguments])))


def lower(module, to="local", *, ranks=None, mesh=None, infer_storage=True, accumulate=None,
          invariant=None, leaves=None, partials=None, schedule=None, machine=None,
          memory_limit=None, arguments=()):
    """The text of a module, or of a file's module, in a later phase. Options: as for
    `build`."""
    from weft import _native
    module = _load(module)
    words = ["--to", to, *_mesh_words(ranks, mesh, infer_storage, accumulate),
             *_order_words(invariant, leaves, partials),
             *_schedule_words(schedule, machine, memory_limit), *arguments]
    status, diagnostics, text = _native.compile_to_text(*_encode(module, words))
    _check(status, diagnostics)
    return text


def _encode(module, words):
    """For the compiler, which says itself what is no UTF-8."""
    return (module.text.encode("utf-8", "surrogateescape"), to_bytes(module.source),
            [to_bytes(word) for word in words])


def _load(module):
    return module if isinstance(module, Module) else Module.load(module)


def _mesh_words(ranks, mesh, infer_storage, accumulate):
    words = []
    if ranks is not None:
        words += ["--ranks", str(ranks)]
    if mesh is not None and not isinstance(mesh, Mapping):
        raise TypeError(f"mesh is {mesh!r}, expected a dict of axes and their sizes, as in {{'dp': 2}}")
    if mesh:
        words += ["--mesh", ",".join(f"{axis}={size}" for axis, size in mesh.items())]
    if not infer_storage:
        words.append("--no-infer-storage")
    if accumulate is not None:
        words += ["--accumulate", accumulate]
    return words


def _order_words(invariant, leaves, partials):
    words = []
    if invariant is True:
        invariant = "mesh"
    if invariant:
        axes = [invariant] if isinstance(invariant, str) else invariant
        words.append("--invariant=" + ",".join(axes))
    if leaves is not None:
        words += ["--leaves", str(leaves)]
    if partials is not None:
        words += ["--partials", partials]
    return words


def _schedule_words(schedule, machine, memory_limit):
    words = []
    if schedule is not None:
        words += ["--schedule", schedule]
    if machine is not None:
        words += ["--machine", machine]
    if memory_limit is not None:
        unit = "B" if isinstance(memory_limit, int) else ""
        words += ["--memory-limit", f"{memory_limit}{unit}"]
    return words


def _check(status, reports):
    """Raises on failure, passes warnings on; returns all that was said."""
    diagnostics = [Diagnostic(_SEVERITIES[severity], *rest) for severity, *rest in reports]
    if status == 2:
        raise ValueError(printable("; ".join(d.message for d in diagnostics)))
    if status != 0:
        raise CompileError(diagnostics)
    for diagnostic in diagnostics:
        if diagnostic.severity == "warning":
            warnings.warn(str(diagnostic), CompileWarning, stacklevel=4)
    return diagnostics
