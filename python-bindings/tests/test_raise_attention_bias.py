# SPDX-License-Identifier: Apache-2.0

"""Attention whose bias is learned: it is raised, and the bias' gradient is computed from scores that are computed once more."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from attention_forms import B, H, S, draw, mix, of_heads, plain, scores
from test_raise_attention import counts, narrow, raised

import weft
from conftest import nightly

BUCKETS = np.clip(np.arange(S)[None] - np.arange(S)[:, None], -3, 3) + 3
SEEN = np.tril(np.ones((S, S), bool))


def biased(q, k, v, bias):
    return mix(jax.nn.softmax(scores(q, k) * 0.5 + bias, -1), v)


def masked(q, k, v, bias):
    return mix(jax.nn.softmax(jnp.where(SEEN, scores(q, k) + bias, -1e30), -1), v)


def capped(q, k, v, bias):
    return mix(jax.nn.softmax(5 * jnp.tanh(scores(q, k) / 5) + bias, -1), v)


def of_buckets(q, k, v, table):
    """T5's positions."""
    return biased(q, k, v, jnp.moveaxis(table[BUCKETS], -1, 0)[None])


def in_two_layers(q, k, v, table):
    """Which share a table."""
    x = of_buckets(q, k, v, table)
    return of_buckets(x, jnp.sin(x), x * 0.5, table)  # queries are as attention left them


CASES = {
    "of_heads": (biased, draw(H, S, S), 1), "of_batches": (biased, draw(B, H, S, S), 1),
    "of_all": (biased, draw(1, 1, S, S), 1), "of_keys": (biased, draw(B, 1, 1, S), 1),
    "masked": (masked, draw(H, S, S), 1),
    "capped": (capped, draw(H, S, S), 1), "of_buckets": (of_buckets, draw(7, H), 1),
    "in_two_layers": (in_two_layers, draw(7, H), 2),
}
DAILY = ("of_heads", "of_keys", "masked", "in_two_layers")


def gradients(function):
    """The result, and all gradients."""
    def run(*arguments):
        out, pull = jax.vjp(function, *arguments)
        return out, pull(jnp.cos(out))
    return run


def check(step, arguments, tolerance, **settings):
    got = weft.compile(weft.jax.export(step, *arguments, **settings))(*arguments)
    for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(jax.jit(step)(*arguments)), strict=True):
        one, other = np.asarray(one, np.float32), np.asarray(other, np.float32)
        assert np.max(np.abs(one - other)) <= tolerance * max(1, np.max(np.abs(other)))


@pytest.mark.parametrize("name", [name if name in DAILY else nightly(name) for name in CASES])
def test_all_gradients_are_those_of_jax(name):
    function, bias, layers = CASES[name]
    arguments = (*of_heads(), bias)
    text, remarks = raised(gradients(function), arguments)
    assert counts(text)[:2] == (layers, layers), remarks
    check(gradients(function), arguments, 2e-5)
    check(gradients(function), narrow(arguments), 5e-2)


def test_queries_that_are_what_attention_gave():
    def twice(q, k, v):
        x = plain(q, k, v)
        return plain(x, k + 1, v * 0.5)
    assert counts(raised(gradients(twice), of_heads())[0]) == (2, 2, 0)
    check(gradients(twice), of_heads(), 2e-5)


@pytest.mark.parametrize("policy", ["nothing_saveable", "dots_saveable", nightly("everything_saveable"),
                                    nightly("dots_with_no_batch_dims_saveable")])
def test_marks(policy):
    step = gradients(jax.checkpoint(of_buckets, policy=getattr(jax.checkpoint_policies, policy)))
    arguments = (*of_heads(), draw(7, H))
    assert counts(raised(step, arguments)[0])[1] == 1
    check(step, arguments, 2e-5)


def test_scores_wait_for_nothing():
    """They are computed after the op's gradient, next to what reads them."""
    text = raised(gradients(biased), (*of_heads(), draw(H, S, S)))[0]
    forward, backward = text.split("weft.attention_grad ")
    assert "weft.matmul" not in forward
    assert backward.count("weft.matmul") == 2


def test_a_gradient_of_weights_alone_is_no_reason():
    """What is made of weights in the forward pass needs them there."""
    def averaged(q, k, v, bias):
        return biased(q, k, v, bias) + jax.nn.softmax(scores(q, k) * 0.5 + bias, -1).mean()
    text, remarks = raised(gradients(averaged), (*of_heads(), draw(H, S, S)))
    assert counts(text)[0] == 0
    assert any("its weights are used by" in line for line in remarks)


@pytest.mark.parametrize("axes", [{"dp": 2}, nightly({"dp": 2, "tp": 2}), nightly({"tp": 2})])
def test_on_meshes(axes):
    P = jax.sharding.PartitionSpec
    batch, heads = ("dp" if "dp" in axes else None), ("tp" if "tp" in axes else None)
    of_tensor = P(batch, None, heads, None)
    arguments = (*of_heads(), draw(H, S, S))
    check(gradients(masked), arguments, 2e-5, mesh=axes, in_shardings=(of_tensor, of_tensor, of_tensor, P(heads)))
