# SPDX-License-Identifier: Apache-2.0

"""Exports JAX functions to weft's input form."""

from weft.jax._errors import ExportError
from weft.jax._export import export
from weft.jax.attention import dot_product_attention
from weft.jax.optim import clip_by_global_norm, global_norm

__all__ = ["ExportError", "clip_by_global_norm", "dot_product_attention", "export", "global_norm"]
