# SPDX-License-Identifier: Apache-2.0

"""Gradients of slices, and sums of padded tensors, which are computed by parts; and
random bits of few elements, whose rounds are read twice each."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import weft
import weft.jax
from jax import lax
from jax.sharding import PartitionSpec as P


def pad(x, low, high):
    return lax.pad(x, jnp.zeros((), x.dtype), [(low, high, 0), (0, 0, 0)])


def gradient(loss):
    return lambda x, y: jax.grad(lambda x: loss(x, y))(x)


PROGRAMS = {
    "a constant part": gradient(lambda x, y: jnp.sum(x[:3]) + jnp.sum(x[3:] * y[3:])),
    "two constant parts": gradient(lambda x, y: 2 * jnp.sum(x[:3]) + 3 * jnp.sum(x[3:])),
    "columns": gradient(lambda x, y: jnp.sum(x[:, :4] + y[:, 4:] * x[:, 4:])),
    "rotated halves": gradient(lambda x, y: jnp.sum(jnp.concatenate(
        [x[:, :4] * y[:, :4] - x[:, 4:] * y[:, 4:], x[:, 4:] * y[:, :4] + x[:, :4] * y[:, 4:]], 1) ** 3)),
    "a constant inside": lambda x, y: pad(jnp.full((3, 8), 2, x.dtype), 0, 5) + pad(y[3:], 3, 0),
    "sums of sums": lambda x, y: pad(pad(y[3:5], 3, 3) + pad(x[:3], 0, 5), 0, 2) + pad(x[4:6], 8, 0),
    "three parts": lambda x, y: pad(y[:2], 0, 6) + pad(x[:3], 2, 3) + pad(x[4:7], 5, 0),
}


@pytest.mark.parametrize("dtype", [np.float32, np.int32], ids=["f32", "i32"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_by_parts(name, dtype):
    function = PROGRAMS[name]
    if dtype == np.int32 and name in list(PROGRAMS)[:4]:
        pytest.skip("a gradient is of floats")
    random = np.random.default_rng(0)
    args = [random.integers(-8, 8, (8, 8)).astype(dtype) for _ in range(2)]
    expected = np.asarray(jax.jit(function)(*args))
    module = weft.jax.export(function, *args, mesh={"a": 2, "b": 2}, in_shardings=(P("a", "b"), P("b")))
    for mesh in ({"a": 1, "b": 1}, {"a": 2, "b": 2}):
        assert np.array_equal(weft.compile(module, mesh=mesh)(*args), expected), mesh


def test_random_bits_of_few_elements():
    key = np.array([1, 2], np.uint32)
    draw = lambda key: jax.random.bits(key, (2, 1))
    module = weft.jax.export(draw, key, mesh={"a": 2}, in_shardings=(P(),), out_shardings=P("a"))
    assert np.array_equal(weft.compile(module)(key), jax.jit(draw)(key))
