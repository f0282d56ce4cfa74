# SPDX-License-Identifier: Apache-2.0
"""jax.checkpoint: what it names is computed again, which is seen in the memory, and nothing else changes."""

import functools
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import nightly
from jax.sharding import PartitionSpec as P

import weft
import weft.jax

LAYERS, ROWS, WIDTH, HIDDEN = 6, 256, 16, 128


def layer(x, w, key):
    """Its hidden values are eight times as large as what goes from layer to layer."""
    h = jnp.tanh(x @ w["up"])
    return x + jnp.sin(jnp.exp(-h * h) @ w["down"])


def layer_with_dropout(x, w, key):
    y = layer(x, w, key)
    return jnp.where(jax.random.bernoulli(key, 0.9, y.shape), y, 0)


def in_a_row(wrap, weights, x, key, layer=layer):
    for i in range(LAYERS):
        x = wrap(layer)(x, jax.tree.map(lambda w: w[i], weights), jax.random.fold_in(key, i))
    return x


def with_dropout(wrap, weights, x, key):
    return in_a_row(wrap, weights, x, key, layer_with_dropout)


def as_a_scan(wrap, weights, x, key):
    def body(x, w):
        return layer(x, w[0], w[1]), None

    return jax.lax.scan(wrap(body), x, (weights, jax.random.split(key, LAYERS)))[0]


def all_at_once(wrap, weights, x, key):
    return wrap(functools.partial(in_a_row, wrap))(weights, x, key)


def scans_of_scans(wrap, weights, x, key):
    """Blocks of two layers; what a block computes again computes its layers again."""
    def block(x, both):
        return jax.lax.scan(wrap(lambda x, w: (layer(x, w[0], w[1]), None)), x, both)

    pairs = jax.tree.map(lambda w: w.reshape(LAYERS // 2, 2, *w.shape[1:]), (weights, jax.random.split(key, LAYERS)))
    return jax.lax.scan(wrap(lambda x, both: (block(x, both)[0], None)), x, pairs)[0]


def plain(f):
    return f


WRAPS: dict[str, Callable[..., Any]] = {
    "checkpoint": jax.checkpoint,
    "merging allowed": functools.partial(jax.checkpoint, prevent_cse=False),
    "products kept": functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable),
    "everything kept": functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.everything_saveable),
}


def step_of(model, wrap):
    def loss(weights, x, key):
        return jnp.mean(model(wrap, weights, x, key) ** 2)

    return jax.value_and_grad(loss)


def make_inputs():
    random = np.random.default_rng(7)
    weights = {"up": random.standard_normal((LAYERS, WIDTH, HIDDEN), np.float32) * 0.3,
               "down": random.standard_normal((LAYERS, HIDDEN, WIDTH), np.float32) * 0.1}
    return weights, random.standard_normal((ROWS, WIDTH), np.float32), jax.random.PRNGKey(3)


SHARDINGS = ({"up": P(None, None, "d"), "down": P(None, "d")}, P("d"), P())


@functools.cache
def export(model, name):
    return weft.jax.export(step_of(model, WRAPS.get(name, plain)), *make_inputs(), mesh={"d": 2},
                           in_shardings=SHARDINGS)


@functools.cache
def run(model, name, **keywords):
    """Results, the arena's bytes, and the bytes received."""
    program = weft.compile(export(model, name), mesh={"d": 2}, **keywords)
    results = jax.tree.map(np.array, program(*make_inputs()))
    stats = program.stats
    return results, stats.arena_bytes_per_rank, sum(stats.received_bytes.values())


def assert_close(got, expected):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6), got, expected)


MODELS = [in_a_row, with_dropout, as_a_scan, all_at_once, scans_of_scans]


@pytest.mark.parametrize("model, name", [
    nightly(model, name) if model in (with_dropout, scans_of_scans) and name != "checkpoint" else (model, name)
    for model in MODELS for name in WRAPS])
def test_results_are_those_of_jax(model, name):
    got, *_ = run(model, name)
    assert_close(got, jax.jit(step_of(model, WRAPS[name]))(*make_inputs()))


@pytest.mark.parametrize("model, name, share", [
    (in_a_row, "checkpoint", 0.6),
    (as_a_scan, "checkpoint", 0.5),
    # A loop keeps apart what is computed in it.
    (as_a_scan, "merging allowed", 0.6),
    (scans_of_scans, "checkpoint", 0.6),
    (scans_of_scans, "merging allowed", 0.6),
    # The products' results stay; what is made of them does not.
    (in_a_row, "products kept", 0.8),
])
def test_less_is_kept(model, name, share):
    _, kept, _ = run(model, "nothing")
    _, again, _ = run(model, name)
    assert again < share * kept


def test_what_may_be_merged_is():
    """Outside of loops, prevent_cse=False allows a compiler to keep what it wants to."""
    assert run(in_a_row, "merging allowed")[1] == run(in_a_row, "nothing")[1]


@pytest.mark.parametrize("model", [nightly(model) if model is with_dropout else model for model in MODELS])
def test_mesh_invariant_bits_do_not_depend_on_it(model):
    """What is computed again is the same computation in the same order."""
    expected, *_ = run(model, "nothing", invariant=True)
    got, *_ = run(model, "checkpoint", invariant=True)
    jax.tree.map(np.testing.assert_array_equal, got, expected)


def test_weights_are_not_gathered_more_often():
    """Where memory is left: a machine without any has no gather kept, with or without recomputation."""
    _, _, plain_bytes = run(in_a_row, "nothing", machine="h100x8", effort="full")
    _, _, again_bytes = run(in_a_row, "checkpoint", machine="h100x8", effort="full")
    assert again_bytes <= plain_bytes


def least_limit(model, name, below=2, **keywords):
    with pytest.raises(weft.CompileError, match=r"needs \d+ bytes at least") as error:
        weft.compile(export(model, name), mesh={"d": 2}, memory_limit=below - 1, **keywords)
    return int(re.search(r"needs (\d+) bytes at least", str(error.value))[1])


@pytest.mark.parametrize("model, is_large", [
    (in_a_row, False), nightly(with_dropout, True), nightly(as_a_scan, False)])
def test_a_memory_limit_decides(model, is_large):
    """From the limit that an error names up the program fits, and its bits are those without one; one byte less does
    not do. Of large steps few choices are planned, and near the limit others: less may do."""
    least = least_limit(model, "nothing", invariant=True, recompute="auto")
    if not is_large:
        assert least == least_limit(model, "nothing", least, invariant=True, recompute="auto")
    assert least < 0.7 * least_limit(model, "nothing", invariant=True, recompute="marked")
    expected, *_ = run(model, "nothing", invariant=True)
    for limit in (least, 5 * least // 4):
        got, *_ = run(model, "nothing", invariant=True, recompute="auto", memory_limit=limit)
        jax.tree.map(np.testing.assert_array_equal, got, expected)


def test_marks_are_taken_away():
    assert run(in_a_row, "checkpoint", recompute="none")[1] == run(in_a_row, "nothing")[1]
