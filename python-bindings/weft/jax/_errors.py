# SPDX-License-Identifier: Apache-2.0

"""What goes wrong on import, and where in the user's Python it came from."""

import os


class ExportError(Exception):
    """A part of the function that cannot be exported.

    `op` is the name of the operation (or None), `types` the text of its type
    and `location` is "file:line" of the user's code (or None).
    """

    def __init__(self, message, op=None, types=None, location=None):
        self.op, self.types, self.location = op, types, location
        where = f"{location}: " if location else ""
        what = f"'{op}' " if op else ""
        signature = f"\n  types: {types}" if types else ""
        super().__init__(f"{where}{what}{message}{signature}")


def signature(op):
    """The operand and result types of an operation, as MLIR writes them."""
    join = lambda values: ", ".join(str(v.type) for v in values)
    return f"({join(op.operands)}) -> ({join(op.results)})"


def display_path(path):
    """A path as people want to read it: relative where that is shorter."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative
