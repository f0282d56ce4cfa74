# SPDX-License-Identifier: Apache-2.0

"""Microbatches of which the last one is shorter compute what JAX computes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import weft

RANDOM = np.random.default_rng(3)
WEIGHTS = RANDOM.standard_normal((4, 4)).astype(np.float32)


def dense(w, x):
    loss, gradient = jax.value_and_grad(lambda w: (jnp.tanh(x @ w) ** 2).mean())(w)
    return w - 0.1 * gradient, loss


def scanned(w, x):
    """A scan over the dimension that the microbatches are parts of."""
    def loss(w):
        def advance(state, row):
            state = jnp.tanh(state @ w + row)
            return state, state
        return (jax.lax.scan(advance, jnp.zeros(x.shape[1:], x.dtype), x)[1] ** 2).mean()
    value, gradient = jax.value_and_grad(loss)(w)
    return w - 0.1 * gradient, value


def compiled(step, batch, microbatches, **options):
    module = weft.jax.export(step, WEIGHTS, batch, mesh={"mb": microbatches}, in_shardings=(None, jax.P("mb")))
    return jax.tree.leaves(weft.compile(module, accumulate="mb", **options)(WEIGHTS, batch))


@pytest.mark.parametrize("step", [dense, scanned])
@pytest.mark.parametrize(("size", "microbatches"), [(5, 2), (8, 3), (7, 4)])
def test_the_last_microbatch_is_shorter(step, size, microbatches):
    batch = RANDOM.standard_normal((size, 4) if step is dense else (size, 2, 4)).astype(np.float32)
    for one, other in zip(compiled(step, batch, microbatches), jax.tree.leaves(jax.jit(step)(WEIGHTS, batch)), strict=True):
        assert np.max(np.abs(np.asarray(one) - np.asarray(other))) <= 1e-6


def test_its_bits_are_those_of_one_batch():
    batch = RANDOM.standard_normal((7, 4)).astype(np.float32)
    for one, other in zip(compiled(dense, batch, 1, invariant=True), compiled(dense, batch, 4, invariant=True), strict=True):
        assert np.array_equal(np.asarray(one), np.asarray(other))


def test_an_empty_microbatch_is_refused():
    with pytest.raises(weft.CompileError, match="6 elements along dim 0, in parts of 2: the last of 4 coordinates along 'mb' has none"):
        compiled(dense, np.zeros((6, 4), np.float32), 4)
