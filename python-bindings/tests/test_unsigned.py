# SPDX-License-Identifier: Apache-2.0

"""Unsigned numbers whose highest bit is set, and tensors without elements, against JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import check
from jax import lax

UNSIGNED = ["uint8", "uint16", "uint32"]


def unsigned(name, *shape):
    """Small, middle and large ones, of which half are negative where the sign is lost."""
    top = int(np.iinfo(name).max)
    values = np.array([0, top, 3, top // 2 + 1, top // 2, top - 1, 7, top // 2 + 2], name)
    return np.resize(values, shape or 8)


def products(a, b, element):
    """Inner, plain, batched and outer products."""
    plain = lambda spec, x, y: jnp.einsum(spec, x, y, preferred_element_type=element)
    return (jnp.dot(a, b, preferred_element_type=element), plain("ij,jk->ik", a.reshape(2, 4), b.reshape(4, 2)),
            plain("bij,bjk->bik", a.reshape(2, 2, 2), b.reshape(2, 2, 2)), plain("i,j->ij", a, b))


@pytest.mark.parametrize("name, element", [
    ("uint8", "int32"), ("uint8", "uint32"), ("uint8", "int16"), ("uint8", "uint8"), ("uint8", "float32"),
    ("uint8", "bfloat16"), ("uint16", "uint32"), ("uint16", "float32"), ("uint32", "uint32"), ("uint32", "float32"),
    ("int8", "int32"), ("int8", "float32"), ("bool", "int32"), ("bool", "bool")])
def test_products_are_as_wide_as_their_sums(name, element):
    a = unsigned(name) if name in UNSIGNED else unsigned("uint8").astype(name)
    check(lambda a, b: products(a, b, element), a, a[::-1].copy(), tolerance=1e-2 if element == "bfloat16" else 1e-6)


def test_products_of_two_types():
    dot = lambda a, b, element: lax.dot_general(a, b, (((0,), (0,)), ((), ())), preferred_element_type=element)
    a = unsigned("uint8")
    check(lambda a: (dot(a, a.view(jnp.int8), jnp.int32), dot(a.view(jnp.int8), a, jnp.uint32),
                     dot(a > 3, a, jnp.uint32), dot(a, a > 3, jnp.float32)), a)
    check(lambda x: jnp.dot(x, x + 1, preferred_element_type=jnp.int32), np.float32([0.5, 1.5, 2.5]))


ELEMENTWISE = {
    "compare": lambda a, b: (a < b, a <= b, a > b, a >= b, jnp.maximum(a, b), jnp.minimum(a, b), lax.clamp(a[2], a, b[6])),
    "divide": lambda a, b: (lax.div(a, b), lax.rem(a, b), a // 3, a % 5),
    "shift": lambda a, b: (lax.shift_right_logical(a, b % 9), lax.shift_right_arithmetic(a, b % 9), a >> 1),
    "power": lambda a, b: (a ** 3, jnp.power(a, b % 5)),
    "convert": lambda a, b: (a.astype(jnp.float32), a.astype(jnp.bfloat16), a.astype(jnp.int32), a.astype(jnp.int8)),
    "round": lambda a, b: (a.astype(jnp.float32) * 2).astype(a.dtype),
    "known": lambda a, b: (jnp.full(8, jnp.iinfo(a.dtype).max) // 2 + a, (lax.iota(a.dtype, 8) - 1).astype(jnp.float32) + a),
    "switch": lambda a, b: [lax.switch(a[j], [lambda: b, lambda: b // 2, lambda: b * 2]) for j in range(3)],
}
REDUCTIONS = {
    "reduce": lambda a: (a.max(), a.min(), a.argmax(), a.argmin(), a.sum(dtype=jnp.uint32), jnp.sum(a, dtype=jnp.float32)),
    "cumulative": lambda a: (lax.cummax(a), lax.cummin(a), jnp.cumsum(a, dtype=jnp.uint32)),
    "window": lambda a: (lax.reduce_window(a, a.dtype.type(0), lax.max, (2,), (1,), "SAME"),
                         lax.reduce_window(a, a.dtype.type(jnp.iinfo(a.dtype).max), lax.min, (3,), (2,), "SAME")),
    "sort": lambda a: (jnp.sort(a), jnp.argsort(a), lax.sort((a, a[::-1]), num_keys=1), lax.top_k(a, 3)),
}
INDEXED = {
    "scatter": lambda a, i: (a.at[i].max(a[4:]), a.at[i].min(a[4:]), a.at[i].set(a[4:]), a.at[i].add(a[4:])),
    "gather": lambda a, i: (a[i], jnp.take(a, i + 6, mode="fill"), jnp.take(a, i + 6, mode="clip")),
}


@pytest.mark.parametrize("name", UNSIGNED)
def test_elementwise(name):
    check(lambda a, b: [f(a, b) for f in ELEMENTWISE.values()], unsigned(name), unsigned(name)[::-1].copy())


@pytest.mark.parametrize("name", UNSIGNED)
def test_reductions(name):
    check(lambda a: [f(a) for f in REDUCTIONS.values()], unsigned(name))


@pytest.mark.parametrize("name", UNSIGNED)
def test_places_in_a_table_of_them(name):
    check(lambda a, i: [f(a, i) for f in INDEXED.values()], unsigned(name), np.int32([1, 0, 3, 3]))


@pytest.mark.parametrize("name", [*UNSIGNED, "int8"])
def test_they_are_places(name):
    """Also in tables that have more rows than the index has numbers."""
    index = unsigned(name) if name in UNSIGNED else unsigned("uint8").view(name)
    table = np.arange(300, dtype=np.float32)
    check(lambda t, i: [lax.dynamic_slice(t, (k,), (3,)) for k in i]
          + [lax.dynamic_update_slice(t, -t[:3], (k,)) for k in i], table, index)
    if name in UNSIGNED:  # JAX itself refuses 300 rows for int8
        check(lambda t, i: (t[i], t.at[i].add(1)), table, index)


EMPTY = {
    "sum": lambda a: jnp.sum(a, 1), "prod": lambda a: jnp.prod(a, 1), "max": lambda a: jnp.max(a, 1, initial=3),
    "any": lambda a: (jnp.any(a, 1), jnp.all(a, 1)), "logsumexp": lambda a: jax.nn.logsumexp(a, 1),
    "unsigned": lambda a: a.astype(jnp.uint8).sum(1), "other": lambda a: jnp.sum(a, 0), "mean": lambda a: jnp.mean(a, 1),
    "two": lambda a: lax.reduce((a, a), (jnp.float32(2), jnp.float32(1)), lambda x, y: (x[0] + y[0], x[1] * y[1]), (1,)),
    "product": lambda a: a @ a.reshape(0, 5), "integers": lambda a: a.astype(jnp.int8) @ a.astype(jnp.int8).reshape(0, 5),
    "batches": lambda a: jnp.einsum("bij,bjk->bik", a.reshape(5, 1, 0), a.reshape(5, 0, 1)), "sort": lambda a: lax.sort((a, a)),
    "update": lambda a: lax.dynamic_update_slice(jnp.ones((5, 3)), a[:, :0], (1, 1)),
}


@pytest.mark.parametrize("name", EMPTY)
def test_nothing_to_combine(name):
    check(EMPTY[name], np.zeros((5, 0), np.float32))
