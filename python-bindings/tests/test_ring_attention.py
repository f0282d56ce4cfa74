# SPDX-License-Identifier: Apache-2.0
"""Keys and values that travel around the ranks: JAX's values and gradients, and less memory."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import nightly
from jax.sharding import PartitionSpec as P
from test_attention import gradients, inputs, run

import weft
import weft.jax

SHAPES = {"q": (2, 32, 4, 8), "k": (2, 32, 2, 8), "v": (2, 32, 2, 8)}
TOLERANCE = {"float32": 2e-5, "bfloat16": 3e-2}
# One row sees keys of one rank only. That of `FULL` sees none, and JAX averages all: no ring.
MASK = np.random.default_rng(3).random((2, 1, 32, 32)) < 0.6
MASK[1, :, 7, 8:] = False
MASK[:, :, :, 2] = True
FULL = MASK.copy()
FULL[0, :, 5] = False
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {}, "causal": {"is_causal": True}, "window": {"local_window_size": (5, 0)},
    "both sides": {"local_window_size": (3, 2)}, "mask": {"mask": FULL},
    "lengths": {"key_value_seq_lengths": np.array([32, 5], np.int32)},
    "bias": {"bias": np.random.default_rng(4).standard_normal((1, 4, 32, 32), np.float32), "is_causal": True},
}


def check(got, wanted, tolerance):
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        a, b = np.asarray(a, np.float32), np.asarray(b, np.float32)
        assert np.max(np.abs(a - b)) <= tolerance * max(1, np.max(np.abs(b)))


@pytest.mark.parametrize("ranks", [2, 4, 8])
@pytest.mark.parametrize("settings", SETTINGS)
def test_values_and_gradients_are_those_of_jax(settings, ranks):
    arguments, given = inputs(shapes=SHAPES), SETTINGS[settings]
    step = gradients(weft.jax.dot_product_attention, **given)
    got, _ = run(step, arguments, {"cp": ranks}, P(None, "cp"), ring_attention="always")
    check(got, gradients(jax.nn.dot_product_attention, **given)(*arguments), TOLERANCE["float32"])


def by_hand(q, k, v):
    scores = jnp.einsum("bihd,bjhd->bhij", q, jnp.repeat(k, 2, 2))
    return jnp.einsum("bhij,bjhe->bihe", jax.nn.softmax(jnp.where(MASK, scores, -jnp.inf)), jnp.repeat(v, 2, 2))


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("settings", ["causal", "window", "lengths"])
def test_balanced(settings, ranks):
    """Ranks exchange halves of queries and keys if the mask is causal; results stay where they were."""
    arguments, given = inputs(shapes=SHAPES), SETTINGS[settings]
    step = gradients(weft.jax.dot_product_attention, **given)
    got, _ = run(step, arguments, {"cp": ranks}, P(None, "cp"), ring_attention="balanced")
    check(got, gradients(jax.nn.dot_product_attention, **given)(*arguments), TOLERANCE["float32"])


@pytest.mark.parametrize("ranks", [2, 8])
def test_mask_that_is_written_out(ranks):
    arguments, step = inputs(shapes=SHAPES), gradients(by_hand)
    got, _ = run(step, arguments, {"cp": ranks}, P(None, "cp"), ring_attention="always")
    check(got, jax.jit(step)(*arguments), TOLERANCE["float32"])


@pytest.mark.parametrize("ring", ["always", "balanced"])
@pytest.mark.parametrize("settings", ["causal", "both sides"])
def test_narrow(settings, ring):
    arguments, given = inputs("bfloat16", SHAPES), SETTINGS[settings]
    step = gradients(weft.jax.dot_product_attention, **given)
    got, _ = run(step, arguments, {"cp": 4}, P(None, "cp"), ring_attention=ring)
    wide = [argument.astype(np.float32) for argument in arguments]
    check(got, gradients(jax.nn.dot_product_attention, **given)(*wide), TOLERANCE["bfloat16"])


@pytest.mark.parametrize("ring", ["always", "balanced"])
def test_segments_and_soft_cap(ring):
    ids = np.repeat(np.arange(4, dtype=np.int32), [3, 13, 12, 4])[None].repeat(2, 0)
    given: dict[str, Any] = {"query_segment_ids": ids, "key_value_segment_ids": ids, "logits_soft_cap": 2.0, "is_causal": True}
    arguments = inputs(shapes=SHAPES)
    step = gradients(weft.jax.dot_product_attention, **given)
    got, _ = run(step, arguments, {"cp": 4}, P(None, "cp"), ring_attention=ring)
    check(got, jax.jit(step)(*arguments), TOLERANCE["float32"])


def test_scores_of_which_a_log_sum_exp_says_little():
    """Above 256 kernels take the weights from a row's scores: those are of one piece."""
    q, k, v = inputs(shapes=SHAPES)
    arguments = [q * 100, k * 10, v]
    step = gradients(weft.jax.dot_product_attention, is_causal=True)
    got, _ = run(step, arguments, {"cp": 4}, P(None, "cp"), ring_attention="always")
    check(got, gradients(jax.nn.dot_product_attention, is_causal=True)(*arguments), 2e-4)


