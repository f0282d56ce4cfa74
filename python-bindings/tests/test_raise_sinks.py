# SPDX-License-Identifier: Apache-2.0

"""Softmaxes with a column that is no key, as users write them, become attention and rows of numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from attention_forms import B, H, S, causal, mix, of_heads, scores
from jax import lax
from jax.sharding import PartitionSpec as P
from test_attention import check, run
from test_raise_attention import counts, raised

from conftest import nightly

SINKS = np.array([0.5, -1.0, 2.0, 0.0], np.float32)


def seen(q, k):
    return jnp.where(causal(), scores(q, k), -jnp.inf)


def of_rows(numbers):
    return jnp.broadcast_to(numbers[None, :, None, None], (B, H, S, 1))


def column(q, k, v, sinks):
    """As gpt-oss has it."""
    weights = jax.nn.softmax(jnp.concatenate([seen(q, k), of_rows(sinks).astype(q.dtype)], -1), -1)
    return mix(weights[..., :-1], v)


def column_in_f32(q, k, v, sinks):
    """As its Hugging Face port has it."""
    both = jnp.concatenate([jnp.where(causal(), scores(q, k), -1e30), of_rows(sinks).astype(q.dtype)], -1)
    both = both - lax.stop_gradient(both.max(-1, keepdims=True))
    weights = jax.nn.softmax(both.astype(jnp.float32), -1).astype(q.dtype)
    return mix(weights[..., :-1], v)


def in_front(q, k, v, sinks):
    weights = jax.nn.softmax(jnp.concatenate([of_rows(sinks).astype(q.dtype), scores(q, k)], -1), -1)
    return mix(weights[..., 1:], v)


def masked_after(q, k, v, sinks):
    both = jnp.concatenate([scores(q, k), of_rows(sinks).astype(q.dtype)], -1)
    mask = jnp.concatenate([causal(), jnp.ones((S, 1), bool)], -1)
    return mix(jax.nn.softmax(jnp.where(mask, both, -1e30), -1)[..., :-1], v)


def of_logarithm(q, k, v, sinks):
    both = jnp.concatenate([seen(q, k), of_rows(sinks).astype(q.dtype)], -1)
    return mix(jnp.exp(seen(q, k) - jax.nn.logsumexp(both, -1, keepdims=True)), v)


def capped(q, k, v, sinks):
    near = causal() & ~jnp.tril(jnp.ones((S, S), bool), -3)
    both = jnp.concatenate([jnp.where(near, 5 * jnp.tanh(scores(q, k) / 5), -1e30), of_rows(sinks)], -1)
    return mix(jax.nn.softmax(both, -1)[..., :-1], v)


def grouped(q, k, v, sinks):
    k, v, q = k[:, :, :2], v[:, :, :2], q.reshape(B, S, 2, 2, -1)
    s = jnp.where(causal(), jnp.einsum("bqngd,bknd->bngqk", q, k) / np.float32(4), -jnp.inf)
    both = jnp.concatenate([s, jnp.broadcast_to(sinks.reshape(1, 2, 2, 1, 1), (B, 2, 2, S, 1)).astype(s.dtype)], -1)
    return jnp.einsum("bngqk,bknd->bqngd", jax.nn.softmax(both, -1)[..., :-1], v).reshape(B, S, H, -1)


def of_queries(q, k, v, sinks):
    """Each query has a sink of its own."""
    own = jnp.sin(q).sum(-1).transpose(0, 2, 1)[..., None] * sinks[None, :, None, None].astype(q.dtype)
    return mix(jax.nn.softmax(jnp.concatenate([seen(q, k), own], -1), -1)[..., :-1], v)


def by_hand(q, k, v, sinks):
    s, sink = seen(q, k), sinks[None, :, None, None].astype(q.dtype)
    most = lax.stop_gradient(jnp.maximum(s.max(-1, keepdims=True), sink))
    e = jnp.exp(s - most)
    return mix(e / (e.sum(-1, keepdims=True) + jnp.exp(sink - most)), v)


def divided_after(q, k, v, sinks):
    """As MaxText has it."""
    s, sink = seen(q, k), sinks[None, :, None, None].astype(q.dtype)
    most = lax.stop_gradient(jnp.maximum(s.max(-1, keepdims=True), sink))
    e = jnp.exp(s - most)
    total = e.sum(-1) + jnp.exp(sink - most)[..., 0]
    return mix(e, v) / total.transpose(0, 2, 1)[..., None]


def off_by_one(q, k, v, sinks):
    s = seen(q, k)
    most = lax.stop_gradient(jnp.maximum(s.max(-1, keepdims=True), 0))
    e = jnp.exp(s - most)
    return mix(e / (e.sum(-1, keepdims=True) + jnp.exp(-most)), v) + 0 * sinks.sum().astype(q.dtype)


def padded(q, k, v, sinks):
    s = jnp.pad(seen(q, k), [(0, 0)] * 3 + [(0, 1)])
    return mix(jax.nn.softmax(s, -1)[..., :-1], v) + 0 * sinks.sum().astype(q.dtype)


def padded_in_front(q, k, v, sinks):
    s = jnp.pad(seen(q, k), [(0, 0)] * 3 + [(1, 0)], constant_values=0.5)
    return mix(jax.nn.softmax(s, -1)[..., 1:], v) + 0 * sinks.sum().astype(q.dtype)


FORMS = {form.__name__: form for form in (
    column, column_in_f32, in_front, masked_after, of_logarithm, capped, grouped, of_queries, by_hand, divided_after,
    off_by_one, padded, padded_in_front)}


def gradients(function):
    """The result, and the gradients of all arguments."""
    def step(q, k, v, sinks):
        out, pull = jax.vjp(function, q, k, v, sinks)
        return out, pull(jnp.cos(out))
    return step


def arguments(dtype=np.float32):
    return *(x.astype(dtype) for x in of_heads()), SINKS


def squares(text):
    """Whether a tensor has all pairs of queries and keys."""
    return any(f"{S}x{keys}x{t}" in text for keys in (S, S + 1) for t in ("f32", "bf16"))


@pytest.mark.parametrize("name, dtype", [
    (name, dtype) if (i % 2 == 0) == (dtype == "float32") else nightly(name, dtype)
    for i, name in enumerate(FORMS) for dtype in ("float32", "bfloat16")])
def test_a_form_is_raised(name, dtype):
    given = arguments(jnp.dtype(dtype))
    assert counts(raised(FORMS[name], given)[0]) == (1, 0, 0)
    text, _ = raised(gradients(FORMS[name]), given)
    assert counts(text) == (1, 1, 0)
    assert not squares(text)


@pytest.mark.parametrize("name", FORMS)
def test_a_form_computes_what_jax_computes(name):
    step, given = gradients(FORMS[name]), arguments()
    check(run(step, given)[0], jax.jit(step)(*given), 2e-5)


@pytest.mark.parametrize("name", ["column", "by_hand", *(
    nightly(name) for name in FORMS if name not in ("column", "by_hand", "divided_after"))])
def test_a_checkpoint_is_raised_twice(name):
    assert counts(raised(gradients(jax.checkpoint(FORMS[name])), arguments())[0]) == (2, 1, 0)


def test_saved_scores_are_not_kept():
    step = jax.checkpoint(column, policy=jax.checkpoint_policies.dots_saveable)
    text, _ = raised(gradients(step), arguments())
    assert counts(text) == (1, 1, 0)
    assert not squares(text)


@pytest.mark.parametrize("name", ["column", "grouped"])
@pytest.mark.parametrize("mesh, spec", [({"dp": 2}, P("dp")), ({"tp": 2}, P(None, None, "tp")),
                                        ({"dp": 2, "cp": 2}, P("dp", "cp"))])
def test_meshes(name, mesh, spec):
    step, given = gradients(FORMS[name]), arguments()
    sinks = P("tp") if "tp" in mesh else P()
    check(run(step, given, mesh, (spec, spec, spec, sinks))[0], jax.jit(step)(*given), 2e-5)


def test_bits_on_meshes():
    bits, given = [], arguments()
    for sizes in [(1, 1), (2, 1), (1, 2), (2, 4)]:
        spec = P("dp", None, "tp")
        got, _ = run(gradients(column), given, dict(zip(("dp", "tp"), sizes)), (spec, spec, spec, P("tp")),
                     invariant=["dp", "tp"])
        bits.append([np.asarray(x).tobytes() for x in jax.tree.leaves(got)])
    assert all(one == bits[0] for one in bits)


@pytest.mark.parametrize("name", ["column", "by_hand"])
def test_large_scores(name):
    q, k, v, _ = arguments()
    for factor, sinks in [(0.1, [400, 300, 260, -400]), (40, [300, -300, 400, 0]), (90, [0, 900, 600, -900])]:
        given = q * np.float32(factor), k, v, np.array(sinks, np.float32)
        step = gradients(FORMS[name])
        check(run(step, given)[0], jax.jit(step)(*given), 1e-4)


def two_columns(q, k, v, sinks):
    both = jnp.concatenate([scores(q, k), jnp.broadcast_to(of_rows(sinks), (B, H, S, 2))], -1)
    return mix(jax.nn.softmax(both, -1)[..., :-2], v)


def with_a_value(q, k, v, sinks):
    weights = jax.nn.softmax(jnp.concatenate([scores(q, k), of_rows(sinks)], -1), -1)
    return mix(weights[..., :-1], v) + weights[..., -1].transpose(0, 2, 1)[..., None]


def another_weight(q, k, v, sinks):
    """What is beside the sum is no score of the same scale."""
    s = scores(q, k)
    most = lax.stop_gradient(s.max(-1, keepdims=True))
    e = jnp.exp(s - most)
    return mix(e / (e.sum(-1, keepdims=True) + jnp.exp(sinks[None, :, None, None] - 2 * most)), v)


def cut_short(q, k, v, sinks):
    """A key is cut off as well."""
    weights = jax.nn.softmax(jnp.concatenate([scores(q, k), of_rows(sinks)], -1), -1)
    return mix(weights[..., 1:-1], v[:, 1:])


@pytest.mark.parametrize("function", [two_columns, with_a_value, another_weight, cut_short])
def test_what_is_no_sink_stays_right(function):
    step, given = gradients(function), arguments()
    check(run(step, given)[0], jax.jit(step)(*given), 2e-5)


def test_one_layer_of_two():
    """A layer whose weights are used keeps its square, and not the other one."""
    def step(q, k, v, sinks):
        def loss(q, k, v, sinks):
            once = column(q, k, v, sinks)
            weights = jax.nn.softmax(jnp.concatenate([scores(once, k), of_rows(sinks)], -1), -1)
            return jnp.sum(jnp.sin(mix(weights[..., :-1], v))) + jnp.sum(weights[..., 0] ** 2)
        return jax.grad(loss, (0, 1, 2, 3))(q, k, v, sinks)
    given = arguments()
    assert counts(raised(step, given)[0])[:2] == (1, 1)
    check(run(step, given)[0], jax.jit(step)(*given), 5e-5)


def test_columns_that_are_reshaped_with_other_dims():
    """They are no dim of the result: what is beside attention stays, and attention is raised."""
    def step(q, k, v, sinks):
        out = column(q, k, v, sinks)
        row = jnp.exp(jnp.concatenate([out.reshape(-1)[:53], sinks[:1]]).reshape(2, 3, 9))
        return out * row.sum((1, 2)).sum()
    given = arguments()
    assert counts(raised(step, given)[0])[0] == 1
    check(run(step, given)[0], jax.jit(step)(*given), 5e-5)
