# SPDX-License-Identifier: Apache-2.0
"""Dropout of weft.jax.dot_product_attention: which weights are dropped is a function of a key
and of indices, in plain JAX, in the op's kernels and on every mesh."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.random import threefry2x32_p
from jax.sharding import PartitionSpec as P

import weft
import weft.jax

SHAPES = {"q": (2, 12, 4, 8), "k": (2, 40, 2, 8), "v": (2, 40, 2, 8)}
RATE = 0.3


def inputs(dtype="float32", shapes=SHAPES):
    rng = np.random.default_rng(5)
    arrays = [rng.standard_normal(shape, np.float32).astype(dtype) for shape in shapes.values()]
    return [*arrays, np.array([7, 2**32 - 3], np.uint32)]


def retained(key, rate, batch, heads, queries, keys):
    """What weights are multiplied by, from the definition and JAX's own generator."""
    place = np.arange(batch * heads, dtype=np.uint32)[:, None]
    query = np.arange(queries, dtype=np.uint32)[None]
    seeds = threefry2x32_p.bind(*jnp.broadcast_arrays(key[0], key[1], place, query))
    at = np.arange(keys)
    counter = (at // 32 * 16 + at % 16).astype(np.uint32)
    words = threefry2x32_p.bind(*jnp.broadcast_arrays(seeds[0][..., None], seeds[1][..., None], counter,
                                                      np.zeros_like(counter)))
    bits = np.where(at % 32 < 16, *words).astype(np.float64)
    rate = float(np.float32(rate))
    return np.where(bits < np.floor(rate * 2**32), 0, 1 / (1 - rate)).reshape(batch, heads, queries, keys)


def by_hand(q, k, v, key, is_causal=False):
    shared = q.shape[2] // k.shape[2]
    k, v = jnp.repeat(k, shared, 2), jnp.repeat(v, shared, 2)
    scores = jnp.einsum("bihd,bjhd->bhij", q, k) / np.sqrt(q.shape[3])
    if is_causal:
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[2:], bool)), scores, -jnp.inf)
    weights = jax.nn.softmax(scores) * retained(key, RATE, *scores.shape).astype(np.float32)
    return jnp.einsum("bhij,bjhe->bihe", weights, v)


def ours(q, k, v, key, **settings):
    return weft.jax.dot_product_attention(q, k, v, dropout_rate=RATE, dropout_key=key, **settings)


def gradients(attend, **settings):
    def loss(q, k, v, key):
        out = attend(q, k, v, key, **settings)
        return jnp.sum(jnp.sin(out.astype(jnp.float32))), out

    return jax.value_and_grad(loss, argnums=(0, 1, 2), has_aux=True)


def check(got, wanted, tolerance):
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        a, b = np.asarray(a, np.float32), np.asarray(b, np.float32)
        assert np.max(np.abs(a - b)) <= tolerance * max(1, np.max(np.abs(b)))


def run(step, arguments, mesh=None, shardings=None, **options):
    module = weft.jax.export(step, *arguments, mesh=mesh, in_shardings=shardings)
    return weft.compile(module, mesh=mesh, **options)(*arguments), module


@pytest.mark.parametrize("causal", [False, True])
def test_plain_jax_drops_what_the_definition_says(causal):
    got = jax.jit(gradients(ours, is_causal=causal))(*inputs())
    check(got, gradients(by_hand, is_causal=causal)(*inputs()), 2e-5)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_kernels_drop_the_same(dtype):
    got, module = run(gradients(ours, is_causal=True), inputs(dtype))
    assert str(module).count("dropout = ") == 2
    wide = [argument if argument.dtype == np.uint32 else argument.astype(np.float32) for argument in inputs(dtype)]
    check(got, gradients(by_hand, is_causal=True)(*wide), {"float32": 2e-5, "bfloat16": 3e-2, "float16": 4e-3}[dtype])


def test_masks_biases_and_soft_caps_are_beside_it():
    rng = np.random.default_rng(3)
    given = {"bias": rng.standard_normal((1, 4, 12, 40), np.float32), "mask": rng.random((2, 1, 12, 40)) < 0.8,
             "logits_soft_cap": 2.0}
    step = gradients(ours, **given)
    check(run(step, inputs())[0], step(*inputs()), 2e-5)


@pytest.mark.parametrize("mesh, spec", [
    ({"dp": 2, "tp": 2}, P("dp", None, "tp")), ({"tp": 4}, P(None, None, "tp")),
    ({"cp": 5}, P(None, "cp")), ({"dp": 2, "cp": 2, "tp": 2}, P("dp", "cp", "tp"))])
