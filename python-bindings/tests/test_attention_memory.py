# SPDX-License-Identifier: Apache-2.0
"""The arena of steps with attention over 8,192 positions, beside what has to be there by hand: no
square of scores, no mask of what is dropped, no copy in another layout."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import weft
import weft.jax

LENGTH, HEADS, DEPTH, WIDTH = 8192, 4, 64, 256
KEY = np.array([1, 2], np.uint32)
ROWS = LENGTH * HEADS * 4  # a number for each query of each head: the log-sum-exp, or a word of seeds


def written_out(q, k, v):
    scores = jnp.einsum("bihd,bjhd->bhij", q, k) * DEPTH**-0.5
    scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -1e30)
    return jnp.einsum("bhij,bjhd->bihd", jax.nn.softmax(scores), v)


SAID = functools.partial(weft.jax.dot_product_attention, is_causal=True)
FORMS = {"said": (SAID, 1), "written out": (written_out, 1),
         "dropout": (functools.partial(SAID, dropout_rate=0.1, dropout_key=KEY), 3)}


def arena(step, *shapes, dtype):
    arguments = [jax.ShapeDtypeStruct(shape, dtype) for shape in shapes]
    return weft.compile(weft.jax.export(step, *arguments)).stats.arena_bytes_per_rank


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("form", FORMS)
def test_attention_alone(form, dtype):
    """Its output, the gradient of that, and rows; all else is arguments and results."""
    attend, rows = FORMS[form]

    def loss(q, k, v):
        return jnp.sum(jnp.sin(attend(q, k, v)).astype(jnp.float32))

    shape = (1, LENGTH, HEADS, DEPTH)
    found = arena(jax.value_and_grad(loss, argnums=(0, 1, 2)), shape, shape, shape, dtype=dtype)
    assert found <= 1.05 * (2 * np.prod(shape) * jnp.dtype(dtype).itemsize + rows * ROWS)


@pytest.mark.parametrize("form", FORMS)
def test_a_layer(form):
    """Where most is there, in the gradient of attention: q, k, v, its output, and the gradients of these."""
    attend, rows = FORMS[form]

    def loss(weights, x):
        q, k, v = (jnp.einsum("btw,whd->bthd", x, weights[i]) for i in range(3))
        return jnp.mean((x + jnp.einsum("bthd,whd->btw", attend(q, k, v), weights[3])) ** 2)

    found = arena(jax.value_and_grad(loss), (4, WIDTH, HEADS, DEPTH), (1, LENGTH, WIDTH), dtype="float32")
    assert found <= 1.05 * (8 * LENGTH * HEADS * DEPTH * 4 + rows * ROWS)
