# SPDX-License-Identifier: Apache-2.0

"""Each kind of operation, against JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import weft
from conftest import check
from jax import lax


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def ints(*shape, high, low=0, seed=0):
    return np.random.default_rng(seed).integers(low, high, shape, np.int32)


ELEMENTWISE = {
    "logistic": jax.nn.sigmoid, "tanh": jnp.tanh, "erf": lax.erf, "exp": jnp.exp, "expm1": jnp.expm1,
    "log1p": lambda x: jnp.log1p(jnp.abs(x)), "gelu_tanh": jax.nn.gelu, "sign": jnp.sign,
    "gelu_erf": lambda x: jax.nn.gelu(x, approximate=False), "silu": jax.nn.silu, "relu": jax.nn.relu,
    "softplus": jax.nn.softplus, "power": lambda x: jnp.abs(x) ** 1.7, "cube": lambda x: x ** 3,
    "rsqrt": lambda x: lax.rsqrt(jnp.abs(x) + 1), "clip": lambda x: jnp.clip(x, -0.5, 0.5),
    "floor": jnp.floor, "ceil": jnp.ceil, "round": jnp.round, "abs": jnp.abs, "isfinite": jnp.isfinite,
    "minimum": lambda x: jnp.minimum(x, 0.1), "remainder": lambda x: lax.rem(x, jnp.float32(0.3)),
    "erf_inv": lambda x: lax.erf_inv(jnp.clip(x, -0.9, 0.9)), "sincos": lambda x: jnp.sin(x) * jnp.cos(x),
    "log_softmax": jax.nn.log_softmax, "where": lambda x: jnp.where(x > 0, x, jnp.nan_to_num(x)),
    "to_bf16": lambda x: (x.astype(jnp.bfloat16) * 3).astype(jnp.float32), "cbrt": jnp.cbrt,
    "to_int": lambda x: (x * 100).astype(jnp.int32), "to_bool": lambda x: x.astype(bool),
    "to_u8": lambda x: (jnp.abs(x) * 50).astype(jnp.uint8), "atan2": lambda x: jnp.arctan2(x, x + 1),
    "leaky": jax.nn.leaky_relu, "elu": jax.nn.elu, "logsumexp": lambda x: jax.nn.logsumexp(x, -1),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name):
    check(ELEMENTWISE[name], normal(4, 8), tolerance=1e-2 if "bf16" in name else 2e-5)


INTEGER = {
    "arith": lambda a, b: (a + b * 3 - a // (b + 1)) % 7, "bits": lambda a, b: (a & b) | (a ^ (b << 2)),
    "shift": lambda a, b: (a << (b % 5)) >> 1, "compare": lambda a, b: (a < b) | (a == b) & ~(a >= 3),
    "minmax": lambda a, b: jnp.maximum(jnp.minimum(a, b), 2), "float": lambda a, b: a / (b + 1.0),
    "unsigned": lambda a, b: (a.astype(jnp.uint32) * jnp.uint32(2654435769)) >> 16,
    "unsigned_compare": lambda a, b: (a.astype(jnp.uint32) - 5) < b.astype(jnp.uint32),
    "narrow": lambda a, b: a.astype(jnp.int8) + b.astype(jnp.int8), "divmod": lambda a, b: jnp.divmod(a, b + 1),
    "popcount": lambda a, b: lax.population_count(a), "one_hot": lambda a, b: jax.nn.one_hot(a, 12),
    "power": lambda a, b: a ** 3,
}


@pytest.mark.parametrize("name", INTEGER)
def test_integer(name):
    check(INTEGER[name], ints(5, 6, high=10), ints(5, 6, high=10, seed=1))


REDUCE = {
    "sum": lambda x: x.sum((0, 2)), "max": lambda x: x.max(1), "min": lambda x: x.min(), "prod": lambda x: x.prod(-1),
    "mean": lambda x: x.mean(1, keepdims=True), "var": lambda x: x.var(-1), "any": lambda x: (x > 1).any(1),
    "all": lambda x: (x > -9).all(), "argmax": lambda x: x.argmax(-1), "argmin": lambda x: x.argmin(0),
    "cumsum": lambda x: jnp.cumsum(x, 1), "cumprod": lambda x: jnp.cumprod(x, -1),
    "cumsum_reverse": lambda x: lax.cumsum(x, 1, reverse=True), "cummax": lambda x: lax.cummax(x, 2),
    "cumlogsumexp": lambda x: lax.cumlogsumexp(x, 1), "softmax": lambda x: jax.nn.softmax(x, 1),
    "norm": lambda x: jnp.linalg.norm(x), "count": lambda x: (x > 0).sum(-1),
}


@pytest.mark.parametrize("name", REDUCE)
def test_reduce(name):
    check(REDUCE[name], normal(3, 5, 4))


WINDOWS = {
    "max": lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (2, 2), "VALID"),
    "mean": lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 3), (2, 3), "SAME") / 6,
    "dilated": lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 3), (1, 2), ((1, 0), (2, 2)), base_dilation=(2, 1),
                                           window_dilation=(1, 2)),
    "gradient": jax.grad(lambda x: jnp.sum(lax.reduce_window(x, 0.0, lax.add, (2, 3), (2, 3), "SAME") ** 2)),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_window(name):
    check(WINDOWS[name], normal(7, 12))


POOLS = {
    "apart": ((1, 2), (1, 2), "VALID"), "overlapping": ((3, 3), (1, 1), "SAME"),
    "padded": ((2, 3), (2, 2), ((1, 0), (1, 1))),
}


@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize("op, start", [(lax.max, -jnp.inf), (lax.min, jnp.inf)])
def test_pool_gradient_of_ties(name, op, start):
    """The first of several maxima gets it; NaN is passed over."""
    pool = lambda x: lax.reduce_window(x, start, op, *POOLS[name])
    x = np.random.default_rng(0).integers(0, 3, (4, 6)).astype(np.float32)
    x[0, 1], x[2, 2], x[3, 4] = np.nan, np.inf, -np.inf
    check(jax.grad(lambda x: jnp.sum(pool(x) * 2)), x)
    check(lambda x, t: jax.jvp(pool, (x,), (t,))[1], x, normal(4, 6))


def test_pool_gradient_of_large_windows():
    with pytest.raises(weft.jax.ExportError, match="has a window of 81 places, at most 64 are compared"):
        weft.jax.export(jax.grad(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (9, 9), (9, 9), "VALID").sum()), normal(9, 9))


def test_known_division_rounds_to_zero():
    least = np.iinfo(np.int32).min
    a, b = jnp.array([least, least, -7, 7], jnp.int32), jnp.array([3, -1, 2, -2], jnp.int32)
    check(lambda x: x[:4] + lax.div(a, b) + lax.rem(a, b), np.zeros(4, np.int32))


COMBINERS = {
    "sum up to 7": lambda a, b: jnp.minimum(a + b, 7), "sum modulo 7": lambda a, b: lax.rem(a + b, 7),
    "largest magnitude": lambda a, b: jnp.maximum(a, -b), "sum": lax.add, "largest": lax.max,
}


@pytest.mark.parametrize("name", COMBINERS)
def test_reductions_of_known_numbers(name):
    """What is known as the module is written: of a combiner that is one op, and of others."""
    check(lambda x: x + lax.reduce(jnp.arange(10), 0, COMBINERS[name], (0,)), ints(4, high=9))


@jax.jit
def limited(a, b):
    return jnp.clip(a + jnp.remainder(b, 3), 0, 20)


CALLS = {
    "remainder": lambda x: lax.reduce(x, 0, lambda a, b: (a + b) % 7, (1,)), "a function": lambda x: lax.reduce(x, 0, limited, (1,)),
    "a function in a function": lambda x: lax.reduce(x, 0, lambda a, b: limited(a, limited(a, b)), (1,)),
    "in a window": lambda x: lax.reduce_window(x, 0, lambda a, b: jnp.maximum(a, jnp.clip(b, 0, 5)), (1, 3), (1, 1), "VALID"),
    "in a loop": lambda x: lax.scan(lambda carry, row: (lax.reduce(row, carry, lambda a, b: (a + b) % 7, (0,)), carry), 1, x),
}


@pytest.mark.parametrize("name", CALLS)
def test_combiners_that_call_functions(name):
    check(CALLS[name], ints(5, 8, high=9))


SHAPE = {
    "transpose": lambda x: x.transpose(2, 0, 1), "reshape": lambda x: x.reshape(5, 12), "flip": lambda x: x[:, ::-1],
    "pad": lambda x: lax.pad(x, jnp.float32(1), [(1, 2, 0), (0, 0, 2), (-1, 0, 0)]),
    "negative_interior": lambda x: lax.pad(x, jnp.float32(0), [(-1, 1, 1), (0, 0, 0), (0, -1, 0)]),
    "strided": lambda x: x[:, 1::2, :3], "concatenate": lambda x: jnp.concatenate([x, x * 2, x[:, :1]], 1),
    "stack": lambda x: jnp.stack([x, x], 1), "split": lambda x: jnp.split(x, 2, -1), "roll": lambda x: jnp.roll(x, 2, 1),
    "tile": lambda x: jnp.tile(x, (2, 1, 3)), "repeat": lambda x: jnp.repeat(x, 2, 1), "eye": lambda x: x @ jnp.eye(4),
    "broadcast": lambda x: jnp.broadcast_to(x[:, :1], (3, 7, 4)), "tril": lambda x: jnp.tril(x),
    "iota": lambda x: x + lax.broadcasted_iota(jnp.float32, x.shape, 1), "squeeze": lambda x: x[:1].squeeze(0),
}


@pytest.mark.parametrize("name", SHAPE)
def test_shape(name):
    check(SHAPE[name], normal(3, 5, 4))
    check(lambda x: jax.grad(lambda x: _total(SHAPE[name](x)))(x), normal(3, 5, 4))


def _total(tree):
    return sum(jnp.sum(jnp.sin(leaf) * leaf) for leaf in jax.tree.leaves(tree))


EINSUM = [("ij,jk->ik", (3, 4), (4, 5)), ("bij,bkj->bik", (2, 3, 4), (2, 5, 4)), ("ij,ij->", (3, 4), (3, 4)),
          ("bqkgd,bskd->bkgqs", (2, 3, 2, 2, 4), (2, 5, 2, 4)), ("i,j->ij", (3,), (4,)), ("ij,j->i", (3, 4), (4,)),
          ("abc,cbd->ad", (2, 3, 4), (4, 3, 5)), ("bsd,vd->bsv", (2, 3, 4), (7, 4)), ("ij,kl->jl", (3, 4), (2, 5))]


@pytest.mark.parametrize("spec,a,b", EINSUM)
def test_contraction(spec, a, b):
    module = check(lambda x, y: jnp.einsum(spec, x, y), normal(*a), normal(*b, seed=1))
    assert '"weft.matmul"' in module.text or "," not in spec


def test_bf16_contraction_rounds_once():
    """4096 ones: a bf16 sum would stop at 256."""
    x = np.ones((1, 4096), np.float32)
    module = check(lambda x: x.astype(jnp.bfloat16) @ x.astype(jnp.bfloat16).T, x)
    assert "-> tensor<1x1xbf16>" in module.text


def test_contraction_types():
    a, b = normal(3, 4), normal(4, 5, seed=1)
    wide = lambda a, b: jnp.matmul(a.astype(jnp.bfloat16), b.astype(jnp.bfloat16), preferred_element_type=jnp.float32)
    assert "tensor<4x5xbf16>) -> tensor<3x5xf32>" in check(wide, a, b, tolerance=1e-4).text
    check(lambda a, b: a.astype(jnp.float16) @ b.astype(jnp.float16), a, b, tolerance=2e-3)
    integers = check(lambda a, b: a @ b, ints(3, 4, high=9), ints(4, 5, high=9))
    assert "weft.matmul" not in integers.text


def test_a_scalar_is_reduced_over_nothing():
    check(jax.grad(lambda x: jnp.minimum(x, 4.0) * 2), np.float32(3))
    check(lambda x: lax.reduce(x, np.float32(0), lax.add, ()), normal(2, 3))


def test_random_bits_are_arithmetic():
    key = jax.random.PRNGKey(0)
    check(lambda key: jax.random.bits(key, (3, 40)), np.asarray(key))
    check(lambda key: jax.random.normal(key, (4, 6)), np.asarray(key))
    check(lambda key, x: jnp.where(jax.random.bernoulli(key, 0.9, x.shape), x / 0.9, 0), np.asarray(key), normal(4, 6))


def test_large_constants():
    mask = np.tril(np.ones((20, 20), bool))
    table = normal(20, 20, seed=3)
    half = table.astype(jnp.bfloat16)
    check(lambda x: jnp.where(mask, x, 0) + table, normal(20, 20))
    check(lambda x: x.astype(jnp.bfloat16) * half, normal(20, 20))
