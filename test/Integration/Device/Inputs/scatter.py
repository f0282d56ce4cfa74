# SPDX-License-Identifier: Apache-2.0
"""Scatters of many shapes, on the host and as kernels of a GPU that is emulated.

    scatter.py FOLDER
"""

import pathlib
import sys

import bits
import numpy as np

PROGRAM = """
func.func @f(%table: tensor<{table}x{type}> {{weft.name = "table"}}, %rows: tensor<{indices}x{index}> {{weft.name = "rows"}},
             %updates: tensor<{updates}x{type}> {{weft.name = "updates"}}) -> (tensor<{table}x{type}> {{weft.name = "sums"}}) {{
  %0 = weft.scatter_add %table, %rows, %updates {{axis = {axis} : i64, table_map = affine_map<({dims}) -> ({of_table})>,
      index_map = affine_map<({dims}) -> ({of_indices})>}} : tensor<{table}x{type}>, tensor<{indices}x{index}>, tensor<{updates}x{type}>
  return %0 : tensor<{table}x{type}>
}}
"""
NUMPY = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64}
# The table, its axis, the updates' sizes, which of them are the table's, the types of elements and of indices; which
# are those of the indices, if not all others.
CASES = [
    ((50, 64), 0, (700, 64), (1,), "f32", "i32"),  # fewer elements than a block has threads
    ((7, 300), 0, (1000, 300), (1,), "f32", "i64"),  # many updates of a row, blocks that are not full
    ((1000, 16), 0, (8, 33, 16), (2,), "f64", "i32"),  # updates of two dims
    ((16, 40), 1, (16, 129), (0,), "i32", "i32"),  # rows across
    ((9,), 0, (513,), (), "f32", "i32"),  # rows of one element
    ((4, 5, 6), 1, (4, 3, 6), (0, 2), "f32", "i32"),  # few updates
    ((3, 9000), 0, (20, 9000), (1,), "i64", "i64"),  # several blocks of elements
    ((4, 9, 7), 0, (9, 7, 30), (0, 1), "f32", "i32", (0, 2)),  # other rows for other elements
    ((3, 70), 0, (70, 40), (0,), "i32", "i64", (0, 1)),
]


def others(updates, of_table):
    return tuple(i for i in range(len(updates)) if i not in of_table)


def program(table, axis, updates, of_table, element, index, of_indices=None):
    dims = [f"d{i}" for i in range(len(updates))]
    of_indices = of_indices or others(updates, of_table)
    shape = lambda sizes: "x".join(map(str, sizes))  # noqa: E731
    return PROGRAM.format(
        table=shape(table), axis=axis, updates=shape(updates), type=element, index=index,
        indices=shape(updates[i] for i in of_indices), dims=", ".join(dims),
        of_table=", ".join(dims[i] for i in of_table), of_indices=", ".join(dims[i] for i in of_indices))


def arguments(random, table, axis, updates, of_table, element, index, of_indices=None):
    sizes = [updates[i] for i in of_indices or others(updates, of_table)]
    draw = lambda shape: (random.standard_normal(shape) * 100).astype(NUMPY[element])  # noqa: E731
    # Some are outside of the table.
    rows = random.integers(-2, table[axis] + 2, sizes, dtype=NUMPY[index])
    return {"table": (draw(table), element), "rows": (rows, index), "updates": (draw(updates), element)}


def main():
    folder = pathlib.Path(sys.argv[1])
    for number, case in enumerate(CASES):
        source = folder / f"{number}.mlir"
        source.write_text(program(*case))
        values = arguments(np.random.default_rng(number), *case)
        sums = bits.compare(source, folder, "sm_90", values)["sums"]
        assert (sums != values["table"][0]).any(), case


main()
