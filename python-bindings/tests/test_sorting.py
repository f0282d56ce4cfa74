# SPDX-License-Identifier: Apache-2.0

"""Sorts and the largest elements, which are imported as comparisons and reductions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import weft
import weft.jax
from conftest import check
from jax import lax
from jax.sharding import PartitionSpec as P
from test_ops import ints, normal


def with_ties(*shape):
    x = normal(*shape)
    x[..., 2] = x[..., -1]
    x[0, :2] = 0.0, -0.0
    return x


def with_extremes(*shape):
    x = normal(*shape)
    x[-1, 3], x[1, 1], x[1, 2], x[0, 0] = np.nan, -np.inf, np.inf, np.nan
    return x


SORTS = {
    "sort": lambda x: jnp.sort(x, 1), "columns": lambda x: jnp.sort(x, 0), "descending": lambda x: jnp.sort(x, 1, descending=True),
    "argsort": lambda x: (jnp.argsort(x, 1), jnp.argsort(-x, 0)), "quantiles": lambda x: (jnp.median(x, 1), jnp.quantile(x, 0.3)),
    "two_keys": lambda x: lax.sort((x.astype(jnp.int32), x), num_keys=2), "booleans": lambda x: jnp.sort(x > 0, 1),
    "shuffle": lambda x: jax.random.permutation(jax.random.PRNGKey(1), x),
    "gradient": jax.grad(lambda x: (jnp.sort(x, 1) * jnp.arange(7)).sum()),
}


@pytest.mark.parametrize("name", SORTS)
def test_sort(name):
    check(SORTS[name], with_ties(3, 7))


def test_sort_of_nan_and_infinities():
    check(lambda x: (jnp.sort(x, 1), jnp.argsort(x, 1)), with_extremes(3, 7))


def test_sort_that_a_scan_begins_with_is_cut_unequally():
    """The first carried value is a constant, whose size a rank's program does not say."""
    def step(x):
        rows = jnp.sort(x, 1)
        return lax.scan(lambda carried, row: (carried * 2 - row, carried), rows[0] * 0 + 1, rows)

    x = ints(4, 3, high=9)
    module = weft.jax.export(step, x, mesh={"a": 1}, in_shardings=(P(None, "a"),), out_shardings=(P("a"), P(None, "a")))
    given = weft.compile(module, mesh={"a": 3})(x)
    for expected, own in zip(jax.jit(step)(x), given, strict=True):
        np.testing.assert_array_equal(own, expected)


TOP = {
    "values": lambda x: lax.top_k(x, 3), "all": lambda x: lax.top_k(x, 7), "small": lambda x: lax.top_k((x * 3).astype(jnp.int8), 3),
    "unsigned": lambda x: lax.top_k((jnp.abs(x) * 3).astype(jnp.uint8), 3), "gradient": jax.grad(lambda x: (lax.top_k(x, 3)[0] ** 2).sum()),
    "half": lambda x: lax.top_k(x.astype(jnp.bfloat16), 2),
}


@pytest.mark.parametrize("name", TOP)
def test_top_k(name):
    check(TOP[name], with_ties(3, 7))


def test_top_k_of_nan_and_infinities():
    check(lambda x: lax.top_k(x, 7), with_extremes(3, 7))


def test_top_k_is_by_the_total_order():
    """A negative NaN is least, and zeros have an order."""
    nan = np.float32(np.nan)
    x = np.array([[nan, 1, np.inf, -np.inf, -nan], [-nan, 2, -0.0, 0.0, nan], [nan, nan, 1, 2, 3]], np.float32)
    check(lambda x: [*lax.top_k(x, 5), jnp.signbit(lax.top_k(x, 5)[0])], x)


def test_top_k_of_known_indices():
    check(lambda x, i: x[i, lax.top_k(x, 2)[1][:, 0]], normal(4, 5), ints(4, high=4))


def test_sort_of_places_in_padded_rows():
    """Each comparison is one by several conditions; in which order they are met is not the same before and after scheduling."""
    x = np.random.default_rng(0).integers(-9, 10, (8, 2, 5)).astype(np.int8)

    def step(x):
        padded = lax.pad(x, np.int8(0), [(0, 0, 0), (1, 1, 1), (-1, 1, 0)])
        return jnp.sort(jnp.argsort(padded, 2), 0)

    module = weft.jax.export(step, x, mesh={"a": 1, "b": 1}, in_shardings=(P(("a", "b")),))
    for options in ({}, {"invariant": True}):
        given = weft.compile(module, mesh={"a": 4, "b": 2}, threads=2, **options)(x)
        np.testing.assert_array_equal(given, step(x))
