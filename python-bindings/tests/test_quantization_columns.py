# SPDX-License-Identifier: Apache-2.0
"""Compiled quantization of blocks of columns in wide tensors: the bytes of weft.quantization."""

import numpy as np
import pytest
from test_quantization import BF16, check_bytes, numbers, program

import weft


@pytest.mark.parametrize("format, block, element", [("mxfp8", 32, "f8E4M3FN"), ("nvfp4", 16, "f4E2M1FN")])
def test_bytes_of_wide_columns(tmp_path, format, block, element):
    """More scales a row than the first-level cache holds: rows are cut, and one kernel does it all."""
    shape = (8 * block, 16384)
    counts = (8, shape[1])
    path = tmp_path / "f.mlir"
    path.write_text(program("bf16", counts, format, element, shape))
    compiled = weft.compile(path)
    for name, wide in numbers(shape):
        if name in ("wide", "special", "ties"):
            check_bytes(compiled, wide.astype(np.float32).astype(BF16), format, counts, element, name)