def test_with_other_axes():
    arguments, given = inputs(shapes=SHAPES), {"is_causal": True}
    step = gradients(weft.jax.dot_product_attention, **given)
    mesh, spec = {"dp": 2, "cp": 2, "tp": 2}, P("dp", "cp", "tp")
    got, _ = run(step, arguments, mesh, spec, ring_attention="always")
    check(got, gradients(jax.nn.dot_product_attention, **given)(*arguments), TOLERANCE["float32"])


def test_invariant_programs_keep_their_order():
    arguments = inputs(shapes=SHAPES)
    step = gradients(weft.jax.dot_product_attention, is_causal=True)
    bits = []
    for ranks in (1, 4):
        got, _ = run(step, arguments, {"cp": ranks}, P(None, "cp"), ring_attention="always", invariant=["cp"])
        bits.append([np.asarray(x).tobytes() for x in jax.tree.leaves(got)])
    assert bits[0] == bits[1]


def layers(attend, wrap):
    def loss(weights, x):
        for w in weights:
            q, k, v = jnp.split(x @ w, 3, axis=-1)
            heads = [y.reshape(*y.shape[:2], 4, 8) for y in (q, k, v)]
            x = x + wrap(lambda *qkv: attend(*qkv, is_causal=True))(*heads).reshape(x.shape)
        return jnp.sum(jnp.sin(x))

    return jax.value_and_grad(loss, argnums=(0, 1))


@pytest.mark.parametrize("wrap, ring", [
    (lambda f: f, "balanced"), nightly(lambda f: f, "always"), (jax.checkpoint, "always"), nightly(jax.checkpoint, "balanced")])
def test_layers(wrap, ring):
    rng = np.random.default_rng(6)
    arguments = [[rng.standard_normal((32, 96), np.float32) * 0.2 for _ in range(2)],
                 rng.standard_normal((2, 32, 32), np.float32)]
    step = layers(weft.jax.dot_product_attention, wrap)
    got, _ = run(step, arguments, {"cp": 4}, ([P(), P()], P(None, "cp")), ring_attention=ring)
    check(got, layers(jax.nn.dot_product_attention, wrap)(*arguments), 1e-4)


def test_memory():
    """Of keys that as many heads read as there are, a rank of eight needs less than half. Other orders take more of the
    memory that there is to hide the ring."""
    shapes = dict.fromkeys("qkv", (1, 8192, 4, 32))
    arguments = [jax.ShapeDtypeStruct(shape, np.float32) for shape in shapes.values()]
    step = gradients(weft.jax.dot_product_attention, is_causal=True)
    cut = P(None, "cp")
    module = weft.jax.export(step, *arguments, mesh={"cp": 8}, in_shardings=cut, out_shardings=(P(), (cut, cut, cut)))

    def arena(ring):
        return weft.compile(module, mesh={"cp": 8}, ring_attention=ring, schedule="sync").stats.arena_bytes_per_rank

    assert arena("always") * 2 < arena("never")
