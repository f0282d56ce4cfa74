# SPDX-License-Identifier: Apache-2.0

"""weft from Python: export a training step, compile it, run it."""

import importlib

from weft.module import Module, TensorSpec

__all__ = ["Module", "TensorSpec", "jax"]


def __getattr__(name):
    """`weft.jax` needs JAX, which the rest does without: it is loaded on first use."""
    if name == "jax":
        return importlib.import_module("weft.jax")
    raise AttributeError(f"module 'weft' has no attribute '{name}'")
