# SPDX-License-Identifier: Apache-2.0

"""The norm of all gradients, and clipping by it, for steps whose bits must not move.

Both are to be called inside the function that is exported. They count in float64 in
every mode of JAX, and add tensors in the order of the tree's leaves.
"""

from typing import Any

import jax
import jax.numpy as jnp

# The exponent's bits of a float64.
_EXPONENT = 0x7FF0000000000000


def global_norm(grads: Any) -> jax.Array:
    """The norm of all elements of a tree of arrays, as a float32.

    Squares and sums are float64: of float32 and narrower elements the squares are exact, and
    nothing overflows. With `weft.compile(..., invariant=...)` the sums have fixed orders, so
    that the norm has the same bits however the gradients are sharded.
    """
    with jax.enable_x64(True):
        return _norm(grads).astype(jnp.float32)


def clip_by_global_norm(grads: Any, max_norm: float) -> tuple[Any, jax.Array]:
    """Scales a tree of arrays so that its norm is at most `max_norm`. Returns the tree and
    the norm that it had, as a float32.

    The scale is the largest power of two that is at most max_norm / norm, and at most 1. So a
    norm above max_norm becomes one between max_norm / 2 and max_norm. Scaling is exact, except
    for elements that become subnormal: what is returned depends on the norm only through that
    power of two, and an error in the norm's last place changes nothing, unless max_norm / norm
    is that close to a power of two. NaN stays; if the norm is infinite, the scale is 0.
    """
    with jax.enable_x64(True):
        norm = _norm(grads)
        ratio = jnp.float64(max_norm) / norm
        bits = jax.lax.bitcast_convert_type(ratio, jnp.int64) & jnp.int64(_EXPONENT)
        scale = jnp.minimum(jax.lax.bitcast_convert_type(bits, jnp.float64), jnp.float64(1))
        clipped = jax.tree.map(lambda g: (g * scale.astype(_wide(g))).astype(g.dtype), grads)
        return clipped, norm.astype(jnp.float32)


def _wide(array):
    """The type to scale in: one that has all powers of two that are needed."""
    return jnp.promote_types(array.dtype, jnp.float32)


def _norm(grads):
    total = jnp.float64(0)
    for grad in jax.tree.leaves(grads):
        wide = grad.astype(jnp.float64)
        total = total + jnp.sum(wide * wide)
    return jnp.sqrt(total)
