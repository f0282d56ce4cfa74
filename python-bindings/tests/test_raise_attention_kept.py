# SPDX-License-Identifier: Apache-2.0

"""Attention is raised whatever a policy keeps of it: heads in another form, scores, masked scores or weights."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.ad_checkpoint import checkpoint_name
from test_raise_attention import counts, raised

import weft
from conftest import nightly

P = jax.checkpoint_policies
BATCH, LENGTH, HEADS, SIZE = 2, 8, 2, 4
ONLY = P.save_only_these_names


def projected(x, w):
    """Causal attention of one layer, with names for what may be kept."""
    q, k, v = (checkpoint_name((x @ w[name]).reshape(BATCH, LENGTH, HEADS, SIZE), name) for name in "qkv")
    scores = checkpoint_name(jnp.einsum("bqhd,bkhd->bhqk", q, k) * SIZE**-0.5, "scores")
    seen = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
    masked = checkpoint_name(jnp.where(seen, scores, -jnp.inf), "masked")
    weights = checkpoint_name(jax.nn.softmax(masked, -1), "weights")
    return x + jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(x.shape) @ w["o"]


def step(policy):
    def loss(weights, x):
        for w in weights:
            x = jax.checkpoint(projected, policy=policy)(x, w)
        return (x**2).mean()
    return jax.value_and_grad(loss)


def arguments():
    random = np.random.default_rng(3)

    def make(*shape):
        return random.standard_normal(shape).astype(np.float32) / 2
    width = HEADS * SIZE
    return [{name: make(width, width) for name in "qkvo"} for _ in range(2)], make(BATCH, LENGTH, width)


# How many forward ops two layers have: the kept one alone, or the one that is computed again as well.
POLICIES = {
    "everything": (P.everything_saveable, 2),
    "scores": (ONLY("scores"), None),
    "masked": (ONLY("masked"), None),
    "weights": (ONLY("weights"), None),
    "queries and scores": (ONLY("q", "scores"), None),
    "all but weights": (P.save_anything_except_these_names("weights"), 2),
    "scores on the host": (P.save_and_offload_only_these_names(
        names_which_can_be_saved=["q"], names_which_can_be_offloaded=["scores"],
        offload_src="device", offload_dst="pinned_host"), None),
}


@pytest.mark.parametrize("name", POLICIES)
def test_what_is_kept_is_raised(name):
    policy, forward = POLICIES[name]
    text, _ = raised(step(policy), arguments())
    made, gradients, _ = counts(text)
    assert gradients == 2
    assert made == (forward or made)
    assert f"tensor<{BATCH}x{HEADS}x{LENGTH}x{LENGTH}xf32>" not in text


@pytest.mark.parametrize("name", [name if name in ("everything", "masked") else nightly(name) for name in POLICIES])
def test_it_computes_what_jax_computes(name):
    function = step(POLICIES[name][0])
    got = weft.compile(weft.jax.export(function, *arguments()))(*arguments())
    for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(jax.jit(function)(*arguments())), strict=True):
        assert np.max(np.abs(np.asarray(one) - np.asarray(other))) <= 2e-5 * max(1, np.max(np.abs(other)))
