# SPDX-License-Identifier: Apache-2.0
"""Cumulative reductions and associative scans of thousands of steps: values, the work and memory that they take, and
that proofs end and reject."""

import re
import subprocess

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from conftest import days, nightly
from jax import lax
from jax.sharding import PartitionSpec as P

import weft
import weft.jax
from weft.jax import _cumulative

CASES = {
    "sum": lambda x: jnp.cumsum(x, 0), "sum reverse": lambda x: lax.cumsum(x, 0, reverse=True),
    "largest": lambda x: lax.cummax(x, 0), "least reverse": lambda x: lax.cummin(x, 0, reverse=True),
    "product": lambda x: jnp.cumprod(1 + x / 100, 0), "along the last": lambda x: jnp.cumsum(x.T, 1),
    "log of sum": lambda x: lax.cumlogsumexp(x, 0), "count": lambda x: jnp.cumsum((x > 0).astype(jnp.uint8), 0),
    "half": lambda x: jnp.cumsum((x > 0).astype(jnp.bfloat16), 0),
}  # fmt: skip


# 257 and 1031 are prime.
@pytest.mark.parametrize("name, length", [
    (name, length) if length == 257 or (name, length) == ("sum", 1000) else nightly(name, length)
    for name in CASES for length in (257, 520, 1000, 1031, 12288)])
def test_cumulative_reductions(name, length):
    x = np.random.default_rng(1).standard_normal((length, 3)).astype(np.float32)
    expected = np.asarray(jax.jit(CASES[name])(x))
    if name == "half":  # more exact than JAX
        expected = np.cumsum(x > 0, 0).astype(ml_dtypes.bfloat16)
    for ranks in (1, 4):
        module = weft.jax.export(CASES[name], x, mesh={"d": ranks}, in_shardings=(P("d"),))
        found = np.asarray(weft.compile(module, mesh={"d": ranks})(x))
        assert found.dtype == expected.dtype
        if name in ("largest", "least reverse", "count", "half"):
            np.testing.assert_array_equal(found, expected)
        else:
            np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5 * length**0.5)


# What combines two elements, the same for numpy, and an initial value that changes a result for each time that it is combined.
COMBINERS = {
    "sum": (lax.add, np.add, 5), "bits": (lax.bitwise_xor, np.bitwise_xor, 5), "largest": (lax.max, np.maximum, 4),
    "remainder": (lambda a, b: lax.rem(a + b, np.int32(1001)), lambda a, b: (a + b) % 1001, 5),
    "limited": (lambda a, b: jnp.minimum(a + b, 900), lambda a, b: np.minimum(a + b, 900), 0),
    "last": (lambda a, b: b + a * 0, lambda a, b: b, 5),
}  # fmt: skip


def windows(combine, x, start, reverse):
    """StableHLO's definition: the initial value comes first, and is what the padding holds."""
    outside = [start] * (len(x) - 1)
    padded = [*x, *outside] if reverse else [*outside, *x]
    result = []
    for i in range(len(x)):
        value = start
        for element in padded[i:i + len(x)]:
            value = combine(value, element)
        result.append(value)
    return np.array(result)


@pytest.mark.parametrize("reverse, length", days([
    (reverse, length) for reverse in (False, True) for length in (7, 257, 300)], [(False, 7), (True, 300)]))
@pytest.mark.parametrize("name", COMBINERS)
def test_any_initial_value(name, length, reverse):
    combine, reference, start = COMBINERS[name]
    x = np.random.default_rng(2).integers(0, 9, (length, 2), np.int32)
    padding = ((0, length - 1) if reverse else (length - 1, 0), (0, 0))
    step = lambda x, start: lax.reduce_window(x, start, combine, (length, 1), (1, 1), padding)
    expected = windows(reference, x, np.full(2, start, np.int32), reverse)
    for constant in (lambda x, _: step(x, np.int32(start)), step):
        module = weft.jax.export(constant, x, np.int32(start), mesh={"d": 2}, in_shardings=(P("d"), P()))
        np.testing.assert_array_equal(weft.compile(module, mesh={"d": 2}, threads=1)(x, np.int32(start)), expected)


def test_blocks_divide():
    for n in range(257, 3000):
        size = _cumulative.block_size(n)
        assert size is None or n % size == 0 and size <= 256
    assert _cumulative.block_size(1 << 16) == 64 and _cumulative.block_size(257) is None
    # 8 ranks have 5 blocks each.
    assert _cumulative.block_size(1000) == 25


