# SPDX-License-Identifier: Apache-2.0
"""Complex numbers inside of a step are pairs of real ones; Fourier transforms are products."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.ad_checkpoint import checkpoint_name
from jax.sharding import PartitionSpec as P

import weft
import weft.jax

random = np.random.default_rng(5)
BATCH, STEPS, WIDTH = 4, 12, 16
WEIGHTS = {name: random.standard_normal((WIDTH, WIDTH), np.float32) * 0.3 for name in "wu"}
X = random.standard_normal((BATCH, STEPS, WIDTH), np.float32)
MESHES = [({"d": 2, "t": 2}, {"w": P(None, "t"), "u": P(None, "t")}, P("d")), ({"s": 3}, {"w": P("s"), "u": P()}, P(None, "s"))]


def complex_of(p, x):
    return jax.lax.complex(x @ p["w"], x @ p["u"])


def rotary(p, x):
    heads = (x @ p["w"]).reshape(BATCH, STEPS, 2, WIDTH // 4, 2)
    angles = np.exp(1j * np.outer(np.arange(STEPS), 1 / 100 ** (np.arange(WIDTH // 4) / 4))).astype(np.complex64)
    turned = jax.lax.complex(heads[..., 0], heads[..., 1]) * angles[None, :, None]
    return jnp.stack([turned.real, turned.imag], -1).reshape(x.shape)


def recurrence(p, x):
    decay = jnp.exp(-jnp.exp(p["w"][0]) + 1j * jnp.exp(p["u"][0]))

    def step(h, b):
        h = decay * h + b
        return h, (h.real, jnp.abs(h))

    start = jnp.zeros((BATCH, WIDTH), jnp.complex64)
    return jax.lax.scan(jax.checkpoint(step), start, complex_of(p, x).swapaxes(0, 1))[1]


def parallel_recurrence(p, x):
    decay = jnp.exp(-jnp.exp(p["w"][0]) + 1j * jnp.exp(p["u"][0]))
    inputs = complex_of(p, x)
    join = lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1])
    return jax.lax.associative_scan(join, (jnp.broadcast_to(decay, inputs.shape), inputs), axis=1)[1].real


def long_convolution(p, x):
    spectrum = jnp.fft.rfft(x @ p["w"], n=2 * STEPS, axis=1) * jnp.fft.rfft(p["u"][:STEPS], n=2 * STEPS, axis=0)
    return jnp.fft.irfft(spectrum, n=2 * STEPS, axis=1)[:, :STEPS]


def mixed_tokens(p, x):
    return jnp.fft.fft2(x @ p["w"]).real


def two_dims(p, x):
    there = jnp.fft.rfft2(x @ p["w"]) * np.arange(WIDTH // 2 + 1)
    return jnp.fft.irfft2(there), jnp.abs(jnp.fft.ifft2(jnp.fft.fft2(complex_of(p, x)) * np.arange(WIDTH)))


def odd_length(p, x):
    y = (x @ p["w"])[:, :11, :3]
    return jnp.fft.irfft(jnp.fft.rfft(y, axis=1) ** 2, n=11, axis=1), jnp.fft.irfft(jnp.fft.rfft(y[..., :2]), n=2)


def two_primes(p, x):
    return jnp.abs(jnp.fft.fft(jnp.pad((x @ p["w"])[:, :, :2], ((0, 0), (0, 67 * 71 - STEPS), (0, 0))), axis=1)[:, :9])


def many_elements(p, x):
    y = jnp.tile((x @ p["w"])[:, :, :2], (1, 200, 1)) * np.sin(np.arange(200 * STEPS, dtype=np.float32))[:, None]
    return jnp.abs(jnp.fft.fft(y, axis=1)) / 50


def branches(p, x):
    z = complex_of(p, x)
    z = jax.lax.cond(z.real.sum() > 0, lambda a: a * 1j, lambda a: a / 2, z)
    z = jnp.where(z == z[:, :1], 1, jnp.where(z.imag > 0, z, z.conj())).at[:, 2].set(1j).at[:, jnp.array([1, 1])].add(1 + 2j)
    z = z + jnp.arange(WIDTH, dtype=jnp.complex64) / 9
    return jnp.einsum("btd,bsd->bts", z, z[:, ::-1]).real, jnp.cumsum(z, 1).imag, z[:, jnp.array([3, 1])].real, z.mean(0).imag


MODELS = [rotary, recurrence, parallel_recurrence, long_convolution, mixed_tokens, two_dims, odd_length, two_primes, many_elements, branches]


def step_of(model):
    return jax.value_and_grad(lambda p, x: sum(jnp.sum(jnp.tanh(y) ** 2) for y in jax.tree.leaves(model(p, x))))


def assert_close(got, expected):
    for g, e in zip(jax.tree.leaves(got), jax.tree.leaves(expected)):
        np.testing.assert_allclose(g, e, rtol=1e-4, atol=3e-5 * np.abs(e).max())


@pytest.mark.parametrize("model", MODELS)
def test_values_and_gradients_are_those_of_jax(model):
    step = step_of(model)
    expected = jax.jit(step)(WEIGHTS, X)
    for mesh, weights, data in MESHES:
        got = weft.compile(weft.jax.export(step, WEIGHTS, X, mesh=mesh, in_shardings=(weights, data)), mesh=mesh)(WEIGHTS, X)
        assert_close(got, expected)


def test_what_waits_in_the_hosts_memory():
    policy = jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[], names_which_can_be_offloaded=["z"], offload_src="device", offload_dst="pinned_host")
    model = jax.checkpoint(lambda p, x: (checkpoint_name(complex_of(p, x) * 2j, "z") ** 2).real, policy=policy)
    expected = jax.jit(step_of(lambda p, x: ((complex_of(p, x) * 2j) ** 2).real))(WEIGHTS, X)
    got = weft.compile(weft.jax.export(step_of(model), WEIGHTS, X))(WEIGHTS, X)
    assert_close(got, expected)


def test_bits_do_not_depend_on_the_mesh():
    meshes = [*MESHES[:1], ({"s": 4}, {"w": P("s"), "u": P()}, P(None, "s"))]
    results = [jax.tree.map(np.array, weft.compile(
        weft.jax.export(step_of(mixed_tokens), WEIGHTS, X, mesh=mesh, in_shardings=(weights, data)), mesh=mesh, invariant=True)(WEIGHTS, X))
        for mesh, weights, data in meshes]
    jax.tree.map(np.testing.assert_array_equal, *results)


# JAX's functions, and numpy's.
FUNCTIONS = [*((getattr(jnp, name), getattr(np, name)) for name in (
    "exp", "expm1", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "square", "negative")),
    (jnp.log1p, lambda z: np.log1p(z.real * (2 + z.real) + z.imag**2) / 2 + 1j * np.angle(1 + z)), (jnp.sign, lambda z: z / np.where(z == 0, 1, np.abs(z))), (jax.lax.rsqrt, lambda z: 1 / np.sqrt(z)),
    (jax.nn.sigmoid, lambda z: 1 / (1 + np.exp(-z))), *[(f, f) for f in (lambda z: abs(z) + 0j, lambda z: z**3)],
    (lambda z: jnp.angle(z) + 0j, lambda z: np.angle(z) + 0j), (lambda z: jnp.isfinite(z) + 0j, lambda z: np.isfinite(z) + 0j)]  # fmt: skip
FUNCTIONS_OF_TWO = [(getattr(jnp, name), getattr(np, name)) for name in ("add", "subtract", "multiply", "divide", "power")]


@pytest.mark.parametrize("functions, count", [(FUNCTIONS, 1), (FUNCTIONS_OF_TWO, 2)])
@np.errstate(all="ignore")
def test_functions(functions, count):
    """Against f64, where the result is neither too large for f32 nor for its formula."""
    parts = np.float32([0, 1e-30, -1e-3, 0.4, -0.7, 1, -2.5, 3, 1e18])
    z = (parts[:, None] + 1j * parts).astype(np.complex64).ravel()
    operands = [z, z[np.random.default_rng(1).permutation(len(z))]][:count]
    arguments = [part.copy() for z in operands for part in (z.real, z.imag)]

    def apply(*parts):
        results = [ours(*map(jax.lax.complex, parts[::2], parts[1::2])) for ours, _ in functions]
        return [[z.real, z.imag] for z in results]

    results = weft.compile(weft.jax.export(apply, *arguments))(*arguments)
    for (ours, exact), (real, imag) in zip(functions, results):
        got, wanted = np.array(real) + 1j * np.array(imag), exact(*(z.astype(np.complex128) for z in operands))
        counts = np.isfinite(wanted) & (np.abs(wanted) < 1e37)
        if ours is jnp.power:
            counts &= np.maximum(*map(np.abs, operands)) < 1e9
            np.testing.assert_array_equal(np.isnan(got)[operands[0] == 0], (operands[1].real <= 0)[operands[0] == 0])
        error = np.where(counts, np.abs(got - wanted) / np.maximum(np.abs(wanted), 1e-30), 0)
        at = error.argmax()
        assert error[at] < 2e-5, (ours, [z[at] for z in operands], got[at], wanted[at])


def test_powers_of_zero():
    exponents = np.array([1, 2 + 1j, -1, -2 + 1j, 1j, 0], np.complex64)
    power = lambda a, b: (lambda z: [z.real, z.imag])(jax.lax.complex(a * 0, b * 0) ** jax.lax.complex(a, b))
    arguments = exponents.real.copy(), exponents.imag.copy()
    real, imag = map(np.array, weft.compile(weft.jax.export(power, *arguments))(*arguments))
    np.testing.assert_array_equal(np.isnan(real + 1j * imag), [0, 0, 1, 1, 1, 0])
    np.testing.assert_array_equal((real + 1j * imag)[[0, 1, 5]], [0, 0, 1])


@pytest.mark.parametrize("fn, words", [
    (lambda x: x * 1j, "result 'result0' has elements of complex<f32>"),
    (lambda x: jnp.sort(x * 1j).real, "'stablehlo.sort' computes with complex numbers, for which weft has no formula"),
    (lambda x: jnp.prod(x * 1j).real, "'stablehlo.reduce' computes with complex numbers"),
    (lambda x: jnp.fft.fft(jnp.tile(x, 521)).real, "is a Fourier transform of 521 elements, a number without factors up to 512"),
])
def test_what_has_no_formula_is_named(fn, words):
    with pytest.raises(weft.jax.ExportError, match=words):
        weft.jax.export(fn, np.ones(4, np.float32))
