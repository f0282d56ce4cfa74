# SPDX-License-Identifier: Apache-2.0

"""Pytree structures that need no JAX to be used.

dicts, lists, tuples, named tuples and None are described plainly. A class that
was registered with JAX needs JAX to take it apart; its structure is JAX's own.
"""

import collections
import sys


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

    @staticmethod
    def row(kind, count):
        """A list or tuple of `count` leaves."""
        return Tree(kind, range(count), [Tree("leaf")] * count)

    def to_json(self):
        """The structure in JSON's types; None if a key has none."""
        if any(type(key) not in (str, int) for key in self.keys):
            return None
        children = [child.to_json() for child in self.children]
        if None in children:
            return None
        make = f"{self.make.__module__}:{self.make.__qualname__}" if self.kind == "named" else ""
        return [self.kind, list(self.keys), children, make]

    @staticmethod
    def from_json(record):
        """A named tuple whose module is not loaded is replaced by one of the same look."""
        if record is None:
            return None
        kind, keys, children, make = record
        return Tree(kind, keys, [Tree.from_json(child) for child in children],
                    _named_tuple(make, keys) if kind == "named" else None)

    def count(self):
        return 1 if self.kind == "leaf" else sum(c.count() for c in self.children)

    def part(self, key):
        """How many leaves are before a child, and the child."""
        if key not in self.keys:
            raise LookupError(f"there is no {key!r}, expected one of {list(self.keys)}")
        index = self.keys.index(key)
        return sum(child.count() for child in self.children[:index]), self.children[index]

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


def _named_tuple(place, fields):
    module, name = place.split(":")
    found = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if getattr(found, "_fields", None) == tuple(fields):
        return found
    return collections.namedtuple(name.split(".")[-1], fields)


class RegisteredTree:
    """A structure with classes registered with JAX, which has to be loaded."""

    def __init__(self, definition):
        self._definition = definition

    def count(self):
        return self._definition.num_leaves

    def part(self, index):
        children = self._definition.children()
        before = sum(child.num_leaves for child in children[:index])
        return before, RegisteredTree(children[index])

    def flatten(self, value, path="arguments"):
        return self._definition.flatten_up_to(value)

    def unflatten(self, leaves):
        return self._definition.unflatten(leaves)