def test_meshes(mesh, spec):
    """Sequences, heads, and queries: indices are those of the whole tensors."""
    step = gradients(ours, is_causal=True)
    got, _ = run(step, inputs(), mesh, (spec, spec, spec, P()))
    check(got, gradients(by_hand, is_causal=True)(*inputs()), 2e-5)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_invariant_bits(dtype):
    arguments = inputs(dtype, {"q": (2, 128, 8, 8), "k": (2, 128, 2, 8), "v": (2, 128, 2, 8)})
    axes = ("dp", "cp", "tp")
    bits = []
    for sizes in [(1, 1, 1), (2, 1, 1), (1, 4, 1), (1, 1, 4), (2, 2, 2)]:
        mesh = dict(zip(axes, sizes))
        got, _ = run(gradients(ours, is_causal=True), arguments, mesh, (P(*axes),) * 3 + (P(),), invariant=list(axes))
        bits.append([np.asarray(x).tobytes() for x in jax.tree.leaves(got)])
    assert all(one == bits[0] for one in bits)


def layers(wrap, x, weights, key):
    def body(carry, w):
        x, key = carry
        key, own = jax.random.split(key)
        q, k, v = (jnp.einsum("btd,dnh->btnh", x, w[i]) for i in range(3))
        out = ours(q, k, v, own, is_causal=True)
        return (x + jnp.einsum("btnh,dnh->btd", out, w[3]), key), None

    return jnp.sum(jax.lax.scan(wrap(body), (x, key), weights)[0][0] ** 2)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.checkpoint])
def test_layers_have_keys_of_their_own_also_where_they_are_computed_again(wrap):
    rng = np.random.default_rng(2)
    x, weights = rng.standard_normal((2, 12, 16), np.float32), rng.standard_normal((3, 4, 16, 2, 8), np.float32) * 0.3
    step = jax.value_and_grad(functools.partial(layers, wrap), argnums=(0, 1))
    key = jax.random.key_data(jax.random.key(4))
    got, _ = run(step, [x, weights, key], {"tp": 2, "dp": 2}, (P("dp"), P(None, None, None, "tp"), P()))
    check(got, step(x, weights, key), 2e-5)


@pytest.mark.nightly
def test_microbatches_drop_what_the_whole_batch_does():
    rng = np.random.default_rng(2)
    x, weights = rng.standard_normal((4, 12, 16), np.float32), rng.standard_normal((1, 4, 16, 2, 8), np.float32) * 0.3
    step = jax.value_and_grad(functools.partial(layers, lambda f: f), argnums=1)
    key = jax.random.key_data(jax.random.key(4))
    module = weft.jax.export(step, x, weights, key, mesh={"dp": 2, "mb": 2}, in_shardings=(P(("dp", "mb")), P(), P()))
    for sizes in ({"dp": 2, "mb": 2}, {"dp": 1, "mb": 4}):
        got = weft.compile(module, mesh=sizes, accumulate="mb")(x, weights, key)
        check(got, step(x, weights, key), 2e-5)


def test_typed_keys_and_keys_per_example():
    q, k, v, _ = inputs()
    keys = jax.random.split(jax.random.key(1), 2)
    mapped = jax.vmap(lambda q, k, v, key: ours(q, k, v, key), in_axes=(0, 0, 0, 0))(q, k, v, keys)
    for i in range(2):
        check(mapped[i], by_hand(q[i:i + 1], k[i:i + 1], v[i:i + 1], jax.random.key_data(keys[i]))[0], 2e-5)


def test_a_rate_of_zero_is_no_dropout():
    q, k, v, key = inputs()
    module = weft.jax.export(functools.partial(weft.jax.dot_product_attention, dropout_key=key), q, k, v)
    assert "dropout" not in str(module)


def test_errors():
    q, k, v, key = inputs()
    attend = weft.jax.dot_product_attention
    for rate in (-0.1, 1.0, float("nan")):
        with pytest.raises(ValueError, match="expected a dropout_rate of at least 0 and below 1, got"):
            attend(q, k, v, dropout_rate=rate, dropout_key=key)
    step = functools.partial(attend, q, k, v, dropout_key=key)
    for run in (step, jax.jit(lambda dropout_rate: step(dropout_rate=dropout_rate))):
        with pytest.raises(ValueError, match="expected a dropout_rate that is a number, known when the step is traced"):
            run(dropout_rate="0.1" if run is step else 0.1)
    for wrong in (3, [0, 1], "key"):
        with pytest.raises(ValueError, match="expected a key of threefry, got"):
            attend(q, k, v, dropout_rate=0.1, dropout_key=wrong)
    with pytest.raises(ValueError, match=r"a dropout_rate of 0\.1 needs a dropout_key"):
        attend(q, k, v, dropout_rate=0.1)
    with pytest.raises(ValueError, match=r"expected a key of threefry, which is two words of uint32, got uint32 of "
                                         r"shape \(4,\)"):
        attend(q, k, v, dropout_rate=0.1, dropout_key=jax.random.key(1, impl="rbg"))
