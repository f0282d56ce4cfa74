# SPDX-License-Identifier: Apache-2.0
"""Convolutions become products: JAX's values and gradients, on every mesh."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import PartitionSpec as P

import weft
import weft.jax

random = np.random.default_rng(8)


def draw(*shape):
    return random.standard_normal(shape).astype(np.float32)


def convolve(x, w, strides=1, padding="SAME", numbers=None, **options):
    count = x.ndim - 2
    strides = (strides,) * count if isinstance(strides, int) else strides
    numbers = numbers or ("N" + "HWD"[:count] + "C", "HWD"[:count] + "IO", "N" + "HWD"[:count] + "C")
    return lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=numbers, precision="highest", **options)


def gradients(function):
    def step(x, w):
        out, pull = jax.vjp(function, x, w)
        return out, pull(jnp.sin(out))

    return step


def check(got, wanted, tolerance=1e-5):
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        a, b = np.asarray(a, np.float32), np.asarray(b, np.float32)
        assert a.shape == b.shape
        assert np.max(np.abs(a - b), initial=0) <= tolerance * max(1, np.max(np.abs(b), initial=0))


# Function, input, kernel.
FORMS = {
    "patches": (functools.partial(convolve, strides=4, padding="VALID"), draw(2, 16, 12, 3), draw(4, 4, 3, 8)),
    "images": (convolve, draw(2, 8, 7, 3), draw(3, 3, 3, 5)),
    "strides": (functools.partial(convolve, strides=2), draw(2, 9, 8, 3), draw(3, 3, 3, 5)),
    "channels first": (functools.partial(convolve, numbers=("NCHW", "OIHW", "NCHW")), draw(2, 3, 6, 5), draw(4, 3, 3, 2)),
    "speech": (functools.partial(convolve, strides=2, padding=[(1, 1)]), draw(2, 20, 6), draw(3, 6, 8)),
    "states": (functools.partial(convolve, padding=[(3, 0)], feature_group_count=6), draw(2, 10, 6), draw(4, 1, 6)),
    "groups": (functools.partial(convolve, feature_group_count=3), draw(2, 5, 6, 6), draw(2, 3, 2, 9)),
    "batch groups": (functools.partial(convolve, batch_group_count=2), draw(4, 5, 3), draw(2, 3, 6)),
    "holes": (functools.partial(convolve, rhs_dilation=(2, 3)), draw(1, 9, 9, 2), draw(3, 2, 2, 2)),
    "stretched": (functools.partial(convolve, padding=[(2, 1), (1, 2)], lhs_dilation=(2, 3)), draw(2, 4, 3, 2), draw(3, 3, 2, 3)),
    "cut off": (functools.partial(convolve, padding=[(-1, 2), (3, -2)]), draw(2, 6, 7, 2), draw(3, 2, 2, 3)),
    "volumes": (functools.partial(convolve, feature_group_count=2), draw(2, 4, 3, 5, 4), draw(2, 3, 2, 2, 6)),
    "no place": (functools.partial(convolve, numbers=("NC", "OI", "NC")), draw(3, 4), draw(5, 4)),
    "one channel": (convolve, draw(1, 5, 1), draw(3, 1, 1)),
    "no element": (functools.partial(convolve, padding="VALID"), draw(2, 2, 3), draw(3, 3, 4)),
    "transposed": (lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME", precision="highest"), draw(2, 4, 5, 3), draw(3, 3, 3, 4)),
}


@pytest.mark.parametrize("name", FORMS)
def test_values_and_gradients_are_those_of_jax(name):
    function, x, w = FORMS[name]
    step = gradients(function)
    check(weft.compile(weft.jax.export(step, x, w))(x, w), jax.jit(step)(x, w))


def test_a_kernel_that_is_turned():
    x, w = draw(2, 7, 3), draw(3, 3, 4)
    flip = lambda w: convolve(x, jnp.flip(w, 0))
    check(weft.compile(weft.jax.export(flip, w))(w), flip(w))


@pytest.mark.parametrize("seed", range(6))
def test_any_convolution(seed):
    """Sizes, strides, padding, dilations and layouts at random."""
    rng = np.random.default_rng(seed)
    count, groups = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    pick = lambda low, high: [int(n) for n in rng.integers(low, high, count)]
    spatial, window, strides = pick(4, 8), pick(1, 4), pick(1, 4)
    sizes = {"N": 2, "C": 2 * groups, "I": 2, "O": 3 * groups}
    letters = "HWD"[:count]
    mixed = lambda text: "".join(rng.permutation(list(text)))
    numbers = mixed("NC" + letters), mixed("OI" + letters), mixed("NC" + letters)
    x = draw(*({**sizes, **dict(zip(letters, spatial))}[c] for c in numbers[0]))
    w = draw(*({**sizes, **dict(zip(letters, window))}[c] for c in numbers[1]))
    padding = list(zip(pick(-1, 3), pick(2, 4)))
    step = gradients(functools.partial(
        lax.conv_general_dilated, window_strides=strides, padding=padding, lhs_dilation=pick(1, 3),
        rhs_dilation=pick(1, 3), dimension_numbers=numbers, feature_group_count=groups, precision="highest"))
    check(weft.compile(weft.jax.export(step, x, w))(x, w), jax.jit(step)(x, w))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_narrow_types(dtype):
    x, w = draw(2, 8, 7, 3).astype(dtype), draw(3, 3, 3, 5).astype(dtype)
    wanted = gradients(convolve)(x.astype(np.float32), w.astype(np.float32))
    check(weft.compile(weft.jax.export(gradients(convolve), x, w))(x, w), wanted, 3e-2 if dtype == "bfloat16" else 4e-3)


@pytest.mark.parametrize("groups", [1, 3])
def test_integers(groups):
    x = random.integers(-50, 50, (2, 9, 8, 3 * groups)).astype(np.int8)
    w = random.integers(-50, 50, (3, 2, 3, 4 * groups)).astype(np.int8)
    step = lambda x, w: lax.conv_general_dilated(
        x, w, (1, 2), [(1, 1), (0, 1)], dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=groups,
        preferred_element_type=jnp.int32)
    assert np.array_equal(weft.compile(weft.jax.export(step, x, w))(x, w), step(x, w))


MESHES = [{"dp": 2, "tp": 2}, {"dp": 4, "tp": 1}, {"dp": 1, "tp": 3}]


def network(x, weights):
    """Patches, a depthwise convolution, and a product."""
    patches, mixing, last = weights
    x = jax.nn.gelu(convolve(x, patches, 4, "VALID"))
    x = x + convolve(x, mixing, feature_group_count=x.shape[-1])
    return jnp.mean((x.reshape(x.shape[0], -1) @ last) ** 2)


def train(x, weights):
    loss, grads = jax.value_and_grad(network, 1)(x, weights)
    return loss, jax.tree.map(lambda w, g: w - 0.1 * g, weights, grads)


NETWORK = (draw(8, 8, 8, 3), [draw(4, 4, 3, 12) / 7, draw(3, 3, 1, 12) / 3, draw(48, 6)])


@pytest.mark.parametrize("mesh", MESHES)
def test_meshes(mesh):
    specs = [P(None, None, None, "tp"), P(None, None, None, "tp"), P("dp", "tp")]
    module = weft.jax.export(train, *NETWORK, mesh=mesh, in_shardings=(P("dp"), specs), out_shardings=(P(), specs))
    check(weft.compile(module)(*NETWORK), jax.jit(train)(*NETWORK))


def test_invariant_bits():
    made = []
    for dp, tp in itertools.product((1, 2, 4), (1, 2)):
        specs = [P(None, None, None, "tp"), P(None, None, None, "tp"), P("dp", "tp")]
        module = weft.jax.export(train, *NETWORK, mesh={"dp": dp, "tp": tp}, in_shardings=(P("dp"), specs),
                                 out_shardings=(P(), specs))
        made.append([np.asarray(x).tobytes() for x in jax.tree.leaves(weft.compile(module, invariant=["dp", "tp"])(*NETWORK))])
    assert all(one == made[0] for one in made)


def test_too_many_slices():
    x, w = np.zeros((1, 99, 99, 1), np.float32), np.zeros((34, 34, 1, 1), np.float32)
    with pytest.raises(weft.jax.ExportError, match="is a convolution of 1156 slices of its input, more than 1024"):
        weft.jax.export(convolve, x, w)
