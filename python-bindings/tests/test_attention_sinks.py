# SPDX-License-Identifier: Apache-2.0
"""Sinks: one more score for each query of a head, of a key that has no value."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

import weft
import weft.jax
from test_attention import BIAS, MASK, SHARDINGS, TOLERANCE, check, counts, inputs, run

SINKS = np.array([0.5, -1.0, 2.0, 0.0], np.float32)
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {}, "causal": {"is_causal": True}, "window": {"is_causal": True, "local_window_size": (3, 0)},
    "mask": {"mask": MASK}, "bias": {"bias": BIAS, "is_causal": True},
}


def written_out(q, k, v, sinks, bias=None, mask=None, is_causal=False, local_window_size=None):
    """As gpt-oss has it: a column more, which is cut off after the softmax."""
    wide = [jnp.repeat(x.astype(jnp.float32), q.shape[2] // x.shape[2], 2) for x in (q, k, v)]
    scores = jnp.einsum("btnh,bsnh->bnts", *wide[:2]) / np.float32(np.sqrt(q.shape[3]))
    scores = scores if bias is None else scores + bias
    scores = scores if mask is None else jnp.where(mask, scores, -1e30)
    apart = jnp.arange(q.shape[1])[:, None] - jnp.arange(k.shape[1])[None, :]
    if is_causal:
        scores = jnp.where(apart >= 0, scores, -jnp.inf)
    if local_window_size:
        scores = jnp.where(apart <= local_window_size[0], scores, -jnp.inf)
    column = jnp.broadcast_to(sinks[None, :, None, None], (*scores.shape[:3], 1))
    weights = jax.nn.softmax(jnp.concatenate([scores, column], -1), -1)[..., :-1]
    return jnp.einsum("bnts,bsnh->btnh", weights, wide[2]).astype(q.dtype)


def attend(q, k, v, sinks, **settings):
    return weft.jax.dot_product_attention(q, k, v, sinks=sinks, **settings)


def gradients(function, **settings):
    def loss(*arrays):
        return jnp.sum(jnp.sin(function(*arrays, **settings).astype(jnp.float32)))

    return jax.value_and_grad(loss, argnums=(0, 1, 2, 3))


@pytest.mark.parametrize("settings,dtype", [*((name, "float32") for name in SETTINGS), ("window", "bfloat16"),
                                            ("bias", "float16")])
def test_values_and_gradients_are_those_of_a_column_more(settings, dtype):
    arguments, given = [*inputs(dtype), SINKS], SETTINGS[settings]
    wide = [x.astype(np.float32) for x in arguments]
    wanted = gradients(written_out, **given)(*wide)
    step = gradients(attend, **given)
    got, module = run(step, arguments)
    assert counts(module) == (1, 1)
    check(got, wanted, TOLERANCE[dtype])
    check(step(*arguments), wanted, TOLERANCE[dtype])


@pytest.mark.parametrize("shardings", SHARDINGS)
def test_meshes(shardings):
    mesh, spec = SHARDINGS[shardings]
    heads = P(*spec[2:3])
    arguments = [*inputs(), SINKS]
    got, module = run(gradients(attend, is_causal=True), arguments, mesh, (spec, spec, spec, heads))
    assert counts(module) == (1, 1)
    check(got, gradients(written_out, is_causal=True)(*arguments), 2e-5)


@pytest.mark.parametrize("ring", ["always", "balanced"])
def test_keys_that_are_cut(ring):
    """Sums of pieces know nothing of sinks, and keys are gathered where rings cannot be used."""
    shapes = {"q": (2, 16, 4, 8), "k": (2, 16, 2, 8), "v": (2, 16, 2, 8)}
    arguments = [*inputs("float32", shapes), SINKS]
    spec = P(None, "cp")
    got, _ = run(gradients(attend, is_causal=True), arguments, {"cp": 4}, (spec, spec, spec, P()), ring_attention=ring)
    check(got, gradients(written_out, is_causal=True)(*arguments), 2e-5)


def test_invariant_bits():
    shapes = {"q": (2, 64, 8, 8), "k": (2, 64, 2, 8), "v": (2, 64, 2, 8)}
    arguments = [*inputs("bfloat16", shapes), np.concatenate([SINKS, -SINKS])]
    axes = ("dp", "cp", "tp")
    bits = []
    for sizes in [(1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 4), (2, 2, 2)]:
        mesh, spec = dict(zip(axes, sizes)), P(*axes)
        got, _ = run(gradients(attend, is_causal=True), arguments, mesh, (spec, spec, spec, P("tp")),
                     invariant=list(axes))
        bits.append([np.asarray(x).tobytes() for x in jax.tree.leaves(got)])
    assert all(one == bits[0] for one in bits)


def test_queries_that_see_no_key_and_sinks_that_are_none():
    """Without a sink and without a key there is nothing; a sink of -inf is none."""
    q, k, v = inputs()
    ids = np.zeros((2, 12), np.int32)
    given = {"query_segment_ids": ids, "key_value_segment_ids": ids + (np.arange(2, dtype=np.int32) == 1)[:, None]}
    for sinks in (SINKS, np.full(4, -np.inf, np.float32)):
        made = gradients(attend, **given)(q, k, v, sinks)
        assert all(np.all(np.isfinite(x)) for x in jax.tree.leaves(made))
        got, _ = run(gradients(attend, **given), [q, k, v, sinks])
        check(got, made, 2e-5)
        assert not np.any(np.asarray(attend(q, k, v, sinks, **given))[1])
    none = np.full(4, -np.inf, np.float32)
    check(attend(q, k, v, none), weft.jax.dot_product_attention(q, k, v), 1e-6)


@pytest.mark.parametrize("mesh,ring", [({}, "auto"), ({"cp": 4}, "always")])
def test_large_scores(mesh, ring):
    """Kernels do not trust a large log-sum-exp that they are given: a sink must not be in it."""
    q, k, v = inputs("float32", {"q": (2, 16, 4, 8), "k": (2, 16, 2, 8), "v": (2, 16, 2, 8)})
    for factor, sinks in [(0.1, [400, 300, 260, -400]), (40, [300, -300, 400, 0]), (90, [0, 900, 600, -900])]:
        arguments = [q * np.float32(factor), k, v, np.array(sinks, np.float32)]
        wanted = gradients(written_out)(*arguments)
        spec = P(None, "cp") if mesh else None
        got, _ = run(gradients(attend), arguments, mesh or None, (spec, spec, spec, P()) if mesh else None,
                     ring_attention=ring)
        check(got, wanted, 1e-4)
        check(gradients(attend)(*arguments), wanted, 1e-4)


def test_transformations():
    arguments = [*inputs(), SINKS]
    wanted = gradients(written_out, is_causal=True)(*arguments)
    step = gradients(jax.checkpoint(lambda *arrays: attend(*arrays, is_causal=True)))
    check(run(step, arguments)[0], wanted, 2e-5)
    mapped = jax.vmap(gradients(attend, is_causal=True), (0, 0, 0, None))
    twice = [np.stack([array, 2 * array]) for array in arguments[:3]]
    got, module = run(mapped, [*twice, SINKS])
    assert counts(module) == (1, 1)
    check([x[0] for x in got[1]], wanted[1], 2e-5)


def test_gradient_of_the_bias_with_sinks():
    q, k, v = inputs()

    def of_bias(function):
        return jax.grad(lambda bias: jnp.sum(jnp.sin(function(q, k, v, SINKS, bias=bias, is_causal=True))))

    check(run(of_bias(attend), [BIAS])[0], of_bias(written_out)(BIAS), 2e-5)
    check(of_bias(attend)(BIAS), of_bias(written_out)(BIAS), 2e-5)


def test_sinks_and_dropout():
    """Sinks are not dropped: what is left of the weights is that of the same call without sinks, scaled."""
    q, k, v = inputs()
    given = {"dropout_rate": 0.4, "dropout_key": jax.random.key(3), "is_causal": True}
    plain = weft.jax.dot_product_attention(q, k, v, **given)
    share = 1 - np.asarray(sum_of_sinks(q, k))
    check(attend(q, k, v, SINKS, **given), plain * share, 2e-5)


def sum_of_sinks(q, k):
    """The weight of each query's sink."""
    ones = np.ones((*k.shape[:3], 1), np.float32)
    return 1 - written_out(q, k, ones, SINKS, is_causal=True)


def test_errors():
    q, k, v = inputs()
    with pytest.raises(ValueError, match=r"expected sinks of shape \(4,\) and a type of floats, got float32 of \(2,\)"):
        attend(q, k, v, SINKS[:2])
    with pytest.raises(ValueError, match=r"expected sinks of shape \(4,\) and a type of floats, got int32 of \(4,\)"):
        attend(q, k, v, np.zeros(4, np.int32))
