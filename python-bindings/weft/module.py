# SPDX-License-Identifier: Apache-2.0

"""A step before it is compiled: its text, and how its tensors relate to pytrees."""

import json
import os
from dataclasses import dataclass
from typing import Any

import ml_dtypes  # noqa: F401  (numpy learns the names of types)
import numpy as np

from weft import files, safetensors
from weft.arrays import as_array
from weft.trees import Tree
from weft.words import printable

# Begins the last line of a saved module: a comment, for what MLIR has no word for.
_RECORD = "// weft.python: "


@dataclass(frozen=True)
class TensorSpec:
    """An argument or result. `sharding` is the text of each dimension's axes, or
    None; `alias` is a result's donated argument; `key` is the implementation of typed
    PRNG keys, of which shape and dtype are those of their data. A program that was
    loaded without its module also has the result of each donated argument."""
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    sharding: tuple | None = None
    alias: int | None = None
    key: str | None = None


@dataclass(frozen=True)
class Module:
    """What `weft.jax.export` and `Module.load` return.

    `in_tree` has one leaf index per argument of the program, in the structure of
    the call's positional arguments; `out_tree` likewise for what the call returns.
    A module that another frontend wrote has no trees, and a loaded one has none for
    classes registered with JAX: arguments are passed one by one then, and results are a
    tuple. `source` is the module's name in diagnostics.
    """
    text: str
    mesh: dict[str, int] | None
    arguments: list[TensorSpec] | None
    results: list[TensorSpec] | None
    in_tree: Any
    out_tree: Any
    source: str = "<module>"

    def save(self, path: str | bytes | os.PathLike) -> None:
        """Writes the program for weft-compile and for `load`."""
        text = self.text if self.text.endswith("\n") else self.text + "\n"
        if self.arguments is not None:
            text += _RECORD + json.dumps(self._record()) + "\n"
        files.write(path, [text.encode("utf-8", "surrogateescape")])

    @staticmethod
    def load(path: str | bytes | os.PathLike) -> "Module":
        """Reads a program that `save`, weft-compile or another frontend wrote."""
        # The compiler says what is no UTF-8, and reads bytecode, too.
        text = files.read(path).decode("utf-8", "surrogateescape")
        source = os.fsdecode(path)
        body, mark, record = text.rpartition("\n" + _RECORD)
        if not mark:
            return Module(text, None, None, None, None, None, source)
        try:
            record = json.loads(record)
            return Module(body + "\n", record["mesh"], [_spec(s) for s in record["arguments"]],
                          [_spec(s) for s in record["results"]], Tree.from_json(record["in_tree"]),
                          Tree.from_json(record["out_tree"]), source)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise files.FormatError(printable(f"{source}: the last line, '{_RECORD.strip()}', is not what "
                                              f"Module.save writes: {error}")) from None

    def save_inputs(self, path: str | bytes | os.PathLike, *args: Any) -> None:
        """Writes the arrays of a call as safetensors, keyed by argument name."""
        self._save(path, self.arguments, self.in_tree, args)

    def save_outputs(self, path: str | bytes | os.PathLike, outputs: Any) -> None:
        """Writes what a call returned as safetensors, keyed by result name."""
        self._save(path, self.results, self.out_tree, outputs)

    def _save(self, path, specs, tree, value):
        if tree is None:
            raise ValueError(f"'{self.source}' does not say how its tensors relate to a call: "
                             "Module.save did not write it")
        tensors = {spec.name: as_array(leaf, spec) for spec, leaf in zip(specs, tree.flatten(value))}
        safetensors.save(path, tensors)

    def _record(self):
        """What `load` needs besides the text. A tree that JAX alone knows is left out."""
        return {"mesh": self.mesh, "in_tree": _tree_record(self.in_tree),
                "out_tree": _tree_record(self.out_tree),
                "arguments": [_spec_record(s) for s in self.arguments or ()],
                "results": [_spec_record(s) for s in self.results or ()]}


def _tree_record(tree):
    return tree.to_json() if isinstance(tree, Tree) else None


def _spec_record(spec):
    return [spec.name, list(spec.shape), spec.dtype.name, spec.sharding, spec.alias, spec.key]


def _spec(record):
    name, shape, dtype, sharding, alias, *key = record
    return TensorSpec(name, tuple(shape), np.dtype(dtype),
                      None if sharding is None else tuple(sharding), alias, *key)
