# SPDX-License-Identifier: Apache-2.0

"""weft from Python: export a training step, compile it, run it."""

import importlib

from weft.arrays import Array
from weft.compiler import CompileError, CompileWarning, Diagnostic, build, compile, lower
from weft.files import FormatError
from weft.module import Module, TensorSpec
from weft.program import Program, Stats, load

__all__ = ["Array", "CompileError", "CompileWarning", "Diagnostic", "FormatError", "Module", "Program",
           "RunError", "Stats", "TensorSpec", "build", "compile", "jax", "load", "lower"]


def __getattr__(name):
    """Loaded on first use: `weft.jax` needs JAX, which the rest does without, and
    exporting needs neither compiler nor runtime."""
    if name == "jax":
        return importlib.import_module("weft.jax")
    if name == "RunError":
        return importlib.import_module("weft._native").RunError
    raise AttributeError(f"module 'weft' has no attribute '{name}'")
