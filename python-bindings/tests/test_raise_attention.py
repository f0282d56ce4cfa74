# SPDX-License-Identifier: Apache-2.0

"""Attention as users write it becomes one op, and computes what JAX computes."""

import re
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from attention_forms import FORMS, B, H, S, heads_first, in_layers, mix, of_heads, plain, scores
from jax.ad_checkpoint import checkpoint_name

import weft
from conftest import ROOT, nightly


def gradients(function):
    """The result, and the gradients of queries, keys and values."""
    def run(q, k, v, *rest):
        out, pull = jax.vjp(lambda q, k, v: function(q, k, v, *rest), q, k, v)
        return out, pull(jnp.cos(out))
    return run


def raised(function, arguments):
    """The canonical module with attention raised, and what is said about it."""
    module = weft.jax.export(function, *arguments)
    done = subprocess.run([ROOT / "build/bin/weft-opt", "--weft-raise", "--weft-raise-attention",
                           "--remarks-filter=weft-raise-attention"], input=module.text, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr[:2000]
    return done.stdout, re.findall('Remark="([^"]*)"', done.stderr)


def counts(text):
    """How many ops there are of attention, of its gradient, and contractions."""
    return tuple(text.count(f"weft.{name} ") for name in ("attention", "attention_grad", "matmul"))


def narrow(arguments):
    return tuple(a.astype(jnp.bfloat16) if a.dtype == np.float32 else a for a in arguments)


@pytest.mark.parametrize("name, dtype", [  # Forms have about as many bits as not by day.
    (name, dtype) if (i % 2 == 0) == (dtype == "f32") else nightly(name, dtype)
    for i, name in enumerate(FORMS) for dtype in ("f32", "bf16")])
def test_a_form_is_raised(name, dtype):
    function, arguments, says = FORMS[name]
    if dtype == "bf16":
        arguments, says = narrow(arguments), says.split("fill")[0]
    forward, _ = raised(function, arguments)
    assert counts(forward) == (1, 0, 0)
    assert says in forward
    assert counts(raised(gradients(function), arguments)[0]) == (1, 1, 0)


@pytest.mark.parametrize("name", FORMS)
def test_a_form_computes_what_jax_computes(name):
    function, arguments, _ = FORMS[name]
    step = gradients(function)
    got = weft.compile(weft.jax.export(step, *arguments))(*arguments)
    wanted = jax.jit(step)(*arguments)
    for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        assert np.max(np.abs(np.asarray(one) - np.asarray(other))) <= 2e-5 * max(1, np.max(np.abs(other)))


def test_a_loop_over_layers():
    assert counts(raised(gradients(in_layers), of_heads())[0]) == (2, 2, 0)


def test_a_checkpoint_is_raised_twice():
    arguments = FORMS["heads_first"][1]
    assert counts(raised(gradients(jax.checkpoint(heads_first)), arguments)[0]) == (2, 1, 0)


def test_saved_scores_are_not_kept():
    policy = jax.checkpoint_policies.dots_saveable
    text, _ = raised(gradients(jax.checkpoint(heads_first, policy=policy)), FORMS["heads_first"][1])
    assert counts(text) == (1, 1, 0)
    assert f"tensor<{B}x{H}x{S}x{S}xf32>" not in text


@pytest.mark.parametrize("name", [name if name in ("merged", "grouped", "library_grouped") else nightly(name) for name in FORMS])
def test_saved_scores_of_any_form_are_not_kept(name):
    function, arguments, _ = FORMS[name]
    policy = jax.checkpoint_policies.dots_saveable
    assert counts(raised(gradients(jax.checkpoint(function, policy=policy)), arguments)[0]) == (1, 1, 0)


def turned(x):
    """By positions, a part of it."""
    angles = np.arange(S, dtype=np.float32)[:, None, None] * np.float32([0.1, 0.3])
    a, b, rest = x[..., :2], x[..., 2:4], x[..., 4:]
    return jnp.concatenate([a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles), rest], -1)


def with_positions(q, k, v):
    return plain(turned(1.5 * q), turned(0.5 * k), jnp.sin(v))


POLICIES = {"everything_saveable": 1, "dots_saveable": 1, "dots_with_no_batch_dims_saveable": 2, "nothing_saveable": 2}


@pytest.mark.parametrize("function, arguments", [(with_positions, FORMS["plain"][1]), FORMS["sum_of_products"][:2]])
def test_what_policies_keep_and_compute_again_is_raised(function, arguments):
    for name, forward in POLICIES.items():
        step = gradients(jax.checkpoint(function, policy=getattr(jax.checkpoint_policies, name)))
        assert counts(raised(step, arguments)[0]) == (forward, 1, 0)
        if name != "dots_saveable":
            continue
        got = weft.compile(weft.jax.export(step, *arguments))(*arguments)
        for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(jax.jit(step)(*arguments)), strict=True):
            assert np.max(np.abs(np.asarray(one) - np.asarray(other))) <= 2e-5 * max(1, np.max(np.abs(other)))


def one_kept(q, k, v):
    """Of a sum of two products one is kept, and the other is computed again."""
    first = checkpoint_name(jnp.einsum("bqhd,bkhd->bhqk", jnp.sin(q[..., 6:]), k[..., 6:]), "first")
    second = jnp.einsum("bqhd,bkd->bhqk", jnp.cos(q[..., :6]), jnp.sin(k[:, :, 0, :6]))
    return mix(jax.nn.softmax((first + second) * 0.25, -1), v)


def test_a_sum_of_which_a_policy_keeps_one_product_is_raised():
    policy = jax.checkpoint_policies.save_only_these_names("first")
    assert counts(raised(gradients(jax.checkpoint(one_kept, policy=policy)), of_heads())[0]) == (2, 1, 0)


