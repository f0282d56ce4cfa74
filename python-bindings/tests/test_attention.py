# SPDX-License-Identifier: Apache-2.0
"""weft.jax.dot_product_attention: JAX's values and gradients, one operation, on every mesh."""

import functools
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import nightly
from jax.sharding import PartitionSpec as P

import weft
import weft.jax

SHAPES = {"q": (2, 12, 4, 8), "k": (2, 12, 2, 8), "v": (2, 12, 2, 8)}
TOLERANCE = {"float32": 2e-5, "bfloat16": 3e-2, "float16": 4e-3}

random = np.random.default_rng(11)
MASK = random.random((2, 1, 12, 12)) < 0.7
MASK[..., 0] = True
BIAS = random.standard_normal((1, 4, 12, 12), np.float32)
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {}, "causal": {"is_causal": True}, "window": {"local_window_size": (3, 2)},
    "scale": {"scale": 0.7, "is_causal": True}, "mask": {"mask": MASK}, "bias": {"bias": BIAS},
    "lengths": {"key_value_seq_lengths": np.array([12, 5], np.int32)},
    "all": {"bias": BIAS, "mask": MASK[:, :, :1], "is_causal": True, "scale": 0.3},
}


def inputs(dtype="float32", shapes=SHAPES):
    rng = np.random.default_rng(5)
    return [rng.standard_normal(shape, np.float32).astype(dtype) for shape in shapes.values()]


def gradients(function, **settings):
    def loss(q, k, v):
        return jnp.sum(jnp.sin(function(q, k, v, **settings).astype(jnp.float32)))

    return jax.value_and_grad(loss, argnums=(0, 1, 2))


def counts(module):
    text = str(module)
    return tuple(len(re.findall(rf'weft\.{name}[" ]', text)) for name in ("attention", "attention_grad"))


def run(step, arguments, mesh=None, shardings=None, **options):
    module = weft.jax.export(step, *arguments, mesh=mesh, in_shardings=shardings)
    return weft.compile(module, mesh=mesh, **options)(*arguments), module


def check(got, wanted, tolerance):
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        a, b = np.asarray(a, np.float32), np.asarray(b, np.float32)
        assert np.max(np.abs(a - b)) <= tolerance * max(1, np.max(np.abs(b)))


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("settings", SETTINGS)
def test_values_and_gradients_are_those_of_jax(settings, dtype):
    arguments, given = inputs(dtype), SETTINGS[settings]
    got, module = run(gradients(weft.jax.dot_product_attention, **given), arguments)
    assert counts(module) == (1, 1)
    wide = [argument.astype(np.float32) for argument in arguments]
    check(got, gradients(jax.nn.dot_product_attention, **given)(*wide), TOLERANCE[dtype])


@pytest.mark.parametrize("settings", SETTINGS)
def test_plain_jax_computes_the_same(settings):
    given = SETTINGS[settings]
    got = jax.jit(gradients(weft.jax.dot_product_attention, **given))(*inputs())
    check(got, gradients(jax.nn.dot_product_attention, **given)(*inputs()), 2e-5)


def test_queries_that_a_mask_leaves_no_key():
    """Their keys count alike, in the gradient as well: the log of a sum is lost in scores of -1e38."""
    mask = MASK.copy()
    mask[:, :, 3] = False
    mask[1] = False
    for given in ({"mask": mask}, {"bias": np.where(mask, 0, -1e30).astype(np.float32)}):
        got, _ = run(gradients(weft.jax.dot_product_attention, **given), inputs())
        check(got, gradients(jax.nn.dot_product_attention, **given)(*inputs()), 2e-5)
        check(jax.jit(gradients(weft.jax.dot_product_attention, **given))(*inputs()), got, 2e-5)


def segments():
    ids = np.sort(np.random.default_rng(3).integers(0, 3, (2, 12)), axis=1).astype(np.int32)
    return {"query_segment_ids": ids, "key_value_segment_ids": ids}


@pytest.mark.parametrize("settings", [{"logits_soft_cap": 2.0}, segments(), {**segments(), "is_causal": True},
                                      {"logits_soft_cap": 1.5, "mask": MASK, "bias": BIAS}])
def test_what_jax_has_no_name_for(settings):
    step = gradients(weft.jax.dot_product_attention, **settings)
    check(run(step, inputs())[0], step(*inputs()), 2e-5)


