# SPDX-License-Identifier: Apache-2.0

"""Gathers, scatters, slices at run-time places, and their gradients."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import weft
from conftest import check
from jax import lax
from test_ops import ints, normal

TABLE, ROWS = normal(11, 6), ints(3, 4, high=14, low=-3)

LOOKUPS = {
    "take_default": lambda t, i: jnp.take(t, i, axis=0), "take_clip": lambda t, i: jnp.take(t, i, axis=0, mode="clip"),
    "index": lambda t, i: t[i], "promise": lambda t, i: t.at[i % 11].get(mode="promise_in_bounds"),
    "take_columns": lambda t, i: jnp.take(t, i % 6, axis=1), "fill": lambda t, i: t.at[i].get(mode="fill", fill_value=7.0),
    "wrap": lambda t, i: jnp.take(t, i, axis=0, mode="wrap"), "flat": lambda t, i: jnp.take(t, i),
    "pairs": lambda t, i: t[i % 11, (i + 1) % 6], "narrow": lambda t, i: t[i.astype(jnp.int8)],
    "unsigned": lambda t, i: t[i.astype(jnp.uint32) % 11], "partial": lambda t, i: t[i % 11, :3],
}


@pytest.mark.parametrize("name", LOOKUPS)
def test_lookup(name):
    module = check(LOOKUPS[name], TABLE, ROWS)
    assert '"weft.take"' in module.text
    gradient = jax.grad(lambda t, i: jnp.sum(jnp.nan_to_num(LOOKUPS[name](t, i)) ** 2))
    assert '"weft.scatter_add"' in check(gradient, TABLE, ROWS).text


def test_take_along_axis():
    logits, targets = normal(2, 5, 9), ints(2, 5, 1, high=9)
    pick = lambda z, t: jnp.take_along_axis(z, t, -1)
    check(pick, logits, targets)
    check(jax.grad(lambda z, t: jnp.sum(pick(z, t) ** 3)), logits, targets)
    many = ints(2, 5, 3, high=9)
    check(pick, logits, many)
    check(lambda z, t: jnp.take_along_axis(z, t, 1), logits, ints(2, 3, 9, high=5))


def test_counting_rows_are_a_batch_dimension():
    """logits[arange(n), labels] keeps the batch dimension of logits: no merged table."""
    logits, labels = normal(7, 9), ints(7, high=9)
    pick = lambda z, y: z[jnp.arange(7), y]
    module = check(pick, logits, labels)
    assert "(tensor<7x9xf32>, tensor<7xi32>) -> tensor<7xf32>" in module.text
    gradient = check(jax.grad(lambda z, y: -jnp.sum(pick(jax.nn.log_softmax(z), y))), logits, labels)
    assert "tensor<63x" not in gradient.text


def test_constant_rows_are_slices():
    module = check(lambda t: jnp.take(t, jnp.arange(3), axis=0) + t[jnp.array([1, 3, 5])], TABLE)
    assert "weft.take" not in module.text
    assert '"weft.take"' in check(lambda t: t[np.array([5, 1, 3])], TABLE).text


SCATTERS = {
    "add": lambda t, i, u: t.at[i].add(u), "drop": lambda t, i, u: t.at[i].add(u, mode="drop"),
    "add_pairs": lambda t, i, u: t.at[i, (i + 1) % 6].add(u[..., 0]), "columns": lambda t, i, u: t.at[:, i % 6].add(
        u.sum((0, 1))[None, None, :1]), "segment": lambda t, i, u: jax.ops.segment_sum(
            u.reshape(-1, 6), i.reshape(-1), 11), "bincount": lambda t, i, u: jnp.bincount(i.reshape(-1) % 5, length=5),
    "set_row": lambda t, i, u: t.at[2].set(u[0, 0]), "add_corner": lambda t, i, u: t.at[3, 4].add(5.0),
    "set_rows": lambda t, i, u: t.at[1:4].set(u[0, :3]), "set_column": lambda t, i, u: t.at[:, 1].set(u[0, 0, 0]),
    "add_window": lambda t, i, u: t.at[2:5, 1:3].add(1.0), "set_outside": lambda t, i, u: t.at[20].set(1.0, mode="drop"),
}


@pytest.mark.parametrize("name", SCATTERS)
def test_scatter(name):
    check(SCATTERS[name], TABLE, ROWS, normal(3, 4, 6, seed=2))


REPLACEMENTS = {
    "set": lambda t, i, u: t.at[i].set(u), "drop": lambda t, i, u: t.at[i].set(1.0, mode="drop"),
    "booleans": lambda t, i, u: (t > 0).at[i].set(u > 0), "max": lambda t, i, u: t.at[i].max(u),
    "min": lambda t, i, u: t.at[i].min(u), "multiply": lambda t, i, u: t.at[i].multiply(u),
    "columns": lambda t, i, u: t.at[:, i[0]].set(u[0, 0, :4]), "pairs": lambda t, i, u: t.at[i, (i + 1) % 6].set(u[..., 0]),
    "of_each_row": lambda t, i, u: t.at[jnp.arange(11), jnp.argmax(t, 1)].set(5.0),
    "segment_max": lambda t, i, u: jax.ops.segment_max(u[0], i[0] % 4, 4),
    "segment_min": lambda t, i, u: jax.ops.segment_min((u[0] * 9).astype(jnp.int32), i[0] % 4, 4),
}


@pytest.mark.parametrize("name", REPLACEMENTS)
def test_replacement(name):
    """Rows that are replaced, or take a maximum; the last of several updates counts."""
    check(REPLACEMENTS[name], TABLE, ROWS, normal(3, 4, 6, seed=2))


def test_gradient_of_a_replacement():
    fn = lambda t, i, u: jnp.sum(t.at[i].set(u) ** 2)
    check(jax.grad(fn, argnums=(0, 2)), TABLE, np.array([3, 1, 2, 7], np.int32), normal(4, 6, seed=2))


def test_dynamic_slices():
    start, x = np.int32(3), normal(8, 5)
    cut = lambda x, i: lax.dynamic_slice(x, (i, 1), (3, 2))
    check(cut, x, start)
    check(cut, x, np.int32(7))
    check(jax.grad(lambda x, i: jnp.sum(cut(x, i) ** 2)), x, start)
    put = lambda x, u, i: lax.dynamic_update_slice(x, u, (i, i // 2))
    for i in (-1, 0, 3, 9):
        check(put, x, normal(2, 3, seed=1), np.int32(i))
    check(lambda x, i: lax.dynamic_index_in_dim(x, i, 1), x, start)


def test_static_places():
    x = normal(6, 5)
    check(lambda x: lax.dynamic_update_slice(x, x[:2, :2] * 9, (2, 1)), x)
    check(lambda x: lax.dynamic_slice(x, (5, 5), (3, 3)), x)


@pytest.mark.parametrize("fn,words", [
    (lambda t, i: jnp.sort(jnp.zeros(5000) + t[0, 0]), "sorts 5000 elements"),
    (lambda t, i: lax.top_k(jnp.zeros(500) + t[0, 0], 100), "takes the 100 largest"),
    (lambda t, i: jnp.zeros((9000, 6)).at[jnp.tile(i, (1, 300))].set(t[0, 0]), "compares 9000 rows"),
    (lambda t, i: jnp.sort(t * 1j).real, "complex numbers"), (lambda t, i: t.at[i].apply(jnp.sin), "several operations"),
    (lambda t, i: lax.while_loop(lambda s: s.sum() < 9, lambda s: s + 1, t), "trip count is not static"),
    (lambda t, i: lax.conv(jnp.pad(t, 60)[None, None], jnp.pad(t, 15)[None, None], (1, 1), "SAME"), "is a convolution of"),
    (lambda t, i: jnp.linalg.qr(t), "custom_call"),
])
def test_what_cannot_be_imported_is_named_with_its_place(fn, words):
    with pytest.raises(weft.jax.ExportError) as caught:
        weft.jax.export(fn, TABLE, ROWS)
    assert words in str(caught.value)
    assert "test_lookup.py:" in str(caught.value) and "tensor<" in str(caught.value)
