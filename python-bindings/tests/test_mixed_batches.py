# SPDX-License-Identifier: Apache-2.0
"""Losses that mix the rows of a batch that ranks and microbatches cut."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import weft
from conftest import days
from jax import lax
from jax.sharding import PartitionSpec as P

ROWS, RANDOM = 16, np.random.default_rng(0)
ORDER = RANDOM.permutation(ROWS).astype(np.int32)
SEGMENTS = np.sort(RANDOM.integers(0, 5, ROWS)).astype(np.int32)
X = RANDOM.standard_normal((ROWS, 6), np.float32)
W, V = RANDOM.standard_normal((2, 6, 8), np.float32)


def contrastive(w, v, x):
    a, b = x @ w, x @ v
    a, b = a / jnp.linalg.norm(a, axis=1, keepdims=True), b / jnp.linalg.norm(b, axis=1, keepdims=True)
    scores = a @ b.T / 0.1
    return -jnp.mean(jnp.diag(jax.nn.log_softmax(scores)) + jnp.diag(jax.nn.log_softmax(scores.T)))


def get_distances(w, x):
    h = x @ w
    return ((h[:, None] - h[None]) ** 2).sum(-1)


def nearest(w, v, x):
    return jnp.where(jnp.eye(len(x), dtype=bool), jnp.inf, get_distances(w, x)).min(1).mean()


def ranked(w, v, x):
    return ((x @ v)[jnp.argsort((x @ w).sum(1))] * jnp.arange(len(x))[:, None]).mean()


def inserted(w, v, x):
    rows = lax.dynamic_update_slice(jnp.zeros((len(x) + 4, 8)), x @ w, (np.int32(3), 0))
    return (rows * jnp.arange(len(x) + 4)[:, None]).mean()


def dropped(w, v, x):
    h = x @ w
    return (jnp.where(jax.random.bernoulli(jax.random.key(0), 0.7, h.shape), h, 0) ** 2).mean()


LOSSES = {
    "contrastive": contrastive, "nearest": nearest, "ranked": ranked, "inserted": inserted, "dropped": dropped,
    "distances": lambda w, v, x: jnp.exp(-get_distances(w, x)).mean(),
    "median": lambda w, v, x: jnp.median((x @ w).sum(1)),
    "sorted": lambda w, v, x: (jnp.sort(x @ w, axis=0) * jnp.arange(len(x))[:, None]).mean(),
    "permuted": lambda w, v, x: ((x @ w) * (x @ w)[ORDER[:len(x)] % len(x)]).mean(),
    "rolled": lambda w, v, x: ((x @ w) * jnp.roll(x @ w, 1, 0)).mean(),
    "turned": lambda w, v, x: ((x @ w) * (x @ w)[::-1]).mean(),
    "segment sum": lambda w, v, x: (jax.ops.segment_sum(x @ w, SEGMENTS[:len(x)], 5) ** 2).sum(),
    "segment max": lambda w, v, x: (jax.ops.segment_max(x @ w, SEGMENTS[:len(x)], 5) ** 2).sum(),
    "gram": lambda w, v, x: ((x @ w @ (x @ w).T) ** 2).mean(),
    "greatest": lambda w, v, x: lax.top_k((x @ w).sum(1), 3)[0].sum(),
    "greatest running sum": lambda w, v, x: (jnp.cumsum(x @ w, 0) * (x @ v)).mean() + jnp.cumsum(x @ w, 0).max(0).sum(),
    "running sums in the exponent": lambda w, v, x: jax.nn.logsumexp(jnp.cumsum(x @ w, 0).sum(1)),
    "running sum twice": lambda w, v, x: (jnp.cumsum(jnp.cumsum(x @ w, 0), 0) ** 2).mean(),
    "running products": lambda w, v, x: jnp.cumprod(1 + (x @ w) / 100, 0).max(0).sum(),
    "running maxima": lambda w, v, x: jax.nn.logsumexp(jax.lax.cummax(x @ w, 0), 0).sum(),
    "running sum": lambda w, v, x: (jnp.cumsum(x @ w, 0) ** 2).mean(),
    "cut": lambda w, v, x: (lax.dynamic_slice(x @ w, (np.int32(3), 0), (8, 8)) ** 2).sum(),
    "joined": lambda w, v, x: jnp.sort(jnp.concatenate([x @ w, x @ v], 0), 0)[0].sum(),
    "of weights": lambda w, v, x: ((x @ w) * v[0]).mean() + (w.mean() * v).sum(),
}  # fmt: skip
# What has no gradient in JAX.
VALUES = {"segment product": lambda w, v, x: jax.ops.segment_prod(x @ w, SEGMENTS[:len(x)], 5)}


def check(function, x, settings):
    module = weft.jax.export(function, W, V, x, mesh={"dp": 1, "mb": 1}, in_shardings=(P(), P(), P(("dp", "mb"))))
    expected = jax.tree.leaves(jax.jit(function)(W, V, x))
    for dp, mb, invariant in settings:
        options = {"invariant": True} if invariant else {}
        program = weft.compile(module, mesh={"dp": dp, "mb": mb}, accumulate="mb", threads=2, **options)
        for own, right in zip(jax.tree.leaves(program(W, V, x)), expected, strict=True):
            np.testing.assert_allclose(own, right, rtol=2e-4, atol=2e-5)


def get_function(name):
    return VALUES[name] if name in VALUES else jax.value_and_grad(LOSSES[name], argnums=(0, 1))


DAILY = ["contrastive", "dropped", "permuted", "segment sum", "sorted"]


@pytest.mark.parametrize("name", days([*LOSSES, *VALUES], [*DAILY, "greatest", "greatest running sum", "of weights", *VALUES]))
def test_rows_of_ranks_and_microbatches(name):
    check(get_function(name), X, [(1, 4, False), (2, 2, True), (2, 4, False), (1, 4, True)])


@pytest.mark.parametrize("name", days([*LOSSES, *VALUES], DAILY))
def test_a_shorter_last_microbatch(name):
    check(get_function(name), X[:14], [(1, 4, False), (1, 5, False), (1, 4, True)])


SCANS = {"running sum": lambda x: jnp.cumsum(x, 1), "running product": lambda x: lax.associative_scan(lax.mul, x, axis=1, reverse=True),
         "carry": lambda x: lax.scan(lambda h, row: (0.5 * h + row,) * 2, x[:, 0], x.T)[1]}  # fmt: skip


@pytest.mark.parametrize("name", SCANS)
def test_a_scan_beside_a_shorter_last_microbatch(name):
    """It goes along another dimension than that of the microbatches."""
    check(lambda w, v, x: SCANS[name](x), X[:7], [(1, 4, False), (2, 2, True)])


@pytest.mark.parametrize("ranks", [4, 8])
def test_two_lookups_in_rows_that_ranks_do_not_divide(ranks):
    """Which rows of a table ranks have says nothing of how many there are: 10 in parts of 3, or 2 and none."""
    places = RANDOM.integers(0, 10, 20).astype(np.int32)
    x, w = RANDOM.standard_normal((10, 6), np.float32), RANDOM.standard_normal((6, 8), np.float32)

    def loss(w, x):
        rows = jnp.zeros((10, 8)).at[places].add((x @ w)[places])
        own = jnp.take_along_axis(rows, (x[:, :1] > 0).astype(jnp.int32) * 3, 1)
        return (rows[x.argmax(0)] ** 2).sum() + (own ** 2).mean()

    step = jax.grad(loss)
    module = weft.jax.export(step, w, x, mesh={"a": ranks}, in_shardings=(P(), P("a")))
    for options in ({}, {"invariant": True}):
        np.testing.assert_allclose(weft.compile(module, threads=2, **options)(w, x), step(w, x), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("mb, dp", [(2, 2), (3, 4)])
@pytest.mark.parametrize("groups", [2, 4])
def test_a_result_whose_sharding_nobody_says(groups, mb, dp):
    """It has that of what makes it, with microbatches last."""
    x = RANDOM.standard_normal((24, 3), np.float32)
    mix = lambda x: jnp.tanh(jnp.tanh(x).reshape(groups, 24 // groups, 3).swapaxes(0, 1).reshape(24, 3))
    module = weft.jax.export(mix, x, mesh={"mb": mb, "dp": dp}, in_shardings=(P(("mb", "dp")),))
    found = weft.compile(module, accumulate="mb", threads=2)(x)
    np.testing.assert_allclose(found, mix(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("rows, mesh", [(3, {"d": 2, "t": 2}), (6, {"d": 4, "t": 2})])
def test_a_lookup_where_a_rank_has_no_row_of_the_last_microbatch(rows, mesh):
    table, places = RANDOM.standard_normal((rows, 3), np.float32), np.array([0, 2, 1, 1], np.int32)
    for function in (lambda t, i: t[i], jax.grad(lambda t, i: (t[i] ** 2).sum())):
        module = weft.jax.export(function, table, places, mesh={"d": 1, "t": 1}, in_shardings=(P(("d", "t")), P()))
        program = weft.compile(module, mesh=mesh, accumulate="t", invariant=True, threads=1)
        np.testing.assert_array_equal(program(table, places), function(table, places))
