# SPDX-License-Identifier: Apache-2.0
"""What is only moved keeps the signs of its zeros, on each mesh and in each mode."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import weft
from conftest import days
from jax import lax
from jax.sharding import PartitionSpec as P

ROWS, COLUMNS = 8, 6


def make_values():
    values = np.random.default_rng(2).integers(-5, 5, (ROWS, COLUMNS)).astype(np.float32)
    values[values == 0] = -0.0
    values[3], values[0, 1], values[5, 2] = -0.0, 0.0, 0.0
    return values


INDICES = np.array([3, 3, 0, 7, 5, 2, 3, 1], np.int32)
MOVES = {
    "take": lambda x, i: x[i],
    "take columns": lambda x, i: x[:, i % COLUMNS],
    "take along": lambda x, i: jnp.take_along_axis(x, jnp.argsort(x, 0), 0),
    "fill": lambda x, i: x.at[i + 4].get(mode="fill", fill_value=0.0),
    "set": lambda x, i: x.at[i].set(x),
    "set columns": lambda x, i: jnp.ones((ROWS, COLUMNS)).at[:, i[:COLUMNS] % COLUMNS].set(x),
    "sort": lambda x, i: jnp.sort(x, 0),
    "sort two": lambda x, i: lax.sort((x, -x), dimension=0, num_keys=1),
    "top": lambda x, i: lax.top_k(x.T, 3)[0],
    "median": lambda x, i: jnp.median(x, 0),
    "dynamic slice": lambda x, i: lax.dynamic_slice(x, (i[0], i[4]), (3, 2)),
    "dynamic update": lambda x, i: lax.dynamic_update_slice(jnp.ones((ROWS, COLUMNS)), x[:3], (i[0], 0)),
    "roll": lambda x, i: jnp.roll(x, i[1], 0),
    "permutation": lambda x, i: jax.random.permutation(jax.random.key(0), x),
    "diagonal": lambda x, i: jnp.diagonal(x),
    "negated": lambda x, i: -x[i],
    "by one half": lambda x, i: x[i] * -0.5,
    "to bf16": lambda x, i: x[i].astype(jnp.bfloat16).astype(jnp.float32),
    "reciprocal": lambda x, i: 1 / x[i],
}


@pytest.mark.parametrize("name", days(MOVES, [
    "take", "take along", "set", "set columns", "sort", "top", "dynamic slice", "dynamic update", "roll", "reciprocal"]))
def test_zeros_keep_their_signs(name):
    values = make_values()
    expected = [np.asarray(leaf) for leaf in jax.tree.leaves(jax.jit(MOVES[name])(values, INDICES))]
    module = weft.jax.export(MOVES[name], values, INDICES, mesh={"a": 2, "b": 2},
                             in_shardings=(P("a", "b"), P("a")))
    for mesh in ({"a": 1, "b": 1}, {"a": 4, "b": 1}, {"a": 2, "b": 2}, {"a": 3, "b": 1}):
        # Eight leaves are not cut in three.
        for options in ({},) if mesh["a"] == 3 else ({}, {"invariant": "mesh"}):
            results = jax.tree.leaves(weft.compile(module, mesh=mesh, **options)(values, INDICES))
            for result, wanted in zip(results, expected, strict=True):
                result = np.asarray(result)
                assert result.tobytes() == wanted.tobytes(), (mesh, options, result, wanted)


def test_a_row_that_is_found_is_not_multiplied_elsewhere():
    """A rank without the row has a zero, of which infinity would make NaN."""
    table, scale = np.arange(1, 9, dtype=np.float32), np.array([np.inf, 2, -np.inf, 0] * 2, np.float32)
    module = weft.jax.export(lambda x, i, y: x[i] * y, table, INDICES, scale, mesh={"a": 4},
                             in_shardings=(P("a"), P(), P()))
    assert np.array_equal(np.asarray(weft.compile(module)(table, INDICES, scale)), table[INDICES] * scale)


@pytest.mark.parametrize("element", [jnp.bfloat16, jnp.float8_e5m2])
def test_one_update_of_a_rank_is_proved(element):
    """A sum in f32 of one update, which is rounded."""
    updates, numbers = np.arange(16).reshape(4, 4).astype(element), np.arange(4, dtype=np.int32)

    def sums(x, i):
        return jax.ops.segment_sum(x, i, num_segments=8)

    module = weft.jax.export(sums, updates, numbers, mesh={"a": 4}, in_shardings=P("a"))
    result = np.asarray(weft.compile(module)(updates, numbers))
    assert np.array_equal(result.astype(np.float32), np.asarray(sums(updates, numbers)).astype(np.float32))
