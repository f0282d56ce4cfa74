# SPDX-License-Identifier: Apache-2.0

"""Pytree structures that need no JAX to be used.

dicts, lists, tuples, named tuples and None are described plainly. A class that
was registered with JAX needs JAX to take it apart; its structure is JAX's own.
"""


class Tree:
    """The structure of nested containers; leaves are numbered in JAX's order."""

    def __init__(self, kind, keys=(), children=(), make=None):
        self.kind, self.keys, self.children, self.make = kind, tuple(keys), tuple(children), make

    @staticmethod
    def of(value):
        """Describes a value made of plain containers; anything else is a leaf."""
        if value is None:
            return Tree("none")
        if type(value) is dict:
            keys = sorted(value)
            return Tree("dict", keys, [Tree.of(value[k]) for k in keys])
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return Tree("named", value._fields, [Tree.of(v) for v in value], type(value))
        if type(value) in (list, tuple):
            return Tree(type(value).__name__, range(len(value)), [Tree.of(v) for v in value])
        return Tree("leaf")

    def count(self):
        return 1 if self.kind == "leaf" else sum(c.count() for c in self.children)

    def flatten(self, value, path="arguments"):
        """The leaves of a value, which must have this structure."""
        if self.kind == "leaf":
            return [value]
        if self.kind == "none":
            if value is not None:
                raise ValueError(f"{path} is {type(value).__name__}, expected None")
            return []
        leaves = []
        for key, child, part in zip(self.keys, self.children, self._parts(value, path)):
            leaves += child.flatten(part, f"{path}[{key!r}]")
        return leaves

    def _parts(self, value, path):
        if self.kind == "dict":
            if not isinstance(value, dict) or sorted(value) != list(self.keys):
                found = sorted(value) if isinstance(value, dict) else type(value).__name__
                raise ValueError(f"{path} has {found}, expected the keys {list(self.keys)}")
            return [value[k] for k in self.keys]
        if not isinstance(value, (list, tuple)) or len(value) != len(self.keys):
            found = len(value) if isinstance(value, (list, tuple)) else type(value).__name__
            raise ValueError(f"{path} has {found} items, expected {len(self.keys)}")
        return list(value)

    def unflatten(self, leaves):
        """The value with this structure and these leaves."""
        return self._build(iter(leaves))

    def _build(self, leaves):
        if self.kind == "leaf":
            return next(leaves)
        if self.kind == "none":
            return None
        parts = [child._build(leaves) for child in self.children]
        if self.kind == "dict":
            return dict(zip(self.keys, parts))
        if self.kind == "named":
            return self.make(*parts)
        return tuple(parts) if self.kind == "tuple" else parts


class RegisteredTree:
    """A structure with classes registered with JAX, which has to be loaded."""

    def __init__(self, definition):
        self._definition = definition

    def count(self):
        return self._definition.num_leaves

    def flatten(self, value, path="arguments"):
        return self._definition.flatten_up_to(value)

    def unflatten(self, leaves):
        return self._definition.unflatten(leaves)
