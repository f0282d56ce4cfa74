# SPDX-License-Identifier: Apache-2.0

"""Turns jax.nn.scaled_matmul, and scaled_dot_general through it, into weft.matmul with scales."""

import jax
import jax.numpy as jnp
from jax.interpreters import mlir
from jaxlib.mlir import ir

from weft.jax._builder import shape_of
from weft.jax._contract import map_attribute

NAME = "weft.scaled_matmul"


def lowering_rules():
    """How JAX is told to keep the product as one operation.

    JAX lowers it for its GPU platforms only, to calls of their libraries. None where
    this JAX has no such product.
    """
    try:
        from jax._src.cudnn.scaled_matmul_stablehlo import _scaled_matmul_p_wrapper as product
        return ((product, mlir.lower_fun(_mark, multiple_results=True)),)
    except (ImportError, TypeError):
        return ()


def _mark(lhs, rhs, lhs_scales, rhs_scales, *, preferred_element_type):
    def decomposition(*tensors):
        return _compute(*tensors).astype(preferred_element_type)

    return [jax.lax.composite(decomposition, name=NAME, version=1)(lhs, rhs, lhs_scales, rhs_scales)]


def _compute(lhs, rhs, lhs_scales, rhs_scales):
    """What it means: (b, m, k) and (b, n, k), with scales of blocks of k."""
    def widen(data, scales):
        blocks = data.astype(jnp.float32).reshape(*scales.shape, -1)
        return (blocks * scales.astype(jnp.float32)[..., None]).reshape(data.shape)

    return jnp.einsum("bmk,bnk->bmn", widen(lhs, lhs_scales), widen(rhs, rhs_scales),
                      preferred_element_type=jnp.float32)


def scaled_matmul(build, op, operands):
    """The product over the loops (batch, m, n, block, element of a block)."""
    lhs, rhs, *scales = operands
    blocks = [build.reshape(data, [*shape_of(scale), shape_of(data)[2] // shape_of(scale)[2]])
              for data, scale in zip((lhs, rhs), scales)]
    dims = [[0, 1, 3, 4], [0, 2, 3, 4], [0, 1, 2], [0, 1, 3], [0, 2, 3]]
    maps = ir.ArrayAttr.get([map_attribute(5, d) for d in dims])
    return [build.value("weft.matmul", op.results[0].type, [*blocks, *scales], {"indexing_maps": maps})]
