# SPDX-License-Identifier: Apache-2.0

"""Narrow products as JAX writes them: jax.nn.scaled_matmul, its gradients, casts with delayed scales."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import weft
from jax.sharding import PartitionSpec as P
from weft.jax import _export, _scaled

pytestmark = pytest.mark.skipif(not _scaled.lowering_rules(), reason="this JAX has no scaled_matmul")

MESH = {"d": 2}


def values(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def expected(fn, args):
    """What XLA computes with the product's definition in place of a GPU's."""
    low = jax.jit(fn).trace(*args).lower(lowering_platforms=("cpu",), _private_parameters=_export._lowering_parameters())
    return low.compile()(*args)


def scaled_products(module):
    return len(re.findall(r"weft\.matmul\b[^\n]*f8E8M0FNU", module.text))


def compare(fn, args, specs, **options):
    module = weft.jax.export(fn, *args, mesh=MESH, in_shardings=specs)
    got = weft.compile(module, mesh=MESH, **options)(*args)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(expected(fn, args))):
        np.testing.assert_allclose(np.asarray(a, np.float64), np.asarray(b, np.float64), rtol=2e-5, atol=2e-4)
    return module


def mxfp8(x, w):
    config = jax.nn.get_scaled_dot_general_config("mxfp8")
    return jax.nn.scaled_dot_general(x, w, (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32,
                                     configs=[config] * 3)


def test_matmul_takes_scales():
    def product(x, w, x_scales, w_scales):
        return jax.nn.scaled_matmul(x, w, x_scales, w_scales, preferred_element_type=jnp.bfloat16)

    x, w = (values(2, n, 64, seed=n).astype(jnp.float8_e4m3fn) for n in (8, 16))
    scales = [(2.0 ** np.arange(-8, 2 * 2 * n - 8)).reshape(2, n, 2).clip(max=8).astype(jnp.float8_e8m0fnu) for n in (8, 16)]
    module = weft.jax.export(product, x, w, *scales)
    assert scaled_products(module) == 1
    got = np.asarray(weft.compile(module)(x, w, *scales))
    assert got.dtype == jnp.bfloat16
    np.testing.assert_array_equal(got, np.asarray(expected(product, (x, w, *scales))))


@pytest.mark.parametrize("specs", [(P("d"), P()), (P(None, "d"), P(None, "d")), (P("d"), P("d")), (P(), P("d"))])
@pytest.mark.parametrize("invariant", [False, True])
def test_mxfp8_with_gradients(specs, invariant):
    args = (values(64, 128), values(96, 128, seed=1))
    module = compare(jax.value_and_grad(lambda x, w: (mxfp8(x, w) ** 2).mean(), argnums=(0, 1)), args, specs,
                     invariant=["d"] if invariant else None)
    assert scaled_products(module) == 3


def test_batches():
    def product(x, w):
        config = jax.nn.get_scaled_dot_general_config("mxfp8")
        return jax.nn.scaled_dot_general(x, w, (((2,), (2,)), ((0,), (0,))), preferred_element_type=jnp.float32,
                                         configs=[config] * 3)

    compare(product, (values(4, 32, 64), values(4, 16, 64, seed=1)), (P("d"), P("d")))


def test_delayed_scales():
    """As layers do that keep magnitudes of the steps before: casts to and from 8 bits around a product."""
    def round_trip(x, scale, dtype):
        largest = jnp.finfo(dtype).max.astype(x.dtype)
        return jnp.clip(x / scale.astype(x.dtype), -largest, largest).astype(dtype)

    def step(x, w, history):
        scales = jnp.max(history, axis=1) / 448
        product = jnp.dot(round_trip(x, scales[0], jnp.float8_e4m3fn), round_trip(w, scales[1], jnp.float8_e4m3fn),
                          preferred_element_type=jnp.float32) * scales[0] * scales[1]
        newest = jnp.stack([jnp.max(jnp.abs(x)), jnp.max(jnp.abs(w))])
        return product, jnp.roll(history, -1, axis=1).at[:, 0].set(newest)

    history = np.abs(values(2, 16, seed=3)) + 2
    compare(step, (values(64, 128), values(128, 96, seed=1), history), (P("d"), P(None, "d"), P()))


def test_four_bits_are_refused():
    def product(x, w):
        scale = jnp.float32(1 / 64)
        configs = [jax.nn.get_scaled_dot_general_config("nvfp4", scale) for _ in range(3)]
        return jax.nn.scaled_dot_general(x, w, (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32,
                                         configs=configs)

    with pytest.raises(weft.jax.ExportError, match="computes with f4E2M1FN, which weft does not have"):
        weft.jax.export(product, values(8, 64), values(16, 64))