def test_ranks_exchange_a_number_for_each_block():
    x = np.ones((4096, 2), np.float32)
    module = weft.jax.export(CASES["sum"], x, mesh={"d": 4}, in_shardings=(P("d"),), out_shardings=P("d"))
    stats = weft.compile(module, mesh={"d": 4}).stats
    assert sum(stats.received_bytes.values()) <= 64 * 2 * 4 < x.nbytes / 4


def decayed(a, b, w):
    """A state-space model's step: h[t] = a[t] h[t - 1] + b[t]."""
    _, states = lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (jax.nn.sigmoid(a @ w), b @ w), axis=1)
    return (states**2).mean()


@pytest.mark.nightly
@pytest.mark.parametrize("options", [{}, {"invariant": True}])
def test_a_decayed_scan(options):
    random = np.random.default_rng(2)
    a, b = random.standard_normal((2, 2, 1024, 4)).astype(np.float32)
    w = random.standard_normal((4, 4)).astype(np.float32)
    step = jax.value_and_grad(decayed, argnums=2)
    loss, gradient = jax.jit(step)(a, b, w)
    made = []
    for ranks in (1, 2):
        module = weft.jax.export(step, a, b, w, mesh={"d": ranks}, in_shardings=(P("d"), P("d"), P()))
        found = weft.compile(module, mesh={"d": ranks}, **options)(a, b, w)
        np.testing.assert_allclose(found[0], loss, rtol=1e-5)
        np.testing.assert_allclose(found[1], gradient, rtol=1e-4, atol=1e-6)
        made.append(np.asarray(found[1]).tobytes())
    assert not options or made[0] == made[1]


@pytest.mark.parametrize("length", [300, nightly(1024)])
def test_gradient_of_a_long_maximum(length):
    x = np.random.default_rng(3).standard_normal((length, 3)).astype(np.float32)
    step = jax.value_and_grad(lambda x: (lax.cummax(x, 0) ** 2).mean())
    for found, expected in zip(weft.compile(weft.jax.export(step, x))(x), jax.jit(step)(x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-8)


# In reverse, steps are woven from the end: which ones are even depends on the length.
REVERSED = {
    "product": lambda x: lax.associative_scan(jnp.multiply, 1 + x / 9, reverse=True),
    "turned around": lambda x: lax.associative_scan(jnp.add, x)[::-1],
    "largest": lambda x: lax.cummax(x, 0, reverse=True),
    "decayed": lambda x: lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (x / 3, x), reverse=True)[1],
}  # fmt: skip


@pytest.mark.parametrize("length", [12, nightly(30), nightly(301)])
@pytest.mark.parametrize("name", REVERSED)
def test_gradients_of_what_is_reversed(name, length):
    x = np.random.default_rng(4).standard_normal((length, 2)).astype(np.float32)
    step = jax.grad(lambda x: jnp.sin(REVERSED[name](x)).sum())
    np.testing.assert_allclose(weft.compile(weft.jax.export(step, x))(x), jax.jit(step)(x), rtol=1e-4, atol=1e-5)


def grouped(x):
    """Every second row and column of what is divided by the mean of its group of channels."""
    groups = x.reshape(*x.shape[:3], 2, -1)
    return (groups / groups.mean((1, 2, 4), keepdims=True)).reshape(x.shape)[:, ::2, ::2]


def decayed_in(x, reverse):
    return lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (x / 3, x), reverse=reverse)[1]


SUMMED = {
    "reversed, 4": (lambda x: REVERSED["decayed"](x).sum(), (4, 4, 8)),
    "reversed, 12": (lambda x: REVERSED["decayed"](x).sum(), (12, 4, 8)),
    "reversed, 16": (lambda x: REVERSED["decayed"](x).sum(), (16, 4, 8)),
    "reversed, 32": (lambda x: REVERSED["product"](x).sum((0, 2)), (32, 4, 8)),
    "reversed, 1000": (lambda x: lax.associative_scan(jnp.add, x, reverse=True).sum(), (1000, 4)),
    # Of no number of steps that the digits of all divide.
    **{f"forward, {n}": (lambda x: decayed_in(x, reverse=False).sum(), (n, 4, 2)) for n in (6, 12)},
    **{f"reversed, {n}": (lambda x: decayed_in(x, reverse=True).sum(), (n, 4, 2)) for n in (5, 7, 10)},
    "in groups": (jax.grad(lambda x: (grouped(x) ** 2).sum()), (4, 4, 4, 8)),
}


