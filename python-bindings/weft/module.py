# SPDX-License-Identifier: Apache-2.0

"""An exported step: its text, and how its tensors relate to the caller's pytrees."""

from dataclasses import dataclass

import numpy as np

from weft import safetensors


@dataclass(frozen=True)
class TensorSpec:
    """An argument or result. `sharding` is the text of each dimension's axes, or
    None; `alias` (results only) is the index of the argument donated to it."""
    name: str
    shape: tuple
    dtype: np.dtype
    sharding: tuple | None = None
    alias: int | None = None


@dataclass(frozen=True)
class Module:
    """What `weft.jax.export` returns.

    `in_tree` has one leaf index per argument of the program, in the structure of
    the call's positional arguments; `out_tree` likewise for what the call returns.
    """
    text: str
    mesh: dict
    arguments: list
    results: list
    in_tree: object
    out_tree: object

    def save(self, path):
        """Writes the program for weft-compile."""
        with open(path, "w") as file:
            file.write(self.text)

    def save_inputs(self, path, *args):
        """Writes the arrays of a call as safetensors, keyed by argument name."""
        leaves = self.in_tree.flatten(args)
        tensors = {spec.name: as_array(leaf, spec) for spec, leaf in zip(self.arguments, leaves)}
        safetensors.save(path, tensors)

    def save_outputs(self, path, outputs):
        """Writes what a call returned as safetensors, keyed by result name."""
        leaves = self.out_tree.flatten(outputs)
        tensors = {spec.name: as_array(leaf, spec) for spec, leaf in zip(self.results, leaves)}
        safetensors.save(path, tensors)


def as_array(leaf, spec):
    """The leaf as a contiguous numpy array of the type that the program has."""
    array = np.asarray(leaf)
    if array.shape != spec.shape:
        raise ValueError(f"'{spec.name}' has shape {array.shape}, the program's is {spec.shape}")
    if array.dtype != spec.dtype:
        if not np.can_cast(array.dtype, spec.dtype, "same_kind"):
            raise TypeError(f"'{spec.name}' is {array.dtype}, the program's is {spec.dtype}")
        array = array.astype(spec.dtype)
    return np.ascontiguousarray(array).reshape(spec.shape)
