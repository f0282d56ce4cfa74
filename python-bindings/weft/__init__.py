# SPDX-License-Identifier: Apache-2.0

"""weft from Python: export a training step, compile it, run it."""

import importlib
import typing

from weft.arrays import Array
from weft.compiler import CompileError, CompileWarning, Diagnostic, build, compile, lower
from weft.device_arrays import DeviceArray
from weft.files import FormatError
from weft.keywords import Options
from weft.module import Module, TensorSpec
from weft.program import Program, Stats, load, load_backend

if typing.TYPE_CHECKING:
    from weft import jax
    from weft._native import RunError

__version__: str

__all__ = ["Array", "CompileError", "CompileWarning", "DeviceArray", "Diagnostic", "FormatError", "Module", "Options",
           "Program", "RunError", "Stats", "TensorSpec", "__version__", "build", "compile", "jax", "load", "load_backend",
           "lower"]


def __getattr__(name: str) -> typing.Any:
    """Loaded on first use: `weft.jax` needs JAX, which the rest does without, and
    exporting needs neither compiler nor runtime."""
    if name == "jax":
        return importlib.import_module("weft.jax")
    if name == "_native":
        return _load_native()
    if name == "RunError":
        return _load_native().RunError
    if name == "__version__":
        return _find_version()
    raise AttributeError(f"module 'weft' has no attribute '{name}'")


def _find_version():
    """What pip installed; a tree that is only in sys.path has none."""
    from importlib import metadata
    try:
        return metadata.version("weft")
    except metadata.PackageNotFoundError as error:
        raise AttributeError(f"module 'weft' has no attribute '__version__': {error}") from None


def _load_native():
    """The compiler and the runtime. They need LLVM's libraries, which pip cannot install."""
    try:
        return importlib.import_module("weft._native")
    except ImportError as error:
        if "libMLIR" not in str(error) and "libLLVM" not in str(error):
            raise
        raise ImportError(f"{error}; weft needs the libraries of LLVM and MLIR 22: install libmlir-22 and "
                          "libllvm22, or name their folder in LD_LIBRARY_PATH") from error