def test_marks_of_what_is_not_raised_stay():
    """Kept scores are read with the queries and keys that marks have computed again."""
    def step(q, k, v):
        return plain(q, k, v) + jax.nn.softmax(scores(jnp.sin(q), jnp.sin(k)), -1).mean()

    step = gradients(jax.checkpoint(step, policy=jax.checkpoint_policies.dots_saveable))
    module = weft.jax.export(step, *of_heads())
    one, other = (subprocess.run([ROOT / "build/bin/weft-opt", "--weft-raise", *passes, "--cse"], input=module.text, text=True,
                                 capture_output=True).stdout for passes in ([], ["--weft-raise-attention"]))
    assert counts(other)[:2] == (1, 1)
    assert one.count("math.sin") == other.count("math.sin") == 4
    assert "read_as_kept" not in other


def test_keep_leaves_what_was_written():
    function, arguments, _ = FORMS["plain"]
    module = weft.jax.export(function, *arguments)
    assert "weft.attention" not in weft.lower(module, "global", attention="keep")
    assert "weft.attention" in weft.lower(module, "global")


def dropped(q, k, v, kept):
    return mix(jnp.where(kept, jax.nn.softmax(scores(q, k), -1) / 0.9, 0.0), v)


def averaged(q, k, v):
    return plain(q, k, v) + jax.nn.softmax(scores(q, k), -1).mean()


def of_columns(q, k, v):
    return mix(jax.nn.softmax(scores(q, k), -2), v)


def bias_gradient(q, k, v, bias):
    return jax.grad(lambda bias: jnp.sin(FORMS["biased"][0](q, k, v, bias)).sum())(bias)


def scaled_by_data(q, k, v, scale):
    return mix(jax.nn.softmax(scores(q, k) * scale[:, None, None], -1), v)


def below_all_numbers(q, k, v):
    """What is kept loses an infinity times 0, which is no number."""
    kept = jnp.tril(jnp.ones((S, S), q.dtype))
    return mix(jax.nn.softmax(scores(q, k) * kept - np.inf * (1 - kept), -1), v)


def with_two_sinks(q, k, v):
    columns = jnp.ones((B, H, S, 2))
    return mix(jax.nn.softmax(jnp.concatenate([scores(q, k), columns], -1), -1)[..., :-2], v)


KEPT = np.random.default_rng(1).random((B, H, S, S)) < 0.9
NOT_RAISED = {
    "dropped": (dropped, (*of_heads(), KEPT), "what weighs its values is not the softmax of scores alone"),
    "averaged": (averaged, of_heads(), "its weights are used by"),
    "of_columns": (of_columns, of_heads(), "its values, or the gradient of its result, were not found"),
    "scaled_by_data": (scaled_by_data, (*of_heads(), np.ones(H, np.float32)),
                       "its scores are more than a product, or two, with a scale of one number"),
    "below_all_numbers": (below_all_numbers, of_heads(), "its scores are more than a product, or two, with a scale of one number"),
    "with_two_sinks": (with_two_sinks, of_heads(), "its softmax has a column that is no key"),
    "bias_gradient": (bias_gradient, FORMS["biased"][1], "its weights are used by"),
}


@pytest.mark.parametrize("name", NOT_RAISED)
def test_a_remark_says_why_not(name):
    function, arguments, reason = NOT_RAISED[name]
    text, remarks = raised(function, arguments)
    assert counts(text)[:2] == (0, 0)
    assert any(reason in remark for remark in remarks), remarks


def test_other_sums_of_products_stay():
    def gates(x, w, y, u):
        return jax.nn.sigmoid(x @ w + y @ u)
    shapes = ((8, 16), (16, 32), (8, 24), (24, 32))
    text, _ = raised(gates, [np.ones(shape, np.float32) for shape in shapes])
    assert counts(text) == (0, 0, 2)
    assert "tensor.concat" not in text


def test_other_products_with_the_keys_of_a_sum_stay():
    """What is made of one tensor and both keys is no gradient of attention, and those that are one are still raised."""
    def both(q, k, v, other):
        out = FORMS["sum_of_products"][0](q, k, v)
        return out, jnp.einsum("bhqk,bkhd->bqhd", other, k[..., 6:]), jnp.einsum("bhqk,bkd->bqhd", other, k[:, :, 0, :6])

    def step(q, k, v, other):
        outs, pull = jax.vjp(lambda q, k, v: both(q, k, v, other), q, k, v)
        return outs, pull(tuple(jnp.cos(out) for out in outs))
    arguments = (*of_heads(), np.ones((B, H, S, S), np.float32))
    text, _ = raised(step, arguments)
    assert counts(text) == (1, 1, 4)
    assert text.count("tensor.concat") == 2
    got = weft.compile(weft.jax.export(step, *arguments))(*arguments)
    for one, wanted in zip(jax.tree.leaves(got), jax.tree.leaves(jax.jit(step)(*arguments)), strict=True):
        assert np.max(np.abs(np.asarray(one) - np.asarray(wanted))) <= 2e-5 * max(1, np.max(np.abs(wanted)))


def test_a_sum_of_three_products_is_not_raised():
    def three(q, k, v):
        s = scores(q, k) + scores(jnp.sin(q), jnp.cos(k)) + scores(jnp.cos(q), jnp.sin(k))
        return mix(jax.nn.softmax(s, -1), v)
    text, says = raised(three, of_heads())
    assert counts(text) == (0, 0, 4)
    assert "tensor.concat" not in text
    assert any("more than a product" in line for line in says)
