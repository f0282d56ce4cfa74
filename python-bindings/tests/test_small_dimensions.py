# SPDX-License-Identifier: Apache-2.0
"""Dimensions that ranks and microbatches cut in more parts than they have, and parts that lie elsewhere in what they become."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import weft
from jax import lax
from jax.sharding import PartitionSpec as P

MODES = [{}, {"invariant": True}]
KEY = np.array([3, 4], np.uint32)


def count(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) % 7


def check(step, x, sharding, mesh, result=None, modes=MODES, **options):
    module = weft.jax.export(step, x, mesh=dict.fromkeys(mesh, 1), in_shardings=(sharding,),
                             **({} if result is None else {"out_shardings": result}))  # fmt: skip
    for mode in modes:
        found = weft.compile(module, mesh=mesh, threads=2, **mode, **options)(x)
        np.testing.assert_allclose(found, step(x), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("mode", MODES, ids=["fast", "invariant"])
@pytest.mark.parametrize("step", [
    lambda x: jnp.pad(x, ((0, 0), (0, 3)))[:, :5] * 2, lambda x: jnp.pad(x, ((0, 0), (0, 3))) * 2, lambda x: jnp.cumsum(x, 1),
    lambda x: jnp.concatenate([x[:, 1:], x[:, :1]], 1), lambda x: jnp.tanh(jnp.pad(x, ((0, 0), (0, 3)))[:, :5]) + jnp.tanh(x)])  # fmt: skip
@pytest.mark.parametrize("rows", [1, 3])
def test_fewer_rows_than_ranks(step, rows, mode):
    """A pad for equal parts of 5 columns is the pad of the step, too."""
    check(step, count(rows, 5), P("d"), {"d": 4}, modes=[mode])


@pytest.mark.parametrize("number", [2.5, 0.0])
@pytest.mark.parametrize("length", [2, 7])
def test_a_product_with_a_constant_where_ranks_have_nothing(length, number):
    check(lambda x: x @ jnp.full((length, 1), number), count(3, length), P(None, "d"), {"d": 5}, modes=MODES[:1])


def test_a_running_sum_of_what_is_turned_around():
    """Of an op that has no operand as long as what it sums, once constants are part of it."""
    step = lambda x: jnp.cumsum(jnp.cumsum(jnp.flip(jnp.sort(x, 1), 1) * 9.0, 1).reshape(-1).reshape(x.shape), 1)
    check(step, count(12, 3), P("d"), {"d": 2})
    check(jax.grad(lambda x: (jnp.cumsum(jnp.flip(x, 1) / 9.0, 1).reshape(-1) ** 2).sum()), count(12, 3), P(), {"d": 1})


def test_a_long_running_sum_of_one_row():
    check(lambda x: jnp.cumsum(x, 1), count(1, 509), P("d"), {"d": 4}, modes=[{}])


@pytest.mark.parametrize("mode", MODES, ids=["fast", "invariant"])
def test_microbatches_of_what_is_inserted(mode):
    """The first of two microbatches is what was put there."""
    step = lambda x: jnp.round(jnp.zeros((2, 2)).at[:, 0].set(x[:, 0] / 3))
    check(step, count(2, 2), P("b", "a"), {"a": 2, "b": 2}, P("b", "a"), [mode], accumulate="a")


@pytest.mark.parametrize("how", ["sum", "max", "min", "prod"])
def test_a_rank_without_rows_in_the_last_microbatch(how):
    """Of 10 rows in parts of 2, the third rank has the last two in its first microbatch."""
    check(lambda x: getattr(jnp, how)(x + 1, 0), count(10, 3), P(("b", "c")), {"b": 3, "c": 2}, modes=MODES[:1], accumulate="c")


def test_a_gap_between_microbatches_and_ranks():
    """Bits of columns of one microbatch, of which each rank takes some, say nothing of the columns after them."""
    step = lambda x: jnp.where(jax.random.bits(KEY, (6, 12)) % 3 == 0, 0.0, x)
    check(step, count(6, 12), P("b", "a"), {"a": 2, "b": 2, "c": 2}, P("a", "c"), accumulate="a")


def test_padded_microbatches_that_ranks_exchange():
    """Six columns in four parts, of rows that are cut in microbatches, too."""
    step = lambda x: jnp.cumsum(jnp.swapaxes(x, 0, 1).reshape(30, 6), 0)
    check(step, count(5, 6, 6), P(("a", "b")), {"a": 4, "b": 2}, P("b", "a"), MODES[:1], accumulate="b")


def test_a_row_of_ranks_is_repeated_before_it_is_joined():
    """One rank has the row that data says, others nothing."""
    step = lambda x, at: jnp.cumsum(x, 0) * lax.dynamic_slice_in_dim(x, at, 1, 0)
    x, at = count(2, 6), np.int32(1)
    module = weft.jax.export(step, x, at, mesh={"a": 1, "b": 1}, in_shardings=(P("a"), P()), out_shardings=P("b", "a"))
    for mode in MODES:
        np.testing.assert_allclose(weft.compile(module, mesh={"a": 4, "b": 2}, threads=2, **mode)(x, at), step(x, at))