@pytest.mark.parametrize("name", days(SUMMED, ["reversed, 12", "reversed, 7", "forward, 6", "in groups"]))
def test_sums_of_every_second_element(name):
    """In stages, with the same bits on all meshes."""
    step, shape = SUMMED[name]
    x = 1 + np.random.default_rng(5).random(shape, np.float32)
    found = []
    for ranks in (1, 2):
        module = weft.jax.export(step, x, mesh={"d": ranks}, in_shardings=(P("d"),))
        found.append(np.asarray(weft.compile(module, mesh={"d": ranks}, invariant=True)(x)))
    np.testing.assert_allclose(found[0], jax.jit(step)(x), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(*found)


def verify(length, pattern, replacement, tmp_path):
    """Of a scan of as many steps, once as it is and once with another op in its middle."""
    a = np.zeros((1, length, 4), np.float32)
    module = weft.jax.export(jax.value_and_grad(decayed, argnums=2), a, a, np.zeros((4, 4), np.float32))
    source = tmp_path / "source.mlir"
    source.write_text(module.text)
    canonical = weft.lower(module, to="global")
    places = list(re.finditer(pattern, canonical))
    place = places[len(places) // 2]
    mutant = canonical[:place.start()] + place.expand(replacement) + canonical[place.end():]
    return [subprocess.run(["weft-opt", f"--weft-verify-canonicalization=source={source}", "-o", "/dev/null"], input=text,
                           text=True, capture_output=True, check=False) for text in (canonical, mutant)]


@pytest.mark.parametrize("pattern, replacement", [
    nightly(r"arith\.mulf %(\w+), %(\w+) : f32", r"arith.addf %\1, %\2 : f32"),
    nightly(r"(extract_slice %\w+\[0, )1(, 0\])", r"\g<1>0\2"),
    (r"(insert_slice %\w+ into %\w+\[0, )1(, 0\])", r"\g<1>0\2")])  # fmt: skip
def test_the_proof_rejects(pattern, replacement, tmp_path):
    """Of a scan whose elements are so many that they are named."""
    right, wrong = verify(512, pattern, replacement, tmp_path)
    assert right.returncode == 0
    assert wrong.returncode == 1 and "another one than the user's module" in wrong.stderr


@pytest.mark.nightly
def test_the_proof_rejects_a_longer_scan(tmp_path):
    right, wrong = verify(2048, r"arith\.mulf %(\w+), %(\w+) : f32", r"arith.addf %\1, %\2 : f32", tmp_path)
    assert right.returncode == 0
    assert wrong.returncode == 1 and "another one than the user's module" in wrong.stderr


def neighbours(steps):
    """Each step reads two elements of the one before, at places that have no digits: of the last one each element is made of a
    number of others that grows with the square of the steps."""
    def step(x):
        for _ in range(steps):
            x = x[1:] * x[:-1]
        return x
    return weft.jax.export(step, np.ones(steps + 8, np.float32))


@pytest.mark.parametrize("steps", [110, nightly(1000)])
def test_products_of_neighbours(steps):
    """Nothing but names makes it few expressions."""
    weft.lower(neighbours(steps), to="scheduled")


@pytest.mark.parametrize("steps, message", [
    (60, "another one than the user's module"), nightly(110, "another one than the user's module"),
    nightly(1000, "is too large to be compared with what it was made from: more than 12000000 expressions")])  # fmt: skip
def test_wrong_products_of_neighbours(steps, message, tmp_path):
    """With names it is different, and without them it may be too large to say so."""
    module = neighbours(steps)
    source = tmp_path / "source.mlir"
    source.write_text(module.text)
    mutant = weft.lower(module, to="global").replace("arith.mulf", "arith.addf", 1)
    wrong = subprocess.run(["weft-opt", f"--weft-verify-canonicalization=source={source}", "-o", "/dev/null"], input=mutant,
                           text=True, capture_output=True, check=False)
    assert wrong.returncode == 1 and message in wrong.stderr