def test_soft_cap_is_tanh():
    q, k, v = inputs()
    scores = 2.0 * jnp.tanh(jnp.einsum("btngh,bsnh->bngts", q.reshape(2, 12, 2, 2, 8), k) / np.sqrt(8) / 2.0)
    wanted = jnp.einsum("bngts,bsnh->btngh", jax.nn.softmax(scores), v).reshape(q.shape)
    check(weft.jax.dot_product_attention(q, k, v, logits_soft_cap=2.0), wanted, 2e-6)


def bias_gradients(function, **settings):
    def loss(q, k, v, bias):
        return jnp.sum(jnp.sin(function(q, k, v, bias, **settings).astype(jnp.float32)))

    return jax.value_and_grad(loss, argnums=(0, 1, 2, 3))


@pytest.mark.parametrize("settings, shape", [
    ({}, (2, 1, 1, 12)), ({"mask": MASK, "is_causal": True}, (1, 4, 12, 12)), nightly({}, (1, 4, 12, 12)), nightly({}, (2, 4, 12, 12))])
def test_gradient_of_the_bias(settings, shape):
    arguments = [*inputs(), random.standard_normal(shape, np.float32)]
    step, wanted = bias_gradients(weft.jax.dot_product_attention, **settings), \
        bias_gradients(jax.nn.dot_product_attention, **settings)(*arguments)
    check(jax.jit(step)(*arguments), wanted, 2e-5)
    got, module = run(step, arguments, {"dp": 2, "tp": 2}, (*[P("dp", None, "tp")] * 3, P()))
    assert counts(module) == (1, 1)
    check(got, wanted, 2e-5)


@pytest.mark.nightly
def test_gradient_of_the_bias_under_transformations():
    """A soft cap, of one type and another, in a map and a checkpoint, where a mask leaves nothing."""
    q, k, v = inputs("bfloat16")
    bias, mask = random.standard_normal((1, 4, 12, 12), np.float32), MASK.copy()
    mask[1] = False
    wide = [array.astype(np.float32) for array in (q, k, v)]

    def attend(q, k, v, bias):
        scores = 2 * jnp.tanh(jnp.einsum("btngh,bsnh->bngts", q.reshape(2, 12, 2, 2, 8), k) / np.sqrt(8) / 2)
        scores = scores + bias.reshape(1, 2, 2, 12, 12)
        weights = jax.nn.softmax(jnp.where(mask[:, :, None], scores, -1e30))
        return jnp.einsum("bngts,bsnh->btngh", weights, v).reshape(q.shape)

    ours = functools.partial(weft.jax.dot_product_attention, logits_soft_cap=2.0, mask=mask)
    step, wanted = bias_gradients(jax.checkpoint(ours)), bias_gradients(attend)(*wide, bias)
    check(step(q, k, v, bias), wanted, 3e-2)
    check(run(step, [q, k, v, bias])[0], wanted, 3e-2)
    twice = [np.stack([array, array]) for array in (q, k, v, bias)]
    mapped = jax.vmap(step)(*twice)
    check([array[1] for array in jax.tree.leaves(mapped)], wanted, 3e-2)


# Sequences, heads, and the sequence of queries; heads of keys are cut at most in two.
SHARDINGS = {
    "sequences and heads": ({"dp": 2, "tp": 2}, P("dp", None, "tp")),
    "more ranks than heads of keys": ({"tp": 4}, P(None, None, "tp")),
    "queries": ({"cp": 4}, P(None, "cp")),
    "queries, unevenly": ({"cp": 5}, P(None, "cp")),
    "all": ({"dp": 2, "cp": 3, "tp": 2}, P("dp", "cp", "tp")),
}


@pytest.mark.parametrize("shardings", SHARDINGS)
def test_meshes(shardings):
    mesh, spec = SHARDINGS[shardings]
    arguments, given = inputs(), {"is_causal": True, "bias": BIAS}
    got, module = run(gradients(weft.jax.dot_product_attention, **given), arguments, mesh, spec)
    assert counts(module) == (1, 1)
    check(got, gradients(jax.nn.dot_product_attention, **given)(*arguments), 2e-5)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_invariant_bits(dtype):
    """Sequences, heads that share keys, and queries are cut; sums have one order."""
    shapes = {"q": (2, 128, 8, 8), "k": (2, 128, 2, 8), "v": (2, 128, 2, 8)}
    arguments = inputs(dtype, shapes)
    step = gradients(weft.jax.dot_product_attention, is_causal=True)
    axes = ("dp", "cp", "tp")
    bits = []
    for sizes in [(1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 4, 1), (1, 1, 4), (2, 2, 2)]:
        mesh = dict(zip(axes, sizes))
        got, _ = run(step, arguments, mesh, P(*axes), invariant=list(axes))
        bits.append([np.asarray(x).tobytes() for x in jax.tree.leaves(got)])
    assert all(one == bits[0] for one in bits)


