# SPDX-License-Identifier: Apache-2.0

"""Exports JAX functions to weft's input form."""

from weft.jax._errors import ExportError
from weft.jax._export import export

__all__ = ["ExportError", "export"]
