# SPDX-License-Identifier: Apache-2.0
"""What a rank needs does not grow with the number of microbatches."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import weft
from jax.sharding import PartitionSpec as P

WIDTH, WORDS, ROWS = 64, 128, 128

LOSSES = {
    "along": lambda logits, y: -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits, -1), y[:, None], -1)),
    "one hot": lambda logits, y: -jnp.mean((jax.nn.log_softmax(logits, -1) * jax.nn.one_hot(y, WORDS)).sum(-1)),
    "mapped": lambda logits, y: -jnp.mean(jax.vmap(lambda row, k: row[k])(jax.nn.log_softmax(logits, -1), y)),
}


def count_bytes(loss, microbatches):
    """Of a rank, without its batch."""
    w = np.ones((WIDTH, WORDS), np.float32)
    x, y = np.ones((ROWS * microbatches, WIDTH), np.float32), np.zeros(ROWS * microbatches, np.int32)

    def step(w, x, y):
        value, gradient = jax.value_and_grad(lambda w: loss(jnp.tanh(x @ w) @ w.T @ w, y))(w)
        return w - 0.1 * gradient, value

    module = weft.jax.export(step, w, x, y, mesh={"mb": microbatches}, in_shardings=(P(), P("mb"), P("mb")),
                             donate_argnums=0)
    return weft.compile(module, accumulate="mb").stats.memory_bytes - x.nbytes - y.nbytes


@pytest.mark.parametrize("name", LOSSES)
def test_memory_does_not_grow_with_microbatches(name):
    few = count_bytes(LOSSES[name], 2)
    assert count_bytes(LOSSES[name], 8) <= 1.05 * few