def test_memory_grows_with_the_sequence_and_not_its_square():
    def arena(length):
        arguments = inputs("float32", {"q": (1, length, 2, 16), "k": (1, length, 2, 16), "v": (1, length, 2, 16)})
        module = weft.jax.export(gradients(weft.jax.dot_product_attention, is_causal=True), *arguments)
        return weft.compile(module).stats.arena_bytes_per_rank

    assert arena(2048) < 2.1 * arena(1024) < 2048 * 2048


def layers(wrap, weights, x):
    def body(x, w):
        q, k, v = (jnp.einsum("btd,dnh->btnh", x, w[i]) for i in range(3))
        out = weft.jax.dot_product_attention(q, k, v, is_causal=True)
        return x + jnp.einsum("btnh,dnh->btd", out, w[3]), None

    return jnp.sum(jax.lax.scan(wrap(body), x, weights)[0] ** 2)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.checkpoint])
def test_layers_in_a_scan(wrap):
    rng = np.random.default_rng(2)
    weights = rng.standard_normal((3, 4, 16, 2, 8), np.float32) * 0.3
    arguments = [weights, rng.standard_normal((2, 12, 16), np.float32)]
    step = jax.value_and_grad(functools.partial(layers, wrap))
    got, module = run(step, arguments, {"tp": 2, "dp": 2}, (P(None, None, None, "tp"), P("dp")))
    assert counts(module) == (3 * (2 if wrap is jax.checkpoint else 1), 3)
    check(got, step(*arguments), 2e-5)


@pytest.mark.nightly
def test_vmap():
    step = jax.vmap(gradients(weft.jax.dot_product_attention, is_causal=True))
    got, module = run(step, inputs())
    assert counts(module) == (1, 1)
    check(got, jax.vmap(gradients(jax.nn.dot_product_attention, is_causal=True))(*inputs()), 2e-5)


def test_errors():
    q, k, v = inputs()
    attend = weft.jax.dot_product_attention
    with pytest.raises(ValueError, match=r"these do not fit together: query \(2, 12, 4, 8\), key \(2, 12, 3, 8\)"):
        attend(q, np.ones((2, 12, 3, 8), np.float32), np.ones((2, 12, 3, 8), np.float32))
    with pytest.raises(ValueError, match="expected one of float32, bfloat16 and float16 for all, got float32, float64"):
        attend(q, k.astype(np.float64), v)
    with pytest.raises(ValueError, match=r"the bias has shape \(4, 12, 12\), which does not broadcast"):
        attend(q, k, v, BIAS[0])
    with pytest.raises(ValueError, match="expected a window of sizes of at least 0"):
        attend(q, k, v, local_window_size=(-1, 0))
    with pytest.raises(ValueError, match="segments of queries or keys are given, expected both or none"):
        attend(q, k, v, query_segment_ids=np.zeros((2, 12), np.int32))
    with pytest.raises(ValueError, match=r"expected int32 segments of shape \(2, 12\) for the query"):
        attend(q, k, v, query_segment_ids=np.zeros((2, 3), np.int32), key_value_segment_ids=np.zeros((2, 12), np.int32))
    with pytest.raises(ValueError, match="expected tensors of four dimensions"):
        attend(q, k[0], v[0])


@pytest.mark.parametrize("shape", [(1, 5, 2, 4), (2, 4, 1, 4)])
@pytest.mark.parametrize("options", [{}, {"invariant": True}])
def test_a_mask_of_one_sequence_or_head(shape, options):
    """A constant mask gets another shape, which ranks' programs have made of it already, or make of its parts."""
    q = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    attend = lambda q: jax.nn.dot_product_attention(q, q, q, is_causal=True)
    for mesh, spec in (({"d": 1}, P()), ({"d": 2}, P("d"))):
        module = weft.jax.export(attend, q, mesh=mesh, in_shardings=(spec,))
        np.testing.assert_allclose(weft.compile(module, threads=1, **options)(q), attend(q), rtol=1e-5, atol=1e-6)
